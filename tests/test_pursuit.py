from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from rsrae.errors import InputError, ParameterError
from rsrae.pursuit import robust_pca


@pytest.mark.parametrize("shape", [(120, 80), (60, 110)])
def test_a_planted_low_rank_and_sparse_pair_is_recovered(shape):
    rng = np.random.default_rng(0)
    low_rank = rng.normal(size=(shape[0], 3)) @ rng.normal(size=(3, shape[1]))
    sparse = np.where(rng.random(shape) < 0.05, rng.uniform(-20, 20, size=shape), 0.0)
    found = robust_pca(low_rank + sparse)
    assert np.linalg.norm(found.low_rank - low_rank) < 1e-4 * np.linalg.norm(low_rank)
    assert np.linalg.norm(found.sparse - sparse) < 1e-4 * np.linalg.norm(sparse)


def test_the_two_parts_add_up_to_the_rows():
    X = np.random.default_rng(3).normal(size=(30, 6)) * [5, 4, 1, 0.1, 0.1, 0.1]
    low_rank, sparse = robust_pca(X)
    assert np.linalg.norm(X - low_rank - sparse) <= 1e-7 * np.linalg.norm(X)


def test_a_larger_penalty_leaves_less_to_the_sparse_part():
    X = np.random.default_rng(3).normal(size=(30, 6)) * [5, 4, 1, 0.1, 0.1, 0.1]
    totals = [np.abs(robust_pca(X, penalty=penalty).sparse).sum() for penalty in (0.05, 0.2, 1.0)]
    assert totals[0] > totals[1] > totals[2]


def test_rows_of_zeros_are_the_sum_of_two_zero_parts():
    low_rank, sparse = robust_pca(np.zeros((4, 3)))
    assert not low_rank.any()
    assert not sparse.any()


def test_principal_component_pursuit_says_that_it_takes_dense_rows():
    with pytest.raises(InputError, match="dense rows only"):
        robust_pca(sp.csr_array(np.eye(3)))


def test_a_penalty_that_is_not_positive_is_named():
    with pytest.raises(ParameterError, match="penalty must be positive"):
        robust_pca(np.eye(3), penalty=0)
