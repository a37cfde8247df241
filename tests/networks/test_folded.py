"""Weights that have taken in normalisations and biases, held to the layers one by one."""

from __future__ import annotations

import threading
from dataclasses import replace

import pytest
import torch
from torch import Tensor

from rsrae.networks.architecture import ACTIVATIONS, NORM_EPS, Architecture
from rsrae.networks.batches import SparseBatch, of_each_member
from rsrae.networks.dense import DenseNetwork
from rsrae.networks.folded import Normalised, fold

from .test_dense import SMALL, draw, sparse_batch
from .twins import dense_network


def trained(architecture: Architecture, n_members: int = 2) -> DenseNetwork:
    """Away from the start, running statistics too."""
    network = dense_network(architecture, n_members=n_members)
    for seed in range(3):
        network.gradient(draw(n_members, 20, 7, seed=seed), 1.0, None)
    return network


def layer_by_layer(network: DenseNetwork, member: int, x: Tensor) -> tuple[Tensor, Tensor]:
    """Latents and reconstructions of ``(rows, columns)`` from the stored state, without tricks."""
    state = {name: tensor[member] for name, tensor in network.state().items()}
    activate = ACTIVATIONS[network.architecture.activation].forward

    def layers(part: str, y: Tensor) -> Tensor:
        for number in range(len(network.architecture.hidden)):
            at = f"{part}.{number}"
            y = activate(y @ state[f"{at}.W"] + state[f"{at}.b"])
            if network.architecture.normalisation == "batch":
                y = (y - state[f"{at}.mean"]) / (state[f"{at}.var"] + NORM_EPS).sqrt()
            if network.architecture.normalisation is not None:
                y = y * state[f"{at}.gamma"] + state[f"{at}.beta"]
        return y

    latent = layers("encoder", x)
    code = latent @ state["A"].mT
    if network.architecture.normalise_code:
        code = code / code.norm(dim=1, keepdim=True)
    x_hat = layers("decoder", code) @ state["output"][:, :-1].mT + state["output"][:, -1]
    return latent, ACTIVATIONS[network.architecture.output_activation].forward(x_hat)


@pytest.mark.parametrize("normalisation", [None, "affine", "batch"])
@pytest.mark.parametrize("hidden", [(6, 5, 4), (5,)])
@pytest.mark.parametrize("normalise_code", [False, True])
@pytest.mark.parametrize("output_activation", ["linear", "tanh"])
def test_latents_reconstructions_and_errors_are_those_of_the_layers_one_by_one(
    normalisation: str | None, hidden: tuple[int, ...], normalise_code: bool, output_activation: str
) -> None:
    network = trained(
        replace(
            SMALL,
            normalisation=normalisation,
            hidden=hidden,
            normalise_code=normalise_code,
            output_activation=output_activation,
        )
    )
    x = draw(1, 9, 7, seed=8)
    folded = network.for_scoring()
    for member in range(2):
        latent, x_hat = layer_by_layer(network, member, x[0])
        torch.testing.assert_close(folded.encode(x)[member], latent, rtol=1e-9, atol=1e-11)
        torch.testing.assert_close(folded.reconstruct(x)[member], x_hat, rtol=1e-9, atol=1e-11)
        torch.testing.assert_close(folded.errors(x, "euclidean")[member], (x[0] - x_hat).norm(dim=1))
        cosine = torch.cosine_similarity(x[0], x_hat, dim=1)
        torch.testing.assert_close(folded.errors(x, "cosine")[member], 1 - cosine)


def test_folded_weights_take_the_input_as_it_is_before_its_normalisation() -> None:
    weights, y = draw(3, 6), draw(4, 5, seed=1)
    before = Normalised(draw(1, 5, seed=2), draw(1, 5, seed=3))
    wanted = (before.scale * y + before.shift) @ weights[:, :-1].mT + weights[:, -1]
    folded = fold(weights, before)
    torch.testing.assert_close(y @ folded[:, :-1].mT + folded[:, -1], wanted)
    assert fold(weights, None) is weights


def test_scoring_leaves_the_batch_as_it_was_and_results_do_not_share_memory() -> None:
    folded = trained(SMALL).for_scoring()
    x = draw(1, 9, 7)
    before = x.clone()
    first = [folded.errors(x, "cosine"), folded.reconstruct(x), folded.encode(x)]
    kept = [tensor.clone() for tensor in first]
    folded.errors(2 * x, "euclidean")
    folded.reconstruct(2 * x)
    folded.encode(2 * x)
    assert torch.equal(x, before)
    assert all(torch.equal(a, b) for a, b in zip(first, kept, strict=True))


def test_batches_of_other_sizes_in_between_change_nothing() -> None:
    folded = trained(replace(SMALL, normalisation="batch")).for_scoring()
    large, small = draw(1, 9, 7), draw(1, 4, 7, seed=1)
    wanted = folded.errors(large, "euclidean")
    folded.errors(small, "euclidean")
    assert torch.equal(folded.errors(large, "euclidean"), wanted)


def test_threads_do_not_write_into_each_others_memory() -> None:
    folded = trained(SMALL).for_scoring()
    batches = [draw(1, 64, 7, seed=seed) for seed in range(4)]
    wanted = [folded.errors(x, "euclidean") for x in batches]
    found: dict[int, list[Tensor]] = {}

    def work(number: int) -> None:
        found[number] = [folded.errors(batches[number], "euclidean") for _ in range(50)]

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(torch.equal(scores, wanted[number]) for number, each in found.items() for scores in each)
    assert len(found) == 4


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_each_member_may_have_rows_of_its_own(kind: str) -> None:
    network = trained(SMALL)
    batch = sparse_batch(n_members=2) if kind == "sparse" else draw(2, 12, 7)
    together = network.errors(batch, "euclidean")
    for member, own in enumerate(of_each_member(batch)):
        assert isinstance(own, SparseBatch) == (kind == "sparse")
        torch.testing.assert_close(network.errors(own, "euclidean")[member], together[member])
