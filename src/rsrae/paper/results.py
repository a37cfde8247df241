"""The results file: JSON Lines, one finished cell a line, only ever appended to.

A line is written with one system call and flushed to the disk, so that a kill at any moment costs at
most the line being written; such a torn last line is ignored by readers and cut off by the next writer.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rsrae.errors import OutputError, SourceError

Row = dict[str, Any]


def read_rows(path: Path) -> list[Row]:
    """Read all rows of a results file; an absent file has none, a torn last line is ignored."""
    if not path.exists():
        return []
    rows = []
    for number, line in enumerate(_whole_lines(path.read_bytes()).splitlines(), start=1):
        try:
            row = json.loads(line)
            rows.append({**row, "id": str(row["id"]), "status": str(row["status"])})
        except (ValueError, KeyError, TypeError) as error:
            raise SourceError(f"{path}: line {number} is not a result ({error!r}); remove it") from error
    return rows


def finished_rows(path: Path) -> list[Row]:
    """Read the rows of the cells that ended well."""
    return [row for row in read_rows(path) if row["status"] == "ok"]


class Appender:
    """Writes rows to a results file; made by `appending`."""

    def __init__(self, path: Path, descriptor: int):
        self._path = path
        self._descriptor = descriptor

    def append(self, row: Mapping[str, Any]) -> None:
        """Append one row, whole and on the disk when this returns."""
        line = json.dumps(row, allow_nan=False, sort_keys=True).encode() + b"\n"
        size = os.fstat(self._descriptor).st_size
        try:
            written = os.write(self._descriptor, line)
            if written < len(line):
                raise OSError(None, "the disk is full")
            os.fsync(self._descriptor)
        except OSError as error:
            os.ftruncate(self._descriptor, size)
            raise OutputError(f"{self._path}: cannot be written ({error.strerror}); free some space") from error


@contextmanager
def appending(path: Path) -> Iterator[Appender]:
    """Open a results file for appending, for one process at a time; a torn last line is cut off."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
    except OSError as error:
        raise OutputError(f"{path}: cannot be written ({error.strerror}); choose another folder") from error
    try:
        _lock(descriptor, path)
        os.ftruncate(descriptor, len(_whole_lines(path.read_bytes())))
        yield Appender(path, descriptor)
    finally:
        os.close(descriptor)


def _whole_lines(content: bytes) -> bytes:
    return content[: content.rfind(b"\n") + 1]


def _lock(descriptor: int, path: Path) -> None:
    # The lock goes with the process, however it ends. (Windows: opened without one.)
    if sys.platform != "win32":
        import fcntl

        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise OutputError(f"{path}: another run is writing to it; wait for it or stop it") from error
