"""Batches of rows, dense or sparse, for all members of an ensemble at once."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
import torch
from scipy.sparse._sparsetools import csc_matvecs
from torch import Tensor, nn


class SparseBatch:
    """A batch of sparse rows for each member; never made dense.

    ``product`` and ``add_outer`` are the two operations training needs: ``X @ W`` and ``X.T @ G``.
    """

    def __init__(
        self,
        members: list[sp.csr_array],
        square_norms: npt.NDArray[Any] | None = None,
        device: torch.device | str = "cpu",
    ) -> None:
        self.members = members
        if square_norms is None:
            square_norms = np.stack([np.asarray(rows.multiply(rows).sum(axis=1)).ravel() for rows in members])
        self.square_norms = torch.from_numpy(square_norms).to(device)  # ||x||**2 of each row, (members, rows)
        self.device = torch.device(device)
        self.n_rows, self.n_columns = members[0].shape
        self._parts = [_Part(rows, self.device) for rows in members]

    @property
    def shape(self) -> tuple[int, int, int]:
        """``(members, rows, columns)``."""
        return len(self.members), self.n_rows, self.n_columns

    def product(self, W: Tensor) -> Tensor:
        """``X @ W`` of each member, ``(members, columns, width) -> (members, rows, width)``."""
        products = [
            # A weighted sum of rows of W per bag is what a sparse row times W is, without a temporary of size
            # non-zeros x width.
            nn.functional.embedding_bag(part.columns, weights, part.starts, mode="sum", per_sample_weights=part.values)
            for part, weights in zip(self._parts, W, strict=True)
        ]
        return torch.stack(products)

    def add_outer(self, G: Tensor, out: Tensor) -> None:
        """Add ``X.T @ G`` of each member to ``out``, ``(members, columns, width)``."""
        for rows, part, gradient, target in zip(self.members, self._parts, G, out, strict=True):
            if self.device.type == "cpu":
                # scipy's product is several times faster than any scatter of torch's on a CPU. This is what its
                # ``rows.T @ gradient`` calls, without two more arrays of the size of the vocabulary on the way.
                given, result = gradient.reshape(-1).numpy(), target.view(-1).numpy()
                n_rows, n_columns = rows.shape
                csc_matvecs(n_columns, n_rows, target.shape[1], rows.indptr, rows.indices, rows.data, given, result)
            else:
                scatter_add_outer(part, gradient, target)

    def subtract_from(self, dense: Tensor) -> None:
        """Take the rows away from ``dense`` (contiguous, of this shape), in place."""
        for part, target in zip(self._parts, dense, strict=True):
            places = part.row_numbers() * self.n_columns + part.columns
            target.view(-1).index_add_(0, places, part.values, alpha=-1)

    def to_dense(self) -> Tensor:
        """The batch as one dense tensor ``(members, rows, columns)``."""
        dense = np.zeros(self.shape, dtype=self.members[0].dtype)
        for rows, target in zip(self.members, dense, strict=True):
            rows.toarray(out=target)
        return torch.from_numpy(dense).to(self.device)


Batch = Tensor | SparseBatch


def as_vectors(batch: Batch) -> Batch:
    """Images as rows of their values, ``(members, rows, ...) -> (members, rows, values)``; other rows as they are."""
    return batch.flatten(start_dim=2) if isinstance(batch, Tensor) else batch


def of_each_member(batch: Batch) -> list[Batch]:
    """The rows of each member as a batch of its own."""
    if isinstance(batch, Tensor):
        return [rows.unsqueeze(0) for rows in batch]
    norms = batch.square_norms.cpu().numpy()
    return [SparseBatch([rows], norms[k : k + 1], batch.device) for k, rows in enumerate(batch.members)]


class _Part:
    def __init__(self, rows: sp.csr_array, device: torch.device) -> None:
        self.columns = torch.from_numpy(rows.indices).to(device)
        self.starts = torch.from_numpy(rows.indptr[:-1]).to(device)
        self.values = torch.from_numpy(rows.data).to(device)
        self.counts: np.ndarray[Any, np.dtype[np.int64]] = np.diff(rows.indptr)

    def row_numbers(self) -> Tensor:
        """The row of each value."""
        return torch.repeat_interleave(torch.from_numpy(self.counts)).to(self.columns.device)


def scatter_add_outer(part: _Part, gradient: Tensor, target: Tensor) -> None:
    """Add ``X.T @ G`` for one member on any device."""
    target.index_add_(0, part.columns.long(), gradient[part.row_numbers()] * part.values[:, None])
