"""The networks of the paper as torch modules."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from rsrae.networks.architecture import Architecture
from rsrae.networks.modules import Affine, Autoencoder, build_module
from rsrae.rsr import RSRLayer


def built(**settings: object) -> Autoencoder:
    return build_module(Architecture(**settings), torch.Generator().manual_seed(0))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "shape",
    [
        (28, 28, 1),
        (32, 32, 3),
        (17, 23, 4),
        (1, 1, 1),
        (5, 2, 2),
        (8, 8, 1),
        (9, 1, 3),
        (1, 40, 2),
        (2, 3, 1),
        (33, 31, 1),
    ],
)
@pytest.mark.parametrize("hidden", [(4, 6, 8), (5,), (3, 4, 5, 6, 7)])
def test_images_of_any_size_come_out_as_large_as_they_went_in(
    shape: tuple[int, int, int], hidden: tuple[int, ...]
) -> None:
    module = built(input_shape=shape, intrinsic_dim=2, hidden=hidden)
    height, width, channels = shape
    out = module(torch.zeros(3, channels, height, width))
    assert out.x_hat.shape == (3, channels, height, width)
    assert out.code.shape == (3, 2)
    assert out.latent.shape == (3, module.rsr.A.shape[0])


def test_the_convolutions_are_those_of_the_paper() -> None:
    module = built(input_shape=(28, 28, 1))
    convolutions = [layer for layer in module.encoder.children() if isinstance(layer, nn.Conv2d)]
    assert [(c.out_channels, c.kernel_size, c.stride) for c in convolutions] == [
        (32, (5, 5), (2, 2)),
        (64, (5, 5), (2, 2)),
        (128, (3, 3), (2, 2)),
    ]
    back = [layer for layer in module.decoder.children() if isinstance(layer, nn.ConvTranspose2d)]
    assert [(c.out_channels, c.kernel_size) for c in back] == [(64, (3, 3)), (32, (5, 5)), (1, (5, 5))]
    assert module.rsr.A.shape == (128 * 4 * 4, 10)


def test_the_dense_layers_are_those_of_the_paper() -> None:
    module = built(input_shape=(50,))
    encoder, decoder = (
        [layer.out_features for layer in part.children() if isinstance(layer, nn.Linear)]
        for part in (module.encoder, module.decoder)
    )
    assert encoder == [32, 64, 128]
    assert decoder == [128, 64, 32, 50]


@pytest.mark.parametrize(("shape", "kind"), [((6,), nn.BatchNorm1d), ((8, 8, 1), nn.BatchNorm2d)])
def test_normalisation_follows_every_hidden_layer(shape: tuple[int, ...], kind: type[nn.Module]) -> None:
    counts = {}
    for normalisation in ("batch", "affine", None):
        module = built(input_shape=shape, hidden=(4, 5), intrinsic_dim=2, normalisation=normalisation)
        counts[normalisation] = sum(isinstance(layer, (kind, Affine)) for layer in module.modules())
        assert not isinstance(list(module.decoder.children())[-1], (kind, Affine))
    assert counts == {"batch": 4, "affine": 4, None: 0}


def test_the_decoder_sees_a_code_of_unit_norm_if_asked() -> None:
    seen: list[torch.Tensor] = []
    decoder = nn.Linear(2, 5)
    decoder.register_forward_pre_hook(lambda module, arguments: seen.append(arguments[0]))
    encoder, rsr = nn.Linear(5, 8), RSRLayer(8, 2)
    x = torch.randn(4, 5, generator=torch.Generator().manual_seed(0))
    for normalise_code in (True, False):
        out = Autoencoder(encoder, rsr, decoder, normalise_code=normalise_code)(x)
        expected = out.code / out.code.norm(dim=1, keepdim=True) if normalise_code else out.code
        torch.testing.assert_close(seen.pop(), expected)


def test_the_affine_map_scales_and_shifts_each_channel() -> None:
    layer = Affine(3)
    with torch.no_grad():
        layer.weight.copy_(torch.tensor([1.0, 2.0, 3.0]))
        layer.bias.copy_(torch.tensor([0.0, 0.0, 5.0]))
    for shape in ((2, 3), (2, 3, 4, 4)):
        y = layer(torch.ones(shape)).detach()
        assert [y[:, channel].unique().item() for channel in range(3)] == [1, 2, 8]


def test_the_same_generator_gives_the_same_network() -> None:
    first, second = (built(input_shape=(8, 8, 1), hidden=(4, 5)).state_dict() for _ in range(2))
    assert all(torch.equal(first[name], second[name]) for name in first)


def test_a_layer_without_bias_can_be_initialised() -> None:
    from rsrae.networks.modules import initialise_glorot

    layer = nn.Linear(3, 4, bias=False)
    initialise_glorot(layer, torch.Generator().manual_seed(0))
    assert layer.weight.abs().max() <= (6 / 7) ** 0.5
