"""RSRAE on what a network learns from telling views of an image apart, and on the pixels.

An autoencoder of pixels sees light and dark. A network that is asked which way an image was turned, mirrored or shifted
has to see what is in it, and needs no labels to be asked (Golan and El-Yaniv 2018). Here its features are not the
answer but the question: they stand beside the pixels in one vector, and RSRAE finds the robust subspace of these.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from rsrae.detectors.base import Rows, check_count
from rsrae.detectors.geometric import TRANSFORMATIONS, ViewDetector, pixel_maps, show
from rsrae.detectors.rsrae import RSRAE
from rsrae.modelfile import Arrays
from rsrae.networks.autograd import channels_first
from rsrae.networks.company import most_alike
from rsrae.networks.rows import AnyRows
from rsrae.networks.wide_resnet import WideResNet
from rsrae.preprocessing import BRIGHTNESS_KEPT, Preprocessor

VIEWS_AN_EPOCH = 3_200
# Turned and mirrored, not shifted: nine times as many views would cost as much, and say little more.
UNSHIFTED = [t for t, (_, right, down, _) in enumerate(TRANSFORMATIONS) if right == down == 0]
CONTRAST = Preprocessor(np.zeros(1), np.ones(1), tame=False, unit_norm=True, brightness=BRIGHTNESS_KEPT)


class ViewsRSRAE(ViewDetector):
    """RSRAE of self-supervised features and pixels; images only.

    A small residual network learns which of 72 transformations was applied to an image, for a few hundred updates only:
    by then it knows what most images share, and not yet the anomalies among them. Its features of an image's eight
    turned and mirrored views, and the image's pixels, are scaled to unit norm each, and an `RSRAE` is fitted
    to both as one vector.

    Parameters
    ----------
    epochs : of the network; an epoch shows 3,200 views, drawn at random, whatever the number of images.
    rsrae_epochs : of the RSRAE: passes over the images, or "auto".
    n_alike : images most like an item, by their vectors, that its score is evened out with, and at most one in fifty;
        see :mod:`rsrae.networks.company`. 0 leaves it out.
    **common : see :class:`rsrae.detectors.geometric.ViewDetector`.

    Attributes
    ----------
    rsrae_ : the fitted `RSRAE` of the vectors.
    """

    module_: WideResNet

    def __init__(self, *, epochs: int = 10, rsrae_epochs: int | str = "auto", n_alike: int = 10, **common: Any) -> None:
        super().__init__(epochs=epochs, **common)
        self.rsrae_epochs = rsrae_epochs
        self.n_alike = n_alike

    def _build(self, settings: dict[str, Any], generator: torch.Generator) -> nn.Module:
        return self._classifier(generator)

    def _training_rows(self, rows: AnyRows) -> _DrawnViews:
        generator = torch.Generator().manual_seed(self._seed())
        return _DrawnViews(rows, pixel_maps(*self.input_shape_[:2]).to(self.device), generator)

    def _loss(self, batch: tuple[Tensor, Tensor], generator: torch.Generator) -> Tensor:
        views, labels = batch
        return nn.functional.cross_entropy(self.module_(views), labels)

    def _after_training(self, X: Rows) -> None:
        vectors = torch.cat([self._vectors(x) for x in self._blocks(X)])
        n_alike = most_alike(self.n_alike, len(vectors))
        self.rsrae_ = self._new_rsrae().set_params(on_epoch=self.on_epoch, n_alike=n_alike).fit(vectors.cpu().numpy())
        self.rsrae_.set_params(on_epoch=None)  # not kept: the caller's is in our own parameters

    def _row_scores(self, x: Tensor) -> Tensor:
        return torch.from_numpy(self.rsrae_.anomaly_score(self._vectors(x).cpu().numpy()))

    def _state(self) -> tuple[dict[str, Any], Arrays]:
        state, arrays = super()._state()
        inner_state, inner_arrays = self.rsrae_._state()
        state["rsrae"] = inner_state
        return state, arrays | {f"rsrae.{name}": a for name, a in inner_arrays.items()}

    @classmethod
    def _upgrade(cls, header: dict[str, Any], arrays: Arrays) -> None:
        super()._upgrade(header, arrays)
        if header["format"] < 7:
            header["parameters"]["n_alike"] = header["state"]["n_alike"] = 0
        if header["format"] < 11:
            arrays["rsrae.company.k"] = np.array([header["state"].pop("n_alike")])

    def _restore(self, state: dict[str, Any], arrays: Arrays) -> None:
        super()._restore(state, arrays)
        n_features = len(UNSHIFTED) * self.module_.output.in_features + self.n_features_in_
        self.rsrae_ = self._new_rsrae()
        self.rsrae_.n_features_in_, self.rsrae_.input_shape_ = n_features, (n_features,)
        prefix = "rsrae."
        inner = {name.removeprefix(prefix): a for name, a in arrays.items() if name.startswith(prefix)}
        self.rsrae_._restore(state["rsrae"], inner)
        self.rsrae_.offset_ = self.offset_

    def _new_rsrae(self) -> RSRAE:
        return RSRAE(
            scaling="none",
            unit_norm=True,
            n_alike=self.n_alike,
            equal_kinds=False,
            crowd=False,
            epochs=self.rsrae_epochs,
            contamination=self.contamination,
            random_state=self._seed(),
            device=self.device,
            n_threads=self.n_threads,
        )

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_count("epochs", self.epochs)  # "auto" would count images
        if self.rsrae_epochs != "auto":
            check_count("rsrae_epochs", self.rsrae_epochs)
        check_count("n_alike", self.n_alike, at_least=0)

    def _vectors(self, x: Tensor) -> Tensor:
        """Features and pixels of images ``(rows, channels, h, w)``, each of unit norm: ``(rows, values)``."""
        maps = pixel_maps(*self.input_shape_[:2])[UNSHIFTED].to(x.device)
        # An image and its views are one batch, so that it has the same features in any company, bit for bit.
        features = [self.module_.features(show(image.expand(len(maps), -1, -1, -1), maps)).flatten() for image in x]
        seen = nn.functional.normalize(torch.stack(features))
        return torch.cat([seen, CONTRAST.apply(x.flatten(start_dim=1))], dim=1)


class _DrawnViews:
    """Views drawn at random from all views of all images; the number of a row says nothing."""

    n_rows = VIEWS_AN_EPOCH

    def __init__(self, rows: AnyRows, maps: Tensor, generator: torch.Generator) -> None:
        self._rows, self._maps, self._generator = rows, maps, generator

    def take(self, index: Tensor) -> tuple[Tensor, Tensor]:
        images = torch.randint(self._rows.n_rows, index.shape, generator=self._generator)
        labels = torch.randint(len(self._maps), index.shape[1:], generator=self._generator).to(self._maps.device)
        return show(channels_first(self._rows.take(images)), self._maps[labels]), labels
