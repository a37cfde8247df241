import numpy as np
import pytest

from rsrae.data.samples import Items, ListItems, Samples
from rsrae.errors import InputError


def test_samples_know_how_many_they_are() -> None:
    assert len(Samples(np.ones((3, 2)), "table", ["a", "b", "c"])) == 3


@pytest.mark.parametrize(
    "wrong",
    [
        {"names": ["a"]},
        {"labels": np.zeros(2, dtype=np.int64)},
        {"items": ListItems("text", ["one"])},
        {"feature_names": ["x"]},
    ],
)
def test_parts_that_do_not_fit_together_are_refused(wrong: dict[str, object]) -> None:
    parts: dict[str, object] = {"names": ["a", "b", "c"], **wrong}
    with pytest.raises(InputError):
        Samples(np.ones((3, 2)), "table", **parts)


def test_a_list_of_values_offers_items() -> None:
    items = ListItems("text", ["one", "two"])
    assert isinstance(items, Items)
    assert items.rows([1, 0]) == [{"text": "two"}, {"text": "one"}]
