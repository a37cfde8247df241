"""Facts of the three kinds, as a detector would give them, without training one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

import numpy as np
from sklearn.datasets import load_digits

from rsrae.report import ItemFacts, Reason, ReportFacts, flatten_codes, heatmap, thumbnail

CITIES = ["Lisbon", "Oslo", "Kraków", "Zürich", "Athens", "Dublin"]
TOPICS = [
    "the launch window opens in spring and the orbit of the probe is stable",
    "engineers tested the engine of the lander and measured its thrust",
    "the telescope found a faint signal near the edge of the galaxy",
    "a crew of four will travel to the station with new instruments",
]
ODD_WORDS = ["goalkeeper", "mortgage", "casserole", "subpoena"]


def table_report(n: int = 1_000, **changes: Any) -> ReportFacts:
    rng = np.random.default_rng(0)
    prices, amounts, delays = rng.gamma(4, 12, n), rng.integers(1, 9, n), rng.normal(3, 1, n)
    is_odd = rng.random(n) < 0.04
    columns = ["price", "amount", "days to delivery", "city", "express", "discount"]
    drafts = []
    for i in range(n):
        cells = {
            "price": f"{prices[i] * (30 if is_odd[i] else 1):.2f}",
            "amount": str(amounts[i]),
            "days to delivery": f"{delays[i]:.1f}",
            "city": CITIES[i % len(CITIES)],
            "express": "yes" if i % 3 else "no",
            "discount": "" if i % 11 == 0 else f"{rng.random() * 20:.0f} %",
        }
        shares = rng.dirichlet([9.0 if is_odd[i] and c == "price" else 0.6 for c in columns])
        reasons = [
            Reason(columns[c], cells[columns[c]], "48.10" if c == 0 else "3", float(shares[c]))
            for c in np.argsort(-shares)[:4]
        ]
        score = float(rng.gamma(3, 0.1) + is_odd[i] * rng.uniform(0.9, 3.0))
        drafts.append(ItemFacts(f"order {10_000 + i}", score, 0.0, 0, reasons, cells, label=bool(is_odd[i])))
    codes = rng.normal(size=(n, 5)) * [3, 2, 1, 0.5, 0.2] + is_odd[:, None] * [4, 9, 0, 0, 0]
    return _report(
        drafts,
        codes,
        title="Orders of the spring sale",
        source="data/orders-2026.csv",
        kind="table",
        threshold=1.05,
        contamination=0.04,
        metrics={"AUC": 0.9731, "AP": 0.9012},
        notes=[
            "Column 'order' names the rows; it is not used for the scores.",
            "Column 'currency' is the same everywhere and was left out.",
            "Column 'discount' has 91 empty cells; they count as the median, beside an indicator.",
        ],
        skipped=[("line 812", "has 9 cells instead of 8"), ("line 1007", "has 3 cells instead of 8")],
        **changes,
    )


def image_report(n: int = 300, **changes: Any) -> ReportFacts:
    rng = np.random.default_rng(1)
    pictures = (load_digits().images[:n] * 255 / 16).astype(np.uint8)
    drafts = []
    for i, picture in enumerate(pictures):
        is_odd = i % 25 == 7
        noise = np.zeros((8, 8))
        if is_odd:
            noise[2:5, 3:7] = rng.random((3, 4))
        shown = np.clip(picture + noise * 255, 0, 255).astype(np.uint8)
        if i % 2:  # every other one as a large colour picture
            big = np.kron(shown, np.ones((20, 20), dtype=np.uint8))
            shown = np.stack([big, np.roll(big, 6, axis=0), 255 - big], axis=2)
            noise = np.kron(noise, np.ones((20, 20)))
        shares = noise + 0.02 * rng.random(noise.shape)
        score = float(rng.gamma(3, 0.02) + is_odd * rng.uniform(0.3, 0.5))
        drafts.append(
            ItemFacts(
                f"scans/2026/img_{i:04d}.png",
                score,
                0.0,
                0,
                thumbnail=thumbnail(shown),
                heatmap=heatmap(shown, shares),
            )
        )
    codes = rng.normal(size=(n, 3)) + 3 * rng.integers(0, 4, (n, 1)) * [1, -0.5, 0]
    return _report(
        drafts,
        codes,
        title="Scanned digits",
        source="photos/scans",
        kind="images",
        threshold=0.22,
        notes=["300 pictures of different sizes were brought to 8 x 8 pixels."],
        skipped=[("scans/2026/broken.jpg", "is not a picture that can be opened")],
        **changes,
    )


def document_report(n: int = 400, **changes: Any) -> ReportFacts:
    rng = np.random.default_rng(2)
    drafts = []
    for i in range(n):
        is_odd = i % 33 == 5
        sentences = [TOPICS[k] for k in rng.integers(0, len(TOPICS), 3 + i % 9)]
        odd = ODD_WORDS[i % len(ODD_WORDS)]
        if is_odd:
            sentences.insert(1, f"meanwhile the {odd.title()} and the {odd} said nothing")
        reasons = (
            [Reason(odd, "2 times", "absent", 0.58), Reason("nothing", "once", "absent", 0.17)]
            if is_odd
            else [Reason("galaxy", "once", "absent", 0.12)]
        )
        reasons.append(Reason("mission", "absent", "once", 0.08))
        score = float(rng.gamma(3, 0.02) + is_odd * rng.uniform(0.3, 0.5))
        text = ". ".join(s.capitalize() for s in sentences) + "."
        drafts.append(ItemFacts(f"sci.space/{60_000 + i}", score, 0.0, 0, reasons, text=text))
    return _report(
        drafts,
        rng.standard_t(2, size=(n, 8)),
        title="Posts of sci.space",
        source="mails.jsonl",
        kind="documents",
        threshold=0.24,
        notes=["Headers and quoted lines were stripped.", "8,412 different words were counted."],
        **changes,
    )


def with_item(report: ReportFacts, **changes: Any) -> ReportFacts:
    """Replace the strangest item's properties."""
    first, *others = report.items
    return replace(report, items=[replace(first, **changes), *others])


def _report(drafts: Sequence[ItemFacts], codes: np.ndarray, **facts: Any) -> ReportFacts:
    order = np.argsort([-draft.score for draft in drafts], kind="stable")
    places = flatten_codes(codes)
    threshold = facts["threshold"]
    items = [
        replace(
            drafts[i],
            rank=rank,
            probability=float(1 / (1 + np.exp(-8 * (drafts[i].score / threshold - 1)))),
            position=(float(places[i, 0]), float(places[i, 1])),
        )
        for rank, i in enumerate(order, start=1)
    ]
    epochs = np.arange(1, 101)
    rng = np.random.default_rng(3)
    noise = 1 + 0.03 * rng.normal(size=(3, 100))
    return ReportFacts(
        created=datetime(2026, 3, 4, 15, 9),
        items=items,
        history={
            "reconstruction": (0.4 + 2 * np.exp(-epochs / 12) * noise[0]).tolist(),
            "projection": (0.1 + 0.9 * np.exp(-epochs / 20) * noise[1]).tolist(),
            "orthogonality": (1e-3 + 30 * np.exp(-epochs / 6) * noise[2]).tolist(),
        },
        settings={
            "detector": "RSRAE",
            "intrinsic_dim": 5,
            "epochs": 100,
            "learning_rate": 0.001,
            "random_state": 0,
        },
        versions={"rsrae": "0.1.0", "torch": "2.13.0", "scikit-learn": "1.7.2", "Python": "3.11.9"},
        **facts,
    )
