"""How much a score depends on the random start alone: ``python -m benchmarks.spread [table]`` (needs RSRAE_DATA).

The same rows, five values of ``random_state``: the deviation of the AUC over them, for `RSRAE()` and for the authors'
recipe; one or two trials of a data set, c = 0.5. (The seeds of ``rsrae paper run`` draw other rows too.) Every fit is
kept in benchmarks/results/spread.json as it ends, so a run can be stopped at any point; the table comes at the end,
and with ``table`` alone, of what is finished.
"""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from itertools import product
from pathlib import Path
from statistics import fmean, stdev

from rsrae.paper.cells import Cell
from rsrae.paper.measure import detector_of, trial_of
from rsrae.paper.protocol import Recipe, auc_and_ap
from rsrae.wholefile import write_text

RESULTS = Path(__file__).parent / "results" / "spread.json"
SEEDS = range(5)
RECIPES: tuple[Recipe, Recipe] = ("default", "authors")
TRIALS: dict[str, tuple[tuple[int, ...], ...]] = {
    "tiny-imagenet-deep": ((0,), (0, 1, 2)),
    "newsgroups": ((0,), (0, 1, 2)),
    "reuters": ((1,), (1, 2)),
    "caltech-101": ((0,), (0, 1, 2)),
    "fashion-mnist": ((0,),),  # minutes a fit
    "adbench/glass": ((),),
    "adbench/yeast": ((),),
}


def main(*words: str) -> None:
    """Measure what the results file does not hold yet, then print the table."""
    found: dict[str, float] = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
    if words != ("table",):
        _measure_missing(found)
    print(table(found))


def _measure_missing(found: dict[str, float]) -> None:
    for data, trials in TRIALS.items():
        for classes, recipe, seed in product(trials, RECIPES, SEEDS):
            name = _key(data, classes, recipe, seed)
            if name not in found:
                found[name] = measure(Cell("spread", data, "rsrae", recipe, classes, 0.5 if classes else None, 0), seed)
                print(name, found[name], flush=True)
                write_text(RESULTS, json.dumps(found, indent=1) + "\n")


def measure(cell: Cell, seed: int) -> float:
    """AUC on the rows of the cell, with the start of ``seed``."""
    trial = trial_of(cell)
    scores = detector_of(replace(cell, seed=seed)).fit(trial.X).anomaly_score(trial.X)
    return round(auc_and_ap(trial.is_outlier, scores)[0], 4)


def table(found: dict[str, float]) -> str:
    """Mean and deviation over the seeds of every finished trial, and the mean deviation."""
    lines = ["| AUC ± deviation over five starts | RSRAE() | authors' |", "|---|---|---|"]
    deviations: dict[str, list[float]] = {recipe: [] for recipe in RECIPES}
    for data, classes in ((data, classes) for data, trials in TRIALS.items() for classes in trials):
        if any(_key(data, classes, recipe, seed) not in found for recipe, seed in product(RECIPES, SEEDS)):
            continue
        cells = []
        for recipe in RECIPES:
            aucs = [found[_key(data, classes, recipe, seed)] for seed in SEEDS]
            deviations[recipe].append(stdev(aucs))
            cells.append(f"{fmean(aucs):.3f} ± {stdev(aucs):.3f}")
        named = f"{data}, normal: {', '.join(map(str, classes))}" if classes else data
        lines.append(f"| {named} | {' | '.join(cells)} |")
    if deviations[RECIPES[0]]:
        lines.append("| mean | " + " | ".join(f"± {fmean(deviations[recipe]):.4f}" for recipe in RECIPES) + " |")
    return "\n".join(lines)


def _key(data: str, classes: tuple[int, ...], recipe: str, seed: int) -> str:
    return "|".join((data, "-".join(map(str, classes)), recipe, str(seed)))


if __name__ == "__main__":
    if sys.argv[1:] not in ([], ["table"]):
        sys.exit("usage: python -m benchmarks.spread [table]")
    main(*sys.argv[1:])
