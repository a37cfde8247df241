"""Files that appear whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rsrae.errors import OutputError


@contextmanager
def whole_file(path: str | os.PathLike[str], *, make_folders: bool = False) -> Iterator[Path]:
    """Give a temporary path beside ``path`` that takes its name if all went well, and is removed if not.

    An existing file is replaced in one step; until then it stays as it was.

    Raises
    ------
    OutputError
        If the file cannot be written, for instance because the disk is full.
    """
    target = Path(path)
    try:
        if make_folders:
            target.parent.mkdir(parents=True, exist_ok=True)
        # In the same folder, so that the last step is a rename, which cannot be half done.
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=target.suffix)
    except OSError as error:
        raise OutputError(f"{target}: cannot be written ({error.strerror}); choose another place") from error
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        _flush_to_disk(temporary)
        temporary.chmod(0o666 & ~_umask())
        temporary.replace(target)
    except OSError as error:
        raise OutputError(
            f"{target}: cannot be written ({error.strerror or error}); make room, or choose another place"
        ) from error
    finally:
        temporary.unlink(missing_ok=True)


def write_text(path: str | os.PathLike[str], text: str, *, make_folders: bool = False) -> None:
    """Write ``text`` to ``path``, whole or not at all."""
    with whole_file(path, make_folders=make_folders) as temporary:
        temporary.write_text(text, encoding="utf-8")


def _flush_to_disk(path: Path) -> None:
    with path.open("rb+") as file:
        os.fsync(file.fileno())


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
