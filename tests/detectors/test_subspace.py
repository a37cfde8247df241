from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.linalg import subspace_angles

from rsrae.detectors.pca import PCA
from rsrae.detectors.subspace import FMS, SFMS, STE
from rsrae.errors import ParameterError

ROBUST = pytest.mark.parametrize("make", [FMS, SFMS, STE])


def planted() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """60 % of the rows in a subspace, 40 % outliers: rows, which are outliers, basis."""
    rng = np.random.default_rng(0)
    basis = np.linalg.qr(rng.normal(size=(15, 3)))[0]
    outliers = rng.normal(size=(120, 15)) * np.r_[2.0, 2.0, np.ones(13)]
    X = np.vstack([rng.normal(size=(180, 3)) @ basis.T, outliers])
    return X, np.arange(300) >= 180, basis


@ROBUST
def test_forty_per_cent_of_outliers_are_told_from_rows_of_a_subspace(make):
    X, is_outlier, basis = planted()
    raw = {"scaling": "none", "center": "none", "intrinsic_dim": 3}
    detector = make(**raw, contamination=0.4).fit(X)
    assert subspace_angles(detector.subspace_.basis, basis).max() < 1e-3
    assert subspace_angles(PCA(**raw).fit(X).subspace_.basis, basis).max() > 0.1
    np.testing.assert_array_equal(detector.predict(X) == -1, is_outlier)


def test_the_spherical_version_stands_outliers_that_are_far():
    X, is_outlier, basis = planted()
    X[is_outlier] *= 1000
    raw = {"scaling": "none", "center": "none", "intrinsic_dim": 3}
    angles = {make: subspace_angles(make(**raw).fit(X).subspace_.basis, basis).max() for make in (FMS, SFMS)}
    assert angles[SFMS] < 1e-3 < 0.1 < angles[FMS]


@ROBUST
def test_scores_are_the_norms_of_residuals(make):
    X, _, _ = planted()
    detector = make().fit(X)
    residuals = detector.residuals(X)
    np.testing.assert_allclose(np.linalg.norm(residuals, axis=1), detector.anomaly_score(X), atol=1e-12)
    np.testing.assert_allclose(detector.reconstruct(X) + residuals, detector.preprocess(X))


@pytest.mark.parametrize(
    ("shape", "expected"), [((300, 100), 10), ((300, 7), 3), ((9, 100), 4), ((300, 1), 0), ((2, 5), 0)]
)
def test_the_dimension_is_ten_or_half_of_what_there_is(shape, expected):
    X = np.random.default_rng(0).normal(size=shape)
    assert FMS().fit(X).subspace_.basis.shape == (shape[1], expected)


def test_a_subspace_never_takes_in_everything():
    X = np.random.default_rng(0).normal(size=(20, 4))
    assert FMS(intrinsic_dim=10).fit(X).subspace_.basis.shape == (4, 3)


def test_tables_are_centred_by_default_and_rows_of_unit_norm_are_not():
    X = np.random.default_rng(0).random((40, 12))
    assert FMS(scaling="none").fit(X).subspace_.center.any()
    assert not FMS(scaling="none", unit_norm=True).fit(X).subspace_.center.any()
    assert not FMS().fit(sp.csr_array(X)).subspace_.center.any()
    assert FMS(center="median").fit(sp.csr_array(X)).subspace_.center.any()


def test_rounds_beyond_the_limit_are_not_made():
    X, _, _ = planted()
    assert STE(max_iterations=2).fit(X).subspace_.n_iterations == 2


@pytest.mark.parametrize(
    ("make", "parameters", "message"),
    [
        (FMS, {"intrinsic_dim": 0}, "intrinsic_dim must be a whole number"),
        (FMS, {"intrinsic_dim": "all"}, "intrinsic_dim must be a whole number"),
        (SFMS, {"center": "mode"}, "center must be one of 'auto', 'mean', 'median', 'none', got 'mode'"),
        (SFMS, {"max_iterations": 0}, "max_iterations must be a whole number"),
        (STE, {"gamma": 0}, r"gamma must be a number in \(0, 1\], got 0"),
        (STE, {"max_iterations": 1.5}, "max_iterations must be a whole number"),
    ],
)
def test_a_parameter_out_of_range_is_named(make, parameters, message):
    with pytest.raises(ParameterError, match=message):
        make(**parameters).fit(np.random.default_rng(0).normal(size=(20, 4)))
