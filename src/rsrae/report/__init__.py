"""The report: facts -> dataclasses -> one template -> one HTML file that needs no network.

``facts`` says what a report can tell and knows nothing of detectors; ``figures`` makes its small pictures and
the coordinates of its map; ``render`` turns facts into the page. The page's own code is in ``assets``.
"""

from rsrae.report.facts import ItemFacts, Reason, ReportFacts
from rsrae.report.figures import flatten_codes, heatmap, thumbnail
from rsrae.report.render import render, write_report

__all__ = [
    "ItemFacts",
    "Reason",
    "ReportFacts",
    "flatten_codes",
    "heatmap",
    "render",
    "thumbnail",
    "write_report",
]
