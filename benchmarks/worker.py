"""The process in the peers' environment: one JSON question a line comes in, one JSON answer a line goes out.

It is run by :mod:`benchmarks.peers` with the peers' interpreter and imports nothing of ours but the rows.
"""

from __future__ import annotations

import functools
import importlib.metadata
import json
import os
import sys
import time
import traceback
from collections.abc import Callable
from typing import Any

from benchmarks.data import Table, table

cached_table = functools.lru_cache(maxsize=1)(table)


def main() -> None:
    # Libraries print; the pipe is for answers only.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8", buffering=1)
    os.dup2(2, 1)
    for line in sys.stdin:
        about = json.loads(line)
        try:
            answer = QUESTIONS[about.pop("question")](**about)
        except Exception as error:
            traceback.print_exc()
            answer = {"error": f"{type(error).__name__}: {error}".splitlines()[0]}
        print(json.dumps(answer), file=answers)


def versions() -> dict[str, str]:
    found = {}
    for name in ("pyod", "scikit-learn", "deepod", "torch", "numpy"):
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def pyod_autoencoder(*, rows: int, columns: int, hidden: list[int], epochs: int, batch_size: int) -> dict[str, Any]:
    """PyOD's AutoEncoder with these layers; no normalisation and no dropout, as in the network it stands beside."""
    from pyod.models.auto_encoder import AutoEncoder  # type: ignore[import-not-found]

    class Watched(AutoEncoder):  # type: ignore[misc]
        def epoch_update(self) -> None:
            ticks.append(time.perf_counter())

    ticks: list[float] = []
    detector = Watched(
        hidden_neuron_list=hidden,
        epoch_num=epochs,
        batch_size=batch_size,
        batch_norm=False,
        dropout_rate=0.0,
        verbose=0,
        device="cpu",
    )
    return _fit(detector, cached_table(rows, columns), ticks)


def deepod_deep_svdd(*, rows: int, columns: int, hidden: list[int], epochs: int, batch_size: int) -> dict[str, Any]:
    """DeepOD's DeepSVDD with these layers: an encoder only, half of an autoencoder."""
    from deepod.models import DeepSVDD  # type: ignore[import-not-found]

    class Watched(DeepSVDD):  # type: ignore[misc]
        def epoch_update(self) -> None:
            ticks.append(time.perf_counter())

    ticks: list[float] = []
    detector = Watched(
        hidden_dims=hidden[:-1], rep_dim=hidden[-1], epochs=epochs, batch_size=batch_size, device="cpu", verbose=0
    )
    return _fit(detector, cached_table(rows, columns), ticks)


def isolation_forest(*, rows: int, columns: int, trees: int) -> dict[str, float]:
    """Seconds in which scikit-learn's IsolationForest scores the rows."""
    forest = _fitted_forest(columns, trees)
    X = cached_table(rows, columns)
    began = time.perf_counter()
    forest.score_samples(X)
    return {"seconds": time.perf_counter() - began}


def scores(*, peer: str, rows: str, seed: int) -> dict[str, Any]:
    """The scores that a peer gives the rows it was fitted on, with its own default settings."""
    import numpy as np

    X = np.load(rows)
    began = time.perf_counter()
    if peer == "pyod ecod":
        from pyod.models.ecod import ECOD  # type: ignore[import-not-found]

        detector = ECOD()
    else:
        from pyod.models.auto_encoder import AutoEncoder

        detector = AutoEncoder(random_state=seed, verbose=0, device="cpu")
    detector.fit(X)
    return {"scores": detector.decision_scores_.tolist(), "seconds": time.perf_counter() - began}


@functools.cache
def _fitted_forest(columns: int, trees: int) -> Any:
    from sklearn.ensemble import IsolationForest

    return IsolationForest(n_estimators=trees, random_state=0, n_jobs=1).fit(table(2_000, columns, seed=1))


def _fit(detector: Any, X: Table, ticks: list[float]) -> dict[str, Any]:
    import torch

    torch.set_num_threads(1)
    began = time.perf_counter()
    detector.fit(X)
    fit = time.perf_counter() - began
    return {"ticks": [tick - began for tick in ticks], "fit": fit}


QUESTIONS: dict[str, Callable[..., dict[str, Any]]] = {
    "versions": versions,
    "pyod_autoencoder": pyod_autoencoder,
    "deepod_deep_svdd": deepod_deep_svdd,
    "isolation_forest": isolation_forest,
    "scores": scores,
}

if __name__ == "__main__":
    main()
