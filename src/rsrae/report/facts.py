"""Everything a report can tell, as plain values: no detector, no frame, no tensor."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

import numpy as np
import numpy.typing as npt

Kind = Literal["table", "images", "documents", "embeddings"]


@dataclass(frozen=True)
class Reason:
    """One part of an item's score.

    Attributes
    ----------
    feature : the column, word or region.
    value : what was found there, as a person reads it.
    expected : what the model expected there.
    share : the part of the score (of a row of a table: of what makes it higher than usual) it makes up, in [0, 1].
    """

    feature: str
    value: str
    expected: str
    share: float


@dataclass(frozen=True)
class ItemFacts:
    """One item of the ranked list.

    Attributes
    ----------
    name : an id, a file name, a row number.
    score : higher is stranger.
    probability : the calibrated score, in [0, 1].
    rank : 1 is the strangest.
    reasons : the largest share first. They also mark the cells (by column) and the words of the text.
    cells : a table's row, column -> value as a person reads it.
    text : a document, or as much of it as should be shown.
    thumbnail : the picture, encoded as PNG or JPEG.
    heatmap : the picture with the strange regions marked, encoded as PNG or JPEG.
    position : the item's place on the map of the codes.
    label : whether it is known to be an anomaly; None where nobody knows.
    """

    name: str
    score: float
    probability: float
    rank: int
    reasons: Sequence[Reason] = ()
    cells: Mapping[str, str] = field(default_factory=dict)
    text: str | None = None
    thumbnail: bytes | None = None
    heatmap: bytes | None = None
    position: tuple[float, float] | None = None
    label: bool | None = None


@dataclass(frozen=True)
class ReportFacts:
    """What one report tells.

    An item is flagged when its score is above the threshold: the verdict is not stored twice.

    Attributes
    ----------
    title : the headline.
    source : what the user pointed at.
    kind : what the items are.
    created : when the items were scored.
    threshold : where the line lies.
    items : the items to list, in any order; for a large source the strangest ones, and some of the others.
    unlisted_scores : the scores of the items that are not listed; histogram and counts cover them too.
    contamination : the share of anomalies the line was drawn for; None where it was found from the scores.
    notes : decisions made while reading, one sentence each.
    skipped : what could not be read, ``(name, reason)``.
    history : learning curves, loss -> one value an epoch.
    metrics : quality against known labels, for example ``{"AUC": 0.97}``.
    settings : the detector's parameters and the seed.
    versions : package -> version.

    Examples
    --------
    >>> from datetime import datetime
    >>> items = [ItemFacts("row 1", 0.2, 0.1, rank=2), ItemFacts("row 2", 3.0, 0.9, rank=1)]
    >>> facts = ReportFacts("Orders", "orders.csv", "table", datetime(2026, 1, 1), threshold=1.0, items=items)
    >>> facts.n_items, facts.n_flagged
    (2, 1)
    """

    title: str
    source: str
    kind: Kind
    created: datetime
    threshold: float
    items: Sequence[ItemFacts]
    unlisted_scores: Sequence[float] | npt.NDArray[np.float64] = ()
    contamination: float | None = None
    notes: Sequence[str] = ()
    skipped: Sequence[tuple[str, str]] = ()
    history: Mapping[str, Sequence[float]] = field(default_factory=dict)
    metrics: Mapping[str, float] = field(default_factory=dict)
    settings: Mapping[str, object] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)

    @property
    def n_items(self) -> int:
        """How many items were scored, listed or not."""
        return len(self.items) + len(self.unlisted_scores)

    @property
    def n_flagged(self) -> int:
        """How many of them are above the line."""
        listed = sum(item.score > self.threshold for item in self.items)
        return listed + int(np.count_nonzero(np.asarray(self.unlisted_scores) > self.threshold))

    @property
    def n_strangest_listed(self) -> int:
        """How many are listed before the first, by rank, that is not."""
        ranks = sorted(item.rank for item in self.items)
        return sum(rank == place for place, rank in enumerate(ranks, start=1))
