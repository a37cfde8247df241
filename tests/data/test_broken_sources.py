"""Every broken thing a user may point at is a one-line error that names the place and the way out."""

import contextlib
import gzip
import io
import json
import os
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from rsrae.data.samples import Samples
from rsrae.data.sources import read_source
from rsrae.data.table_files import read_csv, read_json_lines
from rsrae.data.tables import samples_from_table
from rsrae.errors import InputError, RsraeError, SourceError

ROWS = "".join(f"{i},{i % 7}.5,{'red' if i % 3 else 'blue'}\n" for i in range(1, 31))
GOOD_CSV = "id,price,colour\n" + ROWS


def parquet_bytes(**columns: object) -> bytes:
    sink = io.BytesIO()
    pa.parquet.write_table(pa.table(columns), sink)
    return sink.getvalue()


def npz_bytes(**arrays: np.ndarray) -> bytes:
    sink = io.BytesIO()
    np.savez_compressed(sink, **arrays)
    return sink.getvalue()


def npy_bytes(array: np.ndarray, allow_pickle: bool = False) -> bytes:
    sink = io.BytesIO()
    np.save(sink, array, allow_pickle=allow_pickle)
    return sink.getvalue()


def json_lines(bad: str) -> bytes:
    lines = [json.dumps({"a": i, "b": i * 0.5}) for i in range(30)]
    lines[16] = bad
    return "\n".join(lines).encode()


def zip_bomb() -> bytes:
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED) as archive, archive.open("X.npy", "w") as entry:
        for _ in range(300):
            entry.write(bytes(2**20))
    return sink.getvalue()


def gzip_bomb() -> bytes:
    sink = io.BytesIO()
    with gzip.GzipFile(fileobj=sink, mode="wb") as stream:
        for _ in range(300):
            stream.write(bytes(2**20))
    return sink.getvalue()


def with_nan(shape: tuple[int, ...], at: tuple[int, ...]) -> np.ndarray:
    array = np.ones(shape)
    array[at] = np.nan
    return array


# file name, content, options, what the message must say
BROKEN_FILES: dict[str, tuple[str, bytes | Callable[[], bytes], dict[str, object], str]] = {
    "empty csv": ("a.csv", b"", {}, "empty"),
    "only blank lines": ("a.csv", b"\n\n  \n", {}, "empty"),
    "header only": ("a.csv", b"id,price\n", {}, "no rows"),
    "truncated gzip": ("a.csv.gz", gzip.compress(GOOD_CSV.encode())[:-30], {}, "gzip"),
    "gzip that is none": ("a.csv.gz", b"\x1f\x8bnonsense", {}, "gzip"),
    "gzip bomb": ("a.csv.gz", gzip_bomb, {}, "unpack"),
    "ragged csv": ("a.csv", GOOD_CSV.encode() + b"1,2,3,4,5\n", {}, "line 32"),
    "unclosed quote": ("a.csv", b'a,b\n1,"2\n3,4\n', {}, "quote opened in line 2"),
    "png named csv": ("a.csv", b"\x89PNG\r\n\x1a\n" + bytes(range(256)), {}, "PNG"),
    "binary named csv": ("a.csv", bytes(range(1, 256)) * 4, {}, "binary"),
    "zero bytes": ("a.csv", b"a,b\n1,2\n3,\x004\n", {}, "line 3"),
    "duplicate columns": ("a.csv", b"a,b,a\n1,2,3\n4,5,6\n", {}, "'a'"),
    "every cell missing": ("a.csv", b"a,b\n,\nNA,\n,n/a\n", {}, "every cell is missing"),
    "only constant columns": ("a.csv", b"a,b\n1,x\n1,x\n1,x\n", {}, "every cell is 1"),
    "only an id": ("a.csv", b"id,\n1,\n2,\n3,\n", {}, "no column can be used"),
    "text in place of a number": (
        "a.csv",
        GOOD_CSV.replace("\n18,4.5", "\n18,cheap").encode(),
        {},
        "column 'price' has a cell that is not a number (row 18, 'cheap')",
    ),
    "infinite number": ("a.csv", GOOD_CSV.replace("\n18,4.5", "\n18,inf").encode(), {}, "row 18"),
    "number beyond 32 bits": ("a.csv", GOOD_CSV.replace("\n18,4.5", "\n18,1e300").encode(), {}, "row 18"),
    "damaged utf-16": ("a.csv", GOOD_CSV.encode("utf-16") + b"\x00", {}, "utf-16"),
    "missing id column": ("a.csv", GOOD_CSV.encode(), {"id": "idd"}, "did you mean 'id'?"),
    "missing label column": ("a.csv", GOOD_CSV.encode(), {"label": "fraud"}, "no column 'fraud'"),
    "missing text column": ("a.csv", GOOD_CSV.encode(), {"text": "body"}, "no column 'body'"),
    "missing dropped column": ("a.csv", GOOD_CSV.encode(), {"drop": ["size"]}, "no column 'size'"),
    "labels that are none": ("a.csv", GOOD_CSV.encode(), {"label": "colour"}, "row 1"),
    "documents without text": ("a.csv", GOOD_CSV.encode(), {"kind": "documents"}, "--text"),
    "table as images": ("a.csv", GOOD_CSV.encode(), {"kind": "images"}, "images"),
    "bad json line": ("a.jsonl", json_lines('{"a": 1,'), {}, "line 17"),
    "json line that is no object": ("a.jsonl", json_lines("[1, 2]"), {}, "line 17"),
    "json nested too deeply": ("a.jsonl", json_lines("[" * 100_000), {}, "line 17"),
    "nested json value": ("a.jsonl", json_lines('{"a": 1, "b": {"c": 2}}'), {}, "row 17"),
    "json without keys": ("a.jsonl", b"{}\n{}\n", {}, "no columns"),
    "empty json lines": ("a.jsonl", b"", {}, "empty"),
    "mixed types in json": ("a.jsonl", json_lines('{"a": 1, "b": "x"}'), {}, "(row 17, 'x')"),
    "empty parquet": ("a.parquet", b"", {}, "Parquet"),
    "truncated parquet": ("a.parquet", parquet_bytes(a=list(range(99)))[:-20], {}, "Parquet"),
    "damaged parquet": ("a.parquet", b"PAR1" + bytes(200) + b"PAR1", {}, "Parquet"),
    "parquet without rows": ("a.parquet", parquet_bytes(a=pa.array([], pa.int64())), {}, "no rows"),
    "parquet without columns": ("a.parquet", parquet_bytes(), {}, "no columns"),
    "parquet with objects": ("a.parquet", parquet_bytes(a=[{"b": 1}, {"b": 2}]), {}, "column 'a' holds"),
    "vectors of unequal length": ("a.parquet", parquet_bytes(v=[[1.0, 2.0], [3.0]]), {}, "row 2"),
    "vector missing": ("a.parquet", parquet_bytes(v=[[1.0, 2.0], None]), {}, "row 2"),
    "empty vectors": ("a.parquet", parquet_bytes(v=pa.array([[], []], pa.list_(pa.float32()))), {}, "row 1"),
    "nan in vectors": (
        "a.parquet",
        parquet_bytes(v=[[1.0, 2.0], [3.0, float("nan")]]),
        {},
        "row 2, position 2",
    ),
    "no arrow file": ("a.feather", b"FEA1 or so", {}, "Arrow"),
    "truncated arrow": ("a.arrow", b"ARROW1\0\0" + bytes(64), {}, "Arrow"),
    "no excel workbook": ("a.xlsx", b"PK\x03\x04 or so", {}, "a.xlsx"),
    "zip that is no workbook": ("a.xlsx", npz_bytes(a=np.ones(3)), {}, "Excel"),
    "old excel": ("a.xls", b"\xd0\xcf\x11\xe0", {}, ".xlsx"),
    "empty npy": ("a.npy", b"", {}, "a.npy"),
    "truncated npy": ("a.npy", npy_bytes(np.ones((50, 4)))[:-40], {}, "a.npy"),
    "npy that is text": ("a.npy", b"1,2,3\n", {}, "a.npy"),
    "objects in npy": ("a.npy", npy_bytes(np.array([[{}, 1]], dtype=object), True), {}, "objects"),
    "text in npy": ("a.npy", npy_bytes(np.array([["a", "b"]])), {}, "numbers are expected"),
    "one-dimensional npy": ("a.npy", npy_bytes(np.ones(9)), {}, "(9,)"),
    "five-dimensional npy": ("a.npy", npy_bytes(np.ones((2, 2, 2, 2, 2))), {}, "(2, 2, 2, 2, 2)"),
    "npy without rows": ("a.npy", npy_bytes(np.ones((0, 4))), {}, "empty"),
    "npy that lies about its size": (
        "a.npy",
        npy_bytes(np.ones((10, 10))).replace(b"(10, 10), }    ", b"(10, 10000000)}"),
        {},
        "a.npy",
    ),
    "nan in embeddings": ("a.npy", npy_bytes(with_nan((9, 4), (6, 1))), {}, "row 7, position 2"),
    "nan in images": ("a.npy", npy_bytes(with_nan((9, 4, 4), (6, 1, 1))), {}, "image 7"),
    "truncated npz": ("a.npz", npz_bytes(X=np.ones((50, 4)))[:-40], {}, "a.npz"),
    "npz with several arrays": ("a.npz", npz_bytes(a=np.ones((2, 2)), b=np.ones((2, 2))), {}, "which array"),
    "npz without that label": ("a.npz", npz_bytes(X=np.ones((2, 2))), {"label": "y"}, "'y'"),
    "npz with too few labels": ("a.npz", npz_bytes(X=np.ones((3, 2)), y=np.ones(2)), {"label": "y"}, "'y'"),
    "npz bomb": ("a.npz", zip_bomb, {}, "unpack"),
    "too few names": ("a.npy", npy_bytes(np.ones((9, 4))), {"names": ["a"]}, "1 names for 9 items"),
    "empty text file": ("a.txt", b"", {}, "empty"),
    "text file without words": ("a.txt", b"- - -\n! ?\n", {}, "no document"),
    "binary text file": ("a.txt", b"ab\x00\x01\x02", {}, "zero byte"),
    "a single image": ("a.png", b"\x89PNG", {}, "folder"),
}


@pytest.mark.parametrize("case", BROKEN_FILES)
def test_a_broken_file_is_a_one_line_error_that_says_where(case: str, tmp_path: Path) -> None:
    name, content, options, expected = BROKEN_FILES[case]
    path = tmp_path / name
    path.write_bytes(content() if callable(content) else content)
    with pytest.raises(InputError) as caught:
        read_source(path, **options)
    message = str(caught.value)
    assert expected in message
    assert "names" in options or str(path) in message
    assert "\n" not in message
    assert len(message) < 400 + len(str(path))


def test_a_path_that_does_not_exist_is_named() -> None:
    with pytest.raises(SourceError, match=r"nowhere\.csv: no such file or folder"):
        read_source("nowhere.csv")


def test_a_path_that_cannot_be_one_is_a_source_error(tmp_path: Path) -> None:
    for path in ("a\0b.csv", tmp_path / ("x" * 5000), tmp_path / "loop"):
        if path == tmp_path / "loop":
            (tmp_path / "loop").symlink_to(tmp_path / "loop")
        with pytest.raises(SourceError):
            read_source(path)


def test_a_pipe_is_refused_rather_than_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.csv")
    with pytest.raises(SourceError, match="neither a file nor a folder"):
        read_source(tmp_path / "pipe.csv")


@contextlib.contextmanager
def as_ordinary_user() -> Iterator[None]:
    # For root every folder is readable.
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.fixture
def open_tmp_path(tmp_path: Path) -> Path:
    # pytest keeps its folders to their owner; open only those that are pytest's own.
    tmp_path.chmod(0o755)
    for folder in tmp_path.parents:
        if not folder.name.startswith(("pytest-", "popen-")):
            break
        folder.chmod(0o755)
    return tmp_path


def test_an_unreadable_folder_is_a_source_error(open_tmp_path: Path) -> None:
    folder = open_tmp_path / "photos"
    folder.mkdir()
    folder.chmod(0)
    with as_ordinary_user(), pytest.raises(SourceError, match="cannot be read"):
        read_source(folder)


def test_an_unreadable_file_is_a_source_error(open_tmp_path: Path) -> None:
    path = open_tmp_path / "a.csv"
    path.write_text(GOOD_CSV)
    path.chmod(0)
    with as_ordinary_user(), pytest.raises(SourceError, match="cannot be read"):
        read_source(path)


def test_an_unreadable_sub_folder_is_listed_and_skipped(open_tmp_path: Path) -> None:
    Image.new("L", (4, 4)).save(open_tmp_path / "a.png")
    (open_tmp_path / "closed").mkdir()
    (open_tmp_path / "closed").chmod(0)
    (open_tmp_path / "a.png").chmod(0o644)
    with as_ordinary_user():
        samples = read_source(open_tmp_path)
    assert samples.names == ["a.png"]
    assert samples.skipped == [("closed", "Permission denied")]


def broken_png(width: int, height: int) -> bytes:
    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(bytes(99)))


def save_good(path: Path) -> None:
    Image.new("L", (5, 5), 77).save(path)


def save_truncated(path: Path) -> None:
    rng = np.random.default_rng(0)
    Image.fromarray(rng.integers(0, 255, (40, 40), dtype=np.uint8)).save(path)
    path.write_bytes(path.read_bytes()[:600])


BROKEN_IMAGES: dict[str, tuple[Callable[[Path], object], str]] = {
    "empty.png": (lambda path: path.write_bytes(b""), "not an image"),
    "text.jpg": (lambda path: path.write_text("hello"), "not an image"),
    "truncated.png": (save_truncated, ""),
    "bomb.png": (lambda path: path.write_bytes(broken_png(20_000, 20_000)), "absurd size"),
    "smaller-bomb.png": (lambda path: path.write_bytes(broken_png(10_000, 10_000)), "absurd size"),
    "damaged.png": (lambda path: path.write_bytes(broken_png(30, 30)), ""),
}


@pytest.mark.parametrize("name", BROKEN_IMAGES)
def test_a_broken_image_is_listed_with_the_reason_and_skipped(name: str, tmp_path: Path) -> None:
    save, reason = BROKEN_IMAGES[name]
    save(tmp_path / name)
    save_good(tmp_path / "good.png")
    samples = read_source(tmp_path)
    assert samples.names == ["good.png"]
    assert [skipped for skipped, _ in samples.skipped] == [name]
    assert samples.skipped[0][1]
    assert reason in samples.skipped[0][1]


def test_a_folder_of_only_broken_images_is_an_error(tmp_path: Path) -> None:
    for name, (save, _) in BROKEN_IMAGES.items():
        save(tmp_path / name)
    with pytest.raises(SourceError, match="none of 6 images can be read"):
        read_source(tmp_path)


@pytest.mark.parametrize("names", [[], ["a.xyz", "b.xyz"]])
def test_a_folder_with_nothing_to_read_is_an_error(names: list[str], tmp_path: Path) -> None:
    for name in names:
        (tmp_path / name).write_text("x")
    with pytest.raises(SourceError, match="no images inside"):
        read_source(tmp_path)


def test_a_folder_of_binary_documents_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"\x00\x01\x02\x00\x00")
    with pytest.raises(SourceError, match="none of 1 files is text"):
        read_source(tmp_path)


CELLS = st.one_of(
    st.text(alphabet="ab1.,;\"'\t\n -+eE/\\0:Tnäß\x00\ufeff", max_size=6),
    st.integers().map(str),
    st.floats().map(str),
    st.sampled_from(
        ["", "NA", "true", "false", "inf", "1e400", "2024-01-31", "31/12/2024", "0001-01-01", "9999-12-31"]
    ),
)
TABLES = st.lists(st.lists(CELLS, min_size=1, max_size=4), max_size=12).flatmap(
    lambda rows: st.sampled_from([",", ";", "\t", "|"]).map(
        lambda mark: "\n".join(mark.join(row) for row in rows).encode("utf-8", "replace")
    )
)
REGULAR_TABLES = st.integers(1, 4).flatmap(
    lambda width: st.lists(st.lists(CELLS, min_size=width, max_size=width), min_size=2, max_size=12).map(
        lambda rows: "\n".join(
            ",".join('"' + cell.replace('"', '""').replace("\0", "") + '"' for cell in row) for row in rows
        ).encode("utf-8", "replace")
    )
)
JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=2), inner, max_size=2),
    max_leaves=3,
)
JSON_TABLES = st.lists(st.dictionaries(st.sampled_from("abc"), JSON_VALUES, max_size=3), max_size=8).map(
    lambda rows: "\n".join(map(json.dumps, rows)).encode()
)


def check_samples(samples: Samples) -> None:
    assert samples.X.dtype == np.float32
    assert samples.X.shape == (len(samples.names), len(samples.feature_names or ()))
    assert np.isfinite(samples.X).all()
    assert len(samples.items.rows(range(len(samples)))) == len(samples)
    json.dumps(samples.encoder.to_json(), allow_nan=False)


@settings(max_examples=200, deadline=None)
@given(st.one_of(st.binary(max_size=300), TABLES, REGULAR_TABLES))
def test_any_bytes_named_csv_are_samples_or_an_error_of_ours(data: bytes) -> None:
    with contextlib.suppress(RsraeError):
        check_samples(samples_from_table(read_csv(data, "fuzz.csv")))


@settings(max_examples=150, deadline=None)
@given(st.one_of(st.binary(max_size=200), TABLES, JSON_TABLES))
def test_any_bytes_named_jsonl_are_samples_or_an_error_of_ours(data: bytes) -> None:
    with contextlib.suppress(RsraeError):
        check_samples(samples_from_table(read_json_lines(data, "fuzz.jsonl")))


@settings(max_examples=100, deadline=None)
@given(data=st.data(), ending=st.sampled_from([".parquet", ".feather", ".npy", ".npz", ".xlsx"]))
def test_a_file_with_a_few_changed_bytes_is_samples_or_an_error_of_ours(
    data: st.DataObject, ending: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    content = bytearray(SMALL_FILES[ending])
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    path = tmp_path_factory.mktemp("fuzz") / f"a{ending}"
    path.write_bytes(bytes(content[: data.draw(st.integers(len(content) // 2, len(content)))]))
    with contextlib.suppress(RsraeError):
        samples = read_source(path)
        assert np.isfinite(samples.X).all()


def _small_files() -> dict[str, bytes]:
    import openpyxl

    table = pa.table({"a": [1.5, 2.5, 3.5, None], "b": ["x", "y", "x", "y"], "c": [True, False, True, True]})
    parquet, feather, excel = io.BytesIO(), io.BytesIO(), io.BytesIO()
    pa.parquet.write_table(table, parquet)
    pa.feather.write_feather(table, feather, compression="uncompressed")
    workbook = openpyxl.Workbook()
    for row in (["a", "b"], [1, "x"], [2, "y"], [3, "x"], [4, "y"]):
        workbook.active.append(row)
    workbook.save(excel)
    array = np.arange(12.0).reshape(4, 3)
    return {
        ".parquet": parquet.getvalue(),
        ".feather": feather.getvalue(),
        ".npy": npy_bytes(array),
        ".npz": npz_bytes(X=array),
        ".xlsx": excel.getvalue(),
    }


SMALL_FILES = _small_files()
