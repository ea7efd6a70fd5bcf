"""Whether the draws can be relied on, said in words, and loudly if not."""

from __future__ import annotations

import numpy as np
import xarray as xr

from dissensus._recipes import HEAVY_PRIOR
from dissensus._report import numbers as facts
from dissensus._report.language import Sentence, sentence
from dissensus._wording import counted, metric_title, number, share
from dissensus.dims import SAMPLE

R_HAT = 1.01
ESS = 400
"""Vehtari et al. (2021), "Rank-normalization, folding, and localization: an improved R-hat"."""


def troubles(evaluation: xr.DataTree) -> list[Sentence]:
    """Return what is wrong with the draws; nothing, if all is well."""
    found: list[Sentence] = []
    for group in ("metrics", "certainty", "expected_risk"):
        if facts.has(evaluation, group):
            for name, values in evaluation[group].to_dataset().data_vars.items():
                bad = int((~np.isfinite(values.to_numpy())).sum())
                if bad:
                    found.append(sentence(
                        "{bad} of {metric} {verb} not finite numbers.",
                        bad=counted(bad, "value"), metric=metric_title(str(name)),
                        verb="is" if bad == 1 else "are",
                    ))  # fmt: skip
    worst = _worst(evaluation)
    if worst is None:
        return found
    ess, r_hat = worst
    if r_hat > R_HAT:
        found.append(sentence("The chains disagree: r-hat is up to {r} (1.01 is the limit).",
                              r=f"{r_hat:.3f}"))  # fmt: skip
    if ess < ESS:
        found.append(sentence(
            "There are too few effective draws: {ess} for some metric (400 are needed). "
            "Evaluate again with more draws.", ess=f"{ess:,.0f}",
        ))  # fmt: skip
    return found


def cautions(evaluation: xr.DataTree) -> list[Sentence]:
    """Return what is right but easily misread."""
    weight = evaluation.attrs.get("prior_weight", 0.0)
    if weight <= HEAVY_PRIOR:
        return []
    return [sentence(
        "There are few annotators for so many labels: at reliability {gamma} the prior has "
        "{weight} of the weight in a typical item, and levels say as much about it as about the "
        "systems. "
        "A smaller prior_count, such as 1 divided by the number of labels, gives the annotators "
        "more say.",
        gamma=number(evaluation.attrs["reference_reliability"]), weight=share(weight),
    )]  # fmt: skip


def diagnosis(evaluation: xr.DataTree) -> Sentence:
    """Say how good the draws are."""
    how = str(evaluation.attrs.get("inference", "unknown"))
    worst = _worst(evaluation)
    if worst is None:
        return sentence("Draws: {how}. There are no metrics that vary, so there is nothing to "
                        "diagnose.", how=how)  # fmt: skip
    ess, r_hat = worst
    return sentence(
        "Draws: {how}. Every metric has at least {ess} effective draws ({need} are needed) and an "
        "r-hat of at most {r} ({limit} is the limit).",
        how=how, ess=f"{ess:,.0f}", need=str(ESS), r=f"{r_hat:.3f}", limit=str(R_HAT),
    )  # fmt: skip


def _worst(evaluation: xr.DataTree) -> tuple[float, float] | None:
    """Return the least effective sample size and the largest r-hat of what varies at all."""
    if not (facts.has(evaluation, "diagnostics") and facts.has(evaluation, "metrics")):
        return None
    ess, r_hat = [], []
    draws = evaluation["metrics"].to_dataset()
    for name, values in evaluation["diagnostics"].to_dataset().data_vars.items():
        if name in draws:
            # The same value in all draws has no r-hat, and needs none.
            values = values.where(draws[name].max(SAMPLE) > draws[name].min(SAMPLE))
        ess += [values.sel(diagnostic=kind).min() for kind in ("ess_bulk", "ess_tail")]
        r_hat.append(values.sel(diagnostic="r_hat").max())
    known_ess = [float(value) for value in ess if np.isfinite(value)]
    known_r_hat = [float(value) for value in r_hat if np.isfinite(value)]
    return (min(known_ess), max(known_r_hat)) if known_ess and known_r_hat else None
