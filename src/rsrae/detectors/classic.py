"""The three classical detectors of the paper's comparison, on scikit-learn, with scikit-learn's settings as default."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.ensemble import IsolationForest
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import OneClassSVM
from sklearn.utils import gen_batches

from rsrae.detectors.base import BaseDetector, Rows, check_count
from rsrae.detectors.forest import Forest
from rsrae.detectors.neighbours import NearestOthers
from rsrae.detectors.preprocessed import (
    Matrix,
    PreprocessedDetector,
    expect_shape,
    flatten,
    pack_rows,
    to_dense,
    unpack_rows,
)
from rsrae.errors import InputError, ParameterError
from rsrae.modelfile import Arrays
from rsrae.subspaces import square_norms
from rsrae.thresholds import FloatArray


class LOF(PreprocessedDetector):
    """Local outlier factor: how much thinner the data is around a row than around its neighbours.

    Parameters
    ----------
    n_neighbors : size of a neighbourhood; at most one less than the number of training rows is used.
    **common : see :class:`rsrae.detectors.preprocessed.PreprocessedDetector`.

    Notes
    -----
    Breunig, Kriegel, Ng and Sander, "LOF: identifying density-based local outliers", SIGMOD 2000.

    Differs from the published code: scikit-learn has two modes, one that scores the training rows only and one for new
    rows only. Here one rule gives both: a training row that equals the scored row is left out of its neighbours. Rows
    of the training set then get scikit-learn's ``-negative_outlier_factor_``, others its ``-score_samples`` with
    ``novelty=True``.
    """

    def __init__(self, *, n_neighbors: int = 20, **common: Any) -> None:
        super().__init__(**common)
        self.n_neighbors = n_neighbors

    def _fit_matrix(self, X: Matrix) -> None:
        self.index_ = NearestOthers(X, self.n_neighbors)
        distances, neighbours = self.index_.find(X)
        self.reach_ = distances[:, -1].copy()
        self.density_ = self._density(distances, neighbours)

    def _score_matrix(self, X: Matrix) -> FloatArray:
        distances, neighbours = self.index_.find(X)
        density = self._density(distances, neighbours)
        return np.asarray(self.density_[neighbours].mean(axis=1) / density)

    def _density(self, distances: FloatArray, neighbours: npt.NDArray[np.int64]) -> FloatArray:
        reachability = np.maximum(distances, self.reach_[neighbours]).mean(axis=1)
        return np.asarray(1.0 / (reachability + 1e-10))  # as scikit-learn: equal rows have a density, too

    def _arrays(self) -> Arrays:
        return {**pack_rows("rows", self.index_.rows), "reach": self.reach_, "density": self.density_}

    def _restore_arrays(self, arrays: Arrays) -> None:
        rows = unpack_rows("rows", arrays, self.n_features_in_)
        self.index_ = NearestOthers(rows, self.n_neighbors)
        self.reach_ = expect_shape("reach", arrays["reach"], (rows.shape[0],))
        self.density_ = expect_shape("density", arrays["density"], (rows.shape[0],))

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_count("n_neighbors", self.n_neighbors)


class OCSVM(PreprocessedDetector):
    """One-class support vector machine with a Gaussian kernel.

    Parameters
    ----------
    nu : in (0, 1]: about this share of the training rows ends outside of the learned region.
    gamma : of the kernel ``exp(-gamma ||x - y||^2)``: a number, "scale" (one over columns times variance) or "auto"
        (one over columns). Neither nu nor gamma is ever chosen with labels.
    **common : see :class:`rsrae.detectors.preprocessed.PreprocessedDetector`.

    Notes
    -----
    Schölkopf, Williamson, Smola, Shawe-Taylor and Platt, "Support vector method for novelty detection", NIPS 2000.

    Differs from the published code: none in the score, which is scikit-learn's ``-score_samples``; the line is drawn
    by ``contamination`` and not by nu.
    """

    def __init__(self, *, nu: float = 0.5, gamma: float | str = "scale", **common: Any) -> None:
        super().__init__(**common)
        self.nu = nu
        self.gamma = gamma

    def _fit_matrix(self, X: Matrix) -> None:
        self.gamma_ = self._choose_gamma(X)
        machine = OneClassSVM(nu=self.nu, gamma=self.gamma_)
        machine.random_state = 0  # no parameter, and not used; but without it numpy's global generator is drawn from
        machine.fit(X)
        vectors: Any = machine.support_vectors_
        self.support_vectors_: Matrix = sp.csr_array(vectors) if sp.issparse(X) else vectors
        self.weights_ = to_dense(machine.dual_coef_)[0]

    def _score_matrix(self, X: Matrix) -> FloatArray:
        scores = np.empty(X.shape[0])
        for batch in gen_batches(X.shape[0], 1024):
            scores[batch] = -rbf_kernel(X[batch], self.support_vectors_, gamma=self.gamma_) @ self.weights_
        return scores

    def _arrays(self) -> Arrays:
        vectors = pack_rows("support_vectors", self.support_vectors_)
        return {**vectors, "weights": self.weights_, "gamma": np.array([self.gamma_])}

    def _restore_arrays(self, arrays: Arrays) -> None:
        self.gamma_ = float(expect_shape("gamma", arrays["gamma"], (1,))[0])
        self.support_vectors_ = unpack_rows("support_vectors", arrays, self.n_features_in_)
        n_vectors = self.support_vectors_.shape[0]
        self.weights_ = expect_shape("weights", arrays["weights"], (n_vectors,))

    def _choose_gamma(self, X: Matrix) -> float:
        n, columns = (int(side) for side in X.shape)
        if self.gamma == "auto":
            return 1.0 / columns
        if self.gamma != "scale":
            return float(self.gamma)
        if sp.issparse(X):
            variance = float(square_norms(X).sum()) / (n * columns) - float(X.mean()) ** 2
        else:
            variance = float(X.var())
        return 1.0 / (columns * variance) if variance > 0 else 1.0

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if not (isinstance(self.nu, (int, float)) and 0 < self.nu <= 1):
            raise ParameterError(f"nu must be a number in (0, 1], got {self.nu!r}")
        is_number = isinstance(self.gamma, (int, float)) and not isinstance(self.gamma, bool)
        if self.gamma not in ("scale", "auto") and not (is_number and float(self.gamma) > 0):
            raise ParameterError(f"gamma must be 'scale', 'auto' or a positive number, got {self.gamma!r}")


class IForest(BaseDetector):
    """Isolation forest: rows that few random cuts set apart are strange.

    Cuts are made within one column at a time, so columns need no scaling; images become rows of pixel values.

    Parameters
    ----------
    n_estimators : number of trees.
    max_samples : rows drawn for each tree: a number, a share in (0, 1], or "auto" for the smaller of 256 and n.
    contamination : share of anomalies in (0, 0.5] that draws the line, or "auto" to estimate it from the scores.
    random_state : seed of the trees.

    Notes
    -----
    Liu, Ting and Zhou, "Isolation-based anomaly detection", ACM Transactions on Knowledge Discovery from Data, 2012.

    Differs from the published code: none in the score, which is scikit-learn's ``-score_samples`` for the same
    ``random_state``. The trees are kept as arrays, so that a saved forest scores as the fitted one does.
    """

    def __init__(
        self,
        *,
        n_estimators: int = 100,
        max_samples: int | float | str = "auto",
        contamination: float | str = "auto",
        random_state: Any = None,
    ) -> None:
        self.n_estimators = n_estimators
        self.max_samples = max_samples
        self.contamination = contamination
        self.random_state = random_state

    def _fit(self, X: Rows) -> None:
        check_count("n_estimators", self.n_estimators)
        self._random_generator()  # a seed that is none is an error of ours, not of scikit-learn
        rows = _in_single_precision(flatten(X))
        forest = IsolationForest(
            n_estimators=self.n_estimators,
            max_samples=self._rows_per_tree(rows.shape[0]),
            random_state=self.random_state,
        )
        forest.fit(rows)
        trees = [member.tree_ for member in forest.estimators_]
        self.forest_ = Forest.of(trees, _depths)
        self.usual_depth_ = _usual_depth(np.array([forest.max_samples_]))

    def _score(self, X: Rows) -> FloatArray:
        # 1/2 for an average row, towards 1 for one set apart at once.
        usual = float(self.usual_depth_[0])
        depths = self.forest_.mean(_in_single_precision(flatten(X)))
        return np.asarray(2.0 ** -(depths / usual if usual > 0 else np.ones_like(depths)))

    def _state(self) -> tuple[dict[str, Any], Arrays]:
        arrays = self.forest_.arrays()
        return {}, arrays | {"depth": arrays.pop("value"), "usual_depth": self.usual_depth_}

    def _restore(self, state: dict[str, Any], arrays: Arrays) -> None:
        self.forest_ = Forest.restore(arrays | {"value": arrays["depth"]}, self.n_features_in_)
        self.usual_depth_ = expect_shape("usual_depth", arrays["usual_depth"], (1,))

    def _rows_per_tree(self, n_rows: int) -> int:
        wanted = self.max_samples
        if wanted == "auto":
            return min(256, n_rows)
        is_number = isinstance(wanted, (int, float, np.integer)) and not isinstance(wanted, bool)
        if is_number and isinstance(wanted, float) and 0 < wanted <= 1:
            return max(1, int(wanted * n_rows))
        if is_number and not isinstance(wanted, float) and int(wanted) >= 1:
            return min(int(wanted), n_rows)
        raise ParameterError(
            f"max_samples must be 'auto', a whole number of at least 1 or a share in (0, 1], got {wanted!r}"
        )


def _in_single_precision(X: Any) -> Any:
    """The rows in the precision in which scikit-learn's trees compare."""
    with np.errstate(over="ignore"):
        rows = X.astype(np.float32)
    if not np.isfinite(rows.data if hasattr(rows, "indptr") else rows).all():
        raise InputError("a value is too large for a tree, which counts in single precision; rescale its column")
    return rows


def _depths(tree: Any) -> FloatArray:
    """The path length that a row ending in a node of scikit-learn's tree is given."""
    levels = np.zeros(tree.node_count)
    generation = np.array([0])
    while generation.size:
        parents = generation[tree.children_left[generation] >= 0]
        generation = np.concatenate([tree.children_left[parents], tree.children_right[parents]])
        levels[generation] = np.concatenate([levels[parents], levels[parents]]) + 1
    return levels + _usual_depth(tree.n_node_samples)


def _usual_depth(n_rows: npt.NDArray[Any]) -> FloatArray:
    """Mean path length of an unsuccessful search in a binary tree over so many rows (c(n) of the paper)."""
    n = np.maximum(n_rows, 3).astype(np.float64)
    long = 2.0 * (np.log(n - 1.0) + np.euler_gamma) - 2.0 * (n - 1.0) / n
    return np.where(n_rows <= 1, 0.0, np.where(n_rows == 2, 1.0, long))
