from dataclasses import replace

import pytest

from rsrae.paper import cells
from rsrae.paper.cells import Cell

CELL = Cell("main", "reuters", "lof", "paper", (0,), 0.5, 0, params=(("epochs", 3),))


@pytest.mark.parametrize(
    "change",
    [
        {"experiment": "variants"},
        {"data": "newsgroups"},
        {"method": "knn"},
        {"recipe": "authors"},
        {"classes": (1,)},
        {"c": 0.7},
        {"seed": 1},
        {"outliers": "first"},
        {"params": (("epochs", 4),)},
    ],
)
def test_cells_that_differ_in_anything_have_different_ids(change: dict[str, object]) -> None:
    assert replace(CELL, **change).id != CELL.id  # type: ignore[arg-type]


def test_a_new_code_version_gives_new_ids(monkeypatch: pytest.MonkeyPatch) -> None:
    before = CELL.id
    monkeypatch.setitem(cells.CODE_VERSIONS, CELL.recipe, CELL.code_version + 1)
    assert CELL.id != before


def test_a_new_version_of_one_recipe_leaves_the_others_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    before = CELL.id
    monkeypatch.setitem(cells.CODE_VERSIONS, "default", 99)
    assert CELL.recipe != "default"
    assert CELL.id == before


def test_a_new_version_for_tables_leaves_all_other_data_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    table = replace(CELL, data="adbench/wine", classes=(), c=None)
    before = CELL.id, table.id
    monkeypatch.setitem(cells.TABLE_VERSIONS, CELL.recipe, 99)
    assert CELL.id == before[0]
    assert table.id != before[1]


def test_an_id_is_the_same_in_every_process() -> None:
    assert Cell("main", "reuters", "lof", "paper", (0,), 0.5, 0).as_row() == {
        "experiment": "main",
        "data": "reuters",
        "method": "lof",
        "recipe": "paper",
        "classes": [0],
        "c": 0.5,
        "seed": 0,
        "outliers": "random",
        "params": {},
    }
