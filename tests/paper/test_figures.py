import sys
from pathlib import Path

import pytest

from rsrae.errors import MissingExtraError, SourceError
from rsrae.paper import experiments
from rsrae.paper.cells import Cell
from rsrae.paper.figures import _of_common_classes, plot

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
    cells += [Cell("main", "newsgroups", "lof", "paper", (k,), 0.5, seed=0) for k in range(2)]
    kept = _of_common_classes([row_of(cell) for cell in cells])
    assert {tuple(row["classes"]) for row in kept if row["data"] == "reuters"} == {(1,)}
    assert sum(row["data"] == "newsgroups" for row in kept) == 2
