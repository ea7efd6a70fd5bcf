"""How many annotators make a reliable mean, how many items a narrow interval."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import xarray as xr

from dissensus._planning.checks import counts, level, share
from dissensus._planning.designs import designs
from dissensus._planning.pilots import Pilot, pilot_of
from dissensus._planning.reliability import of_annotators, of_items
from dissensus._planning.studies import Run, widths
from dissensus.kernels.random import generator
from dissensus.metrics._components import check_scale
from dissensus.metrics.reliability import icc
from dissensus.sampling import fitting


def plan_reliability(
    pilot: xr.Dataset | xr.DataTree,
    annotators: Sequence[int] = (1, 2, 3, 5, 8, 12),
    items: Sequence[int] = (100, 300, 1000),
    *,
    target: float = 0.8,
    width: float | None = 0.1,
    assurance: float = 0.8,
    panel: int | None = None,
    family: str | None = None,
    priors: Mapping[str, Any] | None = None,
    scale: str = "observed",
    studies: int = 20,
    prob: float | None = None,
    draws: int = 400,
    random_seed: int | None = None,
    progressbar: bool = True,
) -> xr.Dataset:
    r"""Foresee how reliable labels of so many annotators are, and how well that will be known.

    Two questions, both answered with the uncertainty that the pilot leaves. *Annotators*: draw by
    draw of the pilot's ICC, the reliability of the mean of k labels is

    .. math:: \mathrm{ICC}(k) = \frac{k\,\mathrm{ICC}}{(k - 1)\,\mathrm{ICC} + 1}

    and the share of draws in which it reaches the target is the probability that k are enough.
    *Items*: new studies are simulated, each under one draw of the pilot's posterior, and analysed
    by the same model; what is reported is how wide their intervals come out.

    Parameters
    ----------
    pilot : xarray.Dataset or DataTree
        Annotations: numbers, ordered labels, or two labels; with pools, if there are several. Or a
        fit of `models.crossed_effects` or `models.cross_replication`, for settings of one's own.
    annotators : sequence of int
        Annotators for each item to try; in each pool, if there are several.
    items : sequence of int
        Numbers of items to try.
    target : float
        The reliability that the mean of an item's labels is to have.
    width : float, optional
        The length that the interval of the ICC, and between pools of normalised xCC, is to have
        at most. None leaves simulated studies out.
    assurance : float
        How probable it has to be that a target is reached.
    panel : int, optional
        Annotators that new studies have in all (in each pool), among whom those of an item are
        drawn; by default as many as the pilot had, or as an item has, if these are more.
    family : {"gaussian", "bernoulli", "ordinal"}, optional
        What the labels are; by default by their kind.
    priors : mapping, optional
        As in `models.crossed_effects`: of the pilot's fit, if it is annotations, and of the
        analysis of the new studies.
    scale : {"observed", "latent"}
        Of the ICC, as in `dissensus.icc`. On the observed scale it is the mean of labels as they
        are given whose reliability is planned.
    studies : int
        Simulated studies for each number of annotators and items.
    prob : float, optional
        Probability of the (equal-tailed) interval; ArviZ's ``stats.ci_prob`` by default.
    draws : int
        Posterior draws in each simulated study.
    random_seed : int, optional
        Makes it repeatable.
    progressbar : bool
        Show progress.

    Returns
    -------
    xarray.Dataset
        With pools, everything below but ``n_labels`` has the dim ``pool`` too.

        - ``icc`` (chain, draw): reliability of one label. ``reliability`` (chain, draw,
          annotator): of the mean of so many. ``probability_reached`` (annotator): that it is the
          target or more. ``annotators_needed`` (chain, draw): how many it takes; infinity if no
          number will do. ``annotators_enough``: the least number that is enough with the stated
          assurance, whether it is among those tried or not.
        - ``half_width`` (annotator, item): half the length of the interval of the ICC, averaged
          over studies. ``probability_narrow`` (annotator, item): share of studies in which the
          whole length is at most ``width``. ``items_enough`` (annotator): the least of the numbers
          tried for which that share is the assurance or more; NaN if none is. ``n_labels``
          (annotator, item): labels in all. Between pools the first three as well with the prefix
          ``xcc_`` and the dims (pool, pool\_), of normalised xCC.

    Raises
    ------
    AnnotationError
        If the pilot's labels are of no family.
    ArgumentError
        If the fit is of another model, or an argument makes no sense.

    Notes
    -----
    What it cannot know:

    - New annotators and items are taken to be drawn from the same population as the pilot's. For
      better trained annotators, plan with a pilot of such.
    - With few annotators in the pilot, how much annotators differ is hardly known: with three or
      four, the prior speaks. The probabilities contain that ignorance, which is why they rise
      slowly; ``priors=`` says what is known from elsewhere.
    - Items do not make up for annotators. With a panel of fixed size the interval does not shrink
      to nothing, however many items there are: a few people remain a few people. Where it stops
      shrinking, a larger ``panel`` is what helps.
    - With one annotator an item, numbers and two labels tell nothing of the item apart from
      chance; the interval is then the prior's.

    A probability that is a share of 20 studies is known to about .1. Twenty studies of 12,000
    numbers take some seconds, of 12,000 ordered labels half a minute.

    See Also
    --------
    plan : The same from labels whose truth is a plausibility, for the accuracy of systems.
    spearman_brown, annotators_needed : The formulas alone.

    Examples
    --------
    >>> import dissensus as dx
    >>> pilot = dx.simulate.replication_study(40, 8, 4, random_seed=1).annotations
    >>> found = dx.plan_reliability(pilot, (2, 4, 8), (50, 200), target=0.7, width=0.3, studies=4,
    ...                             draws=100, random_seed=1, progressbar=False)
    >>> bool((found.probability_reached.diff("annotator") >= 0).all())
    True
    >>> bool((found.half_width.sel(item=200) < found.half_width.sel(item=50)).all())
    True
    """
    share("target", target), share("assurance", assurance)
    tried = counts("annotators", annotators), counts("items", items)
    length = None if width is None else share("width", width)
    studies, draws = fitting.whole("studies", studies), fitting.whole("draws", draws)
    run = Run(priors, scale, level(prob), draws)
    check_scale(scale)
    rng = generator(random_seed, "plan reliability")
    known = pilot_of(pilot, family, priors, random_seed, progressbar)
    wanted = None if length is None else designs(known, *tried, panel)
    out = of_annotators(icc(known.fit, scale), tried[0], target, assurance)
    if wanted is not None and length is not None:
        lengths = widths(known, wanted, studies, run, rng, progressbar)
        out = out.merge(of_items(lengths, wanted, length, assurance, known.pools))
    about = {"target": target, "width": length, "assurance": assurance, "panel": panel,
             "scale": scale, "studies": studies, "probability": run.prob}  # fmt: skip
    return out.assign_attrs(_attrs(known) | {k: v for k, v in about.items() if v is not None})


def _attrs(pilot: Pilot) -> dict[str, Any]:
    """Say what was planned from."""
    people = pilot.n_annotators
    known = {} if people is None else {"pilot_annotators": people}
    return {"model": pilot.model, "family": pilot.family, **known}
