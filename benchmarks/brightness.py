"""How much of an image's own mean should count: ``python -m benchmarks.brightness`` (needs RSRAE_DATA).

Prints mean AUC / AP for several shares kept, of three detectors without a network: the centroid, the centroid of the
best 60 %, and the mean of 20 neighbours among those. c = 0.5, one seed, Caltech 101 (all classes) and Fashion-MNIST
(every third class, 1,000 of its rows).
"""

from __future__ import annotations

from statistics import fmean
from typing import Any

import numpy as np

from rsrae import preprocessing
from rsrae.detectors import make_detector
from rsrae.paper.cells import Cell
from rsrae.paper.measure import trial_of
from rsrae.paper.protocol import auc_and_ap

SHARES = (0.0, 0.2, 0.4, 0.7, 1.0)
TRIALS = {"caltech-101": range(11), "fashion-mnist": range(0, 10, 3)}
POINT = {"n_members": 1, "intrinsic_dim": (0,), "edges": False, "crowd": False, "random_state": 0}
DETECTORS: dict[str, tuple[str, dict[str, Any]]] = {
    "centroid": ("centroid", {}),
    "trimmed centroid": ("rsrae", POINT | {"n_neighbors": 0}),
    "and 20 neighbours": ("rsrae", POINT),
}
MOST_ROWS = 1_000


def measure(data: str, share: float) -> dict[str, tuple[float, float]]:
    """Mean AUC and AP of each detector over the classes of a data set."""
    preprocessing.BRIGHTNESS_KEPT = share
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in DETECTORS}
    for normal in TRIALS[data]:
        trial = trial_of(Cell("brightness", data, "centroid", "default", (normal,), 0.5, seed=0))
        rows = np.random.default_rng(0).permutation(len(trial.X))[:MOST_ROWS]
        X, is_outlier = trial.X[rows], trial.is_outlier[rows]
        for name, (method, parameters) in DETECTORS.items():
            detector = make_detector(method, scaling="contrast", **parameters).fit(X)
            found[name].append(auc_and_ap(is_outlier, detector.anomaly_score(X)))
    return {name: (fmean(auc for auc, _ in both), fmean(ap for _, ap in both)) for name, both in found.items()}


def main() -> None:
    """Print one table a data set."""
    for data in TRIALS:
        print(f"\n| {data}: share of the mean kept | " + " | ".join(DETECTORS) + " |")
        print("|---" * (len(DETECTORS) + 1) + "|")
        for share in SHARES:
            values = (f"{auc:.3f} / {ap:.3f}" for auc, ap in measure(data, share).values())
            print(f"| {share} | " + " | ".join(values) + " |", flush=True)


if __name__ == "__main__":
    main()
