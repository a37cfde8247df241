"""The layer and its losses, against slow numpy written from the paper's formulas and against autograd."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from rsrae.errors import ParameterError
from rsrae.rsr import (
    RSRLayer,
    gram_excess,
    initial_subspace,
    orthogonality_gradient,
    orthogonality_penalty,
    power_loss_gradient,
    projection_gradient,
    projection_loss,
    reconstruction_loss,
    row_norms,
    sum_of_squares,
)

POWERS = [0.5, 1.0, 1.5, 2.0, 3.0]


def draw(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


# -- the losses against the paper's formulas ---------------------------------------------------------------------------


@pytest.mark.parametrize("p", POWERS)
def test_the_reconstruction_loss_is_the_mean_power_of_the_distances(p: float) -> None:
    x, x_hat = draw(7, 4, seed=1), draw(7, 4, seed=2)
    slow = sum(sum((x[t, j].item() - x_hat[t, j].item()) ** 2 for j in range(4)) ** (p / 2) for t in range(7))
    assert reconstruction_loss(x, x_hat, p).item() == pytest.approx(slow / 7, rel=1e-9)


def test_the_reconstruction_loss_of_images_counts_every_pixel() -> None:
    x, x_hat = draw(5, 3, 4, 2, seed=1), draw(5, 3, 4, 2, seed=2)
    slow = np.mean([np.sqrt(((a - b) ** 2).sum()) for a, b in zip(x.numpy(), x_hat.numpy(), strict=True)])
    assert reconstruction_loss(x, x_hat).item() == pytest.approx(slow, rel=1e-9)


@pytest.mark.parametrize("q", POWERS)
def test_the_projection_loss_is_the_mean_power_of_the_distances_to_the_lifted_points(q: float) -> None:
    latent, A = draw(6, 5, seed=1), draw(5, 2, seed=2)
    total = 0.0
    for z in latent.numpy():
        lifted = A.numpy() @ (A.numpy().T @ z)  # the paper writes A for the transpose: A'A z
        total += np.sqrt(((z - lifted) ** 2).sum()) ** q
    assert projection_loss(latent, A, q).item() == pytest.approx(total / 6, rel=1e-9)


def test_the_orthogonality_penalty_is_the_squared_frobenius_distance_of_the_gram_matrix_to_the_identity() -> None:
    A = draw(5, 3).numpy()
    slow = sum((A[:, i] @ A[:, j] - (i == j)) ** 2 for i in range(3) for j in range(3))
    assert orthogonality_penalty(torch.from_numpy(A)).item() == pytest.approx(slow, rel=1e-12)


def test_orthonormal_columns_have_no_penalty_and_latents_in_their_span_no_projection_loss() -> None:
    A = torch.linalg.qr(draw(6, 2)).Q
    latent = draw(10, 2, seed=1) @ A.mT
    assert orthogonality_penalty(A).item() < 1e-24
    assert projection_loss(latent, A).item() < 2e-6  # the floor under the root


# -- gradients by hand against autograd --------------------------------------------------------------------------------


def autograd(loss: Tensor, *inputs: Tensor) -> tuple[Tensor, ...]:
    return torch.autograd.grad(loss.sum(), inputs)


def weighted_mean(values: Tensor, weights: Tensor | None) -> Tensor:
    if weights is None:
        return values.mean(-1)
    return (values * weights).sum(-1) / weights.sum(-1)


@pytest.mark.parametrize("power", POWERS)
@pytest.mark.parametrize("members", [(), (3,), (2, 3)])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_power_loss_and_its_gradient_agree_with_autograd(
    power: float, members: tuple[int, ...], weighted: bool
) -> None:
    residual = draw(*members, 6, 4).requires_grad_()
    weights = draw(*members, 6, seed=1).abs() if weighted else None
    expected = weighted_mean(row_norms(residual).pow(power), weights)
    terms, gradient = power_loss_gradient(residual.detach(), power, weights)
    torch.testing.assert_close(terms.mean(dim=-1), expected.detach(), rtol=1e-10, atol=1e-12)
    torch.testing.assert_close(gradient, *autograd(expected, residual), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("q", POWERS)
@pytest.mark.parametrize("n_members", [1, 3])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_projection_loss_and_its_gradients_agree_with_autograd(q: float, n_members: int, weighted: bool) -> None:
    latent, A = draw(n_members, 8, 5).requires_grad_(), draw(n_members, 5, 2, seed=1).requires_grad_()
    weights = draw(n_members, 8, seed=2).abs() if weighted else None
    expected = weighted_mean(row_norms(latent - latent @ A @ A.mT).pow(q), weights)
    in_latent, in_A = autograd(expected, latent, A)
    excess = gram_excess(A.detach(), torch.eye(2, dtype=torch.float64).expand(n_members, 2, 2))
    got = projection_gradient(latent.detach(), A.detach(), excess, q, weights, with_latent=True)
    torch.testing.assert_close(got.terms.mean(dim=-1), expected.detach(), rtol=1e-10, atol=1e-12)
    torch.testing.assert_close(got.in_A_t.mT, in_A, rtol=1e-10, atol=1e-12)
    torch.testing.assert_close(got.in_latent, in_latent, rtol=1e-10, atol=1e-12)


def test_the_projection_gradient_leaves_the_latents_out_unless_asked() -> None:
    assert projection_gradient(draw(1, 4, 3), draw(1, 3, 1), draw(1, 1, 1)).in_latent is None


@pytest.mark.parametrize("n_members", [1, 3])
def test_the_orthogonality_penalty_and_its_gradient_agree_with_autograd(n_members: int) -> None:
    A = draw(n_members, 5, 3).requires_grad_()
    expected = orthogonality_penalty(A)
    identity = torch.eye(3, dtype=torch.float64).expand(n_members, 3, 3)
    excess = gram_excess(A.detach(), identity)
    torch.testing.assert_close(sum_of_squares(excess), expected.detach(), rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(
        orthogonality_gradient(A.detach(), excess).mT, *autograd(expected, A), rtol=1e-10, atol=1e-12
    )


def test_columns_out_of_use_have_no_penalty_and_no_gradient() -> None:
    A = torch.cat([torch.linalg.qr(draw(1, 5, 2)).Q, torch.zeros(1, 5, 1, dtype=torch.float64)], dim=2)
    in_use = torch.diag(torch.tensor([1.0, 1.0, 0.0], dtype=torch.float64)).unsqueeze(0)
    excess = gram_excess(A, in_use)
    assert sum_of_squares(excess).item() < 1e-24
    assert orthogonality_gradient(A, excess).abs().max() < 1e-12
    in_full = gram_excess(A, torch.eye(3, dtype=torch.float64).unsqueeze(0))
    assert sum_of_squares(in_full).item() == pytest.approx(1.0)


def test_a_weight_of_zero_takes_a_row_out_of_loss_and_gradient() -> None:
    residual = draw(5, 3)
    weights = torch.tensor([1.0, 1.0, 0.0, 1.0, 1.0], dtype=torch.float64)
    kept = [0, 1, 3, 4]
    with_weights, without = power_loss_gradient(residual, 1.0, weights), power_loss_gradient(residual[kept], 1.0)
    torch.testing.assert_close(with_weights.terms.mean(), without.terms.mean())
    torch.testing.assert_close(with_weights.gradient[kept], without.gradient)
    assert with_weights.gradient[2].abs().max() == 0


def test_weights_that_are_all_zero_give_zeros_and_no_nan() -> None:
    terms, gradient = power_loss_gradient(draw(4, 3), 1.0, torch.zeros(4, dtype=torch.float64))
    assert terms.abs().max() == 0
    assert gradient.abs().max() == 0


@pytest.mark.parametrize("power", POWERS)
def test_losses_and_gradients_are_finite_where_nothing_is_left_over(power: float) -> None:
    zeros = torch.zeros(3, 4, requires_grad=True)
    loss = reconstruction_loss(zeros, torch.zeros(3, 4), power)
    assert loss.isfinite()
    assert autograd(loss, zeros)[0].isfinite().all()
    assert power_loss_gradient(torch.zeros(3, 4), power).gradient.isfinite().all()
    A, excess = torch.eye(4)[None, :, :2], torch.zeros(1, 2, 2)
    by_hand = projection_gradient(torch.zeros(1, 3, 4), A, excess, power, with_latent=True)
    assert by_hand.in_A_t.isfinite().all()
    assert by_hand.in_latent is not None
    assert by_hand.in_latent.isfinite().all()


@pytest.mark.parametrize("power", [0.0, -1.0, float("nan")])
def test_a_power_that_is_not_positive_is_an_error(power: float) -> None:
    with pytest.raises(ParameterError, match="p must be positive"):
        reconstruction_loss(torch.zeros(1, 1), torch.zeros(1, 1), power)
    with pytest.raises(ParameterError, match="q must be positive"):
        projection_loss(torch.zeros(1, 1), torch.zeros(1, 1), power)


# -- the layer ---------------------------------------------------------------------------------------------------------


def test_the_layer_projects_and_lifts() -> None:
    layer = RSRLayer(6, 2, generator=torch.Generator().manual_seed(0)).double()
    latent = draw(3, 6)
    A = layer.A.detach().numpy()
    np.testing.assert_allclose(layer(latent).detach(), latent.numpy() @ A)
    np.testing.assert_allclose(layer.lift(latent).detach(), latent.numpy() @ A @ A.T)


def test_the_layer_offers_its_own_losses() -> None:
    layer = RSRLayer(6, 2, initialisation="normal", generator=torch.Generator().manual_seed(0))
    latent = draw(3, 6).float()
    torch.testing.assert_close(layer.projection_loss(latent, 1.5), projection_loss(latent, layer.A, 1.5))
    torch.testing.assert_close(layer.orthogonality_penalty(), orthogonality_penalty(layer.A))


def test_the_layer_learns_inside_a_network_of_ones_own() -> None:
    generator = torch.Generator().manual_seed(0)
    network = nn.Sequential(nn.Linear(4, 6), nn.Tanh(), RSRLayer(6, 2, generator=generator), nn.Linear(2, 4))
    before = network[2].A.detach().clone()
    optimiser = torch.optim.SGD(network.parameters(), lr=0.1)
    x = draw(20, 4).float()
    reconstruction_loss(x, network(x)).backward()
    optimiser.step()
    assert not torch.equal(before, network[2].A)


def test_the_layer_says_its_dimensions_when_printed() -> None:
    assert repr(RSRLayer(6, 2)) == "RSRLayer(latent_dim=6, intrinsic_dim=2)"


def test_the_orthonormal_start_is_orthonormal_and_the_normal_start_is_standard_normal() -> None:
    generator = torch.Generator().manual_seed(0)
    A = initial_subspace(50, 8, "orthonormal", generator)
    torch.testing.assert_close(A.mT @ A, torch.eye(8), atol=1e-5, rtol=0)
    drawn = initial_subspace(400, 50, "normal", generator)
    assert abs(drawn.mean().item()) < 0.03
    assert abs(drawn.std().item() - 1) < 0.03


def test_the_same_generator_gives_the_same_start_and_leaves_the_global_one_alone() -> None:
    state = torch.get_rng_state()
    first, second = (RSRLayer(9, 3, generator=torch.Generator().manual_seed(4)).A for _ in range(2))
    assert torch.equal(first, second)
    assert torch.equal(state, torch.get_rng_state())


@pytest.mark.parametrize(("latent_dim", "intrinsic_dim"), [(4, 5), (4, 0), (4, -1), (0, 0)])
def test_a_subspace_that_does_not_fit_is_an_error(latent_dim: int, intrinsic_dim: int) -> None:
    with pytest.raises(ParameterError, match="intrinsic_dim must lie between 1 and the latent width"):
        RSRLayer(latent_dim, intrinsic_dim)


@pytest.mark.parametrize(("latent_dim", "intrinsic_dim"), [(1, 1), (4, 4), (4, 1)])
def test_the_smallest_and_largest_subspaces_are_allowed(latent_dim: int, intrinsic_dim: int) -> None:
    assert RSRLayer(latent_dim, intrinsic_dim)(torch.zeros(2, latent_dim)).shape == (2, intrinsic_dim)


def test_an_unknown_initialisation_is_an_error() -> None:
    with pytest.raises(ParameterError, match="initialisation must be 'orthonormal' or 'normal', got 'ones'"):
        RSRLayer(4, 2, initialisation="ones")  # type: ignore[arg-type]
