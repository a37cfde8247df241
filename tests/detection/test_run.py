from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import rsrae
from rsrae.data.examples import load_example
from rsrae.data.sources import read_source
from rsrae.detection import Detection, detect, detect_samples, score_with
from rsrae.errors import InputError, ModelFileError, ParameterError


def orders(n: int = 120) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "order_id": np.arange(5000, 5000 + n),
            "price": rng.normal(40, 4, n),
            "weight": rng.normal(2, 0.3, n),
            "country": rng.choice(["DE", "FR"], n),
            "fraud": 0,
        }
    )
    frame.loc[:5, "price"] = 900.0
    frame.loc[:5, "fraud"] = 1
    return frame


@pytest.fixture(scope="module")
def found() -> Detection:
    return detect(orders(), label="fraud", epochs=5, contamination=0.05)


def test_detect_is_a_public_name() -> None:
    assert rsrae.detect is detect


def test_scores_have_one_row_an_item_the_strangest_first(found: Detection) -> None:
    scores = found.scores
    assert list(scores.columns) == ["id", "score", "rank", "verdict", "probability", "reasons", "label"]
    assert scores["rank"].tolist() == list(range(1, 121))
    assert scores["score"].is_monotonic_decreasing
    assert set(scores["id"].head(6)) == {str(i) for i in range(5000, 5006)}
    assert (scores["verdict"] == "anomaly").sum() == found.n_flagged == 6
    assert ((scores["probability"] > 0.5) == (scores["verdict"] == "anomaly")).all()
    assert scores["reasons"].iloc[0].startswith("price = 900, expected ")
    np.testing.assert_allclose(scores.sort_index()["score"], found.anomaly_scores)


def test_labels_are_measured_against_and_never_learned_from(found: Detection) -> None:
    assert found.metrics["AUC"] == 1.0
    without = detect(orders(), drop=["fraud"], epochs=5, contamination=0.05)
    np.testing.assert_array_equal(found.anomaly_scores, without.anomaly_scores)
    assert without.metrics == {}
    assert "label" not in without.scores


def test_the_same_data_gives_the_same_result(found: Detection) -> None:
    again = detect(orders(), label="fraud", epochs=5, contamination=0.05)
    pd.testing.assert_frame_equal(found.scores, again.scores)
    other = detect(orders(), label="fraud", epochs=5, contamination=0.05, random_state=1)
    assert (found.anomaly_scores != other.anomaly_scores).any()


def test_an_item_is_explained_by_its_id(found: Detection) -> None:
    explanation = found.explain(5003)
    assert explanation.name == "5003"
    assert explanation.parts[0].feature == "price"
    assert explanation.score == found.anomaly_scores[3]


def test_an_unknown_item_is_an_error_that_helps(found: Detection) -> None:
    with pytest.raises(InputError, match=r"there is no item '50030'; did you mean '5"):
        found.explain("50030")


def test_new_data_is_scored_by_name_with_an_old_model(found: Detection, tmp_path: Path) -> None:
    found.save(tmp_path / "m.rsrae")
    new = orders()[["fraud", "country", "weight", "price", "order_id"]].iloc[::-1]
    again = score_with(tmp_path / "m.rsrae", new)
    by_id = found.scores.set_index("id")["score"]
    np.testing.assert_allclose(again.scores.set_index("id")["score"].reindex(by_id.index), by_id)
    assert again.threshold == found.threshold
    pd.testing.assert_series_equal(
        again.scores.set_index("id")["probability"].reindex(by_id.index), found.scores.set_index("id")["probability"]
    )


def test_missing_columns_are_an_error(found: Detection, tmp_path: Path) -> None:
    found.save(tmp_path / "m.rsrae")
    with pytest.raises(InputError, match="missing: 'price'"):
        score_with(tmp_path / "m.rsrae", orders().drop(columns="price"))


def test_a_model_without_its_encoder_is_an_error(found: Detection, tmp_path: Path) -> None:
    found.detector.save(tmp_path / "bare.rsrae")
    with pytest.raises(ModelFileError, match="not how its data was read"):
        score_with(tmp_path / "bare.rsrae", orders())


def test_a_polars_frame_gives_the_same_as_a_pandas_frame(found: Detection) -> None:
    again = detect(pl.from_pandas(orders()), label="fraud", epochs=5, contamination=0.05)
    np.testing.assert_array_equal(again.anomaly_scores, found.anomaly_scores)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "magic"}, "no method 'magic'"),
        ({"method": "iforest", "epochs": 5}, "method 'iforest' has no 'epochs'; it has"),
        ({"contamination": 0.9}, r"contamination must be 'auto' or a number in \(0, 0.5\]"),
        ({"recipe": "grandma"}, "no recipe 'grandma'"),
        ({"method": "gt"}, r"method 'gt' takes images only, not a table; choose another"),
    ],
)
def test_options_out_of_range_are_errors(options: dict[str, Any], message: str) -> None:
    with pytest.raises((ParameterError, InputError), match=message):
        detect(orders(), **options)


def test_items_of_all_kinds_are_judged_by_rsrae(found: Detection) -> None:
    assert found.model.method == "rsrae"
    pictures = np.random.default_rng(0).integers(0, 255, size=(6, 16, 20), dtype=np.uint8)
    assert detect(pictures, epochs=1).model.method == "rsrae"


def test_a_callback_is_no_part_of_the_model(tmp_path: Path) -> None:
    epochs = []
    result = detect(orders(), epochs=3, on_epoch=lambda epoch: epochs.append(epoch.number))
    assert epochs == [1, 2, 3]
    assert result.detector.on_epoch is None


@pytest.mark.parametrize("method", ["iforest", "centroid", "rpca"])
def test_methods_that_flatten_or_have_no_encoder_judge_pictures(method: str) -> None:
    result = detect_samples(read_source(load_example("digits").X[:40]), method=method)
    assert len(result.scores) == len(result.samples)
    assert len(result.explanations) >= 10
    first = next(iter(result.explanations.values()))
    assert first.heat is not None
    assert first.heat.shape == (8, 8)
    assert first.heat.sum() == pytest.approx(1)


def test_documents_stay_sparse_from_reading_to_reasons() -> None:
    texts = ["the red car stops", "a red car goes", "the blue car stops"] * 20 + ["penguin penguin swims far"] * 2
    result = detect(texts, epochs=20, contamination=0.03, random_state=0)
    assert hasattr(result.samples.X, "indptr")
    assert set(result.scores["id"].head(2)) == {"61", "62"}
    assert "'penguin' present" in result.scores["reasons"].iloc[0]


def test_what_the_source_was_read_with_is_remembered(tmp_path: Path) -> None:
    orders().to_csv(tmp_path / "orders.csv", index=False)
    result = detect(tmp_path / "orders.csv", label="fraud", limit=50, epochs=1)
    assert result.model.reading == {"label": "fraud", "limit": 50}
    assert result.model.n_items == 50


def test_samples_without_an_encoder_are_an_error() -> None:
    samples = read_source(orders())
    samples.encoder = None
    with pytest.raises(InputError, match="no encoder"):
        detect_samples(samples, epochs=1)
