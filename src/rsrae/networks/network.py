"""What every network offers to training and scoring, and the steps of the paper's schemes over it.

All parameters of a network lie in one flat buffer, in the order encoder, A, decoder, and so do their gradients:
an update is one kernel call over a slice, and "A only" or "encoder and A" are slices.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Literal, NamedTuple, Protocol

import torch
from torch import Tensor

from rsrae.networks.architecture import Architecture
from rsrae.networks.batches import Batch, SparseBatch
from rsrae.rsr import gram_excess, orthogonality_gradient, projection_gradient, sum_of_squares
from rsrae.scoring import distance
from rsrae.training import Adam, Step

Scope = Literal["A", "encoder"]


class Joint(NamedTuple):
    """The weights of the RSR losses where they are minimised together with the reconstruction (RSRAE+)."""

    lambda1: float
    lambda2: float
    q: float = 1.0


class Scorer(Protocol):
    """What scores rows: a network, what a network makes of itself for scoring, or neighbours."""

    n_members: int

    def reconstruct(self, batch: Batch) -> Tensor:
        """``x_hat`` in scoring mode, with the shape of the batch."""
        ...

    def errors(self, batch: Batch, scored_by: str) -> Tensor:
        """The score of every row, ``(members, rows)``."""
        ...


class Weighted:
    """A network that scores rows by residuals whose values count by their weights, ``(m,)``."""

    def __init__(self, network: Scorer, weights: Tensor) -> None:
        self.n_members = network.n_members
        self._network, self._weights = network, weights

    def reconstruct(self, batch: Batch) -> Tensor:
        """As the network does."""
        return self._network.reconstruct(batch)

    def errors(self, batch: Batch, scored_by: str) -> Tensor:
        """The score of every row, ``(members, rows)``."""
        x = (batch.to_dense() if isinstance(batch, SparseBatch) else batch).flatten(start_dim=2)
        weights = self._weights.to(x)
        x_hat = self._network.reconstruct(batch).flatten(start_dim=2)
        return distance(x * weights, x_hat.mul_(weights), scored_by, in_place=True)


class Network(ABC):
    """k members of one architecture, trained and scored as one program."""

    architecture: Architecture
    n_members: int
    uses_autograd: bool = False
    keeps_graph: bool = False  # whether encoder_gradient is asked for after gradient
    parameters: Tensor  # flat
    gradients: Tensor  # flat
    A: Tensor  # (members, D, d), a view into parameters
    identity: Tensor  # what A'A should be, (members, d, d): zeros where a member has fewer dimensions
    A_bounds: tuple[int, int]  # where A lies in the flat buffer
    excess: Tensor | None = None  # A'A - I, where a step left it for the next one of the same batch

    @abstractmethod
    def gradient(self, batch: Batch, p: float, weights: Tensor | None, joint: Joint | None) -> Tensor:
        """The terms, ``(members, rows)``, whose mean is the loss; ``gradients`` and ``latent`` are left filled."""

    @property
    @abstractmethod
    def latent(self) -> Tensor:
        """The encoder's output for the batch of the last ``gradient``, ``(members, rows, D)``."""

    @property
    @abstractmethod
    def code(self) -> Tensor:
        """``A'z`` for the batch of the last ``gradient``, before it is normalised, ``(members, rows, d)``."""

    @abstractmethod
    def encoder_gradient(self, in_latent: Tensor, out: Tensor) -> None:
        """Write the encoder's gradient, given that of the last batch's latents, into the flat ``out``."""

    @abstractmethod
    def encode(self, batch: Batch) -> Tensor:
        """The latents, in scoring mode, ``(members, rows, D)``."""

    @abstractmethod
    def reconstruct(self, batch: Batch) -> Tensor:
        """``x_hat`` in scoring mode, with the shape of the batch."""

    def errors(self, batch: Batch, scored_by: str) -> Tensor:
        """The score of every row, ``(members, rows)``."""
        x = (batch.to_dense() if isinstance(batch, SparseBatch) else batch).flatten(start_dim=2)
        return distance(x, self.reconstruct(batch).flatten(start_dim=2), scored_by)

    def for_scoring(self, weights: Tensor | None = None) -> Scorer:
        """What scores many batches, until parameters move; ``weights`` of the values of an item, ``(m,)``, if any."""
        return self if weights is None else Weighted(self, weights)

    @abstractmethod
    def state(self) -> dict[str, Tensor]:
        """Everything that scoring needs, by name; parameters and running statistics."""

    @abstractmethod
    def load_state(self, state: dict[str, Tensor]) -> None:
        """Take over what ``state`` gave."""

    @abstractmethod
    def to(self, *, dtype: torch.dtype | None = None, device: torch.device | str | None = None) -> Network:
        """A copy with another number type or on another device."""


def reconstruction_step(
    network: Network, *, p: float, learning_rate: float, threshold: float = 0.0, joint: Joint | None = None
) -> Step[Batch]:
    """Minimise L_AE^p (with ``joint``, the whole loss of RSRAE+) in all parameters."""
    optimiser = Adam(network.parameters, network.gradients, learning_rate)

    def gradient(batch: Batch, weights: Tensor | None) -> Tensor:
        network.excess = None
        return network.gradient(batch, p, weights, joint)

    return Step("reconstruction", gradient, optimiser, threshold)


def projection_step(
    network: Network, *, q: float, learning_rate: float, scope: Scope = "A", threshold: float = 0.0
) -> Step[Batch]:
    """Minimise RSR1 in A (the paper's text), or in the encoder and A (the authors' code).

    The latents are those of the reconstruction step of the same batch: no second pass through the encoder.
    """
    start, stop = network.A_bounds
    first = start if scope == "A" else 0
    network.keeps_graph = network.keeps_graph or scope == "encoder"
    buffer = torch.zeros_like(network.gradients[first:stop])
    in_A_t = _as_A(buffer[start - first :], network).mT
    optimiser = Adam(network.parameters[first:stop], buffer, learning_rate)

    def gradient(batch: Batch, weights: Tensor | None) -> Tensor:
        A, code = network.A, network.code
        network.excess = excess = gram_excess(A, network.identity)
        terms, _, in_latent = projection_gradient(
            network.latent, A, excess, q, weights, code=code, with_latent=scope == "encoder", out=in_A_t
        )
        if in_latent is not None:
            network.encoder_gradient(in_latent, buffer)
        return terms

    return Step("projection", gradient, optimiser, threshold)


def orthogonality_step(network: Network, *, learning_rate: float, threshold: float = 0.0) -> Step[Batch]:
    """Minimise RSR2 in A."""
    start, stop = network.A_bounds
    buffer = torch.zeros_like(network.gradients[start:stop])
    in_A_t = _as_A(buffer, network).mT
    optimiser = Adam(network.parameters[start:stop], buffer, learning_rate)

    def gradient(batch: Batch, weights: Tensor | None) -> Tensor:
        A, excess = network.A, network.excess
        network.excess = None  # taken once: A moves before there is a next time
        if excess is None:
            excess = gram_excess(A, network.identity)
        orthogonality_gradient(A, excess, out=in_A_t)
        return excess

    return Step("orthogonality", gradient, optimiser, threshold, loss=sum_of_squares)


def copy_exactly(target: Tensor, source: Tensor) -> None:
    """Copy a tensor of the same shape; torch's own copy would repeat a smaller one."""
    if target.shape != source.shape:
        raise ValueError(f"a tensor of shape {tuple(target.shape)} is needed, got {tuple(source.shape)}")
    target.copy_(source)


def _as_A(flat: Tensor, network: Network) -> Tensor:
    # A may be stored either way round; its gradient must lie in the flat buffer as A itself does.
    return flat.as_strided(network.A.shape, network.A.stride())
