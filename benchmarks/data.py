"""The rows that are measured on: made from a seed, or the real texts under ``RSRAE_DATA``.

Only numpy and scipy are needed to import this, so that the peers' own environment makes the same rows.
"""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

Table = npt.NDArray[np.float32]

BLOCK = 20_000  # rows
REUTERS_COLUMNS = 26_147  # the vocabulary of the paper's Reuters experiment
REUTERS_WORDS = 64  # words a document has on average


def table(n_rows: int, n_columns: int, seed: int = 0) -> Table:
    """Rows near a plane of dimension ten; one in twenty lies elsewhere."""
    rng = np.random.default_rng(seed)
    plane = rng.standard_normal((10, n_columns), dtype=np.float32)
    X = rng.standard_normal((n_rows, n_columns), dtype=np.float32)
    for start in range(0, n_rows, BLOCK):  # the peak of memory is measured on these rows: no second table
        block = X[start : start + BLOCK]
        block += rng.standard_normal((len(block), 10), dtype=np.float32) @ plane
        block[::20] *= 3
    return X


def words(n_rows: int, n_columns: int = REUTERS_COLUMNS, per_row: int = REUTERS_WORDS, seed: int = 0) -> sp.csr_array:
    """Sparse rows of unit norm; some words are far more frequent than others, as in a language."""
    rng = np.random.default_rng(seed)
    # Squares of uniform numbers crowd near zero: the first columns are the frequent words.
    columns = (rng.random((n_rows, 2 * per_row)) ** 2 * n_columns).astype(np.int32)
    rows = [np.sort(rng.permutation(np.unique(row))[:per_row]) for row in columns]
    indptr = np.cumsum([0, *(row.size for row in rows)])
    values = rng.random(indptr[-1]).astype(np.float32) + 0.1
    X = sp.csr_array((values, np.concatenate(rows), indptr), shape=(n_rows, n_columns))
    norms = np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel())
    X.data /= np.repeat(norms, np.diff(X.indptr)).astype(np.float32)
    return X


def pictures(n: int, height: int, width: int, channels: int, seed: int = 0) -> npt.NDArray[np.uint8]:
    """Noise in the shape of images: what they show has no influence on the time."""
    return np.random.default_rng(seed).integers(0, 256, (n, height, width, channels), dtype=np.uint8)


def documents(file: str, n: int, most_words: int | None = None) -> sp.csr_array | None:
    """The first texts of a file under ``RSRAE_DATA`` as tf-idf rows; None where the variable is not set."""
    folder = os.environ.get("RSRAE_DATA")
    if folder is None:
        return None
    from sklearn.feature_extraction.text import TfidfVectorizer

    with gzip.open(Path(folder) / file, "rt", encoding="utf-8") as lines:
        texts = [json.loads(line)["text"] for line, _ in zip(lines, range(n), strict=False)]
    vectors: Any = TfidfVectorizer(max_features=most_words, dtype=np.float32).fit_transform(texts)
    return sp.csr_array(vectors)
