"""Tables: which columns are used, as what, and one float32 matrix filled column by column."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from rsrae.data.columns import (
    CategoryColumn,
    ColumnPlan,
    FlagColumn,
    LeftOut,
    NumberColumn,
    plan_column,
    plan_from_json,
    plan_to_json,
)
from rsrae.data.labels import parse_labels
from rsrae.data.samples import Kind, Samples
from rsrae.data.table_files import ColumnStore, one_line, python_values
from rsrae.errors import InputError

_ID_NAME = re.compile(r"(.*[\W_])?(id|ids|key|uuid|guid|index|idx)|unnamed: 0", re.IGNORECASE)
_COUNTER_NAME = re.compile(r"(.*[\W_])?(no|nr|num|number|row|rownum|line|column_1)", re.IGNORECASE)
_CAMEL_ID = re.compile(r".*[a-z](Id|ID)")


@dataclass(frozen=True)
class TableEncoder:
    """The columns a model knows and how each is encoded.

    Attributes
    ----------
    columns : the plans, in the order of the table.
    left_out : names of columns that were not used, and why.
    id : the column that names the rows, or None.
    """

    columns: tuple[ColumnPlan, ...]
    left_out: dict[str, str] = field(default_factory=dict)
    id: str | None = None
    kind: ClassVar[Kind] = "table"

    @property
    def feature_names(self) -> list[str]:
        """Names of the columns of ``X``."""
        return [name for plan in self.columns for name in plan.feature_names]

    @property
    def feature_columns(self) -> list[str]:
        """For each column of ``X`` the column of the table it was made from."""
        return [plan.name for plan in self.columns for _ in plan.feature_names]

    @property
    def text_columns(self) -> list[str]:
        """Columns whose cells must be read as text, even if they look like numbers."""
        return [plan.name for plan in self.columns if isinstance(plan, CategoryColumn)]

    def encode(self, store: ColumnStore) -> npt.NDArray[np.float32]:
        """The matrix for a table; its columns are found by name."""
        missing = [plan.name for plan in self.columns if plan.name not in store.column_names]
        if missing:
            raise InputError(
                f"{store.name}: {len(missing)} columns the model was fitted with are missing: "
                f"{listed(missing)}; the file has {listed(store.column_names)}"
            )
        X = np.empty((len(store), len(self.feature_names)), dtype=np.float32)
        j = 0
        for plan in self.columns:
            where = _where(store, plan.name)
            try:
                for feature in plan.encode(store.column(plan.name), where):
                    X[:, j] = feature
                    j += 1
            except pa.ArrowException as error:
                raise InputError(f"{where} cannot be used ({one_line(error)})") from error
        return X

    def to_json(self) -> dict[str, Any]:
        """Everything needed to encode new data, as plain JSON values."""
        return {
            "kind": self.kind,
            "columns": [plan_to_json(plan) for plan in self.columns],
            "left_out": dict(self.left_out),
            "id": self.id,
        }

    @classmethod
    def from_json(cls, fields: dict[str, Any]) -> TableEncoder:
        """The encoder that `to_json` wrote."""
        return cls(
            columns=tuple(plan_from_json(plan) for plan in fields["columns"]),
            left_out={str(name): str(reason) for name, reason in fields["left_out"].items()},
            id=None if fields["id"] is None else str(fields["id"]),
        )


def samples_from_table(
    store: ColumnStore,
    *,
    id: str | None = None,
    drop: Sequence[str] = (),
    label: str | None = None,
    encoder: TableEncoder | None = None,
) -> Samples:
    """Rows of a table as samples.

    Parameters
    ----------
    store : the table.
    id : the column that names the rows; found by itself if None.
    drop : columns to leave out.
    label : the column with known answers; taken out, and never used for training.
    encoder : of an earlier table; its columns are then required by name.
    """
    for column in [*([id] if id else []), *drop, *([label] if label else [])]:
        require_column(store, column)
    notes = list(store.notes)
    if encoder is None:
        encoder = _plan_table(store, id, drop, label)
        notes += _describe(encoder)
    else:
        notes += _describe_differences(store, encoder, label)
    X = encoder.encode(store)
    if id is None and encoder.id in store.column_names:
        id = encoder.id
    labels, label_notes = labels_from_table(store, label)
    return Samples(
        X=X,
        kind="table",
        names=names_from_table(store, id),
        feature_names=encoder.feature_names,
        notes=notes + label_notes,
        encoder=encoder,
        items=store,
        labels=labels,
        source=store.name,
    )


def names_from_table(store: ColumnStore, id: str | None) -> list[str]:
    """One name a row: from the id column, else the frame's index, else the row number from 1."""
    numbers = (str(i) for i in range(1, len(store) + 1))
    if id is not None:
        values = python_values(store.column(id))
        return [f"row {row}" if v is None else str(v) for row, v in zip(numbers, values, strict=True)]
    return store.row_names or list(numbers)


def find_id(store: ColumnStore, ignored: Collection[str | None] = ()) -> str | None:
    """The first column that is called like an id and is different in every row."""
    for name in store.column_names:
        if name not in ignored and _has_id_name(name):
            column = store.column(name)
            is_plain = pa.types.is_integer(column.type) or pa.types.is_string(column.type)
            if is_plain and not column.null_count and len(column.unique()) == len(store):
                return name
    return None


def labels_from_table(store: ColumnStore, label: str | None) -> tuple[npt.NDArray[np.int64] | None, list[str]]:
    """Known answers from a column, and a note on them."""
    if label is None:
        return None, []
    labels = parse_labels(python_values(store.column(label)), f"{store.name}: label column {label!r}")
    return labels, [f"Column {label!r} is only used for measuring: {labels.sum():,} known anomalies."]


def require_column(store: ColumnStore, column: str) -> None:
    """An error that helps if a named column does not exist."""
    if column in store.column_names:
        return
    close = difflib.get_close_matches(column, store.column_names, n=1)
    hint = f"did you mean {close[0]!r}?" if close else f"there are {listed(store.column_names)}"
    raise InputError(f"{store.name}: there is no column {column!r}; {hint}")


def listed(names: Sequence[str], most: int = 8) -> str:
    """Names in a sentence; long lists are cut."""
    shown = ", ".join(repr(name) for name in names[:most])
    return shown + (f" and {len(names) - most:,} more" if len(names) > most else "")


def _plan_table(store: ColumnStore, id: str | None, drop: Sequence[str], label: str | None) -> TableEncoder:
    left_out = dict.fromkeys(drop, "as asked")
    if label is not None:
        left_out[label] = "holds the known answers"
    plans: list[ColumnPlan] = []
    unique_texts: list[str] = []
    for name in store.column_names:
        if name in left_out or name == id:
            continue
        column, where = store.column(name), _where(store, name)
        if id is None and _is_row_id(name, column):
            id = name
            continue
        try:
            plan = plan_column(name, column, where)
        except pa.ArrowException as error:
            raise InputError(f"{where} cannot be used ({one_line(error)}); try --drop {name}") from error
        if isinstance(plan, LeftOut):
            left_out[name] = plan.reason
            unique_texts += [name] * plan.can_name_rows
        else:
            plans.append(plan)
    if id is None and unique_texts:
        id = next((name for name in unique_texts if _has_id_name(name)), unique_texts[0])
        del left_out[id]
    if not plans:
        reasons = "; ".join(f"{name!r}: {reason}" for name, reason in list(left_out.items())[:4])
        raise InputError(f"{store.name}: no column can be used ({reasons or 'only an id'})")
    return TableEncoder(tuple(plans), left_out, id)


def _is_row_id(name: str, column: pa.ChunkedArray) -> bool:
    is_counter = _COUNTER_NAME.fullmatch(name) is not None
    if not pa.types.is_integer(column.type) or column.null_count or len(column) < 2:
        return False
    if not is_counter and not _has_id_name(name):
        return False
    values = column.to_numpy()
    if is_counter:  # a house number is no id; 1, 2, 3, ... is
        return bool(values[0] in (0, 1) and (np.diff(values) == 1).all())
    return len(np.unique(values)) == len(values)


def _has_id_name(name: str) -> bool:
    return _ID_NAME.fullmatch(name) is not None or _CAMEL_ID.fullmatch(name) is not None


def _describe(encoder: TableEncoder) -> list[str]:
    notes = []
    if encoder.id is not None:
        notes.append(f"Rows are named by column {encoder.id!r}, which is not used otherwise.")
    by_type: dict[str, list[ColumnPlan]] = {}
    for plan in encoder.columns:
        by_type.setdefault(plan.type, []).append(plan)
    words = {"number": "numbers", "flag": "yes or no", "category": "categories", "date": "dates"}
    for kind, plans in by_type.items():
        notes.append(f"Read as {words[kind]}: {listed([plan.name for plan in plans])}.")
    rare = [p.name for p in encoder.columns if isinstance(p, CategoryColumn) and p.has_rare]
    if rare:
        notes.append(f"Less frequent categories are grouped as rare: {listed(rare)}.")
    shifted = [p.name for p in encoder.columns if isinstance(p, NumberColumn) and p.offset]
    if shifted:
        notes.append(f"The median is taken off, since the values differ little from it: {listed(shifted)}.")
    gaps = [plan.name for plan in encoder.columns if plan.has_missing]
    if gaps:
        notes.append(f"Missing cells are filled in and marked in a column of their own: {listed(gaps)}.")
    by_reason: dict[str, list[str]] = {}
    for name, reason in encoder.left_out.items():
        by_reason.setdefault(reason, []).append(name)
    for reason, names in by_reason.items():
        notes.append(f"Left out: {listed(names)} ({reason}).")
    return notes


def _describe_differences(store: ColumnStore, encoder: TableEncoder, label: str | None) -> list[str]:
    notes = []
    known = {plan.name for plan in encoder.columns} | set(encoder.left_out) | {encoder.id, label}
    extra = [name for name in store.column_names if name not in known]
    if extra:
        notes.append(f"Columns the model does not know are ignored: {listed(extra)}.")
    for plan in _present(encoder.columns, store):
        column = store.column(plan.name)
        if isinstance(plan, CategoryColumn) and not plan.has_rare:
            n_unknown = plan.count_unknown(column, _where(store, plan.name))
            if n_unknown:
                notes.append(f"{n_unknown:,} cells of {plan.name!r} hold categories not seen before.")
        elif isinstance(plan, NumberColumn | FlagColumn) and column.null_count and not plan.has_missing:
            notes.append(f"{column.null_count:,} missing cells of {plan.name!r} are filled with {plan.fill:g}.")
    return notes


def _present(plans: Iterable[ColumnPlan], store: ColumnStore) -> list[ColumnPlan]:
    return [plan for plan in plans if plan.name in store.column_names]


def _where(store: ColumnStore, column: str) -> str:
    return f"{store.name}: column {column!r}"
