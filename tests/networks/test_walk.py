"""Scores of all rows, block by block, on one thread and on several."""

from __future__ import annotations

import os
import subprocess
import sys
import threading

import numpy as np
import pytest
import torch
from torch import Tensor

from rsrae import RSRAE
from rsrae.errors import InputError
from rsrae.networks import rows as rows_room
from rsrae.networks.rows import DenseRows
from rsrae.networks.walk import score_blocks
from rsrae.preprocessing import fit_preprocessor


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows_room, "BLOCK_ROWS", (4, 16))


def rows_of(X: np.ndarray[tuple[int, int], np.dtype[np.float64]]) -> DenseRows:
    return DenseRows(
        X, fit_preprocessor(X, scaling="none", tame=False, unit_norm=False), dtype=torch.float64, even=True
    )


@pytest.mark.parametrize("n_threads", [1, 3])
@pytest.mark.parametrize("n_rows", [1, 15, 16, 17, 33, 200])
def test_every_row_is_scored_once_and_in_its_place(n_rows: int, n_threads: int) -> None:
    X = np.arange(3.0 * n_rows).reshape(n_rows, 3)
    scores = score_blocks(rows_of(X), lambda x: torch.stack([x[0].sum(1), -x[0].sum(1)]), n_threads=n_threads)
    np.testing.assert_array_equal(scores, np.stack([X.sum(1), -X.sum(1)]))


def test_several_threads_take_part_and_none_wakes_others() -> None:
    seen: dict[int, int] = {}
    met = threading.Barrier(2, timeout=30)

    def score(x: Tensor) -> Tensor:
        if threading.current_thread() is not threading.main_thread():
            met.wait()  # an error unless two threads are here at once
        seen[threading.get_ident()] = torch.get_num_threads()
        return x[0].sum(1)[None]

    before = torch.get_num_threads()
    score_blocks(rows_of(np.ones((16 * 9, 2))), score, n_threads=2)
    assert len(seen) == 3  # the first block is taken before there are others
    assert set(seen.values()) == {1}
    assert torch.get_num_threads() == before


def test_an_error_in_a_thread_is_an_error_of_the_call() -> None:
    def score(x: Tensor) -> Tensor:
        if float(x.max()) > 100:
            raise RuntimeError("too large")
        return x[0].sum(1)[None]

    with pytest.raises(RuntimeError, match="too large"):
        score_blocks(rows_of(np.arange(400.0).reshape(200, 2)), score, n_threads=2)


def test_no_rows_are_an_error() -> None:
    with pytest.raises(InputError, match="no rows"):
        score_blocks(rows_of(np.zeros((5, 2))[:0]), lambda x: x[0], n_threads=2)


@pytest.mark.parametrize("settings", [{}, {"n_members": 1, "n_neighbors": 0, "intrinsic_dim": 3}])
@pytest.mark.parametrize("n_columns", [2, 30, 129])
def test_a_row_scores_the_same_to_the_last_bit_in_any_block_and_on_any_number_of_threads(
    n_columns: int, settings: dict[str, int], monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator
) -> None:
    monkeypatch.undo()
    X = rng.normal(size=(4_500, n_columns)).astype(np.float32)
    detector = RSRAE(epochs=1, random_state=0, n_threads=1, **settings).fit(X[:200])
    scores = detector.anomaly_score(X)
    for n_rows in (1, 64, 100, 1_000, 2_049):
        np.testing.assert_array_equal(detector.anomaly_score(X[7 : 7 + n_rows]), scores[7 : 7 + n_rows])
    np.testing.assert_array_equal(detector.set_params(n_threads=3).anomaly_score(X), scores)


ON_A_LESSER_PROCESSOR = """
import numpy as np
from rsrae import RSRAE
for n_columns in (1, 16, 40, 1_000):
    X = np.random.default_rng(0).normal(size=(1_600, n_columns)).astype(np.float32)
    detector = RSRAE(epochs=1, n_members=2, random_state=0).fit(X[:100])
    scores = detector.anomaly_score(X)
    for n_rows in (1, 64, 200, 512, 1_024):
        np.testing.assert_array_equal(detector.anomaly_score(X[7 : 7 + n_rows]), scores[7 : 7 + n_rows])
"""


def test_a_row_scores_the_same_in_any_block_where_matrix_products_have_other_kernels() -> None:
    fewer = {"MKL_ENABLE_INSTRUCTIONS": "AVX2", "ATEN_CPU_CAPABILITY": "avx2"}
    subprocess.run([sys.executable, "-c", ON_A_LESSER_PROCESSOR], check=True, env=os.environ | fewer)
