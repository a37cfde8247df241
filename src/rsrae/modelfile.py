"""The saved model: one safetensors file whose metadata carries a JSON header. Never pickle.

The file is a valid safetensors file, so any tool can list its tensors; the header says what they mean. A file that is
damaged, truncated, hostile or from a newer format is a :class:`~rsrae.errors.ModelFileError`.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from rsrae.errors import ModelFileError
from rsrae.wholefile import whole_file

FORMAT = 12
_KEY = "rsrae"

Arrays = dict[str, npt.NDArray[Any]]


def write_model(path: str | os.PathLike[str], header: dict[str, Any], arrays: Arrays) -> None:
    """Write a model; the file appears whole or not at all."""
    text = json.dumps({"format": FORMAT, **header}, allow_nan=False)
    contiguous = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    with whole_file(path) as temporary:
        try:
            save_file(contiguous, temporary, metadata={_KEY: text})
        except SafetensorError as error:  # how safetensors reports a full disk
            raise OSError(str(error)) from error


def read_header(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The header alone, without reading the tensors."""
    return _read(path, with_arrays=False)[0]


def read_model(path: str | os.PathLike[str]) -> tuple[dict[str, Any], Arrays]:
    """Header and tensors of a model file."""
    return _read(path, with_arrays=True)


def _read(path: str | os.PathLike[str], *, with_arrays: bool) -> tuple[dict[str, Any], Arrays]:
    if not Path(path).is_file():
        raise ModelFileError(f"{path}: no such model file")
    try:
        with safe_open(path, framework="numpy") as file:
            metadata = file.metadata() or {}
            arrays = {name: file.get_tensor(name) for name in file.keys()} if with_arrays else {}  # noqa: SIM118
    except (SafetensorError, OSError, ValueError, TypeError) as error:
        raise ModelFileError(f"{path}: not a model file, or damaged ({error}); fit and save it again") from error
    if _KEY not in metadata:
        raise ModelFileError(f"{path}: a safetensors file, but not one that rsrae wrote")
    try:
        header = json.loads(metadata[_KEY])
    except (json.JSONDecodeError, RecursionError) as error:
        raise ModelFileError(f"{path}: the header is damaged ({error}); fit and save it again") from error
    number = header.get("format") if isinstance(header, dict) else None
    if not isinstance(number, int) or isinstance(number, bool) or number < 1:
        raise ModelFileError(f"{path}: the header has no format number; fit and save it again")
    if number > FORMAT:
        raise ModelFileError(f"{path}: written in format {number}, this version reads up to {FORMAT}; upgrade rsrae")
    return header, arrays
