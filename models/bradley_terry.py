r"""Bradley-Terry: strengths of systems from votes on pairs, with ties, voters and prompts.

The story. A voter a sees answers of two systems, l and r, to a prompt i. The answer on the left is
ahead by

.. math:: d = s_l + u_{il} - s_r - u_{ir}, \qquad
    s_k \sim \mathrm{Normal}(0, \sigma_s^2), \quad u_{ik} \sim \mathrm{Normal}(0, \sigma_u^2),

s being the strength of a system and u how much better than usual it answers this prompt. The vote
is

.. math:: P(\mathrm{left}) : P(\mathrm{tie}) : P(\mathrm{right})
    = e^{\eta / 2} : e^{\tau + \tau_a} : e^{-\eta / 2}, \qquad \eta = g_a d + b + b_a.

If all voters and prompts are alike and there are no ties, this is Bradley and Terry's model,
:math:`P(\mathrm{left}) = \operatorname{logistic}(s_l - s_r)`; ties are Davidson's, whose
:math:`\nu` is :math:`e^\tau`: of two equal systems a share :math:`e^\tau / (2 + e^\tau)` of votes
are ties.

Voters differ (``annotators=``). Some are sharper: they see differences that others call ties or
decide by chance (:math:`g_a`, ``annotator_sharpness``, 1 for a typical one). Some call more ties
(:math:`\tau_a`, ``annotator_tie``). With ``side=True`` the answer on the left has an advantage, b
(``side``), which differs by voter (``annotator_side``): voters favour what they see first.

Votes on one prompt are alike (``items=``): whoever votes on the same two answers votes on the same
d. Without u and a, intervals take all votes as independent, and are too narrow. On 8,931 votes on
59 systems and 13 prompts (LLMFAO) standard errors by prompt are 1.5 times those of independent
votes.

Strengths add up to 0: only differences mean something. A difference of 1 is odds of 2.7 to 1 on a
typical prompt, by a typical voter; 173.7 points on the scale of chess.

Priors and why. All are on the logit scale. Spreads are half-normal: of strengths with scale 2, as
systems may differ so that one wins nearly always; of prompts with scale 1, and of log sharpness and
advantage with .5, as they are details; of ties with 1.5, as people differ widely in what they call
a tie. :math:`\tau` is normal (0, 2) and b is normal (0, 1).

When to use it. To rank systems by preferences of people or of a language model
(`dissensus.win_rate`, `dissensus.rank`, `dissensus.compare`). When not: if voters put three or more
answers in order (`plackett_luce`); if one answer is right (`dawid_skene`). It takes the systems as
ordered on one line: if A mostly beats B, B beats C and C beats A, it finds them equal.

The sampler is a Gibbs sampler of blocks: all strengths at once; the u of a prompt; the numbers of
a voter. Each moves on an ellipse about its mode given the rest, which leaves the posterior exact.
NUTS on the same model serves as a check.

Source: Bradley & Terry (1952), "Rank analysis of incomplete block designs", Eq. 4; ties after
Davidson (1970), Eq. 3; moves after Murray, Adams & MacKay (2010).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import xarray as xr

from dissensus.dims import ANNOTATOR, ITEM, SYSTEM, VOTE
from dissensus.families.base import FitOptions, run
from dissensus.families.pairs.fit import PairsFit
from dissensus.families.pairs.maximum_likelihood import maximum_likelihood as maximum_likelihood
from dissensus.families.pairs.process import KINDS as KINDS
from dissensus.families.pairs.process import Process
from dissensus.families.pairs.process import process as pairs_process

_NEVER = -500.0
"""The tendency to ties where no vote is one."""


def build(
    pairs: xr.Dataset,
    *,
    annotators: bool | None = None,
    items: bool | None = None,
    side: bool = False,
    ties: bool | None = None,
    priors: Mapping[str, float] | None = None,
    sampler: str = "gibbs",
) -> Any:
    """Write the process as a PyMC model.

    Parameters
    ----------
    pairs : xarray.Dataset
        Votes, from `dissensus.pairs`.
    annotators : bool, optional
        Whether voters differ. None is True if the votes name two or more.
    items : bool, optional
        Whether votes on one prompt are alike. None is True if the votes name two or more prompts.
    side : bool
        Whether the left answer has an advantage. Use it if ``left`` was shown first.
    ties : bool, optional
        Whether a vote may be a tie. None is True if some are.
    priors : mapping, optional
        Widths of priors: the scales of ``strength_spread``, ``item_spread``, ``sharpness_spread``,
        ``annotator_tie_spread`` and ``annotator_side_spread``, and the standard deviations of
        ``tie`` and ``side``. The others keep their defaults.
    sampler : {"gibbs", "nuts"}
        Not used: the model is the same. Here so that `build` and `fit` take the same settings.

    Returns
    -------
    pymc.Model
        With ``strength`` (system), ``strength_spread``, ``tie`` if there are ties, ``side`` if it
        is asked for; of voters ``annotator_sharpness``, ``annotator_tie`` and ``annotator_side``
        (annotator) with their spreads; of prompts ``item_effect`` (item, system) and
        ``item_spread``; and the observed ``outcome`` (vote): 0 left, 1 tie, 2 right.

    Raises
    ------
    AnnotationError
        If ``pairs`` are not votes on pairs.
    ArgumentError
        If voters or prompts are to differ and the votes do not name them.

    Warns
    -----
    DesignWarning
        If votes do not connect all systems.

    Examples
    --------
    >>> import dissensus as dx
    >>> votes = dx.pairs({"left": list("aab"), "right": list("bcc"), "winner": list("acb")})
    >>> [v.name for v in dx.models.bradley_terry.build(votes).free_RVs]
    ['strength_spread', 'strength']
    """
    return _model(pairs_process(
        pairs, annotators=annotators, items=items, side=side, ties=ties, priors=priors,
        sampler=sampler,
    ))  # fmt: skip


def _model(process: Process) -> Any:
    """Write the process as a PyMC model."""
    import pymc as pm
    import pytensor.tensor as pt

    form = process.form
    left, right = process.code("left_code"), process.code("right_code")
    item, who = process.code("item_code"), process.code("annotator_code")
    coords = {SYSTEM: process.systems}
    coords |= {dim: process.names(dim) for dim in (ANNOTATOR, ITEM) if len(process.names(dim))}

    def spread(name: str) -> Any:
        return pm.HalfNormal(name, process.priors[name])

    with pm.Model(coords=coords, model=None) as model:
        strength = pm.ZeroSumNormal("strength", spread("strength_spread"), dims=SYSTEM)
        ahead = strength[left] - strength[right]
        if form.items:
            effect = pm.Normal("item_effect", 0.0, spread("item_spread"), dims=(ITEM, SYSTEM))
            ahead = ahead + effect[item, left] - effect[item, right]
        if form.annotators:
            sharpness = pm.LogNormal(
                "annotator_sharpness", 0.0, spread("sharpness_spread"), dims=ANNOTATOR
            )
            ahead = ahead * sharpness[who]
        tie: Any = _NEVER
        if form.ties:
            tie = pm.Normal("tie", 0.0, process.priors["tie"])
            if form.annotators:
                sd = spread("annotator_tie_spread")
                tie = tie + pm.Normal("annotator_tie", 0.0, sd, dims=ANNOTATOR)[who]
        if form.side:
            ahead = ahead + pm.Normal("side", 0.0, process.priors["side"])
            if form.annotators:
                sd = spread("annotator_side_spread")
                ahead = ahead + pm.Normal("annotator_side", 0.0, sd, dims=ANNOTATOR)[who]
        logits = pt.stack([ahead / 2, tie + pt.zeros_like(ahead), -ahead / 2], axis=-1)
        model.add_coord(VOTE, range(len(left)))
        pm.Categorical("outcome", logit_p=logits, observed=process.code("outcome"), dims=VOTE)
    return model


def fit(
    pairs: xr.Dataset,
    *,
    draws: int = 1000,
    tune: int = 500,
    chains: int = 4,
    random_seed: Any = None,
    progressbar: bool = True,
    log_likelihood: bool = False,
    posterior_predictive: bool = False,
    annotators: bool | None = None,
    items: bool | None = None,
    side: bool = False,
    ties: bool | None = None,
    priors: Mapping[str, float] | None = None,
    keep_items: bool = True,
    sampler: str = "gibbs",
    checkpoint: Any = None,
) -> xr.DataTree:
    """Draw from the posterior.

    Parameters
    ----------
    pairs, annotators, items, side, ties, priors
        As in `build`.
    draws, tune, chains, random_seed, progressbar, sampler, checkpoint
        As in `crossed_effects`.
    log_likelihood : bool
        Add the log-likelihood of each vote.
    posterior_predictive : bool
        Add new votes by the same voters on the same pairs.
    keep_items : bool
        Keep the draws of ``item_effect``, which `dissensus.win_rate` on these prompts needs.

    Returns
    -------
    xarray.DataTree
        ``posterior`` with the variables of `build`. Attributes summarise r-hat and effective sample
        size.

    Raises
    ------
    AnnotationError, ArgumentError
        As in `build`; also if the draws of prompts would take more than 4 GB.

    Warns
    -----
    ConvergenceWarning
        If the chains have not converged.
    DesignWarning
        If votes do not connect all systems.

    Examples
    --------
    >>> import dissensus as dx
    >>> votes = dx.pairs({
    ...     "left": ["a", "a", "b"] * 20, "right": ["b", "c", "c"] * 20,
    ...     "winner": ["a", "a", "b", "a", "tie", "c"] * 10})
    >>> fit = dx.models.bradley_terry.fit(votes, random_seed=1, progressbar=False)
    >>> strength = fit.posterior["strength"]
    >>> bool((strength.sel(system="a") > strength.sel(system="b")).mean() > 0.99)
    True
    """
    process = pairs_process(
        pairs,
        annotators=annotators,
        items=items,
        side=side,
        ties=ties,
        priors=priors,
        sampler=sampler,
    )
    options = FitOptions(
        draws=draws, tune=tune, chains=chains, random_seed=random_seed, progressbar=progressbar,
        sampler=sampler, keep=keep_items, log_likelihood=log_likelihood,
        posterior_predictive=posterior_predictive, checkpoint=checkpoint,
    )  # fmt: skip
    hyper = {
        "annotators": bool(process.form.annotators), "items": bool(process.form.items),
        "side": side, "ties": bool(process.form.ties), "priors": process.words, "sampler": sampler,
    }  # fmt: skip
    return run(PairsFit(process, options), lambda: _model(process), hyper)
