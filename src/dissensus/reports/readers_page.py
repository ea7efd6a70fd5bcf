"""The page of a reader study: areas under ROC curves, and whether to trust them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from numbers import Real
from typing import Any, Final

import numpy as np
import xarray as xr

from dissensus import plots
from dissensus.dims import MODALITY, READER, SAMPLE, SYSTEM, THRESHOLD, other
from dissensus.errors import ArgumentError
from dissensus.evaluation.evidence import summary
from dissensus.evaluation.next_votes import SURE
from dissensus.evaluation.readers import OBSERVED, POSITIVE, QUANTITY
from dissensus.plots._source import interval_settings
from dissensus.reports import evidence
from dissensus.reports.evidence import Facts
from dissensus.reports.page import frame
from dissensus.reports.sections import Part, Section
from dissensus.reports.sentences import Name, environment, interval, sentences
from dissensus.reports.svg import picture
from dissensus.reports.tables import Body, Table
from dissensus.reports.trust import Box
from dissensus.reports.verdict import LIKELY
from dissensus.sampling.intervals import spread
from dissensus.statistics._reader_words import FEW_CASES, FEW_READERS, concerns
from dissensus.studies.planning.readers import plan_readers
from dissensus.wording import counted, listed, number, probability, share, short, short_names

_SOURCE: Final = "reader_sentences.html"
_DRAWS: Final = (
    "The draws use the posterior draws of the fit in truth=. Check the convergence of that fit.",
    "Draws are independent. There are no Markov chains to check.",
)
_NONE: Final = 1e-9
"""Smaller standard deviations come from rounding."""
_NAME: Final = 13
"""Maximum length of a name: a row's heading may have two names, and has at most 40 letters."""
_DIGITS: Final = 3
"""Areas are reported with three decimals in this field."""
_HIDDEN: Final = ("in_words", "unit", "units_positive", "units_negative", "truth_known",
                  "in_truth", "modalities", "n_readers")  # fmt: skip


def page(study: xr.Dataset, title: str | None = None) -> str:
    """Return the page as HTML."""
    ordered = best_first(study)
    warnings, rows = concerns(study), summary(ordered)
    return (
        environment(page=True)
        .get_template("sections.html")
        .render(
            **frame(),
            title=title or _title(study),
            troubles=[warnings[name] for name in ("chains", "direction") if name in warnings],
            verdict=_sentences("headline", headline(ordered, rows)),
            lead_picture=picture(
                "reader_study",
                {"interval": evidence.interval_title(), "areas": study.attrs["in_words"],
                 "systems": study.sizes.get(SYSTEM, 0)},
                # In the order of the data: colours are those of `plots.reader_study`.
                lambda **size: plots.reader_study(study, **size), name="verdict",
            ),
            lead_table=averages(ordered, rows),
            boxes=boxes(study, warnings),
            cautions=[warnings[name] for name in ("perfect", "grades", "partial")
                      if name in warnings],
            steps=steps(study, warnings),
            next_table=None,
            opening={
                "data": _sentences("data", data(study)),
                "intervals": _sentences("intervals", _intervals(study)),
            },
            sections=list(_parts(ordered, rows)),
            control={"reference": -1, "wanted": False, "values": []},
            data=[(str(key).replace("_", " "), _plain(value)) for key, value in study.attrs.items()
                  if key not in _HIDDEN and not str(key).startswith(("new_", "areas_"))],
            cards_of=[],
            diagnosis=[_diagnosis(study.attrs)],
            chains=[],
            provenance=[],
        )
    )  # fmt: skip


def best_first(study: xr.Dataset) -> xr.Dataset:
    """Return a study in which modalities with larger areas come first, also in differences."""
    order = (-study["average_auc"].mean(SAMPLE)).to_numpy().argsort(kind="stable")
    if (order[:-1] < order[1:]).all():
        return study
    if len(order) == 2:  # differences have no modalities: the first minus the second
        names = [n for n in study.data_vars if str(n).endswith("difference")]
        turned = [n for n in names if not str(n).startswith("system_")]
        study = study.assign({n: (-study[n]).assign_attrs(study[n].attrs) for n in turned})
    out = study.isel({dim: order for dim in (MODALITY, other(MODALITY)) if dim in study.dims})
    return out.assign_attrs(modalities=[str(name) for name in out[MODALITY].to_numpy().tolist()])


def _diagnosis(about: Mapping[Any, Any]) -> str:
    """Return a sentence on the kind of the draws, with their diagnostics."""
    if about.get("areas") != "latent":
        return _DRAWS[int(about["truth_known"])]
    if "areas_r_hat_max" not in about:
        return "Areas are from Markov chains that are too short to be checked."
    least = min(about["areas_ess_bulk_min"], about["areas_ess_tail_min"])
    return (
        f"Areas are from Markov chains: at least {least:.0f} effective draws, r-hat up to "
        f"{about['areas_r_hat_max']:.2f}."
    )


def _sentences(topic: str, facts: Facts) -> list[str]:
    return sentences(topic, facts, page=True, source=_SOURCE)


def _plain(value: Any) -> str:
    return number(float(value)) if isinstance(value, Real) else short(str(value), 200)


def _about(count: float) -> str:
    """Write a number of cases, which is an expectation if the truth is a fit."""
    return f"{count:,.0f}" if float(count).is_integer() else f"about {count:,.0f}"


def _title(study: xr.Dataset) -> str:
    readers = counted(study.sizes[READER], "reader")
    return f"{readers} on {counted(study.attrs['n_cases'], 'case')}"


def data(study: xr.Dataset) -> Facts:
    """Return the numbers of readers, modalities, systems and cases."""
    about = study.attrs
    return {
        "n_readers": study.sizes[READER], "n_modalities": study.sizes[MODALITY],
        "systems": study.sizes.get(SYSTEM, 0), "n_cases": about["n_cases"],
        "n_positive": _about(about["n_positive"]),
    }  # fmt: skip


def headline(study: xr.Dataset, rows: Any) -> Facts:
    """Return areas, the best modality with its probability, and systems against readers."""
    average, names = study["average_auc"], study[MODALITY].to_numpy().tolist()
    areas = [
        {"name": row[MODALITY], **row}
        for row in rows[rows[QUANTITY] == "average_auc"].to_dict("records")
    ]
    fixed = float(average.std(SAMPLE).max()) < _NONE
    facts: Facts = {"areas": areas, "systems": _systems(rows), "fixed": fixed}
    if len(names) > 1:
        order = average.mean(SAMPLE).to_numpy().argsort(kind="stable")[::-1]
        best, second = (average.isel({MODALITY: int(k)}, drop=True) for k in order[:2])
        chance = float((best > second).mean())
        facts |= {
            "best": names[order[0]], "second": names[order[1]], "chance": chance,
            "state": "sure" if chance >= SURE else "likely" if chance >= LIKELY else "open",
            "equal": float(abs(best - second).max()) < _NONE,
            "difference": {name: float(part) for name, part in spread(best - second).items()},
        }  # fmt: skip
    return facts


def _systems(rows: Any) -> list[Facts]:
    """Return each system's area, and the probability that it exceeds the readers' average."""
    out = []
    for row in rows[rows[QUANTITY] == "system_auc"].to_dict("records"):
        here = rows[(rows[QUANTITY] == "system_difference") & (rows[SYSTEM] == row[SYSTEM])]
        chances = [
            {"name": gap[MODALITY], "chance": gap[POSITIVE]} for gap in here.to_dict("records")
        ]
        out.append({"name": row[SYSTEM], **row, "beside": chances})
    return out


def _intervals(study: xr.Dataset) -> Facts:
    about = study.attrs
    return {
        "name": evidence.interval_title(),
        "fixed": not (about["new_readers"] or about["new_cases"]),
        "readers": "new readers like these" if about["new_readers"] else "these readers",
        "cases": "new cases like these" if about["new_cases"] else "these cases",
        "latent": about.get("areas") == "latent",
    }  # fmt: skip


# Tables.


_AREAS: Final = ("average_auc", "difference", "system_auc", "system_difference")
_OTHERS: Final = {
    "sensitivity": "Sensitivities", "specificity": "Specificities",
    "partial_auc": "Mean sensitivities at false positive rates up to {}",
}  # fmt: skip


def averages(study: xr.Dataset, rows: Any) -> Table:
    """Return average areas, their differences, and systems' areas and differences from readers."""
    note = "Observed: for these readers and cases."
    return _table("table-verdict", "Areas under ROC curves, averages over readers",
                  rows[rows[QUANTITY].isin(_AREAS)], study, note)  # fmt: skip


def _table(id_: str, title: str, rows: Any, study: xr.Dataset, note: str = "") -> Table:
    """Return rows of a summary as a table; the rows of each threshold have a heading."""
    bodies, modalities, systems = [], _shortened(study, MODALITY), _shortened(study, SYSTEM)
    for threshold, part in rows.groupby(THRESHOLD, sort=False):
        body = [
            [
                Name(_of(row, modalities, systems)), share(row["mean"], _DIGITS),
                interval(row, _DIGITS), _known(row[OBSERVED], share, _DIGITS),
                _known(row[POSITIVE], probability),
            ]
            for row in part.to_dict("records")
        ]  # fmt: skip
        heading = "" if threshold == "" else f"Readers' scores of at least {_score(threshold)}"
        bodies.append(Body(-1, body, heading))
    head = ["", "Mean", f"Interval, {evidence.level()}", "Observed", "P(> 0)"]
    return Table(id_, title, list(head), bodies, note, stacked=True)


def _score(threshold: Any) -> str:
    return f"{threshold:g}" if isinstance(threshold, float) else short(str(threshold))


def _known(value: float, write: Any, *how: Any) -> str:
    return "" if np.isnan(value) else str(write(value, *how))


def _shortened(study: xr.Dataset, dim: str) -> dict[Any, str]:
    """Return short names by full names; names that differ stay different."""
    names = study[dim].to_numpy().tolist() if dim in study.coords else []
    return dict(zip(names, short_names(names, _NAME), strict=True))


def _of(row: Any, modalities: dict[Any, str], systems: dict[Any, str]) -> str:
    """Return the name of a row: a modality, a difference, or a system."""
    modality = modalities.get(row[MODALITY], "") if len(modalities) > 1 else "readers"
    if row[QUANTITY].startswith("system_"):
        name = f"system {systems[row[SYSTEM]]}"
        return f"{name} minus {modality}" if row[QUANTITY].endswith("difference") else name
    if row[QUANTITY].endswith("difference"):
        pair = [row[MODALITY], row[other(MODALITY)]] if row[MODALITY] != "" else modalities
        return " minus ".join(modalities[side] for side in pair)
    return modality


def _parts(study: xr.Dataset, rows: Any) -> Iterator[Part]:
    """Yield the collapsed sections."""
    note, tables = _thresholds_of_systems(study), []
    for measure, title in _OTHERS.items():
        here = rows[QUANTITY].isin([
            f"average_{measure}", f"{measure}_difference", f"system_{measure}",
            f"system_{measure}_difference",
        ])  # fmt: skip
        if here.any():
            title = title.format(number(study.attrs["max_false_positive_rate"]))
            own = note if THRESHOLD in study[f"average_{measure}"].dims else ""
            tables.append(_table(f"table-{measure}", title, rows[here], study, own))
    if tables:
        yield Part("rates", "Sensitivities, specificities and partial areas", Section([], tables))
    words = _sentences("spread", _spread(rows))
    yield Part("readers", "How do the readers differ?", Section(words, [_readers(study)]))


def _thresholds_of_systems(study: xr.Dataset) -> str:
    """Return the thresholds of systems in words; "" if they have none."""
    if "system_threshold" not in study:
        return ""
    each = [
        f"{name}: {listed([_score(float(x)) for x in row])}"
        for name, row in zip(
            _shortened(study, SYSTEM).values(), study["system_threshold"].values, strict=True
        )
    ]
    return f"Systems have thresholds of their own. {'; '.join(each)}."


def _spread(rows: Any) -> Facts:
    """Return the standard deviations between readers, for new readers."""
    known = {row[QUANTITY]: row for row in rows.to_dict("records")}
    spreads = {name: known[name] for name in ("reader_sd", "interaction_sd") if name in known}
    return spreads and {"interaction_sd": None, **spreads}


def _readers(study: xr.Dataset) -> Table:
    """Return each reader's area with each modality."""
    parts = spread(study["auc"])
    rows = []
    has_one_modality = study.sizes[MODALITY] == 1
    for r, reader in enumerate(study[READER].to_numpy().tolist()):
        for m, modality in enumerate(study[MODALITY].to_numpy().tolist()):
            here = {READER: r, MODALITY: m}
            row = {name: float(part.isel(here)) for name, part in parts.items()}
            seen = float(study["observed_auc"].isel(here))
            if np.isfinite(seen):
                names = [Name(reader)] if has_one_modality else [Name(reader), Name(modality)]
                rows.append([*names, share(seen, _DIGITS), interval(row, _DIGITS)])
    head = ["Reader", "Observed", f"Interval, {evidence.level()}"]
    head = head if has_one_modality else [head[0], "Modality", *head[1:]]
    note = f"Intervals are for {_intervals(study)['cases']}."
    if study.attrs.get("areas") == "latent":
        note += " Observed areas count equal scores half; intervals are of latent scores."
    return Table("table-readers", "Areas of readers", list(head), [Body(-1, rows)], note)


# Trust, and what to do next.


def boxes(study: xr.Dataset, warnings: dict[str, str]) -> list[Box]:
    """Return the checks of a reader study; ``warnings`` are its `concerns`."""
    about = study.attrs
    unit = about["unit"]
    n = int(study["observed_auc"].notnull().sum(READER).min())
    known = f"Labels are given as the truth; the positive label is {short(about['positive'])}."
    counts = " and ".join(
        f"{_about(about[f'units_{kind}'])} {kind}" for kind in ("positive", "negative")
    )
    people = counted(n, "reader")
    if study.sizes[MODALITY] > 1:
        people = f"At least {people} with each modality"
    if not about["new_readers"]:
        people += "; averages are for these readers only"
    return [
        _box("Is the truth known?", warnings.get("truth"), known,
             "Fine means: the truth is given as labels, not as a fit. Whether these labels are "
             "right is not checked.",
             "Find out the true labels of cases drawn at random, and repeat the study with these "
             "cases."),
        _box("Are there enough cases?", warnings.get("cases"), f"{counts} {unit}.",
             f"Fine means: at least {FEW_CASES} of both kinds, or areas for these cases only.",
             f"Get more {unit}."),
        _box("Are there enough readers?", warnings.get("readers"), f"{people}.",
             f"Fine means: {FEW_READERS} or more with each modality, if averages are for new "
             "readers.", "Get more readers."),
        _box("Do high scores mean positive?", warnings.get("direction"),
             "No average area is below 1/2 with a probability above .95.",
             "Fine means: the probability of an average area below 1/2 is at most .95 for each "
             "modality.",
             "Check whether high scores mean positive. If not, reverse the scores.", "stop"),
    ]  # fmt: skip


def _box(
    question: str, concern: str | None, fine: str, rule: str, remedy: str, state: str = "careful"
) -> Box:
    if concern is None:
        return Box(question, "fine", fine, rule)
    return Box(question, state, concern, rule, remedy)


def steps(study: xr.Dataset, warnings: dict[str, str]) -> list[str]:
    """Return the next steps: find out true labels, and plan a further study."""
    if "direction" in warnings:
        return [
            "Check whether high scores mean positive. If not, reverse the scores and repeat "
            "the analysis."
        ]
    out = []
    if "truth" in warnings:
        out.append("Find out the true labels of some cases, drawn at random.")
    if not (study.attrs["new_readers"] and study.attrs["new_cases"]):
        return [*out, "To plan a further study, analyse this one for new readers and new cases."]
    if study.sizes[MODALITY] > 2:
        return [*out, "To plan a further study, analyse two modalities at a time."]
    try:
        prob = interval_settings()[1]
        plan = plan_readers(study, (5, 10, 20), (100, 200, 400, 800), prob=prob, random_seed=1)
    except ArgumentError as problem:
        why = f"expected {problem.expected}; found {problem.found}"
        return [*out, f"A further study cannot be planned: {why}."]
    return [*out, f"Plan a further study. {plan.attrs['in_words']}"]
