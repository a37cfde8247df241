"""How many threads pay, by the size of the problem (docs/performance.md has them on two cores)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import torch

from rsrae.networks.network import Network
from rsrae.training import Losses, limited_threads

WORK_OF_A_THREAD = 75_000_000  # operations a step below which another thread costs more than it brings, on idle cores
# The same where nobody has asked for an ensemble of that size. Threads wait for the last of them dozens of times a
# step, and where other programs have the cores the last is late: of one thread's time for 1,500 pictures of 28 x 28 two
# took .83 on two idle cores, and 28 times as much beside two other programs.
WORK_OF_A_CAREFUL_THREAD = 2_000_000_000
THREADS_PAY_FROM = 1_000_000_000  # operations of a scoring
LARGE_BATCH = 2**21  # values; such products use all threads well, and several networks at once would need much memory
MOST_SCORING_THREADS = 8  # about a tenth of a block's time is Python's, which one thread has at a time; reckoned


def training_threads(network: Network, batch_size: int, *, is_careful: bool = False, is_sparse: bool = False) -> int:
    """Small matrix products gain little by a second thread, and lose much where it has to wait.

    Whoever ``is_careful`` takes one more only where a step is large; of sparse rows none is.
    """
    most = torch.get_num_threads()
    if network.uses_autograd:
        return most
    if is_careful and is_sparse:
        return 1
    work = 6 * network.parameters.numel() * batch_size  # operations of a step, forward and backward
    return max(1, min(most, work // (WORK_OF_A_CAREFUL_THREAD if is_careful else WORK_OF_A_THREAD)))


def scoring_threads(networks: Sequence[Network], n_rows: int, asked: int | None = None) -> int:
    """Blocks of rows are shared between threads (:mod:`rsrae.networks.walk`) if there are enough of them.

    ``asked`` is the number to take in any case; on other devices than a CPU it is one.
    """
    if networks[0].parameters.device.type != "cpu":
        return 1
    if asked is not None:
        return asked
    work = 2 * n_rows * sum(network.parameters.numel() for network in networks)
    return min(torch.get_num_threads(), MOST_SCORING_THREADS) if work > THREADS_PAY_FROM else 1


@contextmanager
def training_side_by_side(
    networks: Sequence[Network], n_threads: int, batch_size: int
) -> Iterator[Callable[[Sequence[Iterator[Losses]]], list[Losses]]]:
    """Gives what takes all networks through an epoch, each on a thread of its own as far as threads go round.

    Networks that do not wait for one another use cores better than one network that shares every small product
    between them, above all on a machine that is busy with other work. Large images, and other devices than a CPU, have
    one network after the other.
    """
    is_large = batch_size * math.prod(networks[0].architecture.input_shape) > LARGE_BATCH
    is_elsewhere = networks[0].parameters.device.type != "cpu"
    n_workers = 1 if is_large or is_elsewhere else min(n_threads, len(networks))

    def advance(run: Iterator[Losses]) -> Losses:
        # Every thread has its own mode. Autograd cannot go on with tensors that were made in inference mode.
        with torch.no_grad() if networks[0].uses_autograd else torch.inference_mode():
            return next(run)

    with limited_threads(n_threads // n_workers):
        if n_workers == 1:
            yield lambda runs: [advance(run) for run in runs]
            return
        with ThreadPoolExecutor(
            n_workers, initializer=torch.set_num_threads, initargs=(n_threads // n_workers,)
        ) as pool:
            yield lambda runs: list(pool.map(advance, runs))
