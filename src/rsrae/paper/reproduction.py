"""Make docs/reproduction.md from the result files: claims with verdicts, tables and figures."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rsrae.paper import experiments
from rsrae.paper.claims import Verdict, verdicts
from rsrae.paper.evidence import Results
from rsrae.paper.figures import plot
from rsrae.paper.results import Row
from rsrae.paper.tables import planned_rows, tables
from rsrae.wholefile import write_text


def write_reproduction(results_dir: Path = Path("results"), docs_dir: Path = Path("docs")) -> Path:
    """Write ``docs_dir/reproduction.md`` and its figures from the result files; return the page."""
    results = Results(results_dir)
    sections = [
        "# The paper, reproduced",
        "This page is made from the files in `results/` by `rsrae.paper.reproduction.write_reproduction`; "
        "do not edit it by hand. Lai, Zou and Lerman, *Robust Subspace Recovery Layer for Unsupervised "
        "Anomaly Detection*, ICLR 2020, published their figures as pictures without numbers; here are the "
        "numbers, on samples of the same public data sets drawn anew (`rsrae data info NAME`), by the "
        "protocol described in `rsrae.paper.protocol`.",
        "## Claim by claim",
        _claims_table(verdicts(results)),
        "The numbers attributed to the paper are those of the Papers with Code leaderboards; on Fashion-MNIST the "
        "authors' own code does not reach them either "
        "([decision 6](decisions/0006-collapse.md#images-it-does-not-settle)). "
        'Two methods are compared on the cells both have finished. "c" is the number of outliers per inlier. On images '
        "the authors' recipe does not settle, so a single figure of it says little.",
        *(_section(name, results, results_dir, docs_dir) for name in experiments.ids()),
    ]
    page = docs_dir / "reproduction.md"
    write_text(page, "\n\n".join(sections) + "\n", make_folders=True)
    return page


def _claims_table(found: Sequence[Verdict]) -> str:
    lines = ["| claim | where | verdict | what was found (AUC unless said) |", "|---|---|---|---|"]
    lines += [
        f"| {one.claim} | {one.source} | **{one.outcome}** | {one.evidence or 'no results yet'} |" for one in found
    ]
    return "\n".join(lines)


def _section(name: str, results: Results, results_dir: Path, docs_dir: Path) -> str:
    about = experiments.experiment(name)
    rows = results.rows[name]
    parts = [f"## {about.title}", f"`rsrae paper run {name}` ({about.reference})."]
    if not rows:
        return "\n\n".join([*parts, "Not run."])
    n_quick, quick_total = (
        len(planned_rows(name, "quick", results_dir)[0]),
        len(experiments.plan(name, "quick")),
    )
    n_full = len(experiments.plan(name, "full"))
    parts.append(
        f"{len(rows):,} of the {n_full:,} cells of the full profile are finished, "
        f"{n_quick:,} of the {quick_total:,} of the quick one. "
        f"{experiments.describe(name, 'quick')} {_machines(rows)}"
    )
    figure = plot(name, rows, docs_dir / "reproduction")[0]
    parts.append(f"![{about.title}](reproduction/{figure.name})")
    for table in tables(name, rows):
        parts.append(f"### {table.title}")
        parts.append(table.to_markdown())
        if table.note:
            parts.append(table.note)
    return "\n\n".join(parts)


def _machines(rows: Sequence[Row]) -> str:
    kinds = sorted({(row["machine"]["cpu"], row["versions"]["torch"], row["threads"]) for row in rows})
    return (
        "Computed on "
        + "; ".join(
            f"{cpu}, torch {torch}, {threads} thread{'s' if threads > 1 else ''} a cell"
            for cpu, torch, threads in kinds
        )
        + "."
    )
