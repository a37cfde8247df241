"""How many threads pay, by the size of the problem; measured in docs/performance.md."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from rsrae.networks.network import Network

WORK_OF_A_THREAD = 75_000_000  # operations a step below which another thread costs more than it brings
THREADS_PAY_FROM = 1_000_000_000  # operations of a scoring


def training_threads(network: Network, batch_size: int) -> int:
    """Small matrix products lose more to waking threads than they gain."""
    most = torch.get_num_threads()
    if network.uses_autograd:
        return most
    work = 6 * network.parameters.numel() * batch_size  # operations of a step, forward and backward
    return max(1, min(most, work // WORK_OF_A_THREAD))


def scoring_threads(networks: Sequence[Network], n_rows: int) -> int:
    """Blocks of rows are shared between threads (:mod:`rsrae.networks.walk`) if there are enough of them."""
    if networks[0].parameters.device.type != "cpu":
        return 1
    work = 2 * n_rows * sum(network.parameters.numel() for network in networks)
    return torch.get_num_threads() if work > THREADS_PAY_FROM else 1
