"""Whether variance components can be relied on, and what they say against the data themselves."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import xarray as xr

from dissensus._report import numbers as facts
from dissensus._report.language import Name, Sentence, sentence
from dissensus._wording import number, probability, share
from dissensus.dims import POOL, SAMPLE

_SURE: Final = 0.95
"""Probability above which it is said without a probably."""


def outweighed(evaluation: xr.DataTree) -> list[Sentence]:
    """Warn of pools whose annotators probably explain more than the items do."""
    if not facts.has(evaluation, "components"):
        return []
    data = evaluation["components"].to_dataset()
    chance = data.get("annotators_outweigh_items")
    if chance is None:
        return []
    pools = data[POOL].to_numpy().tolist() if POOL in chance.dims else [None]
    each = zip(pools, np.atleast_1d(chance.to_numpy()).tolist(), strict=True)
    return [_outweighed(data, pool, p) for pool, p in each if p > 0.5]


def _outweighed(data: xr.Dataset, pool: Any, p: float) -> Sentence:
    """Say it as surely as the draws do, and what several labels are worth all the same."""
    words = "{whose}the annotators probably explain more than the items (probability {p}): a "
    words += "single label says more about who gave it than about the item{mean}."
    if p > _SURE:
        words = "{whose}the annotators explain more than the items (probability {p}): single "
        words += "labels are no measurement of the items{mean}."
    whose = () if pool is None else sentence("In {pool}, ", pool=Name(str(pool)))
    return sentence(words, whose=whose, p=probability(p), mean=_of_mean(data, pool))


def _of_mean(data: xr.Dataset, pool: Any) -> str:
    """Return how reliable the mean of several labels is, where there are several."""
    if not {"mean_reliability", "n_labels"} <= set(data):
        return ""
    own = [data[name] for name in ("mean_reliability", "n_labels")]
    reliability, k = (one if pool is None else one.sel({POOL: pool}) for one in own)
    mean, count = float(reliability.mean(SAMPLE)), float(k)
    if count <= 1 or not np.isfinite(mean):
        return ""
    return (
        f"; the mean of the {number(count)} labels of a typical item has reliability {share(mean)}"
    )


def troubles(evaluation: xr.DataTree) -> list[Sentence]:
    """Say if the draws of variance components are no good."""
    if not facts.has(evaluation, "components"):
        return []
    attrs = evaluation["components"].attrs
    if not int(attrs.get("finite", 1)):
        return [sentence("Draws of variance components are not all finite numbers.")]
    if not int(attrs.get("n_items_poor", 0)):
        return []
    r_hat = f", r-hat up to {attrs['r_hat_max']:.2f}" if "r_hat_max" in attrs else ""
    return [sentence(
        "The chains of {model} have not run long enough: as few as {ess} effective draws{r_hat}. "
        "Do not rely on ICCs and xCCs; evaluate again with more draws.",
        model=str(attrs["model"]), ess=f"{attrs['ess_bulk_min']:,.0f}", r_hat=r_hat,
    )]  # fmt: skip


def diagnosis(evaluation: xr.DataTree) -> list[Sentence]:
    """Say how good the draws are."""
    if not facts.has(evaluation, "components"):
        return []
    data = evaluation["components"].to_dataset()
    attrs = data.attrs
    count = data.sizes["chain"] * data.sizes["draw"]
    how = f"{count:,} draws by {attrs['inference']}"
    if "ess_bulk_min" not in attrs:
        return [sentence("Variance components: {how}.", how=how)]
    r_hat = f", r-hat at most {attrs['r_hat_max']:.3f}" if "r_hat_max" in attrs else ""
    return [sentence(
        "Variance components: {how}; {ess} effective draws or more of every parameter{r_hat}.",
        how=how, ess=f"{attrs['ess_bulk_min']:,.0f}", r_hat=r_hat,
    )]  # fmt: skip
