"""Download the public originals of a data set and prepare them, into the per-user cache.

A download resumes where it was cut (HTTP Range, only while the server's file is the same), is checked against
the known checksum, and appears whole or not at all. Where no checksum is known, the sha256 seen at the first
fetch is kept in ``checksums.json`` of the cache and later fetches must match it.
"""

from __future__ import annotations

import errno
import hashlib
import http.client
import json
import os
import re
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rsrae.errors import OutputError, ParameterError, RsraeError, SourceError
from rsrae.paper import datasets
from rsrae.paper.datasets import DatasetInfo, Original
from rsrae.paper.prepare import prepare
from rsrae.wholefile import whole_file, write_text

ATTEMPTS = 3
TIMEOUT_SECONDS = 60.0
BLOCK_BYTES = 1 << 18
LEDGER = "checksums.json"


@dataclass(frozen=True)
class DownloadProgress:
    """How far a download is; ``total`` is None as long as the server has not said."""

    filename: str
    done: int
    total: int | None


Progress = Callable[[DownloadProgress], None]


class _CutError(Exception):
    """The connection ended before the file did."""


def fetch(
    name: str,
    *,
    accept_licence: bool = False,
    progress: Progress | None = None,
    base_url: str | None = None,
    cache: Path | None = None,
) -> Path:
    """Download and prepare a data set; return the prepared file.

    Parameters
    ----------
    name : a data set of `rsrae.paper.datasets.names`.
    accept_licence : that the terms in `rsrae.paper.datasets.info` have been read and accepted.
    progress : called with a `DownloadProgress` after each block.
    base_url : a mirror that holds the originals under their file names, instead of the publisher's address.
    cache : instead of the per-user cache.

    Raises
    ------
    ParameterError
        If the licence is not accepted, or there is nothing to fetch.
    SourceError
        If a file cannot be had or is not what it should be.
    OutputError
        If it cannot be written, for instance because the disk is full.
    """
    about = datasets.info(name)
    _check_can_be_fetched(about)
    if not accept_licence:
        raise ParameterError(
            f"{name}: read and accept its licence first ({about.licence}), with --accept-licence or accept_licence=True"
        )
    cache = cache or datasets.cache_dir()
    target = cache / about.file
    if not target.exists():
        folder = cache / "originals" / name
        originals = [
            download(original, folder, cache / LEDGER, base_url=base_url, progress=progress)
            for original in about.originals
        ]
        with whole_file(target, make_folders=True) as temporary:
            prepare(name, originals, temporary)
            datasets.read_prepared(about, temporary)
    return target


def download(
    original: Original,
    folder: Path,
    ledger: Path,
    *,
    base_url: str | None = None,
    progress: Progress | None = None,
) -> Path:
    """Download one file into ``folder``, or return it if it is there and unchanged."""
    address = f"{base_url.rstrip('/')}/{original.filename}" if base_url else original.address
    target = folder / original.filename
    expected = original.checksum or _seen_before(ledger, original)
    if target.exists() and expected and _checksum(target, expected) == expected:
        return target
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _disk_error(folder, error) from error
    part = target.with_name(target.name + ".part")
    _download_part(address, part, original, is_checked=expected is not None, progress=progress)
    _check(part, original, expected, ledger)
    part.replace(target)
    _validator_file(part).unlink(missing_ok=True)
    if original.checksum is None:
        _remember(ledger, original, target)
    return target


def _check_can_be_fetched(about: DatasetInfo) -> None:
    if not about.file:
        raise ParameterError(f"{about.name}: is generated, there is nothing to fetch")
    if not about.originals:
        raise SourceError(
            f"{about.name}: deep features cannot be downloaded, they are made with a pretrained network; "
            f"compute yours for the rows of tiny-imagenet, save them as X (n, m) with y and class_names in "
            f"{about.file}, and set RSRAE_DATA to its folder"
        )


def _download_part(
    address: str, part: Path, original: Original, *, is_checked: bool, progress: Progress | None
) -> None:
    for attempt in range(1, ATTEMPTS + 1):
        try:
            _continue_part(address, part, original, is_checked=is_checked, progress=progress)
            return
        except RsraeError:
            raise
        except urllib.error.HTTPError as error:
            raise SourceError(f"{address}: the server answered {error.code} {error.reason}; try later") from error
        except (OSError, http.client.HTTPException, _CutError) as error:
            if attempt == ATTEMPTS:
                have = part.stat().st_size if part.exists() else 0
                raise SourceError(
                    f"{address}: cut off after {have:,} bytes ({error}); run the same command again to continue"
                ) from error


def _continue_part(
    address: str, part: Path, original: Original, *, is_checked: bool, progress: Progress | None
) -> None:
    request = urllib.request.Request(address, headers={"User-Agent": "rsrae"})
    have = _resume_from(part, request, is_checked=is_checked)
    try:
        response = urllib.request.urlopen(request, timeout=TIMEOUT_SECONDS)
    except urllib.error.HTTPError as error:
        if error.code != http.client.REQUESTED_RANGE_NOT_SATISFIABLE:
            raise
        # The part is as long as the file or longer: only a checksum can tell, or a fresh start.
        if is_checked and _total_of(error.headers.get("Content-Range")) == have:
            return
        part.unlink()
        raise _CutError("the part did not fit the server's file; starting over") from error
    with response:
        continues = response.status == http.client.PARTIAL_CONTENT
        if continues and _start_of(response.headers.get("Content-Range")) != have:
            part.unlink()
            raise _CutError("the server sent another range than asked for; starting over")
        done = have if continues else 0
        length = response.headers.get("Content-Length")
        total = done + int(length) if length else original.size
        _note_validator(part, response.headers)
        with _open_part(part, continues) as file:
            while block := response.read(BLOCK_BYTES):
                _write_all(file.fileno(), block, part)
                done += len(block)
                if original.size is not None and done > original.size:
                    part.unlink()
                    raise SourceError(f"{address}: larger than the {original.size:,} bytes it should have")
                if progress:
                    progress(DownloadProgress(original.filename, done, total))
        if total is not None and done < total:
            raise _CutError(f"{done:,} of {total:,} bytes came")


def _resume_from(part: Path, request: urllib.request.Request, *, is_checked: bool) -> int:
    have = part.stat().st_size if part.exists() else 0
    validator = _validator_file(part).read_text() if _validator_file(part).exists() else ""
    if not have or not (validator or is_checked):
        return 0
    request.add_header("Range", f"bytes={have}-")
    if validator:
        # A file that was replaced meanwhile is then sent whole: no mixture of two versions.
        request.add_header("If-Range", validator)
    return have


def _note_validator(part: Path, headers: http.client.HTTPMessage) -> None:
    etag = headers.get("ETag", "")
    validator = etag if etag and not etag.startswith("W/") else headers.get("Last-Modified", "")
    try:
        _validator_file(part).write_text(validator)
    except OSError as error:
        raise _disk_error(part, error) from error


def _validator_file(part: Path) -> Path:
    return part.with_name(part.name + ".version")


def _open_part(part: Path, continues: bool) -> Any:
    try:
        return part.open("ab" if continues else "wb", buffering=0)
    except OSError as error:
        raise _disk_error(part, error) from error


def _write_all(descriptor: int, block: bytes, part: Path) -> None:
    view = memoryview(block)
    try:
        while view:
            view = view[os.write(descriptor, view) :]
    except OSError as error:
        raise _disk_error(part, error) from error


def _disk_error(path: Path, error: OSError) -> OutputError:
    if error.errno in (errno.ENOSPC, errno.EFBIG, errno.EDQUOT):
        return OutputError(
            f"{path}: the disk is full; free some space and run the same command again, what came so far is kept"
        )
    return OutputError(f"{path}: cannot be written ({error.strerror}); set RSRAE_CACHE to another folder")


def _start_of(content_range: str | None) -> int | None:
    match = re.match(r"bytes (\d+)-", content_range or "")
    return int(match[1]) if match else None


def _total_of(content_range: str | None) -> int | None:
    match = re.match(r"bytes .*/(\d+)$", content_range or "")
    return int(match[1]) if match else None


def _check(part: Path, original: Original, expected: str | None, ledger: Path) -> None:
    size = part.stat().st_size
    if original.size is not None and size != original.size:
        part.unlink()
        raise SourceError(f"{original.filename}: {size:,} bytes, {original.size:,} expected; removed, fetch it again")
    if expected is None:
        return
    seen = _checksum(part, expected)
    if seen != expected:
        part.unlink()
        hint = "" if original.checksum else f" (seen at the first fetch and kept in {ledger})"
        raise SourceError(
            f"{original.filename}: checksum is {seen}, {expected} expected{hint}; "
            f"removed, fetch it again or from another place"
        )


def _checksum(path: Path, like: str) -> str:
    algorithm = like.partition(":")[0]
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, lambda: hashlib.new(algorithm, usedforsecurity=False))
    return f"{algorithm}:{digest.hexdigest()}"


def _read_ledger(ledger: Path) -> dict[str, str]:
    if not ledger.exists():
        return {}
    try:
        return {str(address): str(checksum) for address, checksum in json.loads(ledger.read_text()).items()}
    except (ValueError, AttributeError) as error:
        raise SourceError(f"{ledger}: is damaged; delete it to trust the next fetch anew") from error


def _seen_before(ledger: Path, original: Original) -> str | None:
    return _read_ledger(ledger).get(original.address)


def _remember(ledger: Path, original: Original, path: Path) -> None:
    known = _read_ledger(ledger) | {original.address: _checksum(path, "sha256:")}
    write_text(ledger, json.dumps(known, indent=2, sort_keys=True) + "\n", make_folders=True)
