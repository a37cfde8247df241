from __future__ import annotations

from datetime import datetime

import numpy as np

from rsrae.report import ItemFacts, ReportFacts


def test_unlisted_items_are_counted_and_an_item_on_the_line_is_not_flagged() -> None:
    items = [ItemFacts("a", 3.0, 0.9, rank=1), ItemFacts("b", 1.0, 0.5, rank=2)]
    facts = ReportFacts("t", "s", "table", datetime(2026, 1, 1), 1.0, items, unlisted_scores=np.array([1.5, 1.0, 0.2]))
    assert facts.n_items == 5
    assert facts.n_flagged == 2
