from __future__ import annotations

import numpy as np
import pytest
import torch
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score, roc_auc_score

from rsrae import RSRAE
from rsrae.detectors.middles import FEWEST_ROWS, LARGE, N_GROUPINGS, N_GROUPS, Middles, grouped


def generator() -> torch.Generator:
    return torch.Generator().manual_seed(0)


def clouds(
    rng: np.random.Generator, sizes: list[int], m: int = 6, apart: float = 12.0
) -> tuple[np.ndarray, np.ndarray]:
    """Rows around points far from each other, and the number of each row's point."""
    of = np.repeat(np.arange(len(sizes)), sizes)
    return apart * np.eye(len(sizes), m)[of] + rng.normal(size=(len(of), m)), of


def test_groups_are_those_of_k_means(rng: np.random.Generator) -> None:
    X, of = clouds(rng, [60, 80, 100, 40])
    groups = grouped(torch.from_numpy(X), generator(), n_groups=4).numpy()
    assert adjusted_rand_score(of, groups) == 1
    theirs = KMeans(4, n_init=10, random_state=0).fit(X)
    centres = np.stack([X[groups == group].mean(axis=0) for group in range(4)])
    assert ((X - centres[groups]) ** 2).sum() == pytest.approx(theirs.inertia_)


@pytest.mark.parametrize("n", [2, 3, FEWEST_ROWS, 3 * FEWEST_ROWS, 1_000])
def test_few_rows_are_put_in_few_groups(n: int, rng: np.random.Generator) -> None:
    groups = grouped(torch.from_numpy(rng.normal(size=(n, 3))), generator())
    assert len(groups) == n
    assert int(groups.max()) + 1 <= max(1, min(N_GROUPS, n // FEWEST_ROWS))


def test_rows_that_are_all_the_same_are_one_group() -> None:
    middles = Middles.fit(torch.ones(200, 4), generator())
    assert all(torch.equal(one, torch.ones(1, 4)) for one in middles.groupings)
    torch.testing.assert_close(
        middles.errors(torch.full((1, 2, 4), 3.0), "manhattan"), torch.full((N_GROUPINGS, 2), 8.0)
    )


def test_middles_are_medians_and_only_of_groups_that_hold_most_rows(rng: np.random.Generator) -> None:
    X, of = clouds(rng, [60, 41, 19])
    assert 60 / 120 < LARGE < 101 / 120
    medians = torch.from_numpy(np.stack([np.sort(X[of == k], axis=0)[(sum(of == k) - 1) // 2] for k in (0, 1)]))
    for middles in Middles.fit(torch.from_numpy(X), generator(), n_groups=3).groupings:
        torch.testing.assert_close(middles, medians)


@pytest.mark.parametrize("scored_by", ["manhattan", "euclidean", "cosine"])
def test_a_row_is_as_far_as_its_nearest_middle(scored_by: str, rng: np.random.Generator) -> None:
    middles, x = torch.from_numpy(rng.normal(size=(3, 5))), torch.from_numpy(rng.normal(size=(7, 5)))
    found = Middles([middles, middles[:1]]).errors(x[None], scored_by)
    nearest = middles[torch.cdist(x, middles).argmin(dim=1)]
    for of, errors in zip((nearest, middles[:1].expand(7, 5)), found, strict=True):
        if scored_by == "cosine":
            wanted = 1 - torch.nn.functional.cosine_similarity(x, of)
        else:
            wanted = torch.linalg.vector_norm(x - of, ord=1 if scored_by == "manhattan" else 2, dim=1)
        torch.testing.assert_close(errors, wanted)


def test_small_groups_of_anomalies_do_not_vouch_for_each_other() -> None:
    """Four kinds of normal rows, and two small groups of strange ones, which are each other's neighbours."""
    gains = []
    for draw in (0, 1):
        rng = np.random.default_rng(draw)
        normal, strange = 3 * rng.normal(size=(4, 8)), 3 * rng.normal(size=(2, 8))
        usual = normal[rng.integers(0, 4, 540)] + rng.normal(size=(540, 8))
        X = np.concatenate([usual, strange[rng.integers(0, 2, 60)] + rng.normal(size=(60, 8))])
        is_strange = np.arange(600) >= 540
        without, found = (
            roc_auc_score(is_strange, RSRAE(random_state=0, near_middles=near).fit(X).anomaly_score(X))
            for near in (False, True)
        )
        assert found > 0.9
        gains.append(found - without)
    assert np.mean(gains) > 0.02


def test_documents_and_vectors_have_no_middles(rng: np.random.Generator) -> None:
    X = rng.normal(size=(60, 12))
    scores = [
        RSRAE(epochs=2, random_state=0, unit_norm=True, scaling="none", near_middles=near).fit(X).anomaly_score(X)
        for near in (True, False)
    ]
    np.testing.assert_array_equal(*scores)
