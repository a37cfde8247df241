"""All rows of a data set, scored block by block on as many threads as pay."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import torch
from torch import Tensor

from rsrae.errors import InputError
from rsrae.networks.batches import Batch
from rsrae.networks.rows import AnyRows
from rsrae.training import limited_threads


def score_blocks(rows: AnyRows, score: Callable[[Batch], Tensor], *, n_threads: int = 1) -> Tensor:
    """What ``score`` says of every row, ``(scores, rows)``; it is asked for a block at a time.

    Threads take whole blocks, and the kernels inside use one: blocks are too small to be shared between threads, and so
    a row scores the same to the last bit on any number of them.
    """
    if rows.n_rows == 0:
        raise InputError("there are no rows to score")
    size = rows.block_size()
    scores: Tensor | None = None

    def fill(start: int) -> None:
        nonlocal scores
        with torch.inference_mode():  # every thread has its own
            block = score(rows.block(start, size))[:, : rows.n_rows - start]
            if scores is None:
                # Written into one tensor: many small ones among large temporaries would leave the heap full of holes.
                scores = block.new_empty(len(block), rows.n_rows)
            scores[:, start : start + size] = block

    starts = range(0, rows.n_rows, size)
    with limited_threads(1):
        fill(starts[0])
        if n_threads == 1 or len(starts) < 3:
            for start in starts[1:]:
                fill(start)
        else:
            with ThreadPoolExecutor(n_threads, initializer=torch.set_num_threads, initargs=(1,)) as pool:
                list(pool.map(fill, starts[1:]))
    assert scores is not None
    return scores
