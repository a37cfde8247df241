from __future__ import annotations

import datetime
import math

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rsrae.data.cells import as_days, as_flags, as_numbers, as_text, date_format, is_missing_word, is_number
from rsrae.errors import InputError


def cells(*values: object) -> pa.ChunkedArray:
    return pa.chunked_array([pa.array(values)])


@given(st.lists(st.none() | st.floats(allow_nan=False, allow_infinity=False), min_size=1))
def test_numbers_written_as_text_are_the_numbers(values: list[float | None]) -> None:
    written = cells(*[None if value is None else f" {value!r} " for value in values])
    expected = [math.nan if value is None else value for value in values]
    np.testing.assert_array_equal(as_numbers(written.cast(pa.string()), "here"), expected)


@given(st.text())
def test_whatever_counts_as_a_number_can_be_read_as_one(text: str) -> None:
    if is_number(text):
        assert not math.isnan(float(text))
        assert not is_missing_word(text)


@given(st.dates(datetime.date(1000, 1, 1)), st.sampled_from(["%d.%m.%Y", "%Y/%m/%d", "%Y-%m-%d"]))
def test_a_date_is_the_same_day_in_every_format(day: datetime.date, form: str) -> None:
    text = day.strftime(form)
    found = date_format([text])
    assert found is not None
    assert as_days(cells(text), "here", found) == as_days(cells(day), "here", None)


@pytest.mark.parametrize(
    ("read", "values", "message"),
    [
        (
            lambda column: as_numbers(column, "t: column 'x'"),
            ("1", "two", "3", "four"),
            "2 cells .*first: row 2, 'two'",
        ),
        (lambda column: as_numbers(column, "t: column 'x'"), ("1", "inf"), "infinite values .*row 2"),
        (
            lambda column: as_flags(column, "t: column 'x'"),
            ("yes", "no", "perhaps"),
            "true or false .*row 3, 'perhaps'",
        ),
        (lambda column: as_flags(column, "t: column 'x'"), (0, 1, 2), "row 3 holds 2"),
        (lambda column: as_days(column, "t: column 'x'", "%d.%m.%Y"), ("1.2.2024", "30.2.2024"), "a date .*row 2"),
        (lambda column: as_text(column, "t: column 'x'"), (None, [1, 2]), "lists or objects .*row 2"),
    ],
)
def test_a_wrong_cell_is_named_with_its_row(read: object, values: tuple[object, ...], message: str) -> None:
    with pytest.raises(InputError, match=f"^t: column 'x' .*{message}"):
        read(cells(*values))  # type: ignore[operator]


def test_blanks_are_missing_and_taken_off() -> None:
    assert as_text(cells(" a ", "   ", "", None), "here").to_pylist() == ["a", None, None, None]
