"""The training loop: epochs, batches, steps. It knows nothing of networks.

A training scheme is a list of steps. For every batch the gradients of all steps are taken at the same
parameters, then all steps are applied; the paper's alternation is three steps, a plain autoencoder is one.
Everything has a leading axis for the members of an ensemble that is trained as one batched program: each member
has its own initial values, its own order of the rows and its own selection of them.
"""

from __future__ import annotations

import contextlib
import copy
import itertools
import operator
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Generic, Literal, NamedTuple, Protocol, TypeVar

import torch
from torch import Tensor

# Losses are made of their terms once for so many batches: for each of them it would be one or two more small kernels,
# and over an epoch of many they would lie all over the memory between large temporaries, which could then not be given
# back.
BATCHES_SUMMED = 64

BatchT = TypeVar("BatchT")
BatchT_co = TypeVar("BatchT_co", covariant=True)
BatchT_contra = TypeVar("BatchT_contra", contravariant=True)


class Rows(Protocol[BatchT_co]):
    """Rows of a data set, preprocessed, that can be taken by number."""

    n_rows: int

    def take(self, index: Tensor) -> BatchT_co:
        """The rows numbered ``index`` ``(members, rows)`` as one batch."""
        ...


def mean_of_terms(terms: Tensor) -> Tensor:
    """A loss that has a term for every row."""
    return terms.mean(dim=-1)


@dataclass(frozen=True)
class Step(Generic[BatchT_contra]):
    """One loss of a training scheme and the update it causes."""

    name: str
    gradient: Callable[[BatchT_contra, Tensor | None], Tensor]  # batch, row weights -> terms (members, ...)
    optimiser: Adam
    threshold: float = 0.0  # the step rests while its loss is not above this (eps_AE, eps_RSR1, eps_RSR2)
    loss: Callable[[Tensor], Tensor] = mean_of_terms  # terms (..., members, terms) -> loss (..., members)


class Selection(NamedTuple):
    """The rows a member trains on in one epoch."""

    rows: Tensor  # numbers of rows, (members, rows)
    weights: Tensor | None = None  # (members, rows), None: all equal


Selector = Callable[[int, Tensor], Selection]  # the number of an epoch and its rows (rows,) -> those to train on


class Epoch(NamedTuple):
    """What is known after an epoch, for a progress bar."""

    number: int  # from 1
    total: int
    losses: dict[str, float]
    seconds: float  # since training began


@dataclass
class History:
    """The learning curve of every loss: one value an epoch."""

    losses: dict[str, list[float]] = field(default_factory=dict)

    def append(self, losses: dict[str, float]) -> None:
        """Add one epoch."""
        for name, loss in losses.items():
            self.losses.setdefault(name, []).append(loss)


Losses = dict[str, float]


def run_epochs(
    steps: Sequence[Step[BatchT]],
    rows: Rows[BatchT],
    *,
    batch_size: int,
    generator: torch.Generator,
    n_members: int = 1,
    shuffle: Literal["epoch", "once"] = "epoch",
    most_rows: int | None = None,
    select: Selector | None = None,
    device: torch.device | str = "cpu",
) -> Iterator[Losses]:
    """Run the steps over the rows: an epoch, and its losses, whenever the next one is asked for.

    An epoch takes all rows, or ``most_rows`` of them, drawn anew for each. ``select(epoch, among)`` chooses (and
    weighs) those that members train on among these, given by number, ``(rows,)``; left out, all of them.
    """
    among = torch.arange(rows.n_rows)
    order: Tensor | None = None
    for number in itertools.count():
        if most_rows is not None and most_rows < rows.n_rows:
            among = torch.randperm(rows.n_rows, generator=generator)[:most_rows].sort().values
        index, weights = select(number, among) if select else Selection(among.expand(n_members, -1))
        if order is None or shuffle == "epoch" or order.shape != index.shape:
            order = _orders(index, generator)
        index = index.gather(1, order).to(device)
        weights = None if weights is None else weights.gather(1, order.to(weights.device))
        totals = _run_epoch(steps, rows, index, weights, batch_size)
        yield dict(zip((step.name for step in steps), totals, strict=True))


def train(
    runs: Sequence[Iterator[Losses]],
    *,
    epochs: int,
    on_epoch: Callable[[Epoch], bool | None] | None = None,
    advance: Callable[[Sequence[Iterator[Losses]]], Sequence[Losses]] | None = None,
) -> History:
    """Train networks an epoch of all at a time: where one is stopped, all have learned for as long.

    The losses are means over the networks. ``on_epoch`` may return False to stop after the epoch that just ended; what
    was trained until then stands. ``advance`` takes all of them through one epoch; by default one after the other.
    """
    history = History()
    began = time.perf_counter()
    for number in range(1, epochs + 1):
        with flushed_denormals():
            found = [next(run) for run in runs] if advance is None else advance(runs)
        losses = {name: fmean(one[name] for one in found) for name in found[0]}
        history.append(losses)
        if on_epoch is not None and on_epoch(Epoch(number, epochs, losses, time.perf_counter() - began)) is False:
            break
    return history


def batch_bounds(n_rows: int, batch_size: int) -> Iterator[tuple[int, int]]:
    """Where batches begin and end; a last batch of one row joins the one before it.

    >>> list(batch_bounds(9, 4))
    [(0, 4), (4, 9)]
    """
    start = 0
    while start < n_rows:
        stop = min(start + batch_size, n_rows)
        if n_rows - stop == 1:
            stop = n_rows
        yield start, stop
        start = stop


class Trimming:
    """Leaves the rows that fit worst out of each epoch, after a warm-up on all of them.

    Parameters
    ----------
    errors : gives the current errors of some rows by number, ``(rows,) -> (members, rows)``.
    share : the share to leave out, or a function that estimates it from one member's errors.
    warm_up : epochs on all rows.
    n_members : how many train.
    """

    def __init__(
        self,
        errors: Callable[[Tensor], Tensor],
        share: float | Callable[[Tensor], float],
        *,
        warm_up: int,
        n_members: int = 1,
    ) -> None:
        self.errors, self.share, self.warm_up, self.n_members = errors, share, warm_up, n_members

    def __call__(self, epoch: int, among: Tensor) -> Selection:
        """The rows of this epoch, of those ``among`` which they are chosen."""
        if epoch < self.warm_up:
            return Selection(among.expand(self.n_members, -1))
        errors = self.errors(among)
        n_rows = errors.shape[1]
        share = self.share
        if callable(share):
            share = sum(share(member) for member in errors) / errors.shape[0]
        n_kept = max(2, n_rows - int(share * n_rows))
        return Selection(among[errors.topk(min(n_kept, n_rows), dim=1, largest=False).indices.cpu()])


@contextlib.contextmanager
def limited_threads(n_threads: int | None) -> Iterator[None]:
    """Compute with this many threads, then go back to as many as before; None changes nothing."""
    before = torch.get_num_threads()
    if n_threads is None or n_threads == before:
        yield
        return
    torch.set_num_threads(n_threads)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@contextlib.contextmanager
def flushed_denormals() -> Iterator[None]:
    """Take numbers too small for full precision (below 1e-38) for zero, where the processor can, then go back.

    Arithmetic with them takes many times as long, and the moments of a unit that has stopped to learn end as such.
    Other threads are left as they are.
    """
    was_flushed = bool(torch.tensor(torch.finfo(torch.float32).tiny) / 2 == 0)
    torch.set_flush_denormal(True)
    try:
        yield
    finally:
        torch.set_flush_denormal(was_flushed)


class Adam:
    """Adam (Kingma and Ba 2015) over flat buffers: one kernel call, whatever the number of layers."""

    def __init__(self, parameters: Tensor, gradients: Tensor, learning_rate: float) -> None:
        self.parameters, self.gradients = [parameters], [gradients]
        self.learning_rate = learning_rate
        self.means = [torch.zeros_like(parameters)]
        self.squares = [torch.zeros_like(parameters)]
        self.counts = [torch.zeros((), dtype=torch.float32, device=parameters.device)]
        self._one = torch.ones_like(self.counts[0])  # a number would be made a tensor for every update

    @classmethod
    def together(cls, optimisers: Sequence[Adam]) -> list[Adam]:
        """Optimisers that do what these would one after the other, in as few kernel calls as can be."""
        # The kernel for CPUs takes buffers in turn, so that two of them may hold the same parameters; others do not.
        if any(buffer.device.type != "cpu" for optimiser in optimisers for buffer in optimiser.parameters):
            return list(optimisers)
        merged: dict[float, Adam] = {}
        for optimiser in optimisers:
            rate = optimiser.learning_rate
            merged[rate] = merged[rate]._and(optimiser) if rate in merged else optimiser
        return list(merged.values())

    def _and(self, other: Adam) -> Adam:
        both = copy.copy(self)
        for name in ("parameters", "gradients", "means", "squares", "counts"):
            setattr(both, name, getattr(self, name) + getattr(other, name))
        return both

    def step(self) -> None:
        """Move the parameters against the gradients."""
        # The kernel behind torch.optim.Adam(fused=True), called directly: on networks this small the optimiser's
        # own bookkeeping costs more than the update. A test holds it to torch.optim.Adam.
        for count in self.counts:
            count.add_(self._one)
        torch._fused_adam_(
            self.parameters,
            self.gradients,
            self.means,
            self.squares,
            [],
            self.counts,
            lr=self.learning_rate,
            beta1=0.9,
            beta2=0.999,
            weight_decay=0.0,
            eps=1e-8,
            amsgrad=False,
            maximize=False,
        )


def _run_epoch(
    steps: Sequence[Step[BatchT]], rows: Rows[BatchT], index: Tensor, weights: Tensor | None, batch_size: int
) -> list[float]:
    totals = [0.0] * len(steps)
    everything = Adam.together([step.optimiser for step in steps])
    never_rests = all(step.threshold == 0 for step in steps)
    for bounds in _in_parts(batch_bounds(index.shape[1], batch_size), BATCHES_SUMMED):
        seen: list[list[Tensor]] = []
        n_rows: list[int] = []
        for start, stop in bounds:
            batch = rows.take(index[:, start:stop])
            batch_weights = None if weights is None else weights[:, start:stop]
            terms = [step.gradient(batch, batch_weights) for step in steps]
            for optimiser in everything if never_rests else Adam.together(_due(steps, terms)):
                optimiser.step()
            seen.append(terms)
            n_rows.append(stop - start)
        for number, of_step in enumerate(zip(*seen, strict=True)):
            totals[number] += _sum_over_rows(steps[number], of_step, n_rows) / index.shape[1]
    return totals


def _due(steps: Sequence[Step[BatchT]], terms: Sequence[Tensor]) -> list[Adam]:
    return [
        step.optimiser
        for step, of_step in zip(steps, terms, strict=True)
        if step.threshold == 0 or bool((step.loss(of_step) > step.threshold).any())
    ]


def _in_parts(bounds: Iterator[tuple[int, int]], size: int) -> Iterator[list[tuple[int, int]]]:
    while part := list(itertools.islice(bounds, size)):
        yield part


def _sum_over_rows(step: Step[BatchT], terms: Sequence[Tensor], n_rows: Sequence[int]) -> float:
    """The loss of every batch (a mean over members), times its rows, added up."""
    total = 0.0
    for size, group in itertools.groupby(zip(n_rows, terms, strict=True), key=operator.itemgetter(0)):
        alike = torch.stack([of_batch for _, of_batch in group])  # (batches, members, ...)
        total += size * float(step.loss(alike).mean(dim=1).sum())
    return total


def _orders(index: Tensor, generator: torch.Generator) -> Tensor:
    n_members, n_rows = index.shape
    return torch.stack([torch.randperm(n_rows, generator=generator) for _ in range(n_members)])
