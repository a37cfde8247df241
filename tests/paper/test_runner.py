import os
import select
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from rsrae.errors import ParameterError, SourceError
from rsrae.paper.cells import Cell
from rsrae.paper.experiments import plan
from rsrae.paper.results import read_rows
from rsrae.paper.runner import RunProgress, run, run_cells

from .work import (
    measure_that_fails_for_seed_one,
    measure_that_kills_its_worker_for_seed_one,
    quick_measure,
)


def cells(n: int) -> list[Cell]:
    return [
        Cell("swiss-roll", "swiss-roll", "ae", "paper", (), None, seed, params=(("epochs", 3),)) for seed in range(n)
    ]


def test_every_cell_is_run_once_and_told(tmp_path: Path) -> None:
    told: list[RunProgress] = []
    summary = run_cells(
        [*cells(6), *cells(2)], tmp_path / "r.jsonl", jobs=2, measure=quick_measure, progress=told.append
    )
    rows = read_rows(tmp_path / "r.jsonl")
    assert (summary.finished, summary.failed, summary.found) == (6, 0, 0)
    assert sorted(row["id"] for row in rows) == sorted(cell.id for cell in cells(6))
    assert {row["threads"] for row in rows} == {1}
    assert [(one.done, one.total) for one in told] == [(n, 6) for n in range(7)]
    assert told[0].seconds_left is None and told[-1].seconds_left == 0


def test_a_second_run_does_only_what_is_missing(tmp_path: Path) -> None:
    run_cells(cells(2), tmp_path / "r.jsonl", measure=quick_measure)
    before = (tmp_path / "r.jsonl").read_bytes()
    summary = run_cells(cells(3), tmp_path / "r.jsonl", measure=quick_measure)
    assert (summary.finished, summary.found) == (1, 2)
    assert (tmp_path / "r.jsonl").read_bytes().startswith(before)


@pytest.mark.parametrize(
    ("measure", "why"),
    [
        (measure_that_fails_for_seed_one, "ValueError: seed one is unlucky"),
        (measure_that_kills_its_worker_for_seed_one, "worker ended: signal 9"),
    ],
)
def test_a_failed_cell_is_recorded_stops_nothing_and_is_tried_again(tmp_path: Path, measure, why: str) -> None:  # type: ignore[no-untyped-def]
    summary = run_cells(cells(4), tmp_path / "r.jsonl", measure=measure)
    assert (summary.finished, summary.failed) == (3, 1)
    failed = [row for row in read_rows(tmp_path / "r.jsonl") if row["status"] == "failed"]
    assert [(row["seed"], row["error"]) for row in failed] == [(1, why)]
    again = run_cells(cells(4), tmp_path / "r.jsonl", measure=quick_measure)
    assert (again.finished, again.failed, again.found) == (1, 0, 3)


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
    assert sorted(row["id"] for row in read_rows(path)) == sorted(cell.id for cell in cells(12))


def ends(process_id: int) -> bool:
    try:
        descriptor = os.pidfd_open(process_id)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([descriptor], [], [], 60)[0])
    finally:
        os.close(descriptor)


def test_results_do_not_depend_on_the_number_of_jobs(tmp_path: Path) -> None:
    for jobs in (1, 2):
        run_cells(cells(3), tmp_path / f"{jobs}.jsonl", jobs=jobs)
    one, two = (
        {row["seed"]: (row["auc"], row["ap"]) for row in read_rows(tmp_path / f"{jobs}.jsonl")} for jobs in (1, 2)
    )
    assert one == two


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
    summary = run("swiss-roll", "smoke", jobs=2, results_dir=tmp_path, methods=["rsrae", "ae"])
    assert (summary.finished, summary.failed) == (2, 0)
    planned = {cell.id for cell in plan("swiss-roll", "smoke")}
    assert {row["id"] for row in read_rows(tmp_path / "swiss-roll.jsonl")} <= planned
