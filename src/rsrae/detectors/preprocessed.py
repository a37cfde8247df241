"""What the detectors without a network share: preprocessing, images as flat rows, rows in the model file."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
import torch
from sklearn.utils.validation import check_is_fitted

from rsrae.detectors.base import BaseDetector, Rows, check_choice
from rsrae.modelfile import Arrays
from rsrae.preprocessing import Preprocessor, fit_preprocessor
from rsrae.thresholds import FloatArray

Matrix = npt.NDArray[np.float64] | sp.csr_array  # (n, columns)


class PreprocessedDetector(BaseDetector):
    """Base of the detectors that compare rows with one another, and so depend on how columns are scaled.

    They see the same numbers as the autoencoders do. Images become rows of pixel values.

    Parameters
    ----------
    scaling : "robust" (median and interquartile range per column), "unit-cube" (to [-1, 1]), "contrast" (the same, and
        most of each row's own mean taken off), "none", or "auto": robust for tables, contrast for images, none for
        sparse rows.
    tame : with robust scaling, pass each value through asinh, so that far values do not outweigh a row.
    unit_norm : scale each row to unit l2 norm; "auto": for sparse rows, images and tables of vectors.
    contamination : share of anomalies in (0, 0.5] that draws the line, or "auto" to estimate it from the scores.
    """

    def __init__(
        self,
        *,
        scaling: str = "auto",
        tame: bool = True,
        unit_norm: bool | str = "auto",
        contamination: float | str = "auto",
    ) -> None:
        self.scaling = scaling
        self.tame = tame
        self.unit_norm = unit_norm
        self.contamination = contamination

    def preprocess(self, X: Any) -> FloatArray:
        """The items as the method sees them: dense rows, images flattened."""
        check_is_fitted(self, "offset_")
        return to_dense(self._transform(self._check_rows(X, reset=False)))

    # -- what a detector writes ------------------------------------------------------------------------------------

    @abstractmethod
    def _fit_matrix(self, X: Matrix) -> None:
        """Learn from preprocessed rows, dense or CSR, in double precision."""

    @abstractmethod
    def _score_matrix(self, X: Matrix) -> FloatArray:
        """Score preprocessed rows; higher is stranger."""

    @abstractmethod
    def _arrays(self) -> Arrays:
        """Everything learned in ``_fit_matrix``."""

    @abstractmethod
    def _restore_arrays(self, arrays: Arrays) -> None:
        """Undo ``_arrays``; a shape that does not fit is a ValueError."""

    def _check_parameters(self) -> None:
        check_choice("unit_norm", self.unit_norm, ("auto", True, False))
        check_choice("tame", self.tame, (True, False))

    # -- the contract ----------------------------------------------------------------------------------------------

    def _fit(self, X: Rows) -> None:
        self._check_parameters()
        self.preprocessor_ = fit_preprocessor(X, scaling=self.scaling, tame=self.tame, unit_norm=self.unit_norm)
        self._fit_matrix(self._transform(X))

    def _score(self, X: Rows) -> FloatArray:
        return self._score_matrix(self._transform(X))

    def _state(self) -> tuple[dict[str, Any], Arrays]:
        return self.preprocessor_.settings(), self.preprocessor_.arrays() | self._arrays()

    def _restore(self, state: dict[str, Any], arrays: Arrays) -> None:
        self.preprocessor_ = Preprocessor.restore(state, arrays)
        self._check_parameters()
        self._restore_arrays(arrays)

    def _transform(self, X: Rows) -> Matrix:
        if sp.issparse(X):
            return self.preprocessor_.apply_sparse(X.astype(np.float64))
        values = np.require(X, np.float64, ["C", "W"])  # torch wants memory it could write to
        return flatten(self.preprocessor_.apply(torch.from_numpy(values)).numpy())


def flatten(X: Rows) -> Matrix:
    """Images as rows of pixel values; tables and sparse rows as they are."""
    return X.reshape((X.shape[0], -1)) if X.ndim > 2 else X


def to_dense(X: Any) -> npt.NDArray[Any]:
    """The same rows as a plain array."""
    return np.asarray(X.toarray() if hasattr(X, "toarray") else X)


def pack_rows(name: str, rows: Matrix) -> Arrays:
    """Rows, dense or CSR, as arrays of a model file."""
    if not sp.issparse(rows):
        return {name: rows}
    return {f"{name}.{part}": getattr(rows, part) for part in ("data", "indices", "indptr")}


def unpack_rows(name: str, arrays: Arrays, n_columns: int) -> Matrix:
    """What ``pack_rows`` packed; a ValueError if the file was tampered with."""
    if name in arrays:
        return expect_shape(name, arrays[name], (None, n_columns))
    parts = (arrays[f"{name}.data"], arrays[f"{name}.indices"], arrays[f"{name}.indptr"])
    rows = sp.csr_array(parts, shape=(len(parts[2]) - 1, n_columns))
    rows.check_format(full_check=True)
    return rows


def expect_shape(name: str, array: npt.NDArray[Any], shape: tuple[int | None, ...]) -> npt.NDArray[np.float64]:
    """The array, if it has this shape (None: any length), or a ValueError."""
    fits = array.ndim == len(shape) and all(
        wanted is None or side == wanted for side, wanted in zip(array.shape, shape, strict=True)
    )
    if not fits:
        raise ValueError(f"{name} has shape {array.shape}, expected {shape}")
    return array
