"""From whatever the user has to a verdict: read, fit, score, draw the line, explain, write.

``run`` is the way from a source to a result, ``result`` is that result, ``calibration`` makes scores read like
probabilities, ``models`` keeps the encoder with the detector, ``facts`` and ``display`` show the result, ``folder``
writes it whole or not at all.
"""

from rsrae.detection.calibration import Calibration
from rsrae.detection.folder import check_folder, whole_folder
from rsrae.detection.models import Model, load_model
from rsrae.detection.result import Detection
from rsrae.detection.run import detect, detect_samples, score_with

__all__ = [
    "Calibration",
    "Detection",
    "Model",
    "check_folder",
    "detect",
    "detect_samples",
    "load_model",
    "score_with",
    "whole_folder",
]
