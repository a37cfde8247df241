"""The base class, with the smallest detector there can be."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from rsrae.detectors.base import BaseDetector, check_choice, check_count, check_number
from rsrae.errors import InputError, ModelFileError, ParameterError


class Distance(BaseDetector):
    """The distance to the mean, without anything that can be saved."""

    def __init__(self, *, contamination: float | str = "auto", random_state: Any = None) -> None:
        self.contamination = contamination
        self.random_state = random_state

    def _fit(self, X: Any) -> None:
        self.seen_ = X
        self.mean_ = np.asarray(X.mean(axis=0))

    def _score(self, X: Any) -> Any:
        rows = X.toarray() if sp.issparse(X) else X
        return np.sqrt(((rows - self.mean_) ** 2).reshape(len(rows), -1).sum(axis=1))


def test_two_methods_make_a_detector(easy_table: Any) -> None:
    detector = Distance(contamination=0.1).fit(easy_table.X)
    assert (detector.predict(easy_table.X) == -1).sum() == 20
    assert detector.input_shape_ == (8,)


def test_a_detector_without_a_state_cannot_be_saved(easy_table: Any, tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match="Distance cannot be saved"):
        Distance().fit(easy_table.X).save(tmp_path / "model")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(ModelFileError, match="Distance cannot be loaded"):
        Distance()._restore({}, {})


@pytest.mark.parametrize(
    ("given", "seen"),
    [
        (np.uint8, np.float32),
        (np.int16, np.float32),
        (np.float16, np.float32),
        (np.float32, np.float32),
        (np.bool_, np.float32),
        (np.int32, np.float64),
        (np.int64, np.float64),
        (np.float64, np.float64),
    ],
)
def test_numbers_are_widened_only_as_far_as_they_need(given: Any, seen: Any) -> None:
    assert Distance().fit(np.eye(5).astype(given)).seen_.dtype == seen


@pytest.mark.parametrize(
    ("given", "seen"), [(np.uint8, np.uint8), (np.bool_, np.float32), (np.float32, np.float32), (np.int64, np.float64)]
)
def test_images_keep_bytes_as_bytes(given: Any, seen: Any) -> None:
    images = np.ones((3, 4, 5)).astype(given)
    detector = Distance().fit(images)
    assert detector.seen_.dtype == seen
    assert detector.seen_.shape == (3, 4, 5, 1)
    assert detector.input_shape_ == (4, 5, 1)
    assert detector.n_features_in_ == 20


def test_sparse_rows_arrive_as_csr_without_duplicates() -> None:
    X = sp.coo_matrix((np.ones(4), ([0, 0, 1, 2], [1, 1, 2, 0])), shape=(3, 3))
    seen = Distance().fit(X).seen_
    assert isinstance(seen, sp.csr_array)
    assert seen.nnz == 3
    assert seen[0, 1] == 2


def test_images_after_a_table_forget_the_column_names(easy_table: Any) -> None:
    detector = Distance().fit(pd.DataFrame(easy_table.X, columns=list("abcdefgh")))
    assert list(detector.feature_names_in_) == list("abcdefgh")
    detector.fit(np.ones((3, 4, 4)))
    assert not hasattr(detector, "feature_names_in_")


def test_a_table_in_place_of_images_is_an_error_and_the_other_way_round(easy_table: Any) -> None:
    images = np.random.default_rng(0).normal(size=(5, 4, 2))
    with pytest.raises(InputError, match=r"fitted on images of shape \(4, 2, 1\), got rows of shape \(5, 8\)"):
        Distance().fit(images).predict(images.reshape(5, 8))
    with pytest.raises(InputError):
        Distance().fit(easy_table.X).predict(images)


def test_kinds_of_input_that_are_not_taken_are_clear_errors(easy_table: Any) -> None:
    class TablesOnly(Distance):
        accepts = frozenset({"table"})

    class ImagesOnly(Distance):
        accepts = frozenset({"images"})

    with pytest.raises(InputError, match=r"TablesOnly takes tables only.*flatten the images"):
        TablesOnly().fit(np.ones((3, 4, 4)))
    with pytest.raises((InputError, TypeError), match=r"(?i)sparse"):
        TablesOnly().fit(sp.eye_array(5, format="csr"))
    with pytest.raises(InputError, match=r"ImagesOnly takes images .* only"):
        ImagesOnly().fit(easy_table.X)


def test_polars_frames_are_tables_too(easy_table: Any) -> None:
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame(easy_table.X, schema=list("abcdefgh"))
    detector = Distance().fit(frame)
    assert list(detector.feature_names_in_) == list("abcdefgh")
    np.testing.assert_allclose(detector.anomaly_score(frame), Distance().fit(easy_table.X).anomaly_score(easy_table.X))


@pytest.mark.parametrize("value", [1, np.int32(7)])
def test_counts_are_whole_numbers_from_one(value: Any) -> None:
    check_count("n", value)


@pytest.mark.parametrize("value", [0, -1, 1.0, True, "1", None])
def test_other_counts_are_errors(value: Any) -> None:
    with pytest.raises(ParameterError, match="n must be a whole number of at least 1"):
        check_count("n", value)


@pytest.mark.parametrize("value", [0, -1, float("nan"), float("inf"), True, "1", None])
def test_numbers_that_must_be_positive(value: Any) -> None:
    check_number("x", 0.1)
    with pytest.raises(ParameterError, match="x must be a positive number"):
        check_number("x", value)


def test_numbers_that_may_be_zero() -> None:
    check_number("x", 0, positive=False)
    with pytest.raises(ParameterError, match="x must be a number not below zero"):
        check_number("x", -0.1, positive=False)


def test_choices_are_listed_when_another_value_comes() -> None:
    check_choice("kind", "a", ("a", None))
    with pytest.raises(ParameterError, match="kind must be one of 'a', None, got 'b'"):
        check_choice("kind", "b", ("a", None))
