"""How a delimited text is written: delimiter, header line, decimal comma. Decided from its first rows."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from dataclasses import dataclass

DELIMITERS = ",;\t|"
_SAMPLE_CHARACTERS = 2**16
_SAMPLE_ROWS = 200
_NUMBER = re.compile(r"\s*[+-]?(\d+([.,]\d*)?|[.,]\d+)([eE][+-]?\d+)?%?\s*")
_DATE = re.compile(r"\s*(\d{4}[-/]\d{1,2}[-/]\d{1,2}|\d{1,2}[./]\d{1,2}[./]\d{4})([T ].*)?")
_DECIMAL_COMMA = re.compile(r"\s*[+-]?\d+,\d+\s*")
_DECIMAL_POINT = re.compile(r"\s*[+-]?\d+\.\d+\s*")


@dataclass(frozen=True)
class Dialect:
    """What a reader has to know before it reads."""

    delimiter: str
    has_header: bool
    decimal_point: str = "."


def detect_dialect(text: str, delimiter: str | None = None) -> Dialect:
    r"""Look at the first rows of a delimited text.

    >>> detect_dialect("name;price\nnut;1,5\nbolt;0,25\n")
    Dialect(delimiter=';', has_header=True, decimal_point=',')
    >>> detect_dialect("1,2\n3,4\n").has_header
    False
    """
    sample = text[:_SAMPLE_CHARACTERS]
    if len(text) > len(sample):  # the last line may be cut in two
        sample = sample[: sample.rfind("\n") + 1] or sample
    candidates = {mark: _sample_rows(sample, mark) for mark in delimiter or DELIMITERS}
    best = max(candidates, key=lambda mark: _regularity(candidates[mark]))
    rows = candidates[best]
    return Dialect(best, bool(rows) and is_header(rows[0]), _decimal_point(rows, best))


def is_header(cells: list[str]) -> bool:
    """Whether a first row holds column names rather than values.

    Names are no numbers and no dates; but ``0,1,2`` in a row counts as names, as pandas writes them.

    >>> is_header(["id", "price"]), is_header(["7", "1.5"]), is_header(["0", "1", "2", "label"])
    (True, False, True)
    """
    numbers = {i: cell for i, cell in enumerate(cells) if _NUMBER.fullmatch(cell)}
    if any(_DATE.fullmatch(cell) for cell in cells):
        return False
    if not numbers:
        return any(cell.strip() for cell in cells)
    counts_up = (all(cell.strip() == str(i + start) for i, cell in numbers.items()) for start in (0, 1))
    return len(numbers) > 2 and any(counts_up)


def _sample_rows(sample: str, delimiter: str) -> list[list[str]]:
    rows: list[list[str]] = []
    try:
        for row in csv.reader(io.StringIO(sample, newline=""), delimiter=delimiter):
            if row:
                rows.append(row)
            if len(rows) == _SAMPLE_ROWS:
                break
    except csv.Error:
        pass  # a cell too long to be one: judge by the rows before it; the reader reports the rest
    return rows


def _regularity(rows: list[list[str]]) -> tuple[bool, float, int]:
    if not rows:
        return False, 0.0, 0
    width, n_rows = Counter(map(len, rows)).most_common(1)[0]
    return width > 1, n_rows / len(rows), width


def _decimal_point(rows: list[list[str]], delimiter: str) -> str:
    if delimiter == ",":
        return "."
    cells = [cell for row in rows for cell in row]
    commas = sum(bool(_DECIMAL_COMMA.fullmatch(cell)) for cell in cells)
    points = sum(bool(_DECIMAL_POINT.fullmatch(cell)) for cell in cells)
    return "," if commas > points else "."
