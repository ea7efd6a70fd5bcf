r"""Bradley-Terry: strengths of systems from votes on pairs, with ties, voters, prompts and judges.

The story. A voter a sees answers of two systems, l and r, to a prompt i. The quality of an answer
is the strength of the system plus effects of the prompt and of the voter. The answer on the left is
ahead by the difference d:

.. math:: d = s_l + u_{il} + v_{al} - s_r - u_{ir} - v_{ar}, \qquad
    s_k \sim \mathrm{Normal}(0, \sigma_s^2),\ \textstyle\sum_k s_k = 0, \quad
    u_{ik} \sim \mathrm{Normal}(0, \sigma_u^2), \quad v_{ak} \sim \mathrm{Normal}(0, \sigma_v^2),

where s is the strength of a system, u is how much better than usual the system answers this prompt,
and v is how much more than others this voter likes the system, in all votes. The vote is

.. math:: P(\mathrm{left}) : P(\mathrm{tie}) : P(\mathrm{right})
    = e^{\eta / 2} : e^{\tau + \tau_a + \tau_i} : e^{-\eta / 2}, \qquad \eta = g_a d + b + b_a.

If all voters and prompts are alike and there are no ties, this is Bradley and Terry's model,
:math:`P(\mathrm{left}) = \operatorname{logistic}(s_l - s_r)`. Ties are those of Davidson's model,
whose :math:`\nu` is :math:`e^\tau`: the share of ties between two equal systems is
:math:`e^\tau / (2 + e^\tau)`.

Voters differ (``annotators=``). Some are sharper: they see differences that others call ties or
decide by chance (:math:`g_a`, ``annotator_sharpness``, 1 for a typical one). Some call more ties
(:math:`\tau_a`, ``annotator_tie``). With ``side=True`` the answer on the left has an advantage, b
(``side``), which differs by voter (``annotator_side``): voters favour what they see first.

Voters have tastes: some like a system more, or less, than others do, in all their votes (v,
``annotator_taste``). Strengths and win rates are for new voters, who differ as much as these.
Without v, intervals are too narrow for new voters. For example, 60 voters who compared 15 beaches
were split into two halves. The 89 % interval of the difference between the halves' estimates
contains 0 for .78 of the pairs of beaches without v, and for .89 with v.
Tastes are in the model if voters differ and two conditions hold: a vote on a system has, on
average, at least one further vote of the same voter on this system; and some system has votes of
two voters. If each voter votes only once or twice, as in an arena, tastes matter little.

Votes on one prompt are alike (``items=``): all votes on the same two answers share s and u. Without
u, these votes count as independent, and intervals are too narrow. For the 8,931 votes of LLMFAO on
59 systems and 13 prompts, standard errors that allow for prompts are 1.5 times as large as standard
errors of independent votes. Some prompts have more ties (:math:`\tau_i`, ``item_tie``), such as
those that every system answers well.

A judge j, such as a language model, may have judged all pairs of answers, and people some of them
(``predictions=``). Its verdict :math:`y_j` (1 left, 0 tie, -1 right) is evidence:

.. math:: \eta = g_a \bigl(d + \textstyle\sum_j w_j y_j + W_j (V_{jl} - V_{jr})\bigr)
        + b + b_a, \qquad
    \tau \to \tau + \textstyle\sum_j t_j 1[\mathrm{tie}_j].

V are the systems' scores in the judge's verdicts on all pairs: the differences :math:`V_l - V_r`
fit y by least squares. The weight of a verdict (w, ``judge_weight``) and that of two systems'
scores (W, ``judge_system_weight``) differ, because scores are means of many verdicts. ``strength``
is a system's whole strength for people, :math:`s + (w + W) V`; ``beyond_judge`` is s, the part that
scores do not predict. It does not measure how much a judge favours a system, because W absorbs a
part of the favour. To measure that, compare win rates with the shares of pairs that systems win by
the verdicts. `dissensus.win_rate` is over all judged pairs. If verdicts say much about votes, its
interval is narrower than from votes alone; if they say nothing, the weights are near 0.

For each covariate of answers (``answers=``), such as the length, d has a further term:
``coefficient`` times the difference between the two answers, in standard deviations over the
answers in the pairs. Strengths are then for answers with equal covariates.

Strengths add up to 0: only differences have a meaning. A difference of 1 is odds of 2.7 to 1 on a
typical prompt, by a typical voter, and 173.7 points on the Elo scale of chess.

Priors and why. All are on the logit scale. The spread of strengths has a Rayleigh prior with scale
2, as one system may win nearly always: the variance has an exponential prior, which is nearly flat
near 0. Systems are often few, and a prior with its mode at a spread of 0 would pull them together:
intervals of the best and the worst would be too narrow. Other spreads are half-normal: of prompts
and of tastes with scale 1; of log sharpness and advantage with .5, as these effects are smaller; of
ties with 1.5, as voters, and prompts, may differ widely in their share of ties. :math:`\tau` is
normal (0, 2) and b is normal (0, 1); w, W and t are normal (0, 2), and coefficients normal (0, 1).

When to use it. To rank systems by preferences of people or of a language model
(`dissensus.win_rate`, `dissensus.rank`, `dissensus.compare`). When not: if voters put three or more
answers in order (`plackett_luce`); if one answer is right (`dawid_skene`). It assumes that systems
can be ordered on one line: if A mostly beats B, B beats C and C beats A, it estimates that they are
equal. Tastes are independent: if voters are of two kinds, with an order of systems in each, the
strengths are means over both.

The sampler is a Gibbs sampler of blocks: all strengths at once; the effects of a prompt; a voter's
tastes; a voter's other parameters. Each block is moved on an ellipse around its conditional mode,
which keeps the posterior exact. NUTS on the same model serves as a check.

Source: Bradley & Terry (1952), "Rank analysis of incomplete block designs", Eq. 4; ties after
Davidson (1970), Eq. 3; the flat variance after Morris & Lysy (2012), "Shrinkage estimation in
multilevel normal models", section 3; moves after Murray, Adams & MacKay (2010).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import xarray as xr

from dissensus.dims import ANNOTATOR, ITEM, JUDGE, PAIR, SYSTEM, TERM, VOTE
from dissensus.families.base import FitOptions, run
from dissensus.families.pairs.fit import PairsFit, constants, evidence_coords
from dissensus.families.pairs.maximum_likelihood import maximum_likelihood as maximum_likelihood
from dissensus.families.pairs.process import KINDS as KINDS
from dissensus.families.pairs.process import Process
from dissensus.families.pairs.process import process as pairs_process

_NEVER = -500.0
"""Logit of a tie in a model without ties: the probability of a tie is 0."""


def build(
    pairs: xr.Dataset,
    *,
    annotators: bool | None = None,
    items: bool | None = None,
    side: bool = False,
    ties: bool | None = None,
    priors: Mapping[str, float] | None = None,
    predictions: xr.Dataset | None = None,
    answers: Any = None,
    sampler: str = "gibbs",
) -> Any:
    """Write the process as a PyMC model.

    Parameters
    ----------
    pairs : xarray.Dataset
        Votes, from `dissensus.pairs`.
    annotators : bool, optional
        Whether voters differ. None means True if the votes name two or more voters, and there are
        ``predictions`` or, on average, at least two votes per voter. Voters who differ have tastes
        if the votes can show them: see the card.
    items : bool, optional
        Whether votes on one prompt are alike. None means True if the votes name two or more
        prompts, and there are ``predictions``; or, without predictions, if there are on average at
        least two votes per prompt, and some system has votes on two prompts.
    side : bool
        Whether the answer on the left has an advantage. Use it if ``left`` and ``right`` are the
        sides on which answers were shown, and some systems were on the left more often than others.
    ties : bool, optional
        Whether a vote may be a tie. None means True if some votes are ties.
    priors : mapping, optional
        Widths of priors: the scales of ``strength_spread``, ``item_spread``, ``item_tie_spread``,
        ``sharpness_spread``, ``annotator_tie_spread``, ``annotator_side_spread`` and
        ``annotator_taste_spread``, and the standard deviations of ``tie``, ``side``,
        ``judge_weight``, ``judge_system_weight``, ``judge_tie`` and ``coefficient``. Widths that
        are not given keep their defaults.
    predictions : xarray.Dataset, optional
        Judges' verdicts, from `dissensus.pairs` with the judge as ``annotator``. All judges judge
        the same pairs: every pair of answers that has votes, and possibly others. If a judge judged
        a pair several times, for example with the sides exchanged, the mean is used.
    answers : dataframe or mapping of columns, optional
        Covariates of answers: columns ``item`` and ``system``, and columns of numbers. Rows of
        answers that are in no pair are not used.
    sampler : {"gibbs", "nuts"}
        Not used by `build`, which takes the settings of `fit`: the model is the same.

    Returns
    -------
    pymc.Model
        With ``strength`` (system), ``strength_spread``, ``tie`` if there are ties, ``side`` if it
        is requested; of voters ``annotator_sharpness``, ``annotator_tie`` and ``annotator_side``
        (annotator) and ``annotator_taste`` (annotator, system) with their spreads; of prompts with
        votes ``item_effect`` (item, system) and ``item_spread``, and if there are ties ``item_tie``
        (item) and ``item_tie_spread``; with verdicts ``beyond_judge`` (system), ``judge_weight``,
        ``judge_system_weight`` and ``judge_tie`` (judge); ``coefficient`` (term) of covariates; and
        the observed ``outcome`` (vote): 0 left, 1 tie, 2 right.

    Raises
    ------
    AnnotationError
        If ``pairs`` are not votes on pairs, or ``answers`` lacks some of the answers in the pairs.
    ArgumentError
        If voters or prompts are to differ and the votes do not name them, or verdicts lack some of
        the pairs.

    Warns
    -----
    DesignWarning
        If votes do not connect all systems, or cannot separate the side, a covariate or a judge's
        weights from strengths; without ``side=``, if some systems were on the left more often, and
        the votes cannot exclude that the advantage of the left biases their order.

    Examples
    --------
    >>> import dissensus as dx
    >>> votes = dx.pairs({"left": list("aab"), "right": list("bcc"), "winner": list("acb")})
    >>> [v.name for v in dx.models.bradley_terry.build(votes).free_RVs]
    ['strength_spread', 'strength']
    """
    return _model(pairs_process(
        pairs, annotators=annotators, items=items, side=side, ties=ties, priors=priors,
        predictions=predictions, answers=answers, sampler=sampler,
    ))  # fmt: skip


def _model(process: Process) -> Any:
    """Write the process as a PyMC model."""
    import pymc as pm
    import pytensor.tensor as pt

    form = process.form
    left, right = process.code("left_code"), process.code("right_code")
    item, voter = process.code("item_code"), process.code("annotator_code")
    coords = {SYSTEM: process.systems}
    coords |= {dim: process.names(dim) for dim in (ANNOTATOR, ITEM) if len(process.names(dim))}

    def spread(name: str) -> Any:
        return pm.HalfNormal(name, process.priors[name])

    with pm.Model(coords=coords, model=None) as model:
        model.add_coord(VOTE, range(len(left)))
        known = process.evidence
        own = "beyond_judge" if known is not None and len(known.judges) else "strength"
        rayleigh = pm.Weibull("strength_spread", 2.0, 2.0**0.5 * process.priors["strength_spread"])
        strength = pm.ZeroSumNormal(own, rayleigh, dims=SYSTEM)
        ahead = strength[left] - strength[right]
        if form.items:
            effect = pm.Normal("item_effect", 0.0, spread("item_spread"), dims=(ITEM, SYSTEM))
            ahead = ahead + effect[item, left] - effect[item, right]
        if form.tastes:
            sd = spread("annotator_taste_spread")
            taste = pm.Normal("annotator_taste", 0.0, sd, dims=(ANNOTATOR, SYSTEM))
            ahead = ahead + taste[voter, left] - taste[voter, right]
        tie: Any = _NEVER
        of_judges: Any = 0.0
        if known is not None:
            ahead, of_judges = _with_evidence(process, strength, ahead)
        if form.annotators:
            sharpness = pm.LogNormal(
                "annotator_sharpness", 0.0, spread("sharpness_spread"), dims=ANNOTATOR
            )
            ahead = ahead * sharpness[voter]
        if form.ties:
            tie = pm.Normal("tie", 0.0, process.priors["tie"]) + of_judges
            if form.items:
                tie = tie + pm.Normal("item_tie", 0.0, spread("item_tie_spread"), dims=ITEM)[item]
            if form.annotators:
                sd = spread("annotator_tie_spread")
                tie = tie + pm.Normal("annotator_tie", 0.0, sd, dims=ANNOTATOR)[voter]
        if form.side:
            ahead = ahead + pm.Normal("side", 0.0, process.priors["side"])
            if form.annotators:
                sd = spread("annotator_side_spread")
                ahead = ahead + pm.Normal("annotator_side", 0.0, sd, dims=ANNOTATOR)[voter]
        logits = pt.stack([ahead / 2, tie + pt.zeros_like(ahead), -ahead / 2], axis=-1)
        pm.Categorical("outcome", logit_p=logits, observed=process.code("outcome"), dims=VOTE)
    return model


def _with_evidence(process: Process, strength: Any, ahead: Any) -> tuple[Any, Any]:
    """Add verdicts and covariates to the left side's lead; return it and the effects on ties."""
    import pymc as pm

    known = process.evidence
    assert known is not None
    model = pm.modelcontext(None)
    for dim, names in ({PAIR: range(len(known.left))} | evidence_coords(process)).items():
        if len(names):
            model.add_coord(dim, names)
    data = {name: pm.Data(name, values, dims=dims)
            for name, (dims, values) in constants(process).items()}  # fmt: skip
    of, turn = data["vote_pair"], data["vote_turn"]
    if len(known.judges):
        weight, of_systems = (
            pm.Normal(name, 0.0, process.priors[name], dims=JUDGE)
            for name in ("judge_weight", "judge_system_weight")
        )
        whole = strength + (weight + of_systems) @ known.leaning
        pm.Deterministic("strength", whole, dims=SYSTEM)
        heard = data["verdict"][of] @ weight + data["verdict_apart"][of] @ of_systems
        ahead = ahead + turn * heard
    if len(known.terms):
        coefficient = pm.Normal("coefficient", 0.0, process.priors["coefficient"], dims=TERM)
        ahead = ahead + turn * (data["answer"][of] @ coefficient)
    tie: Any = 0.0
    if len(known.judges) and process.form.ties:
        ties = pm.Normal("judge_tie", 0.0, process.priors["judge_tie"], dims=JUDGE)
        tie = data["verdict_tie"][of] @ ties
    return ahead, tie


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
    predictions: xr.Dataset | None = None,
    answers: Any = None,
    keep_items: bool = True,
    sampler: str = "gibbs",
    checkpoint: Any = None,
) -> xr.DataTree:
    """Draw from the posterior.

    Parameters
    ----------
    pairs, annotators, items, side, ties, priors, predictions, answers
        As in `build`.
    draws, tune, chains, random_seed, progressbar, sampler, checkpoint
        As in `crossed_effects`.
    log_likelihood : bool
        Add the log-likelihood of each vote, and ``log_prior``, for `arviz.psense_summary`.
    posterior_predictive : bool
        Add new votes by the same voters, with their tastes, on the same pairs.
    keep_items : bool
        Keep the draws of ``item_effect`` and, with ties, ``item_tie``: `dissensus.win_rate`
        needs them, except for win rates on new prompts without verdicts.

    Returns
    -------
    xarray.DataTree
        ``posterior`` with the variables of `build`, except ``annotator_taste``, which has a number
        for each voter and system: only its spread is kept. Attributes summarise r-hat and
        effective sample size.

    Raises
    ------
    AnnotationError, ArgumentError
        As in `build`; also if the draws of prompts' effects would take more than 4 GB.

    Warns
    -----
    ConvergenceWarning
        If the chains have not converged.
    DesignWarning
        If votes do not connect all systems, or cannot separate the side, a covariate or a judge's
        weights from strengths; without ``side=``, if some systems were on the left more often, and
        the votes cannot exclude that the advantage of the left biases their order.

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
        predictions=predictions,
        answers=answers,
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
        "predictions": int(predictions is not None), "answers": int(answers is not None),
    }  # fmt: skip
    return run(PairsFit(process, options), lambda: _model(process), hyper)
