from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from sklearn.metrics import roc_auc_score
from sklearn.preprocessing import normalize

import rsrae
from rsrae import RSRAE
from rsrae.errors import ModelFileError
from rsrae.modelfile import read_model, write_model
from rsrae.networks.batches import SparseBatch
from rsrae.networks.crowd import Crowd, ranks_in_band

SMALL: dict[str, Any] = {"hidden": (6, 8), "intrinsic_dim": (0, 2), "n_members": 2, "epochs": 2, "random_state": 0}


def directions(rng: np.random.Generator, n: int = 60, m: int = 12) -> np.ndarray:
    return normalize(rng.gamma(0.5, size=(n, m)))


@pytest.mark.parametrize("sparse_rows", [True, False])
@pytest.mark.parametrize("batch", ["sparse", "double", "single"])
def test_the_score_is_one_minus_the_mean_cosine_with_the_rows_of_these_ranks_itself_left_out(
    sparse_rows: bool, batch: str, rng: np.random.Generator
) -> None:
    rows = directions(rng)
    crowd = Crowd(sp.csr_array(rows) if sparse_rows else torch.from_numpy(rows), (5, 17))
    seen: Any = torch.from_numpy(rows)[None]
    if batch == "sparse":
        seen = SparseBatch([sp.csr_array(rows)])
    elif batch == "single":
        seen = seen.float()
    cosines = rows @ rows.T
    np.fill_diagonal(cosines, -2)
    wanted = 1 - np.sort(-cosines, axis=1)[:, 5:17].mean(axis=1) * -1
    np.testing.assert_allclose(crowd.errors(seen, "cosine")[0].numpy(), wanted, rtol=1e-5)


@pytest.mark.parametrize(("n_rows", "share"), [(2, 1.0), (3, 0.6), (7, 1.0), (40, 0.1), (1_000, 0.6)])
def test_there_is_always_a_row_to_look_at(n_rows: int, share: float) -> None:
    first, last = ranks_in_band(n_rows, share)
    assert 0 <= first < last < n_rows


def test_a_small_group_that_lies_close_together_is_no_crowd(rng: np.random.Generator) -> None:
    kinds = normalize(rng.normal(size=(4, 20)))
    # Three large kinds, and one of four rows in a hundred whose rows are nearer to each other than any others.
    of_kind = np.repeat([0, 1, 2, 3], [64, 64, 64, 8])
    X = normalize(kinds[of_kind] + rng.normal(size=(200, 20)) * np.where(of_kind == 3, 0.02, 0.1)[:, None])
    is_strange = of_kind == 3
    rows = torch.from_numpy(X)
    scores = Crowd(rows, ranks_in_band(200, 1.0)).errors(rows[None], "cosine")[0]
    assert roc_auc_score(is_strange, scores) == 1.0
    assert roc_auc_score(is_strange, Crowd(rows, (0, 5)).errors(rows[None], "cosine")[0]) == 0.0


def test_neighbours_are_sought_among_rows_that_have_a_crowd(rng: np.random.Generator) -> None:
    kinds = normalize(rng.normal(size=(4, 30)))
    of_kind = np.repeat([0, 1, 2, 3], [64, 64, 64, 8])
    X = normalize(kinds[of_kind] + rng.normal(size=(200, 30)) * np.where(of_kind == 3, 0.02, 0.1)[:, None])
    detector = RSRAE(scaling="none", unit_norm=True, **SMALL).fit(X)
    assert detector.panel_.neighbours is not None
    assert detector.panel_.crowd is not None
    assert detector.panel_.crowd.rows is detector.panel_.neighbours.rows
    assert detector.panel_.crowd.ranks == (10, 30)
    kept = detector.panel_.neighbours.rows.numpy()
    assert len(kept) == 120
    assert (kept @ X[of_kind == 3].T).max() < 0.9


@pytest.mark.parametrize("settings", [{"crowd": False}, {"n_neighbors": 0}, {"scaling": "robust", "unit_norm": False}])
def test_there_is_no_crowd_where_it_is_not_asked_for_or_rows_are_no_directions(
    settings: dict[str, Any], rng: np.random.Generator
) -> None:
    X = rng.normal(size=(40, 6))
    assert RSRAE(**SMALL, **{"scaling": "none", "unit_norm": True} | settings).fit(X).panel_.crowd is None


@pytest.mark.parametrize("n_rows", [2, 3, 5])
def test_few_documents_are_enough(n_rows: int) -> None:
    X = sp.csr_array(np.eye(n_rows, 8))
    assert np.isfinite(RSRAE(**SMALL).fit(X).anomaly_score(X)).all()


@pytest.mark.parametrize("ranks", [[3, 3], [-1, 2], [0, 60], [1.0, 2.0], [5, 2], [0], [0, 1, 2]])
def test_a_hostile_file_has_no_crowd(ranks: list[Any], rng: np.random.Generator, tmp_path: Path) -> None:
    X = directions(rng)
    detector = RSRAE(scaling="none", unit_norm=True, **SMALL).fit(X)
    detector.save(tmp_path / "model")
    again = rsrae.load(tmp_path / "model")
    np.testing.assert_array_equal(again.anomaly_score(X), detector.anomaly_score(X))
    header, arrays = read_model(tmp_path / "model")
    write_model(tmp_path / "hostile", header, arrays | {"crowd.ranks": np.array(ranks)})
    with pytest.raises(ModelFileError):
        rsrae.load(tmp_path / "hostile")
