"""RSRAE and its variants: Lai, Zou and Lerman, "Robust Subspace Recovery Layer for Unsupervised Anomaly
Detection", ICLR 2020.

============== ==================================== ==========================================================
detector       minimises                            how
============== ==================================== ==========================================================
`RSRAE`        L_AE^1, RSR1 and RSR2 in turn        Algorithm 1: three steps a batch
`RSRAEPlus`    L_AE^1 + lambda1 RSR1 + lambda2 RSR2 Algorithm 2: one joint step
`AutoEncoder`  L_AE^p, p = 1 (AE-1) or 2 (AE)       one step, same network with A
============== ==================================== ==========================================================
"""

from __future__ import annotations

from typing import Any

from rsrae.detectors.autoencoders import AutoencoderDetector
from rsrae.detectors.base import check_choice, check_number
from rsrae.errors import ParameterError
from rsrae.networks.batches import Batch
from rsrae.networks.network import (
    Joint,
    Network,
    orthogonality_step,
    projection_step,
    reconstruction_step,
)
from rsrae.training import Step


class RSRAE(AutoencoderDetector):
    """The robust subspace recovery autoencoder (Algorithm 1 of the paper).

    For every batch three losses are minimised in turn: the reconstruction in all parameters, RSR1 in A (or in the
    encoder and A), RSR2 in A.

    Parameters
    ----------
    q : power of RSR1.
    p : power of the reconstruction loss.
    rsr_learning_rate : of the two RSR steps; None takes ``learning_rate``, ten times as much where RSR1 moves the
        encoder.
    rsr_scope : what RSR1 moves: "A" (the paper's text), "encoder" (encoder and A, the authors' code), or "auto": the
        encoder too where rows have unit norm (images, sparse rows, vectors), A alone for other tables.
    eps_ae, eps_rsr1, eps_rsr2 : a step rests while its loss is not above its threshold (the paper's are zero).
    **common : see :class:`rsrae.detectors.autoencoders.AutoencoderDetector`.

    Examples
    --------
    >>> import numpy as np
    >>> from rsrae import RSRAE
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 5)) @ np.diag([5, 5, 1, 1, 1])
    >>> X[:10] += 20
    >>> detector = RSRAE(epochs=20, random_state=0, contamination=0.05).fit(X)
    >>> int((detector.predict(X[:10]) == -1).sum())
    10
    """

    def __init__(
        self,
        *,
        intrinsic_dim: int | tuple[int, ...] = (0, 2, 4, 10),
        layers: str = "dense",
        n_members: int | str = "auto",
        n_neighbors: int = 20,
        neighbor_distance: str = "auto",
        near_middles: bool = True,
        crowd: bool = True,
        edges: bool = True,
        ranks: bool = True,
        n_trees: int = 30,
        n_alike: int = 10,
        equal_kinds: bool = True,
        column_weights: bool = True,
        rules: float = 0.5,
        gross_values: bool = True,
        level_lengths: bool = True,
        normalisation: str | None = "auto",
        epochs: int | str = "auto",
        learning_rate: float = 1e-3,
        trim: float | str = 0.4,
        warm_up: float = 0.05,
        scored_by: str = "auto-manhattan",
        p: float = 1.0,
        q: float = 1.0,
        rsr_learning_rate: float | None = None,
        rsr_scope: str = "auto",
        eps_ae: float = 0.0,
        eps_rsr1: float = 0.0,
        eps_rsr2: float = 0.0,
        **common: Any,
    ) -> None:
        super().__init__(
            intrinsic_dim=intrinsic_dim,
            layers=layers,
            n_members=n_members,
            n_neighbors=n_neighbors,
            neighbor_distance=neighbor_distance,
            near_middles=near_middles,
            crowd=crowd,
            edges=edges,
            ranks=ranks,
            n_trees=n_trees,
            n_alike=n_alike,
            equal_kinds=equal_kinds,
            column_weights=column_weights,
            rules=rules,
            gross_values=gross_values,
            level_lengths=level_lengths,
            normalisation=normalisation,
            epochs=epochs,
            learning_rate=learning_rate,
            trim=trim,
            warm_up=warm_up,
            scored_by=scored_by,
            **common,
        )
        self.p = p
        self.q = q
        self.rsr_learning_rate = rsr_learning_rate
        self.rsr_scope = rsr_scope
        self.eps_ae = eps_ae
        self.eps_rsr1 = eps_rsr1
        self.eps_rsr2 = eps_rsr2

    def _steps(self, network: Network) -> list[Step[Batch]]:
        scope = self.rsr_scope
        if scope == "auto":
            # A network wide enough for images or words reproduces anything unless the latents are held to a subspace;
            # one for a dozen columns loses by it (docs/decisions/0003-default.md).
            scope = "encoder" if self.preprocessor_.unit_norm else "A"
        rate = self.rsr_learning_rate
        if rate is None:
            rate = self.learning_rate * (10 if scope == "encoder" else 1)
        return [
            reconstruction_step(network, p=self.p, learning_rate=self.learning_rate, threshold=self.eps_ae),
            projection_step(
                network,
                q=self.q,
                learning_rate=rate,
                scope=scope,  # type: ignore[arg-type]
                threshold=self.eps_rsr1,
            ),
            orthogonality_step(network, learning_rate=rate, threshold=self.eps_rsr2),
        ]

    def _check_parameters(self) -> None:
        super()._check_parameters()
        _check_powers(self)
        check_choice("rsr_scope", self.rsr_scope, ("auto", "A", "encoder"))
        if self.rsr_learning_rate is not None:
            check_number("rsr_learning_rate", self.rsr_learning_rate)
        for name in ("eps_ae", "eps_rsr1", "eps_rsr2"):
            check_number(name, getattr(self, name), positive=False)
        if max(self.eps_ae, self.eps_rsr1, self.eps_rsr2) > 0 and self.n_members != 1:
            raise ParameterError("thresholds above zero stop single members; use n_members=1 with them")


class RSRAEPlus(AutoencoderDetector):
    """RSRAE+ (Algorithm 2 of the paper): the three losses as one weighted sum.

    Parameters
    ----------
    lambda1, lambda2 : weights of RSR1 and RSR2.
    q : power of RSR1.
    p : power of the reconstruction loss.
    **common : see :class:`rsrae.detectors.autoencoders.AutoencoderDetector`.
    """

    def __init__(
        self, *, lambda1: float = 0.1, lambda2: float = 0.1, p: float = 1.0, q: float = 1.0, **common: Any
    ) -> None:
        super().__init__(**common)
        self.lambda1 = lambda1
        self.lambda2 = lambda2
        self.p = p
        self.q = q

    def _steps(self, network: Network) -> list[Step[Batch]]:
        joint = Joint(self.lambda1, self.lambda2, self.q)
        return [reconstruction_step(network, p=self.p, learning_rate=self.learning_rate, joint=joint)]

    def _check_parameters(self) -> None:
        super()._check_parameters()
        _check_powers(self)
        check_number("lambda1", self.lambda1)
        check_number("lambda2", self.lambda2)


class AutoEncoder(AutoencoderDetector):
    """The autoencoder without RSR losses: AE for ``p=2``, AE-1 for ``p=1``; the same network, A included.

    Parameters
    ----------
    p : power of the reconstruction loss.
    **common : see :class:`rsrae.detectors.autoencoders.AutoencoderDetector`.
    """

    def __init__(self, *, p: float = 2.0, **common: Any) -> None:
        super().__init__(**common)
        self.p = p

    def _steps(self, network: Network) -> list[Step[Batch]]:
        return [reconstruction_step(network, p=self.p, learning_rate=self.learning_rate)]

    def _check_parameters(self) -> None:
        super()._check_parameters()
        _check_powers(self)


def _check_powers(detector: Any) -> None:
    for name in ("p", "q"):
        check_number(name, getattr(detector, name, 1.0))
