"""numpy files: one array out of a .npy or .npz, without ever running code from the file."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from rsrae.data.labels import parse_labels
from rsrae.data.text import check_archive, decode, read_bytes
from rsrae.errors import InputError, SourceError

_USUAL_NAMES = ("X", "x", "images", "embeddings", "vectors", "data", "arr_0")


@dataclass(frozen=True)
class ArraySource:
    """An array with what else its file holds."""

    name: str
    values: npt.NDArray[Any]
    names: list[str] | None = None
    labels: npt.NDArray[np.int64] | None = None

    def head(self, limit: int | None) -> ArraySource:
        """The first ``limit`` items."""
        if limit is None:
            return self
        return ArraySource(
            self.name,
            self.values[:limit],
            self.names and self.names[:limit],
            None if self.labels is None else self.labels[:limit],
        )


def read_array(path: Path, *, id: str | None = None, label: str | None = None) -> ArraySource:
    """The array of a .npy file, or the main one of a .npz file.

    Parameters
    ----------
    path : the file.
    id, label : arrays of the .npz file with a name or a known answer an item.
    """
    with _numpy_errors(path):
        # A memory map never reserves more than the file holds, whatever its header says.
        if path.suffix.lower() != ".npz":
            if id or label:
                raise InputError(f"{path}: a .npy file has no {id or label!r}; use a .npz file, or --names")
            return ArraySource(str(path), _checked(np.load(path, mmap_mode="r", allow_pickle=False), str(path)))
        check_archive(path)
        with np.load(path, allow_pickle=False) as archive:
            values = _checked(archive[_main_array(archive, path, (id, label))], str(path))
            names = None if id is None else [str(v) for v in _column(archive, id, len(values), path)]
            labels = None
            if label is not None:
                answers = _column(archive, label, len(values), path).tolist()
                labels = parse_labels(answers, f"{path}: label array {label!r}")
    return ArraySource(str(path), values, names, labels)


def array_in_memory(values: npt.NDArray[Any], name: str = "the array") -> ArraySource:
    """An array the caller holds."""
    return ArraySource(name, _checked(values, name))


def read_names(names: Path | str | Sequence[str], n_items: int) -> list[str]:
    """Item names from a list, or from a text file with one name a line."""
    if isinstance(names, str | Path):
        text, _ = decode(read_bytes(names), str(names))
        found, where = text.splitlines(), str(names)
    else:
        found, where = [str(name) for name in names], "names"
    if len(found) != n_items:
        raise InputError(f"{where}: {len(found):,} names for {n_items:,} items; give one name a line and item")
    return found


def _main_array(archive: Any, path: Path, taken: tuple[str | None, ...]) -> str:
    for usual in _USUAL_NAMES:
        if usual in archive.files and usual not in taken:
            return usual
    others = [name for name in archive.files if name not in taken]
    if len(others) != 1:
        raise SourceError(f"{path}: which array? It holds {', '.join(archive.files) or 'none'}; name one 'X'")
    return str(others[0])


def _column(archive: Any, name: str, n_items: int, path: Path) -> npt.NDArray[Any]:
    if name not in archive.files:
        raise InputError(f"{path}: there is no array {name!r}; there are {', '.join(archive.files)}")
    values: npt.NDArray[Any] = archive[name]
    if values.shape != (n_items,):
        raise InputError(f"{path}: array {name!r} has shape {values.shape}, not one value for {n_items} items")
    return values


def _checked(values: npt.NDArray[Any], name: str) -> npt.NDArray[Any]:
    if not (np.issubdtype(values.dtype, np.number) or values.dtype == bool) or np.iscomplexobj(values):
        raise InputError(f"{name}: an array of {values.dtype} where numbers are expected")
    if values.ndim < 2:
        raise InputError(f"{name}: an array of shape {values.shape}; expected one row an item, (items, numbers)")
    if values.size == 0:
        raise InputError(f"{name}: the array is empty (shape {values.shape})")
    return values


@contextlib.contextmanager
def _numpy_errors(path: Path) -> Iterator[None]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # numpy remarks on headers of old Python versions
            yield
    except (InputError, MemoryError):
        raise
    except Exception as error:  # numpy lets through what zip, Python's tokenizer and its parser raise
        if "allow_pickle" in str(error):
            raise SourceError(
                f"{path}: holds Python objects, or is no numpy file; save it as an array of numbers"
            ) from error
        reason = " ".join(str(error).split()) or type(error).__name__
        raise SourceError(f"{path}: damaged or truncated ({reason[:160]}); write the file again") from error
