"""How much the columns of a table count: those by which what the members say can be told count more.

A score adds up what all columns say. Often few of them have to do with what is strange, and the others add noise: the
more of them there are, the more. Which ones tell is seen from the forest that learns what the members say: it cuts by
the columns that explain it. So the members are asked a second time, with columns that count by how far the forest went
by them.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]

LEAST = 0.25  # of an even share: a column that tells nothing of most rows may hold the one wrong cell of another


def column_weights(importances: FloatArray) -> FloatArray:
    """Weights of columns, one on average, from how much of the score each of them explains.

    The root, since shares of variance are squares.

    >>> column_weights(np.array([0.9, 0.1, 0.0])).round(2)
    array([1.68, 0.77, 0.56])
    >>> column_weights(np.zeros(2))  # nothing is explained
    array([1., 1.])
    """
    total = importances.sum()
    even = np.full(len(importances), 1 / len(importances))
    shares = importances / total if total > 0 else even
    weights = np.sqrt((1 - LEAST) * shares + LEAST * even)
    scaled: FloatArray = weights / weights.mean()
    return scaled
