"""What the parts of a score mean: cells of a row, regions of a picture, words of a document."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
import torch

from rsrae.data.columns import CategoryColumn, ColumnPlan, DateColumn, FlagColumn
from rsrae.data.documents import DocumentEncoder
from rsrae.data.samples import Samples
from rsrae.data.tables import TableEncoder
from rsrae.edges import NAMES as EDGE_NAMES
from rsrae.edges import Edges
from rsrae.explain.shares import FloatArray, Shares, feature_shares, is_sparse

REGIONS_PER_SIDE = 4
_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


@dataclass(frozen=True)
class Part:
    """One part of an item's score.

    Attributes
    ----------
    feature : the column, the word, or the region of the picture.
    value : what was found there, in the user's units; "present" or "absent" for a word, the mean brightness of a
        region, or how the strongest edges in it run.
    expected : what the model expected there; None if the method expects nothing in particular. For a word "absent",
        "less", "more" or "present".
    share : of the score, in [0, 1]; in a table, of what makes it higher than usual (:mod:`rsrae.explain.shares`).
    """

    feature: str
    value: object
    expected: object
    share: float


@dataclass(frozen=True)
class Explanation:
    """Why one item has its score.

    Attributes
    ----------
    name : of the item.
    score : higher is stranger.
    parts : the largest share first.
    rest : the share of all that is not listed; it and the parts' shares add up to one.
    heat : a picture's shares, ``(h, w)``; they add up to one.
    expected_picture : the picture the model expected, in the shape of the item.
    """

    name: str
    score: float
    parts: Sequence[Part]
    rest: float = 0.0
    heat: FloatArray | None = None
    expected_picture: npt.NDArray[np.uint8] | None = None

    @property
    def unexpected(self) -> list[Part]:
        """Words that are present though the model did not expect them, or not as often."""
        return [part for part in self.parts if part.value == "present" and part.expected in ("absent", "less")]

    @property
    def missing(self) -> list[Part]:
        """Words the model expected that are absent."""
        return [part for part in self.parts if part.value == "absent" and part.expected == "present"]

    def in_words(self, most: int = 3) -> str:
        """The largest parts in one line.

        >>> part = Part("price", 950.0, 48.5, 0.81)
        >>> Explanation("7", 3.2, [part]).in_words()
        'price = 950, expected 48.5 (81 %)'
        """
        return "; ".join(_sentence(part) for part in self.parts[:most])


def explain(
    detector: Any,
    data: Samples | Any,
    items: Sequence[int] | None = None,
    *,
    feature_names: Sequence[str] | None = None,
    reference: Any = None,
    most: int | None = None,
) -> list[Explanation]:
    """Say why items have their scores.

    Parameters
    ----------
    detector : fitted.
    data : samples as `rsrae.data.sources.read_source` gives them, or rows, sparse rows or images as the detector
        takes them.
    items : positions of the items to explain; all if None.
    feature_names : names of the columns, if ``data`` are rows.
    reference : rows that say what is typical, for methods without a reconstruction (default: all of ``data``).
    most : list at most that many parts; the others are summed up in ``rest``.

    Examples
    --------
    >>> from rsrae import RSRAE
    >>> X = np.random.default_rng(0).normal(size=(100, 3))
    >>> X[0, 1] = 40
    >>> detector = RSRAE(epochs=5, random_state=0).fit(X)
    >>> explain(detector, X[:1], feature_names=["width", "price", "age"])[0].parts[0].feature
    'price'
    """
    samples = data if isinstance(data, Samples) else _as_samples(data, feature_names)
    positions = list(range(len(samples))) if items is None else [int(i) for i in items]
    if not positions:
        return []
    reader = _reader(samples)
    found = feature_shares(
        detector,
        samples.X[positions],
        groups=reader.groups,
        reference=samples.X if reference is None else reference,
    )
    return reader.read(positions, found, most)


def shown(value: object, digits: int = 6) -> str:
    """A value as a person reads it; numbers with that many significant digits.

    >>> shown(1234.5678), shown(None), shown(0.1 + 0.2), shown("a\\nb"), shown(True)
    ('1234.57', 'missing', '0.3', 'a b', 'true')
    """
    if value is None:
        return "missing"
    if isinstance(value, bool | np.bool_):
        return str(bool(value)).lower()
    if isinstance(value, float | np.floating):
        number = float(value)
        return f"{number:.0f}" if number.is_integer() and abs(number) < 1e15 else f"{number:.{digits}g}"
    text = " ".join(str(value).split())
    return text if len(text) <= 60 else text[:57] + "..."


def shown_expectation(part: Part) -> str:
    """What the model expected, as text; empty where the method expects nothing.

    A category may be the likeliest one and still far from sure, which is then what the score is about:

    >>> shown_expectation(Part("city", "Rome", "Rome", 0.7))
    'Rome or another'
    """
    if part.expected is None:
        return ""
    text = shown(part.expected, 4)
    is_category = isinstance(part.value, str) and part.value not in ("present", "absent")
    return f"{text} or another" if is_category and text == shown(part.value) else text


def _sentence(part: Part) -> str:
    if part.value == "present" and part.expected in ("absent", "less", "more", "present", None):
        what = f"{part.feature!r} present"
    elif part.value == "absent":
        what = f"{part.feature!r} absent"
    else:
        expected = shown_expectation(part)
        what = f"{part.feature} = {shown(part.value)}" + (f", expected {expected}" if expected else "")
    return f"{what} ({100 * part.share:.0f} %)"


def _as_samples(X: Any, feature_names: Sequence[str] | None) -> Samples:
    rows: Any = X
    if hasattr(X, "columns") and not is_sparse(X):  # a DataFrame of numbers
        feature_names = feature_names if feature_names is not None else [str(name) for name in X.columns]
        rows = X.to_numpy()
    rows = sp.csr_array(rows) if is_sparse(rows) else np.asarray(rows)
    names = [str(i) for i in range(rows.shape[0])]
    if rows.ndim > 2:
        return Samples(rows, "images", names)
    if feature_names is None:
        feature_names = [f"column {j + 1}" for j in range(rows.shape[1])]
    return Samples(rows, "embeddings", names, feature_names=list(feature_names))


# -- one reader a kind -------------------------------------------------------------------------------------------------


class _FeatureReader:
    """Each feature is what the user knows it as: vectors, and rows without an encoder."""

    groups: list[npt.NDArray[np.int64]] | None = None

    def __init__(self, samples: Samples) -> None:
        self.samples = samples

    def read(self, positions: Sequence[int], found: Shares, most: int | None) -> list[Explanation]:
        rows: Any = self.samples.X[positions]
        explanations = []
        for k, position in enumerate(positions):
            row = rows[[k]].toarray()[0] if is_sparse(rows) else rows[k]
            expected = None if found.expected is None else found.expected[k]
            order, rest = _largest(found.shares[k], most)
            parts = [self._part(position, j, row, expected, float(found.shares[k, j])) for j in order]
            name, score = self.samples.names[position], float(found.scores[k])
            explanations.append(Explanation(name, score, parts, rest))
        return explanations

    def _part(self, position: int, j: int, row: Any, expected: FloatArray | None, share: float) -> Part:
        names = self.samples.feature_names
        feature = names[j] if names else str(j + 1)
        return Part(feature, float(row[j]), None if expected is None else float(expected[j]), share)


class _WordReader(_FeatureReader):
    def read(self, positions: Sequence[int], found: Shares, most: int | None) -> list[Explanation]:
        items = self.samples.items
        texts = [str(item["text"]) for item in items.rows(positions)] if items is not None else []
        encoder = self.samples.encoder
        assert isinstance(encoder, DocumentEncoder)
        self._words = {
            position: encoder.words_by_column(text) for position, text in zip(positions, texts, strict=False)
        }
        return super().read(positions, found, most)

    def _part(self, position: int, j: int, row: Any, expected: FloatArray | None, share: float) -> Part:
        weight, wanted = float(row[j]), 0.0 if expected is None else float(expected[j])
        # The word of this document, where several words share a column.
        words = self._words.get(position, {}).get(j)
        names = self.samples.feature_names or []
        feature = words[0] if words else names[j]
        if weight > 0:
            how = "more" if wanted > weight else "absent" if wanted < weight / 10 else "less"
            return Part(feature, "present", how, share)
        return Part(feature, "absent", "present" if wanted > 0 else "absent", share)


class _CellReader:
    """Columns of a table; the features made of one column are folded back into it."""

    def __init__(self, samples: Samples, encoder: TableEncoder) -> None:
        self.samples, self.encoder = samples, encoder
        self.groups = []
        start = 0
        for plan in encoder.columns:
            stop = start + len(plan.feature_names)
            self.groups.append(np.arange(start, stop))
            start = stop

    def read(self, positions: Sequence[int], found: Shares, most: int | None) -> list[Explanation]:
        items = self.samples.items
        cells = items.rows(positions) if items is not None else [{} for _ in positions]
        explanations = []
        for k, position in enumerate(positions):
            shares = np.array([found.shares[k, group].sum() for group in self.groups])
            order, rest = _largest(shares, most)
            parts = []
            for g in order:
                plan, group = self.encoder.columns[g], self.groups[g]
                values = self.samples.X[position, group]
                value = cells[k].get(plan.name, _decoded(plan, values, found.shares[k, group]))
                expected = found.expected
                wanted = None
                if expected is not None:
                    wanted = _decoded(plan, expected[k, group], found.shares[k, group])
                parts.append(Part(plan.name, value, wanted, float(shares[g])))
            name, score = self.samples.names[position], float(found.scores[k])
            explanations.append(Explanation(name, score, parts, rest))
        return explanations


class _RegionReader:
    groups = None

    def __init__(self, samples: Samples) -> None:
        self.samples = samples

    def read(self, positions: Sequence[int], found: Shares, most: int | None) -> list[Explanation]:
        explanations = []
        for k, position in enumerate(positions):
            picture: npt.NDArray[Any] = np.asarray(self.samples.X[position])
            heat = found.shares[k]
            if heat.ndim == 1:  # scored as a flat table
                heat = heat.reshape(picture.shape)
                heat = heat.sum(axis=-1) if heat.ndim == 3 else heat
            expected = None if found.expected is None else found.expected[k].reshape(picture.shape)
            regions = list(_regions(picture.shape))
            shares = np.array([heat[rows, columns].sum() for _, rows, columns in regions])
            order, rest = _largest(shares, most)
            parts = []
            for g in order:
                place, rows, columns = regions[g]
                share, of_edges = float(shares[g]), found.edges
                wanted = None if expected is None else _brightness(expected[rows, columns], picture.dtype)
                found_there = _brightness(picture[rows, columns], picture.dtype)
                is_as_bright = found_there == wanted  # then nothing is said by it, as of an even picture
                if of_edges is not None and (is_as_bright or 2 * of_edges.shares[k][rows, columns].sum() > share):
                    there = [_strongest(of_edges.edges, values[k], rows, columns) for values in of_edges[2:]]
                    parts.append(Part(f"edges in {place}", *_told_apart(*there), share))
                else:
                    parts.append(Part(f"brightness of {place}", found_there, wanted, share))
            explanations.append(
                Explanation(
                    self.samples.names[position],
                    float(found.scores[k]),
                    parts,
                    rest,
                    heat,
                    None if expected is None else _as_picture(expected, picture.dtype),
                )
            )
        return explanations


def _reader(samples: Samples) -> _FeatureReader | _CellReader | _RegionReader:
    if samples.X.ndim > 2:
        return _RegionReader(samples)
    if isinstance(samples.encoder, TableEncoder):
        return _CellReader(samples, samples.encoder)
    if isinstance(samples.encoder, DocumentEncoder):
        return _WordReader(samples)
    return _FeatureReader(samples)


def _largest(shares: FloatArray, most: int | None) -> tuple[npt.NDArray[np.int64], float]:
    order = np.argsort(-shares, kind="stable")[:most]
    return order, max(0.0, float(shares.sum() - shares[order].sum()))


def _regions(shape: Sequence[int]) -> Iterator[tuple[str, slice, slice]]:
    row_edges, column_edges = (np.linspace(0, side, min(REGIONS_PER_SIDE, side) + 1).astype(int) for side in shape[:2])
    for top, bottom in pairwise(row_edges):
        for left, right in pairwise(column_edges):
            yield f"rows {top + 1}-{bottom}, columns {left + 1}-{right}", slice(top, bottom), slice(left, right)


def _strongest(edges: Edges, values: FloatArray, rows: slice, columns: slice) -> tuple[str, float]:
    """How the strongest edges in a region run, and how strong they are; "none" if all are weaker than usual."""
    there = edges.by_direction(torch.from_numpy(values))[:, rows, columns].sum(dim=(1, 2))
    strongest = int(there.argmax())
    return EDGE_NAMES[strongest] if there[strongest] > 0 else "none", float(there[strongest])


def _told_apart(found: tuple[str, float], expected: tuple[str, float]) -> tuple[str, str]:
    """The two in words that differ.

    >>> _told_apart(("level", 0.1), ("level", 0.3)), _told_apart(("level", 0.1), ("rising", 0.3))
    (('level, weaker', 'level'), ('level', 'rising'))
    """
    if found[0] != expected[0]:
        return found[0], expected[0]
    return f"{found[0]}, {'stronger' if found[1] > expected[1] else 'weaker'}", expected[0]


def _brightness(region: npt.NDArray[Any], like: np.dtype[Any]) -> float:
    mean = float(region.mean())
    return float(np.clip(round(mean), 0, 255)) if like == np.uint8 else mean


def _as_picture(expected: FloatArray, like: np.dtype[Any]) -> npt.NDArray[Any]:
    if like == np.uint8:
        expected = np.clip(np.rint(expected), 0, 255)
    picture: npt.NDArray[Any] = expected.astype(like)
    return picture


def _decoded(plan: ColumnPlan, features: npt.NDArray[Any], shares: FloatArray) -> object:
    """What the features of one column stand for, as a cell."""
    numbers = [float(value) for value in features]
    if isinstance(plan, CategoryColumn):
        extra = ["(rare)"] * plan.has_rare + [None] * plan.has_missing
        return [*plan.categories, *extra][int(np.argmax(numbers))]
    if plan.has_missing and numbers[-1] > 0.5:
        return None
    if isinstance(plan, FlagColumn):
        return numbers[0] > 0.5
    if isinstance(plan, DateColumn):
        return _decoded_date(plan, numbers, int(np.argmax(shares)))
    return numbers[0] + plan.offset


def _decoded_date(plan: DateColumn, numbers: Sequence[float], strangest: int) -> object:
    cycle = (strangest - 1) // 2
    if strangest > 0 and cycle < len(plan.cycles):
        turn = np.arctan2(numbers[1 + 2 * cycle], numbers[2 + 2 * cycle]) / (2 * np.pi) % 1.0
        if plan.cycles[cycle] == "time of day":
            minutes = int(turn * 1440)
            return f"at {minutes // 60:02d}:{minutes % 60:02d}"
        if plan.cycles[cycle] == "day of week":
            return f"on a {_WEEKDAYS[(round(turn * 7) + 3) % 7]}"  # 1970-01-01 was a Thursday
        day = datetime.date(1970, 1, 1) + datetime.timedelta(days=int(turn * 365))
        return f"around {day:%d %B}"
    days = plan.origin + numbers[0]
    if not -700_000 < days < 2_900_000:  # years 1 to 9999
        return f"{numbers[0]:.0f} days after {np.datetime64(int(plan.origin), 'D')}"
    moment = datetime.datetime(1970, 1, 1) + datetime.timedelta(days=days)
    return moment.date() if "time of day" not in plan.cycles else moment.replace(microsecond=0)
