"""From a user's numbers to what a network sees; fitted with the detector and robust to the outliers in the data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
import torch
from torch import Tensor

from rsrae.edges import Edges
from rsrae.errors import InputError, ParameterError
from rsrae.normalscores import NormalScores

Scaling = Literal["robust", "unit-cube", "contrast", "none"]
SCALINGS = ("auto", "auto-paper", "robust", "unit-cube", "contrast", "none")

# Location and spread of a column need no more rows than this.
MOST_ROWS = 100_000
MOST_RANKED = 20_000  # nor do the normal scores of its values than these
FEWEST_COORDINATES = 64  # of a vector
NORMAL_IQR = 1.3489795  # of a standard normal
BRIGHTNESS_KEPT = 0.4  # of an image's own mean, with "contrast"


@dataclass
class Preprocessor:
    """Shift and scale per column, taming of far values, then per row: less brightness, unit norm, edges.

    Attributes
    ----------
    center, scale : what is taken off and divided by, per column or one number for all (images).
    tame : a standardised value z becomes ``asinh(z)``, nearly linear near the middle and logarithmic far out, so
        that a single wild cell cannot outweigh a row.
    unit_norm : whether rows are scaled to unit l2 norm.
    brightness : how much of its own mean a row keeps. The mean is one number, but weighs as much as all pixels move
        together: with all of it, the cosine of two images says little but that both are bright; with nothing of it
        (then the cosine is the correlation of the pixels) nobody would see that a picture is too dark.
    ranks : tables only: what gives a column a second time, by the normal scores of its values; None gives all once.
    edges : images of unit norm only: what gives their edges, which stand behind the pixels and have the same say; None
        gives pixels alone.
    """

    center: npt.NDArray[np.float64]
    scale: npt.NDArray[np.float64]
    tame: bool
    unit_norm: bool
    brightness: float = 1.0
    ranks: NormalScores | None = None
    edges: Edges | None = None

    def shape(self, input_shape: tuple[int, ...]) -> tuple[int, ...]:
        """Of an item when it has been preprocessed."""
        if self.edges is not None:
            return (self.edges.n_pixels + len(self.edges),)
        return input_shape if self.ranks is None else (input_shape[0] + len(self.ranks),)

    @property
    def is_by_column(self) -> bool:
        """Whether the columns of a table are scaled one by one, and rows keep their norm."""
        return self.scale.ndim == 1 and self.scale.size > 1 and not self.unit_norm

    def for_ranks_too(self, of_columns: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Numbers of the columns of a table, and again for their ranks, in the order of a preprocessed row."""
        return of_columns if self.ranks is None else np.concatenate([of_columns, of_columns[self.ranks.columns]])

    def with_ranks(self, X: npt.NDArray[Any]) -> Preprocessor:
        """The same, with the normal scores of the columns of ``X`` as well."""
        sample = X[:: -(-X.shape[0] // MOST_RANKED)]
        ranks = NormalScores.fit(self._column(sample, number) for number in range(X.shape[1]))
        return replace(self, ranks=ranks if len(ranks) else None)

    def with_edges(self, input_shape: tuple[int, ...]) -> Preprocessor:
        """The same, with the edges of images of this shape as well."""
        height, width, channels = input_shape
        return replace(self, edges=Edges((height, width, channels)))

    def _column(self, X: npt.NDArray[Any], number: int) -> npt.NDArray[np.float64]:
        alone = slice(number, number + 1)
        scaled = replace(self, center=self.center[alone], scale=self.scale[alone])
        return scaled.apply(torch.from_numpy(X[:, alone].astype(np.float64))).numpy().ravel()

    def apply(self, rows: Tensor) -> Tensor:
        """Preprocess ``(rows, ...)`` in its own number type; the input is not changed."""
        return self.on(rows.dtype, rows.device)(rows)

    def on(self, dtype: torch.dtype, device: torch.device | str) -> Callable[[Tensor], Tensor]:
        """``apply`` for one number type and device, with the constants already there.

        Rows in double precision are prepared in it, whatever comes out: a time in seconds since 1970 has nothing left
        in single precision, and 1e300 does not fit.
        """
        constants = {
            kind: [torch.from_numpy(v).to(device=device, dtype=kind) for v in (self.center, self.scale)]
            for kind in {dtype, torch.float64}
        }
        normal_scores = {kind: self.ranks.on(kind, device) for kind in constants} if self.ranks is not None else None

        def apply(rows: Tensor) -> Tensor:
            kind = torch.float64 if rows.dtype == torch.float64 else dtype
            center, scale = constants[kind]
            prepared = (rows.to(device=device, dtype=kind) - center).div_(scale).flatten(start_dim=1)
            if self.tame:
                prepared = _asinh(prepared)
            if self.brightness != 1:
                own = prepared.mean(dim=1, keepdim=True, dtype=torch.float64)
                prepared -= (1 - self.brightness) * own.to(kind)
            if self.unit_norm:
                # Squares of numbers that single precision holds may not fit it.
                norms = torch.linalg.vector_norm(prepared, dim=1, keepdim=True, dtype=torch.float64)
                prepared.div_(norms.clamp_min_(1e-12).to(kind))
            if self.edges is not None:
                edges = self.edges(prepared)
                # Of unit norm, both and together: half of a cosine is that of the pixels, half that of the edges.
                norms = prepared.new_full((len(prepared), 1), 0.5**0.5)
                norms[~edges.any(dim=1)] = 1.0  # an even image has none
                return torch.cat([prepared, edges], dim=1).mul_(norms).to(dtype)
            if normal_scores is not None:
                return torch.cat([prepared, normal_scores[kind](prepared)], dim=1).to(dtype)
            return prepared.to(dtype).view(rows.shape)

        return apply

    def settings(self) -> dict[str, float]:
        """The part of it that a model file keeps as JSON."""
        return {"tame": self.tame, "unit_norm": self.unit_norm, "brightness": self.brightness}

    def arrays(self) -> dict[str, npt.NDArray[np.float64]]:
        """The part of it that a model file keeps as tensors; edges are made anew."""
        ranks = {} if self.ranks is None else vars(self.ranks)
        return {
            "preprocessor.center": self.center,
            "preprocessor.scale": self.scale,
            **{f"preprocessor.ranks.{name}": array for name, array in ranks.items()},
        }

    @classmethod
    def restore(cls, settings: dict[str, Any], arrays: dict[str, npt.NDArray[Any]]) -> Preprocessor:
        """Undo ``settings`` and ``arrays``."""
        center, scale = arrays["preprocessor.center"], arrays["preprocessor.scale"]
        brightness = float(settings["brightness"])
        if not 0 <= brightness <= 1:
            raise ValueError(f"a share of brightness cannot be {brightness}")
        ranks = None
        if "preprocessor.ranks.values" in arrays:
            ranks = NormalScores(*(arrays[f"preprocessor.ranks.{name}"] for name in ("columns", "values", "scores")))
            ranks.check(scale.size)
        return cls(center, scale, bool(settings["tame"]), bool(settings["unit_norm"]), brightness, ranks)

    def apply_sparse(self, rows: sp.csr_array) -> sp.csr_array:
        """Preprocess sparse rows: no shift, so zeros stay zeros. An error if zeros could not stay zeros."""
        if self.tame or self.brightness != 1 or self.center.any() or self.ranks is not None:
            raise InputError("the model was fitted on dense rows, which it shifts; give it dense rows (X.toarray())")
        data = rows.data / self.scale[rows.indices] if self.scale.size > 1 else rows.data.copy()
        scaled = sp.csr_array((data, rows.indices, rows.indptr), shape=rows.shape)
        if self.unit_norm:
            norms = np.sqrt(np.asarray(scaled.multiply(scaled).sum(axis=1)).ravel())
            scaled.data /= np.repeat(np.maximum(norms, 1e-12), np.diff(rows.indptr)).astype(data.dtype)
        return scaled

    def undo(self, rows: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Back to the user's numbers, as far as that is possible: norm and mean of a row are not known any more.

        Of a row with ranks the columns are taken, and the ranks left; of an image with edges the pixels.
        """
        if self.ranks is not None:
            rows = rows[:, : self.scale.size]
        elif self.edges is not None:
            rows = rows[:, : self.edges.n_pixels].reshape(-1, *self.edges.shape)
        values = np.sinh(rows) if self.tame else rows
        restored: npt.NDArray[np.float64] = values * self.scale + self.center
        return restored


def fit_preprocessor(
    X: npt.NDArray[Any] | sp.csr_array, *, scaling: str = "auto", tame: bool, unit_norm: bool | str = "auto"
) -> Preprocessor:
    """Learn location and spread from the rows.

    =============================== ================ ===================
    rows                            scaling="auto"   unit_norm="auto"
    =============================== ================ ===================
    table                           "robust"         no
    table of vectors                "none"           yes
    sparse                          "none"           yes
    images                          "contrast"       yes
    images, ``unit_norm=False``     "unit-cube"      no
    =============================== ================ ===================

    "unit-cube" brings all values to [-1, 1] by one shift and scale; "contrast" also takes 60 % of its own mean off each
    row. "auto-paper" is "auto", but for images "unit-cube", as in the paper.

    A table counts as vectors (embeddings, spectra, counts) by :func:`holds_vectors`: there the direction of a row
    carries its meaning, and scaling each column by itself would blow up those that are nearly constant.
    """
    if scaling not in SCALINGS:
        raise ParameterError(f"scaling must be one of {', '.join(map(repr, SCALINGS))}, got {scaling!r}")
    is_image, is_auto = X.ndim > 2, scaling.startswith("auto")
    is_direction = bool(sp.issparse(X)) or is_image
    if is_auto and isinstance(X, np.ndarray) and not is_image:
        is_direction = holds_vectors(X)
    unit_norm = is_direction if unit_norm == "auto" else bool(unit_norm)
    if is_auto and is_image:
        scaling = "contrast" if unit_norm and scaling == "auto" else "unit-cube"
    elif is_auto:
        scaling = "none" if is_direction else "robust"
    if scaling == "none":
        return Preprocessor(np.zeros(1), np.ones(1), False, unit_norm)
    if sp.issparse(X):
        raise ParameterError(f"scaling={scaling!r} would make sparse rows dense; use scaling='none'")
    if scaling in ("unit-cube", "contrast"):
        center, scale = _unit_cube(X)
        return Preprocessor(center, scale, False, unit_norm, BRIGHTNESS_KEPT if scaling == "contrast" else 1.0)
    center, scale = robust_center_and_scale(X.reshape(X.shape[0], -1))
    if is_image:
        center, scale = center.reshape(X.shape[1:]), scale.reshape(X.shape[1:])
    return Preprocessor(center, scale, tame, unit_norm)


def holds_vectors(X: npt.NDArray[Any]) -> bool:
    """Whether the columns of a table are coordinates of one vector rather than measurements of different kinds.

    So it is if there are at least 64 of them, their standard deviations lie within a factor of ten (the middle 80 %),
    and they are not centred: centred columns of one spread were standardised by somebody, who wants their sizes
    compared. Nor may they lie so far from zero that all directions are the same. The columns that a column of words
    becomes do not count: side by side, zeros and ones, one of them a one in every row.

    >>> rng = np.random.default_rng(0)
    >>> holds_vectors(rng.gamma(1.0, size=(100, 256))), holds_vectors(rng.normal(size=(100, 256)))
    (True, False)
    >>> words = np.eye(256)[rng.integers(256, size=100)]
    >>> holds_vectors(words)
    False
    """
    if X.shape[1] < FEWEST_COORDINATES:
        return False
    sample = X[:: -(-X.shape[0] // 5_000)].astype(np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        spread, mean = sample.std(axis=0), sample.mean(axis=0)
        moving = (spread > 0) & np.isfinite(spread) & ~come_of_words(sample)
        if moving.sum() < FEWEST_COORDINATES:
            return False
        low, high = np.quantile(spread[moving], [0.1, 0.9])
        offset = np.median(np.abs(mean[moving]) / spread[moving])
    return bool(high <= 10 * low and 0.1 <= offset <= 10)


def come_of_words(X: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    """Which columns of a table are those of categories: one stands beside the other, and a row has one in one of them.

    >>> come_of_words(np.array([[1, 0, 1, 0.5], [0, 1, 1, 0.1], [0, 1, 0, 0.2]]))
    array([ True,  True, False, False])
    """
    found = np.zeros(X.shape[1], dtype=bool)
    marks = [column for column in range(X.shape[1]) if np.isin(X[:, column], (0, 1)).all()]
    # A number for each row, drawn at random, so that sums tell sets of rows apart: those of neighbouring columns add up
    # to that of all rows, once, if every row has a single one there.
    numbers = np.random.default_rng(0).integers(2**40, size=len(X))
    total, of_all = 0, int(numbers.sum())
    begins = {of_all: 0}  # by the total at which a group would end
    for place, column in enumerate(marks):
        total += int(numbers[X[:, column] == 1].sum())
        if total in begins:
            found[marks[begins[total] : place + 1]] = True
        begins[total + of_all] = place + 1
    return found


def robust_center_and_scale(
    X: npt.NDArray[Any],
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Median and interquartile range of each column, the latter as the standard deviation of a normal would be.

    Where more than half of the values of a column are equal, quartiles say little of how far the others lie. The spread
    is then at least that of a column whose other values lie as far from the pile as the median of them; if there is no
    interquartile range at all, it is taken from the others alone. A constant column has spread one.

    >>> center, scale = robust_center_and_scale(np.array([[0.0], [1.0], [2.0], [3.0], [1e9]]))
    >>> float(center[0]), round(float(scale[0]), 3)
    (2.0, 1.483)
    """
    step = -(-X.shape[0] // MOST_ROWS)
    sample = X[::step]
    center, scale = np.zeros(X.shape[1]), np.ones(X.shape[1])
    for column in range(X.shape[1]):
        values = sample[:, column].astype(np.float64)
        low, center[column], high = np.quantile(values, [0.25, 0.5, 0.75])
        deviations = np.abs(values - center[column])
        differ = deviations > 0
        if high > low:
            scale[column] = (high - low) / NORMAL_IQR
            if 2 * differ.sum() < len(values):
                half = np.median(deviations[differ] / 2)  # of halves: a median adds two values up
                scale[column] = max(scale[column], 2 * half * np.sqrt(differ.mean()))
        elif differ.any():
            bounded = np.minimum(deviations, np.quantile(deviations, 0.99))
            unit = max(1.0, bounded.max() / 1e150)  # whose square is a number
            scale[column] = unit * np.sqrt(np.mean((bounded / unit) ** 2)) or deviations.max()
    return center, scale


def _asinh(z: Tensor) -> Tensor:
    # Overwrites z. torch's own takes eight times as long on a CPU. Of the absolute value, so that nothing cancels;
    # bounded (at 42 in single precision after the logarithm), so that its square is finite.
    size = z.abs().clamp_max_(torch.finfo(z.dtype).max ** 0.5 / 2)
    one = torch.ones((), dtype=z.dtype, device=z.device)
    # Times the sign: copysign takes twice as long.
    return torch.addcmul(one, size, size).sqrt_().add_(size).log_().mul_(z.sign_())


def _unit_cube(X: npt.NDArray[Any]) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    low, high = (0.0, 255.0) if X.dtype == np.uint8 else (float(X.min()), float(X.max()))
    half = (high - low) / 2
    return np.array([low + half]), np.array([half if half > 0 else 1.0])
