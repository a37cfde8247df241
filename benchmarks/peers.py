"""Our peers, installed in an environment of their own and asked through a process that stays alive.

Their packages never touch ours, and since the process waits between two questions, they and we can be measured in turn.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Any, Self

ROOT = Path(__file__).resolve().parent.parent
HOME = ROOT / ".bench"
NEEDED = ("torch", "scikit-learn", "pyod")
WELCOME = ("deepod",)  # measured if it installs


class PeerError(RuntimeError):
    """A peer could not be installed or did not answer."""


def set_up(home: Path = HOME) -> Path:
    """Make the peers' environment unless it is there; the path of its interpreter."""
    python = home / "venv" / "bin" / "python"
    stamp = home / "venv" / "installed.txt"
    if stamp.exists():
        return python
    print(f"installing {', '.join((*NEEDED, *WELCOME))} into {home / 'venv'} ...", file=sys.stderr)
    _call([sys.executable, "-m", "venv", str(home / "venv")])
    install = [str(python), "-m", "pip", "install", "--quiet", "--constraint", str(ROOT / "constraints.txt")]
    _call([*install, *NEEDED])
    missing = [name for name in WELCOME if subprocess.run([*install, name], check=False).returncode != 0]
    stamp.write_text("".join(f"{name} does not install here\n" for name in missing), encoding="utf-8")
    return python


class Peers:
    """The worker process; started when it is first asked.

    Use it as a context: the process ends with it.
    """

    def __init__(self, home: Path = HOME) -> None:
        self.home = home
        self._process: subprocess.Popen[str] | None = None

    def ask(self, question: str, **about: Any) -> dict[str, Any]:
        """The worker's answer to one question of :mod:`benchmarks.worker`."""
        process = self._process = self._process or self._start()
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps({"question": question, **about}) + "\n")
        process.stdin.flush()
        line = process.stdout.readline()
        if not line:
            raise PeerError(f"the peers' process ended at {question!r}; see {self.home / 'worker.log'}")
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise PeerError(f"{question}: {answer['error']}; see {self.home / 'worker.log'}")
        return answer

    def versions(self) -> dict[str, str]:
        """Which peers there are."""
        return {str(name): str(version) for name, version in self.ask("versions").items()}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process is not None and self._process.stdin is not None:
            self._process.stdin.close()  # the worker's loop ends with its input
            self._process.wait(timeout=30)
            self._process = None

    def _start(self) -> subprocess.Popen[str]:
        python = set_up(self.home)
        with (self.home / "worker.log").open("w", encoding="utf-8") as log:
            return subprocess.Popen(
                [str(python), "-m", "benchmarks.worker"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                cwd=ROOT,
                env=os.environ | {"OMP_NUM_THREADS": "1"},
            )


def _call(command: list[str]) -> None:
    if subprocess.run(command, check=False).returncode != 0:
        raise PeerError(f"failed: {' '.join(command)}")
