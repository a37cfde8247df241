"""RDA: Zhou and Paffenroth, "Anomaly Detection with Robust Deep Autoencoders", KDD 2017."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from sklearn.utils.validation import check_is_fitted
from torch import Tensor

from rsrae.detectors.autoencoders import AutoencoderDetector
from rsrae.detectors.base import check_choice, check_count, check_number
from rsrae.detectors.decomposition import PENALTIES, Splitter, decomposition_step, to_dense
from rsrae.detectors.neural import to_numpy
from rsrae.detectors.panel import Voter
from rsrae.networks.batches import Batch
from rsrae.networks.network import Network, Scorer
from rsrae.scoring import distance
from rsrae.training import Step


class RDA(AutoencoderDetector):
    """Robust deep autoencoder (Zhou and Paffenroth 2017): ``X = L + S``, L for the autoencoder, S sparse.

    A row's score is the distance between the row itself and the reconstruction of its clean part, ``||x -
    AE(x - s)||`` (or the cosine distance of the two, see ``score``). New rows are split first, as those in
    training are: the score is the same function of a row in both. Scoring the clean part instead would hide
    exactly what was taken out.

    Parameters
    ----------
    penalty : "l21" (whole rows are sparse: anomalous items) or "l1" (single entries are: noisy cells).
    sparsity : lambda, the residual from which on something goes to S, in units of a typical row's norm
        ("l21") or of a typical entry's size ("l1"): one for tables after robust scaling; for rows of unit
        norm 1 and ``1 / sqrt(columns)``. Larger means less goes to S.
    rounds : proximal steps for each split.
    **common : see :class:`rsrae.detectors.autoencoders.AutoencoderDetector`.

    Notes
    -----
    Differs from the published code: S is solved for at the weights of the moment, batch by batch, instead of
    being stored for all rows and refreshed between trainings (see :mod:`rsrae.detectors.decomposition`), so
    it also exists for new rows; lambda has a default in units of the data, where the published experiments
    choose it with labels; items are ranked by their distance to the reconstruction and not only flagged by
    whether their S is zero.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = np.vstack([rng.normal(size=(100, 2)) @ rng.normal(size=(2, 6)), rng.normal(0, 3, size=(5, 6))])
    >>> detector = RDA(epochs=30, random_state=0).fit(X)
    >>> bool(detector.anomaly_score(X[100:]).mean() > detector.anomaly_score(X[:100]).mean())
    True
    """

    def __init__(self, *, penalty: str = "l21", sparsity: float = 0.5, rounds: int = 2, **common: Any) -> None:
        super().__init__(**common)
        self.penalty = penalty
        self.sparsity = sparsity
        self.rounds = rounds

    def split(self, X: Any) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        """L and S of each item by the first member; they add up to ``preprocess(X)``."""
        check_is_fitted(self, "offset_")
        rows = self._rows_to_score(self._check_rows(X, reset=False))
        network = self._scoring_networks()[0]
        blocks = [to_dense(batch) for batch in rows.blocks()]
        S = torch.cat([self._splitter().rest(network, x)[0] for x in blocks])
        return to_numpy(torch.cat([x[0] for x in blocks]) - S), to_numpy(S)

    def reconstruct(self, X: Any) -> npt.NDArray[np.float64]:
        """``AE(x - s)`` of every item, averaged over members, in the space the network sees."""
        check_is_fitted(self, "offset_")
        rows = self._rows_to_score(self._check_rows(X, reset=False))
        networks = self._scoring_networks()
        blocks = [
            torch.cat([self._explained(network, to_dense(batch)) for network in networks]).mean(dim=0)
            for batch in rows.blocks()
        ]
        return to_numpy(torch.cat(blocks))

    def _steps(self, network: Network) -> list[Step[Batch]]:
        return [decomposition_step(network, self._splitter(), learning_rate=self.learning_rate)]

    def _errors_by(self, member: Scorer | Voter, batch: Batch) -> Tensor:
        if isinstance(member, Voter):
            return super()._errors_by(member, batch)
        x = to_dense(batch)
        x_hat = self._explained(member, x).flatten(start_dim=2)
        return distance(x.flatten(start_dim=2), x_hat, self._choices.scored_by)

    def _explained(self, network: Scorer, x: Tensor) -> Tensor:
        return network.reconstruct(x - self._splitter().rest(network, x))

    def _splitter(self) -> Splitter:
        # Robust scaling makes typical entries one; unit norm makes typical rows one.
        row = 1.0 if self.preprocessor_.unit_norm else self.n_features_in_**0.5
        unit = row if self.penalty == "l21" else row / self.n_features_in_**0.5
        return Splitter(self.penalty, self.sparsity * unit, self.rounds)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_choice("penalty", self.penalty, PENALTIES)
        check_count("rounds", self.rounds)
        check_number("sparsity", self.sparsity)
