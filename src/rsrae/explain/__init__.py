"""Why an item is strange: the columns, regions or words that made its score, in the user's own terms.

``shares`` splits scores into parts of features (numbers only); ``items`` says what the parts mean for a table's
cell, a picture's region or a document's word.
"""

from rsrae.explain.items import Explanation, Part, explain, shown, shown_expectation
from rsrae.explain.shares import Shares, accepted_form, feature_shares, n_scored_rows

__all__ = [
    "Explanation",
    "Part",
    "Shares",
    "accepted_form",
    "explain",
    "feature_shares",
    "n_scored_rows",
    "shown",
    "shown_expectation",
]
