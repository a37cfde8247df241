import json
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from rsrae.data.sources import encoder_from_json, read_source
from rsrae.data.table_files import table_from_arrow
from rsrae.data.tables import TableEncoder, find_id, samples_from_table
from rsrae.errors import InputError

N = 20
MIXED = pd.DataFrame(
    {
        "order_id": range(100, 100 + N),
        "price": np.linspace(1, 5, N),
        "weight": [None, *np.linspace(2, 3, N - 1)],
        "colour": ["red", "blue"] * (N // 2),
        "express": [True, False, False, True] * (N // 4),
        "day": pd.date_range("2024-01-01", periods=N),
        "currency": ["EUR"] * N,
        "comment": [f"please deliver {i}" for i in range(N)],
        "fraud": [0] * (N - 2) + [1, 1],
    }
)


def test_each_column_is_treated_by_what_it_holds() -> None:
    samples = read_source(MIXED, label="fraud")
    encoder = samples.encoder
    assert isinstance(encoder, TableEncoder)
    assert {plan.name: plan.type for plan in encoder.columns} == {
        "price": "number",
        "weight": "number",
        "colour": "category",
        "express": "flag",
        "day": "date",
    }
    assert encoder.feature_columns[:3] == ["price", "weight", "weight"]
    assert set(encoder.left_out) == {"currency", "comment", "fraud"}
    assert samples.names == [str(i) for i in range(100, 100 + N)]
    assert samples.labels is not None
    assert samples.labels.tolist() == MIXED["fraud"].tolist()
    assert samples.feature_names == encoder.feature_names


def test_every_decision_is_in_the_notes() -> None:
    notes = " ".join(read_source(MIXED, label="fraud", drop=["price"]).notes)
    for column in MIXED.columns:
        assert f"'{column}'" in notes
    assert "every cell is 'EUR'" in notes
    assert "as asked" in notes


def test_labels_do_not_enter_the_matrix() -> None:
    flipped = MIXED.assign(fraud=1 - MIXED["fraud"])
    np.testing.assert_array_equal(read_source(MIXED, label="fraud").X, read_source(flipped, label="fraud").X)


def test_new_data_is_treated_as_the_first_was() -> None:
    encoder = read_source(MIXED, label="fraud").encoder
    assert encoder is not None
    again = encoder_from_json(json.loads(json.dumps(encoder.to_json())))
    assert again == encoder
    whole = read_source(MIXED, label="fraud").X
    # Shuffled columns, fewer rows, an extra column: the same rows of the same matrix.
    part = MIXED.iloc[5:9][MIXED.columns[::-1]].assign(extra=1)
    samples = read_source(part, encoder=again)
    np.testing.assert_array_equal(samples.X, whole[5:9])
    assert samples.names == ["105", "106", "107", "108"]
    assert any("'extra'" in note for note in samples.notes)
    assert not any("comment" in note for note in samples.notes)


def test_missing_columns_are_all_named() -> None:
    encoder = read_source(MIXED).encoder
    with pytest.raises(InputError, match=r"2 columns .* 'price', 'colour'"):
        read_source(MIXED.drop(columns=["price", "colour"]), encoder=encoder)


def test_surprises_in_new_data_are_noted() -> None:
    encoder = read_source(MIXED).encoder
    new = MIXED.iloc[:3].assign(colour=["green", "red", "red"], price=[None, 1.0, 2.0])
    samples = read_source(new, encoder=encoder)
    assert "1 cells of 'colour' hold categories not seen before." in samples.notes
    assert "1 missing cells of 'price' are filled with 3." in samples.notes
    assert np.isfinite(samples.X).all()


def test_categories_of_new_csv_data_are_not_taken_for_numbers(tmp_path: Path) -> None:
    first, second = tmp_path / "a.csv", tmp_path / "b.csv"
    first.write_text("zone,x\n" + "01,1\nA,2\n01,3\nA,4\n")
    second.write_text("zone,x\n01,1\n01,3\n")
    encoder = read_source(first).encoder
    assert read_source(second, encoder=encoder).X[:, 0].tolist() == read_source(first).X[[0, 2], 0].tolist()
    assert read_source(second, encoder=encoder).X[:, :2].sum() == 2


@pytest.mark.parametrize(
    ("name", "values", "is_id"),
    [
        ("id", [5, 3, 9, 1], True),
        ("customer_id", [5, 3, 9, 1], True),
        ("customerId", [5, 3, 9, 1], True),
        ("id", [5, 5, 9, 1], False),
        ("row", [1, 2, 3, 4], True),
        ("house number", [7, 3, 12, 5], False),
        ("grid", [5, 3, 9, 1], False),
        ("customer", ["ann", "bob", "cem", "dan"], True),
        ("score", [1.5, 2.5, 3.5, 4.5], False),
    ],
)
def test_an_id_is_recognised_by_its_name_and_values(name: str, values: list[object], is_id: bool) -> None:
    samples = read_source(pa.table({name: values, "x": [1.0, 5.0, 2.0, 3.0]}))
    assert (samples.names == [str(value) for value in values]) is is_id
    assert (name not in {plan.name for plan in samples.encoder.columns}) is is_id


def test_long_texts_do_not_name_rows() -> None:
    texts = [f"{i} " + "and so on " * 20 for i in range(4)]
    samples = read_source(pa.table({"body": texts, "x": [1.0, 5.0, 2.0, 3.0]}))
    assert samples.names == ["1", "2", "3", "4"]
    assert any("--text" in note for note in samples.notes)


def test_a_named_id_column_wins_and_gaps_in_it_become_row_numbers() -> None:
    table = pa.table({"id": [1, 2, 3], "who": ["a", None, "c"], "x": [1.0, 2.0, 4.0]})
    samples = read_source(table, id="who")
    assert samples.names == ["a", "row 2", "c"]
    assert samples.feature_names == ["id", "x"]


def test_an_id_must_be_different_in_every_row() -> None:
    store = table_from_arrow(pa.table({"text": ["a", "b"], "key": [1, 1], "doc_id": ["x", "y"]}), "t")
    assert find_id(store) == "doc_id"
    assert find_id(store, ignored=["doc_id"]) is None


def test_rows_are_shown_as_they_were_with_columns_that_were_left_out() -> None:
    samples = read_source(MIXED, label="fraud")
    assert samples.items.row(3)["comment"] == "please deliver 3"
    assert samples.items.row(0)["weight"] is None


def test_the_matrix_is_one_block_of_float32() -> None:
    samples = samples_from_table(table_from_arrow(pa.table({"a": [1, 2, 3], "b": [1.5, 2.5, 0.5]}), "t"))
    assert samples.X.dtype == np.float32
    assert samples.X.flags["C_CONTIGUOUS"]
