"""One column of a table to columns of ``X``: numbers, yes/no, categories, dates.

A plan is made once from the first data (`plan_column`), is stored in the model file, and encodes new
data in the same way whatever type the new file gives the column. Nothing is scaled here: detectors
scale robustly themselves.

======== =====================================================================================
number   as it is; missing cells get the median and a second column "x (missing)" marks them
flag     0 or 1; missing cells get the more frequent value and a mark
category one column of 0 and 1 for each of the 32 most frequent categories ("colour=red"), one for
         all others ("colour=(rare)") and one for missing cells ("colour=(missing)"). A category not
         seen before is rare if there were rare ones, else all its columns are 0
date     days since the first date; and, where the dates span at least two turns, the time of day,
         the day of the week and the day of the year as points on a circle (sine and cosine)
======== =====================================================================================
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from rsrae.data.cells import (
    FloatArray,
    as_days,
    as_flags,
    as_numbers,
    as_text,
    date_format,
    is_missing_word,
    is_number,
    is_text,
    quoted,
    value_type,
)
from rsrae.errors import InputError

Feature = npt.NDArray[np.float32]

MAX_CATEGORIES = 32
# Text of which at least this share is numbers was meant to be numbers: the rest are mistakes.
_MOSTLY = 0.75
_MAX_NAME_LENGTH = 80  # longer texts are different in every row, too, but are no names
_DAYS_PER_YEAR = 365.2425
_CYCLES = {"time of day": 1.0, "day of week": 7.0, "day of year": _DAYS_PER_YEAR}


@dataclass(frozen=True)
class NumberColumn:
    """A numeric column; ``offset`` is taken off where float32 could not tell the values apart."""

    name: str
    fill: float
    has_missing: bool
    offset: float = 0.0
    type: ClassVar[str] = "number"

    @property
    def feature_names(self) -> list[str]:
        """Names of the columns of ``X``."""
        value = f"{self.name} (minus {self.offset:.10g})" if self.offset else self.name
        return [value, f"{self.name} (missing)"] if self.has_missing else [value]

    def encode(self, column: pa.ChunkedArray, where: str) -> Iterator[Feature]:
        """The columns of ``X``, one after the other."""
        values = as_numbers(column, where)
        missing = np.isnan(values)
        values = np.where(missing, self.fill, values) - self.offset
        with np.errstate(over="ignore"):
            feature = values.astype(np.float32)
        if not np.isfinite(feature).all():
            row = int(np.flatnonzero(~np.isfinite(feature))[0])
            raise InputError(
                f"{where} is too large for a 32-bit number in row {row + 1} ({values[row]:g}); "
                f"rescale it or leave it out with --drop {self.name}"
            )
        yield feature
        if self.has_missing:
            yield missing.astype(np.float32)


@dataclass(frozen=True)
class FlagColumn:
    """A yes/no column."""

    name: str
    fill: float
    has_missing: bool
    type: ClassVar[str] = "flag"

    @property
    def feature_names(self) -> list[str]:
        """Names of the columns of ``X``."""
        return [self.name, f"{self.name} (missing)"] if self.has_missing else [self.name]

    def encode(self, column: pa.ChunkedArray, where: str) -> Iterator[Feature]:
        """The columns of ``X``, one after the other."""
        values = as_flags(column, where)
        missing = np.isnan(values)
        yield np.where(missing, self.fill, values).astype(np.float32)
        if self.has_missing:
            yield missing.astype(np.float32)


@dataclass(frozen=True)
class CategoryColumn:
    """A column of few different texts."""

    name: str
    categories: tuple[str, ...]
    has_rare: bool
    has_missing: bool
    type: ClassVar[str] = "category"

    @property
    def feature_names(self) -> list[str]:
        """Names of the columns of ``X``."""
        extra = ["(rare)"] * self.has_rare + ["(missing)"] * self.has_missing
        return [f"{self.name}={category}" for category in [*self.categories, *extra]]

    def encode(self, column: pa.ChunkedArray, where: str) -> Iterator[Feature]:
        """The columns of ``X``, one after the other."""
        codes = self._codes(column, where)
        for code in range(len(self.categories)):
            yield (codes == code).astype(np.float32)
        if self.has_rare:
            yield (codes == -1).astype(np.float32)
        if self.has_missing:
            yield (codes == -2).astype(np.float32)

    def count_unknown(self, column: pa.ChunkedArray, where: str) -> int:
        """Cells whose category was not seen when the plan was made (or was rare)."""
        return int((self._codes(column, where) == -1).sum())

    def _codes(self, column: pa.ChunkedArray, where: str) -> npt.NDArray[np.int64]:
        text = as_text(column, where)
        codes = pc.index_in(text, value_set=pa.array(self.categories, type=pa.string()))
        filled = np.array(pc.fill_null(codes, -1).to_numpy(), dtype=np.int64)
        filled[np.asarray(text.is_null().to_numpy(), dtype=bool)] = -2
        return filled


@dataclass(frozen=True)
class DateColumn:
    """A column of dates or moments; ``format`` is None where the file itself says they are dates."""

    name: str
    origin: float  # days since 1970
    fill: float
    has_missing: bool
    cycles: tuple[str, ...]
    format: str | None = None
    type: ClassVar[str] = "date"

    @property
    def feature_names(self) -> list[str]:
        """Names of the columns of ``X``."""
        names = [f"{self.name} (days since {np.datetime64(int(self.origin), 'D')})"]
        names += [f"{self.name} ({cycle}, {wave})" for cycle in self.cycles for wave in ("sin", "cos")]
        return [*names, f"{self.name} (missing)"] if self.has_missing else names

    def encode(self, column: pa.ChunkedArray, where: str) -> Iterator[Feature]:
        """The columns of ``X``, one after the other."""
        days = as_days(column, where, self.format)
        missing = np.isnan(days)
        yield (np.where(missing, self.fill, days) - self.origin).astype(np.float32)
        for cycle in self.cycles:
            # A weekday is the same from morning to night; where the week begins does not matter.
            turns = (np.floor(days) if cycle == "day of week" else days) / _CYCLES[cycle]
            for wave in (np.sin, np.cos):
                # A missing date stands in the middle of the circle, equally far from all times.
                yield np.where(missing, 0.0, wave(2 * np.pi * turns)).astype(np.float32)
        if self.has_missing:
            yield missing.astype(np.float32)


ColumnPlan = NumberColumn | FlagColumn | CategoryColumn | DateColumn


@dataclass(frozen=True)
class LeftOut:
    """A column that carries nothing a detector could use."""

    name: str
    reason: str
    can_name_rows: bool = False


def plan_column(name: str, column: pa.ChunkedArray, where: str) -> ColumnPlan | LeftOut:
    """Decide how a column is encoded.

    Parameters
    ----------
    name : of the column.
    column : all its cells.
    where : how errors name it, for example ``"orders.csv: column 'price'"``.

    Examples
    --------
    >>> plan_column("colour", pa.chunked_array([["red", "blue", "red", "blue"]]), "column 'colour'")
    CategoryColumn(name='colour', categories=('blue', 'red'), has_rare=False, has_missing=False)
    >>> plan_column("x", pa.chunked_array([[7, 7, 7]]), "column 'x'").reason
    'every cell is 7'
    """
    kind = value_type(column.type)
    if pa.types.is_null(kind) or column.null_count == len(column):
        return LeftOut(name, "every cell is missing")
    if is_text(kind):
        return _plan_text(name, as_text(column, where), where)
    if pa.types.is_boolean(kind):
        return _plan_flag(name, as_flags(column, where))
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        return _plan_date(name, as_days(column, where, None), None)
    return _plan_number(name, as_numbers(column, where))


def plan_to_json(plan: ColumnPlan) -> dict[str, Any]:
    """A plan as plain JSON values."""
    fields = {key: list(value) if isinstance(value, tuple) else value for key, value in asdict(plan).items()}
    return {"type": plan.type, **fields}


def plan_from_json(fields: dict[str, Any]) -> ColumnPlan:
    """The plan that `plan_to_json` wrote; ValueError, TypeError or KeyError if it is something else."""
    name, has_missing = str(fields["name"]), bool(fields["has_missing"])
    match fields["type"]:
        case "number":
            return NumberColumn(name, _finite(fields["fill"]), has_missing, _finite(fields["offset"]))
        case "flag":
            return FlagColumn(name, _finite(fields["fill"]), has_missing)
        case "category":
            categories = tuple(str(category) for category in fields["categories"])
            return CategoryColumn(name, categories, bool(fields["has_rare"]), has_missing)
        case "date":
            cycles = tuple(str(cycle) for cycle in fields["cycles"])
            if not set(cycles) <= set(_CYCLES):
                raise ValueError(f"unknown cycles {cycles}")
            form = None if fields["format"] is None else str(fields["format"])
            origin, fill = _finite(fields["origin"]), _finite(fields["fill"])
            return DateColumn(name, origin, fill, has_missing, cycles, form)
    raise ValueError(f"unknown column type {fields['type']!r}")


def _plan_number(name: str, values: FloatArray) -> NumberColumn | LeftOut:
    present = values[~np.isnan(values)]
    if present.size == 0:
        return LeftOut(name, "every cell is missing")
    has_missing = present.size < values.size
    if present.min() == present.max() and not has_missing:
        return LeftOut(name, f"every cell is {present[0]:g}")
    median = float(np.median(present))
    few = present[:: max(1, present.size // 10_000)]
    quartiles = np.percentile(few, [25, 75])
    spread = float(quartiles[1] - quartiles[0]) or float(few.max() - few.min())
    # float32 keeps 24 bits: leave at least ten of them for the spread.
    offset = median if spread > 0 and abs(median) > 2**14 * spread else 0.0
    return NumberColumn(name, median, has_missing, offset)


def _plan_flag(name: str, values: FloatArray) -> FlagColumn | LeftOut:
    present = values[~np.isnan(values)]
    has_missing = present.size < values.size
    if present.min() == present.max() and not has_missing:
        return LeftOut(name, f"every cell is {bool(present[0])}".lower())
    return FlagColumn(name, float(present.mean() > 0.5), has_missing)


def _plan_date(name: str, days: FloatArray, form: str | None) -> DateColumn | LeftOut:
    present = days[~np.isnan(days)]
    has_missing = present.size < days.size
    first, last = float(present.min()), float(present.max())
    if first == last and not has_missing:
        return LeftOut(name, "every cell is the same date")
    has_times = bool((present != np.floor(present)).any())
    cycles = tuple(
        cycle
        for cycle, length in _CYCLES.items()
        if last - first >= 2 * length and (has_times or cycle != "time of day")
    )
    return DateColumn(name, math.floor(first), float(np.median(present)), has_missing, cycles, form)


def _plan_text(name: str, text: pa.ChunkedArray, where: str) -> ColumnPlan | LeftOut:
    present = text.drop_null()
    if len(present) == 0:
        return LeftOut(name, "every cell is missing")
    distinct = pc.value_counts(present)
    counts = dict(zip(*(part.to_pylist() for part in distinct.flatten()), strict=True))
    n_numbers = sum(n for value, n in counts.items() if is_number(value))
    n_words = sum(n for value, n in counts.items() if not is_missing_word(value)) - n_numbers
    if n_numbers and not n_words:
        return _plan_number(name, as_numbers(text, where))
    form = date_format(list(counts))
    if form is not None:
        return _plan_date(name, as_days(text, where, form), form)
    repeats = len(counts) <= len(present) / 2
    may_be_codes = repeats and len(counts) <= MAX_CATEGORIES and not any("." in value for value in counts)
    if n_numbers >= _MOSTLY * (n_numbers + n_words) and not may_be_codes:
        as_numbers(text, where)  # raises, naming the first cell that is no number
    has_missing = len(present) < len(text)
    if len(counts) == 1 and not has_missing:
        return LeftOut(name, f"every cell is {quoted(next(iter(counts)))}")
    if not repeats and len(counts) > 1:
        is_unique = len(counts) == len(text)
        how_many = "every cell" if is_unique else f"{len(counts):,} of {len(present):,} cells"
        can_name = is_unique and max(map(len, counts)) <= _MAX_NAME_LENGTH
        return LeftOut(name, f"text, different in {how_many}; read it as documents with --text", can_name)
    by_frequency = sorted(counts, key=lambda value: (-counts[value], value))
    return CategoryColumn(name, tuple(by_frequency[:MAX_CATEGORIES]), len(by_frequency) > MAX_CATEGORIES, has_missing)


def _finite(value: object) -> float:
    number = float(value)  # type: ignore[arg-type]
    if not math.isfinite(number):
        raise ValueError(f"{number} is not a usable number")
    return number
