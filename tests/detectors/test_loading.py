"""Reading a saved detector without knowing what it is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import rsrae
from rsrae import RSRAE, AutoEncoder
from rsrae.errors import ModelFileError
from rsrae.modelfile import read_header, read_model, write_model


@pytest.fixture
def path(tmp_path: Path, easy_table: Any) -> Path:
    detector = AutoEncoder(p=1.0, hidden=(6, 5), intrinsic_dim=2, epochs=1, random_state=0).fit(easy_table.X)
    detector.save(tmp_path / "model", extra={"source": "orders.csv"})
    return tmp_path / "model"


def test_the_class_is_found_from_the_file(path: Path) -> None:
    detector = rsrae.load(path)
    assert type(detector) is AutoEncoder
    assert detector.p == 1.0
    assert detector.hidden == (6, 5)


def test_what_was_stored_beside_the_model_can_be_read(path: Path) -> None:
    assert read_header(path)["extra"] == {"source": "orders.csv"}


def test_parameters_can_be_replaced_while_loading(path: Path) -> None:
    assert rsrae.load(path, n_threads=1).n_threads == 1
    assert AutoEncoder.load(path, n_threads=1).n_threads == 1


def test_the_wrong_class_says_which_one_the_file_holds(path: Path) -> None:
    with pytest.raises(ModelFileError, match=r"holds a 'AutoEncoder', not a 'RSRAE'; use rsrae\.load"):
        RSRAE.load(path)


def test_a_detector_of_a_later_version_is_an_error(path: Path) -> None:
    header, arrays = read_model(path)
    write_model(path, header | {"detector": "Oracle"}, arrays)
    with pytest.raises(ModelFileError, match="holds a 'Oracle', which this version does not know; upgrade rsrae"):
        rsrae.load(path)
