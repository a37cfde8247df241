"""Which values the parameters of an autoencoder may have."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from rsrae.detectors.base import check_choice, check_count
from rsrae.errors import ParameterError
from rsrae.networks.architecture import ACTIVATIONS
from rsrae.scoring import NORMS

CHOICES: dict[str, tuple[Any, ...]] = {
    "layers": ("dense", "convolutional"),
    "neighbor_distance": ("auto", "to-mean", "to-each"),
    "near_middles": (True, False),
    "crowd": (True, False),
    "edges": (True, False),
    "ranks": (True, False),
    "equal_kinds": (True, False),
    "column_weights": (True, False),
    "gross_values": (True, False),
    "level_lengths": (True, False),
    "activation": ("auto", "auto-authors", *ACTIVATIONS),
    "output_activation": ("same", *ACTIVATIONS),
    "normalisation": ("auto", "batch", "affine", None),
    "initialisation": ("orthonormal", "normal"),
    "scored_by": ("auto", "auto-manhattan", "cosine", *NORMS),
    "shuffle": ("epoch", "once"),
}


def check_settings(settings: Mapping[str, Any]) -> None:
    """Raise a ParameterError for the first parameter that is not what it may be.

    Those that are left out are not looked at:

    >>> check_settings({"intrinsic_dim": (0, 2), "hidden": (8,), "n_members": 0})
    Traceback (most recent call last):
    rsrae.errors.ParameterError: n_members must be 'auto' or a whole number of at least 1, got 0
    """
    for name, value in settings.items():
        if name in CHOICES:
            check_choice(name, value, CHOICES[name])
        elif name in _CHECKS:
            _CHECKS[name](value)
    if (settings.get("encoder") is None) != (settings.get("decoder") is None):
        raise ParameterError("pass both encoder and decoder, or neither")


def _check_dimensions(value: Any) -> None:
    if value == ():
        raise ParameterError("intrinsic_dim must name at least one dimension")
    for d in value if isinstance(value, tuple) else (value,):
        if d != 0 or not isinstance(value, tuple):  # among others, 0 stands for a point
            check_count("intrinsic_dim", d)


def _check_widths(value: Any) -> None:
    if not isinstance(value, (tuple, list)) or not value:
        raise ParameterError("hidden must name at least one layer, for example (32, 64, 128)")
    for width in value:
        check_count("hidden", width)


def _check_trim(value: Any) -> None:
    if value != "auto" and not (isinstance(value, (int, float)) and 0 <= value < 1):
        raise ParameterError(f"trim must be 'auto' or a share in [0, 1), got {value!r}")


def _check_warm_up(value: Any) -> None:
    if not (isinstance(value, (int, float)) and 0 <= value <= 1):
        raise ParameterError(f"warm_up must be a share of the epochs in [0, 1], got {value}")


def _check_rules(value: Any) -> None:
    if isinstance(value, bool) or not (isinstance(value, (int, float)) and 0 <= value <= 1):
        raise ParameterError(f"rules must be a share in [0, 1], got {value!r}")


_CHECKS: dict[str, Callable[[Any], None]] = {
    "intrinsic_dim": _check_dimensions,
    "hidden": _check_widths,
    "trim": _check_trim,
    "warm_up": _check_warm_up,
    "rules": _check_rules,
    "n_members": lambda value: check_count("n_members", value, or_auto=True),
    "n_neighbors": lambda value: check_count("n_neighbors", value, at_least=0),
    "n_trees": lambda value: check_count("n_trees", value, at_least=0),
    "n_alike": lambda value: check_count("n_alike", value, at_least=0),
}
