from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from rsrae.detectors.rcae import RCAE
from rsrae.detectors.rsrae import AutoEncoder
from rsrae.errors import ParameterError

SMALL: dict[str, Any] = {"epochs": 5, "hidden": (8,), "intrinsic_dim": 3, "random_state": 0}


def test_rcae_that_takes_nothing_out_is_the_plain_autoencoder(rng: np.random.Generator) -> None:
    X = rng.normal(size=(50, 6))
    plain = AutoEncoder(p=2.0, **SMALL).fit(X).anomaly_score(X)
    np.testing.assert_allclose(RCAE(sparsity=1e6, weight_decay=0.0, **SMALL).fit(X).anomaly_score(X), plain, rtol=1e-4)
    assert np.abs(RCAE(sparsity=0.1, **SMALL).fit(X).anomaly_score(X) - plain).max() > 1e-3


def test_grossly_wrong_cells_do_not_bend_the_reconstruction(rng: np.random.Generator) -> None:
    clean = rng.normal(size=(300, 2)) @ rng.normal(size=(2, 8))
    X = clean.copy()
    wrong = rng.random(X.shape) < 0.05
    X[wrong] += 15
    settings: dict[str, Any] = {"scaling": "none", "epochs": 80, "learning_rate": 2e-3, "intrinsic_dim": 2}
    settings |= {"random_state": 0, "normalise_code": False}
    untouched = ~wrong.any(axis=1)

    def error(detector: Any) -> float:
        return float(np.abs(detector.fit(X).reconstruct(X) - clean)[untouched].mean())

    assert error(RCAE(sparsity=0.5, **settings)) < error(AutoEncoder(p=2.0, **settings))


@pytest.mark.parametrize("wrong", [{"sparsity": 0.0}, {"weight_decay": -1.0}], ids=str)
def test_a_wrong_parameter_is_named(wrong: dict[str, Any]) -> None:
    with pytest.raises(ParameterError, match=next(iter(wrong))):
        RCAE(**wrong).fit(np.eye(4))
