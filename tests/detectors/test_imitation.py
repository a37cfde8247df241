from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.ensemble import RandomForestRegressor
from sklearn.metrics import roc_auc_score

import rsrae
from rsrae import RSRAE
from rsrae.detectors.forest import Forest
from rsrae.detectors.imitation import Imitation
from rsrae.errors import ModelFileError, ParameterError
from rsrae.modelfile import read_model, write_model

SMALL: dict[str, Any] = {"hidden": (6, 8), "intrinsic_dim": 2, "epochs": 2, "n_trees": 5, "random_state": 0}


def test_a_forest_says_what_scikit_learns_does(rng: np.random.Generator) -> None:
    X = rng.normal(size=(9_000, 7)).astype(np.float32)  # more rows than are walked at once
    theirs = RandomForestRegressor(4, max_depth=6, random_state=0).fit(X, X[:, 2] ** 2 + X[:, 5])
    ours = Forest.of([tree.tree_ for tree in theirs.estimators_], lambda tree: tree.value[:, 0, 0])
    np.testing.assert_allclose(ours.mean(X), theirs.predict(X))
    again = Forest.restore(ours.arrays(), 7)
    np.testing.assert_array_equal(again.mean(X), ours.mean(X))


def test_it_takes_the_accidents_out_of_a_score(rng: np.random.Generator) -> None:
    X = rng.normal(size=(1_000, 6)).astype(np.float32)
    X[:80, 1:3] += 3  # what is strange has a cause
    is_strange = np.arange(1_000) < 80
    said = is_strange + rng.normal(size=1_000)
    learned = Imitation.fit(X, torch.from_numpy(said), n_trees=30, seed=0).errors(torch.from_numpy(X)[None], "")[0]
    before, after = roc_auc_score(is_strange, said), roc_auc_score(is_strange, learned)
    assert after > before + 0.1


def test_it_is_one_more_member_of_an_ensemble(easy_table: Any) -> None:
    X = easy_table.X
    detector = RSRAE(**SMALL, n_members=2, column_weights=False).fit(X)
    members = detector.member_scores(X)
    assert len(members) == 5  # two networks, neighbours, the forest, rules
    np.testing.assert_allclose(members[:3], RSRAE(**SMALL | {"n_trees": 0}, n_members=2).fit(X).member_scores(X)[:3])
    assert np.corrcoef(members[:3].mean(axis=0), members[3])[0, 1] > 0.8


def test_the_scores_of_a_single_network_stay_distances(easy_table: Any) -> None:
    X = easy_table.X
    detector = RSRAE(**SMALL, n_members=1, n_neighbors=0).fit(X)
    assert detector.panel_.imitation is None
    np.testing.assert_allclose(np.abs(detector.residuals(X)).sum(axis=1), detector.anomaly_score(X), rtol=1e-5)


@pytest.mark.parametrize("settings", [{"unit_norm": True}, {"scaling": "none", "unit_norm": False}])
def test_where_columns_are_not_scaled_one_by_one_there_are_neither_ranks_nor_trees(
    settings: dict[str, Any], easy_table: Any
) -> None:
    detector = RSRAE(**SMALL, **settings).fit(easy_table.X)
    assert detector.panel_.imitation is None
    assert detector.preprocess(easy_table.X).shape == easy_table.X.shape
    other = RSRAE(**SMALL | {"n_trees": 0}, **settings, ranks=False).fit(easy_table.X)
    np.testing.assert_array_equal(detector.anomaly_score(easy_table.X), other.anomaly_score(easy_table.X))


def test_a_row_scores_the_same_alone_and_after_saving(easy_table: Any, tmp_path: Path) -> None:
    X = easy_table.X
    detector = RSRAE(**SMALL).fit(X)
    scores = detector.anomaly_score(X)
    np.testing.assert_array_equal(detector.anomaly_score(X[5:6]), scores[5:6])
    detector.save(tmp_path / "model")
    np.testing.assert_array_equal(rsrae.load(tmp_path / "model").anomaly_score(X), scores)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("forest.left", lambda array: array + len(array)),
        ("forest.columns", lambda array: array + 99),
        ("forest.value", lambda array: array[:-1]),
        ("forest.threshold", lambda array: np.full_like(array, np.nan)),
        ("preprocessor.ranks.columns", lambda array: array + 99),
        ("preprocessor.ranks.values", lambda array: -array),
        ("preprocessor.ranks.scores", lambda array: array[:, :-1]),
    ],
)
def test_a_file_with_broken_trees_or_ranks_is_refused(name: str, change: Any, easy_table: Any, tmp_path: Path) -> None:
    RSRAE(**SMALL).fit(easy_table.X).save(tmp_path / "model")
    header, arrays = read_model(tmp_path / "model")
    write_model(tmp_path / "broken", header, arrays | {name: change(arrays[name])})
    with pytest.raises(ModelFileError):
        rsrae.load(tmp_path / "broken")


def test_a_wild_value_does_not_hide(rng: np.random.Generator) -> None:
    X = np.column_stack([rng.normal(40, 4, 80), rng.normal(2, 0.3, 80), rng.integers(0, 2, 80), rng.integers(0, 2, 80)])
    X[:4, 0] = 900
    scores = RSRAE(epochs=20, random_state=0).fit(X).anomaly_score(X)
    assert scores[:4].min() > scores[4:].max()


@pytest.mark.parametrize("settings", [{"n_trees": -1}, {"n_trees": 1.5}, {"ranks": "yes"}])
def test_what_is_no_number_of_trees_is_refused(settings: dict[str, Any], easy_table: Any) -> None:
    with pytest.raises(ParameterError, match=next(iter(settings))):
        RSRAE(**SMALL | settings).fit(easy_table.X)


def test_whoever_is_interrupted_after_training_keeps_the_panel_there_was(
    easy_table: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    detector = RSRAE(**SMALL).fit(easy_table.X)
    panel = detector.panel_

    def interrupt(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Imitation, "fit", interrupt)
    with pytest.raises(KeyboardInterrupt):
        detector.partial_fit(easy_table.X)
    assert detector.panel_ is panel
    assert len(detector.member_scores(easy_table.X)) == len(panel.combination.weights)
    assert np.isfinite(detector.anomaly_score(easy_table.X)).all()


def test_a_row_that_breaks_a_rule_between_columns_is_not_talked_down(rng: np.random.Generator) -> None:
    # Half of its cells are those of another row: each is as usual, so trees, which look at one column at a time, have
    # nothing to learn. The networks do.
    X = rng.normal(size=(500, 4)) @ rng.normal(size=(4, 16)) + 0.2 * rng.normal(size=(500, 16))
    is_strange = np.arange(500) < 25
    X[:25, :8] = X[rng.permutation(np.arange(25, 50)), :8]
    detector = RSRAE(random_state=0, rules=0.0).fit(X)
    *networks, neighbours, imitation = (roc_auc_score(is_strange, scores) for scores in detector.member_scores(X))
    assert max(networks) > 0.9
    assert imitation < neighbours - 0.05
    assert roc_auc_score(is_strange, detector.anomaly_score(X)) > neighbours - 0.01
