"""Pictures: folders of image files, and arrays of images. One size, grey or colour, 8 bits.

Turned as their EXIF data says; transparency laid on white; the first frame of an animation. A file that
cannot be read, or that would unpack to an absurd size, is listed in ``skipped`` and never fatal unless
all are. If every picture is grey the result is ``(n, h, w)``, otherwise ``(n, h, w, 3)``.

Default size: the median height and width, reduced so that the longer side is at most 32.
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageOps, UnidentifiedImageError

from rsrae.data.arrays import ArraySource, read_names
from rsrae.data.folders import labels_from_folders
from rsrae.data.samples import Kind, ListItems, Samples
from rsrae.errors import InputError, ParameterError, SourceError

IMAGE_ENDINGS = frozenset((".png", ".jpg", ".jpeg", ".webp", ".bmp", ".tif", ".tiff", ".gif"))
MAX_DEFAULT_SIDE = 32
_MAX_SIDE = 1024
_EXIF_ORIENTATION = 0x0112

Pixels = npt.NDArray[np.uint8]


@dataclass(frozen=True)
class ImageEncoder:
    """The size and colours of the pictures; for arrays also which values are black and white."""

    height: int
    width: int
    is_colour: bool
    black: float = 0.0
    white: float = 255.0
    kind: ClassVar[Kind] = "images"

    def to_json(self) -> dict[str, Any]:
        """Everything needed to encode new data, as plain JSON values."""
        return {
            "kind": self.kind,
            "height": self.height,
            "width": self.width,
            "is_colour": self.is_colour,
            "black": self.black,
            "white": self.white,
        }

    @classmethod
    def from_json(cls, fields: dict[str, Any]) -> ImageEncoder:
        """The encoder that `to_json` wrote."""
        height, width = check_size((int(fields["height"]), int(fields["width"])))
        black, white = float(fields["black"]), float(fields["white"])
        if not white > black:
            raise ValueError("white must be brighter than black")
        return cls(height, width, bool(fields["is_colour"]), black, white)


def samples_from_image_files(
    files: Sequence[Path],
    folder: Path,
    *,
    size: int | tuple[int, int] | None = None,
    label: str | None = None,
    encoder: ImageEncoder | None = None,
) -> Samples:
    """Image files as samples, named by their path inside ``folder``.

    Parameters
    ----------
    files : the files, in order.
    folder : the folder they were found in.
    size : side, or (height, width), to which all are resized.
    label : name of the sub-folder with the known anomalies.
    encoder : of earlier pictures.
    """
    skipped: list[tuple[str, str]] = []
    sizes: dict[Path, tuple[int, int]] = {}
    for path in files:
        result = _header_size(path)
        if isinstance(result, str):
            skipped.append((_name(path, folder), result))
        else:
            sizes[path] = result
    height, width = _target_size(list(sizes.values()), size, encoder)

    read: list[Path] = []
    pictures = np.empty((len(sizes), height, width, 3), dtype=np.uint8)
    for path in sizes:
        picture = _read_picture(path, height, width)
        if isinstance(picture, str):
            skipped.append((_name(path, folder), picture))
        else:
            pictures[len(read)] = picture
            read.append(path)
    if not read:
        name, reason = skipped[0]
        raise SourceError(f"{folder}: none of {len(files)} images can be read (first: {name}, {reason})")
    X, is_colour, notes = _reduce_colours(pictures[: len(read)], encoder)
    if len(set(sizes.values())) > 1 or (height, width) not in sizes.values():
        notes.insert(0, f"All pictures are resized to {height} x {width} pixels.")
    if skipped:
        files_are = "file could not be read and is" if len(skipped) == 1 else "files could not be read and are"
        notes.append(f"{len(skipped):,} {files_are} skipped.")
    return Samples(
        X=X,
        kind="images",
        names=[_name(path, folder) for path in read],
        notes=notes,
        skipped=skipped,
        encoder=encoder or ImageEncoder(height, width, is_colour),
        items=ListItems("path", [str(path) for path in read]),
        labels=labels_from_folders(read, folder, label),
        source=str(folder),
    )


def samples_from_image_array(
    source: ArraySource,
    *,
    size: int | tuple[int, int] | None = None,
    names: Path | str | Sequence[str] | None = None,
    encoder: ImageEncoder | None = None,
) -> Samples:
    """An array (n, h, w), (n, h, w, channels) or (n, channels, h, w) as samples.

    Bytes stay as they are. Other numbers are mapped to 0..255: from 0..1 if they all lie there, else from
    0..255 or 0..65535, else from their own smallest to their largest.

    >>> from rsrae.data.arrays import array_in_memory
    >>> samples_from_image_array(array_in_memory(np.full((2, 4, 4), 0.2))).X[0, 0, 0]
    np.uint8(51)
    """
    values = _channels_last(source)
    if not np.isfinite(values).all():
        item = int(np.argwhere(~np.isfinite(values))[0][0])
        raise InputError(f"{source.name}: image {item + 1} has missing or infinite pixels; mend or remove it")
    black, white = (encoder.black, encoder.white) if encoder else _value_range(values)
    pictures = _as_pixels(values, black, white)
    sizes = [(values.shape[1], values.shape[2])]
    height, width = _target_size(sizes, size, encoder)
    notes = []
    if (height, width) != sizes[0]:
        pictures = np.stack([_resize(picture, height, width) for picture in pictures])
        notes.append(f"All pictures are resized to {height} x {width} pixels.")
    X, is_colour, colour_notes = _reduce_colours(pictures, encoder)
    item_names = source.names if names is None else read_names(names, len(X))
    return Samples(
        X=X,
        kind="images",
        names=item_names or [str(i) for i in range(1, len(X) + 1)],
        notes=notes + colour_notes,
        encoder=encoder or ImageEncoder(height, width, is_colour, black, white),
        labels=source.labels,
        source=source.name,
    )


def check_size(size: int | tuple[int, int]) -> tuple[int, int]:
    """A size as (height, width).

    >>> check_size(28), check_size((20, 30))
    ((28, 28), (20, 30))
    """
    height, width = (size, size) if isinstance(size, int) else size
    if not (1 <= height <= _MAX_SIDE and 1 <= width <= _MAX_SIDE):
        raise ParameterError(f"size must be between 1 and {_MAX_SIDE} pixels a side, not {height} x {width}")
    return height, width


def _header_size(path: Path) -> tuple[int, int] | str:
    try:
        with _bombs_are_errors(), Image.open(path) as picture:
            turned = picture.getexif().get(_EXIF_ORIENTATION, 1) in (5, 6, 7, 8)
            return picture.size if turned else (picture.height, picture.width)
    except Exception as error:  # each of Pillow's decoders has its own ways to fail
        return _reason(error)


def _read_picture(path: Path, height: int, width: int) -> Pixels | str:
    try:
        with _bombs_are_errors(), Image.open(path) as picture:
            if picture.format == "JPEG":
                picture.draft("RGB", (2 * width, 2 * height))  # decodes a large photo at a fraction of its size
            picture.load()
            return _resize(_as_rgb(ImageOps.exif_transpose(picture)), height, width)
    except Exception as error:  # each of Pillow's decoders has its own ways to fail
        return _reason(error)


def _as_rgb(picture: Image.Image) -> Pixels:
    if picture.mode.startswith("I") or picture.mode == "F":
        values = np.asarray(picture, dtype=np.float64)
        if not (values.min() >= 0 and values.max() <= 65_535):
            raise ValueError("pixel values outside 0..65535")
        scale = 1.0 if picture.mode != "I;16" and values.max() <= 255 else 255 / 65_535
        return np.repeat(np.rint(values * scale).astype(np.uint8)[..., None], 3, axis=2)
    if picture.has_transparency_data:
        picture = picture.convert("RGBA")
        white = Image.new("RGBA", picture.size, "white")
        picture = Image.alpha_composite(white, picture)
    return np.asarray(picture.convert("RGB"))


def _resize(pixels: Pixels, height: int, width: int) -> Pixels:
    if pixels.shape[:2] == (height, width):
        return pixels
    return np.asarray(Image.fromarray(pixels).resize((width, height), Image.Resampling.BILINEAR))


def _target_size(
    sizes: Sequence[tuple[int, int]], size: int | tuple[int, int] | None, encoder: ImageEncoder | None
) -> tuple[int, int]:
    if encoder is not None:
        if size is not None and check_size(size) != (encoder.height, encoder.width):
            raise ParameterError(f"the model was fitted with size {encoder.height} x {encoder.width}")
        return encoder.height, encoder.width
    if size is not None:
        return check_size(size)
    if not sizes:
        return 1, 1
    height, width = np.median(np.array(sizes), axis=0)
    scale = min(1.0, MAX_DEFAULT_SIDE / max(height, width))
    return max(1, round(height * scale)), max(1, round(width * scale))


def _reduce_colours(pictures: Pixels, encoder: ImageEncoder | None) -> tuple[Pixels, bool, list[str]]:
    red, green, blue = (pictures[..., channel] for channel in range(3))
    has_colour = not (np.array_equal(red, green) and np.array_equal(red, blue))
    is_colour = has_colour if encoder is None else encoder.is_colour
    if is_colour:
        return pictures, True, [f"{len(pictures):,} colour pictures."]
    notes = [f"{len(pictures):,} grey pictures."]
    if not has_colour:
        return np.ascontiguousarray(red), False, notes
    notes.append("The model knows only grey pictures, so colours are taken out.")
    grey = [np.asarray(Image.fromarray(picture).convert("L")) for picture in pictures]
    return np.stack(grey), False, notes


def _channels_last(source: ArraySource) -> npt.NDArray[Any]:
    values = source.values
    if values.ndim == 3:
        values = values[..., None]
    elif values.ndim == 4 and values.shape[3] not in (1, 3, 4) and values.shape[1] in (1, 3, 4):
        values = np.moveaxis(values, 1, 3)
    if values.ndim != 4 or values.shape[3] not in (1, 3, 4):
        raise InputError(
            f"{source.name}: shape {source.values.shape}; images are (n, height, width) or "
            "(n, height, width, channels) with 1, 3 or 4 channels"
        )
    return values


def _value_range(values: npt.NDArray[Any]) -> tuple[float, float]:
    low, high = float(values.min()), float(values.max())
    if values.dtype == np.uint8:
        return 0.0, 255.0
    if low >= 0:
        for white in (1.0, 255.0, 65_535.0):
            if high <= white:
                return 0.0, white
    return low, high if high > low else low + 1.0


def _as_pixels(values: npt.NDArray[Any], black: float, white: float) -> Pixels:
    n, height, width, n_channels = values.shape
    pictures = np.empty((n, height, width, 3), dtype=np.uint8)
    for i, picture in enumerate(values):
        scaled = np.clip((picture.astype(np.float64) - black) * (255 / (white - black)), 0, 255)
        if n_channels == 4:
            opacity = scaled[..., 3:] / 255
            scaled = scaled[..., :3] * opacity + 255 * (1 - opacity)
        pictures[i] = np.rint(scaled).astype(np.uint8)  # one channel spreads over three
    return pictures


def _name(path: Path, folder: Path) -> str:
    return path.relative_to(folder).as_posix()


def _reason(error: Exception) -> str:
    if isinstance(error, Image.DecompressionBombError | Image.DecompressionBombWarning):
        return "unpacks to an absurd size, refused"
    if isinstance(error, UnidentifiedImageError):
        return "not an image"
    return " ".join(str(error).split())[:120] or type(error).__name__


@contextlib.contextmanager
def _bombs_are_errors() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # damaged metadata is no reason to leave a picture out
        # Pillow only warns of pictures up to twice its limit; here the limit is the limit.
        warnings.simplefilter("error", Image.DecompressionBombWarning)
        yield
