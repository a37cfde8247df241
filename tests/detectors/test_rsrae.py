"""RSRAE and its variants: schemes, recipes, seeds across processes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import torch

import rsrae
from rsrae import RSRAE, AutoEncoder, RSRAEPlus
from rsrae.detectors import make_detector
from rsrae.detectors.recipes import RECIPES
from rsrae.errors import InputError, ParameterError
from rsrae.scoring import log_lengths
from rsrae.thresholds import threshold

from .shared import SMALL


def gram_excess(detector: Any) -> float:
    A = detector.networks_[0].A[0].double()
    return float((A.mT @ A - torch.eye(A.shape[1], dtype=torch.float64)).norm())


# -- schemes -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("detector", "losses"),
    [
        (RSRAE(**SMALL), ["reconstruction", "projection", "orthogonality"]),
        (RSRAEPlus(**SMALL), ["reconstruction"]),
        (AutoEncoder(**SMALL), ["reconstruction"]),
    ],
)
def test_the_learning_curve_has_one_value_an_epoch_of_every_loss(
    detector: Any, losses: list[str], easy_table: Any
) -> None:
    detector.fit(easy_table.X)
    assert list(detector.history_) == losses
    assert all(len(curve) == 2 and np.isfinite(curve).all() for curve in detector.history_.values())


def test_rsrae_with_resting_rsr_steps_is_the_autoencoder(easy_table: Any) -> None:
    never = {"eps_rsr1": 1e9, "eps_rsr2": 1e9}
    rsrae = RSRAE(**SMALL, **never, trim=0.0, learning_rate=1e-3, scored_by="auto").fit(easy_table.X)
    plain = AutoEncoder(**SMALL, p=1.0, learning_rate=1e-3, normalisation="auto", ranks=True).fit(easy_table.X)
    np.testing.assert_array_equal(rsrae.anomaly_score(easy_table.X), plain.anomaly_score(easy_table.X))


@pytest.mark.parametrize(
    ("settings", "same_as"),
    [({}, "manhattan"), ({"unit_norm": True}, "cosine"), ({"scaling": "none", "unit_norm": False}, "euclidean")],
)
def test_absolute_values_are_summed_where_columns_are_scaled_one_by_one(
    settings: dict[str, Any], same_as: str, easy_table: Any
) -> None:
    found = RSRAE(**SMALL, **settings).fit(easy_table.X).anomaly_score(easy_table.X)
    named = RSRAE(**SMALL, **settings, scored_by=same_as).fit(easy_table.X).anomaly_score(easy_table.X)
    np.testing.assert_array_equal(found, named)


def test_the_manhattan_distance_of_sparse_rows_is_that_of_the_same_rows_dense(easy_table: Any) -> None:
    X = np.abs(easy_table.X) * (np.abs(easy_table.X) > 1)
    detector = RSRAE(**SMALL, scored_by="manhattan", level_lengths=False).fit(sp.csr_array(X))
    found = detector.member_scores(sp.csr_array(X))
    np.testing.assert_allclose(found, detector.member_scores(X), rtol=1e-4, atol=1e-4)
    residuals = np.abs(detector.residuals(X)).sum(axis=1)
    np.testing.assert_allclose(found[0], residuals, rtol=1e-4, atol=1e-4)


def test_a_resting_reconstruction_leaves_encoder_and_decoder_alone(easy_table: Any) -> None:
    still = {**SMALL, "eps_ae": 1e9, "normalisation": None}
    trained = RSRAE(**still, rsr_scope="A").fit(easy_table.X)
    untouched = RSRAE(**still, eps_rsr1=1e9, eps_rsr2=1e9).fit(easy_table.X)
    before, after = untouched.networks_[0].state(), trained.networks_[0].state()
    assert {name for name in before if not torch.equal(before[name], after[name])} == {"A"}


@pytest.mark.parametrize("cls", [RSRAE, RSRAEPlus])
def test_the_rsr_losses_pull_A_towards_orthonormal_columns(cls: type[Any], easy_table: Any) -> None:
    settings = SMALL | {"epochs": 60, "learning_rate": 0.01, "initialisation": "normal", "trim": 0.0}
    weight = {"lambda2": 1.0} if cls is RSRAEPlus else {}
    with_losses = cls(**settings, **weight).fit(easy_table.X)
    without = AutoEncoder(**settings, p=1.0).fit(easy_table.X)
    assert gram_excess(with_losses) < 0.5 * gram_excess(without)


def test_the_scope_of_the_projection_loss_changes_the_encoder(easy_table: Any) -> None:
    encoders = [
        RSRAE(**SMALL, rsr_scope=scope).fit(easy_table.X).networks_[0].state()["encoder.0.W"]
        for scope in ("A", "encoder")
    ]
    assert not torch.equal(*encoders)


def test_rsr_steps_have_a_learning_rate_of_their_own(easy_table: Any) -> None:
    def fitted(rate: float | None, scope: str) -> torch.Tensor:
        detector = RSRAE(**SMALL, learning_rate=1e-3, rsr_learning_rate=rate, rsr_scope=scope)
        return detector.fit(easy_table.X).networks_[0].parameters

    assert torch.equal(fitted(None, "A"), fitted(1e-3, "A"))
    assert torch.equal(fitted(None, "encoder"), fitted(1e-2, "encoder"))
    assert not torch.equal(fitted(1e-3, "A"), fitted(1e-2, "A"))


@pytest.mark.parametrize(("unit_norm", "scope"), [(False, "A"), (True, "encoder")])
def test_the_projection_loss_moves_the_encoder_where_only_the_direction_counts(
    unit_norm: bool, scope: str, easy_table: Any
) -> None:
    chosen, named = (
        RSRAE(**SMALL, unit_norm=unit_norm, rsr_scope=one).fit(easy_table.X).networks_[0].parameters
        for one in ("auto", scope)
    )
    assert torch.equal(chosen, named)


def test_the_powers_change_the_losses(easy_table: Any) -> None:
    curves = [RSRAE(**SMALL, p=p, q=q).fit(easy_table.X).history_ for p, q in [(1, 1), (2, 1), (1, 2)]]
    assert curves[0]["reconstruction"] != curves[1]["reconstruction"]
    assert curves[0]["projection"] != curves[2]["projection"]


def test_thresholds_and_members_do_not_go_together(easy_table: Any) -> None:
    with pytest.raises(ParameterError, match="use n_members=1"):
        RSRAE(**SMALL | {"n_members": 2}, eps_ae=0.1).fit(easy_table.X)


@pytest.mark.parametrize(
    ("cls", "parameters"),
    [
        (RSRAE, {"p": 0}),
        (RSRAE, {"p": "1"}),
        (RSRAE, {"q": -1.0}),
        (RSRAE, {"q": float("nan")}),
        (RSRAE, {"rsr_learning_rate": 0.0}),
        (RSRAE, {"rsr_learning_rate": "fast"}),
        (RSRAE, {"rsr_scope": "decoder"}),
        (RSRAE, {"eps_ae": -1.0}),
        (RSRAE, {"eps_rsr1": None}),
        (RSRAE, {"eps_rsr2": "x"}),
        (RSRAEPlus, {"lambda1": 0.0}),
        (RSRAEPlus, {"lambda2": -0.1}),
        (RSRAEPlus, {"lambda1": "x"}),
        (RSRAEPlus, {"q": 0}),
        (AutoEncoder, {"p": 0}),
    ],
)
def test_a_value_out_of_range_is_an_error_that_names_the_parameter(
    cls: type[Any], parameters: dict[str, Any], easy_table: Any
) -> None:
    (name,) = parameters
    with pytest.raises(ParameterError, match=name):
        cls(**SMALL | parameters).fit(easy_table.X)


# -- recipes -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("recipe", ["default", *RECIPES])
@pytest.mark.parametrize("method", ["rsrae", "rsrae+", "ae"])
def test_every_recipe_runs_and_gives_way_to_named_parameters(recipe: str, method: str, easy_table: Any) -> None:
    detector = make_detector(method, recipe=recipe, epochs=1, hidden=(12, 10), random_state=0)
    assert detector.hidden == (12, 10)
    assert np.isfinite(detector.fit(easy_table.X).anomaly_score(easy_table.X)).all()


def test_the_recipes_are_those_of_the_paper_and_its_code() -> None:
    paper, authors = RSRAE.from_recipe("paper"), RSRAE.from_recipe("authors")
    assert (paper.normalisation, authors.normalisation) == ("batch", "affine")
    assert (paper.rsr_scope, authors.rsr_scope) == ("A", "encoder")
    assert authors.rsr_learning_rate == 10 * authors.learning_rate
    assert paper.epochs == authors.epochs == 200
    assert paper.trim == authors.trim == 0
    assert authors.unit_norm is True
    assert authors.shuffle == "once"


def test_an_unknown_recipe_is_an_error() -> None:
    with pytest.raises(ParameterError, match="no recipe 'mine'; there are: default, paper, authors"):
        RSRAE.from_recipe("mine")


# -- seeds across processes --------------------------------------------------------------------------------------------

PROGRAM = """
import numpy as np
from rsrae import RSRAE
X = np.random.default_rng(0).normal(size=(150, 6))
detector = RSRAE(epochs=2, hidden=(8, 12), random_state=5).fit(X)
print(detector.anomaly_score(X).tobytes().hex())
"""


def test_a_second_process_with_the_same_seed_gives_the_same_scores() -> None:
    printed = [
        subprocess.run(
            [sys.executable, "-c", PROGRAM],
            capture_output=True,
            text=True,
            check=True,
            env=os.environ | {"PYTHONHASHSEED": hash_seed, "OMP_NUM_THREADS": "1"},
        ).stdout
        for hash_seed in ("1", "2")
    ]
    assert printed[0] == printed[1]
    assert len(printed[0]) > 150 * 16


@pytest.mark.parametrize("shape", [(70, 3), (70, 7), (70, 40), (70, 333), (40, 9, 7, 2), (40, 12, 12)])
def test_a_row_scores_the_same_to_the_last_bit_alone_in_any_batch_and_in_any_order(
    shape: tuple[int, ...], rng: np.random.Generator
) -> None:
    X = rng.normal(size=shape)
    detector = RSRAE(epochs=2, random_state=0).fit(X)
    scores = detector.anomaly_score(X)
    order = rng.permutation(len(X))
    np.testing.assert_array_equal(detector.anomaly_score(X[order]), scores[order])
    np.testing.assert_array_equal(detector.anomaly_score(X[3:30]), scores[3:30])
    np.testing.assert_array_equal(np.concatenate([detector.anomaly_score(X[[i]]) for i in range(10)]), scores[:10])


def test_times_in_seconds_since_1970_keep_their_differences(rng: np.random.Generator) -> None:
    hours = rng.normal(size=(200, 3))
    plain, shifted = RSRAE(epochs=3, random_state=0), RSRAE(epochs=3, random_state=0)
    scores = plain.fit(hours).anomaly_score(hours)
    since_1970 = 1.7e9 + 3600 * hours
    np.testing.assert_allclose(shifted.fit(since_1970).anomaly_score(since_1970), scores, rtol=1e-3)


@pytest.mark.parametrize("layers", ["dense", "convolutional"])
@pytest.mark.parametrize("scope", ["A", "encoder"])
def test_a_member_of_dimension_zero_learns_one_image_for_all(scope: str, layers: str, easy_images: Any) -> None:
    settings: dict[str, Any] = {"n_members": 1, "n_neighbors": 0, "intrinsic_dim": (0,), "epochs": 3, "layers": layers}
    detector = RSRAE(**settings, rsr_scope=scope, random_state=0).fit(easy_images.X)
    points = detector.reconstruct(easy_images.X[:3])
    np.testing.assert_allclose(points[0], points[1], rtol=1e-12)
    assert detector.history_["reconstruction"][-1] < detector.history_["reconstruction"][0]


def test_dense_layers_see_an_image_as_a_row_of_its_pixels(easy_images: Any) -> None:
    X = easy_images.X
    settings: dict[str, Any] = {"epochs": 3, "n_alike": 0, "edges": False, "random_state": 0}
    pictures = RSRAE(**settings).fit(X)
    rows = RSRAE(**settings, scaling="contrast", unit_norm=True).fit(X.reshape(len(X), -1))
    np.testing.assert_array_equal(pictures.anomaly_score(X), rows.anomaly_score(X.reshape(len(X), -1)))
    assert pictures.reconstruct(X).shape == (100, 8, 8, 1)
    np.testing.assert_array_equal(pictures.reconstruct(X).reshape(100, -1), rows.reconstruct(X.reshape(100, -1)))
    convolutions = RSRAE(**settings, layers="convolutional").fit(X)
    assert len(convolutions.networks_) == 4
    assert not np.array_equal(convolutions.anomaly_score(X), pictures.anomaly_score(X))


def test_pictures_too_large_for_dense_layers_are_refused_with_what_to_do() -> None:
    X = np.zeros((3, 500, 500, 3), dtype=np.uint8)
    with pytest.raises(InputError, match=r"500 x 500 x 3 have 750,000 values.*make them smaller, or use layers="):
        RSRAE(epochs=1).fit(X)


def test_a_large_picture_scores_the_same_alone_and_among_others(rng: np.random.Generator) -> None:
    X = rng.integers(0, 255, size=(210, 40, 40, 3), dtype=np.uint8)  # more than a block
    detector = RSRAE(epochs=1, random_state=0).fit(X[:60])
    scores = detector.anomaly_score(X)
    np.testing.assert_array_equal(detector.anomaly_score(X[::-1]), scores[::-1])
    np.testing.assert_array_equal([detector.anomaly_score(X[[i]])[0] for i in (0, 100, 209)], scores[[0, 100, 209]])


@pytest.mark.parametrize("settings", [{}, {"scaling": "none", "unit_norm": False}, {"tame": False}])
@pytest.mark.parametrize(("dtype", "value"), [(np.float64, 1e300), (np.float64, -3e38), (np.float32, 3e38)])
def test_a_wild_value_in_a_new_row_makes_it_the_strangest_and_no_nan(
    settings: dict[str, Any], dtype: type, value: float, rng: np.random.Generator
) -> None:
    X = rng.normal(size=(80, 4))
    detector = RSRAE(epochs=3, random_state=0, **settings).fit(X)
    new = X[:5].astype(dtype)
    new[2, 1] = value
    scores = detector.anomaly_score(new)
    assert np.isfinite(scores).all()
    assert int(scores.argmax()) == 2
    assert detector.predict(new)[2] == -1


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_only_the_direction_of_a_row_of_unit_norm_counts_however_long_it_is(
    dtype: type, rng: np.random.Generator
) -> None:
    X = rng.normal(size=(60, 6)).astype(dtype)
    detector = RSRAE(epochs=2, random_state=0, scaling="none", unit_norm=True).fit(X)
    np.testing.assert_allclose(detector.anomaly_score(X * dtype(1e30)), detector.anomaly_score(X), rtol=1e-3, atol=1e-4)


# -- neighbours, lengths, contrast -------------------------------------------------------------------------------------


def two_kinds(rng: np.random.Generator, n: int = 300) -> tuple[np.ndarray, np.ndarray]:
    """Texts of one topic, a rare second topic that is normal too, and strange ones without a topic."""
    words = 200
    topics = np.zeros((2, words))
    topics[0, :20], topics[1, 20:40] = 1, 1
    kind = np.repeat([0, 1, 2], [int(0.75 * n), int(0.15 * n), n - int(0.75 * n) - int(0.15 * n)])
    rates = np.where(kind[:, None] == 2, 0.03, 0.4 * topics[np.minimum(kind, 1)] + 0.01)
    return (rng.random((n, words)) < rates).astype(float), kind


def test_neighbours_keep_a_rare_kind_of_normal_item_normal(rng: np.random.Generator) -> None:
    X, kind = two_kinds(rng)
    ranks = []
    for k in (0, 5):
        detector = RSRAE(n_members=1, intrinsic_dim=(0,), n_neighbors=k, level_lengths=False, trim=0.1, random_state=0)
        scores = detector.fit(sp.csr_array(X)).anomaly_score(sp.csr_array(X))
        rare, strange = scores[kind == 1], scores[kind == 2]
        ranks.append((strange[:, None] > rare[None]).mean())
    assert ranks[1] > ranks[0] + 0.2


# Asked a second time, when all have been heard, a quarter fewer are left out.
@pytest.mark.parametrize(("column_weights", "left_out"), [(False, 0.3), (True, 0.225)])
def test_rows_that_were_found_strange_are_no_neighbours(column_weights: bool, left_out: float, easy_table: Any) -> None:
    detector = RSRAE(epochs=10, trim=0.3, column_weights=column_weights, random_state=0).fit(easy_table.X)
    assert detector.panel_.neighbours is not None
    kept = detector.panel_.neighbours.rows
    assert len(kept) == round((1 - left_out) * len(easy_table.X))
    strange = torch.from_numpy(detector.preprocess(easy_table.X[easy_table.y == 1])).float()
    assert torch.cdist(strange, kept).min() > 1e-3


KINDS, ALIKE = [1 / 6, 1 / 18, 1 / 18, 1 / 18, 1 / 2, 1 / 6], [1 / 20, 1 / 20, 1 / 20, 1 / 20, 3 / 5, 1 / 5]
THIRDS, HALVES = [1 / 3, 1 / 9, 1 / 9, 1 / 9, 1 / 3], [1 / 8, 1 / 8, 1 / 8, 1 / 8, 1 / 2]
TABLE, TABLE_OF_HALVES = [*([1 / 64] * 8), 3 / 8, 1 / 2], [*([1 / 32] * 8), 1 / 4, 1 / 2]


@pytest.mark.parametrize(
    ("kind", "weights"),
    [("vectors", KINDS), ("documents", KINDS), ("images", KINDS), ("convolutions", HALVES), ("table", TABLE)],
)
@pytest.mark.parametrize("equal_kinds", [True, False])
@pytest.mark.parametrize("crowd", [True, False])
def test_every_kind_of_member_has_the_same_say_where_rows_are_directions_and_chosen_neighbours_three_times_as_much(
    kind: str, weights: list[float], equal_kinds: bool, crowd: bool, rng: np.random.Generator
) -> None:
    X: Any = rng.random((30, 8, 8) if kind in ("images", "convolutions") else (30, 12))
    if kind == "documents":
        X = sp.csr_array(X)
    settings: dict[str, Any] = {"vectors": {"unit_norm": True}, "convolutions": {"layers": "convolutional"}}.get(
        kind, {}
    )
    detector = RSRAE(epochs=1, random_state=0, equal_kinds=equal_kinds, crowd=crowd, rules=0.0, **settings).fit(X)
    wanted = weights
    if weights == KINDS:
        wanted = (KINDS if equal_kinds else ALIKE) if crowd else (THIRDS if equal_kinds else HALVES)
    np.testing.assert_allclose(detector.panel_.combination.weights.numpy(), wanted)


def test_tables_have_two_members_of_every_dimension_unless_a_number_is_given(rng: np.random.Generator) -> None:
    X = rng.normal(size=(30, 5))
    assert RSRAE(epochs=1).fit(X)._choices.dims == [0, 2, 4, 10] * 2
    assert RSRAE(epochs=1, unit_norm=True).fit(X)._choices.dims == [0, 2, 4, 10]
    assert RSRAE(epochs=1, n_members=np.int64(3)).fit(X)._choices.dims == [0, 2, 4]
    for wrong in ("many", 0, 2.0, None, True):
        with pytest.raises(ParameterError, match="n_members must be 'auto' or a whole"):
            RSRAE(epochs=1, n_members=wrong).fit(X)  # type: ignore[arg-type]


def test_at_most_a_thousand_rows_are_kept(rng: np.random.Generator) -> None:
    detector = RSRAE(**SMALL | {"n_neighbors": 3}).fit(rng.normal(size=(2500, 3)))
    assert detector.panel_.neighbours is not None
    assert len(detector.panel_.neighbours.rows) == 1000


def test_of_large_pictures_fewer_are_kept(monkeypatch: pytest.MonkeyPatch, easy_images: Any) -> None:
    monkeypatch.setattr("rsrae.detectors.panel_fitting.MOST_KEPT_VALUES", 10 * easy_images.X[0].size)
    detector = RSRAE(epochs=1, n_members=1, edges=False, random_state=0).fit(easy_images.X)
    assert detector.panel_.neighbours is not None
    assert len(detector.panel_.neighbours.rows) == 10


@pytest.mark.parametrize("kind", ["table", "sparse", "images"])
def test_neighbours_come_back_from_the_model_file(kind: str, tmp_path: Path, rng: np.random.Generator) -> None:
    X: Any = rng.random((40, 8, 8) if kind == "images" else (40, 9))
    X = sp.csr_array(X * (X > 0.5)) if kind == "sparse" else X
    detector = RSRAE(epochs=2, n_members=2, random_state=0).fit(X)
    detector.save(tmp_path / "model")
    np.testing.assert_array_equal(rsrae.load(tmp_path / "model").anomaly_score(X), detector.anomaly_score(X))


def test_a_sparse_row_scores_the_same_in_any_company(rng: np.random.Generator) -> None:
    X = sp.csr_array(rng.random((60, 30)) * (rng.random((60, 30)) < 0.3))
    detector = RSRAE(epochs=2, random_state=0).fit(X)
    scores, order = detector.anomaly_score(X), rng.permutation(60)
    np.testing.assert_allclose(detector.anomaly_score(X[order]), scores[order], rtol=1e-9)
    np.testing.assert_allclose(detector.anomaly_score(X[[7]]), scores[[7]], rtol=1e-9)


def test_a_short_document_is_less_strange_for_being_short(rng: np.random.Generator) -> None:
    topic = np.r_[np.full(30, 3.0), np.ones(270)] / 360
    X = sp.csr_array(np.stack([rng.multinomial(n, topic) for n in rng.integers(8, 80, size=300)]).astype(float))
    slopes = []
    for level in (False, True):
        scores = RSRAE(epochs=20, level_lengths=level, random_state=0).fit(X).anomaly_score(X)
        slopes.append(np.polyfit(log_lengths(X), scores / scores.std(), 1)[0])
    assert slopes[0] < -1
    assert abs(slopes[1]) < 0.8 * abs(slopes[0])


def test_brightness_counts_less_than_what_is_in_the_picture(rng: np.random.Generator) -> None:
    shape = np.zeros((12, 12))
    shape[3:9, 3:9] = 0.3
    X = 0.2 + shape + 0.02 * rng.normal(size=(60, 12, 12)) + rng.uniform(0, 0.6, size=(60, 1, 1))
    X[:6] += shape.T[::-1] - shape + 0.2 * (rng.random((12, 12)) < 0.5)  # something else, as bright as others
    scores = {
        scaling: RSRAE(epochs=20, scaling=scaling, edges=False, random_state=0).fit(X).anomaly_score(X)
        for scaling in ("auto", "unit-cube")
    }
    found = {scaling: (s[:6, None] > s[None, 6:]).mean() for scaling, s in scores.items()}
    assert found["auto"] > 0.95
    assert found["auto"] > found["unit-cube"] + 0.1


def test_a_picture_that_is_far_too_dark_is_strange(rng: np.random.Generator) -> None:
    X = np.clip(0.7 + 0.05 * rng.normal(size=(60, 8, 8)), 0, 1)
    X[:4] -= 0.6
    scores = RSRAE(epochs=10, random_state=0).fit(X).anomaly_score(X)
    assert scores[:4].min() > scores[4:].max()


def test_rows_of_a_table_are_compared_with_each_neighbour_and_others_with_their_mean(rng: np.random.Generator) -> None:
    X = rng.normal(size=(60, 5)) + 3
    for kind, is_to_each in (("table", True), ("vectors", False), ("words", False)):
        rows = sp.csr_array(np.abs(X)) if kind == "words" else X
        detector = RSRAE(epochs=1, random_state=0, unit_norm=kind != "table").fit(rows)
        assert detector.panel_.neighbours is not None
        assert detector.panel_.neighbours.to_each == is_to_each


@pytest.mark.parametrize("wrong", [-1, 2.5, True, "5"])
def test_the_number_of_neighbours_is_checked(wrong: Any, easy_table: Any) -> None:
    with pytest.raises(ParameterError, match="n_neighbors must be a whole number of at least 0"):
        RSRAE(n_neighbors=wrong).fit(easy_table.X)


@pytest.mark.parametrize("recipe", RECIPES)
def test_the_published_recipes_see_images_as_the_paper_does(recipe: str, easy_images: Any) -> None:
    detector = RSRAE.from_recipe(recipe, epochs=1, random_state=0).fit(easy_images.X)
    X = easy_images.X.reshape(len(easy_images.X), -1).astype(np.float64)
    X = 2 * (X - X.min()) / (X.max() - X.min()) - 1
    expected = X / np.linalg.norm(X, axis=1, keepdims=True)
    np.testing.assert_allclose(detector.preprocess(easy_images.X).reshape(expected.shape), expected, atol=1e-6)


def test_a_single_row_more_leaves_neighbours_and_scales_as_they_are(tmp_path: Path, easy_table: Any) -> None:
    detector = RSRAE(epochs=2, random_state=0).fit(easy_table.X)
    neighbours, combination = detector.panel_.neighbours, detector.panel_.combination
    detector.partial_fit(easy_table.X[:1])
    assert detector.panel_.neighbours is neighbours
    assert detector.panel_.combination is combination
    detector.save(tmp_path / "model")
    scores = detector.anomaly_score(easy_table.X)
    np.testing.assert_array_equal(rsrae.load(tmp_path / "model").anomaly_score(easy_table.X), scores)


def test_a_member_of_dimension_0_learns_the_middle_of_the_rows_with_batch_normalisation_too() -> None:
    X = np.random.default_rng(0).normal(size=(300, 6)) * [1, 2, 3, 4, 5, 6] + 10
    point = RSRAE(
        intrinsic_dim=(0,), n_members=1, n_neighbors=0, normalisation="batch", tame=False, epochs=40, random_state=0
    )
    x_hat = point.fit(X).reconstruct(X)
    # The same for every row, and in the space the network sees the middle of a column is zero, its spread one.
    np.testing.assert_allclose(x_hat, np.broadcast_to(x_hat[0], x_hat.shape), atol=1e-5)
    assert np.abs(x_hat[0]).max() < 0.3


@pytest.mark.parametrize(
    ("rows", "expected"), [("table", "batch"), ("vectors", None), ("sparse", None), ("images", None)]
)
def test_only_the_networks_of_tables_are_normalised_by_default(rows: str, expected: str | None) -> None:
    rng = np.random.default_rng(0)
    X = {
        "table": lambda: rng.normal(size=(20, 4)),
        "vectors": lambda: rng.gamma(1.0, size=(20, 70)),
        "sparse": lambda: sp.random_array((20, 30), density=0.3, format="csr", rng=rng),
        "images": lambda: rng.random((20, 8, 8)),
    }[rows]()
    fitted = RSRAE(epochs=1, random_state=0).fit(X)
    assert fitted.networks_[0].architecture.normalisation == expected


def test_rows_that_come_one_by_one_do_not_undo_a_normalised_network(easy_table: Any) -> None:
    fitted = RSRAE(normalisation="batch", n_neighbors=0, epochs=40, random_state=0).fit(easy_table.X)
    before = fitted.anomaly_score(easy_table.X)
    fitted.set_params(epochs=1)
    for row in easy_table.X[easy_table.y == 0][:60]:
        fitted.partial_fit(row[None])
    after = fitted.anomaly_score(easy_table.X)
    assert np.corrcoef(before.argsort().argsort(), after.argsort().argsort())[0, 1] > 0.9


@pytest.mark.parametrize("kind", ["table", "sparse", "alone"])
def test_the_line_is_drawn_through_the_scores_that_the_fitted_detector_gives(kind: str) -> None:
    X: Any = np.random.default_rng(0).random((70, 9)) + 0.1
    X = sp.csr_array(X * (X > 0.5)) if kind == "sparse" else X
    settings: dict[str, Any] = {"n_members": 1, "n_neighbors": 0, "intrinsic_dim": 3} if kind == "alone" else {}
    detector = RSRAE(epochs=2, contamination=0.2, random_state=0, **settings).fit(X)
    assert detector.offset_ == -threshold(detector.anomaly_score(X), 0.2)


def test_neighbours_of_a_table_say_three_times_what_networks_say_only_if_they_were_chosen_for_it(
    rng: np.random.Generator,
) -> None:
    X = rng.random((30, 12))
    for near_middles, wanted in ((True, TABLE), (False, TABLE_OF_HALVES)):
        detector = RSRAE(epochs=1, random_state=0, near_middles=near_middles, rules=0.0).fit(X)
        np.testing.assert_allclose(detector.panel_.combination.weights.numpy(), wanted)
