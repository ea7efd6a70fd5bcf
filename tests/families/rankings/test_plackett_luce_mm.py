"""Maximum likelihood against enumeration, closed forms, and its own properties."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nested_rankings import nested, random_ranking, ranked_above
from scipy.optimize import minimize
from scipy.special import logsumexp

from dissensus.families.rankings.kernels.memory import times_expected, times_ranked
from dissensus.families.rankings.kernels.mm import groups, maximum, within


def solved(rankings, n_cells, closed=False, **options):
    settings_ = {"tolerance": 1e-10, "max_passes": 10_000} | options
    return maximum(nested((rankings, n_cells), closed=closed), **settings_)


def enumerated(u, ranking, closed):
    """Log of the summed probabilities of all full orders that agree with the blocks."""
    listed = [cell for block in ranking for cell in block]
    rest = [] if closed else [cell for cell in range(len(u)) if cell not in listed]
    parts = [list(itertools.permutations(part)) for part in [*ranking, rest]]
    orders = np.array([sum(order, ()) for order in itertools.product(*parts)], dtype=int)
    chosen = np.asarray(u)[orders]
    left = np.logaddexp.accumulate(chosen[:, ::-1], axis=1)[:, ::-1]
    return logsumexp((chosen - left).sum(axis=1))


def total(u, rankings, closed=False):
    return sum(enumerated(u, ranking, closed) for ranking in rankings)


def connected(rng, n_cells, n_rankings, tie=0.4):
    """Random rankings with a maximum inside: one, and its reverse, join all cells."""
    order = rng.permutation(n_cells).tolist()
    both = [[[cell] for cell in order], [[cell] for cell in order[::-1]]]
    return both + [random_ranking(rng, n_cells, tie) for _ in range(n_rankings)]


@pytest.mark.long
@pytest.mark.unit(6)
@pytest.mark.parametrize("closed", [False, True])
@pytest.mark.parametrize("seed", range(8))
def test_equals_a_general_optimiser_on_enumerated_orders(seed, closed):
    rng = np.random.default_rng([53, seed])
    n_cells = int(rng.integers(2, 6))
    rankings = connected(rng, n_cells, int(rng.integers(1, 6)))
    result = solved(rankings, n_cells, closed)
    best = minimize(
        lambda u: -total([0.0, *u], rankings, closed), np.zeros(n_cells - 1),
        method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-13, "maxiter": 20_000},
    )  # fmt: skip
    share = np.exp([0.0, *best.x])
    np.testing.assert_allclose(result.share, share / share.sum(), atol=2e-6)
    assert result.log_likelihood[0] == pytest.approx(-best.fun, abs=1e-11)
    assert result.reached.all()
    assert result.n_tops.tolist() == [1]


@pytest.mark.long
def test_equals_the_best_point_of_a_grid():
    """Three labels, two of them tied once: no point of a grid over the simplex is better."""
    rankings = [[[0, 1], [2]], [[2], [0]], [[1], [2], [0]]]
    result = solved(rankings, 3)
    steps = 60
    grid = {
        (a / steps, b / steps, 1 - (a + b) / steps): None
        for a in range(1, steps) for b in range(1, steps - a)
    }  # fmt: skip
    for point in grid:
        grid[point] = total(np.log(point), rankings)
    best = max(grid, key=grid.get)
    assert grid[best] <= result.log_likelihood[0] <= grid[best] + 5e-3
    np.testing.assert_allclose(result.share, best, atol=1.5 / steps)


@pytest.mark.parametrize("seed", range(3))
def test_pairs_along_a_tree_have_a_closed_form(seed):
    """Where comparisons make no cycle, each ratio is that of wins to losses; hard for plain MM."""
    rng = np.random.default_rng([54, seed])
    rankings, logs = [], np.zeros(40)
    for cell in range(1, 40):
        parent = max(0, cell - int(rng.integers(1, 3)))
        wins, losses = rng.integers(1, 30, 2)
        rankings += [[[cell], [parent]]] * wins + [[[parent], [cell]]] * losses
        logs[cell] = logs[parent] + np.log(wins / losses)
    result = solved(rankings, 40, closed=True)
    ours = np.log(result.share)
    np.testing.assert_allclose(ours - ours[0], logs, atol=1e-6)
    assert result.n_passes[0] < 1000


def test_a_rare_upset_is_weighed_right():
    result = solved([[[0], [1]]] * 20_000 + [[[1], [0]]], 2)
    assert result.share[1] == pytest.approx(1 / 20_001, rel=1e-8)


FIRST_OF_TWO = 2 * np.log(2 / 3) + np.log(1 / 3)
"""The maximum where one of two labels is first twice in three."""

GAMES = [(0, 1), (0, 1), (1, 0), (2, 3), (3, 4), (4, 2)]
"""0 beats 1 twice in three; 2, 3 and 4 beat each other in a cycle."""


@pytest.mark.parametrize(
    ("rankings", "n_cells", "closed", "share", "value", "n_tops"),
    [
        ([[[cell]] for cell in (0, 0, 1)], 3, False, [2 / 3, 1 / 3, 0], FIRST_OF_TWO, 1),
        ([[[0], [1], [2]], [[0], [2], [1]]], 3, False, [1, 0, 0], 2 * np.log(0.5), 1),
        ([[[0], [1], [2]]] * 2 + [[[1], [0], [2]]], 3, False, [2 / 3, 1 / 3, 0], FIRST_OF_TWO, 1),
        ([[[0, 1], [2]]], 3, False, [0.5, 0.5, 0], 0, 2),
        ([[[0, 1], [2], [3]]] * 2 + [[[0, 1], [3], [2]]], 4, False, [0.5, 0.5, 0, 0],
         FIRST_OF_TWO, 2),
        ([[[a], [b]] for a, b in GAMES], 5, True, [4 / 15, 2 / 15, 1 / 5, 1 / 5, 1 / 5],
         FIRST_OF_TWO + 3 * np.log(0.5), 2),
        ([[[0, 1, 2]]], 3, False, [1 / 3] * 3, 0, 3),
        ([[[0, 1, 2]]], 3, True, [1 / 3] * 3, 0, 3),
        ([[[0]]], 1, False, [1], 0, 1),
    ],
    ids=[
        "first choices: relative frequencies", "a label always first takes all",
        "the top group shares what its own comparisons say", "labels always tied share evenly",
        "a tie over a group below", "leagues that never meet: by their numbers of labels",
        "all tied", "all tied, closed", "one label",
    ],
)  # fmt: skip
def test_closed_forms(rankings, n_cells, closed, share, value, n_tops):
    result = solved(rankings, n_cells, closed)
    np.testing.assert_allclose(result.share, share, rtol=1e-9)
    assert result.log_likelihood[0] == pytest.approx(value)
    assert result.n_tops.tolist() == [n_tops]
    assert result.reached.all()


@st.composite
def a_study(draw):
    """The rankings of one item, whatever their maximum; and a generator for more."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_cells = draw(st.integers(2, 6))
    rankings = [random_ranking(rng, n_cells) for _ in range(draw(st.integers(1, 6)))]
    return rankings, n_cells, draw(st.booleans()), rng


@given(a_study())
@settings(max_examples=30)
def test_names_and_order_do_not_matter(study):
    rankings, n_cells, closed, rng = study
    result = solved(rankings, n_cells, closed)
    new = rng.permutation(n_cells)
    renamed = [[new[block].tolist()[::-1] for block in ranking] for ranking in rankings]
    other = solved([renamed[k] for k in rng.permutation(len(renamed))], n_cells, closed)
    np.testing.assert_allclose(other.share[new], result.share, atol=1e-8)
    assert other.top[new].tolist() == result.top.tolist()
    assert other.n_tops == result.n_tops
    assert other.log_likelihood == pytest.approx(result.log_likelihood, abs=1e-12)


@given(a_study(), st.integers(2, 4))
@settings(max_examples=30)
def test_to_repeat_all_rankings_changes_nothing(study, times):
    rankings, n_cells, closed, _ = study
    result = solved(rankings, n_cells, closed)
    other = solved(rankings * times, n_cells, closed)
    np.testing.assert_allclose(other.share, result.share, atol=1e-8)
    assert other.log_likelihood == pytest.approx(times * result.log_likelihood, rel=1e-12)


@given(a_study())
@settings(max_examples=30)
def test_no_point_is_better_and_points_far_out_come_as_near_as_can_be(study):
    """The maximum is that of all groups; strengths e^60 apart between groups all but reach it."""
    rankings, n_cells, closed, rng = study
    result = solved(rankings, n_cells, closed)
    for scale in (0.3, 1, 3, 10, 30):
        u = rng.normal(0, scale, n_cells)
        assert total(u, rankings, closed) <= result.log_likelihood[0] + 1e-12
    of_cell, _ = groups(nested((rankings, n_cells), closed=closed))
    below = ranked_above(rankings, n_cells, closed).sum(axis=0)  # grows from group to group
    u = np.empty(n_cells)
    for group in range(of_cell.max() + 1):
        mine = np.flatnonzero(of_cell == group)
        u[mine] = np.log(_share_of(rankings, n_cells, closed, mine)) - 60 * below[mine]
    assert total(u, rankings, closed) == pytest.approx(result.log_likelihood[0], abs=1e-8)


def _share_of(rankings, n_cells, closed, mine):
    """Solve one group alone, as rankings of nothing else."""
    number = {cell: place for place, cell in enumerate(mine.tolist())}
    parts = [[[number[c] for c in block if c in number] for block in r] for r in rankings]
    parts = [[block for block in ranking if block] for ranking in parts]
    return solved([part for part in parts if part], len(mine), closed).share


@given(a_study())
@settings(max_examples=30)
def test_within_a_group_the_score_is_zero(study):
    rankings, n_cells, closed, _ = study
    several = nested((rankings, n_cells), closed=closed)
    actual = maximum(several, tolerance=1e-10, max_passes=10_000)
    of_cell, top = groups(several)
    apart, order = within(several, of_cell)
    for group in np.flatnonzero(top):
        mine = order[apart.cell_start[group] : apart.cell_start[group + 1]]
        if len(mine) > 1:
            expected = np.empty(len(mine))
            times_expected(apart, group, np.log(actual.share[mine]), expected)
            np.testing.assert_allclose(times_ranked(apart, group), expected, rtol=1e-8)


@given(st.lists(a_study(), min_size=2, max_size=5))
@settings(max_examples=30)
def test_items_do_not_see_each_other(studies):
    closed = studies[0][2]
    several = nested(*(study[:2] for study in studies), closed=closed)
    result = maximum(several, tolerance=1e-10, max_passes=10_000)
    alone = [solved(rankings, n_cells, closed) for rankings, n_cells, _, _ in studies]
    np.testing.assert_array_equal(
        result.share, np.concatenate([solution.share for solution in alone])
    )
    for name in ("log_likelihood", "n_tops", "n_passes", "reached"):
        ours, theirs = getattr(result, name), [getattr(solution, name)[0] for solution in alone]
        np.testing.assert_array_equal(ours, theirs)


def test_giving_up_is_said():
    rankings = connected(np.random.default_rng(55), 6, 20)
    result = maximum(nested((rankings, 6), ([[[0]]], 1)), tolerance=1e-10, max_passes=3)
    assert result.reached.tolist() == [False, True]
    assert result.n_passes[0] <= 4


def test_asking_for_more_than_rounding_allows_does_no_harm():
    """The quasi-Newton steps then fail, and the EM step stands in."""
    rankings = connected(np.random.default_rng(57), 6, 20)
    result = solved(rankings, 6, tolerance=1e-300, max_passes=500)
    np.testing.assert_allclose(result.share, solved(rankings, 6).share, rtol=1e-8)
    assert not result.reached.any()


def test_a_block_of_thirty_is_no_trouble():
    rng = np.random.default_rng(56)
    order = [list(map(int, rng.permutation(40))) for _ in range(30)]
    result = solved([[o[:1], o[1:31], o[31:33]] for o in order], 40)
    assert result.reached.all()
    assert result.share.sum() == pytest.approx(1)
