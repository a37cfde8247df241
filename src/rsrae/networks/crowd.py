"""A member that has no network: it asks how much a row is like a large group of rows, and not only the few nearest.

Anomalies of one kind are each other's nearest neighbours, but there are not many of them: beyond a twentieth of all
rows those that are next nearest are of other kinds. What is normal still has its like there, however many normal kinds
there are, as long as each is more than an eighth or so of all rows.
"""

from __future__ import annotations

import scipy.sparse as sp
import torch
from torch import Tensor

from rsrae.networks.batches import Batch, SparseBatch
from rsrae.networks.neighbours import ITSELF, ROWS_AT_ONCE, inner_products, smallest

BAND = (0.05, 0.15)  # of all rows: as near as the first are those of a small group, as far as the last is another kind


def ranks_in_band(n_rows: int, share: float) -> tuple[int, int]:
    """How many of the nearest rows are passed over, and how many are looked at with these, among ``n_rows`` that stand
    for this share of all rows.

    >>> ranks_in_band(1_000, 1.0), ranks_in_band(600, 0.6), ranks_in_band(2, 1.0)
    ((50, 150), (50, 150), (0, 1))
    """
    first, last = (round(part * n_rows / share) for part in BAND)
    last = min(max(last, 1), n_rows - 1)
    return min(first, last - 1), last


class Crowd:
    """Scores a row by one minus the mean of its cosines with the rows kept, from a nearest to a less near one.

    Parameters
    ----------
    rows : the rows kept, of unit norm and flat, ``(n, m)``: a tensor, or CSR; two at least.
    ranks : how many of the nearest are passed over, itself not counted, and how many are looked at with these.

    Examples
    --------
    >>> rows = torch.tensor([[1.0, 0.0], [0.8, 0.6], [0.0, 1.0], [-1.0, 0.0]])
    >>> Crowd(rows, (0, 1)).errors(torch.tensor([[[1.0, 0.0], [0.6, 0.8]]]), "cosine")
    tensor([[0.2000, 0.0400]])
    >>> Crowd(rows, (1, 2)).errors(torch.tensor([[[1.0, 0.0], [0.6, 0.8]]]), "cosine")
    tensor([[1.0000, 0.2000]])
    """

    n_members = 1

    def __init__(self, rows: Tensor | sp.csr_array, ranks: tuple[int, int]) -> None:
        self.rows, self.ranks = rows, ranks

    def for_scoring(self) -> Crowd:
        """What scores many batches."""
        return self

    def errors(self, batch: Batch, scored_by: str) -> Tensor:
        """The score of every row, ``(1, rows)``."""
        if isinstance(batch, SparseBatch) and isinstance(self.rows, Tensor):
            batch = batch.to_dense()
        if isinstance(batch, SparseBatch):
            return self._errors(inner_products(batch, self.rows), torch.float64).to(batch.device)
        parts = torch.split(batch[0].flatten(start_dim=1), ROWS_AT_ONCE)
        errors = [self._errors(inner_products(part.unsqueeze(0), self.rows), part.dtype) for part in parts]
        return torch.cat(errors, dim=1).to(batch)

    def _errors(self, inner: Tensor, rows_in: torch.dtype) -> Tensor:
        first, last = self.ranks
        apart, _ = smallest(inner.neg_(), last + 1)
        kept_in = self.rows.dtype if isinstance(self.rows, Tensor) else torch.float64
        is_itself = 2 + 2 * apart[:, :1] <= max(ITSELF[rows_in], ITSELF[kept_in])
        apart = torch.where(is_itself, apart[:, 1:], apart[:, :-1])
        return 1 + apart[:, first:last].mean(dim=1).unsqueeze(0)
