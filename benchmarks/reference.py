"""What we are held against apart from peers: RSRAE as one would write it first, bare passes, and arithmetic alone."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from rsrae import reconstruction_loss
from rsrae.networks.architecture import Architecture
from rsrae.networks.modules import build_module
from rsrae.training import limited_threads


class NaiveRSRAE(nn.Module):
    """The paper's Algorithm 1 in plain torch: three losses, three passes through autograd, three optimisers."""

    def __init__(self, n_columns: int, hidden: Sequence[int], intrinsic_dim: int) -> None:
        super().__init__()
        self.encoder = nn.Sequential(*_layers([n_columns, *hidden]))
        self.A = nn.Parameter(torch.linalg.qr(torch.randn(hidden[-1], intrinsic_dim)).Q)
        self.decoder = nn.Sequential(
            *_layers([intrinsic_dim, *reversed(hidden)]),
            nn.Linear(hidden[0], n_columns),
        )

    def epoch(self, X: Tensor, optimisers: Sequence[torch.optim.Optimizer], batch_size: int) -> None:
        """One pass over the rows in a new order."""
        order = torch.randperm(len(X))
        for start in range(0, len(X), batch_size):
            x = X[order[start : start + batch_size]]
            for loss, optimiser in zip(
                (self._reconstruction, self._projection, self._penalty), optimisers, strict=True
            ):
                optimiser.zero_grad()
                loss(x).backward()  # type: ignore[no-untyped-call]
                optimiser.step()

    def _reconstruction(self, x: Tensor) -> Tensor:
        code = nn.functional.normalize(self.encoder(x) @ self.A, dim=1)
        norms: Tensor = torch.linalg.vector_norm(x - self.decoder(code), dim=1)
        return norms.mean()

    def _projection(self, x: Tensor) -> Tensor:
        latent = self.encoder(x)
        norms: Tensor = torch.linalg.vector_norm(latent - latent @ self.A @ self.A.T, dim=1)
        return norms.mean()

    def _penalty(self, x: Tensor) -> Tensor:
        return (self.A.T @ self.A - torch.eye(self.A.shape[1])).square().sum()


def naive_epochs(
    X: npt.NDArray[np.float32], *, hidden: Sequence[int], intrinsic_dim: int, epochs: int, batch_size: int
) -> list[float]:
    """When each epoch of the naive RSRAE ended, in seconds, on one thread."""
    with limited_threads(1):
        model = NaiveRSRAE(X.shape[1], hidden, intrinsic_dim)
        optimisers = [torch.optim.Adam(p, lr=1e-3) for p in (model.parameters(), [model.A], [model.A])]
        rows = torch.from_numpy(X)
        rows = (rows - rows.mean(dim=0)) / rows.std(dim=0)
        began = time.perf_counter()
        ticks = []
        for _ in range(epochs):
            model.epoch(rows, optimisers, batch_size)
            ticks.append(time.perf_counter() - began)
    return ticks


def matrix_products(
    n_rows: int, n_columns: int, *, hidden: Sequence[int], intrinsic_dim: int, batch_size: int
) -> Callable[[], float]:
    """A contestant that does nothing but the matrix products of an epoch of RSRAE: the arithmetic limit."""
    shapes = list(_products(n_columns, hidden, intrinsic_dim, batch_size))
    operands = [(torch.randn(n, k), torch.randn(k, m), torch.empty(n, m)) for n, k, m in shapes]
    n_batches = -(-n_rows // batch_size)

    def seconds() -> float:
        with limited_threads(1), torch.inference_mode():
            began = time.perf_counter()
            for _ in range(n_batches):
                for left, right, out in operands:
                    torch.mm(left, right, out=out)
            return time.perf_counter() - began

    return seconds


def multiplications(n_rows: int, n_columns: int, *, hidden: Sequence[int], intrinsic_dim: int, batch_size: int) -> int:
    """How many multiplications (with an addition each) these products are."""
    per_batch = sum(n * k * m for n, k, m in _products(n_columns, hidden, intrinsic_dim, batch_size))
    return per_batch * -(-n_rows // batch_size)


def bare_passes(images: npt.NDArray[np.uint8], *, batch_size: int, n_threads: int = 1) -> Callable[[], float]:
    """A contestant: forward and backward of the convolutional autoencoder over all images, and nothing else."""
    architecture = Architecture(input_shape=images.shape[1:], activation="tanh")
    module = build_module(architecture, torch.Generator().manual_seed(0)).to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    x = torch.from_numpy(images).movedim(-1, 1).float().div_(127.5).sub_(1)
    batches = [batch.contiguous(memory_format=torch.channels_last) for batch in torch.split(x, batch_size)]

    def seconds() -> float:
        with limited_threads(n_threads):
            began = time.perf_counter()
            for batch in batches:
                module.zero_grad()
                reconstruction_loss(batch, module(batch).x_hat).backward()  # type: ignore[no-untyped-call]
            return time.perf_counter() - began

    return seconds


def _layers(widths: Sequence[int]) -> Iterator[nn.Module]:
    for n_in, n_out in itertools.pairwise(widths):
        yield nn.Linear(n_in, n_out)
        yield nn.ReLU()


def _products(
    n_columns: int, hidden: Sequence[int], intrinsic_dim: int, batch_size: int
) -> Iterator[tuple[int, int, int]]:
    # (n, k, m) of every product of a batch; those with few columns in the order that is fast, as we take them.
    b, D, d = batch_size, hidden[-1], intrinsic_dim
    widths = [n_columns, *hidden, d, *reversed(hidden), n_columns]
    for number, (n_in, n_out) in enumerate(itertools.pairwise(widths)):
        yield (b, n_in, n_out) if n_out > d else (n_out, n_in, b)  # forward
        yield (n_in, b, n_out) if n_out > d else (n_out, b, n_in)  # gradient of the weights
        if number > 0:
            yield (b, n_out, n_in) if n_in > d else (n_in, n_out, b)  # gradient of the input
    # RSR1: Z A (known from above, yet taken again), (Z A) A', G A, Z'(G A), G'(Z A); RSR2: A'A, A (A'A - I).
    yield from ((d, D, b), (b, d, D), (d, D, b), (d, b, D), (d, b, D), (d, D, d), (D, d, d))
