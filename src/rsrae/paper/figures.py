"""The figures of the paper, drawn from result rows with matplotlib (extra ``paper``), as PNG and SVG.

The same rows make the same files, byte for byte: no dates, fixed ids, no global matplotlib state.
"""

from __future__ import annotations

import textwrap
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

from rsrae.errors import MissingExtraError, SourceError
from rsrae.paper import datasets
from rsrae.paper.experiments import experiment
from rsrae.paper.protocol import RATIOS
from rsrae.paper.results import Row
from rsrae.paper.tables import METHOD_TITLES, Summary, changed_title, grouped, number, summarise
from rsrae.wholefile import whole_file

if TYPE_CHECKING:
    from matplotlib.figure import Figure

STYLE: dict[Any, Any] = {
    "svg.hashsalt": "rsrae",
    "svg.fonttype": "path",
    "font.size": 9,
    "axes.labelsize": 8,
    "axes.spines.top": False,
    "axes.spines.right": False,
}
_MEASURES = (("auc", "AUC"), ("ap", "AP"))
_DEFAULT = "RSRAE (default)"


def plot(name: str, rows: Sequence[Row], folder: Path) -> list[Path]:
    """Draw the figure of an experiment into ``folder`` as ``<name>.png`` and ``<name>.svg``.

    Raises
    ------
    MissingExtraError
        If matplotlib is not installed.
    SourceError
        If there are no rows to draw.
    """
    experiment(name)
    if not rows:
        raise SourceError(f"{name}: there are no results to draw; run 'rsrae paper run {name}' first")
    try:
        import matplotlib
    except ImportError as error:
        raise MissingExtraError("figures need matplotlib: pip install 'rsrae[paper]'") from error
    with matplotlib.rc_context(STYLE):
        figure = _DRAWERS.get(name, _draw_ratios)(rows)
        return [_save(figure, folder / f"{name}.{suffix}") for suffix in ("png", "svg")]


def _save(figure: Figure, target: Path) -> Path:
    kind = target.suffix.removeprefix(".")
    metadata = {"svg": {"Date": None}, "png": {"Software": None}}[kind]
    with whole_file(target, make_folders=True) as temporary:
        figure.savefig(temporary, format=kind, dpi=110, metadata=metadata)
    return target


def _new_figure(n_rows: int, n_columns: int, height: float = 2.6, width: float = 4.2) -> tuple[Figure, Any]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width * n_columns + 1.6, height * n_rows), layout="constrained")
    return figure, figure.subplots(n_rows, n_columns, squeeze=False)


def _draw_ratios(rows: Sequence[Row]) -> Figure:
    shown = _of_common_classes(rows)
    return _draw_lines(
        summarise(shown),
        x=lambda summary: summary.group.c,
        label=lambda data: f"outliers per inlier, c ({_classes_shown(shown, data)}){_left_out(rows, shown, data)}",
        ticks=RATIOS,
    )


def _classes_shown(rows: Sequence[Row], data: str) -> str:
    classes = {tuple(row["classes"]) for row in rows if row["data"] == data}
    if len(classes) > 1:
        return f"mean over {len(classes)} normal classes"
    return f"normal: class {', '.join(map(str, *classes))} only"


def _left_out(rows: Sequence[Row], shown: Sequence[Row], data: str) -> str:
    all_titles, drawn = (
        dict.fromkeys(summary.group.title for summary in summarise(row for row in some if row["data"] == data))
        for some in (rows, shown)
    )
    titles = [title for title in all_titles if title not in drawn]
    note = f"not drawn, having fewer classes: {', '.join(titles)}"
    return "\n" + textwrap.fill(note, 56, break_on_hyphens=False) if titles else ""


def _of_common_classes(rows: Sequence[Row]) -> list[Row]:
    """The rows of lines that rest on the same classes at every ratio.

    A part of a run may have more classes at one ratio than at another, or of one method than of another: a line
    through different classes would bend for no reason, and lie higher or lower than another for no reason. Lines with
    fewer classes than most are left out; where they are the majority, all are drawn on the classes they share.
    """
    kept: list[Row] = []
    for data in dict.fromkeys(row["data"] for row in rows):
        points: dict[tuple[Any, ...], dict[float | None, set[tuple[int, ...]]]] = defaultdict(lambda: defaultdict(set))
        of_data = [row for row in rows if row["data"] == data]
        for row in of_data:
            points[_line(row)][row["c"]].add(tuple(row["classes"]))
        classes = {line: set.intersection(*by_ratio.values()) for line, by_ratio in points.items()}
        widest = max(classes.values(), key=len)
        drawn = {line for line, held in classes.items() if held >= widest}
        if 2 * len(drawn) < len(classes):
            widest, drawn = set.intersection(*classes.values()), set(classes)
        kept += [row for row in of_data if _line(row) in drawn and tuple(row["classes"]) in widest]
    return kept


def _line(row: Row) -> tuple[Any, ...]:
    return row["method"], row["recipe"], row["outliers"], str(row["params"])


def _draw_several_normals(rows: Sequence[Row]) -> Figure:
    at_half = [row for row in rows if row["c"] == 0.5] or rows
    summaries = summarise(at_half)
    return _draw_lines(
        summaries,
        x=lambda summary: summary.group.n_normal,
        label=lambda data: "normal classes (c = 0.5)",
        ticks=sorted({summary.group.n_normal for summary in summaries}),
    )


def _draw_sweep(parameter: str, label: str, *, log: bool) -> Callable[[Sequence[Row]], Figure]:
    def draw(rows: Sequence[Row]) -> Figure:
        # The single point d = D would squeeze the rest; it stands in the table.
        swept = [row for row in rows if row["params"][parameter] <= 50]
        return _draw_lines(
            summarise(swept),
            x=lambda summary: dict(summary.group.params)[parameter],
            label=lambda data: label,
            log=log,
        )

    return draw


def _draw_lines(
    summaries: Sequence[Summary],
    x: Callable[[Summary], Any],
    label: Callable[[str], str],
    ticks: Sequence[float] = (),
    log: bool = False,
) -> Figure:
    data = list(dict.fromkeys(summary.group.data for summary in summaries))
    titles = list(dict.fromkeys(summary.group.title for summary in summaries))
    figure, axes = _new_figure(len(data), 2)
    for one, pair in zip(data, axes, strict=True):
        for axis, (key, measure) in zip(pair, _MEASURES, strict=True):
            for position, title in enumerate(titles):
                points = sorted(
                    (summary for summary in summaries if summary.group.data == one and summary.group.title == title),
                    key=x,
                )
                if points:
                    axis.errorbar(
                        [x(point) for point in points],
                        [getattr(point, key) for point in points],
                        yerr=[getattr(point, f"{key}_std") or 0.0 for point in points],
                        label=title,
                        **_line_style(position),
                    )
            axis.set_title(f"{datasets.info(one).title}: {measure}")
            axis.set_xlabel(label(one))
            if ticks:
                axis.set_xticks(ticks)
            if log:
                axis.set_xscale("log")
    handles: dict[str, Any] = {}
    for axis in axes.flat:
        handles |= dict(zip(*reversed(axis.get_legend_handles_labels()), strict=True))
    figure.legend(list(handles.values()), list(handles), loc="outside right upper", frameon=False)
    return figure


def _line_style(position: int) -> dict[str, Any]:
    markers = "osD^v<>PX*ph"
    return {
        "color": f"C{position % 10}",
        "marker": markers[position % len(markers)],
        "linestyle": "-" if position < 10 else "--",
        "markersize": 4,
        "linewidth": 1.2,
        "capsize": 2,
    }


def _draw_lambdas(rows: Sequence[Row]) -> Figure:
    import numpy as np

    summaries = summarise(rows)
    data = list(dict.fromkeys(summary.group.data for summary in summaries))
    figure, axes = _new_figure(len(data), 2, height=3.4, width=3.8)
    for one, pair in zip(data, axes, strict=True):
        found = [summary for summary in summaries if summary.group.data == one]
        grid: dict[tuple[Any, Any], Summary] = {
            (dict(summary.group.params)["lambda1"], dict(summary.group.params)["lambda2"]): summary
            for summary in found
            if summary.group.method == "rsrae+"
        }
        first, second = (sorted({key[axis] for key in grid}) for axis in (0, 1))
        reference = next((summary for summary in found if summary.group.method == "rsrae"), None)
        for axis, (key, measure) in zip(pair, _MEASURES, strict=True):
            values = [[getattr(grid.get((a, b)), key, np.nan) for a in first] for b in second]
            image = axis.imshow(values, origin="lower", cmap="Blues")
            axis.set_facecolor("0.75")  # what was not run must not look like a low value
            axis.set_xticks(range(len(first)), [f"{value:g}" for value in first])
            axis.set_yticks(range(len(second)), [f"{value:g}" for value in second])
            grey = "" if np.isfinite(values).all() else " (grey: not run)"
            axis.set(xlabel=f"lambda1{grey}", ylabel="lambda2")
            beside = f" (RSRAE: {number(getattr(reference, key))})" if reference else ""
            axis.set_title(f"{datasets.info(one).title}: {measure}{beside}")
            figure.colorbar(image, ax=axis)
    return figure


def _draw_runtime(rows: Sequence[Row]) -> Figure:
    summaries = summarise(rows)
    data = list(dict.fromkeys(summary.group.data for summary in summaries))
    figure, axes = _new_figure(len(data), 1, height=2.8, width=6.0)
    for one, (axis,) in zip(data, axes, strict=True):
        found = sorted((s for s in summaries if s.group.data == one), key=lambda summary: -summary.seconds)
        axis.barh([s.group.title for s in found], [s.seconds for s in found], color="C0")
        axis.set_xscale("log")
        axis.set_xlabel("seconds of one experiment, c = 0.5, one thread")
        axis.set_title(datasets.info(one).title)
    return figure


def _draw_histograms(rows: Sequence[Row]) -> Figure:
    shown = {row["method"]: row for row in sorted(rows, key=lambda row: -row["seed"])}
    figure, axes = _new_figure(-(-len(shown) // 2), 2)
    for axis, (method, row) in zip(axes.flat, shown.items(), strict=False):
        edges = row["histogram"]["edges"]
        for part, color in (("normal", "black"), ("anomalous", "C0")):
            axis.stairs(row["histogram"][part], edges, fill=True, alpha=0.6, color=color, label=part)
        axis.set_title(f"{METHOD_TITLES.get(method, method)}: AUC {number(row['auc'])}")
        axis.set_xlabel("anomaly score")
    for axis in list(axes.flat)[len(shown) :]:
        axis.set_visible(False)
    figure.legend(*axes.flat[0].get_legend_handles_labels(), loc="outside right upper", frameon=False)
    return figure


def _draw_own_outliers(rows: Sequence[Row]) -> Figure:
    by_method = grouped(summarise(rows), changed_title)
    most = max(len(found) for found in by_method.values())
    return _draw_strips(
        {
            title if len(found) == most else f"{title}, {len(found)} of {most}": {
                key: [getattr(summary, key) for summary in found] for key, _ in _MEASURES
            }
            for title, found in by_method.items()
        },
        "{} (dot: mean)",
    )


def _draw_changes(rows: Sequence[Row]) -> Figure:
    by_setting = grouped(summarise(rows), changed_title)
    default = {_trial(one): one for title, found in by_setting.items() if title == _DEFAULT for one in found}
    pairs = {
        title.removeprefix(f"{_DEFAULT}: "): [(one, default[_trial(one)]) for one in found if _trial(one) in default]
        for title, found in by_setting.items()
        if title != _DEFAULT
    }
    return _draw_strips(
        {
            f"{title} ({len(found)})": {
                key: [getattr(one, key) - getattr(other, key) for one, other in found] for key, _ in _MEASURES
            }
            for title, found in pairs.items()
            if found
        },
        "change of {} against RSRAE() on the same trials (dot: mean)",
        origin=0.0,
    )


def _trial(summary: Summary) -> tuple[str, float | None, int]:
    return summary.group.data, summary.group.c, summary.group.n_normal


def _draw_strips(values: dict[str, dict[str, list[float]]], label: str, origin: float | None = None) -> Figure:
    # One line a setting, one stroke a trial.
    ranked = sorted(values, key=lambda title: fmean(values[title]["auc"]))
    figure, axes = _new_figure(1, 2, height=0.32 * len(ranked) + 1.2, width=5.0)
    for axis, (key, measure) in zip(axes.flat, _MEASURES, strict=True):
        if origin is not None:
            axis.axvline(origin, color="0.7", linewidth=0.8)
        for position, title in enumerate(ranked):
            axis.plot(values[title][key], [position] * len(values[title][key]), "|", color="C0", alpha=0.5)
            axis.plot(fmean(values[title][key]), position, "o", color="black", markersize=4)
        axis.set_yticks(range(len(ranked)), ranked if axis is axes.flat[0] else [])
        axis.set_xlabel(label.format(measure))
    return figure


_DRAWERS: dict[str, Callable[[Sequence[Row]], Figure]] = {
    "dimension": _draw_sweep("intrinsic_dim", "intrinsic dimension d", log=False),
    "learning-rate": _draw_sweep("learning_rate", "learning rate", log=True),
    "lambdas": _draw_lambdas,
    "runtime": _draw_runtime,
    "swiss-roll": _draw_histograms,
    "several-normals": _draw_several_normals,
    "tables": _draw_own_outliers,
    "ablation": _draw_changes,
    "baselines": _draw_own_outliers,
    "pictures": _draw_several_normals,
}
