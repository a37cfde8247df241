import numpy as np
import pytest

from rsrae.data.labels import parse_labels
from rsrae.errors import InputError


@pytest.mark.parametrize(
    "values",
    [
        [0, 1, 0],
        [0.0, 1.0, 0.0],
        [False, True, False],
        ["false", "TRUE", "False"],
        ["normal", " Anomaly ", "normal"],
        ["inlier", "outlier", "inlier"],
        ["no", "yes", "no"],
        [1, -1, 1],
        ["1", "-1", "1"],
        list(np.array([0, 1, 0], dtype=np.uint8)),
    ],
)
def test_every_way_to_write_an_answer_gives_one_for_the_anomaly(values: list[object]) -> None:
    assert parse_labels(values, "y").tolist() == [0, 1, 0]


@pytest.mark.parametrize(
    ("values", "row"), [([0, 1, 7], 3), ([0, None], 2), (["normal", "perhaps"], 2), ([-1, 0, 1], 1), ([0.5], 1)]
)
def test_an_answer_that_is_none_is_named_with_its_row(values: list[object], row: int) -> None:
    with pytest.raises(InputError, match=rf"^a\.csv: label column 'y'.*.*row {row}\b"):
        parse_labels(values, "a.csv: label column 'y'")
