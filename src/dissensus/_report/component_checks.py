"""Whether variance components can be relied on, and what they say against the data themselves."""

from __future__ import annotations

import numpy as np
import xarray as xr

from dissensus._report import numbers as facts
from dissensus._report.language import Name, Sentence, sentence
from dissensus._wording import probability
from dissensus.dims import POOL


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
    return [
        sentence(
            "{whose}the annotators explain more than the items (probability {p}): these data are "
            "no measurement of the items.",
            whose=() if pool is None else sentence("In {pool}, ", pool=Name(str(pool))),
            p=probability(p),
        )
        for pool, p in each
        if p > 0.5
    ]  # fmt: skip


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
