"""How far the share by "auto" is from the truth on data held out: ``python -m benchmarks.shares``.

The data of :mod:`benchmarks.heldout` but the pictures: digits as a table, features by a small network and the smaller
topics of Reuters (both need RSRAE_DATA); five trials with one normal class and three with three, c = 0.1 to 0.9, first
seed. The mean error of the estimate, of always saying 0.3, and the mean estimate, which should rise with c. Three
minutes.
"""

from __future__ import annotations

import sys
from statistics import fmean

from benchmarks import heldout
from rsrae import RSRAE
from rsrae.paper.protocol import draw_trial
from rsrae.thresholds import estimate_contamination

RATIOS = (0.1, 0.3, 0.5, 0.7, 0.9)
ALWAYS = 0.3
DATA = ("digits, table", "Tiny ImageNet, CIFAR-10 features", "Reuters, smaller topics")


def main() -> None:
    """Print a line of a table for every data set that is there."""
    print("| mean error (mean estimate) | " + " | ".join(f"c = {c}" for c in RATIOS) + " | mean | always 0.3 |")
    print("|---" * (len(RATIOS) + 3) + "|")
    for data in DATA:
        try:
            by_ratio = {c: measure(data, c) for c in RATIOS}
        except FileNotFoundError as error:
            print(f"{data} is left out: {error}", file=sys.stderr)
            continue
        errors = {c: [abs(estimate - truth) for truth, estimate in pairs] for c, pairs in by_ratio.items()}
        cells = [
            f"{fmean(errors[c]):.3f} ({fmean(estimate for _, estimate in pairs):.2f})" for c, pairs in by_ratio.items()
        ]
        always = fmean(abs(ALWAYS - truth) for pairs in by_ratio.values() for truth, _ in pairs)
        print(f"| {data} | {' | '.join(cells)} | {fmean(map(fmean, errors.values())):.3f} | {always:.3f} |", flush=True)


def measure(data: str, c: float) -> list[tuple[float, float]]:
    """True and estimated share of every trial."""
    X, y = heldout.load(data)
    pairs = []
    for classes in heldout.groups(data, 1)[:5] + heldout.groups(data, 3)[:3]:
        trial = draw_trial(X, y, classes, c, seed=heldout.SEED)
        scores = RSRAE(random_state=heldout.SEED).fit(trial.X).anomaly_score(trial.X)
        pairs.append((float(trial.is_outlier.mean()), estimate_contamination(scores)))
    return pairs


if __name__ == "__main__":
    main()
