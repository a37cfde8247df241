from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from rsrae.detectors.drae import DRAE, discrimination, two_group_line
from rsrae.detectors.rsrae import AutoEncoder
from rsrae.errors import ParameterError
from rsrae.networks.architecture import Architecture
from rsrae.networks.autograd import AutogradNetwork
from rsrae.networks.modules import build_module


def loss_from_the_formula(errors: torch.Tensor, is_inlier: torch.Tensor, weight: float) -> torch.Tensor:
    groups = [errors[is_inlier], errors[~is_inlier]]
    within = sum(((group - group.mean()).square().sum() for group in groups if len(group)), start=torch.tensor(0.0))
    return groups[0].mean() + weight * within / (errors - errors.mean()).square().sum()


def test_the_line_has_the_least_variance_within_groups(rng: np.random.Generator) -> None:
    errors = np.concatenate([rng.normal(1, 0.3, 30), rng.normal(4, 1, 10)])
    rng.shuffle(errors)

    def within(line: float) -> float:
        low, high = errors[errors <= line], errors[errors > line]
        return float(low.var() * len(low) + (high.var() * len(high) if len(high) else 0.0))

    best = min(np.sort(errors)[:-1], key=within)
    assert float(two_group_line(torch.from_numpy(errors))) == pytest.approx(best)


def test_members_have_lines_of_their_own() -> None:
    errors = torch.tensor([[1.0, 1.1, 5.0], [1.0, 5.0, 5.1]])
    torch.testing.assert_close(two_group_line(errors), torch.tensor([1.1, 1.0]))


def test_loss_and_derivative_agree_with_autograd(generator: torch.Generator) -> None:
    errors = torch.rand(12, generator=generator, dtype=torch.float64).requires_grad_()
    is_inlier = errors.detach() <= 0.6
    expected = loss_from_the_formula(errors, is_inlier, 0.3)
    (gradient,) = torch.autograd.grad(expected, errors)
    loss, ours = discrimination(errors.detach(), is_inlier, 0.3)
    torch.testing.assert_close(loss, expected.detach())
    torch.testing.assert_close(ours, gradient)
    assert float(ours.sum()) == pytest.approx(1)


@pytest.mark.parametrize("is_inlier", [True, False])
def test_a_batch_of_one_group_has_no_ratio_to_improve(is_inlier: bool) -> None:
    _, gradient = discrimination(torch.tensor([1.0, 2.0, 3.0]), torch.full((3,), is_inlier), 0.3)
    torch.testing.assert_close(gradient, torch.full((3,), 1 / 3 if is_inlier else 0.0))


def test_the_step_leaves_the_gradient_of_its_loss_in_the_network(generator: torch.Generator) -> None:
    architecture = Architecture((5,), intrinsic_dim=2, hidden=(6,))
    network = AutogradNetwork(architecture, build_module(architecture, generator))
    x = torch.randn(20, 5, generator=generator)
    errors = torch.linalg.vector_norm(network.module(x).x_hat - x, dim=1).square()
    detector = DRAE(discrimination_weight=0.5)
    detector._line = two_group_line(errors.detach()).view(1, 1)
    loss = loss_from_the_formula(errors, errors.detach() <= detector._line[0], 0.5)
    parameters = list(network.module.parameters())
    expected = torch.autograd.grad(loss, parameters)
    (step,) = detector._steps(network)
    torch.testing.assert_close(step.loss(step.gradient(x[None], None)), loss.detach()[None])
    torch.testing.assert_close([p.grad for p in parameters], list(expected), rtol=1e-4, atol=1e-5)


def test_outliers_are_pushed_further_away_than_by_a_plain_autoencoder(rng: np.random.Generator) -> None:
    X = np.vstack([rng.normal(size=(180, 2)) @ rng.normal(size=(2, 8)), rng.normal(0, 2, size=(20, 8))])
    settings: dict[str, Any] = {"epochs": 60, "learning_rate": 2e-3, "random_state": 0}

    def contrast(detector: Any) -> float:
        scores = detector.fit(X).anomaly_score(X)
        return float(scores[180:].mean() / scores[:180].mean())

    assert contrast(DRAE(**settings)) > 2 * contrast(AutoEncoder(p=2.0, **settings))


def test_trimming_still_works(rng: np.random.Generator) -> None:
    X = rng.normal(size=(40, 4))
    detector = DRAE(epochs=4, trim=0.2, warm_up=0.5, hidden=(6,), intrinsic_dim=2, random_state=0).fit(X)
    assert np.isfinite(detector.anomaly_score(X)).all()


def test_a_wrong_parameter_is_named() -> None:
    with pytest.raises(ParameterError, match="discrimination_weight"):
        DRAE(discrimination_weight=-1.0).fit(np.eye(4))
