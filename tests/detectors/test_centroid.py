from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from rsrae.detectors.centroid import Centroid
from rsrae.errors import ParameterError


def rows_with_far_outliers() -> np.ndarray:
    rng = np.random.default_rng(0)
    return np.vstack([rng.normal(size=(70, 4)), rng.normal(size=(30, 4)) + 20])


def test_sparse_rows_are_scored_by_the_cosine_to_their_mean():
    X = sp.csr_array(sp.random(50, 30, density=0.3, random_state=0))
    unit = X.toarray() / np.linalg.norm(X.toarray(), axis=1, keepdims=True)
    mean = unit.mean(axis=0)
    expected = 1 - unit @ mean / np.linalg.norm(mean)
    np.testing.assert_allclose(Centroid().fit(X).anomaly_score(X), expected, atol=1e-12)


def test_tables_are_scored_by_the_distance_to_their_mean():
    X = rows_with_far_outliers()
    expected = np.linalg.norm(X - X.mean(axis=0), axis=1)
    np.testing.assert_allclose(Centroid(scaling="none").fit(X).anomaly_score(X), expected)


def test_a_table_with_unit_rows_is_scored_by_the_cosine():
    X = rows_with_far_outliers()
    by_default, asked_for = (
        Centroid(unit_norm=True, distance=distance).fit(X).anomaly_score(X) for distance in ("auto", "cosine")
    )
    np.testing.assert_array_equal(by_default, asked_for)
    assert by_default.max() <= 2


def test_the_median_moves_less_than_the_mean():
    X = rows_with_far_outliers()
    middle = {center: Centroid(center=center, scaling="none").fit(X).center_ for center in ("mean", "median")}
    assert np.linalg.norm(middle["median"]) < 0.25 * np.linalg.norm(middle["mean"])


@pytest.mark.parametrize("center", ["mean", "median"])
def test_refitting_on_the_best_share_leaves_the_outliers_out(center):
    X = rows_with_far_outliers()
    detector = Centroid(center=center, refit=0.6, scaling="none").fit(X)
    assert np.linalg.norm(detector.center_) < 0.5
    scores = detector.anomaly_score(X)
    assert scores[70:].min() > scores[:70].max()


def test_refitting_ends_where_the_best_share_of_a_centre_has_that_centre():
    X = rows_with_far_outliers()
    detector = Centroid(refit=0.6, rounds=50, scaling="none").fit(X)
    best = np.argsort(detector.anomaly_score(X))[:60]
    np.testing.assert_allclose(detector.center_, X[best].mean(axis=0))


def test_a_row_of_zeros_is_at_a_right_angle_to_everything():
    X = sp.csr_array(np.vstack([np.zeros((1, 3)), np.ones((5, 3))]))
    np.testing.assert_allclose(Centroid().fit(X).anomaly_score(X), [1, 0, 0, 0, 0, 0], atol=1e-12)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"center": "mode"}, "center must be one of 'mean', 'median', got 'mode'"),
        ({"distance": "manhattan"}, "distance must be one of"),
        ({"refit": 0}, r"refit must be a share in \(0, 1\], got 0"),
        ({"refit": 1.2}, "refit must be"),
        ({"rounds": 0}, "rounds must be a whole number"),
    ],
)
def test_a_parameter_out_of_range_is_named(parameters, message):
    with pytest.raises(ParameterError, match=message):
        Centroid(**parameters).fit(np.eye(4))
