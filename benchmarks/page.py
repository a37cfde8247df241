"""``docs/performance.md`` and its pictures, made from the stored results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.cases import BENCHMARKS
from benchmarks.measure import Result, Timing, is_busy, significant

INTRODUCTION = """\
# Performance

Made by `python -m benchmarks page` from the files in `benchmarks/results/`; `make bench` measures anew and writes this
page. Peers are installed in an environment of their own (`.bench/venv`) and measured in the same run: every round asks
each contestant once, so that a busy moment of the machine meets them all. Numbers are medians over the rounds, with the
lowest and the highest in brackets; ratios are taken within a round. Every claim has a bound that was set before it was
measured, and the verdict stands beside it, met or not.
"""

COLOURS = ("#0072b2", "#e69f00", "#009e73", "#d55e00", "#cc79a7", "#56b4e9", "#7f7f7f", "#b8a800")


def write(results: Path, docs: Path) -> Path:
    """Write the page and its pictures into ``docs``; the path of the page."""
    found = {name: Result.load(path) for name in BENCHMARKS if (path := results / f"{name}.json").exists()}
    parts = [INTRODUCTION]
    if any(result.is_quick for result in found.values()):
        parts.append("**A trial run with tiny sizes: these numbers say nothing about speed.**\n")
    if found:
        parts += [_machine(found), _verdicts(found)]
    for name, benchmark in BENCHMARKS.items():
        parts.append(f"## {benchmark.title}\n\n{benchmark.about}\n")
        if name in found:
            parts += _section(found[name], docs)
        else:
            parts.append(f"Not measured yet: `python -m benchmarks {name}`.\n")
    docs.mkdir(parents=True, exist_ok=True)
    path = docs / "performance.md"
    path.write_text("\n".join(parts), encoding="utf-8")
    return path


def _machine(found: dict[str, Result]) -> str:
    # The results may come from several runs; they are shown together only if machine and versions agree.
    lines = ["## Machine\n"]
    described: dict[str, list[str]] = {}
    for name, result in found.items():
        facts = result.machine
        versions = ", ".join(f"{n} {facts[n]}" for n in ("rsrae", "python", "torch", "numpy", "scikit-learn"))
        text = (
            f"{facts['cpu']} ({facts['instructions']}), {facts['cores']} cores, {facts['memory_gb']} GB, "
            f"{facts['system']}; {versions}"
        )
        described.setdefault(text, []).append(name)
    for text, names in described.items():
        lines.append(f"- {text}" + (f": {', '.join(names)}" if len(described) > 1 else ""))
    peers: dict[str, str] = {}
    for result in found.values():
        peers |= result.machine.get("peers", {})
    if peers:
        lines.append(f"- Peers: {', '.join(f'{name} {version}' for name, version in peers.items())}")
    loads = [result.machine["load_average"] for result in found.values()]
    minutes = sum(result.seconds for result in found.values()) / 60
    lines.append(
        f"- Load average when each benchmark began: {min(loads)} to {max(loads)}; {minutes:.0f} minutes in all"
    )
    busy = [name for name, result in found.items() if is_busy(result.machine)]
    if busy:
        lines.append(f"- **The machine was busy during {', '.join(busy)}: measure again.**")
    return "\n".join(lines) + "\n"


def _verdicts(found: dict[str, Result]) -> str:
    rows = [
        (check.verdict, name, check.what, significant(check.value), check.spread, check.demand)
        for name, result in found.items()
        for check in result.checks
    ]
    n_met = sum(verdict == "met" for verdict, *_ in rows)
    header = ("verdict", "benchmark", "claim", "median", "spread", "bound")
    return f"## Verdicts\n\n{n_met} of {len(rows)} bounds are met.\n\n{_table(header, rows)}\n"


def _section(result: Result, docs: Path) -> list[str]:
    parts = []
    picture = PICTURES.get(result.name)
    if picture is not None:
        file = f"performance-{result.name}.svg"
        (docs / "pictures").mkdir(parents=True, exist_ok=True)
        _save(picture, result, docs / "pictures" / file)
        parts.append(f"![{BENCHMARKS[result.name].title}](pictures/{file})\n")
    for unit in dict.fromkeys(timing.unit for timing in result.timings):
        parts.append(_timings([timing for timing in result.timings if timing.unit == unit]) + "\n")
    if result.notes:
        parts.append("\n".join(f"- {note}" for note in result.notes) + "\n")
    return parts


def _timings(timings: list[Timing]) -> str:
    unit = timings[0].unit
    cases = list(dict.fromkeys(timing.case for timing in timings))
    contestants = list(dict.fromkeys(timing.contestant for timing in timings))
    if len(timings) < len(cases) * len(contestants) / 2 or len(cases) == 1:
        # A grid would be all holes, or a single long row.
        return _table(("case", "", unit), [(timing.case, timing.contestant, _cell(timing)) for timing in timings])
    by_place = {(timing.case, timing.contestant): timing for timing in timings}
    rows = [(case, *(_cell(by_place.get((case, contestant))) for contestant in contestants)) for case in cases]
    return _table((unit, *contestants), rows)


def _cell(timing: Timing | None) -> str:
    if timing is None:
        return ""
    if timing.low == timing.high:
        return significant(timing.median)
    return f"{significant(timing.median)} ({significant(timing.low)} to {significant(timing.high)})"


def _table(header: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    lines = [header, ("---",) * len(header), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _save(draw: Callable[[Result, Any], None], result: Result, path: Path) -> None:
    import matplotlib
    from matplotlib.figure import Figure

    # With a fixed salt and no date the same results give the same file, byte for byte.
    with matplotlib.rc_context({"svg.hashsalt": "rsrae", "font.size": 9}):
        figure = Figure(figsize=(8, 4), layout="constrained")
        draw(result, figure.subplots())
        figure.savefig(path, metadata={"Date": None})


def _draw_dots(result: Result, axes: Any) -> None:
    """Cases from left to right, a colour for each contestant, bars from the lowest to the highest value."""
    timings = [timing for timing in result.timings if timing.unit == result.timings[0].unit]
    cases = list(dict.fromkeys(timing.case for timing in timings))
    contestants = list(dict.fromkeys(timing.contestant for timing in timings))
    for number, contestant in enumerate(contestants):
        mine = [timing for timing in timings if timing.contestant == contestant]
        medians = [timing.median for timing in mine]
        spread = [[t.median - t.low for t in mine], [t.high - t.median for t in mine]]
        x = [cases.index(timing.case) + 0.08 * (number - (len(contestants) - 1) / 2) for timing in mine]
        axes.errorbar(x, medians, spread, fmt="o", color=COLOURS[number], label=contestant, capsize=2)
    axes.set_xticks(range(len(cases)), [case.replace(", ", "\n") for case in cases], fontsize=7)
    axes.set_xlim(-0.5, len(cases) - 0.5)
    axes.set_yscale("log")
    _label_ticks(axes)
    axes.set_ylabel("seconds" if timings[0].unit == "s" else timings[0].unit)
    axes.grid(axis="y", which="both", alpha=0.2)
    axes.legend(fontsize=7, frameon=False)


def _label_ticks(axes: Any) -> None:
    """Few enough numbers at a logarithmic axis to read them, and several in any case."""
    from matplotlib.ticker import LogLocator, MaxNLocator

    low, high = axes.get_ylim()
    if high < 5 * low:  # there may be no power of ten in between
        axes.yaxis.set_major_locator(MaxNLocator(5))
    else:
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if high < 1_000 * low else (1,)))
    axes.yaxis.set_major_formatter("{x:,.10g}")
    axes.yaxis.set_minor_formatter("")


def _draw_parts(result: Result, axes: Any) -> None:
    """Each part of the loop as a bar; the arithmetic alone below them."""
    timings = [timing for timing in result.timings if timing.unit == "s"]
    names = [timing.contestant for timing in timings]
    colours = [COLOURS[0]] * (len(timings) - 1) + [COLOURS[6]]
    axes.barh(names, [1_000 * timing.median for timing in timings], color=colours)
    axes.invert_yaxis()
    axes.set_xlabel("milliseconds an epoch")
    axes.grid(axis="x", alpha=0.2)


def _draw_growth(result: Result, axes: Any) -> None:
    """Seconds against size, both logarithmic: a straight line of slope one is growth in proportion."""
    for number, case in enumerate(dict.fromkeys(timing.case for timing in result.timings)):
        mine = [timing for timing in result.timings if timing.case == case]
        sizes = [float(timing.contestant.replace(",", "")) for timing in mine]
        x = [size / sizes[0] for size in sizes]
        axes.plot(x, [timing.median / mine[0].median for timing in mine], "o-", color=COLOURS[number], label=case)
    ends = [1.0, 8.0]
    axes.plot(ends, ends, "--", color=COLOURS[6], label="in proportion")
    axes.set_xscale("log", base=2)
    axes.set_yscale("log", base=2)
    axes.set_xlabel("size, as a multiple of the smallest")
    axes.set_ylabel("seconds, as a multiple")
    axes.grid(alpha=0.2)
    axes.legend(fontsize=7, frameon=False)


PICTURES: dict[str, Callable[[Result, Any], None]] = {
    "epoch": _draw_dots,
    "profile": _draw_parts,
    "sparse": _draw_dots,
    "images": _draw_dots,
    "scoring": _draw_dots,
    "growth": _draw_growth,
    "cost": _draw_dots,
}
