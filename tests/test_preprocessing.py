"""Scaling that outliers cannot move, taming, unit norms."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from rsrae.errors import ParameterError
from rsrae.preprocessing import (
    MOST_ROWS,
    Preprocessor,
    come_of_words,
    fit_preprocessor,
    holds_vectors,
    robust_center_and_scale,
)


def test_center_and_scale_of_normal_columns_are_mean_and_standard_deviation(rng: np.random.Generator) -> None:
    X = rng.normal([5, -100], [2, 0.01], size=(20_000, 2))
    center, scale = robust_center_and_scale(X)
    np.testing.assert_allclose(center, [5, -100], atol=0.05)
    np.testing.assert_allclose(scale, [2, 0.01], rtol=0.05)


def test_a_fifth_of_wild_rows_hardly_moves_center_and_scale(rng: np.random.Generator) -> None:
    X = rng.normal(size=(1000, 3))
    dirty = X.copy()
    dirty[:200] = 1e9
    center, scale = robust_center_and_scale(dirty)
    assert np.abs(center).max() < 1
    assert scale.max() < 3


def test_a_column_that_is_mostly_one_value_is_scaled_by_the_others() -> None:
    X = np.zeros((100, 1))
    X[:20, 0] = 4.0
    center, scale = robust_center_and_scale(X)
    assert center[0] == 0
    assert 0.5 < scale[0] <= 4


def test_the_spread_of_a_column_with_a_pile_does_not_hang_on_where_the_third_quartile_falls(
    rng: np.random.Generator,
) -> None:
    others = rng.uniform(0, 255, size=1000)  # as the pixels of a corner: the paper, and now and then a stroke
    spreads = []
    for share in (0.24, 0.26, 0.3, 0.4, 0.49):
        column = np.zeros((1000, 1))
        column[: round(1000 * share), 0] = others[: round(1000 * share)]
        spreads.append(robust_center_and_scale(column)[1][0])
    assert max(spreads) < 2 * min(spreads)


def test_wild_values_beside_a_pile_do_not_become_the_spread() -> None:
    column = np.zeros((100, 1))
    column[:25, 0] = np.linspace(1, 2, 25)
    column[25:40, 0] = 1e9
    _, scale = robust_center_and_scale(column)
    assert 0.5 < scale[0] < 2


def test_the_largest_numbers_there_are_beside_a_pile_have_a_spread() -> None:
    column = np.zeros((100, 1))
    column[:40, 0] = np.finfo(np.float64).max
    _, scale = robust_center_and_scale(column)
    assert np.isfinite(scale[0])


def test_yes_and_no_keep_the_spread_of_their_quartiles() -> None:
    column = np.repeat([0.0, 1.0], [60, 40])[:, None]
    _, scale = robust_center_and_scale(column)
    assert scale[0] == pytest.approx(1 / 1.349, rel=1e-3)


def test_a_single_value_that_differs_still_gives_a_spread() -> None:
    X = np.zeros((1000, 1))
    X[0, 0] = 7.0
    _, scale = robust_center_and_scale(X)
    assert 0 < scale[0] <= 7


def test_a_constant_column_becomes_zero() -> None:
    X = np.full((10, 2), 3.0)
    preprocessor = fit_preprocessor(X, tame=True, unit_norm=False)
    assert preprocessor.apply(torch.from_numpy(X)).abs().max() == 0


def test_very_long_tables_are_sampled_for_their_scale() -> None:
    X = np.zeros((2 * MOST_ROWS, 1))
    X[::2, 0] = np.linspace(-1, 1, MOST_ROWS)
    X[1::2, 0] = 1e6  # between the rows that are looked at
    center, _ = robust_center_and_scale(X)
    assert abs(center[0]) < 0.01


def test_robust_scaling_is_shift_divide_and_asinh() -> None:
    X = np.array([[0.0, 10.0], [2.0, 20.0], [4.0, 30.0], [6.0, 40.0], [1e6, 50.0]])
    center, scale = robust_center_and_scale(X)
    for tame in (False, True):
        got = fit_preprocessor(X, tame=tame, unit_norm=False).apply(torch.from_numpy(X)).numpy()
        standard = (X - center) / scale
        np.testing.assert_allclose(got, np.arcsinh(standard) if tame else standard)


@pytest.mark.parametrize("shape", [(20, 6), (20, 4, 5, 3)])
def test_unit_norm_gives_every_item_norm_one(shape: tuple[int, ...], rng: np.random.Generator) -> None:
    X = rng.normal(size=shape)
    got = fit_preprocessor(X, tame=False, unit_norm=True).apply(torch.from_numpy(X))
    assert got.shape == shape
    np.testing.assert_allclose(np.linalg.norm(got.numpy().reshape(20, -1), axis=1), 1)


def test_a_row_of_zeros_stays_zero_under_unit_norm() -> None:
    preprocessor = Preprocessor(np.zeros(1), np.ones(1), tame=False, unit_norm=True)
    assert preprocessor.apply(torch.zeros(2, 3)).abs().max() == 0
    assert abs(preprocessor.apply_sparse(sp.csr_array((2, 3)))).sum() == 0


def test_the_input_is_not_changed(rng: np.random.Generator) -> None:
    X = rng.normal(size=(10, 3))
    before = X.copy()
    fit_preprocessor(X, tame=True, unit_norm=True).apply(torch.from_numpy(X))
    np.testing.assert_array_equal(X, before)
    sparse = sp.csr_array(X)
    fit_preprocessor(sparse, tame=True, unit_norm=True).apply_sparse(sparse)
    np.testing.assert_array_equal(sparse.toarray(), before)


def test_bytes_are_scaled_by_their_type_and_floats_by_their_range() -> None:
    dark = np.full((2, 2, 2, 1), 51, dtype=np.uint8)
    scaled = fit_preprocessor(dark, tame=True, unit_norm=False).apply(torch.from_numpy(dark).double())
    np.testing.assert_allclose(scaled, 51 / 127.5 - 1)
    floats = np.linspace(-3, 5, 8).reshape(2, 2, 2, 1)
    scaled = fit_preprocessor(floats, tame=True, unit_norm=False).apply(torch.from_numpy(floats))
    assert (scaled.min().item(), scaled.max().item()) == (-1, 1)


def test_images_that_are_all_one_value_become_zero() -> None:
    X = np.full((2, 3, 3, 1), 4.0)
    scaled = fit_preprocessor(X, tame=True, unit_norm=False).apply(torch.from_numpy(X))
    assert scaled.abs().max() == 0


def test_robust_scaling_of_images_is_per_pixel(rng: np.random.Generator) -> None:
    X = rng.normal(size=(50, 3, 4, 2)) * np.arange(1, 25).reshape(3, 4, 2)
    preprocessor = fit_preprocessor(X, scaling="robust", tame=False, unit_norm=False)
    flat = fit_preprocessor(X.reshape(50, -1), scaling="robust", tame=False, unit_norm=False)
    expected = flat.apply(torch.from_numpy(X.reshape(50, -1)))
    torch.testing.assert_close(preprocessor.apply(torch.from_numpy(X)).reshape(50, -1), expected)


@pytest.mark.parametrize("unit_norm", [False, True])
def test_sparse_rows_are_preprocessed_like_dense_ones_and_stay_sparse(
    unit_norm: bool, rng: np.random.Generator
) -> None:
    X = sp.random_array((30, 12), density=0.2, format="csr", rng=rng)
    preprocessor = fit_preprocessor(X, tame=True, unit_norm=unit_norm)
    got = preprocessor.apply_sparse(X)
    assert got.nnz == X.nnz
    expected = preprocessor.apply(torch.from_numpy(X.toarray()))
    np.testing.assert_allclose(got.toarray(), expected)


def test_sparse_rows_can_be_divided_per_column(rng: np.random.Generator) -> None:
    X = sp.random_array((30, 4), density=0.5, format="csr", rng=rng)
    scale = np.array([1.0, 2.0, 4.0, 8.0])
    got = Preprocessor(np.zeros(1), scale, tame=False, unit_norm=False).apply_sparse(X)
    np.testing.assert_allclose(got.toarray(), X.toarray() / scale)


@pytest.mark.parametrize("scaling", ["robust", "unit-cube"])
def test_scaling_that_would_fill_sparse_rows_is_an_error(scaling: str) -> None:
    with pytest.raises(ParameterError, match="would make sparse rows dense; use scaling='none'"):
        fit_preprocessor(sp.csr_array((3, 3)), scaling=scaling, tame=True, unit_norm=False)


def test_an_unknown_scaling_is_an_error() -> None:
    with pytest.raises(ParameterError, match="scaling must be one of 'auto', 'auto-paper', 'robust', 'unit-cube'"):
        fit_preprocessor(np.zeros((2, 2)), scaling="standard", tame=True, unit_norm=False)


def test_a_table_of_coordinates_keeps_its_scale_and_is_taken_by_direction(rng: np.random.Generator) -> None:
    X = rng.gamma(1.0, size=(50, 100))
    got = fit_preprocessor(X, tame=True, unit_norm="auto").apply(torch.from_numpy(X))
    np.testing.assert_allclose(got, X / np.linalg.norm(X, axis=1, keepdims=True))


def test_columns_of_words_are_found_between_others(rng: np.random.Generator) -> None:
    colour, size = (np.eye(n)[rng.integers(n, size=50)] for n in (4, 3))
    flag = rng.integers(2, size=(50, 1))
    flag[:2] = [[0], [1]]
    X = np.hstack([flag, colour, rng.normal(size=(50, 1)), size, flag])
    np.testing.assert_array_equal(come_of_words(X), [False, *[True] * 4, False, *[True] * 3, False])
    X[7, 2:4] = 1  # two colours: no longer words
    np.testing.assert_array_equal(come_of_words(X), [*[False] * 6, *[True] * 3, False])


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("coordinates", True),
        ("few columns", False),
        ("standardised", False),
        ("different units", False),
        ("constant", False),
        ("many properties, yes or no", True),
        ("words", False),
        ("words and few coordinates", False),
    ],
)
def test_which_tables_hold_vectors(kind: str, expected: bool, rng: np.random.Generator) -> None:
    X = rng.gamma(1.0, size=(60, 100))
    words = np.hstack([np.eye(10, dtype=np.float32)[rng.integers(10, size=60)] for _ in range(10)])
    table = {
        "coordinates": X,
        "few columns": X[:, :20],
        "standardised": (X - X.mean(axis=0)) / X.std(axis=0),
        "different units": X * np.logspace(0, 6, 100),
        "constant": np.ones((60, 100)),
        "many properties, yes or no": (X > 1).astype(np.float32),
        "words": words,
        "words and few coordinates": np.hstack([X[:, :40], words, X[:, :1] > 1]),
    }[kind]
    assert holds_vectors(table) is expected


@pytest.mark.parametrize("tame", [False, True])
def test_undo_goes_back_to_the_numbers_of_the_user(tame: bool, rng: np.random.Generator) -> None:
    X = rng.normal(5, 3, size=(40, 3))
    preprocessor = fit_preprocessor(X, tame=tame, unit_norm=False)
    np.testing.assert_allclose(preprocessor.undo(preprocessor.apply(torch.from_numpy(X)).numpy()), X)


def test_the_spread_of_a_column_that_is_mostly_one_huge_number_is_a_number() -> None:
    X = np.zeros((60, 2))
    X[-1, 0], X[-1, 1] = 1e300, 1e3
    _, scale = robust_center_and_scale(X)
    assert scale[0] / scale[1] == pytest.approx(1e297)
