"""From scores to a line."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

from rsrae.errors import ParameterError
from rsrae.thresholds import check_contamination, estimate_contamination, threshold


@pytest.mark.parametrize("contamination", ["auto", 0.5, 0.1, 1e-9, np.float32(0.25)])
def test_these_contaminations_are_accepted(contamination: Any) -> None:
    check_contamination(contamination)


@pytest.mark.parametrize(
    "contamination", [0, 0.0, -0.1, 0.51, 1, True, False, None, "0.1", "Auto", [0.1], float("nan"), np.inf]
)
def test_other_contaminations_are_errors(contamination: Any) -> None:
    with pytest.raises(ParameterError, match="contamination must be 'auto' or a number in"):
        check_contamination(contamination)


@pytest.mark.parametrize("share", [0.01, 0.1, 0.25, 0.5])
def test_a_named_share_of_the_scores_lies_above_the_line(share: float, rng: np.random.Generator) -> None:
    scores = rng.normal(size=1000)
    assert np.mean(scores > threshold(scores, share)) == pytest.approx(share, abs=0.001)


@pytest.mark.parametrize("share", [0.1, 0.2, 0.3, 0.4, 0.5])
def test_two_groups_that_stand_apart_are_told_apart(share: float, rng: np.random.Generator) -> None:
    n_strange = int(1000 * share)
    scores = np.concatenate([rng.normal(0, 1, 1000 - n_strange), rng.normal(12, 1, n_strange)])
    assert estimate_contamination(scores) == pytest.approx(share, abs=0.02)
    assert np.mean(scores > threshold(scores, "auto")) == pytest.approx(share, abs=0.02)


def test_the_size_of_a_few_huge_scores_does_not_move_the_line(rng: np.random.Generator) -> None:
    scores = np.concatenate([rng.normal(0, 1, 800), rng.normal(12, 1, 200)])
    wild = scores.copy()
    wild[np.argmax(scores)] = 1e12
    assert estimate_contamination(wild) == pytest.approx(estimate_contamination(scores), abs=0.01)


def test_the_estimate_does_not_depend_on_order_unit_or_origin(rng: np.random.Generator) -> None:
    scores = rng.gamma(2.0, size=500)
    expected = estimate_contamination(scores)
    assert estimate_contamination(rng.permutation(scores)) == expected
    assert estimate_contamination(1000 * scores) == pytest.approx(expected)
    assert estimate_contamination(scores + 5) == pytest.approx(expected)


@pytest.mark.parametrize(("shape", "expected"), [(2.0, 0.48), (8.0, 0.33), (60.0, 0.23)])
def test_where_there_is_no_upper_group_the_leaning_of_the_scores_decides(
    shape: float, expected: float, rng: np.random.Generator
) -> None:
    scores = -rng.gamma(shape, size=4000)  # the lower the shape, the more crowd at the upper end
    assert estimate_contamination(scores) == pytest.approx(expected, abs=0.04)


def test_the_estimate_does_not_jump() -> None:
    # From scores that crowd at their upper end over normal ones to scores with a tail, in steps too small to be seen.
    normal = norm.ppf((np.arange(2001) + 0.5) / 2001)
    estimates = [estimate_contamination(np.expm1(bend * normal) / bend) for bend in np.linspace(-0.6, 0.6, 242)]
    assert np.abs(np.diff(estimates)).max() < 0.02
    assert max(estimates) - min(estimates) > 0.2


@given(st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=60))
def test_the_estimate_always_lies_between_zero_and_a_half(scores: list[float]) -> None:
    assert 0 <= estimate_contamination(np.array(scores)) <= 0.5


@pytest.mark.parametrize("scores", [[1.0], [1.0, 1.0], [3.0] * 50])
def test_scores_that_are_all_equal_lie_on_the_line_and_none_is_strange(scores: list[float]) -> None:
    line = threshold(np.array(scores), "auto")
    assert not np.any(np.array(scores) > line)


def test_scores_whose_lower_half_is_equal_still_give_an_estimate() -> None:
    scores = np.concatenate([np.zeros(70), np.full(30, 5.0)])
    assert estimate_contamination(scores) == pytest.approx(0.3)
