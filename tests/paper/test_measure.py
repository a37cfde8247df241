from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.stats import spearmanr

from rsrae.detectors import make_detector
from rsrae.errors import ParameterError
from rsrae.paper.cells import Cell
from rsrae.paper.experiments import ids, plan
from rsrae.paper.measure import (
    centroid_scores,
    detector_of,
    environment,
    measure,
    rank_correlation,
)
from rsrae.paper.plans import CALTECH_LATENT_DIM

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


def test_the_rank_correlation_is_spearmans() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 9, 50), rng.normal(size=50)
    assert rank_correlation(a, b) == pytest.approx(spearmanr(a, b)[0], abs=1e-6)
    assert rank_correlation(a, np.ones(50)) is None


def test_centroid_scores_are_the_same_sparse_and_dense() -> None:
    X = np.random.default_rng(0).uniform(size=(20, 6)).astype(np.float32)
    np.testing.assert_allclose(centroid_scores(X), centroid_scores(sp.csr_array(X)), rtol=1e-6)


def detector(method: str, recipe: str, **params: float) -> Any:
    cell = Cell("main", "reuters", method, recipe, (0,), 0.5, 7, params=tuple(sorted(params.items())))  # type: ignore[arg-type]
    return detector_of(cell)


def test_a_learning_rate_moves_both_rates_in_the_recipes_proportion() -> None:
    usual, fast = detector("rsrae", "authors"), detector("rsrae", "authors", learning_rate=0.01)
    assert fast.learning_rate == 0.01
    assert fast.rsr_learning_rate / 0.01 == pytest.approx(usual.rsr_learning_rate / usual.learning_rate)


def test_the_published_recipes_take_the_protocols_numbers_as_they_are() -> None:
    for method in ("rsrae", "rsrae+", "ae-1", "ae"):
        published = detector(method, "authors")
        assert (published.scaling, published.unit_norm) == ("none", False)
        assert published.normalisation == "affine"
    assert detector("rsrae", "default").get_params() == make_detector("rsrae", random_state=7).get_params()


def test_fms_sees_the_lengths_of_rows_and_sfms_does_not() -> None:
    assert detector("fms", "paper").unit_norm is False
    assert detector("sfms", "paper").unit_norm == "auto"


@pytest.mark.parametrize("method", sorted({cell.method for name in ids() for cell in plan(name, "full")}))
def test_every_planned_method_takes_its_planned_parameters(method: str) -> None:
    planned = {(cell.recipe, cell.params) for name in ids() for cell in plan(name, "quick") if cell.method == method}
    for recipe, params in planned:
        made = detector(method, recipe, **dict(params))  # type: ignore[arg-type]
        assert {name: made.get_params()[name] for name, _ in params} == dict(params)


def test_the_widest_code_of_a_caltech_image_is_the_planned_one() -> None:
    images = np.random.default_rng(0).uniform(-1, 1, (4, 32, 32, 3)).astype(np.float32)
    made = detector("rsrae", "paper", intrinsic_dim=CALTECH_LATENT_DIM, epochs=1)
    made.fit(images)
    with pytest.raises(ParameterError):
        made.set_params(intrinsic_dim=CALTECH_LATENT_DIM + 1).fit(images)


def test_the_environment_names_versions_and_machine() -> None:
    facts = environment()
    assert {"rsrae", "python", "numpy", "scipy", "scikit-learn", "torch"} == set(facts["versions"])
    assert facts["machine"]["cpu"]
    assert facts["threads"] >= 1
