"""The scripts under examples/ run and show what they say."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from PIL import Image
from sklearn.metrics import roc_auc_score

EXAMPLES = Path(__file__).parents[1] / "examples"


def run(name: str, *arguments: str) -> str:
    environment = os.environ | {"PYTHONWARNINGS": "error::UserWarning"}
    command = [sys.executable, str(EXAMPLES / name), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def imported(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_dirty_table_names_the_rows_that_were_spoiled() -> None:
    printed = run("dirty_table.py").splitlines()
    strangest = {int(line.split()[0]) for line in printed[1:]}
    assert {13, 77, 150} <= strangest


def test_the_layer_works_in_a_network_of_ones_own() -> None:
    printed = run("own_network.py")
    assert float(printed.rsplit(maxsplit=1)[-1]) > 0.9


def test_the_swiss_roll_draws_its_pictures(tmp_path: Path) -> None:
    printed = run("swiss_roll.py", str(tmp_path), "--epochs", "5")
    assert [line.split()[0] for line in printed.splitlines()] == ["RSRAE", "AE"]
    names = ["swiss-roll-ae.png", "swiss-roll-errors.png", "swiss-roll-rsrae.png"]
    assert sorted(path.name for path in tmp_path.iterdir()) == names
    for name in names:
        with Image.open(tmp_path / name) as picture:
            assert picture.width > 500
            assert np.asarray(picture.convert("L")).std() > 10


def test_the_swiss_roll_is_the_one_of_the_paper() -> None:
    X = imported("swiss_roll").swiss_roll()
    assert X.shape == (1500, 3)
    radius = np.hypot(X[:1000, 0], X[:1000, 2])
    assert 1.5 * np.pi <= radius.min()
    assert radius.max() <= 4.5 * np.pi
    assert X[1000:].std(axis=0) == pytest.approx([2, 2, 2], rel=0.1)


@pytest.mark.slow
def test_rsrae_tells_the_swiss_roll_from_its_outliers_better_than_an_autoencoder() -> None:
    example = imported("swiss_roll")
    areas: dict[str, list[float]] = {"RSRAE": [], "AE": []}
    for seed in range(2):
        X = example.swiss_roll(seed)
        for name, detector in example.fit_both(X, epochs=500, seed=seed).items():
            for _ in range(3):
                areas[name].append(roc_auc_score(example.IS_OUTLIER, detector.anomaly_score(X)))
                detector.set_params(epochs=100).partial_fit(X)
            areas[name].append(roc_auc_score(example.IS_OUTLIER, detector.anomaly_score(X)))
    # At this learning rate single looks differ by a tenth and more; their means by about two tenths.
    assert np.mean(areas["RSRAE"]) > np.mean(areas["AE"]) + 0.05


def test_the_authors_recipe_says_the_same_for_every_item_because_the_projection_loss_moves_the_encoder() -> None:
    collapse = imported("collapse")
    X, is_outlier = collapse.trial((3,))
    settings = collapse.AUTHORS | {"epochs": 100}
    published, in_A_only = (
        collapse.look_at(collapse.RSRAE.from_recipe("authors", **settings, **change), X, is_outlier)
        for change in ({}, {"rsr_scope": "A"})
    )
    assert published["spread"] < 0.02 < in_A_only["spread"]
    assert published["rank"] < 3 < in_A_only["rank"]
