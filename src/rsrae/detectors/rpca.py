"""Robust PCA: distance to the row space of the low-rank part."""

from __future__ import annotations

from typing import Any

import numpy as np

from rsrae.detectors.base import check_count
from rsrae.detectors.preprocessed import Matrix
from rsrae.detectors.subspace import SubspaceDetector
from rsrae.errors import ParameterError
from rsrae.pursuit import robust_pca
from rsrae.subspaces import Subspace, find_center, principal_subspace

# Singular values of the low-rank part below this share of the largest are rounding errors.
_RANK_TOLERANCE = 1e-6


class RobustPCA(SubspaceDetector):
    """Principal component pursuit: the rows as a matrix of low rank plus one with few entries.

    The decomposition is one of the training rows as a whole. What it learned for other rows is the space that the rows
    of its low-rank part lie in; the score, of training rows too, is the distance to that space.

    Parameters
    ----------
    penalty : on the entries of the sparse part; None takes ``1 / sqrt(max(n, columns))``. Larger raises the rank.
    max_iterations : most rounds of the augmented Lagrangian method.
    **common : see :class:`rsrae.detectors.subspace.SubspaceDetector`; the subspace has no more dimensions than the
        low-rank part, and ``center="auto"`` is "none".

    Notes
    -----
    Candès, Li, Ma and Wright, "Robust principal component analysis?", Journal of the ACM, 2011. Both parts are dense,
    so sparse rows are not taken.

    Differs from the published code: that stops at the decomposition; scores of rows outside the training set, and the
    bound on the rank, are ours.
    """

    accepts = frozenset({"table", "images"})
    _auto_center = "none"

    def __init__(self, *, penalty: float | None = None, max_iterations: int = 200, **common: Any) -> None:
        super().__init__(**common)
        self.penalty = penalty
        self.max_iterations = max_iterations

    def _find(self, X: Matrix, d: int, center: str) -> Subspace:
        middle = find_center(X, center)
        parts = robust_pca(X - middle, penalty=self.penalty, max_iterations=self.max_iterations)
        tolerance = _RANK_TOLERANCE * float(np.linalg.norm(parts.low_rank, ord=2))
        rank = int(np.linalg.matrix_rank(parts.low_rank, tol=tolerance))
        basis = principal_subspace(parts.low_rank, min(d, rank), center="none").basis
        return Subspace(basis, middle)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_count("max_iterations", self.max_iterations)
        if self.penalty is not None and not (isinstance(self.penalty, (int, float)) and self.penalty > 0):
            raise ParameterError(f"penalty must be a positive number or None, got {self.penalty!r}")
