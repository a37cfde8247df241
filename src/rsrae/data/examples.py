"""Data that needs no file: three small sets with known anomalies, the same on every machine."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from sklearn import datasets

from rsrae.data.arrays import ArraySource
from rsrae.data.images import samples_from_image_array
from rsrae.data.samples import Samples
from rsrae.data.table_files import table_from_arrow
from rsrae.data.tables import samples_from_table
from rsrae.errors import ParameterError

ExampleName = Literal["digits", "swiss-roll", "wine"]


def load_example(name: str) -> Samples:
    """An example data set with labels.

    Parameters
    ----------
    name : ``"digits"``: 8 x 8 pictures, all 183 threes and 61 other digits (25 % anomalies);
        ``"swiss-roll"``: 1,000 points on a rolled sheet in space and 500 points off it, as in appendix B of
        the paper; ``"wine"``: chemical analyses of 119 wines of two growers, and 10 of a third.

    Examples
    --------
    >>> samples = load_example("swiss-roll")
    >>> samples.X.shape, int(samples.labels.sum())
    ((1500, 3), 500)
    """
    rng = np.random.default_rng(0)
    match name:
        case "digits":
            return _digits(rng)
        case "swiss-roll":
            return _swiss_roll(rng)
        case "wine":
            return _wine(rng)
    raise ParameterError(f"there is no example {name!r}; there are {', '.join(get_args(ExampleName))}")


def _digits(rng: np.random.Generator, normal: int = 3) -> Samples:
    digits = datasets.load_digits()
    inliers = np.flatnonzero(digits.target == normal)
    outliers = rng.choice(np.flatnonzero(digits.target != normal), size=len(inliers) // 3, replace=False)
    rows = rng.permutation(np.concatenate([inliers, outliers]))
    shown = digits.target[rows]
    samples = samples_from_image_array(
        ArraySource(
            name="digits",
            values=digits.images[rows] / 16,
            names=[f"{digit} (no. {i})" for i, digit in enumerate(shown, start=1)],
            labels=(shown != normal).astype(np.int64),
        )
    )
    samples.notes.insert(0, f"Example: handwritten digits; {normal} is normal, all others are anomalies.")
    return samples


def _swiss_roll(rng: np.random.Generator) -> Samples:
    t, s = rng.uniform(3 * np.pi / 2, 9 * np.pi / 2, 1000), rng.uniform(0, 21, 1000)
    roll = np.column_stack([t * np.cos(t), s, t * np.sin(t)])
    points = np.concatenate([roll, rng.normal(0, 2, (500, 3))])
    order = rng.permutation(len(points))
    columns = dict(zip("xyz", points[order].T, strict=True))
    answers = {"anomaly": (order >= len(roll)).astype(np.int64)}
    return _table("swiss-roll", columns | answers, "points on a rolled sheet; those off it are anomalies")


def _wine(rng: np.random.Generator, strange: int = 0, n_strange: int = 10) -> Samples:
    wine = datasets.load_wine()
    outliers = rng.choice(np.flatnonzero(wine.target == strange), size=n_strange, replace=False)
    rows = rng.permutation(np.concatenate([np.flatnonzero(wine.target != strange), outliers]))
    columns = {name: wine.data[rows, j] for j, name in enumerate(wine.feature_names)}
    answers = {"anomaly": (wine.target[rows] == strange).astype(np.int64)}
    return _table("wine", columns | answers, "analyses of wines; those of the third grower are anomalies")


def _table(name: str, columns: dict[str, npt.NDArray[np.generic]], what: str) -> Samples:
    store = table_from_arrow(pa.table(columns), name)
    samples = samples_from_table(store, label="anomaly")
    samples.notes.insert(0, f"Example: {what}.")
    return samples
