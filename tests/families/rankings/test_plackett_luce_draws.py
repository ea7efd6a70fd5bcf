"""Log-likelihoods over draws against the kernel for one ranking, and against the definition."""

from __future__ import annotations

import numpy as np
import pytest
from nested_rankings import nested, random_ranking

import dissensus as dx
from dissensus.data.plausibility import layout
from dissensus.families.rankings.kernels.predict import log_strengths, pointwise
from dissensus.families.rankings.layout import laid_out
from dissensus.kernels.plackett_luce import log_likelihood


def random_items(rng, n):
    """Items of up to three rankings over 1 to 9 cells; some rankings say nothing."""
    items = []
    for n_cells in rng.integers(1, 10, n).tolist():
        rankings = [random_ranking(rng, n_cells, 0.5) for _ in range(rng.integers(0, 4))]
        items.append(([each if rng.random() < 0.8 else [] for each in rankings], n_cells))
    return items


def reference(cells, blocks, closed):
    """One ranking by the kernel for one, which takes finite log strengths only.

    What has strength 0 and is not listed is left out; what is listed with 0 is impossible, unless
    it stands in a block after which there is no cell at all.
    """
    listed = [cell for block in blocks for cell in block]
    there = [c for c in range(len(cells)) if c in listed or not closed]
    nothing_after = len(there) == len(listed)
    before = listed[: -len(blocks[-1])] if blocks and nothing_after else listed
    if np.isneginf(cells[before]).any():
        return -np.inf
    if blocks and nothing_after:
        blocks = [*blocks[:-1], [c for c in blocks[-1] if cells[c] > -np.inf]]
    kept = [c for c in there if cells[c] > -np.inf]
    codes = np.array([kept.index(c) for block in blocks for c in block], dtype=np.int64)
    ends = np.cumsum([len(block) for block in blocks if block], dtype=np.int64)
    return log_likelihood(cells[kept], codes, ends) if len(codes) else 0.0


@pytest.mark.parametrize("zeros", [0.0, 0.2])
@pytest.mark.parametrize("spread", [2.0, 60.0])
def test_each_entry_is_the_likelihood_of_one_ranking_under_one_draw(zeros, spread):
    rng = np.random.default_rng([51, int(10 * zeros), int(spread)])
    items = random_items(rng, 40)
    n_rankings = sum(len(rankings) for rankings, _ in items)
    closed = rng.random(n_rankings) < 0.3
    rankings = nested(*items, closed=closed)
    log_strength = rng.normal(0, spread, (5, rankings.cell_start[-1]))
    log_strength[rng.random(log_strength.shape) < zeros] = -np.inf
    power = rng.uniform(0.3, 4, n_rankings)
    sharpness = rng.uniform(0.3, 4, (5, n_rankings)).round(1)
    actual = pointwise(rankings, log_strength, power=power, sharpness=sharpness)
    assert actual.shape == (5, n_rankings)
    number = 0
    for item, (mine, _) in enumerate(items):
        cells = log_strength[:, slice(*rankings.cell_start[item : item + 2])]
        for blocks in mine:
            want = [
                power[number] * reference(s * row, blocks, closed[number])
                for s, row in zip(sharpness[:, number], cells, strict=True)
            ]
            np.testing.assert_allclose(actual[:, number], want, rtol=1e-12, atol=1e-12)
            number += 1
    assert np.isneginf(actual).any() == (zeros > 0)


def test_a_ranking_that_says_nothing_or_ties_all_has_likelihood_one():
    rankings = nested(([[], [[0, 1, 2]], [[0, 1, 2]]], 3), closed=[False, False, True])
    result = pointwise(rankings, np.array([[0.0, 3.0, -2.0], [-np.inf, 0.0, 0.0]]), power=3.0)
    np.testing.assert_array_equal(result, 0)


def test_labels_of_mass_zero():
    """Not listed it adds nothing; listed it is impossible, but for the last place of all."""
    orders = [[[0]], [[0], [1]], [[0], [1], [2]], [[0], [2], [1]], [[0], [1, 2]]]
    result = np.exp(pointwise(nested((orders, 3)), np.array([[0.0, 0.0, -np.inf]])))
    np.testing.assert_allclose(result, [[0.5, 0.5, 0.5, 0.0, 0.5]])


def test_closed_rankings_do_not_see_what_they_do_not_list():
    rankings = nested(([[[0], [1]], [[0], [1]]], 3), closed=[False, True])
    result = np.exp(pointwise(rankings, np.log([[1.0, 3.0, 4.0]])))
    np.testing.assert_allclose(result, [[1 / 8 * 3 / 7, 1 / 4]])


@pytest.mark.parametrize("tie", [7, 8, 30])
def test_large_ties_go_through(tie):
    rng = np.random.default_rng([52, tie])
    log_strength = rng.normal(0, 5, (3, tie + 4))
    block = list(range(tie))
    actual = pointwise(nested(([[block, [tie]], [[tie], block]], tie + 4)), log_strength)
    for draw in range(3):
        for ranking, blocks in enumerate(([block, [tie]], [[tie], block])):
            want = reference(log_strength[draw], blocks, False)
            assert actual[draw, ranking] == pytest.approx(want, rel=1e-13, abs=1e-13)


@pytest.fixture(scope="module")
def study():
    """Three items, ties, an item of which all labels are named, and one nobody ranks fully."""
    cases = {
        "p": [[["b"], ["a", "d"]], [["b"]], [["d"], ["e"], ["a"]]],
        "q": [[["c"]]],
        "r": [[["a", "b"], ["c"], ["d"], ["e"], ["f"], ["g"]], [["g"]]],
    }
    return dx.from_rankings(cases, labels="abcdefg"), cases


def test_agrees_with_the_public_function_on_the_whole_label_space(study):
    ann, cases = study
    where = layout(ann)
    rng = np.random.default_rng(53)
    dense = rng.dirichlet(np.full(7, 0.5), (4, 3))
    plausibility = np.zeros((4, *where.codes.shape))
    for item, codes in enumerate(where.codes):
        named = codes[codes >= 0]
        plausibility[:, item, : len(named)] = dense[:, item, named]
        plausibility[:, item, -1] = np.delete(dense[:, item], named, axis=1).sum(axis=1)
    laid = laid_out(ann, where, "exact")
    actual = pointwise(
        laid.rankings, log_strengths(laid.rankings, plausibility, laid.candidate), power=2.0
    )
    rankings = [(i, blocks) for i, case in enumerate(cases.values()) for blocks in case]
    for number, (item, blocks) in enumerate(rankings):
        codes = [["abcdefg".index(label) for label in block] for block in blocks]
        for draw in range(4):
            want = 2 * dx.partial_ranking_logp(dense[draw, item], codes)
            assert actual[draw, number] == pytest.approx(want, abs=1e-12)


def test_lumped_is_separate_cells_at_sharpness_one(study):
    ann, _ = study
    where = layout(ann)
    lumped, separate = (laid_out(ann, where, "exact", lumped=choice) for choice in (True, False))
    cells = np.random.default_rng(54).normal(0, 4, (6, len(separate.candidate)))
    owner = np.repeat(np.arange(3), separate.rankings.n_cells)
    sums = np.zeros((6, *where.codes.shape))
    np.add.at(sums, (slice(None), owner, separate.candidate), np.exp(cells))
    lumped_log = pointwise(lumped.rankings, log_strengths(lumped.rankings, sums, lumped.candidate))
    other = pointwise(separate.rankings, cells)
    np.testing.assert_allclose(lumped_log, other, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("unranked", ["one", "ignore", "absent"])
def test_every_treatment_has_its_cells(study, unranked):
    ann, _ = study
    where = layout(ann)
    laid = laid_out(ann, where, unranked)
    plausibility = np.random.default_rng(55).dirichlet(np.ones(where.codes.shape[1]), (2, 3))
    logs = log_strengths(laid.rankings, plausibility, laid.candidate)
    actual = pointwise(laid.rankings, logs)
    b, a, d, e = plausibility[0, 0, [1, 0, 2, 3]]  # a, b, d, e are named
    rest = {"one": plausibility[0, 0, -1], "ignore": 0.0, "absent": -e}[unranked]
    # p's first: b before a, d, e and the rest, then a and d in either order.
    total = a + d + e + rest
    want = b / (b + total) * a * d / total * (1 / (total - a) + 1 / (total - d))
    assert np.exp(actual[0, 0]) == pytest.approx(want)


def test_no_draws_and_no_items_are_fine():
    assert pointwise(nested(([[[0]]], 2)), np.empty((0, 2))).shape == (0, 1)
    assert pointwise(nested(), np.empty((4, 0))).shape == (4, 0)
