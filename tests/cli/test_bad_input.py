"""Whatever a user gets wrong: one line on standard error, exit code 2, nothing left behind."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from rsrae.detection import detect

from .finished import Command, orders

DETECT = ("detect", "orders.csv", "--epochs", "1")

# What is typed, and a part of the answer. The folder holds orders.csv, pictures.npy and some models, see `folder`.
WRONG: list[tuple[tuple[str, ...], str]] = [
    (("detect",), "what should be read? Name a file or a folder"),
    (("detect", "nothing.csv"), "nothing.csv: no such file or folder"),
    (("detect", "orders.csv", "--example", "wine"), "SOURCE does not go with --example"),
    (("detect", "--example", "iris"), "there is no example 'iris'; there are digits, swiss-roll, wine"),
    ((*DETECT, "--contamination", "0.9"), "contamination must be 'auto' or a number in (0, 0.5], got 0.9"),
    ((*DETECT, "--contamination", "0"), "contamination must be 'auto' or a number in (0, 0.5], got 0.0"),
    ((*DETECT, "--contamination", "few"), "--contamination must be 'auto' or a number in (0, 0.5], not 'few'"),
    ((*DETECT, "--contamination", "nan"), "contamination must be 'auto' or a number in (0, 0.5], got nan"),
    ((*DETECT, "--method", "magic"), "no method 'magic'; there are: rsrae"),
    (("detect", "orders.csv", "--method", "gt"), "method 'gt' takes images only, not a table"),
    (("detect", "orders.csv", "--method", "iforest", "--epochs", "5"), "--epochs does not apply to method 'iforest'"),
    (("detect", "orders.csv", "--method", "lof", "--device", "cuda"), "--device does not apply to method 'lof'"),
    (("detect", "orders.csv", "--method", "lof", "--recipe", "paper"), "method 'lof' has no recipes"),
    ((*DETECT, "--recipe", "grandma"), "no recipe 'grandma'; there are: default, paper, authors"),
    (("detect", "orders.csv", "--epochs", "0"), "epochs must be"),
    (("detect", "orders.csv", "--epochs", "many"), "Invalid value for '--epochs'"),
    ((*DETECT, "--dim", "-3"), "intrinsic_dim"),
    ((*DETECT, "--device", "abacus"), "device='abacus' cannot be used here"),
    ((*DETECT, "--threads", "0"), "--threads must be at least 1, not 0"),
    ((*DETECT, "--limit", "0"), "limit must be at least 1, not 0"),
    ((*DETECT, "--size", "28"), "size does not apply to a table"),
    ((*DETECT, "--set", "rules"), "--set must be NAME=VALUE such as rules=1, not 'rules'"),
    ((*DETECT, "--set", "trim=" + "[" * 20_000), "trim must be 'auto' or a share in [0, 1), got '[[["),
    ((*DETECT, "--set", "rules="), "--set must be NAME=VALUE"),
    ((*DETECT, "--set", "rules=1", "--set", "rules=0"), "--set gives rules twice"),
    ((*DETECT, "--set", "tame=7"), "tame must be one of True, False, got 7"),
    ((*DETECT, "--set", "rules=2"), "rules must be a share in [0, 1], got 2"),
    ((*DETECT, "--set", "rules=much"), "rules must be a share in [0, 1], got 'much'"),
    ((*DETECT, "--set", "rule=1"), "--set rule=...: the settings of method 'rsrae' are"),
    ((*DETECT, "--set", "on_epoch=1"), "--set on_epoch=...: the settings of method 'rsrae' are"),
    ((*DETECT, "--set", "contamination=0.1"), "--set contamination=...: there is --contamination for it"),
    ((*DETECT, "--dim", "3", "--set", "intrinsic_dim=4"), "--set intrinsic_dim=...: there is --dim for it"),
    (("detect", "orders.csv", "--method", "lof", "--set", "trim=0"), "the settings of method 'lof' are"),
    (("detect", "pictures.npy", "--size", "big"), "--size must be a number of pixels such as 28"),
    (("detect", "pictures.npy", "--size", "9999"), "size must be between 1 and 1024 pixels"),
    ((*DETECT, "--kind", "music"), "kind must be one of table, images, documents, embeddings"),
    ((*DETECT, "--label", "fraude"), "there is no column 'fraude'; did you mean 'fraud'?"),
    ((*DETECT, "--label", "country"), "which is not an answer; use 0 for normal and 1 for anomaly"),
    ((*DETECT, "--id", "nr"), "there is no column 'nr'"),
    ((*DETECT, "--drop", "cost"), "there is no column 'cost'"),
    ((*DETECT, "--text", "body"), "there is no column 'body'"),
    (("detect", "pictures.npy", "--names", "names.txt"), "names.txt: cannot be read"),
    ((*DETECT, "--out", "nowhere/deep/out"), "no such folder; make it first"),
    ((*DETECT, "--out", "full"), "full: already exists"),
    ((*DETECT, "--out", "full", "--force"), "holds other files than a result ('mine.txt')"),
    ((*DETECT, "--out", "orders.csv", "--force"), "orders.csv: is not a folder"),
    ((*DETECT, "--out", "/proc/out"), "/proc/out: cannot be written"),
    ((*DETECT, "--colour"), "No such option"),
    (("guess", "orders.csv"), "No such command 'guess'"),
    (("fit", "orders.csv"), "Missing option '--model'"),
    (("fit", "orders.csv", "-m", "good.rsrae"), "good.rsrae: already exists"),
    (("fit", "orders.csv", "-m", "full"), "full: is a folder; name a file"),
    (("fit", "orders.csv", "-m", "nowhere/m.rsrae"), "nowhere: no such folder"),
    (("fit", "orders.csv", "--epochs", "1", "-m", "/proc/m.rsrae"), "/proc/m.rsrae: cannot be written"),
    (("score", "orders.csv", "-m", "none.rsrae"), "none.rsrae: no such model file"),
    (("score", "orders.csv", "-m", "cut.rsrae"), "cut.rsrae: not a model file, or damaged"),
    (("score", "orders.csv", "-m", "orders.csv"), "orders.csv: not a model file, or damaged"),
    (("score", "orders.csv", "-m", "bare.rsrae"), "bare.rsrae: holds a detector, but not how its data was read"),
    (("score", "other.csv", "-m", "good.rsrae"), "other.csv: 1 columns the model was fitted with are missing: 'price'"),
    (("score", "pictures.npy", "-m", "good.rsrae"), "pictures.npy: shape"),
    (("score", "orders.csv", "-m", "good.rsrae", "--out", "s.xlsx"), "--out must end in .csv or .parquet"),
    (("score", "orders.csv", "-m", "good.rsrae", "--out", "other.csv"), "other.csv: already exists"),
    (("explain", "orders.csv", "-m", "good.rsrae", "--item", "Z9"), "orders.csv: there is no item 'Z9'; "),
    (("explain", "-m", "good.rsrae", "--item", "A1"), "which data is the item in?"),
    (("explain", "orders.csv", "-m", "good.rsrae", "--item", "A1", "--out", "h.jpg"), "--out must end in .png"),
    (("explain", "orders.csv", "-m", "good.rsrae", "--item", "A1", "--out", "h.png"), "holds no pictures"),
    (("report", "full"), "full: no model.rsrae inside"),
    (("report", "nowhere"), "nowhere: no model.rsrae inside"),
    (("info", "none.rsrae"), "none.rsrae: no such model file"),
    (("info", "cut.rsrae"), "cut.rsrae: not a model file, or damaged"),
]


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models")
    found = detect(orders(), drop=["fraud"], epochs=1)
    found.save(folder / "good.rsrae")
    found.detector.save(folder / "bare.rsrae")
    (folder / "cut.rsrae").write_bytes((folder / "good.rsrae").read_bytes()[:-300])
    return folder


@pytest.fixture
def folder(tmp_path: Path, orders_csv: Path, models: Path) -> Path:
    for model in models.iterdir():
        (tmp_path / model.name).write_bytes(model.read_bytes())
    orders().drop(columns="price").to_csv(tmp_path / "other.csv", index=False)
    np.save(tmp_path / "pictures.npy", np.zeros((9, 6, 6), dtype=np.uint8))
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine.txt").write_text("mine")
    return tmp_path


def everything_in(folder: Path) -> dict[str, int]:
    return {str(path.relative_to(folder)): path.stat().st_size for path in folder.rglob("*")}


@pytest.mark.parametrize(("arguments", "message"), WRONG, ids=[" ".join(arguments) for arguments, _ in WRONG])
def test_a_mistake_is_one_line_and_leaves_nothing(
    command: Command, folder: Path, arguments: tuple[str, ...], message: str
) -> None:
    before = everything_in(folder)
    done = command(*arguments)
    assert done.code == 2
    assert done.out == ""
    assert done.err.startswith("rsrae: ")
    assert done.err.count("\n") == 1
    assert message in done.err
    assert everything_in(folder) == before


def test_empty_standard_input_is_a_mistake(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"")))
    done = command("detect", "-")
    assert (done.code, done.out) == (2, "")
    assert done.err == "rsrae: standard input: the file is empty\n"
    assert list(Path().iterdir()) == []


def test_json_does_not_change_how_mistakes_are_told(command: Command) -> None:
    done = command("detect", "nothing.csv", "--json")
    assert (done.code, done.out) == (2, "")
    assert done.err == "rsrae: nothing.csv: no such file or folder\n"


def test_a_name_that_commands_a_terminal_is_made_harmless(command: Command) -> None:
    done = command("detect", "a\x1b[31mred\nname.csv")
    assert done.err == "rsrae: a?[31mred name.csv: no such file or folder\n"


def test_a_bug_keeps_its_traceback(command: Command, orders_csv: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*arguments: object, **options: object) -> None:
        raise ZeroDivisionError("a bug")

    monkeypatch.setattr("rsrae.detection.detect_samples", broken)
    with pytest.raises(ZeroDivisionError, match="a bug"):
        command(*DETECT)
    assert [path.name for path in Path().iterdir()] == ["orders.csv"]


def test_a_reader_that_goes_away_is_no_error(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [sys.executable, "-m", "rsrae", "data", "list"], stdout=writer, stderr=subprocess.PIPE, text=True, check=False
    )
    os.close(writer)
    assert done.stderr == ""
