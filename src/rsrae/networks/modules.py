"""The networks of the paper's section 4.1 as torch modules, and the autoencoder composed of any two modules."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import torch
from torch import Tensor, nn

from rsrae.networks.architecture import ACTIVATIONS, NORM_EPS, Architecture
from rsrae.rsr import RSRLayer, row_norms

KERNELS = (5, 5, 3)  # of the convolutions, first to last; deeper networks go on with the last


class Forward(NamedTuple):
    """Everything a pass through the autoencoder makes."""

    latent: Tensor  # (rows, D)
    code: Tensor  # (rows, d), before it is normalised
    x_hat: Tensor  # the shape of the input


class Autoencoder(nn.Module):
    """Encoder, RSR layer, decoder.

    Parameters
    ----------
    encoder : maps a batch to latents; whatever it returns is flattened to ``(rows, D)``.
    rsr : the layer A; where it is zero for good (``is_point``), neither it nor the encoder is asked.
    decoder : maps codes ``(rows, d)`` back to the shape of the input.
    normalise_code : whether the code is scaled to unit l2 norm before the decoder, as in the paper.
    is_point : the code is always zero, and the decoder gives one point for all items.

    Examples
    --------
    >>> network = Autoencoder(nn.Linear(5, 8), RSRLayer(8, 2), nn.Linear(2, 5))
    >>> network(torch.zeros(3, 5)).x_hat.shape
    torch.Size([3, 5])
    """

    def __init__(
        self,
        encoder: nn.Module,
        rsr: RSRLayer,
        decoder: nn.Module,
        *,
        normalise_code: bool = True,
        is_point: bool = False,
    ) -> None:
        super().__init__()
        self.encoder = encoder
        self.rsr = rsr
        self.decoder = decoder
        self.normalise_code = normalise_code
        self.is_point = is_point

    def forward(self, x: Tensor) -> Forward:
        """Latent, code and reconstruction of a batch."""
        if self.is_point:
            latent = x.new_zeros(x.shape[0], self.rsr.A.shape[0])
            point = self.decoder(x.new_zeros(1, self.rsr.A.shape[1]))
            return Forward(latent, self.rsr(latent), point.expand(x.shape))
        latent = self.encoder(x).flatten(start_dim=1)
        code = self.rsr(latent)
        entering = code / row_norms(code).unsqueeze(-1) if self.normalise_code else code
        return Forward(latent, code, self.decoder(entering))


def build_module(architecture: Architecture, generator: torch.Generator) -> Autoencoder:
    """The module of an architecture: dense for tables, convolutional for images (channels first).

    With ``intrinsic_dim=0`` the code is always zero: the decoder can only learn one point for all items.
    """
    is_point = architecture.intrinsic_dim == 0
    architecture = replace(architecture, intrinsic_dim=max(1, architecture.intrinsic_dim))
    build = dense_modules if len(architecture.input_shape) == 1 else convolutional_modules
    with torch.random.fork_rng(devices=[]):  # torch's layers first draw values from the global generator
        encoder, decoder, latent_dim = build(architecture)
    initialise_glorot(encoder, generator)
    rsr = RSRLayer(
        latent_dim,
        architecture.intrinsic_dim,
        initialisation=architecture.initialisation,
        generator=generator,
    )
    initialise_glorot(decoder, generator)
    if is_point:
        with torch.no_grad():
            # Where A and the weights behind it are both zero, so are their gradients: they stay zero.
            rsr.A.zero_()
            decoder[0].weight.zero_()  # type: ignore[operator]
    return Autoencoder(encoder, rsr, decoder, normalise_code=architecture.normalise_code, is_point=is_point)


def dense_modules(architecture: Architecture) -> tuple[nn.Sequential, nn.Sequential, int]:
    """Encoder (32, 64, 128) and decoder (128, 64, 32, M) for tables, and the latent width."""
    (n_columns,) = architecture.input_shape
    hidden = architecture.hidden

    def layers(widths: list[int]) -> list[nn.Module]:
        stack: list[nn.Module] = []
        for n_in, n_out in itertools.pairwise(widths):
            stack += [nn.Linear(n_in, n_out), *_after(architecture, n_out, nn.BatchNorm1d)]
        return stack

    output = [nn.Linear(hidden[0], n_columns), ACTIVATIONS[architecture.output_activation].module()]
    encoder = nn.Sequential(*layers([n_columns, *hidden]))
    decoder = nn.Sequential(*layers([architecture.intrinsic_dim, *reversed(hidden)]), *output)
    return encoder, decoder, hidden[-1]


def convolutional_modules(architecture: Architecture) -> tuple[nn.Sequential, nn.Sequential, int]:
    """Convolutions 5x5, 5x5, 3x3 with stride 2 and the mirrored deconvolutions, for any image size.

    A stride of 2 with padding ``kernel // 2`` halves a side and rounds up; on the way back ``output_padding`` says
    whether the side it came from was odd or even.
    """
    height, width, channels = architecture.input_shape
    hidden = architecture.hidden
    kernels = [KERNELS[min(i, len(KERNELS) - 1)] for i in range(len(hidden))]
    sizes = [(height, width)]
    for _ in hidden:
        sizes.append(((sizes[-1][0] + 1) // 2, (sizes[-1][1] + 1) // 2))

    encoder: list[nn.Module] = []
    for n_in, n_out, kernel in zip([channels, *hidden], hidden, kernels, strict=False):
        encoder.append(nn.Conv2d(n_in, n_out, kernel, stride=2, padding=kernel // 2))
        encoder += _after(architecture, n_out, nn.BatchNorm2d)

    smallest = sizes[-1]
    latent_dim = hidden[-1] * smallest[0] * smallest[1]
    decoder: list[nn.Module] = [
        nn.Linear(architecture.intrinsic_dim, latent_dim),
        ACTIVATIONS[architecture.activation].module(),
        nn.Unflatten(1, (hidden[-1], *smallest)),
        *_normaliser(architecture, hidden[-1], nn.BatchNorm2d),
    ]
    widths = [*hidden[::-1], channels]
    for level in range(len(hidden)):
        small, large = sizes[-1 - level], sizes[-2 - level]
        kernel = kernels[-1 - level]
        is_even = (large[0] - 2 * small[0] + 1, large[1] - 2 * small[1] + 1)
        decoder.append(
            nn.ConvTranspose2d(
                widths[level],
                widths[level + 1],
                kernel,
                stride=2,
                padding=kernel // 2,
                output_padding=is_even,
            )
        )
        if level < len(hidden) - 1:
            decoder += _after(architecture, widths[level + 1], nn.BatchNorm2d)
    decoder.append(ACTIVATIONS[architecture.output_activation].module())
    return nn.Sequential(*encoder), nn.Sequential(*decoder), latent_dim


class Affine(nn.Module):
    """A scale and a shift per channel: what batch normalisation is in the authors' code, which never trains it."""

    def __init__(self, n_channels: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(n_channels))
        self.bias = nn.Parameter(torch.zeros(n_channels))

    def forward(self, x: Tensor) -> Tensor:
        """Scale and shift axis 1."""
        shape = (1, -1) + (1,) * (x.dim() - 2)
        return x * self.weight.view(shape) + self.bias.view(shape)


def initialise_glorot(module: nn.Module, generator: torch.Generator) -> None:
    """Glorot's uniform weights and zero biases for all linear and convolutional layers."""
    for layer in module.modules():
        if isinstance(layer, (nn.Linear, nn.Conv2d, nn.ConvTranspose2d)):
            nn.init.xavier_uniform_(layer.weight, generator=generator)
            if layer.bias is not None:
                nn.init.zeros_(layer.bias)


def _after(architecture: Architecture, n_out: int, batch_norm: Callable[..., nn.Module]) -> list[nn.Module]:
    return [ACTIVATIONS[architecture.activation].module(), *_normaliser(architecture, n_out, batch_norm)]


def _normaliser(architecture: Architecture, n_channels: int, batch_norm: Callable[..., nn.Module]) -> list[nn.Module]:
    if architecture.normalisation == "batch":
        return [batch_norm(n_channels, eps=NORM_EPS)]
    return [Affine(n_channels)] if architecture.normalisation == "affine" else []
