"""The wide residual network: Zagoruyko and Komodakis, "Wide Residual Networks", BMVC 2016."""

from __future__ import annotations

import itertools

import torch
from torch import Tensor, nn

from rsrae.errors import ParameterError

WIDTHS = (16, 32, 64)  # of the three groups, before widening


class WideResNet(nn.Module):
    """A classifier of images of any size: three groups of pre-activation residual blocks, then a global mean.

    Parameters
    ----------
    n_channels, n_classes : of the images, of the answer.
    depth : ``6 k + 4`` layers: k blocks of two convolutions in each group.
    widen : factor on the widths 16, 32, 64 of the groups.
    generator : for the initial values.

    Examples
    --------
    >>> network = WideResNet(1, 72, depth=10, widen=1, generator=torch.Generator().manual_seed(0))
    >>> network(torch.zeros(2, 1, 28, 28)).shape
    torch.Size([2, 72])
    """

    def __init__(self, n_channels: int, n_classes: int, *, depth: int, widen: int, generator: torch.Generator) -> None:
        super().__init__()
        if depth < 10 or (depth - 4) % 6 != 0:
            raise ParameterError(f"depth must be 10, 16, 22, ... (6 k + 4), got {depth}")
        widths = [WIDTHS[0], *(width * widen for width in WIDTHS)]
        blocks: list[nn.Module] = []
        for group, (n_in, n_out) in enumerate(itertools.pairwise(widths)):
            for number in range((depth - 4) // 6):
                is_first = number == 0
                stride = 2 if is_first and group > 0 else 1
                blocks.append(ResidualBlock(n_in if is_first else n_out, n_out, stride))
        self.first = _convolution(n_channels, widths[0])
        self.blocks = nn.Sequential(*blocks)
        self.last_norm = nn.BatchNorm2d(widths[-1])
        self.output = nn.Linear(widths[-1], n_classes)
        self._initialise(generator)

    def forward(self, x: Tensor) -> Tensor:
        """The logits, ``(rows, channels, height, width) -> (rows, classes)``."""
        logits: Tensor = self.output(self.features(x))
        return logits

    def features(self, x: Tensor) -> Tensor:
        """What the logits are a linear function of, ``(rows, 64 widen)``; not negative."""
        h: Tensor = self.last_norm(self.blocks(self.first(x))).relu()
        return h.mean(dim=(2, 3))

    def _initialise(self, generator: torch.Generator) -> None:
        for layer in self.modules():
            if isinstance(layer, nn.Conv2d):
                nn.init.kaiming_normal_(layer.weight, mode="fan_out", nonlinearity="relu", generator=generator)
            elif isinstance(layer, nn.Linear):
                nn.init.xavier_uniform_(layer.weight, generator=generator)
                nn.init.zeros_(layer.bias)


class ResidualBlock(nn.Module):
    """Normalise, activate, convolve, twice; beside it the identity, or a 1 x 1 convolution where the width
    changes."""

    def __init__(self, n_in: int, n_out: int, stride: int) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.BatchNorm2d(n_in), nn.BatchNorm2d(n_out)
        self.conv1, self.conv2 = _convolution(n_in, n_out, stride), _convolution(n_out, n_out)
        is_identity = n_in == n_out and stride == 1
        self.shortcut = None if is_identity else nn.Conv2d(n_in, n_out, 1, stride=stride, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """The sum of the two ways."""
        h = self.norm1(x).relu()
        beside = x if self.shortcut is None else self.shortcut(h)
        through: Tensor = self.conv2(self.norm2(self.conv1(h)).relu())
        return through + beside


def _convolution(n_in: int, n_out: int, stride: int = 1) -> nn.Conv2d:
    return nn.Conv2d(n_in, n_out, 3, stride=stride, padding=1, bias=False)
