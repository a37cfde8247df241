"""Linear subspaces of rows: principal, and robust (FMS, STE).

Pure functions over dense or CSR rows. They need only the leading singular vectors of re-weighted rows: no D x D matrix
is made unless it is smaller than the data, sparse rows stay sparse (a centre is taken off inside the products), and
D > n is no special case.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.linalg
import scipy.sparse as sp

from rsrae.errors import ParameterError

FloatArray = npt.NDArray[np.float64]
Matrix = npt.NDArray[Any] | sp.csr_array

CENTERS = ("mean", "median", "none")

# Up to this many columns (or rows), a full decomposition is quicker than an iteration.
_MOST_FOR_FULL = 512
# Most steps of the iteration from a fresh start and from the last result, and the residual at which it rests.
_FIRST_STEPS, _LATER_STEPS, _RESIDUAL = 60, 3, 1e-8
# A scatter's smallest eigenvalues, relative to the largest: below, they are rounding errors.
_EIGENVALUE_FLOOR = 1e-12


@dataclass(frozen=True)
class Subspace:
    """An affine subspace: ``center`` plus the span of ``basis``.

    Attributes
    ----------
    basis : ``(D, d)``, orthonormal columns.
    center : ``(D,)``.
    n_iterations : of the method that found it.
    """

    basis: FloatArray
    center: FloatArray
    n_iterations: int = 0

    def distances(self, X: Matrix) -> FloatArray:
        """Euclidean distance of each row.

        >>> line = Subspace(np.array([[1.0], [0.0]]), np.zeros(2))
        >>> line.distances(np.array([[5.0, 2.0], [7.0, 0.0]]))
        array([2., 0.])
        """
        return np.sqrt(_Rows(X, self.center).square_distances(self.basis))

    def project(self, X: Matrix) -> FloatArray:
        """The nearest point of the subspace to each row; dense."""
        return _Rows(X, self.center).times(self.basis) @ self.basis.T + self.center


def principal_subspace(X: Matrix, d: int, *, center: str = "mean") -> Subspace:
    """The subspace with the least sum of squared distances (PCA).

    >>> X = np.array([[1.0, 1.0], [2.0, 2.0], [4.0, 4.0]])
    >>> principal_subspace(X, 1).distances(X).round(12)
    array([0., 0., 0.])
    """
    rows, middle = _centred(X, d, center)
    basis, _ = _LeadingVectors(rows, d)(np.ones(rows.shape[0]))
    return Subspace(rows.to_full(basis), middle, 1)


def fms(
    X: Matrix,
    d: int,
    *,
    spherical: bool = False,
    center: str = "none",
    delta: float = 1e-10,
    tolerance: float = 1e-6,
    max_iterations: int = 100,
) -> Subspace:
    """Fast median subspace: a subspace with a small sum of (unsquared) distances.

    PCA over and over, each row weighted by one over its distance to the last subspace (Lerman and Maunu, "Fast,
    robust and non-convex subspace recovery", Information and Inference, 2018).

    Parameters
    ----------
    X : rows, dense or CSR.
    d : dimension of the subspace; 0 gives the centre alone.
    spherical : scale the centred rows to unit norm first, so that far rows weigh no more than others (SFMS).
    center : "median" (geometric), "mean" or "none".
    delta : least distance in the weights, relative to the median norm of the rows. It is approached by halves from the
        median distance, which keeps single rows near the first subspace from holding it there.
    tolerance : stop when the sine of the largest angle to the last subspace is not above this.
    max_iterations : stop after so many rounds in any case.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> line = np.outer(rng.normal(size=60), [3.0, 4.0])
    >>> X = np.vstack([line, rng.normal(size=(40, 2))])
    >>> abs(fms(X, 1).basis[:, 0]).round(6)
    array([0.6, 0.8])
    """
    rows, middle = _centred(X, d, center)
    norms = np.sqrt(rows.square_norms)
    inverse = _inverse_or_zero(norms)
    unit: FloatArray = inverse if spherical else np.ones_like(norms)
    size = float(np.median((norms * unit)[norms > 0])) if norms.any() else 1.0
    least = np.inf

    def weights(basis: FloatArray, _: FloatArray) -> FloatArray:
        nonlocal least
        distances = np.sqrt(rows.square_distances(basis)) * unit
        least = max(min(least, float(np.median(distances))) / 2, delta * size)
        return unit**2 / np.maximum(distances, least)

    return _reweighted(rows, middle, d, unit**2, weights, tolerance, max_iterations)


def ste(
    X: Matrix,
    d: int,
    *,
    gamma: float = 0.5,
    center: str = "none",
    tolerance: float = 1e-6,
    max_iterations: int = 100,
) -> Subspace:
    """Subspace-constrained Tyler's estimator: the leading subspace of a robust scatter of rank d plus a sphere.

    Tyler's iteration, in which after every round the D - d smallest eigenvalues are replaced by ``gamma`` times
    their mean (Yu, Zhang and Lerman, "A subspace-constrained Tyler's estimator and its applications to structure from
    motion", CVPR 2024). A scatter of that form is known by d eigenvectors and d + 1 numbers, and never written out.

    Parameters
    ----------
    X : rows, dense or CSR; the norm of a row does not matter, its direction does.
    d : dimension of the subspace; 0 gives the centre alone.
    gamma : in (0, 1]; smaller stands more outliers, 1 is the maximum-likelihood estimate of such a scatter.
    center : "median" (geometric), "mean" or "none".
    tolerance : stop when the sine of the largest angle to the last subspace is not above this.
    max_iterations : stop after so many rounds in any case.

    Notes
    -----
    With D > n the estimate is made in the span of the rows: the mean is over n - d eigenvalues, not over D - d of which
    most are zero. Eigenvalues are held above 1e-12 of the largest.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> line = np.outer(rng.normal(size=60), [3.0, 4.0])
    >>> X = np.vstack([line, rng.normal(size=(40, 2))])
    >>> abs(ste(X, 1).basis[:, 0]).round(6)
    array([0.6, 0.8])
    """
    check_gamma(gamma)
    rows, middle = _centred(X, d, center)
    n_small = max(min(rows.shape) - d, 1)
    last = _inverse_or_zero(rows.square_norms)  # one over x' Sigma^-1 x, for the identity

    def weights(basis: FloatArray, eigenvalues: FloatArray) -> FloatArray:
        nonlocal last
        total = float(last @ rows.square_norms)  # trace of the scatter that has just been decomposed
        if not total > 0:
            return last
        floor = _EIGENVALUE_FLOOR * max(eigenvalues.max(initial=0.0), total / max(min(rows.shape), 1))
        small = max(gamma * (total - eigenvalues.sum()) / n_small, floor)
        along = rows.times(basis) ** 2 / np.maximum(eigenvalues, floor)
        last = _inverse_or_zero(along.sum(axis=1) + rows.square_distances(basis) / small)
        last /= float(last.max(initial=0.0)) or 1.0  # only the shape of a scatter is estimated, not its size
        return last

    return _reweighted(rows, middle, d, last, weights, tolerance, max_iterations)


def check_gamma(gamma: object) -> None:
    """Raise unless this can be the ``gamma`` of :func:`ste`."""
    if isinstance(gamma, bool) or not isinstance(gamma, (int, float)) or not 0 < gamma <= 1:
        raise ParameterError(f"gamma must be a number in (0, 1], got {gamma!r}")


def find_center(X: Matrix, center: str) -> FloatArray:
    """The "mean" of the rows, their "median" (geometric), or zero for "none".

    >>> find_center(np.array([[1.0, 2.0], [3.0, 6.0]]), "mean")
    array([2., 4.])
    """
    if center not in CENTERS:
        raise ParameterError(f"center must be one of {', '.join(map(repr, CENTERS))}, got {center!r}")
    if center == "none":
        return np.zeros(X.shape[1])
    return mean(X) if center == "mean" else geometric_median(X)


def geometric_median(X: Matrix, *, tolerance: float = 1e-8, max_iterations: int = 200) -> FloatArray:
    """The point with the least sum of distances to the rows; sparse rows stay sparse.

    >>> geometric_median(np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1e6, 1e6]])).round(3)
    array([0.5, 0.5])
    """
    median = mean(X)
    floor = 1e-10 * float(np.sqrt(_Rows(X, median).square_norms.mean())) or 1.0
    for _ in range(max_iterations):
        weights = 1 / np.maximum(np.sqrt(_Rows(X, median).square_norms), floor)
        last, median = median, np.asarray(X.T @ weights, dtype=np.float64) / weights.sum()
        if np.linalg.norm(median - last) <= tolerance * max(float(np.linalg.norm(median)), floor):
            break
    return median


def mean(X: Matrix) -> FloatArray:
    """The mean of the rows, dense.

    >>> mean(sp.csr_array([[1.0, 0.0], [3.0, 0.0]]))
    array([2., 0.])
    """
    return np.asarray(X.mean(axis=0, dtype=np.float64)).ravel()


def square_norms(X: Matrix) -> FloatArray:
    """``||x||^2`` of every row, dense or CSR.

    >>> square_norms(np.array([[3.0, 4.0], [0.0, 1.0]]))
    array([25.,  1.])
    """
    squares: Any = X.multiply(X).sum(axis=1) if sp.issparse(X) else np.einsum("ij,ij->i", X, X)
    return np.asarray(squares, dtype=np.float64).ravel()


# -- the rows as a linear map ------------------------------------------------------------------------------------------


class _Rows:
    """Rows minus a centre, of which only products are needed."""

    def __init__(self, X: Matrix, center: FloatArray) -> None:
        self.is_sparse = sp.issparse(X)
        if self.is_sparse:
            self.X: Any = X.astype(np.float64)
            self._shift = center if center.any() else None
            self.square_norms = square_norms(self.X)
            if self._shift is not None:
                moved = self.square_norms - 2 * (self.X @ center) + center @ center
                self.square_norms = np.maximum(moved, 0.0)
        else:
            self.X = np.asarray(X, dtype=np.float64) - center
            self.square_norms = square_norms(self.X)
        self._axes: FloatArray | None = None

    @property
    def shape(self) -> tuple[int, int]:
        return int(self.X.shape[0]), int(self.X.shape[1])

    def within_their_span(self) -> _Rows:
        """The same dense rows in n coordinates instead of D > n."""
        n, D = self.shape
        if self.is_sparse or n >= D:
            return self
        axes, coordinates = scipy.linalg.qr(self.X.T, mode="economic")  # (D, n), (n, n)
        rows = _Rows(np.ascontiguousarray(coordinates.T), np.zeros(n))
        rows._axes = axes
        return rows

    def to_full(self, basis: FloatArray) -> FloatArray:
        """Back from the coordinates of ``within_their_span``."""
        return basis if self._axes is None else self._axes @ basis

    def times(self, V: FloatArray) -> FloatArray:
        """``(X - 1 c') V``, (n, k)."""
        product: FloatArray = self.X @ V
        if self.is_sparse and self._shift is not None:
            product -= self._shift @ V
        return product

    def transpose_times(self, U: FloatArray) -> FloatArray:
        """``(X - 1 c')' U``, (D, k)."""
        product: FloatArray = self.X.T @ U
        if self.is_sparse and self._shift is not None:
            product -= np.outer(self._shift, U.sum(axis=0))
        return product

    def square_distances(self, V: FloatArray) -> FloatArray:
        coordinates = self.times(V)
        if self.is_sparse:
            # Pythagoras needs no dense row; what it loses to rounding is 1e-8 of a row's norm.
            return np.maximum(self.square_norms - square_norms(coordinates), 0.0)
        return square_norms(self.X - coordinates @ V.T)


def _centred(X: Matrix, d: int, center: str) -> tuple[_Rows, FloatArray]:
    if not 0 <= d <= min(X.shape):
        raise ParameterError(f"d must be at least 0 and at most {min(X.shape)} for rows of shape {X.shape}, got {d}")
    middle = find_center(X, center)
    return _Rows(X, middle).within_their_span(), middle


# -- leading singular vectors of weighted rows -------------------------------------------------------------------------

Weights = Callable[[FloatArray, FloatArray], FloatArray]


def _reweighted(
    rows: _Rows,
    center: FloatArray,
    d: int,
    first: FloatArray,
    weights: Weights,
    tolerance: float,
    max_iterations: int,
) -> Subspace:
    """PCA of rows weighted anew by its last result; ``weights`` takes basis and eigenvalues of the scatter."""
    leading = _LeadingVectors(rows, d)
    basis, eigenvalues = leading(first)
    n_iterations = 0
    last: FloatArray | None = None
    while n_iterations < max_iterations and (last is None or _largest_sine(basis, last) > tolerance):
        last = basis
        basis, eigenvalues = leading(weights(basis, eigenvalues))
        n_iterations += 1
    return Subspace(rows.to_full(basis), center, n_iterations)


class _LeadingVectors:
    """Leading eigenvectors and eigenvalues of ``sum_i w_i x_i x_i'``, found from where the last call ended.

    Dense rows with few columns are decomposed in full. Others by a block method (locally optimal conjugate gradients)
    whose search space is made orthonormal by QR and searched by an SVD of the projected rows: nothing is squared, so
    weights that differ by many orders of magnitude do no harm.
    """

    def __init__(self, rows: _Rows, d: int) -> None:
        self.rows = rows
        self.d = d
        self._in_full = not rows.is_sparse and min(rows.shape) <= _MOST_FOR_FULL
        self._block: FloatArray | None = None  # (D, d and some more)

    def __call__(self, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
        if self.d == 0:
            return np.zeros((self.rows.shape[1], 0)), np.zeros(0)
        largest = float((weights * self.rows.square_norms).max()) or 1.0  # no square overflows
        factors = np.sqrt(weights / largest)[:, None]
        if self._in_full:
            vectors, values = _right_singular(factors * self.rows.X)
        else:
            vectors, values = self._iterate(factors)
        return vectors[:, : self.d], largest * values[: self.d] ** 2

    def _iterate(self, factors: FloatArray) -> tuple[FloatArray, FloatArray]:
        steps = _FIRST_STEPS if self._block is None else _LATER_STEPS
        search = self._start() if self._block is None else self._block
        width = search.shape[1]
        last: FloatArray | None = None
        for _ in range(steps):
            image = factors * self.rows.times(search)  # (n, k)
            mixing, values = _right_singular(image)
            mixing, values = mixing[:, :width], values[:width]
            block = search @ mixing
            gradient = self.rows.transpose_times(factors * (image @ mixing))
            residual = gradient - block @ (block.T @ gradient)
            if np.linalg.norm(residual[:, : self.d]) <= _RESIDUAL * values[0] ** 2:
                break
            parts = [block, residual]
            if last is not None:
                parts.append(block - last @ (last.T @ block))
            search, last = np.linalg.qr(np.hstack(parts))[0], block
        self._block = block
        return block, values

    def _start(self) -> FloatArray:
        n, D = self.rows.shape
        width = min(self.d + max(4, self.d // 2), n, D)
        mixtures = np.random.default_rng(0).normal(size=(n, width))  # the same start for every call
        return np.linalg.qr(self.rows.transpose_times(mixtures))[0]


def _right_singular(A: FloatArray) -> tuple[FloatArray, FloatArray]:
    if A.shape[0] > A.shape[1]:
        triangle: Any = np.linalg.qr(A, mode="r")
        A = triangle
    _, values, transposed = np.linalg.svd(A, full_matrices=False)
    return transposed.T, values


def _largest_sine(basis: FloatArray, other: FloatArray) -> float:
    if basis.shape[1] == 0:
        return 0.0
    return float(np.linalg.norm(basis - other @ (other.T @ basis), ord=2))


def _inverse_or_zero(values: FloatArray) -> FloatArray:
    return np.divide(1.0, values, out=np.zeros_like(values), where=values > np.finfo(np.float64).tiny)
