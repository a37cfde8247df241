from pathlib import Path

import numpy as np
import pytest

from rsrae.data.arrays import array_in_memory, read_array, read_names
from rsrae.errors import InputError, SourceError

X = np.arange(12, dtype=np.float64).reshape(4, 3)


def test_a_npy_file_is_read(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", X)
    np.testing.assert_array_equal(read_array(tmp_path / "a.npy").values, X)


def test_a_npz_file_may_bring_names_and_labels(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", X=X, files=np.array(["a", "b", "c", "d"]), y=np.array([0, 0, 1, 0]))
    source = read_array(tmp_path / "a.npz", id="files", label="y")
    np.testing.assert_array_equal(source.values, X)
    assert source.names == ["a", "b", "c", "d"]
    assert source.labels is not None
    assert source.labels.tolist() == [0, 0, 1, 0]
    head = source.head(2)
    assert (len(head.values), head.names) == (2, ["a", "b"])


def test_the_only_array_may_have_any_name(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", whatever=X, y=np.zeros(4))
    np.testing.assert_array_equal(read_array(tmp_path / "a.npz", label="y").values, X)


def test_code_in_a_file_is_never_run(tmp_path: Path) -> None:
    class Bomb:
        def __reduce__(self) -> tuple[object, tuple[str]]:
            return (Path(str(tmp_path / "hit")).touch, ())  # type: ignore[return-value]

    np.save(tmp_path / "a.npy", np.array([[Bomb()]], dtype=object), allow_pickle=True)
    with pytest.raises(SourceError, match="Python objects"):
        read_array(tmp_path / "a.npy")
    assert not (tmp_path / "hit").exists()


def test_a_npy_file_has_no_columns_to_name(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", X)
    with pytest.raises(InputError, match="'y'"):
        read_array(tmp_path / "a.npy", label="y")


@pytest.mark.parametrize("wrong", [X * 1j, X.astype(str), X[0], X[:0]])
def test_arrays_that_are_no_items_of_numbers_are_refused(wrong: np.ndarray) -> None:
    with pytest.raises(InputError):
        array_in_memory(wrong)


def test_names_come_from_a_list_or_a_file(tmp_path: Path) -> None:
    (tmp_path / "names.txt").write_text("ä\nb\n", encoding="utf-16")
    assert read_names(tmp_path / "names.txt", 2) == ["ä", "b"]
    assert read_names(["a", "b"], 2) == ["a", "b"]
    with pytest.raises(InputError, match=r"names\.txt: 2 names for 3 items"):
        read_names(tmp_path / "names.txt", 3)
