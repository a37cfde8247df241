from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.ensemble import IsolationForest
from sklearn.neighbors import LocalOutlierFactor
from sklearn.svm import OneClassSVM

from rsrae import modelfile
from rsrae.detectors.classic import LOF, OCSVM, IForest
from rsrae.detectors.loading import load
from rsrae.errors import InputError, ModelFileError, ParameterError

RAW = {"scaling": "none", "unit_norm": False}


def rows(n: int, columns: int = 5, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(n, columns))


def sparse_rows(n: int, seed: int = 0) -> sp.csr_array:
    return sp.csr_array(sp.random(n, 60, density=0.15, random_state=seed))


KINDS = pytest.mark.parametrize("make_rows", [rows, sparse_rows])


# -- LOF ---------------------------------------------------------------------------------------------------------------


@KINDS
@pytest.mark.parametrize("k", [1, 20])
def test_new_rows_get_scikit_learns_local_outlier_factor(make_rows, k):
    X, new = make_rows(150), make_rows(40, seed=1)
    expected = LocalOutlierFactor(n_neighbors=k, novelty=True).fit(X).score_samples(new)
    scores = LOF(n_neighbors=k, **RAW).fit(X).score_samples(new)
    np.testing.assert_allclose(scores, expected, rtol=1e-6)


@KINDS
def test_training_rows_get_scikit_learns_factor_of_the_training_set(make_rows):
    X = make_rows(150)
    expected = LocalOutlierFactor().fit(X).negative_outlier_factor_
    np.testing.assert_allclose(LOF(**RAW).fit(X).score_samples(X), expected, rtol=1e-6)


def test_more_neighbours_than_rows_are_all_other_rows():
    X = rows(10)
    many, all_others = (LOF(n_neighbors=k, **RAW).fit(X).anomaly_score(X) for k in (20, 9))
    np.testing.assert_array_equal(many, all_others)


# -- OCSVM -------------------------------------------------------------------------------------------------------------


@KINDS
@pytest.mark.parametrize("parameters", [{}, {"nu": 0.1}, {"gamma": "auto"}, {"gamma": 0.3, "nu": 0.9}])
def test_rows_get_scikit_learns_one_class_svm_score(make_rows, parameters):
    X, new = make_rows(150), make_rows(40, seed=1)
    reference = OneClassSVM(**parameters).fit(X)
    detector = OCSVM(**parameters, **RAW).fit(X)
    for some in (X, new):
        np.testing.assert_allclose(detector.score_samples(some), reference.score_samples(some), rtol=1e-6)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"nu": 0}, r"nu must be a number in \(0, 1\], got 0"),
        ({"nu": 1.5}, "nu must be"),
        ({"gamma": -1.0}, "gamma must be 'scale', 'auto' or a positive number, got -1.0"),
        ({"gamma": "best"}, "gamma must be"),
    ],
)
def test_a_parameter_of_the_machine_out_of_range_is_named(parameters, message):
    with pytest.raises(ParameterError, match=message):
        OCSVM(**parameters).fit(rows(20))


# -- isolation forest --------------------------------------------------------------------------------------------------


@KINDS
@pytest.mark.parametrize("max_samples", ["auto", 30, 0.5])
def test_rows_get_scikit_learns_isolation_score(make_rows, max_samples):
    X, new = make_rows(150), make_rows(40, seed=1)
    parameters = {"n_estimators": 20, "max_samples": max_samples, "random_state": 3}
    reference = IsolationForest(**parameters).fit(X)
    detector = IForest(**parameters).fit(X)
    for some in (X, new):
        np.testing.assert_allclose(detector.score_samples(some), reference.score_samples(some), rtol=1e-12)


@pytest.mark.parametrize("kind", ["table", "sparse", "images"])
def test_a_saved_forest_gives_the_same_scores(kind, tmp_path):
    X = {"table": rows(80), "sparse": sparse_rows(80), "images": rows(80, 12).reshape(80, 2, 2, 3)}[kind]
    detector = IForest(n_estimators=10, random_state=0).fit(X)
    detector.save(tmp_path / "model")
    np.testing.assert_array_equal(load(tmp_path / "model").anomaly_score(X), detector.anomaly_score(X))


def test_images_grow_the_forest_of_their_flattened_rows():
    X = rows(60, 12)
    scores = [
        IForest(n_estimators=10, random_state=0).fit(some).anomaly_score(some) for some in (X, X.reshape(60, 2, 3, 2))
    ]
    np.testing.assert_array_equal(scores[0], scores[1])


def test_rows_that_no_cut_can_tell_apart_all_score_one_half():
    X = np.ones((30, 4))
    scores = IForest(n_estimators=5, random_state=0).fit(X).anomaly_score(X)
    np.testing.assert_allclose(scores, 0.5)


def test_the_seed_decides_the_forest():
    X = rows(60)
    first, again, other = (IForest(n_estimators=5, random_state=seed).fit(X).anomaly_score(X) for seed in (0, 0, 1))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


@pytest.mark.parametrize("max_samples", [0, 1.5, -0.1, "many", True])
def test_a_number_of_rows_per_tree_out_of_range_is_named(max_samples):
    with pytest.raises(ParameterError, match="max_samples must be"):
        IForest(max_samples=max_samples).fit(rows(20))


def test_values_beyond_single_precision_are_an_input_error():
    with pytest.raises(InputError, match="too large"):
        IForest(n_estimators=2).fit(1e200 * rows(20))


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("columns", lambda a: a + 100),
        ("columns", lambda a: a - 100),
        ("left", lambda a: a + 10**6),
        ("column", lambda a: a - 10**6),
        ("threshold", lambda a: a[:-1]),
        ("height", lambda a: a + 10**9),
    ],
)
def test_a_forest_that_was_tampered_with_is_a_model_file_error(name, change, tmp_path):
    IForest(n_estimators=3, random_state=0).fit(rows(30)).save(tmp_path / "model")
    header, arrays = modelfile.read_model(tmp_path / "model")
    modelfile.write_model(tmp_path / "model", header, arrays | {name: change(arrays[name])})
    with pytest.raises(ModelFileError, match="do not fit together"):
        load(tmp_path / "model")
