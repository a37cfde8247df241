"""A small measured table of all methods, and its rows in the pages of docs/methods.

``python -m benchmarks.methods`` runs every method with its default settings (networks: see EPOCHS) on small data sets
and writes docs/methods/README.md and the table in each method's page. Results are kept in
benchmarks/results/methods.json and continued, so a run can be stopped at any point.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn import datasets
from sklearn.metrics import average_precision_score, roc_auc_score

from rsrae.detectors import METHODS, make_detector
from rsrae.explain import accepted_form

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results" / "methods.json"
PAGES = ROOT / "docs" / "methods"
MARK = "<!-- measured -->"
TABLES = ("glass", "Cardiotocography", "pendigits", "annthyroid", "vertebral", "WDBC")
EPOCHS = {"image": 20, "table": 100}  # to keep the table quick
EPOCHS_OF_VIEWS = {"gt": 1, "rsrae-views": 10}

Trial = tuple[Any, np.ndarray]


def trials() -> dict[str, Callable[[], Trial]]:
    """The data: three sets that come with scikit-learn, and if RSRAE_DATA is set six tables and a class of each set."""
    found: dict[str, Callable[[], Trial]] = {
        "digits": lambda: _one_class((digits := datasets.load_digits()).images.astype(np.uint8) * 15, digits.target, 3),
        "wine": lambda: _one_class((wine := datasets.load_wine()).data, wine.target, 1),
        "breast cancer": lambda: _one_class((cancer := datasets.load_breast_cancer()).data, cancer.target, 1),
    }
    if "RSRAE_DATA" in os.environ:
        from rsrae.paper.cells import Cell
        from rsrae.paper.measure import trial_of

        def cell(data: str, c: float | None) -> Callable[[], Trial]:
            def load() -> Trial:
                classes = () if c is None else (1,) if data == "reuters" else (0,)
                trial = trial_of(Cell("methods", data, "rsrae", "default", classes, c, 0))
                return trial.X, trial.is_outlier

            return load

        found |= {table: cell(f"adbench/{table}", None) for table in TABLES}
        names = {"Tiny ImageNet deep": "tiny-imagenet-deep", "Reuters": "reuters", "20 Newsgroups": "newsgroups"}
        names |= {"Caltech 101": "caltech-101", "Fashion-MNIST": "fashion-mnist"}
        found |= {title: cell(name, 0.1 if title == "Fashion-MNIST" else 0.5) for title, name in names.items()}
    return found


def measure(method: str, load: Callable[[], Trial]) -> dict[str, float] | str:
    """AUC, AP and seconds of one method on one trial; or why there are none."""
    X, y = load()
    detector = make_detector(method)
    kind = "images" if getattr(X, "ndim", 2) > 2 else "table"
    if kind == "table" and "table" not in detector.accepts:
        return "images only"
    X = accepted_form(X, detector.accepts)
    parameters = detector.get_params()
    settings: dict[str, Any] = {"random_state": 0} if "random_state" in parameters else {}
    if method in EPOCHS_OF_VIEWS:
        settings["epochs"] = EPOCHS_OF_VIEWS[method]
    elif isinstance(parameters.get("epochs"), int):
        settings["epochs"] = EPOCHS["image" if kind == "images" else "table"]
    began = time.perf_counter()
    scores = detector.set_params(**settings).fit(X).anomaly_score(X)
    seconds = time.perf_counter() - began
    return {
        "auc": float(roc_auc_score(y, scores)),
        "ap": float(average_precision_score(y, scores)),
        "seconds": seconds,
        "rows": len(y),
    }


def run() -> dict[str, dict[str, Any]]:
    """Measure what is missing; the file is rewritten after every cell."""
    results: dict[str, dict[str, Any]] = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    for title, load in trials().items():
        for method in METHODS:
            if title not in results.setdefault(method, {}):
                results[method][title] = measure(method, load)
                print(f"{title:20} {method:10} {results[method][title]}", flush=True)
                RESULTS.parent.mkdir(exist_ok=True)
                RESULTS.write_text(json.dumps(results, indent=1) + "\n")
    return results


def write_pages(results: dict[str, dict[str, Any]]) -> None:
    """The table of all methods, and a method's own rows in its page."""
    titles = list(dict.fromkeys(title for found in results.values() for title in found))
    lines = [
        "# Methods",
        "",
        "AUC / AP of every method at its default settings, one seed, anomalies positive. Digits, wine, breast cancer:",
        "one class is normal, outliers make 0.3 times as many. Paper data: the first class is normal (Reuters: the",
        "second, as the first fails with all methods), c = 0.5 (Fashion-MNIST 0.1). To keep the table quick, networks",
        f"whose number of epochs is fixed train {EPOCHS['image']} epochs on images (GT one, narrow; RSRAE of views its",
        f"ten) and {EPOCHS['table']} on rows. Made by `python -m benchmarks.methods`.",
        "",
        "| method | " + " | ".join(titles) + " |",
        "|---" * (len(titles) + 1) + "|",
    ]
    for method, found in results.items():
        cells = [_cell(found.get(title), seconds=False) for title in titles]
        lines.append(_row([f"[{method}]({_page(method)})", *cells]))
    lines += [
        "",
        "Seconds to fit and score, on a machine that had other work to do, so for orders of magnitude only:",
        "",
    ]
    lines += ["| method | " + " | ".join(titles) + " |", "|---" * (len(titles) + 1) + "|"]
    for method, found in results.items():
        cells = [_cell(found.get(title), seconds=True) for title in titles]
        lines.append(_row([method, *cells]))
    (PAGES / "README.md").write_text("\n".join(lines) + "\n")
    pages: dict[str, list[str]] = {}
    for method in results:
        pages.setdefault(_page(method), []).append(method)
    for name, sharing in pages.items():
        page = PAGES / name
        before, after = page.read_text().split(MARK)
        rest = after[after.index("\n## ") :] if "\n## " in after else ""
        note = "Settings as in [the table of all methods](README.md); made by `python -m benchmarks.methods`."
        heads = [head for method in sharing for head in (f"{method}: AUC / AP", "seconds")]
        own = [_row(["data", *heads]), "|---" * (1 + len(heads)) + "|"]
        for title in titles:
            cells = [_cell(results[m].get(title), seconds=timed) for m in sharing for timed in (False, True)]
            own.append(_row([title, *cells]))
        page.write_text(before + MARK + "\n\n" + note + "\n\n" + "\n".join(own) + "\n" + rest)


def _row(cells: list[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _page(method: str) -> str:
    return {"rsrae+": "rsrae-plus", "ae-1": "ae"}.get(method, method) + ".md"


def _cell(found: dict[str, float] | str | None, *, seconds: bool) -> str:
    if not isinstance(found, dict):
        return found or ""
    return f"{found['seconds']:.1f}" if seconds else f"{found['auc']:.3f} / {found['ap']:.3f}"


def _one_class(X: np.ndarray, y: np.ndarray, normal: int, c: float = 0.3) -> Trial:
    rng = np.random.default_rng(0)
    inliers, others = np.flatnonzero(y == normal), np.flatnonzero(y != normal)
    rows = np.concatenate([inliers, rng.choice(others, int(c * len(inliers)), replace=False)])
    rows = rng.permutation(rows)
    return X[rows], y[rows] != normal


if __name__ == "__main__":
    write_pages(run())
