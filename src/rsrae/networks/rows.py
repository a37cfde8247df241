"""A data set as rows that training can take by number and scoring can walk through in blocks."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
import torch
from torch import Tensor

from rsrae.networks.batches import SparseBatch
from rsrae.preprocessing import Preprocessor

# A table up to this size is preprocessed once; a larger one batch by batch, to spare memory.
CACHE_BYTES = 64 * 2**20
BLOCK_VALUES = 2**18  # values in a block of scoring; of tables four times as many
# Of a table in a block of scoring, at least and at most; always the least, doubled some times. Kernels of matrix
# products take 24 or 48 rows (AVX2, AVX-512), and sum what remains, or a smaller matrix, in another order.
BLOCK_ROWS = (192, 1536)
LARGEST_SCORED = 1e16  # beyond it a value is only "huge": squares of many must fit single precision


class DenseRows:
    """A table or images; ``X`` is not copied unless it is small.

    With ``even``, all blocks have the same number of rows, the last one filled up with zeros: kernels choose their
    order of summation by the shape, so a row then scores the same to the last bit wherever it stands (few rows come in
    a smaller block than many; kernels treat all sizes of blocks alike). With ``as_vectors`` so do dense networks that
    see images, whose blocks then have as many rows as those of a table.
    Values are held where single precision can square and sum them: a wild row scores high, not NaN.
    """

    def __init__(
        self,
        X: npt.NDArray[Any],
        preprocessor: Preprocessor,
        *,
        dtype: torch.dtype = torch.float32,
        device: torch.device | str = "cpu",
        cache: bool = True,
        even: bool = False,
        as_vectors: bool = False,
    ) -> None:
        self.n_rows = X.shape[0]
        self._device, self._even, self._as_vectors = device, even, as_vectors
        self._may_be_large = not (preprocessor.tame or preprocessor.unit_norm)
        self._preprocess: Callable[[Tensor], Tensor] | None = preprocessor.on(dtype, device)
        self._X = torch.from_numpy(_readable(X))
        if cache and X.size * dtype.itemsize <= CACHE_BYTES:
            self._X = self._preprocess(self._X)
            self._preprocess = None

    def take(self, index: Tensor) -> Tensor:
        """Rows by number, ``(members, rows) -> (members, rows, ...)``."""
        rows = self._X.index_select(0, index.reshape(-1).to(self._X.device))
        prepared = self._prepare(rows)
        return prepared.view(*index.shape, *prepared.shape[1:])

    def only(self, numbers: Tensor) -> Self:
        """These rows alone."""
        some = copy.copy(self)
        some._X = self._X.index_select(0, numbers.to(self._X.device))
        some.n_rows = len(numbers)
        return some

    def blocks(self) -> Iterator[Tensor]:
        """All rows in order, as batches ``(1, rows, ...)``."""
        size = self.block_size()
        return (self.block(start, size) for start in range(0, self.n_rows, size))

    def block_size(self) -> int:
        """How many rows are scored at once."""
        n_values = max(128, self._X[0].numel())
        if self._X.ndim > 2 and not self._as_vectors:
            return 1 << (max(1, BLOCK_VALUES // n_values).bit_length() - 1)  # no kernel has a remainder of rows
        size, most = BLOCK_ROWS
        while size < self.n_rows and 2 * size <= min(most, 4 * BLOCK_VALUES // n_values):
            size *= 2
        return size

    def block(self, start: int, size: int) -> Tensor:
        """The rows from ``start`` as a batch ``(1, rows, ...)``."""
        block = self._prepare(self._X[start : start + size])
        if self._even:
            if self._may_be_large:
                block = block.clamp(-LARGEST_SCORED, LARGEST_SCORED)
            if len(block) < size:
                block = torch.cat([block, block.new_zeros(size - len(block), *block.shape[1:])])
        return block.unsqueeze(0)

    def _prepare(self, rows: Tensor) -> Tensor:
        return rows.to(self._device) if self._preprocess is None else self._preprocess(rows)


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
        self.X = preprocessor.apply_sparse(X.astype(np.float32 if dtype == torch.float32 else np.float64))
        self._square_norms = np.asarray(self.X.multiply(self.X).sum(axis=1)).ravel()

    def take(self, index: Tensor) -> SparseBatch:
        """Rows by number, one slice a member."""
        numbers = index.cpu().numpy()
        return SparseBatch([self.X[member] for member in numbers], self._square_norms[numbers], self._device)

    def only(self, numbers: Tensor) -> Self:
        """These rows alone."""
        some = copy.copy(self)
        some.X, some._square_norms = self.X[numbers.numpy()], self._square_norms[numbers.numpy()]
        some.n_rows = len(numbers)
        return some

    def blocks(self) -> Iterator[SparseBatch]:
        """All rows in order, as batches."""
        size = self.block_size()
        return (self.block(start, size) for start in range(0, self.n_rows, size))

    def block_size(self) -> int:
        """How many rows are scored at once."""
        return max(1, BLOCK_VALUES // 128)

    def block(self, start: int, size: int) -> SparseBatch:
        """The rows from ``start`` as a batch."""
        taken = slice(start, start + size)
        return SparseBatch([self.X[taken]], self._square_norms[None, taken], self._device)


AnyRows = DenseRows | SparseRows


def make_rows(
    X: npt.NDArray[Any] | sp.csr_array,
    preprocessor: Preprocessor,
    *,
    dtype: torch.dtype = torch.float32,
    device: torch.device | str = "cpu",
    cache: bool = True,
    even: bool = False,
) -> AnyRows:
    """Rows of either kind."""
    if sp.issparse(X):
        return SparseRows(X, preprocessor, dtype=dtype, device=device)
    return DenseRows(X, preprocessor, dtype=dtype, device=device, cache=cache, even=even)


def _readable(X: npt.NDArray[Any]) -> npt.NDArray[Any]:
    # torch warns about arrays it must not write to, and cannot take negative strides; a view of either is copied.
    if not X.flags.writeable or any(stride < 0 for stride in X.strides):
        return X.copy()
    return X
