"""PyOD's ECOD and AutoEncoder on the trials of our own table: ``python -m benchmarks.accuracy`` (needs RSRAE_DATA).

Both with PyOD's default settings, in the peers' environment, on the rows that "rsrae paper run baselines" draws
(c = 0.5, first seed). Sparse rows are made dense, images flat: PyOD takes nothing else. Every trial is kept in
benchmarks/results/accuracy.json as it ends, so a run can be stopped at any point; ``python docs/make.py
which-detector`` puts the figures beside ours.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.peers import Peers
from rsrae.explain import accepted_form
from rsrae.paper import experiments
from rsrae.paper.cells import Cell
from rsrae.paper.measure import trial_of
from rsrae.paper.protocol import auc_and_ap
from rsrae.wholefile import write_text

RESULTS = Path(__file__).parent / "results" / "accuracy.json"
PEERS = ("pyod ecod", "pyod autoencoder")


def key(peer: str, cell: Cell) -> str:
    """The name of a trial in the results file."""
    return "|".join((peer, cell.data, "-".join(map(str, cell.classes))))


def trials() -> list[Cell]:
    """One cell for each trial of the baselines at c = 0.5, first seed."""
    cells = [cell for cell in experiments.plan("baselines", "quick") if cell.method == "iforest"]
    return [cell for cell in cells if cell.c in (0.5, None) and cell.seed == 0]


def measure(peers: Peers, peer: str, cell: Cell, folder: Path) -> dict[str, Any]:
    """AUC, AP and seconds of a peer on one trial."""
    trial = trial_of(cell)
    X = accepted_form(trial.X, frozenset({"table"}))
    np.save(folder / "rows.npy", np.asarray(X, dtype=np.float32))
    answer = peers.ask("scores", peer=peer, rows=str(folder / "rows.npy"), seed=cell.seed)
    auc, ap = auc_and_ap(trial.is_outlier, np.asarray(answer["scores"]))
    return {"auc": round(auc, 4), "ap": round(ap, 4), "seconds": round(answer["seconds"], 2)}


def main() -> None:
    """Measure what the results file does not hold yet."""
    found = json.loads(RESULTS.read_text(encoding="utf-8"))["trials"] if RESULTS.exists() else {}
    with Peers() as peers, tempfile.TemporaryDirectory() as folder:
        versions = peers.versions()
        for cell in trials():
            for peer in PEERS:
                if key(peer, cell) in found:
                    continue
                found[key(peer, cell)] = measure(peers, peer, cell, Path(folder))
                print(key(peer, cell), found[key(peer, cell)], flush=True)
                write_text(RESULTS, json.dumps({"versions": versions, "trials": found}, indent=1) + "\n")


if __name__ == "__main__":
    main()
