import pytest

from rsrae.data.csv_dialect import Dialect, detect_dialect, is_header


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_delimiter_is_the_one_that_makes_rows_of_equal_width(delimiter: str) -> None:
    rows = [["name", "note", "price"], ["nut, small", "a;b", "1"], ["bolt", "c|d", "2"]]
    text = "\n".join(delimiter.join(f'"{cell}"' for cell in row) for row in rows)
    assert detect_dialect(text) == Dialect(delimiter, has_header=True)


def test_a_single_column_needs_no_delimiter() -> None:
    assert detect_dialect("price\n1\n2\n").has_header


def test_a_decimal_comma_is_seen_beside_semicolons() -> None:
    assert detect_dialect("a;b\n1,5;2,5\n").decimal_point == ","
    assert detect_dialect("a;b\n1.5;2.5\n").decimal_point == "."
    assert detect_dialect("a,b\n1,5\n").decimal_point == "."


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (["id", "price"], True),
        (["", "price"], True),
        (["0", "1", "2", "label"], True),
        (["1", "2", "3"], True),
        (["3", "1", "2"], False),
        (["1.5", "x"], False),
        (["2024-01-31", "x"], False),
        (["31.12.2024 10:00", "x"], False),
        (["", ""], False),
    ],
)
def test_a_header_is_told_from_values(cells: list[str], expected: bool) -> None:
    assert is_header(cells) is expected


def test_only_the_beginning_of_a_long_text_is_looked_at() -> None:
    text = "a;b\n" + "1;2\n" * 50_000 + "x,y,z\n" * 50_000
    assert detect_dialect(text).delimiter == ";"
