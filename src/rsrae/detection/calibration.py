"""Scores that read like probabilities.

A logistic curve: an item on the line has 0.5, and an item one typical distance below it has 0.1. The typical distance
is that from the median of the training scores up to the line, or, if that is larger, the spread of these scores (their
median absolute deviation, scaled to be the standard deviation of a normal). The curve is monotone, so it never changes
the order, and robust, since median and spread do not move when the strangest scores do. It is no probability in the
strict sense: without labels nobody knows how often such an item is an anomaly.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]

ONE_DISTANCE_BELOW = 0.1
NORMAL_MAD = 0.6745  # of a standard normal


@dataclass(frozen=True)
class Calibration:
    """The curve ``1 / (1 + exp(-(score - line) / width))``.

    Examples
    --------
    >>> scores = np.array([1.0, 2.0, 3.0, 4.0, 9.0])
    >>> Calibration.fit(scores, line=8.0)(np.array([3.0, 8.0, 100.0])).round(2)
    array([0.1, 0.5, 1. ])
    """

    line: float
    width: float

    @classmethod
    def fit(cls, scores: FloatArray, line: float) -> Calibration:
        """The curve for the training scores and the line drawn through them."""
        median = float(np.median(scores))
        spread = float(np.median(np.abs(scores - median))) / NORMAL_MAD
        distance = max(line - median, spread)
        if distance <= 0:  # all scores are equal
            distance = max(abs(line), 1.0)
        return cls(float(line), distance / math.log(1 / ONE_DISTANCE_BELOW - 1))

    def __call__(self, scores: FloatArray) -> FloatArray:
        """The calibrated scores, in [0, 1]."""
        # Held where exp does not overflow; a width next to nothing makes infinite steps.
        with np.errstate(over="ignore"):
            steps = np.clip((np.asarray(scores, dtype=np.float64) - self.line) / self.width, -700, 700)
        calibrated: FloatArray = 1 / (1 + np.exp(-steps))
        return calibrated
