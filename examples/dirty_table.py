"""The strangest rows of a dirty table, without labels.

    python examples/dirty_table.py

scikit-learn's wines stand in for a table of one's own; in three of them some values are out by a factor of ten.
"""

from __future__ import annotations

from sklearn.datasets import load_wine

from rsrae import RSRAE

table = load_wine(as_frame=True).data.astype(float)
table.loc[[13, 77, 150], ["alcohol", "hue", "magnesium"]] *= 10

detector = RSRAE(random_state=0).fit(table)
strangeness = detector.anomaly_score(table)
print(table.assign(strangeness=strangeness).nlargest(5, "strangeness")[["alcohol", "hue", "magnesium", "strangeness"]])
