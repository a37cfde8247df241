from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.linalg import subspace_angles

from rsrae.detectors.pca import PCA
from rsrae.detectors.rpca import RobustPCA
from rsrae.errors import InputError, ParameterError


def spoiled_rows() -> tuple[np.ndarray, np.ndarray]:
    """Rows of a subspace, of which 5 % of the values were overwritten; and its basis."""
    rng = np.random.default_rng(0)
    basis = np.linalg.qr(rng.normal(size=(60, 3)))[0]
    X = 5 * rng.normal(size=(150, 3)) @ basis.T
    return np.where(rng.random(X.shape) < 0.05, 20.0, X), basis


def test_the_subspace_under_wild_cells_is_found_where_pca_is_lost():
    X, basis = spoiled_rows()
    robust = RobustPCA(scaling="none").fit(X)
    plain = PCA(scaling="none", center="none", intrinsic_dim=3).fit(X)
    assert subspace_angles(robust.subspace_.basis, basis).max() < 1e-3
    assert subspace_angles(plain.subspace_.basis, basis).max() > 0.1


def test_the_dimension_is_the_rank_that_was_found():
    X, _ = spoiled_rows()
    for wanted, dimension in (("auto", 3), (20, 3), (2, 2)):
        found = RobustPCA(intrinsic_dim=wanted, scaling="none").fit(X).subspace_
        assert found.basis.shape == (60, dimension)


def test_new_rows_of_the_subspace_score_far_below_others():
    X, basis = spoiled_rows()
    rng = np.random.default_rng(1)
    detector = RobustPCA(scaling="none").fit(X)
    inside = rng.normal(size=(10, 3)) @ basis.T
    assert detector.anomaly_score(inside).max() < 1e-3 * detector.anomaly_score(rng.normal(size=(10, 60))).min()


def test_sparse_rows_are_refused():
    with pytest.raises(InputError, match="RobustPCA takes no sparse rows"):
        RobustPCA().fit(sp.csr_array(np.eye(5)))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"penalty": 0}, "penalty must be a positive number or None, got 0"),
        ({"penalty": "auto"}, "penalty must be"),
        ({"max_iterations": 0}, "max_iterations must be a whole number"),
    ],
)
def test_a_parameter_out_of_range_is_named(parameters, message):
    with pytest.raises(ParameterError, match=message):
        RobustPCA(**parameters).fit(np.eye(5))
