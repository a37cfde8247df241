"""From scores to a line between normal and strange.

The paper leaves its threshold eps_T open. Here it is a quantile of the training scores: of a share that the user
names, or of one estimated from the scores alone.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt

from rsrae.errors import ParameterError

FloatArray = npt.NDArray[np.float64]
Contamination = float | Literal["auto"]

LARGEST_SHARE = 0.5


def check_contamination(contamination: object) -> None:
    """Raise unless this is "auto" or a number in (0, 0.5]."""
    if isinstance(contamination, str) and contamination == "auto":
        return
    is_number = isinstance(contamination, (int, float, np.integer, np.floating))
    if not is_number or isinstance(contamination, bool) or not 0 < float(contamination) <= LARGEST_SHARE:  # type: ignore[arg-type]
        raise ParameterError(f"contamination must be 'auto' or a number in (0, 0.5], got {contamination!r}")


def threshold(scores: FloatArray, contamination: Contamination) -> float:
    """The score above which an item is strange."""
    share = estimate_contamination(scores) if contamination == "auto" else float(contamination)
    return float(np.quantile(scores, 1 - share))


def estimate_contamination(scores: FloatArray) -> float:
    """The share of strange items, from the scores alone; between 0 and 0.5.

    The scores are cut in two groups where the variance between them is largest (Otsu 1979), after far scores are pulled
    in: a handful of huge scores must not decide alone where the line is. Where the groups stand well apart, the upper
    one is the answer. Where they overlap, the cut falls into the tail of the normal items and takes some of them along;
    then a fifth is taken off. Where they overlap and the scores have no tail above, there is no upper group at all: so
    it is with documents, for an unrelated one cannot be further away than at a right angle, and anomalies crowd below
    that end. The more of them do, the more the scores lean towards it, and the share is guessed from the leaning. How
    far the estimate is from the truth is in docs/decisions/0004-threshold.md.

    >>> scores = np.concatenate([np.linspace(0, 1, 80), np.linspace(5, 6, 20)])
    >>> round(estimate_contamination(scores), 2)
    0.2
    """
    ordered = np.sort(np.asarray(scores, dtype=np.float64))
    n = ordered.size
    if n < 2 or ordered[0] == ordered[-1]:
        return 1.0 / max(n, 2)
    ordered = _pull_in(ordered / np.abs(ordered).max())
    sums = np.cumsum(ordered)[:-1]
    counts = np.arange(1, n)
    low, high = sums / counts, (sums[-1] + ordered[-1] - sums) / (n - counts)
    between = counts * (n - counts) * (high - low) ** 2 / n**2
    first = max(int(np.ceil(n * (1 - LARGEST_SHARE))) - 1, 0)  # at most half of the items are strange
    best = first + int(np.argmax(between[first:]))
    separation = between[best] / max(ordered.var(), 1e-300)  # 0.64 for one normal group, near 1 for two apart
    share = (n - 1 - best) / n
    leaning = _leaning(ordered)
    tailless = float(np.clip(1 + leaning / 0.2, 0, 1))
    by_leaning = float(np.clip(0.16 + 0.65 * leaning, 0.13, LARGEST_SHARE))
    guess = tailless * by_leaning + (1 - tailless) * 0.8 * share
    trust = float(np.clip((separation - 0.75) / 0.2, 0, 1))
    return max(trust * share + (1 - trust) * guess, 1.0 / n)


def _leaning(ordered: FloatArray) -> float:
    """Above zero: towards the upper end. Below: there is a tail above."""
    low, middle, high = np.quantile(ordered, [0.02, 0.5, 0.98])
    return float((2 * middle - low - high) / max(high - low, 1e-300))


def _pull_in(ordered: FloatArray) -> FloatArray:
    low, middle = np.quantile(ordered, [0.05, 0.5])
    spread = middle - low
    return np.minimum(ordered, middle + 6 * spread) if spread > 0 else ordered
