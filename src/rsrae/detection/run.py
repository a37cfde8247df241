"""From a source to a result."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from rsrae.data.documents import StopWords
from rsrae.data.samples import Kind, Samples
from rsrae.data.sources import read_source
from rsrae.detection.calibration import Calibration
from rsrae.detection.models import Model, load_model
from rsrae.detection.result import Detection
from rsrae.detectors import detector_class, make_detector
from rsrae.errors import InputError, ParameterError
from rsrae.explain import accepted_form

# What is worth remembering about the reading of a source, beside what its encoder knows.
_REMEMBERED = ("id", "label", "names", "limit")


def detect(
    source: Any,
    *,
    method: str = "rsrae",
    contamination: float | str = "auto",
    kind: Kind | None = None,
    text: str | None = None,
    id: str | None = None,
    drop: Sequence[str] = (),
    label: str | None = None,
    size: int | tuple[int, int] | None = None,
    names: Path | str | Sequence[str] | None = None,
    strip_headers: bool = False,
    stop_words: StopWords | None = None,
    limit: int | None = None,
    **detector_options: Any,
) -> Detection:
    """Find what is strange among the items of a source.

    Parameters
    ----------
    source : a file, a folder, a DataFrame, an array, a list of texts, or `Samples`; see
        `rsrae.data.sources.read_source`, also for ``kind`` to ``limit``.
    method : as in ``rsrae methods``.
    contamination : the share of anomalies the line is drawn for, in (0, 0.5], or "auto" to find it from the scores.
    **detector_options : parameters of the method's detector, such as ``epochs``; ``recipe`` for "rsrae". If it takes a
        ``random_state``, that is 0 unless given: the same data gives the same result.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"price": [3.0, 3.1, 2.9, 3.2] * 25, "weight": [1.0, 1.2, 0.9] * 33 + [80.0]})
    >>> found = detect(frame, epochs=5, contamination=0.01)
    >>> found.scores.head(1)[["id", "verdict"]].values.tolist()
    [['100', 'anomaly']]
    """
    _detector_options(method, detector_options)  # before minutes of reading
    given: dict[str, Any] = {"id": id, "label": label, "names": names, "limit": limit}
    if isinstance(source, Samples):
        samples = source
    else:
        words: dict[str, Any] = {"text": text, "strip_headers": strip_headers, "stop_words": stop_words}
        samples = read_source(source, kind=kind, drop=drop, size=size, **words, **given)
    return detect_samples(samples, method=method, contamination=contamination, reading=given, **detector_options)


def detect_samples(
    samples: Samples,
    *,
    method: str = "rsrae",
    contamination: float | str = "auto",
    reading: dict[str, Any] | None = None,
    example: str | None = None,
    **detector_options: Any,
) -> Detection:
    """Find what is strange among items that are read already.

    Parameters
    ----------
    samples : the items.
    method, contamination, **detector_options : as in `detect`.
    reading : options with which the source was read; ``id``, ``label``, ``names`` and ``limit`` are remembered in the
        model, so that the source can be read again for a new report.
    example : the name of the example data set, if it is one.
    """
    options = _detector_options(method, {**detector_options, "contamination": contamination})
    detector = make_detector(method, **options)
    rows = _rows_for(samples, detector, method)
    began = time.perf_counter()
    detector.fit(rows)
    if "on_epoch" in options:  # a callback is no part of the model
        detector.set_params(on_epoch=None)
    scores = detector.anomaly_score(rows)
    model = Model(
        detector=detector,
        method=method,
        encoder=_encoder(samples),
        calibration=Calibration.fit(scores, -float(detector.offset_)),
        source=samples.source,
        n_items=len(samples),
        created=datetime.now().replace(microsecond=0),
        example=example,
        reading={
            name: str(value) if isinstance(value, Path) else value
            for name, value in (reading or {}).items()
            if _is_remembered(name, value)
        },
        notes=tuple(samples.notes),
    )
    return Detection(model, samples, scores, seconds=time.perf_counter() - began)


def score_with(
    model: str | os.PathLike[str] | Model,
    source: Any,
    *,
    id: str | None = None,
    label: str | None = None,
    names: Path | str | Sequence[str] | None = None,
    limit: int | None = None,
) -> Detection:
    """Score new data with an old model; it is read as the model's own data was, with the same columns by name.

    Parameters
    ----------
    model : a file that `Detection.save` wrote, or the model itself.
    source : as in `detect`.
    id, label, names, limit : as in `detect`.
    """
    if not isinstance(model, Model):
        model = load_model(model)
    samples = source
    if not isinstance(source, Samples):
        samples = read_source(source, id=id, label=label, names=names, limit=limit, encoder=model.encoder)
    began = time.perf_counter()
    scores = model.detector.anomaly_score(_rows_for(samples, model.detector, model.method))
    return Detection(model, samples, scores, seconds=time.perf_counter() - began)


def _detector_options(method: str, options: dict[str, Any]) -> dict[str, Any]:
    known = detector_class(method)._get_param_names()
    for option in options:
        if option not in known and option != "recipe":
            raise ParameterError(f"method {method!r} has no {option!r}; it has {', '.join(sorted(known))}")
    return {"random_state": 0, **options} if "random_state" in known else options


def _is_remembered(name: str, value: object) -> bool:
    return name in _REMEMBERED and isinstance(value, str | int | Path)


def _rows_for(samples: Samples, detector: Any, method: str) -> Any:
    try:
        return accepted_form(samples.X, detector.accepts)
    except InputError as error:
        raise InputError(
            f"{samples.source}: method {method!r} {error}; choose another with --method ('rsrae methods' lists them)"
        ) from error


def _encoder(samples: Samples) -> Any:
    if samples.encoder is None:
        raise InputError(f"{samples.source or 'samples'}: no encoder, so new data could not be read; use read_source")
    return samples.encoder
