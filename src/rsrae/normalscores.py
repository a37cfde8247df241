"""The normal score of a value: where it would stand if its column were normally distributed.

A column measured in another unit, or as a logarithm, has the same normal scores. So they say how unusual a value is
within its column, and nothing about how far out it lies.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from scipy.special import ndtr, ndtri
from torch import Tensor, nn

FloatArray = npt.NDArray[np.float64]

N_KNOTS = 129  # of a column; straight lines between them


@dataclass(frozen=True)
class NormalScores:
    """A curve for each column, from a value to its normal score; the score of the median is zero.

    Beyond the smallest and the largest value known the curve stays level. A column of one or two values has no curve:
    on whatever scale, it says the same.

    Attributes
    ----------
    columns : the numbers of the columns that have one.
    values : where the curve is known, ``(curves, knots)``, in order; a column with fewer values repeats its largest.
    scores : the normal scores there.

    Examples
    --------
    >>> curve = NormalScores.fit([np.array([0.0, 0.0, 0.0, 1.0, 10.0]), np.array([0.0, 1.0, 1.0, 1.0, 0.0])])
    >>> curve.columns
    array([0])
    >>> rows = torch.tensor([[0.0], [1.0], [5.5], [1e9]], dtype=torch.float64)
    >>> curve.on(torch.float64, "cpu")(rows).round(decimals=2)
    tensor([[0.0000],
            [1.0500],
            [1.4300],
            [1.8100]], dtype=torch.float64)
    """

    columns: npt.NDArray[np.int64]
    values: FloatArray
    scores: FloatArray

    @classmethod
    def fit(cls, columns: Iterable[FloatArray]) -> NormalScores:
        """Of the values of each column."""
        found = {number: curve for number, column in enumerate(columns) if len((curve := _curve(column))[0]) > 2}
        n_knots = max((len(values) for values, _ in found.values()), default=2)
        padded = np.zeros((2, len(found), n_knots))
        for curve, place in zip(found.values(), padded.swapaxes(0, 1), strict=True):
            place[:] = np.pad(curve, ((0, 0), (0, n_knots - curve.shape[1])), mode="edge")
        return cls(np.array(list(found), dtype=np.int64), *padded)

    def __len__(self) -> int:
        return len(self.columns)

    def on(self, dtype: torch.dtype, device: torch.device | str) -> NormalScoresOf:
        """The curves for one number type and device."""
        tensors = (torch.from_numpy(part).to(device=device, dtype=dtype) for part in (self.values, self.scores))
        return NormalScoresOf(torch.from_numpy(self.columns).to(device), *tensors)

    def check(self, n_columns: int) -> None:
        """A ValueError unless these are curves of such a table."""
        shape, columns = self.values.shape, self.columns
        if self.scores.shape != shape or len(shape) != 2 or columns.shape != shape[:1] or shape[1] < 2:
            raise ValueError("the parts of normal scores do not fit each other")
        if columns.dtype.kind != "i" or columns.size == 0 or columns.min() < 0 or columns.max() >= n_columns:
            raise ValueError(f"these are not normal scores of {n_columns} columns")
        if (np.diff(self.values, axis=1) < 0).any():
            raise ValueError("the values of normal scores are not in order")


class NormalScoresOf:
    """``NormalScores`` where the rows are."""

    def __init__(self, columns: Tensor, values: Tensor, scores: Tensor) -> None:
        self.columns, self.values = columns, values
        # A piece of the curve starts at every knot, and one lies before the first: (curves, knots + 1). The outer ones
        # are level, and so are those between a knot and its repetitions.
        width, height = values.diff(dim=1), scores.diff(dim=1)
        slope = torch.where(width > 0, height / width, torch.zeros_like(width))
        self.start = torch.cat([values[:, :1], values], dim=1)
        self.score = torch.cat([scores[:, :1], scores], dim=1)
        self.slope = nn.functional.pad(slope, (1, 1))

    def __call__(self, rows: Tensor) -> Tensor:
        """``(rows, columns) -> (rows, curves)``."""
        x = rows.T[self.columns].contiguous()
        piece = torch.searchsorted(self.values, x, right=True)
        slope, start, score = (part.gather(1, piece) for part in (self.slope, self.start, self.score))
        return torch.addcmul(score, slope, x.sub_(start)).T


def _curve(column: FloatArray) -> FloatArray:
    """Values and their scores, ``(2, knots)``."""
    ordered = np.sort(column)
    n = len(ordered)
    # Evenly spaced as normal scores, so that the tails, where few values are, have as many knots as the middle.
    outermost = ndtri(1 - 0.5 / n)
    places = (ndtr(np.linspace(-outermost, outermost, N_KNOTS)) * n).astype(int).clip(0, n - 1)
    values = np.unique(ordered[places])
    # Equal values share the middle of their ranks.
    below, up_to = (np.searchsorted(ordered, values, side=side) for side in ("left", "right"))
    scores = ndtri((below + up_to) / (2 * n))
    return np.stack([values, scores - np.interp(np.median(ordered), values, scores)])
