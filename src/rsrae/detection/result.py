"""What was found: scores, ranks, verdicts and reasons, and how to keep and show them."""

from __future__ import annotations

import difflib
import os
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from rsrae.data.samples import Samples
from rsrae.data.tables import TableEncoder
from rsrae.detection.display import notebook_html
from rsrae.detection.facts import report_facts
from rsrae.detection.folder import RESULT_FILES, whole_folder
from rsrae.detection.models import Model
from rsrae.errors import InputError, OutputError
from rsrae.explain import Explanation, explain, n_scored_rows
from rsrae.report import write_report
from rsrae.wholefile import whole_file

N_EXPLAINED = 1_000  # of the strangest items, at most
N_ASKED = 5_000  # rows scored for explanations, at most, where a method has to be asked
N_PARTS = 8  # listed for each item

FloatArray = npt.NDArray[np.float64]


class Detection:
    """The result of `detect` and `score_with`.

    Attributes
    ----------
    model : the detector with how its data was read.
    samples : the items.
    notes : what was decided on the way, one sentence each; starts with those of the reading.
    seconds : that fitting and scoring took.
    """

    def __init__(self, model: Model, samples: Samples, anomaly_scores: FloatArray, *, seconds: float = 0.0) -> None:
        self.model = model
        self.samples = samples
        self.anomaly_scores = anomaly_scores  # in the order of the source
        self.notes = list(samples.notes)
        self.seconds = seconds
        self.order = np.argsort(-anomaly_scores, kind="stable")  # positions, the strangest first

    # -- what was found --------------------------------------------------------------------------------------------

    @property
    def detector(self) -> Any:
        """The fitted detector."""
        return self.model.detector

    @property
    def threshold(self) -> float:
        """The line: an item with a score above it is an anomaly."""
        return -float(self.detector.offset_)

    @property
    def n_flagged(self) -> int:
        """How many items are above the line."""
        return int((self.anomaly_scores > self.threshold).sum())

    @cached_property
    def scores(self) -> pd.DataFrame:
        """One row an item, the strangest first; the index is the position in the source.

        ======================= ==================================================================================
        id                      the item's name
        score                   higher is stranger
        rank                    1 is the strangest
        verdict                 "anomaly" above the line, else "normal"
        probability             the score as a number in [0, 1], see `Calibration`; 0.5 is the line
        reasons                 the three largest parts of the score, for the strangest items (at most 1,000)
        label                   the known answer, 1 for an anomaly; only if the source has labels
        ======================= ==================================================================================
        """
        order, scores = self.order, self.anomaly_scores[self.order]
        names = np.array(_writable(self.samples.names), dtype=object)
        reasons = np.full(len(order), "", dtype=object)
        for k, explanation in enumerate(self.explanations.values()):
            reasons[k] = explanation.in_words()
        columns: dict[str, Any] = {
            "id": names[order],
            "score": scores,
            "rank": np.arange(1, len(order) + 1),
            "verdict": np.where(scores > self.threshold, "anomaly", "normal"),
            "probability": self.model.calibration(scores),
            "reasons": reasons,
        }
        if self.samples.labels is not None:
            columns["label"] = self.samples.labels[order]
        return pd.DataFrame(columns, index=pd.Index(order, name="position"))

    @cached_property
    def explanations(self) -> dict[int, Explanation]:
        """Why the strangest items are strange, by position, the strangest first.

        There are 1,000, or fewer where the method has to be asked feature by feature (see `rsrae.explain.shares`): at
        most so many that 5,000 rows are scored for it, and ten in any case.
        """
        encoder, X = self.samples.encoder, self.samples.X
        n_groups = len(encoder.columns) if isinstance(encoder, TableEncoder) else int(np.prod(X.shape[1:]))
        cost = n_scored_rows(self.detector, X, n_groups)
        n_items = N_EXPLAINED if cost == 1 else min(N_EXPLAINED, max(10, N_ASKED // cost))
        positions = [int(i) for i in self.order[:n_items]]
        return dict(zip(positions, explain(self.detector, self.samples, positions, most=N_PARTS), strict=True))

    @cached_property
    def metrics(self) -> dict[str, float]:
        """AUC and average precision, if the source has labels of both kinds; else empty."""
        labels = self.samples.labels
        if labels is None or len(set(labels.tolist())) < 2:
            return {}
        from sklearn.metrics import average_precision_score, roc_auc_score

        return {
            "AUC": float(roc_auc_score(labels, self.anomaly_scores)),
            "AP": float(average_precision_score(labels, self.anomaly_scores)),
        }

    def explain(self, item: object, *, most: int | None = 20) -> Explanation:
        """Why an item has its score.

        Parameters
        ----------
        item : its id, as in ``scores``. If several items have it, the first.
        most : list at most that many parts.
        """
        return explain(self.detector, self.samples, [self.position(item)], most=most)[0]

    def position(self, item: object) -> int:
        """Where the item with this id is in the source, counted from 0."""
        names, wanted = self.samples.names, str(item)
        if wanted in names:
            return names.index(wanted)
        close = difflib.get_close_matches(wanted, names[:100_000], n=1)
        hint = f"did you mean {close[0]!r}?" if close else f"ids are like {names[0]!r} and {names[-1]!r}"
        raise InputError(f"{self.samples.source}: there is no item {wanted!r}; {hint}")

    # -- keeping and showing it ------------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to one file; `score_with` reads it."""
        self.model.save(path)

    def report(self, path: str | os.PathLike[str]) -> None:
        """Write the report, one HTML file that needs no network."""
        write_report(path, report_facts(self))

    def write_scores(self, path: str | os.PathLike[str]) -> None:
        """Write ``scores`` as CSV, or as Parquet if the name ends in ``.parquet``; whole or not at all."""
        is_parquet = Path(path).suffix.lower() in (".parquet", ".pq")
        with whole_file(path) as temporary:
            if is_parquet:
                self.scores.to_parquet(temporary, index=False)
            else:
                self.scores.to_csv(temporary, index=False, lineterminator="\n")

    def write(self, folder: str | os.PathLike[str], *, force: bool = False) -> dict[str, Path]:
        """Write scores.csv, scores.parquet, model.rsrae and report.html into a new folder, whole or not at all.

        Parameters
        ----------
        folder : to be made; its parent must exist.
        force : replace the folder if it holds an earlier result.

        Returns
        -------
        The paths of the files by name.
        """
        writers = (self.write_scores, self.write_scores, self.save, self.report)
        target = Path(folder)
        with whole_folder(target, force=force) as temporary:
            for name, write in zip(RESULT_FILES, writers, strict=True):
                try:
                    write(temporary / name)
                except OutputError as error:  # name the place the user knows
                    message = str(error).replace(str(temporary), str(target))
                    raise OutputError(message) from error
        return {name: target / name for name in RESULT_FILES}

    def __repr__(self) -> str:
        kind = self.samples.kind
        return f"<Detection: {self.n_flagged:,} of {len(self.samples):,} {kind} items above {self.threshold:.4g}>"

    def _repr_html_(self) -> str:
        return notebook_html(self)


def _writable(names: list[str]) -> list[str]:
    """File names in an encoding other than the system's hold parts that cannot be written; those become "?"."""
    try:
        "".join(names).encode()
        return names
    except UnicodeEncodeError:
        return [name.encode("utf-8", errors="replace").decode("utf-8") for name in names]
