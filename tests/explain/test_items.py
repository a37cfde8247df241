"""Explanations in the user's terms, checked on data whose causes were planted."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_digits

from rsrae import RSRAE
from rsrae.data.samples import Samples
from rsrae.data.sources import read_source
from rsrae.detectors import make_detector
from rsrae.explain import Explanation, Part, explain, shown, shown_expectation

N_PLANTED = 30


def planted_table() -> tuple[pd.DataFrame, list[str]]:
    """400 orders; in each of the first rows one cell does not belong."""
    rng = np.random.default_rng(0)
    n = 400
    weight = rng.gamma(4, 2, n)
    frame = pd.DataFrame(
        {
            "weight": weight,
            "price": 3 * weight + rng.normal(0, 1, n),
            "postage": 2 + 0.5 * weight + rng.normal(0, 0.3, n),
            "pieces": rng.integers(1, 6, n).astype(float),
            "country": rng.choice(["DE", "FR", "PL"], n),
            "day": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 300, n), unit="D"),
        }
    )
    strange = {"price": 400.0, "postage": -30.0, "pieces": 70.0, "weight": 150.0, "country": "AQ"}
    causes = [list(strange)[i % len(strange)] for i in range(N_PLANTED)]
    for row, column in enumerate(causes):
        frame.loc[row, column] = strange[column]
    return frame, causes


def rarely_planted_documents() -> tuple[list[str], list[str]]:
    """Three topics; each planted word is in two documents."""
    rng = np.random.default_rng(1)
    topics = [[f"{topic}{i}" for i in range(12)] for topic in ("parcel", "garden", "engine")]
    texts = [" ".join(rng.choice(topics[i % 3], 15)) for i in range(300)]
    return plant(texts, [f"volcano{i % 15}" for i in range(N_PLANTED)])


def often_planted_documents() -> tuple[list[str], list[str]]:
    """Twelve words in all; each planted word is in ten documents, so that a wide code could learn it."""
    rng = np.random.default_rng(1)
    texts = [" ".join(rng.choice([f"word{i}" for i in range(12)], 12)) for _ in range(300)]
    return plant(texts, [("volcano", "sonata", "penguin")[i % 3] for i in range(N_PLANTED)])


def plant(texts: list[str], causes: list[str]) -> tuple[list[str], list[str]]:
    for i, word in enumerate(causes):
        texts[i] += f" {word} {word} {word}"
    return texts, causes


def planted_pictures() -> tuple[np.ndarray[Any, Any], list[tuple[int, int]]]:
    rng = np.random.default_rng(2)
    digits = load_digits()
    pictures = (digits.images[digits.target == 0] * 15).astype(np.uint8)
    causes = [(int(rng.integers(0, 4)) * 2, int(rng.integers(0, 4)) * 2) for _ in range(N_PLANTED)]
    for i, (row, column) in enumerate(causes):
        patch = pictures[i, row : row + 2, column : column + 2]
        patch[...] = 255 - patch
    return pictures, causes


def share_found(found: list[bool]) -> float:
    return sum(found) / len(found)


def default_detector(method: str) -> Any:
    return make_detector(method, **({"random_state": 0} if method in ("rsrae", "iforest") else {}))


# PCA reaches only 0.8 here and is left out; probably its subspace turns towards the repeated outliers of a column.
@pytest.mark.parametrize("method", ["rsrae", "iforest", "knn", "lof", "centroid"])
def test_the_planted_column_comes_first(method: str) -> None:
    frame, causes = planted_table()
    samples = read_source(frame)
    found = explain(default_detector(method).fit(samples.X), samples, range(N_PLANTED), most=3)
    assert share_found([e.parts[0].feature == cause for e, cause in zip(found, causes, strict=True)]) >= 0.9


@pytest.mark.parametrize("documents", [rarely_planted_documents, often_planted_documents])
@pytest.mark.parametrize("method", ["rsrae", "centroid"])
def test_the_planted_word_comes_first(method: str, documents: Callable[[], tuple[list[str], list[str]]]) -> None:
    texts, causes = documents()
    samples = read_source(texts)
    found = explain(default_detector(method).fit(samples.X), samples, range(N_PLANTED), most=5)
    assert share_found([e.parts[0].feature == cause for e, cause in zip(found, causes, strict=True)]) >= 0.9
    assert share_found([e.unexpected[0].feature == c for e, c in zip(found, causes, strict=True)]) >= 0.9


@pytest.mark.parametrize("method", ["rsrae", "centroid"])
def test_the_planted_patch_is_the_hottest(method: str) -> None:
    pictures, causes = planted_pictures()
    samples = read_source(pictures)
    detector = make_detector(
        method, **({"epochs": 30, "random_state": 0, "n_members": 1, "intrinsic_dim": 10} if method == "rsrae" else {})
    )
    detector.fit(samples.X)
    hits = []
    for explanation, (row, column) in zip(explain(detector, samples, range(N_PLANTED)), causes, strict=True):
        assert explanation.heat is not None
        patches = explanation.heat.reshape(4, 2, 4, 2).sum(axis=(1, 3))
        hits.append(np.unravel_index(patches.argmax(), (4, 4)) == (row // 2, column // 2))
        assert explanation.parts[0].feature.startswith(("brightness of rows ", "edges in rows "))
    assert share_found(hits) >= 0.9


@pytest.mark.parametrize(
    ("usual", "strange", "value", "expected"),
    [
        (np.tri(12), np.tri(12)[::-1], "rising", "falling"),
        (np.arange(12) > 5 + np.zeros((12, 1)), np.arange(12)[:, None] > 5 + np.zeros(12), "level", "upright"),
        (np.arange(12)[:, None] > 5 + np.zeros(12), np.arange(12) > 5 + np.zeros((12, 1)), "upright", "level"),
    ],
)
def test_edges_that_run_another_way_are_said_to(
    usual: np.ndarray, strange: np.ndarray, value: str, expected: str, rng: np.random.Generator
) -> None:
    X = np.where((np.arange(80) < 4)[:, None, None], strange, usual) + 0.05 * rng.normal(size=(80, 12, 12))
    detector = RSRAE(epochs=30, random_state=0).fit(X)
    (found,) = explain(detector, X, [0])
    of_edges = [part for part in found.parts if part.feature.startswith("edges in rows ")]
    assert (value, expected) in [(part.value, part.expected) for part in of_edges]
    assert sum(part.share for part in found.parts) + found.rest == pytest.approx(1)


def test_a_picture_that_is_even_has_no_edges_where_others_do(rng: np.random.Generator) -> None:
    X = np.tri(12)[::-1] + 0.05 * rng.normal(size=(80, 12, 12))
    X[0] = 0.5
    (found,) = explain(RSRAE(epochs=30, random_state=0).fit(X), X, [0])
    assert ("none", "rising") in [(part.value, part.expected) for part in found.parts]


def test_values_and_expectations_are_in_the_users_units() -> None:
    frame, _ = planted_table()
    samples = read_source(frame)
    detector = make_detector("rsrae", epochs=60, random_state=0, n_members=1, intrinsic_dim=10).fit(samples.X)
    parts = {part.feature: part for part in explain(detector, samples, [0])[0].parts}
    assert parts["price"].value == 400.0
    assert isinstance(parts["price"].expected, float)
    assert -20 < parts["price"].expected < 150
    assert parts["country"].value == frame.country[0]
    assert parts["country"].expected in ("DE", "FR", "PL", "AQ")
    assert isinstance(parts["day"].expected, str | datetime.date)


def test_shares_of_one_hot_and_missing_columns_are_folded_into_the_users_column() -> None:
    frame, _ = planted_table()
    frame.loc[5:40, "pieces"] = np.nan
    samples = read_source(frame)
    assert samples.X.shape[1] > len(frame.columns)
    detector = make_detector("rsrae", epochs=2, random_state=0, n_members=1, intrinsic_dim=10).fit(samples.X)
    explanation = explain(detector, samples, [6])[0]
    assert sorted(part.feature for part in explanation.parts) == sorted(frame.columns)
    assert sum(part.share for part in explanation.parts) == pytest.approx(1)
    assert {part.feature: part.value for part in explanation.parts}["pieces"] is None


def test_parts_beyond_the_most_are_summed_up() -> None:
    frame, _ = planted_table()
    samples = read_source(frame)
    detector = make_detector("rsrae", epochs=2, random_state=0, n_members=1, intrinsic_dim=10).fit(samples.X)
    explanation = explain(detector, samples, [0], most=2)[0]
    assert len(explanation.parts) == 2
    assert sum(part.share for part in explanation.parts) + explanation.rest == pytest.approx(1)


def test_a_document_without_an_expected_word_says_that_it_is_absent() -> None:
    texts = ["tea cup spoon"] * 150 + ["tea cup"] * 3
    samples = read_source(texts)
    detector = make_detector("rsrae", epochs=40, random_state=0, n_members=1, intrinsic_dim=10).fit(samples.X)
    explanation = explain(detector, samples, [150])[0]
    assert [part.feature for part in explanation.missing] == ["spoon"]


def test_plain_rows_are_explained_by_column_names() -> None:
    X = np.random.default_rng(0).normal(size=(60, 3))
    detector = make_detector("rsrae", epochs=2, random_state=0, n_members=1, intrinsic_dim=10).fit(X)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    by_frame, by_array = explain(detector, frame)[0], explain(detector, X, [0])[0]
    assert {part.feature for part in by_frame.parts} == {"a", "b", "c"}
    assert {part.feature for part in by_array.parts} == {"column 1", "column 2", "column 3"}
    assert explain(detector, X, []) == []


def test_dates_are_expected_as_dates_times_or_weekdays() -> None:
    rng = np.random.default_rng(0)
    days = pd.Timestamp("2020-01-06") + pd.to_timedelta(7 * rng.integers(0, 150, 300), unit="D")  # Mondays
    days = days + pd.to_timedelta(rng.normal(9, 0.2, 300), unit="h")  # at nine
    frame = pd.DataFrame({"when": days.astype("datetime64[us]"), "amount": rng.normal(size=300)})
    frame.loc[0, "when"] = pd.Timestamp("2021-06-07 22:30")
    samples = read_source(frame)
    detector = make_detector("rsrae", epochs=30, random_state=0, n_members=1, intrinsic_dim=10).fit(samples.X)
    part = explain(detector, samples, [0])[0].parts[0]
    assert part.feature == "when"
    assert str(part.expected).startswith(("at 08", "at 09"))


def test_samples_keep_the_names_of_their_items() -> None:
    samples = Samples(np.random.default_rng(0).normal(size=(20, 2)), "embeddings", [f"v{i}" for i in range(20)])
    detector = make_detector("rsrae", epochs=1, random_state=0, n_members=1, intrinsic_dim=10).fit(samples.X)
    assert [e.name for e in explain(detector, samples, [3, 1])] == ["v3", "v1"]


def test_in_words_names_the_largest_parts_only() -> None:
    parts = [
        Part("price", 950.0, None, 0.7),
        Part("volcano", "present", "absent", 0.2),
        Part("tea", "absent", "present", 0.1),
    ]
    assert (
        Explanation("1", 2.0, parts).in_words() == "price = 950 (70 %); 'volcano' present (20 %); 'tea' absent (10 %)"
    )
    assert Explanation("1", 2.0, parts).in_words(1) == "price = 950 (70 %)"


def test_long_values_are_cut_where_they_are_shown() -> None:
    assert shown("x" * 100) == "x" * 57 + "..."
    assert shown(123456789.0) == "123456789"
    assert shown(datetime.date(2024, 5, 1)) == "2024-05-01"


def test_a_likely_category_that_is_not_sure_is_not_said_to_be_what_was_expected() -> None:
    unsure, wrong = Part("city", "Rome", "Rome", 0.7), Part("city", "Rome", "Oslo", 0.7)
    assert shown_expectation(unsure) == "Rome or another"
    assert shown_expectation(wrong) == "Oslo"
    assert shown_expectation(Part("word", "absent", "absent", 0.1)) == "absent"
    assert Explanation("a", 1.0, [unsure], 0.3).in_words() == "city = Rome, expected Rome or another (70 %)"
