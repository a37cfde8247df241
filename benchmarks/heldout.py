"""``RSRAE()`` outside the trials that its settings were compared on: ``python -m benchmarks.heldout``.

The paper's protocol (c = 0.5, first seed; one normal class, or three that share its places) on

- the digits that come with scikit-learn, 8 x 8 pixels, as pictures and as a table (docs/decisions 6 and 8 have looked
  at them);
- features of the images of Tiny ImageNet by a small network that was trained on CIFAR-10 (needs RSRAE_DATA);
- the ten topics of Reuters-21578 that come after the five of the paper, words as ``rsrae detect`` reads them (needs
  RSRAE_DATA).

Every trial is kept in benchmarks/results/heldout.json as it ends, so a run can be stopped at any point; ``python
docs/make.py which-detector`` makes the table.
"""

from __future__ import annotations

import gzip
import json
import os
import sys
from collections import Counter
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_digits

from rsrae.data.sources import read_source
from rsrae.detectors import make_detector
from rsrae.paper.protocol import auc_and_ap, draw_trial
from rsrae.wholefile import write_text

RESULTS = Path(__file__).parent / "results" / "heldout.json"
C, SEED = 0.5, 0
FEWEST_DOCUMENTS = 100  # of a topic that serves as the normal one
METHODS: dict[str, dict[str, Any]] = {
    "rsrae": {},
    "rsrae-views": {},
    "centroid": {},
    "centroid refit=0.6": {"refit": 0.6},
    "knn": {},
    "knn n_neighbors=100": {"n_neighbors": 100},
    "iforest": {},
    "pca": {},
    "ocsvm": {},
    "lof": {},
}
Data = tuple[Any, "np.ndarray[Any, np.dtype[np.int64]]"]


def digit_pictures() -> Data:
    """Scikit-learn's digits, ``(n, 8, 8)``."""
    digits = load_digits()
    return digits.images.astype(np.float32), digits.target.astype(np.int64)


def digit_table() -> Data:
    """Scikit-learn's digits, ``(n, 64)``."""
    pictures, y = digit_pictures()
    return pictures.reshape(len(pictures), -1), y


def small_network_features() -> Data:
    """ResNet-56, trained on CIFAR-10, on the images of Tiny ImageNet, ``(n, 64)``."""
    with np.load(_folder() / "tiny_imagenet_deep.npz", allow_pickle=False) as file:
        return file["X_resnet56_cifar10"].astype(np.float32), file["y"].astype(np.int64)


def smaller_topics() -> Data:
    """Documents with one topic out of the ten that follow the five largest, largest topic first."""
    with gzip.open(_folder() / "reuters_r90_modapte.jsonl.gz", "rt", encoding="utf-8") as file:
        documents = [document for line in file if len((document := json.loads(line))["topics"]) == 1]
    sizes = Counter(document["topics"][0] for document in documents)
    numbers = {topic: number for number, (topic, _) in enumerate(sizes.most_common(15)[5:])}
    chosen = [document for document in documents if document["topics"][0] in numbers]
    samples = read_source([document["text"] for document in chosen], names=[str(i) for i in range(len(chosen))])
    kept = [chosen[int(name)] for name in samples.names]  # without words there is nothing to read
    return samples.X, np.array([numbers[document["topics"][0]] for document in kept])


DATA: dict[str, Callable[[], Data]] = {
    "digits, pictures": digit_pictures,
    "digits, table": digit_table,
    "Tiny ImageNet, CIFAR-10 features": small_network_features,
    "Reuters, smaller topics": smaller_topics,
}


def key(data: str, method: str, classes: list[int]) -> str:
    """The name of a trial in the results file."""
    return "|".join((data, method, "-".join(map(str, classes))))


def measure(data: str, method: str, classes: list[int]) -> dict[str, float]:
    """AUC and AP of a method on one trial."""
    X, y = load(data)
    trial = draw_trial(X, y, classes, C, seed=SEED)
    return judge(make_detector(method.split()[0], **METHODS[method]), trial.X, trial.is_outlier)


def judge(detector: Any, X: Any, is_outlier: Any) -> dict[str, float]:
    """AUC and AP of a detector on the rows it learns from; its seed is the first."""
    if "random_state" in detector.get_params():
        detector.set_params(random_state=SEED)
    auc, ap = auc_and_ap(is_outlier, detector.fit(X).anomaly_score(X))
    return {"auc": round(auc, 4), "ap": round(ap, 4)}


def groups(data: str, n_normal: int) -> list[list[int]]:
    """The classes that are normal in each trial: every class that is large enough, with those that follow it."""
    _, y = load(data)
    n_classes = int(y.max()) + 1
    first = [one for one in range(n_classes) if (y == one).sum() >= FEWEST_DOCUMENTS]
    return [[(one + step) % n_classes for step in range(n_normal)] for one in first]


def main() -> None:
    """Measure what the results file does not hold yet."""
    found = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
    for data in DATA:
        try:
            load(data)
        except FileNotFoundError as error:
            print(f"{data} is left out: {error}", file=sys.stderr)
            continue
        for n_normal in (1, 3):
            for classes in groups(data, n_normal):
                for method in METHODS:
                    name = key(data, method, classes)
                    if method == "rsrae-views" and data != "digits, pictures":
                        continue
                    if name not in found:
                        found[name] = measure(data, method, classes)
                        print(name, found[name], flush=True)
                        write_text(RESULTS, json.dumps(found, indent=1) + "\n")


@lru_cache(maxsize=1)
def load(data: str) -> Data:
    return DATA[data]()


def _folder() -> Path:
    folder = os.environ.get("RSRAE_DATA")
    if not folder:
        raise FileNotFoundError("RSRAE_DATA does not name a folder with its files")
    return Path(folder)


if __name__ == "__main__":
    main()
