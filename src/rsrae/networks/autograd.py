"""Any torch autoencoder behind the same interface, with gradients from autograd.

Convolutional networks and modules of the user's own go this way. Their parameters are moved into one flat
buffer, so updates and scopes work as for the dense engine.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator

import torch
from torch import Tensor, nn

from rsrae.errors import InputError
from rsrae.networks.architecture import Architecture
from rsrae.networks.batches import Batch, SparseBatch
from rsrae.networks.modules import Autoencoder, Forward
from rsrae.networks.network import Joint, Network, copy_exactly
from rsrae.rsr import orthogonality_penalty, row_norms, weighted_powers


class AutogradNetwork(Network):
    """One autoencoder module (one member) as a network."""

    n_members = 1
    uses_autograd = True

    def __init__(self, architecture: Architecture, module: Autoencoder) -> None:
        self.architecture = architecture
        self.module: Autoencoder = module.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        parameters = [*module.encoder.parameters(), module.rsr.A, *module.decoder.parameters()]
        self.parameters, self.gradients = flatten_parameters(parameters)
        self._parameters = parameters
        self._encoder_parameters = list(module.encoder.parameters())
        start = sum(p.numel() for p in self._encoder_parameters)
        self.A_bounds = (start, start + module.rsr.A.numel())
        self.identity = torch.eye(module.rsr.A.shape[1]).to(self.parameters).unsqueeze(0)
        self._last: Forward | None = None

    @property
    def A(self) -> Tensor:  # type: ignore[override]
        """The layer's matrix, ``(1, D, d)``."""
        return self.module.rsr.A.detach().unsqueeze(0)

    @property
    def latent(self) -> Tensor:
        """The encoder's output for the batch of the last ``gradient``."""
        assert self._last is not None, "gradient() comes first"
        return self._last.latent.detach().unsqueeze(0)

    @property
    def code(self) -> Tensor:
        """``A'z`` for the batch of the last ``gradient``, before it is normalised."""
        assert self._last is not None, "gradient() comes first"
        return self._last.code.detach().unsqueeze(0)

    def gradient(self, batch: Batch, p: float, weights: Tensor | None, joint: Joint | None = None) -> Tensor:
        """The terms, ``(1, rows)``, whose mean is the loss; all gradients are left in ``gradients``."""
        x = channels_first(batch)
        self.module.train()
        with torch.enable_grad():
            self._last = last = self.module(x)
            if last.x_hat.shape != x.shape:
                raise InputError(f"the decoder gives {tuple(last.x_hat.shape)} for {tuple(x.shape)}; they must agree")
            norms = row_norms((last.x_hat - x).flatten(start_dim=1))
            terms = weighted_powers(norms, p, None if weights is None else weights[0])[0]
            if joint is not None:
                residual = row_norms(last.latent - self.module.rsr.lift(last.latent))
                projection = weighted_powers(residual, joint.q, None if weights is None else weights[0])[0]
                terms = terms + joint.lambda1 * projection
                terms = terms + joint.lambda2 * orthogonality_penalty(self.module.rsr.A)
            self.gradients.zero_()
            terms.mean().backward(retain_graph=self.keeps_graph)  # type: ignore[no-untyped-call]
        return terms.detach().unsqueeze(0)

    def encoder_gradient(self, in_latent: Tensor, out: Tensor) -> None:
        """The encoder's gradient for the last batch, written into ``out``."""
        assert self._last is not None, "gradient() comes first"
        if self.module.is_point:
            out.zero_()
            return
        with torch.enable_grad():
            gradients = torch.autograd.grad(
                self._last.latent, self._encoder_parameters, in_latent[0].clone(), retain_graph=True
            )
        for (_, view), gradient in zip(_views(self._encoder_parameters, out), gradients, strict=True):
            view.copy_(gradient)

    def encode(self, batch: Batch) -> Tensor:
        """The latents in scoring mode."""
        return self._score(batch).latent.unsqueeze(0)

    def reconstruct(self, batch: Batch) -> Tensor:
        """``x_hat`` in scoring mode."""
        x_hat = self._score(batch).x_hat
        return (x_hat.movedim(1, -1) if x_hat.dim() == 4 else x_hat).unsqueeze(0)

    def state(self) -> dict[str, Tensor]:
        """The module's own state, every tensor with a leading axis for the member."""
        return {name: tensor.detach().clone().unsqueeze(0) for name, tensor in self.module.state_dict().items()}

    def load_state(self, state: dict[str, Tensor]) -> None:
        """Take over what ``state`` gave."""
        with torch.no_grad():
            for name, tensor in self.module.state_dict().items():
                copy_exactly(tensor, state[name][0])

    def to(self, *, dtype: torch.dtype | None = None, device: torch.device | str | None = None) -> AutogradNetwork:
        """A copy with another number type or on another device."""
        for parameter in self._parameters:
            parameter.grad = None
        self._last = None
        module = copy.deepcopy(self.module).to(dtype=dtype, device=device)
        _point_gradients(self._parameters, self.gradients)
        return AutogradNetwork(self.architecture, module)

    def _score(self, batch: Batch) -> Forward:
        self.module.eval()
        with torch.no_grad():
            forward: Forward = self.module(channels_first(batch))
        return forward


def channels_first(batch: Batch) -> Tensor:
    """The rows of the one member, images with their channels first as torch wants them."""
    # The data keeps channels last, (members, rows, h, w, c); torch's convolutions want them first. The view below
    # has torch's "channels last" memory format, which is also the fast one on a CPU.
    x = (batch.to_dense() if isinstance(batch, SparseBatch) else batch)[0]
    return x.movedim(-1, 1) if x.dim() == 4 else x


def flatten_parameters(parameters: list[nn.Parameter]) -> tuple[Tensor, Tensor]:
    """Move parameters and their gradients into one flat buffer each; the parameters become views."""
    flat = torch.cat([p.detach().as_strided((p.numel(),), (1,)) for p in parameters])
    for parameter, view in _views(parameters, flat):
        parameter.data = view
    gradients = torch.zeros_like(flat)
    _point_gradients(parameters, gradients)
    return flat, gradients


def _point_gradients(parameters: list[nn.Parameter], gradients: Tensor) -> None:
    for parameter, view in _views(parameters, gradients):
        parameter.grad = view


def _views(parameters: list[nn.Parameter], flat: Tensor) -> Iterator[tuple[nn.Parameter, Tensor]]:
    # Each parameter keeps its own order in memory: kernels of convolutions have their channels last.
    start = 0
    for parameter in parameters:
        part = flat[start : start + parameter.numel()]
        yield parameter, part.as_strided(parameter.shape, parameter.stride())
        start += parameter.numel()
