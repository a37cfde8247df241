"""What leaving stop words out does: ``python -m benchmarks.words`` (needs RSRAE_DATA).

Documents as a user has them: 150 of one topic (or of three) and 40 of others, words weighed over these 190 alone, as
``rsrae detect`` does. Prints the mean AUC of ``RSRAE()`` and of the centroid for every third topic of 20 Newsgroups
and all five of Reuters, with all words and without English stop words.
"""

from __future__ import annotations

from statistics import fmean
from typing import Any

import numpy as np

from rsrae.data.sources import read_source
from rsrae.detectors import make_detector
from rsrae.paper import datasets
from rsrae.paper.protocol import auc_and_ap

TOPICS = {"newsgroups": range(0, 20, 3), "reuters": range(5)}
N_NORMAL, N_OTHERS = 150, 40
METHODS = ("rsrae", "centroid")


def draw(texts: list[str], y: np.ndarray[Any, Any], topics: list[int]) -> tuple[list[str], np.ndarray[Any, Any]]:
    """Documents of the topics and others, and which are the others."""
    generator = np.random.default_rng(topics[0])
    is_normal = np.isin(y, topics)
    chosen = [
        generator.permutation(np.flatnonzero(rows))[:n] for rows, n in ((is_normal, N_NORMAL), (~is_normal, N_OTHERS))
    ]
    return [texts[i] for i in np.concatenate(chosen)], np.repeat([False, True], [len(rows) for rows in chosen])


def measure(data: str, n_topics: int, stop_words: str | None) -> dict[str, float]:
    """Mean AUC of each method."""
    dataset = datasets.load(data)
    assert dataset.texts is not None
    n_classes = int(dataset.y.max()) + 1
    found: dict[str, list[float]] = {method: [] for method in METHODS}
    for first in TOPICS[data]:
        topics = [(first + step) % n_classes for step in range(n_topics)]
        texts, is_other = draw(list(dataset.texts), dataset.y, topics)
        names = [str(i) for i in range(len(texts))]
        samples = read_source(texts, names=names, strip_headers=True, stop_words=stop_words)
        X, is_other = samples.X, is_other[[int(name) for name in samples.names]]  # empty ones are skipped
        for method in METHODS:
            detector = make_detector(method)
            if "random_state" in detector.get_params():
                detector.set_params(random_state=0)
            found[method].append(auc_and_ap(is_other, detector.fit(X).anomaly_score(X))[0])
    return {method: fmean(values) for method, values in found.items()}


def main() -> None:
    """Print one line a data set and number of normal topics."""
    print("| AUC, RSRAE() / centroid | all words | without English stop words |\n|---|---|---|")
    for data in TOPICS:
        for n_topics in (1, 3):
            cells = [measure(data, n_topics, words) for words in (None, "english")]
            values = (" / ".join(f"{cell[method]:.3f}" for method in METHODS) for cell in cells)
            print(f"| {data}, normal topics: {n_topics} | " + " | ".join(values) + " |", flush=True)


if __name__ == "__main__":
    main()
