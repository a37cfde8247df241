"""Scores split into parts of features.

Where the score is made of a reconstruction, the split is exact. With x the item as the network sees it, x_hat its
reconstruction, u and v the two scaled to unit norm:

========== ==================== ===========================================================================
score      is                   part of feature j
========== ==================== ===========================================================================
manhattan  ``sum |x - x_hat|``  ``|x_j - x_hat_j|``
euclidean  ``||x - x_hat||``    ``(x_j - x_hat_j)**2 / ||x - x_hat||``
cosine     ``1 - cos(x, x_hat)`` ``(u_j - v_j)**2 / 2``
========== ==================== ===========================================================================

Where an item is compared with each of its neighbours, a part is the mean over these; where columns of a table have
weights, x and x_hat are multiplied by them.

The parts are not negative and add up to the score. A share is a part divided by the score, so shares add up to one. The
score of an ensemble is the mean of its members' standardised scores; a member's parts count by its weight divided by
its spread, which is what they put into that mean.

In a table some columns are hard to reproduce in any row, and their parts are large whether a row is strange or not.
What counts there is how far a part is above what it is on average in the rows that neighbours are sought among, which
were found normal. If no part of a row is, shares are of the parts as they are.

Other methods are asked: how much lower is the score when one feature is set to its typical value? Drops, taken as
zero where the score rises, are scaled to add up to one. This sees one feature at a time; a pair that is strange only
together shows in both, or, if each alone changes nothing, in neither: the shares are then all equal.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
import torch
from torch import Tensor

from rsrae.detectors.autoencoders import AutoencoderDetector
from rsrae.edges import Edges
from rsrae.errors import InputError

FloatArray = npt.NDArray[np.float64]
Groups = Sequence[npt.NDArray[np.int64]]
Mask = npt.NDArray[np.bool_]  # which columns, or which pixels

REFERENCE_ROWS = 10_000  # enough to know what is typical
PATCHES_PER_SIDE = 8  # for methods that are asked, pictures change patch by patch
DENSE_LIMIT_BYTES = 2**30  # the largest sparse matrix that is made dense for a method that needs it
_BLOCK_VALUES = 2**22


class EdgeShares(NamedTuple):
    """What is said of the edges of pictures.

    Attributes
    ----------
    edges : where which of them lies.
    shares : of the edges alone, ``(n, h, w)``.
    found, expected : the edges themselves, ``(n, edges)``.
    """

    edges: Edges
    shares: FloatArray
    found: FloatArray
    expected: FloatArray


class Shares(NamedTuple):
    """The split of some items' scores.

    Attributes
    ----------
    scores : ``(n,)``.
    shares : ``(n, features)``, each row adds up to one; for pictures ``(n, h, w)``.
    expected : what the model expected, in the units of ``X`` and its shape; None where the method expects nothing.
    edges : how much of the shares of pictures is about their edges; None if they have none.
    """

    scores: FloatArray
    shares: FloatArray
    expected: FloatArray | None
    edges: EdgeShares | None = None


def feature_shares(detector: Any, X: Any, *, groups: Groups | None = None, reference: Any = None) -> Shares:
    """Split the scores of some rows.

    Parameters
    ----------
    detector : fitted.
    X : rows as the detector takes them, few: they are made dense here if they are sparse.
    groups : features that belong together, as arrays of their numbers; the methods that are asked change them at
        once. Each feature is on its own if None. The result is by feature in any case: a group's share is then
        spread evenly over its features.
    reference : rows that say what is typical; only needed by the methods that are asked (default: ``X``).

    Examples
    --------
    >>> from rsrae import RSRAE
    >>> X = np.random.default_rng(0).normal(size=(100, 4))
    >>> X[0, 2] = 30
    >>> detector = RSRAE(epochs=5, random_state=0).fit(X)
    >>> int(feature_shares(detector, X[:1]).shares.argmax())
    2
    """
    if is_explained_exactly(detector):
        rows, usual = accepted_form(X, detector.accepts), _usual_parts(detector)
        return _joined([_reconstruction_shares(detector, block, usual) for block in _blocks(rows)])
    if is_sparse(X):
        return _joined([_word_shares(detector, sp.csr_array(X[[i]])) for i in range(X.shape[0])])
    typical = _typical(X if reference is None else reference, groups)
    masks = _patches(X.shape[1:3]) if X.ndim > 2 else _columns(X.shape[1], groups)
    blocks = _blocks(X, len(masks) + 1)
    return _joined([_replacement_shares(detector, block, masks, typical) for block in blocks])


def is_explained_exactly(detector: Any) -> bool:
    """Whether the detector's score is made of a reconstruction, and so falls apart into features."""
    # A detector of the family that scores in its own way is asked like any other.
    scoring = ("_score", "_member_scores", "_errors_by")
    return isinstance(detector, AutoencoderDetector) and all(
        getattr(type(detector), name) is getattr(AutoencoderDetector, name) for name in scoring
    )


def n_scored_rows(detector: Any, X: Any, n_groups: int) -> int:
    """How many rows have to be scored to explain one: what an explanation costs."""
    if is_explained_exactly(detector):
        return 1
    if is_sparse(X):
        return int(-(-X.nnz // max(1, X.shape[0]))) + 1
    return 1 + (PATCHES_PER_SIDE**2 if X.ndim > 2 else n_groups)


def accepted_form(X: Any, accepts: frozenset[str]) -> Any:
    """Rows in a form the method accepts: as they are, or else flattened to a table of numbers.

    >>> accepted_form(np.zeros((5, 4, 3)), frozenset({"table"})).shape
    (5, 12)
    """
    kind = "sparse" if is_sparse(X) else "table" if X.ndim == 2 else "images"
    if kind in accepts:
        return X
    if "table" not in accepts:
        found = {"sparse": "documents", "table": "a table", "images": "images"}[kind]
        raise InputError(f"takes {' and '.join(sorted(accepts))} only, not {found}")
    if not is_sparse(X):
        return X.reshape(X.shape[0], -1)
    if X.shape[0] * X.shape[1] * X.dtype.itemsize > DENSE_LIMIT_BYTES:
        raise InputError(f"takes only dense rows, and {X.shape[0]:,} x {X.shape[1]:,} numbers are too many for that")
    return X.toarray()


def is_sparse(X: Any) -> bool:
    """Whether these are sparse rows."""
    return bool(sp.issparse(X))


# -- scores made of a reconstruction -----------------------------------------------------------------------------------


def _reconstruction_shares(detector: AutoencoderDetector, X: Any, usual: Tensor | None) -> Shares:
    x = torch.from_numpy(detector.preprocess(X))  # (n, ...)
    parts, x_hat = _feature_parts(detector, x)
    x = x.flatten(start_dim=1)
    if usual is not None:
        above = (parts - usual).clamp_min(0)
        parts = torch.where((above > 0).any(dim=1, keepdim=True), above, parts)
    if detector.panel_.gross is not None:
        parts += detector.panel_.gross.by_column(x.unsqueeze(0).to(detector.device)).cpu()
    is_cosine = detector._choices.scored_by == "cosine"
    x_hat = x_hat.mean(dim=0) if not is_cosine else _unit(x_hat).mean(dim=0) * _norms(x)
    norms, taken_off = _lost(detector, X)
    edges, of_edges = detector.preprocessor_.edges, None
    if edges is not None:
        of_edges = edges.on_pixels(parts[:, edges.n_pixels :])
        parts = parts[:, : edges.n_pixels] + of_edges  # what lies at a pixel, and at its cell
        norms = norms / _norms(x[:, : edges.n_pixels]).clamp_min(1e-12)  # the row has more values than the pixels
    expected = detector.preprocessor_.undo((x_hat * norms + taken_off).numpy()).reshape(len(x), *detector.input_shape_)
    shares, about_edges = _shares_of(parts.numpy()), None
    if len(detector.input_shape_) > 1:  # the channels of a pixel together
        shares = shares.reshape(expected.shape).sum(axis=-1)
    if edges is not None and of_edges is not None:
        its_shares = (of_edges / parts.sum(dim=1, keepdim=True).clamp_min(1e-300)).numpy()
        found, wanted = (rows[:, edges.n_pixels :].numpy() for rows in (x, x_hat))
        about_edges = EdgeShares(edges, its_shares.reshape(expected.shape).sum(axis=-1), found, wanted)
    return Shares(detector.anomaly_score(X), shares, expected, about_edges)


def _usual_parts(detector: AutoencoderDetector) -> Tensor | None:
    """What the parts of the columns are on average in rows that were found normal; None if it is not a table."""
    neighbours = detector.panel_.neighbours
    if neighbours is None or not detector.preprocessor_.is_by_column or not isinstance(neighbours.rows, Tensor):
        return None
    rows = neighbours.rows.cpu().double()
    n_copies = 2 * len(detector.panel_.combination.weights)  # reconstructions, and their parts
    blocks = [_feature_parts(detector, block)[0].sum(dim=0) for block in _blocks(rows, n_copies)]
    return torch.stack(blocks).sum(dim=0) / len(rows)


def _feature_parts(detector: AutoencoderDetector, x: Tensor) -> tuple[Tensor, Tensor]:
    """What each feature of rows as the networks see them puts into their scores, ``(n, features)`` (of a picture the
    edges behind the pixels), and the reconstructions, ``(members, n, m)``.

    Without what imitates the other members, for its reasons are theirs, and without gross values; with what breaks
    rules between columns in the rows that have a higher score by it.
    """
    with torch.inference_mode():
        batch = x.unsqueeze(0).to(detector.device)
        x_hat = torch.cat([member.reconstruct(batch) for member in detector._reconstructing()]).cpu()
    x, x_hat = x.flatten(start_dim=1), x_hat.flatten(start_dim=2)  # (n, m), (members, n, m)
    scored_by = detector._choices.scored_by
    weights = 1.0 if detector.panel_.weights is None else detector.panel_.weights.cpu()
    parts = _parts(x * weights, x_hat * weights, scored_by)
    neighbours = detector.panel_.neighbours
    if neighbours is not None and neighbours.to_each:
        rows = batch.flatten(start_dim=2)
        parts[-1:] = neighbours.mean_over_each(rows, lambda part, each: _parts(part, each, scored_by)).cpu()
    ranks = detector.preprocessor_.ranks
    if ranks is not None:  # a column and its ranks together
        parts, of_ranks = parts[..., : -len(ranks)], parts[..., -len(ranks) :]
        parts.index_add_(-1, torch.from_numpy(ranks.columns), of_ranks)
    panel = detector.panel_
    in_units = (panel.combination.weights / panel.combination.spread).cpu()
    total = (parts * in_units[: len(x_hat), None, None]).sum(dim=0)
    if panel.rules is not None:
        others = [member for member in panel.members if member is not neighbours]
        scores = torch.cat([parts.sum(dim=-1), *(member.errors(batch, scored_by).cpu() for member in others)])
        kept = 1 - panel.combination.weights[-1].cpu()
        broken = kept * total + panel.rules.by_column(batch).cpu() * in_units[-1]
        total = torch.where(panel.combination.is_raised(scores).unsqueeze(1), broken, total)
    return total, x_hat


def _parts(x: Tensor, x_hat: Tensor, scored_by: str) -> Tensor:
    """The parts of the features in the distance of ``x`` to ``x_hat``; they add up to it."""
    if scored_by == "manhattan":
        return (x - x_hat).abs()
    if scored_by == "cosine":
        return (_unit(x) - _unit(x_hat)).square().div_(2)
    return (x - x_hat).square() / _norms(x - x_hat).clamp_min(1e-300)


def _lost(detector: AutoencoderDetector, X: Any) -> tuple[Tensor, Tensor]:
    """By what rows were divided to have unit norm, and what of their means was taken off: ``undo`` cannot know it."""
    scaler = detector.preprocessor_
    nothing = torch.zeros(1, 1, dtype=torch.float64)
    if not scaler.unit_norm and scaler.brightness == 1:
        return nothing + 1, nothing
    before = replace(scaler, unit_norm=False, brightness=1.0, edges=None)
    if is_sparse(X):
        rows = torch.from_numpy(before.apply_sparse(sp.csr_array(X)).toarray())
    else:
        rows = torch.from_numpy(np.array(X))
        rows = before.apply((rows.unsqueeze(-1) if rows.ndim == 3 else rows).double())
    rows = rows.flatten(start_dim=1).double()
    taken_off = (1 - scaler.brightness) * rows.mean(dim=1, keepdim=True)
    return _norms(rows - taken_off) if scaler.unit_norm else nothing + 1, taken_off


def _norms(rows: Tensor) -> Tensor:
    norms: Tensor = torch.linalg.vector_norm(rows, dim=-1, keepdim=True)
    return norms


def _unit(rows: Tensor) -> Tensor:
    return rows / _norms(rows).clamp_min(1e-12)


# -- methods that are asked --------------------------------------------------------------------------------------------


def _replacement_shares(detector: Any, X: npt.NDArray[Any], masks: Sequence[Mask], typical: npt.NDArray[Any]) -> Shares:
    # Every row as it is and once for each mask, all scored in one call: (n, 1 + masks, ...).
    changed = np.repeat(X[:, None], len(masks) + 1, axis=1)
    for k, mask in enumerate(masks, start=1):
        changed[:, k][:, mask] = typical[mask]
    scores = _score(detector, changed.reshape(-1, *X.shape[1:])).reshape(len(X), -1)
    parts = np.zeros((len(X), *masks[0].shape))
    for k, mask in enumerate(masks, start=1):
        parts[:, mask] = np.maximum(scores[:, :1] - scores[:, [k]], 0.0) / mask.sum()
    shares = _shares_of(parts.reshape(len(X), -1)).reshape(parts.shape)
    expected = None if X.ndim > 2 else np.broadcast_to(typical.astype(np.float64), X.shape)
    return Shares(scores[:, 0], shares, expected)


def _word_shares(detector: Any, row: sp.csr_array) -> Shares:
    # A word that is absent is typical already; only those present can be taken out.
    changed = sp.csr_array(sp.vstack([row] * (row.nnz + 1), format="csr"))
    changed.data[row.nnz + np.arange(row.nnz) * (row.nnz + 1)] = 0
    changed.eliminate_zeros()
    scores = _score(detector, changed)
    parts = np.zeros(row.shape)
    parts[0, row.indices] = np.maximum(scores[0] - scores[1:], 0.0)
    return Shares(scores[:1], _shares_of(parts), np.zeros(row.shape))


def _score(detector: Any, X: Any) -> FloatArray:
    scores: FloatArray = detector.anomaly_score(accepted_form(X, detector.accepts))
    return scores


def _columns(n_features: int, groups: Groups | None) -> list[Mask]:
    masks = []
    for group in groups if groups is not None else np.arange(n_features)[:, None]:
        mask = np.zeros(n_features, dtype=bool)
        mask[group] = True
        masks.append(mask)
    return masks


def _patches(shape: tuple[int, ...]) -> list[Mask]:
    masks = []
    for rows in np.array_split(np.arange(shape[0]), min(PATCHES_PER_SIDE, shape[0])):
        for columns in np.array_split(np.arange(shape[1]), min(PATCHES_PER_SIDE, shape[1])):
            mask = np.zeros(shape, dtype=bool)
            mask[np.ix_(rows, columns)] = True
            masks.append(mask)
    return masks


def _typical(reference: npt.NDArray[Any], groups: Groups | None) -> npt.NDArray[Any]:
    sample = reference[:: -(-len(reference) // REFERENCE_ROWS)]
    typical: npt.NDArray[Any] = np.median(sample, axis=0).astype(sample.dtype)
    for group in groups or ():
        members = sample[:, group]
        # Of columns that are 0 or 1 each, as the categories of one column are, the medians alone could be all 0.
        if len(group) > 1 and np.isin(members, (0, 1)).all():
            found, counts = np.unique(members, axis=0, return_counts=True)
            typical[group] = found[counts.argmax()]
    return typical


# -- both --------------------------------------------------------------------------------------------------------------


def _shares_of(parts: npt.NDArray[Any]) -> FloatArray:
    totals = parts.sum(axis=-1, keepdims=True)
    even = np.full_like(parts, 1 / parts.shape[-1], dtype=np.float64)
    shares: FloatArray = np.divide(parts, totals, out=even, where=totals > 0)
    return shares


def _blocks(X: Any, n_copies: int = 1) -> Iterator[Any]:
    size = max(1, _BLOCK_VALUES // max(1, n_copies * int(np.prod(X.shape[1:]))))
    for start in range(0, X.shape[0], size):
        yield X[start : start + size]


def _joined(found: Sequence[Shares]) -> Shares:
    expected = [one.expected for one in found]
    of_edges = [one.edges for one in found if one.edges is not None]
    return Shares(
        np.concatenate([one.scores for one in found]),
        np.concatenate([one.shares for one in found]),
        None if any(one is None for one in expected) else np.concatenate(expected),  # type: ignore[arg-type]
        EdgeShares(
            of_edges[0].edges,
            *(np.concatenate([getattr(one, name) for one in of_edges]) for name in ("shares", "found", "expected")),
        )
        if of_edges
        else None,
    )
