from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from rsrae import RSRAE
from rsrae.detectors import panel_fitting
from rsrae.detectors.combination import Kind
from rsrae.detectors.middles import N_GROUPINGS, Middles
from rsrae.detectors.panel import Panel, Seats, Voter
from rsrae.detectors.panel_fitting import GROUPINGS_AT_ONCE, LEFT_OUT_AGAIN, PanelFitting
from rsrae.preprocessing import Preprocessor
from rsrae.scoring import standardised

UNSCALED = Preprocessor(np.zeros(1), np.ones(1), tame=False, unit_norm=True)


def unit_rows(rng: np.random.Generator) -> np.ndarray:
    X = rng.normal(size=(10, 6)).astype(np.float32)
    return X / np.linalg.norm(X, axis=1, keepdims=True)


def panel_of(X: np.ndarray, networks: tuple[Kind, ...], said: np.ndarray, *dims: int) -> Panel:
    """The panel of a training set of which the networks say this, with 40 % of the rows left out.

    With dimensions of the networks: near the middles of large groups.
    """

    def score_by(voters: Sequence[Voter]) -> Tensor:
        return torch.cat([voter.errors(torch.from_numpy(X)[None], "cosine") for voter in voters])

    fitting = PanelFitting(
        Seats(networks, dims or (4,) * len(networks), n_neighbors=2, trim=0.4, near_middles=bool(dims)),
        X,
        UNSCALED,
        lambda weights: torch.from_numpy(said),
        score_by,
        generator=torch.Generator().manual_seed(0),
        device="cpu",
    )
    return fitting.fit(None)[0]


@pytest.mark.parametrize("strict", ["point", "subspace"])
def test_a_row_is_no_neighbour_unless_every_kind_finds_it_normal(strict: str, rng: np.random.Generator) -> None:
    """The first four rows lie far out for one kind, and are the most usual of all for the other."""
    X = unit_rows(rng)
    usual, strange = (np.concatenate([np.full(4, first), np.linspace(1, 2, 6)]) for first in (-4.0, 5.0))
    of_point, of_subspaces = (strange, usual) if strict == "point" else (usual, strange)
    panel = panel_of(X, ("point", "subspace", "subspace"), np.stack([of_point, of_subspaces, of_subspaces]))
    assert panel.neighbours is not None
    torch.testing.assert_close(panel.neighbours.rows, torch.from_numpy(X[4:]))


@pytest.mark.parametrize("strict", [2, 4])
def test_a_row_of_a_table_is_no_neighbour_unless_subspaces_of_every_dimension_find_it_normal(
    strict: int, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One network of two of one dimension finds the first four rows strange; a point finds the last four strange."""
    monkeypatch.setattr(PanelFitting, "_by_middles", lambda fitting: torch.zeros(10, dtype=torch.float64))
    X = unit_rows(rng)
    level = np.linspace(1, 2, 10)
    strange, usual, of_point = level.copy(), level.copy(), level.copy()
    strange[:4], usual[:4], of_point[-4:] = 9, 0, 9
    dims = (0, 2, 4, 2, 4)
    said = [of_point if d == 0 else strange if place == dims.index(strict) else usual for place, d in enumerate(dims)]
    panel = panel_of(X, ("subspace",) * 5, np.stack(said), *dims)
    assert panel.neighbours is not None
    torch.testing.assert_close(panel.neighbours.rows, torch.from_numpy(X[4:]))


def test_points_alone_choose_rows_of_a_table_too(rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PanelFitting, "_by_middles", lambda fitting: torch.zeros(10, dtype=torch.float64))
    X = unit_rows(rng)
    panel = panel_of(X, ("subspace",) * 2, np.stack([np.arange(10.0)] * 2), 0, 0)
    assert panel.neighbours is not None
    torch.testing.assert_close(panel.neighbours.rows, torch.from_numpy(X[:6]))


def test_networks_of_one_kind_choose_by_what_they_say_together(rng: np.random.Generator) -> None:
    X = unit_rows(rng)
    said = rng.normal(size=(3, 10))
    # Of an even number of rows the lower of the two in the middle is taken.
    location = torch.from_numpy(said).median(dim=1, keepdim=True).values.numpy()
    each = said - location
    spread = torch.from_numpy(abs(each)).median(dim=1, keepdim=True).values.numpy()
    kept = np.sort((each / spread).mean(axis=0).argsort()[:6])
    panel = panel_of(X, ("subspace",) * 3, said)
    assert panel.neighbours is not None
    torch.testing.assert_close(panel.neighbours.rows, torch.from_numpy(X[kept]))


def test_middles_are_asked_a_few_groupings_at_a_time(rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    errors = Middles.errors

    def noted(self: Middles, *batch: Any) -> Tensor:
        asked.append(self.n_members)
        return errors(self, *batch)

    monkeypatch.setattr(Middles, "errors", noted)
    X = rng.normal(size=(200, 4))
    first = RSRAE(epochs=1, random_state=0).fit(X).anomaly_score(X)
    assert max(asked) <= GROUPINGS_AT_ONCE
    assert sum(asked) == N_GROUPINGS  # 200 rows are one block
    monkeypatch.setattr(panel_fitting, "GROUPINGS_AT_ONCE", N_GROUPINGS)
    np.testing.assert_array_equal(RSRAE(epochs=1, random_state=0).fit(X).anomaly_score(X), first)


def test_a_row_that_was_strange_the_first_time_is_so_the_second_time(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard: list[tuple[Tensor, float]] = []
    normal_rows = PanelFitting._normal_rows

    def noted(self: PanelFitting, scores: Tensor, part: float = 1.0) -> Any:
        heard.append((scores, part))
        return normal_rows(self, scores, part)

    monkeypatch.setattr(PanelFitting, "_normal_rows", noted)
    RSRAE(epochs=1, random_state=0).fit(rng.normal(size=(200, 4)))
    (first, all_left_out), (second, part) = heard
    assert (all_left_out, part) == (1.0, LEFT_OUT_AGAIN)
    assert (second >= standardised(first)).all()
    assert (second > standardised(first)).any()  # what all members said has a say as well
