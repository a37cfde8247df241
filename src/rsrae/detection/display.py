"""How a result looks in a notebook."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rsrae.detection.result import Detection

N_SHOWN = 10


def notebook_html(detection: Detection) -> str:
    """The strangest items as a small table; all text of the user's is escaped."""
    metrics = "".join(f" &middot; {name} {value:.3f}" for name, value in detection.metrics.items())
    head = (
        f"<p><b>{detection.n_flagged:,} of {len(detection.samples):,}</b> items of "
        f"<b>{escape(detection.samples.source)}</b> are above the line at {detection.threshold:.4g}{metrics}</p>"
    )
    rows = "".join(
        "<tr>"
        f"<td>{row.rank}</td><td>{escape(str(row.id))}</td><td>{row.score:.4g}</td>"
        f"<td>{row.probability:.2f}</td><td>{row.verdict}</td>"
        f'<td style="text-align:left">{escape(str(row.reasons))}</td>'
        "</tr>"
        for row in detection.scores.head(N_SHOWN).itertuples(index=False)
    )
    titles = "".join(f"<th>{title}</th>" for title in ("rank", "id", "score", "probability", "verdict", "reasons"))
    return f"<div>{head}<table><thead><tr>{titles}</tr></thead><tbody>{rows}</tbody></table></div>"
