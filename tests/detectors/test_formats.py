from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from rsrae import RSRAE
from rsrae.detectors.formats import BEFORE, upgrade
from rsrae.modelfile import FORMAT


@pytest.mark.parametrize("number", range(1, FORMAT))
def test_a_file_of_an_older_format_has_all_that_came_later_switched_off(number: int) -> None:
    header: dict[str, Any] = {"format": number, "parameters": {"n_members": 2}}
    arrays = {"member0.output": np.zeros(9)}
    upgrade(header, arrays)
    later = {
        name: value for since, parameters in BEFORE.items() if since > number for name, value in parameters.items()
    }
    assert header["parameters"] == {"n_members": 2, **later}
    assert later.keys() <= RSRAE().get_params().keys()
    assert ("members.weights" in arrays) == (number < 2)
    assert ("members.undisputed" in arrays) == (number < 5)
