from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from rsrae.detectors.dsebm import DSEBM, EnergyNetwork, score_matching_loss
from rsrae.errors import ParameterError
from rsrae.rsr import RSRLayer


def tiny_network(generator: torch.Generator) -> EnergyNetwork:
    encoder = nn.Sequential(nn.Linear(4, 6), nn.Tanh())
    network = EnergyNetwork(encoder, RSRLayer(6, 3, generator=generator), (4,)).double()
    for parameter in network.parameters():
        nn.init.normal_(parameter, generator=generator)
    return network


def slope_by_differences(network: EnergyNetwork, x: torch.Tensor, h: float = 1e-5) -> torch.Tensor:
    columns = []
    with torch.no_grad():
        for step in h * torch.eye(x.shape[1], dtype=x.dtype):
            columns.append((network(x + step) - network(x - step)) / (2 * h))
    return torch.stack(columns, dim=1)


def test_the_energy_is_the_papers_formula(generator: torch.Generator) -> None:
    network = tiny_network(generator)
    x = torch.randn(5, 4, generator=generator, dtype=torch.float64)
    code = network.encoder(x) @ network.experts.A + network.expert_bias
    by_hand = 0.5 * (x - network.visible_bias).square().sum(1) - torch.log1p(code.exp()).sum(1)
    torch.testing.assert_close(network(x), by_hand)


def test_the_loss_is_score_matching_by_finite_differences(generator: torch.Generator) -> None:
    network = tiny_network(generator)
    x, noise = (torch.randn(7, 4, generator=generator, dtype=torch.float64) for _ in range(2))
    noisy = x + noise
    f = noisy - slope_by_differences(network, noisy)
    by_differences = (x - f).square().sum(dim=1).mean()
    torch.testing.assert_close(score_matching_loss(network, x, noise), by_differences, rtol=1e-6, atol=1e-8)


def test_the_gradient_of_the_loss_is_right_by_finite_differences(generator: torch.Generator) -> None:
    network = tiny_network(generator)
    x, noise = (torch.randn(7, 4, generator=generator, dtype=torch.float64) for _ in range(2))
    score_matching_loss(network, x, noise).backward()  # type: ignore[no-untyped-call]
    weight = network.encoder[0].weight  # type: ignore[index]
    losses = []
    for sign in (1, -1):
        with torch.no_grad():
            weight[0, 0] += sign * 1e-5
        losses.append(float(score_matching_loss(network, x, noise).detach()))
        with torch.no_grad():
            weight[0, 0] -= sign * 1e-5
    assert float(weight.grad[0, 0]) == pytest.approx((losses[0] - losses[1]) / 2e-5, rel=1e-4)


def test_negative_values_are_reconstructed(rng: np.random.Generator) -> None:
    X = rng.normal(-5, 0.1, size=(200, 3))
    detector = DSEBM(scaling="none", epochs=150, hidden=(8,), intrinsic_dim=4, learning_rate=1e-2, random_state=0)
    network = detector.fit(X).module_
    x_hat = network.reconstruct(torch.from_numpy(X)).detach().numpy()
    np.testing.assert_allclose(x_hat.mean(axis=0), -5, atol=1.0)


def test_both_scores_follow_their_definition(rng: np.random.Generator) -> None:
    X = rng.normal(size=(40, 4))
    same: dict[str, Any] = {"epochs": 2, "hidden": (6,), "intrinsic_dim": 3, "random_state": 0, "activation": "tanh"}
    energy, slope = (DSEBM(scored_by=by, **same).fit(X) for by in ("energy", "reconstruction"))
    x = torch.from_numpy(energy.preprocess(X))
    np.testing.assert_allclose(energy.anomaly_score(X), energy.module_(x).detach(), rtol=1e-9)
    by_differences = slope_by_differences(slope.module_, x).norm(dim=1)
    np.testing.assert_allclose(slope.anomaly_score(X), by_differences, rtol=1e-5)


def test_images_are_explained_better_than_by_their_mean(easy_images: Any) -> None:
    detector = DSEBM(epochs=40, batch_size=16, hidden=(8, 16), learning_rate=3e-3, random_state=0)
    detector.fit(easy_images.X[:90])
    x = detector._entries(torch.from_numpy(detector.preprocess(easy_images.X[:90])).movedim(-1, 1))
    left = (x - detector.module_.reconstruct(x)).square().sum() / (x - x.mean(dim=0)).square().sum()
    assert float(left.detach()) < 0.8


def test_the_visible_bias_of_images_has_a_value_a_pixel(rng: np.random.Generator) -> None:
    detector = DSEBM(epochs=1, hidden=(4, 4), intrinsic_dim=2, random_state=0).fit(rng.random((10, 6, 5, 3)))
    assert detector.module_.visible_bias.shape == (3, 6, 5)


@pytest.mark.parametrize("wrong", [{"scored_by": "density"}, {"noise": 0.0}], ids=str)
def test_a_wrong_parameter_is_named(wrong: dict[str, Any]) -> None:
    with pytest.raises(ParameterError, match=next(iter(wrong))):
        DSEBM(**wrong).fit(np.eye(4))
