"""Bytes to text: gzip taken off, with a limit on how far it may grow; encoding detected."""

from __future__ import annotations

import codecs
import gzip
import io
import sys
import zipfile
import zlib
from pathlib import Path

from rsrae.errors import SourceError

STANDARD_INPUT = "-"

# A compressed file may grow to the larger of these two; real tables stay far below.
MAX_EXPANDED_BYTES = 256 * 2**20
MAX_EXPANSION = 100

_GZIP_MAGIC = b"\x1f\x8b"
_MAGIC = {
    b"\x89PNG": "a PNG image",
    b"\xff\xd8\xff": "a JPEG image",
    b"GIF8": "a GIF image",
    b"%PDF": "a PDF document",
    b"PAR1": "a Parquet file",
    b"ARROW1": "an Arrow file",
    b"\x93NUMPY": "a numpy array",
    b"PK\x03\x04": "a zip archive or Excel workbook",
    b"SQLite format 3": "an SQLite database",
    b"\x7fELF": "a program",
    b"BZh": "a bzip2 archive",
    b"\xfd7zXZ": "an xz archive",
    b"(\xb5/\xfd": "a Zstandard archive",
}
_BYTE_ORDER_MARKS = (  # the longer first: UTF-32's begins with UTF-16's
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


def read_bytes(path: Path | str) -> bytes:
    """The content of a file, or of standard input for ``"-"``, gzip taken off."""
    try:
        data = sys.stdin.buffer.read() if path == STANDARD_INPUT else Path(path).read_bytes()
    except OSError as error:
        raise SourceError(f"{shown(path)}: cannot be read ({error.strerror or error})") from error
    return _gunzip(data, shown(path)) if data.startswith(_GZIP_MAGIC) else data


def decode(data: bytes, name: str) -> tuple[str, str]:
    """Text and the encoding it was in.

    A byte order mark decides; else UTF-8; else UTF-16 if every other byte is zero; else Windows-1252
    (Latin-1 with curly quotes). Bytes that are no text at all are an error.

    >>> decode("caf\\u00e9".encode("latin-1"), "menu.txt")
    ('café', 'cp1252')
    """
    encoding = detect_encoding(data, name)
    try:
        return data.decode(encoding), encoding
    except UnicodeDecodeError as error:
        raise SourceError(
            f"{name}: damaged {encoding} text at byte {error.start + 1}; save the file again as UTF-8"
        ) from error


def detect_encoding(data: bytes, name: str) -> str:
    """The encoding of a text; an error if the bytes are something else."""
    for mark, encoding in _BYTE_ORDER_MARKS:
        if data.startswith(mark):
            return encoding
    for magic, what in _MAGIC.items():
        if data.startswith(magic):
            raise SourceError(f"{name}: this is {what}, not text; give the file its right ending")
    if b"\0" in data:
        guess = _utf16_without_mark(data)
        if guess is None:
            row = data.count(b"\n", 0, data.index(b"\0")) + 1
            raise SourceError(f"{name}: zero byte in line {row}, so this is not text; export the file again")
        return guess
    try:
        data.decode("utf-8")
        return "utf-8"
    except UnicodeDecodeError:
        pass
    if _is_mostly_control(data):
        raise SourceError(f"{name}: binary data, not text; is the ending right?")
    try:
        data.decode("cp1252")
        return "cp1252"
    except UnicodeDecodeError:
        return "latin-1"


def check_archive(path: Path) -> None:
    """Refuse a zip-based file (.npz, .xlsx) that is damaged or would grow without measure."""
    try:
        with zipfile.ZipFile(path) as archive:
            expanded = sum(entry.file_size for entry in archive.infolist())
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
        raise SourceError(f"{path}: damaged or truncated ({error}); write the file again") from error
    _check_expansion(expanded, path.stat().st_size, str(path))


def shown(path: Path | str) -> str:
    """How messages call a source."""
    return "standard input" if path == STANDARD_INPUT else str(path)


def _gunzip(data: bytes, name: str) -> bytes:
    pieces = io.BytesIO()
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as stream:
            while piece := stream.read(2**20):
                pieces.write(piece)
                _check_expansion(pieces.tell(), len(data), name)
    except (EOFError, OSError, zlib.error) as error:
        raise SourceError(f"{name}: truncated or damaged gzip ({error}); fetch or write it again") from error
    return pieces.getvalue()


def _check_expansion(expanded: int, compressed: int, name: str) -> None:
    if expanded > max(MAX_EXPANDED_BYTES, MAX_EXPANSION * compressed):
        raise SourceError(
            f"{name}: grows to more than {MAX_EXPANSION} times its size and {MAX_EXPANDED_BYTES // 2**20} MB "
            "when unpacked; unpack it yourself if you trust it"
        )


def _utf16_without_mark(data: bytes) -> str | None:
    # Mostly Latin text in UTF-16 has its zeros all on one side of each pair.
    even, odd = data[0::2].count(0), data[1::2].count(0)
    if len(data) % 2 or max(even, odd) < 0.3 * len(data) / 2 or min(even, odd) > 0:
        return None
    return "utf-16-be" if even > odd else "utf-16-le"


def _is_mostly_control(data: bytes) -> bool:
    head = data[:4096]
    control = sum(byte < 32 and byte not in b"\t\n\r\f" for byte in head)
    return control > 0.05 * len(head)
