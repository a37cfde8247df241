import numpy as np
import pytest
import scipy.sparse as sp
from scipy.stats import spearmanr

from rsrae.errors import ParameterError
from rsrae.paper.cells import Cell
from rsrae.paper.measure import (
    as_accepted,
    centroid_scores,
    environment,
    measure,
    rank_correlation,
    recipe_settings,
)

ROLL = Cell("swiss-roll", "swiss-roll", "ae", "paper", (), None, 0, params=(("epochs", 2),))


def test_a_cell_is_measured_the_same_twice_and_global_generators_stay(global_generators: type) -> None:
    before = global_generators.now()  # type: ignore[attr-defined]
    first, second = measure(ROLL), measure(ROLL)
    assert global_generators.now() == before  # type: ignore[attr-defined]
    assert (first["n"], first["n_outliers"]) == (1500, 500)
    for key in ("auc", "ap", "centroid_correlation", "histogram"):
        assert first[key] == second[key]


def test_the_histogram_of_the_swiss_roll_counts_every_point() -> None:
    histogram = measure(ROLL)["histogram"]
    assert (sum(histogram["normal"]), sum(histogram["anomalous"])) == (1000, 500)


def test_rows_are_flattened_only_for_methods_that_need_it() -> None:
    images = np.zeros((5, 4, 4, 3))
    assert as_accepted(images, frozenset({"images"}), "gt") is images
    assert as_accepted(images, frozenset({"table", "sparse"}), "lof").shape == (5, 48)
    rows = sp.csr_array(np.eye(4))
    assert as_accepted(rows, frozenset({"sparse"}), "knn") is rows
    assert isinstance(as_accepted(rows, frozenset({"table"}), "dagmm"), np.ndarray)
    with pytest.raises(ParameterError, match="gt takes images, not table"):
        as_accepted(np.eye(3), frozenset({"images"}), "gt")


def test_the_rank_correlation_is_spearmans() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 9, 50), rng.normal(size=50)
    assert rank_correlation(a, b) == pytest.approx(spearmanr(a, b)[0], abs=1e-6)
    assert rank_correlation(a, np.ones(50)) is None


def test_centroid_scores_are_the_same_sparse_and_dense() -> None:
    X = np.random.default_rng(0).uniform(size=(20, 6)).astype(np.float32)
    np.testing.assert_allclose(centroid_scores(X), centroid_scores(sp.csr_array(X)), rtol=1e-6)


def test_a_learning_rate_moves_both_rates_in_the_recipes_proportion() -> None:
    cell = Cell("learning-rate", "reuters", "rsrae", "authors", (0,), 0.5, 0, params=(("learning_rate", 0.01),))
    assert recipe_settings(cell, np.eye(2))["rsr_learning_rate"] == pytest.approx(0.1)


def test_the_default_recipe_and_other_methods_are_left_alone() -> None:
    for method, recipe in (("rsrae", "default"), ("lof", "paper")):
        assert recipe_settings(Cell("main", "reuters", method, recipe, (0,), 0.5, 0), np.eye(2)) == {}  # type: ignore[arg-type]


def test_the_environment_names_versions_and_machine() -> None:
    facts = environment()
    assert {"rsrae", "python", "numpy", "scipy", "scikit-learn", "torch"} == set(facts["versions"])
    assert facts["machine"]["cpu"]
    assert facts["threads"] >= 1
