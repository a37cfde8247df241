from __future__ import annotations

import io

import numpy as np
import pytest
from PIL import Image

from rsrae.report.figures import flatten_codes, heatmap, thumbnail


def decoded(picture: bytes) -> np.ndarray:
    with Image.open(io.BytesIO(picture)) as image:
        return np.asarray(image.convert("RGB")).astype(int)


@pytest.mark.parametrize("shape", [(8, 8), (8, 8, 1), (8, 8, 3)])
def test_a_tiny_picture_keeps_every_pixel(shape: tuple[int, ...]) -> None:
    image = np.random.default_rng(0).integers(0, 256, shape, dtype=np.uint8)
    expected = np.broadcast_to(image if image.ndim == 3 else image[..., None], (8, 8, 3))
    np.testing.assert_array_equal(decoded(thumbnail(image)), expected)


def test_a_large_picture_is_reduced_and_keeps_its_proportions() -> None:
    picture = thumbnail(np.full((300, 600, 3), 80, dtype=np.uint8), side=100)
    assert decoded(picture).shape == (50, 100, 3)
    assert abs(decoded(picture).mean() - 80) < 2


def test_a_heat_map_is_coloured_where_the_shares_are_and_grey_elsewhere() -> None:
    shares = np.zeros((16, 16))
    shares[4:6, 4:6] = 1.0
    colours = decoded(heatmap(np.full((16, 16), 200, dtype=np.uint8), shares))
    redness = colours[..., 0] - colours[..., 1]
    assert redness[4:6, 4:6].min() > 100
    redness[4:6, 4:6] = 0
    assert redness.max() == 0


def test_a_heat_map_of_even_shares_is_grey() -> None:
    colours = decoded(heatmap(np.full((16, 16), 200, dtype=np.uint8), np.ones((16, 16))))
    assert np.ptp(colours, axis=2).max() == 0


def test_a_heat_map_of_zero_shares_is_grey() -> None:
    colours = decoded(heatmap(np.zeros((4, 4), dtype=np.uint8), np.zeros((4, 4))))
    assert np.ptp(colours, axis=2).max() == 0


def test_shares_of_another_shape_are_refused() -> None:
    with pytest.raises(ValueError, match=r"\(4, 5\)"):
        heatmap(np.zeros((4, 4), dtype=np.uint8), np.zeros((4, 5)))


def test_the_map_shows_the_directions_of_largest_spread() -> None:
    rng = np.random.default_rng(0)
    codes = rng.normal(size=(200, 6)) * [0.01, 5, 0.01, 0.01, 2, 0.01]
    places = flatten_codes(codes)
    assert abs(np.corrcoef(places[:, 0], codes[:, 1])[0, 1]) > 0.9
    assert abs(np.corrcoef(places[:, 1], codes[:, 4])[0, 1]) > 0.9


def test_one_far_item_does_not_squeeze_the_others_into_a_dot() -> None:
    codes = np.random.default_rng(0).normal(size=(200, 2))
    codes[0] = 1e6
    places = flatten_codes(codes)
    assert np.ptp(places[1:], axis=0)[0] > 0.2 * np.ptp(places, axis=0)[0]


@pytest.mark.parametrize("codes", [np.zeros((5, 3)), np.zeros((1, 2)), np.ones((4, 1))])
def test_codes_without_spread_lie_on_one_point(codes: np.ndarray) -> None:
    np.testing.assert_array_equal(flatten_codes(codes), np.zeros((len(codes), 2)))
