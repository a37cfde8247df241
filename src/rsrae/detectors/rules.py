"""How far a row of a table is from what its columns foretell of each other.

A row that a wrong join made of two has nothing strange in any column; only that its values do not go together tells.
Trees look at one column at a time, and neighbours and networks add up all columns, most of which fit. So each value is
foretold, linearly, from all others of its row, and how far it is from that counts in deviations of such errors; the
more, the more of the variance of its column is foretold at all.

With x a row, standardised, and P the inverse of the correlations, the error of value j is ``(P x)_j / sqrt(P_jj)``, and
``1 - 1 / P_jj`` of its variance is foretold. The correlations are those of the rows seen and of as many more, in which
no column has to do with another, as there are columns: of few rows little is believed. No rule is believed to hold
better than to a twentieth of the variance, or rounding would break it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import torch
from torch import Tensor

from rsrae.detectors.preprocessed import expect_shape
from rsrae.modelfile import Arrays
from rsrae.networks.batches import Batch

LEAST_FREE = 0.05  # of the variance of a column, that nothing foretells
LARGEST_ERROR = 5.0  # in deviations, that a single value counts for: single far values are found elsewhere


@dataclass(frozen=True)
class Rules:
    """Scores a row by the errors of foretelling its values, averaged by how far these are foretold.

    Attributes
    ----------
    center, scale : what is taken off a row and divided by, ``(columns,)``.
    directions : D of what a standardised row x is foretold to be from x itself, ``D D' x``, ``(columns, k)``. The error
        of a value by the others alone is a multiple of the error by this.
    sizes : the usual sizes of the errors by this, ``(columns,)``.
    foretold : the share of the variance of each column that the others foretell, ``(columns,)``.
    weights : how much the columns count besides, ``(columns,)``; None: all the same.

    Examples
    --------
    >>> rows = torch.randn(200, 1, generator=torch.Generator().manual_seed(0)) * torch.tensor([1.0, 1.0, -1.0])
    >>> Rules.fit(rows).errors(torch.tensor([[[1.0, 1.0, -1.0], [1.0, 1.0, 1.0]]]), "manhattan").round(decimals=1)
    tensor([[0.1000, 4.2000]])
    """

    center: Tensor
    scale: Tensor
    directions: Tensor
    sizes: Tensor
    foretold: Tensor
    weights: Tensor | None = None

    n_members = 1

    @classmethod
    def fit(cls, rows: Tensor) -> Self:
        """Learn from the columns of rows as the networks see them, ``(n, columns)``."""
        n, n_columns = rows.shape
        values = rows.double()
        center, scale = values.mean(dim=0), values.std(dim=0, correction=0)
        is_constant = scale == 0
        scale = torch.where(is_constant, 1.0, scale)
        values = (values - center).div_(scale)
        free = max(LEAST_FREE, n_columns / (n + n_columns))
        variances, directions = _principal(values)
        variances *= 1 - free
        directions = directions * (variances / (variances + free)).sqrt()
        left = 1 - directions.square().sum(dim=1)  # P_jj, times ``free``
        foretold = torch.where(is_constant, 0.0, 1 - free / left).clamp_min_(0)
        # A decomposition gives columns that follow each other in memory, and a product may sum those in another order
        # than it sums what a model file gives back.
        learned = (center, scale, directions.contiguous(), (free * left).sqrt(), foretold)
        return cls(*(part.to(rows) for part in learned))

    @property
    def reach(self) -> float:
        """How much of the variance of the columns is foretold: where nothing is, there is no rule to break."""
        return float(self.foretold.mean())

    def for_scoring(self) -> Self:
        """What scores many batches."""
        return self

    def errors(self, batch: Batch, scored_by: str) -> Tensor:
        """The score of every row, ``(1, rows)``; the columns' ranks, behind the columns, are not looked at."""
        errors = self._errors(batch).clamp_max_(LARGEST_ERROR)
        return errors.mul_(self._counts(errors)).sum(dim=1).unsqueeze(0)

    def by_column(self, batch: Batch) -> Tensor:
        """The scores of rows, split into columns by the squares of their errors, ``(rows, columns)``.

        A value far off spoils what is foretold of all others a little; by squares, these are no reason.
        """
        parts = self._errors(batch).square_()
        parts.mul_(self._counts(parts))
        return parts.mul_(self.errors(batch, "").T / parts.sum(dim=1, keepdim=True).clamp_min_(1e-30))

    def _errors(self, batch: Batch) -> Tensor:
        """In deviations, ``(rows, columns)``."""
        assert isinstance(batch, Tensor)
        center, scale, directions, sizes = (getattr(self, name).to(batch) for name in _LEARNED[:4])
        values = (batch[0, :, : len(center)] - center).div_(scale)
        # In double precision: some processors sum a row of a product with few columns by its place among the rows, and
        # what that changes is then rounded away.
        foretold = (values.double() @ directions.double() @ directions.double().T).to(values)
        errors: Tensor = (values - foretold).abs_().div_(sizes)
        return errors

    def _counts(self, like: Tensor) -> Tensor:
        counts = self.foretold / self.foretold.sum().clamp_min(1e-12)
        return (counts if self.weights is None else counts * self.weights.to(counts)).to(like)

    def arrays(self) -> Arrays:
        """Everything learned, for the model file; the weights are the panel's."""
        return {f"rules.{name}": getattr(self, name).cpu().numpy() for name in _LEARNED}

    @classmethod
    def restore(cls, arrays: Arrays, n_columns: int, *, weights: Tensor | None, device: str) -> Self:
        """Undo ``arrays``; a ValueError if they are not rules of so many columns."""
        parts = {}
        for name in _LEARNED:
            shape = (n_columns, None) if name == "directions" else (n_columns,)
            part = torch.from_numpy(expect_shape(f"rules.{name}", arrays[f"rules.{name}"], shape)).to(device)
            if not (part.is_floating_point() and bool(part.isfinite().all())):
                raise ValueError(f"rules.{name} must be finite numbers")
            parts[name] = part
        if not bool((torch.minimum(parts["scale"], parts["sizes"]) > 0).all() and (parts["foretold"] >= 0).all()):
            raise ValueError("a column without scale, an error without size or less than nothing foretold")
        return cls(**parts, weights=weights)


_LEARNED = ("center", "scale", "directions", "sizes", "foretold")


def _principal(values: Tensor) -> tuple[Tensor, Tensor]:
    """The variances along the principal directions of centered rows, ``(n, m)``, and these, ``(m, k)``."""
    n, m = values.shape
    if m <= n:
        variances, directions = torch.linalg.eigh(values.T @ values / n)
        return variances.clamp_min_(0), directions
    variances, of_rows = torch.linalg.eigh(values @ values.T / n)
    variances.clamp_min_(0)
    # Those without length are noise: nothing is foretold along them.
    lengths = torch.where(variances > 1e-9, (n * variances).sqrt(), torch.inf)
    return variances, values.T @ of_rows / lengths
