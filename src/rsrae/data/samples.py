"""What a data set is: items, their names, and how they were made from what the user has."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

Kind = Literal["table", "images", "documents", "embeddings"]


class Encoder(Protocol):
    """Knows how a source was turned into ``X``, so that new data is treated the same way."""

    kind: Kind

    def to_json(self) -> dict[str, Any]:
        """Everything needed to encode new data, as plain JSON values."""
        ...


@dataclass
class Samples:
    """Items ready for a detector, with everything a person needs to recognise them.

    Attributes
    ----------
    X : (n, m) float32 array, (n, m) CSR matrix, or (n, h, w) / (n, h, w, c) uint8 images.
    kind : what the items are.
    names : one name an item (an id, a file name, a row number).
    feature_names : one name a column of ``X``; None for images.
    notes : decisions made on the way, one sentence each, for the summary and the report.
    skipped : items that could not be read, ``(name, reason)``.
    encoder : how to treat new data in the same way; stored in the model file.
    items : what to show a person: a DataFrame, a list of texts, or a list of image paths; or None.
    labels : 1 for an anomaly, only for measuring; never used for training.
    source : what the user pointed at.
    """

    X: npt.NDArray[Any] | sp.csr_array
    kind: Kind
    names: list[str]
    feature_names: list[str] | None = None
    notes: list[str] = field(default_factory=list)
    skipped: list[tuple[str, str]] = field(default_factory=list)
    encoder: Encoder | None = None
    items: Any = None
    labels: npt.NDArray[np.int64] | None = None
    source: str = ""

    def __len__(self) -> int:
        return int(self.X.shape[0])
