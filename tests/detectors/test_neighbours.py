from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.neighbors import NearestNeighbors

from rsrae.detectors.neighbours import KNN, NearestOthers
from rsrae.errors import ParameterError

RAW = {"scaling": "none", "unit_norm": False}


@pytest.mark.parametrize("columns", [3, 40])  # searched by a tree, and by inner products
@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
def test_scores_are_the_mean_distance_to_scikit_learns_neighbours(columns, container):
    rng = np.random.default_rng(0)
    X, new = container(rng.normal(size=(200, columns))), container(rng.normal(size=(30, columns)))
    search = NearestNeighbors(n_neighbors=7).fit(X)
    detector = KNN(n_neighbors=7, **RAW).fit(X)
    # Without an argument scikit-learn leaves each training row out of its own neighbours.
    for scores, (distances, _) in (
        (detector.anomaly_score(X), search.kneighbors()),
        (detector.anomaly_score(new), search.kneighbors(new)),
    ):
        np.testing.assert_allclose(scores, distances.mean(axis=1), rtol=1e-6)


def test_a_row_is_not_its_own_neighbour_but_its_twin_is():
    X = np.array([[0.0], [1.0], [5.0], [5.0]])
    scores = KNN(n_neighbors=1, **RAW).fit(X).anomaly_score(X)
    np.testing.assert_array_equal(scores, [1.0, 1.0, 0.0, 0.0])


def test_a_copy_of_a_training_row_scores_as_that_row_does():
    X = np.random.default_rng(0).normal(size=(50, 30))
    detector = KNN().fit(X)
    copies = np.array(X[7:9])
    np.testing.assert_allclose(detector.anomaly_score(copies), detector.anomaly_score(X)[7:9], rtol=1e-12)


def test_distances_come_nearest_first_and_belong_to_their_rows():
    rng = np.random.default_rng(0)
    rows, X = rng.normal(size=(60, 20)), rng.normal(size=(10, 20))
    distances, neighbours = NearestOthers(rows, 4).find(X)
    assert (np.diff(distances, axis=1) >= 0).all()
    np.testing.assert_allclose(distances, np.linalg.norm(X[:, None] - rows[neighbours], axis=2))


def test_more_neighbours_than_rows_are_all_other_rows():
    X = np.random.default_rng(0).normal(size=(8, 3))
    many, all_others = (KNN(n_neighbors=k).fit(X).anomaly_score(X) for k in (50, 7))
    np.testing.assert_array_equal(many, all_others)


@pytest.mark.parametrize("k", [0, -1, 2.5, True])
def test_a_number_of_neighbours_out_of_range_is_named(k):
    with pytest.raises(ParameterError, match="n_neighbors must be a whole number of at least 1"):
        KNN(n_neighbors=k).fit(np.eye(4))
