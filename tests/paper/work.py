"""Measures for worker processes, which must be able to import them."""

from __future__ import annotations

import os
import signal
from typing import Any

import numpy as np

from rsrae.paper.cells import Cell


def quick_measure(cell: Cell) -> dict[str, Any]:
    auc = float(np.random.default_rng(cell.seed).uniform())
    return {"auc": auc, "ap": auc / 2, "seconds_fit": 0.001, "seconds_score": 0.001}


def measure_with_accidents(cell: Cell) -> dict[str, Any]:
    if cell.seed == 1:
        raise ValueError("seed one is unlucky")
    if cell.seed == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    return quick_measure(cell)
