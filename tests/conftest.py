"""What tests of several rooms share: small dirty data sets, and watchers of the global generators."""

from __future__ import annotations

import random
import signal
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pytest
import torch
from sklearn.datasets import load_digits


class Labelled(NamedTuple):
    """Items and which of them are anomalies (1) or normal (0)."""

    X: npt.NDArray[np.float64]
    y: npt.NDArray[np.int64]


@pytest.fixture(autouse=True, scope="session")
def one_thread() -> Iterator[None]:
    """Small matrices on shared cores: more threads only wait for each other."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


@pytest.fixture
def generator() -> torch.Generator:
    return torch.Generator().manual_seed(0)


@pytest.fixture(scope="session")
def easy_table() -> Labelled:
    """Normal rows near a plane through the origin of R^8; one row in ten points in another direction, far away."""
    rng = np.random.default_rng(7)
    plane = np.linalg.qr(rng.normal(size=(8, 3)))[0]
    normal = rng.normal(size=(180, 2)) @ plane[:, :2].T + 4 * plane[:, 0] + 0.1 * rng.normal(size=(180, 8))
    strange = 9 * rng.normal(size=(20, 8)) - 6 * plane[:, 0]
    X = np.concatenate([normal, strange])
    y = np.repeat([0, 1], [180, 20])
    order = rng.permutation(200)
    return Labelled(X[order], y[order])


@pytest.fixture(scope="session")
def easy_images() -> Labelled:
    """Eight by eight pictures of the digit zero, one in ten replaced by noise; values between 0 and 16."""
    digits = load_digits()
    zeros = digits.images[digits.target == 0][:90]
    noise = np.random.default_rng(7).uniform(0, 16, size=(10, 8, 8))
    return Labelled(np.concatenate([zeros, noise]), np.repeat([0, 1], [90, 10]))


class GlobalGenerators(NamedTuple):
    """Where numpy's, Python's and torch's global generators stand."""

    numpy: bytes
    python: tuple[object, ...]
    torch: bytes

    @classmethod
    def now(cls) -> GlobalGenerators:
        keys = np.random.get_state(legacy=True)[1]  # noqa: NPY002
        return cls(np.asarray(keys).tobytes(), random.getstate(), torch.get_rng_state().numpy().tobytes())


@pytest.fixture
def global_generators() -> type[GlobalGenerators]:
    return GlobalGenerators


@pytest.fixture(autouse=True, scope="session")
def interrupts_are_heard() -> Iterator[None]:
    # A shell that starts the tests in the background has them ignore Ctrl-C, and their child processes too.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
