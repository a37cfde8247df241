"""Table and picture of docs/which-detector.md, from results/: ``python docs/make.py which-detector``."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from rsrae.paper.cells import is_current
from rsrae.paper.results import finished_rows

DOCS = Path(__file__).parent
# Method, recipe (whose preprocessing), parameters.
METHODS: dict[tuple[str, str, str], str] = {
    ("rsrae", "default", ""): "RSRAE()",
    ("rsrae-views", "default", ""): "RSRAE of views",
    ("rsrae", "authors", ""): "RSRAE, authors'",
    ("rsrae", "paper", ""): "RSRAE, paper's",
    ("centroid", "default", ""): "centroid",
    ("centroid", "default", "refit=0.6"): "trimmed centroid",
    ("knn", "default", ""): "5 nearest",
    ("knn", "default", "n_neighbors=100"): "100 nearest",
    ("iforest", "default", ""): "isolation forest",
    ("pca", "default", ""): "PCA",
    ("ocsvm", "default", ""): "one-class SVM",
    ("lof", "default", ""): "LOF",
    ("sfms", "paper", ""): "SFMS",
    ("ste", "paper", ""): "STE",
    ("ae", "paper", ""): "AE",
    ("gt", "paper", "widen=1"): "GT",
}
PEERS = {"pyod ecod": "ECOD (PyOD)", "pyod autoencoder": "AutoEncoder (PyOD)"}
NAMES = (*METHODS.values(), *PEERS.values())
DATA = {
    "reuters": "Reuters",
    "newsgroups": "20 Newsgroups",
    "tiny-imagenet-deep": "Tiny ImageNet, deep features",
    "caltech-101": "Caltech 101, pixels",
    "fashion-mnist": "Fashion-MNIST, pixels",
    "tiny-imagenet": "Tiny ImageNet, pixels",
}
# The best AUC of an autoencoder (LFR), and of any method, that we know of for c = 0.5; None where only one is known.
PUBLISHED = {
    "Fashion-MNIST, pixels": (0.83, 0.87),
    "Caltech 101, pixels": (0.76, 0.85),
    "Reuters": (None, 0.87),
    "20 Newsgroups": (None, 0.86),
}
SEEDS = (0, 1, 2)
Trial = tuple[Any, ...]


def cells(ratio: float = 0.5, seed: int = 0) -> dict[str, dict[str, dict[Trial, tuple[float, float]]]]:
    """AUC and AP by group of trials, method and trial; outliers drawn at random."""
    found: dict[str, dict[str, dict[Trial, tuple[float, float]]]] = defaultdict(lambda: defaultdict(dict))
    for experiment in ("main", "several-normals", "tables", "baselines", "pictures", "tiny-raw"):
        for row in finished_rows(DOCS.parent / "results" / f"{experiment}.jsonl"):
            parameters = ", ".join(f"{name}={value}" for name, value in row["params"].items())
            method = METHODS.get((row["method"], row["recipe"], parameters))
            if method is None or not is_current(row):
                continue
            if row["seed"] != seed or row["outliers"] != "random" or row["c"] not in (ratio, None):
                continue
            found[_group(row["data"], row["classes"])][method][row["data"], *row["classes"]] = (row["auc"], row["ap"])
    if ratio != 0.5 or seed != 0:
        return found
    peers = json.loads((DOCS.parent / "benchmarks" / "results" / "accuracy.json").read_text(encoding="utf-8"))
    for key, result in peers["trials"].items():
        peer, data, numbers = key.split("|")
        classes = [int(number) for number in numbers.split("-") if number]
        found[_group(data, classes)][PEERS[peer]][data, *classes] = (result["auc"], result["ap"])
    return found


def _group(data: str, classes: list[int]) -> str:
    if not classes:
        return "22 ADBench tables"
    return f"{DATA[data]}, {len(classes)} normal {'class' if len(classes) == 1 else 'classes'}"


def means(ratio: float = 0.5) -> dict[str, dict[str, tuple[float, float, int]]]:
    """Mean AUC and AP of the methods that have all trials of the default, and the number of trials."""
    result = {}
    for group, methods in cells(ratio).items():
        trials = methods.get("RSRAE()")
        if not trials:
            continue
        result[group] = {
            name: (fmean(by[t][0] for t in trials), fmean(by[t][1] for t in trials), len(trials))
            for name in NAMES
            if (by := methods.get(name)) is not None and trials.keys() <= by.keys()
        }
    return result


def means_by_ratio() -> dict[str, dict[str, tuple[float, float, int]]]:
    """The same for few and for many outliers, where the default has as many trials as at c = 0.5."""
    usual = means()
    return {
        f"{group}, c = {ratio}": row
        for ratio in (0.1, 0.3, 0.7, 0.9)
        for group, row in means(ratio).items()
        if group.endswith("1 normal class") and "RSRAE()" in row and row["RSRAE()"][2] == usual[group]["RSRAE()"][2]
    }


def seeds_table() -> str:
    """Mean AUC and AP over three seeds (of the trial and of the method), as Markdown.

    Behind the AUC stands its deviation over the seeds, the mean over trials.
    """
    by_seed = [cells(seed=seed) for seed in SEEDS]
    lines: dict[str, dict[str, str]] = {}
    for group in list(by_seed[0]):
        trials = set.intersection(*(set(found[group]["RSRAE()"]) for found in by_seed))
        for name in NAMES:
            runs = [found[group][name] for found in by_seed]
            if trials and all(trials <= run.keys() for run in runs):
                auc, ap = (fmean(run[trial][which] for run in runs for trial in trials) for which in (0, 1))
                deviation = fmean(stdev(run[trial][0] for run in runs) for trial in trials)
                text = f"{auc:.3f} ± {deviation:.3f} / {ap:.3f}".replace("0.", ".")
                lines.setdefault(f"{group} | {len(trials)}", {})[name] = text
    lines = {line: row for line, row in lines.items() if "RSRAE()" in row}
    shown = [name for name in NAMES if any(name in row for row in lines.values())]
    head = ["| mean AUC ± / AP, three seeds | trials | " + " | ".join(shown) + " |", "|---" * (len(shown) + 2) + "|"]
    return "\n".join(
        [
            *head,
            *(f"| {line} | " + " | ".join(row.get(name, "") for name in shown) + " |" for line, row in lines.items()),
        ]
    )


def heldout_means() -> dict[str, dict[str, tuple[float, float, int]]]:
    """The same outside the trials that settings were compared on, from the file of ``python -m benchmarks.heldout``."""
    found: dict[str, dict[str, list[tuple[float, float]]]] = defaultdict(lambda: defaultdict(list))
    for key, result in _stored("heldout").items():
        data, method, classes = key.split("|")
        n_normal = classes.count("-") + 1
        group = f"{data}, {n_normal} normal {'class' if n_normal == 1 else 'classes'}"
        found[group][_method(method)].append((result["auc"], result["ap"]))
    return _means_of_complete(found)


def unseen_means() -> dict[str, dict[str, tuple[float, float, int]]]:
    """The same on data that nobody had looked at, from the file of ``python -m benchmarks.unseen``."""
    found: dict[str, dict[str, list[tuple[float, float]]]] = defaultdict(lambda: defaultdict(list))
    for key, result in _stored("unseen").items():
        group, _, method = key.split("|")
        found[group][_method(method)].append((result["auc"], result["ap"]))
    return _means_of_complete(found)


def _stored(benchmark: str) -> dict[str, dict[str, float]]:
    path = DOCS.parent / "benchmarks" / "results" / f"{benchmark}.json"
    trials: dict[str, dict[str, float]] = json.loads(path.read_text(encoding="utf-8"))
    return trials


def _method(text: str) -> str:
    name, _, parameters = text.partition(" ")
    return METHODS[name, "default", parameters]


def _means_of_complete(
    found: dict[str, dict[str, list[tuple[float, float]]]],
) -> dict[str, dict[str, tuple[float, float, int]]]:
    """Of the methods that have every trial."""
    return {
        group: {
            name: (fmean(auc for auc, _ in pairs), fmean(ap for _, ap in pairs), len(pairs))
            for name, pairs in methods.items()
            if len(pairs) == len(methods["RSRAE()"])
        }
        for group, methods in found.items()
    }


def table(found: dict[str, dict[str, tuple[float, float, int]]]) -> str:
    """As Markdown, the best AUC of each line in bold."""
    shown = [name for name in NAMES if any(name in row for row in found.values())]
    lines = ["| mean AUC / AP | trials | " + " | ".join(shown) + " |", "|---" * (len(shown) + 2) + "|"]
    for group, row in found.items():
        best = max(round(auc, 3) for auc, _, _ in row.values())
        values = []
        for name in shown:
            if name not in row:
                values.append("")
                continue
            auc, ap, _ = row[name]
            text = f"{auc:.3f} / {ap:.3f}".replace("0.", ".")
            values.append(f"**{text}**" if round(auc, 3) == best else text)
        lines.append(f"| {group} | {next(iter(row.values()))[2]} | " + " | ".join(values) + " |")
    return "\n".join(lines)


def published_table() -> str:
    """Our detectors, each on all classes it has been tried on, beside published figures, as Markdown."""
    ours = ("RSRAE()", "RSRAE of views")
    head = ["AUC, c = 0.5, one normal class", *(f"{name} here (classes)" for name in ours), "autoencoder", "any method"]
    lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    trials = cells()
    for data, figures in PUBLISHED.items():
        found = [trials[f"{data}, 1 normal class"].get(name, {}) for name in ours]
        here = [f"{fmean(auc for auc, _ in by.values()):.3f} ({len(by)})" if by else "" for by in found]
        shown = ["" if figure is None else f"{figure:.2f}" for figure in figures]
        lines.append(("| " + " | ".join([data, *here, *shown]) + " |").replace(" 0.", " ."))
    return "\n".join(lines)


def draw(found: dict[str, dict[str, tuple[float, float, int]]], path: Path) -> None:
    """One line a group of trials, one dot a method."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    marks = {
        "RSRAE()": ("D", "#b3202c"),
        "RSRAE of views": ("D", "#7b3fa0"),
        "RSRAE, authors'": ("o", "#e58b1f"),
        "RSRAE, paper's": ("o", "#f2cf63"),
    }
    marks |= {"centroid": ("s", "#1f5fa8"), "5 nearest": ("s", "#5fb0d8"), "isolation forest": ("s", "#2f8f5b")}
    marks |= {"trimmed centroid": ("^", "#1f5fa8"), "AutoEncoder (PyOD)": ("X", "#7a7a7a")}
    figure, axes = plt.subplots(figsize=(9, 0.45 * len(found) + 1.6), layout="constrained")
    for height, row in enumerate(reversed(found.values())):
        for name, (shape, colour) in marks.items():
            if name in row:
                order = 4 if name.startswith("RSRAE o") or name == "RSRAE()" else 3
                axes.scatter(row[name][0], height, marker=shape, color=colour, s=46, label=name, zorder=order)
    axes.set_yticks(range(len(found)), list(reversed(found)))
    axes.axvline(0.5, color="0.6", linewidth=1)
    axes.grid(axis="y", color="0.9")
    axes.set_xlabel("mean AUC (0.5: as good as chance)")
    handles = {label: handle for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)}
    figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=4, frameon=False)
    figure.savefig(path, dpi=110)
    plt.close(figure)
