from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.special import logsumexp
from scipy.stats import multivariate_normal

from rsrae.networks.estimation import EstimationNetwork, Mixture, fit_mixture, mixture_energy


@pytest.fixture
def memberships(generator: torch.Generator) -> torch.Tensor:
    return torch.rand(40, 3, generator=generator, dtype=torch.float64).softmax(dim=1)


@pytest.fixture
def z(generator: torch.Generator) -> torch.Tensor:
    return torch.randn(40, 4, generator=generator, dtype=torch.float64)


def test_the_energy_is_scipys_log_density(rng: np.random.Generator) -> None:
    weights, means = rng.dirichlet(np.ones(3)), rng.normal(size=(3, 4))
    factors = np.tril(rng.normal(size=(3, 4, 4)), -1) + np.eye(4) * rng.uniform(0.1, 2, size=(3, 1, 4))
    z = rng.normal(size=(20, 4))
    by_scipy = -logsumexp(
        [
            np.log(w) + multivariate_normal(m, F @ F.T).logpdf(z)
            for w, m, F in zip(weights, means, factors, strict=True)
        ],
        axis=0,
    )
    mixture = Mixture(*(torch.from_numpy(part) for part in (weights, means, factors)))
    np.testing.assert_allclose(mixture_energy(torch.from_numpy(z), mixture).numpy(), by_scipy, rtol=1e-9)


def test_the_mixture_is_that_of_weighted_numpy(z: torch.Tensor, memberships: torch.Tensor) -> None:
    mixture = fit_mixture(z, memberships, floor=1e-3)
    for k in range(3):
        weights = memberships[:, k].numpy()
        covariance = np.cov(z.numpy().T, aweights=weights, ddof=0) + 1e-3 * np.eye(4)
        factor = mixture.factors[k].numpy()
        np.testing.assert_allclose(factor @ factor.T, covariance, rtol=1e-9)
        np.testing.assert_allclose(mixture.means[k], np.average(z.numpy(), axis=0, weights=weights))
        np.testing.assert_allclose(mixture.variances()[k], np.diag(covariance))
    np.testing.assert_allclose(mixture.weights, memberships.mean(dim=0))


def test_rows_that_are_all_alike_have_a_finite_energy() -> None:
    z = torch.ones(5, 3, dtype=torch.float64)
    mixture = fit_mixture(z, torch.tensor([[1.0, 0.0]] * 5, dtype=torch.float64), floor=1e-3)
    assert torch.isfinite(mixture_energy(z, mixture)).all()


def test_energy_grows_with_the_distance() -> None:
    one = Mixture(torch.ones(1), torch.zeros(1, 2), torch.eye(2)[None])
    energy = mixture_energy(torch.tensor([[0.0, 0.0], [1.0, 0.0], [9.0, 9.0]]), one)
    assert energy[0] < energy[1] < energy[2]


def test_dropout_is_drawn_from_the_given_generator_while_training_only(z: torch.Tensor) -> None:
    network = EstimationNetwork(4, 10, 3, generator=torch.Generator().manual_seed(0)).double()
    before = torch.get_rng_state()
    first, second = (network(z, torch.Generator().manual_seed(seed)) for seed in (1, 2))
    assert torch.equal(before, torch.get_rng_state())
    assert not torch.equal(first, second)
    network.eval()
    torch.testing.assert_close(network(z), network(z), rtol=0, atol=0)
    torch.testing.assert_close(network(z).sum(dim=1), torch.ones(40, dtype=torch.float64))
