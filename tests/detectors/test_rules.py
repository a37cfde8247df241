from __future__ import annotations

import gc
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.linear_model import LinearRegression
from sklearn.metrics import roc_auc_score

from rsrae import RSRAE, load
from rsrae.detectors.rules import LARGEST_ERROR, LEAST_FREE, Rules
from rsrae.errors import ModelFileError
from rsrae.explain.shares import feature_shares
from rsrae.modelfile import read_model, write_model


def near_a_subspace(rng: np.random.Generator, n: int = 500, m: int = 16, d: int = 4, noise: float = 0.3) -> np.ndarray:
    return rng.normal(size=(n, d)) @ rng.normal(size=(d, m)) + noise * rng.normal(size=(n, m))


def mixed(rng: np.random.Generator, X: np.ndarray, n_mixed: int) -> np.ndarray:
    """The rows, half of the cells of the first few of them taken from others: each cell is as usual."""
    X = X.copy()
    for row in range(n_mixed):
        columns = rng.permutation(X.shape[1])[: X.shape[1] // 2]
        X[row, columns] = X[rng.integers(n_mixed, len(X)), columns]
    return X


def test_values_are_foretold_as_a_regression_on_all_others_does(rng: np.random.Generator) -> None:
    X = near_a_subspace(rng, n=100_000, m=6, noise=1.5)
    rules = Rules.fit(torch.from_numpy(X))
    expected = np.zeros(200)
    for column in range(X.shape[1]):
        others = np.delete(X, column, axis=1)
        regression = LinearRegression().fit(others, X[:, column])
        errors = X[:, column] - regression.predict(others)
        foretold = regression.score(others, X[:, column])
        assert rules.foretold[column].item() == pytest.approx(foretold, abs=0.05)
        expected += foretold * np.minimum(abs(errors[:200]) / errors.std(), LARGEST_ERROR)
    found = rules.errors(torch.from_numpy(X[:200])[None], "manhattan")[0].numpy()
    assert np.corrcoef(found, expected)[0, 1] > 0.99


def test_parts_of_columns_add_up_to_the_score(rng: np.random.Generator) -> None:
    rows = torch.from_numpy(near_a_subspace(rng))
    rules = replace(Rules.fit(rows), weights=torch.rand(16))
    parts = rules.by_column(rows[None])
    assert bool((parts >= 0).all())
    torch.testing.assert_close(parts.sum(dim=1), rules.errors(rows[None], "manhattan")[0])


@pytest.mark.parametrize(("n", "m"), [(40, 5), (40, 40), (12, 60), (2, 3)])
def test_more_values_than_rows_make_no_difference(n: int, m: int, rng: np.random.Generator) -> None:
    rows = rng.normal(size=(n, m)) @ rng.normal(size=(m, m))
    values = (rows - rows.mean(axis=0)) / rows.std(axis=0)
    free = max(LEAST_FREE, m / (n + m))
    P = np.linalg.inv((1 - free) * values.T @ values / n + free * np.eye(m))
    errors = np.minimum(abs(values @ P / np.sqrt(P.diagonal())), LARGEST_ERROR)
    expected = errors @ (1 - 1 / P.diagonal()) / (1 - 1 / P.diagonal()).sum()
    found = Rules.fit(torch.from_numpy(rows)).errors(torch.from_numpy(rows)[None], "manhattan")
    np.testing.assert_allclose(found[0], expected, rtol=1e-6)


def test_columns_that_say_nothing_or_the_same_do_no_harm(rng: np.random.Generator) -> None:
    a = rng.normal(size=(200, 1))
    rows = torch.from_numpy(np.hstack([a, a, 2 * a + 1, np.ones_like(a), rng.normal(size=(200, 1))]))
    rules = Rules.fit(rows)
    assert bool(rules.errors(rows[None], "manhattan").isfinite().all())
    rounded = rows.clone()
    rounded[:, 1] += 1e-4  # is rounding, and breaks no rule
    errors = [rules.errors(one[None], "manhattan") for one in (rows, rounded)]
    torch.testing.assert_close(*errors, atol=1e-3, rtol=0)


def test_where_columns_have_nothing_to_do_with_each_other_rules_have_no_say(rng: np.random.Generator) -> None:
    assert Rules.fit(torch.from_numpy(rng.normal(size=(2_000, 10)))).reach < 0.02
    assert Rules.fit(torch.from_numpy(near_a_subspace(rng, n=2_000))).reach > 0.8
    X = rng.normal(size=(600, 20))
    X[:40, :3] += 3
    found, without = (
        roc_auc_score(np.arange(600) < 40, RSRAE(epochs=20, random_state=0, rules=share).fit(X).anomaly_score(X))
        for share in (0.5, 0.0)
    )
    assert found > without - 0.005


def test_rows_put_together_of_two_are_found_only_by_rules(rng: np.random.Generator) -> None:
    X = mixed(rng, near_a_subspace(rng), 25)
    is_mixed = np.arange(len(X)) < 25
    found, without = (
        roc_auc_score(is_mixed, RSRAE(epochs=20, random_state=0, rules=share).fit(X).anomaly_score(X))
        for share in (0.5, 0.0)
    )
    assert found > 0.9
    assert without < found - 0.1
    assert roc_auc_score(is_mixed, RSRAE(epochs=20, random_state=0, rules=1.0).fit(X).anomaly_score(X)) > found


def test_rules_raise_scores_and_lower_none(rng: np.random.Generator) -> None:
    X = rng.normal(size=(300, 6))
    detector = RSRAE(epochs=5, random_state=0, gross_values=False).fit(X)
    scores, combination = torch.from_numpy(detector.member_scores(X)), detector.panel_.combination
    kept = scores.clone()
    kept[-1] = -1e9  # nothing breaks a rule
    with_rules, without = combination(scores, None), combination(kept, None)
    is_raised = combination.is_raised(scores)
    assert 10 < int(is_raised.sum()) < 290
    assert torch.equal(with_rules > without, is_raised)
    assert torch.equal(with_rules[~is_raised], without[~is_raised])


def test_the_reason_is_the_value_that_does_not_go_with_the_others(rng: np.random.Generator) -> None:
    X = near_a_subspace(rng, n=600, m=12, d=2)
    rows, columns = np.arange(12), rng.permutation(12)
    X[rows, columns] *= -1  # about as far out as before
    X[rows, columns] += np.sign(X[rows, columns]) * X.std(axis=0)[columns]
    shares = [
        feature_shares(RSRAE(epochs=20, random_state=0, rules=share).fit(X), X[rows]).shares[rows, columns]
        for share in (0.5, 0.0)
    ]
    assert (shares[0] > shares[1]).mean() > 0.9
    assert shares[0].mean() > 0.5


def test_a_saved_model_keeps_the_rules(rng: np.random.Generator, tmp_path: Path) -> None:
    X = near_a_subspace(rng)
    detector = RSRAE(epochs=2, random_state=0).fit(X)
    detector.save(tmp_path / "model")
    new = mixed(rng, near_a_subspace(rng), 25)
    np.testing.assert_array_equal(load(tmp_path / "model").anomaly_score(new), detector.anomaly_score(new))
    np.testing.assert_array_equal(detector.anomaly_score(new[:1]), detector.anomaly_score(new)[:1])


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("rules.scale", lambda array: array * 0),
        ("rules.sizes", lambda array: -array),
        ("rules.center", lambda array: array[:-1]),
        ("rules.directions", lambda array: array[0]),
        ("rules.directions", lambda array: array.astype(np.int64)),
        ("rules.center", lambda array: array * np.nan),
    ],
)
def test_a_model_with_impossible_rules_is_an_error(name: str, change: Any, easy_table: Any, tmp_path: Path) -> None:
    RSRAE(epochs=1, random_state=0).fit(easy_table.X).save(tmp_path / "model")
    header, arrays = read_model(tmp_path / "model")
    write_model(tmp_path / "model", header, arrays | {name: change(arrays[name])})
    with pytest.raises(ModelFileError):
        load(tmp_path / "model")


def test_only_tables_have_rules(rng: np.random.Generator) -> None:
    for X in (rng.random(size=(30, 8, 8)), rng.gamma(1.0, size=(60, 80))):
        assert RSRAE(epochs=1, random_state=0).fit(X).panel_.rules is None
    table = rng.normal(size=(30, 3))
    assert RSRAE(epochs=1, random_state=0, rules=0.0).fit(table).panel_.rules is None
    assert RSRAE.from_recipe("authors", epochs=1).fit(table).panel_.rules is None
    alone = RSRAE(epochs=1, random_state=0, n_members=1, n_neighbors=0).fit(table)
    assert alone.member_scores(table).shape == (1, 30)


def test_what_members_say_of_the_rows_is_held_once(rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    n_rows, held = 3_001, []  # a number that no other tensor has
    errors = Rules.errors

    def errors_of_the_last_member(self: Rules, *batch: Any) -> torch.Tensor:
        tensors = [found for found in gc.get_objects() if type(found) is torch.Tensor and n_rows in found.shape]
        storages = {tensor.untyped_storage().data_ptr(): tensor.untyped_storage().nbytes() for tensor in tensors}
        held.append(sum(storages.values()) / n_rows)
        return errors(self, *batch)

    monkeypatch.setattr(Rules, "errors", errors_of_the_last_member)
    RSRAE(epochs=1, random_state=0).fit(rng.normal(size=(n_rows, 3)).astype(np.float32))
    # Eight networks, neighbours and the forest in single precision, and what all said the first time.
    assert 40 <= max(held) <= 80
