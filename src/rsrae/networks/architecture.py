"""What a network looks like, apart from how it is computed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NamedTuple

import torch
from torch import Tensor, nn

from rsrae.rsr import Initialisation

ActivationName = Literal["tanh", "relu", "leaky_relu", "sigmoid", "linear"]
Normalisation = Literal["batch", "affine"]
Layers = Literal["dense", "convolutional"]

LEAKY_SLOPE = 0.2
NORM_EPS = 1e-5


class Activation(NamedTuple):
    """An activation with its derivative, expressed in its own output."""

    forward: Callable[[Tensor], Tensor]  # in place
    backward: Callable[[Tensor, Tensor], Tensor]  # gradient of the output (overwritten), output -> of the input
    module: Callable[[], nn.Module]


_aten = torch.ops.aten

ACTIVATIONS: dict[str, Activation] = {
    "tanh": Activation(torch.tanh_, lambda g, y: _aten.tanh_backward.grad_input(g, y, grad_input=g), nn.Tanh),
    "relu": Activation(torch.relu_, lambda g, y: _aten.threshold_backward.grad_input(g, y, 0, grad_input=g), nn.ReLU),
    "leaky_relu": Activation(
        lambda x: nn.functional.leaky_relu_(x, LEAKY_SLOPE),
        lambda g, y: _aten.leaky_relu_backward.grad_input(g, y, LEAKY_SLOPE, True, grad_input=g),
        lambda: nn.LeakyReLU(LEAKY_SLOPE),
    ),
    "sigmoid": Activation(
        torch.sigmoid_, lambda g, y: _aten.sigmoid_backward.grad_input(g, y, grad_input=g), nn.Sigmoid
    ),
    "linear": Activation(lambda x: x, lambda g, y: g, nn.Identity),
}


@dataclass(frozen=True)
class Architecture:
    """The autoencoder of the paper's section 4.1, with everything that may vary.

    Every hidden layer is linear (or a convolution), then the activation, then the normalisation: the order of
    the authors' code. ``input_shape`` is ``(columns,)`` for tables and ``(height, width, channels)`` for images;
    ``layers`` are those of images, whose values are one long row to dense ones. Tables have dense layers.
    """

    input_shape: tuple[int, ...]
    intrinsic_dim: int = 10
    hidden: tuple[int, ...] = (32, 64, 128)
    activation: ActivationName = "leaky_relu"
    output_activation: ActivationName = "linear"
    normalisation: Normalisation | None = None
    normalise_code: bool = True
    initialisation: Initialisation = "orthonormal"
    layers: Layers = "convolutional"

    @property
    def is_dense(self) -> bool:
        """Whether items are rows of values to it, and not images."""
        return len(self.input_shape) == 1 or self.layers == "dense"


def choose_activation(low: float, high: float, *, positive_first: bool = False) -> ActivationName:
    """The paper's rule: tanh inside the unit cube, else ReLU if all is positive, else leaky ReLU.

    The authors' code asks first whether all is positive (``positive_first``), which makes a difference for text.

    >>> choose_activation(-1.0, 1.0), choose_activation(0.0, 7.0), choose_activation(-3.0, 7.0)
    ('tanh', 'relu', 'leaky_relu')
    >>> choose_activation(0.0, 1.0), choose_activation(0.0, 1.0, positive_first=True)
    ('tanh', 'relu')
    """
    if positive_first and low >= 0:
        return "relu"
    if low >= -1 and high <= 1:
        return "tanh"
    return "relu" if low >= 0 else "leaky_relu"
