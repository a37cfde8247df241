"""detect, fit and score, as a user calls them."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image

import rsrae
from rsrae.detectors import METHODS, detector_class
from rsrae.detectors.neural import NeuralDetector

from .finished import Command, orders

RESULT = ["model.rsrae", "report.html", "scores.csv", "scores.parquet"]


def test_detect_writes_a_folder_and_says_what_is_strange(command: Command, orders_csv: Path) -> None:
    done = command("detect", "orders.csv", "--label", "fraud", "--epochs", 3, "--contamination", 0.05)
    assert done.code == 0
    assert done.err == ""
    assert sorted(path.name for path in Path("orders-anomalies").iterdir()) == RESULT
    assert "orders.csv: 80 items, read as table." in done.out
    assert "Left out: 'fraud' (holds the known answers)" in done.out
    assert "4 of 80 items are above the line" in done.out
    assert "AUC 1.0000, AP 1.0000" in done.out
    assert "price = 900, expected" in done.out
    assert "Written to orders-anomalies: scores.csv" in done.out
    scores = pd.read_csv("orders-anomalies/scores.csv")
    assert set(scores["id"].head(4)) == {"A0", "A1", "A2", "A3"}


def test_json_is_the_only_output_and_complete(command: Command, orders_csv: Path) -> None:
    done = command("detect", "orders.csv", "--label", "fraud", "--epochs", 3, "--json")
    assert (done.code, done.err) == (0, "")
    document = done.document
    assert document["items"] == 80
    assert document["metrics"]["AUC"] == 1.0
    assert len(document["strangest"]) == 10
    first = document["strangest"][0]
    assert first["rank"] == 1
    assert first["reasons"][0]["feature"] == "price"
    assert first["reasons"][0]["value"] == 900
    assert set(document["files"]) == set(RESULT)


def test_quiet_prints_nothing(command: Command, orders_csv: Path) -> None:
    assert command("detect", "orders.csv", "--epochs", 1, "--quiet") == (0, "", "")
    assert Path("orders-anomalies/report.html").exists()


def test_verbose_prints_settings_and_versions(command: Command, orders_csv: Path) -> None:
    done = command("detect", "orders.csv", "--epochs", 1, "-v", "--seed", 7, "--dim", 2)
    assert "random_state: 7" in done.out
    assert "intrinsic_dim: 2" in done.out
    assert "torch: " in done.out


def test_an_earlier_result_is_replaced_only_with_force(command: Command, orders_csv: Path) -> None:
    assert command("detect", "orders.csv", "--epochs", 1, "--out", "o", "-q").code == 0
    before = Path("o/scores.csv").read_text()
    refused = command("detect", "orders.csv", "--epochs", 2, "--out", "o", "-q")
    assert refused.code == 2
    assert "already exists" in refused.err
    assert Path("o/scores.csv").read_text() == before
    assert command("detect", "orders.csv", "--epochs", 2, "--out", "o", "-q", "--force").code == 0
    assert Path("o/scores.csv").read_text() != before


def test_examples_need_no_data(command: Command) -> None:
    done = command("detect", "--example", "swiss-roll", "--epochs", 1, "--limit", 5)
    assert done.code == 2
    assert "--limit does not go with --example" in done.err
    done = command("detect", "--example", "swiss-roll", "--method", "knn", "--json")
    assert done.document["items"] == 1500
    assert set(done.document["metrics"]) == {"AUC", "AP"}


def test_a_csv_is_read_from_standard_input(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.TextIOWrapper(io.BytesIO(orders().to_csv(index=False).encode()))
    monkeypatch.setattr(sys, "stdin", stream)
    done = command("detect", "-", "--drop", "fraud", "--epochs", 1)
    assert done.code == 0
    assert Path("stdin-anomalies/scores.csv").exists()


def test_documents_in_json_lines(command: Command, tmp_path: Path) -> None:
    texts = ["red car stops", "red car goes", "blue car stops"] * 15 + ["penguin swims", "penguin dives"]
    lines = [json.dumps({"id": i, "body": text}) for i, text in enumerate(texts)]
    (tmp_path / "mails.jsonl").write_text("\n".join(lines))
    done = command("detect", "mails.jsonl", "--text", "body", "--epochs", 3, "--contamination", 0.04, "--json")
    assert {item["id"] for item in done.document["strangest"][:2]} == {"45", "46"}


@pytest.mark.parametrize("method", [name for name in METHODS if "sparse" in detector_class(name).accepts])
def test_every_method_that_takes_documents_does_so(method: str, command: Command, tmp_path: Path) -> None:
    texts = ["red car stops", "red car goes", "blue car stops"] * 15 + ["penguin swims", "penguin dives"]
    (tmp_path / "mails.jsonl").write_text("\n".join(json.dumps({"body": text}) for text in texts))
    epochs = ("--epochs", 1) if issubclass(detector_class(method), NeuralDetector) else ()
    done = command("detect", "mails.jsonl", "--text", "body", "--method", method, *epochs, "--json")
    assert done.code == 0
    assert done.document["items"] == len(texts)


def test_a_folder_of_pictures_with_known_anomalies(command: Command, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    for kind, n, level in (("good", 12, 200), ("bad", 2, 30)):
        (tmp_path / "photos" / kind).mkdir(parents=True)
        for i in range(n):
            pixels = np.clip(rng.normal(level, 5, (8, 8)), 0, 255).astype(np.uint8)
            Image.fromarray(pixels).save(tmp_path / "photos" / kind / f"{i}.png")
    done = command("detect", "photos", "--label", "bad", "--method", "centroid", "--json")
    assert done.document["kind"] == "images"
    assert done.document["metrics"]["AUC"] > 0.9
    assert Path("photos-anomalies").is_dir()


def test_fit_then_score_gives_the_scores_of_detect(command: Command, orders_csv: Path) -> None:
    command("detect", "orders.csv", "--drop", "fraud", "--epochs", 2, "-q")
    assert command("fit", "orders.csv", "--drop", "fraud", "--epochs", 2, "-m", "m.rsrae", "-q").code == 0
    done = command("score", "orders.csv", "-m", "m.rsrae", "--label", "fraud")
    assert done.code == 0
    assert "AUC 1.0000" in done.out
    by_detect = pd.read_csv("orders-anomalies/scores.csv").drop(columns="reasons")
    by_score = pd.read_csv("orders-scores.csv").drop(columns=["reasons", "label"])
    pd.testing.assert_frame_equal(by_detect, by_score)


def test_score_writes_parquet_if_asked(command: Command, orders_csv: Path, orders_model: Path) -> None:
    done = command("score", "orders.csv", "-m", orders_model, "--out", "s.parquet", "--json")
    assert done.document["files"] == {"scores": "s.parquet"}
    assert len(pd.read_parquet("s.parquet")) == 80


def test_every_recipe_runs(command: Command, orders_csv: Path) -> None:
    for recipe in ("default", "paper", "authors"):
        done = command("fit", "orders.csv", "--recipe", recipe, "--epochs", 1, "-m", f"{recipe}.rsrae", "-q")
        assert (done.code, done.err) == (0, "")


def test_any_setting_can_be_given_by_its_name_in_python(command: Command, orders_csv: Path) -> None:
    given = ("--set", "rules=1", "--set", "intrinsic_dim=[0, 3]", "--set", "trim=auto", "--set", "ranks=False")
    done = command("fit", "orders.csv", "--epochs", 1, *given, "-m", "m.rsrae", "-q")
    assert (done.code, done.err) == (0, "")
    detector = rsrae.load("m.rsrae")
    assert (detector.rules, detector.intrinsic_dim, detector.trim, detector.ranks) == (1, (0, 3), "auto", False)
    done = command("fit", "orders.csv", "--method", "knn", "--set", "n_neighbors=7", "-m", "k.rsrae", "-q")
    assert rsrae.load("k.rsrae").n_neighbors == 7


# Training tells that it goes on by a file, so that the signal comes neither too early nor by chance.
PROGRAM = """
import pathlib, sys
from rsrae.cli import console, main
told = console.Training.__call__
def tell(self, epoch):
    pathlib.Path("training").touch()
    return told(self, epoch)
console.Training.__call__ = tell
main(sys.argv[1:])
"""


@contextmanager
def in_training(folder: Path, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM, *arguments],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    ) as process:
        try:
            deadline = time.monotonic() + 120
            while not (folder / "training").exists():
                assert process.poll() is None, process.communicate()
                assert time.monotonic() < deadline
                time.sleep(0.02)
            yield process
        finally:
            process.kill()


def test_ctrl_c_ends_training_after_the_epoch_and_writes_what_was_learned(tmp_path: Path, orders_csv: Path) -> None:
    with in_training(tmp_path, "detect", "orders.csv", "--epochs", "1000000") as process:
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    assert "Stopping after this epoch" in err
    assert "Training was stopped by Ctrl-C after" in out
    assert sorted(path.name for path in (tmp_path / "orders-anomalies").iterdir()) == RESULT


def test_a_second_ctrl_c_gives_up_and_leaves_nothing(tmp_path: Path) -> None:
    # One epoch over so many rows takes long enough for the second signal.
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(100_000, 4)), columns=list("abcd"))
    frame.to_parquet(tmp_path / "many.parquet")
    with in_training(tmp_path, "detect", "many.parquet", "--epochs", "1000000") as process:
        process.send_signal(signal.SIGINT)
        assert process.stderr is not None
        while "Stopping" not in process.stderr.readline():
            assert process.poll() is None
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=120)
    assert process.returncode == 130
    assert err == "rsrae: interrupted; nothing was written\n"
    assert out == ""
    assert sorted(path.name for path in tmp_path.iterdir()) == ["many.parquet", "training"]


def test_a_full_disk_leaves_nothing_behind(tmp_path: Path, orders_csv: Path) -> None:
    # Files of at most 64 KiB: reading and training go well, the model or the report does not fit.
    program = (
        "import resource, sys; from rsrae.cli import main; "
        "resource.setrlimit(resource.RLIMIT_FSIZE, (65536, 65536)); main(sys.argv[1:])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, "detect", "orders.csv", "--epochs", "1"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2, done.stderr
    assert done.stderr.count("\n") == 1
    assert "orders-anomalies" in done.stderr
    assert "cannot be written" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["orders.csv"]
