"""``rsrae data``: the data sets of the paper."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer

from rsrae.cli import options as opt
from rsrae.cli.console import make_console, one_line, print_json, table

app = typer.Typer(help="The data sets of the paper: list, fetch, info.", no_args_is_help=True)

Name = Annotated[str, typer.Argument(help="A data set; 'rsrae data list' names them.", show_default=False)]


@app.command("list", epilog="Example: rsrae data list")
def list_all(json: opt.Json = False) -> None:
    """List all data sets and whether they are on this machine."""
    from rsrae.paper import datasets

    rows: list[dict[str, Any]] = [
        {
            "name": name,
            "title": datasets.info(name).title,
            "kind": datasets.info(name).kind,
            "classes": datasets.info(name).n_classes,
            "is here": datasets.is_available(name),
        }
        for name in datasets.names()
    ]
    if json:
        print_json(rows)
        return
    drawn = [[r["name"], r["title"], r["kind"], str(r["classes"]), "yes" if r["is here"] else "no"] for r in rows]
    make_console().print(table(["name", "title", "kind", "classes", "is here"], drawn, numbers=["classes"]))


@app.command(epilog="Example: rsrae data info reuters")
def info(name: Name, json: opt.Json = False) -> None:
    """Tell what a data set is, its licence, where it comes from and where it is on this machine."""
    from rsrae.paper import datasets

    about = datasets.info(name)
    path = datasets.locate(name)
    facts: dict[str, Any] = {
        "name": about.name,
        "title": about.title,
        "kind": about.kind,
        "classes": about.n_classes,
        "licence": about.licence,
        "note": about.note,
        "file": str(path) if path else None,
        "is here": datasets.is_available(name),
        "originals": [{"address": one.address, "bytes": one.size, "checksum": one.checksum} for one in about.originals],
    }
    if json:
        print_json(facts)
        return
    console = make_console()
    for key, value in facts.items():
        if key != "originals" and value not in (None, ""):
            console.print(one_line(f"{key}: {value}"), soft_wrap=True)
    for one in about.originals:
        size = "" if one.size is None else f" ({one.size:,} bytes)"
        console.print(one_line(f"original: {one.address}{size}"), soft_wrap=True)


@app.command(epilog="Example: rsrae data fetch fashion-mnist --accept-licence")
def fetch(
    name: Name,
    accept_licence: Annotated[
        bool, typer.Option("--accept-licence", help="You have read its terms ('rsrae data info') and accept them.")
    ] = False,
    mirror: Annotated[
        str | None, typer.Option(help="An address that holds the original files under their own names.")
    ] = None,
    quiet: opt.Quiet = False,
) -> None:
    """Download the public originals of a data set, check and prepare them. A cut download goes on where it stopped."""
    from rich.console import Console
    from rich.progress import DownloadColumn, Progress, TimeRemainingColumn

    from rsrae.paper.fetch import DownloadProgress
    from rsrae.paper.fetch import fetch as fetch_data

    bar = Progress(
        *Progress.get_default_columns()[:2],
        DownloadColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
        disable=quiet or not sys.stderr.isatty(),
    )
    tasks: dict[str, Any] = {}

    def draw(progress: DownloadProgress) -> None:
        if progress.filename not in tasks:
            tasks[progress.filename] = bar.add_task(progress.filename, total=progress.total)
        bar.update(tasks[progress.filename], completed=progress.done, total=progress.total)

    with bar:
        path = fetch_data(name, accept_licence=accept_licence, progress=draw, base_url=mirror)
    if not quiet:
        make_console().print(one_line(f"{name}: ready in {path}"), soft_wrap=True)
