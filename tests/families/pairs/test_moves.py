"""Each move alone leaves the density that SciPy integrates on a grid."""

from __future__ import annotations

import numpy as np
import pytest
from numba import njit
from scipy.special import logsumexp
from scipy.stats import halfnorm, norm, rayleigh

import dissensus as dx
from dissensus.families import base
from dissensus.families.pairs import fit
from dissensus.families.pairs.kernels import effects, mover, strengths
from dissensus.families.pairs.kernels.votes import (
    CELL,
    ITEM_TIE,
    OWN,
    SHARP,
    SIDE,
    STRENGTH,
    TASTE,
    TIE,
)
from dissensus.families.pairs.process import SCALES, process
from dissensus.kernels.compiled import inner
from dissensus.kernels.random import started

MOVES = 40_000


@pytest.fixture
def chain():
    """A chain on 30 votes of two voters on two systems and two prompts, with all parts."""
    rng = np.random.default_rng(3)
    rows = {
        "left": rng.permutation(["a"] * 18 + ["b"] * 12),
        "winner": ["left"] * 8 + ["right"] * 2 + ["left"] * 5 + ["tie"] * 15,
        "voter": ["v"] * 10 + ["w"] * 20,  # w, whose moves are followed, ties often
        "prompt": rng.choice(["p", "q"], 30, p=[0.3, 0.7]),
    }
    rows["right"] = np.where(rows["left"] == "a", "b", "a")
    votes = dx.pairs(rows, annotator="voter", item="prompt")
    made = process(votes, annotators=True, items=True, side=True)
    options = base.FitOptions(
        draws=1, tune=0, chains=1, random_seed=1, progressbar=False, sampler="gibbs"
    )
    out = fit.Chain(made, np.random.default_rng(2), 1, options)
    out.state = started(np.uint64(4))
    out.par.spread[:] = 1.0  # so that every part counts
    for _ in range(100):
        for draw, _, _ in BLOCKS.values():
            draw(out)
    return out


def log_posterior(chain, changed):
    """Return the log density of parameters, of which some are ``changed`` (grid, ...)."""
    now = {**chain.par._asdict(), **changed}
    of = chain.process.annotations
    left, right, item, who = (
        of[f"{name}_code"].to_numpy() for name in ("left", "right", "item", "annotator")
    )
    strength, common, cell, own, spread, taste = (
        np.asarray(now[name]) for name in ("strength", "common", "cell", "own", "spread", "taste")
    )
    favour = taste.reshape(*taste.shape[:-1], 2, 2)  # (voter, system)
    quality, tie_of_item = cell[..., [[0, 1], [3, 4]]], cell[..., [2, 5]]  # a, b, ties of each
    sharp, tie, side = own[..., SHARP], own[..., TIE], own[..., SIDE]
    ahead = strength[..., left] - strength[..., right]
    ahead = ahead + quality[..., item, left] - quality[..., item, right]
    ahead = ahead + favour[..., who, left] - favour[..., who, right]
    eta = np.exp(sharp[..., who]) * ahead + common[..., SIDE - 1, None] + side[..., who]
    odds = common[..., TIE - 1, None] + tie_of_item[..., item] + tie[..., who]
    logits = np.stack(np.broadcast_arrays(eta / 2, odds, -eta / 2))
    labels = np.choose(of["outcome"].to_numpy(), logits) - logsumexp(logits, axis=0)

    def normal(x, place):
        return norm.logpdf(x, 0.0, spread[..., place, None]).sum(axis=-1)

    total = labels.sum(axis=-1) + normal(strength, STRENGTH) + normal(tie_of_item, ITEM_TIE)
    total += normal(quality.reshape(*quality.shape[:-2], 4), CELL) + normal(taste, TASTE)
    for k in range(3):
        total += normal(own[..., k], OWN + k)
    total += norm.logpdf(common, 0.0, chain.prior[:2] ** -0.5).sum(axis=-1)
    scales = [chain.process.priors[name] for name in SCALES]
    total += halfnorm.logpdf(spread, 0.0, scales)[..., 1:].sum(axis=-1)
    return total + rayleigh.logpdf(spread[..., STRENGTH], 0.0, scales[STRENGTH])


def by_grid(log_density, center, reach, n=41):
    """Return means and standard deviations of a block of two or three numbers."""
    axes = [np.linspace(c - r, c + r, n) for c, r in zip(center, reach, strict=True)]
    points = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(center))
    weight = log_density(points)
    weight = np.exp(weight - logsumexp(weight))
    mean = weight @ points
    return mean, np.sqrt(weight @ (points - mean) ** 2)


BLOCKS = {
    "strengths": (
        lambda c: strengths.draw_strengths(
            c.state, c.votes, c.form, c.par, c.prior, c.reference[0], mover.KEEP, c.table, c.work,
            c.rows,
        ),
        lambda c: np.array([*c.par.strength, c.par.common[TIE - 1]]),
        lambda c, x: {
            "strength": x[:, :2],
            "common": np.stack([x[:, 2], np.full(len(x), c.par.common[1])], axis=-1),
        },
    ),
    "a prompt": (
        lambda c: effects.draw_cells(
            c.state, c.votes, c.form, c.par, c.reference[1], mover.KEEP, c.table, c.work, c.rows,
            c.ordered, CELL,
        ),
        lambda c: c.par.cell[:3].copy(),
        lambda c, x: {"cell": np.concatenate([x, np.tile(c.par.cell[3:], (len(x), 1))], axis=1)},
    ),
    "a voter": (
        lambda c: effects.draw_annotators(
            c.state, c.votes, c.form, c.par, c.reference[2], mover.KEEP, c.table, c.work, c.rows,
            c.ordered,
        ),
        lambda c: c.par.own[1].copy(),
        lambda c, x: {"own": np.stack([np.tile(c.par.own[0], (len(x), 1)), x], axis=1)},
    ),
    "a voter's tastes": (
        lambda c: effects.draw_cells(
            c.state, c.votes, c.form, c.par, c.reference[3], mover.KEEP, c.table, c.work, c.rows,
            c.ordered, TASTE,
        ),
        lambda c: c.par.taste[2:].copy(),
        lambda c, x: {"taste": np.concatenate([np.tile(c.par.taste[:2], (len(x), 1)), x], axis=1)},
    ),
}  # fmt: skip


@pytest.mark.long
@pytest.mark.parametrize("block", BLOCKS)
def test_a_block_follows_its_density_given_the_others(chain, block):
    draw, numbers, changed = BLOCKS[block]
    if block == "strengths":  # its density has a fourth number, which is not followed
        chain.form = chain.form._replace(side=0)
        chain.par.common[SIDE - 1] = 0.0
        chain.par.own[:, SIDE] = 0.0
    fixed = chain.par._replace(**{name: part.copy() for name, part in chain.par._asdict().items()})
    out = np.empty((MOVES, len(numbers(chain))))
    for place in range(MOVES):
        draw(chain)
        out[place] = numbers(chain)
    kept = chain.par
    chain.par = fixed
    mean, sd = by_grid(
        lambda x: log_posterior(chain, changed(chain, x)), out.mean(axis=0), 5.5 * out.std(axis=0)
    )
    chain.par = kept
    error = sd / np.sqrt(MOVES / 6)  # moves are hardly correlated: six times fewer is cautious
    np.testing.assert_array_less(abs(out.mean(axis=0) - mean), 4 * error)
    np.testing.assert_allclose(out.std(axis=0), sd, rtol=0.03)


@pytest.mark.long
@pytest.mark.parametrize("of", range(len(SCALES)))
def test_a_spread_is_stretched_along_its_density(chain, of):
    start = {name: part.copy() for name, part in chain.par._asdict().items()}
    logs = np.empty(MOVES // 2)
    for place in range(len(logs)):
        effects.stretch(
            chain.state, chain.votes, chain.form, chain.par, chain.scale, of, chain.table,
            chain.ordered[0], chain.rows,
        )  # fmt: skip
        logs[place] = np.log(chain.par.spread[of] / start["spread"][of])
    x = np.linspace(logs.min() - 1.0, logs.max() + 1.0, 2001)
    by = np.exp(x)[:, None]
    spread = np.tile(start["spread"], (len(x), 1))
    spread[:, of] *= by[:, 0]
    is_tie = np.isin(np.arange(6), [2, 5])
    if of == STRENGTH:
        moved, n = {"strength": start["strength"] * by}, 2
    elif of in (CELL, ITEM_TIE):
        mine = is_tie == (of == ITEM_TIE)
        moved, n = {"cell": start["cell"] * np.where(mine, by, 1.0)}, mine.sum()
    elif of == TASTE:
        moved, n = {"taste": start["taste"] * by}, 4
    else:
        mine = np.arange(3) == of - OWN
        moved, n = {"own": start["own"] * np.where(mine, by[..., None], 1.0)}, 2
    chain.par = chain.par._replace(**start)
    weight = log_posterior(chain, {"spread": spread, **moved}) + (n + 1) * x
    weight = np.exp(weight - logsumexp(weight))
    mean = weight @ x
    sd = np.sqrt(weight @ (x - mean) ** 2)
    assert abs(logs.mean() - mean) < 4 * sd / np.sqrt(len(logs) / 6)
    assert logs.std() == pytest.approx(sd, rel=0.06)


@pytest.mark.long
def test_the_unit_of_strengths_moves_along_its_density(chain):
    start = {name: part.copy() for name, part in chain.par._asdict().items()}
    logs = np.empty(MOVES // 2)
    for place in range(len(logs)):
        effects._draw_unit(
            chain.state, chain.votes, chain.par, chain.form, chain.prior, chain.scale
        )
        logs[place] = np.log(start["spread"][STRENGTH] / chain.par.spread[STRENGTH])
    x = np.linspace(logs.min() - 1.0, logs.max() + 1.0, 2001)[:, None]
    is_tie = np.isin(np.arange(6), [2, 5])
    smaller = np.isin(np.arange(7), [STRENGTH, CELL, TASTE])
    more = np.zeros((len(x), *start["own"].shape))
    more[..., SHARP] = x
    changed = {
        "strength": start["strength"] * np.exp(-x),
        "cell": start["cell"] * np.where(is_tie, 1.0, np.exp(-x)),
        "taste": start["taste"] * np.exp(-x),
        "own": start["own"] + more, "spread": start["spread"] * np.where(smaller, np.exp(-x), 1.0),
    }  # fmt: skip
    chain.par = chain.par._replace(**start)
    n = 2 + 4 + 4 + 3  # strengths, what prompts make of systems, tastes, and the spreads of each
    weight = log_posterior(chain, changed) - n * x[:, 0]
    weight = np.exp(weight - logsumexp(weight))
    mean = weight @ x[:, 0]
    sd = np.sqrt(weight @ (x[:, 0] - mean) ** 2)
    assert abs(logs.mean() - mean) < 4 * sd / np.sqrt(len(logs) / 6)
    assert logs.std() == pytest.approx(sd, rel=0.06)


@pytest.mark.long
def test_strengths_move_given_their_sums_with_prompts_and_with_tastes(chain):
    """Along both shifts the density is normal, with precisions that are sums of those of parts."""
    par, precision = chain.par, chain.par.spread**-2.0
    chain.par.strength[:] = [1.0, -0.5]
    places = 0, [0, 3], [0, 2]  # of the first system: its strength, cells and tastes
    start = [np.atleast_1d(x)[at].copy() for x, at in
             zip((par.strength, par.cell, par.taste), ([0], *places[1:]), strict=True)]  # fmt: skip
    ahead = par.strength[0] + par.cell[0] + par.taste[0]
    out = np.empty(MOVES)
    for place in range(MOVES):
        for of in (CELL, TASTE):
            effects._draw_means_of_cells(chain.state, chain.votes, chain.form, par, chain.prior, of)
        out[place] = par.strength[0]
    assert par.strength[0] + par.cell[0] + par.taste[0] == pytest.approx(ahead)
    own = precision[STRENGTH], precision[CELL], precision[TASTE]
    curvature = np.full((2, 2), own[0]) + np.diag([2 * own[1], 2 * own[2]])
    slope = [own[k] * start[k].sum() - own[0] * start[0][0] for k in (1, 2)]
    mean = start[0][0] + np.linalg.solve(curvature, slope).sum()
    sd = np.sqrt(np.linalg.inv(curvature).sum())
    assert abs(out.mean() - mean) < 4 * sd / np.sqrt(MOVES / 6)
    assert out.std() == pytest.approx(sd, rel=0.03)


@inner
def _slopes(x, n, matrix, slope, steep):
    for j in range(n):
        for k in range(j):
            matrix[j, k] = 0.0
        matrix[j, j] = 1.0
        slope[j] = -x[j]


@inner
def _log_skew(x, n, steep):
    total = 0.0
    for j in range(n):
        total -= 0.5 * x[j] * x[j] + steep * max(x[j], 0.0)
    return total


_move = mover.mover(_slopes, _log_skew)


@njit  # not cached: the cache would outlive a change of the mover
def _moves(state, at, reference, work, out):
    for place in range(len(out)):
        _move(state, at, reference, len(at), mover.KEEP, work, 0.3)
        for k in range(len(at)):
            out[place, k] = at[k]


def test_a_move_is_exact_where_the_approximation_is_not():
    """A density of which the normal approximation knows the mode and curvature of the left half."""
    out = np.empty((200_000, 2))
    _moves(started(np.uint64(5)), np.zeros(2), np.zeros(2), mover.room(2), out)
    x = np.linspace(-9.0, 9.0, 20_001)
    weight = np.exp(-0.5 * x**2 - 0.3 * np.maximum(x, 0.0))
    mean = weight @ x / weight.sum()
    variance = weight @ (x - mean) ** 2 / weight.sum()
    np.testing.assert_allclose(out.mean(axis=0), mean, atol=0.012)
    np.testing.assert_allclose(out.var(axis=0), variance, rtol=0.02)


@pytest.mark.parametrize("few", [0, 10_000])
def test_every_spread_has_its_turn(chain, monkeypatch, few):
    """All in each sweep, if there are few votes; else two."""
    monkeypatch.setattr(fit, "_FEW", few)
    turns = []
    monkeypatch.setattr(effects, "stretch", lambda *args: turns.append(args[5]))
    chain.advance(-7, 7)
    each = 7 if few else 2
    assert len(turns) == 7 * each
    assert np.bincount(turns, minlength=7).tolist() == [each] * 7
