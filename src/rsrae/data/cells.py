"""The cells of one column as text, numbers, yes and no, or days; whatever type the file gives them.

A cell that is not what it should be is an `InputError` that names its row.
"""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from rsrae.errors import InputError

FloatArray = npt.NDArray[np.float64]

_MISSING_WORDS = frozenset(("", "?", "-", "--", ".", "na", "n/a", "n.a.", "nan", "null", "none", "missing", "unknown"))
_SPREADSHEET_ERRORS = frozenset(("#n/a", "#na", "#null!", "#value!", "#ref!", "#div/0!"))
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?|[+-]?inf(inity)?", re.ASCII | re.IGNORECASE)
_DATE_FORMATS = (
    "ISO8601",
    "%d.%m.%Y",
    "%d.%m.%Y %H:%M",
    "%d.%m.%Y %H:%M:%S",
    "%Y/%m/%d",
    "%Y/%m/%d %H:%M:%S",
)
_SLASH_DATE_FORMATS = ("%m/%d/%Y", "%d/%m/%Y", "%m/%d/%Y %H:%M", "%d/%m/%Y %H:%M")
_DATE_SHAPE = re.compile(r"\d{1,4}[-./]\d{1,2}[-./]\d{1,4}([T ].*)?", re.ASCII)
_UNITS_PER_DAY = {"s": 86_400, "ms": 86_400_000, "us": 86_400_000_000, "ns": 86_400_000_000_000}


def as_text(column: pa.ChunkedArray, where: str) -> pa.ChunkedArray:
    """Cells as text without surrounding blanks; empty ones are missing."""
    kind = value_type(column.type)
    _refuse_nested(column, kind, where)
    text = column.cast(kind).cast(pa.string())
    text = pc.utf8_trim_whitespace(text)
    return pc.if_else(pc.equal(text, ""), pa.scalar(None, pa.string()), text)


def as_numbers(column: pa.ChunkedArray, where: str) -> FloatArray:
    """Cells as numbers; missing ones are NaN, infinite ones an error."""
    kind = value_type(column.type)
    _refuse_nested(column, kind, where)
    if is_text(kind):
        values = _map_distinct(as_text(column, where), _number_from_text, where, "a number")
    elif pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        raise InputError(f"{where} holds dates where numbers are expected; give it the type it had before")
    else:
        values = _cast_to_float(column.cast(kind), kind, where)
    infinite = np.flatnonzero(np.isinf(values))
    if infinite.size:
        raise InputError(
            f"{where} has {infinite.size:,} infinite values (first: row {infinite[0] + 1}); "
            "replace them, or empty the cells to have them filled"
        )
    return values


def _cast_to_float(column: pa.ChunkedArray, kind: pa.DataType, where: str) -> FloatArray:
    per_second = 1.0
    if pa.types.is_duration(kind) or pa.types.is_time(kind):
        per_second = _UNITS_PER_DAY[kind.unit] / 86_400
        column = column.cast(pa.int32() if pa.types.is_time32(kind) else pa.int64())
    try:
        floats = column.cast(pa.float64(), safe=False)
    except pa.ArrowException as error:
        raise InputError(
            f"{where} has the type {kind}, which is not understood; convert it or leave it out with --drop"
        ) from error
    return np.asarray(floats.to_numpy(), dtype=np.float64) / per_second


def as_flags(column: pa.ChunkedArray, where: str) -> FloatArray:
    """Cells as 0 and 1; missing ones are NaN."""
    if is_text(value_type(column.type)):
        return _map_distinct(as_text(column, where), _flag_from_text, where, "true or false")
    values = as_numbers(column, where)
    strange = np.flatnonzero(~np.isnan(values) & (values != 0) & (values != 1))
    if strange.size:
        row = int(strange[0])
        raise InputError(f"{where} is yes or no, but row {row + 1} holds {values[row]:g}; use 0 and 1")
    return values


def as_days(column: pa.ChunkedArray, where: str, form: str | None) -> FloatArray:
    """Cells as days since 1970, text by a format of `date_format`; missing ones are NaN."""
    kind = value_type(column.type)
    _refuse_nested(column, kind, where)
    if is_text(kind):
        return _map_distinct(as_text(column, where), _day_parser(form or "ISO8601"), where, "a date")
    column = column.cast(kind)
    if pa.types.is_timestamp(kind):
        per_day, whole = _UNITS_PER_DAY[kind.unit], pa.int64()
    elif pa.types.is_date64(kind):
        per_day, whole = _UNITS_PER_DAY["ms"], pa.int64()
    elif pa.types.is_date32(kind):
        per_day, whole = 1, pa.int32()
    elif pa.types.is_null(kind):
        return np.full(len(column), np.nan)
    else:
        raise InputError(f"{where} has the type {kind} where dates are expected; write dates as 2024-12-31")
    floats = column.cast(whole).cast(pa.float64(), safe=False)
    days: FloatArray = np.asarray(floats.to_numpy(), dtype=np.float64)
    return days / per_day


def _map_distinct(
    text: pa.ChunkedArray, convert: Callable[[str], float | None], where: str, expected: str
) -> FloatArray:
    distinct = pc.unique(text)
    values = [math.nan if value is None else convert(value) for value in distinct.to_pylist()]
    codes = pc.index_in(text, value_set=distinct).to_numpy()
    wrong = np.array([value is None for value in values], dtype=bool)[codes]
    if wrong.any():
        row, n_wrong = int(np.flatnonzero(wrong)[0]), int(wrong.sum())
        how_many, first = ("a cell that is", "") if n_wrong == 1 else (f"{n_wrong:,} cells that are", "first: ")
        raise InputError(
            f"{where} has {how_many} not {expected} ({first}row {row + 1}, {quoted(text[row].as_py())}); clean the "
            "column, or leave it out with --drop"
        )
    numbers: FloatArray = np.array(values, dtype=np.float64)[codes]
    return numbers


def is_number(text: str) -> bool:
    """Whether the whole of a text is one number.

    >>> is_number("-1.5e3"), is_number("1,5")
    (True, False)
    """
    return _NUMBER.fullmatch(text) is not None


def _number_from_text(text: str) -> float | None:
    if is_number(text):
        return float(text)
    return math.nan if is_missing_word(text) else None


def _flag_from_text(text: str) -> float | None:
    word = text.lower()
    if word in ("1", "true", "yes", "1.0"):
        return 1.0
    if word in ("0", "false", "no", "0.0"):
        return 0.0
    return math.nan if is_missing_word(text) else None


def date_format(values: list[str]) -> str | None:
    """The one format that all these texts are dates in, or None.

    >>> date_format(["31.12.2024", "n/a"])
    '%d.%m.%Y'
    """
    values = [value for value in values if not is_missing_word(value)]
    if not values or not all(_DATE_SHAPE.fullmatch(value) for value in values):
        return None
    for form in _SLASH_DATE_FORMATS if "/" in values[0][:3] else _DATE_FORMATS:
        parse = _day_parser(form)
        if all(parse(value) is not None for value in values):
            return form
    return None


def _day_parser(form: str) -> Callable[[str], float | None]:
    epoch = datetime.datetime(1970, 1, 1)

    def parse(text: str) -> float | None:
        try:
            if form == "ISO8601":
                moment = datetime.datetime.fromisoformat(text)
            else:
                moment = datetime.datetime.strptime(text, form)
            if moment.tzinfo is not None:
                moment = moment.astimezone(datetime.UTC).replace(tzinfo=None)
        except (ValueError, OverflowError):
            return math.nan if is_missing_word(text) else None
        return (moment - epoch) / datetime.timedelta(days=1)

    return parse


def _refuse_nested(column: pa.ChunkedArray, kind: pa.DataType, where: str) -> None:
    is_binary = pa.types.is_binary(kind) or pa.types.is_large_binary(kind)
    if pa.types.is_nested(kind) or is_binary or pa.types.is_fixed_size_binary(kind):
        what = "lists or objects" if pa.types.is_nested(kind) else "binary data"
        valid = np.flatnonzero(column.is_valid().to_numpy())
        first = f" (first: row {valid[0] + 1})" if valid.size else ""
        raise InputError(f"{where} holds {what}{first}; flatten it, or leave the column out with --drop")


def value_type(kind: pa.DataType) -> pa.DataType:
    """What the cells of a column are, behind extensions and dictionaries."""
    if isinstance(kind, pa.BaseExtensionType):
        kind = kind.storage_type
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def is_text(kind: pa.DataType) -> bool:
    """Whether cells of this type are text."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def is_missing_word(text: str) -> bool:
    """Whether a text says that there is no value: "n/a", "?", "#REF!"."""
    return text.lower() in _MISSING_WORDS or text.lower() in _SPREADSHEET_ERRORS


def quoted(text: str) -> str:
    """A cell's text for a message; long ones are cut."""
    return repr(text if len(text) <= 40 else text[:37] + "...")
