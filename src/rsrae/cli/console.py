"""What the verbs print: text for people, JSON for programs, and a bar while training goes on."""

from __future__ import annotations

import contextlib
import json
import signal
import sys
from collections.abc import Iterator, Sequence
from types import FrameType
from typing import TYPE_CHECKING, Any

from rsrae.errors import ParameterError

if TYPE_CHECKING:
    from rich.console import Console

    from rsrae.training import Epoch

PIPED_WIDTH = 140
COLUMN_GAP = 3


def make_console() -> Console:
    """Standard output; nothing a user wrote is taken for markup."""
    from rich.console import Console

    width = None if sys.stdout.isatty() else PIPED_WIDTH
    return Console(markup=False, emoji=False, highlight=False, width=width)


def print_json(document: Any) -> None:
    """One machine-readable document on standard output."""
    print(json.dumps(document, indent=2, allow_nan=False, default=str))


def one_line(text: str) -> str:
    r"""Text on one line, with what could command a terminal made visible.

    >>> one_line("two\nlines \x1b[31m")
    'two lines ?[31m'
    """
    return "".join(c if c.isprintable() else "?" for c in " ".join(text.split()))


def table(columns: Sequence[str], rows: Sequence[Sequence[str]], *, numbers: Sequence[str] = ()) -> Any:
    """A table for `make_console`; the columns named ``numbers`` are right-aligned."""
    from rich import box
    from rich.table import Table

    drawn = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for column in columns:
        drawn.add_column(column, justify="right" if column in numbers else "left", overflow="fold")
    for row in rows:
        drawn.add_row(*(one_line(cell) for cell in row))
    return drawn


def side_by_side(columns: Sequence[str], rows: Sequence[Sequence[str]], width: int) -> Iterator[list[int]]:
    """The columns of a wide table in groups that fit ``width`` without a broken cell, the first column in each.

    >>> list(side_by_side(("data", "IF", "LOF"), [("glass", ".798 / .212", ".762 / .100")], 24))
    [[0, 1], [0, 2]]
    """
    taken = [
        max(len(text) for text in (*column.split(), *(row[i] for row in rows))) for i, column in enumerate(columns)
    ]
    group, left = [0], width - taken[0]
    for number in range(1, len(columns)):
        needed = taken[number] + COLUMN_GAP
        if needed > left and len(group) > 1:
            yield group
            group, left = [0], width - taken[0]
        group.append(number)
        left -= needed
    yield group


class Training:
    """Watches over training: draws the bar, and turns the first Ctrl-C into a stop after the epoch.

    Use as a context manager around the training, and pass the instance as ``on_epoch``. A second Ctrl-C interrupts at
    once. The bar is drawn on standard error, and only if that is a terminal.
    """

    def __init__(self, *, is_shown: bool) -> None:
        self.n_epochs = 0
        self._is_stopping = False
        self._was_cut = False
        self._is_shown = is_shown and sys.stderr.isatty()
        self._exits = contextlib.ExitStack()
        self._bar: Any = None

    @property
    def stopped_after(self) -> str | None:
        """A sentence on where training was stopped, or None if it was not."""
        if not self._was_cut:
            return None
        return f"Training was stopped by Ctrl-C after {self.n_epochs} epochs; this is what was learned until then."

    def __call__(self, epoch: Epoch) -> bool:
        """After every epoch."""
        self.n_epochs += 1
        self._was_cut |= self._is_stopping and epoch.number < epoch.total
        if self._is_shown:
            self._draw(epoch)
        return not self._is_stopping

    def __enter__(self) -> Training:
        self._exits.enter_context(_on_interrupt(self._stop))
        return self

    def __exit__(self, *error: object) -> None:
        self._exits.close()

    def _stop(self) -> None:
        self._is_stopping = True
        print("\nStopping after this epoch; Ctrl-C again to give up.", file=sys.stderr)

    def _draw(self, epoch: Epoch) -> None:
        if self._bar is None:
            self._bar = self._exits.enter_context(_make_bar())
            self._task = self._bar.add_task("training", total=epoch.total, losses="")
        losses = "  ".join(f"{name} {value:.4g}" for name, value in epoch.losses.items())
        self._bar.update(self._task, completed=epoch.number, total=epoch.total, losses=losses)


def _make_bar() -> Any:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[losses]}"),
        console=Console(stderr=True),
        transient=True,
    )


@contextlib.contextmanager
def _on_interrupt(react: Any) -> Iterator[None]:
    def handle(number: int, frame: FrameType | None) -> None:
        signal.signal(signal.SIGINT, before)
        react()

    before = signal.getsignal(signal.SIGINT)
    try:
        signal.signal(signal.SIGINT, handle)
    except ValueError:  # not in the main thread, where Ctrl-C never arrives
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextlib.contextmanager
def thread_limit(n_threads: int | None) -> Iterator[None]:
    """At most this many threads in torch and in the libraries behind numpy and scikit-learn."""
    if n_threads is None:
        yield
        return
    if n_threads < 1:
        raise ParameterError(f"--threads must be at least 1, not {n_threads}")
    from threadpoolctl import threadpool_limits

    from rsrae.training import limited_threads

    with threadpool_limits(n_threads), limited_threads(n_threads):
        yield
