"""Unsupervised anomaly detection for data that is already dirty.

Names are loaded when they are first used, so that ``import rsrae`` and ``rsrae --help`` stay quick.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_HOMES = {
    "RSRAE": "rsrae.detectors.rsrae",
    "RSRAEPlus": "rsrae.detectors.rsrae",
    "AutoEncoder": "rsrae.detectors.rsrae",
    "ViewsRSRAE": "rsrae.detectors.views",
    "RSRLayer": "rsrae.rsr",
    "projection_loss": "rsrae.rsr",
    "orthogonality_penalty": "rsrae.rsr",
    "reconstruction_loss": "rsrae.rsr",
    "detect": "rsrae.detection.run",
    "load": "rsrae.detectors.loading",
    "RsraeError": "rsrae.errors",
}

__all__ = ["__version__", *sorted(_HOMES)]

if TYPE_CHECKING:
    from rsrae.detection.run import detect as detect
    from rsrae.detectors.loading import load as load
    from rsrae.detectors.rsrae import RSRAE as RSRAE
    from rsrae.detectors.rsrae import AutoEncoder as AutoEncoder
    from rsrae.detectors.rsrae import RSRAEPlus as RSRAEPlus
    from rsrae.detectors.views import ViewsRSRAE as ViewsRSRAE
    from rsrae.errors import RsraeError as RsraeError
    from rsrae.rsr import RSRLayer as RSRLayer
    from rsrae.rsr import orthogonality_penalty as orthogonality_penalty
    from rsrae.rsr import projection_loss as projection_loss
    from rsrae.rsr import reconstruction_loss as reconstruction_loss


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'rsrae' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
