"""The front door: whatever the user points at, as `Samples`.

================================================= =============================================
a .csv, .tsv, .parquet, .arrow, .feather, .jsonl,  table; documents with ``text``; embeddings if a
.json or .xlsx file, a DataFrame                   Parquet or Arrow column holds lists of numbers
a folder                                           images or documents, whichever it holds more of
a .txt file, a list of strings                     documents, one a line or element
a .npy or .npz file, an array                      embeddings (two-dimensional) or images
a sparse matrix                                    embeddings
``"-"``                                            standard input, CSV or JSON Lines
================================================= =============================================

``kind`` decides where this guess is wrong. A file may be gzipped if it is text.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, get_args

import narwhals.stable.v1 as nw
import numpy as np
import pyarrow as pa
import scipy.sparse as sp

from rsrae.data import documents, embeddings, images
from rsrae.data.arrays import ArraySource, array_in_memory, read_array, read_names
from rsrae.data.documents import DocumentEncoder
from rsrae.data.embeddings import EmbeddingEncoder
from rsrae.data.folders import list_files
from rsrae.data.images import ImageEncoder
from rsrae.data.samples import Encoder, Kind, Samples
from rsrae.data.table_files import (
    ColumnStore,
    column_from_values,
    read_arrow,
    read_csv,
    read_excel,
    read_json_lines,
    read_parquet,
    table_from_arrow,
    table_from_frame,
)
from rsrae.data.tables import TableEncoder, listed, samples_from_table
from rsrae.data.text import STANDARD_INPUT, read_bytes, shown
from rsrae.errors import InputError, ModelFileError, ParameterError, SourceError

_ARRAY_ENDINGS = (".npy", ".npz")
_BLANKS = b" \t\r\n\xef\xbb\xbf"
_BINARY_TABLES: dict[str, Callable[[Path], ColumnStore]] = {
    ".parquet": read_parquet,
    ".pq": read_parquet,
    ".arrow": read_arrow,
    ".arrows": read_arrow,
    ".feather": read_arrow,
    ".ipc": read_arrow,
    ".xlsx": read_excel,
    ".xlsm": read_excel,
}
_ENCODERS: dict[str, Any] = {
    "table": TableEncoder,
    "images": ImageEncoder,
    "documents": DocumentEncoder,
    "embeddings": EmbeddingEncoder,
}


def read_source(
    source: Any,
    *,
    kind: Kind | None = None,
    text: str | None = None,
    id: str | None = None,
    drop: Sequence[str] = (),
    label: str | None = None,
    size: int | tuple[int, int] | None = None,
    names: Path | str | Sequence[str] | None = None,
    strip_headers: bool = False,
    stop_words: documents.StopWords | None = None,
    limit: int | None = None,
    encoder: Encoder | None = None,
) -> Samples:
    """Read whatever the user has.

    Parameters
    ----------
    source : path of a file or folder, ``"-"`` for standard input, a pandas or polars DataFrame, a pyarrow
        table, a numpy array, a sparse matrix, or a list of texts.
    kind : ``"table"``, ``"images"``, ``"documents"`` or ``"embeddings"``; guessed if None.
    text : column of a table with the text of each document.
    id : column of a table (array of a .npz file) that names the items.
    drop : columns to leave out.
    label : column of a table (array of a .npz file) with known answers, or name of the sub-folder with the
        known anomalies; only for measuring.
    size : side, or (height, width), to which pictures are resized.
    names : a list of names, or a text file with one name a line, for arrays and lists.
    strip_headers : cut e-mail and newsgroup headers off documents.
    stop_words : words of documents that do not count: ``"english"``, a text file with one a line, or a list.
    limit : read only that many items, from the top.
    encoder : of the data a model was fitted on; the new data is then treated in the same way.

    Raises
    ------
    InputError, SourceError
        If the data cannot be used or read: one line that says what, where and what to do.
    ParameterError
        If an option does not apply to the source.

    Examples
    --------
    >>> import numpy as np
    >>> samples = read_source(np.eye(4), names=["a", "b", "c", "d"])
    >>> samples.kind, samples.names
    ('embeddings', ['a', 'b', 'c', 'd'])
    """
    if encoder is not None and kind not in (None, encoder.kind):
        raise ParameterError(f"the model was fitted on {encoder.kind}, so kind cannot be {kind!r}")
    kind = encoder.kind if encoder is not None else kind
    if kind is not None and kind not in get_args(Kind):
        raise ParameterError(f"kind must be one of {', '.join(get_args(Kind))}, not {kind!r}")
    if limit is not None and limit < 1:
        raise ParameterError(f"limit must be at least 1, not {limit}")
    drop = [drop] if isinstance(drop, str) else list(drop)
    if encoder is not None and stop_words is not None:
        raise ParameterError("which words count was decided when the model was fitted; leave stop_words out")
    options = {"text": text, "id": id, "drop": drop, "label": label, "size": size, "names": names}
    options["stop_words"] = stop_words
    options = {
        key: value
        for key, value in options.items()
        if value is not None and not (isinstance(value, list) and not value)
    }
    if strip_headers:
        options["strip_headers"] = True
    try:
        return _read(source, kind, options, limit, encoder)
    except MemoryError as error:
        raise SourceError(f"{_shown(source)}: does not fit in memory; read less with --limit") from error


def encoder_from_json(fields: dict[str, Any]) -> Encoder:
    """Rebuild the encoder that ``encoder.to_json()`` described, as stored in a model file.

    >>> encoder_from_json({"kind": "embeddings", "n_features": 3})
    EmbeddingEncoder(n_features=3)
    """
    try:
        encoder: Encoder = _ENCODERS[fields["kind"]].from_json(fields)
        return encoder
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        reason = f"{type(error).__name__}: {error}"
        raise ModelFileError(f"the model's description of its data is damaged ({reason})") from error


def _read(source: Any, kind: Kind | None, options: dict[str, Any], limit: int | None, encoder: Any) -> Samples:
    if isinstance(source, str | Path):
        if source == STANDARD_INPUT:
            return _read_text_table(STANDARD_INPUT, kind, options, limit, encoder)
        path = Path(source)
        _require_path(path)
        if path.is_dir():
            return _read_folder(path, kind, options, limit, encoder)
        return _read_file(path, kind, options, limit, encoder)
    if isinstance(source, np.ndarray):
        return _read_array(array_in_memory(source), kind, options, limit, encoder)
    if sp.issparse(source):
        _require_kind(kind, "embeddings", "a sparse matrix")
        options = _allow(options, "a sparse matrix", "names")
        matrix: Any = source
        if limit is not None:
            matrix = matrix.tocsr()[:limit]
        return embeddings.samples_from_sparse(matrix, encoder=encoder, **options)
    if isinstance(source, pa.Table):
        return _read_store(table_from_arrow(source, "the table"), kind, options, limit, encoder)
    if isinstance(source, list | tuple) and source and all(isinstance(text, str) for text in source):
        _require_kind(kind, "documents", "a list of texts")
        options = _allow(options, "a list of texts", "names", "strip_headers", "stop_words")
        texts = list(source[:limit])
        names = _list_names(options.pop("names", None), len(texts))
        return documents.samples_from_texts(texts, names, "the texts", encoder=encoder, **options)
    return _read_store(_store_from_frame(source), kind, options, limit, encoder)


def _read_file(path: Path, kind: Kind | None, options: dict[str, Any], limit: int | None, encoder: Any) -> Samples:
    ending = _ending(path)
    if ending in _ARRAY_ENDINGS:
        where = {key: options.pop(key) for key in ("id", "label") if key in options}
        return _read_array(read_array(path, **where), kind, options, limit, encoder)
    if ending in images.IMAGE_ENDINGS:
        raise SourceError(f"{path}: a single image has nothing to be compared with; give its folder")
    if ending == ".xls":
        raise SourceError(f"{path}: the old .xls format is not read; save the workbook as .xlsx or CSV")
    if ending == ".txt" and kind in (None, "documents") and "text" not in options:
        options = _allow(options, "a text file with one document a line", "strip_headers", "stop_words")
        data = read_bytes(path)
        return documents.samples_from_text_lines(data, str(path), limit=limit, encoder=encoder, **options)
    if ending in _BINARY_TABLES:
        return _read_store(_BINARY_TABLES[ending](path), kind, options, limit, encoder)
    return _read_text_table(path, kind, options, limit, encoder)


def _read_text_table(
    path: Path | str, kind: Kind | None, options: dict[str, Any], limit: int | None, encoder: Any
) -> Samples:
    data, name = read_bytes(path), shown(path)
    ending = "" if path == STANDARD_INPUT else _ending(Path(path))
    is_json = ending in (".json", ".jsonl", ".ndjson") or (
        ending not in (".csv", ".tsv", ".tab") and data.lstrip(_BLANKS)[:1] in (b"{", b"[")
    )
    if is_json:
        store = read_json_lines(data, name)
    else:
        store = read_csv(
            data,
            name,
            delimiter="\t" if ending in (".tsv", ".tab") else None,
            as_text=encoder.text_columns if isinstance(encoder, TableEncoder) else (),
        )
    return _read_store(store, kind, options, limit, encoder)


def _read_store(
    store: ColumnStore, kind: Kind | None, options: dict[str, Any], limit: int | None, encoder: Any
) -> Samples:
    store = store.head(limit)
    if isinstance(encoder, DocumentEncoder) and encoder.text is not None:
        options = {"text": encoder.text, **options}
    if kind is None:
        kind = "documents" if "text" in options else "embeddings" if _has_vectors(store, options) else "table"
    match kind:
        case "table":
            options = _allow(options, "a table", "id", "drop", "label")
            return samples_from_table(store, encoder=encoder, **options)
        case "embeddings":
            options = _allow(options, "embeddings", "id", "drop", "label", "names")
            return embeddings.samples_from_vector_table(store, encoder=encoder, **options)
        case "documents":
            if "text" not in options:
                columns = listed(store.column_names)
                raise InputError(f"{store.name}: which column is the text? Name it with --text: {columns}")
            options = _allow(options, "documents", "text", "id", "label", "strip_headers", "stop_words")
            return documents.samples_from_text_column(store, encoder=encoder, **options)
    raise InputError(f"{store.name}: a table cannot be read as images; give a folder or a numpy file")


def _read_array(
    array: ArraySource, kind: Kind | None, options: dict[str, Any], limit: int | None, encoder: Any
) -> Samples:
    array = array.head(limit)
    if kind is None:
        kind = "embeddings" if array.values.ndim == 2 else "images"
    match kind:
        case "embeddings":
            options = _allow(options, "embeddings", "names")
            return embeddings.samples_from_vectors(array, encoder=encoder, **options)
        case "images":
            options = _allow(options, "images", "names", "size")
            return images.samples_from_image_array(array, encoder=encoder, **options)
        case "table":
            options = _allow(options, "a table", "drop")
            samples = samples_from_table(_store_from_array(array), encoder=encoder, **options)
            samples.labels = array.labels
            return samples
    raise InputError(f"{array.name}: an array of numbers cannot be read as documents")


def _read_folder(folder: Path, kind: Kind | None, options: dict[str, Any], limit: int | None, encoder: Any) -> Samples:
    files, unreadable = list_files(folder)
    pictures = [path for path in files if _ending(path) in images.IMAGE_ENDINGS]
    texts = [path for path in files if _is_document(path)]
    if kind is None:
        kind = "documents" if len(texts) > len(pictures) else "images"
    if kind not in ("images", "documents"):
        raise SourceError(f"{folder}: a folder is read as images or documents; for a table give one file")
    chosen = pictures if kind == "images" else texts
    if not chosen:
        endings = ", ".join(sorted({path.suffix or path.name for path in files})[:5]) or "nothing"
        raise SourceError(f"{folder}: no {kind} inside, only {endings}; for another kind use --kind")
    used = chosen[:limit]
    if kind == "images":
        options = _allow(options, "a folder of images", "size", "label")
        samples = images.samples_from_image_files(used, folder, encoder=encoder, **options)
    else:
        options = _allow(options, "a folder of documents", "strip_headers", "stop_words", "label")
        samples = documents.samples_from_text_files(used, folder, encoder=encoder, **options)
    if len(used) < len(chosen):
        samples.notes.append(f"Only the first {len(used):,} of {len(chosen):,} files are used.")
    if len(chosen) < len(files):
        samples.notes.append(f"{len(files) - len(chosen):,} files of other kinds are ignored.")
    samples.skipped += unreadable
    return samples


def _allow(options: dict[str, Any], what: str, *allowed: str) -> dict[str, Any]:
    # An option that would do nothing is an error, so that none is ever ignored without a word.
    for option in options:
        if option not in allowed:
            raise ParameterError(f"{option} does not apply to {what}; it takes {', '.join(allowed)}")
    return dict(options)


def _require_kind(kind: Kind | None, only: Kind, what: str) -> None:
    if kind not in (None, only):
        raise ParameterError(f"{what} cannot be read as {kind}, only as {only}")


def _require_path(path: Path) -> None:
    try:
        path.stat()
    except (OSError, ValueError) as error:
        if isinstance(error, FileNotFoundError):
            raise SourceError(f"{path}: no such file or folder") from error
        raise SourceError(f"{path}: cannot be read ({getattr(error, 'strerror', error)})") from error
    if not path.is_dir() and not path.is_file():
        raise SourceError(f"{path}: neither a file nor a folder; pipe it in and read '-'")


def _ending(path: Path) -> str:
    name = path.name.lower().removesuffix(".gz")
    return Path(name).suffix


def _is_document(path: Path) -> bool:
    ending = _ending(path)
    return ending in documents.DOCUMENT_ENDINGS or ending[1:].isdigit()


def _has_vectors(store: ColumnStore, options: dict[str, Any]) -> bool:
    ignored = {options.get("id"), options.get("label"), *options.get("drop", ())}
    fields = store.schema if store.schema is not None else ()
    return any(embeddings.is_vector_type(field.type) for field in fields if field.name not in ignored)


def _store_from_frame(source: Any) -> ColumnStore:
    if isinstance(source, list | tuple) and source and all(isinstance(row, dict) for row in source):
        columns = {str(key): None for row in source for key in row}
        arrays = {name: column_from_values([row.get(name) for row in source]) for name in columns}
        return table_from_arrow(pa.table(arrays), "the rows")
    try:
        frame = nw.from_native(source, eager_only=True)
    except TypeError as error:
        raise InputError(
            f"cannot read {type(source).__name__!r}; give a path, a DataFrame, an array or texts"
        ) from error
    except ValueError as error:  # narwhals: column names that are not unique
        raise InputError(f"the frame cannot be read ({' '.join(str(error).split())[:160]})") from error
    return table_from_frame(frame, "the frame")


def _store_from_array(array: ArraySource) -> ColumnStore:
    if array.values.ndim != 2:
        raise InputError(f"{array.name}: shape {array.values.shape}; a table is (rows, columns)")
    columns = {f"column_{j + 1}": j for j in range(array.values.shape[1])}
    return ColumnStore(
        array.name,
        list(columns),
        len(array.values),
        lambda name: pa.chunked_array([pa.array(array.values[:, columns[name]])]),
        row_names=array.names,
    )


def _list_names(names: Any, n_items: int) -> list[str]:
    return [str(i) for i in range(1, n_items + 1)] if names is None else read_names(names, n_items)


def _shown(source: Any) -> str:
    return shown(source) if isinstance(source, str | Path) else f"the {type(source).__name__}"
