"""The page of an evaluation of labels, rankings or scores, with its parts in reading order."""

from __future__ import annotations

import re
import unicodedata
from base64 import b64encode
from functools import partial
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

import xarray as xr
from markupsafe import Markup

from dissensus import models
from dissensus.data.tables import match
from dissensus.dims import ITEM, RELIABILITY, SCOPE, SYSTEM
from dissensus.evaluation.ground_truth import GROUP
from dissensus.plots._source import THESE, sides
from dissensus.reports import (
    checks,
    evidence,
    items,
    next_steps,
    opening,
    pictures,
    sections,
    tables,
    trust,
    two_models,
    verdict,
)
from dissensus.reports.checks import marked
from dissensus.reports.components import components
from dissensus.reports.contents import describe_annotations
from dissensus.reports.evidence import Topics
from dissensus.reports.sentences import environment, paragraph, sentences
from dissensus.wording import counted, number, short

_NAME: Final = 40


def page(evaluation: xr.DataTree, title: str | None = None) -> str:
    """Return the page as HTML."""
    numbers = two_models.both(evaluation)
    values = numbers[0] if numbers else None
    here, anywhere = checks.of_model(evaluation, values), checks.along(evaluation, values)
    uncertain = items.cards(evaluation, items.least_certain(evaluation))
    metric_tables = [] if values is None else [
        tables.metric_table(evaluation, values), tables.better_table(evaluation, values)
    ]  # fmt: skip
    lead = verdict.lead(evaluation, values)
    reason = lead.reason if lead else here
    picture = pictures.lead(evaluation, values, lead)
    checked, both = checks.checked(evaluation), two_models.compared(evaluation, numbers)
    return (
        environment(page=True)
        .get_template("page.html")
        .render(
            **frame(),
            title=title or _title(evaluation, values),
            troubles=_paragraphs(checked.troubles),
            verdict=_unreliable(reason) + _words("headline", verdict.headline(evaluation, lead)),
            lead_picture=picture and marked(picture, reason),
            lead_table=marked(verdict.table(evaluation, lead), reason),
            boxes=trust.boxes(evaluation, lead, both.facts, checked, page=True),
            cautions=_paragraphs(trust.more_cautions(checked)),
            steps=next_steps.steps(evaluation, lead, uncertain),
            opening=_opening(evaluation, values),
            models=_models(evaluation, numbers, both),
            control=_control(evaluation, values),
            reason=checks.of_model(evaluation, None),
            pictures=_pictures(evaluation, values, here, anywhere),
            metric_tables=[marked(table, anywhere) for table in metric_tables if table],
            certainty_tables=marked(
                tables.certainty_tables(evaluation), checks.along(evaluation, None)
            ),
            **parts(evaluation),
            categories=marked(sections.categories(evaluation), anywhere),
            cards=uncertain,
            overview=items.overview(evaluation, uncertain),
            has_systems=values is not None,
            new_annotators=evidence.allows_for_others(evaluation, "agreement"),
            names=[str(side.attrs["model"]) for side in sides(evaluation)],
            n_items=evaluation["annotations"].sizes[ITEM],
            data=_data(evaluation),
            cards_of=[model_facts(side) for side in sides(evaluation)],
            diagnosis=_paragraphs(checks.diagnosis(evaluation)),
            chains=checks.convergence_tables(evaluation),
            provenance=provenance(evaluation),
        )
    )


def _pictures(
    evaluation: xr.DataTree, values: xr.Dataset | None, here: str, anywhere: str
) -> dict[str, list[Any]]:
    """Draw the pictures of systems and of items; each has the reason not to rely on it, if any."""
    drawn = {"systems": [] if values is None else pictures.of_systems(evaluation, values),
             "items": pictures.of_items(evaluation)}  # fmt: skip
    return {
        name: [
            marked(shown, anywhere if shown.id.startswith(("reliability", "certainty")) else here)
            for shown in each
        ]
        for name, each in drawn.items()
    }


def parts(evaluation: xr.DataTree, *, page: bool = True) -> dict[str, sections.Section | None]:
    """Return the sections other than metrics; without ``page`` as plain text without pictures."""
    made = {
        "agreement": (sections.agreement, "statistics"),
        "components": (components, "components"),
        "accuracy": (sections.accuracy, "accuracy"),
        "ground_truth": (sections.ground_truth, GROUP),
    }
    out = {}
    for name, (section, group) in made.items():
        part = section(evaluation, page=page)
        out[name] = part and marked(part, checks.of_group(evaluation, group), page=page)
    return out


def _paragraphs(topics: Topics) -> list[str]:
    return [paragraph(topic, facts, page=True) for topic, facts in topics]


_words = partial(sentences, page=True)


def _unreliable(reason: str) -> list[str]:
    return _words("unreliable", {"reason": reason} if reason else {})


def _opening(evaluation: xr.DataTree, values: xr.Dataset | None) -> dict[str, Any]:
    """Return sentences on the data, and on the metrics at each reliability."""
    trust = evidence.reliabilities(evaluation)
    at: list[tuple[int, list[str]]] = []
    after: list[str] = []
    answers: list[str] = []
    if values is not None:
        first = values.isel(metric=0)
        for place in tables.places(evaluation, values):
            words = _unreliable(checks.of_model(evaluation, values, trust[place]))
            words += _words("leader", opening.leader(evaluation, first, trust[place]))
            words += _words("certainty", opening.certainty(evaluation, trust[place]))
            at.append((place, words))
        reference = {RELIABILITY: float(evaluation.attrs["reference_reliability"])}
        if evidence.has(evaluation, "accuracy"):  # the section on accuracy shows the answers
            ranked = evidence.ordered(first.sel({**reference, SCOPE: THESE}))
            leader = ranked[SYSTEM].to_numpy().tolist()[0]
            answers = _words("answers", opening.answers(evaluation, leader))
        after = _unreliable(checks.along(evaluation, values) if len(trust) > 1 else "")
        after += _words("along", opening.along_reliability(first))
        after += _words("truth", opening.truth(values.sel(reference)))
    after += _words("certainty_along", opening.certainty_along(evaluation))
    return {
        "data": _words("data", opening.data(evaluation)), "answers": answers,
        "at": at, "after": after,
        "intervals": _words("intervals", opening.intervals(evaluation, scopes=values is not None)),
    }  # fmt: skip


def _models(
    evaluation: xr.DataTree, numbers: list[xr.Dataset], both: two_models.Compared
) -> dict[str, Any] | None:
    """Return the section on two models; None if there is only one."""
    if not both.facts:
        return None
    reason = checks.of_both(evaluation, numbers)
    apart = two_models.furthest(both.items)
    return {
        "reason": reason, "words": _words("two_models", both.facts),
        "picture": marked(pictures.models(evaluation, numbers), reason) if numbers else None,
        "table": marked(tables.models_table(evaluation, numbers), reason),
        "cards": items.cards(evaluation, apart),
    }  # fmt: skip


def _control(evaluation: xr.DataTree, values: xr.Dataset | None) -> dict[str, Any]:
    """Return the settings of the control with which readers choose a reliability."""
    trust = evidence.reliabilities(evaluation)
    whole = values is None or len(tables.places(evaluation, values)) == len(trust)
    return {
        "reference": trust.index(float(evaluation.attrs["reference_reliability"])),
        "values": [number(value) for value in trust],
        "wanted": len(trust) > 1 and whole,
    }


def _file(name: str) -> str:
    return (Path(__file__).parent / name).read_text(encoding="utf-8")


def frame() -> dict[str, Any]:
    """Return the style and the script of every page."""
    script = _file("page.js")
    style, code = (Markup(text) for text in (_file("style.css"), script))  # noqa: S704 (our own)
    return {"style": style, "script": code, "script_hash": _hash(script)}


def _hash(script: str) -> str:
    """Return the hash with which the page's security policy allows only this script."""
    return f"sha256-{b64encode(sha256(script.encode()).digest()).decode()}"


def _title(evaluation: xr.DataTree, values: xr.Dataset | None) -> str:
    items = evaluation["annotations"][ITEM].to_numpy()
    if values is None:
        return f"The annotations of {counted(len(items), 'item')}"
    left = _without_predictions(evaluation)
    n_items = counted(len(items), "item")
    n_items = f"{len(items) - left:,} of {n_items}" if left else n_items
    return f"{counted(values.sizes[SYSTEM], 'system')} on {n_items}"


def _without_predictions(evaluation: xr.DataTree) -> int:
    """Return the number of annotated items without predictions."""
    items, predicted = (
        evaluation[name][ITEM].to_numpy() for name in ("annotations", "predictions")
    )
    return int((match(items, predicted) < 0).sum())


def _data(evaluation: xr.DataTree) -> list[tuple[str, str]]:
    annotations = evaluation["annotations"].to_dataset()
    rows = [(name, bounded(value)) for name, value in describe_annotations(annotations)]
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


def bounded(text: str) -> str:
    """Shorten each word of a text, which may be a long name, and then the text."""
    return short(" ".join(short(word, _NAME) for word in text.split(" ")), 600)


def model_facts(evaluation: xr.DataTree) -> dict[str, Any]:
    """Return the model's name, its card and its settings."""
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
    if "reference_reliability" in evaluation.attrs and evidence.knows_reliability(evaluation):
        listed = ", ".join(number(value) for value in evidence.reliabilities(evaluation))
        hyper.append(("reliabilities", listed))
    return {"name": name, "title": title, "paragraphs": paragraphs, "hyper": hyper}


def _setting(value: Any) -> str:
    return number(float(value)) if isinstance(value, int | float) else short(value, 200)


def provenance(evaluation: xr.DataTree) -> list[tuple[str, str]]:
    """Return the attributes by which an evaluation can be repeated."""
    rows = [
        (str(key).replace("_", " "), _setting(value))
        for key, value in evaluation.attrs.items()
        if key not in {"point_is_limit", "markov_chains"}  # readers of the page do not need them
    ]
    return [*rows, ("report written by dissensus", version("dissensus"))]


# The card of a model, from its docstring.


_SIGNS: Final = {
    "infty": "∞", "to": "→", "times": "·", "cdot": "·", "le": "≤", "ge": "≥", "sim": "~",
    "mid": "|", "dots": "…", "ldots": "…", "log": "log ", "logit": "logit ",
}  # fmt: skip
_CARD_PARTS: Final = ("The story.", "Priors and why.", "When to use it.")


def card(docstring: str | None) -> tuple[str, list[str]]:
    r"""Return a card's title, and its paragraphs that begin with one of `_CARD_PARTS`.

    Examples
    --------
    >>> card("Coin: heads or tails.\n\nThe story. It\n:math:`\\theta_i` falls.\n\nSource: X.")
    ('Coin: heads or tails.', ['The story. It θi falls.'])
    """
    paragraphs = [part for part in re.split(r"\n\s*\n", (docstring or "").strip()) if part.strip()]
    if not paragraphs:
        return "", []
    shown = [part for part in paragraphs[1:] if part.startswith(_CARD_PARTS)]
    return _plain(paragraphs[0]), [_plain(part) for part in shown]


def _plain(text: str) -> str:
    """Return reStructuredText as plain text."""
    text = re.sub(r"\s+", " ", text).strip()
    text = re.sub(r":math:`([^`]*)`", lambda match: _mathematics(match.group(1)), text)
    return text.replace("``", "").replace("`", "").replace("**", "").replace("*", "")


def _mathematics(formula: str) -> str:
    formula = re.sub(r"\\([A-Za-z]+)", lambda match: _sign(match.group(1)), formula)
    return re.sub(r"[_{}\\]", "", formula).strip()


def _sign(name: str) -> str:
    """Return the letter or sign of a TeX command; nothing for layout commands."""
    size = "CAPITAL" if name[0].isupper() else "SMALL"
    greek = "LAMDA" if name.lower() == "lambda" else name.upper()
    try:
        return unicodedata.lookup(f"GREEK {size} LETTER {greek}")
    except KeyError:
        return _SIGNS.get(name, "")
