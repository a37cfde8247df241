from __future__ import annotations

from typing import Any

import pytest

from rsrae import RSRAE
from rsrae.detectors.settings import CHOICES, check_settings
from rsrae.errors import ParameterError

WRONG: dict[str, Any] = dict.fromkeys(CHOICES, "no such value") | {
    "intrinsic_dim": (),
    "hidden": [],
    "trim": 1.0,
    "warm_up": "long",
    "n_members": 0,
    "n_neighbors": -1,
    "n_trees": 2.5,
    "n_alike": True,
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_value_is_an_error_that_names_the_parameter(name: str) -> None:
    settings = RSRAE().get_params()
    check_settings(settings)
    with pytest.raises(ParameterError, match=f"^{name} must"):
        check_settings(settings | {name: WRONG[name]})


def test_a_point_is_a_dimension_among_others_only() -> None:
    check_settings({"intrinsic_dim": (0, 3)})
    with pytest.raises(ParameterError, match="intrinsic_dim"):
        check_settings({"intrinsic_dim": 0})


def test_an_encoder_comes_with_a_decoder() -> None:
    with pytest.raises(ParameterError, match="both"):
        check_settings({"encoder": object(), "decoder": None})
