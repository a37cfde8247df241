"""The detector together with how its data was read, in one model file."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from rsrae import modelfile
from rsrae.data.samples import Encoder
from rsrae.data.sources import encoder_from_json
from rsrae.detection.calibration import Calibration
from rsrae.detectors.loading import load
from rsrae.errors import ModelFileError


@dataclass(frozen=True)
class Model:
    """A fitted detector and what is needed to treat new data as the first data was treated.

    Attributes
    ----------
    detector : fitted.
    method : its name, as in ``rsrae methods``.
    encoder : how a source becomes rows.
    calibration : of the scores.
    source : what it was fitted on, as the user named it.
    example : the name of the example it was fitted on, or None.
    reading : options with which that source was read.
    notes : decisions made when it was read.
    n_items : it was fitted on.
    created : when.
    """

    detector: Any
    method: str
    encoder: Encoder
    calibration: Calibration
    source: str
    n_items: int
    created: datetime
    example: str | None = None
    reading: dict[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to one file, whole or not at all."""
        extra = {
            "method": self.method,
            "encoder": self.encoder.to_json(),
            "line": self.calibration.line,
            "width": self.calibration.width,
            "source": self.source,
            "example": self.example,
            "reading": self.reading,
            "notes": list(self.notes),
            "n_items": self.n_items,
            "created": self.created.isoformat(timespec="seconds"),
        }
        self.detector.save(path, extra=extra)


def load_model(path: str | os.PathLike[str]) -> Model:
    """Read a model that `Model.save` wrote."""
    extra = modelfile.read_header(path).get("extra")
    if not isinstance(extra, dict) or "encoder" not in extra:
        raise ModelFileError(
            f"{path}: holds a detector, but not how its data was read; use rsrae.load in Python, "
            "or fit it again with 'rsrae fit'"
        )
    try:
        encoder = encoder_from_json(extra["encoder"])
        return Model(
            detector=load(path),
            method=str(extra["method"]),
            encoder=encoder,
            calibration=Calibration(float(extra["line"]), float(extra["width"])),
            source=str(extra["source"]),
            n_items=int(extra["n_items"]),
            created=datetime.fromisoformat(extra["created"]),
            example=None if extra["example"] is None else str(extra["example"]),
            reading=dict(extra["reading"]),
            notes=tuple(str(note) for note in extra["notes"]),
        )
    except ModelFileError as error:
        text = str(error)
        raise ModelFileError(text if text.startswith(str(path)) else f"{path}: {text}") from error
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ModelFileError(
            f"{path}: the header is damaged ({type(error).__name__}: {error}); fit it again"
        ) from error
