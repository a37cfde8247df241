import datetime
import json

import numpy as np
import pyarrow as pa
import pytest

from rsrae.data.columns import (
    MAX_CATEGORIES,
    CategoryColumn,
    ColumnPlan,
    DateColumn,
    FlagColumn,
    LeftOut,
    NumberColumn,
    plan_column,
    plan_from_json,
    plan_to_json,
)
from rsrae.errors import InputError


def plan(values: object, kind: pa.DataType | None = None) -> ColumnPlan | LeftOut:
    return plan_column("c", column(values, kind), "column 'c'")


def column(values: object, kind: pa.DataType | None = None) -> pa.ChunkedArray:
    return pa.chunked_array([pa.array(values, type=kind)])


def encode(chosen: ColumnPlan | LeftOut, values: object, kind: pa.DataType | None = None) -> dict[str, list[float]]:
    assert not isinstance(chosen, LeftOut)
    features = list(chosen.encode(column(values, kind), "column 'c'"))
    assert all(feature.dtype == np.float32 for feature in features)
    return dict(zip(chosen.feature_names, (feature.tolist() for feature in features), strict=True))


@pytest.mark.parametrize(
    "kind",
    [pa.int8(), pa.uint64(), pa.float16(), pa.float32(), pa.float64(), pa.decimal128(9, 2), pa.int64()],
)
def test_numbers_of_every_type_stay_as_they_are(kind: pa.DataType) -> None:
    values = np.array([1, 2, 4], dtype=np.float16) if kind == pa.float16() else [1, 2, 4]
    assert encode(plan(values, kind), values, kind) == {"c": [1, 2, 4]}


def test_missing_numbers_get_the_median_and_a_mark() -> None:
    values = [1.0, None, 3.0, float("nan"), 10.0]
    assert encode(plan(values), values) == {"c": [1, 3, 3, 3, 10], "c (missing)": [0, 1, 0, 1, 0]}


def test_durations_and_times_of_day_are_seconds() -> None:
    values = [datetime.timedelta(minutes=1), datetime.timedelta(seconds=1.5)]
    assert encode(plan(values), values) == {"c": [60, 1.5]}
    times = [datetime.time(0, 1), datetime.time(1)]
    assert encode(plan(times), times) == {"c": [60, 3600]}
    assert encode(plan([1, 2], pa.time32("s")), [1, 2], pa.time32("s")) == {"c": [1, 2]}


def test_numbers_that_float32_cannot_tell_apart_lose_their_median() -> None:
    values = [1_700_000_000 + i for i in range(11)]
    assert encode(plan(values), values) == {"c (minus 1700000005)": [float(i) for i in range(-5, 6)]}


def test_text_that_is_all_numbers_is_numbers() -> None:
    values = [" 1.5", "+2", "?", "3e2", "n/a"]
    assert encode(plan(values), values) == {"c": [1.5, 2, 2, 300, 2], "c (missing)": [0, 0, 1, 0, 1]}


def test_codes_with_a_few_letters_are_categories() -> None:
    assert isinstance(plan(["1", "2", "3", "X"] * 10), CategoryColumn)


def test_a_few_words_among_many_numbers_are_mistakes() -> None:
    values = [str(i / 10) for i in range(40)]
    values[17] = "cheap"
    with pytest.raises(InputError, match=r"column 'c' has a cell that .*row 18, 'cheap'"):
        plan(values)
    values[20] = "dear"
    with pytest.raises(InputError, match=r"2 cells that are not a number \(first: row 18"):
        plan(values)


def test_yes_and_no_are_one_and_zero() -> None:
    values = [True, None, True, False]
    assert encode(plan(values), values) == {"c": [1, 1, 1, 0], "c (missing)": [0, 1, 0, 0]}


@pytest.mark.parametrize("values", [[1, 0, 1], [1.0, 0.0, 1.0], ["yes", "no", "TRUE"], ["1", "0", "1"]])
def test_a_flag_is_the_same_however_new_data_writes_it(values: list[object]) -> None:
    assert encode(FlagColumn("c", 0.0, False), values) == {"c": [1, 0, 1]}


@pytest.mark.parametrize("values", [[2, 0], ["maybe", "no"]])
def test_a_flag_that_is_neither_is_an_error(values: list[object]) -> None:
    with pytest.raises(InputError, match="row 1"):
        encode(FlagColumn("c", 0.0, False), values)


def test_categories_get_a_column_each() -> None:
    values = ["red", "blue ", "red", None, "", "blue", "red", "red"]
    assert encode(plan(values), values) == {
        "c=red": [1, 0, 1, 0, 0, 0, 1, 1],
        "c=blue": [0, 1, 0, 0, 0, 1, 0, 0],
        "c=(missing)": [0, 0, 0, 1, 1, 0, 0, 0],
    }


def test_pandas_categories_are_categories() -> None:
    values = pa.array(["a", "b", "a", "b"]).dictionary_encode()
    assert plan_column("c", pa.chunked_array([values]), "c") == CategoryColumn("c", ("a", "b"), False, False)


def test_the_less_frequent_of_many_categories_are_rare() -> None:
    values = [f"k{i}" for i in range(40) for _ in range(40 - i + 1)]
    chosen = plan(values)
    assert isinstance(chosen, CategoryColumn)
    assert chosen.categories == tuple(f"k{i}" for i in range(MAX_CATEGORIES))
    features = encode(chosen, ["k0", "k39", "never seen"])
    assert features["c=k0"] == [1, 0, 0]
    assert features["c=(rare)"] == [0, 1, 1]


def test_a_new_category_is_all_zeros_if_there_were_no_rare_ones() -> None:
    chosen = CategoryColumn("c", ("red", "blue"), False, False)
    assert encode(chosen, ["green", None, "red"]) == {"c=red": [0, 0, 1], "c=blue": [0, 0, 0]}
    assert chosen.count_unknown(column(["green", None, "red"]), "c") == 1


def test_categories_that_look_like_numbers_match_numbers() -> None:
    assert encode(CategoryColumn("c", ("1", "X"), False, False), [1, 2])["c=1"] == [1, 0]


def test_dates_are_days_since_the_first() -> None:
    values = [datetime.date(2024, 1, 1), datetime.date(2024, 1, 3), None]
    assert encode(plan(values), values) == {
        "c (days since 2024-01-01)": [0, 2, 1],
        "c (missing)": [0, 0, 1],
    }


def test_moments_have_a_time_of_day_on_a_circle() -> None:
    start = datetime.datetime(2024, 1, 1)
    values = [start, start + datetime.timedelta(days=1, hours=6), start + datetime.timedelta(days=3)]
    features = encode(plan(values), values)
    assert list(features) == ["c (days since 2024-01-01)", "c (time of day, sin)", "c (time of day, cos)"]
    np.testing.assert_allclose(features["c (time of day, sin)"], [0, 1, 0], atol=1e-6)
    np.testing.assert_allclose(features["c (time of day, cos)"], [1, 0, 1], atol=1e-6)


def test_long_spans_have_weekdays_and_seasons() -> None:
    days = [datetime.date(2020, 1, 1) + datetime.timedelta(days=i) for i in range(0, 1500, 7)]
    chosen = plan(days)
    assert isinstance(chosen, DateColumn)
    assert chosen.cycles == ("day of week", "day of year")
    assert len(set(np.round(encode(chosen, days)["c (day of week, sin)"], 5))) == 1


@pytest.mark.parametrize(
    "texts",
    [
        ["2024-01-01", "2024-01-31"],
        ["2024-01-01T00:00:00", "2024-01-31T00:00:00Z"],
        ["01.01.2024", "31.01.2024"],
        ["01/01/2024", "31/01/2024"],
        ["01/01/2024", "01/31/2024"],
        ["2024/01/01", "2024/01/31"],
        ["01.01.2024 00:00", "31.01.2024 00:00"],
    ],
)
def test_dates_written_as_text_are_dates(texts: list[str]) -> None:
    assert encode(plan(texts), texts)["c (days since 2024-01-01)"] == [0, 30]


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_moments_mean_the_same_in_every_unit(unit: str) -> None:
    chosen = DateColumn("c", 0.0, 0.0, False, ())
    values = [datetime.datetime(1970, 1, 2, 12)]
    assert encode(chosen, values, pa.timestamp(unit)) == {"c (days since 1970-01-01)": [1.5]}
    assert encode(chosen, [datetime.date(1970, 1, 2)], pa.date64()) == {"c (days since 1970-01-01)": [1]}


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ([None, None], "every cell is missing"),
        ([float("nan")] * 2, "every cell is missing"),
        (["", " "], "every cell is missing"),
        ([3, 3], "every cell is 3"),
        (["x", "x"], "every cell is 'x'"),
        ([True, True], "every cell is true"),
        ([datetime.date(2024, 1, 1)] * 2, "every cell is the same date"),
        (["some text", "other text", "a third"], "text, different in every cell"),
        (["some text", "other text", "other text"], "text, different in 2 of 3 cells"),
    ],
)
def test_columns_that_tell_nothing_are_left_out(values: list[object], reason: str) -> None:
    chosen = plan(values)
    assert isinstance(chosen, LeftOut)
    assert chosen.reason.startswith(reason)


@pytest.mark.parametrize("value", [[1, 2], {"a": 1}, b"bytes"])
def test_nested_and_binary_cells_are_refused_with_their_row(value: object) -> None:
    with pytest.raises(InputError, match=r"column 'c' holds .* \(first: row 2\)"):
        plan([None, value])


def test_dates_where_numbers_were_are_an_error() -> None:
    with pytest.raises(InputError, match="dates where numbers are expected"):
        encode(NumberColumn("c", 0.0, False), [datetime.date(2024, 1, 1)])
    with pytest.raises(InputError, match="where dates are expected"):
        encode(DateColumn("c", 0.0, 0.0, False, ()), [1.5])
    with pytest.raises(InputError, match="not a date"):
        encode(DateColumn("c", 0.0, 0.0, False, ()), ["soon"])


PLANS: list[ColumnPlan] = [
    NumberColumn("a", 1.5, True, 7.0),
    FlagColumn("b", 1.0, False),
    CategoryColumn("c", ("x", "y"), True, True),
    DateColumn("d", 3.0, 4.0, True, ("time of day",), "%d.%m.%Y"),
]


@pytest.mark.parametrize("original", PLANS)
def test_a_plan_survives_json(original: ColumnPlan) -> None:
    assert plan_from_json(json.loads(json.dumps(plan_to_json(original)))) == original


@pytest.mark.parametrize(
    ("original", "change"),
    [
        (PLANS[0], {"type": "magic"}),
        (PLANS[0], {"fill": "nan"}),
        (PLANS[0], {"offset": None}),
        (PLANS[1], {"fill": float("inf")}),
        (PLANS[2], {"categories": 5}),
        (PLANS[3], {"cycles": ["moon"]}),
        (PLANS[3], {"origin": "long ago"}),
    ],
)
def test_a_damaged_plan_is_refused(original: ColumnPlan, change: dict[str, object]) -> None:
    with pytest.raises((ValueError, TypeError)):
        plan_from_json(plan_to_json(original) | change)
