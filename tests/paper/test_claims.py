from collections.abc import Callable
from pathlib import Path

import pytest

from rsrae.paper.cells import Cell
from rsrae.paper.claims import ATTRIBUTED_AUC, Verdict, verdicts
from rsrae.paper.evidence import Results
from rsrae.paper.experiments import plan

from .shared import row_of, write_rows


def judge(folder: Path, score: Callable[[Cell], float], *experiments: str) -> dict[str, Verdict]:
    for name in experiments:
        write_rows(folder / f"{name}.jsonl", (row_of(cell, auc=score(cell)) for cell in plan(name, "quick")))
    return {verdict.claim: verdict for verdict in verdicts(Results(folder))}


def verdict_about(words: str, found: dict[str, Verdict]) -> Verdict:
    (match,) = (verdict for claim, verdict in found.items() if words in claim)
    return match


def test_without_results_everything_is_not_run(tmp_path: Path) -> None:
    assert {verdict.outcome for verdict in verdicts(Results(tmp_path))} == {"not run"}


def test_the_attributed_numbers_are_compared_within_three_hundredths(tmp_path: Path) -> None:
    off = {"reuters": 0.05}
    found = judge(tmp_path, lambda cell: ATTRIBUTED_AUC.get(cell.data, 0.9) + off.get(cell.data, 0.02), "main")
    verdict = verdict_about("attributed", found)
    assert verdict.outcome == "holds in part"
    assert "Reuters-21578 .899 (.899 with the first outliers), paper .849" in verdict.evidence


@pytest.mark.parametrize(("gain", "outcome"), [(0.1, "holds"), (0.0, "does not hold")])
def test_rsrae_over_plain_autoencoders(tmp_path: Path, gain: float, outcome: str) -> None:
    found = judge(tmp_path, lambda cell: 0.7 + gain * (cell.method == "rsrae"), "variants")
    verdict = verdict_about("clearly better than AE and AE-1", found)
    assert verdict.outcome == outcome
    assert f"{gain:+.3f}" in verdict.evidence


def test_stability_looks_at_small_dimensions_only(tmp_path: Path) -> None:
    def score(cell: Cell) -> float:
        return 0.8 if dict(cell.params)["intrinsic_dim"] <= 30 else 0.5  # type: ignore[operator]

    found = judge(tmp_path, score, "dimension")
    assert verdict_about("stable for d up to 30", found).outcome == "holds"
    assert verdict_about("poor on Caltech 101 at d = D", found).outcome == "holds"


def test_the_sensitivity_to_each_weight_is_told_apart(tmp_path: Path) -> None:
    found = judge(tmp_path, lambda cell: 0.6 + 0.1 * float(dict(cell.params).get("lambda1", 2.0)), "lambdas")
    assert verdict_about("more sensitive to lambda1", found).outcome == "holds"
    assert verdict_about("best-tuned RSRAE+", found).outcome == "holds"


def test_the_centroid_and_the_rank_correlation_are_told(tmp_path: Path) -> None:
    found = judge(tmp_path, lambda cell: 0.8 if cell.method == "centroid" else 0.7, "main")
    verdict = verdict_about("beats the centroid at c", found)
    assert verdict.outcome == "does not hold"
    assert "authors, Reuters-21578: .700 against .800, rank correlation .90" in verdict.evidence
