"""Where the time of an epoch goes: by part of the loop, and by operator."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any
from unittest.mock import patch

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from rsrae.networks.architecture import Architecture
from rsrae.networks.batches import Batch
from rsrae.networks.dense import DenseNetwork
from rsrae.networks.network import orthogonality_step, projection_step, reconstruction_step
from rsrae.networks.rows import AnyRows, make_rows
from rsrae.preprocessing import fit_preprocessor
from rsrae.training import Adam, Step, limited_threads, run_epochs, train

PARTS = {
    "rows": "taking the rows of a batch",
    "reconstruction": "reconstruction: forward and backward",
    "projection": "RSR1: gradient in A",
    "orthogonality": "RSR2: gradient in A",
    "update": "three updates (Adam)",
    "loop": "the loop itself",
}


class Stopwatch:
    """Seconds spent in wrapped functions, by name."""

    def __init__(self) -> None:
        self.seconds: Counter[str] = Counter()

    def around(self, name: str, work: Callable[..., Any]) -> Callable[..., Any]:
        def watched(*given: Any) -> Any:
            began = time.perf_counter()
            answer = work(*given)
            self.seconds[name] += time.perf_counter() - began  # type: ignore[assignment]
            return answer

        return watched


class WatchedRows:
    """Rows whose ``take`` is timed."""

    def __init__(self, rows: AnyRows, watch: Stopwatch) -> None:
        self.n_rows = rows.n_rows
        self.take: Callable[[Tensor], Batch] = watch.around("rows", rows.take)


def epoch_by_part(X: npt.NDArray[np.float32], *, hidden: tuple[int, ...], intrinsic_dim: int) -> dict[str, float]:
    """Seconds of one epoch (after one that does not count) on one thread, by the keys of ``PARTS``."""
    rows, steps = _ingredients(X, hidden, intrinsic_dim)
    _train(steps, rows)
    watch = Stopwatch()
    watched = [replace(step, gradient=watch.around(step.name, step.gradient)) for step in steps]
    with patch.object(Adam, "step", watch.around("update", Adam.step)):
        began = time.perf_counter()
        _train(watched, WatchedRows(rows, watch))
        whole = time.perf_counter() - began
    return {**watch.seconds, "loop": whole - sum(watch.seconds.values())}


def epoch_by_operator(X: npt.NDArray[np.float32], *, hidden: tuple[int, ...], intrinsic_dim: int) -> dict[str, float]:
    """Shares of an epoch's time inside torch, by operator; watching them makes each slower by about the same."""
    rows, steps = _ingredients(X, hidden, intrinsic_dim)
    _train(steps, rows)
    os.environ.setdefault("KINETO_LOG_LEVEL", "99")  # the profiler would report its own start and end
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
        _train(steps, rows)
    events = profile.key_averages()
    whole = sum(event.self_cpu_time_total for event in events)
    return {event.key: event.self_cpu_time_total / whole for event in events}


def _ingredients(
    X: npt.NDArray[np.float32], hidden: tuple[int, ...], intrinsic_dim: int
) -> tuple[AnyRows, list[Step[Batch]]]:
    # What RSRAE.fit puts together, with the parts in our hands.
    rows = make_rows(X, fit_preprocessor(X, scaling="robust", tame=True))
    architecture = Architecture((X.shape[1],), intrinsic_dim, hidden, activation="relu")
    network = DenseNetwork(architecture, [torch.Generator().manual_seed(0)])
    return rows, [
        reconstruction_step(network, p=1.0, learning_rate=1e-3),
        projection_step(network, q=1.0, learning_rate=1e-3),
        orthogonality_step(network, learning_rate=1e-3),
    ]


def _train(steps: list[Step[Batch]], rows: Any) -> None:
    with limited_threads(1), torch.inference_mode():
        train([run_epochs(steps, rows, batch_size=128, generator=torch.Generator().manual_seed(0))], epochs=1)
