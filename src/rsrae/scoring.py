"""Item scores: how far a reconstruction is from its item. Higher is stranger."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
import torch
from torch import Tensor

ScoreName = Literal["cosine", "euclidean", "manhattan"]
LogLengths = npt.NDArray[np.float64]

# Scores that are a norm of the residual, and which.
NORMS = {"euclidean": 2, "manhattan": 1}
# Added to a product of norms, so that a row of zeros has a score.
NORM_FLOOR = 1e-12
# Lengths of documents beyond these quantiles count as the quantile.
USUAL_LENGTHS = (0.02, 0.98)
# Of what the length explains. All of it would hide anomalies that are shorter than other documents.
TAKEN_OFF = 0.5


def distance(x: Tensor, x_hat: Tensor, scored_by: str, *, in_place: bool = False) -> Tensor:
    """The score of each row (last axis) by name.

    ``1 - cos`` is taken as half the squared distance of the two directions, which keeps its digits where they agree.
    ``in_place`` overwrites ``x_hat``.

    >>> distance(torch.tensor([3.0, 4.0]), torch.tensor([6.0, 8.0]), "cosine")
    tensor(0.)
    """
    if scored_by in NORMS:
        residual = x_hat.sub_(x) if in_place else x_hat - x
        if NORMS[scored_by] == 1:  # torch's own norm takes eight times as long
            return residual.abs_().sum(dim=-1)
        residual_norm: Tensor = torch.linalg.vector_norm(residual, dim=-1)
        return residual_norm
    norm, norm_hat = (torch.linalg.vector_norm(v, dim=-1, keepdim=True) for v in (x, x_hat))
    floor = norm_hat.clamp_min(NORM_FLOOR)
    direction = x_hat.div_(floor) if in_place else x_hat / floor
    gap = direction.sub_(x / norm.clamp_min(NORM_FLOOR))
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
    """Median and median absolute deviation of one member's scores; a spread of zero becomes one.

    >>> robust_location_and_spread(torch.tensor([1.0, 2.0, 3.0, 4.0, 100.0]))
    (tensor(3.), tensor(1.))
    """
    location = scores.median()
    spread = (scores - location).abs_().median()
    return location, torch.where(spread > 0, spread, torch.ones_like(spread))


def standardised(scores: Tensor) -> Tensor:
    """One member's scores on the scale that all can be compared on, in double precision.

    >>> standardised(torch.tensor([1.0, 2.0, 3.0, 4.0, 100.0])).tolist()
    [-2.0, -1.0, 0.0, 1.0, 97.0]
    """
    scores = scores.double()
    location, spread = robust_location_and_spread(scores)
    return (scores - location).div_(spread)


@dataclass(frozen=True)
class LengthTrend:
    """What the length of a document explains of its score.

    A short document is far from any mean because it has few words, not because they are strange. But anomalies may be
    short, too. So half of the trend of the scores in the logarithm of the length, a straight line fitted by least
    squares over the training rows, is taken off. The line ends where lengths become unusual: an empty document is not
    excused for being empty.

    Attributes
    ----------
    usual : the least and the largest usual length.
    center : the mean length, where nothing is taken off.
    slopes : of what is taken off each member's scores, ``(members,)``.
    """

    usual: tuple[float, float]
    center: float
    slopes: Tensor

    @classmethod
    def fit(cls, scores: Tensor, lengths: LogLengths) -> LengthTrend:
        """Find the line through the scores of each member, ``(members, rows)``."""
        low, high = (float(length) for length in np.quantile(lengths, USUAL_LENGTHS))
        lengths = np.clip(lengths, low, high)
        center = float(lengths.mean())
        x = torch.from_numpy(lengths - center).to(scores)
        slopes = TAKEN_OFF * (scores @ x) / x.square().sum().clamp_min(NORM_FLOOR)
        return cls((low, high), center, slopes)

    def remove(self, scores: Tensor, lengths: LogLengths) -> Tensor:
        """The scores of rows of these lengths, brought halfway to the mean length."""
        x = torch.from_numpy(np.clip(lengths, *self.usual) - self.center).to(scores)
        return scores - self.slopes[:, None].to(scores) * x


def log_lengths(rows: sp.csr_array) -> LogLengths:
    """The logarithm of the effective number of features of each row: words that weigh little count little.

    That number is ``(sum x**2)**2 / sum x**4``: k for k equal values, and 1 for a row of zeros.

    >>> log_lengths(sp.csr_array([[2.0, 2.0, 2.0, 0.0], [0.0, 5.0, 0.0, 0.0]])).round(3).tolist()
    [1.099, 0.0]
    """
    squares = rows.multiply(rows).astype(np.float64)
    total = np.asarray(squares.sum(axis=1)).ravel()
    fourth = np.asarray(squares.multiply(squares).sum(axis=1)).ravel()
    has_values = fourth > 0
    lengths = np.zeros(len(total))
    lengths[has_values] = 2 * np.log(total[has_values]) - np.log(fourth[has_values])
    return lengths
