from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from rsrae.detectors.dagmm import DAGMM
from rsrae.errors import ParameterError
from rsrae.networks.estimation import fit_mixture, mixture_energy


@pytest.fixture
def X(rng: np.random.Generator) -> Any:
    return rng.normal(size=(60, 5))


def fitted(X: Any, **parameters: Any) -> DAGMM:
    return DAGMM(**({"epochs": 3, "hidden": (8, 4), "intrinsic_dim": 2, "random_state": 0} | parameters)).fit(X)


def test_the_features_are_code_relative_distance_and_cosine(X: Any) -> None:
    detector = fitted(X)
    x = torch.from_numpy(detector.preprocess(X))
    with torch.no_grad():
        z, _, _ = detector.module_(x)
        _, code, x_hat = detector.module_.compression(x)
    x, x_hat = x.numpy(), x_hat.numpy()
    norm = np.linalg.norm
    np.testing.assert_allclose(z[:, :2], code)
    np.testing.assert_allclose(z[:, 2], norm(x - x_hat, axis=1) / norm(x, axis=1), rtol=1e-6)
    np.testing.assert_allclose(z[:, 3], (x * x_hat).sum(1) / norm(x, axis=1) / norm(x_hat, axis=1), rtol=1e-6)


def test_the_score_is_the_energy_in_the_mixture_of_all_training_rows(X: Any) -> None:
    detector = fitted(X)
    with torch.no_grad():
        z, memberships, _ = detector.module_(torch.from_numpy(detector.preprocess(X)))
    by_hand = mixture_energy(z, fit_mixture(z, memberships, detector.covariance_floor))
    np.testing.assert_allclose(detector.anomaly_score(X), by_hand, rtol=1e-9)


def test_both_networks_learn_from_the_energy(X: Any) -> None:
    detector = fitted(X, lambda2=0.0)
    module = detector.module_.float().train()
    detector._loss(torch.from_numpy(detector.preprocess(X)).float()[None], torch.Generator()).backward()  # type: ignore[no-untyped-call]
    with_energy = {name: p.grad.clone() for name, p in module.named_parameters() if p.grad is not None}
    for part in ("compression.encoder", "compression.rsr", "compression.decoder", "estimation"):
        assert any(name.startswith(part) and g.abs().max() > 0 for name, g in with_energy.items()), part
    module.zero_grad()
    detector.lambda1 = 0.0
    detector._loss(torch.from_numpy(detector.preprocess(X)).float()[None], torch.Generator()).backward()  # type: ignore[no-untyped-call]
    without = dict(module.named_parameters())["compression.encoder.0.weight"].grad
    assert without is not None
    assert not torch.allclose(without, with_energy["compression.encoder.0.weight"])


def test_rows_that_are_all_alike_can_be_fitted() -> None:
    scores = fitted(np.ones((20, 4)), intrinsic_dim=3).anomaly_score(np.ones((2, 4)))
    assert np.isfinite(scores).all()


@pytest.mark.parametrize(
    "wrong",
    [{"n_components": 0}, {"lambda1": -1.0}, {"lambda2": -1.0}, {"dropout": 1.0}, {"covariance_floor": 0.0}],
    ids=str,
)
def test_a_wrong_parameter_is_named(wrong: dict[str, Any], X: Any) -> None:
    with pytest.raises(ParameterError, match=next(iter(wrong))):
        fitted(X, **wrong)
