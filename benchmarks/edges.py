"""What edges beside pixels are worth, to ``RSRAE()`` and to methods without a network: ``python -m benchmarks.edges``
(needs RSRAE_DATA).

Prints mean AUC / AP. Methods without a network see pictures as ``RSRAE()`` does: pixels with less brightness, or these
and their edges, of unit norm. c = 0.5, one seed; all classes of Caltech 101, every third of Fashion-MNIST and of the
pixels of Tiny ImageNet.
"""

from __future__ import annotations

from collections.abc import Iterator
from statistics import fmean
from typing import Any

import numpy as np
import torch

from rsrae.detectors import make_detector
from rsrae.paper.cells import Cell
from rsrae.paper.measure import trial_of
from rsrae.paper.protocol import auc_and_ap
from rsrae.preprocessing import fit_preprocessor

TRIALS = (
    ("caltech-101", 1, range(11)),
    ("caltech-101", 3, range(11)),
    ("fashion-mnist", 1, range(0, 10, 3)),
    ("fashion-mnist", 3, range(0, 10, 3)),
    ("tiny-imagenet", 1, range(0, 10, 3)),
)
OTHERS: dict[str, tuple[str, dict[str, Any]]] = {
    "centroid": ("centroid", {}),
    "trimmed centroid": ("centroid", {"refit": 0.6}),
    "5 nearest": ("knn", {}),
    "100 nearest": ("knn", {"n_neighbors": 100}),
}


def measure(data: str, normal: tuple[int, ...]) -> Iterator[tuple[tuple[str, bool], tuple[float, float]]]:
    """AUC and AP of every method on one trial, without edges and with them."""
    trial = trial_of(Cell("edges", data, "centroid", "default", normal, 0.5, seed=0))
    images = np.asarray(trial.X)
    images = images.reshape(*images.shape[:3], -1)  # grey ones have no channels
    pixels = fit_preprocessor(images, tame=False)
    for has_edges in (False, True):
        detector = make_detector("rsrae", edges=has_edges, random_state=0).fit(trial.X)
        yield ("RSRAE()", has_edges), auc_and_ap(trial.is_outlier, detector.anomaly_score(trial.X))
        seen = pixels.with_edges(images.shape[1:]) if has_edges else pixels
        rows = seen.apply(torch.from_numpy(images).double()).flatten(start_dim=1).numpy()
        for name, (method, parameters) in OTHERS.items():
            other = make_detector(method, scaling="none", unit_norm=True, **parameters).fit(rows)
            yield (name, has_edges), auc_and_ap(trial.is_outlier, other.anomaly_score(rows))


def main() -> None:
    """Print a table with a line for every kind of trial, once without edges and once with them."""
    names = ["RSRAE()", *OTHERS]
    print("| mean AUC / AP | | " + " | ".join(names) + " |")
    print("|---" * (len(names) + 2) + "|")
    for data, n_normal, first_classes in TRIALS:
        found: dict[tuple[str, bool], list[tuple[float, float]]] = {}
        n_classes = 11 if data == "caltech-101" else 10
        for first in first_classes:
            normal = tuple(sorted((first + step) % n_classes for step in range(n_normal)))
            for key, value in measure(data, normal):
                found.setdefault(key, []).append(value)
        for has_edges in (False, True):
            means = [[fmean(values) for values in zip(*found[name, has_edges], strict=True)] for name in names]
            line = " | ".join(f"{auc:.3f} / {ap:.3f}" for auc, ap in means)
            seen = "pixels and edges" if has_edges else "pixels"
            print(f"| {data}, {n_normal} normal | {seen} | {line} |", flush=True)


if __name__ == "__main__":
    main()
