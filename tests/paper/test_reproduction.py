from pathlib import Path

from rsrae.paper.experiments import ids, plan
from rsrae.paper.reproduction import write_reproduction

from .shared import row_of, write_rows


def test_the_page_says_what_was_run_and_what_was_not(tmp_path: Path) -> None:
    rows = (row_of(cell, seconds_fit=5.0 if cell.method == "rsrae" else 20.0) for cell in plan("runtime", "quick"))
    write_rows(tmp_path / "results" / "runtime.jsonl", rows)
    page = write_reproduction(tmp_path / "results", tmp_path / "docs")
    text = page.read_text()
    assert "67 of the 749 cells of the full profile are finished, 67 of the 67 of the quick one" in text
    assert "| RSRAE is faster than DSEBM, DAGMM and GT | appendix H | **holds** |" in text
    assert "| SFMS is better than FMS | appendix F | **not run** | no results yet |" in text
    assert "![Seconds of one experiment, c = 0.5 (run it with one job)](reproduction/runtime.png)" in text
    assert (tmp_path / "docs" / "reproduction" / "runtime.svg").exists()
    assert text.count("Not run.") == len(ids()) - 1

    before = text
    write_reproduction(tmp_path / "results", tmp_path / "docs")
    assert page.read_text() == before
