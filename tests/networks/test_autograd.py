"""Any module behind the interface of the engine."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from torch import Tensor, nn

from rsrae.errors import InputError
from rsrae.networks.architecture import Architecture
from rsrae.networks.autograd import AutogradNetwork
from rsrae.networks.batches import SparseBatch
from rsrae.networks.modules import Autoencoder, build_module
from rsrae.networks.network import Joint
from rsrae.rsr import RSRLayer

from .twins import dense_network, module_twin

TABLE = Architecture(input_shape=(7,), intrinsic_dim=2, hidden=(6, 5, 4))
IMAGE = Architecture(input_shape=(6, 5, 2), intrinsic_dim=2, hidden=(3, 4))


def draw(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def image_network(**changes: object) -> AutogradNetwork:
    architecture = replace(IMAGE, **changes)  # type: ignore[arg-type]
    return AutogradNetwork(architecture, build_module(architecture, torch.Generator().manual_seed(0)).double())


@pytest.mark.parametrize("joint", [None, Joint(0.2, 0.3, q=1.5)])
@pytest.mark.parametrize("weighted", [False, True])
def test_losses_latents_and_errors_are_those_of_the_dense_engine(joint: Joint | None, weighted: bool) -> None:
    engine = dense_network(TABLE)
    network = AutogradNetwork(TABLE, module_twin(engine))
    x = draw(1, 9, 7)
    weights = draw(1, 9, seed=1).abs() if weighted else None
    torch.testing.assert_close(network.gradient(x, 1.0, weights, joint), engine.gradient(x, 1.0, weights, joint))
    torch.testing.assert_close(network.latent, engine.latent)
    torch.testing.assert_close(network.A, engine.A)
    torch.testing.assert_close(network.encode(x), engine.encode(x))
    torch.testing.assert_close(network.errors(x, "cosine"), engine.errors(x, "cosine"))


def test_the_flat_buffers_are_the_parameters_and_gradients_of_the_module() -> None:
    network = image_network()
    network.gradient(draw(1, 8, 6, 5, 2), 1.0, None)
    start, stop = network.A_bounds
    A = network.module.rsr.A
    torch.testing.assert_close(network.gradients[start:stop].as_strided(A.shape, A.stride()), A.grad)
    assert network.gradients[:start].abs().max() > 0
    assert network.gradients[stop:].abs().max() > 0
    network.parameters.zero_()
    assert all(parameter.abs().max() == 0 for parameter in network.module.parameters())


def test_gradients_do_not_add_up_over_batches() -> None:
    network = image_network()
    x = draw(1, 8, 6, 5, 2)
    network.gradient(x, 1.0, None)
    first = network.gradients.clone()
    network.gradient(x, 1.0, None)
    torch.testing.assert_close(network.gradients, first)


def test_the_gradient_of_the_encoder_is_that_of_autograd() -> None:
    network = image_network()
    network.keeps_graph = True
    x = draw(1, 8, 6, 5, 2)
    network.gradient(x, 1.0, None)
    in_latent = draw(*network.latent.shape, seed=3)
    out = torch.zeros(network.A_bounds[1], dtype=torch.float64)
    network.encoder_gradient(in_latent, out)
    latent = network.module.encoder(x[0].movedim(-1, 1)).flatten(start_dim=1)
    expected = torch.autograd.grad(latent, list(network.module.encoder.parameters()), in_latent[0])
    start = 0
    for parameter, gradient in zip(network.module.encoder.parameters(), expected, strict=True):
        part = out[start : start + parameter.numel()].as_strided(parameter.shape, parameter.stride())
        torch.testing.assert_close(part, gradient)
        start += parameter.numel()
    assert out[network.A_bounds[0] :].abs().max() == 0


def test_images_keep_their_channels_last_shape() -> None:
    assert image_network().reconstruct(draw(1, 8, 6, 5, 2)).shape == (1, 8, 6, 5, 2)


def test_sparse_rows_are_made_dense_for_a_module() -> None:
    network = AutogradNetwork(TABLE, build_module(TABLE, torch.Generator().manual_seed(0)).double())
    batch = SparseBatch([sp.csr_array(np.eye(7))])
    torch.testing.assert_close(network.reconstruct(batch), network.reconstruct(batch.to_dense()))


def test_running_statistics_travel_with_the_state() -> None:
    network, other = image_network(normalisation="batch"), image_network(normalisation="batch")
    x = draw(1, 8, 6, 5, 2)
    network.gradient(x, 1.0, None)
    other.load_state(network.state())
    torch.testing.assert_close(network.reconstruct(x), other.reconstruct(x), rtol=0, atol=0)


def test_a_copy_is_independent_and_the_original_goes_on_training() -> None:
    network = image_network()
    x = draw(1, 8, 6, 5, 2)
    network.gradient(x, 1.0, None)
    copy = network.to(dtype=torch.float32)
    assert copy.reconstruct(x.float()).dtype == torch.float32
    copy.parameters.zero_()
    assert network.parameters.abs().max() > 0
    before = network.gradients.clone()
    network.gradients.zero_()
    network.gradient(x, 1.0, None)
    torch.testing.assert_close(network.gradients, before)


def test_a_decoder_whose_output_has_another_shape_is_an_error() -> None:
    module = Autoencoder(nn.Linear(7, 4), RSRLayer(4, 2), nn.Linear(2, 6)).double()
    with pytest.raises(InputError, match=r"the decoder gives \(3, 6\) for \(3, 7\); they must agree"):
        AutogradNetwork(TABLE, module).gradient(draw(1, 3, 7), 1.0, None)


def test_an_encoder_without_parameters_is_allowed() -> None:
    module = Autoencoder(nn.Identity(), RSRLayer(7, 2), nn.Linear(2, 7)).double()
    network = AutogradNetwork(TABLE, module)
    assert network.A_bounds == (0, 14)
    assert network.gradient(draw(1, 3, 7), 1.0, None).isfinite().all()
