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
from rsrae.networks.company import Company

SMALL: dict[str, Any] = {"hidden": (6, 8), "intrinsic_dim": 2, "n_members": 2, "epochs": 2, "random_state": 0}


def directions(rng: np.random.Generator, n: int = 60, m: int = 12) -> np.ndarray:
    return normalize(rng.gamma(0.5, size=(n, m)))


def by_hand(rows: np.ndarray, scores: np.ndarray, own: np.ndarray, k: int) -> np.ndarray:
    """Every row among the others, all of which are known."""
    cosines = normalize(rows - rows.mean(axis=0))
    cosines = cosines @ cosines.T
    np.fill_diagonal(cosines, -2)
    found = []
    for i, row in enumerate(cosines):
        nearest = np.argsort(-row)[:k]
        weights = np.maximum(row[nearest], 0)
        found.append((own[i] + weights @ scores[nearest]) / (1 + weights.sum()))
    return np.array(found)


@pytest.mark.parametrize("sparse_rows", [True, False])
@pytest.mark.parametrize("sparse_batch", [True, False])
def test_scores_are_evened_out_with_those_of_the_nearest(
    sparse_rows: bool, sparse_batch: bool, rng: np.random.Generator
) -> None:
    rows, scores = directions(rng), rng.normal(size=60)
    company = Company(sp.csr_array(rows) if sparse_rows else torch.from_numpy(rows), torch.from_numpy(scores), k=5)
    batch = SparseBatch([sp.csr_array(rows)]) if sparse_batch else torch.from_numpy(rows)[None]
    found = Company.even_out(torch.from_numpy(scores), company.errors(batch, "cosine"))
    np.testing.assert_allclose(found.numpy(), by_hand(rows, scores, scores, 5))


def test_an_item_that_is_like_nothing_keeps_its_score() -> None:
    rows = torch.eye(6, dtype=torch.float64)
    company = Company(rows[:5], torch.ones(5, dtype=torch.float64), k=3)
    own = torch.tensor([7.0], dtype=torch.float64)
    torch.testing.assert_close(Company.even_out(own, company.errors(rows[None, 5:], "cosine")), own)


def test_a_twin_counts_in_full_but_nobody_for_himself(rng: np.random.Generator) -> None:
    rows = directions(rng, 21)
    rows[20] = rows[3]
    scores = np.zeros(21)
    scores[20] = 5.0
    company = Company(torch.from_numpy(rows), torch.from_numpy(scores), k=1)
    sums = company.errors(torch.from_numpy(rows)[None], "cosine")
    torch.testing.assert_close(sums[:, 3], torch.tensor([5.0, 1.0], dtype=torch.float64))


def test_strange_items_of_one_kind_confirm_each_other(rng: np.random.Generator) -> None:
    X = rng.normal(size=(400, 80)) + np.where(np.arange(400)[:, None] < 40, np.arange(80) % 2, np.arange(80) % 3)
    rows = torch.from_numpy(normalize(X))
    is_strange = np.arange(400) < 40
    said = torch.from_numpy(is_strange + rng.normal(size=400))
    evened = Company.even_out(said, Company(rows, said, k=10).errors(rows[None], "cosine"))
    assert roc_auc_score(is_strange, evened) > roc_auc_score(is_strange, said) + 0.05


def test_the_detector_evens_out_documents_and_vectors(rng: np.random.Generator, tmp_path: Path) -> None:
    X = sp.csr_array(np.where(rng.random((80, 30)) < 0.3, rng.gamma(1.0, size=(80, 30)), 0.0))
    alone: dict[str, Any] = {"crowd": False}  # which is evened out, too
    for rows, settings in ((X, alone), (X.toarray(), alone | {"unit_norm": True, "scaling": "none"})):
        detector = RSRAE(**SMALL, **settings).fit(rows)
        before = RSRAE(**SMALL, **settings, n_alike=0).fit(rows).anomaly_score(rows)
        scores = detector.anomaly_score(rows)
        np.testing.assert_allclose(scores, by_hand(normalize(X.toarray()), before, before, 10), rtol=1e-3, atol=1e-4)
        np.testing.assert_allclose(detector.anomaly_score(rows[7:8]), scores[7:8], rtol=1e-6)
        detector.save(tmp_path / "model")
        np.testing.assert_array_equal(rsrae.load(tmp_path / "model").anomaly_score(rows), scores)


def test_of_few_pictures_fewer_count_as_alike(easy_images: Any, tmp_path: Path) -> None:
    detector = RSRAE(**SMALL).fit(easy_images.X)  # a hundred
    assert detector.panel_.company is not None
    assert detector.panel_.company.k == 2
    detector.save(tmp_path / "model")
    again = rsrae.load(tmp_path / "model")
    np.testing.assert_array_equal(again.anomaly_score(easy_images.X), detector.anomaly_score(easy_images.X))


def test_tables_convolutions_and_single_networks_keep_no_company(easy_table: Any, easy_images: Any) -> None:
    assert RSRAE(**SMALL).fit(easy_table.X).panel_.company is None
    convolutions = SMALL | {"epochs": 1, "layers": "convolutional"}
    assert RSRAE(**convolutions).fit(easy_images.X[:20]).panel_.company is None
    alone = RSRAE(**SMALL | {"n_members": 1}, n_neighbors=0, unit_norm=True).fit(easy_table.X)
    assert alone.panel_.company is None


def test_many_rows_are_represented_by_some(rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rsrae.detectors.panel_fitting.MOST_KEPT", 20)
    detector = RSRAE(**SMALL, unit_norm=True, scaling="none").fit(directions(rng))
    assert detector.panel_.company.rows.shape == (20, 12)
    assert np.isfinite(detector.anomaly_score(directions(rng))).all()


@pytest.mark.parametrize(
    "change",
    [
        lambda a: {"company.scores": a["company.scores"][:-1]},
        lambda a: {"company.rows": a["company.rows"][:1]},
        lambda a: {"company.rows": a["company.rows"].astype(np.int64)},
        lambda a: {"neighbours.rows": a["neighbours.rows"].astype(np.int64)},
    ],
)
def test_a_file_with_broken_company_is_refused(change: Any, rng: np.random.Generator, tmp_path: Path) -> None:
    RSRAE(**SMALL, unit_norm=True, scaling="none").fit(directions(rng)).save(tmp_path / "model")
    header, arrays = read_model(tmp_path / "model")
    write_model(tmp_path / "broken", header, arrays | change(arrays))
    with pytest.raises(ModelFileError):
        rsrae.load(tmp_path / "broken")
