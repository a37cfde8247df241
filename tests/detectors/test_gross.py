from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from rsrae import RSRAE, load
from rsrae.detectors.gross import MOST_STEPS, GrossValues
from rsrae.errors import ModelFileError
from rsrae.explain.shares import feature_shares
from rsrae.modelfile import read_model, write_model

SCORES = torch.linspace(0, 1, 11)


def gross_rows(column: np.ndarray, *new: float) -> list[bool]:
    """Which of the values, or of others, are gross."""
    gross = GrossValues.fit(torch.from_numpy(column)[:, None], SCORES, is_tame=False)
    rows = torch.tensor(new or column.tolist(), dtype=torch.float64)[:, None]
    return (gross.errors(rows[None], "manhattan")[0] > 0).tolist()


@pytest.mark.parametrize("draw", ["normal", "uniform", "exponential", "lognormal"])
def test_values_of_a_column_as_it_is_are_not_gross(draw: str, rng: np.random.Generator) -> None:
    assert sum(gross_rows(getattr(rng, draw)(size=5_000))) <= 1


def test_large_values_of_a_long_tail_are_not_gross_and_impossible_ones_are(rng: np.random.Generator) -> None:
    prices = rng.lognormal(sigma=1.5, size=5_000)
    assert sum(gross_rows(prices)) == 0
    largest = prices.max()
    assert gross_rows(prices, 2 * largest, 100 * largest, -largest) == [False, True, True]
    # A scale that ends at zero, where most of its values lie: what is below it has no tail to come from.
    visits = rng.poisson(0.5, size=2_000).astype(float)
    assert gross_rows(visits, 8.0, -1.0, -3.0) == [False, False, True]


def test_a_lone_value_is_gross_on_either_side_and_the_further_the_more(rng: np.random.Generator) -> None:
    column = rng.normal(size=1_000)
    assert gross_rows(column, 5.0, -5.0, 15.0, -15.0) == [False, False, True, True]
    gross = GrossValues.fit(torch.from_numpy(column)[:, None], SCORES, is_tame=False)
    near, far = gross.errors(torch.tensor([[[20.0], [200.0]]]), "manhattan")[0]
    assert far - near == pytest.approx(gross.weight * np.log(10), rel=0.05)


def test_of_a_column_that_is_mostly_one_value_the_others_say_how_far_is_far(rng: np.random.Generator) -> None:
    column = np.where(rng.random(2_000) < 0.9, 0.0, rng.exponential(size=2_000))
    assert sum(gross_rows(column)) == 0
    assert gross_rows(column, 0.0, 5.0, 500.0, -50.0) == [False, False, True, True]


@pytest.mark.parametrize("column", [np.zeros(50), np.repeat([0.0, 1.0], [45, 5]), np.arange(29.0)])
def test_little_known_is_not_gross(column: np.ndarray) -> None:
    assert not any(gross_rows(column))
    assert not any(gross_rows(column, 1e9, -1e9))


def test_tamed_values_are_gross_where_they_were_before() -> None:
    values = torch.linspace(-3, 3, 201, dtype=torch.float64)[:, None]
    new = torch.tensor([[-9.0], [1.0], [9.0]], dtype=torch.float64)
    plain = GrossValues.fit(values, SCORES, is_tame=False).errors(new[None], "manhattan")
    tamed = GrossValues.fit(values.asinh(), SCORES, is_tame=True).errors(new.asinh()[None], "manhattan")
    torch.testing.assert_close(tamed, plain)


def with_wrong_cells(rng: np.random.Generator, n_wrong: int = 10) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A table of 30 columns, and the rows and columns of cells that are off by thirty deviations."""
    X = rng.normal(size=(800, 4)) @ rng.normal(size=(4, 30)) + 0.3 * rng.normal(size=(800, 30))
    rows, columns = rng.permutation(800)[:n_wrong], rng.permutation(30)[:n_wrong]
    X[rows, columns] += 30 * X.std(axis=0)[columns] * rng.choice([-1, 1], n_wrong)
    return X, rows, columns


def test_wrong_cells_come_first_and_are_the_reason(rng: np.random.Generator) -> None:
    X, rows, columns = with_wrong_cells(rng)
    detector = RSRAE(epochs=20, random_state=0).fit(X)
    first = detector.anomaly_score(X).argsort()[::-1][: len(rows)]
    assert sorted(first) == sorted(rows)
    assert feature_shares(detector, X[rows]).shares.argmax(axis=1).tolist() == columns.tolist()
    without = RSRAE(epochs=20, random_state=0, gross_values=False).fit(X)
    assert len(set(without.anomaly_score(X).argsort()[::-1][: len(rows)]) & set(rows)) < len(rows)


def test_a_saved_model_finds_a_wrong_cell_in_new_rows(rng: np.random.Generator, tmp_path: Path) -> None:
    X, _, _ = with_wrong_cells(rng, 0)
    X[:, 20] = 0.0  # nothing is known of these
    X[:, 21] = X[:, 21] > 2
    RSRAE(epochs=5, random_state=0).fit(X).save(tmp_path / "model")
    new = X[:50].copy()
    new[7, 3] *= 1_000
    assert load(tmp_path / "model").anomaly_score(new).argmax() == 7


@pytest.mark.parametrize(
    ("name", "value"),
    [("gross.low", 1e301), ("gross.above", 0.0), ("gross.below", -1.0), ("gross.weight", -1.0)],
)
def test_a_model_with_impossible_tails_is_an_error(
    name: str, value: float, rng: np.random.Generator, tmp_path: Path
) -> None:
    RSRAE(epochs=1, random_state=0).fit(rng.normal(size=(50, 3))).save(tmp_path / "model")
    header, arrays = read_model(tmp_path / "model")
    arrays[name][0] = value
    write_model(tmp_path / "model", header, arrays)
    with pytest.raises(ModelFileError):
        load(tmp_path / "model")


def test_pictures_and_vectors_have_no_columns_of_their_own(rng: np.random.Generator) -> None:
    for X in (rng.random(size=(30, 8, 8)), rng.gamma(1.0, size=(60, 80))):
        assert RSRAE(epochs=1, random_state=0).fit(X).panel_.gross is None
    assert RSRAE.from_recipe("authors", epochs=1).fit(rng.normal(size=(30, 3))).panel_.gross is None


def test_steps_are_what_makes_a_value_ten_times_as_rare() -> None:
    exponential = -np.log(np.linspace(1, 0, 100_001)[:-1])
    gross = GrossValues.fit(torch.from_numpy(exponential)[:, None], SCORES, is_tame=False)
    assert gross.above.item() == pytest.approx(np.log(10), rel=0.01)
    limit = gross.high.item() + MOST_STEPS * gross.above.item()
    assert np.exp(-limit) == pytest.approx(1e-6, rel=0.05)


def test_steps_grow_as_they_have_grown() -> None:
    # The tail of 1 / (1 - u) is ten times as long with every step; from the median to one in ten it goes from 2 to 10.
    pareto = 1 / np.linspace(1, 0, 100_001)[:-1]
    gross = GrossValues.fit(torch.from_numpy(pareto)[:, None], SCORES, is_tame=False)
    last, before = 100 - 10, (10 - 2) / np.log10(5)
    assert gross.above.item() == pytest.approx(last * last / before, rel=0.01)
    # That of a normal column gets shorter, and is taken to stay as it is.
    usual = torch.distributions.Normal(0.0, 1.0).icdf(torch.linspace(0, 1, 10_001)[1:-1].double())[:, None]
    normal = GrossValues.fit(usual, SCORES, is_tame=False)
    assert normal.above.item() == pytest.approx(2.326 - 1.282, abs=0.01)
