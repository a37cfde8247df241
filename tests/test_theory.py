"""What the paper proves, checked by minimising numerically.

Linear autoencoders (appendix D.1), the full-rank minimiser of RSR1 (appendix C) and the linear WGAN (section 3.3).
"""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest
import torch
from scipy.linalg import sqrtm
from torch import Tensor

from rsrae.rsr import projection_loss, reconstruction_loss

Array = npt.NDArray[np.float64]


def minimise(
    loss: Callable[..., Tensor], *shapes: tuple[int, ...], n_starts: int = 1, scale: float = 1.0
) -> list[Tensor]:
    """The best that L-BFGS finds from random starts: the propositions speak of global minimisers."""
    found = []
    for start in range(n_starts):
        variables = [
            (scale * draw(*shape, seed=100 * start + number)).requires_grad_() for number, shape in enumerate(shapes)
        ]
        optimiser = torch.optim.LBFGS(
            variables, max_iter=600, tolerance_grad=1e-11, tolerance_change=1e-15, line_search_fn="strong_wolfe"
        )

        def closure(variables: list[Tensor] = variables, optimiser: torch.optim.LBFGS = optimiser) -> Tensor:
            optimiser.zero_grad()
            value = loss(*variables)
            value.backward()
            return value

        optimiser.step(closure)
        found.append([variable.detach() for variable in variables])
    return min(found, key=lambda variables: loss(*variables).item())


def draw(*shape: int, seed: int) -> Tensor:
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def projector(basis: Array) -> Array:
    Q = np.linalg.qr(basis)[0]
    return Q @ Q.T


def least_absolute_deviations_subspace(X: Array, d: int) -> Array:
    """Iteratively reweighted least squares: PCA with weights one over the distance to the last subspace.

    The problem is not convex: the best of several starts.
    """
    rng = np.random.default_rng(1)
    candidates = []
    for _ in range(10):
        basis = np.linalg.qr(rng.normal(size=(X.shape[1], d)))[0]
        for _ in range(100):
            weights = 1 / np.maximum(np.linalg.norm(X - X @ basis @ basis.T, axis=1), 1e-8)
            basis = np.linalg.svd(np.sqrt(weights)[:, None] * X, full_matrices=False)[2][:d].T
        candidates.append(basis)
    return min(candidates, key=lambda basis: np.linalg.norm(X - X @ basis @ basis.T, axis=1).sum())


@functools.cache
def dirty_plane() -> tuple[Array, Array]:
    """Rows near a plane in R^6, and outliers that all point out of it; and the plane's projector."""
    rng = np.random.default_rng(0)
    plane = np.linalg.qr(rng.normal(size=(6, 2)))[0]
    inliers = rng.normal(size=(120, 2)) * [3, 2] @ plane.T + 0.05 * rng.normal(size=(120, 6))
    away = rng.normal(size=6)
    away -= plane @ (plane.T @ away)
    outliers = 10 * away / np.linalg.norm(away) + 0.3 * rng.normal(size=(15, 6))
    return np.concatenate([inliers, outliers]), plane @ plane.T


# -- the linear autoencoder --------------------------------------------------------------------------------------------


@functools.cache
def linear_autoencoder(p: float) -> Array:
    x = torch.from_numpy(dirty_plane()[0])
    D, E = minimise(lambda D, E: reconstruction_loss(x, x @ E.mT @ D.mT, p), (6, 2), (2, 6), n_starts=5)
    product: Array = (D @ E).numpy()
    return product


def test_with_squared_loss_the_linear_autoencoder_is_the_pca_projector() -> None:
    X, _ = dirty_plane()
    pca = projector(np.linalg.svd(X)[2][:2].T)
    np.testing.assert_allclose(linear_autoencoder(2.0), pca, atol=1e-4)


def test_with_the_l21_loss_it_is_the_projector_of_the_least_absolute_deviations_subspace() -> None:
    X, _ = dirty_plane()
    expected = projector(least_absolute_deviations_subspace(X, 2))
    np.testing.assert_allclose(linear_autoencoder(1.0), expected, atol=1e-3)


def test_outliers_turn_the_pca_subspace_away_but_not_that_of_least_absolute_deviations() -> None:
    _, truth = dirty_plane()
    distances = {p: np.linalg.norm(linear_autoencoder(p) - truth) for p in (1.0, 2.0)}
    assert distances[1.0] < 0.1
    assert distances[2.0] > 1.0


# -- the full-rank minimiser of RSR1 -----------------------------------------------------------------------------------


@pytest.mark.parametrize("d", [1, 2, 4])
@pytest.mark.parametrize("scale", [0.3, 3.0])
def test_the_full_rank_minimiser_of_rsr1_has_orthonormal_columns(d: int, scale: float) -> None:
    latent = draw(80, 5, seed=1) * torch.tensor([3.0, 2.0, 1.5, 1.0, 0.5], dtype=torch.float64)
    (A,) = minimise(lambda A: projection_loss(latent, A), (5, d), scale=scale)
    assert np.linalg.matrix_rank(A.numpy(), tol=1e-3) == d
    np.testing.assert_allclose(A.mT @ A, np.eye(d), atol=1e-4)


def test_the_minimiser_of_rsr1_is_the_least_absolute_deviations_subspace() -> None:
    X, _ = dirty_plane()
    latent = torch.from_numpy(X)
    (A,) = minimise(lambda A: projection_loss(latent, A), (6, 2), n_starts=5)
    expected = projector(least_absolute_deviations_subspace(X, 2))
    np.testing.assert_allclose(A @ A.mT, expected, atol=1e-3)


# -- the linear WGAN ---------------------------------------------------------------------------------------------------


def squared_wasserstein(mean: Tensor, root: Tensor, other_mean: Tensor, factor: Tensor) -> Tensor:
    """W2 squared between N(mean, root root) and N(other_mean, factor factor'), in closed form.

    The trace of (S^1/2 F F' S^1/2)^1/2 is the sum of the singular values of S^1/2 F.
    """
    cross = torch.linalg.svdvals(root @ factor).sum()
    return (mean - other_mean).square().sum() + root.square().sum() + factor.square().sum() - 2 * cross


@pytest.fixture(scope="module")
def gaussian() -> tuple[Tensor, Tensor]:
    """Mean and covariance of a Gaussian in R^4 whose mean is not zero."""
    spectrum = torch.diag(torch.tensor([5.0, 3.0, 1.0, 0.4], dtype=torch.float64))
    basis = torch.linalg.qr(draw(4, 4, seed=3)).Q
    return draw(4, seed=4), basis @ spectrum @ basis.mT


def test_the_closed_form_is_the_wasserstein_distance_of_gaussians(gaussian: tuple[Tensor, Tensor]) -> None:
    mean, covariance = gaussian
    factor = draw(4, 4, seed=5)
    other = (factor @ factor.mT).numpy()
    root = sqrtm(covariance.numpy()).real
    bures = np.trace(covariance.numpy() + other - 2 * sqrtm(root @ other @ root).real)
    got = squared_wasserstein(mean, torch.from_numpy(root), torch.zeros(4, dtype=torch.float64), factor)
    assert got.item() == pytest.approx(mean.square().sum().item() + bures, rel=1e-8)


@pytest.mark.parametrize("d", [1, 2, 3])
def test_the_nearest_gaussian_of_rank_d_is_the_projection_of_the_original(
    d: int, gaussian: tuple[Tensor, Tensor]
) -> None:
    mean, covariance = gaussian
    root = torch.from_numpy(sqrtm(covariance.numpy()).real)
    other_mean, factor = minimise(lambda m, F: squared_wasserstein(mean, root, m, F), (4,), (4, d), n_starts=2)
    # The subspace of the proposition, affine: it goes through the mean along the leading directions.
    principal = torch.linalg.eigh(covariance).eigenvectors[:, -d:]
    P = principal @ principal.mT
    np.testing.assert_allclose(other_mean, mean, atol=1e-5)
    np.testing.assert_allclose(factor @ factor.mT, P @ covariance @ P, atol=1e-4)
    attained = squared_wasserstein(mean, root, other_mean, factor).item()
    expected_distance = torch.trace(covariance - P @ covariance).item()  # E ||X - P_L X||^2
    assert attained == pytest.approx(expected_distance, rel=1e-6)


@pytest.mark.parametrize("p", [1.0, 2.0])
def test_the_best_affine_subspace_of_a_gaussian_goes_through_its_mean(
    p: float, gaussian: tuple[Tensor, Tensor]
) -> None:
    mean, covariance = gaussian
    half = draw(3000, 4, seed=8) @ torch.linalg.cholesky(covariance).mT
    x = mean + torch.cat([half, -half])  # as symmetric about its mean as the Gaussian itself

    def loss(shift: Tensor, basis: Tensor) -> Tensor:
        Q = torch.linalg.qr(basis).Q
        centred = x - shift
        return reconstruction_loss(centred, centred @ Q @ Q.mT, p)

    shift, basis = minimise(loss, (4,), (4, 2))
    off = (mean - shift) - torch.from_numpy(projector(basis.numpy())) @ (mean - shift)
    assert off.norm().item() < 1e-4
