"""What the result files say of methods: the facts that claims are judged by.

Two methods are compared only on cells that both have finished (same data, classes, c and seed).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from rsrae.paper import datasets, experiments
from rsrae.paper.plans import PAPER_DATA
from rsrae.paper.results import Row
from rsrae.paper.tables import METHOD_TITLES, number, planned_rows


@dataclass(frozen=True)
class Method:
    """A method with its recipe, as claims speak of them."""

    name: str
    recipe: str = "paper"

    @property
    def title(self) -> str:
        """Name it as a reader would."""
        title = METHOD_TITLES[self.name]
        return f"{title} ({self.recipe})" if self.name in ("rsrae", "rsrae+", "ae", "ae-1") else title


@dataclass(frozen=True)
class Part:
    """One finding of a claim: whether it speaks for it, and the numbers."""

    speaks_for: bool
    evidence: str


class Results:
    """All finished rows, by experiment, with the comparisons that claims need."""

    def __init__(self, results_dir: Path):
        self.rows = {name: planned_rows(name, "full", results_dir)[0] for name in experiments.ids()}

    def scores(
        self,
        experiment: str,
        method: Method,
        data: str,
        *,
        measure: str = "auc",
        c: float | None = None,
        outliers: str = "random",
        params: Mapping[str, float] | None = None,
    ) -> dict[tuple[object, ...], float]:
        """Scores by (classes, c, seed), of all cells or of those with this c and these parameters."""
        wanted = (method.name, method.recipe, data, outliers)
        return {
            (tuple(row["classes"]), row["c"], row["seed"]): _value(row, measure)
            for row in self.rows[experiment]
            if (row["method"], row["recipe"], row["data"], row["outliers"]) == wanted
            and (c is None or row["c"] == c)
            and (params is None or row["params"] == params)
        }

    def mean(self, experiment: str, method: Method, data: str, **only: Any) -> float | None:
        """Mean of `scores`, or None if there is no such cell."""
        scores = self.scores(experiment, method, data, **only)
        return fmean(scores.values()) if scores else None

    def pair(self, experiment: str, one: Method, other: Method, data: str, **only: Any) -> tuple[float, float] | None:
        """Mean scores of two methods over the cells both have; None if there is no such cell."""
        a, b = (self.scores(experiment, method, data, **only) for method in (one, other))
        shared = a.keys() & b.keys()
        return (fmean(a[key] for key in shared), fmean(b[key] for key in shared)) if shared else None


def title_of(data: str) -> str:
    """The name of a data set, as a reader would have it."""
    return datasets.info(data).title


def pairs_of(
    results: Results,
    experiment: str,
    one: Method,
    other: Method,
    data: Sequence[str] = (*PAPER_DATA, "tiny-imagenet"),
) -> dict[str, tuple[float, float]]:
    """`Results.pair` by data set, where there is one."""
    found = {name: results.pair(experiment, one, other, name) for name in data}
    return {name: pair for name, pair in found.items() if pair is not None}


def pair_part(
    results: Results,
    experiment: str,
    one: Method,
    other: Method,
    data: str,
    judge: Callable[[float, float], bool],
    **only: Any,
) -> Iterator[Part]:
    """Judge two methods by their means over the cells both have, if there are any."""
    pair = results.pair(experiment, one, other, data, **only)
    if pair:
        evidence = f"{title_of(data)}: {one.title} {number(pair[0])}, {other.title} {number(pair[1])}"
        yield Part(judge(*pair), evidence)


def _value(row: Row, measure: str) -> float:
    if measure == "seconds":
        return float(row["seconds_fit"] + row["seconds_score"])
    return float(row[measure])
