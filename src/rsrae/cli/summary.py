"""A result as a few lines for a person, or as JSON for a program."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rsrae.cli.console import one_line, table

if TYPE_CHECKING:
    from rich.console import Console

    from rsrae.detection import Detection
    from rsrae.explain import Explanation

N_STRANGEST = 10
N_NOTES = 12
N_SKIPPED = 5


def print_summary(
    console: Console,
    detection: Detection,
    files: Mapping[str, Path],
    *,
    verbose: bool = False,
    n_strangest: int = N_STRANGEST,
) -> None:
    """What was read, what was left out, the strangest items with reasons, the line, and where the files are."""
    samples, model = detection.samples, detection.model
    _say(console, f"{samples.source}: {len(samples):,} items, read as {samples.kind}.")
    notes = detection.notes if verbose else detection.notes[:N_NOTES]
    for note in notes:
        _say(console, f"  {note}")
    _say_more(console, len(detection.notes) - len(notes), "notes")
    skipped = samples.skipped if verbose else samples.skipped[:N_SKIPPED]
    for name, reason in skipped:
        _say(console, f"  Skipped: {name} ({reason})")
    _say_more(console, len(samples.skipped) - len(skipped), "skipped")
    if verbose:
        from rsrae.detection.facts import settings, versions

        for name, value in {**settings(detection), **versions()}.items():
            _say(console, f"  {name}: {value}")
    given = detection.detector.contamination
    how = "found from the scores" if given == "auto" else f"drawn for a share of {given:g}"
    _say(
        console,
        f"Method {model.method}, {detection.seconds:.1f} s. {detection.n_flagged:,} of {len(samples):,} items are "
        f"above the line (score {detection.threshold:.4g}, {how}).",
    )
    if detection.metrics:
        measured = ", ".join(f"{name} {value:.4f}" for name, value in detection.metrics.items())
        _say(console, f"Against the known answers: {measured}.")
    if n_strangest:
        _print_strangest(console, detection, n_strangest)
    _print_files(console, files)


def print_explanation(console: Console, explanation: Explanation) -> None:
    """The parts of one item's score."""
    from rsrae.explain import shown

    rows = [
        [
            part.feature,
            shown(part.value),
            "" if part.expected is None else shown(part.expected, 4),
            _percent(part.share),
        ]
        for part in explanation.parts
    ]
    if explanation.rest > 0:
        rows.append(["all others", "", "", _percent(explanation.rest)])
    console.print(table(["what", "value", "expected", "share"], rows, numbers=["share"]))


def as_json(detection: Detection, files: Mapping[str, Path], *, n_strangest: int = N_STRANGEST) -> dict[str, Any]:
    """The same as plain values."""
    samples, model = detection.samples, detection.model
    given = detection.detector.contamination
    top: Any = detection.scores.head(n_strangest).itertuples() if n_strangest else ()
    return {
        "source": samples.source,
        "kind": samples.kind,
        "method": model.method,
        "items": len(samples),
        "anomalies": detection.n_flagged,
        "threshold": detection.threshold,
        "contamination": given,
        "seconds": round(detection.seconds, 3),
        "metrics": detection.metrics,
        "notes": detection.notes,
        "skipped": [{"id": name, "reason": reason} for name, reason in samples.skipped],
        "strangest": [
            {
                "id": str(row.id),
                "score": float(row.score),
                "rank": int(row.rank),
                "verdict": str(row.verdict),
                "probability": float(row.probability),
                "reasons": parts_as_json(detection.explanations[int(row.Index)]),
            }
            for row in top
        ],
        "files": {name: str(path) for name, path in files.items()},
    }


def parts_as_json(explanation: Explanation) -> list[dict[str, Any]]:
    """The parts of an item's score as plain values."""
    return [
        {"feature": part.feature, "value": part.value, "expected": part.expected, "share": part.share}
        for part in explanation.parts
    ]


def _print_strangest(console: Console, detection: Detection, most: int) -> None:
    top = detection.scores.head(most)
    rows = [
        [str(row.rank), str(row.id), f"{row.score:.4g}", f"{row.probability:.2f}", str(row.verdict), str(row.reasons)]
        for row in top.itertuples(index=False)
    ]
    columns = ["rank", "id", "score", "probability", "verdict", "because"]
    console.print(table(columns, rows, numbers=["rank", "score", "probability"]))


def _print_files(console: Console, files: Mapping[str, Path]) -> None:
    folders = {path.parent for path in files.values()}
    if len(files) > 1 and len(folders) == 1:
        _say(console, f"Written to {folders.pop()}: {', '.join(path.name for path in files.values())}.")
    else:
        for path in files.values():
            _say(console, f"Written to {path}.")
    if "report.html" in files:
        _say(console, f"Open {files['report.html']} in a browser.")


def _say(console: Console, text: str) -> None:
    console.print(text[: len(text) - len(text.lstrip())] + one_line(text), soft_wrap=True)


def _say_more(console: Console, n_more: int, what: str) -> None:
    if n_more > 0:
        _say(console, f"  ... and {n_more:,} more {what}; -v prints them all.")


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"
