from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.metrics import roc_auc_score

import rsrae
from rsrae import RSRAE
from rsrae.detectors.telling import column_weights
from rsrae.errors import ModelFileError, ParameterError
from rsrae.explain.shares import feature_shares
from rsrae.modelfile import read_model, write_model

SMALL: dict[str, Any] = {"hidden": (6, 8), "intrinsic_dim": 2, "epochs": 2, "n_members": 2, "random_state": 0}


@pytest.fixture(scope="module")
def noisy() -> tuple[np.ndarray, np.ndarray]:
    return draw(0)


def draw(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows of which a few are strange in three columns out of twenty."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(600, 20)).astype(np.float32)
    is_strange = np.arange(600) < 40
    X[is_strange, :3] += 3
    return X, is_strange


def test_weights_are_one_on_average_and_never_zero(rng: np.random.Generator) -> None:
    weights = column_weights(rng.random(7) ** 8)
    assert weights.mean() == pytest.approx(1)
    assert weights.min() > 0.1


def test_equal_importances_are_equal_weights() -> None:
    np.testing.assert_allclose(column_weights(np.full(5, 0.2)), 1)


def test_columns_that_tell_count_more_and_what_is_strange_in_them_is_found(
    noisy: tuple[np.ndarray, np.ndarray],
) -> None:
    X, is_strange = noisy
    found = RSRAE(epochs=20, random_state=0).fit(X)
    weights = found.panel_.weights
    assert weights is not None
    assert weights.shape == (40,)  # columns, and again for their ranks
    assert weights[:3].mean() > 1.2 * weights[3:20].mean()
    torch.testing.assert_close(weights[:20], weights[20:])
    without = RSRAE(epochs=20, random_state=0, column_weights=False).fit(X)
    assert without.panel_.weights is None
    before, after = (roc_auc_score(is_strange, detector.anomaly_score(X)) for detector in (without, found))
    assert after > before + 0.02
    assert after > 0.97


def test_the_score_of_a_network_is_the_weighted_sum_of_residuals(noisy: tuple[np.ndarray, np.ndarray]) -> None:
    X = noisy[0]
    detector = RSRAE(**SMALL).fit(X)
    assert detector.panel_.weights is not None
    x = torch.from_numpy(detector.preprocess(X))[None]
    x_hat = detector._scoring_networks()[0].reconstruct(x).numpy()
    wanted = np.abs(x.numpy() - x_hat) @ detector.panel_.weights.numpy()
    np.testing.assert_allclose(detector.member_scores(X)[:2], wanted, rtol=1e-4)


def test_a_network_of_ones_own_has_them_too(noisy: tuple[np.ndarray, np.ndarray]) -> None:
    encoder = torch.nn.Linear(20, 6)
    decoder = torch.nn.Linear(2, 20)
    detector = RSRAE(**SMALL | {"n_members": 1, "encoder": encoder, "decoder": decoder}).fit(noisy[0])
    assert detector.panel_.weights is not None
    residuals = np.abs(
        detector.preprocess(noisy[0])
        - detector._scoring_networks()[0]
        .reconstruct(torch.from_numpy(detector.preprocess(noisy[0]))[None])
        .detach()
        .numpy()[0]
    )
    np.testing.assert_allclose(
        detector.member_scores(noisy[0])[0], residuals @ detector.panel_.weights.numpy(), rtol=1e-4
    )


def test_reasons_follow_the_weights() -> None:
    """In two draws: one start moves the shares of one as much as the weights do."""
    found: dict[bool, list[float]] = {False: [], True: []}
    for seed, on in itertools.product((0, 1), found):
        X, is_strange = draw(seed)
        detector = RSRAE(epochs=20, random_state=seed, column_weights=on).fit(X)
        found[on].append(feature_shares(detector, X[is_strange]).shares[:, :3].sum(axis=1).mean())
    assert np.mean(found[True]) > 1.05 * np.mean(found[False])
    assert min(found[True]) > 0.4  # of three columns of twenty: what is usual in the others is no reason


@pytest.mark.parametrize("settings", [{"n_trees": 0}, {"unit_norm": True}, {"scaling": "none", "unit_norm": False}])
def test_without_a_forest_there_are_none(settings: dict[str, Any], noisy: tuple[np.ndarray, np.ndarray]) -> None:
    assert RSRAE(**SMALL | settings).fit(noisy[0]).panel_.weights is None


def test_a_column_that_is_constant_leaves_scores_finite() -> None:
    X = np.random.default_rng(0).normal(size=(50, 4))
    X[:, 2] = 7
    assert np.isfinite(RSRAE(**SMALL).fit(X).anomaly_score(X)).all()


@pytest.mark.parametrize("wrong", ["yes", None, 2])
def test_the_parameter_is_checked(wrong: Any, noisy: tuple[np.ndarray, np.ndarray]) -> None:
    with pytest.raises(ParameterError, match="column_weights"):
        RSRAE(**SMALL, column_weights=wrong).fit(noisy[0])


@pytest.mark.parametrize("wrong", ["missing", "short", "zero", "not a number", "whole", "negative"])
def test_a_model_file_with_other_weights_is_refused(
    wrong: str, noisy: tuple[np.ndarray, np.ndarray], tmp_path: Path
) -> None:
    RSRAE(**SMALL).fit(noisy[0]).save(tmp_path / "model")
    header, arrays = read_model(tmp_path / "model")
    weights = arrays.pop("columns.weights")
    changed = {
        "short": weights[1:],
        "zero": weights * 0,
        "not a number": weights * np.nan,
        "whole": np.ones(weights.shape, dtype=np.int64),
        "negative": -weights,
    }
    if wrong != "missing":
        arrays["columns.weights"] = changed[wrong]
    write_model(tmp_path / "changed", header, arrays)
    with pytest.raises(ModelFileError):
        rsrae.load(tmp_path / "changed")
