"""How many threads are taken, by the size of the problem."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest
import torch

from rsrae.networks.architecture import Architecture
from rsrae.networks.building import build_networks
from rsrae.networks.network import Network
from rsrae.networks.threads import scoring_threads, training_side_by_side, training_threads
from rsrae.training import Losses


@pytest.fixture(autouse=True)
def eight_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch, "get_num_threads", lambda: 8)


def network_of(input_shape: tuple[int, ...], n_members: int = 1) -> Network:
    generators = [torch.Generator().manual_seed(member) for member in range(n_members)]
    return build_networks(Architecture(input_shape), generators, [10] * n_members)[0]


@pytest.mark.parametrize(("n_members", "n_columns", "most"), [(1, 20, 1), (8, 100, 2), (8, 4_000, 8)])
def test_training_takes_more_threads_as_a_step_is_more_work(n_members: int, n_columns: int, most: int) -> None:
    assert training_threads(network_of((n_columns,), n_members), batch_size=128) == most


@pytest.mark.parametrize(("n_columns", "most"), [(20, 1), (1_000, 1), (20_000, 4), (80_000, 8)])
def test_where_nobody_asked_for_an_ensemble_only_large_steps_take_more_threads(n_columns: int, most: int) -> None:
    network = network_of((n_columns,), 8)
    assert training_threads(network, batch_size=128, is_careful=True) == most
    assert training_threads(network, batch_size=128, is_careful=True, is_sparse=True) == 1


def test_convolutions_train_on_all_threads() -> None:
    assert training_threads(network_of((8, 8, 1)), batch_size=16) == 8


@pytest.mark.parametrize(("n_rows", "most"), [(1, 1), (1_000, 1), (100_000, 8)])
def test_scoring_takes_threads_where_there_are_many_rows(n_rows: int, most: int) -> None:
    assert scoring_threads([network_of((100,))], n_rows) == most


def test_scoring_takes_as_many_threads_as_were_asked_for_but_one_on_other_devices() -> None:
    network = network_of((4,))
    assert scoring_threads([network], 1, asked=3) == 3
    network.parameters = network.parameters.to("meta")
    assert scoring_threads([network], 100_000, asked=3) == 1


def test_networks_on_other_devices_are_trained_one_after_the_other() -> None:
    networks = [network_of((8, 8, 1)), network_of((8, 8, 1))]
    networks[0].parameters = networks[0].parameters.to("meta")
    names: set[str] = set()

    def run() -> Iterator[Losses]:
        names.add(threading.current_thread().name)
        yield {}

    with training_side_by_side(networks, 2, 8) as advance:
        advance([run(), run()])
    assert names == {threading.current_thread().name}


def test_scoring_takes_no_more_threads_than_python_can_serve(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch, "get_num_threads", lambda: 64)
    assert scoring_threads([network_of((100,))], 100_000) == 8


@pytest.mark.parametrize(
    ("n_networks", "n_threads", "batch_size", "kernels"),
    [(1, 1, 8, 1), (3, 1, 8, 1), (2, 2, 8, 1), (2, 5, 8, 2), (3, 2, 8, 1), (3, 2, 100_000, 2)],
)
def test_networks_share_the_threads_there_are(
    n_networks: int, n_threads: int, batch_size: int, kernels: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.undo()  # as many as there really are
    before = torch.get_num_threads()
    names: set[str] = set()

    def run(number: int) -> Iterator[Losses]:
        while True:
            assert not torch.is_grad_enabled()
            names.add(threading.current_thread().name)
            yield {"network": float(number), "threads": float(torch.get_num_threads())}

    runs = [run(number) for number in range(n_networks)]
    with training_side_by_side([network_of((8, 8, 1))] * n_networks, n_threads, batch_size) as advance:
        for _ in range(20):
            assert advance(runs) == [{"network": number, "threads": kernels} for number in range(n_networks)]
    assert len(names) <= min(n_networks, n_threads)
    if batch_size > 8:
        assert names == {threading.current_thread().name}
    assert torch.get_num_threads() == before
