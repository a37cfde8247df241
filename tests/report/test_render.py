from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from datetime import datetime
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rsrae.errors import OutputError
from rsrae.report import ItemFacts, Reason, ReportFacts, render, write_report

from .sample_reports import document_report, image_report, table_report, with_item

HOSTILE = "</script><script>window.hacked = 1</script><!--<img src=x onerror=hacked()>\u2028'\"&"


class Page(HTMLParser):
    """A page's tags in order, and what its scripts hold."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[str] = []
        self._in_script = False
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self._in_script = tag == "script"
        if self._in_script:
            self.scripts.append("")

    def handle_endtag(self, tag: str) -> None:
        self._in_script = False

    def handle_data(self, data: str) -> None:
        if self._in_script:
            self.scripts[-1] += data


def data_of(html: str) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(Page(html).scripts[0])
    return data


def small_report(scores: list[float], threshold: float, **changes: Any) -> ReportFacts:
    items = [ItemFacts(f"item {i}", score, 0.5, rank=i + 1) for i, score in enumerate(scores)]
    return ReportFacts("t", "s", "table", datetime(2026, 1, 1), threshold, items, **changes)


def test_a_table_of_1000_rows_stays_under_6_megabytes() -> None:
    assert len(render(table_report(1_000)).encode()) < 6_000_000


def test_nothing_a_user_wrote_becomes_a_tag() -> None:
    plain = document_report(5)
    reason = Reason(HOSTILE, HOSTILE, HOSTILE, 0.5)
    hostile = with_item(plain, name=HOSTILE, text=HOSTILE, cells={HOSTILE: HOSTILE}, reasons=[reason])
    hostile = replace(
        hostile,
        title=HOSTILE,
        source=HOSTILE,
        notes=[HOSTILE],
        skipped=[(HOSTILE, HOSTILE)],
        history={HOSTILE: [1.0]},
        metrics={HOSTILE: 0.5},
        settings={HOSTILE: HOSTILE},
        versions={HOSTILE: HOSTILE},
    )
    page = Page(render(hostile))
    harmless = replace(hostile, title="t", source="s", notes=["n"], skipped=[("a", "b")], metrics={"m": 0.5})
    expected = Page(render(replace(harmless, settings={"a": "b"}, versions={"a": "b"})))
    assert [tag for tag, _ in page.tags] == [tag for tag, _ in expected.tags]
    assert not any(name.startswith("on") for _, attributes in page.tags for name in attributes)


def test_the_json_gives_back_exactly_what_was_put_in() -> None:
    report = with_item(document_report(5), name=HOSTILE, text=HOSTILE)
    data = data_of(render(report))
    assert data["names"][0] == HOSTILE
    assert data["texts"][0] == HOSTILE


def test_the_policy_allows_the_two_scripts_and_nothing_from_the_network() -> None:
    page = Page(render(table_report(10)))
    policy = next(a["content"] for tag, a in page.tags if a.get("http-equiv") == "Content-Security-Policy")
    assert policy is not None
    hashes = [base64.b64encode(hashlib.sha256(s.encode()).digest()).decode() for s in page.scripts[1:]]
    assert re.findall(r"'sha256-([^']+)'", policy) == hashes
    assert policy.startswith("default-src 'none'; ")
    assert "http" not in policy


def test_the_page_refers_to_no_other_file() -> None:
    for _, attributes in Page(render(image_report(5))).tags:
        assert "src" not in attributes
        assert attributes.get("href", "#").startswith("#")  # type: ignore[union-attr]


def test_items_are_sent_in_order_of_rank() -> None:
    report = table_report(50)
    shuffled = replace(report, items=list(reversed(report.items)))
    assert data_of(render(shuffled))["ranks"] == list(range(1, 51))


def test_scores_have_six_digits_but_rounding_never_changes_a_verdict() -> None:
    just_above, far = 1.000000001, 2.123456789
    data = data_of(render(small_report([far, just_above, 1.0], threshold=1.0)))
    assert data["scores"] == [2.12346, just_above, 1.0]


def test_a_million_unlisted_scores_are_sent_as_groups_with_exact_counts_at_the_line() -> None:
    rng = np.random.default_rng(0)
    report = small_report([9.0], 2.0, unlisted_scores=rng.gamma(2.0, 0.3, 1_000_000))
    unlisted = data_of(render(report))["unlisted"]
    flagged = sum(count for score, count in zip(unlisted["scores"], unlisted["counts"], strict=True) if score > 2.0)
    assert sum(unlisted["counts"]) == 1_000_000
    assert flagged == report.n_flagged - 1
    assert flagged > 0
    assert len(unlisted["counts"]) <= 4_000


def test_a_loss_that_became_infinite_is_a_gap_in_its_curve() -> None:
    data = data_of(render(small_report([1.0], 0.5, history={"loss": [2.0, float("nan"), float("inf")]})))
    assert data["history"] == {"loss": [2.0, None, None]}


def test_a_long_document_is_cut() -> None:
    report = with_item(document_report(3), text="word " * 10_000)
    assert len(data_of(render(report))["texts"][0]) <= 2_002


def test_pictures_are_sent_with_their_format() -> None:
    data = data_of(render(image_report(4)))
    starts = {picture.split(";")[0] for picture in data["thumbnails"]}
    assert starts == {"data:image/png", "data:image/jpeg"}


def test_only_the_first_skipped_items_are_named_and_the_rest_counted() -> None:
    html = render(small_report([1.0], 0.5, skipped=[(f"file-{i}", "broken") for i in range(1_234)]))
    assert "file-199<" in html
    assert "file-200<" not in html
    assert "and 1,034 more" in html


@pytest.mark.parametrize("kind", ["table", "images", "documents", "embeddings"])
def test_every_kind_renders_without_any_optional_fact(kind: Any) -> None:
    html = render(replace(small_report([1.0, 0.2], 0.5), kind=kind))
    assert Page(html).tags[0] == ("html", {"lang": "en"})


def test_an_empty_list_of_items_renders() -> None:
    assert data_of(render(small_report([], 0.5)))["names"] == []


def test_the_same_facts_give_the_same_page() -> None:
    assert render(table_report(20)) == render(table_report(20))


def test_a_name_that_is_not_valid_unicode_is_written(tmp_path: Path) -> None:
    name = os.fsdecode(b"caf\xe9.png")
    write_report(tmp_path / "r.html", replace(with_item(image_report(2), name=name), title=name))
    assert "caf?.png" in (tmp_path / "r.html").read_text(encoding="utf-8")


def test_writing_replaces_the_old_report_and_leaves_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "r.html").write_text("old")
    write_report(tmp_path / "r.html", table_report(5))
    assert (tmp_path / "r.html").read_text(encoding="utf-8") == render(table_report(5))
    assert os.listdir(tmp_path) == ["r.html"]


def test_a_missing_folder_is_an_output_error(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match=r"nowhere.*cannot be written"):
        write_report(tmp_path / "nowhere" / "r.html", table_report(2))


def test_a_target_that_cannot_be_replaced_leaves_nothing_behind(tmp_path: Path) -> None:
    (tmp_path / "r.html" / "occupied").mkdir(parents=True)
    with pytest.raises(OutputError, match="cannot be written"):
        write_report(tmp_path / "r.html", table_report(2))
    assert os.listdir(tmp_path) == ["r.html"]


@pytest.mark.skipif(sys.platform != "linux", reason="limits the size of files through the resource module")
def test_a_full_disk_leaves_the_old_report_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "r.html").write_text("old")
    # A limit on the size of files in a process of its own stands for the full disk.
    program = (
        "import resource, signal, sys\n"
        "from tests.report.sample_reports import table_report\n"
        "from rsrae.errors import OutputError\n"
        "from rsrae.report import write_report\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))\n"
        "try:\n"
        "    write_report(sys.argv[1], table_report(5))\n"
        "except OutputError:\n"
        "    sys.exit(2)\n"
    )
    command = [sys.executable, "-c", program, str(tmp_path / "r.html")]
    finished = subprocess.run(command, cwd=Path(__file__).parents[2], check=False)
    assert finished.returncode == 2
    assert (tmp_path / "r.html").read_text() == "old"
    assert os.listdir(tmp_path) == ["r.html"]
