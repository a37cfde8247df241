"""A file that appears whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rsrae.errors import OutputError


@contextmanager
def whole_file(target: Path) -> Iterator[Path]:
    """Give a temporary path beside ``target`` and move it there once the block has ended well.

    Raises
    ------
    OutputError
        If the file cannot be written, for instance because the disk is full. Nothing is left behind.
    """
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=target.suffix)
    except OSError as error:
        raise OutputError(f"{target}: cannot be written ({error.strerror}); choose another folder") from error
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        _flush_to_disk(temporary)
        temporary.chmod(0o644)
        temporary.replace(target)
    except OSError as error:
        raise OutputError(
            f"{target}: cannot be written ({error.strerror}); free some space or choose another folder"
        ) from error
    finally:
        temporary.unlink(missing_ok=True)


def write_text(target: Path, text: str) -> None:
    """Write ``text`` to ``target``, whole or not at all."""
    with whole_file(target) as temporary:
        temporary.write_text(text, encoding="utf-8")


def _flush_to_disk(path: Path) -> None:
    with path.open("rb+") as file:
        os.fsync(file.fileno())
