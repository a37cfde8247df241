from pathlib import Path

import pytest

from rsrae.paper import experiments
from rsrae.paper.cells import Cell
from rsrae.paper.tables import planned_rows, summarise, tables

from .shared import row_of, write_rows


def cell(classes: tuple[int, ...] = (0,), seed: int = 0, **more: object) -> Cell:
    fields = {"experiment": "main", "data": "reuters", "method": "lof", "recipe": "paper", "c": 0.5, **more}
    return Cell(classes=classes, seed=seed, **fields)  # type: ignore[arg-type]


def test_the_mean_is_over_classes_and_the_deviation_over_seeds() -> None:
    rows = [
        row_of(cell((0,), 0), auc=0.6),
        row_of(cell((0,), 1), auc=0.8),
        row_of(cell((1,), 0), auc=0.9),
        row_of(cell((1,), 1), auc=0.9),
        row_of(cell((1,), 2), auc=0.9),
    ]
    (summary,) = summarise(rows)
    assert summary.auc == pytest.approx((0.7 + 0.9) / 2)
    assert summary.auc_std == pytest.approx((0.1 + 0.0) / 2)
    assert (summary.n_classes, summary.n_seeds, summary.seconds) == (2, 2, 1.5)


def test_one_seed_has_no_deviation() -> None:
    (summary,) = summarise([row_of(cell())])
    assert summary.auc_std is None


@pytest.mark.parametrize("other", [{"c": 0.9}, {"recipe": "authors"}, {"outliers": "first"}, {"params": (("k", 3),)}])
def test_what_differs_is_not_averaged(other: dict[str, object]) -> None:
    assert len(summarise([row_of(cell()), row_of(cell(**other))])) == 2  # type: ignore[arg-type]


def test_a_table_has_a_row_a_method_and_a_column_a_ratio() -> None:
    rows = [row_of(cell()), row_of(cell(c=0.9), auc=0.75), row_of(cell(method="rsrae"), auc=0.85)]
    (table,) = tables("main", rows)
    assert table.title == "Reuters-21578"
    assert table.columns[:3] == ("method", "c = 0.5", "c = 0.9")
    assert [row[:3] for row in table.rows] == [
        ("LOF", ".800 / .700", ".750 / .700"),
        ("RSRAE (paper)", ".850 / .700", "–"),
    ]
    assert table.to_markdown().count("\n") == 3


def test_runtime_is_also_told_in_multiples_of_the_autoencoder() -> None:
    slow = row_of(cell(method="rsrae", experiment="runtime"), seconds_fit=4.0)
    seconds, multiples = tables("runtime", [row_of(cell(method="ae", experiment="runtime")), slow])
    assert [row[1] for row in seconds.rows] == ["1.50", "4.50"]
    assert [row[1] for row in multiples.rows] == ["1.00", "3.00"]


@pytest.mark.parametrize("name", experiments.ids())
def test_every_experiment_has_tables(name: str) -> None:
    made = tables(name, [row_of(one) for one in experiments.plan(name, "smoke")])
    assert made
    for table in made:
        assert table.rows
        assert {len(row) for row in table.rows} == {len(table.columns)}


def test_no_results_make_no_tables() -> None:
    assert tables("main", []) == []


def test_only_rows_of_the_profile_and_of_the_present_code_count(tmp_path: Path) -> None:
    quick = experiments.plan("swiss-roll", "quick")
    full = [one for one in experiments.plan("swiss-roll", "full") if one not in set(quick)]
    rows = [row_of(quick[0]), row_of(quick[1], status="failed"), row_of(full[0]), row_of(quick[2], code_version=0)]
    write_rows(tmp_path / "swiss-roll.jsonl", rows)
    assert len(planned_rows("swiss-roll", "quick", tmp_path)[0]) == 1
    counted, total = planned_rows("swiss-roll", "full", tmp_path)
    assert (len(counted), total) == (2, 40)


def test_the_ablation_names_what_was_changed_and_keeps_the_kinds_of_data_apart() -> None:
    cells = [
        Cell("ablation", "adbench/glass", "rsrae", "default", (), None, 0),
        Cell("ablation", "reuters", "rsrae", "default", (0,), 0.5, 0),
        Cell("ablation", "reuters", "rsrae", "default", (0,), 0.5, 0, "random", (("trim", 0.0),)),
    ]
    rows = [row_of(cell, auc) for cell, auc in zip(cells, (0.6, 0.7, 0.8), strict=True)]
    (table,) = tables("ablation", rows)
    assert table.columns == ("setting", "1 normal class", "ADBench tables")
    found = {row[0]: row[1:] for row in table.rows}
    assert found["RSRAE (default)"] == (".700 / .700 (1)", ".600 / .700 (1)")
    assert found["RSRAE (default): trim=0.0"] == (".800 / .700 (1)", "–")
