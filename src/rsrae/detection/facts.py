"""What a report tells about a result."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageOps

from rsrae.explain import Explanation, accepted_form, shown, shown_expectation
from rsrae.report import ItemFacts, Reason, ReportFacts, flatten_codes, heatmap, thumbnail

if TYPE_CHECKING:
    from rsrae.detection.result import Detection

# A report lists all items up to this many; of more, those above the line (at least half of this, and all but a tenth of
# it at most) and an even choice of the others.
N_LISTED = {"table": 2_000, "documents": 2_000, "embeddings": 2_000, "images": 1_000}
N_COLUMNS = 60  # of a table, shown; the most telling ones
_PICTURE_SIDE = 112


def report_facts(detection: Detection) -> ReportFacts:
    """Everything a report tells about a result."""
    samples, model = detection.samples, detection.model
    positions, unlisted = _listed(detection)
    places = _places(detection, positions)
    rank_of = np.empty(len(samples), dtype=np.int64)
    rank_of[detection.order] = np.arange(1, len(samples) + 1)
    probabilities = model.calibration(detection.anomaly_scores[positions])
    contents, notes = _contents(detection, positions)
    items = [
        ItemFacts(
            name=samples.names[position],
            score=float(detection.anomaly_scores[position]),
            probability=float(probability),
            rank=int(rank_of[position]),
            reasons=_reasons(detection.explanations.get(position)),
            position=place,
            label=None if samples.labels is None else bool(samples.labels[position]),
            **content,
        )
        for position, probability, place, content in zip(positions, probabilities, places, contents, strict=True)
    ]
    contamination = detection.detector.contamination
    return ReportFacts(
        title=Path(samples.source).name or samples.source,
        source=samples.source,
        kind=samples.kind,
        created=model.created,
        threshold=detection.threshold,
        items=items,
        unlisted_scores=detection.anomaly_scores[unlisted],
        contamination=None if contamination == "auto" else float(contamination),
        notes=[*detection.notes, *notes],
        skipped=samples.skipped,
        history=getattr(detection.detector, "history_", {}),
        metrics=detection.metrics,
        settings=settings(detection),
        versions=versions(),
    )


def settings(detection: Detection) -> dict[str, object]:
    """The method and all parameters of its detector that a person can read."""
    parameters = detection.detector.get_params(deep=False)
    plain = {
        name: value
        for name, value in parameters.items()
        if value is None or isinstance(value, bool | int | float | str | tuple)
    }
    return {"method": detection.model.method, **plain}


def versions() -> dict[str, str]:
    """The versions a result depends on."""
    packages = ("rsrae", "torch", "scikit-learn", "numpy")
    return {**{name: version(name) for name in packages}, "Python": platform.python_version()}


def _listed(detection: Detection) -> tuple[list[int], npt.NDArray[np.int64]]:
    order, most = detection.order, N_LISTED[detection.samples.kind]
    if len(order) <= most:
        return order.tolist(), order[:0]
    n_strangest = min(max(detection.n_flagged, most // 2), most - most // 10)
    strangest, others = order[:n_strangest], order[n_strangest:]
    is_listed = np.zeros(len(others), dtype=bool)
    is_listed[np.linspace(0, len(others) - 1, most - n_strangest).astype(int)] = True
    return [*strangest.tolist(), *others[is_listed].tolist()], others[~is_listed]


def _places(detection: Detection, positions: Sequence[int]) -> list[tuple[float, float] | None]:
    if not hasattr(detection.detector, "encode"):
        return [None] * len(positions)
    rows = accepted_form(detection.samples.X[np.asarray(positions)], detection.detector.accepts)
    return [(float(x), float(y)) for x, y in flatten_codes(detection.detector.encode(rows))]


def _reasons(explanation: Explanation | None) -> list[Reason]:
    if explanation is None or explanation.heat is not None:  # a picture has its heat map
        return []
    return [Reason(part.feature, shown(part.value), shown_expectation(part), part.share) for part in explanation.parts]


def _contents(detection: Detection, positions: Sequence[int]) -> tuple[list[dict[str, Any]], list[str]]:
    samples = detection.samples
    if samples.kind == "images":
        return [_picture(detection, position) for position in positions], []
    if samples.items is None:
        return [{} for _ in positions], []
    rows = samples.items.rows(positions)
    if samples.kind == "documents":
        return [{"text": str(row["text"])} for row in rows], []
    columns, notes = _columns(detection, list(rows[0]))
    return [{"cells": {column: _cell(row[column]) for column in columns}} for row in rows], notes


def _columns(detection: Detection, columns: list[str]) -> tuple[list[str], list[str]]:
    if len(columns) <= N_COLUMNS:
        return columns, []
    weights = dict.fromkeys(columns, 0.0)
    for explanation in detection.explanations.values():
        for part in explanation.parts:
            weights[part.feature] = weights.get(part.feature, 0.0) + part.share
    telling = set(sorted(columns, key=lambda column: -weights[column])[:N_COLUMNS])
    note = f"This report shows {N_COLUMNS} of {len(columns):,} columns, those with the largest shares in the scores."
    return [column for column in columns if column in telling], [note]


def _cell(value: object) -> str:
    return "" if value is None else shown(value)


def _picture(detection: Detection, position: int) -> dict[str, Any]:
    samples = detection.samples
    picture: npt.NDArray[np.uint8] = np.asarray(samples.X[position])
    if samples.items is not None:
        picture = _original(str(samples.items.row(position)["path"]), picture)
    explanation = detection.explanations.get(position)
    found: dict[str, Any] = {"thumbnail": thumbnail(picture)}
    if explanation is not None and explanation.heat is not None:
        heat = Image.fromarray(explanation.heat.astype(np.float32))
        size = (picture.shape[1], picture.shape[0])
        if heat.size != size:
            heat = heat.resize(size, Image.Resampling.BICUBIC)
        found["heatmap"] = heatmap(picture, np.clip(np.asarray(heat), 0, None))
    return found


def _original(path: str, as_read: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
    """The file's own picture, small; as the model saw it if the file is gone by now."""
    try:
        with Image.open(path) as file:
            file.draft("RGB", (2 * _PICTURE_SIDE, 2 * _PICTURE_SIDE))
            picture = ImageOps.exif_transpose(file)
            if picture.has_transparency_data:
                picture = Image.alpha_composite(Image.new("RGBA", picture.size, "white"), picture.convert("RGBA"))
            if picture.mode not in ("L", "RGB", "RGBA", "P", "1", "CMYK", "YCbCr"):
                return as_read  # 16 bits and more were mapped to 8 by the reader
            picture = picture.convert("RGB")
            picture.thumbnail((_PICTURE_SIDE, _PICTURE_SIDE))
            return np.asarray(picture)
    except (OSError, ValueError, SyntaxError):
        return as_read
