import numpy as np
import pytest
import scipy.sparse as sp

from rsrae.errors import ParameterError
from rsrae.paper import datasets
from rsrae.paper.datasets import Dataset
from rsrae.paper.measure import centroid_scores
from rsrae.paper.protocol import (
    RATIOS,
    auc_and_ap,
    draw_table_trial,
    draw_trial,
    vectorise,
)

from .shared import needs_shared_data

Y = np.repeat(np.arange(4), 50)[np.random.default_rng(3).permutation(200)]
X = np.arange(200.0)[:, None]  # a row is its own number


def rows_of(trial: object) -> set[float]:
    return set(np.asarray(trial.X).ravel().tolist())  # type: ignore[attr-defined]


@pytest.mark.parametrize("c", RATIOS)
def test_all_inliers_and_c_times_as_many_outliers_are_drawn(c: float) -> None:
    trial = draw_trial(X, Y, [2], c, seed=0)
    assert rows_of(trial) >= set(np.flatnonzero(Y == 2))
    assert trial.is_outlier.sum() == round(c * 50) == len(trial.X) - 50
    assert (Y[np.asarray(trial.X).ravel().astype(int)] != 2).tolist() == trial.is_outlier.tolist()


def test_outliers_differ_by_seed_and_grow_with_c() -> None:
    small, large = (draw_trial(X, Y, [2], c, seed=0) for c in (0.1, 0.9))
    assert rows_of(small) < rows_of(large)
    assert rows_of(small) != rows_of(draw_trial(X, Y, [2], 0.1, seed=1))
    np.testing.assert_array_equal(small.X, draw_trial(X, Y, [2], 0.1, seed=0).X)


def test_first_outliers_are_the_first_rows_of_other_classes() -> None:
    trial = draw_trial(X, Y, [2], 0.5, seed=7, outliers="first")
    assert set(np.asarray(trial.X)[trial.is_outlier].ravel()) == set(np.flatnonzero(Y != 2)[:25])


def test_several_normal_classes_share_the_places_of_one() -> None:
    trial = draw_trial(X, Y, [0, 3], 0.5, seed=0)
    normal = Y[np.asarray(trial.X)[~trial.is_outlier].ravel().astype(int)]
    assert np.bincount(normal, minlength=4).tolist() == [25, 0, 0, 25]
    assert trial.is_outlier.sum() == 25


def test_inliers_and_outliers_are_mixed() -> None:
    is_outlier = draw_trial(X, Y, [2], 0.5, seed=0).is_outlier
    assert 0 < is_outlier[:30].sum() < 30


@pytest.mark.parametrize(("inliers", "c"), [([], 0.5), ([9], 0.5), ([0, 1, 2, 3], 0.5), ([0], 0.0), ([0], 99.0)])
def test_an_impossible_trial_is_a_clear_error(inliers: list[int], c: float) -> None:
    with pytest.raises(ParameterError):
        draw_trial(X, Y, inliers, c, seed=0)


def test_a_large_table_is_cut_with_its_share_of_outliers_but_at_least_ten() -> None:
    y = (np.arange(20_000) % 100 == 0).astype(np.int64)
    assert draw_table_trial(np.zeros((20_000, 2)), y, seed=0, max_rows=5_000).is_outlier.sum() == 50
    trial = draw_table_trial(np.zeros((20_000, 2)), y, seed=0, max_rows=400)
    assert (trial.is_outlier.sum(), len(trial.X)) == (10, 400)


def test_a_small_table_is_taken_whole() -> None:
    trial = draw_table_trial(X, (Y == 0).astype(np.int64), seed=0)
    assert rows_of(trial) == set(range(200))


def test_images_lie_in_the_unit_cube_and_authors_have_unit_norm() -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (6, 4, 4, 3), dtype=np.uint8)
    pixels[0, 0, 0] = [0, 255, 0]
    images = Dataset("fashion-mnist", "images", np.zeros(6, dtype=np.int64), ("a",), pixels)
    paper = np.asarray(vectorise(images, "paper")[0])
    assert (paper.min(), paper.max(), paper.dtype) == (-1.0, 1.0, np.float32)
    authors = np.asarray(vectorise(images, "authors")[0])
    np.testing.assert_allclose(np.linalg.norm(authors.reshape(6, -1), axis=1), 1.0, rtol=1e-5)
    np.testing.assert_allclose(authors / paper, (authors / paper)[:, :1, :1, :1] * np.ones_like(paper), rtol=1e-4)


def test_tables_are_standardised_except_for_the_default() -> None:
    raw = np.column_stack([np.arange(10.0), np.full(10, 3.0)])
    table = Dataset("adbench/glass", "table", np.zeros(10, dtype=np.int64), ("normal", "anomaly"), raw)
    np.testing.assert_allclose(np.asarray(vectorise(table, "paper")[0]).std(axis=0), [1, 0], rtol=1e-6)
    np.testing.assert_array_equal(np.asarray(vectorise(table, "default")[0]), raw)


def test_documents_become_positive_sparse_rows_of_the_papers_width() -> None:
    texts = ["the bank cut rates", "oil rose", "oil fell and rates rose", "the of and"] * 100
    y = np.arange(400) % 2
    dataset = Dataset("newsgroups", "documents", y, ("a", "b"), np.empty((400, 0)), tuple(texts))
    vectors, kept = vectorise(dataset, "paper")
    assert isinstance(vectors, sp.csr_array)
    assert vectors.shape == (400, 10_000)
    assert len(kept) == 400
    assert vectors.data.min() > 0
    assert vectors[[3]].nnz == 0  # stop words only


def test_only_360_documents_of_a_class_are_taken() -> None:
    y = np.repeat([0, 1], [500, 307])
    dataset = Dataset("reuters", "documents", y, ("a", "b"), np.empty((807, 0)), ("some oil news",) * 807)
    assert np.bincount(vectorise(dataset, "paper")[1]).tolist() == [360, 307]


def test_outliers_are_the_positives() -> None:
    auc, ap = auc_and_ap(np.array([True, False, False, False]), np.array([0.9, 0.1, 0.2, 0.3]))
    assert (auc, ap) == (1.0, 1.0)
    auc, ap = auc_and_ap(np.array([True, False, False, False]), np.array([0.0, 0.1, 0.2, 0.3]))
    assert (auc, ap) == (0.0, 0.25)


class TestOnThePaperData:
    pytestmark = needs_shared_data

    @pytest.mark.parametrize(
        ("name", "expected"),
        [("reuters", 0.865), ("fashion-mnist", 0.84), ("caltech-101", 0.81), ("tiny-imagenet-deep", 0.93)],
    )
    def test_the_centroid_reaches_what_was_measured_before(self, name: str, expected: float) -> None:
        vectors, y = vectorise(datasets.load(name), "paper")
        trials = [draw_trial(vectors, y, [one], 0.5, seed=0) for one in np.unique(y)]
        auc = np.mean([auc_and_ap(trial.is_outlier, centroid_scores(trial.X))[0] for trial in trials])
        assert auc == pytest.approx(expected, abs=0.02)
