"""The same network twice: the dense engine, and a torch module with the same parameters."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from rsrae.networks.architecture import Architecture
from rsrae.networks.dense import DenseNetwork
from rsrae.networks.modules import Affine, Autoencoder, build_module


def dense_network(architecture: Architecture, n_members: int = 1, seed: int = 0) -> DenseNetwork:
    """In double precision, and away from the start, where biases are zero and scales are one."""
    generators = [torch.Generator().manual_seed(seed + member) for member in range(n_members)]
    network = DenseNetwork(architecture, generators, dtype=torch.float64)
    noise = torch.Generator().manual_seed(99)
    shape = network.parameters.shape
    network.parameters.add_(torch.randn(shape, generator=noise, dtype=torch.float64), alpha=0.1)
    return network


def module_twin(network: DenseNetwork, member: int = 0) -> Autoencoder:
    """A torch module with the parameters of one member."""
    module = build_module(network.architecture, torch.Generator().manual_seed(0)).double()
    state = {name: tensor[member] for name, tensor in network.state().items()}
    with torch.no_grad():
        module.rsr.A.copy_(state["A"].mT)  # the engine stores it as the paper writes it
        for part, sequence in (("encoder", module.encoder), ("decoder", module.decoder)):
            for number, linear, norm in _layers(sequence):
                if part == "decoder" and number == len(network.decoder):
                    linear.weight.copy_(state["output"][:, :-1])
                    linear.bias.copy_(state["output"][:, -1])
                    continue
                name = f"{part}.{number}"
                linear.weight.copy_(state[f"{name}.W"].mT)
                linear.bias.copy_(state[f"{name}.b"][0])
                if norm is not None:
                    norm.weight.copy_(state[f"{name}.gamma"][0])
                    norm.bias.copy_(state[f"{name}.beta"][0])
    return module


def by_engine_names(module: Autoencoder, *, gradients: bool = False) -> dict[str, Tensor]:
    """Parameters of the module (or their gradients) with the names and shapes of the engine's, for one member."""

    def get(parameter: nn.Parameter) -> Tensor:
        tensor = parameter.grad if gradients else parameter.detach()
        return torch.zeros_like(parameter) if tensor is None else tensor

    named = {"A": get(module.rsr.A).mT}
    for part, sequence in (("encoder", module.encoder), ("decoder", module.decoder)):
        for number, linear, norm in _layers(sequence):
            named[f"{part}.{number}.W"] = get(linear.weight).mT
            named[f"{part}.{number}.b"] = get(linear.bias)[None]
            if norm is not None:
                named[f"{part}.{number}.gamma"] = get(norm.weight)[None]
                named[f"{part}.{number}.beta"] = get(norm.bias)[None]
    W, b = named.pop(f"decoder.{number}.W"), named.pop(f"decoder.{number}.b")
    return named | {"output": torch.cat([W, b]).mT}


def engine_gradients(network: DenseNetwork, member: int = 0) -> dict[str, Tensor]:
    """Gradients of the engine's last pass by name, for one member."""
    return {name: view[member] for name, view in network._views(network.gradients)}


def _layers(sequence: nn.Module) -> list[tuple[int, nn.Linear, Affine | nn.BatchNorm1d | None]]:
    children = list(sequence.children())
    at = [place for place, layer in enumerate(children) if isinstance(layer, nn.Linear)]
    found = []
    for number, place in enumerate(at):
        after = children[place + 2] if place + 2 < len(children) else None
        norm = after if isinstance(after, (Affine, nn.BatchNorm1d)) else None
        linear = children[place]
        assert isinstance(linear, nn.Linear)
        found.append((number, linear, norm))
    return found
