"""A cell: one method on one trial, the unit of work of every experiment."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from rsrae.paper import datasets
from rsrae.paper.protocol import OutlierChoice, Recipe

CODE_VERSIONS: dict[Recipe, int] = {"paper": 1, "authors": 1, "default": 2}
"""Raised by hand whenever a change makes a recipe's results differ: cells of an older version are computed anew."""

TABLE_VERSIONS: dict[Recipe, int] = {**CODE_VERSIONS, "paper": 2, "default": 4}
"""The same for the ADBench tables alone."""

OWN_VERSIONS: dict[str, dict[str, int]] = {
    "rsrae": {"table": 14, "features": 8, "documents": 8, "images": 4},
    "rsrae-views": {"images": 3},
}
"""The same for our defaults, and not for the methods that see the data as they do, by the kind of the data."""

Value = int | float | str | None


@dataclass(frozen=True)
class Cell:
    """One method on one trial.

    Attributes
    ----------
    experiment : the experiment it belongs to.
    data : a data set of `rsrae.paper.datasets`.
    method : a detector of `rsrae.detectors.make_detector`.
    recipe : which preprocessing, and for the RSRAE family which settings.
    classes : the normal class or classes; empty where the data has outliers of its own.
    c : outliers per inlier; None where the data has outliers of its own.
    seed : of the draw of outliers and of the method.
    outliers : "random" or "first".
    params : further parameters of the method, sorted by name.

    Examples
    --------
    >>> cell = Cell("main", "reuters", "lof", "paper", (0,), 0.5, seed=1)
    >>> cell.id == Cell.from_row({**cell.as_row(), "auc": 0.7}).id
    True
    """

    experiment: str
    data: str
    method: str
    recipe: Recipe
    classes: tuple[int, ...]
    c: float | None
    seed: int
    outliers: OutlierChoice = "random"
    params: tuple[tuple[str, Value], ...] = ()

    @property
    def id(self) -> str:
        """A short name that two cells share only if they are the same work by the same code."""
        key = json.dumps({**self.as_row(), "code_version": self.code_version}, sort_keys=True)
        return hashlib.sha256(key.encode()).hexdigest()[:16]

    @property
    def code_version(self) -> int:
        """The version of the code that would compute the cell now."""
        return _code_version(self.recipe, self.data, self.method)

    def as_row(self) -> dict[str, Any]:
        """Return the fields as plain JSON values."""
        row = {field.name: getattr(self, field.name) for field in fields(self)}
        return row | {"classes": list(self.classes), "params": dict(self.params)}

    @staticmethod
    def from_row(row: Mapping[str, Any]) -> Cell:
        """Rebuild the cell that a row of a results file came from."""
        values = {field.name: row[field.name] for field in fields(Cell)}
        values["classes"] = tuple(values["classes"])
        values["params"] = tuple(sorted(values["params"].items()))
        return Cell(**values)


def is_current(row: Mapping[str, Any]) -> bool:
    """Whether a row of a results file was computed by the present code."""
    return bool(row["code_version"] == _code_version(row["recipe"], row["data"], row["method"]))


def _code_version(recipe: Recipe, data: str, method: str) -> int:
    if recipe == "default" and method in OWN_VERSIONS:
        return OWN_VERSIONS[method][datasets.info(data).kind]
    return (TABLE_VERSIONS if data.startswith("adbench/") else CODE_VERSIONS)[recipe]
