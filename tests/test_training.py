"""The loop, with steps small enough to watch."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from rsrae.training import (
    Adam,
    Epoch,
    History,
    Selection,
    Step,
    Trimming,
    batch_bounds,
    limited_threads,
    run_epochs,
    train,
)


def train_one(
    steps: list[Step[Tensor]],
    rows: Numbers,
    *,
    epochs: int,
    on_epoch: Callable[[Epoch], bool | None] | None = None,
    **settings: Any,
) -> History:
    return train([run_epochs(steps, rows, **settings)], epochs=epochs, on_epoch=on_epoch)


class Numbers:
    """Rows that are their own numbers; remembers every batch that was taken."""

    def __init__(self, n_rows: int) -> None:
        self.n_rows = n_rows
        self.taken: list[list[list[int]]] = []

    def take(self, index: Tensor) -> Tensor:
        self.taken.append(index.tolist())
        return index.double()

    def epochs(self, batches_an_epoch: int, member: int = 0) -> list[list[int]]:
        """The order in which the rows of each epoch came."""
        batches = [batch[member] for batch in self.taken]
        starts = range(0, len(batches), batches_an_epoch)
        return [[row for batch in batches[start : start + batches_an_epoch] for row in batch] for start in starts]


class Watcher:
    """A step that adds up its batches and counts its updates."""

    def __init__(self, losses: list[float] | None = None) -> None:
        self.losses, self.n_gradients = losses, 0
        self.weights: list[Tensor | None] = []
        self.adam = Adam(torch.zeros(1), torch.zeros(1), 0.1)

    def gradient(self, batch: Tensor, weights: Tensor | None) -> Tensor:
        self.weights.append(weights)
        self.n_gradients += 1
        if self.losses is not None:
            return torch.full((batch.shape[0], 1), self.losses[self.n_gradients - 1])
        return batch

    @property
    def n_updates(self) -> int:
        return int(self.adam.counts[0])

    def step(self, name: str = "sum", threshold: float = 0.0) -> Step[Tensor]:
        return Step(name, self.gradient, self.adam, threshold)


def seeded() -> torch.Generator:
    return torch.Generator().manual_seed(0)


# -- batches -----------------------------------------------------------------------------------------------------------


@given(n_rows=st.integers(0, 500), batch_size=st.integers(1, 64))
def test_batches_cover_every_row_once_and_none_but_a_lone_row_stands_alone(n_rows: int, batch_size: int) -> None:
    bounds = list(batch_bounds(n_rows, batch_size))
    assert [row for start, stop in bounds for row in range(start, stop)] == list(range(n_rows))
    assert all(stop - start <= batch_size + 1 for start, stop in bounds)
    if batch_size > 1 and n_rows > 1:
        assert all(stop - start > 1 for start, stop in bounds)


@pytest.mark.parametrize(
    ("n_rows", "batch_size", "sizes"),
    [(8, 4, [4, 4]), (9, 4, [4, 5]), (10, 4, [4, 4, 2]), (3, 128, [3]), (1, 4, [1]), (3, 1, [1, 2])],
)
def test_batch_sizes(n_rows: int, batch_size: int, sizes: list[int]) -> None:
    assert [stop - start for start, stop in batch_bounds(n_rows, batch_size)] == sizes


# -- the loop ----------------------------------------------------------------------------------------------------------


def test_every_epoch_takes_every_row_once_in_a_new_order() -> None:
    rows, watcher = Numbers(10), Watcher()
    train_one([watcher.step()], rows, epochs=3, batch_size=4, generator=seeded())
    epochs = rows.epochs(batches_an_epoch=3)
    assert [sorted(epoch) for epoch in epochs] == [list(range(10))] * 3
    assert epochs[0] != epochs[1] != epochs[2]
    assert watcher.n_updates == 9


def test_shuffled_once_means_the_same_order_every_epoch_but_not_the_given_one() -> None:
    rows = Numbers(10)
    train_one([Watcher().step()], rows, epochs=3, batch_size=4, generator=seeded(), shuffle="once")
    first, second, third = rows.epochs(batches_an_epoch=3)
    assert first == second == third
    assert first != list(range(10))


def test_members_have_orders_of_their_own() -> None:
    rows = Numbers(12)
    train_one([Watcher().step()], rows, epochs=1, batch_size=12, generator=seeded(), n_members=2)
    ((first, second),) = rows.taken
    assert sorted(first) == sorted(second) == list(range(12))
    assert first != second


def test_a_last_batch_of_one_row_joins_the_batch_before_it() -> None:
    rows = Numbers(9)
    train_one([Watcher().step()], rows, epochs=1, batch_size=4, generator=seeded())
    assert [len(batch[0]) for batch in rows.taken] == [4, 5]


def test_fewer_rows_than_a_batch_are_one_batch() -> None:
    rows = Numbers(3)
    train_one([Watcher().step()], rows, epochs=2, batch_size=128, generator=seeded())
    assert [len(batch[0]) for batch in rows.taken] == [3, 3]


def test_the_learning_curve_is_the_mean_over_rows_of_each_loss() -> None:
    history = train_one(
        [Watcher().step("a"), Watcher([7.0] * 6).step("b")],
        Numbers(10),
        epochs=2,
        batch_size=4,
        generator=seeded(),
    )
    assert history.losses == {"a": [pytest.approx(4.5)] * 2, "b": [pytest.approx(7.0)] * 2}


@pytest.mark.parametrize("rates", [(0.1, 0.1), (0.1, 0.2)])
def test_gradients_of_all_steps_are_taken_before_any_update(rates: tuple[float, float]) -> None:
    parameters, gradients = torch.zeros(1), torch.ones(1)
    seen: list[float] = []

    def gradient(batch: Tensor, weights: Tensor | None) -> Tensor:
        seen.append(parameters.item())
        return torch.ones(1, 1)

    steps = [Step(str(number), gradient, Adam(parameters, gradients, rate)) for number, rate in enumerate(rates)]
    train_one(steps, Numbers(2), epochs=2, batch_size=2, generator=seeded())
    after = pytest.approx(-sum(rates))  # the first update of Adam is as long as its learning rate
    assert seen == [0.0, 0.0, after, after]


def test_a_loss_may_be_made_of_its_terms_in_another_way_than_by_their_mean() -> None:
    step = Step("total", lambda batch, weights: batch, Watcher().adam, loss=lambda terms: terms.sum(dim=-1))
    history = train_one([step], Numbers(10), epochs=1, batch_size=10, generator=seeded())
    assert history.losses == {"total": [pytest.approx(45.0)]}


def test_a_threshold_is_held_against_the_loss_and_not_against_its_terms() -> None:
    watcher = Watcher()  # the terms are 0, 1, 2 and 3
    train_one([watcher.step(threshold=1.6)], Numbers(4), epochs=1, batch_size=4, generator=seeded())
    assert watcher.n_updates == 0


def test_a_step_rests_while_its_loss_is_not_above_its_threshold() -> None:
    watcher = Watcher([3.0, 2.0, 1.0, 2.5, 0.5])
    train_one([watcher.step(threshold=2.0)], Numbers(4), epochs=5, batch_size=4, generator=seeded())
    assert watcher.n_updates == 2  # 3.0 and 2.5


def test_a_step_without_a_threshold_never_rests() -> None:
    watcher = Watcher([0.0, 0.0])
    train_one([watcher.step()], Numbers(4), epochs=2, batch_size=4, generator=seeded())
    assert watcher.n_updates == 2


def test_progress_is_reported_after_every_epoch() -> None:
    seen: list[Epoch] = []
    train_one([Watcher().step()], Numbers(3), epochs=3, batch_size=4, generator=seeded(), on_epoch=seen.append)
    assert [(epoch.number, epoch.total) for epoch in seen] == [(1, 3), (2, 3), (3, 3)]
    assert all(epoch.losses == {"sum": pytest.approx(1.0)} for epoch in seen)
    assert [epoch.seconds for epoch in seen] == sorted(epoch.seconds for epoch in seen)


def test_false_from_the_progress_callback_stops_and_none_does_not() -> None:
    def stop_after_two(epoch: Epoch) -> bool | None:
        return False if epoch.number == 2 else None

    history = train_one(
        [Watcher().step()], Numbers(3), epochs=9, batch_size=4, generator=seeded(), on_epoch=stop_after_two
    )
    assert len(history.losses["sum"]) == 2


def test_networks_trained_together_stop_after_the_same_epoch_and_report_the_mean_of_their_losses() -> None:
    watchers = Watcher([1.0, 2.0, 3.0, 4.0]), Watcher([3.0, 6.0, 9.0, 12.0])
    runs = [run_epochs([one.step()], Numbers(3), batch_size=4, generator=seeded()) for one in watchers]
    history = train(runs, epochs=4, on_epoch=lambda epoch: epoch.number < 3)
    assert history.losses == {"sum": [2.0, 4.0, 6.0]}
    assert [one.n_updates for one in watchers] == [3, 3]


def test_a_selection_chooses_and_weighs_the_rows_of_an_epoch() -> None:
    rows, watcher = Numbers(6), Watcher()
    index = torch.tensor([[1, 3, 5]])

    def select(epoch: int, among: Tensor) -> Selection:
        return Selection(index, index.double()) if epoch == 1 else Selection(among.unsqueeze(0))

    train_one([watcher.step()], rows, epochs=3, batch_size=6, generator=seeded(), select=select)
    assert [sorted(batch[0]) for batch in rows.taken] == [[*range(6)], [1, 3, 5], [*range(6)]]
    assert watcher.weights[0] is None
    assert watcher.weights[1] is not None
    assert watcher.weights[1].tolist() == [[float(row) for row in rows.taken[1][0]]]  # weights follow their rows


# -- trimming ----------------------------------------------------------------------------------------------------------


def test_trimming_keeps_the_rows_that_fit_best_after_the_warm_up() -> None:
    errors = torch.tensor([[5.0, 1.0, 4.0, 2.0, 3.0], [1.0, 2.0, 3.0, 4.0, 5.0]])
    trimming = Trimming(lambda among: errors[:, among], 0.4, warm_up=2, n_members=2)
    for epoch in (0, 1):
        assert trimming(epoch, torch.arange(5)).rows.tolist() == [[*range(5)]] * 2
    assert [sorted(member) for member in trimming(2, torch.arange(5)).rows.tolist()] == [[1, 3, 4], [0, 1, 2]]


def test_trimming_looks_at_the_rows_of_the_epoch_only() -> None:
    errors = torch.tensor([[5.0, 1.0, 4.0, 2.0, 3.0]])
    trimming = Trimming(lambda among: errors[:, among], 0.5, warm_up=1)
    among = torch.tensor([0, 2, 3, 4])
    assert trimming(0, among).rows.tolist() == [[0, 2, 3, 4]]
    assert sorted(trimming(1, among).rows[0].tolist()) == [3, 4]


def test_trimming_by_an_estimated_share_takes_the_mean_over_members() -> None:
    errors = torch.stack([torch.arange(10.0), torch.arange(10.0)])
    shares = iter([0.2, 0.4])
    selection = Trimming(lambda among: errors[:, among], lambda member: next(shares), warm_up=0)(0, torch.arange(10))
    assert selection.rows.shape == (2, 7)


def test_trimming_never_leaves_fewer_than_two_rows() -> None:
    selection = Trimming(lambda among: torch.rand(1, 5), 0.99, warm_up=0)(0, torch.arange(5))
    assert selection.rows.shape == (1, 2)


def test_training_with_trimming_only_sees_the_rows_it_keeps() -> None:
    rows = Numbers(10)
    trimming = Trimming(lambda among: torch.arange(10.0)[among].unsqueeze(0), 0.3, warm_up=1)
    train_one([Watcher().step()], rows, epochs=2, batch_size=10, generator=seeded(), select=trimming, shuffle="once")
    assert [sorted(batch[0]) for batch in rows.taken] == [[*range(10)], [*range(7)]]


def test_an_epoch_of_some_rows_draws_them_anew() -> None:
    rows = Numbers(50)
    train_one([Watcher().step()], rows, epochs=40, batch_size=10, generator=seeded(), most_rows=10)
    drawn = [sorted(batch[0]) for batch in rows.taken]
    assert all(len(set(batch)) == 10 for batch in drawn)
    assert drawn[0] != drawn[1]
    assert set(itertools.chain.from_iterable(drawn)) == set(range(50))


def test_an_epoch_of_more_rows_than_there_are_takes_each_once() -> None:
    rows = Numbers(6)
    train_one([Watcher().step()], rows, epochs=2, batch_size=6, generator=seeded(), most_rows=7)
    assert [sorted(batch[0]) for batch in rows.taken] == [[*range(6)]] * 2


# -- Adam, threads -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-12), (torch.float32, 1e-5)])
def test_adam_moves_like_that_of_torch(dtype: torch.dtype, tolerance: float) -> None:
    generator = seeded()
    start = torch.randn(40, generator=generator, dtype=dtype)
    ours, gradients = start.clone(), torch.zeros_like(start)
    theirs = start.clone().requires_grad_()
    adam, reference = Adam(ours, gradients, 0.01), torch.optim.Adam([theirs], lr=0.01)
    for _ in range(50):
        gradient = torch.randn(40, generator=generator, dtype=dtype)
        gradients.copy_(gradient)
        theirs.grad = gradient
        adam.step()
        reference.step()
    torch.testing.assert_close(ours, theirs.detach(), rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("rates", [(0.01, 0.01, 0.01), (0.01, 0.1, 0.1), (0.01, 0.02, 0.03)])
def test_optimisers_together_move_what_they_share_as_one_after_the_other(rates: tuple[float, ...]) -> None:
    generator = seeded()
    start = torch.randn(40, generator=generator, dtype=torch.float64)

    def optimisers(parameters: Tensor) -> list[Adam]:
        slices = parameters, parameters[10:20], parameters[10:20]
        return [Adam(part, torch.zeros_like(part), rate) for part, rate in zip(slices, rates, strict=True)]

    in_turn, at_once = start.clone(), start.clone()
    singles, parts = optimisers(in_turn), optimisers(at_once)
    merged = Adam.together(parts)
    assert len(merged) == len(set(rates))
    for _ in range(20):
        for single, part in zip(singles, parts, strict=True):
            gradient = torch.randn(single.gradients[0].shape, generator=generator, dtype=torch.float64)
            single.gradients[0].copy_(gradient)
            part.gradients[0].copy_(gradient)
            single.step()
        for optimiser in merged:
            optimiser.step()
    torch.testing.assert_close(at_once, in_turn, rtol=1e-12, atol=1e-14)
    assert [part.counts[0].item() for part in parts] == [20, 20, 20]


@pytest.mark.parametrize("before", [False, True])
def test_denormals_are_zero_in_training_and_afterwards_as_they_were(before: bool) -> None:
    if not torch.set_flush_denormal(before):
        pytest.skip("this processor has no such mode")
    smallest = torch.tensor(torch.finfo(torch.float32).tiny)
    seen: list[float] = []

    def gradient(batch: Tensor, weights: Tensor | None) -> Tensor:
        seen.append((smallest / 2).item())
        if len(seen) == 2:
            raise KeyError
        return torch.zeros(1, 1)

    try:
        with pytest.raises(KeyError):
            train_one([Step("a", gradient, Watcher().adam)], Numbers(2), epochs=2, batch_size=2, generator=seeded())
        assert seen == [0.0, 0.0]
        assert ((smallest / 2).item() == 0.0) is before
    finally:
        torch.set_flush_denormal(False)


def test_a_limit_on_threads_ends_with_its_block_even_after_an_error() -> None:
    before = torch.get_num_threads()
    other = before + 1
    with limited_threads(other):
        assert torch.get_num_threads() == other
    with pytest.raises(KeyError), limited_threads(other):
        raise KeyError
    assert torch.get_num_threads() == before
    with limited_threads(None):
        assert torch.get_num_threads() == before
