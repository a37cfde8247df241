"""Plant one wrong cell in each of twenty rows, and see whether the explanations name it."""

import numpy as np
import pandas as pd

import rsrae

rng = np.random.default_rng(0)
weight = rng.gamma(4, 2, 500)
parcels = pd.DataFrame(
    {
        "weight": weight,
        "price": 3 * weight + rng.normal(0, 1, 500),
        "postage": 2 + weight / 2 + rng.normal(0, 0.3, 500),
        "country": rng.choice(["DE", "FR", "PL"], 500),
    }
)
wrong = {"weight": 150.0, "price": 400.0, "postage": -30.0, "country": "Atlantis"}
causes = [list(wrong)[row % 4] for row in range(20)]
for row, column in enumerate(causes):
    parcels.loc[row, column] = wrong[column]

found = rsrae.detect(parcels, contamination=0.04)
blamed = [found.explain(row + 1).parts[0].feature for row in range(20)]  # rows are named from 1
n_right = sum(one == other for one, other in zip(blamed, causes, strict=True))
print(f"{n_right} of 20 planted causes come first in the explanation")
print(found.scores.head(5).to_string(index=False))
