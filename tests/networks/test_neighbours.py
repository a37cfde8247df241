from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from rsrae.networks.batches import SparseBatch
from rsrae.networks.neighbours import Neighbours, smallest


def nearest_by_hand(x: np.ndarray, kept: np.ndarray, k: int) -> np.ndarray:
    """The k nearest rows kept, one that equals ``x`` left out, without tricks."""
    distances = np.linalg.norm(kept - x, axis=1)
    order = np.argsort(distances, kind="stable")
    if distances[order[0]] == 0:
        order = order[1:]
    return kept[order[:k]]


def distances_by_hand(X: np.ndarray, others: np.ndarray, scored_by: str) -> np.ndarray:
    if scored_by == "manhattan":
        return np.abs(X - others).sum(axis=-1)
    if scored_by == "euclidean":
        return np.linalg.norm(X - others, axis=-1)
    return 1 - (X * others).sum(axis=-1) / np.linalg.norm(X, axis=-1) / np.linalg.norm(others, axis=-1)


@pytest.mark.parametrize("to_each", [False, True])
@pytest.mark.parametrize("scored_by", ["euclidean", "cosine", "manhattan"])
@pytest.mark.parametrize("kept_are_sparse", [False, True])
@pytest.mark.parametrize("rows_are_sparse", [False, True])
def test_the_score_is_the_distance_to_the_nearest_others_or_to_their_mean(
    scored_by: str, kept_are_sparse: bool, rows_are_sparse: bool, to_each: bool, rng: np.random.Generator
) -> None:
    kept = np.abs(rng.normal(size=(30, 5))) * (rng.random((30, 5)) < 0.7) + 0.01
    X = np.vstack([kept[:10], rng.random((10, 5))])
    nearest = np.stack([nearest_by_hand(x, kept, 4) for x in X])  # (rows, k, m)
    means = nearest.mean(axis=1)
    if to_each:
        wanted = distances_by_hand(X[:, None], nearest, scored_by).mean(axis=1)
    else:
        wanted = distances_by_hand(X, means, scored_by)
    member = Neighbours(sp.csr_array(kept) if kept_are_sparse else torch.from_numpy(kept), 4, to_each=to_each)
    batch = SparseBatch([sp.csr_array(X)]) if rows_are_sparse else torch.from_numpy(X)[None]
    np.testing.assert_allclose(member.errors(batch, scored_by)[0].numpy(), wanted, atol=1e-12)
    np.testing.assert_allclose(member.reconstruct(batch)[0].numpy(), means, atol=1e-12)


def test_only_the_distance_to_each_neighbour_shows_what_lies_in_the_middle_of_a_ring() -> None:
    angles = 2 * np.pi * np.arange(60) / 60
    ring = torch.from_numpy(np.stack([np.cos(angles), np.sin(angles)], axis=1))
    batch = torch.cat([ring, torch.zeros(1, 2, dtype=torch.float64)]).unsqueeze(0)  # the last is in the middle
    to_mean, to_each = (Neighbours(ring, 60, to_each=each).errors(batch, "euclidean")[0] for each in (False, True))
    assert to_mean.argmin() == 60
    few = Neighbours(ring, 6, to_each=True).errors(batch, "euclidean")[0]
    assert few.argmax() == 60
    assert to_each[60] == pytest.approx(1)


def test_wide_rows_are_compared_with_some_neighbours_at_a_time(rng: np.random.Generator) -> None:
    kept, X = rng.normal(size=(40, 400)), rng.normal(size=(300, 400))  # 192 rows of 400 values: one neighbour
    found = Neighbours(torch.from_numpy(kept), 5, to_each=True).errors(torch.from_numpy(X)[None], "manhattan")[0]
    nearest = np.stack([nearest_by_hand(x, kept, 5) for x in X])
    np.testing.assert_allclose(found.numpy(), np.abs(X[:, None] - nearest).sum(axis=-1).mean(axis=1))


def test_sparse_rows_kept_take_dense_batches(rng: np.random.Generator) -> None:
    kept, X = rng.random((20, 6)), rng.random((7, 6))
    dense = Neighbours(torch.from_numpy(kept), 3).errors(torch.from_numpy(X)[None], "cosine")
    sparse = Neighbours(sp.csr_array(kept), 3).errors(torch.from_numpy(X)[None], "cosine")
    torch.testing.assert_close(dense, sparse)


def test_dense_rows_kept_take_sparse_batches(rng: np.random.Generator) -> None:
    kept, X = rng.random((20, 6)), rng.random((7, 6))
    member = Neighbours(torch.from_numpy(kept), 3)
    for scored_by in ("cosine", "euclidean"):
        dense = member.errors(torch.from_numpy(X)[None], scored_by)
        torch.testing.assert_close(member.errors(SparseBatch([sp.csr_array(X)]), scored_by), dense)


def test_only_one_of_several_equal_rows_is_left_out() -> None:
    kept = torch.tensor([[0.0, 1.0], [0.0, 1.0], [0.0, 1.0], [5.0, 5.0]])
    assert Neighbours(kept, 2).errors(torch.tensor([[[0.0, 1.0]]]), "euclidean").item() == 0


def test_a_row_is_found_to_be_itself_in_single_precision(rng: np.random.Generator) -> None:
    kept = torch.from_numpy(rng.normal(size=(200, 300))).float()
    apart = torch.cdist(kept, kept)
    wanted = apart.fill_diagonal_(torch.inf).min(dim=1).values
    found = Neighbours(kept, 1).errors(kept[None], "euclidean")[0]
    torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-4)


def test_a_row_in_double_precision_is_found_among_rows_kept_in_single(rng: np.random.Generator) -> None:
    X = torch.from_numpy(rng.normal(size=(50, 8)))
    member = Neighbours(X.float(), 3)
    torch.testing.assert_close(
        member.reconstruct(X[None]), member.reconstruct(X.float()[None]).double(), rtol=0, atol=1e-5
    )


def test_more_neighbours_than_rows_are_as_many_as_there_are() -> None:
    assert Neighbours(torch.zeros(3, 2), 20).k == 2


@pytest.mark.parametrize("n_kinds", [1, 3, 1_000_000])  # of values: all equal, many ties, none
@pytest.mark.parametrize("n", [5, 40, 83, 1_000])
def test_thesmallest_are_found_in_order_with_ties_and_without(n_kinds: int, n: int, rng: np.random.Generator) -> None:
    values = torch.from_numpy(rng.integers(0, n_kinds, size=(7, n)).astype(np.float32))
    chosen, places = smallest(values, 5)
    wanted = np.argsort(values.numpy(), axis=1, kind="stable")[:, :5]
    np.testing.assert_array_equal(places, wanted)
    torch.testing.assert_close(values.gather(1, places), chosen)
    for number, row in enumerate(values):  # alone as in company
        torch.testing.assert_close(smallest(row[None], 5)[1][0], places[number])


@pytest.mark.parametrize("to_each", [False, True])
def test_more_rows_than_are_taken_at_once_have_the_scores_they_have_alone(
    to_each: bool, rng: np.random.Generator
) -> None:
    kept, X = torch.from_numpy(rng.normal(size=(300, 6))), torch.from_numpy(rng.normal(size=(1, 500, 6)))
    member = Neighbours(kept, 7, to_each=to_each)
    alone = torch.cat([member.errors(x[None, None], "euclidean") for x in X[0]], dim=1)
    torch.testing.assert_close(member.errors(X, "euclidean"), alone)
