"""Plans of reliability: annotators for a reliable mean, items for a narrow interval."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr

from dissensus import arguments
from dissensus.dims import ANNOTATOR, ITEM, POOL, SAMPLE, other
from dissensus.kernels.random import generator
from dissensus.metrics._components import SCALES
from dissensus.metrics._reliability import annotators_needed, icc, spearman_brown
from dissensus.studies.planning.studies import (
    Design,
    Pilot,
    Run,
    Widths,
    counts,
    designs,
    level,
    pilot_of,
    share,
    widths,
)


def of_annotators(
    one: xr.DataArray, annotators: list[int], target: float, assurance: float
) -> xr.Dataset:
    """Return the reliability of the mean of so many labels, and how many labels are needed.

    Parameters
    ----------
    one : DataArray
        Draws of the ICC (chain, draw[, pool]).
    annotators : list of int
        Numbers of labels.
    target, assurance : float
        The reliability to reach, and how surely.
    """
    mean = spearman_brown(one, annotators).rename("reliability")
    needed = annotators_needed(one, target)
    return xr.Dataset(
        {
            "icc": one,
            "reliability": mean,
            "probability_reached": (needed <= mean[ANNOTATOR])
            .mean(SAMPLE)
            .transpose(ANNOTATOR, ...),
            "annotators_needed": needed,
            "annotators_enough": _enough(needed, assurance),
        }
    )


def _enough(needed: xr.DataArray, assurance: float) -> xr.DataArray:
    """Return the least number of annotators that will do in such a share of the draws."""
    n = needed.sizes[SAMPLE[0]] * needed.sizes[SAMPLE[1]]
    # The number of draws that must agree. Rounding, as of .7 * 10, must not add one.
    place = max(int(np.ceil(assurance * n * (1 - 1e-12))), 1) - 1
    flat = needed.fillna(np.inf).stack(sample=SAMPLE).transpose(..., "sample")
    values = np.sort(flat.to_numpy(), axis=-1)[..., place]
    return xr.DataArray(values, {d: needed[d] for d in flat.dims[:-1]}, flat.dims[:-1])


def of_items(
    found: Widths, designs: list[Design], width: float, assurance: float, pools: list[Any] | None
) -> xr.Dataset:
    """Return the widths of intervals with so many items, and how many items are needed."""
    annotators = list(dict.fromkeys(design.n_annotators for design in designs))
    items = list(dict.fromkeys(design.n_items for design in designs))
    n_pools = 1 if pools is None else len(pools)
    labels = np.array([d.n_annotators * d.n_items * n_pools for d in designs])
    out = xr.Dataset(
        {"n_labels": ((ANNOTATOR, ITEM), labels.reshape(len(annotators), len(items)))},
        coords={ANNOTATOR: annotators, ITEM: items},
    )
    names = {} if pools is None else {POOL: pools, other(POOL): pools}
    quantities = {"": found.icc[..., 0] if pools is None else found.icc}
    if pools is not None:
        quantities["xcc_"] = np.where(np.eye(n_pools, dtype=bool), np.nan, found.xcc)
    for prefix, lengths in quantities.items():
        dims = [ANNOTATOR, ITEM, "study", *list(names)[: lengths.ndim - 2]]
        shape = (len(annotators), len(items), *lengths.shape[1:])
        length = xr.DataArray(
            lengths.reshape(shape), dims=dims, coords={d: names[d] for d in dims[3:]}
        ).assign_coords({ANNOTATOR: annotators, ITEM: items})
        out = out.assign(_summed_up(length, prefix, width, assurance))
    return out


def _summed_up(
    length: xr.DataArray, prefix: str, width: float, assurance: float
) -> dict[str, xr.DataArray]:
    """Average over studies: half the length, the share that is short enough, and items for that."""
    defined = length.notnull().any("study")
    # Undefined, as for the xCC of a pool with itself, if no study defines the interval.
    short = (length <= width).mean("study").where(defined)
    items = length[ITEM].where(short >= assurance)
    return {
        f"{prefix}half_width": length.mean("study") / 2,
        f"{prefix}probability_narrow": short,
        f"{prefix}items_enough": items.min(ITEM),
    }


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
    r"""Plan the reliability of labels: numbers of annotators and items.

    Both answers include the uncertainty about the pilot's parameters. *Annotators*: for each draw
    of the pilot's ICC, the reliability of the mean of k labels is

    .. math:: \mathrm{ICC}(k) = \frac{k\,\mathrm{ICC}}{(k - 1)\,\mathrm{ICC} + 1}

    and the share of draws in which it reaches the target is the probability that k are enough.
    *Items*: new studies are simulated, each from one draw of the pilot's posterior, and analysed
    by the same model. The result has the widths of their intervals.

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
    Assumptions and limits:

    - New annotators and items come from the same population as the pilot's. For better trained
      annotators, use a pilot with such annotators.
    - With few annotators in the pilot, the standard deviation between annotators is hardly known;
      with three or four the prior determines it. The probabilities include this uncertainty, and
      rise slowly. ``priors=`` adds knowledge from elsewhere.
    - With a panel of fixed size the interval has a least width, however many items there are.
      A larger ``panel`` makes it narrower.
    - With one annotator an item, numbers and two labels do not separate items from error; the
      interval is then the prior's.

    The standard error of a share of 20 studies is about .1. Twenty studies of 12,000 numbers take
    some seconds, of 12,000 ordered labels half a minute.

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
    studies, draws = arguments.whole("studies", studies), arguments.whole("draws", draws)
    run = Run(priors, scale, level(prob), draws)
    arguments.one_of("scale", scale, SCALES)
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
    """Return attributes about the pilot."""
    people = pilot.n_annotators
    known = {} if people is None else {"pilot_annotators": people}
    return {"model": pilot.model, "family": pilot.family, **known}
