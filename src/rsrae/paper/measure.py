"""Measure one cell: load, draw, fit, score, judge."""

from __future__ import annotations

import os
import platform
import time
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.stats import rankdata
from sklearn.preprocessing import normalize
from threadpoolctl import threadpool_info

from rsrae import __version__
from rsrae.explain import accepted_form
from rsrae.paper import datasets
from rsrae.paper.cells import Cell
from rsrae.paper.protocol import (
    Matrix,
    Recipe,
    Trial,
    auc_and_ap,
    draw_table_trial,
    draw_trial,
    vectorise,
)
from rsrae.thresholds import estimate_contamination

HISTOGRAM_BINS = 40
AUTOENCODERS = frozenset({"rsrae", "rsrae+", "ae-1", "ae"})


def measure(cell: Cell) -> dict[str, Any]:
    """Run one cell and return what was found, as plain JSON values.

    Returns
    -------
    ``auc``, ``ap`` (outliers positive), ``centroid_correlation`` (Spearman's, between the method's
    scores and the centroid's; None where one of them is constant), ``seconds_fit``, ``seconds_score``,
    ``n``, ``n_outliers``, ``estimated_share`` (of outliers, from the scores alone); for the Swiss roll also
    the ``histogram`` of the scores.
    """
    trial = trial_of(cell)
    detector = detector_of(cell)
    X = accepted_form(trial.X, detector.accepts)
    started = time.perf_counter()
    detector.fit(X)
    fitted = time.perf_counter()
    scores = np.asarray(detector.anomaly_score(X), dtype=np.float64)
    scored = time.perf_counter()

    auc, ap = auc_and_ap(trial.is_outlier, scores)
    found: dict[str, Any] = {
        "auc": auc,
        "ap": ap,
        "centroid_correlation": rank_correlation(scores, centroid_scores(trial.X)),
        "seconds_fit": fitted - started,
        "seconds_score": scored - fitted,
        "n": len(scores),
        "n_outliers": int(trial.is_outlier.sum()),
        "estimated_share": estimate_contamination(scores),
    }
    if cell.data == "swiss-roll":
        found["histogram"] = _histogram(scores, trial.is_outlier)
    return found


def trial_of(cell: Cell) -> Trial:
    """Draw the rows of a cell."""
    X, y = _vectorised(cell.data, cell.recipe)
    if cell.c is None:
        return draw_table_trial(X, y, seed=cell.seed)
    return draw_trial(X, y, cell.classes, cell.c, seed=cell.seed, outliers=cell.outliers)


def detector_of(cell: Cell) -> Any:
    """Make the detector of a cell, ready to be fitted on rows that the protocol has scaled.

    Images reach all methods as in the paper, values in [-1, 1]; recipe "default" leaves their scaling to the method.
    A learning rate among the cell's parameters moves that of the RSR steps along, in the recipe's proportion.
    """
    from rsrae.detectors import make_detector

    has_recipe = cell.method in AUTOENCODERS
    detector = make_detector(cell.method, **({"recipe": cell.recipe} if has_recipe else {}))
    settings: dict[str, Any] = {"random_state": cell.seed}
    if cell.recipe != "default" and datasets.info(cell.data).kind == "images" and "images" in detector.accepts:
        settings["scaling"] = "unit-cube"  # the paper's
    if cell.recipe != "default" and cell.method == "fms":
        settings["unit_norm"] = False  # on rows of unit norm FMS is SFMS
    if has_recipe and cell.recipe != "default":
        settings |= {"scaling": "none", "unit_norm": False}
        rsr_rate, given = getattr(detector, "rsr_learning_rate", None), dict(cell.params).get("learning_rate")
        if rsr_rate is not None and given is not None:
            settings["rsr_learning_rate"] = rsr_rate / detector.learning_rate * float(given)
    offered = detector.get_params()
    detector.set_params(**{name: value for name, value in settings.items() if name in offered})
    return detector.set_params(**dict(cell.params))


def centroid_scores(X: Matrix) -> npt.NDArray[np.float64]:
    """Score rows by the one-line baseline: minus the cosine to the mean of the unit rows.

    >>> centroid_scores(np.array([[1.0, 0.0], [2.0, 0.0], [0.0, 1.0]])).round(2).tolist()
    [-0.89, -0.89, -0.45]
    """
    rows = normalize(X if sp.issparse(X) else X.reshape(len(X), -1).astype(np.float64))
    mean = np.asarray(rows.mean(axis=0)).ravel()
    return np.asarray(-(rows @ mean) / (np.linalg.norm(mean) or 1.0), dtype=np.float64)


def rank_correlation(a: npt.NDArray[Any], b: npt.NDArray[Any]) -> float | None:
    """Spearman's rank correlation; None if one of the two is constant.

    >>> rank_correlation(np.array([1, 2, 3]), np.array([10, 20, 15]))
    0.5
    """
    ranks = np.vstack([rankdata(a), rankdata(b)])
    if np.ptp(ranks, axis=1).min() == 0:
        return None
    return round(float(np.corrcoef(ranks)[0, 1]), 6)


@lru_cache(maxsize=1)
def environment() -> dict[str, Any]:
    """Return what a reader needs to judge a time: versions, threads and machine."""
    import torch

    return {
        "versions": {
            "rsrae": __version__,
            "python": platform.python_version(),
            "torch": torch.__version__,
            **{name: version(name) for name in ("numpy", "scipy", "scikit-learn")},
        },
        "threads": max([torch.get_num_threads(), *(pool["num_threads"] for pool in threadpool_info())]),
        "machine": {"cpu": _cpu_model(), "cores": os.cpu_count(), "system": platform.system()},
    }


@lru_cache(maxsize=2)
def _vectorised(data: str, recipe: Recipe) -> tuple[Matrix, npt.NDArray[np.int64]]:
    return vectorise(datasets.load(data), recipe)


def _histogram(scores: npt.NDArray[np.float64], is_outlier: npt.NDArray[np.bool_]) -> dict[str, list[float]]:
    edges = np.linspace(scores.min(), scores.max(), HISTOGRAM_BINS + 1)
    return {
        "edges": [float(f"{edge:.6g}") for edge in edges],
        "normal": np.histogram(scores[~is_outlier], edges)[0].tolist(),
        "anomalous": np.histogram(scores[is_outlier], edges)[0].tolist(),
    }


def _cpu_model() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
