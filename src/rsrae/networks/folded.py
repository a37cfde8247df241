"""The dense autoencoder as it scores: a product and an activation in place for every layer, and nothing else.

In scoring mode a normalisation is a fixed scale and shift, which the weights of the next product take in, and a bias is
one more column of the weights. Items are columns here, ``(width, rows)``: below the activations of every layer lies a
row of ones for the biases, and products with few outputs are fast from this side. Tests hold it to torch's modules.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import NamedTuple

import torch
from torch import Tensor

from rsrae.networks.architecture import ACTIVATIONS, Architecture
from rsrae.networks.batches import Batch, SparseBatch, as_vectors, of_each_member
from rsrae.rsr import row_norms
from rsrae.scoring import cosine_distance, distance, euclidean_distance


class Normalised(NamedTuple):
    """What a normalisation makes of ``y`` in scoring mode: ``scale * y + shift``, each ``(1, width)``."""

    scale: Tensor
    shift: Tensor


class Linear(NamedTuple):
    """A layer of one member: ``x W + b``, the activation (not A), then perhaps the normalisation."""

    W: Tensor  # (in, out)
    b: Tensor | None  # (1, out)
    after: Normalised | None = None


class FoldedMember:
    """The weights of one member: of the first layer, of all products between, and of the output layer."""

    def __init__(self, encoder: Sequence[Linear], A: Tensor, decoder: Sequence[Linear], V: Tensor) -> None:
        self.W, b, before = encoder[0]
        self.W_t = self.W.mT
        self.b = self.W.new_zeros(self.W.shape[1], 1) if b is None else b.mT
        self.between: list[Tensor] = []  # (out, in + 1), A among them
        for W, b, after in (*encoder[1:], Linear(A, None), *decoder):
            b = W.new_zeros(1, W.shape[1]) if b is None else b
            self.between.append(fold(torch.cat([W, b]).mT, before).contiguous())
            before = after
        self.V = fold(V, before)  # (columns, width + 1)
        self.latents = encoder[-1].after

    @cached_property
    def gram(self) -> Tensor:
        """``V'V``."""
        return self.V.mT @ self.V


def fold(weights: Tensor, before: Normalised | None) -> Tensor:
    """Weights ``(out, in + 1)``, the bias last, for the input as it is before its normalisation."""
    if before is None:
        return weights
    rest = weights[:, :-1]
    return torch.cat([rest * before.scale, weights[:, -1:] + rest @ before.shift.mT], dim=1)


class FoldedNetwork:
    """The members of a dense network, ready to score until its parameters move; any number of threads may use it.

    ``weights`` say how much the values of an item count in its score, ``(columns,)``; None: all the same.
    """

    def __init__(
        self, architecture: Architecture, members: Sequence[FoldedMember], weights: Tensor | None = None
    ) -> None:
        self.n_members = len(members)
        self._weights = None if weights is None else weights.to(members[0].V)
        self._members = members
        self._n_encoding = len(architecture.hidden) - 1  # products between that come before A
        self._normalises_code = architecture.normalise_code
        self._activate = ACTIVATIONS[architecture.activation].forward
        self._activate_output = ACTIVATIONS[architecture.output_activation].forward
        self._is_linear = architecture.output_activation == "linear"
        self._own = threading.local()

    def encode(self, batch: Batch) -> Tensor:
        """The latents, ``(members, rows, D)``."""
        return self._for_each(batch, self._latents)

    def reconstruct(self, batch: Batch) -> Tensor:
        """``x_hat``, dense, with the shape of the batch."""
        return self._for_each(batch, self._output).view(self.n_members, *batch.shape[1:])

    def errors(self, batch: Batch, scored_by: str) -> Tensor:
        """The score of every row, ``(members, rows)``.

        With a linear output layer no sparse row is made dense, but for the Manhattan distance, which has no such form.
        """

        def errors(member: FoldedMember, x: Batch) -> Tensor:
            weights = self._weights
            if isinstance(x, SparseBatch) and self._is_linear and scored_by != "manhattan" and weights is None:
                return self._sparse_errors(member, x, scored_by)
            dense, x_hat = (x.to_dense() if isinstance(x, SparseBatch) else x)[0], self._output(member, x)
            if weights is not None:
                dense, x_hat = dense * weights, x_hat.mul_(weights)
            return distance(dense, x_hat, scored_by, in_place=True)

        return self._for_each(batch, errors)

    def _for_each(self, batch: Batch, work: Callable[[FoldedMember, Batch], Tensor]) -> Tensor:
        # Scoring shows every member the same rows, training may ask each for its own. One member after the other:
        # what they write into is then small enough for the cache of a core.
        batch = as_vectors(batch)
        own_rows = [batch] * self.n_members if batch.shape[0] == 1 else of_each_member(batch)
        return torch.stack([work(member, x) for member, x in zip(self._members, own_rows, strict=True)])

    def _latents(self, member: FoldedMember, x: Batch) -> Tensor:
        y = self._activations(member, x, self._n_encoding)[:-1].mT
        if member.latents is None:
            return y.clone()
        return torch.addcmul(member.latents.shift, y, member.latents.scale)

    def _activations(self, member: FoldedMember, x: Batch, n_between: int) -> Tensor:
        """What comes out of the first layer and so many products after it, ``(width + 1, rows)``."""
        space = self._space(member, x.shape[1])
        y, inside = space[0]
        if isinstance(x, SparseBatch):
            torch.add(x.product(member.W.unsqueeze(0))[0].mT, member.b, out=inside)
        else:
            torch.addmm(member.b, member.W_t, x[0].mT, out=inside)
        self._activate(inside)
        for number in range(n_between):
            following, inside = space[number + 1]
            torch.mm(member.between[number], y, out=inside)
            if number != self._n_encoding:
                self._activate(inside)
            elif self._normalises_code:
                inside.div_(row_norms(inside.mT))
            y = following
        return y

    def _output(self, member: FoldedMember, x: Batch) -> Tensor:
        h = self._activations(member, x, len(member.between))
        return self._activate_output(torch.mm(h.mT, member.V.mT))  # (rows, columns)

    def _sparse_errors(self, member: FoldedMember, x: SparseBatch, scored_by: str) -> Tensor:
        # With V the output layer: x_hat = V h, so x . x_hat = (x V) . h and ||x_hat||**2 = h' V'V h.
        h = self._activations(member, x, len(member.between)).mT
        inner = (x.product(member.V.unsqueeze(0))[0] * h).sum(-1)
        square_x_hat = ((h @ member.gram) * h).sum(-1)
        square_x = x.square_norms[0]
        if scored_by == "cosine":
            return cosine_distance(inner, square_x, square_x_hat)
        return euclidean_distance(square_x - 2 * inner + square_x_hat)

    def _space(self, member: FoldedMember, n_rows: int) -> list[tuple[Tensor, Tensor]]:
        """Memory of this thread for all activations: with the row of ones, and without."""
        # Fresh memory for every block would cost as much as the arithmetic. The decoder writes over what the encoder
        # left behind, which keeps more of it in the cache; two layers in a row never share.
        if getattr(self._own, "n_rows", None) != n_rows:
            widths = [len(weights) for weights in (member.b, *member.between)]
            kinds = [(width, number % 2) for number, width in enumerate(widths)]
            ones = {kind: member.b.new_ones(kind[0] + 1, n_rows) for kind in kinds}
            self._own.space, self._own.n_rows = [(ones[kind], ones[kind][:-1]) for kind in kinds], n_rows
        space: list[tuple[Tensor, Tensor]] = self._own.space
        return space
