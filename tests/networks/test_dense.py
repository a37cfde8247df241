"""The engine with gradients by hand, held to autograd; sparse rows held to dense ones; members to single networks."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from torch import Tensor

from rsrae.networks.architecture import ACTIVATIONS, Architecture
from rsrae.networks.batches import Batch, SparseBatch
from rsrae.networks.dense import DenseNetwork, glorot
from rsrae.networks.modules import Autoencoder
from rsrae.networks.network import (
    Joint,
    Network,
    orthogonality_step,
    projection_step,
    reconstruction_step,
)
from rsrae.networks.rows import DenseRows
from rsrae.preprocessing import Preprocessor
from rsrae.rsr import orthogonality_penalty, projection_loss, row_norms
from rsrae.training import Step, run_epochs, train

from .twins import by_engine_names, dense_network, engine_gradients, module_twin

SMALL = Architecture(input_shape=(7,), intrinsic_dim=2, hidden=(6, 5, 4))
AS_IT_IS = Preprocessor(np.zeros(1), np.ones(1), tame=False, unit_norm=False)


def draw(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def sparse_batch(n_members: int = 1, n_rows: int = 12, n_columns: int = 7) -> SparseBatch:
    rng = np.random.default_rng(3)
    members = []
    for _ in range(n_members):
        rows = sp.random_array((n_rows, n_columns), density=0.3, rng=rng).tolil()
        rows[2] = 0.0  # a row without any value
        members.append(sp.csr_array(rows))
    return SparseBatch(members)


def autograd_loss(module: Autoencoder, x: Tensor, p: float, weights: Tensor | None, joint: Joint | None) -> Tensor:
    """The loss from the formulas of the paper, for autograd."""
    out = module(x)
    weights = torch.ones(x.shape[0], dtype=x.dtype) if weights is None else weights
    shares = weights / weights.sum()
    loss = (shares * row_norms(out.x_hat - x).pow(p)).sum()
    if joint is not None:
        residual = row_norms(out.latent - module.rsr.lift(out.latent))
        loss = loss + joint.lambda1 * (shares * residual.pow(joint.q)).sum()
        loss = loss + joint.lambda2 * module.rsr.orthogonality_penalty()
    return loss


def assert_agrees_with_autograd(
    network: DenseNetwork, x: Tensor, p: float, weights: Tensor | None, joint: Joint | None
) -> None:
    loss = network.gradient(x, p, weights, joint).mean(dim=1)
    for member in range(network.n_members):
        module = module_twin(network, member).train()
        expected = autograd_loss(module, x[member], p, None if weights is None else weights[member], joint)
        expected.backward()
        assert loss[member].item() == pytest.approx(expected.item(), rel=1e-12)
        got, wanted = engine_gradients(network, member), by_engine_names(module, gradients=True)
        assert got.keys() == wanted.keys()
        for name in wanted:
            torch.testing.assert_close(
                got[name], wanted[name], rtol=1e-9, atol=1e-11, msg=lambda m, name=name: f"{name}: {m}"
            )


# -- against autograd --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("output_activation", ACTIVATIONS)
@pytest.mark.parametrize("normalisation", [None, "affine", "batch"])
def test_loss_and_gradients_agree_with_autograd(
    activation: str, output_activation: str, normalisation: str | None
) -> None:
    architecture = replace(
        SMALL, activation=activation, output_activation=output_activation, normalisation=normalisation
    )
    assert_agrees_with_autograd(dense_network(architecture), draw(1, 11, 7), 1.0, None, None)


@pytest.mark.parametrize("p", [0.5, 1.0, 2.0])
@pytest.mark.parametrize("joint", [None, Joint(0.3, 0.7), Joint(0.3, 0.7, q=2.0)])
@pytest.mark.parametrize("normalise_code", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_powers_joint_losses_codes_and_weights_agree_with_autograd(
    p: float, joint: Joint | None, normalise_code: bool, weighted: bool
) -> None:
    network = dense_network(replace(SMALL, normalise_code=normalise_code), n_members=2)
    weights = draw(2, 9, seed=5).abs() if weighted else None
    assert_agrees_with_autograd(network, draw(2, 9, 7), p, weights, joint)


@pytest.mark.parametrize("hidden", [(5,), (3, 9)])
def test_shallow_networks_agree_with_autograd(hidden: tuple[int, ...]) -> None:
    assert_agrees_with_autograd(dense_network(replace(SMALL, hidden=hidden)), draw(1, 9, 7), 1.0, None, None)


def test_the_gradient_of_the_encoder_agrees_with_autograd_and_spares_the_other_gradients() -> None:
    network = dense_network(replace(SMALL, normalisation="batch"))
    x = draw(1, 9, 7)
    network.gradient(x, 1.0, None)
    before = network.gradients.clone()
    in_latent = draw(1, 9, 4, seed=4)
    out = torch.zeros(network.A_bounds[1], dtype=torch.float64)
    network.encoder_gradient(in_latent, out)

    module = module_twin(network).train()
    module.encoder(x[0]).backward(in_latent[0])
    wanted = by_engine_names(module, gradients=True)
    got = {name: view[0] for name, view in network._views(torch.cat([out, before[out.numel() :]]))}
    for name in wanted:
        if name.startswith("encoder"):
            torch.testing.assert_close(got[name], wanted[name], rtol=1e-9, atol=1e-11)
    torch.testing.assert_close(network.gradients, before, rtol=0, atol=0)


@pytest.mark.parametrize("normalisation", [None, "affine", "batch"])
def test_reconstructions_and_latents_agree_with_the_module_in_scoring_mode(normalisation: str | None) -> None:
    network = dense_network(replace(SMALL, normalisation=normalisation))
    module = module_twin(network).eval()
    x = draw(1, 5, 7)
    torch.testing.assert_close(network.encode(x)[0], module(x[0]).latent.detach())
    torch.testing.assert_close(network.reconstruct(x)[0], module(x[0]).x_hat.detach())


def test_scoring_does_not_move_running_statistics_but_training_does() -> None:
    network = dense_network(replace(SMALL, normalisation="batch"))
    before = network.state()
    network.reconstruct(draw(1, 5, 7))
    network.errors(draw(1, 5, 7), "euclidean")
    assert all(torch.equal(before[name], tensor) for name, tensor in network.state().items())
    network.gradient(draw(1, 5, 7), 1.0, None)
    assert not torch.equal(before["encoder.0.mean"], network.state()["encoder.0.mean"])


@pytest.mark.parametrize("scope", ["A", "encoder"])
@pytest.mark.parametrize("normalisation", [None, "batch"])
def test_twenty_epochs_of_the_alternation_give_the_losses_of_an_autograd_loop_with_three_optimisers(
    scope: str, normalisation: str | None
) -> None:
    network = dense_network(replace(SMALL, normalisation=normalisation))
    module = module_twin(network).train()
    x = draw(50, 7)
    steps: list[Step[Batch]] = [
        reconstruction_step(network, p=1.0, learning_rate=0.01),
        projection_step(network, q=1.0, learning_rate=0.02, scope=scope),  # type: ignore[arg-type]
        orthogonality_step(network, learning_rate=0.02),
    ]
    rows = DenseRows(x.numpy(), AS_IT_IS, dtype=torch.float64)
    generator = torch.Generator().manual_seed(1)
    history = train([run_epochs(steps, rows, batch_size=16, generator=generator)], epochs=20).losses

    A, encoder = module.rsr.A, list(module.encoder.parameters())
    moved = [list(module.parameters()), [A] if scope == "A" else [*encoder, A], [A]]
    optimisers = [
        torch.optim.Adam(parameters, lr=rate) for parameters, rate in zip(moved, (0.01, 0.02, 0.02), strict=True)
    ]
    generator.manual_seed(1)
    for epoch in range(20):
        totals = [0.0, 0.0, 0.0]
        order = torch.randperm(50, generator=generator)
        for batch in (order[:16], order[16:32], order[32:48], order[48:]):
            out = module(x[batch])
            losses = [
                row_norms(out.x_hat - x[batch]).mean(),
                projection_loss(out.latent, A),
                orthogonality_penalty(A),
            ]
            gradients = [
                torch.autograd.grad(loss, parameters, retain_graph=True)
                for loss, parameters in zip(losses, moved, strict=True)
            ]
            for number, optimiser in enumerate(optimisers):
                totals[number] += losses[number].item() * len(batch) / 50
                for parameter, gradient in zip(moved[number], gradients[number], strict=True):
                    parameter.grad = gradient
                optimiser.step()
        got = [history[name][epoch] for name in ("reconstruction", "projection", "orthogonality")]
        assert got == pytest.approx(totals, rel=1e-5, abs=1e-7)
    assert totals[0] < history["reconstruction"][0]


# -- sparse rows -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("output_activation", ["linear", "tanh"])
@pytest.mark.parametrize("normalisation", [None, "batch"])
@pytest.mark.parametrize("p", [1.0, 2.0])
@pytest.mark.parametrize("weighted", [False, True])
def test_sparse_rows_give_the_loss_and_gradients_of_dense_ones(
    output_activation: str, normalisation: str | None, p: float, weighted: bool
) -> None:
    architecture = replace(SMALL, output_activation=output_activation, normalisation=normalisation)
    network = dense_network(architecture, n_members=2)
    batch = sparse_batch(n_members=2)
    weights = draw(2, 12).abs() if weighted else None
    loss = network.gradient(batch.to_dense(), p, weights)
    gradients = network.gradients.clone()
    network.gradients.fill_(torch.nan)
    torch.testing.assert_close(network.gradient(batch, p, weights), loss, rtol=1e-10, atol=1e-12)
    torch.testing.assert_close(network.gradients, gradients, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("scored_by", ["cosine", "euclidean"])
@pytest.mark.parametrize("output_activation", ["linear", "tanh"])
def test_sparse_rows_have_the_errors_of_dense_ones(output_activation: str, scored_by: str) -> None:
    network = dense_network(replace(SMALL, output_activation=output_activation), n_members=2)
    batch = sparse_batch()
    dense = network.errors(batch.to_dense().expand(2, -1, -1), scored_by)
    torch.testing.assert_close(network.errors(batch, scored_by), dense, rtol=1e-10, atol=1e-12)


def test_sparse_rows_have_the_latents_and_reconstructions_of_dense_ones() -> None:
    network = dense_network(SMALL)
    batch = sparse_batch()
    torch.testing.assert_close(network.encode(batch), network.encode(batch.to_dense()))
    torch.testing.assert_close(network.reconstruct(batch), network.reconstruct(batch.to_dense()))


# -- members -----------------------------------------------------------------------------------------------------------


def scheme(network: Network) -> list[Step[Batch]]:
    return [
        reconstruction_step(network, p=1.0, learning_rate=0.01),
        projection_step(network, q=1.0, learning_rate=0.01, scope="encoder"),
        orthogonality_step(network, learning_rate=0.01),
    ]


def run(network: Network, x: Tensor, orders: Tensor) -> list[Tensor]:
    """A few batches of the alternation; the losses of each."""
    steps, seen = scheme(network), []
    for index in orders.split(8, dim=1):
        losses = [step.loss(step.gradient(x[index], None)) for step in steps]
        for step in steps:
            step.optimiser.step()
        seen.append(torch.stack(losses))
    return seen


@pytest.mark.parametrize("normalisation", [None, "batch", "affine"])
def test_members_trained_together_equal_single_networks_with_the_same_seeds(normalisation: str | None) -> None:
    architecture = replace(SMALL, normalisation=normalisation)
    x = draw(40, 7)
    orders = torch.stack([torch.randperm(40, generator=torch.Generator().manual_seed(m)) for m in range(3)])
    generators = [torch.Generator().manual_seed(10 + member) for member in range(3)]
    together = DenseNetwork(architecture, generators, dtype=torch.float64)
    losses = run(together, x, orders)
    for member in range(3):
        alone = DenseNetwork(architecture, [torch.Generator().manual_seed(10 + member)], dtype=torch.float64)
        for got, wanted in zip(losses, run(alone, x, orders[member : member + 1]), strict=True):
            torch.testing.assert_close(got[:, member : member + 1], wanted, rtol=1e-9, atol=1e-11)
        for name, tensor in alone.state().items():
            torch.testing.assert_close(together.state()[name][member], tensor[0], rtol=1e-7, atol=1e-9)


def test_scoring_shows_every_member_the_same_rows() -> None:
    network = dense_network(SMALL, n_members=3)
    x = draw(1, 5, 7)
    assert network.reconstruct(x).shape == (3, 5, 7)
    torch.testing.assert_close(network.reconstruct(x)[1], network.reconstruct(x.expand(3, -1, -1))[1])


# -- start, state ------------------------------------------------------------------------------------------------------


def test_the_start_is_glorot_for_weights_zero_for_biases_one_for_scales() -> None:
    network = DenseNetwork(
        Architecture((30,), hidden=(40, 20), intrinsic_dim=5, normalisation="affine"),
        [torch.Generator().manual_seed(0)],
    )
    state = network.state()
    limit = (6 / 70) ** 0.5
    assert state["encoder.0.W"].abs().max() <= limit
    assert state["encoder.0.W"].std().item() == pytest.approx(limit / 3**0.5, rel=0.05)
    assert state["encoder.0.b"].abs().max() == 0
    assert state["output"][..., -1].abs().max() == 0
    assert (state["decoder.1.gamma"] == 1).all()
    assert (state["decoder.1.beta"] == 0).all()
    torch.testing.assert_close(network.A[0].mT @ network.A[0], torch.eye(5), atol=1e-5, rtol=0)


def test_glorot_has_the_asked_shape() -> None:
    assert glorot(3, 8, torch.Generator().manual_seed(0)).shape == (3, 8)


def test_state_goes_into_another_network_and_is_a_copy() -> None:
    first, second = dense_network(replace(SMALL, normalisation="batch")), dense_network(SMALL, seed=5)
    second = dense_network(replace(SMALL, normalisation="batch"), seed=5)
    first.gradient(draw(1, 9, 7), 1.0, None)  # moves the running statistics
    state = first.state()
    second.load_state(state)
    x = draw(1, 4, 7)
    assert torch.equal(first.reconstruct(x), second.reconstruct(x))
    state["A"].zero_()
    assert first.A.abs().max() > 0


def test_a_copy_with_another_number_type_is_independent_and_agrees() -> None:
    network = dense_network(replace(SMALL, normalisation="batch"))
    twin = network.to(dtype=torch.float32)
    x = draw(1, 4, 7)
    torch.testing.assert_close(twin.reconstruct(x.float()).double(), network.reconstruct(x), rtol=1e-4, atol=1e-5)
    twin.parameters.zero_()
    assert network.A.abs().max() > 0


def test_A_is_a_view_into_the_flat_buffer() -> None:
    network = dense_network(SMALL)
    start, stop = network.A_bounds
    network.parameters[start:stop] = 7.0
    assert (network.A == 7).all()
