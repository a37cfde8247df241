"""What every detector promises, run over the list of all methods; a new method joins the list and nothing is copied."""

from __future__ import annotations

import importlib.util
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

import rsrae
from rsrae.detectors import METHODS, detector_class, make_detector
from rsrae.errors import InputError, ModelFileError, ParameterError
from rsrae.modelfile import read_model, write_model

# Enough to run, not to learn; names a detector does not have are left out.
CHEAP = {
    "epochs": 2,
    "rsrae_epochs": 2,
    "hidden": (8, 6),
    "intrinsic_dim": 2,
    "n_estimators": 10,
    "max_iterations": 20,
    "rounds": 2,
    "widen": 1,
    "depth": 10,
    "random_state": 0,
}
# Enough to learn something small.
LEARNING = CHEAP | {"epochs": 60, "learning_rate": 0.01, "hidden": (16, 8), "n_estimators": 50}

# A module that is not written yet has no tests; one that is there and cannot be imported fails them.
NAMES = [name for name, method in METHODS.items() if importlib.util.find_spec(f"rsrae.detectors.{method.module}")]
TAKES = {name: detector_class(name).accepts for name in NAMES}
FOR_TABLES = [name for name in NAMES if "table" in TAKES[name]]
FOR_SPARSE = [name for name in NAMES if "sparse" in TAKES[name]]
FOR_IMAGES = [name for name in NAMES if "images" in TAKES[name]]

Table = npt.NDArray[np.float64]


def build(name: str, settings: dict[str, Any] = CHEAP, **more: Any) -> Any:
    known = detector_class(name)().get_params()
    return make_detector(name, **{key: value for key, value in (settings | more).items() if key in known})


def has(name: str, parameter: str) -> bool:
    return parameter in detector_class(name)().get_params()


@pytest.fixture(params=NAMES)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def X(name: str, easy_table: Any, easy_images: Any) -> npt.NDArray[Any]:
    """What this method likes best: a table, or images if it takes nothing else."""
    return easy_table.X if "table" in TAKES[name] else easy_images.X[80:]


@pytest.fixture
def fitted(name: str, X: npt.NDArray[Any]) -> Any:
    """Fitted once for all tests that only look."""
    if name not in _FITTED:
        _FITTED[name] = build(name, contamination=0.1).fit(X)
    return _FITTED[name]


_FITTED: dict[str, Any] = {}


def fit_quietly(detector: Any, X: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return detector.fit(X)


# -- scikit-learn ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", FOR_TABLES)
def test_scikit_learns_own_checks_pass_without_exception(name: str) -> None:
    results = check_estimator(build(name, epochs=1), on_skip=None, on_fail=None)
    assert [(r["check_name"], r["exception"]) for r in results if r["status"] == "failed"] == []
    assert [r["check_name"] for r in results if r["status"] == "xfail"] == []


def test_a_copy_has_the_same_parameters_and_nothing_learned(fitted: Any, X: npt.NDArray[Any]) -> None:
    copy = clone(fitted)
    assert copy.get_params() == fitted.get_params()
    with pytest.raises(NotFittedError):
        copy.score_samples(X)


def test_signs_agree(fitted: Any, X: npt.NDArray[Any]) -> None:
    verdict, strange = fitted.predict(X), fitted.anomaly_score(X)
    np.testing.assert_array_equal(fitted.score_samples(X), -strange)
    np.testing.assert_array_equal(fitted.decision_function(X), -strange - fitted.offset_)
    np.testing.assert_array_equal(verdict, np.where(strange > -fitted.offset_, -1, 1))
    assert strange.dtype == np.float64
    assert (verdict == -1).mean() == pytest.approx(0.1, abs=0.05)


@pytest.mark.parametrize("name", FOR_TABLES)
def test_pipelines_searches_and_set_params_work(name: str, easy_table: Any) -> None:
    X, y = easy_table
    detector = build(name)
    pipeline = make_pipeline(StandardScaler(), detector).fit(X)
    assert pipeline.predict(X).shape == y.shape
    step = pipeline.steps[-1][0]
    pipeline.set_params(**{f"{step}__contamination": 0.2})
    assert detector.contamination == 0.2
    search = GridSearchCV(
        detector,
        {"contamination": [0.05, 0.2]},
        scoring=lambda fitted, X, y: roc_auc_score(y, fitted.anomaly_score(X)),
        cv=2,
        error_score="raise",
    ).fit(X, y)
    assert search.best_estimator_.predict(X).shape == y.shape


def test_a_detector_that_was_not_fitted_says_so(name: str, X: npt.NDArray[Any]) -> None:
    for method in ("score_samples", "predict", "anomaly_score"):
        with pytest.raises(NotFittedError):
            getattr(build(name), method)(X)


# -- seeds -------------------------------------------------------------------------------------------------------------


def test_the_same_seed_gives_the_same_scores_bit_for_bit(fitted: Any, X: npt.NDArray[Any]) -> None:
    again = clone(fitted).fit(X)
    np.testing.assert_array_equal(again.anomaly_score(X), fitted.anomaly_score(X))
    assert again.offset_ == fitted.offset_


@pytest.mark.parametrize("name", [name for name in NAMES if has(name, "random_state")])
def test_another_seed_gives_other_scores(fitted: Any, X: npt.NDArray[Any]) -> None:
    other = clone(fitted).set_params(random_state=1).fit(X)
    assert not np.array_equal(other.anomaly_score(X), fitted.anomaly_score(X))


def test_global_generators_are_left_alone_and_nothing_is_printed(
    name: str, X: npt.NDArray[Any], easy_images: Any, global_generators: Any, capfd: pytest.CaptureFixture[str]
) -> None:
    before = global_generators.now()
    for items in [X] if name not in FOR_TABLES or name not in FOR_IMAGES else [X, easy_images.X[80:]]:
        build(name).fit(items).predict(items)
    assert global_generators.now() == before
    assert capfd.readouterr() == ("", "")


# -- scores ------------------------------------------------------------------------------------------------------------


def test_a_row_scores_the_same_alone_in_any_batch_and_in_any_order(
    fitted: Any, X: npt.NDArray[Any], rng: np.random.Generator
) -> None:
    scores = fitted.anomaly_score(X)
    order = rng.permutation(len(X))
    np.testing.assert_allclose(fitted.anomaly_score(X[order]), scores[order], rtol=1e-6)
    np.testing.assert_allclose(fitted.anomaly_score(X[3:10]), scores[3:10], rtol=1e-6)
    alone = np.concatenate([fitted.anomaly_score(X[i : i + 1]) for i in range(8)])
    np.testing.assert_allclose(alone, scores[:8], rtol=1e-6)


def test_new_rows_can_be_scored(name: str, X: npt.NDArray[Any]) -> None:
    detector = build(name).fit(X[::2])
    assert np.isfinite(detector.anomaly_score(X[1::2])).all()


@pytest.mark.parametrize("name", FOR_TABLES)
def test_an_easy_table_is_ranked_well(name: str, easy_table: Any) -> None:
    X, y = easy_table
    assert roc_auc_score(y, build(name, LEARNING).fit(X).anomaly_score(X)) > 0.9


@pytest.mark.parametrize("name", FOR_IMAGES)
def test_easy_images_are_ranked_well(name: str, easy_images: Any) -> None:
    X, y = easy_images
    settings = LEARNING | {"epochs": 3 if name in ("gt", "rsrae-views") else 20, "rsrae_epochs": 20}
    assert roc_auc_score(y, build(name, settings).fit(X).anomaly_score(X)) > 0.9


@pytest.mark.parametrize("order", ["C", "F"])
def test_fitting_and_scoring_do_not_change_the_items(name: str, X: npt.NDArray[Any], order: Any) -> None:
    mine = X.copy(order=order)
    build(name, scaling="none", unit_norm=False).fit(mine).anomaly_score(mine)
    np.testing.assert_array_equal(mine, X)


# -- the model file ----------------------------------------------------------------------------------------------------


def test_a_saved_detector_scores_as_before(fitted: Any, X: npt.NDArray[Any], tmp_path: Path) -> None:
    fitted.save(tmp_path / "model")
    for loaded in (rsrae.load(tmp_path / "model"), type(fitted).load(tmp_path / "model")):
        assert type(loaded) is type(fitted)
        assert loaded.get_params() == fitted.get_params()
        np.testing.assert_array_equal(loaded.anomaly_score(X), fitted.anomaly_score(X))
        np.testing.assert_array_equal(loaded.predict(X), fitted.predict(X))


def test_what_is_loaded_lies_in_memory_as_what_was_learned(fitted: Any, tmp_path: Path) -> None:
    """Some processors sum a product in another order if a matrix lies column by column: scores would differ."""
    fitted.save(tmp_path / "model")
    learned, loaded = (
        {name: array.flags.c_contiguous for name, array in detector._state()[1].items()}
        for detector in (fitted, rsrae.load(tmp_path / "model"))
    )
    assert loaded == learned


@pytest.mark.parametrize("name", FOR_IMAGES)
def test_a_detector_of_images_is_saved_too(name: str, easy_images: Any, tmp_path: Path) -> None:
    X = easy_images.X[80:]
    detector = build(name).fit(X)
    detector.save(tmp_path / "model")
    np.testing.assert_array_equal(rsrae.load(tmp_path / "model").anomaly_score(X), detector.anomaly_score(X))


@pytest.mark.parametrize("name", FOR_SPARSE)
def test_a_detector_of_sparse_rows_is_saved_too(name: str, tmp_path: Path, rng: np.random.Generator) -> None:
    X = sp.random_array((60, 20), density=0.2, format="csr", rng=rng)
    detector = build(name).fit(X)
    detector.save(tmp_path / "model")
    np.testing.assert_array_equal(rsrae.load(tmp_path / "model").anomaly_score(X), detector.anomaly_score(X))


def test_a_model_without_one_of_its_tensors_is_an_error(fitted: Any, tmp_path: Path) -> None:
    path = tmp_path / "model"
    fitted.save(path)
    header, arrays = read_model(path)
    for missing in arrays:
        rest = {key: array for key, array in arrays.items() if key != missing}
        write_model(path, header, rest)
        with pytest.raises(ModelFileError, match="header and tensors do not fit together"):
            rsrae.load(path)


# -- kinds of input ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", FOR_TABLES)
def test_column_names_are_kept_and_other_names_are_an_error(name: str, easy_table: Any, tmp_path: Path) -> None:
    frame = pd.DataFrame(easy_table.X, columns=[f"column {i}" for i in range(8)])
    detector = fit_quietly(build(name), frame)
    detector.save(tmp_path / "model")
    for one in (detector, rsrae.load(tmp_path / "model")):
        assert list(one.feature_names_in_) == list(frame.columns)
        assert len(one.predict(frame)) == len(frame)
        with pytest.raises(InputError, match="feature names"):
            one.predict(frame[frame.columns[::-1]])
        with pytest.raises(InputError, match=r"features|feature names"):
            one.predict(frame.iloc[:, :5])


@pytest.mark.parametrize("name", FOR_TABLES)
def test_another_number_of_columns_is_an_error(fitted: Any, easy_table: Any) -> None:
    with pytest.raises(InputError, match="8 features"):
        fitted.predict(easy_table.X[:, :5])


def with_long_indices(X: sp.csr_array) -> sp.csr_array:
    return sp.csr_array((X.data, X.indices.astype(np.int64), X.indptr.astype(np.int64)), shape=X.shape)


@pytest.mark.parametrize("name", FOR_SPARSE)
@pytest.mark.parametrize("kind", [sp.csr_array, sp.csc_matrix, sp.coo_array, with_long_indices])
def test_sparse_rows_score_like_dense_ones(name: str, kind: Any, rng: np.random.Generator) -> None:
    X = sp.random_array((80, 15), density=0.3, format="csr", rng=rng)
    settings = {"scaling": "none", "unit_norm": True}
    if name == "rsrae":
        # Only sparse rows have lengths; which of several neighbours equally far is taken is left to rounding.
        settings |= {"level_lengths": False, "n_neighbors": 0}
    on_sparse, on_dense = build(name, **settings).fit(kind(X)), build(name, **settings).fit(X.toarray())
    scores = on_sparse.anomaly_score(kind(X))
    np.testing.assert_allclose(on_sparse.anomaly_score(X.toarray()), scores, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(on_dense.anomaly_score(X.toarray()), scores, rtol=1e-3, atol=1e-6)


@pytest.mark.parametrize("name", FOR_SPARSE)
def test_a_model_of_dense_rows_takes_sparse_ones(name: str, rng: np.random.Generator) -> None:
    X = sp.random_array((80, 15), density=0.3, format="csr", rng=rng)
    detector = build(name, scaling="none", unit_norm=True).fit(X.toarray())
    np.testing.assert_allclose(detector.anomaly_score(X), detector.anomaly_score(X.toarray()), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", [name for name in FOR_SPARSE if name != "iforest"])  # it scales nothing
def test_sparse_rows_are_an_error_where_the_model_shifts_its_columns(name: str, rng: np.random.Generator) -> None:
    X = sp.random_array((80, 15), density=0.3, format="csr", rng=rng)
    detector = build(name).fit(X.toarray())
    with pytest.raises(InputError, match="fitted on dense rows"):
        detector.anomaly_score(X)


@pytest.mark.parametrize("name", [name for name in FOR_TABLES if name not in FOR_SPARSE])
def test_sparse_rows_are_a_clear_error_where_they_are_not_taken(name: str) -> None:
    with pytest.raises((InputError, TypeError), match=r"(?i)sparse"):
        build(name).fit(sp.eye_array(20, format="csr"))


@pytest.mark.parametrize("name", FOR_IMAGES)
def test_images_with_and_without_a_channel_axis_are_the_same(name: str, easy_images: Any) -> None:
    X = easy_images.X[80:]
    detector = build(name).fit(X)
    assert detector.n_features_in_ == 64
    np.testing.assert_array_equal(detector.anomaly_score(X[..., None]), detector.anomaly_score(X))
    coloured = np.repeat(X[..., None], 3, axis=3).astype(np.uint8)
    assert np.isfinite(build(name).fit(coloured).anomaly_score(coloured)).all()


@pytest.mark.parametrize("name", [name for name in NAMES if name not in FOR_TABLES])
def test_tables_are_a_clear_error_where_they_are_not_taken(name: str, easy_table: Any) -> None:
    with pytest.raises(InputError, match=r"takes images .* only"):
        build(name).fit(easy_table.X)


@pytest.mark.parametrize("name", FOR_IMAGES)
def test_images_that_cannot_be_used_are_errors(name: str, easy_images: Any) -> None:
    X = easy_images.X[80:]
    detector = build(name).fit(X)
    nan, text = X.copy(), X.astype(str)
    nan[3, 2, 1] = np.nan
    for bad in (X[:, :7], nan, text, X[:0], X[:, :0]):
        with pytest.raises(InputError):
            detector.anomaly_score(bad)
    if name in FOR_TABLES:
        with pytest.raises(InputError, match="fitted on images of shape"):
            detector.anomaly_score(X.reshape(len(X), -1))
    for bad in (nan, text, X[:1], X[:, :0]):
        with pytest.raises(InputError):
            build(name).fit(bad)


def with_value(X: Table, value: float) -> Table:
    changed = X.copy()
    changed[3, 2] = value
    return changed


UNUSABLE = {
    "NaN": lambda X: with_value(X, np.nan),
    "infinity": lambda X: with_value(X, np.inf),
    "text": lambda X: np.full(X.shape, "a"),
    "text in a frame": lambda X: pd.DataFrame(X).rename(columns=str).assign(word="a"),
    "complex numbers": lambda X: X + 1j,
    "one axis": lambda X: X[0],
    "no axis": lambda X: np.array(3.0),
    "five axes": lambda X: X.reshape(-1, 2, 2, 2, 1),
    "no rows": lambda X: X[:0],
    "no columns": lambda X: X[:, :0],
    "one row": lambda X: X[:1],
    "nothing at all": lambda X: None,
}


@pytest.mark.parametrize("name", FOR_TABLES)
@pytest.mark.parametrize("kind", UNUSABLE)
def test_rows_that_cannot_be_used_are_a_clear_error(name: str, kind: str, easy_table: Any) -> None:
    with pytest.raises(InputError) as caught:
        build(name).fit(UNUSABLE[kind](easy_table.X))
    assert len(str(caught.value)) > 20


def usual(X: Table) -> Table:
    return np.round(X).clip(0, 100)


def read_only(X: Table) -> Table:
    frozen = X.copy()
    frozen.flags.writeable = False
    return frozen


USABLE = {
    "whole numbers": lambda X: usual(X).astype(np.int64),
    "bytes": lambda X: usual(X).astype(np.uint8),
    "truth values": lambda X: X > 0,
    "half precision": lambda X: usual(X).astype(np.float16),
    "single precision": lambda X: X.astype(np.float32),
    "big endian": lambda X: X.astype(">f8"),
    "read-only": read_only,
    "Fortran order": np.asfortranarray,
    "upside down": lambda X: X[::-1],
    "mirrored": lambda X: X[:, ::-1],
    "every other column": lambda X: X[:, ::2],
    "lists": lambda X: X.tolist(),
    "a constant column": lambda X: np.column_stack([X, np.full(len(X), 7.0)]),
    "one column": lambda X: X[:, :1],
    "all rows equal": lambda X: np.repeat(X[:1], 30, axis=0),
    "zeros": lambda X: np.zeros((30, 4)),
    "few rows": lambda X: X[:3],
    "two rows": lambda X: X[:2],
    "huge values": lambda X: with_value(X, 1e300),
    "huge columns": lambda X: X * 1e300,
    "tiny values": lambda X: X * 1e-300,
    "a frame of mixed numbers": lambda X: pd.DataFrame(X).rename(columns=str).assign(flag=X[:, 0] > 0, n=range(len(X))),
}


@pytest.mark.parametrize("name", FOR_TABLES)
@pytest.mark.parametrize("kind", USABLE)
def test_unusual_rows_are_ranked_or_a_clear_error(name: str, kind: str, easy_table: Any) -> None:
    rows = USABLE[kind](easy_table.X)
    detector = build(name)
    try:
        fit_quietly(detector, rows)
    except InputError:
        if kind not in MAY_BE_REFUSED:
            raise
        return
    scores = detector.anomaly_score(rows)
    assert np.isfinite(scores).all()
    assert np.isfinite(detector.offset_)
    if kind in ("all rows equal", "zeros"):
        np.testing.assert_allclose(scores, scores[0], rtol=1e-9)
        assert (detector.predict(rows) == 1).all()


MAY_BE_REFUSED = {"two rows", "few rows", "huge values", "huge columns", "tiny values"}


# -- parameters --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("contamination", [0.0, -0.1, 0.6, "many", None, True])
def test_a_contamination_that_is_no_share_is_an_error(name: str, X: npt.NDArray[Any], contamination: Any) -> None:
    with pytest.raises(ParameterError, match="contamination must be"):
        build(name, contamination=contamination).fit(X)


def test_nonsense_in_any_parameter_is_an_error_before_training(name: str, X: npt.NDArray[Any]) -> None:
    trained: list[object] = []
    taken_as_they_are = {"on_epoch", "tame", "normalise_code", "warm_start"}  # a callable, or true or false
    for parameter in build(name).get_params().keys() - taken_as_they_are:
        watched = {"on_epoch": trained.append} if has(name, "on_epoch") else {}
        detector = build(name, **watched).set_params(**{parameter: object()})
        with pytest.raises((ParameterError, TypeError)):
            detector.fit(X)
    assert trained == []


def test_a_name_that_is_no_method_is_an_error() -> None:
    with pytest.raises(ParameterError, match="no method 'magic'; there are: rsrae, "):
        make_detector("magic")


def test_a_recipe_is_an_error_where_there_is_none() -> None:
    with pytest.raises(ParameterError, match="method 'lof' has no recipes"):
        make_detector("lof", recipe="paper")
