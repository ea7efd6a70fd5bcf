"""Filling the template: everything on the page, in the order in which it is read."""

from __future__ import annotations

import re
import unicodedata
from base64 import b64encode
from functools import cache
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

import numpy as np
import xarray as xr
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from dissensus import models
from dissensus.data.tables import match
from dissensus.dims import ITEM, RELIABILITY, SCOPE, SYSTEM
from dissensus.evaluation.summary import summary
from dissensus.plots import _source as pieces
from dissensus.plots._source import THESE
from dissensus.reports import (
    accuracy,
    agreement,
    categories,
    checks,
    components,
    ground_truth,
    items,
    pictures,
    tables,
    two_models,
    words,
)
from dissensus.reports import numbers as facts
from dissensus.reports.checks import marked
from dissensus.reports.contents import describe_annotations
from dissensus.reports.language import Link, Name, Sentence, joined, sentence
from dissensus.reports.tables import interval
from dissensus.reports.words import digits
from dissensus.wording import (
    counted,
    digits_for,
    metric_title,
    number,
    percent,
    probability,
    share,
    short,
    spoken_probability,
)

# The opening of a report: leading system, average annotator, and trends.


# What the opening of a report says of the leading system and the average annotator.


def against_each_other(evaluation: xr.DataTree, leader: Any) -> list[Sentence]:
    """Say whether a system is closer to the annotators than they are to each other, how surely.

    Nothing where that is not known: no item has two annotators, or these always agree.
    """
    if "discrepancy" not in evaluation.children:
        return []
    data = evaluation["discrepancy"].to_dataset()
    if "discrepancy_ratio" not in data:
        return []
    frame = summary(evaluation, "statistics")
    rows = frame[frame["statistic"] == "discrepancy_ratio"].set_index(SYSTEM)
    row = rows.loc[leader]
    draws = data["discrepancy_ratio"].sel({SYSTEM: leader})
    if not np.isfinite(row["observed"]) or bool(draws.isnull().any()):
        return []
    digits = digits_for((rows["upper"] - rows["lower"]).to_list())
    closer = float((draws < 1).mean())
    what, sure = max(
        ("closer to the annotators than they are to each other", closer),
        ("farther from the annotators than they are from each other", float((draws > 1).mean())),
        ("as far from the annotators as they are from each other", float((draws == 1).mean())),
        key=lambda one: one[1],
    )
    _, prob = facts.settings()
    out = [sentence(
        "Against the average annotator: {name} is {what} with probability {p} (discrepancy ratio "
        "{ratio}, {level} interval {interval} on new items).",
        name=Name(str(leader)), what=what, p=spoken_probability(sure),
        ratio=share(row["observed"], digits), level=percent(prob), interval=interval(row, digits),
    )]  # fmt: skip
    margin = float(data.attrs["margin"])
    if closer < 0.95 and margin > 0 and "non_inferiority" in data:
        out.append(sentence(
            "It is farther by less than {margin}, if at all, with probability {p}.",
            margin=percent(margin),
            p=spoken_probability(float(data["non_inferiority"].sel({SYSTEM: leader}))),
        ))  # fmt: skip
    return out


# What changes along reliability, and for how many items the labels settle anything, in words.


def along_words(values: xr.Dataset) -> list[Sentence]:
    """Say what changes along reliability: who leads, the order, the level.

    ``values`` are the `numbers` of one metric.
    """
    here = values.sel({SCOPE: THESE})
    trust = [float(value) for value in here[RELIABILITY].to_numpy()]
    if len(trust) < 2:
        return []
    ends = f"from {number(trust[0])} to {number(trust[-1])}"
    found = facts.leaders(here)
    several = here.sizes[SYSTEM] > 1
    d = digits(values)
    last = found[-1][0]
    level = here["mean"].sel({SYSTEM: last})
    low, high = float(level[0]), float(level[-1])
    moves = sentence(
        "the {metric} of {name} goes from {low} to {high}",
        metric=metric_title(str(here["metric"].item())), name=Name(str(last)),
        low=share(low, d), high=share(high, d),
    )  # fmt: skip
    along = sentence("Along reliability {ends}, {moves}.", ends=ends, moves=moves)
    if not several:
        return [along]
    if len(set(found)) == 1:
        verb = "leads" if len(found[0]) == 1 else "share the lead"
        who = sentence("{who} {verb} at every reliability {ends}",
                       who=joined(found[0]), verb=verb, ends=ends)  # fmt: skip
        if here.sizes[SYSTEM] == 2:
            return [(*who, "."), along]
        order = (
            "the order of the systems does not change"
            if facts.same_order(here)
            else "further down the order changes"
        )
        return [sentence("{who}; {order}.", who=who, order=order), along]
    return [(*sentence("Which system leads depends on how far the annotators are trusted: "),
             *_segments(found, trust), "."), along]  # fmt: skip


def _segments(found: list[tuple[Any, ...]], trust: list[float]) -> Sentence:
    """Write runs of the same leader with the reliabilities they cover."""
    runs: list[tuple[tuple[Any, ...], float, float]] = []
    for who, value in zip(found, trust, strict=True):
        if runs and runs[-1][0] == who:
            runs[-1] = (who, runs[-1][1], value)
        else:
            runs.append((who, value, value))
    parts: list[str] = []
    for place, (who, start, end) in enumerate(runs):
        if place:
            parts.append(", ")
        parts.extend(joined(who))
        span = f"{number(start)} to {number(end)}" if end > start else number(start)
        parts.append(f" at {span}")
    return tuple(parts)


def certainty_words(evaluation: xr.DataTree, reliability: float) -> list[Sentence]:
    """Say for how many items the annotations settle the leading label."""
    doubt = facts.certainty_shares(evaluation).sel(top=1, below=0.9)
    here = share(float(doubt.sel({RELIABILITY: reliability})))
    alone = not facts.has(evaluation, "metrics")
    where = "The"
    if facts.knows_reliability(evaluation) and alone:
        where = f"At reliability {number(reliability)}, the"
    out = [sentence(
        "{where} annotations leave the leading label in doubt (certainty below .90) for {share} of "
        "the items.", where=where, share=here,
    )]  # fmt: skip
    if alone:
        mean = facts.mean_certainty(evaluation).sel({"top": 1, RELIABILITY: reliability})
        out.append(sentence("Averaged over items, its certainty is {mean}.",
                            mean=share(float(mean))))  # fmt: skip
    return out


def doubt_words(evaluation: xr.DataTree) -> list[Sentence]:
    """Say how the items in doubt become fewer along reliability."""
    trust = facts.reliabilities(evaluation)
    if len(trust) < 2:
        return []
    doubt = facts.certainty_shares(evaluation).sel(top=1, below=0.9)
    low, high = (share(float(doubt.sel({RELIABILITY: trust[k]}))) for k in (0, -1))
    return [sentence(
        "The share of items in doubt goes from {low} at reliability {a} to {high} at {b}.",
        low=low, high=high, a=number(trust[0]), b=number(trust[-1]),
    )]  # fmt: skip


# The first words of a model's card, out of its docstring.


_SIGNS: Final = {"infty": "∞", "to": "→", "times": "·", "le": "≤", "ge": "≥"}
_WANTED: Final = ("The story.", "Priors and why.", "When to use it.")


def card(docstring: str | None) -> tuple[str, list[str]]:
    r"""Return a card's title and the paragraphs an evaluator should have read.

    Examples
    --------
    >>> card("Coin: heads or tails.\n\nThe story. It\n:math:`\\theta_i` falls.\n\nSource: X.")
    ('Coin: heads or tails.', ['The story. It θi falls.'])
    """
    paragraphs = [part for part in re.split(r"\n\s*\n", (docstring or "").strip()) if part.strip()]
    if not paragraphs:
        return "", []
    kept = [part for part in paragraphs[1:] if part.startswith(_WANTED)]
    return _plain(paragraphs[0]), [_plain(part) for part in kept]


def _plain(text: str) -> str:
    """Write reStructuredText as plain text; simple mathematics as it is read aloud."""
    text = re.sub(r"\s+", " ", text).strip()
    text = re.sub(r":math:`([^`]*)`", lambda found: _mathematics(found.group(1)), text)
    return text.replace("``", "").replace("`", "").replace("**", "").replace("*", "")


def _mathematics(formula: str) -> str:
    formula = re.sub(r"\\([A-Za-z]+)", lambda found: _sign(found.group(1)), formula)
    return re.sub(r"[_{}\\]", "", formula).strip()


def _sign(name: str) -> str:
    """Return the letter or sign that a TeX command stands for; nothing for layout commands."""
    size = "CAPITAL" if name[0].isupper() else "SMALL"
    greek = "LAMDA" if name.lower() == "lambda" else name.upper()
    try:
        return unicodedata.lookup(f"GREEK {size} LETTER {greek}")
    except KeyError:
        return _SIGNS.get(name, "")


_HERE = Path(__file__).parent
_NAME, _TITLE = 40, 1000


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(_HERE),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["name"] = _name
    environment.filters["probability"] = probability
    environment.filters["tint"] = _tint
    environment.filters["breakable"] = _breakable
    environment.tests["link"] = lambda value: isinstance(value, Link)
    environment.tests["from_data"] = lambda value: isinstance(value, Name)
    return environment


def page(evaluation: xr.DataTree, title: str | None = None) -> str:
    """Return the whole page as text."""
    numbers = two_models.both(evaluation) if facts.has(evaluation, "metrics") else []
    values = numbers[0] if numbers else None
    any_doubt = checks.along(evaluation, values)
    unclear = items.cards(evaluation, items.least_certain(evaluation))
    return (
        _environment()
        .get_template("page.html")
        .render(
            style=Markup(_file("style.css")),  # noqa: S704 (our own file)
            script=Markup(_file("page.js")),  # noqa: S704 (our own file)
            script_hash=_hash(_file("page.js")),
            title=title or _title(evaluation, values),
            troubles=checks.troubles(evaluation),
            cautions=checks.cautions(evaluation),
            opening=_opening(evaluation, values),
            models=_models(evaluation, numbers),
            control=_control(evaluation, values),
            doubt=checks.of_model(evaluation, None),
            pictures=checks.pictures(
                list(pictures.pictures(evaluation, values)),
                checks.of_model(evaluation, values),
                any_doubt,
            ),
            metrics=None
            if values is None
            else marked(tables.metric_table(evaluation, values), any_doubt),
            better=None
            if values is None
            else marked(tables.better_table(evaluation, values), any_doubt),
            certainty_tables=marked(tables.certainty_tables(evaluation), any_doubt),
            **_sections(evaluation, any_doubt),
            cards=unclear,
            overview=items.overview(evaluation, unclear),
            names=[str(side.attrs["model"]) for side in pieces.sides(evaluation)],
            n_items=evaluation["annotations"].sizes[ITEM],
            intervals=words.interval_words(scopes=values is not None),
            interval_name=words.interval_level(),
            data=_data(evaluation),
            cards_of=[_model(side) for side in pieces.sides(evaluation)],
            diagnosis=checks.diagnosis(evaluation),
            chains=checks.convergence_tables(evaluation),
            provenance=_provenance(evaluation),
        )
    )


def _sections(evaluation: xr.DataTree, of_model: str) -> dict[str, Any]:
    """Return the sections that not every evaluation has, with doubts of their own."""
    made = {
        "agreement": (agreement.section(evaluation), "statistics"),
        "components": (components.section(evaluation), "components"),
        "accuracy": (accuracy.section(evaluation), "accuracy"),
        "ground_truth": (ground_truth.section(evaluation), "weighted_reliability"),
    }
    out = {name: part and marked(part, checks.of_group(evaluation, of))
           for name, (part, of) in made.items()}  # fmt: skip
    return out | {"categories": marked(categories.section(evaluation), of_model)}


def _file(name: str) -> str:
    return (_HERE / name).read_text(encoding="utf-8")


def _hash(script: str) -> str:
    """Return what the page's policy asks of a script: only ours has this hash, and only it runs."""
    return f"sha256-{b64encode(sha256(script.encode()).digest()).decode()}"


def _name(value: object) -> Markup:
    """Write a name from the data: isolated, short, and in full for whoever points at it.

    In full up to a thousand letters, as a page that repeats a longer name would not open.
    """
    full = str(value)
    text = short(full, _NAME)
    if text == full:
        return Markup("<bdi>{}</bdi>").format(text)
    return Markup('<bdi title="{}">{}</bdi>').format(short(full, _TITLE), text)


def _breakable(name: str) -> Markup:
    """Let a model's name break where its words end."""
    return Markup("_<wbr>").join(name.split("_"))


def _tint(value: float) -> str:
    """Return the class of a cell that shows a probability."""
    steps = ((0.95, "sure"), (0.8, "likely"), (0.2, "open"), (0.05, "unlikely"))
    return next((name for limit, name in steps if value >= limit), "surely-not")


def _title(evaluation: xr.DataTree, values: xr.Dataset | None) -> str:
    items = evaluation["annotations"][ITEM].to_numpy()
    if values is None:
        return f"The annotations of {counted(len(items), 'item')}"
    left = _without_predictions(evaluation)
    n_items = counted(len(items) - left, "item")
    return f"{counted(values.sizes[SYSTEM], 'system')} on {n_items}"


def _without_predictions(evaluation: xr.DataTree) -> int:
    """Count the annotated items that were dropped for having no predictions."""
    items, predicted = (
        evaluation[name][ITEM].to_numpy() for name in ("annotations", "predictions")
    )
    return int((match(items, predicted) < 0).sum())


def _opening(evaluation: xr.DataTree, values: xr.Dataset | None) -> dict[str, Any]:
    """Return the sentences that open the page, those of each reliability apart."""
    reference = float(evaluation.attrs["reference_reliability"])
    trust = facts.reliabilities(evaluation)
    at: list[tuple[int, list[Sentence]]] = []
    after, beside = [], []
    if values is not None:
        first = str(values["metric"].to_numpy()[0])
        one = values.sel(metric=first)
        for place in tables.places(evaluation, values):
            said = words.leader_words(evaluation, one, first, trust[place])
            why = checks.of_model(evaluation, values, trust[place])
            said = [*checks.in_words(why), *said]
            at.append((place, said + certainty_words(evaluation, trust[place])))
        along = checks.along(evaluation, values) if len(trust) > 1 else ""
        after = [*checks.in_words(along), *along_words(one)]
        after += words.truth_words(values.sel({RELIABILITY: reference}))
        ranked = facts.ordered(one.sel({RELIABILITY: reference, SCOPE: THESE}))
        leader = ranked[SYSTEM].to_numpy().tolist()[0]
        beside = [*words.answer_words(evaluation, leader), *against_each_other(evaluation, leader)]
    else:
        for place, value in enumerate(trust):
            unsure = checks.in_words(checks.of_model(evaluation, None, value))
            at.append((place, [*unsure, *certainty_words(evaluation, value)]))
    after += doubt_words(evaluation)
    opening = words.data_words(evaluation)
    asked = words.true_label_words(evaluation)
    return {"data": opening, "asked": asked, "at": at, "against": beside, "after": after}


def _models(evaluation: xr.DataTree, numbers: list[xr.Dataset]) -> dict[str, Any] | None:
    """Return what the section on two models shows, where there are two."""
    if len(pieces.sides(evaluation)) < 2:
        return None
    why = checks.of_both(evaluation, numbers)
    return {
        "doubt": why,
        "verdict": two_models.verdict(evaluation, numbers),
        "picture": marked(pictures.models(evaluation, numbers), why) if numbers else None,
        "table": marked(tables.models_table(evaluation, numbers), why),
        "cards": items.cards(evaluation, two_models.furthest(two_models.items(evaluation))),
    }


def _control(evaluation: xr.DataTree, values: xr.Dataset | None) -> dict[str, Any]:
    """Return what the choice of a reliability needs."""
    trust = facts.reliabilities(evaluation)
    reference = trust.index(float(evaluation.attrs["reference_reliability"]))
    whole = values is None or len(tables.places(evaluation, values)) == len(trust)
    return {
        "reference": reference,
        "values": [number(value) for value in trust],
        "wanted": len(trust) > 1 and whole,
    }


def _data(evaluation: xr.DataTree) -> list[tuple[str, str]]:
    annotations = evaluation["annotations"].to_dataset()
    rows = [(what, _bounded(value)) for what, value in describe_annotations(annotations)]
    if "predictions" in evaluation.children:
        predictions = evaluation["predictions"].to_dataset()
        kind = str(predictions.attrs.get("kind", "unknown"))
        rows.append(("predictions", f"{kind}, of {counted(predictions.sizes[SYSTEM], 'system')}"))
        left = _without_predictions(evaluation)
        if left:
            rows.append(("without predictions, left out", counted(left, "item")))
        if kind == "ranking":
            longest = int((predictions["block"] > 0).sum("position").max())
            rows.append(("longest list of a system", counted(longest, "label")))
    return rows


def _bounded(text: str) -> str:
    """Cut the words of a text, which may be names, and the text itself."""
    return short(" ".join(short(word, _NAME) for word in text.split(" ")), 600)


def _model(evaluation: xr.DataTree) -> dict[str, Any]:
    name = str(evaluation.attrs["model"])
    title, paragraphs = card(None)
    if name in models.names():
        title, paragraphs = card(models.get(name).module.__doc__)
    attrs = {str(key): value for key, value in evaluation["posterior"].attrs.items()}
    hyper = [
        (key.removeprefix("hyper_").replace("_", " "), _setting(value))
        for key, value in attrs.items()
        if key.startswith("hyper_")
    ]
    trust = facts.reliabilities(evaluation)
    if facts.knows_reliability(evaluation):
        listed = ", ".join(number(value) for value in trust)
        hyper.append(("reliabilities gone through", listed))
    return {"name": name, "title": title, "paragraphs": paragraphs, "hyper": hyper}


def _setting(value: Any) -> str:
    return number(float(value)) if isinstance(value, int | float) else short(value, 200)


def _provenance(evaluation: xr.DataTree) -> list[tuple[str, str]]:
    rows = [
        (str(key).replace("_", " "), _setting(value))
        for key, value in evaluation.attrs.items()
        if key not in {"point_is_limit", "markov_chains"}  # for the machinery, not for readers
    ]
    return [*rows, ("report written by dissensus", version("dissensus"))]
