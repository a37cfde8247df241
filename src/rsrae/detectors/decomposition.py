"""A row as what an autoencoder can say plus a sparse rest: ``x = l + s``, ``l`` close to ``AE(l)``.

RCAE and RDA both minimise, over the network and the rests,

    mean over rows of  ||x - s - AE(x - s)||^2 / 2 + weight * penalty(s)

in turn: the rest, given the network, by proximal steps; the network, given the rests, by Adam. Here the rests
of a batch are solved for anew at the weights of the moment, instead of being stored for all rows and
refreshed once in a while: there is no second copy of the data, rows that were never trained on are split in
the very same way, and ensembles cost nothing extra.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from rsrae.networks.batches import Batch, SparseBatch
from rsrae.networks.network import Network, Scorer
from rsrae.training import Adam, Step

PENALTIES = ("l1", "l21")


def soft_threshold(x: Tensor, weight: float) -> Tensor:
    """The s that minimises ``(s - x)^2 / 2 + weight * |s|``, entry by entry.

    >>> soft_threshold(torch.tensor([-3.0, 0.5, 2.0]), 1.0)
    tensor([-2., 0., 1.])
    """
    return x.sign() * (x.abs() - weight).clamp_min(0)


def shrink_rows(x: Tensor, weight: float) -> Tensor:
    """The s that minimises ``||s - x||^2 / 2 + weight * ||s||``, row by row (last axis).

    >>> shrink_rows(torch.tensor([[3.0, 4.0], [0.3, 0.4]]), 1.0)
    tensor([[2.4000, 3.2000],
            [0.0000, 0.0000]])
    """
    norms = torch.linalg.vector_norm(x, dim=-1, keepdim=True)
    share: Tensor = 1 - weight / norms.clamp_min(weight)
    return x * share


class Splitter(NamedTuple):
    """Splits rows into what the network explains and the rest.

    ``weight`` is in the units of the preprocessed values: of one entry for "l1", of a row's norm for "l21".
    """

    penalty: str
    weight: float
    rounds: int = 1

    def rest(self, network: Scorer, x: Tensor) -> Tensor:
        """``s`` of rows ``(members, rows, ...)``; each round removes what the network cannot explain."""
        s = torch.zeros_like(x)
        for _ in range(self.rounds):
            s = self._shrink(x - network.reconstruct(x - s))
        return s

    def cost(self, s: Tensor) -> Tensor:
        """``weight * penalty(s)`` of every row, ``(members, rows)``."""
        rows = s.flatten(start_dim=2)
        norms = rows.abs().sum(-1) if self.penalty == "l1" else torch.linalg.vector_norm(rows, dim=-1)
        return self.weight * norms

    def _shrink(self, residual: Tensor) -> Tensor:
        if self.penalty == "l1":
            return soft_threshold(residual, self.weight)
        return shrink_rows(residual.flatten(start_dim=2), self.weight).view_as(residual)


def decomposition_step(
    network: Network, splitter: Splitter, *, learning_rate: float, weight_decay: float = 0.0
) -> Step[Batch]:
    """Split the batch, then move the network towards reconstructing what is left of it."""
    optimiser = Adam(network.parameters, network.gradients, learning_rate)

    def gradient(batch: Batch, weights: Tensor | None) -> Tensor:
        x = to_dense(batch)
        s = splitter.rest(network, x)
        terms = network.gradient(x - s, 2.0, weights, None) / 2 + splitter.cost(s)
        network.gradients.mul_(0.5).add_(network.parameters, alpha=weight_decay)
        return terms

    return Step("decomposition", gradient, optimiser)


def to_dense(batch: Batch) -> Tensor:
    """A batch as one tensor ``(members, rows, ...)``."""
    return batch.to_dense() if isinstance(batch, SparseBatch) else batch
