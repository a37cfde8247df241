from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from rsrae import RSRAE
from rsrae.detectors.choices import Choices
from rsrae.preprocessing import Preprocessor

BY_COLUMN = Preprocessor(np.zeros(5), np.ones(5), tame=True, unit_norm=False)
DIRECTIONS = Preprocessor(np.zeros(1), np.ones(1), tame=False, unit_norm=True)


def choices(preprocessor: Preprocessor, input_shape: tuple[int, ...], **settings: Any) -> Choices:
    return Choices(SimpleNamespace(**RSRAE(**settings).get_params(deep=False)), preprocessor, input_shape)


def test_tables_have_eight_members_a_forest_and_absolute_residuals() -> None:
    table = choices(BY_COLUMN, (5,))
    assert table.dims == [0, 2, 4, 10] * 2
    assert table.scored_by == "manhattan"
    assert table.architecture("tanh", "linear").normalisation == "batch"
    assert (table.seats.n_trees, table.seats.n_alike, table.seats.to_each) == (30, 0, True)
    assert set(table.seats.networks) == {"subspace"}


@pytest.mark.parametrize("shape", [(300,), (10, 10, 3)])
def test_vectors_and_pictures_have_the_same_seats(shape: tuple[int, ...]) -> None:
    found = choices(DIRECTIONS, shape)
    assert found.scored_by == "cosine"
    assert found.seats == choices(DIRECTIONS, (300,)).seats
    assert found.seats.networks == ("point", "subspace", "subspace", "subspace")
    assert (found.seats.n_trees, found.seats.n_alike, found.seats.near_middles) == (0, 10, False)


@pytest.mark.parametrize("settings", [{"layers": "convolutional"}, {"encoder": torch.nn.Flatten()}])
def test_a_network_that_sees_images_has_the_seats_of_the_former_default(settings: dict[str, Any]) -> None:
    found = choices(DIRECTIONS, (10, 10, 3), **settings)
    assert not found.is_dense
    assert set(found.seats.networks) == {"subspace"}
    assert found.seats.n_alike == 0


def test_a_single_network_has_nobody_beside_it() -> None:
    alone = choices(BY_COLUMN, (5,), n_members=1, n_neighbors=0).seats
    assert (alone.n_trees, alone.rules, alone.gross_values, alone.near_middles) == (0, 0.0, False, False)


@pytest.mark.parametrize(("layers", "n_values"), [("dense", 300 * 32), ("convolutional", 3 * 32)])
def test_a_network_larger_than_its_file_is_refused(layers: str, n_values: int) -> None:
    asked = choices(DIRECTIONS, (10, 10, 3), layers=layers, hidden=(32,), n_members=1, intrinsic_dim=1)
    a_matrix = 32 if layers == "dense" else 5 * 5 * 32
    asked.check_size({"member0": np.zeros(n_values + a_matrix)})
    with pytest.raises(ValueError, match="larger than the file"):
        asked.check_size({"member0": np.zeros(n_values + a_matrix - 1)})
