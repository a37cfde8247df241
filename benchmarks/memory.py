"""Peak memory of a fit, in a fresh process, on top of the interpreter with torch and rsrae loaded.

The peak is the kernel's VmHWM. ``ru_maxrss`` would not do: a process inherits the peak of the one that started it.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.data import table, words


class Peak(NamedTuple):
    """Bytes."""

    interpreter: int  # with torch and rsrae imported
    rows: int  # the input itself
    fit: int  # the highest point of making the rows and fitting, on top of the interpreter


def peak_of_fit(kind: str, n_rows: int, n_columns: int, **parameters: Any) -> Peak:
    """Fit RSRAE with these parameters on a "table" or on sparse "words" and look at the memory."""
    about = {"kind": kind, "n_rows": n_rows, "n_columns": n_columns, "parameters": parameters}
    command = [sys.executable, "-m", "benchmarks.memory", json.dumps(about)]
    root = Path(__file__).resolve().parent.parent
    answer = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, cwd=root)
    return Peak(**json.loads(answer.stdout))


def main() -> None:
    from rsrae import RSRAE  # and with it torch

    about = json.loads(sys.argv[1])
    interpreter = _status("VmRSS")
    X: Any
    if about["kind"] == "table":
        # In place and in float32 from the start: making the rows needs no more than the rows.
        X = table(about["n_rows"], about["n_columns"])
        n_bytes = X.nbytes
    else:
        X = words(about["n_rows"], about["n_columns"])
        n_bytes = X.data.nbytes + X.indices.nbytes + X.indptr.nbytes
    RSRAE(**about["parameters"]).fit(X)
    print(json.dumps({"interpreter": interpreter, "rows": n_bytes, "fit": _status("VmHWM") - interpreter}))


def _status(name: str) -> int:
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    (line,) = (line for line in lines if line.startswith(f"{name}:"))
    return int(line.split()[1]) * 1024


if __name__ == "__main__":
    main()
