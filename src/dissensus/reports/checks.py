"""Warnings and diagnostics of a report: convergence, priors, unreliable numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final, NamedTuple

import numpy as np
import xarray as xr

from dissensus.checks._agreement import STATISTIC
from dissensus.checks._lists import most_alike
from dissensus.data import tables
from dissensus.data.plausibility import space
from dissensus.data.rows import label_counts
from dissensus.dims import (
    ANNOTATOR,
    CANDIDATE,
    ITEM,
    LABEL,
    POOL,
    POSITION,
    RELIABILITY,
    SAMPLE,
    SCOPE,
    SYSTEM,
)
from dissensus.errors import shown
from dissensus.evaluation import doubts
from dissensus.evaluation.components import in_several_pools
from dissensus.evaluation.doubts import DOUBT
from dissensus.evaluation.evidence import summary
from dissensus.evaluation.recipes import HEAVY_PRIOR
from dissensus.evaluation.runs import CHECK
from dissensus.plots._source import NEW, interval, sides
from dissensus.reports import design, evidence
from dissensus.reports.components import outweighed
from dissensus.reports.evidence import Facts, Topics
from dissensus.reports.sections import Section
from dissensus.reports.sentences import Name, sentences
from dissensus.reports.svg import Shown
from dissensus.reports.tables import Body, Table
from dissensus.sampling import convergence
from dissensus.sampling.learned_prior import LEARNED
from dissensus.statistics._resampling import FEW_UNITS, Units
from dissensus.wording import counted, listed, metric_title, number

R_HAT, ESS = 1.01, 400
"""Limits beyond which ends of intervals are imprecise: Vehtari et al. (2021),
"Rank-normalization, folding, and localization". Beyond the limits of `convergence`, numbers are
marked as unreliable."""
_GROUPS: Final = {
    "components": ("Variance components", "ICCs and xCCs"),
    "accuracy": ("Estimated accuracies", "estimated accuracies"),
}
_OF_SETS: Final = {"posterior": ("Plausibilities of labels", "these numbers")}


class Checked(NamedTuple):
    """The result of all checks."""

    troubles: Topics
    """Reasons not to rely on the draws."""
    cautions: Topics
    """Results that are correct but easily misread; the last sentence is the remedy."""


def checked(evaluation: xr.DataTree) -> Checked:
    """Return the result of all checks."""
    return Checked(troubles(evaluation), cautions(evaluation))


def _models(evaluation: xr.DataTree) -> list[tuple[xr.DataTree, str]]:
    """Return each model, and the start of its sentences, which names it if there are two."""
    models = sides(evaluation)
    return [(side, f"Under {side.attrs['model']}: " if len(models) > 1 else "") for side in models]


# Warnings.


def troubles(evaluation: xr.DataTree) -> Topics:
    """Return the reasons not to rely on the draws."""
    out = [topic for side, start in _models(evaluation) for topic in _of_side(side, start)]
    for group, (_, quantities) in (_GROUPS | _more(evaluation)).items():
        if not evidence.has(evaluation, group):
            continue
        attrs = evaluation[group].attrs
        if not int(attrs.get("finite", 1)):
            out.append(_trouble("not finite", f"Draws of {quantities} are"))
        elif int(attrs.get("n_items_poor", 0)):
            out.append(("short_chains", {
                "model": str(attrs["model"]), "ess": f"{attrs['ess_bulk_min']:,.0f}",
                "r_hat": f"{attrs['r_hat_max']:.2f}" if "r_hat_max" in attrs else "",
                "parameter": str(attrs.get("ess_bulk_min_item", "")), "quantities": quantities,
            }))  # fmt: skip
    return out


def _more(evaluation: xr.DataTree) -> dict[str, tuple[str, str]]:
    """Return, for sets, the group with the diagnostics of the labels' fits; else nothing."""
    return _OF_SETS if evidence.has(evaluation, "labels") else {}


def _trouble(kind: str, value: str, start: str = "") -> tuple[str, Facts]:
    return "troubles", {"kind": kind, "value": value, "whose": start}


def _of_side(side: xr.DataTree, start: str) -> Iterator[tuple[str, Facts]]:
    for group in ("metrics", "certainty", "expected_risk"):
        if evidence.has(side, group):
            for name, values in side[group].to_dataset().data_vars.items():
                bad = int((~np.isfinite(values.to_numpy())).sum())
                if bad:
                    verb = "is" if bad == 1 else "are"
                    text = f"{counted(bad, 'value')} of {metric_title(str(name))} {verb}"
                    yield _trouble("not finite", text, start)
    if {"draws", "chains"} <= set(side.attrs):
        draws, chains = (int(side.attrs[name]) for name in ("draws", "chains"))
        markov = bool(side.attrs.get("markov_chains", 0))
        too_few = convergence.few_draws(draws, chains, markov=markov)
        if too_few:
            yield _trouble("few", too_few, start)
    poor = _poor(side)
    if poor and poor["at_reference"]:
        yield "short_chains_of_items", poor
    prior = _prior(side)
    if prior and prior["poor"]:
        yield "short_chains_of_prior", prior
    ess, r_hat = _worst(side) or (np.inf, 0.0)
    if r_hat > convergence.R_HAT:
        yield _trouble("r_hat", f"{r_hat:.3f}", start)
    if ess < convergence.ESS:
        yield _trouble("ess", f"{ess:,.0f}", start)


def _prior(side: xr.DataTree) -> Facts:
    """Return diagnostics of a learned prior at the reference, if there are any."""
    _, prior = doubts.chains_of(side)
    if "ess_bulk_min" not in prior:
        return {}
    poor = int(prior["n_items_poor"])
    return {
        "model": str(side.attrs["model"]), "ess": f"{convergence.least(prior):,.0f}",
        "r_hat": f"{prior['r_hat_max']:.2f}" if "r_hat_max" in prior else "",
        "poor": poor, "parameters": counted(poor, "parameter"),
        "item": str(prior.get("ess_bulk_min_item", "")),
    }  # fmt: skip


def _poor(side: xr.DataTree) -> Facts:
    """Return how many items have chains that are too short, at each reliability."""
    if not evidence.has(side, "convergence") or doubts.of_prior(side):
        return {}
    data = side["convergence"].to_dataset()
    poor = data.isel({RELIABILITY: data["n_items_poor"].to_numpy() > 0})
    if not poor.sizes[RELIABILITY]:
        return {}
    counts = zip(poor["n_items_poor"].to_numpy(), poor[RELIABILITY].to_numpy(), strict=True)
    where = [f"{int(n):,} at {number(g)}" for n, g in counts]
    n_items = counted(side["posterior"].sizes[ITEM], "item")
    where[0] = where[0].replace(" at ", f" of {n_items} at reliability ")
    worst = poor.isel({RELIABILITY: int(poor["ess_bulk_min"].to_numpy().argmin())})
    name = "ess_bulk_min_item"  # unknown with chunks
    return {
        "at_reference": side.attrs["reference_reliability"] in poor[RELIABILITY].to_numpy(),
        "model": str(side.attrs["model"]), "where": listed(where),
        "ess": f"{float(worst['ess_bulk_min']):,.0f}",
        "item": str(worst[name].item()) if name in worst else "",
        "several": data.sizes[RELIABILITY] > 1,
        "r_hat": f"{float(poor['r_hat_max'].max()):.2f}" if "r_hat_max" in poor else "",
    }  # fmt: skip


def _worst(side: xr.DataTree) -> tuple[float, float] | None:
    """Return the smallest effective sample size and the largest r-hat of draws that vary."""
    if not (evidence.has(side, "diagnostics") and evidence.has(side, "metrics")):
        return None
    draws = side["metrics"].to_dataset()
    varies = draws.max(SAMPLE) > draws.min(SAMPLE)  # constant draws have no r-hat
    data = side["diagnostics"].to_dataset()
    data = data.map(lambda values: values.where(varies.get(values.name, True)))
    values = data.to_array()
    each = [values.sel(diagnostic=list(names)).to_numpy()
            for names in (("ess_bulk", "ess_tail"), ("r_hat",))]  # fmt: skip
    ess, r_hat = (numbers[np.isfinite(numbers)] for numbers in each)
    return (float(ess.min()), float(r_hat.max())) if len(ess) and len(r_hat) else None


def cautions(evaluation: xr.DataTree) -> Topics:
    """Return results that are correct but easily misread."""
    out: Topics = [*design.spelling(evaluation), *design.unlike_others(evaluation)]
    out += _few_units(evaluation)
    out += _no_errors(evaluation)
    out += [("outweighed", facts) for facts in outweighed(evaluation)]
    for side, start in _models(evaluation):
        ess, r_hat = _worst(side) or (np.inf, 0.0)
        rough = ess < ESS or r_hat > R_HAT
        if rough and ess >= convergence.ESS and r_hat <= convergence.R_HAT:
            out.append(("rough", {"ess": f"{ess:,.0f}", "r_hat": f"{r_hat:.3f}", "whose": start}))
        poor = _poor(side)
        if poor and not poor["at_reference"]:
            out.append(("short_chains_of_items", poor))
    weight = evaluation.attrs.get("prior_weight", 0.0)
    if weight > HEAVY_PRIOR:
        trust = evaluation.attrs["reference_reliability"]
        out.append(("heavy_prior", {"reliability": trust, "weight": weight}))
    posterior = evaluation["posterior"].to_dataset()
    if "candidate_size" in posterior.coords and "plausibility" in posterior:
        mean = posterior["plausibility"].mean(list(SAMPLE))
        rest = mean.where(posterior["candidate_size"] > 1, 0.0)
        mass = float(rest.sum(CANDIDATE).median())
        if mass > HEAVY_PRIOR:
            out.append(("unnamed", {"mass": mass}))
    out += [*_never_given(evaluation), *_copies(evaluation), *_of_replicates(evaluation)]
    out += design.people(evaluation)
    out += [*_beyond_ends(evaluation), *design.none_known(evaluation)]
    return [*out, *_in_several_pools(evaluation)]


def _never_given(evaluation: xr.DataTree) -> Topics:
    """Caution if an item's leading label is certain, and no annotator gave it (or put it first)."""
    if evidence.is_of_numbers(evaluation) or not evidence.has(evaluation, "predictions"):
        return []
    data, mean = evaluation["annotations"].to_dataset(), evidence.mean_plausibility(evaluation)
    if LABEL not in data.coords or ITEM not in mean.dims:
        return []
    certainty = evaluation["certainty"].to_dataset()["annotation_certainty"]
    certainty = certainty.sel({RELIABILITY: evaluation.attrs["reference_reliability"]})
    where, top = space(mean), mean.transpose(ITEM, ...).to_numpy().argmax(axis=1)
    code = where.codes[top] if where.dense else where.codes[np.arange(len(top)), top]
    label = tables.match(where.labels, data[LABEL].to_numpy())[code]
    item = tables.match(mean[ITEM].to_numpy(), data[ITEM].to_numpy())
    own, given = (data[f"{dim}_code"].to_numpy().astype(np.int64) for dim in (ITEM, LABEL))
    labelled = np.isin(item, own)
    if "rank" in data:
        own, given = (codes[data["rank"].to_numpy() == 1] for codes in (own, given))
    n = data.sizes[LABEL]
    is_given = np.isin(item * n + label, own * n + given)
    sure = certainty.sel({ITEM: mean[ITEM]}).to_numpy() >= _CERTAIN
    never = sure & labelled & ~is_given & (code >= 0) & (label >= 0)
    if not never.any():
        return []
    names = mean[ITEM].to_numpy()[never].tolist()
    facts = {"items": counted(len(names), "item"), "names": shown(names, 3)}
    return [("never_given", facts | {"ranked": "rank" in data, "one": len(names) == 1})]


_CERTAIN: Final = 0.9
_ODD: Final = 10
"""Minimum number of an annotator's minority labels, all of which a system must give."""
_DIVIDED: Final = 50
"""Minimum number of divided items, on all of which a system must give the most frequent label."""


def _copies(evaluation: xr.DataTree) -> Topics:
    """Caution if a system gives all of an annotator's minority labels, or all divided majorities.

    A majority is divided if the most frequent label has two thirds of an item's labels or less.
    """
    data, pred = (evidence.group(evaluation, name) for name in ("annotations", "predictions"))
    if "label_code" not in pred or "label_code" not in data or {"rank", "member"} & set(data):
        return []
    if pred.sizes.get(POSITION, 0) != 1:
        return []
    item, annotator, label = (
        data[f"{dim}_code"].to_numpy().astype(np.int64) for dim in (ITEM, ANNOTATOR, LABEL)
    )
    counts = label_counts(data)
    lead = np.sort(counts, axis=1)[:, -2:] if counts.shape[1] > 1 else counts[:, [0, 0]] * [0, 1]
    own = counts[item, label]
    most_others = np.where(own == lead[item, 1], lead[item, 0], lead[item, 1])
    odd = own - 1 < most_others
    clear = (lead[:, 1] > lead[:, 0]) & (3 * lead[:, 1] <= 2 * counts.sum(axis=1))
    place = tables.match(data[ITEM].to_numpy(), pred[ITEM].to_numpy())
    code = pred["label_code"].isel({POSITION: 0}).transpose(ITEM, SYSTEM).to_numpy()
    known = np.append(tables.match(pred[LABEL].to_numpy(), data[LABEL].to_numpy()), -1)
    answers = np.where((place >= 0)[:, None], known[code[place]], -1)
    out: Topics = []
    for system, answer in zip(pred[SYSTEM].to_numpy().tolist(), answers.T, strict=True):
        odd_answered = odd & (answer[item] >= 0)
        n = np.bincount(annotator[odd_answered], minlength=data.sizes[ANNOTATOR])
        same = np.bincount(annotator[odd_answered & (answer[item] == label)], minlength=len(n))
        copied, split = np.flatnonzero((n >= _ODD) & (n == same)), clear & (answer >= 0)
        facts: Facts = {"system": Name(system), "annotator": "", "n": int(split.sum())}
        if len(copied):
            name = Name(data[ANNOTATOR].to_numpy()[copied[0]])
            out.append(("copies", facts | {"annotator": name, "n": int(n[copied[0]])}))
        elif facts["n"] >= _DIVIDED and (counts[split, answer[split]] == lead[split, 1]).all():
            out.append(("copies", facts))
    return out


_RARE: Final = 0.01
"""Tail probabilities below this are reported. The limit is small: there are several checks."""
_MORE: Final = 1.5
"""Minimum ratio of the shares of equal lists in the data and in the model. Ratios were .7 to .9 in
600 real cases, and 3 or more if one of three simulated annotators copied a fifth of the lists."""
_APART: Final = 0.05
"""Minimum difference of the agreement on first labels in the data and in the model."""


def _of_replicates(evaluation: xr.DataTree) -> Topics:
    """Caution if lists are equal too often, or the model misses the agreement on first labels."""
    if not evidence.has(evaluation, CHECK):
        return []
    data = evaluation[CHECK].to_dataset()
    rows = np.stack(
        [data["observed"], data["replicated"].mean(SAMPLE), data["tail_probability"]], axis=-1
    )
    by_statistic = dict(zip(data[STATISTIC].to_numpy().tolist(), rows.tolist(), strict=True))
    seen, drawn, tail = by_statistic["percent_agreement"]
    if min(tail, 1.0 - tail) < _RARE and abs(seen - drawn) > _APART:
        # Equal lists are no evidence of copies if the model does not even reproduce first labels.
        facts = {"seen": seen, "drawn": drawn, "more": seen > drawn}
        return [("first_labels", facts | {"settings": _fixed(evaluation.attrs)})]
    seen, drawn, tail = by_statistic.get("identical_lists", (0.0, 0.0, 0.5))
    if tail >= _RARE or seen <= _MORE * drawn:
        return []
    facts = {"seen": seen, "drawn": drawn, "first": "", "second": ""}
    alike = most_alike(evaluation["annotations"].to_dataset(), _ODD)
    if alike is not None and 2 * alike.n_same > alike.n_all:
        facts |= {"first": Name(alike.first), "second": Name(alike.second),
                  "n": alike.n_same, "n_all": alike.n_all}  # fmt: skip
    return [("copied_lists", facts)]


def _fixed(attrs: Mapping[Any, Any]) -> list[str]:
    """Return the settings that affect plausibilities of rankings and are not the defaults."""
    known = {"concentration": LEARNED, "tempering": "likelihood", "unranked": "exact"}
    out = [f"{name}=" for name, value in known.items()
           if attrs.get(f"hyper_{name}", value) != value]  # fmt: skip
    return [*out, *(["reliability="] if attrs["reference_reliability"] != 1.0 else [])]


def _in_several_pools(evaluation: xr.DataTree) -> Topics:
    """Caution if annotators are in several pools, which makes these pools more similar."""
    data = evaluation["annotations"].to_dataset()
    if POOL not in data.coords or not evidence.has(evaluation, "components"):
        return []
    n = in_several_pools(data)
    return [("in_several_pools", {"n": n})] if n else []


def _few_units(evaluation: xr.DataTree) -> Topics:
    """Caution if intervals for new items are drawn from few items, or few clusters of items."""
    if not evidence.has(evaluation, "metrics"):
        return []
    units = sampled_units(evaluation)
    facts = {"n": units.n, "plural": units.plural}
    return [("few_units", facts)] if are_few(evaluation) else []


def are_few(evaluation: xr.DataTree) -> bool:
    """Return whether scored items, or their clusters, are too few for intervals for new items."""
    return sampled_units(evaluation).n < FEW_UNITS


def sampled_units(evaluation: xr.DataTree) -> Units:
    """Return the items on which systems were scored, or the clusters of these items."""
    data = evaluation["annotations"].to_dataset()
    unit = data["cluster_code" if "cluster_code" in data else ITEM].to_numpy()
    if evidence.has(evaluation, "predictions"):
        predicted = evaluation["predictions"][ITEM].to_numpy()
        unit = unit[tables.match(data[ITEM].to_numpy(), predicted) >= 0]
    names, of_item = np.unique(unit, return_inverse=True)
    return Units(of_item, len(names), "clusters" if "cluster_code" in data else "items")


_BOUNDED: Final = "top_1_accuracy"


def _no_errors(evaluation: xr.DataTree) -> Topics:
    """Caution if systems agree with the panel on all items: no bootstrap sample has an error.

    ``rate`` is the one-sided 95 % bound of Clopper & Pearson on the error rate, given no error.
    """
    if not evidence.has(evaluation, "metrics") or _BOUNDED not in evaluation["metrics"]:
        return []
    at = {RELIABILITY: evaluation.attrs["reference_reliability"], SCOPE: NEW}
    draws = evaluation["metrics"].to_dataset()[_BOUNDED].sel(at)
    low, _ = interval(draws)
    names = draws[SYSTEM].to_numpy()[(low >= 1.0).to_numpy()].tolist()
    if not names:
        return []
    units = sampled_units(evaluation)
    rate = 1.0 - _CHANCE ** (1.0 / units.n)
    return [("no_errors", {"names": names, "units": units.counted(units.n), "rate": rate})]


_CHANCE: Final = 0.05
_AT_END: Final = 0.02
"""If this share of scores equals the largest (or smallest), the scale is taken to end there."""
_TIED: Final = 5
"""Minimum number of scores at an end, because one score is always the largest."""
_BEYOND: Final = 0.05
"""Minimum share of items whose interval goes beyond an end, for a caution."""


def _beyond_ends(evaluation: xr.DataTree) -> Topics:
    """Caution if intervals of items' means go beyond the ends of the scale: models know no ends."""
    if not evidence.is_of_numbers(evaluation):
        return []
    data = evaluation["annotations"].to_dataset()
    if "value" not in data:
        return []
    score, means = data["value"].to_numpy(), evidence.means_of_items(evaluation)
    beyond, ends = np.zeros(means.sizes[ITEM], dtype=bool), []
    for end, passed in ((score.min(), means["lower"] < score.min()),
                        (score.max(), means["upper"] > score.max())):  # fmt: skip
        if (score == end).sum() >= max(_AT_END * len(score), _TIED):
            beyond |= passed.to_numpy()
            ends.append(number(float(end)))
    if beyond.mean() < _BEYOND:
        return []
    return [("beyond_ends", {"share": float(beyond.mean()), "ends": " or ".join(ends)})]


# Diagnostics.


def diagnosis(evaluation: xr.DataTree) -> Topics:
    """Return effective sample sizes and r-hats of each model."""
    out: Topics = []
    for side, start in _models(evaluation):
        ess, r_hat = _worst(side) or (0.0, 0.0)
        judged = evidence.has(side, "convergence")
        out.append(("diagnosis", {
            "whose": start, "inference": str(side.attrs.get("inference", "unknown")),
            "ess": f"{ess:,.0f}" if ess else "", "r_hat": f"{r_hat:.3f}",
            "chains": _chains(side), "model": str(side.attrs["model"]),
            "undiagnosed": not judged and int(side.attrs.get("markov_chains", 0)),
            "prior": _prior(side),
            "of_labels": _of_labels(side),
        }))  # fmt: skip
    for group, (title, _) in _GROUPS.items():
        if evidence.has(evaluation, group):
            data = evaluation[group].to_dataset()
            attrs = data.attrs
            out.append(("group_diagnosis", {
                "title": title, "draws": f"{data.sizes['chain'] * data.sizes['draw']:,}",
                "inference": attrs["inference"],
                "ess": f"{attrs['ess_bulk_min']:,.0f}" if "ess_bulk_min" in attrs else "",
                "r_hat": f"{attrs['r_hat_max']:.3f}" if "r_hat_max" in attrs else "",
            }))  # fmt: skip
    return out


def _of_labels(side: xr.DataTree) -> Facts | None:
    """Return diagnostics of the fits of labels, if each label has a fit."""
    attrs = side["posterior"].attrs
    if side.attrs["kind"] != "set" or "ess_bulk_min" not in attrs:
        return None
    return {
        "ess": f"{attrs['ess_bulk_min']:,.0f}", "worst": attrs["ess_bulk_min_item"],
        "r_hat": f"{attrs['r_hat_max']:.3f}" if "r_hat_max" in attrs else "",
    }  # fmt: skip


def _chains(side: xr.DataTree) -> Facts | None:
    """Return diagnostics of the items' chains at the reference reliability, if there are any."""
    items, _ = doubts.chains_of(side)
    if not items:
        return None
    n_items, poor = side["posterior"].sizes[ITEM], int(items["n_items_poor"])
    return {
        "reliability": side.attrs["reference_reliability"],
        "ess": f"{items['ess_bulk_min']:,.0f}", "median": _median(items),
        "r_hat": f"{items['r_hat_max']:.3f}" if "r_hat_max" in items else "",
        "poor": f"{poor:,} of {counted(n_items, 'item')} {'has' if poor == 1 else 'have'}",
    }  # fmt: skip


def _median(here: xr.Dataset | Facts) -> str:
    """Return the effective sample size of the median item; "" with chunks, where it is unknown."""
    name = "ess_bulk_median"
    return f"{float(here[name]):,.0f}" if name in here else ""


def convergence_tables(evaluation: xr.DataTree) -> list[Table]:
    """Return diagnostics of the items' chains at each reliability."""
    out: list[Table] = []
    head = ["Reliability", "Smallest effective sample size", "In the median item", "Largest r-hat",
            "Items that need more"]  # fmt: skip
    for side in sides(evaluation):
        if evidence.has(side, "convergence") and not doubts.of_prior(side):
            data = side["convergence"].to_dataset()
            rows = []
            for here in (data.isel({RELIABILITY: k}) for k in range(data.sizes[RELIABILITY])):
                r_hat = f"{float(here['r_hat_max']):.3f}" if "r_hat_max" in here else "one chain"
                rows.append([
                    number(float(here[RELIABILITY])), f"{float(here['ess_bulk_min']):,.0f}",
                    _median(here) or "unknown", r_hat,
                    f"{int(here['n_items_poor']):,}",
                ])  # fmt: skip
            title = f"Chains of {side.attrs['model']}, by item"
            out.append(Table(f"table-chains-{len(out)}", title, head, [Body(-1, rows)]))
    return out


# Unreliable numbers: marked in each section, figure and table.


def of_model(side: xr.DataTree, values: xr.Dataset | None, at: float | None = None) -> str:
    """Return the reason not to rely on a model at a reliability, by default its reference."""
    if values is None:
        return doubts.of_metrics(side, at)
    place = float(side.attrs["reference_reliability"]) if at is None else at
    return doubts.reasons(values[DOUBT].sel({RELIABILITY: place}).to_numpy().ravel())


def along(side: xr.DataTree, values: xr.Dataset | None) -> str:
    """Return the reason not to rely on a model at any reliability."""
    if values is None:
        return doubts.reasons([doubts.of_metrics(side, at) for at in evidence.reliabilities(side)])
    return doubts.reasons(values[DOUBT].to_numpy().ravel())


def of_both(evaluation: xr.DataTree, numbers: list[xr.Dataset]) -> str:
    """Return the reason not to rely on two models at their references."""
    models = enumerate(sides(evaluation))
    return doubts.reasons([of_model(side, numbers[k] if numbers else None) for k, side in models])


def of_group(evaluation: xr.DataTree, group: str) -> str:
    """Return the reason not to rely on rows of the summary of a group."""
    return doubts.reasons(summary(evaluation, group)[DOUBT])


def marked(part: Any, reason: str, *, page: bool = True) -> Any:
    """Return a table, a figure, a list of these, or a section, with the reason if there is one."""
    if not reason or part is None:
        return part
    if isinstance(part, list):
        return [marked(each, reason) for each in part]
    if isinstance(part, Table | Shown):
        return replace(part, reason=reason)
    assert isinstance(part, Section)
    warning = sentences("unreliable", {"reason": reason}, page=page)
    return replace(
        part, words=[*warning, *part.words], picture=marked(part.picture, reason),
        tables=marked(part.tables, reason),
    )  # fmt: skip
