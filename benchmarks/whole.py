"""The tables of ADBench as they are, up to 286,048 rows: ``python -m benchmarks.whole [table]`` (needs RSRAE_DATA).

``rsrae paper run tables`` draws 5,000 rows of the larger ones. Here all rows are fitted and scored, by our default and
by the isolation forest, one start. Every figure is kept in benchmarks/results/whole.json as it is found, so a run can
be stopped at any point; the table comes at the end, and with ``table`` alone, of what is finished.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from statistics import fmean

import numpy as np

from benchmarks.heldout import SEED, judge
from rsrae.detectors import make_detector
from rsrae.paper import datasets
from rsrae.wholefile import write_text

RESULTS = Path(__file__).parent / "results" / "whole.json"
METHODS = {"rsrae": "RSRAE()", "iforest": "isolation forest"}


def main(*words: str) -> None:
    """Measure what the results file does not hold yet, then print the table."""
    found: dict[str, dict[str, float]] = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
    if words != ("table",):
        for data in names():
            for method in METHODS:
                if (key := f"{data}|{method}") not in found:
                    found[key] = measure(data, method)
                    print(key, found[key], flush=True)
                    write_text(RESULTS, json.dumps(found, indent=1) + "\n")
    print(table(found))


def names() -> list[str]:
    """The tables that there are."""
    return [name for name in datasets.names() if name.startswith("adbench/") and datasets.is_available(name)]


def measure(data: str, method: str) -> dict[str, float]:
    """AUC and AP of a method on all rows of a table, in mixed order, the seconds they took, and how many they are."""
    dataset = datasets.load(data)
    rows = np.random.default_rng(SEED).permutation(len(dataset.y))
    began = time.perf_counter()
    found = judge(make_detector(method), dataset.X[rows], dataset.y[rows] == 1)
    return found | {"seconds": round(time.perf_counter() - began, 1), "rows": len(rows)}


def table(found: dict[str, dict[str, float]]) -> str:
    """Every finished table, and the means."""
    lines = [f"| AUC / AP | rows | {' | '.join(METHODS.values())} | s |", "|---|---|---|---|---|"]
    finished = [data for data in datasets.names() if all(f"{data}|{method}" in found for method in METHODS)]
    for data in finished:
        ours = found[f"{data}|rsrae"]
        scores = (_shown([found[f"{data}|{method}"]]) for method in METHODS)
        lines.append(f"| {data} | {ours['rows']:,} | {' | '.join(scores)} | {ours['seconds']:.0f} |")
    if finished:
        means = (_shown([found[f"{data}|{method}"] for data in finished]) for method in METHODS)
        lines.append(f"| mean | | {' | '.join(means)} | |")
    return "\n".join(lines)


def _shown(results: list[dict[str, float]]) -> str:
    return " / ".join(f"{fmean(one[which] for one in results):.3f}" for which in ("auc", "ap")).replace("0.", ".")


if __name__ == "__main__":
    if sys.argv[1:] not in ([], ["table"]):
        sys.exit("usage: python -m benchmarks.whole [table]")
    main(*sys.argv[1:])
