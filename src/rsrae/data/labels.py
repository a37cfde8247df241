"""Known answers, for measuring only: 1 is an anomaly, 0 is normal.

Understood: 0/1, true/false, scikit-learn's -1/1 (-1 is the anomaly), and words such as
normal/anomaly, inlier/outlier, good/bad, no/yes.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from rsrae.errors import InputError

_NORMAL = ("0", "false", "f", "no", "n", "normal", "inlier", "regular", "nominal", "good", "ok", "benign")
_ANOMALY = ("1", "true", "t", "yes", "y", "anomaly", "anomalous", "outlier", "o", "abnormal", "irregular")
_MISDEEDS = ("bad", "fraud", "attack", "malignant", "defect", "defective")
_ANSWER_OF = dict.fromkeys(_NORMAL, 0) | dict.fromkeys(_ANOMALY + _MISDEEDS, 1)


def parse_labels(values: Sequence[object], where: str) -> npt.NDArray[np.int64]:
    """Turn a column of known answers into 0 and 1.

    Parameters
    ----------
    values : one answer an item.
    where : how errors name the column, for example ``"orders.csv: label column 'fraud'"``.

    Examples
    --------
    >>> parse_labels(["normal", "anomaly", "normal"], "a.csv: label column 'y'")
    array([0, 1, 0])
    >>> parse_labels([1, -1, 1], "a.csv: label column 'y'")
    array([0, 1, 0])
    """
    words = [_as_word(value) for value in values]
    if None in words:
        row = words.index(None) + 1
        raise InputError(f"{where} is empty in row {row}; every row needs an answer, 0 or 1")
    distinct = set(words)
    is_sklearn = "-1" in distinct and distinct <= {"-1", "1"}
    answers = {"-1": 1, "1": 0} if is_sklearn else _ANSWER_OF
    for row, word in enumerate(words, start=1):
        if word not in answers:
            raise InputError(
                f"{where} holds {values[row - 1]!r} (row {row}), which is not an answer; "
                "use 0 for normal and 1 for anomaly"
            )
    return np.array([answers[str(word)] for word in words], dtype=np.int64)


def _as_word(value: object) -> str | None:
    if value is None:
        return None
    if isinstance(value, int | float | np.number):
        number = float(value)
        if np.isnan(number):
            return None
        return str(int(number)) if number.is_integer() else str(number)
    word = str(value).strip().lower()
    return word or None
