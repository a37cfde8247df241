"""RCAE: Chalapathy, Menon and Chawla, "Robust, Deep and Inductive Anomaly Detection", ECML PKDD 2017."""

from __future__ import annotations

from typing import Any

from rsrae.detectors.autoencoders import AutoencoderDetector
from rsrae.detectors.base import check_number
from rsrae.detectors.decomposition import Splitter, decomposition_step
from rsrae.networks.batches import Batch
from rsrae.networks.network import Network
from rsrae.training import Step


class RCAE(AutoencoderDetector):
    """Robust (convolutional) autoencoder (Chalapathy, Menon and Chawla 2017).

    Every row is explained as ``AE(x - n) + n``, where ``n`` holds few and large entries: soft-thresholding
    takes out of a row what the autoencoder is far from, and the autoencoder learns from what is left. New
    rows are scored by how badly the autoencoder reconstructs them, as they are. Convolutional for images,
    dense for tables.

    Parameters
    ----------
    sparsity : lambda, from where on an entry's residual counts as noise, in units of a typical entry's size
        (one for tables after robust scaling, ``1 / sqrt(columns)`` where rows have unit norm). Larger means
        less is taken out.
    weight_decay : mu, weight of half the squared norm of all parameters.
    **common : see :class:`rsrae.detectors.autoencoders.AutoencoderDetector`.

    Notes
    -----
    Differs from the published code, which does not run: the noise of a batch is computed at the weights of
    the moment, not stored for all rows and refreshed after every pass (see
    :mod:`rsrae.detectors.decomposition`); the layers are RSRAE's; lambda is in units of the data, so one
    default serves all.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = np.vstack([rng.normal(size=(100, 2)) @ rng.normal(size=(2, 6)), rng.normal(0, 3, size=(5, 6))])
    >>> detector = RCAE(epochs=30, random_state=0).fit(X)
    >>> bool(detector.anomaly_score(X[100:]).mean() > detector.anomaly_score(X[:100]).mean())
    True
    """

    def __init__(self, *, sparsity: float = 1.0, weight_decay: float = 1e-5, **common: Any) -> None:
        super().__init__(**common)
        self.sparsity = sparsity
        self.weight_decay = weight_decay

    def _steps(self, network: Network) -> list[Step[Batch]]:
        entry = self.n_features_in_**-0.5 if self.preprocessor_.unit_norm else 1.0
        splitter = Splitter("l1", self.sparsity * entry)
        return [decomposition_step(network, splitter, learning_rate=self.learning_rate, weight_decay=self.weight_decay)]

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_number("sparsity", self.sparsity)
        check_number("weight_decay", self.weight_decay, positive=False)
