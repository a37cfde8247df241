"""Rows by number and in blocks, dense and sparse."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from rsrae.networks import rows as rows_room
from rsrae.networks.batches import SparseBatch
from rsrae.networks.rows import DenseRows, SparseRows, make_rows
from rsrae.preprocessing import fit_preprocessor


@pytest.mark.parametrize("shape", [(30, 6), (30, 4, 5, 2)])
@pytest.mark.parametrize("cache", [False, True])
def test_rows_come_preprocessed_and_in_the_order_asked_for(
    shape: tuple[int, ...], cache: bool, rng: np.random.Generator
) -> None:
    X = rng.normal(size=shape)
    preprocessor = fit_preprocessor(X, tame=True, unit_norm=True)
    rows = DenseRows(X, preprocessor, dtype=torch.float64, cache=cache)
    index = torch.tensor([[3, 1, 29], [0, 3, 3]])
    taken = rows.take(index)
    assert taken.shape == (2, 3, *shape[1:])
    torch.testing.assert_close(taken, preprocessor.apply(torch.from_numpy(X))[index])


def test_a_table_too_large_to_cache_gives_the_same_rows(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    X = rng.normal(size=(50, 3))
    preprocessor = fit_preprocessor(X, tame=True, unit_norm=False)
    cached = DenseRows(X, preprocessor).take(torch.arange(50)[None])
    monkeypatch.setattr(rows_room, "CACHE_BYTES", 10)
    large = DenseRows(X, preprocessor)
    assert large._X.dtype == torch.float64  # still the user's own numbers
    torch.testing.assert_close(large.take(torch.arange(50)[None]), cached)


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_blocks_are_all_rows_in_order(kind: str, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows_room, "BLOCK_VALUES", 100)
    n_rows = 500 if kind == "dense" else 5000
    X = sp.random_array((n_rows, 9), density=0.3, format="csr", rng=rng)
    preprocessor = fit_preprocessor(X, tame=False, unit_norm=True)
    made = make_rows(X if kind == "sparse" else X.toarray(), preprocessor, dtype=torch.float64)
    assert isinstance(made, SparseRows if kind == "sparse" else DenseRows)
    blocks = [block.to_dense() if isinstance(block, SparseBatch) else block for block in made.blocks()]
    assert len(blocks) > 1
    expected = preprocessor.apply(torch.from_numpy(X.toarray()))
    torch.testing.assert_close(torch.cat(blocks, dim=1)[0], expected)


@pytest.mark.parametrize(
    ("n_rows", "n_columns", "size"),
    [(1, 5, 192), (192, 5, 192), (193, 5, 384), (1_000, 100, 1_536), (9_000, 100, 1_536), (9_000, 3_000, 192)],
)
def test_blocks_of_a_table_have_the_least_number_of_rows_doubled(n_rows: int, n_columns: int, size: int) -> None:
    X = np.zeros((n_rows, n_columns), dtype=np.float32)
    preprocessor = fit_preprocessor(X[:2], scaling="none", tame=False, unit_norm=False)
    rows = DenseRows(X, preprocessor, cache=False, even=True)
    assert rows.block_size() == size
    assert {block.shape for block in rows.blocks()} == {(1, size, n_columns)}


def test_sparse_rows_are_taken_per_member_and_stay_sparse(rng: np.random.Generator) -> None:
    X = sp.random_array((30, 9), density=0.3, format="csr", rng=rng)
    taken = SparseRows(X, fit_preprocessor(X, tame=False, unit_norm=False)).take(torch.tensor([[5, 1], [2, 2]]))
    assert isinstance(taken, SparseBatch)
    assert taken.members[0].dtype == np.float32
    np.testing.assert_allclose(taken.to_dense(), X.toarray()[[[5, 1], [2, 2]]], rtol=1e-6)


@pytest.mark.parametrize("spoil", ["read-only", "reversed", "mirrored", "Fortran"])
def test_arrays_that_torch_would_refuse_or_warn_about_are_taken(spoil: str, rng: np.random.Generator) -> None:
    X = rng.normal(size=(10, 4))
    if spoil == "read-only":
        X.flags.writeable = False
    X = {"reversed": X[::-1], "mirrored": X[:, ::-1], "Fortran": np.asfortranarray(X)}.get(spoil, X)
    preprocessor = fit_preprocessor(X, scaling="none", tame=False, unit_norm=False)
    rows = DenseRows(X, preprocessor, dtype=torch.float64)
    np.testing.assert_array_equal(rows.take(torch.arange(10)[None])[0], X)
