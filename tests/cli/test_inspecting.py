"""explain, report, info and methods, as a user calls them."""

from __future__ import annotations

import webbrowser
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from rsrae.detectors import METHODS

from .finished import Command


def test_an_item_is_explained_with_values_and_expectations(
    command: Command, orders_csv: Path, orders_model: Path
) -> None:
    done = command("explain", "orders.csv", "-m", orders_model, "--item", "A2")
    assert done.code == 0
    assert done.out.startswith("A2: score ")
    first_part = done.out.splitlines()[4].split()
    assert first_part[:2] == ["price", "900"]


def test_an_explanation_as_json_adds_up(command: Command, orders_csv: Path, orders_model: Path) -> None:
    document = command("explain", "orders.csv", "-m", orders_model, "--item", "A2", "--most", 2, "--json").document
    assert document["id"] == "A2"
    assert len(document["parts"]) == 2
    assert sum(part["share"] for part in document["parts"]) + document["rest"] == pytest.approx(1)
    assert document["rank"] <= 4


def test_a_pictures_heat_map_is_written(command: Command, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    np.save(tmp_path / "pictures.npy", rng.integers(0, 255, (12, 8, 8), dtype=np.uint8))
    assert command("fit", "pictures.npy", "--method", "centroid", "-m", "m.rsrae", "-q").code == 0
    done = command("explain", "pictures.npy", "-m", "m.rsrae", "--item", 3, "--out", "heat.png")
    assert done.code == 0
    assert "brightness of rows" in done.out
    with Image.open("heat.png") as picture:
        assert (picture.format, picture.size) == ("PNG", (512, 512))
    assert command("explain", "pictures.npy", "-m", "m.rsrae", "--item", 3, "--out", "heat.png").code == 2


def test_a_report_is_made_again_from_model_and_data(command: Command, orders_csv: Path) -> None:
    command("detect", "orders.csv", "--label", "fraud", "--epochs", 2, "--limit", 60, "-q", "--out", "o")
    Path("o/report.html").unlink()
    done = command("report", "o")
    assert (done.code, done.err) == (0, "")
    page = Path("o/report.html").read_text()
    assert "orders.csv" in page
    assert "Only the first 60 of 80 rows are used." in page


def test_a_report_of_an_example_is_made_again(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    monkeypatch.setattr(webbrowser, "open", opened.append)
    command("detect", "--example", "wine", "--epochs", 1, "-q", "--out", "o")
    Path("o/report.html").unlink()
    assert command("report", "o", "--open").code == 0
    assert opened == [Path("o/report.html").absolute().as_uri()]


def test_a_report_finds_data_that_has_moved(command: Command, orders_csv: Path) -> None:
    command("detect", "orders.csv", "--epochs", 1, "-q", "--out", "o")
    Path("orders.csv").rename("moved.csv")
    lost = command("report", "o")
    assert lost.code == 2
    assert "say where it is with --source" in lost.err
    assert command("report", "o", "--source", "moved.csv", "-q") == (0, "", "")


def test_info_tells_what_a_model_holds(command: Command, orders_model: Path) -> None:
    text = command("info", orders_model).out
    assert "method: rsrae" in text
    assert "price (number)" in text
    assert "epochs: 3" in text
    document = command("info", orders_model, "--json").document
    assert document["items"] == 80
    assert document["kind"] == "table"
    assert "fraud" in document["left out"]
    assert document["rows of the data inside"] == 56  # neighbours are sought among the best 70 %


def test_methods_lists_them_all(command: Command) -> None:
    rows = command("methods", "--json").document
    assert [row["name"] for row in rows] == list(METHODS)
    by_name = {row["name"]: row for row in rows}
    assert by_name["gt"]["takes"] == ["images"]
    assert by_name["rsrae"]["takes"] == ["tables", "documents", "images"]
    assert by_name["rsrae"]["needs"] == "training"
    assert by_name["iforest"]["needs"] == "no training"
    text = command("methods").out
    assert all(name in text for name in METHODS)
