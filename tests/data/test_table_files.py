import builtins
import datetime
import gzip
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
import openpyxl
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest

from rsrae.data import table_files
from rsrae.data.samples import Items
from rsrae.data.sources import read_source
from rsrae.data.table_files import (
    ColumnStore,
    column_from_values,
    read_csv,
    read_excel,
    read_json_lines,
    read_parquet,
    table_from_arrow,
    table_from_frame,
)
from rsrae.errors import InputError, MissingExtraError, SourceError

TABLE = pa.table(
    {
        "price": [1.5, 2.5, None, 4.5],
        "colour": ["red", "blue", "red", "blue"],
        "new": [True, False, True, False],
        "day": [datetime.date(2024, 1, d) for d in (1, 2, 3, 4)],
    }
)
CSV = """\
price,colour,new,day
1.5,red,true,2024-01-01
2.5,blue,false,2024-01-02
,red,true,2024-01-03
4.5,blue,false,2024-01-04
"""
JSON_ROWS = [json.dumps(row, default=str) for row in TABLE.to_pylist()]


def write_csv(path: Path) -> None:
    path.write_text(CSV)


def write_excel(path: Path) -> None:
    workbook = openpyxl.Workbook()
    workbook.active.append(TABLE.column_names)
    for row in TABLE.to_pylist():
        workbook.active.append(list(row.values()))
    workbook.save(path)


def write_stream(path: Path) -> None:
    with pa.ipc.new_stream(str(path), TABLE.schema) as stream:
        stream.write_table(TABLE)


WRITERS: dict[str, Callable[[Path], Any]] = {
    "a.csv": write_csv,
    "a.csv.gz": lambda path: path.write_bytes(gzip.compress(CSV.encode())),
    "utf16.csv": lambda path: path.write_bytes(CSV.encode("utf-16")),
    "bare-utf16.csv": lambda path: path.write_bytes(CSV.encode("utf-16-le")),
    "a.tsv": lambda path: path.write_text(CSV.replace(",", "\t")),
    "no-ending": write_csv,
    "a.dat": lambda path: path.write_text("\n".join(JSON_ROWS)),
    "a.jsonl": lambda path: path.write_text("\n".join(JSON_ROWS)),
    "a.json": lambda path: path.write_text(f"[{','.join(JSON_ROWS)}]"),
    "a.parquet": lambda path: pa.parquet.write_table(TABLE, path),
    "a.feather": lambda path: pa.feather.write_feather(TABLE, path),
    "a.arrow": lambda path: pa.feather.write_feather(TABLE, path, compression="uncompressed"),
    "a.arrows": write_stream,
    "a.xlsx": write_excel,
}


@pytest.mark.parametrize("name", WRITERS)
def test_every_format_gives_the_same_matrix(name: str, tmp_path: Path) -> None:
    WRITERS[name](tmp_path / name)
    samples = read_source(tmp_path / name)
    expected = read_source(TABLE)
    assert samples.feature_names == expected.feature_names
    np.testing.assert_array_equal(samples.X, expected.X)


@pytest.mark.parametrize("frame", [TABLE.to_pandas(), pl.from_arrow(TABLE), TABLE])
def test_every_frame_gives_the_same_matrix(frame: Any) -> None:
    np.testing.assert_array_equal(read_source(frame).X, read_source(TABLE).X)


def test_a_list_of_dicts_is_a_table() -> None:
    np.testing.assert_array_equal(read_source(TABLE.to_pylist()).X, read_source(TABLE).X)


def test_a_file_without_header_gets_numbered_columns_and_a_note() -> None:
    store = read_csv(b"1,2\n3,4\n", "a.csv")
    assert store.column_names == ["column_1", "column_2"]
    assert len(store) == 2
    assert "column_1 to column_2" in store.notes[0]


def test_a_wrong_encoding_is_noted_and_the_text_is_right() -> None:
    store = read_csv("stadt,x\nKöln,1\nKöln,2\n".encode("latin-1"), "a.csv")
    assert store.row(0)["stadt"] == "Köln"
    assert "cp1252" in store.notes[0]


def test_quoted_cells_may_hold_delimiters_and_line_ends() -> None:
    store = read_csv(b'a,b\n"x, y\nz",1\n"q ""r""",2\n', "a.csv")
    assert [store.row(0)["a"], store.row(1)["a"]] == ["x, y\nz", 'q "r"']


def test_lines_longer_than_a_block_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table_files, "_CSV_BLOCK_BYTES", 16)
    store = read_csv(b"a,b\n" + b"x" * 100 + b",1\n" + b"y" * 100 + b",2\n", "a.csv")
    assert len(store) == 2


def test_columns_can_be_kept_as_text() -> None:
    assert read_csv(b"zip,x\n01234,1\n99999,2\n", "a.csv", as_text=["zip"]).row(0)["zip"] == "01234"


def test_json_rows_may_lack_keys() -> None:
    store = read_json_lines(b'{"a": 1}\n\n{"b": "x"}\n{"a": 2.5, "b": null}', "a.jsonl")
    assert store.rows([0, 1, 2]) == [{"a": 1.0, "b": None}, {"a": None, "b": "x"}, {"a": 2.5, "b": None}]


def test_a_large_parquet_file_is_read_one_column_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table_files, "_SMALL_TABLE_BYTES", 0)
    pa.parquet.write_table(TABLE, tmp_path / "a.parquet")
    store = read_parquet(tmp_path / "a.parquet")
    (tmp_path / "a.parquet").unlink()  # the open file stays readable
    assert store.rows([3, 0]) == TABLE.take([3, 0]).to_pylist()
    assert store.head(2).column("price").to_pylist() == [1.5, 2.5]


def test_a_parquet_column_whose_name_has_a_dot_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table_files, "_SMALL_TABLE_BYTES", 0)
    pa.parquet.write_table(pa.table({"a": [1, 2], "a.b": [3, 4]}), tmp_path / "a.parquet")
    assert read_parquet(tmp_path / "a.parquet").rows([1]) == [{"a": 2, "a.b": 4}]


def test_several_sheets_are_noted(tmp_path: Path) -> None:
    workbook = openpyxl.Workbook()
    workbook.active.append(["a", None, "b"])
    workbook.active.append([])
    workbook.active.append([1, 2, "x"])
    workbook.create_sheet("more")
    workbook.save(tmp_path / "a.xlsx")
    store = read_excel(tmp_path / "a.xlsx")
    assert store.row(0) == {"a": 1, "column_2": 2, "b": "x"}
    assert "first of 2 sheets" in store.notes[0]


def test_excel_without_its_reader_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_excel(tmp_path / "a.xlsx")
    real_import = builtins.__import__

    def without_openpyxl(name: str, *args: Any, **kwargs: Any) -> Any:
        if name == "openpyxl":
            raise ImportError(name)
        return real_import(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without_openpyxl)
    with pytest.raises(MissingExtraError, match=r"rsrae\[excel\]"):
        read_excel(tmp_path / "a.xlsx")


def test_a_pandas_index_names_the_rows() -> None:
    frame = nw.from_native(pd.DataFrame({"a": [1, 2]}, index=["x", "y"]), eager_only=True)
    assert table_from_frame(frame, "frame").row_names == ["x", "y"]


def test_pandas_columns_of_mixed_objects_become_text() -> None:
    frame = pd.DataFrame({"a": pd.Series([1, "x", None, pd.NA], dtype=object), 5: [1, 2, 3, 4]})
    store = table_from_frame(nw.from_native(frame, eager_only=True), "frame")
    assert store.rows([0, 1, 2, 3]) == [
        {"a": "1", "5": 1},
        {"a": "x", "5": 2},
        {"a": None, "5": 3},
        {"a": None, "5": 4},
    ]


def test_frames_with_columns_of_one_name_are_refused() -> None:
    with pytest.raises(InputError):
        read_source(pd.DataFrame([[1, 2], [3, 4]], columns=["a", "a"]))
    with pytest.raises(InputError, match="differ only in type"):
        read_source(pd.DataFrame([[1, 2], [3, 4]], columns=[1, "1"]))


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([True, None], [True, None]),
        ([1, True], [1, 1]),
        ([1, 2**70], [1.0, 2.0**70]),
        ([10**400, 1], [float("inf"), 1.0]),
        (["a", 1.5, False], ["a", "1.5", "false"]),
        (["\ud800"], ["?"]),
        (
            [datetime.date(2024, 1, 1), datetime.datetime(2024, 1, 1, 12)],
            [datetime.datetime(2024, 1, 1), datetime.datetime(2024, 1, 1, 12)],
        ),
        ([{"a": 1}, 5], [['{"a": 1}'], None]),
        ([None, None], [None, None]),
        ([], []),
    ],
)
def test_python_values_become_one_column(values: list[object], expected: list[object]) -> None:
    assert column_from_values(values).to_pylist() == expected


def test_dates_python_does_not_know_are_shown_as_text() -> None:
    far = pa.array([10**12], type=pa.timestamp("s"))
    assert isinstance(table_from_arrow(pa.table({"t": far}), "t").row(0)["t"], str)


def test_a_store_shows_its_rows_as_items() -> None:
    store = table_from_arrow(TABLE, "table")
    assert isinstance(store, Items)
    assert store.row(1) == TABLE.to_pylist()[1]
    assert store.select(["new"]).row(1) == {"new": False}


def test_a_column_that_cannot_be_fetched_is_a_source_error() -> None:
    def fail(name: str) -> pa.ChunkedArray:
        raise OSError("disk gone")

    with pytest.raises(SourceError, match="column 'a' cannot be read"):
        ColumnStore("a.parquet", ["a"], 1, fail).column("a")


MEASURE = """
import resource, sys
from rsrae.data.sources import read_source
megabytes = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
before = megabytes()
samples = read_source(sys.argv[1])
samples.items.rows([0, len(samples) - 1])
print(megabytes() - before, samples.X.nbytes / 2**20)
"""


@pytest.mark.slow
def test_a_large_parquet_file_costs_little_more_memory_than_its_matrix(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    columns = {f"c{j}": rng.random(1_000_000, dtype=np.float32) for j in range(40)}
    pa.parquet.write_table(pa.table(columns), tmp_path / "a.parquet", compression="none")
    run = subprocess.run(
        [sys.executable, "-c", MEASURE, str(tmp_path / "a.parquet")], capture_output=True, text=True, check=True
    )
    used, matrix = map(float, run.stdout.split())
    assert used < matrix + 150  # names, one column in several forms, what the allocator keeps
