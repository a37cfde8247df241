"""``python -m benchmarks``: measure, store, and write the page."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from benchmarks import page
from benchmarks.cases import BENCHMARKS, Run, measure
from benchmarks.measure import Result, is_busy, significant
from benchmarks.peers import HOME, ROOT, PeerError, Peers, set_up

RESULTS = ROOT / "benchmarks" / "results"
QUICK_RESULTS = HOME / "quick"
ACCURACY = {
    "accuracy": "PyOD on our trials",
    "heldout": "outside the trials that settings were compared on",
    "unseen": "on data that had not been looked at before",
    "wrongcells": "one wrong cell in a row of a table",
    "whole": "tables of ADBench with all their rows",
    "methods": "the tables of docs/methods",
    "words": "stop words",
    "brightness": "brightness of pictures",
    "edges": "edges of pictures",
    "wander": "the authors' recipe from epoch to epoch",
    "spread": "the same rows, other starts",
    "shares": 'the share of anomalies by "auto" on data held out',
    "theirs": "the authors' own code, from a checkout",
    "unpadded": "the authors' recipe with their own convolutions",
}


def main(arguments: list[str] | None = None) -> int:
    given = _parse(arguments)
    results = given.results or (QUICK_RESULTS if given.quick else RESULTS)
    names = given.names or ["setup", *BENCHMARKS, "page"]
    is_met = True
    try:
        with Peers() as peers:
            run = Run(None if given.no_peers else peers, given.quick, given.repeats)
            for name in names:
                if name == "setup":
                    if not given.no_peers:
                        set_up()
                elif name == "page":
                    docs = results if given.quick else ROOT / "docs"
                    print(f"wrote {page.write(results, docs)}")
                else:
                    result = measure(name, run)
                    path = result.save(results)
                    _show(result)
                    print(f"    stored in {path}\n")
                    is_met = is_met and all(check.is_met for check in result.checks)
    except PeerError as error:
        print(f"{error}\n--no-peers measures without them", file=sys.stderr)
        return 2
    return 0 if is_met or given.quick else 1


def _parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description=__doc__,
        epilog="How well, in place of how fast, is asked by modules of their own: "
        + ", ".join(f"python -m benchmarks.{name} ({what})" for name, what in ACCURACY.items())
        + ".",
    )
    choices = ["setup", *BENCHMARKS, "page"]
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"all, unless named: {', '.join(choices)}")
    parser.add_argument("--repeats", type=int, help="rounds that count, in place of each benchmark's own number")
    parser.add_argument("--quick", action="store_true", help="tiny sizes: shows that the harness works, nothing else")
    parser.add_argument("--no-peers", action="store_true", help="measure without PyOD, DeepOD and scikit-learn")
    parser.add_argument("--results", type=Path, help="folder of the result files")
    given = parser.parse_args(arguments)
    for name in given.names:
        if name not in choices:
            parser.error(f"no benchmark {name!r}; there are: {', '.join(choices)}")
    if given.repeats is not None and given.repeats < 1:
        parser.error("--repeats must be at least 1")
    return given


def _show(result: Result) -> None:
    print(f"{BENCHMARKS[result.name].title} ({result.name}, {result.seconds:.0f} s)")
    if is_busy(result.machine):
        print(f"    the machine is busy (load average {result.machine['load_average']}): do not trust these numbers")
    for timing in result.timings:
        spread = f"{significant(timing.low)} to {significant(timing.high)}"
        print(f"    {timing.case:45} {timing.contestant:40} {significant(timing.median):>9} {timing.unit} ({spread})")
    for note in result.notes:
        print(f"    {note}")
    for check in result.checks:
        print(f"  {check}")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
