"""The robust subspace recovery (RSR) layer and the losses of the paper, as pure functions.

Symbols of the paper and names used here: ``latent`` is z (width D), ``code`` is A'z (width d), ``x_hat``
is the decoder's output. The layer stores ``A`` as a D x d matrix (the paper writes its transpose), so a
row of latents is projected by ``latent @ A``.

Every loss is a weighted mean over rows; the paper's sums differ by a constant factor, which Adam does not see.
Each function that training calls also exists as ``..._gradient``: value and derivative in closed form, a few
small matrix products instead of a pass through autograd. All of them take leading axes (an ensemble member's
axis) in front of ``(rows, width)``.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import torch
from torch import Tensor, nn

from rsrae.errors import ParameterError

Initialisation = Literal["orthonormal", "normal"]

# Added to a squared norm: a bare norm has no gradient at zero, and a perfect reconstruction is possible.
SQUARED_NORM_FLOOR = 1e-12


class RSRLayer(nn.Module):
    """The linear map A that takes a latent of width D to a code of width d.

    Parameters
    ----------
    latent_dim : D, the width of the encoder's output.
    intrinsic_dim : d, the dimension of the subspace, ``1 <= d <= D``.
    initialisation : "orthonormal" (a random orthonormal basis) or "normal" (the paper's i.i.d. standard normal).
    generator : torch generator for the initial values; None uses torch's global one, as torch's own layers do.

    Examples
    --------
    >>> layer = RSRLayer(128, 10, generator=torch.Generator().manual_seed(0))
    >>> latent = torch.ones(4, 128)
    >>> layer(latent).shape, layer.lift(latent).shape
    (torch.Size([4, 10]), torch.Size([4, 128]))
    """

    def __init__(
        self,
        latent_dim: int,
        intrinsic_dim: int,
        *,
        initialisation: Initialisation = "orthonormal",
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        self.A = nn.Parameter(initial_subspace(latent_dim, intrinsic_dim, initialisation, generator))

    def forward(self, latent: Tensor) -> Tensor:
        """The code A'z of each row, ``(rows, D) -> (rows, d)``."""
        return latent @ self.A

    def lift(self, latent: Tensor) -> Tensor:
        """The point A A'z that stands for each row in the latent space, ``(rows, D) -> (rows, D)``."""
        return (latent @ self.A) @ self.A.mT

    def projection_loss(self, latent: Tensor, q: float = 1.0) -> Tensor:
        """RSR1 of these rows, see :func:`projection_loss`."""
        return projection_loss(latent, self.A, q)

    def orthogonality_penalty(self) -> Tensor:
        """RSR2 of the layer, see :func:`orthogonality_penalty`."""
        return orthogonality_penalty(self.A)

    def extra_repr(self) -> str:
        """The two dimensions, for ``print(network)``."""
        return f"latent_dim={self.A.shape[0]}, intrinsic_dim={self.A.shape[1]}"


def initial_subspace(
    latent_dim: int,
    intrinsic_dim: int,
    initialisation: Initialisation = "orthonormal",
    generator: torch.Generator | None = None,
) -> Tensor:
    """A first value of A, ``(D, d)``."""
    if not 1 <= intrinsic_dim <= latent_dim:
        raise ParameterError(
            f"intrinsic_dim must lie between 1 and the latent width {latent_dim}, got {intrinsic_dim}; "
            "lower intrinsic_dim or widen the last hidden layer"
        )
    if initialisation not in ("orthonormal", "normal"):
        raise ParameterError(f"initialisation must be 'orthonormal' or 'normal', got {initialisation!r}")
    A = torch.randn(latent_dim, intrinsic_dim, generator=generator)
    return torch.linalg.qr(A).Q if initialisation == "orthonormal" else A


def row_norms(residual: Tensor) -> Tensor:
    """The l2 norm of each row (last axis), with a gradient everywhere."""
    return residual.square().sum(dim=-1).add(SQUARED_NORM_FLOOR).sqrt()


def floored_norms(residual: Tensor) -> Tensor:
    """``row_norms`` for gradients written by hand: the same but for the floor, in one pass."""
    norms: Tensor = torch.linalg.vector_norm(residual, dim=-1)
    return norms.clamp_min_(SQUARED_NORM_FLOOR**0.5)


def reconstruction_loss(x: Tensor, x_hat: Tensor, p: float = 1.0) -> Tensor:
    """L_AE^p: the mean over rows of ``||x - x_hat||_2 ** p``. Images are flattened.

    >>> round(reconstruction_loss(torch.zeros(2, 4), torch.ones(2, 4)).item(), 6)
    2.0
    """
    _check_power("p", p)
    return row_norms((x - x_hat).flatten(start_dim=1)).pow(p).mean()


def projection_loss(latent: Tensor, A: Tensor, q: float = 1.0) -> Tensor:
    """RSR1: the mean over rows of ``||z - A A'z||_2 ** q``."""
    _check_power("q", q)
    return row_norms(latent - (latent @ A) @ A.mT).pow(q).mean()


def orthogonality_penalty(A: Tensor) -> Tensor:
    """RSR2: ``||A'A - I||_F ** 2``."""
    return sum_of_squares(A.mT @ A - torch.eye(A.shape[-1], dtype=A.dtype, device=A.device))


class PowerLoss(NamedTuple):
    """A weighted mean of powers of row norms, as its terms, and its derivative in the residuals."""

    terms: Tensor  # (..., rows): the loss is their mean
    gradient: Tensor  # (..., rows, width)


def power_loss_gradient(
    residual: Tensor, power: float, weights: Tensor | None = None, *, in_place: bool = False
) -> PowerLoss:
    """The mean of ``||r||_2 ** power`` over rows, weighted, with its derivative in ``residual``.

    ``in_place`` writes the derivative over the residuals.
    """
    terms, slopes = weighted_powers(floored_norms(residual), power, weights)
    scale = slopes.unsqueeze(-1).div_(residual.shape[-2])
    return PowerLoss(terms, residual.mul_(scale) if in_place else residual * scale)


def weighted_powers(norms: Tensor, power: float, weights: Tensor | None) -> tuple[Tensor, Tensor]:
    """The terms ``norms ** power``, weighted, whose mean over rows is a loss; and what, divided by the number of rows,
    turns a residual into its gradient.
    """
    powers = norms if power == 1 else norms.pow(power)
    slopes = norms.reciprocal() if power == 1 else norms.pow(power - 2).mul_(power)
    if weights is None:
        return powers, slopes
    relative = weights / weights.mean(dim=-1, keepdim=True).clamp_min(1e-12)
    return relative * powers, slopes.mul_(relative)


class ProjectionGradient(NamedTuple):
    """RSR1, as the terms whose mean it is, with its derivatives in A and in the latents."""

    terms: Tensor  # (members, rows)
    in_A_t: Tensor  # (members, d, D)
    in_latent: Tensor | None  # (members, rows, D)


def projection_gradient(
    latent: Tensor,
    A: Tensor,
    excess: Tensor,
    q: float = 1.0,
    weights: Tensor | None = None,
    *,
    code: Tensor | None = None,
    with_latent: bool = False,
    out: Tensor | None = None,
) -> ProjectionGradient:
    """RSR1 and its derivative in A', for every member; with ``with_latent`` also in the latents.

    The derivative in A' is written into ``out``, if given.

    With ``C = Z A`` (``code``, if it is known already), the residual ``R = Z - C A'``, the diagonal S that makes
    ``dL/dR = S R``, and ``E = A'A - I`` (``excess``), so that ``R A = -C E``::

        dL/dA = -(Z' S R A + R' S C) = Z' (S C) E - R' (S C)        dL/dZ = S R - (S R A) A' = S (R + C E A')
    """
    A_t = A.mT
    code = narrow_product(latent, A) if code is None else code  # (members, rows, d)
    pull = torch.baddbmm(latent, code, A_t, beta=-1)  # -R
    terms, slopes = weighted_powers(floored_norms(pull), q, weights)
    each = 1.0 / latent.shape[-2]
    scaled_t = code.mT * slopes.unsqueeze(-2)  # (S C)'
    in_plane_t = torch.bmm(excess, scaled_t)  # (S C E)'
    in_A_t = torch.baddbmm(torch.bmm(scaled_t, pull), in_plane_t, latent, beta=each, alpha=each, out=out)
    in_latent = None
    if with_latent:
        in_latent = torch.baddbmm(pull.mul_(slopes.unsqueeze(-1)), in_plane_t.mT, A_t, beta=-each, alpha=each)
    return ProjectionGradient(terms, in_A_t, in_latent)


def orthogonality_gradient(A: Tensor, excess: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The derivative ``4 (A'A - I) A'`` of RSR2 in A', written into ``out`` if given."""
    A_t = A.mT
    return torch.baddbmm(A_t, excess, A_t, beta=0, alpha=4, out=out)


def gram_excess(A: Tensor, identity: Tensor) -> Tensor:
    """``A'A - I``; ``identity`` is I ``(members, d, d)``, with zeros for columns of A that are not in use."""
    return torch.baddbmm(identity, A.mT, A, beta=-1)


def sum_of_squares(excess: Tensor) -> Tensor:
    """RSR2 of ``A'A - I``."""
    return excess.square().sum(dim=(-2, -1))


def narrow_product(left: Tensor, right: Tensor) -> Tensor:
    """``left @ right`` where the result has few columns.

    Taken as the transpose of ``right' @ left'``: with ten columns that is several times faster in the BLAS that
    comes with torch for CPUs (docs/performance.md).
    """
    return torch.bmm(right.mT, left.mT).mT


def _check_power(name: str, power: float) -> None:
    if not power > 0:
        raise ParameterError(f"{name} must be positive, got {power}")
