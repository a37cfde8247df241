from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from rsrae import RSRAE
from rsrae.detectors.formats import BEFORE, upgrade
from rsrae.modelfile import FORMAT


def _header(number: int, input_shape: list[int], **parameters: Any) -> dict[str, Any]:
    return {"format": number, "input_shape": input_shape, "parameters": {"n_members": 2, **parameters}}


@pytest.mark.parametrize("number", range(1, FORMAT))
def test_a_file_of_an_older_format_has_all_that_came_later_switched_off(number: int) -> None:
    header, arrays = _header(number, [4]), {"member0.output": np.zeros(9)}
    upgrade(header, arrays)
    later = {
        name: value for since, parameters in BEFORE.items() if since > number for name, value in parameters.items()
    }
    assert header["parameters"] == {"n_members": 2, **later}
    assert later.keys() <= RSRAE().get_params().keys()
    assert ("members.weights" in arrays) == (number < 2)
    assert ("members.undisputed" in arrays) == (number < 5)


@pytest.mark.parametrize(("input_shape", "expected"), [([8, 8, 1], 0), ([64], 10)])
def test_scores_of_pictures_were_not_evened_out_before(input_shape: list[int], expected: int) -> None:
    header = _header(6, input_shape, n_alike=10)
    upgrade(header, {})
    assert header["parameters"]["n_alike"] == expected
