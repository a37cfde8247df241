import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from rsrae.data.arrays import array_in_memory
from rsrae.data.images import samples_from_image_array
from rsrae.data.sources import encoder_from_json, read_source
from rsrae.errors import InputError, ParameterError

GREY = np.arange(64, dtype=np.uint8).reshape(8, 8) * 3
COLOUR = np.stack([GREY, GREY[::-1], GREY.T], axis=-1)


@pytest.mark.parametrize("ending", ["png", "bmp", "tiff", "webp", "gif", "PNG", "jpg"])
def test_every_format_is_read(ending: str, tmp_path: Path) -> None:
    (tmp_path / "deep" / "er").mkdir(parents=True)
    options = {"lossless": True} if ending == "webp" else {"quality": 100} if ending == "jpg" else {}
    Image.fromarray(GREY).save(tmp_path / "deep" / "er" / f"a.{ending}", **options)
    samples = read_source(tmp_path)
    assert (samples.kind, samples.names) == ("images", [f"deep/er/a.{ending}"])
    assert samples.X.dtype == np.uint8
    np.testing.assert_allclose(samples.X[0].astype(int), GREY, atol=2 if ending == "jpg" else 0)
    assert samples.items.row(0) == {"path": str(tmp_path / "deep" / "er" / f"a.{ending}")}


def test_pictures_are_grey_only_if_all_are(tmp_path: Path) -> None:
    Image.fromarray(GREY).save(tmp_path / "a.png")
    Image.fromarray(np.repeat(GREY[..., None], 3, axis=2)).save(tmp_path / "b.png")
    assert read_source(tmp_path).X.shape == (2, 8, 8)
    Image.fromarray(COLOUR).save(tmp_path / "c.png")
    samples = read_source(tmp_path)
    assert samples.X.shape == (3, 8, 8, 3)
    np.testing.assert_array_equal(samples.X[2], COLOUR)


def test_a_rotated_photo_is_turned_upright(tmp_path: Path) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    Image.fromarray(GREY[:4]).save(tmp_path / "a.png", exif=exif)
    samples = read_source(tmp_path)
    assert samples.X.shape == (1, 8, 4)
    np.testing.assert_array_equal(samples.X[0], np.rot90(GREY[:4], k=-1))


def test_transparency_is_laid_on_white(tmp_path: Path) -> None:
    pixels = np.zeros((2, 2, 4), dtype=np.uint8)
    pixels[0, 0, 3] = 255
    Image.fromarray(pixels).save(tmp_path / "a.png")
    assert read_source(tmp_path).X[0].tolist() == [[0, 255], [255, 255]]


def test_the_first_frame_of_an_animation_counts(tmp_path: Path) -> None:
    frames = [Image.new("L", (4, 4), shade) for shade in (10, 200)]
    frames[0].save(tmp_path / "a.gif", save_all=True, append_images=frames[1:])
    assert (read_source(tmp_path).X == 10).all()


def test_sixteen_bits_are_brought_to_eight(tmp_path: Path) -> None:
    Image.fromarray(GREY.astype(np.uint16) * 257).save(tmp_path / "a.png")
    np.testing.assert_array_equal(read_source(tmp_path).X[0], GREY)


def test_the_default_size_is_the_median_with_the_longer_side_at_most_32(tmp_path: Path) -> None:
    for i, (width, height) in enumerate([(200, 100), (200, 100), (50, 400)]):
        Image.new("L", (width, height), i).save(tmp_path / f"{i}.png")
    samples = read_source(tmp_path)
    assert samples.X.shape == (3, 16, 32)
    assert "16 x 32" in samples.notes[0]


@pytest.mark.parametrize(("size", "shape"), [(12, (12, 12)), ((5, 7), (5, 7))])
def test_the_size_can_be_asked_for(size: int | tuple[int, int], shape: tuple[int, int], tmp_path: Path) -> None:
    Image.fromarray(GREY).save(tmp_path / "a.png")
    assert read_source(tmp_path, size=size).X.shape == (1, *shape)
    assert read_source(GREY[None], size=size).X.shape == (1, *shape)


@pytest.mark.parametrize("size", [0, -3, 100_000, (5, 0)])
def test_an_absurd_size_is_refused(size: int | tuple[int, int], tmp_path: Path) -> None:
    Image.fromarray(GREY).save(tmp_path / "a.png")
    with pytest.raises(ParameterError, match="size must be"):
        read_source(tmp_path, size=size)


def test_new_pictures_are_brought_to_the_model_s_size_and_colours(tmp_path: Path) -> None:
    (tmp_path / "old").mkdir()
    (tmp_path / "new").mkdir()
    Image.fromarray(GREY).save(tmp_path / "old" / "a.png")
    Image.fromarray(np.kron(COLOUR, np.ones((4, 2, 1), dtype=np.uint8))).save(tmp_path / "new" / "a.png")
    encoder = read_source(tmp_path / "old").encoder
    assert encoder is not None
    again = encoder_from_json(json.loads(json.dumps(encoder.to_json())))
    assert again == encoder
    samples = read_source(tmp_path / "new", encoder=again)
    assert samples.X.shape == (1, 8, 8)
    assert any("only grey" in note for note in samples.notes)
    with pytest.raises(ParameterError, match="8 x 8"):
        read_source(tmp_path / "new", encoder=again, size=9)


def test_a_sub_folder_holds_the_known_anomalies(tmp_path: Path) -> None:
    for name in ("good/1", "good/2", "bad/1"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        Image.fromarray(GREY).save(tmp_path / f"{name}.png")
    samples = read_source(tmp_path, label="bad")
    assert samples.labels is not None
    assert dict(zip(samples.names, samples.labels.tolist(), strict=True)) == {
        "good/1.png": 0,
        "good/2.png": 0,
        "bad/1.png": 1,
    }


@pytest.mark.parametrize(
    ("values", "shape"),
    [
        (np.ones((5, 6, 7)), (5, 6, 7)),
        (np.ones((5, 6, 7, 1)), (5, 6, 7)),
        (np.random.default_rng(0).random((5, 6, 7, 3)), (5, 6, 7, 3)),
        (np.random.default_rng(0).random((5, 3, 6, 7)), (5, 6, 7, 3)),
        (np.random.default_rng(0).random((5, 6, 7, 4)), (5, 6, 7, 3)),
    ],
)
def test_arrays_of_images_come_in_several_shapes(values: np.ndarray, shape: tuple[int, ...]) -> None:
    assert read_source(values).X.shape == shape


@pytest.mark.parametrize(
    ("values", "pixels"),
    [
        (np.array([0, 7, 255], dtype=np.uint8), [0, 7, 255]),
        (np.array([0.0, 0.2, 1.0]), [0, 51, 255]),
        (np.array([0.0, 51.0, 255.0]), [0, 51, 255]),
        (np.array([0, 13107, 65535], dtype=np.uint16), [0, 51, 255]),
        (np.array([-1.0, 0.2, 1.0]), [0, 153, 255]),
        (np.array([True, False, True]), [255, 0, 255]),
    ],
)
def test_values_are_mapped_to_bytes(values: np.ndarray, pixels: list[int]) -> None:
    assert samples_from_image_array(array_in_memory(values.reshape(1, 1, 3))).X.ravel().tolist() == pixels


def test_new_arrays_are_mapped_as_the_first_was() -> None:
    encoder = read_source(np.array([[[-1.0, 1.0]]])).encoder
    assert read_source(np.array([[[0.0, 9.0]]]), encoder=encoder).X.ravel().tolist() == [128, 255]


def test_shapes_that_are_no_images_are_refused() -> None:
    with pytest.raises(InputError, match=r"\(2, 9, 9, 9\)"):
        read_source(np.ones((2, 9, 9, 9)))
