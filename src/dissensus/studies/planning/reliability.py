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
from dissensus.studies.planning.sentences import sentences
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
    icc_draws: xr.DataArray, annotators: list[int], target: float, assurance: float
) -> xr.Dataset:
    """Return the reliability of mean labels, and the number of annotators needed.

    ``icc_draws`` are draws of the ICC (chain, draw[, pool]).
    """
    mean = spearman_brown(icc_draws, annotators).rename("reliability")
    needed = annotators_needed(icc_draws, target)
    reached = (needed <= mean[ANNOTATOR]).mean(SAMPLE)
    return xr.Dataset(
        {
            "icc": icc_draws,
            "reliability": mean,
            "probability_reached": reached.transpose(ANNOTATOR, ...),
            "annotators_needed": needed,
            "annotators_enough": _enough(needed, assurance),
        }
    )


def _enough(needed: xr.DataArray, assurance: float) -> xr.DataArray:
    """Return the smallest number of annotators that is enough in a share ``assurance`` of draws."""
    n = needed.sizes[SAMPLE[0]] * needed.sizes[SAMPLE[1]]
    # The required number of draws, minus 1. Rounding errors, as in .7 * 10, must not increase it.
    place = max(int(np.ceil(assurance * n * (1 - 1e-12))), 1) - 1
    flat = needed.fillna(np.inf).stack(sample=SAMPLE).transpose(..., "sample")
    values = np.sort(flat.to_numpy(), axis=-1)[..., place]
    return xr.DataArray(values, {d: needed[d] for d in flat.dims[:-1]}, flat.dims[:-1])


def of_items(
    result: Widths, designs: list[Design], width: float, assurance: float, pools: list[Any] | None
) -> xr.Dataset:
    """Return half-widths of intervals for all designs, and the numbers of items that are enough."""
    annotators = list(dict.fromkeys(design.n_annotators for design in designs))
    items = list(dict.fromkeys(design.n_items for design in designs))
    n_pools = 1 if pools is None else len(pools)
    labels = np.array([d.n_annotators * d.n_items * n_pools for d in designs])
    out = xr.Dataset(
        {"n_labels": ((ANNOTATOR, ITEM), labels.reshape(len(annotators), len(items)))},
        coords={ANNOTATOR: annotators, ITEM: items},
    )
    names = {} if pools is None else {POOL: pools, other(POOL): pools}
    quantities = {"": result.icc[..., 0] if pools is None else result.icc}
    if pools is not None:
        quantities["xcc_"] = np.where(np.eye(n_pools, dtype=bool), np.nan, result.xcc)
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
    """Return mean half-widths, shares of short intervals, and numbers of items that are enough."""
    defined = length.notnull().any("study")
    # The share is undefined if no study has an interval, as for the xCC of a pool with itself.
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

    Both plans include the uncertainty of the parameters of the pilot. *Annotators*: for each draw
    of the pilot's ICC, the reliability of the mean of k labels is

    .. math:: \mathrm{ICC}(k) = \frac{k\,\mathrm{ICC}}{(k - 1)\,\mathrm{ICC} + 1}

    and the share of draws in which it reaches the target is the probability that k annotators are
    enough.
    *Items*: new studies are simulated, each from one draw of the pilot's posterior, and analysed
    by the same model. The result has the lengths of the intervals in new studies.

    Parameters
    ----------
    pilot : xarray.Dataset or DataTree
        Annotations: numbers, ordered labels, or two labels, with or without pools; or a fit of
        `models.crossed_effects` or `models.cross_replication`.
    annotators : sequence of int
        Annotators of each item to try, in each pool.
    items : sequence of int
        Numbers of items to try.
    target : float
        Required reliability of the mean label.
    width : float, optional
        Maximum length of the interval of the ICC, and of the normalised xCC between pools. With
        None, no studies are simulated.
    assurance : float
        Probability with which a target must be reached.
    panel : int, optional
        Total number of annotators in new studies (in each pool), from whom annotators of an item
        are drawn; by default the number in the pilot, or the number per item if it is larger.
    family : {"gaussian", "bernoulli", "ordinal"}, optional
        Family of the labels; by default from their kind.
    priors : mapping, optional
        As in `models.crossed_effects`, for the pilot's annotations and for new studies.
    scale : {"observed", "latent"}
        Scale of the ICC, as in `dissensus.icc`.
    studies : int
        Simulated studies for each number of annotators and items.
    prob, draws, random_seed, progressbar
        As in `dissensus.plan`.

    Returns
    -------
    xarray.Dataset
        With pools, all variables except ``n_labels`` also have the dim ``pool``.

        - ``icc`` (chain, draw): reliability of one label. ``reliability`` (chain, draw,
          annotator): reliability of the mean label. ``probability_reached`` (annotator):
          probability that this reliability is the target or more. ``annotators_needed`` (chain,
          draw): infinity if no number is enough. ``annotators_enough``: the smallest number that is
          enough with probability ``assurance``, even if it is not in ``annotators``.
        - ``half_width`` (annotator, item): half the length of the interval of the ICC, averaged
          over studies. ``probability_narrow`` (annotator, item): share of studies in which the
          whole length is at most ``width``. ``items_enough`` (annotator): the smallest number in
          ``items`` for which that share is the assurance or more; NaN if there is none.
          ``n_labels`` (annotator, item): total number of labels. With pools the first three
          variables also exist for normalised xCC, with the prefix ``xcc_`` and the dims
          (pool, pool\_).

        ``attrs["in_words"]`` has one sentence per line: the reliability of one label, the
        annotators and the study that are enough, and the assumptions.

    Notes
    -----
    Assumptions and limits:

    - New annotators and items are from the same population as in the pilot.
    - With three or four annotators in the pilot, the prior determines the standard deviation
      between annotators, and probabilities increase slowly. Use ``priors=`` to add knowledge.
    - With a fixed number of annotators, the interval has a minimum length for any number of items.
    - Lengths are those of ``dx.icc(fit)``. For the model, annotators differ in leniency only.
      Intervals of `dissensus.evaluate`, which allow for other differences, are longer:
      ``in_words`` says how much on real sets.
    - With one annotator per item, numbers or two labels cannot separate the variance of items from
      the error variance; the interval then depends on the prior.

    The standard error of a share of 20 studies is about .1. Twenty studies of 12,000 numbers take
    some seconds, of 12,000 ordered labels half a minute.

    See Also
    --------
    plan : The accuracy of systems, if the truth of an item is a plausibility.
    spearman_brown, annotators_needed : The formulas.

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
    new_designs = None if length is None else designs(known, *tried, panel)
    out = of_annotators(icc(known.fit, scale), tried[0], target, assurance)
    if new_designs is not None and length is not None:
        lengths = widths(known, new_designs, studies, run, rng, progressbar)
        out = out.merge(of_items(lengths, new_designs, length, assurance, known.pools))
    about = {"target": target, "width": length, "assurance": assurance, "panel": panel,
             "scale": scale, "studies": studies, "probability": run.prob}  # fmt: skip
    out = out.assign_attrs(_attrs(known) | {k: v for k, v in about.items() if v is not None})
    return out.assign_attrs(in_words="\n".join(sentences(out)))


def _attrs(pilot: Pilot) -> dict[str, Any]:
    """Return attributes about the pilot."""
    people = pilot.n_annotators
    known = {} if people is None else {"pilot_annotators": people}
    return {"model": pilot.model, "family": pilot.family, **known}
