"""The model file: what was written comes back; whatever else stands in a file is a clear error."""

from __future__ import annotations

import copy
import json
import os
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from safetensors.numpy import save_file

import rsrae
from rsrae import RSRAE, modelfile
from rsrae.detectors import make_detector
from rsrae.errors import ModelFileError, OutputError, ParameterError
from rsrae.modelfile import FORMAT, read_header, read_model, write_model

FIXTURES = Path(__file__).parent / "fixtures"
Change = Callable[[dict[str, Any], modelfile.Arrays], None]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small saved detector; not to be changed."""
    X = np.random.default_rng(0).normal(size=(30, 4))
    path = tmp_path_factory.mktemp("model") / "small.rsrae"
    RSRAE(hidden=(6, 8), intrinsic_dim=2, epochs=1, random_state=0).fit(X).save(path)
    return path


# -- round trip --------------------------------------------------------------------------------------------------------


def test_header_and_tensors_come_back(tmp_path: Path) -> None:
    header = {"detector": "X", "names": ["ä", "b"], "number": 0.1, "nothing": None}
    arrays = {"a": np.arange(6.0).reshape(2, 3), "b": np.arange(4, dtype=np.int64)[::-1], "empty": np.zeros((0, 3))}
    path = tmp_path / "model"
    write_model(path, header, arrays)
    got_header, got = read_model(path)
    assert got_header == header | {"format": FORMAT}
    assert read_header(path) == got_header
    assert got.keys() == arrays.keys()
    for name, array in arrays.items():
        np.testing.assert_array_equal(got[name], array)
        assert got[name].dtype == array.dtype


def test_a_model_takes_the_place_of_an_older_one(tmp_path: Path) -> None:
    path = tmp_path / "model"
    for number in (1, 2):
        write_model(path, {"number": number}, {"a": np.zeros(1)})
    assert read_header(path)["number"] == 2


def test_the_file_has_the_permissions_of_any_new_file(tmp_path: Path) -> None:
    write_model(tmp_path / "model", {}, {"a": np.zeros(1)})
    (tmp_path / "other").touch()
    modes = [stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("model", "other")]
    assert modes[0] == modes[1]


@pytest.mark.parametrize("path", sorted(FIXTURES.glob("*-format-*.rsrae")), ids=lambda path: path.stem)
def test_a_model_of_every_format_loads_and_gives_the_scores_stored_with_it(path: Path) -> None:
    extra = read_header(path)["extra"]
    detector = rsrae.load(path)
    np.testing.assert_allclose(detector.anomaly_score(np.array(extra["rows"])), extra["scores"], rtol=1e-6, atol=1e-6)


def test_there_is_a_stored_model_of_every_format() -> None:
    stored = {read_header(path)["format"] for path in FIXTURES.glob("model-format-*.rsrae")}
    assert stored == set(range(1, FORMAT + 1))


# -- nothing half-written ----------------------------------------------------------------------------------------------


def test_a_header_that_is_not_json_leaves_nothing_behind(tmp_path: Path) -> None:
    with pytest.raises((TypeError, ValueError)):
        write_model(tmp_path / "model", {"number": float("nan")}, {"a": np.zeros(1)})
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_does_not_exist_is_an_output_error(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match=r"cannot be written .*; choose another place"):
        write_model(tmp_path / "missing" / "model", {}, {"a": np.zeros(1)})


def test_a_place_taken_by_a_folder_is_an_output_error(tmp_path: Path) -> None:
    (tmp_path / "model").mkdir()
    with pytest.raises(OutputError, match="cannot be written"):
        write_model(tmp_path / "model", {}, {"a": np.zeros(1)})
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_a_place_inside_a_file_is_an_output_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(OutputError, match="cannot be written"):
        write_model(tmp_path / "file" / "model", {}, {"a": np.zeros(1)})


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is unwritable for root")
def test_a_folder_without_permission_is_an_output_error(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(OutputError, match="Permission denied"):
        write_model(tmp_path / "model", {}, {"a": np.zeros(1)})


# -- files that are not models -----------------------------------------------------------------------------------------


def test_a_missing_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match="no such model file"):
        rsrae.load(tmp_path / "nothing")
    with pytest.raises(ModelFileError, match="no such model file"):
        rsrae.load(tmp_path)


def test_a_model_cut_off_anywhere_is_an_error(model: Path, tmp_path: Path) -> None:
    whole = model.read_bytes()
    path = tmp_path / "cut"
    for length in {0, 1, 7, 8, 9, 100, *range(0, len(whole), len(whole) // 50), len(whole) - 1}:
        path.write_bytes(whole[:length])
        with pytest.raises(ModelFileError, match="not a model file, or damaged"):
            rsrae.load(path)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=st.binary(max_size=300))
def test_random_bytes_are_an_error(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "random"
    path.write_bytes(content)
    with pytest.raises(ModelFileError):
        rsrae.load(path)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(place=st.integers(0, 10**9), value=st.integers(0, 255))
def test_a_changed_byte_is_an_error_or_a_model_that_still_scores(
    place: int, value: int, model: Path, tmp_path: Path
) -> None:
    content = bytearray(model.read_bytes())
    header_end = 8 + int.from_bytes(content[:8], "little")
    content[place % header_end] = value  # in the header; the rest is numbers
    path = tmp_path / "changed"
    path.write_bytes(content)
    try:
        detector = rsrae.load(path)
        scores = detector.anomaly_score(np.zeros((1, detector.n_features_in_)))
    except (ModelFileError, ParameterError):
        return
    assert scores.shape == (1,)


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    header=st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(["format", "detector", "parameters", "offset", "state", "input_shape"]), inner
            )
        ),
        max_leaves=8,
    )
)
def test_any_json_in_the_place_of_the_header_is_an_error(header: Any, tmp_path: Path) -> None:
    path = tmp_path / "header"
    save_file({"a": np.zeros(1)}, path, metadata={"rsrae": json.dumps(header)})
    with pytest.raises(ModelFileError):
        rsrae.load(path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "the header is damaged"),
        ("[" * 100_000, "the header is damaged"),
        ("[]", "the header has no format number"),
        ("{}", "the header has no format number"),
        ('{"format": "1"}', "the header has no format number"),
        ('{"format": true}', "the header has no format number"),
        ('{"format": 0}', "the header has no format number"),
        (f'{{"format": {FORMAT + 1}}}', f"written in format {FORMAT + 1}, this version reads up to {FORMAT}; upgrade"),
    ],
)
def test_a_header_that_cannot_be_understood_is_an_error(text: str, message: str, tmp_path: Path) -> None:
    save_file({"a": np.zeros(1)}, tmp_path / "model", metadata={"rsrae": text})
    with pytest.raises(ModelFileError, match=message):
        read_model(tmp_path / "model")


@pytest.mark.parametrize("metadata", [None, {"format": "pt"}])
def test_tensors_of_another_program_are_not_a_model(metadata: dict[str, str] | None, tmp_path: Path) -> None:
    save_file({"a": np.zeros(1)}, tmp_path / "model", metadata=metadata)
    with pytest.raises(ModelFileError, match="a safetensors file, but not one that rsrae wrote"):
        read_model(tmp_path / "model")


def test_tensors_that_claim_more_than_the_file_holds_are_an_error(tmp_path: Path) -> None:
    tensors = {
        "__metadata__": {"rsrae": json.dumps({"format": 1})},
        "a": {"dtype": "F64", "shape": [10**12], "data_offsets": [0, 8 * 10**12]},
    }
    text = json.dumps(tensors).encode()
    (tmp_path / "model").write_bytes(len(text).to_bytes(8, "little") + text + bytes(8))
    with pytest.raises(ModelFileError, match="not a model file, or damaged"):
        read_model(tmp_path / "model")


# -- headers that lie --------------------------------------------------------------------------------------------------


def parameter(**values: Any) -> Change:
    return lambda header, arrays: header["parameters"].update(values)


def field(**values: Any) -> Change:
    return lambda header, arrays: header.update(values)


def state(**values: Any) -> Change:
    return lambda header, arrays: header["state"].update(values)


def tensor(name: str, value: Any) -> Change:
    return lambda header, arrays: arrays.update({name: np.asarray(value)})


HOSTILE: dict[str, Change] = {
    "a layer of a billion": parameter(hidden={"tuple": [10**9]}),
    "a layer beyond any integer": parameter(hidden={"tuple": [10**30]}),
    "two layers whose product is huge": parameter(hidden={"tuple": [400, 10**6]}),
    "a million layers": parameter(hidden={"tuple": [2] * 10**6}),
    "a billion members": parameter(n_members=10**9),
    "a code of a billion": parameter(intrinsic_dim=10**9),
    "an unknown parameter": parameter(nonsense=1),
    "parameters that are a list": field(parameters=[1, 2]),
    "a tuple of text": parameter(hidden={"tuple": "abc"}),
    "a tuple of nothing": parameter(hidden={"tuple": None}),
    "a tuple of tuples": parameter(hidden={"tuple": [{"tuple": [1]}]}),
    "a parameter that is an object": parameter(hidden={"evil": 1}),
    "a learning rate of text": parameter(learning_rate="x"),
    "a threshold of text": parameter(eps_ae="x"),
    "a number of epochs of text": parameter(epochs="x"),
    "a device that is not there": parameter(device="cuda:77"),
    "a device that is an object": parameter(device={"tuple": [1]}),
    "a device without memory": parameter(device="meta"),
    "an activation that does not exist": state(activation="boom"),
    "an activation that is a list": state(activation=["tanh"]),
    "a history that is a number": state(history=3),
    "a history that is a list": state(history=[3]),
    "no state": field(state=None),
    "no offset": lambda header, arrays: header.pop("offset"),
    "an offset of text": field(offset="abc"),
    "an offset that is not a number": field(offset="nan"),
    "more features than columns": field(n_features_in=10**9),
    "a negative number of features": field(n_features_in=-1),
    "a table with a billion columns": field(input_shape=[10**9], n_features_in=10**9),
    "an image of a billion pixels": field(input_shape=[10**3] * 3, n_features_in=10**9),
    "an image in place of a table": field(input_shape=[2, 2, 1]),
    "a negative width": field(input_shape=[-4]),
    "no width": field(input_shape=[]),
    "a shape of two": field(input_shape=[2, 2]),
    "a shape of text": field(input_shape="abc"),
    "one column too many": field(input_shape=[5], n_features_in=5),
    "too few feature names": field(feature_names_in=["a"]),
    "feature names that are a number": field(feature_names_in=7),
    "feature names that are numbers": field(feature_names_in=[1, 2, 3, 4]),
    "a detector that does not exist": field(detector="os.system"),
    "a detector that is a list": field(detector=["RSRAE"]),
    "no detector": lambda header, arrays: header.pop("detector"),
    "a tensor of another shape": tensor("member0.A", np.zeros((1, 3, 3), np.float32)),
    "a tensor that would be repeated": tensor("member0.A", np.zeros((1, 1, 1), np.float32)),
    "a missing tensor": lambda header, arrays: arrays.pop("member0.A"),
    "a tensor without numbers": tensor("member0.A", np.full((1, 2, 8), np.nan, np.float32)),
    "a center of another width": tensor("preprocessor.center", np.zeros(7)),
    "a scale of zero": tensor("preprocessor.scale", np.zeros(4)),
    "a center that is infinite": tensor("preprocessor.center", np.full(4, np.inf)),
    "no scale": lambda header, arrays: arrays.pop("preprocessor.scale"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_header_that_does_not_fit_its_tensors_is_an_error(name: str, model: Path, tmp_path: Path) -> None:
    header, arrays = read_model(model)
    header = copy.deepcopy(header)
    HOSTILE[name](header, arrays)
    path = tmp_path / "hostile"
    write_model(path, header, arrays)
    with pytest.raises((ModelFileError, ParameterError)) as caught:
        rsrae.load(path)
    assert "\n" not in str(caught.value)


def test_hostile_sizes_are_refused_before_memory_is_taken(model: Path, tmp_path: Path) -> None:
    header, arrays = read_model(model)
    paths = []
    for number, (name, change) in enumerate(HOSTILE.items()):
        if not any(word in name for word in ("billion", "million", "huge", "beyond")):
            continue
        changed = copy.deepcopy(header)
        change(changed, dict(arrays))
        paths.append(str(tmp_path / str(number)))
        write_model(paths[-1], changed, arrays)
    assert len(paths) >= 7
    program = (
        "import resource, sys, torch, rsrae, rsrae.detectors.rsrae\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "for path in sys.argv[1:]:\n"
        "    try: rsrae.load(path)\n"
        "    except rsrae.RsraeError: continue\n"
        "    raise SystemExit(f'{path} was loaded')\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, *paths], capture_output=True, text=True, timeout=60, check=True
    )
    assert int(done.stdout) < 150_000  # kilobytes


@pytest.mark.parametrize(
    ("name", "parameters", "held"),
    [
        ("rsrae", {"epochs": 1}, (28, 64)),  # neighbours; of sparse rows also those that scores are evened out with
        ("rsrae", {"epochs": 1, "n_neighbors": 0, "n_alike": 0}, (0, 0)),
        ("knn", {}, (40, 40)),
        ("centroid", {}, (0, 0)),
    ],
)
@pytest.mark.parametrize("is_sparse", [False, True])
def test_the_header_says_how_many_rows_of_the_data_are_inside(
    name: str, parameters: dict[str, Any], held: tuple[int, int], is_sparse: bool, tmp_path: Path
) -> None:
    X: Any = np.random.default_rng(0).random((40, 5))
    make_detector(name, **parameters).fit(sp.csr_array(X) if is_sparse else X).save(tmp_path / "model")
    assert read_header(tmp_path / "model")["n_rows_held"] == held[is_sparse]


@pytest.mark.parametrize("n_members", [3 * 10**9, 10**15, -3, "many", None])
def test_an_old_file_that_asks_for_any_number_of_members_is_refused(n_members: Any, tmp_path: Path) -> None:
    header, arrays = read_model(FIXTURES / "model-format-1.rsrae")
    header["parameters"]["n_members"] = n_members
    save_file(arrays, tmp_path / "model", metadata={modelfile._KEY: json.dumps(header)})
    with pytest.raises(ModelFileError, match="do not fit together"):
        rsrae.load(tmp_path / "model")
