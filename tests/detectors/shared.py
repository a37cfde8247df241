"""What several tests of detectors use."""

from __future__ import annotations

from typing import Any

SMALL: dict[str, Any] = {
    "hidden": (8, 6),
    "intrinsic_dim": 2,
    "n_members": 1,
    "n_neighbors": 0,
    "epochs": 2,
    "random_state": 0,
}
