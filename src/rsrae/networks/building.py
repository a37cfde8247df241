"""Networks made of an architecture, or of modules of the user's own."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import nn

from rsrae.errors import InputError
from rsrae.networks.architecture import Architecture
from rsrae.networks.autograd import AutogradNetwork
from rsrae.networks.dense import DenseNetwork
from rsrae.networks.modules import Autoencoder, build_module
from rsrae.networks.network import Network
from rsrae.rsr import RSRLayer


def build_networks(
    architecture: Architecture,
    generators: list[torch.Generator],
    intrinsic_dims: Sequence[int],
    *,
    modules: tuple[nn.Module, nn.Module] | None = None,
    device: torch.device | str = "cpu",
) -> list[Network]:
    """One member for each generator and dimension: all in one network if layers are dense, else a network each.

    ``modules`` are an encoder and a decoder to take, copied for every member, in place of the architecture's.
    """
    if modules is None and architecture.is_dense:
        return [DenseNetwork(architecture, generators, intrinsic_dims=list(intrinsic_dims), device=device)]
    networks: list[Network] = []
    for d, generator in zip(intrinsic_dims, generators, strict=True):
        own = replace(architecture, intrinsic_dim=d)
        module = build_module(own, generator) if modules is None else _compose(own, *modules, generator)
        networks.append(AutogradNetwork(own, module.to(device)))
    return networks


def _compose(
    architecture: Architecture, encoder: nn.Module, decoder: nn.Module, generator: torch.Generator
) -> Autoencoder:
    encoder, decoder = copy.deepcopy(encoder), copy.deepcopy(decoder)
    shape = architecture.input_shape
    probe = torch.zeros(2, *(shape if len(shape) == 1 else (shape[2], *shape[:2])))
    try:
        with torch.no_grad():
            latent_dim = encoder.eval()(probe).flatten(start_dim=1).shape[1]
    except RuntimeError as error:
        raise InputError(f"the encoder cannot take a batch of shape {tuple(probe.shape)}: {error}") from error
    d = architecture.intrinsic_dim
    try:
        with torch.no_grad():
            decoder.eval()(torch.zeros(2, d))
    except RuntimeError as error:
        raise InputError(f"the decoder cannot take codes of width {d}: {error}") from error
    rsr = RSRLayer(latent_dim, d, initialisation=architecture.initialisation, generator=generator)
    return Autoencoder(encoder, rsr, decoder, normalise_code=architecture.normalise_code)
