"""What the detectors made of an autoencoder share."""

from __future__ import annotations

import pickle
import re
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from sklearn.exceptions import NotFittedError
from sklearn.metrics import roc_auc_score
from torch import Tensor, nn

import rsrae
from rsrae import RSRAE, AutoEncoder
from rsrae.errors import InputError, ParameterError
from rsrae.networks.rows import DenseRows, SparseRows
from rsrae.training import Epoch

from .shared import SMALL


def small(**changes: Any) -> RSRAE:
    return RSRAE(**SMALL | changes)


# -- parameters --------------------------------------------------------------------------------------------------------

ACCEPTED: list[dict[str, Any]] = [
    *({"activation": name} for name in ("auto", "auto-authors", "tanh", "relu", "leaky_relu", "sigmoid", "linear")),
    *({"output_activation": name} for name in ("same", "tanh", "relu", "leaky_relu", "sigmoid", "linear")),
    *({"normalisation": name} for name in ("batch", "affine", None)),
    *({"normalise_code": value} for value in (True, False)),
    *({"initialisation": name} for name in ("orthonormal", "normal")),
    *({"scaling": name} for name in ("auto", "robust", "unit-cube", "none")),
    *({"tame": value} for value in (True, False)),
    *({"unit_norm": value} for value in ("auto", True, False)),
    *({"scored_by": name} for name in ("auto", "auto-manhattan", "cosine", "euclidean", "manhattan")),
    *({"neighbor_distance": name, "n_neighbors": 3} for name in ("auto", "to-mean", "to-each")),
    *({"shuffle": name} for name in ("epoch", "once")),
    *({"trim": value} for value in (0, 0.0, 0.3, "auto")),
    *({"warm_up": value, "trim": 0.2} for value in (0, 0.5, 1)),
    *({"intrinsic_dim": value} for value in (1, 6, (2,), (0,), (3, 1))),
    *({"intrinsic_dim": value, "n_members": 3} for value in (2, (0, 2), (1, 2, 3, 4))),
    *({"hidden": value} for value in ((5,), [8, 6], (3, 4, 5, 6))),
    *({"batch_size": value} for value in (1, 7, 10**6)),
    *({"contamination": value} for value in ("auto", 0.5, 0.01)),
    *({"random_state": value} for value in (None, 3, np.random.RandomState(3))),
    *({"n_threads": value} for value in (None, 1)),
    {"epochs": np.int64(1)},
    {"device": "cpu"},
    {"warm_start": True},
]


def _name(parameters: dict[str, Any]) -> str:
    # The same in every process: workers that share the tests compare their names.
    return re.sub(r"at 0x\w+", "", str(parameters))


@pytest.mark.parametrize("parameters", ACCEPTED, ids=_name)
def test_every_accepted_value_runs(parameters: dict[str, Any], easy_table: Any, tmp_path: Path) -> None:
    X = easy_table.X[:60]
    detector = small(**parameters).fit(X)
    scores = detector.anomaly_score(X)
    assert np.isfinite(scores).all()
    assert np.ptp(scores) > 0
    detector.save(tmp_path / "model")
    np.testing.assert_array_equal(rsrae.load(tmp_path / "model").anomaly_score(X), scores)


REFUSED: list[dict[str, Any]] = [
    *({"neighbor_distance": value} for value in ("mean", True, None)),
    *({"intrinsic_dim": value} for value in (0, -1, 7, 1.5, "2", None, (), (-1,), (2, 7), True)),
    *({"hidden": value} for value in ((), (0,), (8, -1), 8, "ab", None, (8.0,))),
    *({"epochs": value} for value in (0, -1, 1.5, "many", None)),
    *({"batch_size": value} for value in (0, None, 2.5)),
    *({"n_members": value} for value in (0, None, "2")),
    *({"n_threads": value} for value in (0, "all")),
    *({"learning_rate": value} for value in (0, -1e-3, "fast", None, float("nan"), float("inf"))),
    *({"activation": value} for value in ("swish", None)),
    *({"output_activation": value} for value in ("auto", None)),
    {"normalisation": "layer"},
    {"initialisation": "ones"},
    {"scaling": "standard"},
    {"unit_norm": "yes"},
    *({"scored_by": value} for value in ("distance", None)),
    {"shuffle": "never"},
    *({"trim": value} for value in (1, -0.1, "some", None)),
    *({"warm_up": value} for value in (1.1, -0.1, "long", None)),
    *({"device": value} for value in ("cuda:99", "abacus", 3.5, "meta")),
    *({"contamination": value} for value in (0.0, 0.6, "some")),
    {"random_state": "seed"},
    {"encoder": nn.Linear(8, 4)},
    {"decoder": nn.Linear(2, 8)},
]


@pytest.mark.parametrize("parameters", REFUSED, ids=_name)
def test_every_other_value_is_an_error_that_names_the_parameter(parameters: dict[str, Any], easy_table: Any) -> None:
    name = next(iter(parameters))
    with pytest.raises(ParameterError, match=name):
        small(**parameters | ({"n_members": 2} if parameters == {"intrinsic_dim": (2, 7)} else {})).fit(easy_table.X)


def test_an_unknown_parameter_is_an_error() -> None:
    with pytest.raises(TypeError, match="depth"):
        RSRAE(depth=3)


def test_the_signature_names_every_parameter() -> None:
    import inspect

    names = inspect.signature(RSRAE.__init__).parameters
    assert {"q", "rsr_scope", "hidden", "contamination", "n_threads"} <= names.keys()
    assert not any(p.kind is p.VAR_KEYWORD for p in names.values())


# -- training ----------------------------------------------------------------------------------------------------------


def test_training_lowers_the_reconstruction_loss(easy_table: Any) -> None:
    curve = small(epochs=30, learning_rate=1e-2).fit(easy_table.X).history_["reconstruction"]
    assert curve[-1] < 0.9 * curve[0]


def test_epochs_by_themselves_depend_on_the_number_of_rows() -> None:
    detector = RSRAE(batch_size=128)
    assert detector.epochs == "auto"
    assert [detector._n_epochs(n) for n in (10, 10_000, 10**7)] == [100, 32, 16]
    assert RSRAE(batch_size=32)._n_epochs(10**7) == 10


@pytest.mark.parametrize("kind", ["table", "vectors", "words"])
def test_of_many_rows_an_epoch_takes_some_drawn_anew(
    kind: str, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rsrae.detectors.neural.MOST_ROWS", 60)
    X: Any = rng.normal(size=(400, 3)) @ rng.normal(size=(3, 8)) + 0.1 * rng.normal(size=(400, 8)) + 5 * np.eye(8)[0]
    is_strange = np.arange(400) < 20
    X[is_strange] = 4 * rng.normal(size=(20, 8))
    X = sp.csr_array(np.abs(X)) if kind == "words" else X
    taken: list[int] = []
    rows_of = SparseRows if kind == "words" else DenseRows
    take = rows_of.take

    def watched(self: Any, index: Tensor) -> Any:
        taken.append(index.shape[1])
        return take(self, index)

    monkeypatch.setattr(rows_of, "take", watched)
    detector = RSRAE(n_members=1, intrinsic_dim=3, n_neighbors=0, random_state=0, unit_norm=kind != "table").fit(X)
    assert len(detector.history_["reconstruction"]) == 100
    assert taken[0] == 60  # of 400, and less what is trimmed when that begins
    assert taken[-1] == 36
    assert roc_auc_score(is_strange, detector.anomaly_score(X)) > 0.85


def test_partial_fit_goes_on_where_fit_ended(easy_table: Any) -> None:
    X = easy_table.X
    detector = small(trim=0.0).partial_fit(X)
    first = detector.anomaly_score(X)
    detector.partial_fit(X)
    assert len(detector.history_["reconstruction"]) == 4
    assert not np.array_equal(detector.anomaly_score(X), first)
    together = small(trim=0.0, epochs=4).fit(X)
    np.testing.assert_allclose(detector.anomaly_score(X), together.anomaly_score(X), rtol=1e-6)


def test_a_loaded_detector_can_be_trained_further(easy_table: Any, tmp_path: Path) -> None:
    small().fit(easy_table.X).save(tmp_path / "model")
    detector = rsrae.load(tmp_path / "model").partial_fit(easy_table.X)
    assert len(detector.history_["reconstruction"]) == 4


def test_a_warm_start_goes_on_and_a_cold_one_begins_again(easy_table: Any) -> None:
    X = easy_table.X
    warm, cold = small(warm_start=True, trim=0.0).fit(X).fit(X), small(trim=0.0).fit(X).fit(X)
    assert len(warm.history_["reconstruction"]) == 4
    assert len(cold.history_["reconstruction"]) == 2
    np.testing.assert_allclose(warm.anomaly_score(X), small(trim=0.0, epochs=4).fit(X).anomaly_score(X), rtol=1e-6)


def test_a_warm_start_on_rows_of_another_width_is_an_error(easy_table: Any) -> None:
    detector = small(warm_start=True).fit(easy_table.X)
    with pytest.raises(InputError, match=r"warm_start goes on with items of shape \(8,\), got \(5,\)"):
        detector.fit(easy_table.X[:, :5])


def test_progress_is_reported_and_can_stop_training(easy_table: Any) -> None:
    seen: list[Epoch] = []

    def stop_at_three(epoch: Epoch) -> bool:
        seen.append(epoch)
        return epoch.number < 3

    detector = small(epochs=50, on_epoch=stop_at_three).fit(easy_table.X)
    assert [epoch.number for epoch in seen] == [1, 2, 3]
    assert len(detector.history_["reconstruction"]) == 3
    assert np.isfinite(detector.anomaly_score(easy_table.X)).all()


def test_trimming_leaves_the_anomalies_out(easy_table: Any) -> None:
    X, y = easy_table
    settings = {"epochs": 40, "learning_rate": 1e-2, "tame": False, "normalise_code": False}
    contrasts = []
    for trim in (0.0, 0.2):
        scores = small(**settings, trim=trim).fit(X).anomaly_score(X)
        contrasts.append(np.median(scores[y == 1]) / np.median(scores[y == 0]))
    assert contrasts[1] > 1.5 * contrasts[0]


def test_the_number_of_threads_is_as_before_after_fitting(easy_table: Any) -> None:
    before = torch.get_num_threads()
    small(n_threads=before + 1).fit(easy_table.X).anomaly_score(easy_table.X)
    assert torch.get_num_threads() == before


def test_training_takes_the_number_of_threads_that_was_asked_for(easy_table: Any) -> None:
    seen: list[int] = []
    asked = torch.get_num_threads() + 1
    small(n_threads=asked, on_epoch=lambda epoch: seen.append(torch.get_num_threads())).fit(easy_table.X)
    assert set(seen) == {asked}


# -- what can be looked at ---------------------------------------------------------------------------------------------


def test_scores_are_the_norms_of_the_residuals(easy_table: Any) -> None:
    X = easy_table.X
    detector = small(scored_by="euclidean").fit(X)
    np.testing.assert_allclose(np.linalg.norm(detector.residuals(X), axis=1), detector.anomaly_score(X), rtol=1e-5)
    np.testing.assert_allclose(detector.preprocess(X) - detector.reconstruct(X), detector.residuals(X))


def test_cosine_scores_are_one_minus_the_cosine(easy_table: Any) -> None:
    X = easy_table.X
    detector = small(scored_by="cosine").fit(X)
    x, x_hat = detector.preprocess(X), detector.reconstruct(X)
    cosine = (x * x_hat).sum(1) / np.linalg.norm(x, axis=1) / np.linalg.norm(x_hat, axis=1)
    np.testing.assert_allclose(1 - cosine, detector.anomaly_score(X), rtol=1e-5, atol=1e-6)


def test_codes_have_the_intrinsic_dimension(easy_table: Any) -> None:
    X = easy_table.X
    detector = small().fit(X)
    codes = detector.encode(X)
    assert codes.shape == (len(X), 2)
    np.testing.assert_allclose(detector.encode(X[5:6]), codes[5:6], rtol=1e-9)


def test_residuals_of_images_have_their_shape(easy_images: Any) -> None:
    X = easy_images.X[70:]
    detector = small(edges=False).fit(X)
    assert detector.residuals(X).shape == (30, 8, 8, 1)


def test_residuals_of_sparse_rows_are_dense(rng: np.random.Generator) -> None:
    X = sp.random_array((40, 9), density=0.3, format="csr", rng=rng)
    detector = small(scored_by="euclidean", level_lengths=False).fit(X)
    np.testing.assert_allclose(np.linalg.norm(detector.residuals(X), axis=1), detector.anomaly_score(X), rtol=1e-6)


@pytest.mark.parametrize("method", ["encode", "reconstruct", "preprocess", "residuals", "member_scores"])
def test_nothing_can_be_looked_at_before_fitting(method: str, easy_table: Any) -> None:
    with pytest.raises(NotFittedError):
        getattr(small(), method)(easy_table.X)


# -- members -----------------------------------------------------------------------------------------------------------


def test_the_score_is_the_mean_of_the_standardised_scores_of_the_members(easy_table: Any) -> None:
    X = easy_table.X[:151]  # an odd number has one median
    detector = small(n_members=3, n_trees=0, rules=0.0).fit(X)
    members = detector.member_scores(X)
    assert members.shape == (3, len(X))
    middle = np.median(members, axis=1, keepdims=True)
    spread = np.median(np.abs(members - middle), axis=1, keepdims=True)
    np.testing.assert_allclose(((members - middle) / spread).mean(0), detector.anomaly_score(X), rtol=1e-6, atol=1e-9)


def test_members_of_images_are_trained_side_by_side_to_the_same_scores(easy_images: Any) -> None:
    X = easy_images.X[70:]
    seen: list[tuple[int, str]] = []
    settings = {"epochs": 4, "n_members": 3, "trim": 0.2, "warm_up": 0.0}
    alone = small(**settings, n_threads=1).fit(X)
    together = small(
        **settings, n_threads=3, on_epoch=lambda epoch: seen.append((epoch.number, threading.current_thread().name))
    ).fit(X)
    assert seen == [(number, threading.current_thread().name) for number in (1, 2, 3, 4)]
    assert together.history_ == alone.history_
    np.testing.assert_array_equal(together.anomaly_score(X), alone.anomaly_score(X))


def test_members_of_images_are_stopped_after_the_same_epoch(easy_images: Any) -> None:
    X = easy_images.X[70:]
    stopped = small(epochs=50, n_members=2, on_epoch=lambda epoch: epoch.number < 3).fit(X)
    short = small(epochs=3, n_members=2).fit(X)
    np.testing.assert_allclose(stopped.anomaly_score(X), short.anomaly_score(X), rtol=1e-4)


def test_images_have_members_too(easy_images: Any, tmp_path: Path) -> None:
    X = easy_images.X[70:]
    detector = small(n_members=2, intrinsic_dim=(0, 2)).fit(X)
    assert detector.member_scores(X).shape == (2, 30)
    assert len(detector.history_["reconstruction"]) == 2
    detector.save(tmp_path / "model")
    np.testing.assert_array_equal(rsrae.load(tmp_path / "model").anomaly_score(X), detector.anomaly_score(X))


def test_a_member_without_dimensions_learns_one_point_for_all_items(easy_table: Any, easy_images: Any) -> None:
    for X in (easy_table.X, easy_images.X):
        x_hat = small(intrinsic_dim=(0,), epochs=3).fit(X).reconstruct(X)
        np.testing.assert_allclose(x_hat, np.broadcast_to(x_hat[:1], x_hat.shape), atol=1e-9)


def test_dimensions_out_of_use_stay_out_of_use(easy_table: Any) -> None:
    detector = small(n_members=3, intrinsic_dim=(0, 1, 3), epochs=4).fit(easy_table.X)
    ranks = [np.linalg.matrix_rank(A.numpy(), tol=1e-6) for A in detector.networks_[0].A]
    assert ranks == [0, 1, 3]


# -- modules of one's own ----------------------------------------------------------------------------------------------


def own_modules() -> dict[str, Any]:
    torch.manual_seed(0)
    return {
        "encoder": nn.Sequential(nn.Linear(8, 12), nn.Tanh(), nn.Linear(12, 5)),
        "decoder": nn.Sequential(nn.Linear(2, 12), nn.Tanh(), nn.Linear(12, 8)),
    }


def test_modules_of_ones_own_are_trained_and_the_originals_are_left_alone(easy_table: Any, tmp_path: Path) -> None:
    X, modules = easy_table.X, own_modules()
    before = modules["encoder"][0].weight.detach().clone()
    detector = small(**modules, epochs=5, learning_rate=1e-2).fit(X)
    assert torch.equal(modules["encoder"][0].weight, before)
    curve = detector.history_["reconstruction"]
    assert curve[-1] < curve[0]
    detector.save(tmp_path / "model")
    loaded = rsrae.load(tmp_path / "model", **modules)
    np.testing.assert_array_equal(loaded.anomaly_score(X), detector.anomaly_score(X))


def test_a_model_with_modules_of_ones_own_asks_for_them(easy_table: Any, tmp_path: Path) -> None:
    small(**own_modules()).fit(easy_table.X).save(tmp_path / "model")
    with pytest.raises(rsrae.RsraeError):
        rsrae.load(tmp_path / "model")


def test_modules_of_ones_own_for_images(easy_images: Any) -> None:
    X = easy_images.X[70:]
    encoder = nn.Sequential(nn.Conv2d(1, 4, 3, stride=2, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(1))
    decoder = nn.Sequential(nn.Linear(2, 64), nn.Unflatten(1, (1, 8, 8)))
    assert np.isfinite(small(encoder=encoder, decoder=decoder).fit(X).anomaly_score(X)).all()


def test_an_encoder_for_other_rows_is_a_clear_error(easy_table: Any) -> None:
    modules = own_modules() | {"encoder": nn.Linear(9, 5)}
    with pytest.raises(InputError, match=r"the encoder cannot take a batch of shape \(2, 8\)"):
        small(**modules).fit(easy_table.X)


def test_a_decoder_for_other_codes_is_a_clear_error(easy_table: Any) -> None:
    modules = own_modules() | {"decoder": nn.Linear(3, 8)}
    with pytest.raises(InputError, match="decoder"):
        small(**modules).fit(easy_table.X)


# -- copies ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["table", "images"])
def test_a_pickled_detector_scores_as_before_and_can_train_further(
    kind: str, easy_table: Any, easy_images: Any
) -> None:
    X = easy_table.X if kind == "table" else easy_images.X[70:]
    detector = small(n_members=2, normalisation="batch").fit(X)
    detector.anomaly_score(X)
    copy = pickle.loads(pickle.dumps(detector))
    np.testing.assert_array_equal(copy.anomaly_score(X), detector.anomaly_score(X))
    assert len(copy.partial_fit(X).history_["reconstruction"]) == 4


def test_sparse_rows_are_never_made_dense_while_fitting_and_scoring(monkeypatch: pytest.MonkeyPatch) -> None:
    from rsrae.networks.batches import SparseBatch

    def refuse(batch: SparseBatch) -> torch.Tensor:
        raise AssertionError("a batch was made dense")

    monkeypatch.setattr(SparseBatch, "to_dense", refuse)
    X = sp.random_array((200, 500), density=0.02, format="csr", rng=np.random.default_rng(0))
    for detector in (small(), AutoEncoder(**SMALL)):
        assert np.isfinite(detector.fit(X).anomaly_score(X)).all()


def test_duplicate_entries_of_sparse_rows_are_added(rng: np.random.Generator) -> None:
    X = sp.random_array((30, 6), density=0.5, format="coo", rng=rng)
    doubled = sp.coo_array((np.tile(X.data / 2, 2), (np.tile(X.coords[0], 2), np.tile(X.coords[1], 2))), shape=X.shape)
    detector = small().fit(X)
    np.testing.assert_allclose(detector.anomaly_score(doubled), detector.anomaly_score(X), rtol=1e-9)
