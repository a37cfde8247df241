"""Trees as flat arrays: they score as scikit-learn's do, and a model file keeps them without pickle."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.utils import gen_batches

from rsrae.detectors.preprocessed import Matrix, expect_shape, to_dense
from rsrae.modelfile import Arrays
from rsrae.thresholds import FloatArray

IntArray = npt.NDArray[np.int64]
ROWS_AT_ONCE = 512  # what a walk keeps of them fits the cache of a core


@dataclass(frozen=True)
class Forest:
    """Node i of all trees, one tree after the other.

    Attributes
    ----------
    roots : the first node of each tree.
    columns : those columns of the data that any tree looks at.
    column, threshold : of each node: a row whose value in that one of ``columns`` is at most this goes left.
    left, right : the nodes that follow; a leaf is its own.
    value : what a row that ends in the node is given.
    height : the longest walk, one number.
    """

    roots: IntArray
    columns: IntArray
    column: IntArray
    threshold: FloatArray
    left: IntArray
    right: IntArray
    value: FloatArray
    height: IntArray

    @classmethod
    def of(cls, trees: list[Any], values: Callable[[Any], FloatArray]) -> Self:
        """Scikit-learn's trees, and what the nodes of each are worth."""
        sizes = np.array([tree.node_count for tree in trees])
        roots = np.concatenate([[0], np.cumsum(sizes)[:-1]])
        node = np.arange(sizes.sum())
        offset = np.repeat(roots, sizes)
        left, right, feature, threshold = (
            np.concatenate([getattr(tree, name) for tree in trees])
            for name in ("children_left", "children_right", "feature", "threshold")
        )
        is_leaf = left < 0
        columns = np.unique(feature[~is_leaf]) if not is_leaf.all() else np.zeros(1, dtype=np.int64)
        return cls(
            roots=roots,
            columns=columns,
            column=np.where(is_leaf, 0, np.searchsorted(columns, feature)),
            threshold=threshold,
            left=np.where(is_leaf, node, left + offset),
            right=np.where(is_leaf, node, right + offset),
            value=np.concatenate([values(tree) for tree in trees]),
            height=np.array([max(tree.max_depth for tree in trees)]),
        )

    def mean(self, X: Matrix) -> FloatArray:
        """The mean over the trees of what each row, in single precision, is given."""
        total = np.empty(X.shape[0])
        for batch in gen_batches(X.shape[0], max(1, min(ROWS_AT_ONCE, 2**24 // len(self.columns)))):
            total[batch] = self._sum(to_dense(X[batch][:, self.columns]))
        return total / len(self.roots)

    def arrays(self) -> Arrays:
        """What a model file keeps."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @classmethod
    def restore(cls, arrays: Arrays, n_columns: int) -> Self:
        """Undo ``arrays``; a ValueError unless every walk from a root stays among the nodes and columns, and ends."""
        forest = cls(**{field.name: arrays[field.name] for field in fields(cls)})
        n_nodes = len(forest.value)
        for name, limit in (("roots", n_nodes), ("left", n_nodes), ("right", n_nodes), ("height", n_nodes)):
            _expect_below(name, getattr(forest, name), limit)
        _expect_below("column", forest.column, len(forest.columns))
        _expect_below("columns", forest.columns, n_columns)
        for name in ("column", "threshold", "left", "right", "value"):
            expect_shape(name, getattr(forest, name), (n_nodes,))
        expect_shape("height", forest.height, (1,))
        return forest

    def _sum(self, block: npt.NDArray[np.float32]) -> FloatArray:
        # A row in all trees at once, (rows, trees): few calls on arrays that stay in the cache.
        values, first = block.ravel(), np.arange(0, block.size, block.shape[1])[:, None]
        children = np.stack([self.left, self.right], axis=1).ravel()
        threshold = _below_in_single_precision(self.threshold)
        node = np.tile(self.roots, (len(block), 1))
        for _ in range(int(self.height[0])):
            goes_right = values.take(first + self.column.take(node)) > threshold.take(node)
            node = children.take(2 * node + goes_right)
        return np.asarray(self.value.take(node).sum(axis=1))


def _below_in_single_precision(threshold: FloatArray) -> npt.NDArray[np.float32]:
    """The largest numbers of single precision that are not above: a value of it is above both or neither."""
    rounded = threshold.astype(np.float32)
    return np.where(rounded > threshold, np.nextafter(rounded, np.float32(-np.inf)), rounded)


def _expect_below(name: str, array: npt.NDArray[Any], limit: int) -> None:
    if array.dtype.kind != "i" or array.size == 0 or array.min() < 0 or array.max() >= limit:
        raise ValueError(f"{name} must hold whole numbers from 0 to {limit - 1}")
