"""What the tests of the command share."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pandas as pd


class Finished(NamedTuple):
    """What the command left."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        return json.loads(self.out)


Command = Callable[..., Finished]


def orders(n: int = 80) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "order": [f"A{i}" for i in range(n)],
            "price": rng.normal(40, 4, n).round(2),
            "weight": rng.normal(2, 0.3, n).round(3),
            "country": rng.choice(["DE", "FR"], n),
            "fraud": 0,
        }
    )
    frame.loc[:3, "price"] = 900.0
    frame.loc[:3, "fraud"] = 1
    return frame
