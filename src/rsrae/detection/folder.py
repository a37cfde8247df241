"""An output folder that appears whole or not at all."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from rsrae.errors import OutputError

# What a result consists of. A folder that holds anything else is somebody's own and never replaced.
RESULT_FILES = ("scores.csv", "scores.parquet", "model.rsrae", "report.html")


def check_folder(path: str | os.PathLike[str], *, force: bool = False) -> None:
    """Raise now if `whole_folder` would fail later: an existing folder, or a place that cannot be written to."""
    target = Path(path)
    if target.is_symlink() or target.exists():
        if not force:
            raise OutputError(f"{target}: already exists; choose another folder with --out, or replace it with --force")
        if not target.is_dir() or target.is_symlink():
            raise OutputError(f"{target}: is not a folder, so it is not replaced; choose another with --out")
        others = sorted(name for name in _names(target) if name not in RESULT_FILES)
        if others:
            raise OutputError(
                f"{target}: holds other files than a result ({others[0]!r}), so it is not replaced; "
                "choose another folder with --out"
            )
    parent = target.absolute().parent
    if not parent.is_dir():
        raise OutputError(f"{parent}: no such folder; make it first, or choose another place with --out")
    with contextlib.suppress(FileNotFoundError):
        _temporary(target).rmdir()


@contextlib.contextmanager
def whole_folder(path: str | os.PathLike[str], *, force: bool = False) -> Iterator[Path]:
    """A temporary folder beside ``path`` that takes its name if all went well, and is removed if not.

    With ``force`` an earlier result is replaced; it stays until the new one is complete.
    """
    target = Path(path)
    check_folder(target, force=force)
    temporary = _temporary(target)
    try:
        yield temporary
        _swap(temporary, target)
    except OSError as error:
        raise OutputError(
            f"{target}: cannot be written ({error.strerror or error}); make room, or choose another place"
        ) from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _temporary(target: Path) -> Path:
    try:
        made = Path(tempfile.mkdtemp(dir=target.absolute().parent, prefix=f".{target.name}.", suffix=".part"))
        made.chmod(0o777 & ~_umask())
        return made
    except OSError as error:
        raise OutputError(f"{target}: cannot be written ({error.strerror}); choose another place with --out") from error


def _swap(temporary: Path, target: Path) -> None:
    if not target.exists():
        temporary.rename(target)
        return
    earlier = temporary.with_name(temporary.name + ".earlier")
    target.rename(earlier)
    try:
        temporary.rename(target)
    except OSError:
        earlier.rename(target)
        raise
    shutil.rmtree(earlier, ignore_errors=True)


def _names(folder: Path) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError as error:
        raise OutputError(f"{folder}: cannot be looked into ({error.strerror}); choose another with --out") from error


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
