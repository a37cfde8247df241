from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.datasets import load_digits
from sklearn.metrics import roc_auc_score

import rsrae
from rsrae import RSRAE, ViewsRSRAE
from rsrae.detectors.geometric import show
from rsrae.detectors.views import UNSHIFTED, VIEWS_AN_EPOCH
from rsrae.errors import InputError, ModelFileError, ParameterError
from rsrae.modelfile import read_model, write_model
from rsrae.training import Epoch

SMALL: dict[str, Any] = {"epochs": 1, "rsrae_epochs": 2, "batch_size": 640, "random_state": 0}


@pytest.fixture(scope="module")
def images() -> Any:
    return np.random.default_rng(0).integers(0, 255, size=(12, 8, 8, 3), dtype=np.uint8)


@pytest.fixture(scope="module")
def fitted(images: Any) -> ViewsRSRAE:
    return ViewsRSRAE(**SMALL).fit(images)


def test_what_stands_on_its_head_is_found() -> None:
    digits = load_digits()
    upright = digits.images[digits.target == 7][:80]
    X = np.concatenate([upright[:70], upright[70:, ::-1, ::-1]])
    y = np.repeat([0, 1], [70, 10])
    detector = ViewsRSRAE(random_state=0, epochs=4, rsrae_epochs=30).fit(X)
    features = _vectors(detector, X)[:, : 8 * 64]
    by_features = RSRAE(scaling="none", epochs=30, random_state=0).fit(features).anomaly_score(features)
    assert roc_auc_score(y, by_features) > 0.9
    assert roc_auc_score(y, detector.anomaly_score(X)) > 0.9


def test_features_and_pixels_weigh_the_same(fitted: ViewsRSRAE, images: Any) -> None:
    vectors = _vectors(fitted, images)
    assert vectors.shape == (12, 8 * 64 + 192)
    for part in np.split(vectors, [8 * 64], axis=1):
        np.testing.assert_allclose(np.linalg.norm(part, axis=1), 1, rtol=1e-5)


def test_an_images_turned_views_have_its_own_features_in_another_order(fitted: ViewsRSRAE, images: Any) -> None:
    features = _vectors(fitted, images)[:, : 8 * 64].reshape(12, 8, 64)
    turned = _vectors(fitted, np.rot90(images, axes=(1, 2)))[:, : 8 * 64].reshape(12, 8, 64)
    for image, other in zip(features, turned, strict=True):
        nearest = np.abs(image[:, None] - other[None]).max(axis=2).argmin(axis=1)
        assert sorted(nearest) == list(range(8))
        np.testing.assert_allclose(image, other[nearest], atol=1e-5)


def test_an_epoch_shows_as_many_views_of_few_images_as_of_many(images: Any) -> None:
    seen: list[tuple[int, int]] = []
    detector = ViewsRSRAE(**SMALL)
    loss = detector._loss

    def watched(batch: Any, generator: Any) -> Any:
        views, labels = batch
        seen.append((len(views), int(labels.max())))
        return loss(batch, generator)

    detector._loss = watched  # type: ignore[method-assign]
    detector.fit(images)
    assert sum(n for n, _ in seen) == VIEWS_AN_EPOCH
    assert max(label for _, label in seen) == 71


def test_views_that_are_learned_from_are_what_their_labels_say(images: Any) -> None:
    detector = ViewsRSRAE(**SMALL)
    drawn: list[Any] = []
    loss = detector._loss
    detector._loss = lambda batch, generator: drawn.append(batch) or loss(batch, generator)  # type: ignore
    detector.fit(images)
    views, labels = drawn[0]
    x = torch.from_numpy(detector.preprocess(images)).float().movedim(-1, 1)
    maps = rsrae.detectors.geometric.pixel_maps(8, 8)
    for view, label in zip(views[:20], labels[:20], strict=True):
        possible = show(x, maps[label].expand(len(x), -1))
        assert min(float((view - one).abs().max()) for one in possible) < 1e-6


def test_the_line_is_the_one_of_the_rsrae_behind_it(fitted: ViewsRSRAE, images: Any, tmp_path: Path) -> None:
    assert fitted.rsrae_.offset_ == fitted.offset_
    fitted.save(tmp_path / "model.rsrae")
    again = rsrae.load(tmp_path / "model.rsrae")
    assert again.rsrae_.offset_ == fitted.offset_
    np.testing.assert_array_equal(again.anomaly_score(images), fitted.anomaly_score(images))


def test_scores_are_evened_out_unless_that_is_left_out_or_the_model_is_older(
    fitted: ViewsRSRAE, images: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert fitted.rsrae_.panel_.company is not None
    without = ViewsRSRAE(**SMALL, n_alike=0).fit(images)
    assert without.rsrae_.panel_.company is None
    assert np.std(fitted.anomaly_score(images)) < np.std(without.anomaly_score(images))
    monkeypatch.setattr("rsrae.modelfile.FORMAT", 6)
    without.save(tmp_path / "model.rsrae")
    header, arrays = read_model(tmp_path / "model.rsrae")
    del header["parameters"]["n_alike"]
    write_model(tmp_path / "model.rsrae", header, arrays)
    monkeypatch.undo()
    again = rsrae.load(tmp_path / "model.rsrae")
    np.testing.assert_array_equal(again.anomaly_score(images), without.anomaly_score(images))


@pytest.mark.parametrize(("n_images", "expected"), [(99, 1), (100, 2), (600, 10)])
def test_of_few_images_fewer_count_as_alike(n_images: int, expected: int) -> None:
    images = np.random.default_rng(0).integers(0, 255, size=(n_images, 4, 4), dtype=np.uint8)
    assert ViewsRSRAE(**SMALL).fit(images).rsrae_.panel_.company.k == expected


def test_a_file_of_format_10_says_elsewhere_how_many_images_count_as_alike(
    images: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    detector = ViewsRSRAE(**SMALL).fit(images)
    monkeypatch.setattr("rsrae.modelfile.FORMAT", 10)
    detector.save(tmp_path / "model.rsrae")
    header, arrays = read_model(tmp_path / "model.rsrae")
    header["state"]["n_alike"] = int(arrays.pop("rsrae.company.k")[0])
    write_model(tmp_path / "model.rsrae", header, arrays)
    monkeypatch.undo()
    again = rsrae.load(tmp_path / "model.rsrae")
    np.testing.assert_array_equal(again.anomaly_score(images), detector.anomaly_score(images))


@pytest.mark.parametrize("n_alike", [-1, 0, 11, 2**60, 2.5])
def test_a_file_that_asks_for_a_wrong_number_of_images_alike_is_refused(
    n_alike: float, fitted: ViewsRSRAE, tmp_path: Path
) -> None:
    fitted.save(tmp_path / "model.rsrae")
    header, arrays = read_model(tmp_path / "model.rsrae")
    arrays["rsrae.company.k"] = np.array([n_alike])
    write_model(tmp_path / "model.rsrae", header, arrays)
    with pytest.raises(ModelFileError, match="evened out"):
        rsrae.load(tmp_path / "model.rsrae")


def test_progress_goes_through_both_networks(images: Any) -> None:
    told: list[Epoch] = []
    detector = ViewsRSRAE(**SMALL, on_epoch=told.append).fit(images)
    assert [epoch.number for epoch in told] == [1, 1, 2]
    assert detector.rsrae_.on_epoch is None


@pytest.mark.parametrize("wrong", [{"epochs": "auto"}, {"rsrae_epochs": 0}, {"n_alike": -1}, {"depth": 11}], ids=str)
def test_a_wrong_parameter_is_named(wrong: dict[str, Any], images: Any) -> None:
    with pytest.raises(ParameterError, match=next(iter(wrong))):
        ViewsRSRAE(**(SMALL | wrong)).fit(images)


def test_tables_and_images_that_are_too_small_are_refused(images: Any) -> None:
    with pytest.raises(InputError, match="takes images"):
        ViewsRSRAE().fit(np.zeros((10, 4)))
    with pytest.raises(InputError, match="resize"):
        ViewsRSRAE().fit(np.zeros((4, 3, 3)))


def test_a_file_whose_rsrae_is_for_other_vectors_is_refused(fitted: ViewsRSRAE, tmp_path: Path) -> None:
    path = tmp_path / "model.rsrae"
    fitted.save(path)
    header, arrays = read_model(path)
    arrays["rsrae.member0.output"] = arrays["rsrae.member0.output"][:, :-1]
    write_model(path, header, arrays)
    with pytest.raises(ModelFileError, match="do not fit together"):
        rsrae.load(path)


def test_there_are_eight_views_of_an_image_and_the_first_is_itself() -> None:
    assert len(UNSHIFTED) == 8
    assert UNSHIFTED[0] == 0


def _vectors(detector: ViewsRSRAE, X: Any) -> Any:
    blocks = detector._blocks(detector._check_rows(X, reset=False))
    with torch.no_grad():
        return torch.cat([detector._vectors(x) for x in blocks]).numpy()
