"""Values far outside the usual range of their column: a wrong cell is found however many columns are right.

The score of a row adds up what all columns say, and columns are tamed, for many have heavy tails. So a value that lies
thirty deviations away, in one column of ten, is hardly more than what ten columns usually say together. But nothing
explains it, and often it is an error: a decimal point, a unit, a number that stands for "not known".

How far out is too far depends on the tail. That of an exponential distribution gets on by the same step every time a
value becomes ten times as rare; the step from one value in ten to one in a hundred is known well from the rows. Longer
tails (of sizes, prices, counts) get on by longer and longer steps: if the last one known was longer than the one before
it, so much longer still are those to come. A value is gross if such a tail would reach it in one row of a million.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from rsrae.detectors.preprocessed import expect_shape
from rsrae.modelfile import Arrays
from rsrae.networks.batches import Batch

TAILS = (0.01, 0.1, 0.5, 0.9, 0.99)
TO_ONE_IN_TEN = math.log10(5)  # steps from the median, which one row in two lies beyond
MOST_STEPS = 4  # from one row in a hundred to one in a million
MOST_GROWTH = 10.0  # of a step; a tail all of whose steps grew so would have no mean
SHORTEST_STEP = 0.1  # of the usual range, where values are rounded or end abruptly
UNBOUNDED = 1e300  # a model file holds no infinity
FEWEST_ROWS, FEWEST_VALUES = 30, 10  # that tails can be told from: of all, of those unlike most
WEIGHT = 4.0  # of what stands between the median and the ninth decile of the scores of all rows


class GrossValues:
    """Scores a row by its value that lies furthest outside the usual range of its column; zero if none is gross.

    Parameters
    ----------
    low, high : the usual range of each column, scaled but not tamed, ``(columns,)``; without end if unknown.
    below, above : the step that the tail on either side goes on with, ``(columns,)``.
    weight : the score of a row with a value e times as far out as a gross one must be.
    is_tame : whether the rows come tamed.

    Examples
    --------
    >>> rows, scores = torch.linspace(0, 1, 101)[:, None].expand(-1, 2), torch.linspace(0, 10, 101)
    >>> gross = GrossValues.fit(rows, scores, is_tame=False)
    >>> gross.errors(torch.tensor([[[0.5, 0.5], [0.5, 1.3], [-9.0, 1.3]]]), "manhattan").round(decimals=1)
    tensor([[ 0.0000,  0.0000, 50.2000]], dtype=torch.float64)
    """

    n_members = 1

    def __init__(
        self, low: Tensor, high: Tensor, below: Tensor, above: Tensor, *, weight: float, is_tame: bool
    ) -> None:
        self.low, self.high, self.below, self.above = low, high, below, above
        self.weight, self.is_tame = weight, is_tame

    @classmethod
    def fit(cls, rows: Tensor, scores: Tensor, *, is_tame: bool) -> GrossValues:
        """Learn the tails from rows, ``(rows, columns)``, most of which are right, and what the members say of them."""
        values = (rows.double().sinh() if is_tame else rows.double()).cpu().numpy()
        tails = [_tails(values[:, number]) for number in range(values.shape[1])]
        parts = torch.tensor(tails, dtype=torch.float64, device=rows.device).T.contiguous()
        middle, ninth = np.quantile(scores.cpu().numpy(), [0.5, 0.9])
        return cls(*parts, weight=WEIGHT * float(ninth - middle), is_tame=is_tame)

    def for_scoring(self) -> GrossValues:
        """What scores many batches."""
        return self

    def errors(self, batch: Batch, scored_by: str) -> Tensor:
        """The score of every row, ``(1, rows)``; the columns' ranks, behind the columns, are not looked at."""
        return self._score(self._steps(batch).amax(dim=1)).unsqueeze(0)

    def by_column(self, batch: Batch) -> Tensor:
        """The same, at the column that it is about, ``(rows, columns)``; zeros elsewhere."""
        furthest, columns = self._steps(batch).max(dim=1, keepdim=True)
        shown = torch.zeros(len(columns), len(self.low), dtype=furthest.dtype, device=furthest.device)
        return shown.scatter_(1, columns, self._score(furthest))

    def _steps(self, batch: Batch) -> Tensor:
        assert isinstance(batch, Tensor)
        values = batch[0, :, : len(self.low)].double()
        if self.is_tame:
            values = values.sinh()
        return torch.maximum((values - self.high).div_(self.above), (self.low - values).div_(self.below))

    def _score(self, steps: Tensor) -> Tensor:
        return steps.div(MOST_STEPS).clamp_min_(1).log_().mul_(self.weight)

    def arrays(self) -> Arrays:
        """Everything learned, for the model file."""
        tails = {name: getattr(self, name).cpu().numpy() for name in ("low", "high", "below", "above")}
        return {f"gross.{name}": array for name, array in (tails | {"weight": np.array([self.weight])}).items()}

    @classmethod
    def restore(cls, arrays: Arrays, n_columns: int, *, is_tame: bool, device: str) -> GrossValues:
        """Undo ``arrays``; a ValueError if they are not the tails of so many columns."""
        low, high, below, above = (
            expect_shape(f"gross.{name}", arrays[f"gross.{name}"], (n_columns,))
            for name in ("low", "high", "below", "above")
        )
        weight = float(expect_shape("gross.weight", arrays["gross.weight"], (1,))[0])
        if not ((low < high) & (np.minimum(below, above) > 0)).all():
            raise ValueError("the usual range of a column, or the step of a tail, is empty")
        if not 0 <= weight < np.inf:
            raise ValueError(f"the weight of gross values cannot be {weight}")
        parts = (torch.from_numpy(part).to(device) for part in (low, high, below, above))
        return cls(*parts, weight=weight, is_tame=is_tame)


def _tails(values: npt.NDArray[np.float64]) -> tuple[float, float, float, float]:
    unknown = (-UNBOUNDED, UNBOUNDED, 1.0, 1.0)
    if len(values) < FEWEST_ROWS:
        return unknown
    first, middle, third = np.quantile(values, [0.25, 0.5, 0.75])
    if first == third:  # most values are the same: how far from it do the others lie?
        values = values[values != middle]
        if len(values) < FEWEST_VALUES:
            return unknown
    outer_low, inner_low, center, inner_high, outer_high = np.quantile(values, TAILS)
    low, high = min(outer_low, middle), max(outer_high, middle)
    shortest = SHORTEST_STEP * (high - low)
    below = _next_step(inner_low - outer_low, center - inner_low)
    above = _next_step(outer_high - inner_high, inner_high - center)
    return low, high, max(below, shortest), max(above, shortest)


def _next_step(step: float, to_one_in_ten: float) -> float:
    """Of a tail, from the last step known and how far it is from the median to one value in ten."""
    if to_one_in_ten == 0:
        return step
    step_before = max(to_one_in_ten / TO_ONE_IN_TEN, step / MOST_GROWTH)
    return step * max(step / step_before, 1.0)
