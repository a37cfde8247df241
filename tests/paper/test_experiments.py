from collections import Counter

import pytest

from rsrae.errors import ParameterError
from rsrae.paper import datasets
from rsrae.paper.experiments import describe, experiment, ids, plan
from rsrae.paper.plans import CALTECH_LATENT_DIM, DIMENSIONS, NEURAL, PAPER_DATA


def test_every_experiment_of_the_list_is_there() -> None:
    assert ids() == [
        "main",
        "variants",
        "linear-and-rcae",
        "dimension",
        "learning-rate",
        "lambdas",
        "runtime",
        "tiny-raw",
        "swiss-roll",
        "several-normals",
        "tables",
        "baselines",
        "pictures",
        "ablation",
    ]


@pytest.mark.parametrize("name", ids())
def test_a_full_run_continues_a_quick_one(name: str) -> None:
    quick, full = plan(name, "quick"), plan(name, "full")
    assert set(quick) <= set(full)
    assert len({cell.id for cell in full}) == len(full)
    assert describe(name, "quick").startswith(f"quick: {len(quick):,} of {len(full):,} cells. ")


@pytest.mark.parametrize("name", ids())
def test_a_smoke_run_is_short(name: str) -> None:
    cells = plan(name, "smoke")
    assert 0 < len(cells) <= 60
    assert all(dict(cell.params)["epochs"] == 2 for cell in cells if cell.method in NEURAL)


@pytest.mark.parametrize("name", ids())
def test_the_first_seed_comes_before_the_second(name: str) -> None:
    seeds = [cell.seed for cell in plan(name, "full")]
    assert seeds == sorted(seeds)


def test_the_full_main_experiment_is_the_papers() -> None:
    cells = [cell for cell in plan("main", "full") if cell.outliers == "random"]
    per_class = Counter((cell.data, cell.method, cell.recipe, cell.classes) for cell in cells)
    assert set(per_class.values()) == {5 * 5}
    for data in PAPER_DATA:
        normal = {cell.classes for cell in cells if cell.data == data}
        assert normal == {(one,) for one in range(datasets.info(data).n_classes)}
    assert {cell.data for cell in cells if cell.method == "gt"} == {"caltech-101", "fashion-mnist"}


def test_dimension_has_the_papers_values_and_the_full_width_on_caltech_only() -> None:
    swept: dict[str, set[object]] = {}
    for cell in plan("dimension", "full"):
        swept.setdefault(cell.data, set()).add(dict(cell.params)["intrinsic_dim"])
    assert swept["reuters"] == set(DIMENSIONS)
    assert swept["caltech-101"] == {*DIMENSIONS, CALTECH_LATENT_DIM}


def test_several_normals_never_take_all_classes() -> None:
    for cell in plan("several-normals", "full"):
        assert len(set(cell.classes)) in (2, 3, 5)
        assert len(cell.classes) < datasets.info(cell.data).n_classes


def test_the_tables_have_outliers_of_their_own() -> None:
    assert {(cell.classes, cell.c) for cell in plan("tables", "quick")} == {((), None)}


def test_an_unknown_experiment_or_profile_is_a_clear_error() -> None:
    with pytest.raises(ParameterError, match="no experiment 'figure-1'"):
        experiment("figure-1")
    with pytest.raises(ParameterError, match="smoke, quick, full"):
        plan("main", "fast")  # type: ignore[arg-type]
