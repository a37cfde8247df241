"""Item scores: how far a reconstruction is from its item. Higher is stranger."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

ScoreName = Literal["cosine", "euclidean"]

# Added to a product of norms, so that a row of zeros has a score.
NORM_FLOOR = 1e-12


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
