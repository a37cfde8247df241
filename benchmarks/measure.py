"""Measuring: contestants in turn, medians and spread, ratios with a verdict, and facts about the machine.

Another process may wake up at any moment of a run. So every round asks each contestant once, ratios are taken within a
round, and what is reported is the median over the rounds.
"""

from __future__ import annotations

import json
import os
import platform
import statistics
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

Values = dict[str, list[float]]  # contestant -> one value a round


def timed(work: Callable[[], object]) -> Callable[[], float]:
    """``work`` as a contestant: calling it gives the seconds it took."""

    def seconds() -> float:
        began = time.perf_counter()
        work()
        return time.perf_counter() - began

    return seconds


def interleave(contestants: Mapping[str, Callable[[], float]], rounds: int, *, warm_up: bool = True) -> Values:
    """Ask every contestant in turn, ``rounds`` times, after a round that does not count.

    >>> interleave({"ours": lambda: 1.0, "theirs": lambda: 2.0}, rounds=2)
    {'ours': [1.0, 1.0], 'theirs': [2.0, 2.0]}
    """
    if warm_up:
        for contestant in contestants.values():
            contestant()
    values: Values = {name: [] for name in contestants}
    for _ in range(rounds):
        for name, contestant in contestants.items():
            values[name].append(contestant())
    return values


def ratios(ours: Iterable[float], theirs: Iterable[float]) -> list[float]:
    """Ours over theirs, round by round."""
    return [a / b for a, b in zip(ours, theirs, strict=True)]


@dataclass(frozen=True)
class Timing:
    """All values of one contestant in one case."""

    case: str
    contestant: str
    values: list[float]
    unit: str = "s"

    @property
    def median(self) -> float:
        return statistics.median(self.values)

    @property
    def low(self) -> float:
        return min(self.values)

    @property
    def high(self) -> float:
        return max(self.values)


@dataclass(frozen=True)
class Check:
    """A claim with its bound.

    >>> check = Check("ours over theirs", [0.2, 0.3, 0.4], "at most", 0.5, aim=0.25)
    >>> print(check)
    met      ours over theirs: 0.300 (0.200 to 0.400), at most 0.5 (aim 0.25: not met)
    """

    what: str
    values: list[float]  # one a round
    side: Literal["at most", "at least"]
    bound: float
    aim: float | None = None

    @property
    def value(self) -> float:
        return statistics.median(self.values)

    @property
    def is_met(self) -> bool:
        return self._holds(self.bound)

    @property
    def verdict(self) -> str:
        return _met(self.is_met)

    @property
    def spread(self) -> str:
        if len(self.values) == 1:
            return "one value"
        return f"{significant(min(self.values))} to {significant(max(self.values))}"

    @property
    def demand(self) -> str:
        aim = "" if self.aim is None else f" (aim {self.aim:g}: {_met(self._holds(self.aim))})"
        return f"{self.side} {self.bound:g}{aim}"

    def __str__(self) -> str:
        return f"{self.verdict:8} {self.what}: {significant(self.value)} ({self.spread}), {self.demand}"

    def _holds(self, bound: float) -> bool:
        return self.value <= bound if self.side == "at most" else self.value >= bound


@dataclass
class Result:
    """What one benchmark found, and where."""

    name: str
    timings: list[Timing] = field(default_factory=list)
    checks: list[Check] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    machine: dict[str, Any] = field(default_factory=dict)
    seconds: float = 0.0  # the whole benchmark
    is_quick: bool = False  # tiny sizes: shows that it works, says nothing about speed

    def add(self, case: str, values: Values, unit: str = "s") -> None:
        """All contestants of a case."""
        self.timings += [Timing(case, name, numbers, unit) for name, numbers in values.items()]

    def save(self, folder: Path) -> Path:
        """Write ``folder/name.json``."""
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{self.name}.json"
        path.write_text(json.dumps(_rounded(asdict(self)), indent=1) + "\n", encoding="utf-8")
        return path

    @classmethod
    def load(cls, path: Path) -> Result:
        """Read what ``save`` wrote."""
        stored = json.loads(path.read_text(encoding="utf-8"))
        stored["timings"] = [Timing(**timing) for timing in stored["timings"]]
        stored["checks"] = [Check(**check) for check in stored["checks"]]
        return cls(**stored)


def machine_facts() -> dict[str, Any]:
    """The machine and the versions a result belongs to."""
    import numpy
    import sklearn
    import torch

    import rsrae

    return {
        "cpu": _cpu_model(),
        "cores": os.cpu_count(),
        "memory_gb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
        "instructions": torch.backends.cpu.get_cpu_capability(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "torch": torch.__version__,
        "numpy": numpy.__version__,
        "scikit-learn": sklearn.__version__,
        "rsrae": rsrae.__version__,
        "torch_threads": torch.get_num_threads(),
        "load_average": round(os.getloadavg()[0], 2),
    }


def is_busy(machine: Mapping[str, Any]) -> bool:
    """Whether others were at work when the benchmark began: its numbers then say little."""
    return bool(machine["load_average"] > 0.6 * machine["cores"])


def significant(number: float, digits: int = 3) -> str:
    """A number with so many digits that matter.

    >>> significant(0.0123456), significant(1.5), significant(123456.7)
    ('0.0123', '1.50', '123,457')
    """
    if number == 0:
        return "0"
    if abs(number) < 1e-3:
        return f"{number:.1e}"
    if abs(number) >= 10 ** (digits - 1):
        return f"{number:,.0f}"
    before_point = len(str(int(abs(number)))) if abs(number) >= 1 else 0
    leading_zeros = 0 if abs(number) >= 0.1 else 1 if abs(number) >= 0.01 else 2
    return f"{number:.{digits - before_point + leading_zeros}f}"


def _met(holds: bool) -> str:
    return "met" if holds else "not met"


def _cpu_model() -> str:
    try:
        facts = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except FileNotFoundError:
        return platform.processor() or platform.machine()
    names = [line.partition(":")[2].strip() for line in facts.splitlines() if line.startswith("model name")]
    return names[0] if names else platform.machine()


def _rounded(value: Any) -> Any:
    # More digits than the clock has would only make every stored result differ from the last one.
    if isinstance(value, float):
        return float(f"{value:.5g}")
    if isinstance(value, dict):
        return {key: _rounded(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_rounded(part) for part in value]
    return value
