"""``rsrae paper``: every figure and table of the paper, made again."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from rsrae.cli import options as opt
from rsrae.cli.console import make_console, one_line, print_json, side_by_side, table

app = typer.Typer(help="The paper's figures and tables, made again: list, run, show, plot, docs.", no_args_is_help=True)

Id = Annotated[str, typer.Argument(help="An experiment; 'rsrae paper list' names them.", show_default=False)]
Profile = Annotated[str, typer.Option(help="smoke (minutes), quick (about two hours) or full (the paper's).")]
Results = Annotated[Path, typer.Option(help="The folder of the result files.")]


@app.command("list", epilog="Example: rsrae paper list")
def list_all(json: opt.Json = False) -> None:
    """List the experiments."""
    from rsrae.paper import experiments

    rows: list[dict[str, Any]] = [
        {
            "id": name,
            "title": experiments.experiment(name).title,
            "reference": experiments.experiment(name).reference,
            "cells": {profile: len(experiments.plan(name, profile)) for profile in ("smoke", "quick", "full")},
        }
        for name in experiments.ids()
    ]
    if json:
        print_json(rows)
        return
    drawn = [[r["id"], r["title"], r["reference"], *(f"{n:,}" for n in r["cells"].values())] for r in rows]
    columns = ["id", "what", "in the paper", "smoke", "quick", "full"]
    make_console().print(table(columns, drawn, numbers=columns[3:]))


@app.command(epilog="Example: rsrae paper run swiss-roll --profile smoke --results results")
def run(
    id: Id,
    profile: Profile = "quick",
    jobs: Annotated[int, typer.Option(help="Worker processes, one thread each.", min=1)] = 1,
    resume: Annotated[
        bool, typer.Option("--resume/--no-resume", help="Do the missing cells only; --no-resume refuses old results.")
    ] = True,
    data: Annotated[list[str] | None, typer.Option(help="Only this data set; may be repeated.")] = None,
    method: Annotated[list[str] | None, typer.Option(help="Only this method; may be repeated.")] = None,
    results: Results = Path("results"),
    quiet: opt.Quiet = False,
    json: opt.Json = False,
) -> None:
    """Run an experiment. It can be killed at any point; the next run does what is missing."""
    from rsrae.errors import OutputError
    from rsrae.paper import experiments
    from rsrae.paper.runner import run as run_experiment

    file = results / f"{experiments.experiment(id).id}.jsonl"
    if not resume and file.exists():
        raise OutputError(f"{file}: holds results already; leave --no-resume out to go on, or name another --results")
    console = make_console()
    if not (quiet or json):
        console.print(one_line(experiments.describe(id, _profile(profile))), soft_wrap=True)
    with _progress(is_shown=not (quiet or json)) as draw:
        done = run_experiment(
            id, _profile(profile), jobs=jobs, results_dir=results, progress=draw, data=data, methods=method
        )
    facts = {
        "finished": done.finished,
        "failed": done.failed,
        "found": done.found,
        "seconds": round(done.seconds, 1),
        "file": str(file),
    }
    if json:
        print_json(facts)
    elif not quiet:
        console.print(
            f"{done.finished:,} cells finished, {done.failed:,} failed, {done.found:,} were there already; "
            f"{done.seconds:.0f} s. Written to {file}.",
            soft_wrap=True,
        )
    if done.failed:
        raise typer.Exit(1)


@app.command(epilog="Example: rsrae paper show swiss-roll --profile smoke --results results")
def show(id: Id, profile: Profile = "full", results: Results = Path("results"), json: opt.Json = False) -> None:
    """Print the tables of an experiment."""
    from rsrae.errors import SourceError
    from rsrae.paper.tables import planned_rows, tables

    rows, total = planned_rows(id, _profile(profile), results)
    found = tables(id, rows)
    if not found:
        raise SourceError(f"{id}: no results of profile {profile!r} in {results}; run 'rsrae paper run {id}' first")
    if json:
        print_json([{"title": one.title, "columns": one.columns, "rows": one.rows, "note": one.note} for one in found])
        return
    console = make_console()
    console.print(f"{len(rows):,} of {total:,} cells of profile {profile!r} are finished.", soft_wrap=True)
    for one in found:
        console.print(one_line(one.title), soft_wrap=True)
        for group in side_by_side(one.columns, one.rows, console.width):
            columns = [one.columns[i] for i in group]
            console.print(table(columns, [[row[i] for i in group] for row in one.rows], numbers=columns[1:]))
        if one.note:
            console.print(one_line(one.note), soft_wrap=True)


@app.command(epilog="Example: rsrae paper plot swiss-roll --profile smoke --results results --out figures")
def plot(
    id: Id,
    profile: Profile = "full",
    results: Results = Path("results"),
    out: Annotated[Path, typer.Option(help="The folder for the PNG and SVG files.")] = Path("figures"),
) -> None:
    """Draw the figure of an experiment as the paper has it, PNG and SVG."""
    from rsrae.paper.figures import plot as draw
    from rsrae.paper.tables import planned_rows

    rows, _ = planned_rows(id, _profile(profile), results)
    for path in draw(id, rows, out):
        make_console().print(f"Written to {path}.", soft_wrap=True)


@app.command(epilog="Example: rsrae paper docs --results results --out docs")
def docs(
    results: Results = Path("results"),
    out: Annotated[Path, typer.Option(help="The folder of the page.")] = Path("docs"),
) -> None:
    """Write reproduction.md with all figures, tables and claims, from the result files."""
    from rsrae.paper.reproduction import write_reproduction

    make_console().print(f"Written to {write_reproduction(results, out)}.", soft_wrap=True)


def _profile(text: str) -> Any:
    return text  # checked by the library, which knows the profiles


class _progress:  # noqa: N801 - reads as a verb at its only call
    """A bar over the cells of a run, on standard error, if that is a terminal."""

    def __init__(self, *, is_shown: bool) -> None:
        self._is_shown = is_shown and sys.stderr.isatty()

    def __enter__(self) -> Any:
        if not self._is_shown:
            return None
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

        self._bar = Progress(
            TextColumn("cells"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[left]}"),
            console=Console(stderr=True),
            transient=True,
        )
        self._bar.start()
        self._task = self._bar.add_task("cells", total=None, left="")
        return self._draw

    def __exit__(self, *error: object) -> None:
        if self._is_shown:
            self._bar.stop()

    def _draw(self, progress: Any) -> None:
        left = "" if progress.seconds_left is None else f"about {progress.seconds_left / 60:.0f} min left"
        failed = f", {progress.failed} failed" if progress.failed else ""
        self._bar.update(self._task, completed=progress.done, total=progress.total, left=left + failed)
