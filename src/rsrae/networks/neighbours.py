"""A member that has no network: it puts an item's nearest neighbours, or their mean, in place of a reconstruction.

A network learns the shape of all that is normal; a rare kind of normal item, or a text about something of its own, it
reproduces badly. Whether an item has others like it is seen from its neighbours, provided that anomalies are not among
them: the neighbours are sought among rows that were found normal before, by networks or by a crowd.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
import torch
from torch import Tensor, nn

from rsrae.networks.batches import Batch, SparseBatch
from rsrae.scoring import cosine_distance, distance, euclidean_distance

ROWS_AT_ONCE = 192  # their distances to all rows kept fit the cache of a core
VALUES_AT_ONCE = 2**17  # of neighbours: so do these
GROUP = 8
# A squared distance below this share of the squared norm is rounding, of either row: they are one and the same.
ITSELF = {torch.float32: 1e-5, torch.float64: 1e-12}


class Neighbours:
    """Scores a row by its distance to its k nearest among the rows kept, itself left out.

    Parameters
    ----------
    rows : the rows kept, preprocessed and flat, ``(n, m)``: a tensor, or CSR; two at least.
    k : how many neighbours; at most one less than there are rows is used.
    to_each : score by the mean of the distances to each of them; else by the distance to their mean.
    weights : how much the values of an item count, in the search and in the score, ``(m,)``, if ``rows`` are a tensor;
        None: all the same.

    Examples
    --------
    >>> rows, batch = torch.tensor([[0.0], [1.0], [2.0], [9.0]]), torch.tensor([[[1.0], [6.0]]])
    >>> Neighbours(rows, k=2).errors(batch, "euclidean")
    tensor([[0.0000, 0.5000]])
    >>> Neighbours(rows, k=2, to_each=True).errors(batch, "euclidean")
    tensor([[1.0000, 3.5000]])
    """

    n_members = 1

    def __init__(
        self, rows: Tensor | sp.csr_array, k: int, *, to_each: bool = False, weights: Tensor | None = None
    ) -> None:
        self.rows = rows
        self.k = min(k, rows.shape[0] - 1)
        self.to_each = to_each
        self.weights = weights
        self._weighted = rows if weights is None else rows * weights.to(rows)  # type: ignore[arg-type,operator]  # a tensor

    def for_scoring(self) -> Neighbours:
        """What scores many batches."""
        return self

    def errors(self, batch: Batch, scored_by: str) -> Tensor:
        """The score of every row, ``(1, rows)``."""
        if isinstance(self.rows, Tensor) or not isinstance(batch, SparseBatch) or scored_by == "manhattan":
            x = (batch.to_dense() if isinstance(batch, SparseBatch) else batch).flatten(start_dim=2)
            if not self.to_each:
                means = self.reconstruct(batch).flatten(start_dim=2)
                return distance(self._weigh(x), self._weigh(means), scored_by)
            return self.mean_over_each(x, lambda part, each: distance(part, each, scored_by, in_place=True))
        own = batch.square_norms[0].cpu()
        inner = inner_products(batch, self.rows)
        nearest = self._nearest(self._square_norms() - 2 * inner, own)
        inner = inner.gather(1, nearest)  # (rows, k)
        if self.to_each:
            theirs = self._square_norms()[nearest]
        else:
            inner = inner.mean(dim=1, keepdim=True)
            theirs = torch.from_numpy(_square_norms(self._sparse_means(nearest))).unsqueeze(1)
        own = own.unsqueeze(1)
        if scored_by == "cosine":
            errors = cosine_distance(inner, own, theirs).clamp_min_(0)
        else:
            errors = euclidean_distance(own - 2 * inner + theirs)
        return errors.mean(dim=1).unsqueeze(0).to(batch.device)

    def reconstruct(self, batch: Batch) -> Tensor:
        """The mean of the neighbours of every row, dense, with the shape of the batch."""
        if isinstance(self.rows, Tensor):
            x = (batch.to_dense() if isinstance(batch, SparseBatch) else batch)[0].flatten(start_dim=1)
            nearest = torch.cat([self._nearest_to(part) for part in torch.split(x, ROWS_AT_ONCE)])
            return nn.functional.embedding_bag(nearest, self.rows.to(x), mode="mean").view(batch.shape)
        square_norms = batch.square_norms[0] if isinstance(batch, SparseBatch) else batch[0].square().sum(dim=1)
        apart = self._square_norms() - 2 * inner_products(batch, self.rows)
        means = self._sparse_means(self._nearest(apart, square_norms.cpu()))
        return torch.from_numpy(means.toarray()).view(batch.shape).to(batch.device)

    def mean_over_each(self, x: Tensor, compare: Callable[[Tensor, Tensor], Tensor]) -> Tensor:
        """What comparing each dense row, ``(1, rows, m)``, with each of its neighbours gives, on average.

        Values count by their weights on both sides. ``compare`` takes rows, ``(rows, 1, m)``, and some neighbours of
        each, ``(rows, some, m)``, which it may overwrite; what it gives begins with ``(rows, some)``.
        """
        at_once = max(1, VALUES_AT_ONCE // (ROWS_AT_ONCE * x.shape[-1]))
        found = []
        for part in torch.split(x[0], ROWS_AT_ONCE):
            nearest, weighed = self._nearest_to(part), self._weigh(part).unsqueeze(1)
            compared = [
                compare(weighed, self._dense_rows(some).to(part)).sum(dim=1)
                for some in torch.split(nearest, at_once, dim=1)
            ]
            found.append(functools.reduce(torch.add, compared))
        return torch.cat(found).div_(self.k).unsqueeze(0)

    def _weigh(self, x: Tensor) -> Tensor:
        return x if self.weights is None else x * self.weights.to(x)

    def _nearest_to(self, x: Tensor) -> Tensor:
        """The numbers of the k nearest rows kept to dense rows, ``(rows, k)``, nearest first."""
        x = self._weigh(x)
        own = x.square().sum(dim=1)
        if isinstance(self._weighted, Tensor):
            return self._nearest(torch.addmm(self._square_norms().to(x), x, self._weighted.to(x).T, alpha=-2), own)
        return self._nearest(self._square_norms() - 2 * inner_products(x.unsqueeze(0), self._weighted), own.cpu())

    def _dense_rows(self, numbers: Tensor) -> Tensor:
        if isinstance(self._weighted, Tensor):
            return nn.functional.embedding(numbers, self._weighted)
        return torch.from_numpy(self._weighted[numbers.ravel().numpy()].toarray()).view(*numbers.shape, -1)

    def _nearest(self, apart: Tensor, square_norms: Tensor) -> Tensor:
        """The numbers of the k nearest rows kept, ``(rows, k)``, nearest first.

        ``apart`` are the square distances, ``(rows, kept)``, but for the rows' own square norms.
        """
        values, indices = smallest(apart, self.k + 1)
        own = square_norms.unsqueeze(1)
        kept_in = self.rows.dtype if isinstance(self.rows, Tensor) else torch.float64
        is_itself = values[:, :1] + own <= max(ITSELF[own.dtype], ITSELF[kept_in]) * own
        return torch.where(is_itself, indices[:, 1:], indices[:, :-1])

    def _square_norms(self) -> Tensor:
        if isinstance(self._weighted, Tensor):
            return self._weighted.square().sum(dim=1)
        return torch.from_numpy(_square_norms(self._weighted))

    def _sparse_means(self, nearest: Tensor) -> sp.csr_array:
        n, k = nearest.shape
        each = np.full(n * k, 1 / k)
        weights = sp.csr_array((each, nearest.numpy().ravel(), np.arange(0, n * k + 1, k)), (n, self.rows.shape[0]))
        return sp.csr_array(weights @ self.rows)


def inner_products(batch: Batch, rows: Tensor | sp.csr_array) -> Tensor:
    """Of the rows of the batch with others, ``(rows of the batch, others)``."""
    if isinstance(rows, Tensor):
        x = batch.to_dense() if isinstance(batch, SparseBatch) else batch
        return x[0].flatten(start_dim=1) @ rows.to(dtype=x.dtype).T
    if isinstance(batch, SparseBatch):
        products: Any = batch.members[0] @ rows.T
        return torch.from_numpy(products.toarray())
    return torch.from_numpy((rows @ batch[0].cpu().numpy().T).T)


def smallest(values: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """The k smallest of each row, in order, and their places."""
    if values.device.type != "cpu":
        found = values.topk(k, dim=1, largest=False)
        return found.values, found.indices
    # Each of k groups has a value that is not above the k-th smallest least value of a group: nor is then any of the k
    # smallest. That is a selection among an eighth of the values, and leaves few more than k to sort.
    n_rows, n = values.shape
    n_groups = n // GROUP
    least = values[:, : GROUP * n_groups].view(n_rows, GROUP, n_groups).amin(dim=1) if n_groups >= k else values
    cut = np.partition(least.numpy(), k - 1, axis=1)[:, k - 1 : k]
    at = np.flatnonzero(values.numpy() <= cut)
    counts = np.diff(np.searchsorted(at, n * np.arange(n_rows + 1)))
    is_found = np.arange(counts.max()) < counts[:, None]  # (rows, most found in any of them)
    candidates, places = np.full(is_found.shape, np.inf, least.numpy().dtype), np.zeros(is_found.shape, np.int64)
    candidates[is_found], places[is_found] = values.numpy().ravel()[at], at % n
    # Equal values stay in the order of their places, so that a row's choice does not depend on the others.
    chosen, order = torch.from_numpy(candidates).sort(dim=1, stable=True)
    return chosen[:, :k], torch.from_numpy(places).gather(1, order[:, :k])


def _square_norms(rows: sp.csr_array) -> npt.NDArray[np.float64]:
    return np.asarray(rows.multiply(rows).sum(axis=1), dtype=np.float64).ravel()
