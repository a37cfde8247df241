"""Item scores."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from rsrae.scoring import cosine_distance, distance, euclidean_distance, robust_location_and_spread


def test_the_cosine_distance_is_one_minus_the_cosine(rng: np.random.Generator) -> None:
    x, x_hat = rng.normal(size=(2, 20, 5))
    slow = [1 - a @ b / (np.linalg.norm(a) * np.linalg.norm(b)) for a, b in zip(x, x_hat, strict=True)]
    inner, square_x, square_x_hat = (torch.from_numpy((a * b).sum(1)) for a, b in [(x, x_hat), (x, x), (x_hat, x_hat)])
    np.testing.assert_allclose(cosine_distance(inner, square_x, square_x_hat), slow, atol=1e-10)


@pytest.mark.parametrize(
    ("x", "x_hat", "expected"), [(2.0, 3.0, 0.0), (2.0, -3.0, 2.0), (0.0, 3.0, 1.0), (0.0, 0.0, 1.0)]
)
def test_the_cosine_distance_of_same_opposite_and_missing_directions(x: float, x_hat: float, expected: float) -> None:
    got = cosine_distance(*(torch.tensor(v, dtype=torch.float64) for v in (x * x_hat, x * x, x_hat * x_hat)))
    assert got.item() == pytest.approx(expected, abs=1e-9)
    assert distance(torch.tensor([x, 0.0]), torch.tensor([x_hat, 0.0]), "cosine").item() == pytest.approx(expected)


def test_distances_of_rows_agree_with_those_of_inner_products(rng: np.random.Generator) -> None:
    x, x_hat = torch.from_numpy(rng.normal(size=(2, 3, 20, 5)))
    inner, squares, squares_hat = (x * x_hat).sum(-1), x.square().sum(-1), x_hat.square().sum(-1)
    torch.testing.assert_close(distance(x, x_hat, "cosine"), cosine_distance(inner, squares, squares_hat))
    by_squares = euclidean_distance(squares - 2 * inner + squares_hat)
    torch.testing.assert_close(distance(x, x_hat, "euclidean"), by_squares)


def test_the_manhattan_distance_is_the_sum_of_absolute_differences(rng: np.random.Generator) -> None:
    x, x_hat = rng.normal(size=(2, 20, 5))
    found = distance(torch.from_numpy(x), torch.from_numpy(x_hat), "manhattan")
    np.testing.assert_allclose(found, np.abs(x - x_hat).sum(axis=1))


def test_nearly_equal_directions_keep_their_digits_in_single_precision() -> None:
    angle = 1e-3
    gap = distance(
        torch.tensor([1.0, 0.0]), torch.tensor([np.cos(angle), np.sin(angle)], dtype=torch.float32), "cosine"
    )
    assert gap.item() == pytest.approx(1 - np.cos(angle), rel=1e-4)


def test_the_euclidean_distance_survives_a_square_that_rounding_made_negative() -> None:
    np.testing.assert_allclose(euclidean_distance(torch.tensor([9.0, 0.0, -1e-9])), [3.0, 0.0, 0.0])


def test_location_and_spread_ignore_a_few_wild_scores() -> None:
    scores = torch.cat([torch.linspace(-1, 1, 101), torch.full((20,), 1e9)])
    location, spread = robust_location_and_spread(scores)
    assert location.abs() < 0.3
    assert spread < 1


def test_scores_that_are_all_equal_have_spread_one() -> None:
    location, spread = robust_location_and_spread(torch.full((5,), 3.0))
    assert (location.item(), spread.item()) == (3.0, 1.0)
