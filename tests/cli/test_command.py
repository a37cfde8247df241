"""The command as a whole: quick help, completion, and examples in the help that run."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest
import typer

import rsrae
from rsrae.cli import app

from .finished import Command

HEAVY = ("torch", "pandas", "sklearn", "numpy", "pyarrow", "scipy")


def epilogs(group: typer.Typer, prefix: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], str]]:
    for verb in group.registered_commands:
        assert verb.callback is not None
        yield (*prefix, verb.name or verb.callback.__name__), verb.epilog or ""
    for child in group.registered_groups:
        assert child.typer_instance is not None
        yield from epilogs(child.typer_instance, (*prefix, str(child.name)))


EXAMPLES = dict(epilogs(app))
NEEDS_NETWORK = ("data", "fetch")


def test_help_imports_nothing_heavy() -> None:
    program = (
        "import sys; from rsrae.cli import run; code = run(['--help']); "
        f"sys.exit(code or ','.join(m for m in {HEAVY!r} if m in sys.modules) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_help_takes_less_than_half_a_second_of_processor_time() -> None:
    before = os.times()
    subprocess.run([sys.executable, "-m", "rsrae", "--help"], capture_output=True, check=True)
    after = os.times()
    used = after.children_user + after.children_system - before.children_user - before.children_system
    assert used < 0.5


@pytest.mark.parametrize("verb", EXAMPLES, ids=" ".join)
def test_the_help_of_every_verb_ends_with_an_example(command: Command, verb: tuple[str, ...]) -> None:
    done = command(*verb, "--help")
    assert done.code == 0
    last = [line.strip() for line in done.out.splitlines() if line.strip()][-1]
    assert EXAMPLES[verb].startswith(f"Example: rsrae {' '.join(verb)}")
    assert last in EXAMPLES[verb]


@pytest.mark.slow
def test_the_examples_run_one_after_the_other(command: Command, wine_frame: pd.DataFrame, tmp_path: Path) -> None:
    wine_frame.drop(columns="anomaly").to_csv(tmp_path / "wine.csv", index=False)
    (tmp_path / "docs").mkdir()
    for verb, epilog in EXAMPLES.items():
        if verb == NEEDS_NETWORK:
            continue
        arguments = shlex.split(epilog.removeprefix("Example: rsrae "))
        done = command(*arguments)
        assert done.code == 0, (epilog, done.err)
    assert Path("wine-anomalies/report.html").exists()
    assert Path("wine-scores.csv").exists()


def test_shells_are_offered_verbs_and_methods() -> None:
    completions = {
        "rsrae det": "detect",
        "rsrae detect --method rsr": "rsrae+",
        "rsrae detect --example sw": "swiss-roll",
    }
    for typed, offered in completions.items():
        done = subprocess.run(
            [sys.executable, "-m", "rsrae"],
            env={
                **os.environ,
                "_RSRAE_COMPLETE": "complete_bash",
                "COMP_WORDS": typed,
                "COMP_CWORD": str(len(typed.split()) - 1),
            },
            capture_output=True,
            text=True,
            check=False,
        )
        assert offered in done.stdout.splitlines()


def test_version_is_printed(command: Command) -> None:
    assert command("--version") == (0, f"rsrae {rsrae.__version__}\n", "")


def test_no_arguments_print_the_help(command: Command) -> None:
    done = command()
    assert "detect" in done.out
