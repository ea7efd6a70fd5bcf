"""Win rates and ranks of systems, from votes on pairs."""

from __future__ import annotations

import math
from typing import Any, Final, NamedTuple

import numpy as np
import xarray as xr
from scipy.sparse import coo_array

from dissensus import arguments
from dissensus.dims import ANNOTATOR, CHAIN, DRAW, ITEM, PAIR, SAMPLE, SYSTEM
from dissensus.errors import ArgumentError, brief, shown
from dissensus.kernels.random import generator
from dissensus.kernels.rowwise import rowwise
from dissensus.kernels.types import Floats, Ints


@rowwise(
    "void(float64[:, :], float64[:], float64, float64[:], float64[:], float64[:], float64[:])",
    "(i,k),(i),(),(n),(n),(n)->(k)",
)
def win_rate_rows(
    strength: Floats, tie: Floats, side: float, apart: Floats, tied: Floats, weight: Floats,
    out: Floats,
) -> None:  # fmt: skip
    """Write to ``out`` (system) the share of votes that each system wins; a tie counts as half.

    ``strength`` is (item, system), ``tie`` (item). ``apart`` is added to each difference of
    strengths and ``tied`` to the tendency to ties, with the probabilities ``weight``. ``side`` is
    added in half of the votes and subtracted in the other half, since each system is on the left
    in half of the votes.
    """
    n_items, n = strength.shape
    n_sides = 1 if side == 0.0 else 2
    for k in range(n):
        out[k] = 0.0
    for i in range(n_items):
        for q in range(len(apart)):
            odds = math.exp(tie[i] + tied[q])
            for k in range(n):
                for j in range(k):
                    lead = 0.0  # P(k wins) - P(j wins)
                    for place in range(n_sides):
                        eta = strength[i, k] - strength[i, j] + apart[q] + (1 - 2 * place) * side
                        small = math.exp(-0.5 * abs(eta))
                        share = (1.0 - small * small) / (1.0 + small * (small + odds))
                        lead += math.copysign(share, eta) / n_sides
                    out[k] += weight[q] * (0.5 + 0.5 * lead)
                    out[j] += weight[q] * (0.5 - 0.5 * lead)
    for k in range(n):
        out[k] /= n_items * (n - 1)


_NODES: Final = 16, 8
"""Numbers of quadrature nodes for the difference between two systems on a new prompt, and for the
tendency to ties; 32 and 1 if prompts do not differ in ties. Errors of win rates are at most .0004
for spreads up to 2, and .0015 on the prompts of the fit."""


def win_rate(
    fit: xr.DataTree,
    *,
    new_items: bool = False,
    as_cast: bool = True,
    panel: int = 1,
    random_seed: Any = None,
) -> xr.DataArray:
    r"""Share of votes that each system wins against the others, a tie counting as half.

    .. math:: w_k = \frac{1}{K - 1} \sum_{j \ne k}
        \bigl( P(k \succ j) + \tfrac{1}{2} P(k \sim j) \bigr)

    Parameters
    ----------
    fit : xarray.DataTree
        A fit of `dissensus.models.bradley_terry`, or the trace of `pymc.sample` on its model.
    new_items : bool
        Whether the win rate is for new prompts. By default it is for the prompts of the votes, with
        equally many votes on each pair of systems; with verdicts, for the judged pairs.
    as_cast : bool
        For fits with judges' verdicts. True keeps votes that were cast and draws the others; False
        takes the expected vote on every judged pair, as `evaluate` and `plan` do.
    panel : int
        For fits with judges' verdicts: number of votes on each judged pair. With more than one,
        the majority of the votes decides the pair, and win rates are farther from 1/2 than with
        single votes.
    random_seed : int, optional
        For fits with judges' verdicts: seed of the votes that were not cast, and of new prompts.

    Returns
    -------
    xarray.DataArray
        ``win_rate`` (chain, draw, system), in [0, 1]. The mean over systems is 1/2, unless some
        systems are in more judged pairs than others.

    Raises
    ------
    ArgumentError
        If the fit has no strengths, or if effects of prompts are needed but were not kept.

    Notes
    -----
    Each system meets all others equally often, whatever pairs the votes were on. Votes are those of
    a new voter with the median sharpness and tendency to ties, who sees each system on the left in
    half of the votes. The voter's tastes are averaged over their normal distribution
    (``annotator_taste_spread``). On new prompts, effects and tendencies to ties of prompts are
    averaged over their distributions. Without effects of prompts and without verdicts ``new_items``
    changes only rounding. Without verdicts, both answers of a pair are taken to have the same
    covariates.

    With judges' verdicts (``predictions=``) the win rate is the share of people's votes on the
    judged pairs, one vote on each. Votes that were not cast are drawn from a random voter, with new
    tastes. With ``new_items`` prompts are drawn anew (Bayesian bootstrap), and all votes are
    expected votes. A ``panel`` has all votes that were cast on a pair; votes that it lacks are
    drawn, each from a random voter (who may have voted before). With ``new_items`` or
    ``as_cast=False`` all votes of a panel are drawn.

    Source: the probabilities of Davidson (1970), "On extending the Bradley-Terry model to
    accommodate ties in paired comparison experiments", Eq. 3.

    Examples
    --------
    >>> import dissensus as dx
    >>> votes = dx.pairs({"left": list("aab") * 9, "right": list("bcc") * 9,
    ...                   "winner": list("acb") * 9})
    >>> fit = dx.models.bradley_terry.fit(votes, random_seed=1, progressbar=False)
    >>> dx.win_rate(fit).mean().round(6).item()
    0.5
    """
    arguments.flags(new_items=new_items, as_cast=as_cast)
    panel = arguments.whole("panel", panel, least=1)
    draws = _posterior(fit)
    if "beyond_judge" in draws:
        rng, anew = generator(random_seed, "win_rate"), new_items or not as_cast
        return _judged(fit, draws, rng, new_items=new_items, anew=anew, panel=panel)
    if panel > 1:
        raise ArgumentError(
            "panel", expected="1, since the fit has no judged pairs", found=str(panel),
            hint="Fit with predictions=, the judges' verdicts on all pairs",
        )  # fmt: skip
    ahead = draws["strength"]
    ties = draws["tie"] if "tie" in draws else xr.DataArray(-np.inf)
    apart, tied, weights = _unseen(draws, new_items=new_items)
    if "item_spread" in draws and not new_items:
        _require_effects(draws, "Fit with keep_items=True, or type new_items=True")
        ahead = ahead + draws["item_effect"]
        if "item_tie" in draws:
            ties = ties + draws["item_tie"]
    if ITEM not in ahead.dims:
        ahead = ahead.expand_dims(ITEM)
    if ITEM not in ties.dims:
        ties = ties.expand_dims({ITEM: ahead.sizes[ITEM]})  # a view, not a copy
    strength = ahead.transpose(*SAMPLE, ITEM, SYSTEM).to_numpy()
    tie = ties.transpose(..., ITEM).to_numpy()
    side = draws["side"].to_numpy() if "side" in draws else 0.0
    values = win_rate_rows(strength, tie, side, apart, tied, weights)
    return xr.DataArray(
        values, dims=(*SAMPLE, SYSTEM), coords=draws["strength"].coords, name="win_rate",
        attrs={"better": "higher"},
    )  # fmt: skip


def _unseen(draws: xr.Dataset, *, new_items: bool) -> tuple[Floats, Floats, Floats]:
    """Return quadrature nodes for the tastes of new voters and for new prompts, and their weights.

    The first nodes (chain, draw, node) are added to differences of strengths, the second nodes to
    tendencies to ties. Weights are (node).
    """
    sources = {"annotator_taste_spread": True, "item_spread": new_items}
    spreads = [
        draws[name].to_numpy() for name, is_new in sources.items() if is_new and name in draws
    ]
    if not spreads:
        return np.zeros(1), np.zeros(1), np.ones(1)
    with_ties = new_items and "item_tie_spread" in draws
    n_apart, n_tied = _NODES if with_ties else (2 * _NODES[0], 1)
    if not new_items:  # small spreads, and means over prompts, need fewer nodes
        n_apart = int(np.clip(np.ceil(6.0 * np.max(spreads)), 4, _NODES[0]))
    (x, of_x), (y, of_y) = (np.polynomial.hermite_e.hermegauss(n) for n in (n_apart, n_tied))
    weights = np.multiply.outer(of_x, of_y).ravel()
    # The difference of two systems' effects has twice the variance of one effect.
    spread = np.sqrt(2.0 * sum(np.square(spreads)))
    apart = spread[..., None] * np.repeat(x, n_tied)
    tied = np.zeros(len(weights))
    if with_ties:
        tied = draws["item_tie_spread"].to_numpy()[..., None] * np.tile(y, n_apart)
    return apart, tied, weights / weights.sum()


def _require_effects(draws: xr.Dataset, hint: str) -> None:
    """Raise if the fit does not contain the effects of prompts."""
    if "item_effect" not in draws or ("item_tie_spread" in draws and "item_tie" not in draws):
        raise ArgumentError(
            "fit", expected="effects of prompts, for the win rate on these prompts",
            found="a fit with keep_items=False", hint=hint,
        )  # fmt: skip


def _judged(
    fit: xr.DataTree, draws: xr.Dataset, rng: np.random.Generator, *, new_items: bool,
    anew: bool, panel: int,
) -> xr.DataArray:  # fmt: skip
    """Return draws of the share of people's votes on the judged pairs that each system wins."""
    if "item_spread" in draws:
        _require_effects(draws, "Fit with keep_items=True")
    groups = [name for name in ("constant_data", "observed_data") if name not in fit.children]
    if groups:
        raise ArgumentError(
            "fit", expected="the groups constant_data and observed_data of the fit, with the "
            "judged pairs", found=f"none called {shown(groups)}", hint="Pass the whole fit",
        )  # fmt: skip
    known = fit["constant_data"].to_dataset()
    left, right, item = (known[f"pair_{name}"].to_numpy() for name in ("left", "right", "item"))
    n_pairs, n_systems = len(left), draws.sizes[SYSTEM]
    if max(left.max(), right.max()) >= n_systems:
        raise ArgumentError(
            "fit", expected="all systems of the judged pairs", found=f"{n_systems} of them",
            hint="Select systems after win_rate, not before",
        )  # fmt: skip
    cast = np.bincount(known["vote_pair"], minlength=n_pairs)
    outcome = fit["observed_data"]["outcome"].to_numpy()
    score = 0.5 + 0.5 * (1.0 - outcome) * known["vote_turn"].to_numpy()
    cast, score = (np.zeros_like(cast), 0.0 * score) if anew else (cast, score)
    total = np.bincount(known["vote_pair"], score, minlength=n_pairs)
    # For each k, the pairs with at most k votes; one further vote is drawn on each of them.
    pairs_lacking = [np.flatnonzero(cast <= k) for k in range(panel)]
    lacking = known.isel({PAIR: np.concatenate(pairs_lacking)})
    of_left, of_right = (
        coo_array(
            (np.ones(n_pairs), (np.arange(n_pairs), code)), shape=(n_pairs, n_systems)
        ).tocsr()
        for code in (left, right)
    )
    flat = draws.stack({_FLAT: SAMPLE}, create_index=False).transpose(_FLAT, ...)
    n, at_once = flat.sizes[_FLAT], max(1, _AT_ONCE // max(n_pairs, lacking.sizes[PAIR]))
    out = np.empty((n, n_systems))
    for first in range(0, n, at_once):
        part = flat.isel({_FLAT: slice(first, first + at_once)})
        n_part = part.sizes[_FLAT]
        votes, end = np.tile(total, (n_part, 1)), 0
        drawn = vote_on(part, lacking, rng, expected=anew and panel == 1).won
        for places in pairs_lacking:
            votes[:, places] += drawn[:, end : end + len(places)]
            end += len(places)
        won = votes / np.maximum(cast, panel)
        if panel > 1:
            won = np.where(np.isclose(won, 0.5), 0.5, won > 0.5)
        weight = np.ones((1, n_pairs))
        if new_items:
            weight = rng.standard_exponential((n_part, int(item.max()) + 1))[:, item]
        wins = (weight * won) @ of_left + (weight * (1.0 - won)) @ of_right
        out[first : first + n_part] = wins / (weight @ of_left + weight @ of_right)
    shape = (draws.sizes[CHAIN], draws.sizes[DRAW], n_systems)
    return xr.DataArray(
        out.reshape(shape), dims=(*SAMPLE, SYSTEM), coords=draws["strength"].coords,
        name="win_rate", attrs={"better": "higher"},
    )  # fmt: skip


_FLAT: Final = "sample"
_AT_ONCE: Final = 2_000_000
"""Maximum number of votes drawn at once."""


class Votes(NamedTuple):
    """Votes on pairs (sample, pair)."""

    won: Floats
    """1 if the left system wins, 1/2 for a tie, 0 if the right system wins; or the expectation."""
    voter: Ints
    """Code of the voter."""


def vote_on(
    draws: xr.Dataset, known: xr.Dataset, rng: np.random.Generator, *, expected: bool
) -> Votes:
    """Draw a vote on each pair in each draw (sample), or compute the expected vote."""
    left, right, item = (known[f"pair_{name}"].to_numpy() for name in ("left", "right", "item"))
    strength, n = draws["beyond_judge"].to_numpy(), draws.sizes[SYSTEM]
    ahead = strength[:, left] - strength[:, right]
    if "item_effect" in draws:
        # Effects of prompts without votes are drawn from their distribution.
        cells, cell_of_side = np.unique([item * n + left, item * n + right], return_inverse=True)
        seen = cells < draws.sizes[ITEM] * n
        effect = rng.normal(size=(len(ahead), len(cells)))
        effect *= draws["item_spread"].to_numpy()[:, None]
        posterior_effect = draws["item_effect"].to_numpy()
        effect[:, seen] = posterior_effect[:, cells[seen] // n, cells[seen] % n]
        left_cell, right_cell = cell_of_side.reshape(2, -1)
        ahead += effect[:, left_cell] - effect[:, right_cell]
    for name, covariate in (
        ("judge_weight", "verdict"), ("judge_system_weight", "verdict_apart"),
        ("coefficient", "answer"),
    ):  # fmt: skip
        if name in draws:
            ahead += draws[name].to_numpy() @ known[covariate].to_numpy().T
    row = np.arange(len(ahead))[:, None]
    voter = rng.integers(draws.sizes.get(ANNOTATOR, 1), size=ahead.shape)
    nodes, weights, tastes = np.ones(1), np.ones(1), np.zeros(1)
    if "annotator_taste_spread" in draws:
        spread = draws["annotator_taste_spread"].to_numpy()[:, None]
        if expected:
            nodes, weights = np.polynomial.hermite_e.hermegauss(_NODES[1])
            tastes = np.sqrt(2.0) * spread
        else:
            voter_key = (row * draws.sizes[ANNOTATOR] + voter) * n
            tastes = spread * _apart_by_taste(np.stack([voter_key + left, voter_key + right]), rng)
    if "annotator_sharpness" in draws:
        sharp = draws["annotator_sharpness"].to_numpy()[row, voter]
        ahead, tastes = ahead * sharp, tastes * sharp
    if "side" in draws:
        side = draws["side"].to_numpy()[:, None]
        if "annotator_side" in draws:
            side = side + draws["annotator_side"].to_numpy()[row, voter]
        ahead += side * rng.choice([-1.0, 1.0], size=ahead.shape)
    odds, at = 0.0, None
    if "tie" in draws:
        ties = draws["tie"].to_numpy()[:, None]
        ties = ties + draws["judge_tie"].to_numpy() @ known["verdict_tie"].to_numpy().T
        if "item_tie" in draws:
            prompts, place = np.unique(item, return_inverse=True)
            seen = prompts < draws.sizes[ITEM]
            prompt_tie = rng.normal(size=(len(ahead), len(prompts)))
            prompt_tie *= draws["item_tie_spread"].to_numpy()[:, None]
            prompt_tie[:, seen] = draws["item_tie"].to_numpy()[:, prompts[seen]]
            ties = ties + prompt_tie[:, place]
        if "annotator_tie" in draws:
            ties = ties + draws["annotator_tie"].to_numpy()[row, voter]
        odds = np.exp(ties)
    if not expected:
        at = rng.uniform(size=ahead.shape)
    each = (_won(ahead + x * tastes, odds, at) * w for x, w in zip(nodes, weights, strict=True))
    return Votes(np.asarray(sum(each) / weights.sum()), voter)


def _apart_by_taste(keys: Ints, rng: np.random.Generator) -> Floats:
    """Draw voters' tastes for systems; return left minus right for each vote (sample, pair).

    The unit is the spread of tastes. ``keys`` (side, sample, pair) identify the sample, voter and
    system.
    """
    distinct, place = np.unique(keys, return_inverse=True)
    left, right = rng.normal(size=len(distinct))[place].reshape(keys.shape)
    return np.asarray(left - right)


def _won(ahead: Floats, odds: Any, at: Floats | None) -> Floats:
    """Return the left system's share of votes: drawn with uniform numbers ``at``, or expected."""
    small = np.exp(-0.5 * np.abs(ahead))
    total = 1.0 + small * (small + odds)
    leads = 1.0 / total  # the side that is ahead wins
    tied = small * odds / total
    won = leads + 0.5 * tied
    if at is not None:
        won = np.where(at < leads, 1.0, np.where(at < leads + tied, 0.5, 0.0))
    return np.where(ahead >= 0, won, 1.0 - won)


def rank(fit: xr.DataTree) -> xr.DataArray:
    r"""Rank of each system by its strength; rank 1 is the best.

    .. math:: r_k = 1 + \#\{j : s_j > s_k\}

    Parameters
    ----------
    fit : xarray.DataTree
        As in `win_rate`.

    Returns
    -------
    xarray.DataArray
        ``rank`` (chain, draw, system), from 1 to the number of systems. The share of draws with
        rank 1 is the probability of being the best.

    Raises
    ------
    ArgumentError
        If the fit has no strengths.

    Notes
    -----
    An interval of ranks may be wide even with many votes: systems of about the same strength change
    places from draw to draw. `compare` gives the probability of being better for each pair.

    Source: ranks under a posterior, Laird & Louis (1989), "Empirical Bayes ranking methods".

    Examples
    --------
    >>> import dissensus as dx
    >>> votes = dx.pairs({"left": list("aab") * 9, "right": list("bcc") * 9,
    ...                   "winner": list("aab") * 9})
    >>> fit = dx.models.bradley_terry.fit(votes, random_seed=1, progressbar=False)
    >>> dx.rank(fit).median(("chain", "draw")).values
    array([1., 2., 3.])
    """
    strength = _posterior(fit)["strength"].transpose(*SAMPLE, SYSTEM)
    below = np.argsort(np.argsort(-strength.to_numpy(), axis=-1), axis=-1)
    out: xr.DataArray = strength.copy(data=below + 1.0)
    return out.rename("rank").assign_attrs(better="lower")


def _posterior(fit: Any) -> xr.Dataset:
    """Return the draws of a fit, or raise unless they contain strengths of systems."""
    has_posterior = isinstance(fit, xr.DataTree) and "posterior" in fit.children
    draws = fit["posterior"].to_dataset() if has_posterior else xr.Dataset()
    if "strength" not in draws or SYSTEM not in draws["strength"].dims:
        raise ArgumentError(
            "fit", expected="a fit of models.bradley_terry, or the trace of its model",
            found=f"a fit of {fit.attrs['model']}" if has_posterior and "model" in fit.attrs
            else brief(fit),
        )  # fmt: skip
    return draws
