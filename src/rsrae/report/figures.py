"""The small pictures of a report and the coordinates of its map."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image

Pixels = npt.NDArray[np.uint8]
FloatArray = npt.NDArray[np.float64]

# Pictures up to this many pixels a side are kept exactly, as PNG. Larger ones are mostly photographs, for
# which JPEG is several times smaller.
EXACT_SIDE = 48
MILD, STRONG = np.array([255.0, 196.0, 61.0]), np.array([222.0, 30.0, 60.0])


def thumbnail(image: Pixels, side: int = 112) -> bytes:
    """Encode a small copy of a picture.

    Parameters
    ----------
    image : (h, w), (h, w, 1) or (h, w, 3) array of uint8.
    side : the longer side of the result is at most this many pixels.

    Examples
    --------
    >>> thumbnail(np.zeros((8, 8), dtype=np.uint8))[:4]
    b'\\x89PNG'
    """
    return _encode(_shrink(Image.fromarray(_as_rgb(image)), side))


def heatmap(image: Pixels, shares: npt.NDArray[Any], side: int = 112) -> bytes:
    """Encode a small grey copy of a picture with its strange regions laid over it in colour.

    Parameters
    ----------
    image : (h, w), (h, w, 1) or (h, w, 3) array of uint8.
    shares : (h, w) array, each pixel's part of the score; only the proportions matter.
    side : the longer side of the result is at most this many pixels.
    """
    height, width = image.shape[:2]
    if shares.shape != (height, width):
        raise ValueError(f"shares have shape {shares.shape}, the picture has {(height, width)}")
    # Both are reduced first: shrinking averages the shares, so single noisy pixels do not flicker.
    grey = np.asarray(_shrink(Image.fromarray(_as_rgb(image)).convert("L"), side), dtype=np.float64)
    heat = np.asarray(_shrink(Image.fromarray(shares.astype(np.float32)), side), dtype=np.float64)
    # What exceeds the average stands out; an even spread, as in a picture that fits, stays nearly grey.
    average = heat.mean()
    heat = np.clip(heat - average, 0.0, None)
    strongest = max(heat.max(), 3.0 * average)
    heat = heat / strongest if strongest > 0 else heat
    backdrop = (64.0 + 0.62 * grey)[..., None]
    colour = MILD + (STRONG - MILD) * heat[..., None]
    opacity = 0.9 * (heat**0.7)[..., None]
    blended = backdrop * (1.0 - opacity) + colour * opacity
    return _encode(Image.fromarray(blended.round().astype(np.uint8)))


def flatten_codes(codes: npt.NDArray[Any]) -> FloatArray:
    """Lay codes of any width out on a plane.

    The two directions of largest spread, each measured from its median in typical distances. Far items are
    drawn nearer (asinh: linear in the middle, logarithmic far out), since a few anomalies would otherwise
    squeeze all the others into one dot.

    Parameters
    ----------
    codes : (n, d) array.

    Returns
    -------
    (n, 2) array. Zeros where there is no second direction.

    Examples
    --------
    >>> flatten_codes(np.array([[1.0], [2.0], [3.0]])).round(3).tolist()
    [[-0.881, 0.0], [0.0, 0.0], [0.881, 0.0]]
    """
    centred = np.asarray(codes, dtype=np.float64)
    centred = centred - centred.mean(axis=0)
    _, directions = np.linalg.eigh(centred.T @ centred)
    directions = directions[:, ::-1][:, :2]  # (d, 2), the largest spread first
    # An eigenvector's sign is arbitrary; the same codes should give the same map.
    largest = np.abs(directions).argmax(axis=0)
    directions = directions * np.sign(directions[largest, np.arange(directions.shape[1])])
    plane = np.zeros((len(centred), 2))
    plane[:, : directions.shape[1]] = centred @ directions
    plane -= np.median(plane, axis=0)
    typical = np.median(np.abs(plane), axis=0)
    spread = np.abs(plane).max(axis=0)
    typical = np.where(typical > 1e-9 * spread, typical, spread)
    flat: FloatArray = np.arcsinh(np.divide(plane, typical, out=np.zeros_like(plane), where=typical > 0))
    return flat


def _as_rgb(image: Pixels) -> Pixels:
    flat = image[..., 0] if image.ndim == 3 and image.shape[2] == 1 else image
    return np.repeat(flat[..., None], 3, axis=2) if flat.ndim == 2 else np.ascontiguousarray(flat)


def _shrink(picture: Image.Image, side: int) -> Image.Image:
    scale = side / max(picture.size)
    if scale >= 1.0:
        return picture
    width, height = (max(1, round(length * scale)) for length in picture.size)
    return picture.resize((width, height), Image.Resampling.BOX)


def _encode(picture: Image.Image) -> bytes:
    buffer = io.BytesIO()
    if max(picture.size) <= EXACT_SIDE:
        picture.save(buffer, "PNG", optimize=True)
    else:
        picture.save(buffer, "JPEG", quality=82, optimize=True)
    return buffer.getvalue()
