"""Scores that read like probabilities.

A logistic curve through two points: an item on the line has 0.5, an item with the median score of the training data
has 0.05. It is monotone, so it never changes the order, and robust, since neither point moves when the strangest
scores do. It is no probability in the strict sense: nobody knows how often such an item is an anomaly without labels.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]

AT_THE_MEDIAN = 0.05


@dataclass(frozen=True)
class Calibration:
    """The curve ``1 / (1 + exp(-(score - line) / width))``.

    Examples
    --------
    >>> scores = np.array([1.0, 2.0, 3.0, 4.0, 9.0])
    >>> Calibration.fit(scores, line=8.0)(np.array([3.0, 8.0, 100.0])).round(2)
    array([0.05, 0.5 , 1.  ])
    """

    line: float
    width: float

    @classmethod
    def fit(cls, scores: FloatArray, line: float) -> Calibration:
        """The curve for the training scores and the line drawn through them."""
        median = float(np.median(scores))
        spread = line - median
        if spread <= 0:  # half of the items or more are strange, or all scores are equal
            spread = float(np.median(np.abs(scores - median))) or max(abs(line), 1.0) * 1e-6
        return cls(float(line), spread / math.log(1 / AT_THE_MEDIAN - 1))

    def __call__(self, scores: FloatArray) -> FloatArray:
        """The calibrated scores, in [0, 1]."""
        # The argument is held where exp neither overflows nor is exactly 0 or 1 to no avail.
        steps = np.clip((np.asarray(scores, dtype=np.float64) - self.line) / self.width, -700, 700)
        calibrated: FloatArray = 1 / (1 + np.exp(-steps))
        return calibrated
