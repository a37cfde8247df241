"""Run the cells of an experiment in worker processes, resumable at any point.

Only the parent writes. A worker has one thread, takes a cell, sends back what it found, and ends when
its parent does. A cell that fails, or whose worker dies, is recorded as failed and tried again by the
next run.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
import warnings
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from multiprocessing.connection import Connection, wait
from pathlib import Path
from statistics import fmean
from typing import Any

from rsrae.errors import ParameterError, SourceError
from rsrae.paper import datasets
from rsrae.paper.cells import Cell, is_current
from rsrae.paper.experiments import plan
from rsrae.paper.measure import environment, measure
from rsrae.paper.plans import Profile
from rsrae.paper.results import Row, appending, finished_rows, read_rows

Measure = Callable[[Cell], dict[str, Any]]
THREAD_VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")


@dataclass(frozen=True)
class RunProgress:
    """How far a run is.

    Attributes
    ----------
    done : cells finished, by this run and by earlier ones.
    total : cells of the plan.
    failed : cells of this run that failed.
    seconds_left : an estimate; None before the first cell.
    last : the row just written; None at the start.
    """

    done: int
    total: int
    failed: int
    seconds_left: float | None
    last: Row | None


@dataclass(frozen=True)
class RunSummary:
    """What a run did: cells it finished, cells that failed, cells it found finished, and its seconds."""

    finished: int
    failed: int
    found: int
    seconds: float


def run(
    experiment: str,
    profile: Profile = "quick",
    *,
    jobs: int = 1,
    results_dir: Path = Path("results"),
    progress: Callable[[RunProgress], None] | None = None,
    data: Sequence[str] | None = None,
    methods: Sequence[str] | None = None,
) -> RunSummary:
    """Run the cells of an experiment that are not in ``results_dir/<experiment>.jsonl`` yet.

    A cell that another experiment has measured already (the same work, the same code) is taken from its file, with
    a note in ``measured_in``. Only "runtime" measures everything itself: its times are of one run.

    Parameters
    ----------
    experiment : one of `rsrae.paper.experiments.ids`.
    profile : "smoke", "quick" or "full".
    jobs : worker processes, one thread each.
    results_dir : where the results file is or will be.
    progress : called at the start and after each cell.
    data, methods : only these.

    Raises
    ------
    SourceError
        If a data set is not on this machine.
    OutputError
        If the results file cannot be written, or another run is writing to it.
    """
    cells = [
        cell
        for cell in plan(experiment, profile)
        if (data is None or cell.data in data) and (methods is None or cell.method in methods)
    ]
    if not cells:
        raise ParameterError(f"{experiment}: no cell of profile {profile!r} has the data and methods asked for")
    missing = sorted({cell.data for cell in cells if not datasets.is_available(cell.data)})
    if missing:
        raise SourceError(
            f"{experiment}: not on this machine: {', '.join(missing)}; "
            f"set RSRAE_DATA, use 'rsrae data fetch NAME', or choose other data"
        )
    path = results_dir / f"{experiment}.jsonl"
    elsewhere = [] if experiment == "runtime" else _rows_of_others(results_dir, path)
    return run_cells(cells, path, jobs=jobs, progress=progress, elsewhere=elsewhere)


def run_cells(
    cells: Iterable[Cell],
    path: Path,
    *,
    jobs: int = 1,
    progress: Callable[[RunProgress], None] | None = None,
    measure: Measure = measure,
    elsewhere: Iterable[Row] = (),
) -> RunSummary:
    """Run the cells that ``path`` does not hold yet and append each as it ends.

    Rows of ``elsewhere`` that are the same work in another experiment are taken over instead.
    """
    if jobs < 1:
        raise ParameterError(f"jobs must be at least 1, got {jobs}")
    started = time.perf_counter()
    cells = list(dict.fromkeys(cells))
    with appending(path) as results:
        earlier = [row for row in read_rows(path) if row["status"] == "ok"]
        known = {row["id"] for row in earlier}
        missing = deque(cell for cell in cells if cell.id not in known)
        twins = {_work_of(Cell.from_row(row)): row for row in elsewhere}
        for cell in [cell for cell in missing if _work_of(cell) in twins]:
            twin = twins[_work_of(cell)]
            results.append({"measured_in": twin["experiment"], **twin, **cell.as_row(), "id": cell.id})
            missing.remove(cell)
        found = len(cells) - len(missing)
        clock = _Clock(earlier, jobs)
        finished = failed = 0

        def report(last: Row | None) -> None:
            if progress:
                left = clock.seconds_left(open_cells)
                progress(RunProgress(found + finished, len(cells), failed, left, last))

        open_cells = Counter((cell.data, cell.method) for cell in missing)
        report(None)
        for cell, row in _rows_as_they_come(missing, jobs, measure):
            results.append(row)
            open_cells[cell.data, cell.method] -= 1
            if row["status"] == "ok":
                finished += 1
                clock.note(row)
            else:
                failed += 1
            report(row)
    return RunSummary(finished, failed, found, time.perf_counter() - started)


def _rows_of_others(results_dir: Path, own: Path) -> list[Row]:
    rows = (row for path in sorted(results_dir.glob("*.jsonl")) if path != own for row in finished_rows(path))
    return [row for row in rows if is_current(row) and row["experiment"] != "runtime"]


def _work_of(cell: Cell) -> Cell:
    return replace(cell, experiment="")


def _rows_as_they_come(missing: deque[Cell], jobs: int, measure: Measure) -> Iterable[tuple[Cell, Row]]:
    context = multiprocessing.get_context("spawn")
    workers: list[_Worker] = []
    try:
        while missing and len(workers) < jobs:
            workers.append(_Worker(context, measure, jobs))
            workers[-1].give(missing.popleft())
        while busy := {worker.connection: worker for worker in workers if worker.cell is not None}:
            for connection in wait(list(busy)):
                worker = busy[connection]  # type: ignore[index]
                cell = worker.cell
                assert cell is not None
                row = worker.take()
                if row is None:
                    row = _as_row(cell, {"status": "failed", "error": f"worker ended: {worker.ending()}"}, jobs)
                    workers.remove(worker)
                    if missing:
                        worker = _Worker(context, measure, jobs)
                        workers.append(worker)
                if missing:
                    worker.give(missing.popleft())
                yield cell, row
    finally:
        for worker in workers:
            worker.stop()


class _Worker:
    def __init__(self, context: multiprocessing.context.SpawnContext, measure: Measure, jobs: int):
        self.connection, theirs = context.Pipe()
        self.process = context.Process(target=_work, args=(theirs, measure, jobs), daemon=True)
        self.process.start()
        theirs.close()
        self.cell: Cell | None = None

    def give(self, cell: Cell) -> None:
        self.cell = cell
        try:
            self.connection.send(cell)
        except OSError:
            return  # it has ended; take() will tell

    def take(self) -> Row | None:
        try:
            row: Row = self.connection.recv()
        except (EOFError, OSError):
            return None
        self.cell = None
        return row

    def ending(self) -> str:
        self.process.join()
        code = self.process.exitcode
        return f"signal {-code}" if code is not None and code < 0 else f"exit code {code}"

    def stop(self) -> None:
        self.connection.close()
        if self.cell is not None:
            self.process.terminate()
        self.process.join()


def _work(connection: Connection[Any, Any], measure: Measure, jobs: int) -> None:
    # Ctrl-C reaches the whole group; the parent decides, a worker only follows.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _use_one_thread()
    try:
        while True:
            cell: Cell = connection.recv()
            connection.send(_as_row(cell, _attempt(cell, measure) | environment(), jobs))
    except (EOFError, OSError):
        return  # the parent has ended or closed the pipe


def _use_one_thread() -> None:
    os.environ.update(dict.fromkeys(THREAD_VARIABLES, "1"))
    import torch
    from threadpoolctl import threadpool_limits

    threadpool_limits(limits=1)
    torch.set_num_threads(1)
    torch.set_num_interop_threads(1)


def _attempt(cell: Cell, measure: Measure) -> dict[str, Any]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            found = {"status": "ok", **measure(cell)}
        except Exception as error:
            found = {"status": "failed", "error": f"{type(error).__name__}: {error}"}
    messages = sorted({f"{type(one.message).__name__}: {one.message}".splitlines()[0] for one in caught})
    return found | ({"warnings": messages[:5]} if messages else {})


def _as_row(cell: Cell, found: dict[str, Any], jobs: int) -> Row:
    return {
        "id": cell.id,
        "code_version": cell.code_version,
        **cell.as_row(),
        **found,
        "jobs": jobs,
        "finished_at": datetime.now(UTC).isoformat(timespec="seconds"),
    }


class _Clock:
    """Estimates the time left from the cells seen: a cell takes as long as others of its data and method."""

    def __init__(self, rows: Iterable[Row], jobs: int):
        self._jobs = jobs
        self._seconds: dict[tuple[str, str], list[float]] = defaultdict(list)
        for row in rows:
            self.note(row)

    def note(self, row: Row) -> None:
        seconds = row.get("seconds_fit", 0.0) + row.get("seconds_score", 0.0)
        self._seconds[row["data"], row["method"]].append(seconds)

    def seconds_left(self, open_cells: Mapping[tuple[str, str], int]) -> float | None:
        if not self._seconds:
            return None
        overall = fmean(seconds for group in self._seconds.values() for seconds in group)
        expected = (n * fmean(self._seconds.get(group, [overall])) for group, n in open_cells.items())
        return sum(expected) / self._jobs
