"""The authors' own code on Fashion-MNIST: ``python -m benchmarks.theirs CHECKOUT [CLASS ...]``.

``CHECKOUT`` is a clone of https://github.com/dmzou/RSRAE. Its model is written for TensorFlow 1 and is run as it stands
in the compatibility mode of TensorFlow 2; neither is one of our dependencies, so this takes an environment of its own,
with ``tensorflow-cpu tf_keras scikit-learn``. Settings, scaling, first outliers and score as in their script, c = 0.5;
the AUC after the 200th epoch, and its mean over looks every ten epochs. Five minutes a class on one core. Needs
RSRAE_DATA.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.metrics import roc_auc_score
from sklearn.preprocessing import normalize

N_OUTLIERS, EPOCHS, EVERY = 500, 200, 10


def main(checkout: str, *classes: str) -> None:
    """Print one line of JSON a class, then the means."""
    os.environ |= {"TF_USE_LEGACY_KERAS": "1", "TF_CPP_MIN_LOG_LEVEL": "3"}
    tensorflow = importlib.import_module("tensorflow.compat.v1")
    tensorflow.disable_v2_behavior()
    sys.modules["tensorflow"] = tensorflow
    sys.path.insert(0, str(Path(checkout) / "RSRAE"))
    model = importlib.import_module("model")
    found = [measure(model.CAE, tensorflow, number) for number in map(int, classes or range(10))]
    means = {name: round(fmean(one[name] for one in found), 4) for name in ("auc", "mean_of_looks", "centroid")}
    print(json.dumps({"class": "mean", **means}))


def measure(make: Any, tensorflow: Any, number: int) -> dict[str, Any]:
    """One class of Fashion-MNIST against the first items of the others."""
    with np.load(Path(os.environ["RSRAE_DATA"]) / "fashion_mnist_test.npz") as file:
        images, labels = file["X"], file["y"]
    inliers, outliers = images[labels == number], images[labels != number][:N_OUTLIERS]
    is_outlier = np.repeat([False, True], [len(inliers), len(outliers)])
    X = normalize(np.concatenate([inliers, outliers]).reshape(len(is_outlier), -1) / 255 * 2 - 1)
    looks: list[float] = []
    network = make(
        input_shape=(28, 28, 1),
        hidden_layer_sizes=(32, 64, 128),
        intrinsic_size=10,
        activation=tensorflow.nn.tanh,
        norm_type="L21",
        loss_norm_type="L21",
        if_rsr=True,
        enforce_proj=True,
        all_alt=True,
        learning_rate=0.00025,
        epoch_size=EPOCHS,
        batch_show=None,
        lambda1=0.0025,
        normalize=True,
        bn=True,
        random_seed=None,
    )
    as_images = _Watched(X.reshape(-1, 28, 28, 1).astype(np.float32), lambda: looks.append(auc(network, X, is_outlier)))
    network.fit(as_images)
    last = auc(network, X, is_outlier)
    answer = {
        "class": number,
        "auc": round(last, 4),
        "looks": [round(look, 4) for look in [*looks, last]],
        "mean_of_looks": round(fmean([*looks, last]), 4),
        "centroid": round(float(roc_auc_score(is_outlier, -(X @ X.mean(axis=0)))), 4),
    }
    print(json.dumps(answer), flush=True)
    return answer


def auc(network: Any, X: npt.NDArray[np.float64], is_outlier: npt.NDArray[np.bool_]) -> float:
    """The score of their script: minus the cosine between an item and what becomes of it."""
    x_hat = network.get_output(X.reshape(-1, 28, 28, 1)).reshape(X.shape)
    cosine = (x_hat * X).sum(axis=1) / (np.linalg.norm(x_hat, axis=1) + 1e-6) / (np.linalg.norm(X, axis=1) + 1e-6)
    return float(roc_auc_score(is_outlier, -cosine))


class _Watched:
    """Their ``fit`` tells nobody about its epochs; it does take the rows of every batch from here."""

    def __init__(self, X: npt.NDArray[np.float32], look: Any) -> None:
        self.X, self.shape, self.look = X, X.shape, look
        self.n_taken = 0

    def __getitem__(self, index: Any) -> npt.NDArray[np.float32]:
        n_batches = -(-len(self.X) // 128)
        if self.n_taken and self.n_taken % (EVERY * n_batches) == 0:
            self.look()
        self.n_taken += 1
        rows: npt.NDArray[np.float32] = self.X[index]
        return rows


if __name__ == "__main__":
    if len(sys.argv) < 2 or "RSRAE_DATA" not in os.environ:
        sys.exit("usage: RSRAE_DATA=FOLDER python -m benchmarks.theirs CHECKOUT [CLASS ...]")
    main(*sys.argv[1:])
