import numpy as np
import pytest

from rsrae.data.examples import load_example
from rsrae.errors import ParameterError

SHAPES = {"digits": ((244, 8, 8), 61), "swiss-roll": ((1500, 3), 500), "wine": ((129, 13), 10)}


@pytest.mark.parametrize("name", SHAPES)
def test_an_example_has_labels_names_and_notes(name: str) -> None:
    samples = load_example(name)
    shape, n_anomalies = SHAPES[name]
    assert samples.X.shape == shape
    assert samples.labels is not None
    assert samples.labels.sum() == n_anomalies
    assert samples.notes[0].startswith("Example:")
    assert samples.encoder is not None
    assert samples.source == name


@pytest.mark.parametrize("name", SHAPES)
def test_an_example_is_the_same_every_time(name: str) -> None:
    state = np.random.get_state()[1].copy()  # noqa: NPY002
    np.testing.assert_array_equal(load_example(name).X, load_example(name).X)
    np.testing.assert_array_equal(np.random.get_state()[1], state)  # noqa: NPY002


def test_points_of_the_roll_lie_on_it() -> None:
    samples = load_example("swiss-roll")
    x, y, z = samples.X[samples.labels == 0].T
    t = np.hypot(x, z)
    assert t.min() >= 3 * np.pi / 2 - 1e-4
    assert t.max() <= 9 * np.pi / 2 + 1e-4
    np.testing.assert_allclose(x, t * np.cos(t), atol=1e-3)
    assert (y.min() >= 0, y.max() <= 21) == (True, True)


def test_an_unknown_example_lists_the_known_ones() -> None:
    with pytest.raises(ParameterError, match="digits, swiss-roll, wine"):
        load_example("cars")
