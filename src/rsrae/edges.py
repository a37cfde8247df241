"""The edges of an image, as numbers beside its pixels: how strong they are, where, and which way they run.

Pixels say what an image is like in light and colour, and change with everything that moves by a pixel or two. Edges say
what shapes are in it, are counted over small cells, and stay (Dalal and Triggs, "Histograms of oriented gradients for
human detection", 2005). Nothing is learned here.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn

DIRECTIONS = 8  # from level to level again: an edge has no front
CELLS = 8  # a side
MOST_PIXELS = 32  # a side; finer than this, edges are noise
SHARPNESS = 4  # a direction a step away counts half: cos(22.5 degrees) ** 8
# How an edge runs, by the direction in which the image gets lighter or darker: across it, from left to right first.
NAMES = (
    "upright",
    "steeply rising",
    "rising",
    "gently rising",
    "level",
    "gently falling",
    "falling",
    "steeply falling",
)
MEAN_KEPT = 0.4  # as of the brightness of an image: what all its cells have in common counts less
FLAT = 1e-12  # added to squares of differences, so that an even image has no edges


@dataclass(frozen=True)
class Edges:
    """Edges of images of one shape.

    Parameters
    ----------
    shape : ``(height, width, channels)``.

    Examples
    --------
    >>> image = torch.zeros(1, 8, 8, 1)
    >>> image[:, :, 4:] = 1.0  # an upright edge in the middle
    >>> edges = Edges((8, 8, 1))
    >>> found = edges(image.flatten(start_dim=1)).view(8, 4, 4)
    >>> found[0].argmax(dim=1).tolist(), bool((found[0, 0] > found[4, 0]).any())
    ([1, 1, 1, 1], True)
    """

    shape: tuple[int, int, int]

    def __len__(self) -> int:
        return DIRECTIONS * math.prod(self.cells)

    @property
    def n_pixels(self) -> int:
        """Values of an image, of all channels."""
        return math.prod(self.shape)

    @property
    def cells(self) -> tuple[int, int]:
        """Rows and columns of cells; of small images fewer, so that a cell has two pixels a side."""
        height, width, _ = self.shape
        return min(CELLS, max(1, height // 2)), min(CELLS, max(1, width // 2))

    def __call__(self, pixels: Tensor) -> Tensor:
        """Edges of images, ``(rows, height * width * channels) -> (rows, edges)``, of unit norm (or zero)."""
        height, width, channels = self.shape
        images = pixels.view(-1, height, width, channels).permute(0, 3, 1, 2)
        if max(height, width) > MOST_PIXELS:
            size = min(height, MOST_PIXELS), min(width, MOST_PIXELS)
            images = nn.functional.adaptive_avg_pool2d(images, size)
        across, down = _differences(images)
        square = across.square() + down.square()
        strength, total = square.sqrt(), square + FLAT
        found = []
        for k in range(DIRECTIONS):
            angle = math.pi * k / DIRECTIONS
            along = (across * math.cos(angle) + down * math.sin(angle)).square_().div_(total)
            found.append(nn.functional.adaptive_avg_pool2d(along.pow_(SHARPNESS).mul_(strength), self.cells))
        edges = torch.stack(found, dim=1).flatten(start_dim=1)
        edges -= (1 - MEAN_KEPT) * edges.mean(dim=1, keepdim=True)
        norms: Tensor = torch.linalg.vector_norm(edges, dim=1, keepdim=True)
        return edges.div_(norms.clamp_min(FLAT))

    def by_direction(self, values: Tensor) -> Tensor:
        """What belongs to edges, ``(..., edges)``, by direction, and spread evenly over the pixels of a cell:
        ``(..., directions, height, width)``.
        """
        rows, columns = (_spread(n, side).to(values) for n, side in zip(self.cells, self.shape, strict=False))
        return rows @ values.view(*values.shape[:-1], DIRECTIONS, *self.cells) @ columns.T

    def on_pixels(self, values: Tensor) -> Tensor:
        """The same for all directions together, and by channel: ``(..., height * width * channels)``."""
        by_pixel = self.by_direction(values).sum(dim=-3).unsqueeze(-1) / self.shape[2]
        return by_pixel.expand(*by_pixel.shape[:-1], self.shape[2]).flatten(start_dim=-3)


def _differences(images: Tensor) -> tuple[Tensor, Tensor]:
    """How much the pixels to both sides of each differ, across and down, in the channel where they differ most."""
    padded = nn.functional.pad(images, (1, 1, 1, 1), mode="replicate")
    across = padded[:, :, 1:-1, 2:] - padded[:, :, 1:-1, :-2]
    down = padded[:, :, 2:, 1:-1] - padded[:, :, :-2, 1:-1]
    strongest = (across.square() + down.square()).argmax(dim=1, keepdim=True)
    return across.gather(1, strongest)[:, 0], down.gather(1, strongest)[:, 0]


def _spread(n_cells: int, side: int) -> Tensor:
    """What share of a cell each pixel has, ``(side, cells)``."""
    starts = torch.arange(n_cells) * side // n_cells
    ends = -(-(torch.arange(n_cells) + 1) * side // n_cells)
    place = torch.arange(side).unsqueeze(1)
    return ((place >= starts) & (place < ends)).double() / (ends - starts)
