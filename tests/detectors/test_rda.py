from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from rsrae.detectors.rda import RDA
from rsrae.errors import ParameterError

SMALL: dict[str, Any] = {"epochs": 5, "hidden": (8,), "intrinsic_dim": 3, "random_state": 0}


@pytest.mark.parametrize("penalty", ["l1", "l21"])
def test_the_parts_add_up_and_the_score_is_that_of_the_whole(penalty: str, rng: np.random.Generator) -> None:
    X = rng.normal(size=(50, 6))
    X[:3] *= 10
    detector = RDA(penalty=penalty, scored_by="euclidean", **SMALL).fit(X)
    L, S = detector.split(X)
    x = detector.preprocess(X)
    np.testing.assert_allclose(L + S, x, atol=1e-12)
    assert np.abs(S).max() > 0
    by_hand = np.linalg.norm(x - detector.reconstruct(X), axis=1)
    np.testing.assert_allclose(detector.anomaly_score(X), by_hand, rtol=1e-5)
    of_the_clean_part = np.linalg.norm(L - detector.reconstruct(X), axis=1)
    assert np.abs(by_hand - of_the_clean_part).max() > 0.1


def test_l21_takes_out_whole_rows_and_l1_single_entries(rng: np.random.Generator) -> None:
    X = rng.normal(size=(80, 6))
    X[:4] *= 10
    whole = RDA(penalty="l21", sparsity=1.0, **SMALL).fit(X).split(X)[1] != 0
    single = RDA(penalty="l1", sparsity=1.0, **SMALL).fit(X).split(X)[1] != 0
    assert (whole.all(axis=1) | ~whole.any(axis=1)).all()
    assert whole[:4].all()
    assert 0 < whole.any(axis=1).mean() < 0.9
    assert (single.any(axis=1) & ~single.all(axis=1)).any()


def test_images_are_split_in_their_own_shape(rng: np.random.Generator) -> None:
    X = rng.random((12, 6, 5, 3))
    L, S = RDA(**(SMALL | {"epochs": 1})).fit(X).split(X)
    assert L.shape == S.shape == X.shape


def test_members_split_rows_each_for_itself(rng: np.random.Generator) -> None:
    X = rng.normal(size=(40, 6))
    detector = RDA(n_members=2, **SMALL).fit(X)
    assert detector.member_scores(X).shape == (2, 40)
    assert detector.reconstruct(X).shape == X.shape


@pytest.mark.parametrize("wrong", [{"penalty": "l2"}, {"sparsity": 0.0}, {"rounds": 0}], ids=str)
def test_a_wrong_parameter_is_named(wrong: dict[str, Any]) -> None:
    with pytest.raises(ParameterError, match=next(iter(wrong))):
        RDA(**wrong).fit(np.eye(4))
