"""DRAE: Xia, Cao, Wen, Hua and Sun, "Learning Discriminative Reconstructions for Unsupervised Outlier
Removal", ICCV 2015.

Reconstruction errors of a dirty data set fall into two groups. A line between them is drawn where the
variance within the groups is smallest; the network then learns to reconstruct the items below the line, and
to pull the two groups apart.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor

from rsrae.detectors.autoencoders import AutoencoderDetector
from rsrae.detectors.base import check_number
from rsrae.networks.batches import Batch
from rsrae.networks.network import Network
from rsrae.networks.rows import AnyRows
from rsrae.training import Adam, Selection, Selector, Step


class Discrimination(NamedTuple):
    """The loss over squared errors, and its derivative in them."""

    loss: Tensor  # (...)
    gradient: Tensor  # (..., rows)


def two_group_line(errors: Tensor) -> Tensor:
    """The largest error of the lower group, when two groups are made with the least variance within; last
    axis.

    >>> two_group_line(torch.tensor([1.0, 9.0, 2.0, 8.0, 1.5]))
    tensor(2.)
    """
    ordered = errors.sort(dim=-1).values
    n = ordered.shape[-1]
    below = torch.arange(1, n, dtype=ordered.dtype, device=ordered.device)  # sizes of the lower group
    sums = ordered.cumsum(dim=-1)
    low, high = sums[..., :-1] / below, (sums[..., -1:] - sums[..., :-1]) / (n - below)
    # Least variance within is most variance between.
    best = (below * (n - below) * (high - low).square()).argmax(dim=-1, keepdim=True)
    return ordered.gather(-1, best).squeeze(-1)


def discrimination(errors: Tensor, is_inlier: Tensor, weight: float) -> Discrimination:
    """``mean of the inliers' errors + weight * (variance within the two groups / total variance)``.

    The ratio does not change when a constant is added to all errors, so its derivatives sum to zero, and
    those of the whole loss to one.

    >>> discrimination(torch.tensor([1.0, 1.0, 5.0]), torch.tensor([True, True, False]), 0.1).loss
    tensor(1.)
    """
    inliers = is_inlier.to(errors)
    n_inliers = inliers.sum(dim=-1, keepdim=True).clamp_min(1)
    n_outliers = (1 - inliers).sum(dim=-1, keepdim=True).clamp_min(1)
    inlier_mean = (errors * inliers).sum(dim=-1, keepdim=True) / n_inliers
    outlier_mean = (errors * (1 - inliers)).sum(dim=-1, keepdim=True) / n_outliers
    from_group = errors - torch.where(is_inlier, inlier_mean, outlier_mean)
    from_mean = errors - errors.mean(dim=-1, keepdim=True)
    total = from_mean.square().sum(dim=-1, keepdim=True).clamp_min(torch.finfo(errors.dtype).tiny)
    ratio = from_group.square().sum(dim=-1, keepdim=True) / total
    gradient = inliers / n_inliers + weight * 2 * (from_group - ratio * from_mean) / total
    return Discrimination((inlier_mean + weight * ratio).squeeze(-1), gradient)


class DRAE(AutoencoderDetector):
    """Discriminative reconstruction autoencoder (Xia et al. 2015).

    Before every epoch a line is drawn through the squared errors of its items (:func:`two_group_line`); each
    step then minimises the loss of :func:`discrimination` over a batch with the groups held fixed.

    Parameters
    ----------
    discrimination_weight : lambda, weight of the ratio of variances.
    **common : see :class:`rsrae.detectors.autoencoders.AutoencoderDetector`.

    Notes
    -----
    Differs from the published method: the layers are RSRAE's; the ratio is taken over a batch; items are
    scored, as in all detectors here, by ``score``, not only split by the line.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = np.vstack([rng.normal(size=(100, 2)) @ rng.normal(size=(2, 6)), rng.normal(0, 3, size=(5, 6))])
    >>> detector = DRAE(epochs=30, random_state=0).fit(X)
    >>> bool(detector.anomaly_score(X[100:]).mean() > detector.anomaly_score(X[:100]).mean())
    True
    """

    def __init__(self, *, discrimination_weight: float = 0.1, **common: Any) -> None:
        super().__init__(**common)
        self.discrimination_weight = discrimination_weight

    def _steps(self, network: Network) -> list[Step[Batch]]:
        optimiser = Adam(network.parameters, network.gradients, self.learning_rate)

        def gradient(batch: Batch, weights: Tensor | None) -> Tensor:
            errors = network.errors(batch, "euclidean").square()  # (members, rows)
            loss, in_errors = discrimination(errors, errors <= self._line, self.discrimination_weight)
            # The derivatives sum to one, which is what a weighted mean of squared errors asks of its weights.
            network.gradient(batch, 2.0, in_errors, None)
            return loss.unsqueeze(-1)

        return [Step("discrimination", gradient, optimiser)]

    def _selection(self, network: Network, rows: AnyRows) -> Selector:
        trimming = super()._selection(network, rows)

        def select(epoch: int, among: Tensor) -> Selection:
            blocks = (rows if len(among) == rows.n_rows else rows.only(among)).blocks()
            squares = [network.errors(batch, "euclidean").square() for batch in blocks]
            # Networks are trained one after the other: the line is that of the one at work.
            self._line = two_group_line(torch.cat(squares, dim=-1)).unsqueeze(-1)  # (members, 1)
            return trimming(epoch, among) if trimming else Selection(among.expand(network.n_members, -1))

        return select

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_number("discrimination_weight", self.discrimination_weight, positive=False)
