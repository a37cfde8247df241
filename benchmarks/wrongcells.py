"""Are wrong cells found? ``python -m benchmarks.wrongcells``.

In one row of twenty of the tables that come with scikit-learn one cell, drawn at random, is made wrong: its decimal
point slips, it is given in a smaller unit, a number stands for "not known", or it lies fifteen deviations off. Or half
of its cells are those of another row, so that each is right alone, and only what columns have to do with each other
tells. Those rows are the anomalies. One seed; every figure is kept in benchmarks/results/wrongcells.json as it is
found, so a run can be stopped at any point. The table is printed in the end.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn import datasets

from benchmarks.heldout import SEED, judge
from rsrae.detectors import make_detector
from rsrae.wholefile import write_text

RESULTS = Path(__file__).parent / "results" / "wrongcells.json"
SHARE = 0.05
FloatArray = npt.NDArray[np.float64]
TABLES: dict[str, Callable[[], Any]] = {
    "iris": datasets.load_iris,
    "wine": datasets.load_wine,
    "breast cancer": datasets.load_breast_cancer,
    "diabetes": lambda: datasets.load_diabetes(scaled=False),
}
# The wrong cells of values and of the deviations of their columns.
MISTAKES: dict[str, Callable[[FloatArray, FloatArray], FloatArray]] = {
    "decimal point": lambda values, deviations: values * 10,
    "unit": lambda values, deviations: values * 1_000,
    "not known": lambda values, deviations: np.full_like(values, -999),
    "15 deviations": lambda values, deviations: values + 15 * deviations,
}
TWO_ROWS = "two rows in one"
METHODS: dict[str, tuple[str, dict[str, Any]]] = {
    "RSRAE()": ("rsrae", {}),
    "rules=1": ("rsrae", {"rules": 1.0}),
    "rules=0": ("rsrae", {"rules": 0.0}),
    "gross_values=False": ("rsrae", {"gross_values": False}),
    "centroid": ("centroid", {}),
    "5 nearest": ("knn", {}),
    "isolation forest": ("iforest", {}),
    "PCA": ("pca", {}),
    "one-class SVM": ("ocsvm", {}),
    "LOF": ("lof", {}),
}


def spoiled(table: str, mistake: str) -> tuple[FloatArray, npt.NDArray[np.bool_]]:
    """The table with its wrong cells, and which rows have one."""
    right = TABLES[table]().data.astype(np.float64)
    rng = np.random.default_rng(SEED)
    rows = rng.permutation(len(right))[: round(SHARE * len(right))]
    X = right.copy()
    if mistake == TWO_ROWS:
        for row in rows:
            columns = rng.permutation(X.shape[1])[: X.shape[1] // 2]
            X[row, columns] = right[rng.integers(len(right)), columns]
    else:
        columns = rng.integers(X.shape[1], size=len(rows))
        X[rows, columns] = MISTAKES[mistake](right[rows, columns], right.std(axis=0)[columns])
    return X, (right != X).any(axis=1)  # ten times nothing is nothing


def measure(table: str, mistake: str, method: str) -> dict[str, float]:
    """How well a method tells the rows with a wrong cell from the others."""
    X, is_wrong = spoiled(table, mistake)
    name, parameters = METHODS[method]
    return judge(make_detector(name, **parameters), X, is_wrong)


def as_markdown(found: dict[str, dict[str, float]]) -> str:
    """Means over the tables."""
    lines = ["| mean AUC / AP | " + " | ".join(METHODS) + " |", "|---" * (len(METHODS) + 1) + "|"]
    for mistake in (*MISTAKES, TWO_ROWS):
        cells = []
        for method in METHODS:
            results = [found[f"{table}|{mistake}|{method}"] for table in TABLES]
            cells.append(" / ".join(f"{fmean(one[which] for one in results):.3f}" for which in ("auc", "ap")))
        lines.append(f"| {mistake} | " + " | ".join(cells).replace("0.", ".") + " |")
    return "\n".join(lines)


def main() -> None:
    """Measure what the results file does not hold yet, and print the table."""
    found = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
    for table in TABLES:
        for mistake in (*MISTAKES, TWO_ROWS):
            for method in METHODS:
                key = f"{table}|{mistake}|{method}"
                if key not in found:
                    found[key] = measure(table, mistake, method)
                    write_text(RESULTS, json.dumps(found, indent=1) + "\n")
    print(as_markdown(found))


if __name__ == "__main__":
    main()
