"""Distance to the principal subspace."""

from __future__ import annotations

from rsrae.detectors.preprocessed import Matrix
from rsrae.detectors.subspace import SubspaceDetector
from rsrae.subspaces import Subspace, principal_subspace


class PCA(SubspaceDetector):
    """Principal component analysis: the distance to the subspace with the least sum of squared distances.

    Parameters
    ----------
    **common : see :class:`rsrae.detectors.subspace.SubspaceDetector`; ``center="auto"`` is the mean.

    Notes
    -----
    Shyu, Chen, Sarinnapakorn and Chang, "A novel anomaly detection scheme based on principal component classifier",
    2003.

    Differs from the published code: that scheme weighs the components by their variance, and has a second score within
    the subspace; here the score is the reconstruction error, as it is for autoencoders.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0, 0.0], [1.0, 1.0], [2.0, 2.0], [3.0, 3.0]])
    >>> PCA(scaling="none").fit(X).anomaly_score([[3.0, 1.0]]).round(6)
    array([1.414214])
    """

    _auto_center = "mean"

    def _find(self, X: Matrix, d: int, center: str) -> Subspace:
        return principal_subspace(X, d, center=center)
