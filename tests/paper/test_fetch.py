import hashlib
import io
import subprocess
import sys
import tarfile
from pathlib import Path

import numpy as np
import pytest

from rsrae.errors import OutputError, ParameterError, SourceError
from rsrae.paper import datasets
from rsrae.paper.datasets import Original
from rsrae.paper.fetch import DownloadProgress, download, fetch

from .serving import Mirror, serving
from .shared import add_member, needs_shared_data, shared_data

CONTENT = np.random.default_rng(0).bytes(900_000)
SHA256 = "sha256:" + hashlib.sha256(CONTENT).hexdigest()
PINNED = Original("https://example.org/data/file.bin", len(CONTENT), SHA256)
UNPINNED = Original("https://example.org/data/file.bin")


def get(original: Original, mirror: Mirror, folder: Path) -> Path:
    return download(original, folder, folder / "checksums.json", base_url=mirror.url)


def reuters_archive(word: str = "profit") -> bytes:
    documents = "".join(
        f'<REUTERS NEWID="{i}"><TOPICS><D>{"abcde"[i % 5]}</D></TOPICS><TEXT><TITLE>{word} {i}</TITLE></TEXT></REUTERS>'
        for i in range(1, 50)
    )
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w:gz") as archive:
        add_member(archive, "reut2-000.sgm", documents.encode())
    return stream.getvalue()


def test_a_file_arrives_whole_and_progress_is_told(tmp_path: Path) -> None:
    told: list[DownloadProgress] = []
    with serving(Mirror({"file.bin": CONTENT})) as mirror:
        path = download(PINNED, tmp_path, tmp_path / "l", base_url=mirror.url, progress=told.append)
    assert path.read_bytes() == CONTENT
    assert told[-1] == DownloadProgress("file.bin", len(CONTENT), len(CONTENT))
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_that_is_there_is_not_asked_for_again(tmp_path: Path) -> None:
    with serving(Mirror({"file.bin": CONTENT})) as mirror:
        get(PINNED, mirror, tmp_path)
        get(PINNED, mirror, tmp_path)
    assert len(mirror.asked) == 1


def test_a_wrong_checksum_is_refused_and_nothing_is_kept(tmp_path: Path) -> None:
    with serving(Mirror({"file.bin": bytes(len(CONTENT))})) as mirror, pytest.raises(SourceError, match="checksum"):
        get(PINNED, mirror, tmp_path)
    assert not (tmp_path / "file.bin").exists()
    assert not (tmp_path / "file.bin.part").exists()


@pytest.mark.parametrize("served", [CONTENT[:-1], CONTENT + b"more"])
def test_a_wrong_size_is_refused(tmp_path: Path, served: bytes) -> None:
    with serving(Mirror({"file.bin": served})) as mirror, pytest.raises(SourceError, match="bytes"):
        get(PINNED, mirror, tmp_path)
    assert not (tmp_path / "file.bin").exists()


def test_a_cut_connection_is_taken_up_where_it_broke(tmp_path: Path) -> None:
    with serving(Mirror({"file.bin": CONTENT}, cut_after=[300_000])) as mirror:
        assert get(PINNED, mirror, tmp_path).read_bytes() == CONTENT
    assert mirror.asked == [("file.bin", None), ("file.bin", "bytes=300000-")]


def test_after_three_cuts_the_part_is_kept_for_the_next_call(tmp_path: Path) -> None:
    with serving(Mirror({"file.bin": CONTENT}, cut_after=[1000, 1000, 1000])) as mirror:
        with pytest.raises(SourceError, match=r"cut off after 3,000 bytes.*again to continue"):
            get(PINNED, mirror, tmp_path)
        assert get(PINNED, mirror, tmp_path).read_bytes() == CONTENT
    assert mirror.asked[-1] == ("file.bin", "bytes=3000-")


def test_a_server_without_ranges_is_asked_from_the_start(tmp_path: Path) -> None:
    with serving(Mirror({"file.bin": CONTENT}, supports_range=False, cut_after=[300_000])) as mirror:
        assert get(PINNED, mirror, tmp_path).read_bytes() == CONTENT


def test_a_file_that_changed_between_two_calls_is_not_mixed(tmp_path: Path) -> None:
    with serving(Mirror({"file.bin": b"a" * 5000}, cut_after=[1000, 0, 0])) as mirror:
        with pytest.raises(SourceError, match="cut off"):
            get(UNPINNED, mirror, tmp_path)
        mirror.files["file.bin"], mirror.etag = b"b" * 5000, '"two"'
        assert get(UNPINNED, mirror, tmp_path).read_bytes() == b"b" * 5000


def test_without_checksum_and_version_a_part_is_never_continued(tmp_path: Path) -> None:
    with serving(Mirror({"file.bin": CONTENT}, etag="", cut_after=[1000])) as mirror:
        assert get(UNPINNED, mirror, tmp_path).read_bytes() == CONTENT
    assert mirror.asked == [("file.bin", None), ("file.bin", None)]


def test_a_complete_part_of_a_killed_download_is_used(tmp_path: Path) -> None:
    (tmp_path / "file.bin.part").write_bytes(CONTENT)
    with serving(Mirror({"file.bin": CONTENT})) as mirror:
        assert get(PINNED, mirror, tmp_path).read_bytes() == CONTENT


def test_a_missing_file_names_the_answer_of_the_server(tmp_path: Path) -> None:
    with serving(Mirror({})) as mirror, pytest.raises(SourceError, match="answered 404"):
        get(PINNED, mirror, tmp_path)


def test_no_server_is_a_clear_error(tmp_path: Path) -> None:
    with serving(Mirror({})) as mirror:
        pass
    with pytest.raises(SourceError, match="cut off after 0 bytes"):
        get(PINNED, mirror, tmp_path)


def test_a_full_disk_is_a_clear_error_and_the_part_is_continued_later(tmp_path: Path) -> None:
    script = (
        "import resource, sys; from pathlib import Path\n"
        "from rsrae.paper.datasets import Original; from rsrae.paper.fetch import download\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (500_000, 500_000))\n"
        f"download(Original({PINNED.address!r}, {PINNED.size}, {PINNED.checksum!r}), Path(sys.argv[1]),"
        " Path(sys.argv[1]) / 'l', base_url=sys.argv[2])\n"
    )
    with serving(Mirror({"file.bin": CONTENT})) as mirror:
        ended = subprocess.run(
            [sys.executable, "-c", script, str(tmp_path), mirror.url], capture_output=True, text=True, check=False
        )
        assert "OutputError" in ended.stderr
        assert "the disk is full" in ended.stderr
        assert (tmp_path / "file.bin.part").stat().st_size == 500_000
        assert get(PINNED, mirror, tmp_path).read_bytes() == CONTENT
    assert mirror.asked[-1] == ("file.bin", "bytes=500000-")


def test_a_cache_that_cannot_be_made_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file in the way")
    with serving(Mirror({"file.bin": CONTENT})) as mirror, pytest.raises(OutputError, match="cannot be written"):
        get(PINNED, mirror, tmp_path / "cache")


def test_the_licence_must_be_accepted(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="Free for research purposes only"):
        fetch("reuters", cache=tmp_path)


def test_generated_data_and_deep_features_say_why_they_cannot_be_fetched(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="is generated"):
        fetch("swiss-roll", accept_licence=True, cache=tmp_path)
    with pytest.raises(SourceError, match="set RSRAE_DATA"):
        fetch("tiny-imagenet-deep", accept_licence=True, cache=tmp_path)


def test_a_fetched_data_set_loads_from_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RSRAE_DATA", raising=False)
    monkeypatch.setenv("RSRAE_CACHE", str(tmp_path))
    with serving(Mirror({"reuters21578.tar.gz": reuters_archive()})) as mirror:
        fetch("reuters", accept_licence=True, base_url=mirror.url)
    assert datasets.load("reuters").class_names == tuple("abcde")


def test_what_was_seen_at_the_first_fetch_is_asked_of_the_second(tmp_path: Path) -> None:
    with serving(Mirror({"reuters21578.tar.gz": reuters_archive()})) as mirror:
        prepared = fetch("reuters", accept_licence=True, base_url=mirror.url, cache=tmp_path)
        prepared.unlink()
        (tmp_path / "originals" / "reuters" / "reuters21578.tar.gz").unlink()
        mirror.files["reuters21578.tar.gz"] = reuters_archive("loss")
        with pytest.raises(SourceError, match=r"seen at the first fetch and kept in .*checksums\.json"):
            fetch("reuters", accept_licence=True, base_url=mirror.url, cache=tmp_path)
    assert not prepared.exists()


class TestTheRealFile:
    pytestmark = needs_shared_data

    def test_an_adbench_table_passes_its_checksum(self, tmp_path: Path) -> None:
        content = (shared_data() / "adbench" / "14_glass.npz").read_bytes()
        with serving(Mirror({"14_glass.npz": content})) as mirror:
            path = fetch("adbench/glass", accept_licence=True, base_url=mirror.url, cache=tmp_path)
        assert path.read_bytes() == content
