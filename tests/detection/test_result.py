from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from rsrae.data.examples import load_example
from rsrae.data.samples import Samples
from rsrae.data.sources import read_source
from rsrae.detection import Detection, detect, detect_samples, load_model
from rsrae.detection.facts import N_LISTED, report_facts
from rsrae.errors import ModelFileError, OutputError
from rsrae.report import render

HOSTILE = "<script>alert('x')</script>"


@pytest.fixture(scope="module")
def wine() -> Detection:
    return detect_samples(load_example("wine"), epochs=3, example="wine")


def test_all_four_files_are_written(wine: Detection, tmp_path: Path) -> None:
    files = wine.write(tmp_path / "out")
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == sorted(files)
    from_csv = pd.read_csv(files["scores.csv"], dtype={"id": str})
    from_parquet = pd.read_parquet(files["scores.parquet"])
    assert from_csv["id"].tolist() == from_parquet["id"].tolist() == wine.scores["id"].tolist()
    np.testing.assert_allclose(from_csv["score"], wine.scores["score"])
    assert from_csv["reasons"].notna().all()
    model = load_model(files["model.rsrae"])
    assert (model.method, model.example, model.n_items) == ("rsrae", "wine", 129)
    assert model.created == wine.model.created
    assert files["report.html"].read_text().startswith("<!doctype html>")


def test_a_result_is_not_written_over_another_without_force(wine: Detection, tmp_path: Path) -> None:
    wine.write(tmp_path / "out")
    with pytest.raises(OutputError, match="already exists"):
        wine.write(tmp_path / "out")
    wine.write(tmp_path / "out", force=True)
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_if_one_file_fails_none_is_left_and_the_error_names_the_users_folder(
    wine: Detection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full_disk(self: Detection, path: Path) -> None:
        raise OutputError(f"{path}: cannot be written (No space left on device)")

    monkeypatch.setattr(Detection, "report", full_disk)
    with pytest.raises(OutputError) as caught:
        wine.write(tmp_path / "out")
    assert str(caught.value).startswith(str(tmp_path / "out" / "report.html"))
    assert list(tmp_path.iterdir()) == []


def test_a_damaged_description_of_the_data_is_a_model_file_error(wine: Detection, tmp_path: Path) -> None:
    extra = {"method": "rsrae", "encoder": {"kind": "table"}}
    wine.detector.save(tmp_path / "m.rsrae", extra=extra)
    with pytest.raises(ModelFileError, match=r"m\.rsrae: the model's description of its data is damaged"):
        load_model(tmp_path / "m.rsrae")
    extra["encoder"] = wine.model.encoder.to_json()
    wine.detector.save(tmp_path / "m.rsrae", extra=extra)
    with pytest.raises(ModelFileError, match=r"m\.rsrae: the header is damaged"):
        load_model(tmp_path / "m.rsrae")


def test_the_notebook_shows_ten_items_and_escapes_what_the_user_wrote() -> None:
    frame = pd.DataFrame(
        {"id": [f"{HOSTILE}{i}" for i in range(30)], HOSTILE: np.arange(30.0) ** 3, "b": [1.0, 2.0] * 15}
    )
    html = detect(frame, id="id", epochs=1)._repr_html_()
    assert html.count("<tr>") == 11
    assert "<script>" not in html
    assert "&lt;script&gt;" in html


def test_the_short_form_says_how_many_are_strange(wine: Detection) -> None:
    assert repr(wine).startswith(f"<Detection: {wine.n_flagged} of 129 table items above ")


def test_names_that_are_no_unicode_can_be_written(tmp_path: Path) -> None:
    X = np.random.default_rng(0).normal(size=(20, 3))
    samples = read_source(X)
    samples.names[3] = "caf\udce9.png"  # as the file system gives names in another encoding
    detect_samples(samples, epochs=1).write(tmp_path / "out")
    assert "caf?" in (tmp_path / "out" / "scores.csv").read_text()


def test_a_report_lists_everything_that_is_little(wine: Detection) -> None:
    facts = report_facts(wine)
    assert facts.n_items == len(facts.items) == 129
    assert facts.n_flagged == wine.n_flagged
    assert facts.metrics == wine.metrics
    assert facts.items[0].cells["alcohol"]
    assert facts.items[0].reasons[0].share > facts.items[0].reasons[1].share
    assert facts.items[0].position is not None
    assert set(facts.history) == {"reconstruction", "projection", "orthogonality"}


@pytest.mark.parametrize(("contamination", "n_strangest"), [(0.02, 50), (0.08, 80), (0.4, 90)])
def test_of_much_a_report_lists_what_is_above_the_line_and_an_even_choice(
    contamination: float, n_strangest: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(N_LISTED, "embeddings", 100)
    X = np.random.default_rng(0).normal(size=(1000, 3))
    result = detect(X, epochs=1, contamination=contamination)
    facts = report_facts(result)
    assert [item.rank for item in facts.items][:n_strangest] == list(range(1, n_strangest + 1))
    assert facts.n_strangest_listed in (n_strangest, n_strangest + 1)  # the first of the others follows them
    assert facts.items[-1].rank == 1000
    assert len(facts.items) == 100
    assert facts.n_items == 1000
    assert facts.n_flagged == result.n_flagged
    assert (
        f"The {facts.n_strangest_listed} strangest of 1,000 are listed, and {100 - facts.n_strangest_listed} of"
        in render(facts)
    )


def test_a_wide_table_shows_its_most_telling_columns() -> None:
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(40, 90)), columns=[f"c{i}" for i in range(90)])
    frame.loc[0, "c77"] = 1000.0
    facts = report_facts(detect(frame, epochs=1))
    assert len(facts.items[0].cells) == 60
    assert "c77" in facts.items[0].cells
    assert "60 of 90 columns" in facts.notes[-1]


def test_pictures_have_thumbnails_and_heat_maps() -> None:
    facts = report_facts(detect(load_example("digits").X[:40], epochs=1))
    assert facts.items[0].thumbnail is not None
    assert facts.items[0].heatmap is not None
    assert facts.items[0].reasons == []


def test_pictures_from_files_are_shown_as_they_are_in_the_files(tmp_path: Path) -> None:
    for i in range(6):
        Image.new("RGB", (90, 60), (40 * i, 200, 10)).save(tmp_path / f"{i}.png")
    result = detect(tmp_path, epochs=1)
    assert isinstance(result.samples, Samples)
    facts = report_facts(result)
    picture = Image.open(io.BytesIO(facts.items[0].thumbnail or b""))
    assert picture.size == (90, 60)
    (tmp_path / facts.items[0].name).unlink()
    gone = report_facts(result)
    assert gone.items[0].thumbnail is not None
