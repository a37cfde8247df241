"""A member that has no network: a forest that has learned to say what the others say.

The score of a row is part pattern, part accident: how the networks happened to start, which rows happened to be kept
as neighbours. A forest that sees a few columns at a time, and no row alone, learns the pattern. What it says of a row
is what the others say of rows like it: anomalies that have a cause in common, and so values in some columns, confirm
each other. Of a row that breaks a rule between columns it knows nothing; so what it says can raise a score, and not
lower it (docs/decisions/0020-a-forest-that-only-raises.md).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from rsrae.detectors.forest import Forest
from rsrae.networks.batches import Batch
from rsrae.scoring import robust_location_and_spread

MOST_SHOWN = 20_000  # rows that a forest is grown of; drawn at random if there are more
MOST_PER_TREE = 2_000
LARGEST_SHOWN = 20.0  # a score, in median absolute deviations from the median: beyond it a row is only "far out"


class Imitation:
    """Scores a row as other members have scored rows like it.

    Parameters
    ----------
    forest : grown on the first columns of the rows as the networks see them, in single precision.
    n_columns : how many those are.
    importances : how much of what it learned each column explains, ``(columns,)``; a model file does not keep them.
    """

    n_members = 1

    def __init__(self, forest: Forest, n_columns: int, importances: npt.NDArray[np.float64] | None = None) -> None:
        self.forest, self.n_columns, self.importances = forest, n_columns, importances

    @classmethod
    def fit(cls, rows: npt.NDArray[np.float32], scores: Tensor, n_trees: int, seed: int) -> Imitation:
        """Grow the trees on rows and what the other members, together, say of each."""
        from sklearn.ensemble import RandomForestRegressor  # takes a second to import

        location, spread = robust_location_and_spread(scores)
        forest = RandomForestRegressor(
            n_trees,
            min_samples_leaf=2,
            max_features=0.5,
            max_depth=8,
            max_samples=max(1, min(len(rows) // 2, MOST_PER_TREE)),
            random_state=seed,
        )
        forest.fit(rows, ((scores - location) / spread).clamp_max(LARGEST_SHOWN).cpu().numpy())
        trees = Forest.of([tree.tree_ for tree in forest.estimators_], _predictions)
        return cls(trees, rows.shape[1], forest.feature_importances_)

    def for_scoring(self) -> Imitation:
        """What scores many batches."""
        return self

    def errors(self, batch: Batch, scored_by: str) -> Tensor:
        """The score of every row, ``(1, rows)``."""
        rows = batch if isinstance(batch, Tensor) else batch.to_dense()
        columns = rows[0, :, : self.n_columns].to(device="cpu", dtype=torch.float32).numpy()
        return torch.from_numpy(self.forest.mean(columns)).to(rows).unsqueeze(0)


def _predictions(tree: Any) -> npt.NDArray[np.float64]:
    predictions: npt.NDArray[np.float64] = tree.value[:, 0, 0]
    return predictions
