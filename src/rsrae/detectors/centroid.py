"""The one-line baseline: how far a row is from the middle of all rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from rsrae.detectors.base import check_choice, check_count
from rsrae.detectors.preprocessed import Matrix, PreprocessedDetector, expect_shape
from rsrae.errors import ParameterError
from rsrae.modelfile import Arrays
from rsrae.subspaces import Subspace, geometric_median, mean, square_norms
from rsrae.thresholds import FloatArray


class Centroid(PreprocessedDetector):
    """Cosine or Euclidean distance to the mean (or median) of the rows.

    On one-class data this one line of algebra is hard to beat; a deep method that does not is not worth its training.

    Parameters
    ----------
    center : "mean", or "median": the geometric median, which outliers move less.
    distance : "cosine" (one minus the cosine), "euclidean", or "auto": cosine for rows of unit norm, else Euclidean.
    refit : share of the rows in (0, 1]; the centre is found anew from the share that fits best, ``rounds`` times. 1
        keeps all rows.
    rounds : number of times the centre is found anew if ``refit`` is below 1.
    **common : see :class:`rsrae.detectors.preprocessed.PreprocessedDetector`.

    Notes
    -----
    Differs from the published code: there is none.

    Examples
    --------
    >>> X = np.array([[0.0], [1.0], [2.0], [97.0]])
    >>> Centroid(scaling="none", refit=0.75).fit(X).anomaly_score(X)
    array([ 1.,  0.,  1., 96.])
    """

    def __init__(
        self,
        *,
        center: str = "mean",
        distance: str = "auto",
        refit: float = 1.0,
        rounds: int = 10,
        **common: Any,
    ) -> None:
        super().__init__(**common)
        self.center = center
        self.distance = distance
        self.refit = refit
        self.rounds = rounds

    def _fit_matrix(self, X: Matrix) -> None:
        find = mean if self.center == "mean" else geometric_median
        self.center_ = find(X)
        n_kept = max(1, round(self.refit * X.shape[0]))
        if n_kept == X.shape[0]:
            return
        for _ in range(self.rounds):
            best = np.argsort(self._score_matrix(X), kind="stable")[:n_kept]
            self.center_ = find(X[np.sort(best)])

    def _score_matrix(self, X: Matrix) -> FloatArray:
        is_cosine = self.distance == "cosine" or (self.distance == "auto" and self.preprocessor_.unit_norm)
        if not is_cosine:
            return Subspace(np.zeros((X.shape[1], 0)), self.center_).distances(X)
        norms = np.sqrt(square_norms(X)) * np.linalg.norm(self.center_)
        return np.asarray(1.0 - (X @ self.center_) / np.maximum(norms, 1e-12))

    def _arrays(self) -> Arrays:
        return {"center": self.center_}

    def _restore_arrays(self, arrays: Arrays) -> None:
        self.center_ = expect_shape("center", arrays["center"], (self.n_features_in_,))

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_choice("center", self.center, ("mean", "median"))
        check_choice("distance", self.distance, ("auto", "cosine", "euclidean"))
        check_count("rounds", self.rounds)
        if not (isinstance(self.refit, (int, float)) and 0 < self.refit <= 1):
            raise ParameterError(f"refit must be a share in (0, 1], got {self.refit!r}")
