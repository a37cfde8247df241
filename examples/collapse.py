"""Why the published recipe ends at the centroid: one change at a time, on scikit-learn's digits.

``python examples/collapse.py [FOLDER]`` prints a table and, with matplotlib, saves ``collapse.png`` in the folder.
One or three digits are normal; half as many images of the other digits are mixed in. For each setting:

- **spread**: how far the directions of the reconstructions are apart, one minus the length of their mean (0: the
  network says the same for every item);
- **rank**: how many dimensions the codes of the RSR layer use, the squared sum of their singular values' squares over
  the sum of the fourth powers;
- **pull on A**: the gradient of the reconstruction in A as a share of the gradient in all parameters;
- **centroid**: Spearman's correlation of the scores with the cosine to the mean;
- **AUC** of the scores.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from scipy.stats import spearmanr
from sklearn.datasets import load_digits
from sklearn.metrics import roc_auc_score

from rsrae import RSRAE
from rsrae.detectors import make_detector

AUTHORS: dict[str, Any] = {"scaling": "none", "unit_norm": True, "random_state": 0}
SETTINGS: dict[str, dict[str, Any]] = {
    "authors' recipe": {},
    "A orthonormal at the start": {"initialisation": "orthonormal"},
    "code not normalised": {"normalise_code": False},
    "RSR1 in A only": {"rsr_scope": "A"},
    "linear output": {"output_activation": "linear"},
    "batch normalisation": {"normalisation": "batch"},
    "learning rate 0.001": {"learning_rate": 1e-3, "rsr_learning_rate": 1e-2},
    "worst 40 % left out": {"trim": 0.4, "warm_up": 0.05},
}


def trial(normal: tuple[int, ...], seed: int = 0) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_]]:
    """Images of the normal digits with half as many of the others, and which are the others."""
    X, y = load_digits(return_X_y=True)
    rng = np.random.default_rng(seed)
    inliers = rng.permutation(np.flatnonzero(np.isin(y, normal)))[:180]
    outliers = rng.permutation(np.flatnonzero(~np.isin(y, normal)))[: len(inliers) // 2]
    rows = rng.permutation(np.concatenate([inliers, outliers]))
    return X[rows], ~np.isin(y[rows], normal)


def look_at(detector: RSRAE, X: npt.NDArray[np.float64], is_outlier: npt.NDArray[np.bool_]) -> dict[str, float]:
    """What the module's docstring lists, of a detector fitted here."""
    scores = detector.fit(X).anomaly_score(X)
    x_hat = detector.reconstruct(X)
    directions = x_hat / np.linalg.norm(x_hat, axis=1, keepdims=True)
    squares = np.linalg.svd(detector.encode(X), compute_uv=False) ** 2
    network = detector.networks_[0]
    network.gradient(
        torch.from_numpy(detector.preprocess(X)).float().expand(network.n_members, -1, -1), 1.0, None, None
    )
    start, stop = network.A_bounds
    return {
        "spread": max(0.0, 1 - float(np.linalg.norm(directions.mean(axis=0)))),
        "rank": float(squares.sum() ** 2 / (squares**2).sum()),
        "pull on A": float(network.gradients[start:stop].norm() / network.gradients.norm()),
        "centroid": float(spearmanr(scores, make_detector("centroid").fit(X).anomaly_score(X)).statistic),
        "AUC": float(roc_auc_score(is_outlier, scores)),
    }


def measure(normal: tuple[int, ...]) -> dict[str, dict[str, float]]:
    """Every setting, for these normal digits."""
    X, is_outlier = trial(normal)
    found = {
        name: look_at(RSRAE.from_recipe("authors", **AUTHORS | change), X, is_outlier)
        for name, change in SETTINGS.items()
    }
    return found | {"RSRAE(), the default": look_at(RSRAE(**AUTHORS), X, is_outlier)}


def as_markdown(found: dict[str, dict[str, float]], title: str) -> str:
    """One table."""
    columns = list(next(iter(found.values())))
    lines = [f"| {title} | " + " | ".join(columns) + " |", "|---" * (len(columns) + 1) + "|"]
    lines += [f"| {name} | " + " | ".join(f"{row[c]:.2f}" for c in columns) + " |" for name, row in found.items()]
    return "\n".join(lines)


def draw(results: dict[str, dict[str, dict[str, float]]], path: Path) -> None:
    """Spread of the reconstructions against likeness to the centroid, one panel a trial."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(1, len(results), figsize=(11, 4.6), sharey=True, layout="constrained")
    for panel, (title, found) in zip(panels, results.items(), strict=True):
        for number, row in enumerate(found.values()):
            dots = panel.scatter(row["spread"], row["centroid"], c=row["AUC"], vmin=0.5, vmax=1, cmap="viridis", s=60)
            panel.annotate(str(number + 1), (row["spread"], row["centroid"]), xytext=(5, 4), textcoords="offset points")
        panel.set(title=title, xlabel="spread of the reconstructions' directions")
    panels[0].set_ylabel("rank correlation with the centroid")
    figure.colorbar(dots, ax=panels, label="AUC")
    names = [f"{number + 1} {name}" for number, name in enumerate(next(iter(results.values())))]
    figure.supxlabel("   ".join(names[:5]) + "\n" + "   ".join(names[5:]), fontsize=8)
    figure.savefig(path, dpi=110)
    plt.close(figure)


def main(folder: Path | None) -> None:
    """Print the tables; draw the picture if a folder is given."""
    results = {"one digit normal": measure((3,)), "three digits normal": measure((3, 4, 6))}
    print("\n\n".join(as_markdown(found, title) for title, found in results.items()))
    if folder is not None:
        draw(results, folder / "collapse.png")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else None)
