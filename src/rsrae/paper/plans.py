"""Which cells each experiment has in each profile: data sets, methods, classes, ratios, seeds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Literal

from rsrae.paper import datasets
from rsrae.paper.cells import Cell, Value
from rsrae.paper.protocol import RATIOS, OutlierChoice, Recipe

Profile = Literal["smoke", "quick", "full"]

PAPER_DATA = ("caltech-101", "fashion-mnist", "tiny-imagenet-deep", "reuters", "newsgroups")
VECTORS = ("tiny-imagenet-deep", "reuters", "newsgroups")
DEVELOPMENT_RATIO = 0.5
DIMENSIONS = (1, 2, 5, 8, 10, 12, 15, 20, 30, 40, 50)
LEARNING_RATES = (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1)
LAMBDAS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0)
N_SEEDS = 5
N_QUICK_SEEDS = 3  # of our default and of what it is measured against, where a trial takes seconds
NEURAL = frozenset(
    {"rsrae", "rsrae+", "rsrae-views", "ae", "ae-1", "dagmm", "dsebm", "gt", "rcae", "drae", "rda"},
)
# d = D for 32 x 32 images: our convolutions end at 4 x 4 x 128, the paper's (d = 1152) at 3 x 3 x 128.
CALTECH_LATENT_DIM = 2048
SMOKE_EPOCHS = 2

# Cheap enough for all classes in a quick run; the others train convolutional networks on 750 images or more.
_SMALL_DATA = ("caltech-101", "tiny-imagenet-deep", "reuters", "newsgroups")
_QUICK_RATIOS = (0.1, 0.5, 0.9)
# Groups of their classes differ more than methods do (two normal topics of newswire: .42 to .98): all are asked.
_UNEVEN = ("reuters", "caltech-101", "fashion-mnist")


@dataclass(frozen=True)
class Variant:
    """A method with its recipe and parameters."""

    method: str
    recipe: Recipe = "paper"
    params: tuple[tuple[str, Value], ...] = ()


def _grid(
    name: str,
    data: Sequence[str],
    variants: Sequence[Variant],
    *,
    ratios: Sequence[float] = (DEVELOPMENT_RATIO,),
    n_classes: int | None = None,
    n_seeds: int = N_SEEDS,
    outliers: OutlierChoice = "random",
    n_normal: int = 1,
) -> Iterator[Cell]:
    for one, variant, seed in product(data, variants, range(n_seeds)):
        about = datasets.info(one)
        if variant.method in ("gt", "rsrae-views") and about.kind != "images":
            continue
        if about.has_own_outliers:
            yield Cell(name, one, variant.method, variant.recipe, (), None, seed, outliers, variant.params)
            continue
        if n_normal >= about.n_classes:
            continue
        for first, c in product(range(min(n_classes or about.n_classes, about.n_classes)), ratios):
            classes = tuple(sorted((first + step) % about.n_classes for step in range(n_normal)))
            yield Cell(name, one, variant.method, variant.recipe, classes, c, seed, outliers, variant.params)


def _smoke(name: str, data: Sequence[str], variants: Sequence[Variant], n_normal: int = 1) -> Iterator[Cell]:
    hurried = [
        Variant(one.method, one.recipe, _merged(one.params, epochs=SMOKE_EPOCHS)) if one.method in NEURAL else one
        for one in variants
    ]
    return _grid(name, data, hurried, n_classes=1, n_seeds=1, n_normal=n_normal)


def _merged(params: tuple[tuple[str, Value], ...], **more: Value) -> tuple[tuple[str, Value], ...]:
    return tuple(sorted((dict(params) | more).items()))


def _with(method: str, recipe: Recipe, **params: Value) -> Variant:
    return Variant(method, recipe, tuple(sorted(params.items())))


_RSRAE = (Variant("rsrae", "paper"), Variant("rsrae", "authors"), Variant("rsrae", "default"))
_AUTHORS = (Variant("rsrae", "authors"),)
_DEFAULT = (Variant("rsrae", "default"),)
_CLASSIC = tuple(Variant(method) for method in ("lof", "ocsvm", "iforest", "centroid", "knn"))
# GT's network at a quarter of the published width (a sixteenth of its cost): it looks at every image 72 times an
# epoch, and a single trial on Fashion-MNIST would otherwise take a processor core several hours.
_GT = _with("gt", "paper", widen=1)
_DEEP = (Variant("dsebm"), Variant("dagmm"), _GT)
_PUBLISHED: tuple[Recipe, Recipe] = ("authors", "paper")


def main(profile: Profile) -> Iterator[Cell]:
    """RSRAE and the methods it is compared with."""
    name = "main"
    if profile == "smoke":
        yield from _smoke(name, ("caltech-101", "reuters"), (*_RSRAE, *_CLASSIC, *_DEEP))
    elif profile == "quick":
        yield from _grid(name, PAPER_DATA, _CLASSIC, ratios=RATIOS, n_seeds=1)
        yield from _grid(name, _SMALL_DATA, _AUTHORS)
        yield from _grid(name, _SMALL_DATA, _RSRAE, n_seeds=1)
        yield from _grid(name, _SMALL_DATA, (*_RSRAE, *_DEEP), ratios=_QUICK_RATIOS, n_classes=1, n_seeds=1)
        yield from _grid(name, PAPER_DATA, _DEFAULT, n_seeds=N_QUICK_SEEDS)
        yield from _grid(name, PAPER_DATA, _DEFAULT, ratios=RATIOS, n_seeds=1)
        yield from _grid(name, VECTORS, _AUTHORS, ratios=_QUICK_RATIOS, n_seeds=1)
        yield from _grid(name, ("caltech-101",), (_GT,), n_seeds=1)
        yield from _grid(name, ("fashion-mnist",), _AUTHORS, n_seeds=2)
        yield from _grid(name, ("fashion-mnist",), _RSRAE, n_classes=3, n_seeds=1)
        yield from _grid(name, ("fashion-mnist",), _DEEP, n_classes=1, n_seeds=1)
        yield from _grid(name, ("reuters", "newsgroups"), _AUTHORS, outliers="first", n_seeds=1)
    else:
        yield from _grid(name, PAPER_DATA, (*_RSRAE, *_CLASSIC, *_DEEP), ratios=RATIOS)
        yield from _grid(name, PAPER_DATA, _AUTHORS, outliers="first")


def variants(profile: Profile) -> Iterator[Cell]:
    """RSRAE, RSRAE+, AE-1 and AE."""
    name = "variants"
    data = (*PAPER_DATA, "tiny-imagenet")
    compared = [
        variant
        for recipe in _PUBLISHED
        for variant in (
            Variant("rsrae", recipe),
            _with("rsrae+", recipe, lambda1=0.1, lambda2=0.1),
            Variant("ae-1", recipe),
            Variant("ae", recipe),
        )
    ]
    if profile == "smoke":
        yield from _smoke(name, ("caltech-101", "reuters"), compared)
    elif profile == "quick":
        published = [variant for variant in compared if variant.recipe == "authors"]
        yield from _grid(name, _SMALL_DATA, compared, n_classes=2, n_seeds=1)
        yield from _grid(name, _SMALL_DATA, published, ratios=_QUICK_RATIOS, n_classes=1, n_seeds=1)
        yield from _grid(name, ("reuters", "tiny-imagenet-deep"), published, n_seeds=1)
        yield from _grid(name, ("fashion-mnist", "tiny-imagenet"), published, n_classes=1, n_seeds=1)
    else:
        yield from _grid(name, data, compared, ratios=RATIOS)


def linear_and_rcae(profile: Profile) -> Iterator[Cell]:
    """RSRAE, FMS, SFMS and RCAE."""
    name = "linear-and-rcae"
    linear = (Variant("fms"), Variant("sfms"))
    deep = (Variant("rsrae", "authors"), Variant("rsrae", "paper"), Variant("rcae"))
    if profile == "smoke":
        yield from _smoke(name, ("caltech-101", "reuters"), (*deep, *linear))
    elif profile == "quick":
        yield from _grid(name, PAPER_DATA, linear, n_classes=3, n_seeds=1)
        yield from _grid(name, _SMALL_DATA, deep[:2], n_classes=3, n_seeds=1)
        yield from _grid(name, _SMALL_DATA, (*linear, *deep), ratios=_QUICK_RATIOS, n_classes=1, n_seeds=1)
        yield from _grid(name, ("fashion-mnist",), deep, n_classes=1, n_seeds=1)
    else:
        yield from _grid(name, PAPER_DATA, (*deep, *linear), ratios=RATIOS)


def dimension(profile: Profile) -> Iterator[Cell]:
    """RSRAE against d."""
    name = "dimension"
    swept = [_with("rsrae", recipe, intrinsic_dim=d) for recipe in _PUBLISHED for d in DIMENSIONS]
    full_width = [_with("rsrae", recipe, intrinsic_dim=CALTECH_LATENT_DIM) for recipe in _PUBLISHED]
    yield from _sensitivity(name, profile, swept)
    if profile == "quick":
        yield from _grid(name, ("caltech-101",), full_width, n_classes=2, n_seeds=1)
    elif profile == "full":
        yield from _grid(name, ("caltech-101",), full_width)


def learning_rate(profile: Profile) -> Iterator[Cell]:
    """RSRAE against the learning rate."""
    swept = [_with("rsrae", recipe, learning_rate=rate) for recipe in _PUBLISHED for rate in LEARNING_RATES]
    yield from _sensitivity("learning-rate", profile, swept)


def _sensitivity(name: str, profile: Profile, swept: Sequence[Variant]) -> Iterator[Cell]:
    if profile == "smoke":
        yield from _smoke(name, ("caltech-101", "reuters"), swept[:2])
    elif profile == "quick":
        authors = [variant for variant in swept if variant.recipe == "authors"]
        yield from _grid(name, ("tiny-imagenet-deep",), swept, n_classes=3, n_seeds=1)
        yield from _grid(name, _SMALL_DATA, authors, n_classes=1, n_seeds=1)
        yield from _grid(name, ("fashion-mnist",), authors[1::3], n_classes=1, n_seeds=1)
    else:
        yield from _grid(name, PAPER_DATA, swept)


def lambdas(profile: Profile) -> Iterator[Cell]:
    """RSRAE+ against its two weights."""
    name = "lambdas"
    grid = [_with("rsrae+", "authors", lambda1=a, lambda2=b) for a, b in product(LAMBDAS, LAMBDAS)]
    reference = Variant("rsrae", "authors")
    if profile == "smoke":
        yield from _smoke(name, ("caltech-101",), (reference, *grid[:2]))
    elif profile == "quick":
        yield from _grid(name, _SMALL_DATA, (reference, *grid), n_classes=1, n_seeds=1)
    else:
        yield from _grid(name, PAPER_DATA, (reference, *grid))


def runtime(profile: Profile) -> Iterator[Cell]:
    """Seconds of all methods."""
    name = "runtime"
    timed = (
        *_CLASSIC,
        *_DEEP,
        *_RSRAE,
        Variant("rsrae+"),
        Variant("ae-1"),
        Variant("ae"),
    )
    if profile == "smoke":
        yield from _smoke(name, ("caltech-101", "reuters"), timed)
    elif profile == "quick":
        yield from _grid(name, PAPER_DATA, timed, n_classes=1, n_seeds=1)
    else:
        yield from _grid(name, PAPER_DATA, timed, n_seeds=1)


def tiny_raw(profile: Profile) -> Iterator[Cell]:
    """Tiny ImageNet without deep features."""
    name = "tiny-raw"
    data = ("tiny-imagenet",)
    if profile == "smoke":
        yield from _smoke(name, data, (*_RSRAE, *_CLASSIC, *_DEEP))
    elif profile == "quick":
        yield from _grid(name, data, _CLASSIC, ratios=RATIOS, n_seeds=1)
        yield from _grid(name, data, _RSRAE, n_classes=3, n_seeds=1)
        yield from _grid(name, data, _DEFAULT, n_seeds=N_QUICK_SEEDS)
        yield from _grid(name, data, _DEFAULT, ratios=RATIOS, n_seeds=1)
        yield from _grid(name, data, _DEEP, n_classes=1, n_seeds=1)
    else:
        yield from _grid(name, data, (*_RSRAE, *_CLASSIC, *_DEEP), ratios=RATIOS)


def swiss_roll(profile: Profile) -> Iterator[Cell]:
    """The artificial demonstration."""
    name = "swiss-roll"
    # Appendix B: d = 2, ten thousand epochs of one batch, and the distance as the score. Its pictures show codes all
    # over the plane; of length one they would lie on a circle.
    setting: dict[str, Value] = {
        "activation": "leaky_relu",
        "normalise_code": False,
        "batch_size": 1500,
        "epochs": 10_000,
        "intrinsic_dim": 2,
        "learning_rate": 0.01,
        "scored_by": "euclidean",
    }
    compared = (*(_with(method, "paper", **setting) for method in ("rsrae", "ae-1", "ae")), *_CLASSIC)
    if profile == "smoke":
        yield from _smoke(name, ("swiss-roll",), compared)
    else:
        yield from _grid(name, ("swiss-roll",), compared, n_seeds=3 if profile == "quick" else N_SEEDS)


def several_normals(profile: Profile) -> Iterator[Cell]:
    """Two, three and five normal classes."""
    name = "several-normals"
    quick_enough = tuple(Variant(method) for method in ("pca", "sfms", "ste"))
    compared = (*_RSRAE, Variant("ae-1"), *_CLASSIC, *quick_enough)
    for n_normal in (2, 3, 5):
        if profile == "smoke":
            yield from _smoke(name, ("caltech-101", "reuters"), compared, n_normal=n_normal)
        elif profile == "quick":
            yield from _grid(name, _SMALL_DATA, compared, n_classes=2, n_seeds=1, n_normal=n_normal)
            yield from _grid(name, ("reuters",), (*_RSRAE, *_CLASSIC, *quick_enough), n_seeds=1, n_normal=n_normal)
            yield from _grid(name, ("reuters",), _DEFAULT, n_seeds=N_QUICK_SEEDS, n_normal=n_normal)
            yield from _grid(
                name, VECTORS, (*_AUTHORS, *_DEFAULT), n_classes=2, n_seeds=N_QUICK_SEEDS, n_normal=n_normal
            )
            cheap = (*_DEFAULT, *_CLASSIC, Variant("pca"))
            yield from _grid(name, ("fashion-mnist",), cheap, n_classes=1, n_seeds=1, n_normal=n_normal)
        else:
            yield from _grid(name, PAPER_DATA, compared, ratios=RATIOS, n_normal=n_normal)


def tables(profile: Profile) -> Iterator[Cell]:
    """The ADBench tables, all methods."""
    name = "tables"
    data = [one for one in datasets.names() if one.startswith("adbench/")]
    classic = (*_CLASSIC, *(Variant(method) for method in ("pca", "rpca", "fms", "sfms", "ste")))
    neural = (
        *_RSRAE,
        *(Variant(method) for method in ("rsrae+", "ae-1", "ae", "dagmm", "dsebm", "rcae", "drae", "rda")),
    )
    if profile == "smoke":
        yield from _smoke(name, ("adbench/glass", "adbench/WDBC"), (*neural, *classic))
    else:
        yield from _grid(name, data, (*neural, *classic), n_seeds=1 if profile == "quick" else N_SEEDS)
        if profile == "quick":
            yield from _grid(name, data, _DEFAULT, n_seeds=N_QUICK_SEEDS)


def baselines(profile: Profile) -> Iterator[Cell]:
    """Methods without a network on the data as our default sees it, but for the edges of pictures."""
    name = "baselines"
    compared = (
        Variant("centroid", "default"),
        _with("centroid", "default", refit=0.6),
        Variant("knn", "default"),
        _with("knn", "default", n_neighbors=100),
        *(Variant(method, "default") for method in ("pca", "iforest", "ocsvm", "lof")),
    )
    if profile == "smoke":
        yield from _smoke(name, ("caltech-101", "reuters"), compared)
        return
    tables = [one for one in datasets.names() if one.startswith("adbench/")]
    if profile == "quick":
        yield from _grid(name, (*PAPER_DATA, "tiny-imagenet"), compared, ratios=RATIOS, n_seeds=1)
        yield from _grid(name, (*PAPER_DATA, "tiny-imagenet", *tables), compared, n_seeds=N_QUICK_SEEDS)
    else:
        yield from _grid(name, (*PAPER_DATA, "tiny-imagenet", *tables), compared, ratios=RATIOS)
    for n_normal in (2, 3, 5):
        if profile == "quick":
            yield from _grid(name, _UNEVEN, compared, n_seeds=N_QUICK_SEEDS, n_normal=n_normal)
            yield from _grid(name, VECTORS, compared, n_classes=2, n_seeds=N_QUICK_SEEDS, n_normal=n_normal)
        else:
            yield from _grid(name, PAPER_DATA, compared, n_normal=n_normal)


def pictures(profile: Profile) -> Iterator[Cell]:
    """RSRAE of views beside RSRAE."""
    name = "pictures"
    large = ("fashion-mnist", "tiny-imagenet")
    ours = (Variant("rsrae-views", "default"), *_DEFAULT)
    quick = (Variant("centroid", "default"), _with("knn", "default", n_neighbors=100))
    if profile == "smoke":
        yield from _smoke(name, ("caltech-101",), (*ours, *quick))
    elif profile == "quick":
        yield from _grid(name, ("caltech-101",), (*ours, *quick, _GT), n_seeds=1)
        yield from _grid(name, ("caltech-101",), ours[:1], n_seeds=N_QUICK_SEEDS)
        yield from _grid(name, large, ours[:1], n_classes=3, n_seeds=1)
        yield from _grid(name, large, (*_DEFAULT, *quick), n_seeds=1)
        yield from _grid(name, ("fashion-mnist",), ours[:1], n_seeds=1)
        several = ("caltech-101", "fashion-mnist")
        for n_normal in (2, 3, 5):
            yield from _grid(name, several, (*ours, *quick), n_seeds=1, n_normal=n_normal)
            yield from _grid(name, several, _DEFAULT, n_seeds=N_QUICK_SEEDS, n_normal=n_normal)
    else:
        yield from _grid(name, ("caltech-101", *large), (*ours, *quick, _GT), ratios=RATIOS)
        for n_normal in (2, 3, 5):
            yield from _grid(name, ("caltech-101", *large), (*ours, *quick), n_normal=n_normal)


# Those of ADBench's tables with fewer than 2,500 rows.
SMALL_TABLES = tuple(
    f"adbench/{name}"
    for name in ("Cardiotocography", "glass", "Ionosphere", "Stamps", "vertebral", "WDBC", "WPBC", "yeast")
)
# One change to the default at a time, and the kind of data it means something for; "" is all.
_CHANGES: tuple[tuple[str, dict[str, Value]], ...] = (
    ("", {}),
    ("", {"n_neighbors": 0}),
    ("table", {"neighbor_distance": "to-mean"}),
    ("table", {"near_middles": False}),
    ("documents", {"level_lengths": False}),
    ("", {"trim": 0.0}),
    ("", {"trim": 0.2}),
    ("", {"trim": "auto"}),
    ("", {"warm_up": 0.2}),
    ("", {"n_members": 1, "intrinsic_dim": 10}),
    ("", {"n_members": 4, "intrinsic_dim": 10}),
    ("features", {"normalisation": "batch"}),
    ("documents", {"normalisation": "batch"}),
    ("table", {"normalisation": None}),
    ("", {"normalise_code": False}),
    ("table", {"tame": False}),
    ("table", {"scored_by": "euclidean"}),
    ("features", {"n_alike": 0}),
    ("documents", {"n_alike": 0}),
    ("features", {"equal_kinds": False}),
    ("documents", {"equal_kinds": False}),
    ("features", {"crowd": False}),
    ("documents", {"crowd": False}),
    ("images", {"n_alike": 0}),
    ("images", {"equal_kinds": False}),
    ("images", {"crowd": False}),
    ("images", {"edges": False}),
    ("images", {"rsr_scope": "A"}),
    ("table", {"ranks": False}),
    ("table", {"n_trees": 0}),
    ("table", {"column_weights": False}),
    ("table", {"rules": 0.0}),
    ("table", {"rules": 1.0}),
    ("table", {"gross_values": False}),
    ("table", {"n_members": 4}),
    ("features", {"rsr_scope": "A"}),
    ("documents", {"rsr_scope": "A"}),
    ("table", {"rsr_scope": "encoder"}),
    ("", {"learning_rate": 0.00025, "epochs": 200}),
)


def ablation(profile: Profile) -> Iterator[Cell]:
    """Our default, one change at a time."""
    name = "ablation"
    tables = [one for one in datasets.names() if one.startswith("adbench/")]
    if profile == "smoke":
        yield from _smoke(name, ("reuters",), _changed("reuters"))
        return
    n_seeds, n_classes = (1, 2) if profile == "quick" else (3, None)
    for data in SMALL_TABLES if profile == "quick" else tables:
        yield from _grid(name, (data,), _changed(data), n_seeds=n_seeds)
    for data, n_normal in product((*VECTORS, "caltech-101", "fashion-mnist"), (1, 3)):
        yield from _grid(name, (data,), _changed(data), n_classes=n_classes, n_seeds=n_seeds, n_normal=n_normal)


def _changed(data: str) -> list[Variant]:
    kind = datasets.info(data).kind
    changed = [_with("rsrae", "default", **change) for only_for, change in _CHANGES if only_for in ("", kind)]
    return [*changed, Variant("centroid"), Variant("iforest")]
