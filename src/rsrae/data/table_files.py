"""Files and frames to columns: CSV, TSV, JSON Lines, Parquet, Arrow, Excel, DataFrames.

Everything ends in a `ColumnStore`, which hands out one pyarrow column at a time. A large Parquet file
is never held whole: its columns, and the few rows that are shown, are read when asked for.
Rows are counted from 1 without the header; lines are lines of the file.
"""

from __future__ import annotations

import datetime
import json
import warnings
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import narwhals.stable.v1 as nw
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet

from rsrae.data.csv_dialect import detect_dialect, is_header
from rsrae.data.text import check_archive, decode
from rsrae.errors import InputError, MissingExtraError, SourceError

# A Parquet file up to this size is held in memory, so that the file may go once it is read.
_SMALL_TABLE_BYTES = 128 * 2**20
_CSV_BLOCK_BYTES = 16 * 2**20
_ARROW_ERRORS = (pa.ArrowException, OSError, ValueError, KeyError, IndexError)


@dataclass(frozen=True)
class ColumnStore:
    """A table of which one column at a time is fetched; shows its rows as `samples.Items`."""

    name: str
    column_names: list[str]
    n_rows: int
    fetch: Callable[[str], pa.ChunkedArray]
    notes: list[str] = field(default_factory=list)
    schema: pa.Schema | None = None  # where it is known without reading
    row_names: list[str] | None = None

    def __post_init__(self) -> None:
        repeated = [column for column, n in Counter(self.column_names).items() if n > 1]
        if repeated:
            n = self.column_names.count(repeated[0])
            raise SourceError(f"{self.name}: {n} columns are named {repeated[0]!r}; rename all but one")
        if not self.column_names:
            raise SourceError(f"{self.name}: the table has no columns; is it the right file?")
        if self.n_rows == 0:
            raise SourceError(f"{self.name}: the table has no rows (columns: {_listed(self.column_names)})")

    def __len__(self) -> int:
        return self.n_rows

    def column(self, name: str) -> pa.ChunkedArray:
        """One column."""
        try:
            return self.fetch(name)
        except _ARROW_ERRORS as error:
            raise SourceError(f"{self.name}: column {name!r} cannot be read ({one_line(error)})") from error

    def row(self, i: int) -> dict[str, object]:
        """One row as a dict of its cells."""
        return self.rows([i])[0]

    def rows(self, positions: Sequence[int]) -> list[dict[str, object]]:
        """Several rows; each column is fetched once."""
        rows: list[dict[str, object]] = [{} for _ in positions]
        indices = pa.array(positions, type=pa.int64())
        for name in self.column_names:
            for row, value in zip(rows, python_values(self.column(name).take(indices)), strict=True):
                row[name] = value
        return rows

    def select(self, names: Sequence[str]) -> ColumnStore:
        """Only some of the columns."""
        return replace(self, column_names=list(names))

    def head(self, limit: int | None) -> ColumnStore:
        """The first ``limit`` rows."""
        if limit is None or limit >= self.n_rows:
            return self
        return replace(
            self,
            n_rows=limit,
            fetch=lambda name: self.fetch(name).slice(0, limit),
            notes=[*self.notes, f"Only the first {limit:,} of {self.n_rows:,} rows are used."],
            row_names=self.row_names and self.row_names[:limit],
        )


def read_csv(data: bytes, name: str, *, delimiter: str | None = None, as_text: Collection[str] = ()) -> ColumnStore:
    """A delimited text; ``as_text`` names columns whose cells must not be taken for numbers or dates."""
    text, encoding = decode(data, name)
    if not text.strip():
        raise SourceError(f"{name}: the file is empty")
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise SourceError(f"{name}: zero character in line {line}, so this is not a table; export it again")
    dialect = detect_dialect(text, delimiter)
    if encoding != "utf-8":
        data = text.encode()
    del text
    table = _parse_csv(data, name, dialect.delimiter, dialect.has_header, dialect.decimal_point, as_text)
    _refuse_open_quote(table, data, name)

    notes = []
    if encoding not in ("utf-8", "utf-8-sig"):
        notes.append(f"The text is read as {encoding}.")
    if not dialect.has_header:
        names = [f"column_{i}" for i in range(1, table.num_columns + 1)]
        table = table.rename_columns(names)
        notes.append(f"The first line holds values, so the columns are named {names[0]} to {names[-1]}.")
    if dialect.decimal_point == ",":
        notes.append("Numbers are read with a decimal comma.")
    return table_from_arrow(table, name, notes)


def read_json_lines(data: bytes, name: str) -> ColumnStore:
    """One JSON object a line, or one JSON array of objects."""
    text, encoding = decode(data, name)
    if not text.strip():
        raise SourceError(f"{name}: the file is empty")
    columns: dict[str, list[object]] = {}
    n_rows = 0
    for where, record in _json_records(text, name):
        if not isinstance(record, dict):
            raise SourceError(f"{name}: {where} is not a JSON object but {_shorten(json.dumps(record))}")
        for key, value in record.items():
            column = columns.setdefault(key, [])
            column.extend([None] * (n_rows - len(column)))
            column.append(value)
        n_rows += 1
    for column in columns.values():
        column.extend([None] * (n_rows - len(column)))
    notes = [] if encoding.startswith("utf-8") else [f"The text is read as {encoding}."]
    return _store_from_lists(columns, n_rows, name, notes)


def read_parquet(path: Path) -> ColumnStore:
    """A Parquet file."""
    try:
        file = pa.parquet.ParquetFile(path)
        n_rows, names = file.metadata.num_rows, file.schema_arrow.names
        groups = [file.metadata.row_group(i) for i in range(file.metadata.num_row_groups)]
        size = max(4 * n_rows * len(names), sum(group.total_byte_size for group in groups))
        if size <= _SMALL_TABLE_BYTES:
            return table_from_arrow(file.read(), str(path))
    except _ARROW_ERRORS as error:
        if isinstance(error, SourceError):
            raise
        raise SourceError(f"{path}: no sound Parquet file ({one_line(error)}); write it again") from error
    # One thread keeps the memory of a single column small; the columns are many, so nothing is lost.
    return ColumnStore(
        str(path),
        names,
        n_rows,
        lambda name: file.read(columns=[name], use_threads=False).column(name),
        schema=file.schema_arrow,
    )


def read_arrow(path: Path) -> ColumnStore:
    """An Arrow (IPC, also streamed) or Feather file."""
    try:
        try:
            table = pa.feather.read_table(path, memory_map=True)
        except pa.ArrowInvalid:
            with pa.memory_map(str(path)) as source, pa.ipc.open_stream(source) as stream:
                table = stream.read_all()
        table.validate(full=True)  # a damaged file must not become a crash later
    except _ARROW_ERRORS as error:
        raise SourceError(f"{path}: damaged or no Arrow file ({one_line(error)}); write it again") from error
    return table_from_arrow(table, str(path))


def read_excel(path: Path) -> ColumnStore:
    """The first sheet of an .xlsx workbook; its first row that is not empty holds the column names."""
    try:
        import openpyxl
    except ImportError as error:
        raise MissingExtraError(
            f"{path}: reading Excel needs openpyxl; install rsrae[excel] or save the sheet as CSV"
        ) from error
    check_archive(path)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # openpyxl warns of styles it does not know
            workbook = openpyxl.load_workbook(path, read_only=True, data_only=True)
            sheets = workbook.sheetnames
            rows = [list(row) for row in workbook.worksheets[0].iter_rows(values_only=True)]
            workbook.close()
    except Exception as error:  # openpyxl lets whatever its parsers raise through
        raise SourceError(f"{path}: damaged or no Excel workbook ({one_line(error)})") from error
    rows = [row for row in rows if any(cell is not None for cell in row)]
    if not rows:
        raise SourceError(f"{path}: sheet {sheets[0]!r} is empty")
    width = max(map(len, rows))
    rows = [row + [None] * (width - len(row)) for row in rows]
    first = ["" if cell is None else str(cell) for cell in rows[0]]
    names, body = (first, rows[1:]) if is_header(first) else ([""] * width, rows)
    names = _named(names)
    if len(set(names)) < len(names):  # a dict would lose one of them without a word
        repeated = Counter(names).most_common(1)[0][0]
        raise SourceError(f"{path}: two columns are named {repeated!r}; rename one")
    notes = [f"Only the first of {len(sheets)} sheets, {sheets[0]!r}, is read."] if len(sheets) > 1 else []
    columns = {column: [row[i] for row in body] for i, column in enumerate(names)}
    return _store_from_lists(columns, len(body), str(path), notes)


def table_from_arrow(table: pa.Table, name: str, notes: Sequence[str] = ()) -> ColumnStore:
    """A pyarrow table as a `ColumnStore`."""
    table = table.rename_columns(_named(table.column_names))
    return ColumnStore(name, table.column_names, table.num_rows, table.column, list(notes), table.schema)


def table_from_frame(frame: nw.DataFrame[Any], name: str) -> ColumnStore:
    """A pandas or polars DataFrame, seen through narwhals; a pandas index that says something names rows."""
    by_name = {str(series.name): series for series in frame.iter_columns()}
    if len(by_name) < len(frame.columns):
        raise InputError(f"{name}: column names that differ only in type, such as 1 and '1'; rename them")

    def fetch(column: str) -> pa.ChunkedArray:
        series = by_name[column]
        try:
            return _chunked(series.to_arrow())
        except (pa.ArrowException, TypeError, ValueError, OverflowError):  # a pandas column of mixed objects
            return _chunked(column_from_values(series.to_list()))

    return ColumnStore(name, list(by_name), len(frame), fetch, row_names=_index_names(frame))


def column_from_values(values: Sequence[Any]) -> pa.Array:
    """Python values to a pyarrow column; values of several types become text, nested ones lists.

    >>> column_from_values([1, 2.5, None]).to_pylist()
    [1.0, 2.5, None]
    >>> column_from_values([1, "x", True]).to_pylist()
    ['1', 'x', 'true']
    """
    types = {type(value) for value in values if value is not None}
    if any(issubclass(kind, dict | list | tuple) for kind in types):
        # Only marks where the nesting is: such a column is refused, or shown as it was written.
        nested = [[json.dumps(v, default=str)] if isinstance(v, dict | list | tuple) else None for v in values]
        return pa.array(nested, type=pa.list_(pa.string()))
    if types == {bool}:
        return pa.array(values, type=pa.bool_())
    if types and types <= {bool, int, float}:
        wide = float in types or any(abs(v) >= 2**63 for v in values if isinstance(v, int))
        numbers = [None if v is None else _as_float(v) if wide else int(v) for v in values]
        return pa.array(numbers, type=pa.float64() if wide else pa.int64())
    if types and types <= {datetime.date, datetime.datetime}:
        values = [_as_datetime(v) if isinstance(v, datetime.date) else v for v in values]
    elif types and (len(types) > 1 or types == {str}):
        return pa.array([_as_text(value) for value in values], type=pa.string())
    try:
        return pa.array(values)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        return pa.array([_as_text(value) for value in values], type=pa.string())


def python_values(column: pa.ChunkedArray) -> list[Any]:
    """The cells of a column as Python values; as text where Python has no such value (the year 20000)."""
    try:
        values: list[Any] = column.to_pylist()
    except (ValueError, OverflowError):
        values = column.cast(pa.string()).to_pylist()
    return values


def one_line(error: BaseException) -> str:
    """The message of somebody else's error, fit for the middle of ours."""
    text = str(error) or type(error).__name__
    return _shorten(" ".join(text.split()), 160)


def _parse_csv(
    data: bytes, name: str, delimiter: str, has_header: bool, decimal_point: str, as_text: Collection[str]
) -> pa.Table:
    def parse(block_bytes: int, use_threads: bool) -> pa.Table:
        return pa.csv.read_csv(
            pa.BufferReader(data),
            read_options=pa.csv.ReadOptions(
                use_threads=use_threads, block_size=block_bytes, autogenerate_column_names=not has_header
            ),
            parse_options=pa.csv.ParseOptions(delimiter=delimiter, newlines_in_values=b'"' in data),
            convert_options=pa.csv.ConvertOptions(
                strings_can_be_null=True,
                decimal_point=decimal_point,
                column_types=dict.fromkeys(as_text, pa.string()),
            ),
        )

    try:
        try:
            return parse(_CSV_BLOCK_BYTES, use_threads=True)
        except pa.ArrowInvalid:
            # Again as one block: for lines longer than a block, and to learn the number of a bad line.
            return parse(min(len(data) + 1, 2**31 - 1), use_threads=False)
    except _ARROW_ERRORS as error:
        reason = one_line(error).removeprefix("CSV parse error: ").replace("Row #", "line ")
        raise SourceError(
            f"{name}: no regular table ({reason}); check the quotes and the delimiter {delimiter!r} there"
        ) from error


def _refuse_open_quote(table: pa.Table, data: bytes, name: str) -> None:
    # A quote that is never closed swallows the rest of the file into the last row.
    if data.count(b'"') % 2 == 0 or table.num_rows == 0:
        return
    for cell in table.slice(table.num_rows - 1).to_pylist()[0].values():
        if isinstance(cell, str) and "\n" in cell:
            line = data.rstrip(b"\n").count(b"\n") + 1 - cell.rstrip("\n").count("\n")
            raise SourceError(f"{name}: the quote opened in line {line} is never closed; close or remove it")


def _json_records(text: str, name: str) -> list[tuple[str, Any]]:
    if text.lstrip("\ufeff \t\r\n").startswith("["):
        records = _json_value(text.lstrip("\ufeff"), name, "the text")
        return [(f"element {i}", record) for i, record in enumerate(records, start=1)]
    # Not splitlines: a JSON string may hold the exotic line ends that it splits at.
    lines = enumerate(text.lstrip("\ufeff").split("\n"), start=1)
    return [(f"line {i}", _json_value(line, name, f"line {i}")) for i, line in lines if line.strip()]


def _json_value(text: str, name: str, where: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        reason = one_line(error) if isinstance(error, ValueError) else "nested too deeply"
        raise SourceError(f"{name}: {where} is not JSON ({reason}); mend or remove it") from error


def _store_from_lists(columns: dict[str, list[object]], n_rows: int, name: str, notes: Sequence[str]) -> ColumnStore:
    names = _named([_as_text(column) or "" for column in columns])
    arrays = [_chunked(column_from_values(values)) for values in columns.values()]
    return ColumnStore(name, names, n_rows, dict(zip(names, arrays, strict=True)).__getitem__, list(notes))


def _chunked(column: pa.Array | pa.ChunkedArray) -> pa.ChunkedArray:
    return column if isinstance(column, pa.ChunkedArray) else pa.chunked_array([column])


def _index_names(frame: nw.DataFrame[Any]) -> list[str] | None:
    index = nw.maybe_get_index(frame)
    if index is None or type(index).__name__ == "RangeIndex":
        return None
    return [str(entry) for entry in index]


def _named(names: Sequence[str]) -> list[str]:
    return [name.strip() or f"column_{i}" for i, name in enumerate(names, start=1)]


def _as_float(value: object) -> float:
    try:
        return float(value)  # type: ignore[arg-type]
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")  # type: ignore[operator]


def _as_datetime(value: datetime.date) -> datetime.datetime:
    if isinstance(value, datetime.datetime):
        return value
    return datetime.datetime(value.year, value.month, value.day)


def _as_text(value: object) -> str | None:
    is_nan = isinstance(value, float) and value != value
    if value is None or is_nan or type(value).__name__ in ("NAType", "NaTType"):  # pandas' missing values
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    # JSON may hold half a surrogate pair, which no encoding can write.
    return str(value).encode("utf-8", "replace").decode()


def _listed(names: Sequence[str], most: int = 8) -> str:
    shown = ", ".join(names[:most])
    return shown + (f", ... ({len(names)} in all)" if len(names) > most else "")


def _shorten(text: str, most: int = 60) -> str:
    return text if len(text) <= most else text[: most - 3] + "..."
