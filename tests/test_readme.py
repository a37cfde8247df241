"""The figures of the README are those of the page that is made from the stored results."""

from __future__ import annotations

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
COLUMNS = {
    "`RSRAE()`": "RSRAE()",
    "published recipe": "RSRAE, authors'",
    "centroid": "centroid",
    "5 nearest": "5 nearest",
    "isolation forest": "isolation forest",
    "PyOD's AutoEncoder": "AutoEncoder (PyOD)",
}
ROWS = {
    "documents, one normal topic (20 Newsgroups)": "20 Newsgroups, 1 normal class",
    "documents, three normal topics": "20 Newsgroups, 3 normal classes",
    "deep features, one normal class (Tiny ImageNet)": "Tiny ImageNet, deep features, 1 normal class",
    "deep features, three normal classes": "Tiny ImageNet, deep features, 3 normal classes",
    "small pictures, one normal kind (Fashion-MNIST)": "Fashion-MNIST, pixels, 1 normal class",
    "small pictures, one normal kind (Caltech 101)": "Caltech 101, pixels, 1 normal class",
    "small pictures, three normal kinds": "Caltech 101, pixels, 3 normal classes",
    "22 tables of ADBench": "22 ADBench tables",
}


def first_table(page: Path, heading: str) -> dict[str, dict[str, str]]:
    """Of the table whose heading begins so: the cells of a row, by column."""
    lines = page.read_text(encoding="utf-8").splitlines()
    start = next(number for number, line in enumerate(lines) if line.startswith(heading))
    rows = []
    for line in lines[start:]:
        if not line.startswith("|"):
            break
        rows.append([cell.strip().strip("*") for cell in line.strip("|").split("|")])
    return {row[0]: dict(zip(rows[0], row, strict=True)) for row in rows[2:]}


@pytest.mark.parametrize("row", ROWS)
def test_the_readme_has_the_figures_of_the_page(row: str) -> None:
    told = first_table(ROOT / "README.md", "| | `RSRAE()` |")[row]
    measured = first_table(ROOT / "docs" / "which-detector.md", "| mean AUC / AP | trials | RSRAE() |")[ROWS[row]]
    for here, there in COLUMNS.items():
        auc = measured[there].split("/")[0].strip("* ")
        if auc:
            assert float(told[here]) == pytest.approx(float(auc), abs=0.0051), here
        else:  # a method that was not asked has no figure in either
            assert told[here] == ""


def test_every_row_of_the_readme_is_looked_at() -> None:
    assert set(first_table(ROOT / "README.md", "| | `RSRAE()` |")) == set(ROWS)
