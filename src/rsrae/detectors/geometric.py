"""GT: Golan and El-Yaniv, "Deep Anomaly Detection Using Geometric Transformations", NeurIPS 2018.

A network learns which of 72 transformations was applied to an image. On images like those it was trained on
its answers have a typical pattern, which a Dirichlet distribution per transformation describes; the score is
minus the log-density of an image's 72 answers, up to constants.

Every transformation moves pixels and computes none, so it is kept as a map from a view's pixels to the
image's: applying one is a look-up, and composing two is a look-up in a look-up.
"""

from __future__ import annotations

import itertools
from typing import Any, ClassVar, NamedTuple

import numpy as np
import torch
from scipy.special import digamma, polygamma
from torch import Tensor, nn

from rsrae.detectors.base import Rows, check_count
from rsrae.detectors.neural import ModuleDetector
from rsrae.errors import InputError, ParameterError
from rsrae.networks.autograd import channels_first
from rsrae.networks.rows import AnyRows
from rsrae.networks.wide_resnet import WIDTHS, WideResNet
from rsrae.thresholds import FloatArray

SMALLEST_SIDE = 4  # below it a shift by a quarter of the side is no shift
LARGEST_SIDE = 1024
LARGEST_ROUNDS = 200


class Transformation(NamedTuple):
    """Mirror, then shift by quarters of the side, then turn by quarters of a circle."""

    flip: bool
    right: int
    down: int
    turns: int


TRANSFORMATIONS = tuple(
    Transformation(*choice) for choice in itertools.product((False, True), (0, -1, 1), (0, -1, 1), (0, 1, 2, 3))
)


def pixel_maps(height: int, width: int) -> Tensor:
    """For each transformation and each pixel of the view, the number of the image's pixel that is shown
    there.

    Views are square, so that quarter turns keep their shape: the shorter side is extended by reflection. What
    a shift uncovers is filled by reflection, too.

    >>> pixel_maps(28, 28).shape, pixel_maps(20, 28).shape
    (torch.Size([72, 784]), torch.Size([72, 784]))
    """
    side = max(height, width)
    pixels = torch.arange(height * width).view(height, width)
    square = _window(pixels, (height - side) // 2, (width - side) // 2, side)
    maps = []
    for flip, right, down, turns in TRANSFORMATIONS:
        view = square.flip(1) if flip else square
        view = _window(view, -down * (side // 4), -right * (side // 4), side)
        maps.append(view.rot90(turns).flatten())
    return torch.stack(maps)


def fit_dirichlet(mean_p: FloatArray, mean_log_p: FloatArray) -> FloatArray:
    """The concentrations of greatest likelihood, from the means of p and log p along the last axis.

    Minka's fixed point iteration, with his Newton step wherever that one comes closer; leading axes are independent
    distributions.

    >>> p = np.random.default_rng(0).dirichlet([1.0, 2.0, 5.0], size=100_000)
    >>> fit_dirichlet(p.mean(axis=0), np.log(p).mean(axis=0)).round(1)
    array([1., 2., 5.])
    """
    mean_p = np.maximum(mean_p, np.finfo(np.float64).tiny)  # an answer may be so sure that the others vanish
    excess = (mean_p * (np.log(mean_p) - mean_log_p)).sum(axis=-1, keepdims=True)
    a: FloatArray = mean_p * ((mean_p.shape[-1] - 1) * np.euler_gamma / np.maximum(excess, 1e-9))
    for _ in range(LARGEST_ROUNDS):
        slope = _likelihood_slope(a, mean_log_p)
        if np.abs(slope).max() < 1e-9:
            break
        step = _newton_step(a, slope)
        is_inside = (step > 0).all(axis=-1, keepdims=True)
        step = np.where(is_inside, step, a)
        is_closer = _largest(_likelihood_slope(step, mean_log_p)) < _largest(slope)
        if not is_closer.all():
            by_fixed_point = _inverse_digamma(digamma(a.sum(axis=-1, keepdims=True)) + mean_log_p)
            step = np.where(is_closer, step, by_fixed_point)
        a = step
    return a


class ViewDetector(ModuleDetector):
    """Base of the detectors whose network tells views of an image apart; images only.

    Parameters
    ----------
    depth : of the wide residual network: 10, 16, 22, ...
    widen : its widening factor; 4 in the publication, which is meant for a GPU.
    **common : see :class:`rsrae.detectors.neural.NeuralDetector`.
    """

    accepts: ClassVar[frozenset[str]] = frozenset({"images"})
    scoring_dtype: ClassVar[torch.dtype] = torch.float32

    def __init__(
        self,
        *,
        depth: int = 10,
        widen: int = 1,
        unit_norm: bool | str = False,
        learning_rate: float = 1e-3,
        **common: Any,
    ) -> None:
        super().__init__(unit_norm=unit_norm, learning_rate=learning_rate, **common)
        self.depth = depth
        self.widen = widen

    def _classifier(self, generator: torch.Generator) -> WideResNet:
        height, width, channels = self.input_shape_
        if not SMALLEST_SIDE <= max(height, width) <= LARGEST_SIDE:
            raise InputError(
                f"images of {height} x {width} pixels: the longer side must have between {SMALLEST_SIDE} and "
                f"{LARGEST_SIDE}; resize them"
            )
        return WideResNet(channels, len(TRANSFORMATIONS), depth=self.depth, widen=self.widen, generator=generator)

    def _least_size(self) -> int:
        return (self.depth - 4) // 6 * 9 * (WIDTHS[-1] * self.widen) ** 2

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_count("depth", self.depth)
        check_count("widen", self.widen)
        if self.depth < 10 or (self.depth - 4) % 6:
            raise ParameterError(f"depth must be 10, 16, 22, ... (6 k + 4), got {self.depth}")


class GeometricTransformations(ViewDetector):
    """Anomaly detection by geometric transformations (Golan and El-Yaniv 2018); images only.

    The default network is a fourteenth of the published one (``widen=4``), which is meant for a GPU.

    Parameters
    ----------
    **common : see :class:`ViewDetector`. An epoch shows all 72 views of every image; the default of 3 is
        ``ceil(200 / 72)``.

    Notes
    -----
    Differs from the published code: a narrower network; images that are not square are extended to squares by
    reflection; shifts are a quarter of the side (there 8 pixels of 32); the scale of the pixels is learnt in ``fit``
    and the same afterwards; probabilities are handled as logarithms, so none is rounded to zero. An image and its
    72 views are one batch when scored: a score is the same in any company, bit for bit.
    """

    module_: _ViewClassifier

    def __init__(self, *, epochs: int = 3, **common: Any) -> None:
        super().__init__(epochs=epochs, **common)

    def _build(self, settings: dict[str, Any], generator: torch.Generator) -> nn.Module:
        classifier = self._classifier(generator)
        return _ViewClassifier(classifier, pixel_maps(*self.input_shape_[:2]))

    def _training_rows(self, rows: AnyRows) -> _Views:
        return _Views(rows, self.module_.maps)

    def _loss(self, batch: tuple[Tensor, Tensor], generator: torch.Generator) -> Tensor:
        views, labels = batch
        return nn.functional.cross_entropy(self.module_(views), labels)

    def _after_training(self, X: Rows) -> None:
        shape = self.module_.concentrations.shape
        sum_p, sum_log_p = torch.zeros(shape, dtype=torch.float64), torch.zeros(shape, dtype=torch.float64)
        for image in self._images(X):
            log_p = self.module_.answers(image)
            sum_log_p += log_p.cpu()
            sum_p += log_p.exp().cpu()
        fitted = fit_dirichlet((sum_p / len(X)).numpy(), (sum_log_p / len(X)).numpy())
        self.module_.concentrations.copy_(torch.from_numpy(fitted))

    def _row_scores(self, x: Tensor) -> Tensor:
        return torch.stack([self.module_.strangeness(image) for image in x])

    def _images(self, X: Rows) -> Any:
        return itertools.chain.from_iterable(self._blocks(X))


class _Views:
    """All views of all images, by number: view t of image i is row ``72 i + t``."""

    def __init__(self, rows: AnyRows, maps: Tensor) -> None:
        self.n_rows = rows.n_rows * len(TRANSFORMATIONS)
        self._rows, self._maps = rows, maps

    def take(self, index: Tensor) -> tuple[Tensor, Tensor]:
        images, labels = index // len(TRANSFORMATIONS), index[0] % len(TRANSFORMATIONS)
        return show(channels_first(self._rows.take(images)), self._maps[labels]), labels


class _ViewClassifier(nn.Module):
    maps: Tensor
    concentrations: Tensor

    def __init__(self, classifier: WideResNet, maps: Tensor) -> None:
        super().__init__()
        self.classifier = classifier
        self.register_buffer("maps", maps, persistent=False)
        # One Dirichlet distribution a transformation, fitted after training.
        self.register_buffer("concentrations", torch.ones(len(maps), len(maps)))

    def forward(self, views: Tensor) -> Tensor:
        logits: Tensor = self.classifier(views)
        return logits

    def answers(self, image: Tensor) -> Tensor:
        views = show(image.expand(len(self.maps), -1, -1, -1), self.maps)
        return torch.log_softmax(self(views).double(), dim=1)

    def strangeness(self, image: Tensor) -> Tensor:
        normality = ((self.concentrations.double() - 1) * self.answers(image)).sum(dim=1)
        return -normality.mean()


def show(images: Tensor, maps: Tensor) -> Tensor:
    """Views of images ``(rows, channels, h, w)``, each by its own map ``(rows, side * side)``; contiguous."""
    n_rows, n_channels = images.shape[:2]
    side = int(maps.shape[1] ** 0.5)
    pixels = images.flatten(start_dim=2)
    views = pixels.gather(2, maps[:, None].expand(-1, n_channels, -1))
    return views.view(n_rows, n_channels, side, side)


def _window(view: Tensor, top: int, left: int, side: int) -> Tensor:
    rows = _reflect(torch.arange(side) + top, view.shape[0])
    columns = _reflect(torch.arange(side) + left, view.shape[1])
    return view[rows][:, columns]


def _reflect(index: Tensor, size: int) -> Tensor:
    # ... 1 0 | 0 1 2 | 2 1 0 | 0 1 ...
    folded = index % (2 * size)
    return torch.where(folded < size, folded, 2 * size - 1 - folded)


def _likelihood_slope(a: FloatArray, mean_log_p: FloatArray) -> FloatArray:
    slope: FloatArray = digamma(a.sum(axis=-1, keepdims=True)) - digamma(a) + mean_log_p
    return slope


def _newton_step(a: FloatArray, slope: FloatArray) -> FloatArray:
    # The Hessian is a diagonal plus a constant, so its inverse is known (Minka 2000, equations 13 to 17).
    diagonal, constant = -polygamma(1, a), polygamma(1, a.sum(axis=-1, keepdims=True))
    shift = (slope / diagonal).sum(axis=-1, keepdims=True) / (1 / constant + (1 / diagonal).sum(axis=-1, keepdims=True))
    step: FloatArray = a - (slope - shift) / diagonal
    return step


def _largest(slope: FloatArray) -> FloatArray:
    largest: FloatArray = np.abs(slope).max(axis=-1, keepdims=True)
    return largest


def _inverse_digamma(y: FloatArray) -> FloatArray:
    x = np.where(y >= -2.22, np.exp(np.minimum(y, 700.0)) + 0.5, -1 / (y + np.euler_gamma))
    for _ in range(5):  # Newton's steps; five give full precision from this start (Minka 2000)
        x = x - (digamma(x) - y) / polygamma(1, x)
    return x
