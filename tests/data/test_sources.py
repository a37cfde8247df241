import io
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from PIL import Image

from rsrae.data.sources import encoder_from_json, read_source
from rsrae.errors import InputError, ModelFileError, ParameterError, RsraeError

CSV = "name,x,y\nann,1.5,2\nbob,2.5,1\ncem,3.5,7\n"
JSONL = '{"name": "ann", "x": 1.5, "y": 2}\n{"name": "bob", "x": 2.5, "y": 1}\n{"name": "cem", "x": 3.5, "y": 7}\n'


def test_reading_data_does_not_import_torch() -> None:
    code = "import sys, rsrae.data.sources, rsrae.data.examples; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize("content", [CSV, CSV.replace(",", ";"), JSONL, "\ufeff" + CSV, "\n" + JSONL])
def test_standard_input_is_csv_or_json_lines(content: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content.encode())))
    samples = read_source("-")
    assert samples.X.tolist() == [[1.5, 2], [2.5, 1], [3.5, 7]]
    assert samples.names == ["ann", "bob", "cem"]
    assert samples.source == "standard input"


def test_an_empty_standard_input_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"")))
    with pytest.raises(InputError, match="standard input: the file is empty"):
        read_source("-")


def test_a_folder_is_what_it_holds_more_of(tmp_path: Path) -> None:
    Image.new("L", (4, 4)).save(tmp_path / "a.png")
    (tmp_path / "readme.txt").write_text("some words")
    assert read_source(tmp_path).kind == "images"
    (tmp_path / "more.txt").write_text("some words")
    assert read_source(tmp_path).kind == "documents"
    assert read_source(tmp_path, kind="images").names == ["a.png"]


def test_an_array_can_be_read_as_a_table(tmp_path: Path) -> None:
    array = np.array([[1.0, np.nan], [2.0, 5.0], [3.0, 6.0]])
    np.savez(tmp_path / "a.npz", X=array, y=[0, 1, 0])
    samples = read_source(tmp_path / "a.npz", kind="table", label="y")
    assert samples.feature_names == ["column_1", "column_2", "column_2 (missing)"]
    assert samples.labels is not None
    assert samples.labels.tolist() == [0, 1, 0]
    with pytest.raises(InputError, match="--kind table"):
        read_source(array)


def test_the_limit_is_kept_and_noted(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(CSV)
    samples = read_source(tmp_path / "a.csv", limit=2)
    assert samples.names == ["ann", "bob"]
    assert any("first 2 of 3 rows" in note for note in samples.notes)
    assert len(read_source(np.eye(5), limit=2)) == 2
    for i in range(3):
        Image.new("L", (4, 4), i).save(tmp_path / f"{i}.png")
    assert read_source(tmp_path, limit=2).names == ["0.png", "1.png"]


@pytest.mark.parametrize(
    ("source", "option"),
    [
        (pd.DataFrame({"x": [1, 2]}), {"size": 5}),
        (pd.DataFrame({"x": [1, 2]}), {"names": ["a", "b"]}),
        (pd.DataFrame({"x": ["one", "two"]}), {"text": "x", "drop": ["x"]}),
        (pd.DataFrame({"x": [1, 2]}), {"strip_headers": True}),
        (pd.DataFrame({"x": [1, 2]}), {"stop_words": "english"}),
        (np.eye(3), {"id": "x"}),
        (np.eye(3), {"size": 5}),
        (np.ones((2, 4, 4)), {"drop": ["x"]}),
        (["one text", "two texts"], {"label": "y"}),
        (["one text", "two texts"], {"kind": "table"}),
        (np.eye(3), {"kind": "pictures"}),
        (np.eye(3), {"limit": 0}),
    ],
)
def test_an_option_that_would_do_nothing_is_an_error(source: Any, option: dict[str, Any]) -> None:
    with pytest.raises(ParameterError):
        read_source(source, **option)


@pytest.mark.parametrize("source", [5, None, object(), [], [1, 2], {"a": 1}, pl.LazyFrame({"a": [1]})])
def test_a_source_that_is_none_is_an_error_of_ours(source: Any) -> None:
    with pytest.raises(RsraeError):
        read_source(source)


def test_arrays_are_no_documents_and_folders_no_tables(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="documents"):
        read_source(np.eye(3), kind="documents")
    (tmp_path / "a.csv").write_text(CSV)
    with pytest.raises(InputError, match="one file"):
        read_source(tmp_path, kind="table")


def test_a_model_of_one_kind_does_not_read_another() -> None:
    encoder = read_source(np.eye(3)).encoder
    with pytest.raises(ParameterError, match="fitted on embeddings"):
        read_source(np.eye(3), encoder=encoder, kind="table")


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"kind": "magic"},
        {"kind": []},
        {"kind": "embeddings", "n_features": "many"},
        {"kind": "images", "height": 10**9, "width": 8, "is_colour": True, "black": 0, "white": 255},
        {"kind": "images", "height": 8, "width": 8, "is_colour": True, "black": 0, "white": float("nan")},
        {"kind": "table", "columns": [{"type": "number"}], "left_out": {}, "id": None},
        {"kind": "table", "columns": 5, "left_out": {}, "id": None},
        {"kind": "documents", "buckets": [1, 2], "words": [["a"]], "document_frequencies": [1, 1]},
        {
            "kind": "documents",
            "buckets": [2, 1],
            "words": [["a"], ["b"]],
            "document_frequencies": [1, 1],
            "n_documents": 2,
            "strip_headers": False,
            "text": None,
        },
    ],
)
def test_a_damaged_description_is_a_model_file_error(fields: dict[str, Any]) -> None:
    with pytest.raises(ModelFileError, match="damaged"):
        encoder_from_json(fields)
