from pathlib import Path

import pytest

from rsrae.errors import OutputError
from rsrae.wholefile import whole_file, write_text


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    target = tmp_path / "page.md"
    write_text(target, "old")
    with pytest.raises(ZeroDivisionError), whole_file(target) as temporary:
        temporary.write_text(f"half {1 / 0}")
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


def test_a_folder_that_is_a_file_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="cannot be written"):
        write_text(tmp_path / "file" / "page.md", "text")
