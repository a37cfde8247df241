from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import rsrae
from rsrae import RSRAE
from rsrae.edges import CELLS, DIRECTIONS, MEAN_KEPT, Edges
from rsrae.errors import InputError, ModelFileError
from rsrae.explain import explain
from rsrae.modelfile import read_model, write_model

SMALL: dict[str, Any] = {"hidden": (6, 8), "intrinsic_dim": (0, 2), "n_members": 2, "epochs": 2, "random_state": 0}


def by_hand(image: np.ndarray) -> np.ndarray:
    """Edges of one image of one channel, whose sides are multiples of the cells, pixel by pixel."""
    height, width = image.shape
    padded = np.pad(image, 1, mode="edge")
    found = np.zeros((DIRECTIONS, CELLS, CELLS))
    for i in range(height):
        for j in range(width):
            across = padded[i + 1, j + 2] - padded[i + 1, j]
            down = padded[i + 2, j + 1] - padded[i, j + 1]
            strength, angle = math.hypot(across, down), math.atan2(down, across)
            for k in range(DIRECTIONS):
                share = math.cos(angle - math.pi * k / DIRECTIONS) ** 8
                found[k, i * CELLS // height, j * CELLS // width] += share * strength
    flat = found.ravel() - (1 - MEAN_KEPT) * found.mean()
    return np.asarray(flat / np.linalg.norm(flat))


def test_edges_are_counted_by_place_and_direction(rng: np.random.Generator) -> None:
    image = rng.random((16, 24))
    found = Edges((16, 24, 1))(torch.from_numpy(image).flatten()[None])
    np.testing.assert_allclose(found[0].numpy(), by_hand(image), rtol=1e-6, atol=1e-9)


def test_light_and_contrast_do_not_change_edges(rng: np.random.Generator) -> None:
    images = torch.from_numpy(rng.random((5, 12 * 12 * 3)))
    edges = Edges((12, 12, 3))
    torch.testing.assert_close(edges(0.3 * images + 0.5), edges(images), rtol=1e-6, atol=1e-9)


def test_an_edge_counts_in_the_channel_where_it_is_strongest(rng: np.random.Generator) -> None:
    grey = torch.from_numpy(rng.random((4, 10, 10, 1)))
    colour = torch.cat([torch.full_like(grey, 0.5), grey, 0.3 * grey], dim=3)
    torch.testing.assert_close(Edges((10, 10, 3))(colour.flatten(1)), Edges((10, 10, 1))(grey.flatten(1)))


def test_a_large_picture_has_the_edges_of_the_small_one_it_was_made_of(rng: np.random.Generator) -> None:
    small = torch.from_numpy(rng.random((3, 32, 32)))
    large = small.repeat_interleave(4, dim=1).repeat_interleave(4, dim=2)
    torch.testing.assert_close(Edges((128, 128, 1))(large.flatten(1)), Edges((32, 32, 1))(small.flatten(1)))


@pytest.mark.parametrize("shape", [(1, 1, 1), (1, 9, 3), (2, 2, 1), (5, 3, 1), (33, 40, 3), (64, 7, 1)])
def test_images_of_any_shape_have_edges_and_even_ones_none(
    shape: tuple[int, int, int], rng: np.random.Generator
) -> None:
    edges = Edges(shape)
    found = edges(torch.from_numpy(rng.random((4, edges.n_pixels))))
    assert found.shape == (4, len(edges))
    assert found.isfinite().all()
    assert (edges(torch.full((2, edges.n_pixels), 0.7)) == 0).all()


@pytest.mark.parametrize("shape", [(16, 16, 1), (9, 13, 3), (3, 2, 1), (40, 50, 3)])
def test_what_belongs_to_an_edge_is_spread_over_its_cell(shape: tuple[int, int, int], rng: np.random.Generator) -> None:
    edges = Edges(shape)
    parts = torch.from_numpy(rng.random((2, 3, len(edges))))
    spread = edges.on_pixels(parts)
    assert spread.shape == (2, 3, edges.n_pixels)
    torch.testing.assert_close(spread.sum(dim=-1), parts.sum(dim=-1))
    corner = torch.zeros(1, len(edges), dtype=torch.float64)
    corner[0, 0] = 1.0
    lit = edges.on_pixels(corner).view(shape).sum(dim=2) > 0
    height, width = (-(-side // cells) for side, cells in zip(shape[:2], edges.cells, strict=True))
    assert lit[:height, :width].all()
    assert lit.sum() == height * width


def test_half_of_what_counts_is_edges(easy_images: Any) -> None:
    detector = RSRAE(**SMALL).fit(easy_images.X)
    seen = detector.preprocess(easy_images.X)
    assert seen.shape == (100, 64 + 8 * 16)
    np.testing.assert_allclose((seen[:, :64] ** 2).sum(axis=1), 0.5, rtol=1e-6)
    np.testing.assert_allclose((seen[:, 64:] ** 2).sum(axis=1), 0.5, rtol=1e-6)
    assert detector.reconstruct(easy_images.X).shape == seen.shape


def test_an_even_picture_among_others_is_pixels_alone(easy_images: Any) -> None:
    X = easy_images.X.copy()
    X[3] = X.max()
    detector = RSRAE(**SMALL).fit(X)
    seen = detector.preprocess(X)
    np.testing.assert_allclose((seen**2).sum(axis=1), 1.0, rtol=1e-6)
    assert (seen[3, 64:] == 0).all()
    (found,) = explain(detector, X, [3])
    assert found.heat is not None
    np.testing.assert_allclose(found.heat.sum(), 1.0)


@pytest.mark.parametrize("settings", [{"edges": False}, {"layers": "convolutional"}, {"unit_norm": False}])
def test_there_are_none_where_they_are_not_asked_for_or_items_are_no_directions(
    settings: dict[str, Any], easy_images: Any
) -> None:
    detector = RSRAE(**SMALL, **settings).fit(easy_images.X)
    assert detector.preprocess(easy_images.X).shape == (100, 8, 8, 1)


def test_a_shape_that_is_new_is_found_though_light_hides_it(rng: np.random.Generator) -> None:
    """Crosses and bars of nearly as many pixels, under light that falls from some side and changes much more."""
    cross, bar = np.zeros((16, 16)), np.zeros((16, 16))
    cross[7:9, 3:13] = cross[3:13, 7:9] = 1
    bar[2:14, 6:9] = 1
    is_bar = np.arange(120) < 12
    place = np.linspace(-2, 2, 16)
    light = 0.4 * (rng.normal(size=(120, 1, 1)) * place[:, None] + rng.normal(size=(120, 1, 1)) * place)
    X = light + np.where(is_bar[:, None, None], bar, cross) + 0.05 * rng.normal(size=(120, 16, 16))
    found = {}
    for edges in (True, False):
        scores = RSRAE(epochs=20, edges=edges, random_state=0).fit(X).anomaly_score(X)
        found[edges] = (scores[:12, None] > scores[None, 12:]).mean()
    assert found[True] > 0.97
    assert found[True] > found[False] + 0.05


def test_the_heat_of_a_picture_adds_up_and_the_expected_picture_is_one(easy_images: Any) -> None:
    detector = RSRAE(epochs=20, random_state=0).fit(easy_images.X)
    (found,) = explain(detector, easy_images.X, [0])
    assert found.heat is not None
    assert found.heat.shape == (8, 8)
    np.testing.assert_allclose(found.heat.sum(), 1.0)
    plain = RSRAE(epochs=20, edges=False, random_state=0).fit(easy_images.X)
    (without,) = explain(plain, easy_images.X, [0])
    assert found.expected_picture is not None
    assert without.expected_picture is not None
    # Of the same brightness: the edges behind the pixels take nothing off them.
    assert abs(found.expected_picture.mean() - without.expected_picture.mean()) < 20


def test_a_model_with_edges_is_stored_and_goes_on(easy_images: Any, tmp_path: Path) -> None:
    X = easy_images.X
    detector = RSRAE(**SMALL, warm_start=True).fit(X)
    detector.save(tmp_path / "model")
    np.testing.assert_array_equal(rsrae.load(tmp_path / "model").anomaly_score(X), detector.anomaly_score(X))
    detector.fit(X)
    with pytest.raises(InputError, match=r"items of shape \(8, 8, 1\), got \(4, 16, 1\)"):
        detector.fit(X.reshape(-1, 4, 16, 1))
    header, arrays = read_model(tmp_path / "model")
    for changed in ({"layers": "convolutional"}, {"edges": False, "layers": "convolutional"}):
        hostile = header | {"parameters": header["parameters"] | changed}
        write_model(tmp_path / "hostile", hostile, arrays)
        with pytest.raises(ModelFileError):
            rsrae.load(tmp_path / "hostile")
