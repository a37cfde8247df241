import gzip
import io
from pathlib import Path

import pytest

from rsrae.data import text
from rsrae.data.text import decode, read_bytes
from rsrae.errors import SourceError

WORDS = "Übergröße, naïve façade\n"


@pytest.mark.parametrize(
    ("encoding", "expected"),
    [
        ("utf-8", "utf-8"),
        ("utf-8-sig", "utf-8-sig"),
        ("utf-16", "utf-16"),
        ("utf-32", "utf-32"),
        ("utf-16-le", "utf-16-le"),
        ("utf-16-be", "utf-16-be"),
        ("latin-1", "cp1252"),
    ],
)
def test_the_encoding_is_found_and_the_text_is_whole(encoding: str, expected: str) -> None:
    assert decode(WORDS.encode(encoding), "a.txt") == (WORDS, expected)


def test_bytes_that_windows_1252_lacks_are_read_as_latin_1() -> None:
    assert decode(b"na\xefve \x81", "a.txt")[1] == "latin-1"


def test_an_empty_text_is_a_text() -> None:
    assert decode(b"", "a.txt") == ("", "utf-8")


def test_gzip_is_taken_off_whatever_the_file_is_called(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(gzip.compress(b"a,b\n"))
    assert read_bytes(tmp_path / "a.csv") == b"a,b\n"


def test_a_well_compressed_file_below_the_limit_is_read(tmp_path: Path) -> None:
    content = bytes(10 * 2**20)
    (tmp_path / "a.gz").write_bytes(gzip.compress(content))
    assert read_bytes(tmp_path / "a.gz") == content


def test_a_file_that_grows_beyond_measure_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text, "MAX_EXPANDED_BYTES", 2**20)
    (tmp_path / "a.gz").write_bytes(gzip.compress(bytes(10 * 2**20)))
    with pytest.raises(SourceError, match="100 times"):
        read_bytes(tmp_path / "a.gz")


def test_standard_input_is_read_to_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"a,b\n1,2\n")))
    assert read_bytes("-") == b"a,b\n1,2\n"
