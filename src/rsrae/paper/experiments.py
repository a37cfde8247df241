"""The experiments: figures and tables of the paper, and ours, by name.

Three profiles: "full" is the paper's (all classes, five ratios, five seeds); "quick" is a part of it that
takes about two hours on two cores and says what it leaves out; "smoke" is one class and two epochs, to see
that everything runs. Every quick cell is a full cell, so that a full run continues a quick one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import get_args

from rsrae.errors import ParameterError
from rsrae.paper import plans
from rsrae.paper.cells import Cell
from rsrae.paper.plans import SMOKE_EPOCHS, Profile


@dataclass(frozen=True)
class Experiment:
    """One figure or table.

    Attributes
    ----------
    id : the name on the command line.
    title : what it shows.
    reference : where the paper has it.
    left_out : what the quick profile leaves out, in a sentence.
    cells : the plan of a profile.
    """

    id: str
    title: str
    reference: str
    left_out: str
    cells: Callable[[Profile], Iterator[Cell]]


def ids() -> list[str]:
    """Name every experiment.

    >>> ids()[:3]
    ['main', 'variants', 'linear-and-rcae']
    """
    return list(_EXPERIMENTS)


def experiment(name: str) -> Experiment:
    """Return an experiment by its id."""
    try:
        return _EXPERIMENTS[name]
    except KeyError:
        raise ParameterError(f"there is no experiment {name!r}; choose from {', '.join(_EXPERIMENTS)}") from None


def plan(name: str, profile: Profile) -> list[Cell]:
    """List the cells of an experiment, the first seed of all before the second of any.

    >>> len(plan("swiss-roll", "full")) > len(plan("swiss-roll", "quick")) > 0
    True
    """
    if profile not in get_args(Profile):
        raise ParameterError(f"profile must be one of {', '.join(get_args(Profile))}, got {profile!r}")
    cells = dict.fromkeys(experiment(name).cells(profile))
    return sorted(cells, key=lambda cell: cell.seed)


def describe(name: str, profile: Profile) -> str:
    """Say in a sentence or two what a profile runs and what it leaves out."""
    n_cells, n_full = len(plan(name, profile)), len(plan(name, "full"))
    if profile == "full":
        return f"full: all {n_cells:,} cells."
    if profile == "smoke":
        return f"smoke: {n_cells:,} cells of one class and {SMOKE_EPOCHS} epochs; the numbers mean nothing."
    return f"quick: {n_cells:,} of {n_full:,} cells. {experiment(name).left_out}"


_EXPERIMENTS = {
    one.id: one
    for one in (
        Experiment(
            "main",
            "RSRAE and the methods it is compared with, against the ratio of outliers",
            "figures 1 and 2",
            "At c = 0.5, RSRAE has all classes, five seeds with the authors' recipe and three with our default; "
            "elsewhere there is one seed, and c = 0.1, 0.5, 0.9 (0.3 and 0.7 too with our default and the methods "
            "without a network). RSRAE then has all classes with our default, and of documents and deep features at "
            "c = 0.1 and 0.9 with the authors' recipe; else it has one class, as have DSEBM, DAGMM and GT everywhere "
            "(GT has all of Caltech 101 at c = 0.5). On Fashion-MNIST, the other networks have c = 0.5, and RSRAE with "
            "the paper's recipe has three classes (ten, and two seeds, with the authors'). "
            "GT's network is narrower than the published one.",
            plans.main,
        ),
        Experiment(
            "variants",
            "RSRAE, RSRAE+, AE-1 and AE",
            "figures 3, 13 and 14",
            "One seed. At c = 0.5 two classes (with the authors' recipe all of Reuters and of Tiny ImageNet's deep "
            "features); at c = 0.1 and 0.9 one, and the authors' recipe; on Fashion-MNIST and raw Tiny ImageNet one "
            "class, c = 0.5 and the authors' recipe.",
            plans.variants,
        ),
        Experiment(
            "linear-and-rcae",
            "RSRAE, the linear FMS and SFMS, and RCAE",
            "figure 7",
            "One seed. At c = 0.5 three classes, RCAE one; at c = 0.1 and 0.9 one class; on Fashion-MNIST c = 0.5, and "
            "one class for the networks.",
            plans.linear_and_rcae,
        ),
        Experiment(
            "dimension",
            "RSRAE against its intrinsic dimension d, c = 0.5",
            "figure 8",
            "One seed. Deep features of Tiny ImageNet: three classes, both recipes; elsewhere one class and the "
            "authors' recipe; on Fashion-MNIST every third value.",
            plans.dimension,
        ),
        Experiment(
            "learning-rate",
            "RSRAE against the learning rate, c = 0.5",
            "figure 9",
            "One seed. Deep features of Tiny ImageNet: three classes, both recipes; elsewhere one class and the "
            "authors' recipe; on Fashion-MNIST every third value.",
            plans.learning_rate,
        ),
        Experiment(
            "lambdas",
            "RSRAE+ against its two weights, c = 0.5",
            "figures 10 and 11",
            "One seed and one class; Fashion-MNIST is left out.",
            plans.lambdas,
        ),
        Experiment(
            "runtime",
            "Seconds of one experiment, c = 0.5 (run it with one job)",
            "table 1",
            "The first class only.",
            plans.runtime,
        ),
        Experiment(
            "tiny-raw",
            "Tiny ImageNet without deep features",
            "figure 12",
            "One seed (our default three at c = 0.5); c = 0.5 and three classes for RSRAE with the published recipes, "
            "one for DSEBM, DAGMM and GT; c = 0.1 to 0.9 for our default and the methods without a network.",
            plans.tiny_raw,
        ),
        Experiment(
            "swiss-roll",
            "The artificial demonstration",
            "figures 4 to 6",
            "Three seeds.",
            plans.swiss_roll,
        ),
        Experiment(
            "several-normals",
            "Two, three and five classes are normal at once",
            "beyond the paper",
            "One seed (three for the authors' recipe and our default on documents and deep features), c = 0.5, two "
            "groups of classes (all five of Reuters, but for AE-1); on Fashion-MNIST one, and no network but our "
            "default. 'pictures' has all groups of these.",
            plans.several_normals,
        ),
        Experiment(
            "tables",
            "The ADBench tables, all methods",
            "beyond the paper",
            "One seed; three for our default.",
            plans.tables,
        ),
        Experiment(
            "baselines",
            "Methods without a network on the data as our default sees it, but for edges",
            "beyond the paper",
            "One seed, three at c = 0.5; where several classes are normal, c = 0.5 and two groups of classes (all of "
            "Reuters and of pictures).",
            plans.baselines,
        ),
        Experiment(
            "pictures",
            "RSRAE of self-labelled features and pixels",
            "beyond the paper",
            "c = 0.5; one seed (three for RSRAE of views on single classes of Caltech 101, and for RSRAE() where "
            "several are normal); RSRAE of views has three classes of Tiny ImageNet; several normal classes of Caltech "
            "101 and Fashion-MNIST alone.",
            plans.pictures,
        ),
        Experiment(
            "ablation",
            "Our default, one change at a time, c = 0.5",
            "beyond the paper",
            "One seed, two classes or groups of classes, and the eight tables of fewer than 2,500 rows.",
            plans.ablation,
        ),
    )
}
