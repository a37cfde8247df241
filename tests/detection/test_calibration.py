from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from rsrae.detection import Calibration


@given(arrays(np.float64, st.integers(2, 40), elements=st.floats(-1e6, 1e6)), st.floats(0.01, 0.5))
def test_calibration_is_monotone_and_one_half_on_the_line(scores: np.ndarray, share: float) -> None:
    line = float(np.quantile(scores, 1 - share))
    calibrate = Calibration.fit(scores, line)
    calibrated = calibrate(np.sort(scores))
    assert ((calibrated >= 0) & (calibrated <= 1)).all()
    assert (np.diff(calibrated) >= 0).all()
    assert calibrate(np.array([line]))[0] == pytest.approx(0.5)


def test_a_typical_item_has_one_tenth_however_far_the_strangest_are() -> None:
    scores = np.linspace(0, 1, 101)
    for strangest in (5.0, 5e9):
        dirty = np.concatenate([scores, [strangest]])
        assert Calibration.fit(dirty, 2.0)(np.array([np.median(dirty)]))[0] == pytest.approx(0.1)


def test_equal_scores_have_a_calibration_too() -> None:
    assert Calibration.fit(np.full(5, 3.0), 3.0)(np.full(5, 3.0)).tolist() == [0.5] * 5
