"""What a data set is: items, their names, and how they were made from what the user has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from rsrae.errors import InputError

Kind = Literal["table", "images", "documents", "embeddings"]


class Encoder(Protocol):
    """Knows how a source was turned into ``X``, so that new data is treated the same way."""

    @property
    def kind(self) -> Kind:
        """What the items are."""
        ...

    def to_json(self) -> dict[str, Any]:
        """Everything needed to encode new data, as plain JSON values."""
        ...


@runtime_checkable
class Items(Protocol):
    """What to show a person, fetched only for the items that are shown.

    A table row is a dict of its cells (columns that were left out included), a document is
    ``{"text": ...}``, an image read from a file is ``{"path": ...}``.
    """

    def __len__(self) -> int: ...

    def row(self, i: int) -> dict[str, object]:
        """The item at position ``i``."""
        ...

    def rows(self, positions: Sequence[int]) -> list[dict[str, object]]:
        """Several items; much faster than one by one when the source is a large file."""
        ...


@dataclass(frozen=True)
class ListItems:
    """Items held in memory, each with one field.

    >>> ListItems("text", ["one", "two"]).row(1)
    {'text': 'two'}
    """

    field: str
    values: Sequence[object]

    def __len__(self) -> int:
        return len(self.values)

    def row(self, i: int) -> dict[str, object]:
        """The item at position ``i``."""
        return {self.field: self.values[i]}

    def rows(self, positions: Sequence[int]) -> list[dict[str, object]]:
        """Several items."""
        return [self.row(i) for i in positions]


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
    items : what to show a person, see `Items`; or None.
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
    items: Items | None = None
    labels: npt.NDArray[np.int64] | None = None
    source: str = ""

    def __post_init__(self) -> None:
        for what, values in (("names", self.names), ("labels", self.labels), ("items", self.items)):
            if values is not None and len(values) != len(self):
                raise InputError(f"{self.source or 'samples'}: {len(values)} {what} for {len(self)} items")
        if self.feature_names is not None and len(self.feature_names) != self.X.shape[1]:
            raise InputError(
                f"{self.source or 'samples'}: {len(self.feature_names)} feature names for {self.X.shape[1]} columns"
            )

    def __len__(self) -> int:
        return int(self.X.shape[0])
