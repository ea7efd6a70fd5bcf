"""Whether the draws can be relied on, said in words, and loudly if not."""

from __future__ import annotations

import numpy as np
import xarray as xr

from dissensus._report import accuracy_checks as accuracy
from dissensus._report import component_checks as components
from dissensus._report import numbers as facts
from dissensus._report.language import Name, Sentence, sentence
from dissensus._report.tables import Body, Table
from dissensus._wording import counted, listed, metric_title, number, share
from dissensus.dims import CANDIDATE, ITEM, RELIABILITY, SAMPLE
from dissensus.evaluation.recipes import HEAVY_PRIOR
from dissensus.plots import _pieces as pieces
from dissensus.sampling import convergence

R_HAT = 1.01
ESS = 400
"""Vehtari et al. (2021), "Rank-normalization, folding, and localization: an improved R-hat"."""


def troubles(evaluation: xr.DataTree) -> list[Sentence]:
    """Return what is wrong with the draws; nothing, if all is well."""
    found = [one for side in _sides(evaluation) for one in _of_side(*side)]
    return found + components.troubles(evaluation) + accuracy.troubles(evaluation)


def _sides(evaluation: xr.DataTree) -> list[tuple[xr.DataTree, Sentence]]:
    """Return each model with the words that say whose numbers they are."""
    sides = pieces.sides(evaluation)
    if len(sides) == 1:
        return [(evaluation, ())]
    return [(side, (f"Under {side.attrs['model']}: ",)) for side in sides]


def _of_side(side: xr.DataTree, whose: Sentence) -> list[Sentence]:
    found = _not_finite(side, whose) + _few(side, whose)
    poor = _poor(side)
    if poor is not None and poor[0]:
        found.append(whose + poor[1])
    worst = _worst(side)
    if worst is None:
        return found
    ess, r_hat = worst
    if r_hat > R_HAT:
        found.append(whose + sentence("The chains disagree: r-hat is up to {r} (1.01 is the "
                                      "limit).", r=f"{r_hat:.3f}"))  # fmt: skip
    if ess < ESS:
        found.append(whose + sentence(
            "There are too few effective draws: {ess} for some metric (400 are needed). "
            "Evaluate again with more draws.", ess=f"{ess:,.0f}",
        ))  # fmt: skip
    return found


def _few(side: xr.DataTree, whose: Sentence) -> list[Sentence]:
    """Say if so few were drawn that nothing can be said of the draws."""
    if not {"draws", "chains"} <= set(side.attrs):
        return []
    draws, chains = (int(side.attrs[name]) for name in ("draws", "chains"))
    few = convergence.few_draws(draws, chains, markov=bool(side.attrs.get("markov_chains", 0)))
    if not few:
        return []
    return [whose + sentence(
        "There are {few}, too few for an interval, and to tell whether there are enough. Evaluate "
        "again with more draws.", few=few,
    )]  # fmt: skip


def _not_finite(side: xr.DataTree, whose: Sentence) -> list[Sentence]:
    found = []
    for group in ("metrics", "certainty", "expected_risk"):
        if facts.has(side, group):
            for name, values in side[group].to_dataset().data_vars.items():
                bad = int((~np.isfinite(values.to_numpy())).sum())
                if bad:
                    found.append(whose + sentence(
                        "{bad} of {metric} {verb} not finite numbers.",
                        bad=counted(bad, "value"), metric=metric_title(str(name)),
                        verb="is" if bad == 1 else "are",
                    ))  # fmt: skip
    return found


def _poor(side: xr.DataTree) -> tuple[bool, Sentence] | None:
    """Say for how many items the chains are too short; first, whether at the reference too."""
    if not facts.has(side, "convergence"):
        return None
    data = side["convergence"].to_dataset()
    poor = data.isel({RELIABILITY: data["n_items_poor"].to_numpy() > 0})
    if not poor.sizes[RELIABILITY]:
        return None
    n_items = side["certainty"].sizes[ITEM]
    counts = zip(poor["n_items_poor"].to_numpy(), poor[RELIABILITY].to_numpy(), strict=True)
    where = [f"{int(n):,} at {number(g)}" for n, g in counts]
    where[0] = where[0].replace(" at ", f" of {counted(n_items, 'item')} at reliability ")
    worst = poor.isel({RELIABILITY: int(poor["ess_bulk_min"].to_numpy().argmin())})
    r_hat = f", r-hat up to {float(poor['r_hat_max'].max()):.2f}" if "r_hat_max" in poor else ""
    words = sentence(
        "The chains have not run long enough for {where}: as few as {ess} effective draws (item "
        "{name}){r_hat}. Do not trust the plausibilities of such items; evaluate again with more "
        "draws" + (", or stay with smaller reliabilities." if data.sizes[RELIABILITY] > 1 else "."),
        where=listed(where), ess=f"{float(worst['ess_bulk_min']):,.0f}",
        name=Name(str(worst["ess_bulk_min_item"].item())), r_hat=r_hat,
    )  # fmt: skip
    return side.attrs["reference_reliability"] in poor[RELIABILITY].to_numpy(), words


def cautions(evaluation: xr.DataTree) -> list[Sentence]:
    """Return what is right but easily misread."""
    out = components.outweighed(evaluation)
    for side, whose in _sides(evaluation):
        poor = _poor(side)
        if poor is not None and not poor[0]:
            out.append(whose + poor[1])
    weight = evaluation.attrs.get("prior_weight", 0.0)
    if weight > HEAVY_PRIOR:
        out.append(sentence(
            "There are few annotators for so many labels: at reliability {gamma} the prior has "
            "{weight} of the weight in a typical item, and levels say as much about it as about "
            "the systems. "
            "A smaller prior_count, such as 1 divided by the number of labels, gives the "
            "annotators more say.",
            gamma=number(evaluation.attrs["reference_reliability"]), weight=share(weight),
        ))  # fmt: skip
    return out + _unnamed(evaluation)


def _unnamed(evaluation: xr.DataTree) -> list[Sentence]:
    """Say if most of the plausibility is on labels that nobody named."""
    posterior = evaluation["posterior"].to_dataset()
    if "candidate_size" not in posterior.coords or "plausibility" not in posterior:
        return []
    rest = posterior["plausibility"].mean(list(SAMPLE)).where(posterior["candidate_size"] > 1, 0.0)
    left = float(rest.sum(CANDIDATE).median())
    if left <= HEAVY_PRIOR:
        return []
    return [sentence(
        "Labels that nobody named have {left} of the plausibility in a typical item: the prior "
        "says so, not the annotators. A smaller concentration gives the named labels more.",
        left=share(left),
    )]  # fmt: skip


def diagnosis(evaluation: xr.DataTree) -> list[Sentence]:
    """Say how good the draws are, model by model."""
    out = []
    for side, whose in _sides(evaluation):
        out.append(whose + _metric_diagnosis(side))
        if facts.has(side, "convergence"):
            out.append(_chains(side))
        elif int(side.attrs.get("markov_chains", 0)):
            out.append(sentence(
                "Fewer than 100 draws a chain do not tell whether the chains of {model} have "
                "run long enough.", model=str(side.attrs["model"]),
            ))  # fmt: skip
    return out + components.diagnosis(evaluation) + accuracy.diagnosis(evaluation)


def _metric_diagnosis(side: xr.DataTree) -> Sentence:
    how = str(side.attrs.get("inference", "unknown"))
    worst = _worst(side)
    if worst is None:
        return sentence("Draws: {how}. There are no metrics that vary, so there is nothing to "
                        "diagnose.", how=how)  # fmt: skip
    ess, r_hat = worst
    return sentence(
        "Draws: {how}. Every metric has at least {ess} effective draws ({need} are needed) and an "
        "r-hat of at most {r} ({limit} is the limit).",
        how=how, ess=f"{ess:,.0f}", need=str(ESS), r=f"{r_hat:.3f}", limit=str(R_HAT),
    )  # fmt: skip


def _chains(side: xr.DataTree) -> Sentence:
    """Say how far the chains of single items have come, at the reference reliability."""
    here = side["convergence"].to_dataset().sel({RELIABILITY: side.attrs["reference_reliability"]})
    n_items, poor = side["certainty"].sizes[ITEM], int(here["n_items_poor"])
    r_hat = f", and r-hat is at most {float(here['r_hat_max']):.3f}" if "r_hat_max" in here else ""
    return sentence(
        "Item by item, at reliability {gamma}: the plausibilities have {ess} effective draws or "
        "more, {median} in the median item{r_hat}; {poor} too few (below {need}) or chains that "
        "have not met (r-hat above {limit}).",
        gamma=number(side.attrs["reference_reliability"]), r_hat=r_hat,
        ess=f"{float(here['ess_bulk_min']):,.0f}",
        median=f"{float(here['ess_bulk_median']):,.0f}", need=f"{convergence.ESS:g}",
        limit=f"{convergence.R_HAT:g}",
        poor=f"{poor:,} of {counted(n_items, 'item')} {'has' if poor == 1 else 'have'}",
    )  # fmt: skip


def convergence_tables(evaluation: xr.DataTree) -> list[Table]:
    """Return how the chains of single items have done, reliability by reliability."""
    out: list[Table] = []
    for side in pieces.sides(evaluation):
        if facts.has(side, "convergence"):
            data = side["convergence"].to_dataset()
            rows = [_row(data.isel({RELIABILITY: k})) for k in range(data.sizes[RELIABILITY])]
            head = ["Reliability", "Least effective draws", "In the median item", "Largest r-hat",
                    "Items that need more"]  # fmt: skip
            model = str(side.attrs["model"])
            title = f"Chains of {model}, item by item"
            out.append(Table(f"table-chains-{len(out)}", title, head, [Body(-1, rows)]))
    return out


def _row(here: xr.Dataset) -> list[str]:
    r_hat = f"{float(here['r_hat_max']):.3f}" if "r_hat_max" in here else "one chain"
    draws = [f"{float(here[name]):,.0f}" for name in ("ess_bulk_min", "ess_bulk_median")]
    gamma = number(float(here[RELIABILITY]))
    return [gamma, *draws, r_hat, f"{int(here['n_items_poor']):,}"]


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
