"""How the scores of several members become one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Self

import torch
from torch import Tensor

from rsrae.modelfile import Arrays
from rsrae.scoring import LengthTrend, LogLengths, robust_location_and_spread

Kind = Literal["point", "subspace", "neighbours", "crowd", "imitation", "rules"]
# How much more neighbours say than others, where they were chosen with care (docs/decisions/0019-middles.md).
CHOSEN_NEIGHBOURS = 3.0
EVERYTHING = -torch.finfo(torch.float32).max  # is undisputed; a model file holds finite numbers only
Scores = Tensor | Sequence[Tensor]  # of each member, ``(rows,)``; of a million rows they are large, so no copy is made


@dataclass(frozen=True)
class Combination:
    """Lengths of documents levelled (if wanted), scores brought to one scale, and averaged.

    Attributes
    ----------
    location, spread : what is taken off and divided by, ``(members,)``; 0 and 1 for a single member, whose scores stay
        distances.
    weights : of the members, ``(members,)``; they add up to one, without that of the rules.
    trend : what the length of a document explains, or None.
    undisputed : what the other members find further out than this, an imitation (which comes behind them) cannot talk
        down. As it is learned it can talk nothing down (``EVERYTHING``): it knows what anomalies have in common that
        single columns tell, and nothing of one that is alone or breaks a rule between columns. None: there is no
        imitation.
    has_rules : whether the last member are rules between columns, which raise what all others say of a row, and never
        lower it: what breaks no rule may be strange in any other way.
    """

    location: Tensor
    spread: Tensor
    weights: Tensor
    trend: LengthTrend | None = None
    undisputed: float | None = None
    has_rules: bool = False

    @classmethod
    def fit(
        cls,
        scores: Scores,
        lengths: LogLengths | None,
        kinds: Sequence[Kind] | None = None,
        *,
        of_neighbours: float = 1.0,
        of_rules: float = 0.0,
    ) -> Self:
        """Learn from the scores of the training rows, ``(members, rows)``, and their lengths, if they are documents.

        ``kinds`` says what each member is; left out, all are of one kind. Neighbours have ``of_neighbours`` times the
        say of any other kind; where rules say more of a row than the others do, it has ``of_rules`` of the difference.
        """
        trend = None
        if lengths is not None:
            scores = _as_matrix(scores)
            trend = LengthTrend.fit(scores, lengths)
            scores = trend.remove(scores, lengths)
        device = scores[0].device
        said = _weights(kinds or ["subspace"] * len(scores), of_neighbours, of_rules)
        weights = torch.tensor(said, dtype=torch.float64, device=device)
        if len(scores) == 1:
            return cls(torch.zeros_like(weights), torch.ones_like(weights), weights, trend)
        # One after another: a median takes twice the memory of what it is of.
        each = [robust_location_and_spread(of_one.double()) for of_one in scores]
        location, spread = (torch.stack(parts) for parts in zip(*each, strict=True))
        undisputed = EVERYTHING if "imitation" in (kinds or []) else None
        return cls(location, spread, weights, trend, undisputed, "rules" in (kinds or []))

    def __call__(self, scores: Scores, lengths: LogLengths | None) -> Tensor:
        """One score a row, ``(members, rows) -> (rows,)``."""
        if self.trend is not None and lengths is not None:
            scores = self.trend.remove(_as_matrix(scores), lengths)
        combined = self._averaged(scores)
        return combined + self._raised(scores, combined) if self.has_rules else combined

    def is_raised(self, scores: Scores) -> Tensor:
        """Which rows of a table have a higher score by the rules, ``(members, rows) -> (rows,)``."""
        return self._raised(scores, self._averaged(scores)) > 0

    def _averaged(self, scores: Scores) -> Tensor:
        """What all members but the rules say."""
        weights = self.weights.to(scores[0].device)
        combined = torch.zeros_like(scores[0], dtype=torch.float64)
        n_averaged = len(scores) - self.has_rules
        # One after another: how a sum over members is vectorised depends on the number of rows.
        for k in range(n_averaged):
            standardised = self._standardised(scores, k)
            if self.undisputed is not None and k == n_averaged - 1:
                by_others = combined / (1 - weights[k])
                standardised += (by_others - standardised.clamp_min(self.undisputed)).clamp_min_(0)
            combined += standardised.mul_(weights[k])
        return combined

    def _raised(self, scores: Scores, averaged: Tensor) -> Tensor:
        return (self._standardised(scores, -1) - averaged).clamp_min_(0) * self.weights[-1].to(averaged)

    def _standardised(self, scores: Scores, k: int) -> Tensor:
        of_one = scores[k].double()
        return (of_one - self.location[k].to(of_one)).div_(self.spread[k].to(of_one))

    def arrays(self) -> Arrays:
        """Everything learned, for the model file."""
        arrays = {"location": self.location, "spread": self.spread, "weights": self.weights}
        if self.trend is not None:
            arrays |= {
                "slopes": self.trend.slopes,
                "lengths": torch.tensor([*self.trend.usual, self.trend.center], dtype=torch.float64),
            }
        if self.undisputed is not None:
            arrays["undisputed"] = torch.tensor([self.undisputed], dtype=torch.float64)
        return {f"members.{name}": values.cpu().numpy() for name, values in arrays.items()}

    @classmethod
    def restore(cls, arrays: Arrays, n_members: int, *, has_imitation: bool = False, has_rules: bool = False) -> Self:
        """Undo ``arrays``; a ValueError if they are not for this many members, among them an imitation, or rules."""
        names = ["location", "spread", "weights", *(["slopes"] if "members.slopes" in arrays else [])]
        found = {name: torch.from_numpy(arrays[f"members.{name}"]) for name in names}
        if any(values.shape != (n_members,) for values in found.values()) or not (found["spread"] > 0).all():
            raise ValueError(f"the scores of {n_members} members cannot be combined with what the file holds")
        trend = None
        if "slopes" in found:
            low, high, center = (float(length) for length in arrays["members.lengths"])
            trend = LengthTrend((low, high), center, found["slopes"])
        undisputed = float(arrays["members.undisputed"].item()) if has_imitation else None
        if undisputed is not None and math.isnan(undisputed):
            raise ValueError(f"an imitation cannot be held to {undisputed}")
        return cls(found["location"], found["spread"], found["weights"], trend, undisputed, has_rules)


def _as_matrix(scores: Scores) -> Tensor:
    return (scores if isinstance(scores, Tensor) else torch.stack(list(scores))).double()


def _weights(kinds: Sequence[Kind], of_neighbours: float, of_rules: float) -> list[float]:
    """What is normal lies near a point, near a subspace, in a crowd or near its like. Nobody knows which is the case,
    so each kind has the same say (neighbours that were chosen with more care: more), however many members it has; and
    what imitates all of these as much as they have together. Rules come on top.
    """
    own = {"imitation": 0.5, "rules": of_rules}
    say = {kind: of_neighbours if kind == "neighbours" else 1.0 for kind in kinds if kind not in own}
    of_all = (0.5 if "imitation" in kinds else 1.0) / sum(say.values())
    return [own[kind] if kind in own else of_all * say[kind] / kinds.count(kind) for kind in kinds]
