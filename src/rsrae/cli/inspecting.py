"""The verbs that look at what is there: explain, report, info, methods."""

from __future__ import annotations

import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rsrae.cli import options as opt
from rsrae.cli.console import make_console, one_line, print_json, table
from rsrae.errors import InputError, ModelFileError, ParameterError, SourceError

if TYPE_CHECKING:
    from rsrae.detection import Detection, Model


def add_to(app: typer.Typer) -> None:
    """Add the verbs."""
    app.command(epilog="Example: rsrae explain wine.csv -m wine.rsrae --item 7")(explain)
    app.command(epilog="Example: rsrae report wine-anomalies")(report)
    app.command(epilog="Example: rsrae info wine.rsrae")(info)
    app.command(epilog="Example: rsrae methods")(methods)


def explain(
    model: opt.ModelFile,
    item: Annotated[str, typer.Option("--item", help="The id of the item, as in scores.csv.", show_default=False)],
    source: opt.Source = None,
    id: opt.Id = None,
    names: opt.Names = None,
    limit: opt.Limit = None,
    most: Annotated[int, typer.Option(help="List at most that many parts.", min=1)] = 10,
    out: Annotated[Path | None, typer.Option(help="For a picture: write its heat map to this .png file.")] = None,
    force: opt.Force = False,
    json: opt.Json = False,
) -> None:
    """Say why one item of SOURCE has its score: what was found, what was expected, and the share of each.

    For a picture, the shares are of its regions; --out writes the heat map.
    """
    from rsrae.cli.detecting import check_file
    from rsrae.cli.summary import parts_as_json, print_explanation
    from rsrae.detection import load_model, score_with

    if source is None:
        raise ParameterError("which data is the item in? Name the file or folder before -m")
    if out is not None:
        if out.suffix.lower() != ".png":
            raise ParameterError(f"--out must end in .png, not {out.name!r}")
        check_file(out, force=force)
    detection = score_with(load_model(model), source, id=id, names=names, limit=limit)
    position = detection.position(item)
    explanation = detection.explain(item, most=most)
    if out is not None:
        _write_heat_map(out, detection, position)
    score = explanation.score
    verdict = "anomaly" if score > detection.threshold else "normal"
    probability = float(detection.model.calibration(detection.anomaly_scores[[position]])[0])
    rank = int((detection.anomaly_scores > score).sum()) + 1
    if json:
        document = {
            "id": explanation.name,
            "score": score,
            "threshold": detection.threshold,
            "rank": rank,
            "verdict": verdict,
            "probability": probability,
            "parts": parts_as_json(explanation),
            "rest": explanation.rest,
            "files": {} if out is None else {"heat map": str(out)},
        }
        print_json(document)
        return
    console = make_console()
    side = "above" if verdict == "anomaly" else "not above"
    console.print(
        one_line(
            f"{explanation.name}: score {score:.4g}, {side} the line at {detection.threshold:.4g} "
            f"(probability {probability:.2f}, rank {rank:,} of {len(detection.samples):,})."
        ),
        soft_wrap=True,
    )
    print_explanation(console, explanation)
    if out is not None:
        console.print(f"Written to {out}.", soft_wrap=True)


def report(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A folder that 'rsrae detect' wrote.")],
    source: Annotated[str | None, typer.Option(help="Where the data is now, if it has moved.")] = None,
    open_it: Annotated[bool, typer.Option("--open", help="Open the report in a browser.")] = False,
    quiet: opt.Quiet = False,
) -> None:
    """Make the report of an earlier 'rsrae detect' again, from its model and its data."""
    from rsrae.detection import load_model, score_with

    path = folder / "model.rsrae"
    if not path.is_file():
        raise ModelFileError(f"{folder}: no model.rsrae inside; name a folder that 'rsrae detect' wrote")
    model = load_model(path)
    detection = score_with(model, _samples_again(model, source, folder), **_reading_again(model))
    detection.notes = list(model.notes)
    target = folder / "report.html"
    detection.report(target)
    if not quiet:
        make_console().print(f"Written to {target}.", soft_wrap=True)
    if open_it:
        webbrowser.open(target.absolute().as_uri())


def info(
    model: Annotated[
        Path, typer.Argument(metavar="MODEL", help="A model file, or a folder that 'rsrae detect' wrote.")
    ],
    json: opt.Json = False,
) -> None:
    """Tell what a model file holds: method, settings, columns, and the data it was fitted on."""
    from rsrae import modelfile

    path = model / "model.rsrae" if model.is_dir() else model
    header = modelfile.read_header(path)
    extra: dict[str, Any] = header.get("extra") or {}
    encoder = extra.get("encoder") or {}
    facts: dict[str, Any] = {
        "file": str(path),
        "format": header.get("format"),
        "written by": f"rsrae {header.get('version')}",
        "method": extra.get("method"),
        "detector": header.get("detector"),
        "fitted on": extra.get("source"),
        "items": extra.get("n_items"),
        "created": extra.get("created"),
        "kind": encoder.get("kind"),
        "line": -float(header["offset"]) if isinstance(header.get("offset"), int | float) else None,
        "features": header.get("n_features_in"),
        "rows of the data inside": header.get("n_rows_held"),
        "columns": [f"{c.get('name')} ({c.get('type')})" for c in encoder.get("columns", [])],
        "left out": encoder.get("left_out", {}),
        "parameters": header.get("parameters", {}),
        "notes": extra.get("notes", []),
    }
    if json:
        print_json(facts)
        return
    console = make_console()
    for name, value in facts.items():
        if value is None or value in ({}, []):
            continue
        if isinstance(value, dict):
            lines = [f"{key}: {one}" for key, one in value.items()]
        else:
            lines = value if isinstance(value, list) else [str(value)]
        if isinstance(value, dict | list):
            console.print(f"{name}:")
            for line in lines:
                console.print("  " + one_line(str(line)), soft_wrap=True)
        else:
            console.print(one_line(f"{name}: {lines[0]}"), soft_wrap=True)


def methods(json: opt.Json = False) -> None:
    """List the methods: what they take, what they need, and where they come from."""
    from rsrae.detectors import METHODS, detector_class

    kinds = {"table": "tables", "sparse": "documents", "images": "images"}
    rows: list[dict[str, Any]] = []
    for name, method in METHODS.items():
        cls = detector_class(name)
        takes = [word for kind, word in kinds.items() if kind in cls.accepts]
        needs = "training" if "epochs" in cls._get_param_names() else "no training"
        rows.append(
            {"name": name, "what": method.summary, "takes": takes, "needs": needs, "reference": method.reference}
        )
    if json:
        print_json(rows)
        return
    drawn = [[row["name"], row["what"], ", ".join(row["takes"]), row["needs"], row["reference"]] for row in rows]
    make_console().print(table(["name", "what", "takes", "needs", "reference"], drawn))


def _write_heat_map(target: Path, detection: Detection, position: int) -> None:
    from io import BytesIO

    import numpy as np
    from PIL import Image

    from rsrae.explain import explain as explain_items
    from rsrae.report import heatmap
    from rsrae.wholefile import whole_file

    heat = explain_items(detection.detector, detection.samples, [position])[0].heat
    if heat is None:
        raise InputError(f"--out writes a heat map, and {detection.samples.source} holds no pictures; leave it out")
    picture = np.asarray(detection.samples.X[position])
    scale = max(1, 512 // max(heat.shape))  # large enough to be looked at
    picture = picture.repeat(scale, axis=0).repeat(scale, axis=1)
    heat = heat.repeat(scale, axis=0).repeat(scale, axis=1)
    with whole_file(target) as temporary, Image.open(BytesIO(heatmap(picture, heat, side=512))) as drawn:
        drawn.save(temporary, "PNG")


def _samples_again(model: Model, source: str | None, folder: Path) -> Any:
    from rsrae.data.examples import load_example

    if source is not None:
        return source
    if model.example is not None:
        return load_example(model.example)
    if model.source == "-" or not Path(model.source).exists():
        raise SourceError(f"{folder}: its data, {model.source}, is not there any more; say where it is with --source")
    return model.source


def _reading_again(model: Model) -> dict[str, Any]:
    return {} if model.example is not None else dict(model.reading)
