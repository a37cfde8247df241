"""An item is known by the company it keeps: its score is evened out with those of the rows most like it.

What a network cannot reproduce may be an accident of one item; if the items like it are found strange too, it is not.
Where nothing is like it, its score stays as it is: rows count by the cosine between them and the item, after what all
rows have in common is taken off, and the item itself counts as one of cosine one.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from rsrae.networks.batches import Batch, SparseBatch
from rsrae.networks.neighbours import ITSELF, ROWS_AT_ONCE, inner_products, smallest

PICTURES_FOR_ONE_ALIKE = 50


def most_alike(k: int, n_pictures: int) -> int:
    """How many of the pictures most like an item count, of k at most and of one in fifty: of few hardly any are of its
    kind, and pictures of other things are a little alike, too (documents about other things are not).

    >>> most_alike(10, 150), most_alike(10, 1_000)
    (3, 10)
    """
    return min(k, max(1, n_pictures // PICTURES_FOR_ONE_ALIKE))


class Company:
    """What the rows most like an item were given, and how much each of them counts.

    Parameters
    ----------
    rows : rows of the training data, of unit norm and flat, ``(n, m)``: a tensor, or CSR; two at least.
    scores : what each of them was given, ``(n,)``.
    k : how many count; at most one less than there are rows.

    Examples
    --------
    >>> rows = torch.tensor([[1.0, 0.0], [0.8, 0.6], [-1.0, 0.0], [0.0, -1.0]])
    >>> company = Company(rows, torch.tensor([1.0, 3.0, 0.0, 0.0]), k=1)
    >>> company.even_out(torch.tensor([1.0]), company.errors(rows[None, :1], "cosine"))
    tensor([1.8505])
    """

    n_members = 2

    def __init__(self, rows: Tensor | sp.csr_array, scores: Tensor, k: int) -> None:
        self.rows, self.scores = rows, scores
        self.k = min(k, rows.shape[0] - 1)
        if isinstance(rows, Tensor):
            self._mean = rows.double().mean(dim=0)
            to_mean = rows.double() @ self._mean
        else:
            self._mean = torch.from_numpy(np.asarray(rows.mean(axis=0), dtype=np.float64).ravel())
            to_mean = torch.from_numpy(np.asarray(rows @ self._mean.numpy(), dtype=np.float64))
        self._square_mean = float(self._mean @ self._mean)
        self._to_mean = to_mean
        self._norms = (1 - 2 * to_mean + self._square_mean).clamp_min(1e-12).sqrt()

    def for_scoring(self) -> Company:
        """What scores many batches."""
        return self

    def errors(self, batch: Batch, scored_by: str) -> Tensor:
        """Sums over the rows most like each row: of their scores times weights, and of the weights, ``(2, rows)``."""
        if isinstance(batch, SparseBatch) and isinstance(self.rows, Tensor):
            batch = batch.to_dense()
        if isinstance(batch, SparseBatch):
            to_mean = torch.from_numpy(np.asarray(batch.members[0] @ self._mean.numpy(), dtype=np.float64))
            return self._sums(inner_products(batch, self.rows), to_mean, to_mean.dtype).to(batch.device)
        parts = torch.split(batch[0].flatten(start_dim=1), ROWS_AT_ONCE)
        mean = self._mean.to(batch)
        sums = [self._sums(inner_products(part.unsqueeze(0), self.rows), part @ mean, part.dtype) for part in parts]
        return torch.cat(sums, dim=1).to(batch)

    @staticmethod
    def even_out(own: Tensor, sums: Tensor) -> Tensor:
        """The mean of the scores of the rows themselves and of those most like them, by their weights."""
        return (own + sums[0]) / (1 + sums[1])

    def _sums(self, inner: Tensor, to_mean: Tensor, rows_in: torch.dtype) -> Tensor:
        """Of inner products ``(rows, kept)``; ``to_mean`` are those of the rows with the mean of the rows kept."""
        own_norms = (1 - 2 * to_mean + self._square_mean).clamp_min(1e-12).sqrt()
        norms, their_means, scores = (part.to(inner) for part in (self._norms, self._to_mean, self.scores))
        cosines = inner - to_mean.to(inner)[:, None] - their_means + self._square_mean
        cosines /= own_norms.to(inner)[:, None] * norms
        values, places = smallest(cosines.neg_(), self.k + 1)
        nearest = inner.gather(1, places[:, :1])
        kept_in = self.rows.dtype if isinstance(self.rows, Tensor) else torch.float64
        is_itself = 2 - 2 * nearest <= max(ITSELF[rows_in], ITSELF[kept_in])
        weights = torch.where(is_itself, values[:, 1:], values[:, :-1]).neg().clamp_min(0)
        places = torch.where(is_itself, places[:, 1:], places[:, :-1])
        return torch.stack([(weights * scores[places]).sum(dim=1), weights.sum(dim=1)])
