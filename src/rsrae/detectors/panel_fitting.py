"""Making a panel: those who have a say beside the networks are chosen and taught by what the networks say."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from rsrae.detectors.base import Rows
from rsrae.detectors.combination import CHOSEN_NEIGHBOURS, Combination, Kind, Scores
from rsrae.detectors.gross import GrossValues
from rsrae.detectors.imitation import MOST_SHOWN, Imitation
from rsrae.detectors.middles import Middles
from rsrae.detectors.panel import Panel, Seats, Voter
from rsrae.detectors.rules import Rules
from rsrae.detectors.telling import column_weights
from rsrae.networks.company import Company, most_alike
from rsrae.networks.crowd import Crowd, ranks_in_band
from rsrae.networks.neighbours import Neighbours
from rsrae.networks.rows import DenseRows
from rsrae.preprocessing import Preprocessor
from rsrae.scoring import LogLengths, standardised

MOST_KEPT = 1_000  # rows among which neighbours are sought; drawn at random if more fit well
MOST_KEPT_VALUES = 2**24  # of dense rows: large pictures are kept in smaller numbers
GROUPINGS_AT_ONCE = 3  # that are asked about all rows: what one says of a million is large
MOST_LOOKED_AT = 5_000  # rows that middles and rules are found by
# What all members say together tells better than networks and middles alone which rows are normal: fewer are left out.
LEFT_OUT_AGAIN = 0.75  # of those left out the first time


class PanelFitting:
    """Makes the panel of one training set.

    Parameters
    ----------
    seats : who is to have a say.
    X : the rows, as the user gave them; the preprocessor makes of them what the networks see.
    by_networks : the scores of these rows by the networks, ``(networks, rows)``, given the weights of the values of a
        row, if they have any.
    score_by : the scores of these rows by members that have no network, ``(members, rows)``.
    """

    def __init__(
        self,
        seats: Seats,
        X: Rows,
        preprocessor: Preprocessor,
        by_networks: Callable[[Tensor | None], Tensor],
        score_by: Callable[[Sequence[Voter]], Tensor],
        *,
        generator: torch.Generator,
        device: str,
    ) -> None:
        self.seats, self.X, self.preprocessor = seats, X, preprocessor
        self.by_networks, self.score_by = by_networks, score_by
        self.generator, self.device = generator, device

    def fit(self, lengths: LogLengths | None) -> tuple[Panel, Tensor]:
        """The panel, and what it says of the rows; ``lengths`` are those of documents, if they are to be levelled."""
        rules = None
        if self.seats.rules > 0:
            rules = Rules.fit(self._columns(self._some(torch.arange(self.X.shape[0]), MOST_LOOKED_AT)))
        panel, combined, heard = self._ask(rules, None, lengths)
        if self.seats.column_weights:
            weights = self._weights(panel)
            rows = None if heard is None else self._normal_rows(_strictest([heard, combined]), LEFT_OUT_AGAIN)
            del panel, combined, heard  # what is said of a million rows is large
            panel, combined, _ = self._ask(rules, weights, lengths, rows)
        company = gross = None
        if self.seats.n_alike > 0:
            shown = self._some(torch.arange(self.X.shape[0]), MOST_KEPT)
            company = self._company(self._flat_rows(shown), combined.cpu()[shown])
        if self.seats.gross_values:
            shown = torch.arange(0, self.X.shape[0], -(-self.X.shape[0] // MOST_SHOWN))
            gross = GrossValues.fit(self._columns(shown), combined, is_tame=self.preprocessor.tame)
        panel = replace(panel, company=company, gross=gross)
        if panel.correctors:
            combined = panel.correct(combined, self.score_by(panel.correctors).double())
        return panel, combined

    def _ask(
        self,
        rules: Rules | None,
        weights: Tensor | None,
        lengths: LogLengths | None,
        rows: Tensor | sp.csr_array | None = None,
    ) -> tuple[Panel, Tensor, Tensor | None]:
        """A panel whose members have been chosen and taught one after another, what they say together, and how strange
        rows were when neighbours were chosen.

        ``rows`` are those neighbours are sought among, if there was a panel before this one that has chosen them.
        """
        scores = list(self.by_networks(weights))
        kinds = list(self.seats.networks)
        heard = neighbours = crowd = imitation = None
        if self.seats.n_neighbors > 0:
            if rows is None:
                heard = self._by_crowd(lengths) if self.seats.crowd else self._first_heard(scores, lengths)
                rows = self._normal_rows(heard)
            neighbours = Neighbours(rows, self.seats.n_neighbors, to_each=self.seats.to_each, weights=weights)
            scores += self.score_by([neighbours])
            kinds.append("neighbours")
            if self.seats.crowd and heard is not None:
                share = self._n_normal(heard) / self.X.shape[0]
                crowd = Crowd(rows, ranks_in_band(rows.shape[0], share))
                scores += self.score_by([crowd])
                kinds.append("crowd")
        combination = self._combination(scores, lengths, kinds)
        if self.seats.n_trees > 0:
            imitation = self._imitation(combination(scores, lengths))
            scores += self.score_by([imitation])
            kinds.append("imitation")
            combination = self._combination(scores, lengths, kinds)
        if rules is not None:
            rules = replace(rules, weights=None if weights is None else weights[: self.X.shape[1]])
            scores += self.score_by([rules])
            kinds.append("rules")
            combination = self._combination(scores, lengths, kinds, of_rules=self.seats.rules * rules.reach)
        panel = Panel(combination, neighbours, crowd, imitation, rules, weights=weights)
        return panel, combination(scores, lengths), heard

    def _combination(
        self, scores: Scores, lengths: LogLengths | None, kinds: Sequence[Kind], *, of_rules: float = 0.0
    ) -> Combination:
        of_neighbours = CHOSEN_NEIGHBOURS if self.seats.near_middles or self.seats.crowd else 1.0
        return Combination.fit(scores, lengths, kinds, of_neighbours=of_neighbours, of_rules=of_rules)

    def _first_heard(self, scores: Scores, lengths: LogLengths | None) -> Tensor:
        """How strange rows are before there are neighbours: as strange as the strictest kind of member finds them.

        Whoever has room for some anomalies, and lets them in as neighbours, is not overruled later: they vouch for each
        other. So a row must be normal to all kinds (docs/decisions/0024-normal-to-all.md), and of a table to subspaces
        of all dimensions (0025-tables-as-they-are.md).
        """
        if not self.seats.near_middles:
            return _strictest(_by_group(scores, lengths, self.seats.networks))
        # Where several kinds of rows are normal a point doubts most of them; it is asked only if there is nobody else.
        dims = self.seats.dims
        by_networks = _strictest(_by_group(scores, lengths, [d or None for d in dims] if any(dims) else dims))
        return _strictest([by_networks, self._by_middles()])

    def _by_crowd(self, lengths: LogLengths | None) -> Tensor:
        """How strange rows are to a crowd of all rows, evened out: nobody else is asked which may be neighbours."""
        shown = self._some(torch.arange(self.X.shape[0]), MOST_KEPT)
        rows = self._flat_rows(shown)
        scores = self.score_by([Crowd(rows, ranks_in_band(rows.shape[0], 1.0))])
        combined = Combination.fit(scores, lengths)(scores, lengths)
        if self.seats.n_alike == 0:
            return combined
        company = self._company(rows, combined.cpu()[shown])
        return Company.even_out(combined, self.score_by([company]).double())

    def _company(self, rows: Tensor | sp.csr_array, scores: Tensor) -> Company:
        k = self.seats.n_alike if self.X.ndim == 2 else most_alike(self.seats.n_alike, self.X.shape[0])
        return Company(rows, scores, k)

    def _by_middles(self) -> Tensor:
        shown = self._some(torch.arange(self.X.shape[0]), MOST_LOOKED_AT)
        groupings = Middles.fit(self._dense_rows(shown), self.generator).groupings
        combined = torch.zeros(self.X.shape[0], dtype=torch.float64, device=self.device)
        for first in range(0, len(groupings), GROUPINGS_AT_ONCE):
            for of_one in self.score_by([Middles(groupings[first : first + GROUPINGS_AT_ONCE])]):
                combined += standardised(of_one) / len(groupings)
        return combined

    def _weights(self, panel: Panel) -> Tensor:
        assert panel.imitation is not None
        assert panel.imitation.importances is not None
        of_columns = column_weights(panel.imitation.importances)
        return torch.from_numpy(self.preprocessor.for_ranks_too(of_columns)).to(self.device)

    def _normal_rows(self, scores: Tensor, part: float = 1.0) -> Tensor | sp.csr_array:
        """The rows that score lowest (but this part of ``trim``), at most 1,000 of them, preprocessed and flat."""
        normal = scores.argsort(stable=True)[: self._n_normal(scores, part)].cpu()
        return self._flat_rows(self._some(normal, MOST_KEPT))

    def _n_normal(self, scores: Tensor, part: float = 1.0) -> int:
        share = self.seats.trim if isinstance(self.seats.trim, float) else self.seats.trim(scores)
        return max(2, round((1 - part * share) * len(scores)))

    def _imitation(self, scores: Tensor) -> Imitation:
        shown = torch.randperm(self.X.shape[0], generator=self.generator)[:MOST_SHOWN].sort().values
        seed = int(torch.randint(2**31 - 1, (), generator=self.generator))
        return Imitation.fit(self._columns(shown).cpu().numpy(), scores.cpu()[shown], self.seats.n_trees, seed)

    def _some(self, numbers: Tensor, most: int) -> Tensor:
        """At most so many of these rows, fewer if they are long, drawn at random; in order."""
        if not sp.issparse(self.X):
            most = min(most, max(2, MOST_KEPT_VALUES // math.prod(self.preprocessor.shape(self.X.shape[1:]))))
        if len(numbers) > most:
            numbers = numbers[torch.randperm(len(numbers), generator=self.generator)[:most]]
        return numbers.sort().values

    def _flat_rows(self, numbers: Tensor) -> Tensor | sp.csr_array:
        """Rows by number, preprocessed and flat."""
        if isinstance(self.X, sp.csr_array):
            return self.preprocessor.apply_sparse(self.X[numbers.numpy()].astype(np.float64))
        return self._dense_rows(numbers)

    def _columns(self, numbers: Tensor) -> Tensor:
        """Rows of a table by number, preprocessed; without the ranks of the columns."""
        return self._dense_rows(numbers)[:, : self.X.shape[1]]

    def _dense_rows(self, numbers: Tensor) -> Tensor:
        rows: Any = self.X[numbers.numpy()]
        blocks = DenseRows(rows, self.preprocessor, device=self.device, cache=False, even=True).blocks()
        return torch.cat([block[0].flatten(start_dim=1) for block in blocks])[: len(numbers)]


def _by_group(scores: Scores, lengths: LogLengths | None, groups: Sequence[str | int | None]) -> Iterator[Tensor]:
    """What the networks of each group say together; those of None are not asked."""
    for group in dict.fromkeys(groups):
        if group is not None:
            its_scores = [of_one for of_one, its_group in zip(scores, groups, strict=True) if its_group == group]
            yield Combination.fit(its_scores, lengths)(its_scores, lengths)


def _strictest(each: Iterable[Tensor]) -> Tensor:
    """What the one says of a row that finds it strangest, ``(rows,)``; of one alone, what it says."""
    first, *others = itertools.islice(each := iter(each), 2)
    if not others:
        return first
    # One after another: what is said of a million rows is large.
    return functools.reduce(torch.maximum, map(standardised, itertools.chain([first], others, each)))
