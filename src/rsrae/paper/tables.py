"""From result rows to summaries and tables: plain data for the terminal, Markdown and figures.

As in the paper: a class's score is the mean over seeds, a method's score is the mean over classes, and the
deviation shown is the mean over classes of the deviation over seeds.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, pstdev
from typing import Any

from rsrae.paper import datasets
from rsrae.paper.cells import Cell, Value, is_current
from rsrae.paper.experiments import experiment, plan
from rsrae.paper.plans import Profile
from rsrae.paper.results import Row, finished_rows

METHOD_TITLES = {
    "rsrae": "RSRAE",
    "rsrae+": "RSRAE+",
    "ae-1": "AE-1",
    "ae": "AE",
    "lof": "LOF",
    "ocsvm": "OCSVM",
    "iforest": "IF",
    "centroid": "Centroid",
    "knn": "kNN",
    "pca": "PCA",
    "rpca": "Robust PCA",
    "fms": "FMS",
    "sfms": "SFMS",
    "ste": "STE",
    "dagmm": "DAGMM",
    "dsebm": "DSEBM",
    "gt": "GT",
    "rsrae-views": "RSRAE of views",
    "rcae": "RCAE",
    "drae": "DRAE",
    "rda": "RDA",
}
_WITH_RECIPES = frozenset({"rsrae", "rsrae+", "ae-1", "ae"})
_EMPTY = "–"


@dataclass(frozen=True)
class Group:
    """What the rows of a summary share."""

    data: str
    method: str
    recipe: str
    c: float | None
    n_normal: int
    outliers: str
    params: tuple[tuple[str, Value], ...]

    @property
    def title(self) -> str:
        """Name the method as a reader would: with its recipe, and what is unusual."""
        recipe = f" ({self.recipe})" if self.method in _WITH_RECIPES else ""
        first = ", first outliers" if self.outliers == "first" else ""
        narrow = " (narrow)" if self.method == "gt" and "widen" in dict(self.params) else ""
        nearest = f" ({k} nearest)" if (k := dict(self.params).get("n_neighbors")) and self.method == "knn" else ""
        return f"{METHOD_TITLES.get(self.method, self.method)}{narrow}{nearest}{recipe}{first}"


@dataclass(frozen=True)
class Summary:
    """Scores of one method on one data set.

    Attributes
    ----------
    group : whose.
    auc, ap : mean over classes of the mean over seeds.
    auc_std, ap_std : mean over classes of the deviation over seeds; None with one seed.
    seconds : mean time to fit and score.
    centroid_correlation : mean rank correlation with the centroid's scores; None if never defined.
    n_classes, n_seeds : how many there were (seeds: the least of any class).
    """

    group: Group
    auc: float
    ap: float
    auc_std: float | None
    ap_std: float | None
    seconds: float
    centroid_correlation: float | None
    n_classes: int
    n_seeds: int


@dataclass(frozen=True)
class Table:
    """A table as strings, ready to be drawn."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""

    def to_markdown(self) -> str:
        """Draw the table in Markdown, without its title.

        >>> print(Table("t", ("method", "AUC"), (("IF", ".812"),)).to_markdown())
        | method | AUC |
        |---|---|
        | IF | .812 |
        """
        lines = [self.columns, ("---",) * len(self.columns), *self.rows]
        drawn = [f"| {' | '.join(line)} |" for line in lines]
        drawn[1] = drawn[1].replace(" ", "")
        return "\n".join(drawn)


def planned_rows(name: str, profile: Profile, results_dir: Path) -> tuple[list[Row], int]:
    """Read the finished rows of a profile, computed by the present code, and how many it has in all.

    "full" also reads what a quick run finished, since its cells are the same.
    """
    wanted = set(plan(name, profile))
    rows = finished_rows(results_dir / f"{name}.jsonl")
    current = [row for row in rows if is_current(row) and Cell.from_row(row) in wanted]
    return current, len(wanted)


def summarise(rows: Iterable[Row]) -> list[Summary]:
    """Average rows over seeds and classes, in the order in which groups first appear."""
    groups: dict[Group, dict[tuple[int, ...], list[Row]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        cell = Cell.from_row(row)
        group = Group(cell.data, cell.method, cell.recipe, cell.c, len(cell.classes), cell.outliers, cell.params)
        groups[group][cell.classes].append(row)
    return [_summary(group, list(by_class.values())) for group, by_class in groups.items()]


def tables(name: str, rows: Sequence[Row]) -> list[Table]:
    """Return the tables of an experiment, one for each data set or one for all."""
    experiment(name)
    summaries = summarise(rows)
    return _TABLES.get(name, _ratio_tables)(summaries) if summaries else []


def number(value: float | None, digits: int = 3) -> str:
    """Write a score as the paper does, without the leading zero.

    >>> number(0.8333), number(1.0), number(None), number(-0.25)
    ('.833', '1.000', '–', '-.250')
    """
    if value is None:
        return _EMPTY
    return f"{value:.{digits}f}".replace("0.", ".", 1) if abs(value) < 1 else f"{value:.{digits}f}"


def _summary(group: Group, by_class: Sequence[Sequence[Row]]) -> Summary:
    n_seeds = min(len(rows) for rows in by_class)
    correlations = [
        row["centroid_correlation"] for rows in by_class for row in rows if row["centroid_correlation"] is not None
    ]
    return Summary(
        group,
        auc=_mean(by_class, "auc"),
        ap=_mean(by_class, "ap"),
        auc_std=_deviation(by_class, "auc") if n_seeds > 1 else None,
        ap_std=_deviation(by_class, "ap") if n_seeds > 1 else None,
        seconds=fmean(row["seconds_fit"] + row["seconds_score"] for rows in by_class for row in rows),
        centroid_correlation=fmean(correlations) if correlations else None,
        n_classes=len(by_class),
        n_seeds=n_seeds,
    )


def _mean(by_class: Sequence[Sequence[Row]], key: str) -> float:
    return fmean(fmean(row[key] for row in rows) for rows in by_class)


def _deviation(by_class: Sequence[Sequence[Row]], key: str) -> float:
    return fmean(pstdev(row[key] for row in rows) for rows in by_class)


def _scores(summary: Summary | None) -> str:
    if summary is None:
        return _EMPTY
    if summary.auc_std is None or summary.ap_std is None:
        return f"{number(summary.auc)} / {number(summary.ap)}"
    return f"{number(summary.auc)} ± {number(summary.auc_std)} / {number(summary.ap)} ± {number(summary.ap_std)}"


def _grid_table(
    title: str,
    summaries: Sequence[Summary],
    row_of: Callable[[Summary], str],
    column_of: Callable[[Summary], Any],
    corner: str,
    show_column: Callable[[Any], str],
    show: Callable[[Summary | None], str] = _scores,
    more: Sequence[tuple[str, Callable[[list[Summary]], str]]] = (),
    note: str = "",
) -> Table:
    columns = sorted({column_of(summary) for summary in summaries})
    rows: dict[str, dict[Any, Summary]] = defaultdict(dict)
    for summary in summaries:
        rows[row_of(summary)][column_of(summary)] = summary
    return Table(
        title,
        (corner, *(show_column(column) for column in columns), *(heading for heading, _ in more)),
        tuple(
            (
                name,
                *(show(by_column.get(column)) for column in columns),
                *(tell(list(by_column.values())) for _, tell in more),
            )
            for name, by_column in rows.items()
        ),
        note,
    )


_NOTE = "AUC / AP, outliers positive; mean over classes, ± the deviation over seeds where there are several."
_EXTRAS: tuple[tuple[str, Callable[[list[Summary]], str]], ...] = (
    ("classes x seeds", lambda found: _extent(found)),
    ("rank corr. with centroid", lambda found: number(_mean_correlation(found), 2)),
)


def _extent(found: list[Summary]) -> str:
    return ", ".join(sorted({f"{summary.n_classes} x {summary.n_seeds}" for summary in found}))


def _mean_correlation(found: list[Summary]) -> float | None:
    known = [summary.centroid_correlation for summary in found if summary.centroid_correlation is not None]
    return fmean(known) if known else None


def _by_data(summaries: Sequence[Summary]) -> dict[str, list[Summary]]:
    by_data: dict[str, list[Summary]] = defaultdict(list)
    for summary in summaries:
        by_data[summary.group.data].append(summary)
    return by_data


def _ratio_tables(summaries: Sequence[Summary]) -> list[Table]:
    return [
        _grid_table(
            datasets.info(data).title,
            found,
            lambda summary: summary.group.title,
            lambda summary: summary.group.c,
            "method",
            lambda c: f"c = {c}",
            more=_EXTRAS,
            note=_NOTE,
        )
        for data, found in _by_data(summaries).items()
    ]


def _sweep_tables(parameter: str, symbol: str) -> Callable[[Sequence[Summary]], list[Table]]:
    def make(summaries: Sequence[Summary]) -> list[Table]:
        return [
            _grid_table(
                f"{symbol}, {recipe} recipe, c = 0.5",
                [summary for summary in summaries if summary.group.recipe == recipe],
                lambda summary: datasets.info(summary.group.data).title,
                lambda summary: dict(summary.group.params)[parameter],
                "data",
                lambda value: f"{value:g}",
                note=_NOTE,
            )
            for recipe in sorted({summary.group.recipe for summary in summaries})
        ]

    return make


def _lambda_tables(summaries: Sequence[Summary]) -> list[Table]:
    drawn = []
    for data, found in _by_data(summaries).items():
        reference = [_scores(summary) for summary in found if summary.group.method == "rsrae"]
        beside = f"; RSRAE itself: {reference[0]}" if reference else ""
        drawn.append(
            _grid_table(
                f"{datasets.info(data).title}{beside}",
                [summary for summary in found if summary.group.method == "rsrae+"],
                lambda summary: f"{dict(summary.group.params)['lambda2']:g}",
                lambda summary: dict(summary.group.params)["lambda1"],
                "lambda2 \\ lambda1",
                lambda value: f"{value:g}",
                note=_NOTE,
            )
        )
    return drawn


def _runtime_tables(summaries: Sequence[Summary]) -> list[Table]:
    baseline = {s.group.data: s.seconds for s in summaries if s.group.method == "ae"}

    def multiples(summary: Summary | None) -> str:
        if summary is None or summary.group.data not in baseline:
            return _EMPTY
        return f"{summary.seconds / baseline[summary.group.data]:.2f}"

    def seconds(summary: Summary | None) -> str:
        return _EMPTY if summary is None else f"{summary.seconds:.2f}"

    return [
        _grid_table(
            title,
            summaries,
            lambda summary: summary.group.title,
            lambda summary: summary.group.data,
            "method",
            lambda data: datasets.info(data).title,
            show=show,
        )
        for title, show in (
            ("Seconds of one experiment", seconds),
            ("As multiples of AE in the same run", multiples),
        )
    ]


def _several_normals_tables(summaries: Sequence[Summary]) -> list[Table]:
    return [
        _grid_table(
            f"{datasets.info(data).title}, c = {c}",
            [summary for summary in found if summary.group.c == c],
            lambda summary: summary.group.title,
            lambda summary: summary.group.n_normal,
            "method",
            lambda n: f"{n} normal {'class' if n == 1 else 'classes'}",
            more=_EXTRAS,
            note=_NOTE,
        )
        for data, found in _by_data(summaries).items()
        for c in sorted({summary.group.c for summary in found if summary.group.c is not None})
    ]


def _own_outlier_tables(summaries: Sequence[Summary]) -> list[Table]:
    by_method = grouped(summaries, lambda group: group.title)
    ranked = sorted(by_method.items(), key=lambda item: -fmean(summary.auc for summary in item[1]))
    overall = Table(
        "Mean over data sets",
        ("method", "AUC", "AP", "data sets", "seconds", "rank corr. with centroid"),
        tuple(
            (
                title,
                number(fmean(summary.auc for summary in found)),
                number(fmean(summary.ap for summary in found)),
                str(len(found)),
                f"{fmean(summary.seconds for summary in found):.2f}",
                number(_mean_correlation(found), 2),
            )
            for title, found in ranked
        ),
        "AUC and AP, outliers positive.",
    )
    each = _grid_table(
        "Each data set",
        summaries,
        lambda summary: datasets.info(summary.group.data).title,
        lambda summary: summary.group.title,
        "data",
        str,
        note=_NOTE,
    )
    return [overall, each]


def changed_title(group: Group) -> str:
    """The method with what was changed in it."""
    changes = ", ".join(f"{name}={value}" for name, value in group.params)
    return f"{group.title}: {changes}" if changes else group.title


def _tables_by_kind(title: str) -> Callable[[Sequence[Summary]], list[Table]]:
    return lambda summaries: [_table_by_kind(title, summaries)]


def _table_by_kind(title: str, summaries: Sequence[Summary]) -> Table:
    def kind(group: Group) -> str:
        if group.c is None:
            return "ADBench tables"
        ratio = "" if group.c == 0.5 else f", c = {group.c}"
        return f"1 normal class{ratio}" if group.n_normal == 1 else f"{group.n_normal} normal classes{ratio}"

    kinds = sorted({kind(summary.group) for summary in summaries})

    def cell(found: Sequence[Summary]) -> str:
        if not found:
            return _EMPTY
        return f"{number(fmean(one.auc for one in found))} / {number(fmean(one.ap for one in found))} ({len(found)})"

    rows = [
        (setting, *(cell([one for one in found if kind(one.group) == name]) for name in kinds))
        for setting, found in grouped(summaries, changed_title).items()
    ]
    note = "Mean AUC / AP over data sets (how many), outliers positive."
    return Table(title, ("setting", *kinds), tuple(rows), note)


def grouped(summaries: Sequence[Summary], key: Callable[[Group], str]) -> dict[str, list[Summary]]:
    """Summaries by what ``key`` says of their group, in the order in which it is first said."""
    found: dict[str, list[Summary]] = defaultdict(list)
    for summary in summaries:
        found[key(summary.group)].append(summary)
    return found


_TABLES: dict[str, Callable[[Sequence[Summary]], list[Table]]] = {
    "dimension": _sweep_tables("intrinsic_dim", "Intrinsic dimension d"),
    "learning-rate": _sweep_tables("learning_rate", "Learning rate"),
    "lambdas": _lambda_tables,
    "runtime": _runtime_tables,
    "swiss-roll": _own_outlier_tables,
    "several-normals": _several_normals_tables,
    "tables": _own_outlier_tables,
    "ablation": _tables_by_kind("One change at a time"),
    "baselines": _tables_by_kind("Methods without a network"),
    "pictures": _several_normals_tables,
}
