from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from rsrae.detectors.combination import EVERYTHING, Combination, Kind
from rsrae.scoring import LengthTrend, log_lengths


def test_a_single_member_keeps_its_scores() -> None:
    scores = torch.tensor([[1.0, 5.0, 2.0]], dtype=torch.float64)
    torch.testing.assert_close(Combination.fit(scores, None)(scores, None), scores[0])


def test_members_of_one_kind_weigh_the_same() -> None:
    scores = torch.rand(4, 50, dtype=torch.float64)
    combined = Combination.fit(scores, None)
    torch.testing.assert_close(combined.weights, torch.full((4,), 1 / 4, dtype=torch.float64))
    standardised = (scores - combined.location[:, None]) / combined.spread[:, None]
    torch.testing.assert_close(combined(scores, None), standardised.mean(dim=0))


@pytest.mark.parametrize(
    ("kinds", "weights"),
    [
        (["point", "subspace", "subspace", "neighbours"], [1 / 3, 1 / 6, 1 / 6, 1 / 3]),
        (["subspace", "subspace", "neighbours"], [1 / 4, 1 / 4, 1 / 2]),
        (["point", "subspace", "subspace", "imitation"], [1 / 4, 1 / 8, 1 / 8, 1 / 2]),
        (["point", "subspace", "neighbours", "imitation"], [1 / 6, 1 / 6, 1 / 6, 1 / 2]),
        (["subspace", "imitation"], [1 / 2, 1 / 2]),
    ],
)
def test_every_kind_has_the_same_say_and_what_imitates_them_half(kinds: list[Kind], weights: list[float]) -> None:
    scores = torch.rand(len(kinds), 50, dtype=torch.float64)
    combined = Combination.fit(scores, None, kinds)
    torch.testing.assert_close(combined.weights, torch.tensor(weights, dtype=torch.float64))
    standardised = (scores - combined.location[:, None]) / combined.spread[:, None]
    if "imitation" in kinds:  # it says no less than the others do together
        by_others = combined.weights[:-1] @ standardised[:-1] / combined.weights[:-1].sum()
        standardised[-1] = standardised[-1].maximum(by_others)
    torch.testing.assert_close(combined(scores, None), combined.weights @ standardised)


def test_neighbours_may_have_more_to_say() -> None:
    scores = torch.rand(4, 50, dtype=torch.float64)
    combined = Combination.fit(scores, None, ["subspace", "subspace", "neighbours", "imitation"], of_neighbours=3.0)
    torch.testing.assert_close(combined.weights, torch.tensor([1 / 16, 1 / 16, 3 / 8, 1 / 2], dtype=torch.float64))


def test_an_imitation_can_talk_nothing_down_unless_an_older_model_lets_it() -> None:
    others = torch.tensor([2.0, 3.0, 9.0, 9.0, 9.0, 3.5], dtype=torch.float64)
    imitation = torch.tensor([-4.0, 0.0, 0.0, 5.0, 12.0, 3.4], dtype=torch.float64)
    weights, zero, one = torch.tensor([0.6, 0.4], dtype=torch.float64), torch.zeros(2), torch.ones(2)
    combined = Combination(zero, one, weights, undisputed=3.0)(torch.stack([others, imitation]), None)
    mean = 0.6 * others + 0.4 * imitation
    expected = [mean[0], mean[1], mean[2] + 0.4 * 6, 9.0, mean[4], 3.5]
    torch.testing.assert_close(combined, torch.tensor(expected, dtype=torch.float64))
    combined = Combination(zero, one, weights, undisputed=EVERYTHING)(torch.stack([others, imitation]), None)
    torch.testing.assert_close(combined, mean.maximum(others))


def test_scores_in_single_precision_member_by_member_are_combined_as_a_matrix_of_double_is(
    rng: np.random.Generator,
) -> None:
    scores = torch.from_numpy(rng.gamma(1.0, size=(3, 101))).float()
    lengths = rng.normal(size=101)
    for given in (None, lengths):
        apart, together = Combination.fit(list(scores), given), Combination.fit(scores.double(), given)
        assert torch.equal(apart(list(scores), given), together(scores.double(), given))
        assert apart.arrays().keys() == together.arrays().keys()
        for name, values in together.arrays().items():
            np.testing.assert_array_equal(apart.arrays()[name], values, strict=True)


def test_half_of_what_the_length_explains_is_taken_off(rng: np.random.Generator) -> None:
    lengths = rng.normal(4.0, 1.0, size=500)
    strangeness = rng.normal(size=500)
    scores = torch.from_numpy(np.stack([strangeness - 0.7 * lengths, strangeness + 0.2 * lengths]))
    trend = LengthTrend.fit(scores, lengths)
    left = trend.remove(scores, lengths).numpy()
    usual = np.clip(lengths, *trend.usual)
    for before, after in zip(scores.numpy(), left, strict=True):
        slopes = [np.polyfit(usual, member, 1)[0] for member in (before, after)]
        assert slopes[1] == pytest.approx(slopes[0] / 2)
        assert np.corrcoef(after, strangeness)[0, 1] > np.corrcoef(before, strangeness)[0, 1]


def test_an_unusual_length_is_not_excused() -> None:
    lengths = np.linspace(3.0, 5.0, 101)
    scores = torch.from_numpy(-lengths)[None]
    trend = LengthTrend.fit(scores, lengths)
    shortest = trend.remove(torch.tensor([[-3.0]], dtype=torch.float64), np.array([3.0]))
    empty = trend.remove(torch.tensor([[0.0]], dtype=torch.float64), np.array([0.0]))
    assert empty.item() == pytest.approx(shortest.item() + 3, abs=0.03)


def test_documents_of_one_length_are_left_as_they_are() -> None:
    scores = torch.rand(2, 20, dtype=torch.float64)
    lengths = np.full(20, 2.0)
    torch.testing.assert_close(LengthTrend.fit(scores, lengths).remove(scores, lengths), scores)


def test_the_length_of_a_document_does_not_depend_on_its_scale() -> None:
    X = sp.random_array((10, 30), density=0.4, format="csr", rng=np.random.default_rng(0))
    np.testing.assert_allclose(log_lengths(X), log_lengths(X * 7.0))


@pytest.mark.parametrize("lengths", [None, np.linspace(1, 2, 40)])
def test_everything_comes_back_from_the_model_file(lengths: np.ndarray | None) -> None:
    scores = torch.rand(3, 40, dtype=torch.float64)
    combined = Combination.fit(scores, lengths, ["point", "subspace", "neighbours"])
    restored = Combination.restore(combined.arrays(), 3)
    torch.testing.assert_close(restored(scores, lengths), combined(scores, lengths), rtol=0, atol=0)


@pytest.mark.parametrize(
    ("name", "values"), [("location", np.zeros(2)), ("spread", np.zeros(3)), ("slopes", np.zeros((3, 1)))]
)
def test_a_file_of_other_members_is_refused(name: str, values: np.ndarray) -> None:
    arrays = Combination.fit(torch.rand(3, 40, dtype=torch.float64), np.linspace(1, 2, 40)).arrays()
    with pytest.raises(ValueError, match="3 members"):
        Combination.restore(arrays | {f"members.{name}": values}, 3)
