from __future__ import annotations

import pytest
import torch

from rsrae.errors import ParameterError
from rsrae.networks.wide_resnet import ResidualBlock, WideResNet


def network(depth: int = 10, widen: int = 1, seed: int = 0) -> WideResNet:
    return WideResNet(3, 72, depth=depth, widen=widen, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("side", [4, 8, 28, 33])
def test_images_of_any_size_are_classified(side: int) -> None:
    assert network()(torch.zeros(2, 3, side, side)).shape == (2, 72)


@pytest.mark.parametrize(("depth", "n_convolutions"), [(10, 7), (16, 13)])
def test_the_depth_counts_the_layers(depth: int, n_convolutions: int) -> None:
    layers = [m for m in network(depth).modules() if isinstance(m, torch.nn.Conv2d) and m.kernel_size == (3, 3)]
    assert len(layers) == n_convolutions


def test_the_published_size_is_depth_10_widened_4_times() -> None:
    n_weights = sum(p.numel() for p in network(10, 4).parameters())
    assert 1.1e6 < n_weights < 1.3e6


def test_the_generator_decides_the_weights() -> None:
    first, same, other = (network(seed=seed).first.weight for seed in (0, 0, 1))
    assert torch.equal(first, same)
    assert not torch.equal(first, other)


def test_a_block_whose_convolutions_are_zero_passes_its_input_through() -> None:
    block = ResidualBlock(4, 4, stride=1)
    torch.nn.init.zeros_(block.conv2.weight)
    x = torch.arange(64.0).view(1, 4, 4, 4)
    torch.testing.assert_close(block(x), x)


@pytest.mark.parametrize("depth", [4, 11, 12])
def test_a_depth_that_no_network_has_is_refused(depth: int) -> None:
    with pytest.raises(ParameterError, match="depth"):
        network(depth)
