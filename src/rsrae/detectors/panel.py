"""What comes after the networks: who has a say beside them, and how all become one score."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from rsrae.detectors.combination import Combination, Kind
from rsrae.detectors.forest import Forest
from rsrae.detectors.gross import GrossValues
from rsrae.detectors.imitation import Imitation
from rsrae.detectors.middles import Middles
from rsrae.detectors.preprocessed import expect_shape, pack_rows, unpack_rows
from rsrae.detectors.rules import Rules
from rsrae.modelfile import Arrays
from rsrae.networks.company import Company
from rsrae.networks.crowd import Crowd
from rsrae.networks.neighbours import Neighbours

Voter = Neighbours | Crowd | Imitation | Rules | Company | GrossValues | Middles


@dataclass(frozen=True)
class Seats:
    """Who is to have a say.

    Attributes
    ----------
    networks : what each of them stands for.
    dims : the dimension of each of them.
    n_neighbors, n_trees, n_alike : of the neighbours, the forest and the company (of few pictures fewer); of none of
        them, if zero.
    to_each : whether a row is compared with each of its neighbours, or with their mean.
    column_weights : whether columns count by how far they tell what the members say, see
        :mod:`rsrae.detectors.telling`; only with a forest.
    rules : how far what columns foretell of each other raises a score, if they foretell all; if zero, not at all.
    gross_values : whether values far outside the usual range of their column have one.
    trim : share of the rows that neighbours are not sought among: those that the networks find least normal, by the
        kind of network that is strictest with a row; or a function that estimates it from what these say.
    near_middles : whether that is asked of the middles of large groups too, see :mod:`rsrae.detectors.middles`; then
        each dimension counts as a kind of network, and neighbours have more to say.
    crowd : whether that is asked of a crowd of rows instead, which then, among those found normal, has a say of its
        own, see :mod:`rsrae.networks.crowd`; neighbours have more to say then, too.
    """

    networks: tuple[Kind, ...]
    dims: tuple[int, ...]
    n_neighbors: int = 0
    to_each: bool = False
    n_trees: int = 0
    n_alike: int = 0
    column_weights: bool = False
    rules: float = 0.0
    gross_values: bool = False
    trim: float | Callable[[Tensor], float] = 0.0
    near_middles: bool = False
    crowd: bool = False


@dataclass(frozen=True)
class Panel:
    """Made as a whole: whoever is interrupted while a new one is made still has the old one.

    Attributes
    ----------
    combination : makes one score of those of the networks, the neighbours, the crowd, the imitation and the rules, in
        this order.
    neighbours, crowd, imitation, rules : members without a network, or None; the crowd is of the rows that neighbours
        are sought among.
    company : evens out the combined score, or None.
    gross : adds to the combined score, or None.
    weights : how much the values of a row count for networks, neighbours and rules, as these see it, ``(width,)``, or
        None.
    """

    combination: Combination
    neighbours: Neighbours | None = None
    crowd: Crowd | None = None
    imitation: Imitation | None = None
    rules: Rules | None = None
    company: Company | None = None
    gross: GrossValues | None = None
    weights: Tensor | None = None

    @property
    def members(self) -> Sequence[Neighbours | Crowd | Imitation | Rules]:
        """Those that are there, in the order of their scores."""
        found = (self.neighbours, self.crowd, self.imitation, self.rules)
        return [member for member in found if member is not None]

    @property
    def correctors(self) -> Sequence[Company | GrossValues]:
        """Those whose scores come behind, for ``correct``."""
        return [part for part in (self.company, self.gross) if part is not None]

    def correct(self, combined: Tensor, scores: Tensor) -> Tensor:
        """The combined scores of some rows, ``(rows,)``, with what the correctors say of them."""
        if self.company is not None:
            combined = Company.even_out(combined, scores[: Company.n_members])
        return combined if self.gross is None else combined + scores[-1]

    def arrays(self) -> Arrays:
        """Everything learned, for the model file."""
        arrays = self.combination.arrays()
        if self.neighbours is not None:
            arrays |= _packed("neighbours.rows", self.neighbours.rows)
        if self.crowd is not None:
            arrays["crowd.ranks"] = np.array(self.crowd.ranks)
        if self.imitation is not None:
            arrays |= {f"forest.{name}": array for name, array in self.imitation.forest.arrays().items()}
        if self.rules is not None:
            arrays |= self.rules.arrays()
        if self.company is not None:
            arrays |= _packed("company.rows", self.company.rows)
            arrays["company.scores"] = self.company.scores.cpu().numpy()
            arrays["company.k"] = np.array([self.company.k])
        if self.gross is not None:
            arrays |= self.gross.arrays()
        if self.weights is not None:
            arrays["columns.weights"] = self.weights.cpu().numpy()
        return arrays

    @classmethod
    def restore(cls, arrays: Arrays, seats: Seats, *, n_columns: int, is_tame: bool, width: int, device: str) -> Self:
        """Undo ``arrays``; a ValueError if they are not what the numbers say.

        ``n_columns`` are those of the table, ``is_tame`` says whether they come tamed; ``width`` is that of a row as
        the networks see it.
        """
        neighbours = crowd = imitation = rules = company = gross = weights = None
        if seats.column_weights:
            weights = torch.from_numpy(expect_shape("columns.weights", arrays["columns.weights"], (width,))).to(device)
            if not (weights.is_floating_point() and bool((weights > 0).all() and weights.isfinite().all())):
                raise ValueError("the weights of columns must be above zero")
        if seats.n_neighbors > 0:
            rows = _unpacked("neighbours.rows", arrays, width, device)
            neighbours = Neighbours(rows, seats.n_neighbors, to_each=seats.to_each, weights=weights)
            if seats.crowd:
                ranks = expect_shape("crowd.ranks", arrays["crowd.ranks"], (2,))
                if ranks.dtype.kind != "i" or not 0 <= ranks[0] < ranks[1] < rows.shape[0]:
                    raise ValueError(f"a crowd of {rows.shape[0]} rows has no ranks {ranks.tolist()}")
                crowd = Crowd(rows, (int(ranks[0]), int(ranks[1])))
        if seats.n_trees > 0:
            named = {name.removeprefix("forest."): array for name, array in arrays.items()}
            imitation = Imitation(Forest.restore(named, n_columns), n_columns)
        if seats.rules > 0:
            of_columns = None if weights is None else weights[:n_columns]
            rules = Rules.restore(arrays, n_columns, weights=of_columns, device=device)
        if seats.n_alike > 0:
            rows = _unpacked("company.rows", arrays, width, device)
            scores = expect_shape("company.scores", arrays["company.scores"], (rows.shape[0],))
            (k,) = expect_shape("company.k", arrays["company.k"], (1,))
            if k.dtype.kind != "i" or not 1 <= k <= seats.n_alike:
                raise ValueError(f"an item cannot be evened out with {k} others of at most {seats.n_alike}")
            company = Company(rows, torch.from_numpy(scores), int(k))
        if seats.gross_values:
            gross = GrossValues.restore(arrays, n_columns, is_tame=is_tame, device=device)
        n_scores = len(seats.networks) + sum(one is not None for one in (neighbours, crowd, imitation, rules))
        combination = Combination.restore(
            arrays, n_scores, has_imitation=imitation is not None, has_rules=rules is not None
        )
        return cls(combination, neighbours, crowd, imitation, rules, company, gross, weights)


def _packed(name: str, rows: Tensor | sp.csr_array) -> Arrays:
    return pack_rows(name, rows.cpu().numpy() if isinstance(rows, Tensor) else rows)


def _unpacked(name: str, arrays: Arrays, width: int, device: str) -> Tensor | sp.csr_array:
    rows = unpack_rows(name, arrays, width)
    if rows.shape[0] < 2 or rows.dtype.kind != "f":
        raise ValueError(f"{name} must be two at least, and not whole numbers")
    return rows if sp.issparse(rows) else torch.from_numpy(rows).to(device)
