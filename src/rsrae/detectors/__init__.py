"""All detectors, by class and by name."""

from __future__ import annotations

import importlib
from typing import Any, NamedTuple

from rsrae.errors import ParameterError


class Method(NamedTuple):
    """A detector known by name to the command."""

    module: str
    class_name: str
    parameters: dict[str, Any]
    summary: str
    reference: str


METHODS: dict[str, Method] = {
    "rsrae": Method("rsrae", "RSRAE", {}, "robust subspace recovery autoencoder", "Lai, Zou, Lerman 2020"),
    "rsrae+": Method("rsrae", "RSRAEPlus", {}, "RSRAE, losses minimised jointly", "Lai, Zou, Lerman 2020"),
    "rsrae-views": Method("views", "ViewsRSRAE", {}, "RSRAE of self-labelled features and pixels", "ours"),
    "ae": Method("rsrae", "AutoEncoder", {"p": 2.0}, "autoencoder, squared loss", "Lai, Zou, Lerman 2020"),
    "ae-1": Method("rsrae", "AutoEncoder", {"p": 1.0}, "autoencoder, l2,1 loss", "Lai, Zou, Lerman 2020"),
    "lof": Method("classic", "LOF", {}, "local outlier factor", "Breunig et al. 2000"),
    "ocsvm": Method("classic", "OCSVM", {}, "one-class support vector machine", "Schölkopf et al. 2000"),
    "iforest": Method("classic", "IForest", {}, "isolation forest", "Liu, Ting, Zhou 2012"),
    "centroid": Method("centroid", "Centroid", {}, "cosine or distance to the mean", "one line of algebra"),
    "knn": Method("neighbours", "KNN", {}, "mean distance to k neighbours", "Ramaswamy, Rastogi, Shim 2000"),
    "pca": Method("pca", "PCA", {}, "distance to the principal subspace", "Shyu et al. 2003"),
    "rpca": Method("rpca", "RobustPCA", {}, "principal component pursuit", "Candès et al. 2011"),
    "fms": Method("subspace", "FMS", {}, "fast median subspace", "Lerman, Maunu 2018"),
    "sfms": Method("subspace", "SFMS", {}, "spherical fast median subspace", "Lerman, Maunu 2018"),
    "ste": Method("subspace", "STE", {}, "subspace-constrained Tyler's estimator", "Yu, Zhang, Lerman 2024"),
    "dagmm": Method("dagmm", "DAGMM", {}, "autoencoding Gaussian mixture", "Zong et al. 2018"),
    "dsebm": Method("dsebm", "DSEBM", {}, "deep structured energy-based model", "Zhai et al. 2016"),
    "gt": Method("geometric", "GeometricTransformations", {}, "self-labelled transformations", "Golan, El-Yaniv 2018"),
    "rcae": Method("rcae", "RCAE", {}, "robust convolutional autoencoder", "Chalapathy, Menon, Chawla 2017"),
    "drae": Method("drae", "DRAE", {}, "discriminative reconstruction autoencoder", "Xia et al. 2015"),
    "rda": Method("rda", "RDA", {}, "robust deep autoencoder", "Zhou, Paffenroth 2017"),
}


def detector_class(name: str) -> type[Any]:
    """The class behind a method's name."""
    if name not in METHODS:
        raise ParameterError(f"no method {name!r}; there are: {', '.join(METHODS)}")
    method = METHODS[name]
    cls: type[Any] = getattr(importlib.import_module(f"rsrae.detectors.{method.module}"), method.class_name)
    return cls


def make_detector(name: str, **parameters: Any) -> Any:
    """A detector by the name of its method.

    ``recipe`` ("default", "paper" or "authors") is taken by "rsrae".

    >>> make_detector("ae-1", epochs=5).p
    1.0
    """
    cls = detector_class(name)
    recipe = parameters.pop("recipe", "default")
    given = METHODS[name].parameters | parameters
    if recipe == "default":
        return cls(**given)
    if not hasattr(cls, "from_recipe"):
        raise ParameterError(f"method {name!r} has no recipes; leave recipe out")
    return cls.from_recipe(recipe, **given)
