"""What the neural methods beside RSRAE share, beyond what ``test_contract`` asks of every detector."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import scipy.sparse as sp
import torch
from sklearn.datasets import load_digits
from sklearn.metrics import roc_auc_score

from rsrae import load
from rsrae.detectors import detector_class, make_detector
from rsrae.errors import ModelFileError, ParameterError

NEURAL = ("dagmm", "dsebm", "rcae", "drae", "rda")  # tables, sparse rows and images
MODULES = ("dagmm", "dsebm")
SMALL: dict[str, Any] = {"hidden": (8, 4), "intrinsic_dim": 3, "random_state": 0}


def one_digit(digit: int = 0) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Images of one digit with a tenth of others; 1 marks the others."""
    X, y = load_digits(return_X_y=True)
    rng = np.random.default_rng(0)
    normal, others = X[y == digit], X[y != digit]
    strange = rng.permutation(others)[: len(normal) // 10]
    is_strange = np.r_[np.zeros(len(normal)), np.ones(len(strange))]
    return np.vstack([normal, strange]).reshape(-1, 8, 8), is_strange


def few(kind: str) -> Any:
    X = one_digit()[0][:30]
    rows = X.reshape(len(X), -1)
    return {"table": rows, "sparse": sp.csr_array(rows), "images": X}[kind]


@pytest.mark.parametrize("kind", ["sparse", "images"])
@pytest.mark.parametrize("name", NEURAL)
def test_a_row_scores_the_same_alone_and_in_a_batch(name: str, kind: str) -> None:
    X = few(kind)
    detector = make_detector(name, epochs=2, **SMALL).fit(X)
    together = detector.anomaly_score(X)
    alone = np.concatenate([detector.anomaly_score(X[i : i + 1]) for i in range(5)])
    np.testing.assert_allclose(alone, together[:5], rtol=1e-6)


@pytest.mark.parametrize("name", NEURAL)
def test_the_loss_falls_and_strange_digits_are_found(name: str) -> None:
    X, is_strange = one_digit()
    X = X.reshape(len(X), -1)
    detector = make_detector(name, epochs=30, learning_rate=1e-3, random_state=0).fit(X)
    (losses,) = detector.history_.values()
    assert len(losses) == 30
    assert losses[-1] < 0.8 * losses[0]
    assert roc_auc_score(is_strange, detector.anomaly_score(X)) > 0.85


@pytest.mark.parametrize("name", NEURAL)
def test_strange_pictures_are_found(name: str) -> None:
    X, is_strange = one_digit()
    detector = make_detector(name, epochs=25, hidden=(8, 16), learning_rate=1e-3, random_state=0).fit(X)
    assert roc_auc_score(is_strange, detector.anomaly_score(X)) > 0.85


@pytest.mark.parametrize("name", MODULES)
def test_every_weight_moves(name: str) -> None:
    X = few("images")
    make_start = detector_class(name)._build
    starts: list[dict[str, torch.Tensor]] = []

    class Watched(detector_class(name)):  # type: ignore[misc]
        def _build(self, settings: Any, generator: Any) -> Any:
            module = make_start(self, settings, generator)
            starts.append({name: p.detach().clone() for name, p in module.named_parameters()})
            return module

    fitted = dict(Watched(epochs=5, **SMALL).fit(X).module_.named_parameters())
    still = [name for name, start in starts[0].items() if torch.equal(start, fitted[name].float())]
    assert still == []


def test_the_items_are_seen_as_they_were_scaled() -> None:
    X = few("images")
    detector = make_detector("dagmm", epochs=1, **SMALL).fit(X)
    assert detector.preprocess(X).shape == (30, 8, 8, 1)
    np.testing.assert_allclose(np.linalg.norm(detector.preprocess(X).reshape(30, -1), axis=1), 1)


def test_training_stops_when_the_callback_says_so() -> None:
    detector = make_detector("dsebm", epochs=50, on_epoch=lambda epoch: epoch.number < 3, **SMALL).fit(few("table"))
    assert len(detector.history_["loss"]) == 3


def test_training_that_diverges_says_so() -> None:
    with pytest.raises(ParameterError, match="training diverged"):
        make_detector("dsebm", epochs=20, activation="linear", learning_rate=1e18, **SMALL).fit(few("table"))


@pytest.mark.parametrize(
    "wrong",
    [{"epochs": 0}, {"learning_rate": 0.0}, {"device": "nowhere"}, {"hidden": ()}, {"activation": "gelu"}],
    ids=str,
)
@pytest.mark.parametrize("name", MODULES)
def test_a_wrong_parameter_is_named(name: str, wrong: dict[str, Any]) -> None:
    with pytest.raises(ParameterError, match=next(iter(wrong))):
        make_detector(name, **wrong).fit(few("table"))


def test_a_file_that_asks_for_a_larger_network_than_it_holds_is_refused(tmp_path: Path) -> None:
    detector = make_detector("dagmm", epochs=1, **SMALL).fit(few("table"))
    detector.hidden = (10**6, 10**6)
    detector.save(tmp_path / "model.safetensors")
    with pytest.raises(ModelFileError, match="larger than the file"):
        load(tmp_path / "model.safetensors")
