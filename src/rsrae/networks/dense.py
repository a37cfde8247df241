"""The dense autoencoder with forward and backward pass written by hand.

On a CPU networks of this size are all overhead: autograd's bookkeeping and an optimiser that walks over twenty
small tensors cost several times the arithmetic. Here the pass is a fixed list of matrix products into one flat
gradient buffer, with a leading axis for the members of an ensemble. Tests hold it to autograd.

Sparse rows stay sparse: the first layer needs ``X @ W`` and ``X.T @ G`` only, and with a linear output layer the
loss, its gradient and the cosine need ``X @ V`` and the small matrix ``V'V``, where V is the output layer.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from rsrae.networks.architecture import ACTIVATIONS, NORM_EPS, Activation, Architecture
from rsrae.networks.batches import Batch, SparseBatch, as_vectors
from rsrae.networks.folded import FoldedMember, FoldedNetwork, Linear, Normalised
from rsrae.networks.network import Joint, Network, copy_exactly
from rsrae.rsr import (
    SQUARED_NORM_FLOOR,
    gram_excess,
    initial_subspace,
    narrow_product,
    orthogonality_gradient,
    power_loss_gradient,
    projection_gradient,
    row_norms,
    sum_of_squares,
    weighted_powers,
)

RUNNING_MOMENTUM = 0.1
FLAT = 1e-10  # a variance below it is rounding
NARROW = 16  # products with fewer columns go through narrow_product, which is faster


@dataclass
class _Layer:
    """Linear, activation, normalisation; views into the flat buffers."""

    W: Tensor  # (members, in, out)
    b: Tensor  # (members, 1, out)
    gamma: Tensor | None
    beta: Tensor | None
    W_gradient: Tensor
    b_gradient: Tensor
    gamma_gradient: Tensor | None
    beta_gradient: Tensor | None
    activation: Activation
    uses_batch_statistics: bool
    running_mean: Tensor
    running_var: Tensor

    def forward(self, x: Batch, trace: _Trace) -> Tensor:
        """As in training: with batch statistics, and everything backward needs is kept in the trace."""
        if isinstance(x, SparseBatch):
            y = x.product(self.W).add_(self.b)
        elif self.W.shape[2] < NARROW:
            y = narrow_product(x, self.W).add_(self.b)
        else:
            y = torch.baddbmm(self.b, x, self.W)
        y = self.activation.forward(y)
        if self.gamma is None or self.beta is None:
            trace.append(_Kept(x, y, None, None))
            return y
        if not self.uses_batch_statistics:
            trace.append(_Kept(x, y, None, None))
            return torch.addcmul(self.beta, y, self.gamma)
        var, mean = torch.var_mean(y, dim=1, keepdim=True, correction=0)
        inverse = _inverse_spread(var)
        standard = (y - mean) * inverse
        if y.shape[1] > 1:  # a row alone has no spread, and must not teach the network that there is none
            self.running_mean.lerp_(mean, RUNNING_MOMENTUM)
            self.running_var.lerp_(var, RUNNING_MOMENTUM)
        trace.append(_Kept(x, y, standard, inverse))
        return torch.addcmul(self.beta, standard, self.gamma)

    def in_scoring(self, member: int) -> Linear:
        """The layer of one member in scoring mode, where running statistics make a normalisation affine."""
        W, b = self.W[member], self.b[member]
        if self.gamma is None or self.beta is None:
            return Linear(W, b)
        gamma, beta = self.gamma[member], self.beta[member]
        if not self.uses_batch_statistics:
            return Linear(W, b, Normalised(gamma, beta))
        scale = gamma * _inverse_spread(self.running_var[member])
        return Linear(W, b, Normalised(scale, beta - self.running_mean[member] * scale))

    def backward(self, gradient: Tensor, kept: _Kept, *, needs_input: bool) -> Tensor | None:
        """Fill this layer's gradients; the gradient of its input if anybody needs it."""
        if self.gamma is not None and self.gamma_gradient is not None and self.beta_gradient is not None:
            normalised = kept.activated if kept.standard is None else kept.standard
            torch.sum(gradient, 1, keepdim=True, out=self.beta_gradient)
            torch.sum(gradient * normalised, 1, keepdim=True, out=self.gamma_gradient)
            if kept.standard is None or kept.inverse is None:
                gradient = gradient * self.gamma
            else:
                n_rows = gradient.shape[1]
                gradient = gradient - (self.beta_gradient + kept.standard * self.gamma_gradient) / n_rows
                gradient = gradient.mul_(self.gamma * kept.inverse)
        gradient = self.activation.backward(gradient, kept.activated)
        torch.sum(gradient, 1, keepdim=True, out=self.b_gradient)
        if isinstance(kept.x, SparseBatch):
            kept.x.add_outer(gradient, self.W_gradient.zero_())
        else:
            torch.bmm(kept.x.mT, gradient, out=self.W_gradient)
        if not needs_input:
            return None
        # The decoder's first layer has as few inputs as the code has numbers.
        is_narrow = self.W.shape[1] < NARROW
        return narrow_product(gradient, self.W.mT) if is_narrow else torch.bmm(gradient, self.W.mT)


@dataclass
class _Kept:
    x: Batch
    activated: Tensor
    standard: Tensor | None
    inverse: Tensor | None


_Trace = list[_Kept]


@dataclass
class _Pass:
    encoder: _Trace
    decoder: _Trace
    latent: Tensor
    raw_code: Tensor
    code_norms: Tensor | None  # (members, rows, 1), where the architecture normalises the code
    code: Tensor  # as it enters the decoder
    h: Tensor  # (members, rows, width + 1), the output layer's input with a column of ones


class DenseNetwork(Network):
    """k dense autoencoders with an RSR layer.

    ``generators`` gives each member its own initial values: Glorot's uniform ones for the layers, and the
    architecture's ``initialisation`` for A. Members may differ in the dimension of their subspace
    (``intrinsic_dims``, at most the architecture's): where a row of A and the decoder's row behind it are both
    zero, so are their gradients, and the dimension stays out of use.
    """

    def __init__(
        self,
        architecture: Architecture,
        generators: list[torch.Generator],
        *,
        intrinsic_dims: list[int] | None = None,
        dtype: torch.dtype = torch.float32,
        device: torch.device | str = "cpu",
    ) -> None:
        self.architecture = architecture
        self.n_members = len(generators)
        self.device = torch.device(device)
        self.n_columns = math.prod(architecture.input_shape)
        self._shapes = _parameter_shapes(architecture, self.n_members)
        size = sum(shape.numel() for shape in self._shapes.values())
        self.parameters = torch.zeros(size, dtype=dtype, device=device)
        self.gradients = torch.zeros_like(self.parameters)
        self._statistics: dict[str, Tensor] = {}
        self._wire()
        self._initialise(generators, intrinsic_dims or [architecture.intrinsic_dim] * self.n_members)
        self._pass: _Pass | None = None
        self._buffers: tuple[Tensor, Tensor] | None = None

    # -- training ------------------------------------------------------------------------------------------------

    @property
    def latent(self) -> Tensor:
        """The encoder's output for the batch of the last ``gradient``."""
        return self._last.latent

    @property
    def code(self) -> Tensor:
        """``A'z`` for the batch of the last ``gradient``, before it is normalised."""
        return self._last.raw_code

    def gradient(self, batch: Batch, p: float, weights: Tensor | None, joint: Joint | None = None) -> Tensor:
        """The terms, ``(members, rows)``, whose mean is the loss; all gradients are left in ``gradients``."""
        batch = as_vectors(batch)
        self._pass = kept = self._forward(batch)
        if isinstance(batch, SparseBatch) and self.architecture.output_activation == "linear":
            terms, gradient_h = self._sparse_output_gradient(batch, kept.h, p, weights)
        else:
            terms, gradient_h = self._dense_output_gradient(batch, kept.h, p, weights)

        gradient = gradient_h[..., :-1]  # the column of ones has no gradient
        for layer, trace in zip(reversed(self.decoder), reversed(kept.decoder), strict=True):
            gradient = _must(layer.backward(gradient, trace, needs_input=True))
        if kept.code_norms is not None:
            along = (gradient * kept.code).sum(-1, keepdim=True)
            gradient = (gradient - along * kept.code) / kept.code_norms

        torch.bmm(gradient.mT, kept.latent, out=self._A_gradient.mT)
        in_latent = torch.bmm(gradient, self.A.mT)
        if joint is not None:
            terms = terms + self._add_joint(joint, kept.latent, in_latent, weights)
        self._backward_encoder(in_latent)
        return terms

    def encoder_gradient(self, in_latent: Tensor, out: Tensor) -> None:
        """The encoder's gradient for the last batch, written into ``out``; ``gradients`` is left as it was."""
        end = self.A_bounds[0]
        kept = self.gradients[:end].clone()
        self._backward_encoder(in_latent)
        out[:end].copy_(self.gradients[:end])
        self.gradients[:end].copy_(kept)

    # -- scoring -------------------------------------------------------------------------------------------------

    def for_scoring(self, weights: Tensor | None = None) -> FoldedNetwork:
        """What scores many batches, until parameters move."""
        members = [
            FoldedMember(
                [layer.in_scoring(member) for layer in self.encoder],
                self.A[member],
                [layer.in_scoring(member) for layer in self.decoder],
                self.V[member],
            )
            for member in range(self.n_members)
        ]
        return FoldedNetwork(self.architecture, members, weights)

    def encode(self, batch: Batch) -> Tensor:
        """The latents in scoring mode."""
        return self.for_scoring().encode(batch)

    def reconstruct(self, batch: Batch) -> Tensor:
        """``x_hat`` in scoring mode, dense."""
        return self.for_scoring().reconstruct(batch)

    def errors(self, batch: Batch, scored_by: str) -> Tensor:
        """The score of every row; with a linear output layer no dense row is made of a sparse one."""
        return self.for_scoring().errors(batch, scored_by)

    # -- state ---------------------------------------------------------------------------------------------------

    def state(self) -> dict[str, Tensor]:
        """Parameters and running statistics by name."""
        return {name: view.clone() for name, view in self._views(self.parameters)} | {
            name: tensor.clone() for name, tensor in self._statistics.items()
        }

    def load_state(self, state: dict[str, Tensor]) -> None:
        """Take over what ``state`` gave."""
        for name, view in (*self._views(self.parameters), *self._statistics.items()):
            copy_exactly(view, state[name])

    def to(self, *, dtype: torch.dtype | None = None, device: torch.device | str | None = None) -> DenseNetwork:
        """A copy with another number type or on another device."""
        twin = object.__new__(DenseNetwork)
        twin.architecture, twin.n_members, twin.n_columns = self.architecture, self.n_members, self.n_columns
        twin.device = self.device if device is None else torch.device(device)
        twin._shapes = self._shapes
        twin.parameters = self.parameters.to(device=twin.device, dtype=dtype, copy=True)
        twin.gradients = torch.zeros_like(twin.parameters)
        twin._statistics = {
            name: tensor.to(device=twin.device, dtype=dtype, copy=True) for name, tensor in self._statistics.items()
        }
        twin.identity = self.identity.to(device=twin.device, dtype=dtype)
        twin._pass = twin._buffers = None
        twin._wire()
        return twin

    def __getstate__(self) -> dict[str, Any]:
        # Layers are views into the buffers, and activations are functions: neither can or need be pickled.
        kept = ("architecture", "n_members", "n_columns", "device", "identity", "parameters", "_shapes", "_statistics")
        return {name: getattr(self, name) for name in kept}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.gradients = torch.zeros_like(self.parameters)
        self._pass = self._buffers = None
        self._wire()

    # -- inside --------------------------------------------------------------------------------------------------

    def _forward(self, batch: Batch) -> _Pass:
        encoder: _Trace = []
        decoder: _Trace = []
        x: Batch = batch
        for layer in self.encoder:
            x = layer.forward(x, encoder)
        assert not isinstance(x, SparseBatch)
        latent = x
        raw_code = code = narrow_product(latent, self.A)
        norms = None
        if self.architecture.normalise_code:
            norms = row_norms(code).unsqueeze(-1)
            code = code / norms
        x = code
        for layer in self.decoder:
            x = layer.forward(x, decoder)
        h = torch.nn.functional.pad(x, (0, 1), value=1.0)
        return _Pass(encoder, decoder, latent, raw_code, norms, code, h)

    def _dense_output_gradient(self, x: Batch, h: Tensor, p: float, weights: Tensor | None) -> tuple[Tensor, Tensor]:
        # With many columns these are the largest tensors by far, and fresh memory costs as much as the arithmetic.
        x_hat, residual = self._output_buffers(h)
        activation = ACTIVATIONS[self.architecture.output_activation]
        activation.forward(torch.bmm(h, self.V.mT, out=x_hat))
        if isinstance(x, SparseBatch):
            x.subtract_from(residual.copy_(x_hat))
        else:
            torch.sub(x_hat, x, out=residual)
        terms, gradient = power_loss_gradient(residual, p, weights, in_place=True)
        gradient = activation.backward(gradient, x_hat)
        torch.bmm(gradient.mT, h, out=self._V_gradient)
        return terms, torch.bmm(gradient, self.V)

    def _output_buffers(self, h: Tensor) -> tuple[Tensor, Tensor]:
        shape = (*h.shape[:2], self.n_columns)
        if self._buffers is None or self._buffers[0].shape != shape:
            self._buffers = h.new_empty(shape), h.new_empty(shape)
        return self._buffers

    def _sparse_output_gradient(
        self, x: SparseBatch, h: Tensor, p: float, weights: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        # With V the output layer: x_hat = V h, so x . x_hat = (x V) . h and ||x_hat||**2 = h' V'V h.
        projected = x.product(self.V)  # (members, rows, width + 1)
        lifted = torch.bmm(h, torch.bmm(self.V.mT, self.V))  # V'x_hat
        squares = x.square_norms - 2 * (projected * h).sum(-1) + (lifted * h).sum(-1)
        norms = squares.clamp_min(0).add(SQUARED_NORM_FLOOR).sqrt()
        terms, slopes = weighted_powers(norms, p, weights)
        scale = slopes.unsqueeze(-1).div_(norms.shape[-1])
        scaled = h * scale
        # dL/dV = sum_i s_i (x_hat_i - x_i) h_i' = V (H' S H) - X' S H
        torch.bmm(self.V, torch.bmm(h.mT, scaled), out=self._V_gradient)
        x.add_outer(-scaled, self._V_gradient)
        return terms, (lifted - projected) * scale

    def _add_joint(self, joint: Joint, latent: Tensor, in_latent: Tensor, weights: Tensor | None) -> Tensor:
        excess = gram_excess(self.A, self.identity)
        projection = projection_gradient(latent, self.A, excess, joint.q, weights, with_latent=True)
        penalty = sum_of_squares(excess).unsqueeze(-1)
        self._A_gradient.mT.add_(projection.in_A_t, alpha=joint.lambda1)
        self._A_gradient.mT.add_(orthogonality_gradient(self.A, excess), alpha=joint.lambda2)
        in_latent.add_(_must(projection.in_latent), alpha=joint.lambda1)
        return joint.lambda1 * projection.terms + joint.lambda2 * penalty

    def _backward_encoder(self, gradient: Tensor) -> None:
        trace = self._last.encoder
        for number in range(len(self.encoder) - 1, -1, -1):
            below = self.encoder[number].backward(gradient, trace[number], needs_input=number > 0)
            if below is not None:
                gradient = below

    @property
    def _last(self) -> _Pass:
        assert self._pass is not None, "gradient() comes first"
        return self._pass

    def _wire(self) -> None:
        views = dict(self._views(self.parameters))
        gradients = dict(self._views(self.gradients))
        n_layers = len(self.architecture.hidden)
        self.encoder = [self._layer(f"encoder.{i}", views, gradients) for i in range(n_layers)]
        self.decoder = [self._layer(f"decoder.{i}", views, gradients) for i in range(n_layers)]
        # Stored as the paper writes it, (d, D): products with few columns are fast from that side.
        self.A, self._A_gradient = views["A"].mT, gradients["A"].mT
        self.V, self._V_gradient = views["output"], gradients["output"]
        start = int(self.A.storage_offset())
        self.A_bounds = (start, start + self.A.numel())

    def _layer(self, name: str, views: dict[str, Tensor], gradients: dict[str, Tensor]) -> _Layer:
        b = views[f"{name}.b"]
        uses_batch_statistics = self.architecture.normalisation == "batch"
        if uses_batch_statistics:
            mean = self._statistics.setdefault(f"{name}.mean", torch.zeros_like(b))
            var = self._statistics.setdefault(f"{name}.var", torch.ones_like(b))
        else:
            mean = var = torch.empty(0)
        return _Layer(
            W=views[f"{name}.W"],
            b=b,
            gamma=views.get(f"{name}.gamma"),
            beta=views.get(f"{name}.beta"),
            W_gradient=gradients[f"{name}.W"],
            b_gradient=gradients[f"{name}.b"],
            gamma_gradient=gradients.get(f"{name}.gamma"),
            beta_gradient=gradients.get(f"{name}.beta"),
            activation=ACTIVATIONS[self.architecture.activation],
            uses_batch_statistics=uses_batch_statistics,
            running_mean=mean,
            running_var=var,
        )

    def _views(self, flat: Tensor) -> Iterator[tuple[str, Tensor]]:
        start = 0
        for name, shape in self._shapes.items():
            yield name, flat[start : start + shape.numel()].view(shape)
            start += shape.numel()

    def _initialise(self, generators: list[torch.Generator], intrinsic_dims: list[int]) -> None:
        for name, view in self._views(self.parameters):
            if name.endswith("gamma"):
                view.fill_(1.0)
            for member, generator in enumerate(generators):
                if name == "A":
                    d, D = intrinsic_dims[member], view.shape[2]
                    if d > 0:
                        view[member, :d] = initial_subspace(D, d, self.architecture.initialisation, generator).mT
                elif name == "output":
                    view[member, :, :-1] = glorot(view.shape[1], view.shape[2] - 1, generator)
                elif name.endswith("W"):
                    view[member] = glorot(view.shape[1], view.shape[2], generator)
                    if name == "decoder.0.W":
                        view[member, intrinsic_dims[member] :] = 0
        in_use = torch.arange(self.architecture.intrinsic_dim) < torch.tensor(intrinsic_dims)[:, None]
        self.identity = torch.diag_embed(in_use).to(self.parameters)


def glorot(n_in: int, n_out: int, generator: torch.Generator) -> Tensor:
    """Uniform initial values with the variance of Glorot and Bengio (2010), ``(n_in, n_out)``."""
    limit = (6 / (n_in + n_out)) ** 0.5
    return torch.rand(n_in, n_out, generator=generator).mul_(2 * limit).sub_(limit)


def _parameter_shapes(architecture: Architecture, n_members: int) -> dict[str, torch.Size]:
    """Name and shape of every parameter, in the order of the flat buffer: encoder, A, decoder, output."""
    n_columns = math.prod(architecture.input_shape)
    hidden, d = architecture.hidden, architecture.intrinsic_dim
    shapes: dict[str, tuple[int, ...]] = {}

    def add_layers(part: str, widths: list[int]) -> None:
        for number, (n_in, n_out) in enumerate(itertools.pairwise(widths)):
            shapes[f"{part}.{number}.W"] = (n_in, n_out)
            shapes[f"{part}.{number}.b"] = (1, n_out)
            if architecture.normalisation is not None:
                shapes[f"{part}.{number}.gamma"] = (1, n_out)
                shapes[f"{part}.{number}.beta"] = (1, n_out)

    add_layers("encoder", [n_columns, *hidden])
    shapes["A"] = (d, hidden[-1])
    add_layers("decoder", [d, *reversed(hidden)])
    # Rows of the output layer belong to columns of the data; the last column is the bias.
    shapes["output"] = (n_columns, hidden[0] + 1)
    return {name: torch.Size((n_members, *shape)) for name, shape in shapes.items()}


def _inverse_spread(var: Tensor) -> Tensor:
    # A unit that says the same for every row (all of them do in a member of dimension 0) has nothing to normalise:
    # divided by almost nothing, its rounding errors would become its output, and steps of full length for Adam.
    return (var + NORM_EPS).rsqrt() * (var > FLAT)


def _must(tensor: Tensor | None) -> Tensor:
    assert tensor is not None
    return tensor
