"""Principal component pursuit: rows as a matrix of low rank plus one with few entries; a pure function."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.linalg
import scipy.sparse as sp

from rsrae.errors import InputError, ParameterError

FloatArray = npt.NDArray[np.float64]


class LowRankPlusSparse(NamedTuple):
    """The two parts that principal component pursuit finds in a matrix."""

    low_rank: FloatArray
    sparse: FloatArray


def robust_pca(
    X: npt.NDArray[Any],
    *,
    penalty: float | None = None,
    tolerance: float = 1e-7,
    max_iterations: int = 200,
) -> LowRankPlusSparse:
    """Principal component pursuit: X as a matrix of low rank plus a matrix with few entries.

    Minimises ``||L||_* + penalty ||S||_1`` subject to ``L + S = X`` (Candès, Li, Ma and Wright, "Robust principal
    component analysis?", Journal of the ACM, 2011) by the inexact augmented Lagrangian method (Lin, Chen and Ma, 2010).

    Parameters
    ----------
    X : dense rows; both parts are dense in general, so sparse rows are not taken.
    penalty : on the entries of S; None takes ``1 / sqrt(max(n, D))``.
    tolerance : stop when ``||X - L - S||`` is not above this share of ``||X||``.
    max_iterations : stop after so many rounds in any case.

    Examples
    --------
    >>> X = np.outer(np.arange(1.0, 31.0), np.ones(20))
    >>> X[3, 4] += 50
    >>> low_rank, sparse = robust_pca(X)
    >>> int(np.linalg.matrix_rank(low_rank, tol=1e-3)), round(float(sparse[3, 4]), 3)
    (1, 50.0)
    """
    if sp.issparse(X):
        raise InputError("robust_pca takes dense rows only; its low-rank part is dense in any case")
    if penalty is not None and not penalty > 0:
        raise ParameterError(f"penalty must be positive or None, got {penalty!r}")
    M = np.asarray(X, dtype=np.float64)
    weight = penalty if penalty is not None else 1 / np.sqrt(max(M.shape))
    size = float(np.linalg.norm(M))
    low_rank, sparse = np.zeros_like(M), np.zeros_like(M)
    if size == 0:
        return LowRankPlusSparse(low_rank, sparse)
    largest = float(scipy.linalg.svdvals(M)[0])
    multiplier = M / max(largest, float(np.abs(M).max()) / weight)
    rate = 1.25 / largest
    most = rate * 1e7
    for _ in range(max_iterations):
        low_rank = _shrink_singular_values(M - sparse + multiplier / rate, 1 / rate)
        sparse = _shrink(M - low_rank + multiplier / rate, weight / rate)
        gap = M - low_rank - sparse
        multiplier += rate * gap
        rate = min(rate * 1.5, most)
        if np.linalg.norm(gap) <= tolerance * size:
            break
    return LowRankPlusSparse(low_rank, sparse)


def _shrink(values: FloatArray, by: float) -> FloatArray:
    return np.sign(values) * np.maximum(np.abs(values) - by, 0.0)


def _shrink_singular_values(A: FloatArray, by: float) -> FloatArray:
    if A.shape[0] < A.shape[1]:
        return _shrink_singular_values(A.T, by).T
    # Only the few singular values above the threshold are needed: several times quicker than an SVD.
    squares, axes = scipy.linalg.eigh(A.T @ A, subset_by_value=(by**2, np.inf), check_finite=False)
    kept = 1 - by / np.sqrt(squares)
    shrunk: FloatArray = (A @ (axes * kept)) @ axes.T
    return shrunk
