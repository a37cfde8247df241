"""Networks of an architecture and of modules of one's own."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from rsrae.errors import InputError
from rsrae.networks.architecture import Architecture
from rsrae.networks.building import build_networks


def generators(n_members: int) -> list[torch.Generator]:
    return [torch.Generator().manual_seed(member) for member in range(n_members)]


@pytest.mark.parametrize(("input_shape", "n_networks"), [((6,), 1), ((8, 8, 2), 3)])
def test_tables_share_a_network_and_images_have_one_a_member(input_shape: tuple[int, ...], n_networks: int) -> None:
    networks = build_networks(Architecture(input_shape, intrinsic_dim=4), generators(3), [4, 2, 1])
    assert len(networks) == n_networks
    assert sum(network.n_members for network in networks) == 3
    widths = [int(diagonal.sum()) for network in networks for diagonal in network.identity.diagonal(dim1=1, dim2=2)]
    assert widths == [4, 2, 1]


def test_modules_of_ones_own_are_copied_for_every_member() -> None:
    mine = nn.Linear(6, 5), nn.Linear(2, 6)
    first, second = build_networks(Architecture((6,), intrinsic_dim=2), generators(2), [2, 2], modules=mine)
    before = second.parameters.clone()
    first.parameters.add_(1)
    assert torch.equal(second.parameters, before)
    assert not torch.equal(first.A, second.A + 1)  # each has its own start
    assert torch.equal(nn.utils.parameters_to_vector(mine[0].parameters()), before[: 6 * 5 + 5])


@pytest.mark.parametrize(
    ("encoder", "decoder", "message"),
    [
        (nn.Linear(7, 5), nn.Linear(2, 6), r"encoder cannot take a batch of shape \(2, 6\)"),
        (nn.Linear(6, 5), nn.Linear(3, 6), "decoder cannot take codes of width 2"),
    ],
)
def test_modules_that_do_not_fit_are_named(encoder: nn.Module, decoder: nn.Module, message: str) -> None:
    with pytest.raises(InputError, match=message):
        build_networks(Architecture((6,), intrinsic_dim=2), generators(1), [2], modules=(encoder, decoder))
