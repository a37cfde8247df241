"""Folders: which files they hold, and known answers from sub-folder names."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from rsrae.errors import InputError, SourceError


def list_files(folder: Path) -> tuple[list[Path], list[tuple[str, str]]]:
    """All files below a folder, sorted, without hidden ones; and the sub-folders that could not be read."""
    skipped: list[tuple[str, str]] = []

    def note(error: OSError) -> None:
        if error.filename is None or Path(error.filename) == folder:
            raise SourceError(f"{folder}: the folder cannot be read ({error.strerror})") from error
        skipped.append((Path(error.filename).relative_to(folder).as_posix(), error.strerror or "unreadable"))

    files: list[Path] = []
    for here, folders, names in os.walk(folder, onerror=note):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        files += [Path(here, name) for name in sorted(names) if not name.startswith(".")]
    return files, skipped


def labels_from_folders(files: Sequence[Path], folder: Path, label: str | None) -> npt.NDArray[np.int64] | None:
    """1 for files inside a sub-folder called ``label``, 0 for the others."""
    if label is None:
        return None
    labels = np.array([label in path.relative_to(folder).parts[:-1] for path in files], dtype=np.int64)
    if not labels.any():
        raise InputError(f"{folder}: there is no sub-folder {label!r}; --label names the folder of anomalies")
    return labels
