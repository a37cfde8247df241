"""What the paper proves, checked by minimising numerically.

Linear autoencoders (appendix D.1), the full-rank minimiser of RSR1 (appendix C) and the linear WGAN (section 3.3).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest
import torch
from scipy.linalg import sqrtm
from torch import Tensor

from rsrae.rsr import projection_loss, reconstruction_loss

Array = npt.NDArray[np.float64]


def minimise(loss: Callable[..., Tensor], *starts: Tensor, rounds: int = 300) -> list[Tensor]:
    """L-BFGS from a start that is not the answer."""
    variables = [start.clone().requires_grad_() for start in starts]
    optimiser = torch.optim.LBFGS(
        variables, max_iter=rounds, tolerance_grad=1e-11, tolerance_change=1e-15, line_search_fn="strong_wolfe"
    )

    def closure() -> Tensor:
        optimiser.zero_grad()
        value = loss(*variables)
        value.backward()
        return value

    optimiser.step(closure)
    return [variable.detach() for variable in variables]


def draw(*shape: int, seed: int) -> Tensor:
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def projector(basis: Array) -> Array:
    Q = np.linalg.qr(basis)[0]
    return Q @ Q.T


def least_absolute_deviations_subspace(X: Array, d: int, n_rounds: int = 500) -> Array:
    """Iteratively reweighted least squares: PCA with weights one over the distance to the last subspace."""
    weights = np.ones(len(X))
    for _ in range(n_rounds):
        basis = np.linalg.svd(np.sqrt(weights)[:, None] * X, full_matrices=False)[2][:d].T
        weights = 1 / np.maximum(np.linalg.norm(X - X @ basis @ basis.T, axis=1), 1e-8)
    return basis


@pytest.fixture(scope="module")
def dirty_plane() -> tuple[Array, Array]:
    """Rows near a plane in R^6, and outliers that all point out of it; and the plane's projector."""
    rng = np.random.default_rng(0)
    plane = np.linalg.qr(rng.normal(size=(6, 2)))[0]
    inliers = rng.normal(size=(120, 2)) @ plane.T + 0.05 * rng.normal(size=(120, 6))
    away = rng.normal(size=6)
    away -= plane @ (plane.T @ away)
    outliers = 4 * away / np.linalg.norm(away) + 0.3 * rng.normal(size=(30, 6))
    return np.concatenate([inliers, outliers]), plane @ plane.T


# -- the linear autoencoder --------------------------------------------------------------------------------------------


def linear_autoencoder(X: Array, d: int, p: float, seed: int) -> Array:
    x = torch.from_numpy(X)
    D_start, E_start = draw(X.shape[1], d, seed=seed), draw(d, X.shape[1], seed=seed + 100)
    D, E = minimise(lambda D, E: reconstruction_loss(x, x @ E.mT @ D.mT, p), D_start, E_start, rounds=3000)
    return (D @ E).numpy()


@pytest.mark.parametrize("seed", [0, 1])
def test_with_squared_loss_the_linear_autoencoder_is_the_pca_projector(
    seed: int, dirty_plane: tuple[Array, Array]
) -> None:
    X, _ = dirty_plane
    pca = projector(np.linalg.svd(X)[2][:2].T)
    np.testing.assert_allclose(linear_autoencoder(X, 2, p=2.0, seed=seed), pca, atol=1e-4)


@pytest.mark.parametrize("seed", [0, 1])
def test_with_the_l21_loss_it_is_the_projector_of_the_least_absolute_deviations_subspace(
    seed: int, dirty_plane: tuple[Array, Array]
) -> None:
    X, _ = dirty_plane
    expected = projector(least_absolute_deviations_subspace(X, 2))
    np.testing.assert_allclose(linear_autoencoder(X, 2, p=1.0, seed=seed), expected, atol=1e-3)


def test_outliers_turn_the_pca_subspace_away_but_not_that_of_least_absolute_deviations(
    dirty_plane: tuple[Array, Array],
) -> None:
    X, truth = dirty_plane
    distances = {p: np.linalg.norm(linear_autoencoder(X, 2, p=p, seed=0) - truth) for p in (1.0, 2.0)}
    assert distances[1.0] < 0.1
    assert distances[2.0] > 1.0


# -- the full-rank minimiser of RSR1 -----------------------------------------------------------------------------------


@pytest.mark.parametrize("d", [1, 2, 4])
@pytest.mark.parametrize("scale", [0.3, 3.0])
def test_the_full_rank_minimiser_of_rsr1_has_orthonormal_columns(d: int, scale: float) -> None:
    latent = draw(80, 5, seed=1) * torch.tensor([3.0, 2.0, 1.5, 1.0, 0.5], dtype=torch.float64)
    start = scale * draw(5, d, seed=2)
    (A,) = minimise(lambda A: projection_loss(latent, A), start, rounds=2000)
    assert np.linalg.matrix_rank(A.numpy(), tol=1e-3) == d
    np.testing.assert_allclose(A.mT @ A, np.eye(d), atol=1e-4)


def test_the_minimiser_of_rsr1_is_the_least_absolute_deviations_subspace(dirty_plane: tuple[Array, Array]) -> None:
    X, _ = dirty_plane
    latent = torch.from_numpy(X)
    (A,) = minimise(lambda A: projection_loss(latent, A), draw(6, 2, seed=0), rounds=2000)
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
    other_mean, factor = minimise(
        lambda m, F: squared_wasserstein(mean, root, m, F), draw(4, seed=6), draw(4, d, seed=7), rounds=1000
    )
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

    shift, basis = minimise(loss, draw(4, seed=9), draw(4, 2, seed=10))
    off = (mean - shift) - torch.from_numpy(projector(basis.numpy())) @ (mean - shift)
    assert off.norm().item() < 1e-4
