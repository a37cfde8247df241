"""Facts in, one HTML page out.

The text of the page is made by the template; everything that moves (list, charts, counts) is made in the
browser from one block of JSON. Nothing a user wrote can run: the template escapes, the JSON holds no ``<``,
the script inserts text as text only, and the page's policy allows no script but the two it was written with.
"""

from __future__ import annotations

import base64
import hashlib
import json
import math
import os
from collections.abc import Iterable, Sequence
from importlib import resources
from typing import Any

import jinja2
import numpy as np
import numpy.typing as npt

from rsrae.report.facts import ItemFacts, ReportFacts
from rsrae.wholefile import write_text

MAX_TEXT = 2_000  # characters shown of a document
MAX_SKIPPED = 200  # skipped items named one by one
UNLISTED_GROUPS = 2_000  # the scores of unlisted items are sent in groups of equal size


def render(facts: ReportFacts) -> str:
    """Make the page.

    Examples
    --------
    >>> from datetime import datetime
    >>> items = [ItemFacts("row 2", 3.0, 0.9, rank=1), ItemFacts("row 1", 0.2, 0.1, rank=2)]
    >>> page = render(ReportFacts("Orders", "orders.csv", "table", datetime(2026, 1, 1), 1.0, items))
    >>> page.startswith("<!doctype html>")
    True
    """
    scripts = [_asset("echarts.min.js"), _asset("report.js")]
    page = _template().render(
        facts=facts,
        shown_skipped=facts.skipped[:MAX_SKIPPED],
        policy=_content_security_policy(scripts),
        css=_asset("report.css"),
        scripts=scripts,
        data=_json_for_html(_page_data(facts)),
    )
    # A file name read from disk may hold bytes that are not UTF-8 (lone surrogates); they cannot be written.
    return page.encode("utf-8", errors="replace").decode("utf-8")


def write_report(path: str | os.PathLike[str], facts: ReportFacts) -> None:
    """Write the page to ``path``, whole or not at all. An existing file is replaced.

    Raises
    ------
    OutputError
        If the file cannot be written.
    """
    write_text(path, render(facts))


def _page_data(facts: ReportFacts) -> dict[str, Any]:
    items = sorted(facts.items, key=lambda item: item.rank)
    columns = list(dict.fromkeys(column for item in items for column in item.cells))
    features = list(dict.fromkeys(reason.feature for item in items for reason in item.reasons))
    number = {feature: index for index, feature in enumerate(features)}
    return {
        "kind": facts.kind,
        "title": facts.title,
        "threshold": facts.threshold,
        "columns": columns,
        "features": features,
        "unlisted": _grouped(facts.unlisted_scores, facts.threshold),
        "history": {name: [_finite(value) for value in curve] for name, curve in facts.history.items()},
        # One list a property and none of the keys repeated: half the size of one object an item.
        "names": [item.name for item in items],
        "ranks": [item.rank for item in items],
        "scores": [_short_score(item.score, facts.threshold) for item in items],
        "probabilities": [_significant(item.probability, 4) for item in items],
        "cells": [[item.cells.get(column, "") for column in columns] for item in items] if columns else None,
        "reasons": [
            [[number[r.feature], r.value, r.expected, _significant(r.share, 3)] for r in item.reasons] for item in items
        ],
        "texts": _unless_all_none([_excerpt(item.text) for item in items]),
        "thumbnails": _unless_all_none([_data_uri(item.thumbnail) for item in items]),
        "heatmaps": _unless_all_none([_data_uri(item.heatmap) for item in items]),
        "positions": _unless_all_none([_position(item) for item in items]),
        "labels": _unless_all_none([item.label for item in items]),
    }


def _short_score(score: float, threshold: float) -> float:
    # Six digits are plenty, except where rounding would carry the item over the line.
    short = _significant(score, 6)
    return short if (short > threshold) == (score > threshold) else score


def _significant(value: float, digits: int) -> float:
    return float(f"{value:.{digits}g}")


def _finite(value: float) -> float | None:
    return _significant(value, 5) if math.isfinite(value) else None


def _grouped(scores: Sequence[float] | npt.NDArray[np.float64], threshold: float) -> dict[str, Any] | None:
    if not len(scores):
        return None
    values = np.sort(np.asarray(scores, dtype=np.float64))
    # No group crosses the line, so the count at the line itself stays exact.
    sides = [side for side in (values[values <= threshold], values[values > threshold]) if len(side)]
    groups = [group for side in sides for group in np.array_split(side, min(len(side), UNLISTED_GROUPS))]
    return {
        "scores": [_short_score(float(group[len(group) // 2]), threshold) for group in groups],
        "counts": [len(group) for group in groups],
    }


def _excerpt(text: str | None) -> str | None:
    if text is None or len(text) <= MAX_TEXT:
        return text
    return text[:MAX_TEXT].rstrip() + " …"


def _data_uri(picture: bytes | None) -> str | None:
    if picture is None:
        return None
    mime = "image/png" if picture.startswith(b"\x89PNG") else "image/jpeg"
    return f"data:{mime};base64,{base64.b64encode(picture).decode('ascii')}"


def _position(item: ItemFacts) -> list[float] | None:
    return None if item.position is None else [_significant(value, 4) for value in item.position]


def _unless_all_none(values: list[Any]) -> list[Any] | None:
    return None if all(value is None for value in values) else values


def _json_for_html(data: dict[str, Any]) -> str:
    # Inside a script element only "<" can end or change the element.
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c")


def _content_security_policy(scripts: Iterable[str]) -> str:
    digests = (hashlib.sha256(script.encode()).digest() for script in scripts)
    allowed = " ".join(f"'sha256-{base64.b64encode(digest).decode('ascii')}'" for digest in digests)
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def _asset(name: str) -> str:
    return (resources.files("rsrae.report") / "assets" / name).read_text(encoding="utf-8")


def _template() -> jinja2.Template:
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    return environment.from_string(_asset("report.html"))
