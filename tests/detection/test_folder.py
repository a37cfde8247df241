from __future__ import annotations

from pathlib import Path

import pytest

from rsrae.detection import check_folder, whole_folder
from rsrae.errors import OutputError


def write_result(folder: Path, text: str = "new") -> None:
    for name in ("scores.csv", "model.rsrae"):
        (folder / name).write_text(text)


def test_the_folder_appears_whole(tmp_path: Path) -> None:
    with whole_folder(tmp_path / "out") as temporary:
        write_result(temporary)
        assert not (tmp_path / "out").exists()
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["model.rsrae", "scores.csv"]
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError])
def test_nothing_is_left_if_writing_is_broken_off(tmp_path: Path, error: type[BaseException]) -> None:
    def break_off() -> None:
        with whole_folder(tmp_path / "out") as temporary:
            write_result(temporary)
            raise error

    with pytest.raises(error):
        break_off()
    assert list(tmp_path.iterdir()) == []


def test_a_disk_error_is_an_output_error_and_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="cannot be written"), whole_folder(tmp_path / "out"):
        raise OSError(28, "No space left on device")
    assert list(tmp_path.iterdir()) == []


def test_an_earlier_result_is_kept_unless_forced(tmp_path: Path) -> None:
    with whole_folder(tmp_path / "out") as temporary:
        write_result(temporary, "old")
    with pytest.raises(OutputError, match=r"already exists.*--force"):
        check_folder(tmp_path / "out")
    with whole_folder(tmp_path / "out", force=True) as temporary:
        write_result(temporary)
        assert (tmp_path / "out" / "scores.csv").read_text() == "old"
    assert (tmp_path / "out" / "scores.csv").read_text() == "new"
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_an_earlier_result_survives_a_failed_replacement(tmp_path: Path) -> None:
    with whole_folder(tmp_path / "out") as temporary:
        write_result(temporary, "old")
    with pytest.raises(KeyboardInterrupt), whole_folder(tmp_path / "out", force=True):
        raise KeyboardInterrupt
    assert (tmp_path / "out" / "scores.csv").read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_a_folder_with_anything_else_inside_is_never_replaced(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "thesis.doc").write_text("mine")
    with pytest.raises(OutputError, match="holds other files than a result"):
        check_folder(tmp_path / "out", force=True)
    assert (tmp_path / "out" / "thesis.doc").read_text() == "mine"


def test_a_file_or_a_link_is_never_replaced(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    for name in ("file", "link"):
        with pytest.raises(OutputError, match="is not a folder"):
            check_folder(tmp_path / name, force=True)


def test_the_parent_must_exist(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="no such folder; make it first"):
        check_folder(tmp_path / "nowhere" / "out")


def test_checking_leaves_nothing_behind(tmp_path: Path) -> None:
    check_folder(tmp_path / "out")
    assert list(tmp_path.iterdir()) == []
