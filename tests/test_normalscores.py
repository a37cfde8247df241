from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from scipy.stats import norm, rankdata

from rsrae.normalscores import NormalScores
from rsrae.preprocessing import Preprocessor, fit_preprocessor


def of(curve: NormalScores, X: np.ndarray) -> np.ndarray:
    return curve.on(torch.float64, "cpu")(torch.from_numpy(X)).numpy()


def test_scores_are_those_of_the_ranks(rng: np.random.Generator) -> None:
    X = np.stack([rng.lognormal(size=301), rng.integers(0, 5, 301).astype(float)], axis=1)
    curve = NormalScores.fit([X[:, 0], X[:, 1]])
    wanted = norm.ppf((rankdata(X, axis=0) - 0.5) / len(X))
    wanted -= np.median(wanted, axis=0)
    np.testing.assert_allclose(of(curve, X)[:, 1], wanted[:, 1])  # five values, each of them a knot
    np.testing.assert_allclose(of(curve, X)[:, 0], wanted[:, 0], atol=0.06)  # straight lines between knots


def test_another_unit_has_the_same_scores(rng: np.random.Generator) -> None:
    x = rng.lognormal(size=100)
    in_grams, as_logarithm = (NormalScores.fit([values]) for values in (1000 * x, np.log(x)))
    first, second = of(in_grams, 1000 * x[:, None]), of(as_logarithm, np.log(x)[:, None])
    np.testing.assert_allclose(first, second, atol=0.01)


def test_the_curve_rises_and_ends_where_the_values_end(rng: np.random.Generator) -> None:
    curve = NormalScores.fit([rng.normal(size=500)])
    scores = of(curve, np.linspace(-9, 9, 1001)[:, None]).ravel()
    assert (np.diff(scores) >= 0).all()
    assert scores[0] == scores[1] == curve.scores[0, 0]
    assert scores[-1] == curve.scores[0, -1] > 2.5


def test_columns_of_one_or_two_values_have_no_curve() -> None:
    curve = NormalScores.fit([np.full(9, 4.0), np.arange(9.0), np.arange(9) % 2 * 1.0, np.arange(9) % 3 * 1.0])
    assert curve.columns.tolist() == [1, 3]
    assert of(curve, np.array([[9.0, 4.0, 9.0, 1.0]])).tolist() == [[0.0, 0.0]]
    binary = np.tile([[0.0, 5.0], [1.0, 3.0]], (10, 1))
    assert fit_preprocessor(binary, tame=True).with_ranks(binary).ranks is None


def test_the_largest_value_may_be_said_in_any_precision(rng: np.random.Generator) -> None:
    x = rng.normal(size=(50, 1))
    curve = NormalScores.fit([x[:, 0]])
    single = curve.on(torch.float32, "cpu")(torch.from_numpy(x.astype(np.float32))).numpy()
    np.testing.assert_allclose(single, of(curve, x), atol=1e-5)


@pytest.mark.parametrize(
    ("columns", "values", "scores"),
    [
        ([0, 1], np.zeros((1, 4)), np.zeros((1, 4))),
        ([0, 1], np.zeros((2, 1)), np.zeros((2, 1))),
        ([0, 1], np.zeros((2, 4)), np.zeros((2, 3))),
        ([0, 1], np.array([[0.0, 1.0], [2.0, 1.0]]), np.zeros((2, 2))),
        ([0, 2], np.zeros((2, 4)), np.zeros((2, 4))),
        ([-1, 0], np.zeros((2, 4)), np.zeros((2, 4))),
        ([0.0, 1.0], np.zeros((2, 4)), np.zeros((2, 4))),
        (np.zeros(0, dtype=int), np.zeros((0, 4)), np.zeros((0, 4))),
    ],
)
def test_curves_that_do_not_fit_are_refused(columns: Any, values: np.ndarray, scores: np.ndarray) -> None:
    with pytest.raises(ValueError, match="normal scores"):
        NormalScores(np.array(columns), values, scores).check(2)


def test_a_preprocessor_gives_each_column_twice_and_undoes_the_first(rng: np.random.Generator) -> None:
    X = rng.lognormal(size=(200, 3))
    plain = fit_preprocessor(X, tame=True)
    both = plain.with_ranks(X)
    seen = both.apply(torch.from_numpy(X)).numpy()
    assert both.shape((3,)) == seen.shape[1:] == (6,)
    np.testing.assert_array_equal(seen[:, :3], plain.apply(torch.from_numpy(X)).numpy())
    np.testing.assert_allclose(seen[:, 3:], norm.ppf((rankdata(X, axis=0) - 0.5) / 200), atol=0.06)
    np.testing.assert_allclose(both.undo(seen), X)
    again = Preprocessor.restore(both.settings(), both.arrays())
    np.testing.assert_array_equal(again.apply(torch.from_numpy(X)).numpy(), seen)
