from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
import torch
from scipy.stats import dirichlet
from sklearn.metrics import roc_auc_score

from rsrae.detectors.geometric import TRANSFORMATIONS, GeometricTransformations, fit_dirichlet, pixel_maps, show
from rsrae.errors import InputError, ParameterError

SMALL: dict[str, Any] = {"widen": 1, "epochs": 1, "batch_size": 64, "random_state": 0}
STILL = [t for t, (_, right, down, _) in enumerate(TRANSFORMATIONS) if right == down == 0]


@pytest.fixture(scope="module")
def images() -> Any:
    return np.random.default_rng(0).integers(0, 255, size=(10, 8, 8), dtype=np.uint8)


@pytest.fixture(scope="module")
def fitted(images: Any) -> GeometricTransformations:
    return GeometricTransformations(**SMALL).fit(images)


# -- transformations -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(4, 4), (8, 8), (28, 28), (20, 28), (9, 5)])
def test_there_are_72_distinct_transformations(shape: tuple[int, int]) -> None:
    assert len({tuple(view) for view in pixel_maps(*shape).tolist()}) == 72


def test_the_first_one_changes_nothing() -> None:
    assert torch.equal(pixel_maps(8, 8)[0], torch.arange(64))


def test_mirroring_and_turning_is_a_group_and_shifting_is_not() -> None:
    maps = pixel_maps(8, 8)
    group = {tuple(maps[t].tolist()) for t in STILL}
    assert len(group) == 8
    # Showing b of what a showed: the pixel at place i is a's pixel at place b[i].
    assert all(tuple(maps[a][maps[b]].tolist()) in group for a, b in itertools.product(STILL, STILL))
    for t in STILL:
        assert any(torch.equal(maps[t][maps[u]], torch.arange(64)) for u in STILL)
    everything = {tuple(view) for view in maps.tolist()}
    assert any(tuple(maps[t][maps[t]].tolist()) not in everything for t in range(72))


def test_a_view_is_what_numpy_makes_of_the_image() -> None:
    image = np.arange(64.0).reshape(8, 8)
    views = show(torch.from_numpy(image).expand(72, 1, 8, 8), pixel_maps(8, 8))
    for (flip, right, down, turns), view in zip(TRANSFORMATIONS, views, strict=True):
        padded = np.pad(np.fliplr(image) if flip else image, 2, mode="symmetric")
        shifted = padded[2 - 2 * down : 10 - 2 * down, 2 - 2 * right : 10 - 2 * right]
        np.testing.assert_array_equal(view[0], np.rot90(shifted, turns))


def test_an_image_that_is_not_square_is_extended_by_reflection() -> None:
    image = np.arange(24.0).reshape(4, 6)
    (view,) = show(torch.from_numpy(image).view(1, 1, 4, 6), pixel_maps(4, 6)[:1])
    np.testing.assert_array_equal(view[0], np.pad(image, ((1, 1), (0, 0)), mode="symmetric"))


# -- the Dirichlet distribution --------------------------------------------------------------------------------------


def test_concentrations_are_those_of_greatest_likelihood(rng: np.random.Generator) -> None:
    p = rng.dirichlet([0.3, 2.0, 9.0], size=500)

    def likelihood(a: Any) -> float:
        return float(dirichlet.logpdf(p.T, a).mean())

    fitted = fit_dirichlet(p.mean(axis=0), np.log(p).mean(axis=0))
    best = likelihood(fitted)
    for other in fitted * rng.uniform(0.97, 1.03, size=(30, 3)):
        assert likelihood(other) < best


def test_distributions_are_fitted_independently(rng: np.random.Generator) -> None:
    p = np.stack([rng.dirichlet(a, size=400) for a in ([1.0, 2.0, 3.0], [8.0, 0.5, 1.0])])
    together = fit_dirichlet(p.mean(axis=1), np.log(p).mean(axis=1))
    for one, sample in zip(together, p, strict=True):
        np.testing.assert_allclose(one, fit_dirichlet(sample.mean(axis=0), np.log(sample).mean(axis=0)), rtol=1e-5)


# -- the detector ----------------------------------------------------------------------------------------------------


def test_an_image_scores_the_same_alone_and_in_a_batch(fitted: GeometricTransformations, images: Any) -> None:
    together = fitted.anomaly_score(images)
    np.testing.assert_array_equal(fitted.anomaly_score(images[7:8]), together[7:8])
    np.testing.assert_array_equal(fitted.anomaly_score(images[::-1]), together[::-1])


def test_scores_are_minus_the_log_density_up_to_constants(fitted: GeometricTransformations, images: Any) -> None:
    module = fitted.module_
    scores = fitted.anomaly_score(images)
    x = torch.from_numpy(fitted.preprocess(images)).float().movedim(-1, 1)
    densities = []
    for image in x:
        p = module.answers(image).exp().detach().numpy()
        p /= p.sum(axis=1, keepdims=True)
        pairs = zip(module.concentrations.double().numpy(), p, strict=True)
        densities.append(np.mean([dirichlet.logpdf(row, a) for a, row in pairs]))
    np.testing.assert_allclose(scores - scores[0], densities[0] - np.array(densities), rtol=1e-4, atol=1e-4)


def test_pixels_are_scaled_in_scoring_as_in_training(fitted: GeometricTransformations, images: Any) -> None:
    one = fitted.preprocess(images[:1])
    np.testing.assert_array_equal(one, fitted.preprocess(images)[:1])
    assert -1 <= one.min() < one.max() <= 1


@pytest.mark.parametrize("side", [3, 1025])
def test_images_that_are_too_small_or_too_large_are_refused(side: int) -> None:
    with pytest.raises(InputError, match="resize"):
        GeometricTransformations().fit(np.zeros((2, 1, side)))


@pytest.mark.parametrize("wrong", [{"depth": 12}, {"widen": 0}], ids=str)
def test_a_wrong_parameter_is_named(wrong: dict[str, Any], images: Any) -> None:
    with pytest.raises(ParameterError, match=next(iter(wrong))):
        GeometricTransformations(**wrong).fit(images)


def test_colour_images_that_are_not_square_can_be_fitted(rng: np.random.Generator) -> None:
    X = rng.random((4, 6, 5, 3))
    assert np.isfinite(GeometricTransformations(**SMALL).fit(X).anomaly_score(X)).all()


def test_the_loss_falls_every_weight_moves_and_noise_is_found(easy_images: Any) -> None:
    X, y = np.concatenate([easy_images.X[:30], easy_images.X[-3:]]), np.repeat([0, 1], [30, 3])
    detector = GeometricTransformations(**(SMALL | {"epochs": 4}))
    starts: dict[str, torch.Tensor] = {}
    build = detector._build

    def watched(settings: Any, generator: Any) -> Any:
        module = build(settings, generator)
        starts.update({name: p.detach().clone() for name, p in module.named_parameters()})
        return module

    detector._build = watched  # type: ignore[method-assign]
    detector.fit(X)
    assert detector.history_["loss"][-1] < 0.6 * detector.history_["loss"][0]
    assert [n for n, p in detector.module_.named_parameters() if torch.equal(p, starts[n])] == []
    assert roc_auc_score(y, detector.anomaly_score(X)) > 0.9
