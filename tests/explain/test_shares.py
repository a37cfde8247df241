from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from rsrae.detectors import make_detector
from rsrae.errors import InputError
from rsrae.explain import accepted_form, feature_shares, n_scored_rows
from rsrae.explain.shares import is_explained_exactly


def normal_rows(n: int = 120, m: int = 6) -> np.ndarray[Any, Any]:
    rng = np.random.default_rng(3)
    return rng.normal(size=(n, 2)) @ rng.normal(size=(2, m)) + 0.1 * rng.normal(size=(n, m)) + 2


@pytest.mark.parametrize("scored_by", ["euclidean", "manhattan"])
@pytest.mark.parametrize("n_members", [1, 3])
@pytest.mark.parametrize("ranks", [True, False])
def test_parts_are_squared_or_absolute_residuals_and_add_up_to_the_score(
    ranks: bool, n_members: int, scored_by: str
) -> None:
    X = normal_rows()
    settings = {"n_members": n_members, "n_neighbors": 0, "intrinsic_dim": 3, "scored_by": scored_by, "ranks": ranks}
    detector = make_detector("rsrae", epochs=3, random_state=0, **settings).fit(X)
    found = feature_shares(detector, X[:9])
    np.testing.assert_allclose(found.shares.sum(axis=1), 1)
    np.testing.assert_allclose(found.scores, detector.anomaly_score(X[:9]), rtol=1e-5)
    if n_members == 1:
        residuals = detector.residuals(X[:9])
        squared = residuals**2 / np.linalg.norm(residuals, axis=1, keepdims=True)
        parts = squared if scored_by == "euclidean" else np.abs(residuals)
        if ranks:  # of a column, and of its ranks
            parts = parts[:, :6] + parts[:, 6:]
        np.testing.assert_allclose(found.shares * found.scores[:, None], parts, rtol=1e-5)


def test_cosine_parts_add_up_to_one_minus_the_cosine_without_being_scaled() -> None:
    X = normal_rows()
    settings = {"n_members": 1, "n_neighbors": 0, "intrinsic_dim": 3, "scored_by": "cosine", "ranks": False}
    detector = make_detector("rsrae", epochs=3, random_state=0, **settings).fit(X)
    x, x_hat = detector.preprocess(X[:9]), detector.reconstruct(X[:9])
    u = x / np.linalg.norm(x, axis=1, keepdims=True)
    v = x_hat / np.linalg.norm(x_hat, axis=1, keepdims=True)
    parts = (u - v) ** 2 / 2
    np.testing.assert_allclose(parts.sum(axis=1), detector.anomaly_score(X[:9]), rtol=1e-5)
    found = feature_shares(detector, X[:9])
    np.testing.assert_allclose(found.shares * found.scores[:, None], parts, rtol=1e-5)


@pytest.mark.parametrize("neighbor_distance", ["to-mean", "to-each"])
@pytest.mark.parametrize("scored_by", ["euclidean", "manhattan"])
def test_an_ensembles_shares_are_its_members_weighed_by_what_they_put_into_the_score(
    scored_by: str, neighbor_distance: str
) -> None:
    X = normal_rows()
    X[:4, 2] += 1.0  # so that there is something to explain
    detector = make_detector(
        "rsrae",
        epochs=3,
        random_state=0,
        n_members=2,
        intrinsic_dim=(0, 3),
        scored_by=scored_by,
        neighbor_distance=neighbor_distance,
        ranks=False,
        rules=0.0,
    ).fit(X)
    x, kept = detector.preprocess(X[:4]), detector.panel_.neighbours.rows.double().numpy()
    members = _parts_by_member(detector, x, scored_by, neighbor_distance)
    # Two networks, neighbours, and what imitates them: its reasons are theirs.
    assert len(detector.member_scores(X[:4])) == 4
    np.testing.assert_allclose(members.sum(axis=-1), detector.member_scores(X[:4])[:3], rtol=1e-4)
    combined = detector.panel_.combination
    units = np.asarray(combined.weights / combined.spread)[:3, None, None]
    usual = (units * _parts_by_member(detector, kept, scored_by, neighbor_distance)).sum(axis=0).mean(axis=0)
    above = np.maximum((units * members).sum(axis=0) - usual, 0)
    found = feature_shares(detector, X[:4])
    np.testing.assert_allclose(found.shares, above / above.sum(axis=1, keepdims=True), rtol=1e-4, atol=1e-7)


def test_a_column_that_no_row_is_reproduced_in_is_no_reason() -> None:
    rng = np.random.default_rng(0)
    X = np.repeat(rng.normal(size=(300, 1)), 6, axis=1) + 0.1 * rng.normal(size=(300, 6))
    X[:, 5] = rng.uniform(-3, 3, 300)  # has nothing to do with the others
    X[0, :5], X[0, 5] = 0.0, 2.5
    X[0, 2] = 1.5  # usual in its column, not beside the others
    detector = make_detector("rsrae", random_state=0).fit(X)
    shares = feature_shares(detector, X[:1]).shares[0]
    assert shares.argmax() == 2
    assert shares[5] < 0.5 * shares[2]


def test_a_row_without_anything_above_the_usual_has_shares_too() -> None:
    X = normal_rows()
    X[0] = np.median(X, axis=0)
    shares = feature_shares(make_detector("rsrae", epochs=3, random_state=0).fit(X), X[:1]).shares
    assert shares.sum() == pytest.approx(1)
    assert np.isfinite(shares).all()


def _parts_by_member(detector: Any, x: np.ndarray, scored_by: str, neighbor_distance: str) -> np.ndarray:
    """``(members, rows, features)``, without tricks; ``x`` as the networks see it."""
    members = [member.reconstruct(torch.from_numpy(x)[None]) for member in detector._reconstructing()]
    weights = detector.panel_.weights.numpy()
    x, x_hat = x * weights, torch.cat(members).detach().numpy() * weights
    parts = _parts(x - x_hat, scored_by)
    if neighbor_distance == "to-each":
        kept = detector.panel_.neighbours.rows.double().numpy() * weights
        nearest = np.argsort(np.linalg.norm(x[:, None] - kept, axis=-1), axis=1)[:, :21]
        for number, numbers in enumerate(nearest):
            is_itself = np.abs(x[number] - kept[numbers[0]]).max() < 1e-6
            each = x[number] - kept[numbers[1:] if is_itself else numbers[:-1]]
            parts[-1, number] = _parts(each, scored_by).mean(axis=0)
    return parts


def _parts(residual: np.ndarray, scored_by: str) -> np.ndarray:
    if scored_by == "manhattan":
        return np.abs(residual)
    return residual**2 / np.linalg.norm(residual, axis=-1, keepdims=True)


@pytest.mark.parametrize("score", ["cosine", "euclidean"])
@pytest.mark.parametrize("unit_norm", [True, False])
def test_what_was_expected_is_in_the_users_units(score: str, unit_norm: bool) -> None:
    X = normal_rows(300) * [1, 10, 100, 1000, 1, 1] + 5000
    detector = make_detector(
        "rsrae", epochs=60, random_state=0, n_members=1, intrinsic_dim=3, scored_by=score, unit_norm=unit_norm
    ).fit(X)
    expected = feature_shares(detector, X[:50]).expected
    assert expected is not None
    # Far from a perfect fit, but right in size for every column.
    spread = X.std(axis=0)
    assert (np.median(np.abs(expected - X[:50]), axis=0) < 1.5 * spread).all()


def test_sparse_rows_are_split_as_the_same_rows_dense() -> None:
    X = np.abs(normal_rows()) * (np.random.default_rng(0).random((120, 6)) < 0.5)
    detector = make_detector("rsrae", epochs=3, random_state=0, n_members=1, intrinsic_dim=3).fit(sp.csr_array(X))
    sparse = feature_shares(detector, sp.csr_array(X[:7]))
    dense = feature_shares(detector, X[:7])
    # Dense rows are scored in single precision, which weighs the members.
    np.testing.assert_allclose(sparse.shares, dense.shares, atol=1e-6)
    assert sparse.expected is not None
    np.testing.assert_allclose(sparse.expected, dense.expected, atol=1e-9)
    np.testing.assert_allclose(sparse.scores, dense.scores, atol=1e-5)


def test_pictures_have_one_share_a_pixel_with_channels_together() -> None:
    X = np.random.default_rng(0).integers(0, 255, (30, 8, 8, 3), dtype=np.uint8)
    detector = make_detector("ae", epochs=1, random_state=0, hidden=(4, 4, 4), intrinsic_dim=2, n_members=1).fit(X)
    found = feature_shares(detector, X[:3])
    assert found.shares.shape == (3, 8, 8)
    np.testing.assert_allclose(found.shares.sum(axis=(1, 2)), 1)
    assert found.expected is not None
    assert found.expected.shape == (3, 8, 8, 3)


def test_a_row_of_zeros_has_shares_too() -> None:
    X = normal_rows()
    X[0] = 0
    detector = make_detector("rsrae", epochs=2, random_state=0, scored_by="cosine", scaling="none").fit(X)
    np.testing.assert_allclose(feature_shares(detector, X[:1]).shares.sum(), 1)


def test_methods_without_a_reconstruction_are_asked_one_feature_at_a_time() -> None:
    X = normal_rows()
    X[0, 4] += 25
    forest = make_detector("iforest", random_state=0).fit(X)
    assert not is_explained_exactly(forest)
    found = feature_shares(forest, X[:1], reference=X)
    without = X[:1].copy()
    without[0, 4] = np.median(X[:, 4])
    assert forest.anomaly_score(without)[0] < found.scores[0]
    assert found.shares.argmax() == 4
    np.testing.assert_allclose(found.shares.sum(), 1)


def test_if_no_single_feature_lowers_the_score_all_shares_are_equal() -> None:
    X = normal_rows()
    forest = make_detector("iforest", random_state=0).fit(X)
    typical = np.median(X, axis=0, keepdims=True)
    np.testing.assert_allclose(feature_shares(forest, typical, reference=X).shares, 1 / 6)


def test_grouped_columns_are_changed_at_once_to_their_most_frequent_values() -> None:
    rng = np.random.default_rng(0)
    category = rng.choice(4, size=200, p=[0.6, 0.2, 0.19, 0.01])
    category[0] = 3
    X = np.column_stack([rng.normal(size=(200, 2)), np.eye(4)[category]])
    X[0, :2] = 0
    forest = make_detector("iforest", random_state=0).fit(X)
    groups = [np.array([0]), np.array([1]), np.arange(2, 6)]
    found = feature_shares(forest, X[:1], groups=groups, reference=X)
    assert found.expected is not None
    np.testing.assert_array_equal(found.expected[0, 2:], [1, 0, 0, 0])
    assert found.shares[0, 2:].sum() > 0.5


def test_the_cost_of_an_explanation_is_known_beforehand() -> None:
    X = normal_rows()
    assert n_scored_rows(make_detector("rsrae", epochs=1).fit(X), X, 6) == 1
    assert n_scored_rows(make_detector("iforest").fit(X), X, 6) == 7


def test_rows_are_flattened_or_made_dense_only_for_methods_that_need_it() -> None:
    pictures, sparse = np.zeros((4, 3, 2)), sp.csr_array(np.eye(4))
    everything, tables = frozenset({"table", "sparse", "images"}), frozenset({"table"})
    assert accepted_form(pictures, everything) is pictures
    assert accepted_form(sparse, everything) is sparse
    assert accepted_form(pictures, tables).shape == (4, 6)
    np.testing.assert_array_equal(accepted_form(sparse, tables), np.eye(4))


def test_rows_that_a_method_cannot_take_are_an_error() -> None:
    with pytest.raises(InputError, match="takes images only, not a table"):
        accepted_form(np.zeros((4, 3)), frozenset({"images"}))
    huge = sp.csr_array((100_000, 100_000), dtype=np.float32)
    with pytest.raises(InputError, match=r"dense rows, and 100,000 x 100,000 numbers are too many"):
        accepted_form(huge, frozenset({"table"}))


def test_a_detector_of_the_family_that_scores_in_its_own_way_is_not_explained_by_its_reconstruction() -> None:
    assert is_explained_exactly(make_detector("rsrae"))
    assert not is_explained_exactly(make_detector("rda"))
