from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
import scipy.optimize
import scipy.sparse as sp
from scipy.linalg import subspace_angles

from rsrae import subspaces
from rsrae.errors import ParameterError
from rsrae.subspaces import (
    Subspace,
    find_center,
    fms,
    geometric_median,
    principal_subspace,
    ste,
)

Array = npt.NDArray[np.float64]


def sfms(X, d, **options):
    return fms(X, d, spherical=True, **options)


ROBUST = pytest.mark.parametrize("method", [fms, sfms, ste])
EVERY = pytest.mark.parametrize("method", [principal_subspace, fms, sfms, ste])


def angle(A: Array, B: Array) -> float:
    return float(subspace_angles(A, B).max())


def planted(n: int, D: int, d: int, *, far: float = 1.0, seed: int = 0) -> tuple[Array, Array]:
    """60 % of the rows in a subspace, 40 % outliers stretched along two directions of their own."""
    rng = np.random.default_rng(seed)
    basis = np.linalg.qr(rng.normal(size=(D, d)))[0]
    n_outliers = int(0.4 * n)
    inliers = rng.normal(size=(n - n_outliers, d)) @ basis.T
    stretch = np.ones(D)
    stretch[:2] = 2.0
    outliers = far * rng.normal(size=(n_outliers, D)) * stretch
    return rng.permutation(np.vstack([inliers, outliers])), basis


# -- planted subspaces -------------------------------------------------------------------------------------------------


@ROBUST
@pytest.mark.parametrize(("n", "D", "d"), [(500, 20, 3), (300, 6, 2), (120, 400, 4), (700, 600, 3)])
def test_a_subspace_of_clean_inliers_is_recovered_where_pca_is_not(method, n, D, d):
    X, basis = planted(n, D, d)
    assert angle(principal_subspace(X, d, center="none").basis, basis) > 0.1
    assert angle(method(X, d).basis, basis) < 1e-3


@pytest.mark.parametrize("method", [sfms, ste])
def test_outliers_a_thousand_times_as_far_do_not_matter_on_the_sphere(method):
    X, basis = planted(500, 20, 3, far=1000.0)
    assert angle(method(X, 3).basis, basis) < 1e-3


@ROBUST
def test_a_planted_affine_subspace_is_recovered_around_the_median(method):
    X, basis = planted(600, 12, 2)
    X += 100.0
    assert angle(method(X, 2, center="median").basis, basis) < 0.1
    assert angle(method(X, 2, center="none").basis, basis) > 0.1


@pytest.mark.parametrize("method", [fms, ste])
def test_badly_conditioned_inliers_are_recovered(method):
    rng = np.random.default_rng(0)
    basis = np.linalg.qr(rng.normal(size=(10, 3)))[0]
    inliers = rng.normal(size=(300, 3)) * [1e3, 1.0, 1e-1] @ basis.T
    X = np.vstack([inliers, 0.1 * rng.normal(size=(100, 10))])
    assert angle(method(X, 3).basis, basis) < 1e-3


# -- against slow and direct ways --------------------------------------------------------------------------------------


def noisy_plane_rows(D: int, seed: int = 3) -> Array:
    rng = np.random.default_rng(seed)
    inliers = rng.normal(size=(60, D)) * np.r_[np.full(D - 1, 2.0), 0.1]
    return np.vstack([inliers, rng.normal(size=(25, D)) + 1.0])


# The sum of distances has a kink wherever the subspace meets a row, so near-equal minima lie side by side: what must
# agree is the sum itself.


@pytest.mark.parametrize("spherical", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_fms_agrees_with_a_search_over_all_lines_of_the_plane(spherical, seed):
    X = noisy_plane_rows(2, seed)
    rows = X / np.linalg.norm(X, axis=1, keepdims=True) if spherical else X
    angles = np.linspace(0, np.pi, 20_001)
    sums = np.abs(rows @ np.stack([-np.sin(angles), np.cos(angles)])).sum(axis=0)
    best = angles[np.argmin(sums)]
    found = fms(X, 1, spherical=spherical).basis
    assert _sum_of_distances(rows, found) < 1.0001 * sums.min()
    assert angle(found, np.array([[np.cos(best)], [np.sin(best)]])) < 0.02
    assert _sum_of_distances(rows, principal_subspace(rows, 1, center="none").basis) > 1.01 * sums.min()


@pytest.mark.parametrize("spherical", [False, True])
def test_fms_agrees_with_direct_minimisation_over_planes_of_space(spherical):
    X = noisy_plane_rows(3)
    rows = X / np.linalg.norm(X, axis=1, keepdims=True) if spherical else X
    starts = [(0.1, 0.0), (1.0, 1.0), (1.5, 3.0), (1.0, 5.0)]
    best = min(
        (_minimise(lambda p: np.abs(rows @ _direction(*p)).sum(), start) for start in starts),
        key=lambda result: result.fun,
    )
    found = fms(X, 2, spherical=spherical).basis
    assert _sum_of_distances(rows, found) < 1.001 * best.fun
    assert np.linalg.norm(found.T @ _direction(*best.x)) < 0.02


def test_ste_with_gamma_one_minimises_tylers_likelihood_over_scatters_of_its_form():
    X = noisy_plane_rows(3)
    n, D = X.shape

    def likelihood(parameters: Array) -> float:
        axis, excess = _direction(*parameters[:2]), np.exp(parameters[2])
        scatter = np.eye(D) + excess * np.outer(axis, axis)
        quadratic = np.einsum("ij,jk,ik->i", X, np.linalg.inv(scatter), X)
        return float(D / n * np.log(quadratic).sum() + np.log(np.linalg.det(scatter)))

    starts = [(1.5, 0.0, 0.0), (1.5, 1.5, 0.0), (0.1, 0.0, 0.0), (1.5, 3.0, 0.0)]
    best = min((_minimise(likelihood, start) for start in starts), key=lambda result: result.fun)
    found = ste(X, 1, gamma=1.0, tolerance=1e-9, max_iterations=2000).basis[:, 0]
    assert abs(found @ _direction(*best.x[:2])) > 1 - 1e-7


@pytest.mark.parametrize("gamma", [0.2, 0.5, 1.0])
def test_ste_agrees_with_the_iteration_written_out_as_matrices(gamma):
    X, d = noisy_plane_rows(5), 2
    scatter = np.eye(5)
    for _ in range(300):
        weights = 1 / np.einsum("ij,jk,ik->i", X, np.linalg.inv(scatter), X)
        values, vectors = np.linalg.eigh((X.T * weights) @ X)
        values[: 5 - d] = gamma * values[: 5 - d].mean()
        scatter = (vectors * values) @ vectors.T
        scatter /= np.trace(scatter)
    found = ste(X, d, gamma=gamma, tolerance=1e-10, max_iterations=300)
    assert angle(found.basis, vectors[:, -d:]) < 1e-6


def test_the_geometric_median_minimises_the_sum_of_distances():
    X = noisy_plane_rows(3)
    direct = _minimise(lambda point: np.linalg.norm(X - point, axis=1).sum(), X.mean(axis=0)).x
    np.testing.assert_allclose(geometric_median(X), direct, atol=1e-6)


def test_distances_and_projections_are_those_of_plain_algebra():
    rng = np.random.default_rng(0)
    X, center = rng.normal(size=(20, 6)), rng.normal(size=6)
    basis = np.linalg.qr(rng.normal(size=(6, 2)))[0]
    projected = (X - center) @ basis @ basis.T + center
    subspace = Subspace(basis, center)
    np.testing.assert_allclose(subspace.project(X), projected)
    np.testing.assert_allclose(subspace.distances(X), np.linalg.norm(X - projected, axis=1))
    np.testing.assert_allclose(subspace.distances(sp.csr_array(X)), subspace.distances(X))


def _sum_of_distances(rows: Array, basis: Array) -> float:
    return float(np.linalg.norm(rows - rows @ basis @ basis.T, axis=1).sum())


def _direction(polar: float, azimuth: float) -> Array:
    return np.array([np.sin(polar) * np.cos(azimuth), np.sin(polar) * np.sin(azimuth), np.cos(polar)])


def _minimise(function, start):
    options = {"xatol": 1e-10, "fatol": 1e-14, "maxiter": 10_000, "maxfev": 10_000}
    return scipy.optimize.minimize(function, start, method="Nelder-Mead", options=options)


# -- sparse, wide and iterated -----------------------------------------------------------------------------------------


@EVERY
@pytest.mark.parametrize("center", ["none", "mean", "median"])
@pytest.mark.parametrize("shape", [(150, 40), (40, 150)])
def test_sparse_rows_give_the_subspace_of_dense_ones(method, center, shape):
    X = sp.random(*shape, density=0.2, format="csr", random_state=0)
    X = sp.csr_array(X + sp.csr_array(np.outer(np.arange(shape[0]) % 3, np.arange(shape[1]) % 2)))
    dense, sparse = (method(rows, 2, center=center) for rows in (X.toarray(), X))
    np.testing.assert_allclose(sparse.center, dense.center, atol=1e-7)
    assert angle(sparse.basis, dense.basis) < 1e-4


@EVERY
def test_the_iteration_finds_what_the_full_decomposition_finds(method, monkeypatch):
    X, _ = planted(200, 60, 3)
    in_full = method(X, 3)
    monkeypatch.setattr(subspaces, "_MOST_FOR_FULL", 0)
    assert angle(method(X, 3).basis, in_full.basis) < 1e-5


@EVERY
def test_the_basis_is_orthonormal_and_the_same_every_time(method):
    X, _ = planted(80, 1000, 4)
    for rows in (X, sp.csr_array(X)):
        first, second = method(rows, 4), method(rows, 4)
        np.testing.assert_array_equal(first.basis, second.basis)
        np.testing.assert_allclose(first.basis.T @ first.basis, np.eye(4), atol=1e-12)


@EVERY
def test_the_size_of_the_numbers_does_not_matter(method):
    X, _ = planted(200, 10, 3)
    reference = method(X, 3).basis
    for factor in (1e-12, 1e12):
        assert angle(method(factor * X, 3).basis, reference) < 1e-5


@pytest.mark.parametrize("method", [sfms, ste])
def test_on_the_sphere_the_norm_of_a_row_does_not_matter(method):
    X = noisy_plane_rows(4)
    factors = np.random.default_rng(0).uniform(0.1, 10, size=(len(X), 1))
    assert angle(method(X * factors, 2).basis, method(X, 2).basis) < 1e-5


DEGENERATE = {
    "all zero": np.zeros((12, 5)),
    "constant": np.full((12, 5), 3.0),
    "one row over and over": np.tile([1.0, 2.0, 3.0, 4.0, 5.0], (12, 1)),
    "rank below d": np.outer(np.arange(12.0), np.arange(5.0)),
    "half zero": np.vstack([np.zeros((6, 5)), np.eye(6, 5)]),
    "duplicates": np.repeat(np.eye(4, 5), 3, axis=0),
    "one huge row": np.vstack([np.eye(5), np.full((1, 5), 1e100)]),
}


@EVERY
@pytest.mark.parametrize("kind", DEGENERATE)
@pytest.mark.parametrize("center", ["none", "median"])
@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
def test_degenerate_rows_have_a_subspace_too(method, kind, center, container):
    X = container(DEGENERATE[kind])
    found = method(X, 2, center=center)
    assert np.isfinite(found.distances(X)).all()
    np.testing.assert_allclose(found.basis.T @ found.basis, np.eye(2), atol=1e-9)


@EVERY
def test_dimension_zero_is_the_centre_alone(method):
    X = noisy_plane_rows(3)
    found = method(X, 0, center="mean")
    np.testing.assert_allclose(found.distances(X), np.linalg.norm(X - X.mean(axis=0), axis=1))


# -- mistakes ----------------------------------------------------------------------------------------------------------


@EVERY
@pytest.mark.parametrize("d", [-1, 4, 5])
def test_a_dimension_that_does_not_fit_is_named(method, d):
    with pytest.raises(ParameterError, match=f"d must be at least 0 and at most 3 .* got {d}"):
        method(np.ones((3, 8)), d)


@pytest.mark.parametrize("gamma", [0, -1, 1.5, "half", True])
def test_a_gamma_out_of_range_is_named(gamma):
    with pytest.raises(ParameterError, match="gamma must be"):
        ste(np.ones((3, 8)), 1, gamma=gamma)


def test_an_unknown_center_is_named():
    with pytest.raises(ParameterError, match="center must be one of 'mean', 'median', 'none', got 'mode'"):
        find_center(np.ones((3, 2)), "mode")
