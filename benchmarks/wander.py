"""How the authors' recipe gets on with its epochs: ``python -m benchmarks.wander [NAME=VALUE ...]``.

Fashion-MNIST, class 0 against the first outliers, c = 0.5, as in the authors' script: the AUC, the rank correlation
with the centroid, the eigenvalues of A'A and how much the unit codes of items differ, every ten epochs. Settings of the
recipe can be changed, one at a time or several: ``initialisation=orthonormal``, ``rsr_scope=A``. Needs RSRAE_DATA.
"""

from __future__ import annotations

import sys

import numpy as np
import torch

from rsrae.paper.cells import Cell
from rsrae.paper.measure import centroid_scores, detector_of, rank_correlation, trial_of
from rsrae.paper.protocol import auc_and_ap

EVERY, EPOCHS = 10, 200


def main(*changes: str) -> None:
    """Print one line every ten epochs."""
    params = tuple(sorted((name, value) for name, _, value in (change.partition("=") for change in changes)))
    cell = Cell("wander", "fashion-mnist", "rsrae", "authors", (0,), 0.5, 0, "first", params)
    trial, detector = trial_of(cell), detector_of(cell)
    centroid = centroid_scores(trial.X)
    print(f"centroid: AUC {auc_and_ap(trial.is_outlier, centroid)[0]:.3f}\n")
    print("| epochs | AUC | correlation with the centroid | eigenvalues of A'A | spread of the codes |")
    print("|---|---|---|---|---|")
    # A second fit goes on with networks and optimisers as they are.
    detector.set_params(warm_start=True, epochs=EVERY)
    for epochs in range(EVERY, EPOCHS + 1, EVERY):
        scores = detector.fit(trial.X).anomaly_score(trial.X)
        A = detector.networks_[0].A[0]
        eigenvalues = torch.linalg.eigvalsh(A.mT @ A)
        codes = detector.encode(trial.X)
        units = codes / np.maximum(np.linalg.norm(codes, axis=1, keepdims=True), 1e-12)
        auc, likeness = auc_and_ap(trial.is_outlier, scores)[0], rank_correlation(scores, centroid) or 0.0
        pull = f"{eigenvalues[0]:.3g} to {eigenvalues[-1]:.3g}"
        spread = float(np.linalg.norm(units.std(axis=0)))
        print(f"| {epochs} | {auc:.3f} | {likeness:.2f} | {pull} | {spread:.2f} |", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
