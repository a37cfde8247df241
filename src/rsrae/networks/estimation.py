"""The estimation network of DAGMM and the Gaussian mixture that its memberships define."""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor, nn

from rsrae.networks.modules import initialise_glorot

SHARE_FLOOR = 1e-12  # a component that no row belongs to has weight zero, not a division by it


class EstimationNetwork(nn.Module):
    """Soft memberships of rows in the components of a mixture.

    Examples
    --------
    >>> network = EstimationNetwork(5, 10, 4, generator=torch.Generator().manual_seed(0)).eval()
    >>> network(torch.zeros(3, 5)).sum(dim=1)
    tensor([1., 1., 1.], grad_fn=<SumBackward1>)
    """

    def __init__(
        self,
        n_features: int,
        width: int,
        n_components: int,
        *,
        dropout: float = 0.5,
        generator: torch.Generator,
    ) -> None:
        super().__init__()
        self.hidden = nn.Linear(n_features, width)
        self.output = nn.Linear(width, n_components)
        self.dropout = dropout
        initialise_glorot(self, generator)

    def forward(self, z: Tensor, generator: torch.Generator | None = None) -> Tensor:
        """``(rows, features) -> (rows, components)``; dropout while training, drawn from ``generator``."""
        h = self.hidden(z).tanh()
        if self.training and self.dropout > 0:
            # torch's own dropout draws from the global generator.
            kept = torch.rand(h.shape, generator=generator).ge_(self.dropout).to(h)
            h = h * kept / (1 - self.dropout)
        return torch.softmax(self.output(h), dim=1)


class Mixture(NamedTuple):
    """A Gaussian mixture; covariances as their Cholesky factors, so that none is ever inverted."""

    weights: Tensor  # (components,)
    means: Tensor  # (components, features)
    factors: Tensor  # (components, features, features), lower triangular

    def variances(self) -> Tensor:
        """The diagonals of the covariances, ``(components, features)``."""
        return self.factors.square().sum(dim=-1)


def fit_mixture(z: Tensor, memberships: Tensor, floor: float) -> Mixture:
    """The mixture of maximal expected likelihood; ``floor`` is added to every variance."""
    mass = memberships.sum(dim=0).clamp_min(SHARE_FLOOR)  # (components,)
    means = (memberships.mT @ z) / mass[:, None]
    centred = z[None] - means[:, None]  # (components, rows, features)
    weighted = centred * (memberships.mT / mass[:, None])[..., None]
    covariances = weighted.mT @ centred + floor * torch.eye(z.shape[1], dtype=z.dtype, device=z.device)
    return Mixture(mass / z.shape[0], means, torch.linalg.cholesky(covariances))


def mixture_energy(z: Tensor, mixture: Mixture) -> Tensor:
    """Minus the log-density of each row, ``(rows, features) -> (rows,)``.

    >>> one = Mixture(torch.ones(1), torch.zeros(1, 2), torch.eye(2)[None])
    >>> mixture_energy(torch.zeros(1, 2), one)  # log(2 pi)
    tensor([1.8379])
    """
    centred = (z[None] - mixture.means[:, None]).mT  # (components, features, rows)
    standard = torch.linalg.solve_triangular(mixture.factors, centred, upper=False)
    half_log_det = mixture.factors.diagonal(dim1=-2, dim2=-1).log().sum(-1)  # (components,)
    constant = 0.5 * z.shape[1] * math.log(2 * math.pi)
    log_weights = mixture.weights.clamp_min(SHARE_FLOOR).log()
    log_densities = log_weights - half_log_det - constant - 0.5 * standard.square().sum(dim=1).mT
    return -torch.logsumexp(log_densities, dim=1)
