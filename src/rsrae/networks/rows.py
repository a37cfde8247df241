"""A data set as rows that training can take by number and scoring can walk through in blocks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
import torch
from torch import Tensor

from rsrae.networks.batches import Batch, SparseBatch
from rsrae.preprocessing import Preprocessor

# A table up to this size is preprocessed once; a larger one batch by batch, to spare memory.
CACHE_BYTES = 64 * 2**20
BLOCK_VALUES = 2**18  # values in a block of scoring, over all members


class DenseRows:
    """A table or images; ``X`` is not copied unless it is small."""

    def __init__(
        self,
        X: npt.NDArray[Any],
        preprocessor: Preprocessor,
        *,
        dtype: torch.dtype = torch.float32,
        device: torch.device | str = "cpu",
        cache: bool = True,
    ) -> None:
        self.n_rows = X.shape[0]
        self._dtype, self._device = dtype, device
        self._preprocess: Callable[[Tensor], Tensor] | None = preprocessor.on(dtype, device)
        self._X = torch.from_numpy(_readable(X))
        if cache and X.size * dtype.itemsize <= CACHE_BYTES:
            self._X = self._preprocess(self._X.to(device=device, dtype=dtype))
            self._preprocess = None

    def take(self, index: Tensor) -> Tensor:
        """Rows by number, ``(members, rows) -> (members, rows, ...)``."""
        rows = self._X.index_select(0, index.reshape(-1).to(self._X.device))
        return self._prepare(rows).view(*index.shape, *rows.shape[1:])

    def blocks(self, n_members: int = 1) -> Iterator[Batch]:
        """All rows in order, as batches ``(1, rows, ...)`` that this many members can score at once."""
        size = max(1, BLOCK_VALUES // (n_members * max(128, self._X[0].numel())))
        for start in range(0, self.n_rows, size):
            yield self._prepare(self._X[start : start + size]).unsqueeze(0)

    def _prepare(self, rows: Tensor) -> Tensor:
        rows = rows.to(device=self._device, dtype=self._dtype)
        return rows if self._preprocess is None else self._preprocess(rows)


class SparseRows:
    """CSR rows; sliced, never made dense here."""

    def __init__(
        self,
        X: sp.csr_array,
        preprocessor: Preprocessor,
        *,
        dtype: torch.dtype = torch.float32,
        device: torch.device | str = "cpu",
    ) -> None:
        self.n_rows = X.shape[0]
        self._device = device
        self._X = preprocessor.apply_sparse(X.astype(np.float32 if dtype == torch.float32 else np.float64))
        self._square_norms = np.asarray(self._X.multiply(self._X).sum(axis=1)).ravel()

    def take(self, index: Tensor) -> SparseBatch:
        """Rows by number, one slice a member."""
        numbers = index.cpu().numpy()
        return SparseBatch([self._X[member] for member in numbers], self._square_norms[numbers], self._device)

    def blocks(self, n_members: int = 1) -> Iterator[Batch]:
        """All rows in order, as batches that this many members can score at once."""
        size = max(1, BLOCK_VALUES // (n_members * 128))
        for start in range(0, self.n_rows, size):
            block = slice(start, start + size)
            yield SparseBatch([self._X[block]], self._square_norms[None, block], self._device)


AnyRows = DenseRows | SparseRows


def make_rows(
    X: npt.NDArray[Any] | sp.csr_array,
    preprocessor: Preprocessor,
    *,
    dtype: torch.dtype = torch.float32,
    device: torch.device | str = "cpu",
    cache: bool = True,
) -> AnyRows:
    """Rows of either kind."""
    if sp.issparse(X):
        return SparseRows(X, preprocessor, dtype=dtype, device=device)
    return DenseRows(X, preprocessor, dtype=dtype, device=device, cache=cache)


def _readable(X: npt.NDArray[Any]) -> npt.NDArray[Any]:
    # torch warns about arrays it must not write to, and cannot take negative strides; a view of either is copied.
    if not X.flags.writeable or any(stride < 0 for stride in X.strides):
        return X.copy()
    return X
