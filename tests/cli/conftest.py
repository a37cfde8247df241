"""The command run in this process, in a folder of its own."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from rsrae.cli import run
from rsrae.data.examples import load_example
from rsrae.detection import detect

from .finished import Command, Finished, orders


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Command:
    monkeypatch.chdir(tmp_path)

    def start(*arguments: object) -> Finished:
        capfd.readouterr()
        code = run([str(argument) for argument in arguments])
        out, err = capfd.readouterr()
        return Finished(code, out, err)

    return start


@pytest.fixture
def orders_csv(tmp_path: Path) -> Path:
    path = tmp_path / "orders.csv"
    orders().to_csv(path, index=False)
    return path


@pytest.fixture(scope="session")
def orders_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("model") / "orders.rsrae"
    detect(orders(), drop=["fraud"], epochs=3).save(path)
    return path


@pytest.fixture(scope="session")
def wine_frame() -> pd.DataFrame:
    samples = load_example("wine")
    assert samples.items is not None
    return pd.DataFrame(samples.items.rows(range(len(samples))))
