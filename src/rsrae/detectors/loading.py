"""Reading a saved detector without knowing what it is."""

from __future__ import annotations

import os
from typing import Any

from rsrae import modelfile
from rsrae.detectors import METHODS, detector_class
from rsrae.errors import ModelFileError


def load(path: str | os.PathLike[str], **parameters: Any) -> Any:
    """Read any detector that ``save`` wrote; ``parameters`` as in :meth:`BaseDetector.load`."""
    header, arrays = modelfile.read_model(path)
    names = {method.class_name: name for name, method in METHODS.items()}
    stored = header.get("detector")
    if not isinstance(stored, str) or stored not in names:
        raise ModelFileError(f"{path}: holds a {stored!r}, which this version does not know; upgrade rsrae")
    return detector_class(names[stored])._from_file(path, header, arrays, parameters)
