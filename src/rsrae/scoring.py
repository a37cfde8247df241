"""Item scores: how far a reconstruction is from its item. Higher is stranger."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

ScoreName = Literal["cosine", "euclidean"]

# Added to a product of norms, so that a row of zeros has a score.
NORM_FLOOR = 1e-12


def distance(x: Tensor, x_hat: Tensor, scored_by: str) -> Tensor:
    """The score of each row (last axis) by name.

    ``1 - cos`` is taken as half the squared distance of the two directions, which keeps its digits where they agree.

    >>> distance(torch.tensor([3.0, 4.0]), torch.tensor([6.0, 8.0]), "cosine")
    tensor(0.)
    """
    if scored_by == "euclidean":
        residual_norm: Tensor = torch.linalg.vector_norm(x - x_hat, dim=-1)
        return residual_norm
    norm, norm_hat = (torch.linalg.vector_norm(v, dim=-1, keepdim=True) for v in (x, x_hat))
    gap = (x / norm.clamp_min(NORM_FLOOR)).sub_(x_hat / norm_hat.clamp_min(NORM_FLOOR))
    half_square = torch.linalg.vector_norm(gap, dim=-1).square_().div_(2)
    has_direction = (torch.minimum(norm, norm_hat) > NORM_FLOOR).squeeze(-1)
    return torch.where(has_direction, half_square, 1.0)


def cosine_distance(inner: Tensor, square_x: Tensor, square_x_hat: Tensor) -> Tensor:
    """``1 - cos(x, x_hat)``: between 0 (same direction) and 2.

    >>> cosine_distance(torch.tensor(1.0), torch.tensor(1.0), torch.tensor(4.0))
    tensor(0.5000)
    """
    return 1 - inner / ((square_x * square_x_hat).sqrt() + NORM_FLOOR)


def euclidean_distance(square_residual: Tensor) -> Tensor:
    """``||x - x_hat||``."""
    return square_residual.clamp_min(0).sqrt()


def robust_location_and_spread(scores: Tensor) -> tuple[Tensor, Tensor]:
    """Median and median absolute deviation along the last axis; a spread of zero becomes one.

    >>> robust_location_and_spread(torch.tensor([1.0, 2.0, 3.0, 4.0, 100.0]))
    (tensor(3.), tensor(1.))
    """
    location = scores.median(dim=-1).values
    spread = (scores - location.unsqueeze(-1)).abs().median(dim=-1).values
    return location, torch.where(spread > 0, spread, torch.ones_like(spread))
