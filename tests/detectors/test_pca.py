from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import decomposition

from rsrae.detectors.pca import PCA


@pytest.mark.parametrize("shape", [(200, 12), (30, 80), (700, 600)])
def test_scores_are_the_reconstruction_errors_of_scikit_learns_pca(shape):
    rng = np.random.default_rng(0)
    X = rng.normal(size=shape) @ np.diag(1 / np.arange(1.0, shape[1] + 1)) + 5
    reference = decomposition.PCA(n_components=4, svd_solver="full").fit(X)
    expected = np.linalg.norm(X - reference.inverse_transform(reference.transform(X)), axis=1)
    scores = PCA(intrinsic_dim=4, scaling="none").fit(X).anomaly_score(X)
    np.testing.assert_allclose(scores, expected, rtol=1e-6)


def test_scores_of_sparse_rows_are_the_reconstruction_errors_of_a_truncated_svd():
    X = sp.csr_array(sp.random(100, 60, density=0.2, random_state=0))
    reference = decomposition.TruncatedSVD(n_components=4, algorithm="arpack", random_state=0).fit(X)
    expected = np.linalg.norm(X - reference.inverse_transform(reference.transform(X)), axis=1)
    scores = PCA(intrinsic_dim=4, unit_norm=False, center="none").fit(X).anomaly_score(X)
    np.testing.assert_allclose(scores, expected, rtol=1e-6)
