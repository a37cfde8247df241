"""How far a row of a table is from the middle of any large group of rows.

It says which rows not to trust when neighbours are sought (docs/decisions/0019-middles.md, 0024-normal-to-all.md).
Anomalies that lie together are each other's neighbours, and a network that has room for them reproduces them, so
neither finds them strange. But they are few: where rows are put in groups, theirs is none of the large ones. Grouping
is partly chance, so it is done several times.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from rsrae.networks.batches import Batch, SparseBatch
from rsrae.scoring import distance

N_GROUPS = 16
N_GROUPINGS = 9
FEWEST_ROWS = 20  # of a group, on average
LARGE = 0.7  # share of the rows that the largest groups, together, hold at least
ROUNDS = 30  # of k-means, at most


class Middles:
    """Scores a row by its distance to the nearest of some points, once for every grouping.

    Parameters
    ----------
    groupings : the middles of the large groups of each, ``(groups, m)``.

    Examples
    --------
    >>> groupings = [torch.tensor([[0.0], [4.0]]), torch.tensor([[1.0]])]
    >>> Middles(groupings).errors(torch.tensor([[[0.5], [9.0]]]), "manhattan")
    tensor([[0.5000, 5.0000],
            [0.5000, 8.0000]])
    """

    def __init__(self, groupings: Sequence[Tensor]) -> None:
        self.groupings = list(groupings)
        self.n_members = len(self.groupings)

    @classmethod
    def fit(cls, rows: Tensor, generator: torch.Generator, n_groups: int = N_GROUPS) -> Middles:
        """Group the rows, ``(n, m)``, several times, and take the medians of the largest groups."""
        groupings = (grouped(rows.double(), generator, n_groups) for _ in range(N_GROUPINGS))
        return cls([_medians_of_large(rows, groups) for groups in groupings])

    def for_scoring(self) -> Middles:
        """What scores many batches."""
        return self

    def errors(self, batch: Batch, scored_by: str) -> Tensor:
        """The score of every row by every grouping, ``(groupings, rows)``."""
        x = (batch.to_dense() if isinstance(batch, SparseBatch) else batch)[0].flatten(start_dim=1)
        return torch.stack([self._errors(x, middles.to(x), scored_by) for middles in self.groupings])

    @staticmethod
    def _errors(x: Tensor, middles: Tensor, scored_by: str) -> Tensor:
        return distance(x, middles[_apart(x, middles).argmin(dim=1)], scored_by, in_place=True)


def grouped(rows: Tensor, generator: torch.Generator, n_groups: int = N_GROUPS) -> Tensor:
    """The number of each row's group, by k-means; the first centres are drawn far from each other (k-means++).

    There are fewer groups than wanted if rows are few, or the same.

    >>> rows = torch.tensor([[0.0], [9.0]]).repeat(20, 1)
    >>> of_zeros, of_nines = grouped(rows, torch.Generator().manual_seed(0)).view(20, 2).T
    >>> len(of_zeros.unique()), len(of_nines.unique()), bool(of_zeros[0] == of_nines[0])
    (1, 1, False)
    """
    n_groups = max(1, min(n_groups, len(rows) // FEWEST_ROWS))
    drawn = torch.randint(len(rows), (1,), generator=generator)
    centres = rows[drawn]
    nearest = _apart(rows, centres)[:, 0]
    while len(centres) < n_groups and bool((nearest > 0).any()):
        drawn = torch.multinomial(nearest.cpu(), 1, generator=generator)
        centres = torch.cat([centres, rows[drawn]])
        nearest = torch.minimum(nearest, _apart(rows, rows[drawn])[:, 0])
    groups = _apart(rows, centres).argmin(dim=1)
    for _ in range(ROUNDS):
        counts = groups.bincount(minlength=len(centres)).unsqueeze(1)
        sums = torch.zeros_like(centres).index_add_(0, groups, rows)
        centres = torch.where(counts > 0, sums / counts.clamp_min(1), centres)
        before, groups = groups, _apart(rows, centres).argmin(dim=1)
        if torch.equal(before, groups):
            break
    return groups


def _medians_of_large(rows: Tensor, groups: Tensor) -> Tensor:
    sizes, by_size = groups.bincount().sort(descending=True, stable=True)
    n_large = 1 + int((sizes.cumsum(0) < LARGE * len(rows)).sum())
    return torch.stack([rows[groups == group].median(dim=0).values for group in by_size[:n_large]])


def _apart(rows: Tensor, points: Tensor) -> Tensor:
    """Squared distances, ``(rows, points)``."""
    products = torch.addmm(points.square().sum(dim=1), rows, points.T, alpha=-2)
    return (products + rows.square().sum(dim=1, keepdim=True)).clamp_min_(0)
