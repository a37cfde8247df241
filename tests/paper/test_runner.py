import os
import select
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from rsrae.errors import ParameterError, SourceError
from rsrae.paper.cells import Cell
from rsrae.paper.experiments import plan
from rsrae.paper.measure import measure
from rsrae.paper.results import read_rows
from rsrae.paper.runner import RunProgress, run, run_cells

from .work import measure_with_accidents, quick_measure


def cells(n: int) -> list[Cell]:
    return [
        Cell("swiss-roll", "swiss-roll", "ae", "paper", (), None, seed, params=(("epochs", 3),)) for seed in range(n)
    ]


def test_every_cell_is_run_once_and_a_second_run_does_only_what_is_missing(tmp_path: Path) -> None:
    told: list[RunProgress] = []
    path = tmp_path / "r.jsonl"
    summary = run_cells([*cells(6), *cells(2)], path, jobs=2, measure=quick_measure, progress=told.append)
    rows = read_rows(path)
    assert (summary.finished, summary.failed, summary.found) == (6, 0, 0)
    assert sorted(row["id"] for row in rows) == sorted(cell.id for cell in cells(6))
    assert {row["threads"] for row in rows} == {1}
    assert [(one.done, one.total) for one in told] == [(n, 6) for n in range(7)]
    assert (told[0].seconds_left, told[-1].seconds_left) == (None, 0)

    before = path.read_bytes()
    again = run_cells(cells(7), path, measure=quick_measure)
    assert (again.finished, again.found) == (1, 6)
    assert path.read_bytes().startswith(before)


def test_the_same_work_in_another_experiment_is_not_done_again(tmp_path: Path) -> None:
    run_cells(cells(2), tmp_path / "first.jsonl", measure=quick_measure)
    elsewhere = read_rows(tmp_path / "first.jsonl")
    others = [replace(cell, experiment="variants") for cell in cells(3)]
    summary = run_cells(others, tmp_path / "second.jsonl", measure=quick_measure, elsewhere=elsewhere)
    rows = {row["id"]: row for row in read_rows(tmp_path / "second.jsonl")}
    assert (summary.finished, summary.found) == (1, 2)
    assert [rows[cell.id].get("measured_in") for cell in others] == ["swiss-roll", "swiss-roll", None]
    assert {row["experiment"] for row in rows.values()} == {"variants"}
    assert rows[others[0].id]["auc"] == elsewhere[0]["auc"]


def test_a_failed_cell_is_recorded_stops_nothing_and_is_tried_again(tmp_path: Path) -> None:
    summary = run_cells(cells(4), tmp_path / "r.jsonl", measure=measure_with_accidents)
    assert (summary.finished, summary.failed) == (2, 2)
    failed = [row for row in read_rows(tmp_path / "r.jsonl") if row["status"] == "failed"]
    assert [(row["seed"], row["error"]) for row in failed] == [
        (1, "ValueError: seed one is unlucky"),
        (2, "worker ended: signal 9"),
    ]
    again = run_cells(cells(4), tmp_path / "r.jsonl", measure=quick_measure)
    assert (again.finished, again.failed, again.found) == (2, 0, 2)


@pytest.mark.slow
def test_a_kill_in_the_middle_loses_no_cell_and_repeats_none(tmp_path: Path) -> None:
    script = (
        "import multiprocessing, sys; from pathlib import Path\n"
        "from paper.test_runner import cells; from rsrae.paper.runner import run_cells\n"
        "def tell(progress):\n"
        "    print(progress.done, *(child.pid for child in multiprocessing.active_children()), flush=True)\n"
        "run_cells(cells(12), Path(sys.argv[1]), jobs=2, progress=tell)\n"
    )
    path = tmp_path / "r.jsonl"
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
    with subprocess.Popen(
        [sys.executable, "-c", script, str(path)], stdout=subprocess.PIPE, text=True, env=environment
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            done, *workers = map(int, line.split())
            if done == 4:
                process.kill()
                break
    for worker in workers:
        assert ends(worker)
    finished = read_rows(path)
    assert 4 <= len(finished) < 12
    with path.open("ab") as file:
        file.write(b'{"id": "torn by the ki')

    before = path.read_bytes().rpartition(b"\n")[0]
    summary = run_cells(cells(12), path, jobs=2)
    assert (summary.found, summary.finished) == (len(finished), 12 - len(finished))
    assert path.read_bytes().startswith(before + b"\n")
    rows = read_rows(path)
    assert sorted(row["id"] for row in rows) == sorted(cell.id for cell in cells(12))
    assert measure(Cell.from_row(rows[0]))["auc"] == rows[0]["auc"]


def ends(process_id: int) -> bool:
    try:
        descriptor = os.pidfd_open(process_id)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([descriptor], [], [], 60)[0])
    finally:
        os.close(descriptor)


def test_an_interrupt_ends_the_workers_and_keeps_what_is_done(tmp_path: Path) -> None:
    def interrupt(progress: RunProgress) -> None:
        if progress.done == 2:
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        run_cells(cells(8), tmp_path / "r.jsonl", measure=quick_measure, progress=interrupt)
    assert len(read_rows(tmp_path / "r.jsonl")) == 2


def test_data_that_is_not_here_is_said_before_anything_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RSRAE_DATA", str(tmp_path))
    monkeypatch.setenv("RSRAE_CACHE", str(tmp_path))
    with pytest.raises(SourceError, match="not on this machine: caltech-101, reuters"):
        run("main", "smoke", results_dir=tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_choice_of_nothing_and_no_jobs_are_clear_errors(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="no cell"):
        run("swiss-roll", "smoke", methods=["gt"], results_dir=tmp_path)
    with pytest.raises(ParameterError, match="jobs"):
        run("swiss-roll", "smoke", jobs=0, results_dir=tmp_path)


def test_the_swiss_roll_runs_from_end_to_end(tmp_path: Path) -> None:
    summary = run("swiss-roll", "smoke", results_dir=tmp_path)
    assert (summary.finished, summary.failed) == (8, 0)
    planned = {cell.id for cell in plan("swiss-roll", "smoke")}
    assert {row["id"] for row in read_rows(tmp_path / "swiss-roll.jsonl")} == planned
