import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rsrae.errors import OutputError, SourceError
from rsrae.paper.results import appending, finished_rows, read_rows

ROWS = [{"id": str(i), "status": "ok", "auc": i / 10} for i in range(5)]


def write(path: Path, rows: list[dict[str, object]]) -> None:
    with appending(path) as results:
        for row in rows:
            results.append(row)


def test_an_absent_file_has_no_rows(tmp_path: Path) -> None:
    assert read_rows(tmp_path / "none.jsonl") == []


def test_failed_rows_are_not_finished(tmp_path: Path) -> None:
    write(tmp_path / "r.jsonl", [*ROWS[:2], {"id": "9", "status": "failed", "error": "why"}])
    assert [row["id"] for row in finished_rows(tmp_path / "r.jsonl")] == ["0", "1"]
    assert len(read_rows(tmp_path / "r.jsonl")) == 3


@given(cut=st.integers(min_value=0))
def test_a_file_cut_anywhere_loses_at_most_its_last_line(tmp_path_factory: pytest.TempPathFactory, cut: int) -> None:
    path = tmp_path_factory.mktemp("cut") / "r.jsonl"
    write(path, ROWS)
    whole = path.read_bytes()
    kept = whole[: cut % (len(whole) + 1)]
    path.write_bytes(kept)
    n_whole = kept.count(b"\n")
    assert read_rows(path) == ROWS[:n_whole]
    write(path, ROWS[n_whole:])
    assert path.read_bytes() == whole


def test_a_damaged_line_in_the_middle_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "r.jsonl").write_text('{"id": "0", "status": "ok"}\nnonsense\n')
    with pytest.raises(SourceError, match="line 2 is not a result"):
        read_rows(tmp_path / "r.jsonl")


def test_two_runs_cannot_write_at_once(tmp_path: Path) -> None:
    with (
        appending(tmp_path / "r.jsonl"),
        pytest.raises(OutputError, match="another run"),
        appending(tmp_path / "r.jsonl"),
    ):
        pass


def test_a_number_that_is_none_is_not_written(tmp_path: Path) -> None:
    with appending(tmp_path / "r.jsonl") as results, pytest.raises(ValueError, match="JSON"):
        results.append({"id": "0", "status": "ok", "auc": float("nan")})
    assert (tmp_path / "r.jsonl").read_bytes() == b""


def test_a_full_disk_leaves_only_whole_lines(tmp_path: Path) -> None:
    script = (
        "import resource, sys; from pathlib import Path; from rsrae.paper.results import appending\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))\n"
        "with appending(Path(sys.argv[1])) as results:\n"
        "    for i in range(100): results.append({'id': str(i), 'status': 'ok', 'pad': 'x' * 100})\n"
    )
    path = tmp_path / "r.jsonl"
    ended = subprocess.run([sys.executable, "-c", script, str(path)], capture_output=True, text=True, check=False)
    assert "OutputError" in ended.stderr
    assert "cannot be written" in ended.stderr
    content = path.read_bytes()
    assert content.endswith(b"\n")
    assert len(read_rows(path)) == content.count(b"\n") > 3
