"""Activations with their derivatives, and the paper's rule for choosing one."""

from __future__ import annotations

import pytest
import torch

from rsrae.networks.architecture import ACTIVATIONS, choose_activation


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_forward_and_backward_of_an_activation_are_those_of_its_module(name: str) -> None:
    activation = ACTIVATIONS[name]
    x = torch.linspace(-3, 3, 40, dtype=torch.float64, requires_grad=True)
    gradient = torch.linspace(1, 2, 40, dtype=torch.float64)
    expected = activation.module()(x)
    (in_x,) = torch.autograd.grad(expected, x, gradient)
    y = activation.forward(x.detach().clone())
    torch.testing.assert_close(y, expected.detach())
    torch.testing.assert_close(activation.backward(gradient, y), in_x)


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (-1.0, 1.0, "tanh"),
        (0.0, 1.0, "tanh"),
        (0.0, 1.001, "relu"),
        (0.0, 255.0, "relu"),
        (-1.001, 1.0, "leaky_relu"),
        (-3.0, 7.0, "leaky_relu"),
    ],
)
def test_the_rule_of_the_paper(low: float, high: float, expected: str) -> None:
    assert choose_activation(low, high) == expected


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [(0.0, 1.0, "relu"), (-1.0, 1.0, "tanh"), (0.0, 7.0, "relu"), (-3.0, 7.0, "leaky_relu")],
)
def test_the_rule_of_the_authors_asks_for_the_sign_first(low: float, high: float, expected: str) -> None:
    assert choose_activation(low, high, positive_first=True) == expected
