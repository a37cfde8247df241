from pathlib import Path

import pytest

from rsrae.data.folders import labels_from_folders, list_files
from rsrae.errors import InputError


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("b/2.txt", "b/10.txt", "a/1.txt", ".hidden", ".git/config", "top.txt"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("x")
    return tmp_path


def test_files_are_found_in_a_fixed_order_without_hidden_ones(folder: Path) -> None:
    files, skipped = list_files(folder)
    assert [path.relative_to(folder).as_posix() for path in files] == ["top.txt", "a/1.txt", "b/10.txt", "b/2.txt"]
    assert skipped == []


def test_a_sub_folder_can_hold_the_known_anomalies(folder: Path) -> None:
    files, _ = list_files(folder)
    labels = labels_from_folders(files, folder, "b")
    assert labels is not None
    assert labels.tolist() == [0, 0, 1, 1]
    assert labels_from_folders(files, folder, None) is None
    with pytest.raises(InputError, match="no sub-folder 'c'"):
        labels_from_folders(files, folder, "c")
