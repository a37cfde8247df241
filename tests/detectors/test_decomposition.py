from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.optimize import minimize, minimize_scalar

from rsrae.detectors.decomposition import Splitter, decomposition_step, shrink_rows, soft_threshold
from rsrae.networks.architecture import Architecture
from rsrae.networks.dense import DenseNetwork


@pytest.fixture
def network(generator: torch.Generator) -> DenseNetwork:
    return DenseNetwork(Architecture((5,), intrinsic_dim=2, hidden=(6,)), [generator])


@pytest.mark.parametrize("value", [-3.0, -0.4, 0.0, 0.7, 0.71, 5.0])
def test_soft_thresholding_solves_its_proximal_problem(value: float) -> None:
    solved = minimize_scalar(lambda s: (s - value) ** 2 / 2 + 0.7 * abs(s), bounds=(-6, 6), options={"xatol": 1e-9})
    assert float(soft_threshold(torch.tensor(value), 0.7)) == pytest.approx(solved.x, abs=1e-5)


@pytest.mark.parametrize("size", [0.2, 3.0])
def test_shrinking_rows_solves_its_proximal_problem(size: float, rng: np.random.Generator) -> None:
    row = rng.normal(size=4)
    row *= size / np.linalg.norm(row)
    solved = minimize(
        lambda s: np.sum((s - row) ** 2) / 2 + 0.7 * np.linalg.norm(s), row, method="Nelder-Mead", tol=1e-10
    )
    ours = shrink_rows(torch.from_numpy(row)[None], 0.7)[0].numpy()
    np.testing.assert_allclose(ours, solved.x, atol=1e-4)


def test_a_row_of_zeros_stays_zero() -> None:
    assert torch.equal(shrink_rows(torch.zeros(1, 3), 1.0), torch.zeros(1, 3))


@pytest.mark.parametrize("penalty", ["l1", "l21"])
def test_the_rest_is_the_best_one_for_what_the_network_says(penalty: str, network: DenseNetwork) -> None:
    x = 3 * torch.randn(1, 8, 5, generator=torch.Generator().manual_seed(1))
    splitter = Splitter(penalty, 0.5)
    x_hat, s = network.reconstruct(x), splitter.rest(network, x)

    def objective(s: torch.Tensor) -> float:
        return float((x - x_hat - s).square().sum() / (2 * 8) + splitter.cost(s).mean())

    best = objective(s)
    for seed in range(20):
        other = s + 0.1 * torch.randn(s.shape, generator=torch.Generator().manual_seed(seed))
        assert objective(other) > best


def test_a_second_round_looks_at_the_cleaned_row(network: DenseNetwork) -> None:
    x = 3 * torch.randn(1, 8, 5, generator=torch.Generator().manual_seed(1))
    once, twice = (Splitter("l1", 0.5, rounds).rest(network, x) for rounds in (1, 2))
    torch.testing.assert_close(twice, soft_threshold(x - network.reconstruct(x - once), 0.5))


def test_the_step_returns_the_objective_and_leaves_its_gradient(network: DenseNetwork) -> None:
    x = 3 * torch.randn(1, 8, 5, generator=torch.Generator().manual_seed(1))
    splitter = Splitter("l1", 0.5)
    s = splitter.rest(network, x)
    clean = x - s
    step = decomposition_step(network, splitter, learning_rate=1e-3, weight_decay=0.1)
    loss = step.loss(step.gradient(x, None))
    error = (clean - network.reconstruct(clean)).square().sum(-1).mean() / 2
    torch.testing.assert_close(loss, (error + 0.5 * s.abs().sum(-1).mean())[None])
    with_decay = network.gradients.clone()
    network.gradient(clean, 2.0, None)
    torch.testing.assert_close(with_decay, network.gradients / 2 + 0.1 * network.parameters)
    before = network.parameters.clone()
    step.optimiser.step()
    assert not torch.equal(before, network.parameters)
