"""The benchmarks, one function each; ``BENCHMARKS`` names them in the order of the page.

Same rows, same layers, same batch and epochs for everybody, and one thread unless threads are the point.
"""

from __future__ import annotations

import inspect
import itertools
import statistics
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from benchmarks import data, profiling, reference
from benchmarks.measure import Check, Result, Values, interleave, machine_facts, ratios, timed
from benchmarks.memory import peak_of_fit
from benchmarks.peers import Peers
from rsrae import RSRAE, AutoEncoder

T = TypeVar("T")

HIDDEN = (32, 64, 128)
D = 10
BATCH = 128
NETWORK: dict[str, Any] = {"hidden": HIDDEN, "intrinsic_dim": D, "batch_size": BATCH}
SINGLE: dict[str, Any] = {
    **NETWORK,
    "n_members": 1,
    "n_neighbors": 0,
    "ranks": False,
    "n_trees": 0,
    "n_alike": 0,
    "level_lengths": False,
    "normalisation": None,
    "trim": 0.0,
    "n_threads": 1,
    "random_state": 0,
}
MEGABYTE = 1e6


@dataclass
class Run:
    """What all benchmarks of a run share."""

    peers: Peers | None = None  # None leaves the peers out
    quick: bool = False
    repeats: int | None = None

    def size(self, full: T, quick: T) -> T:
        """A size, or a tiny one where only the harness is tried."""
        return quick if self.quick else full

    def rounds(self, usual: int) -> int:
        """How many rounds count."""
        return self.repeats or (2 if self.quick else usual)


def measure(name: str, run: Run) -> Result:
    """One benchmark by name."""
    result = Result(name, machine=machine_facts(), is_quick=run.quick)
    result.seconds = timed(lambda: BENCHMARKS[name].work(run, result))()
    return result


def epoch(run: Run, result: Result) -> None:
    """One epoch, one thread, batches of 128, layers of 32, 64 and 128, then a code of 10 and the mirrored decoder, for
    everybody: RSRAE with all three updates of the paper's Algorithm 1; our plain AutoEncoder; PyOD's AutoEncoder with
    the same layers (no normalisation, no dropout); Algorithm 1 in plain torch (three losses through autograd, three
    optimisers); and the matrix products of an RSRAE epoch alone, the arithmetic limit of the core. DeepOD has no
    autoencoder for tables; its DeepSVDD trains half of the network.
    """
    marker = run.size((20_000, 100), (600, 20))
    sizes = itertools.product(run.size((2_000, 20_000, 200_000), (600,)), run.size((20, 100, 500), (20,)))
    for n_rows, n_columns in sizes:
        is_marker = (n_rows, n_columns) == marker
        is_small = n_rows <= 20_000
        fits: Values = {"RSRAE": [], "PyOD AutoEncoder": []}
        contestants = _table_contestants(run, n_rows, n_columns, fits, is_marker=is_marker)
        # Large tables warm up in their own first epoch, and are asked once.
        n_rounds = run.rounds(7 if is_marker else 3) if is_small else 1
        values = interleave(contestants, n_rounds, warm_up=is_small)
        case = f"{n_rows:,} x {n_columns}"
        result.add(case, values)
        if is_marker:
            _judge_epoch(result, values, fits, case)
    _note_peers(run, result)


def profile(run: Run, result: Result) -> None:
    """The same epoch with a clock around every part of the loop, and the operators of torch by their share of the time
    (watching them slows each down, so the shares are rough).
    """
    n_rows, n_columns = run.size((20_000, 100), (600, 20))
    X = data.table(n_rows, n_columns)
    products = reference.matrix_products(n_rows, n_columns, **NETWORK)
    parts: Values = {name: [] for name in profiling.PARTS}
    for _ in range(run.rounds(5)):
        for name, seconds in profiling.epoch_by_part(X, hidden=HIDDEN, intrinsic_dim=D).items():
            parts[name].append(seconds)
        parts.setdefault("products", []).append(products())
    names = profiling.PARTS | {"products": "for comparison: matrix products alone"}
    result.add(f"{n_rows:,} x {n_columns}, one epoch", {names[name]: seconds for name, seconds in parts.items()})
    shares = profiling.epoch_by_operator(X, hidden=HIDDEN, intrinsic_dim=D)
    largest = sorted(shares.items(), key=lambda item: -item[1])[:12]
    result.add("share of the time inside torch", {name: [100 * share] for name, share in largest}, unit="%")
    giga = 2 * reference.multiplications(n_rows, n_columns, **NETWORK) / 1e9
    rate = giga / statistics.median(parts["products"])
    result.notes.append(
        f"The products are {giga:.2f} billion operations an epoch; alone they run at {rate:.0f} billion a second."
    )


def sparse(run: Run, result: Result) -> None:
    """A whole fit (five epochs, one thread) on sparse rows and on the same rows made dense, which must end at the same
    losses; and the peak of memory as rows and columns grow.
    """
    n_rows, n_columns = run.size((540, data.REUTERS_COLUMNS), (60, 500))
    _sparse_against_dense(run, result, "Reuters-shaped", data.words(n_rows, n_columns), run.rounds(5))
    if not run.quick:
        for name, file, most_words in (
            ("Reuters", "reuters_top5.jsonl.gz", None),
            ("20 Newsgroups", "newsgroups20.jsonl.gz", 10_000),
        ):
            texts = data.documents(file, 1_800, most_words)
            if texts is None:
                result.notes.append(f"{name} was left out: RSRAE_DATA is not set.")
            else:
                _sparse_against_dense(run, result, name, texts, run.rounds(5))
    _sparse_memory(run, result)


def images(run: Run, result: Result) -> None:
    """One epoch of the convolutional networks on one thread, against our plain AutoEncoder and against forward and
    backward of the same module with nothing around them: no batches to take, no update.
    """
    n_images = run.size(512, 16)
    for height, width, channels in run.size(((28, 28, 1), (32, 32, 3)), ((8, 8, 1),)):
        values = interleave(_image_contestants(data.pictures(n_images, height, width, channels)), run.rounds(7))
        case = f"{height}x{width}x{channels}"
        result.add(f"epoch of {n_images} images {case}", values)
        over_bare = ratios(values["RSRAE"], values["bare forward + backward"])
        over_plain = ratios(values["RSRAE"], values["AutoEncoder"])
        result.checks.append(Check(f"{case}: RSRAE epoch over bare forward + backward", over_bare, "at most", 1.15))
        result.checks.append(Check(f"{case}: RSRAE epoch over AutoEncoder epoch", over_plain, "at most", 1.25))


def members(run: Run, result: Result) -> None:
    """One epoch of one, four and eight members trained as one batched program; threads as by default."""
    n_rows, n_columns = run.size((20_000, 100), (600, 20))
    X = data.table(n_rows, n_columns)
    settings = {**SINGLE, "epochs": 3, "n_threads": None}
    contestants: dict[str, Callable[[], float]] = {
        "1 member": lambda: _epoch_of(RSRAE(rsr_scope="A", **settings), X),
        "4 members": lambda: _epoch_of(RSRAE(rsr_scope="A", **settings | {"n_members": 4}), X),
        "8 members": lambda: _epoch_of(RSRAE(rsr_scope="A", **settings | {"n_members": 8}), X),
    }
    values = interleave(contestants, run.rounds(5))
    result.add(f"epoch, {n_rows:,} x {n_columns}", values)
    result.checks.append(Check("eight members over one", ratios(values["8 members"], values["1 member"]), "at most", 4))


def scoring(run: Run, result: Result) -> None:
    """Rows per second in single precision, on one thread and with threads as by default, against scikit-learn's
    IsolationForest, which takes one by default.
    """
    n_rows, n_columns, trees = run.size((100_000, 100, 100), (500, 20, 10))
    train, X = data.table(2_000, n_columns, seed=1), data.table(n_rows, n_columns)
    settings = {"RSRAE, one member": {"rsr_scope": "A", **SINGLE}, "RSRAE, the default": {"random_state": 0}}
    seconds = {}
    for name, given in settings.items():
        for n_threads, threads in ((1, "one thread"), (None, "threads as by default")):
            detector = RSRAE(**{**given, "epochs": 1, "n_threads": n_threads}).fit(train)
            seconds[f"{name}, {threads}"] = timed(partial(detector.anomaly_score, X))
    ours = list(seconds)
    if (peers := run.peers) is not None:
        forest = {"rows": n_rows, "columns": n_columns, "trees": trees}
        seconds["IsolationForest"] = lambda: float(peers.ask("isolation_forest", **forest)["seconds"])
    values = {name: [n_rows / s for s in taken] for name, taken in interleave(seconds, run.rounds(5)).items()}
    result.add(f"{n_rows:,} x {n_columns}, {trees} trees", values, unit="rows/s")
    if "IsolationForest" in values:
        for name in ours:
            gain = ratios(values[name], values["IsolationForest"])
            result.checks.append(Check(f"{name}: rows per second over those of IsolationForest", gain, "at least", 5))
    _note_peers(run, result)


def growth(run: Run, result: Result) -> None:
    """A whole fit of three epochs on one thread, as rows, columns or d double."""
    axes: dict[str, tuple[Sequence[int], Callable[[int], tuple[int, int, int]]]] = {
        "rows": (run.size((5_000, 10_000, 20_000, 40_000), (300, 600)), lambda n: (n, run.size(100, 10), D)),
        "columns": (run.size((50, 100, 200, 400), (10, 20)), lambda m: (run.size(10_000, 300), m, D)),
        "d": (run.size((4, 8, 16, 32), (2, 4)), lambda d: (run.size(10_000, 300), run.size(100, 10), d)),
    }
    for axis, (sizes, shape) in axes.items():
        values = interleave({f"{size:,}": _fit_of_three_epochs(*shape(size)) for size in sizes}, run.rounds(5))
        result.add(f"fit of three epochs by {axis}", values)
        medians = [statistics.median(seconds) for seconds in values.values()]
        slope = np.polyfit(np.log(sizes), np.log(medians), 1)[0]
        result.notes.append(f"Seconds grow as {axis} to the power {slope:.2f}.")
        if axis != "d":
            for (small, before), (large, after) in itertools.pairwise(values.items()):
                result.checks.append(
                    Check(f"{axis} {small} to {large}: times the seconds", ratios(after, before), "at most", 2.1)
                )


def memory(run: Run, result: Result) -> None:
    """The highest point of a fit of one epoch in a fresh process, the rows included, on top of the interpreter with
    torch and rsrae loaded. Several times: what the allocator gives back, and when, is partly chance.
    """
    n_rows, n_columns = run.size((1_000_000, 100), (5_000, 20))
    for name, settings in (("one member", SINGLE), ("the default", {"random_state": 0})):
        peaks = [peak_of_fit("table", n_rows, n_columns, **settings | {"epochs": 1}) for _ in range(run.rounds(3))]
        values = {
            "interpreter": [peak.interpreter / MEGABYTE for peak in peaks],
            "the rows": [peak.rows / MEGABYTE for peak in peaks],
            "peak of the fit": [peak.fit / MEGABYTE for peak in peaks],
        }
        result.add(f"{n_rows:,} x {n_columns} float32, {name}", values, unit="MB")
        what = f"{name}: peak on top of the interpreter over the size of the rows"
        result.checks.append(Check(what, [peak.fit / peak.rows for peak in peaks], "at most", 1.6))


def startup(run: Run, result: Result) -> None:
    """Whole processes, from start to end."""
    commands = {
        "python, nothing imported": ["-c", "pass"],
        "import rsrae": ["-c", "import rsrae"],
        "rsrae --help": ["-m", "rsrae", "--help"],
        "import torch": ["-c", "import torch"],
        "from rsrae import RSRAE": ["-c", "from rsrae import RSRAE"],
    }
    values = interleave({name: timed(partial(_python, c)) for name, c in commands.items()}, run.rounds(5))
    result.add("start to end of the process", values)
    result.checks.append(Check("rsrae --help, seconds", values["rsrae --help"], "at most", 0.5))


def threads(run: Run, result: Result) -> None:
    """Small problems must not get slower because there are more cores: a whole fit with the default number of threads,
    with one and with two.
    """
    for n_rows, n_columns in run.size(((300, 10), (2_000, 20), (2_000, 200), (10_000, 100)), ((200, 5),)):
        X = data.table(n_rows, n_columns)
        settings = {**SINGLE, "epochs": max(2, 20_000 // n_rows)}
        choices = {"default": None, "one thread": 1, "two threads": 2}
        detectors = {name: RSRAE(rsr_scope="A", **settings | {"n_threads": n}) for name, n in choices.items()}
        contestants = {name: timed(partial(detector.fit, X)) for name, detector in detectors.items()}
        values = interleave(contestants, run.rounds(7))
        result.add(f"fit, {n_rows:,} x {n_columns}, {settings['epochs']} epochs", values)
        best = [min(pair) for pair in zip(values["one thread"], values["two threads"], strict=True)]
        what = f"{n_rows:,} x {n_columns}: default over the better of one and two threads"
        result.checks.append(Check(what, ratios(values["default"], best), "at most", 1.15))


def cost(run: Run, result: Result) -> None:
    """A whole fit of `RSRAE()` as it is (four networks, neighbours, trimming, and what comes after) against the recipe
    "paper" (one member, 200 epochs) in the same engine.
    """
    problems: dict[str, Any] = {"table 500 x 20": data.table(500, 20)}
    if not run.quick:
        problems |= {
            "table 5,000 x 100": data.table(5_000, 100),
            f"words 540 x {data.REUTERS_COLUMNS:,}": data.words(540),
            "images 64 x 28x28x1": data.pictures(64, 28, 28, 1),
        }
    settings: dict[str, Any] = {"random_state": 0} | run.size({}, {"epochs": 3})
    for name, X in problems.items():
        is_table = name.startswith("table")
        contestants = {
            "RSRAE()": timed(partial(RSRAE(**settings).fit, X)),
            'recipe "paper"': timed(partial(RSRAE.from_recipe("paper", **settings).fit, X)),
        }
        values = interleave(contestants, run.rounds(3) if is_table else 1, warm_up=False)
        result.add(f"fit, {name}", values)
        price = ratios(values["RSRAE()"], values['recipe "paper"'])
        result.checks.append(Check(f'{name}: RSRAE() over the recipe "paper"', price, "at most", 3))


@dataclass(frozen=True)
class Benchmark:
    """A benchmark; what the page says about it is its function's docstring."""

    title: str
    work: Callable[[Run, Result], None]

    @property
    def about(self) -> str:
        return inspect.getdoc(self.work) or ""


BENCHMARKS = {
    "epoch": Benchmark("An epoch on tables", epoch),
    "profile": Benchmark("Where the rest of the time goes", profile),
    "sparse": Benchmark("Sparse text", sparse),
    "images": Benchmark("Images", images),
    "members": Benchmark("Ensembles", members),
    "scoring": Benchmark("Scoring", scoring),
    "growth": Benchmark("Growth", growth),
    "memory": Benchmark("Memory", memory),
    "startup": Benchmark("Start", startup),
    "threads": Benchmark("Threads", threads),
    "cost": Benchmark("What the default costs", cost),
}


def _table_contestants(
    run: Run, n_rows: int, n_columns: int, fits: Values, *, is_marker: bool
) -> dict[str, Callable[[], float]]:
    peers = run.peers
    X = data.table(n_rows, n_columns)
    epochs = max(2, min(6, 120_000 // n_rows))
    settings = {**SINGLE, "epochs": epochs, "activation": "relu"}
    about = {"rows": n_rows, "columns": n_columns, "epochs": epochs, "batch_size": BATCH}
    contestants: dict[str, Callable[[], float]] = {
        "RSRAE": lambda: _epoch_of(RSRAE(rsr_scope="A", **settings), X, fits["RSRAE"]),
        "AutoEncoder": lambda: _epoch_of(AutoEncoder(**settings), X),
        "naive torch RSRAE": lambda: _per_epoch(reference.naive_epochs(X, epochs=epochs, **NETWORK)),
        "matrix products alone": reference.matrix_products(n_rows, n_columns, **NETWORK),
    }
    if peers is not None:
        # The code of ten is a layer of its own there: the same widths all through.
        layers = [*HIDDEN, D]
        contestants["PyOD AutoEncoder"] = lambda: _peer_epoch(
            peers, "pyod_autoencoder", {**about, "hidden": layers}, fits["PyOD AutoEncoder"]
        )
        if is_marker and "deepod" in peers.versions():
            contestants["DeepOD DeepSVDD (encoder only)"] = lambda: _peer_epoch(
                peers, "deepod_deep_svdd", {**about, "hidden": list(HIDDEN)}
            )
    return contestants


def _epoch_of(detector: Any, X: Any, fits: list[float] | None = None) -> float:
    ticks: list[float] = []
    detector.set_params(on_epoch=lambda report: ticks.append(report.seconds))
    seconds = timed(lambda: detector.fit(X))()
    if fits is not None:
        fits.append(seconds)
    return _per_epoch(ticks)


def _peer_epoch(peers: Peers, question: str, about: dict[str, Any], fits: list[float] | None = None) -> float:
    answer = peers.ask(question, **about)
    if fits is not None:
        fits.append(answer["fit"])
    return _per_epoch(answer["ticks"])


def _per_epoch(ticks: Sequence[float]) -> float:
    # Ends of epochs in, seconds of the quickest out, which the machine disturbed least; the first epoch warms up.
    return min(after - before for before, after in itertools.pairwise(ticks))


def _judge_epoch(result: Result, values: Values, fits: Values, case: str) -> None:
    ours = values["RSRAE"]
    over_plain = ratios(ours, values["AutoEncoder"])
    result.checks.append(Check(f"{case}: RSRAE epoch over our AutoEncoder's", over_plain, "at most", 1.15))
    if "PyOD AutoEncoder" in values:
        over_pyod = ratios(ours, values["PyOD AutoEncoder"])
        result.checks.append(
            Check(f"{case}: RSRAE epoch over PyOD's AutoEncoder's", over_pyod, "at most", 0.5, aim=0.25)
        )
        whole = statistics.median(ratios(fits["RSRAE"], fits["PyOD AutoEncoder"]))
        result.notes.append(
            f"{case}: a whole fit (preparing, training and scoring the rows) takes RSRAE {whole:.2f} of PyOD's time."
        )
    limit = statistics.median(ratios(values["matrix products alone"], ours))
    result.notes.append(f"{case}: {100 * limit:.0f} % of an RSRAE epoch is what its matrix products take alone.")


def _sparse_against_dense(run: Run, result: Result, name: str, X: sp.csr_array, n_rounds: int) -> None:
    settings = {**SINGLE, "epochs": run.size(5, 2), "activation": "tanh", "scaling": "none", "unit_norm": True}
    ours, dense = RSRAE(rsr_scope="A", **settings), RSRAE(rsr_scope="A", **settings)
    contestants = {
        "sparse rows": timed(partial(ours.fit, X)),
        "the same rows dense": timed(partial(dense.fit, X.toarray())),
    }
    values = interleave(contestants, n_rounds)
    result.add(f"fit, {name}, {X.shape[0]:,} x {X.shape[1]:,}", values)
    gain = ratios(values["the same rows dense"], values["sparse rows"])
    result.checks.append(Check(f"{name}: dense time over sparse time", gain, "at least", 5, aim=10))
    # Relative to where a curve has its height: orthogonality ends at 5e-6, which is the rounding of its own terms.
    gaps = [
        abs(a - b) / max(curve)
        for loss, curve in dense.history_.items()
        for a, b in zip(ours.history_[loss], curve, strict=True)
    ]
    result.checks.append(Check(f"{name}: largest relative gap between their losses", [max(gaps)], "at most", 1e-4))


def _image_contestants(X: npt.NDArray[np.uint8]) -> dict[str, Callable[[], float]]:
    settings = {**SINGLE, "epochs": 2, "activation": "tanh"}
    return {
        "RSRAE": lambda: _epoch_of(RSRAE(layers="convolutional", rsr_scope="A", **settings), X),
        "AutoEncoder": lambda: _epoch_of(AutoEncoder(**settings), X),
        "bare forward + backward": reference.bare_passes(X, batch_size=BATCH),
    }


def _fit_of_three_epochs(n_rows: int, n_columns: int, d: int) -> Callable[[], float]:
    X = data.table(n_rows, n_columns)
    return timed(partial(RSRAE(rsr_scope="A", **SINGLE | {"intrinsic_dim": d}, epochs=3).fit, X))


def _sparse_memory(run: Run, result: Result) -> None:
    rows, columns = run.size(
        ((540, 4_320), (data.REUTERS_COLUMNS, 4 * data.REUTERS_COLUMNS)), ((60, 120), (500, 1_000))
    )
    settings = {**SINGLE, "epochs": 1}
    peaks = {shape: peak_of_fit("words", *shape, **settings) for shape in itertools.product(rows, columns)}
    for (n_rows, n_columns), peak in peaks.items():
        values = {
            "sparse rows": [peak.rows / MEGABYTE],
            "peak of the fit": [peak.fit / MEGABYTE],
            "if made dense": [n_rows * n_columns * 4 / MEGABYTE],
        }
        result.add(f"memory, {n_rows:,} x {n_columns:,}", values, unit="MB")
    for n_columns in columns:
        few, many = (peaks[n_rows, n_columns].fit for n_rows in rows)
        share = max(0, many - few) / ((rows[1] - rows[0]) * n_columns * 4)
        what = f"{n_columns:,} columns: memory that more rows take, as a share of those rows made dense"
        result.checks.append(Check(what, [share], "at most", 0.1))


def _note_peers(run: Run, result: Result) -> None:
    if run.peers is None:
        result.notes.append("Peers were left out.")
        return
    versions = run.peers.versions()
    result.machine["peers"] = versions
    if "deepod" not in versions:
        result.notes.append("DeepOD does not install here and was left out.")


def _python(arguments: list[str]) -> None:
    subprocess.run([sys.executable, *arguments], check=True, capture_output=True)
