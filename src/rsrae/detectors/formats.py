"""What model files of older formats hold of an autoencoder, said in the words of the present one."""

from __future__ import annotations

from typing import Any

import numpy as np

from rsrae.modelfile import Arrays

# Parameters that came with a format, and what the detectors did before there were any.
BEFORE: dict[int, dict[str, Any]] = {
    2: {"n_neighbors": 0, "level_lengths": False},
    3: {"ranks": False, "n_trees": 0, "n_alike": 0},
    4: {"equal_kinds": False},
    5: {"gross_values": False},
    6: {"neighbor_distance": "to-mean", "column_weights": False},
    8: {"near_middles": False},
    10: {"rules": 0.0},
    11: {"layers": "convolutional"},
    12: {"crowd": False, "edges": False},
}


def upgrade(header: dict[str, Any], arrays: Arrays) -> None:
    """Change what a file holds, in place, to what would be in it today; a ValueError if that cannot be."""
    for number, parameters in BEFORE.items():
        if header["format"] < number:
            header["parameters"] |= parameters
    if header["format"] < 2:
        _add_weights(header, arrays)
    if header["format"] < 5:
        arrays["members.undisputed"] = np.array([np.finfo(np.float64).max])
    if header["format"] < 11:
        arrays["company.k"] = np.array([header["parameters"].get("n_alike", 0)])


def _add_weights(header: dict[str, Any], arrays: Arrays) -> None:
    n_members = int(header["parameters"]["n_members"])
    if n_members > sum(array.size for array in arrays.values()):
        raise ValueError("more members than the file has numbers")
    arrays["members.weights"] = np.full(n_members, 1 / n_members)
    if n_members == 1:
        arrays |= {"members.location": np.zeros(1), "members.spread": np.ones(1)}
