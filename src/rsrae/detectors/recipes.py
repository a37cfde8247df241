"""The settings of the paper's text and of the authors' code, by name."""

from __future__ import annotations

from typing import Any

RECIPES: dict[str, dict[str, Any]] = {
    # The text of the paper: batch normalisation everywhere, A standard normal, RSR1 in A, one learning rate.
    "paper": {
        "intrinsic_dim": 10,
        "layers": "convolutional",
        "n_members": 1,
        "epochs": 200,
        "learning_rate": 2.5e-4,
        "normalisation": "batch",
        "initialisation": "normal",
        "scaling": "auto-paper",
        "tame": False,
        "n_neighbors": 0,
        "near_middles": False,
        "ranks": False,
        "n_trees": 0,
        "n_alike": 0,
        "equal_kinds": False,
        "rules": 0.0,
        "gross_values": False,
        "level_lengths": False,
        "rsr_learning_rate": 2.5e-4,
        "rsr_scope": "A",
        "scored_by": "cosine",
        "trim": 0.0,
    },
    # The published code: inert normalisation, RSR1 in encoder and A at ten times the learning rate, unit rows.
    "authors": {
        "intrinsic_dim": 10,
        "layers": "convolutional",
        "n_members": 1,
        "epochs": 200,
        "learning_rate": 2.5e-4,
        "normalisation": "affine",
        "initialisation": "normal",
        "activation": "auto-authors",
        "output_activation": "same",
        "scaling": "auto-paper",
        "tame": False,
        "n_neighbors": 0,
        "near_middles": False,
        "ranks": False,
        "n_trees": 0,
        "n_alike": 0,
        "equal_kinds": False,
        "rules": 0.0,
        "gross_values": False,
        "level_lengths": False,
        "unit_norm": True,
        "rsr_learning_rate": 2.5e-3,
        "rsr_scope": "encoder",
        "scored_by": "cosine",
        "shuffle": "once",
        "trim": 0.0,
    },
}
