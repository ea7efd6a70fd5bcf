"""Rankings written as nested lists, for kernels that read `dissensus.kernels.rankings.Rankings`."""

from __future__ import annotations

import itertools

import numpy as np

from dissensus.kernels.rankings import Rankings


def nested(*items, closed=False):
    """Lay out items given as (rankings, number of cells); a ranking is a list of blocks of cells.

    What is closed is said for all rankings, for each, or by a ranking that starts with "closed".
    """
    labels = [ranking for rankings, _ in items for ranking in rankings]
    shut = np.array([ranking[:1] == ["closed"] for ranking in labels], dtype=bool)
    blocks = [ranking[int(is_shut) :] for ranking, is_shut in zip(labels, shut, strict=True)]
    rows = [
        (cell, number)
        for ranking in blocks
        for number, block in enumerate(ranking, start=1)
        for cell in block
    ]
    table = np.array(rows, dtype=np.int64).reshape(-1, 2)
    return Rankings(
        item_start=_starts(len(rankings) for rankings, _ in items),
        ranking_start=_starts(sum(map(len, ranking)) for ranking in blocks),
        place=table[:, 0].copy(),
        rank=table[:, 1].copy(),
        cell_start=_starts(n_cells for _, n_cells in items),
        closed=shut | np.asarray(closed, dtype=bool),
    )


def _starts(lengths):
    return np.cumsum([0, *lengths], dtype=np.int64)


def ranked_above(rankings, n_cells, closed):
    """Whether a chain of rankings puts one cell of an item above another: (above, below)."""
    above = np.eye(n_cells, dtype=bool)
    for ranking in rankings:
        listed = {cell for block in ranking for cell in block}
        rest = [] if closed else [[cell for cell in range(n_cells) if cell not in listed]]
        for upper, lower in itertools.combinations([*ranking, *rest] if ranking else [], 2):
            above[np.ix_(upper, lower)] = True
    for middle in range(n_cells):
        above |= np.outer(above[:, middle], above[middle])
    return above


def random_ranking(rng, n_cells, tie=0.4):
    """Some of the cells in random order, each tied with the one before with probability `tie`."""
    blocks: list[list[int]] = []
    for cell in rng.permutation(n_cells)[: rng.integers(1, n_cells + 1)].tolist():
        if blocks and rng.random() < tie:
            blocks[-1].append(cell)
        else:
            blocks.append([cell])
    return blocks
