"""DSEBM: Zhai, Cheng, Lu and Zhang, "Deep Structured Energy Based Models for Anomaly Detection", ICML 2016.

An energy ``E(x) = ||x - b||^2 / 2 - sum_j softplus(code_j(x))`` whose last term comes from a deep encoder. A
step down the energy, ``f(x) = x - grad E(x)``, is a reconstruction, and training it to remove noise is score
matching: no partition function is ever needed.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import softplus

from rsrae.detectors.base import check_choice, check_number
from rsrae.detectors.neural import EncodingDetector
from rsrae.networks.autograd import channels_first
from rsrae.networks.batches import Batch
from rsrae.networks.modules import build_module
from rsrae.rsr import RSRLayer, row_norms


class EnergyNetwork(nn.Module):
    """The energy of a row and the reconstruction one step down its slope.

    Parameters
    ----------
    encoder : maps a batch to latents, which are flattened to ``(rows, D)``.
    experts : the linear map from latents to the inputs of the last softplus.
    input_shape : of one row, channels first.
    """

    def __init__(self, encoder: nn.Module, experts: RSRLayer, input_shape: tuple[int, ...]) -> None:
        super().__init__()
        self.encoder = encoder
        self.experts = experts
        self.expert_bias = nn.Parameter(torch.zeros(experts.A.shape[1]))
        self.visible_bias = nn.Parameter(torch.zeros(input_shape))

    def forward(self, x: Tensor) -> Tensor:
        """``E(x)`` of each row."""
        code = self.experts(self.encoder(x).flatten(start_dim=1)) + self.expert_bias
        prior = (x - self.visible_bias).flatten(start_dim=1).square().sum(dim=1) / 2
        energy: Tensor = prior - softplus(code).sum(dim=1)
        return energy

    def reconstruct(self, x: Tensor) -> Tensor:
        """``x - grad E(x)``, with a graph of its own while training. Nothing bounds its sign."""
        with torch.enable_grad():
            x = x.detach().requires_grad_()
            (slope,) = torch.autograd.grad(self(x).sum(), x, create_graph=self.training)
        return x - slope


def score_matching_loss(network: EnergyNetwork, x: Tensor, noise: Tensor) -> Tensor:
    """The mean over rows of ``||x - f(x + noise)||^2``."""
    return (x - network.reconstruct(x + noise)).flatten(start_dim=1).square().sum(dim=1).mean()


class DSEBM(EncodingDetector):
    """Deep structured energy-based model (Zhai et al. 2016).

    Parameters
    ----------
    scored_by : "energy" (DSEBM-e: ``E(x)``) or "reconstruction" (DSEBM-r: ``||x - f(x)||``, the slope of the
        energy).
    noise : standard deviation of the noise while training, in units of a typical entry: one for tables after robust
        scaling, ``1 / sqrt(columns)`` where rows have unit norm.
    **common : see :class:`rsrae.detectors.neural.EncodingDetector`; ``intrinsic_dim`` is the number of
        experts.

    Notes
    -----
    Differs from the published code: rows of unit norm are scaled up to entries of about one and the noise is of that
    size, where the code the RSRAE paper ran adds a standard deviation of 0.5 to pixels in [-1, 1]; and only the last
    layer is a softplus (there a ReLU), the others follow the same rule as RSRAE's.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = np.vstack([rng.normal(size=(100, 6)), rng.normal(8, 1, size=(5, 6))])
    >>> detector = DSEBM(epochs=30, random_state=0).fit(X)
    >>> bool(detector.anomaly_score(X[100:]).mean() > detector.anomaly_score(X[:100]).mean())
    True
    """

    module_: EnergyNetwork

    def __init__(self, *, scored_by: str = "energy", noise: float = 1.0, **common: Any) -> None:
        super().__init__(**common)
        self.scored_by = scored_by
        self.noise = noise

    def _build(self, settings: dict[str, Any], generator: torch.Generator) -> nn.Module:
        autoencoder = build_module(self._architecture(settings), generator)
        shape = self.input_shape_
        return EnergyNetwork(autoencoder.encoder, autoencoder.rsr, (shape[-1], *shape[:-1]))

    def _loss(self, batch: Batch, generator: torch.Generator) -> Tensor:
        x = self._entries(channels_first(batch))
        noise = torch.randn(x.shape, generator=generator).to(x) * self.noise
        return score_matching_loss(self.module_, x, noise)

    def _row_scores(self, x: Tensor) -> Tensor:
        x = self._entries(x)
        if self.scored_by == "energy":
            energy: Tensor = self.module_(x)
            return energy
        return row_norms((x - self.module_.reconstruct(x)).flatten(start_dim=1)).detach()

    def _entries(self, x: Tensor) -> Tensor:
        # The quadratic term is that of entries of about one. In rows of unit norm they are so small that the softplus
        # is a straight line and the energy no more than a distance to the mean.
        return x * math.sqrt(self.n_features_in_) if self.preprocessor_.unit_norm else x

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_choice("scored_by", self.scored_by, ("energy", "reconstruction"))
        check_number("noise", self.noise)
