from __future__ import annotations

import pytest

from rsrae.paper.cells import Cell
from rsrae.paper.evidence import Method, Results, pair_part, pairs_of
from rsrae.paper.experiments import plan

from .shared import row_of, write_rows

RSRAE, DAGMM = Method("rsrae", "authors"), Method("dagmm")


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    # DAGMM has the first class in a quick run: harder classes of RSRAE must not count.
    def score(cell: Cell) -> float:
        return 0.6 if cell.method == "rsrae" and cell.classes[0] > 0 else 0.8 if cell.method == "rsrae" else 0.7

    folder = tmp_path_factory.mktemp("results")
    write_rows(folder / "main.jsonl", (row_of(cell, auc=score(cell)) for cell in plan("main", "quick")))
    return Results(folder)


def test_only_cells_that_both_methods_have_are_compared(results: Results) -> None:
    assert results.pair("main", RSRAE, DAGMM, "newsgroups", c=0.5) == pytest.approx((0.8, 0.7))
    assert results.mean("main", RSRAE, "newsgroups", c=0.5) == pytest.approx(0.61)


def test_what_was_not_run_is_no_evidence(results: Results) -> None:
    assert results.mean("main", DAGMM, "tiny-imagenet") is None
    assert "tiny-imagenet" not in pairs_of(results, "main", RSRAE, DAGMM)
    assert list(pair_part(results, "main", RSRAE, DAGMM, "tiny-imagenet", lambda a, b: a > b)) == []


def test_evidence_names_data_methods_and_figures(results: Results) -> None:
    (part,) = pair_part(results, "main", RSRAE, DAGMM, "newsgroups", lambda a, b: a > b, c=0.5)
    assert part.speaks_for
    assert part.evidence == "20 Newsgroups: RSRAE (authors) .800, DAGMM .700"
