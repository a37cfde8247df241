"""DAGMM: Zong, Song, Min, Cheng, Lumezanu, Cho and Chen, "Deep Autoencoding Gaussian Mixture Model for
Unsupervised Anomaly Detection", ICLR 2018.

An autoencoder (the compression network) gives each row a code and two numbers that say how well it was
reconstructed; an estimation network assigns these features softly to the components of a Gaussian mixture;
the score is the mixture's energy, minus the log-density. Both networks are trained together.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from rsrae.detectors.base import Rows, check_count, check_number
from rsrae.detectors.neural import EncodingDetector
from rsrae.errors import ParameterError
from rsrae.networks.autograd import channels_first
from rsrae.networks.batches import Batch
from rsrae.networks.estimation import EstimationNetwork, Mixture, fit_mixture, mixture_energy
from rsrae.networks.modules import Autoencoder, build_module
from rsrae.rsr import row_norms

ESTIMATION_WIDTH = 10
N_ERROR_FEATURES = 2


class DAGMM(EncodingDetector):
    """Deep autoencoding Gaussian mixture model (Zong et al. 2018).

    Minimises ``mean ||x - x_hat||^2 + lambda1 * mean energy + lambda2 * sum 1 / variances``, the mixture of
    each batch being that of its memberships. After training the mixture of all rows is computed once and
    kept; scores of new rows use it and so do not depend on the rows beside them.

    Parameters
    ----------
    n_components : components of the mixture.
    lambda1 : weight of the energy.
    lambda2 : weight of the penalty on small variances.
    dropout : share of the estimation network's hidden units dropped while training.
    covariance_floor : added to every variance, so that no covariance is singular.
    **common : see :class:`rsrae.detectors.neural.EncodingDetector`.

    Notes
    -----
    Differs from the published code: the networks have the layers of RSRAE's; the energy is computed from
    Cholesky factors in double precision by log-sum-exp, where others invert the covariances in single
    precision and clip; and the mixture kept for scoring is that of all training rows, not of the last batch.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = np.vstack([rng.normal(size=(100, 6)), rng.normal(8, 1, size=(5, 6))])
    >>> detector = DAGMM(epochs=30, random_state=0).fit(X)
    >>> bool(detector.anomaly_score(X[100:]).mean() > detector.anomaly_score(X[:100]).mean())
    True
    """

    module_: _CompressionAndEstimation

    def __init__(
        self,
        *,
        n_components: int = 4,
        lambda1: float = 0.1,
        lambda2: float = 0.005,
        dropout: float = 0.5,
        covariance_floor: float = 1e-3,
        **common: Any,
    ) -> None:
        super().__init__(**common)
        self.n_components = n_components
        self.lambda1 = lambda1
        self.lambda2 = lambda2
        self.dropout = dropout
        self.covariance_floor = covariance_floor

    def _build(self, settings: dict[str, Any], generator: torch.Generator) -> nn.Module:
        compression = build_module(self._architecture(settings), generator)
        n_features = self.intrinsic_dim + N_ERROR_FEATURES
        estimation = EstimationNetwork(
            n_features, ESTIMATION_WIDTH, self.n_components, dropout=self.dropout, generator=generator
        )
        return _CompressionAndEstimation(compression, estimation, n_features, self.n_components)

    def _least_size(self) -> int:
        return super()._least_size() + self.n_components * self.intrinsic_dim**2

    def _loss(self, batch: Batch, generator: torch.Generator) -> Tensor:
        z, memberships, errors = self.module_(channels_first(batch), generator)
        # Twelve numbers a row: double precision costs nothing here and keeps the factors stable.
        z, memberships = z.double(), memberships.double()
        mixture = fit_mixture(z, memberships, self.covariance_floor)
        energy = mixture_energy(z, mixture).mean()
        penalty = mixture.variances().reciprocal().sum()
        # The weights are meant for entries of about one; those of rows of unit norm are smaller.
        unit = self.n_features_in_ if self.preprocessor_.unit_norm else 1
        reconstruction: Tensor = errors.square().mean() * unit
        return reconstruction + (self.lambda1 * energy + self.lambda2 * penalty).float()

    def _after_training(self, X: Rows) -> None:
        passes = [self.module_(x) for x in self._blocks(X)]
        z, memberships = (torch.cat([p[i] for p in passes]) for i in range(2))
        self.module_.keep(fit_mixture(z, memberships, self.covariance_floor))

    def _row_scores(self, x: Tensor) -> Tensor:
        return mixture_energy(self.module_(x)[0], self.module_.mixture)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_count("n_components", self.n_components)
        check_number("lambda1", self.lambda1, positive=False)
        check_number("lambda2", self.lambda2, positive=False)
        check_number("covariance_floor", self.covariance_floor)
        check_number("dropout", self.dropout, positive=False)
        if self.dropout >= 1:
            raise ParameterError(f"dropout must lie in [0, 1), got {self.dropout}")


class _CompressionAndEstimation(nn.Module):
    weights: Tensor
    means: Tensor
    factors: Tensor

    def __init__(
        self, compression: Autoencoder, estimation: EstimationNetwork, n_features: int, n_components: int
    ) -> None:
        super().__init__()
        self.compression = compression
        self.estimation = estimation
        # The mixture of the training rows, filled after training.
        self.register_buffer("weights", torch.zeros(n_components))
        self.register_buffer("means", torch.zeros(n_components, n_features))
        self.register_buffer("factors", torch.zeros(n_components, n_features, n_features))

    @property
    def mixture(self) -> Mixture:
        return Mixture(self.weights, self.means, self.factors)

    def keep(self, mixture: Mixture) -> None:
        for buffer, tensor in zip(self.mixture, mixture, strict=True):
            buffer.copy_(tensor)

    def forward(self, x: Tensor, generator: torch.Generator | None = None) -> tuple[Tensor, Tensor, Tensor]:
        _, code, x_hat = self.compression(x)
        x, x_hat = x.flatten(start_dim=1), x_hat.flatten(start_dim=1)
        errors, norms, norms_hat = row_norms(x - x_hat), row_norms(x), row_norms(x_hat)
        cosine = (x * x_hat).sum(dim=1) / (norms * norms_hat)
        z = torch.cat([code, (errors / norms)[:, None], cosine[:, None]], dim=1)
        return z, self.estimation(z, generator), errors
