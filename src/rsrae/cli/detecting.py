"""The verbs that judge items: detect, fit, score."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rsrae.cli import options as opt
from rsrae.cli.console import Training, make_console, print_json, thread_limit
from rsrae.cli.summary import as_json, print_summary
from rsrae.errors import OutputError, ParameterError

if TYPE_CHECKING:
    from rsrae.data.samples import Samples
    from rsrae.detection import Detection

_CALLED = {"dim": "intrinsic_dim", "seed": "random_state", "threads": "n_threads"}  # in Python
_OF_PYTHON = ("on_epoch", "encoder", "decoder", "warm_start")  # what a command cannot give, or has no use for


def add_to(app: typer.Typer) -> None:
    """Add the verbs."""
    app.command(epilog="Example: rsrae detect --example wine --epochs 20 --out wine-anomalies")(detect)
    app.command(epilog="Example: rsrae fit --example wine --epochs 20 -m wine.rsrae")(fit)
    app.command(epilog="Example: rsrae score wine.csv -m wine.rsrae --out wine-scores.csv")(score)


def detect(
    source: opt.Source = None,
    example: opt.Example = None,
    kind: opt.Kind = None,
    text: opt.Text = None,
    id: opt.Id = None,
    drop: opt.Drop = None,
    label: opt.Label = None,
    size: opt.Size = None,
    names: opt.Names = None,
    strip_headers: opt.StripHeaders = False,
    stop_words: opt.StopWords = None,
    limit: opt.Limit = None,
    method: opt.MethodName = "rsrae",
    recipe: opt.Recipe = None,
    contamination: opt.Contamination = "auto",
    epochs: opt.Epochs = None,
    dim: opt.Dim = None,
    seed: opt.Seed = None,
    device: opt.Device = None,
    threads: opt.Threads = None,
    settings: opt.Settings = None,
    out: opt.OutFolder = None,
    force: opt.Force = False,
    quiet: opt.Quiet = False,
    json: opt.Json = False,
    verbose: opt.Verbose = False,
) -> None:
    """Find the strange items of SOURCE: rank them, draw the line, say why, and write a report.

    Writes scores.csv, scores.parquet, model.rsrae and report.html into one folder.
    """
    from rsrae.detection import check_folder

    folder = out or Path(f"{_stem(source, example)}-anomalies")
    check_folder(folder, force=force)
    reading = {
        "kind": kind,
        "text": text,
        "id": id,
        "drop": drop or (),
        "label": label,
        "size": opt.parse_size(size),
        "names": names,
        "strip_headers": strip_headers,
        "stop_words": stop_words,
        "limit": limit,
    }
    chosen = {"recipe": recipe, "epochs": epochs, "dim": dim, "seed": seed, "device": device, "threads": threads}
    others = opt.parse_settings(settings or ())
    share = opt.parse_contamination(contamination)
    detection = _fit(source, example, reading, method, share, chosen, others, is_shown=not (quiet or json))
    with thread_limit(threads):
        files = detection.write(folder, force=force)
    if json:
        print_json(as_json(detection, files))
    elif not quiet:
        print_summary(make_console(), detection, files, verbose=verbose)


def fit(
    model: opt.ModelFile,
    source: opt.Source = None,
    example: opt.Example = None,
    kind: opt.Kind = None,
    text: opt.Text = None,
    id: opt.Id = None,
    drop: opt.Drop = None,
    label: opt.Label = None,
    size: opt.Size = None,
    names: opt.Names = None,
    strip_headers: opt.StripHeaders = False,
    stop_words: opt.StopWords = None,
    limit: opt.Limit = None,
    method: opt.MethodName = "rsrae",
    recipe: opt.Recipe = None,
    contamination: opt.Contamination = "auto",
    epochs: opt.Epochs = None,
    dim: opt.Dim = None,
    seed: opt.Seed = None,
    device: opt.Device = None,
    threads: opt.Threads = None,
    settings: opt.Settings = None,
    force: opt.Force = False,
    quiet: opt.Quiet = False,
    json: opt.Json = False,
    verbose: opt.Verbose = False,
) -> None:
    """Learn from SOURCE what is normal and write it to one model file, for 'rsrae score'."""
    check_file(model, force=force)
    reading = {
        "kind": kind,
        "text": text,
        "id": id,
        "drop": drop or (),
        "label": label,
        "size": opt.parse_size(size),
        "names": names,
        "strip_headers": strip_headers,
        "stop_words": stop_words,
        "limit": limit,
    }
    chosen = {"recipe": recipe, "epochs": epochs, "dim": dim, "seed": seed, "device": device, "threads": threads}
    others = opt.parse_settings(settings or ())
    share = opt.parse_contamination(contamination)
    detection = _fit(source, example, reading, method, share, chosen, others, is_shown=not (quiet or json))
    detection.save(model)
    files = {"model": model}
    if json:
        print_json(as_json(detection, files, n_strangest=0))
    elif not quiet:
        print_summary(make_console(), detection, files, verbose=verbose, n_strangest=0)


def score(
    model: opt.ModelFile,
    source: opt.Source = None,
    id: opt.Id = None,
    label: opt.Label = None,
    names: opt.Names = None,
    limit: opt.Limit = None,
    threads: opt.Threads = None,
    out: Annotated[
        Path | None,
        typer.Option(help="The file to write, .csv or .parquet; default: SOURCE's name with -scores.csv."),
    ] = None,
    force: opt.Force = False,
    quiet: opt.Quiet = False,
    json: opt.Json = False,
    verbose: opt.Verbose = False,
) -> None:
    """Judge new data with an old model. Columns are found by name and must be those of the model."""
    from rsrae.detection import load_model, score_with

    target = out or Path(f"{_stem(source, None)}-scores.csv")
    if target.suffix.lower() not in (".csv", ".parquet", ".pq"):
        raise ParameterError(f"--out must end in .csv or .parquet, not {target.name!r}")
    check_file(target, force=force)
    with thread_limit(threads):
        detection = score_with(load_model(model), source, id=id, label=label, names=names, limit=limit)
        detection.write_scores(target)
    files = {"scores": target}
    if json:
        print_json(as_json(detection, files))
    elif not quiet:
        print_summary(make_console(), detection, files, verbose=verbose)


def check_file(path: Path, *, force: bool) -> None:
    """Raise now, before minutes of work, if a file cannot be written later."""
    if path.is_dir():
        raise OutputError(f"{path}: is a folder; name a file")
    if path.exists() and not force:
        raise OutputError(f"{path}: already exists; choose another name, or replace it with --force")
    if not path.absolute().parent.is_dir():
        raise OutputError(f"{path.parent}: no such folder; make it first, or choose another place")


def read_samples(source: str | None, example: str | None, reading: dict[str, Any]) -> Samples:
    """The items of a source, or of an example."""
    from rsrae.data.examples import load_example
    from rsrae.data.sources import read_source

    if example is None:
        return read_source(_require_source(source), **reading)
    given = [f"--{name.replace('_', '-')}" for name, value in reading.items() if value]
    if source is not None or given:
        what = given[0] if given else "SOURCE"
        raise ParameterError(f"{what} does not go with --example; leave one of them out")
    return load_example(example)


def _fit(
    source: str | None,
    example: str | None,
    reading: dict[str, Any],
    method: str,
    contamination: float | str,
    chosen: dict[str, Any],
    others: dict[str, Any],
    *,
    is_shown: bool,
) -> Detection:
    from rsrae.detection import detect_samples
    from rsrae.detectors import detector_class
    from rsrae.thresholds import check_contamination

    check_contamination(contamination)
    parameters = detector_class(method)._get_param_names()
    settings = _detector_settings(method, parameters, chosen)
    settings |= _other_settings(method, parameters, others, settings)
    samples = read_samples(source, example, reading)
    with thread_limit(chosen["threads"]), Training(is_shown=is_shown) as training:
        if "on_epoch" in parameters:
            settings["on_epoch"] = training
        detection = detect_samples(
            samples, method=method, contamination=contamination, reading=reading, example=example, **settings
        )
    if training.stopped_after:
        detection.notes.append(training.stopped_after)
    return detection


def _detector_settings(method: str, parameters: list[str], chosen: dict[str, Any]) -> dict[str, Any]:
    settings = {}
    for option, value in chosen.items():
        name = _CALLED.get(option, option)
        if value is None:
            continue
        if name in parameters or option == "recipe":
            settings[name] = value
        elif option not in ("seed", "threads"):  # nothing to seed; threads are limited from outside
            raise ParameterError(f"--{option} does not apply to method {method!r}; leave it out")
    return settings


def _other_settings(
    method: str, parameters: list[str], others: dict[str, Any], chosen: dict[str, Any]
) -> dict[str, Any]:
    known = [name for name in parameters if name not in ("contamination", *_OF_PYTHON)]
    for name in others:
        if name in chosen or name == "contamination":
            option = next((option for option, called in _CALLED.items() if called == name), name)
            raise ParameterError(f"--set {name}=...: there is --{option} for it")
        if name not in known:
            raise ParameterError(f"--set {name}=...: the settings of method {method!r} are {', '.join(known)}")
    return others


def _stem(source: str | None, example: str | None) -> str:
    if example is not None:
        return example
    if _require_source(source) == "-":
        return "stdin"
    name = Path(source or "").resolve().name
    stem = name.removesuffix(".gz")
    return (Path(stem).stem if Path(source or "").is_file() else stem) or "source"


def _require_source(source: str | None) -> str:
    if source is None:
        raise ParameterError("what should be read? Name a file or a folder, or try --example digits")
    return source
