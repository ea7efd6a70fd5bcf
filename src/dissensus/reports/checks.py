"""What on the page is not to be relied on: draws, accuracies, components, each in its section."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any, Final

import numpy as np
import xarray as xr

from dissensus.dims import CANDIDATE, ITEM, POOL, RELIABILITY, SAMPLE
from dissensus.evaluation import doubts
from dissensus.evaluation.doubts import DOUBT
from dissensus.evaluation.recipes import HEAVY_PRIOR
from dissensus.evaluation.summary import summary
from dissensus.plots import _source as pieces
from dissensus.reports import numbers as facts
from dissensus.reports.language import Name, Sentence, sentence
from dissensus.reports.pictures import Shown
from dissensus.reports.tables import Body, Table
from dissensus.sampling import convergence
from dissensus.wording import counted, listed, metric_title, number, probability, share

# Whether estimated accuracies can be relied on, as far as the chains go.


def accuracy_troubles(evaluation: xr.DataTree) -> list[Sentence]:
    """Say if the chains are too short for some accuracy."""
    if not facts.has(evaluation, "accuracy"):
        return []
    attrs = evaluation["accuracy"].attrs
    if not int(attrs.get("n_items_poor", 0)):
        return []
    r_hat = f", r-hat up to {attrs['r_hat_max']:.2f}" if "r_hat_max" in attrs else ""
    return [sentence(
        "The chains of {model} have not run long enough: as few as {ess} effective draws "
        "({name}){r_hat}. Do not rely on estimated accuracies; evaluate again with more draws.",
        model=str(attrs["model"]), ess=f"{attrs['ess_bulk_min']:,.0f}", r_hat=r_hat,
        name=Name(str(attrs["ess_bulk_min_item"])),
    )]  # fmt: skip


def accuracy_diagnosis(evaluation: xr.DataTree) -> list[Sentence]:
    """Say how good the draws are."""
    if not facts.has(evaluation, "accuracy"):
        return []
    data = evaluation["accuracy"].to_dataset()
    attrs = data.attrs
    how = f"{data.sizes['chain'] * data.sizes['draw']:,} draws by {attrs['inference']}"
    if "ess_bulk_min" not in attrs:
        return [sentence("Estimated accuracies: {how}.", how=how)]
    r_hat = f", r-hat at most {attrs['r_hat_max']:.3f}" if "r_hat_max" in attrs else ""
    return [sentence(
        "Estimated accuracies: {how}; {ess} effective draws or more of each{r_hat}.",
        how=how, ess=f"{attrs['ess_bulk_min']:,.0f}", r_hat=r_hat,
    )]  # fmt: skip


# Whether variance components can be relied on, and what they say against the data themselves.


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


def component_troubles(evaluation: xr.DataTree) -> list[Sentence]:
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


def component_diagnosis(evaluation: xr.DataTree) -> list[Sentence]:
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


# Whether the draws can be relied on, said in words, and loudly if not.


R_HAT = 1.01
ESS = 400
"""Vehtari et al. (2021), "Rank-normalization, folding, and localization: an improved R-hat"."""


def troubles(evaluation: xr.DataTree) -> list[Sentence]:
    """Return what is wrong with the draws; nothing, if all is well."""
    found = [one for side in _sides(evaluation) for one in _of_side(*side)]
    return found + component_troubles(evaluation) + accuracy_troubles(evaluation)


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
    out = outweighed(evaluation)
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
    return out + component_diagnosis(evaluation) + accuracy_diagnosis(evaluation)


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


# What on the page is not to be relied on: said in each section, under each picture and table.


def in_words(why: str) -> list[Sentence]:
    """Return the sentence that stands before words that are not to be relied on."""
    if not why:
        return []
    return [sentence("Do not rely on the numbers that follow: {why}.", why=why)]


def of_model(side: xr.DataTree, values: xr.Dataset | None, at: float | None = None) -> str:
    """Say what is wrong with one model's numbers at a reliability, or at its reference."""
    if values is None:
        return doubts.of_metrics(side, at)
    place = float(side.attrs["reference_reliability"]) if at is None else at
    return doubts.reasons(values[DOUBT].sel({RELIABILITY: place}).to_numpy().ravel())


def along(side: xr.DataTree, values: xr.Dataset | None) -> str:
    """Say what is wrong with one model's numbers at any reliability."""
    if values is None:
        each = [doubts.of_metrics(side, at) for at in facts.reliabilities(side)]
        return doubts.reasons(each)
    return doubts.reasons(values[DOUBT].to_numpy().ravel())


def of_both(evaluation: xr.DataTree, numbers: list[xr.Dataset]) -> str:
    """Say what is wrong with the numbers of two models, at their references."""
    sides = pieces.sides(evaluation)
    each = [of_model(side, numbers[k] if numbers else None) for k, side in enumerate(sides)]
    return doubts.reasons(each)


def pictures(drawn: list[Shown], here: str, everywhere: str) -> list[Shown]:
    """Mark pictures of one reliability for what is wrong there, and those of all for the rest."""
    return [
        marked(one, everywhere if one.id.startswith(("reliability", "certainty")) else here)
        for one in drawn
    ]


def of_group(evaluation: xr.DataTree, of: str, by: str | None = None) -> str:
    """Say what is wrong with the rows of a summary."""
    rows = summary(evaluation, of)
    return doubts.reasons(rows[DOUBT] if by is None else rows[rows["by"] == by][DOUBT])


def marked(thing: Any, why: str) -> Any:
    """Return a table, a picture, a list of these, or a section with them, that says so.

    Words of a section have a sentence in front.
    """
    if not why or thing is None:
        return thing
    if isinstance(thing, list):
        return [marked(one, why) for one in thing]
    if isinstance(thing, Table | Shown):
        return replace(thing, doubt=why)
    parts = {field.name: getattr(thing, field.name) for field in fields(thing)}
    new = {name: marked(parts[name], why) for name in ("picture", "tables") if name in parts}
    return replace(thing, words=[*in_words(why), *parts["words"]], **new)
