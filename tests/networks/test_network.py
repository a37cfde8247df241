"""The steps of the paper's schemes over a network of either kind."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from rsrae.networks.architecture import Architecture
from rsrae.networks.autograd import AutogradNetwork
from rsrae.networks.network import Network, orthogonality_step, projection_step, reconstruction_step
from rsrae.rsr import orthogonality_penalty

from .twins import dense_network, module_twin

ARCHITECTURE = Architecture(input_shape=(7,), intrinsic_dim=2, hidden=(6, 5))


def draw(*shape: int) -> Tensor:
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(0))


@pytest.fixture(params=["by hand", "autograd"])
def network(request: pytest.FixtureRequest) -> Network:
    engine = dense_network(ARCHITECTURE)
    return engine if request.param == "by hand" else AutogradNetwork(ARCHITECTURE, module_twin(engine))


def moved_parts(network: Network, before: Tensor) -> set[str]:
    start, stop = network.A_bounds
    moved = network.parameters != before
    parts = {"encoder": moved[:start], "A": moved[start:stop], "decoder": moved[stop:]}
    return {name for name, part in parts.items() if part.any()}


@pytest.mark.parametrize(
    ("step_name", "parts"),
    [
        ("reconstruction", {"encoder", "A", "decoder"}),
        ("projection", {"A"}),
        ("projection of encoder", {"encoder", "A"}),
        ("orthogonality", {"A"}),
    ],
)
def test_a_step_moves_its_own_parameters_and_no_others(network: Network, step_name: str, parts: set[str]) -> None:
    steps = {
        "reconstruction": reconstruction_step(network, p=1.0, learning_rate=0.01),
        "projection": projection_step(network, q=1.0, learning_rate=0.01),
        "projection of encoder": projection_step(network, q=1.0, learning_rate=0.01, scope="encoder"),
        "orthogonality": orthogonality_step(network, learning_rate=0.01),
    }
    x, before = draw(1, 20, 7), network.parameters.clone()
    steps["reconstruction"].gradient(x, None)
    steps[step_name].gradient(x, None)
    assert moved_parts(network, before) == set()  # gradients alone move nothing
    steps[step_name].optimiser.step()
    assert moved_parts(network, before) == parts


@pytest.mark.parametrize("scope", ["A", "encoder"])
def test_every_step_lowers_its_own_loss(network: Network, scope: str) -> None:
    x = draw(1, 20, 7)
    reconstruction = reconstruction_step(network, p=1.0, learning_rate=1e-3)
    projection = projection_step(network, q=1.0, learning_rate=1e-3, scope=scope)  # type: ignore[arg-type]
    for step in (reconstruction, projection, orthogonality_step(network, learning_rate=1e-3)):
        losses = []
        for _ in range(20):
            reconstruction.gradient(x, None)
            losses.append(step.loss(step.gradient(x, None)).item())
            step.optimiser.step()
        assert losses == sorted(losses, reverse=True), step.name


def test_the_orthogonality_step_ends_at_orthonormal_columns(network: Network) -> None:
    step = orthogonality_step(network, learning_rate=0.01)
    for _ in range(800):
        step.gradient(draw(1, 2, 7), None)
        step.optimiser.step()
    assert orthogonality_penalty(network.A).item() < 1e-4


def test_thresholds_are_handed_on(network: Network) -> None:
    assert reconstruction_step(network, p=1.0, learning_rate=1.0, threshold=0.1).threshold == 0.1
    assert projection_step(network, q=1.0, learning_rate=1.0, threshold=0.2).threshold == 0.2
    assert orthogonality_step(network, learning_rate=1.0, threshold=0.3).threshold == 0.3


def test_errors_are_the_cosine_and_the_distance_to_the_reconstruction(network: Network) -> None:
    x = draw(1, 5, 7)
    x_hat = network.reconstruct(x)
    cosine = torch.nn.functional.cosine_similarity(x, x_hat, dim=-1)
    torch.testing.assert_close(network.errors(x, "cosine"), 1 - cosine)
    torch.testing.assert_close(network.errors(x, "euclidean"), (x - x_hat).norm(dim=-1))
