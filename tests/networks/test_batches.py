"""Sparse batches against the same numbers made dense."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from rsrae.networks.batches import SparseBatch, scatter_add_outer


@pytest.fixture
def batch(rng: np.random.Generator) -> SparseBatch:
    members = [sp.random_array((9, 20), density=0.2, format="csr", rng=rng) for _ in range(2)]
    members[0] = sp.csr_array(np.where(np.arange(9)[:, None] == 4, 0.0, members[0].toarray()))  # an empty row
    return SparseBatch(members)


def draw(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(0))


def test_shape_and_dense_form(batch: SparseBatch) -> None:
    assert batch.shape == (2, 9, 20)
    for member in range(2):
        np.testing.assert_array_equal(batch.to_dense()[member], batch.members[member].toarray())


def test_square_norms(batch: SparseBatch) -> None:
    torch.testing.assert_close(batch.square_norms, batch.to_dense().square().sum(-1))


def test_the_product_with_weights(batch: SparseBatch) -> None:
    W = draw(2, 20, 3)
    torch.testing.assert_close(batch.product(W), batch.to_dense() @ W)


def test_the_product_with_a_transposed_view(batch: SparseBatch) -> None:
    W = draw(2, 3, 20)
    torch.testing.assert_close(batch.product(W.mT), batch.to_dense() @ W.mT)


def test_the_outer_product_with_gradients_is_added(batch: SparseBatch) -> None:
    G, before = draw(2, 9, 3), draw(2, 20, 3)
    out = before.clone()
    batch.add_outer(G, out)
    torch.testing.assert_close(out, before + batch.to_dense().mT @ G)


def test_the_scatter_for_other_devices_gives_what_scipy_gives(batch: SparseBatch) -> None:
    G = draw(2, 9, 3)
    for member, part in enumerate(batch._parts):
        out = torch.ones(20, 3, dtype=torch.float64)
        scatter_add_outer(part, G[member], out)
        np.testing.assert_allclose(out, 1 + batch.members[member].T @ G[member].numpy(), atol=1e-14)


def test_rows_without_any_value_are_allowed() -> None:
    empty = SparseBatch([sp.csr_array((3, 5))])
    assert empty.product(draw(1, 5, 2)).abs().max() == 0
    out = torch.ones(1, 5, 2, dtype=torch.float64)
    empty.add_outer(draw(1, 3, 2), out)
    assert (out == 1).all()
