import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rsrae.errors import MissingExtraError, SourceError
from rsrae.paper import experiments
from rsrae.paper.cells import Cell
from rsrae.paper.figures import _draw_changes, _draw_own_outliers, _draw_ratios, _of_common_classes, plot

from .shared import row_of

HISTOGRAM = {"edges": [0.0, 0.5, 1.0], "normal": [8, 2], "anomalous": [1, 4]}


@pytest.mark.parametrize("name", experiments.ids())
def test_every_figure_is_drawn_the_same_twice(name: str, tmp_path: Path) -> None:
    planned = experiments.plan(name, "smoke")
    rows = [row_of(cell, auc=0.5 + i / 1000, histogram=HISTOGRAM) for i, cell in enumerate(planned)]
    first, second = (plot(name, rows, tmp_path / folder) for folder in ("one", "two"))
    assert [path.name for path in first] == [f"{name}.png", f"{name}.svg"]
    for one, two in zip(first, second, strict=True):
        assert one.read_bytes() == two.read_bytes()
    assert first[0].read_bytes().startswith(b"\x89PNG")
    assert b"<dc:date>" not in first[1].read_bytes()


def test_without_results_there_is_nothing_to_draw(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="rsrae paper run main"):
        plot("main", [], tmp_path)


def test_without_matplotlib_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtraError, match=r"rsrae\[paper\]"):
        plot("main", [row_of(experiments.plan("main", "smoke")[0])], tmp_path)


def test_lines_against_the_ratio_rest_on_the_same_classes() -> None:
    cells = [Cell("main", "reuters", "lof", "paper", (k,), c, seed=0) for k in range(3) for c in (0.1, 0.5)]
    cells += [Cell("main", "reuters", "rsrae", "authors", (1,), 0.1, seed=0)]
    cells += [Cell("main", "reuters", "rsrae", "authors", (k,), 0.5, seed=0) for k in (0, 1)]
    cells += [Cell("main", "reuters", "dagmm", "paper", (1,), 0.5, seed=0)]
    cells += [Cell("main", "newsgroups", "lof", "paper", (k,), 0.5, seed=0) for k in range(2)]
    kept = _of_common_classes([row_of(cell) for cell in cells])
    assert {(row["method"], *row["classes"]) for row in kept if row["data"] == "reuters"} == {
        ("lof", 1),
        ("rsrae", 1),
        ("dagmm", 1),
    }
    assert sum(row["data"] == "newsgroups" for row in kept) == 2


def test_a_line_with_fewer_classes_than_most_is_named_in_place_of_drawn() -> None:
    cells = [
        Cell("main", "reuters", method, "paper", (k,), c, seed=0)
        for method in ("lof", "knn")
        for k in range(3)
        for c in (0.1, 0.5)
    ]
    cells += [Cell("main", "reuters", "dagmm", "paper", (0,), c, seed=0) for c in (0.1, 0.5)]
    rows = [row_of(cell) for cell in cells]
    assert {row["method"] for row in _of_common_classes(rows)} == {"lof", "knn"}
    label = " ".join(_draw_ratios(rows).axes[0].get_xlabel().split())
    assert "mean over 3 normal classes" in label
    assert "not drawn, having fewer classes: DAGMM" in label


def test_the_axis_names_the_class_where_there_is_only_one() -> None:
    one = [row_of(Cell("main", "reuters", "lof", "paper", (2,), c, seed=0)) for c in (0.1, 0.5)]
    two = [row_of(Cell("main", "reuters", "lof", "paper", (k,), c, seed=0)) for k in (0, 2) for c in (0.1, 0.5)]
    assert "normal: class 2 only" in _draw_ratios(one).axes[0].get_xlabel()
    assert "mean over 2 normal classes" in _draw_ratios(two).axes[0].get_xlabel()


def test_an_ablation_is_drawn_as_changes_on_the_same_trials() -> None:
    rows = [of_table("glass", auc=0.8), of_table("WDBC", auc=0.6), of_table("glass", auc=0.7, trim=0.0)]
    axis = _draw_changes(rows).axes[0]
    assert [label.get_text() for label in axis.get_yticklabels()] == ["trim=0.0 (1)"]
    mean = next(line for line in axis.lines if line.get_marker() == "o")
    assert np.asarray(mean.get_xdata()) == pytest.approx([-0.1])


def test_a_method_that_has_fewer_data_sets_says_so() -> None:
    rows = [of_table("glass"), of_table("WDBC"), of_table("glass", method="lof", recipe="paper")]
    labels = {label.get_text() for label in _draw_own_outliers(rows).axes[0].get_yticklabels()}
    assert labels == {"RSRAE (default)", "LOF, 1 of 2"}


def of_table(name: str, auc: float = 0.5, method: str = "rsrae", recipe: Any = "default", **params: Any) -> Any:
    cell = Cell("tables", f"adbench/{name}", method, recipe, (0,), None, seed=0, params=tuple(params.items()))
    return row_of(cell, auc=auc)
