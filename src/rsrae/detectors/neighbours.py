"""Distances to the nearest rows of the training set."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.neighbors import NearestNeighbors
from sklearn.utils import gen_batches

from rsrae.detectors.base import check_count
from rsrae.detectors.preprocessed import Matrix, PreprocessedDetector, pack_rows, to_dense, unpack_rows
from rsrae.modelfile import Arrays
from rsrae.subspaces import square_norms
from rsrae.thresholds import FloatArray

# Rows nearer than this share of their norm are the same row: preprocessing may differ in the last bit.
_SAME = 1e-13


class KNN(PreprocessedDetector):
    """k nearest neighbours: the mean distance to the k nearest rows of the training set.

    Parameters
    ----------
    n_neighbors : k; at most one less than the number of training rows is used.
    **common : see :class:`rsrae.detectors.preprocessed.PreprocessedDetector`.

    Notes
    -----
    A row that was trained on would be its own nearest neighbour, at distance zero. One row of the training set that
    equals the scored row is therefore left out, whether or not the scored row was trained on: its score depends on
    nothing but itself and the training set.

    Differs from the published code: Ramaswamy, Rastogi and Shim ("Efficient algorithms for mining outliers from large
    data sets", SIGMOD 2000) rank by the distance to the k-th neighbour; the mean over k (Angiulli and Pizzuti, 2002) is
    steadier. The search is scikit-learn's.

    Examples
    --------
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0], [50.0]])
    >>> KNN(n_neighbors=1, scaling="none").fit(X).anomaly_score(X)
    array([ 1.,  1.,  1.,  1., 47.])
    """

    def __init__(self, *, n_neighbors: int = 5, **common: Any) -> None:
        super().__init__(**common)
        self.n_neighbors = n_neighbors

    def _fit_matrix(self, X: Matrix) -> None:
        self.index_ = NearestOthers(X, self.n_neighbors)

    def _score_matrix(self, X: Matrix) -> FloatArray:
        distances, _ = self.index_.find(X)
        return np.asarray(distances.mean(axis=1))

    def _arrays(self) -> Arrays:
        return pack_rows("rows", self.index_.rows)

    def _restore_arrays(self, arrays: Arrays) -> None:
        self._fit_matrix(unpack_rows("rows", arrays, self.n_features_in_))

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_count("n_neighbors", self.n_neighbors)


class NearestOthers:
    """The k nearest rows to a row, leaving out one that equals it."""

    def __init__(self, rows: Matrix, k: int) -> None:
        self.rows = rows
        self.k = min(k, rows.shape[0] - 1)
        self._index = NearestNeighbors(n_neighbors=self.k + 1).fit(rows)

    def find(self, X: Matrix) -> tuple[FloatArray, npt.NDArray[np.int64]]:
        """Distances, nearest first, and indices of the rows; both ``(n, k)``."""
        blocks = [self._find(X[batch]) for batch in gen_batches(X.shape[0], 1024)]
        return np.concatenate([block[0] for block in blocks]), np.concatenate([block[1] for block in blocks])

    def _find(self, X: Matrix) -> tuple[FloatArray, npt.NDArray[np.int64]]:
        if sp.issparse(X) and not sp.issparse(self.rows):
            X = to_dense(X)
        indices = self._index.kneighbors(X, return_distance=False)  # (n, k + 1)
        # The search may be by inner products, whose distance from a row to itself is not quite zero.
        distances = np.stack([np.sqrt(square_norms(X - self.rows[column])) for column in indices.T], axis=1)
        order = np.argsort(distances, axis=1, kind="stable")
        distances, indices = (np.take_along_axis(a, order, axis=1) for a in (distances, indices))
        is_itself = distances[:, :1] <= _SAME * np.sqrt(square_norms(X))[:, None]
        return (
            np.where(is_itself, distances[:, 1:], distances[:, :-1]),
            np.where(is_itself, indices[:, 1:], indices[:, :-1]),
        )
