"""Detectors that score a row by its distance to a subspace, and the robust ones among them: FMS, SFMS, STE."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from rsrae import subspaces
from rsrae.detectors.base import check_choice, check_count
from rsrae.detectors.preprocessed import Matrix, PreprocessedDetector, expect_shape
from rsrae.modelfile import Arrays
from rsrae.subspaces import CENTERS, Subspace, check_gamma
from rsrae.thresholds import FloatArray


class SubspaceDetector(PreprocessedDetector):
    """Base of the detectors that find a subspace; the score is the Euclidean distance to it.

    Parameters
    ----------
    intrinsic_dim : d, the dimension of the subspace; at most one less than the number of columns or rows is used.
        "auto": 10, but at most half the number of columns or rows.
    center : where the subspace goes through: "mean", "median" (geometric) or "none" (zero). "auto": "none" for rows of
        unit norm (by default sparse rows and images), where only directions count; else what suits the method.
    **common : see :class:`rsrae.detectors.preprocessed.PreprocessedDetector`.

    Attributes
    ----------
    subspace_ : the :class:`rsrae.subspaces.Subspace` found.
    """

    _auto_center: ClassVar[str] = "median"

    def __init__(self, *, intrinsic_dim: int | str = "auto", center: str = "auto", **common: Any) -> None:
        super().__init__(**common)
        self.intrinsic_dim = intrinsic_dim
        self.center = center

    @abstractmethod
    def _find(self, X: Matrix, d: int, center: str) -> Subspace:
        """The method itself."""

    def reconstruct(self, X: Any) -> FloatArray:
        """The nearest point of the subspace to every item, in the space the method sees (see ``preprocess``)."""
        return self.subspace_.project(self.preprocess(X))

    def residuals(self, X: Any) -> FloatArray:
        """``x - x_hat`` per item and feature (or pixel), in the space the method sees."""
        rows = self.preprocess(X)
        return rows - self.subspace_.project(rows)

    def _fit_matrix(self, X: Matrix) -> None:
        center = self.center
        if center == "auto":
            center = "none" if self.preprocessor_.unit_norm else self._auto_center
        found = self._find(X, self._dimension(*X.shape), center)
        # As a model file gives it back: a product may sum a matrix that lies column by column in another order.
        self.subspace_ = replace(found, basis=np.ascontiguousarray(found.basis))

    def _score_matrix(self, X: Matrix) -> FloatArray:
        return self.subspace_.distances(X)

    def _arrays(self) -> Arrays:
        return {"basis": self.subspace_.basis, "center": self.subspace_.center}

    def _restore_arrays(self, arrays: Arrays) -> None:
        D = self.n_features_in_
        basis = expect_shape("basis", arrays["basis"], (D, None))
        self.subspace_ = Subspace(basis, expect_shape("center", arrays["center"], (D,)))

    def _dimension(self, n: int, D: int) -> int:
        if self.intrinsic_dim == "auto":
            return min(10, min(n - 1, D) // 2)
        return min(int(self.intrinsic_dim), min(n, D) - 1)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.intrinsic_dim != "auto":
            check_count("intrinsic_dim", self.intrinsic_dim)
        check_choice("center", self.center, ("auto", *CENTERS))


class FMS(SubspaceDetector):
    """Fast median subspace: the subspace with a small sum of unsquared distances.

    Parameters
    ----------
    max_iterations : most rounds of re-weighting.
    **common : see :class:`rsrae.detectors.subspace.SubspaceDetector`.

    Notes
    -----
    Lerman and Maunu, "Fast, robust and non-convex subspace recovery", Information and Inference, 2018.

    Differs from the published code: tables are centred at the geometric median; the first subspace is always that of
    PCA; the least distance in the weights is relative to the size of the rows and approached by halves; singular
    vectors are exact for few columns and iterated to convergence for many, never from a randomised sketch; sparse rows
    stay sparse.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.outer(np.linspace(-1, 1, 40), [1.0, 2.0, 3.0])
    >>> X[:4] = [[0, 1, -1], [2, 1, 0], [1, 0, 1], [0, 3, 0]]
    >>> detector = FMS(intrinsic_dim=1, center="none", scaling="none", contamination=0.1).fit(X)
    >>> np.flatnonzero(detector.predict(X) == -1)
    array([0, 1, 2, 3])
    """

    _spherical: ClassVar[bool] = False

    def __init__(self, *, max_iterations: int = 100, **common: Any) -> None:
        super().__init__(**common)
        self.max_iterations = max_iterations

    def _find(self, X: Matrix, d: int, center: str) -> Subspace:
        return subspaces.fms(X, d, spherical=self._spherical, center=center, max_iterations=self.max_iterations)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_count("max_iterations", self.max_iterations)


class SFMS(FMS):
    """Spherical fast median subspace: :class:`FMS` on centred rows scaled to unit norm.

    Far outliers pull no more than near ones. The score is the distance of the row itself, not of its scaled self:
    a far row that leaves the subspace at a small angle is still far from it.

    Parameters
    ----------
    **common : see :class:`rsrae.detectors.subspace.FMS`.

    Notes
    -----
    Lerman and Maunu, "Fast, robust and non-convex subspace recovery", Information and Inference, 2018. The sphere is
    around the centre, so the centre matters more than for FMS.

    Differs from the published code: as :class:`FMS`.
    """

    _spherical = True


class STE(SubspaceDetector):
    """Subspace-constrained Tyler's estimator, today's strongest linear method for subspaces among outliers.

    Parameters
    ----------
    gamma : in (0, 1]: what the eigenvalues outside the subspace are multiplied by in each round; smaller stands more
        outliers.
    max_iterations : most rounds of re-weighting.
    **common : see :class:`rsrae.detectors.subspace.SubspaceDetector`.

    Notes
    -----
    Yu, Zhang and Lerman, "A subspace-constrained Tyler's estimator and its applications to structure from motion",
    CVPR 2024.

    Differs from the published code: rows are centred at the geometric median (tables); the scatter is kept as d
    eigenvectors and d + 1 eigenvalues instead of a D x D matrix that is inverted in each round; with more columns than
    rows the estimate is made in the span of the rows; sparse rows stay sparse.
    """

    def __init__(self, *, gamma: float = 0.5, max_iterations: int = 100, **common: Any) -> None:
        super().__init__(**common)
        self.gamma = gamma
        self.max_iterations = max_iterations

    def _find(self, X: Matrix, d: int, center: str) -> Subspace:
        return subspaces.ste(X, d, gamma=self.gamma, center=center, max_iterations=self.max_iterations)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_count("max_iterations", self.max_iterations)
        check_gamma(self.gamma)
