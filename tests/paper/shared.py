"""What the tests of this room share."""

from __future__ import annotations

import io
import json
import os
import tarfile
from collections.abc import Iterable
from pathlib import Path

import pytest

from rsrae.paper.cells import Cell

needs_shared_data = [
    pytest.mark.shared_data,
    pytest.mark.skipif(not os.environ.get("RSRAE_DATA"), reason="RSRAE_DATA is not set"),
]


def shared_data() -> Path:
    return Path(os.environ["RSRAE_DATA"])


def add_member(archive: tarfile.TarFile, name: str, content: bytes) -> None:
    member = tarfile.TarInfo(name)
    member.size = len(content)
    archive.addfile(member, io.BytesIO(content))


def write_rows(path: Path, rows: Iterable[dict[str, object]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def row_of(cell: Cell, auc: float = 0.8, ap: float = 0.7, **more: object) -> dict[str, object]:
    return {
        "id": cell.id,
        "status": "ok",
        "code_version": cell.code_version,
        **cell.as_row(),
        "auc": auc,
        "ap": ap,
        "centroid_correlation": 0.9,
        "seconds_fit": 1.0,
        "seconds_score": 0.5,
        "threads": 1,
        "machine": {"cpu": "a processor", "cores": 2, "system": "Linux"},
        "versions": {"torch": "2.13.0"},
        **more,
    }
