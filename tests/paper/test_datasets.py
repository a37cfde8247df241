import gzip
import json
from pathlib import Path

import numpy as np
import pytest

from rsrae.errors import ParameterError, SourceError
from rsrae.paper import datasets

from .shared import needs_shared_data

SHAPES = {
    "fashion-mnist": (10_000, 28, 28),
    "caltech-101": (1_100, 32, 32, 3),
    "tiny-imagenet": (5_000, 32, 32, 3),
    "tiny-imagenet-deep": (5_000, 1_280),
}


@pytest.fixture
def data_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("RSRAE_DATA", str(tmp_path))
    monkeypatch.setenv("RSRAE_CACHE", str(tmp_path / "cache"))
    (tmp_path / "adbench").mkdir()
    return tmp_path


def save_glass(folder: Path, **arrays: np.ndarray) -> None:
    np.savez(folder / "adbench" / "14_glass.npz", **arrays)  # type: ignore[arg-type]


def test_there_are_seven_data_sets_of_the_paper_and_twenty_two_tables() -> None:
    tables = [name for name in datasets.names() if name.startswith("adbench/")]
    assert (len(datasets.names()), len(tables)) == (29, 22)
    assert all(len(original.checksum or "") == 71 for name in tables for original in datasets.info(name).originals)


def test_an_unknown_name_is_a_clear_error() -> None:
    with pytest.raises(ParameterError, match="no data set 'mnist'"):
        datasets.load("mnist")


def test_data_that_is_not_here_says_how_to_get_it(data_folder: Path) -> None:
    assert not datasets.is_available("reuters")
    with pytest.raises(SourceError, match="rsrae data fetch reuters"):
        datasets.load("reuters")


def test_the_cache_is_used_where_rsrae_data_has_nothing(data_folder: Path) -> None:
    (data_folder / "cache" / "adbench").mkdir(parents=True)
    save_glass(data_folder / "cache", X=np.eye(3), y=np.array([0, 0, 1]))
    assert datasets.load("adbench/glass").X.shape == (3, 3)


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"X": np.eye(3)}, "missing"),
        ({"X": np.eye(3), "y": np.array([0, 1])}, "do not fit together"),
        ({"X": np.eye(3), "y": np.array([0, 1, 2])}, "labels must be 0 to 1"),
        ({"X": np.zeros((3, 3, 3)), "y": np.array([0, 1, 1])}, "do not fit together"),
        ({"X": np.array([{}], dtype=object), "y": np.array([0])}, "cannot be read"),
    ],
)
def test_a_file_laid_out_otherwise_is_a_clear_error(
    data_folder: Path, arrays: dict[str, np.ndarray], message: str
) -> None:
    save_glass(data_folder, **arrays)
    with pytest.raises(SourceError, match=message):
        datasets.load("adbench/glass")


def test_a_truncated_file_is_a_clear_error(data_folder: Path) -> None:
    save_glass(data_folder, X=np.eye(3), y=np.array([0, 0, 1]))
    path = data_folder / "adbench" / "14_glass.npz"
    path.write_bytes(path.read_bytes()[:200])
    with pytest.raises(SourceError, match="cannot be read"):
        datasets.load("adbench/glass")


def test_documents_that_break_off_name_the_line(data_folder: Path) -> None:
    lines = [json.dumps({"text": "a", "label": "earn"}), '{"text": "b"}']
    (data_folder / "reuters_top5.jsonl.gz").write_bytes(gzip.compress("\n".join(lines).encode()))
    with pytest.raises(SourceError, match="line 2 cannot be read"):
        datasets.load("reuters")


def test_too_few_classes_are_a_clear_error(data_folder: Path) -> None:
    line = json.dumps({"text": "a", "label": "earn"}) + "\n"
    (data_folder / "reuters_top5.jsonl.gz").write_bytes(gzip.compress(line.encode()))
    with pytest.raises(SourceError, match="has 1 classes, 5 expected"):
        datasets.load("reuters")


def test_the_swiss_roll_is_the_one_of_appendix_b() -> None:
    X, y = datasets.make_swiss_roll()
    roll, cloud = X[y == 0], X[y == 1]
    radius = np.hypot(roll[:, 0], roll[:, 2])
    assert radius.min() >= 1.5 * np.pi
    assert radius.max() <= 4.5 * np.pi
    np.testing.assert_allclose(roll[:, 0], radius * np.cos(radius), atol=1e-4)
    assert roll[:, 1].min() >= 0
    assert roll[:, 1].max() <= 21
    np.testing.assert_allclose(cloud.std(axis=0), 2.0, rtol=0.1)
    np.testing.assert_array_equal(X, datasets.make_swiss_roll()[0])


class TestPreparedFiles:
    pytestmark = needs_shared_data

    @pytest.mark.parametrize("name", [name for name in datasets.names() if name != "swiss-roll"])
    def test_every_prepared_file_loads(self, name: str) -> None:
        dataset = datasets.load(name)
        about = datasets.info(name)
        assert dataset.X.shape == SHAPES.get(name, dataset.X.shape)
        assert len(dataset) == len(dataset.texts or dataset.X)
        assert len(dataset.class_names) == (2 if about.has_own_outliers else about.n_classes)
        assert set(np.unique(dataset.y)) == set(range(len(dataset.class_names)))
