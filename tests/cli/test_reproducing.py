import json
from pathlib import Path

from .finished import Command

RESULTS = Path(__file__).parents[2] / "results"


def test_a_table_with_many_methods_is_shown_in_parts_with_no_cell_broken(command: Command) -> None:
    asked = ("paper", "show", "tables", "--profile", "quick", "--results", RESULTS)
    _, each = json.loads(command(*asked, "--json").out)
    printed = command(*asked).out
    assert len(each["columns"]) > 10
    assert all(cell in printed for row in each["rows"] for cell in row)
    assert max(map(len, printed.splitlines())) <= 140
    first, *_ = each["rows"][0]
    assert printed.count(f" {first} ") > 1  # every part says which data set a line is about
