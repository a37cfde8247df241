from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from rsrae import modelfile
from rsrae.detectors import make_detector
from rsrae.detectors.loading import load
from rsrae.errors import ModelFileError, ParameterError

NAMES = ["lof", "ocsvm", "centroid", "knn", "pca", "rpca", "fms", "sfms", "ste"]
SPARSE = [name for name in NAMES if name != "rpca"]


def table() -> np.ndarray:
    return np.random.default_rng(0).normal(size=(60, 6)) * [1, 10, 100, 1, 1, 1]


def sparse_rows() -> sp.csr_array:
    return sp.csr_array(sp.random(60, 40, density=0.2, random_state=0))


def images() -> np.ndarray:
    return np.random.default_rng(0).integers(0, 256, size=(30, 5, 4, 3), dtype=np.uint8)


@pytest.mark.parametrize("name", NAMES)
def test_images_are_scored_as_their_flattened_rows(name):
    X = images()
    scores = make_detector(name).fit(X).anomaly_score(X)
    flat = (X.reshape(len(X), -1) - 127.5) / 127.5
    flat -= 0.6 * flat.mean(axis=1, keepdims=True)
    expected = make_detector(name, scaling="none", unit_norm=True).fit(flat).anomaly_score(flat)
    np.testing.assert_allclose(scores, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", SPARSE)
def test_sparse_rows_score_as_dense_ones(name):
    rng = np.random.default_rng(0)
    X = sp.csr_array(sparse_rows() + np.outer(rng.random(60), np.arange(40) % 2))
    # What differs by default between sparse and dense rows, told to both.
    same = {"scaling": "none", "unit_norm": True}
    if name in ("pca", "fms", "sfms", "ste"):
        same["intrinsic_dim"] = 1
    dense = make_detector(name, **same).fit(X.toarray()).anomaly_score(X.toarray())
    np.testing.assert_allclose(make_detector(name, **same).fit(X).anomaly_score(X), dense, atol=2e-6)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("make_rows", [table, sparse_rows, images])
def test_a_loaded_detector_gives_the_scores_of_the_saved_one(name, make_rows, tmp_path):
    if name == "rpca" and make_rows is sparse_rows:
        pytest.skip("takes dense rows only")
    X = make_rows()
    detector = make_detector(name).fit(X)
    detector.save(tmp_path / "model")
    loaded = load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.anomaly_score(X), detector.anomaly_score(X))
    np.testing.assert_array_equal(loaded.predict(X), detector.predict(X))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("make_rows", [table, images])
def test_a_row_scores_the_same_alone_and_in_a_batch(name, make_rows):
    X = make_rows()
    detector = make_detector(name).fit(X)
    alone = np.concatenate([detector.anomaly_score(X[[i]]) for i in range(len(X))])
    np.testing.assert_allclose(alone, detector.anomaly_score(X), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_rows_that_do_not_differ_are_scored_too(name):
    for X in (np.zeros((12, 4)), np.full((12, 4), 7.0), np.repeat(np.eye(3, 4), 4, axis=0)):
        assert np.isfinite(make_detector(name).fit(X).anomaly_score(X)).all()


@pytest.mark.parametrize("name", NAMES)
def test_more_columns_than_rows_are_no_special_case(name):
    rng = np.random.default_rng(0)
    X = np.outer(rng.normal(size=30), rng.normal(size=200)) + 0.01 * rng.normal(size=(30, 200))
    strange = 3 * rng.normal(size=(1, 200))
    detector = make_detector(name, scaling="none").fit(X)
    assert detector.anomaly_score(strange)[0] > detector.anomaly_score(X).max()


def test_by_default_the_unit_of_a_column_does_not_matter():
    X = table()
    scores = [make_detector("knn").fit(rows).anomaly_score(rows) for rows in (X, X * [1, 1e-6, 1, 1, 1e6, 1])]
    np.testing.assert_allclose(scores[0], scores[1])


def test_preprocessed_rows_are_given_back_dense():
    X = sparse_rows()
    rows = make_detector("centroid").fit(X).preprocess(X)
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1.0)
    np.testing.assert_allclose(rows * np.linalg.norm(X.toarray(), axis=1, keepdims=True), X.toarray())


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"unit_norm": "yes"}, "unit_norm must be one of 'auto', True, False, got 'yes'"),
        ({"tame": 7}, "tame must be one of True, False, got 7"),
        ({"scaling": "log"}, "scaling must be one of"),
    ],
)
def test_a_parameter_out_of_range_is_named(parameters, message):
    with pytest.raises(ParameterError, match=message):
        make_detector("knn", **parameters).fit(table())


def test_robust_scaling_of_sparse_rows_is_refused():
    with pytest.raises(ParameterError, match="would make sparse rows dense"):
        make_detector("knn", scaling="robust").fit(sparse_rows())


@pytest.mark.parametrize("name", NAMES)
def test_a_file_whose_arrays_were_cut_is_a_model_file_error(name, tmp_path):
    make_detector(name).fit(table()).save(tmp_path / "model")
    header, arrays = modelfile.read_model(tmp_path / "model")
    for key, array in arrays.items():
        if not key.startswith("preprocessor"):
            columns = array.shape.index(6) if 6 in array.shape else 0
            arrays[key] = np.delete(array, 0, axis=columns)
    modelfile.write_model(tmp_path / "model", header, arrays)
    with pytest.raises(ModelFileError, match="do not fit together"):
        load(tmp_path / "model")


def test_sparse_rows_with_indices_out_of_range_are_a_model_file_error(tmp_path):
    make_detector("knn").fit(sparse_rows()).save(tmp_path / "model")
    header, arrays = modelfile.read_model(tmp_path / "model")
    arrays["rows.indices"] = arrays["rows.indices"] + 10**6
    modelfile.write_model(tmp_path / "model", header, arrays)
    with pytest.raises(ModelFileError, match="do not fit together"):
        load(tmp_path / "model")
