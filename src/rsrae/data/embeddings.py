"""Vectors made by somebody else's model: .npy, .npz, Parquet with a column of lists, or an array."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import scipy.sparse as sp

from rsrae.data.arrays import ArraySource, read_names
from rsrae.data.samples import Kind, Samples
from rsrae.data.table_files import ColumnStore
from rsrae.data.tables import find_id, labels_from_table, listed, names_from_table, require_column
from rsrae.errors import InputError


@dataclass(frozen=True)
class EmbeddingEncoder:
    """How long the vectors are."""

    n_features: int
    kind: ClassVar[Kind] = "embeddings"

    def to_json(self) -> dict[str, Any]:
        """Everything needed to encode new data, as plain JSON values."""
        return {"kind": self.kind, "n_features": self.n_features}

    @classmethod
    def from_json(cls, fields: dict[str, Any]) -> EmbeddingEncoder:
        """The encoder that `to_json` wrote."""
        return cls(int(fields["n_features"]))


def samples_from_vectors(
    source: ArraySource,
    *,
    names: Path | str | Sequence[str] | None = None,
    encoder: EmbeddingEncoder | None = None,
) -> Samples:
    """Rows of a two-dimensional array as samples.

    >>> from rsrae.data.arrays import array_in_memory
    >>> samples_from_vectors(array_in_memory(np.eye(3))).feature_names
    ['1', '2', '3']
    """
    if source.values.ndim != 2:
        raise InputError(f"{source.name}: shape {source.values.shape}; vectors are (items, numbers)")
    item_names = source.names if names is None else read_names(names, len(source.values))
    return _samples(
        _as_float32(source.values, source.name),
        source.name,
        item_names or [str(i) for i in range(1, len(source.values) + 1)],
        encoder,
        labels=source.labels,
    )


def samples_from_sparse(
    matrix: Any,
    *,
    names: Path | str | Sequence[str] | None = None,
    encoder: EmbeddingEncoder | None = None,
) -> Samples:
    """Rows of a sparse matrix as samples; they stay sparse."""
    name = "the sparse matrix"
    if matrix.ndim != 2 or 0 in matrix.shape:
        raise InputError(f"{name}: shape {matrix.shape}; expected (items, numbers), neither of them 0")
    X = sp.csr_array(matrix)
    X = sp.csr_array((_as_float32(X.data, name), X.indices, X.indptr), shape=X.shape)
    n_items = X.shape[0]
    item_names = [str(i) for i in range(1, n_items + 1)] if names is None else read_names(names, n_items)
    return _samples(X, name, item_names, encoder)


def samples_from_vector_table(
    store: ColumnStore,
    *,
    id: str | None = None,
    drop: Sequence[str] = (),
    label: str | None = None,
    names: Path | str | Sequence[str] | None = None,
    encoder: EmbeddingEncoder | None = None,
) -> Samples:
    """A table with one column of equally long lists of numbers, or with one number a column."""
    for column in [*([id] if id else []), *drop, *([label] if label else [])]:
        require_column(store, column)
    others = [name for name in store.column_names if name not in {id, label, *drop}]
    lists = [name for name in others if is_vector_type(store.column(name).type)]
    if len(lists) > 1:
        raise InputError(f"{store.name}: several columns hold vectors ({listed(lists)}); drop all but one")
    X = _from_lists(store, lists[0]) if lists else _from_numbers(store, others)
    if id is None and lists:
        id = find_id(store, ignored={*lists, *drop, label})
    labels, notes = labels_from_table(store, label)
    item_names = names_from_table(store, id) if names is None else read_names(names, len(store))
    samples = _samples(X, store.name, item_names, encoder, labels=labels)
    if lists:
        beside = [name for name in store.column_names if name not in lists]
        samples.items = store.select(beside) if beside else None
        samples.notes.insert(0, f"The vectors are column {lists[0]!r}; other columns are only shown.")
    samples.notes += notes
    return samples


def is_vector_type(kind: pa.DataType) -> bool:
    """Whether a column of a table holds lists of numbers."""
    is_list = pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)
    return bool(is_list and (pa.types.is_floating(kind.value_type) or pa.types.is_integer(kind.value_type)))


def _samples(
    X: npt.NDArray[np.float32] | sp.csr_array,
    name: str,
    item_names: list[str],
    encoder: EmbeddingEncoder | None,
    labels: npt.NDArray[np.int64] | None = None,
) -> Samples:
    n_items, n_features = X.shape
    if encoder is not None and encoder.n_features != n_features:
        raise InputError(f"{name}: vectors of length {n_features}, but the model knows length {encoder.n_features}")
    return Samples(
        X=X,
        kind="embeddings",
        names=item_names,
        feature_names=[str(i) for i in range(1, n_features + 1)],
        notes=[f"{n_items:,} vectors of length {n_features:,}."],
        encoder=encoder or EmbeddingEncoder(n_features),
        labels=labels,
        source=name,
    )


def _from_lists(store: ColumnStore, column: str) -> npt.NDArray[np.float32]:
    chunks = store.column(column).chunks
    blocks: list[npt.NDArray[np.float32]] = []
    row = 0
    for chunk in chunks:
        if chunk.null_count:
            empty = row + int(np.flatnonzero(chunk.is_null().to_numpy(zero_copy_only=False))[0]) + 1
            raise InputError(f"{store.name}: column {column!r} has no vector in row {empty}; remove that row")
        if len(chunk) == 0:
            continue
        lengths = np.asarray(pa.compute.list_value_length(chunk).to_numpy(zero_copy_only=False))
        expected = blocks[0].shape[1] if blocks else int(lengths[0])
        if (lengths != expected).any() or expected == 0:
            wrong = int(np.flatnonzero(lengths != expected)[0]) if expected else 0
            raise InputError(
                f"{store.name}: column {column!r} has {lengths[wrong]} numbers in row {row + wrong + 1} "
                f"and {expected} in row 1; all vectors must have the same length, at least 1"
            )
        flat = chunk.flatten().cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
        where = f"{store.name}: column {column!r}"
        blocks.append(_as_float32(flat.reshape(len(chunk), expected), where, first_row=row))
        row += len(chunk)
    return np.concatenate(blocks)


def _from_numbers(store: ColumnStore, columns: Sequence[str]) -> npt.NDArray[np.float32]:
    wrong = [name for name in columns if not _is_number(store.column(name).type)]
    if wrong or not columns:
        raise InputError(
            f"{store.name}: vectors are one column of lists or only numbers, but there is "
            f"{listed(wrong) or 'no column'}; name the id column with --id, or use --kind table"
        )
    X = np.empty((len(store), len(columns)), dtype=np.float32)
    for j, name in enumerate(columns):
        values = store.column(name).cast(pa.float64(), safe=False).to_numpy()
        X[:, j] = _as_float32(values[:, None], f"{store.name}: column {name!r}")[:, 0]
    return X


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_floating(kind) or pa.types.is_integer(kind) or pa.types.is_boolean(kind))


def _as_float32(values: npt.NDArray[Any], where: str, first_row: int = 0) -> npt.NDArray[np.float32]:
    with np.errstate(over="ignore"):
        X = np.ascontiguousarray(values, dtype=np.float32)
    finite = np.isfinite(X)
    if not finite.all():
        first = np.argwhere(~finite)[0]
        place = f"row {first[0] + first_row + 1}" + (f", position {first[1] + 1}" if X.shape[1:2] > (1,) else "")
        raise InputError(
            f"{where}: {int((~finite).sum()):,} values are missing, infinite or too large (first: {place}); "
            "remove these vectors, or read the numbers as a table with --kind table to have gaps filled"
        )
    return X
