"""Panels of ten labels an item and more, of which a few are drawn for the annotations."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
from data import SHARED

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


class Panel(NamedTuple):
    """How many of a panel gave each label."""

    counts: Ints
    """(item, label)"""
    labels: list[str]
    systems: dict[str, Floats]
    """Probabilities (item, label) of real systems."""
    ratings: pd.DataFrame | None = None
    """item, annotator, label: where it is known who gave which label."""


class Drawn(NamedTuple):
    """A study: a few labels an item, systems' answers, and what the panel says of these."""

    annotations: pd.DataFrame
    predictions: pd.DataFrame
    """item, system, label; with a score for each label where systems gave probabilities."""
    truth: dict[str, float]
    """By system: the share of items on which it gives the panel's leading label; ties in part."""
    shares: Floats
    """(item, label): the panel's, without those drawn for systems."""
    size: Ints
    """(item): of the panel."""


def _counted(frame: pd.DataFrame) -> Panel:
    table = pd.crosstab(frame["item"], frame["label"])
    labels = [str(name) for name in table.columns]
    return Panel(table.to_numpy(), labels, {}, frame if "annotator" in frame else None)


def _read(path: str) -> Panel:
    return _counted(pd.read_csv(SHARED / path))


def _chaosnli() -> Panel:
    folder = SHARED / "chaosnli_snli"
    votes = pd.read_csv(folder / "votes100.csv.gz", index_col="item")
    predictions = pd.read_csv(folder / "predictions.csv.gz")
    systems = {
        str(name): rows.set_index("item").loc[votes.index, list(votes.columns)].to_numpy()
        for name, rows in predictions.groupby("system")
    }
    return Panel(votes.to_numpy(), list(votes.columns), systems)


def _faces() -> Panel:
    counts = pd.read_csv(SHARED / "ferplus_counts" / "counts.csv", index_col="item")
    return Panel(counts.to_numpy(), list(counts.columns), {})


def _faces_rated(emotion: str) -> Panel:
    """Is the emotion seen at all? Of nine and nine raters; the network's answer is p > .5."""
    folder = SHARED / "mdns_faces"
    ratings = pd.read_csv(folder / "ratings.csv.gz")
    ratings = ratings[ratings["dimension"] == emotion]
    seen = ratings.assign(label=np.where(ratings["label"] > 0, "yes", "no"))
    result = _counted(seen)._replace(ratings=None)
    items = np.unique(seen["item"])
    p = pd.read_csv(folder / "predictions.csv", index_col="item").loc[items, f"p_{emotion}"]
    yes = p.to_numpy()
    order = {"no": 1 - yes, "yes": yes}
    return result._replace(systems={"network": np.stack([order[n] for n in result.labels], axis=1)})


PANELS: dict[str, Callable[[], Panel]] = {
    "chaosnli_snli": _chaosnli,
    "ferplus_counts": _faces,
    "adult_content3": lambda: _read("adult_content3/ratings.csv.gz"),
    "masc help-v": lambda: _read("masc_word_sense/help-v.csv.gz"),
    "masc late-j": lambda: _read("masc_word_sense/late-j.csv.gz"),
    "dices350": lambda: _read("dices350/ratings.csv.gz"),
    "sentiment_popularity_amt": lambda: _read("sentiment_popularity_amt/ratings.csv"),
    "weather_sentiment_amt": lambda: _read("weather_sentiment_amt/ratings.csv"),
    "ducks": lambda: _read("ducks/ratings.csv"),
    "annotation_paradigms": lambda: _read("annotation_paradigms/ratings.csv.gz"),
    "mdns_faces, happy": lambda: _faces_rated("happy"),
    "mdns_faces, angry": lambda: _faces_rated("angry"),
}
"""All sets with ten labels and more an item."""

SPLIT = 0.3
"""Share of items, those with the smallest leading share, that count as split."""

KINDS = ("real", "noisy", "where people err", "one of the panel")
TOGETHER = "together"
MORE_KINDS = (
    "annotators held out", "majority of people", "wrong where split", "right where split",
    "biased", "half noise",
)  # fmt: skip


def drawn(panel: Panel, kind: str, n: int, seed: int) -> Iterator[Drawn]:
    """Draw a study with systems of one kind; nothing where there are none of it.

    Parameters
    ----------
    panel : Panel
    kind : str
        Of `KINDS`. Noisy systems give the panel's leading label with probabilities .95, .8 and .65,
        others evenly; where people err, they are wrong as often as one of the panel, or less. Or
        `TOGETHER`: all of these.
    n : int
        Labels an item.
    seed : int
    """
    rng = np.random.default_rng(seed)
    counts, systems = panel.counts.copy(), dict[str, Any]()
    for system_kind in KINDS if kind == TOGETHER else (kind,):
        systems |= systems_of(panel, system_kind, counts, rng)
    if systems:
        yield study_of(panel.labels, counts, systems, n, rng, together=kind == TOGETHER)


def shown_of(counts: Ints, n: int, rng: np.random.Generator) -> Ints:
    """Draw n labels of each item from the panel; all labels if there are fewer."""
    return np.stack([rng.multivariate_hypergeometric(row, min(n, row.sum())) for row in counts])


def credit(counts: Ints) -> Floats:
    """Return 1 for the most frequent label of an item, or equal parts of 1 (item, label)."""
    top = counts == counts.max(axis=1, keepdims=True)
    return np.asarray(top / top.sum(axis=1, keepdims=True))


def study_of(
    labels: list[str], counts: Ints, systems: dict[str, Any], n: int, rng: np.random.Generator, *,
    together: bool = False,
) -> Drawn:  # fmt: skip
    """Draw n labels an item of a panel; systems' probabilities are left out of ``together``."""
    n_items = len(counts)
    few, right = shown_of(counts, n, rng), credit(counts)
    truth, tables = {}, []
    for name, answer in systems.items():
        label = answer if answer.ndim == 1 else answer.argmax(axis=1)
        truth[name] = float(right[np.arange(n_items), label].mean())
        tables.append(_table(name, label if together else answer, labels))
    return Drawn(table_of(few, labels), pd.concat(tables), truth,
                 counts / counts.sum(axis=1, keepdims=True), counts.sum(axis=1))  # fmt: skip


def systems_of(
    panel: Panel, kind: str, counts: Ints, rng: np.random.Generator
) -> dict[str, Floats] | dict[str, Ints]:
    """Return what systems of a kind say; people's labels are taken out of the counts."""
    n_items, n_labels = counts.shape
    systems = dict[str, Ints]()
    if kind == "real":
        return panel.systems
    if kind == "noisy":
        top = _first(counts, rng)
        for share in (0.95, 0.8, 0.65):
            other = (top + rng.integers(1, n_labels, n_items)) % n_labels
            systems[f"noisy {share}"] = np.where(rng.random(n_items) < share, top, other)
    elif kind == "where people err":
        share = counts / counts.sum(axis=1, keepdims=True)
        for power in (4.0, 2.0, 1.0):
            systems[f"share^{power:g}"] = _choice(share**power, rng)
    else:
        for number in (1, 2):
            label = _choice(counts.astype(float), rng)
            counts[np.arange(n_items), label] -= 1
            systems[f"person {number}"] = label
    return systems


def more_systems(
    panel: Panel, kind: str, rng: np.random.Generator
) -> Iterator[tuple[Ints, dict[str, Ints]]]:
    """Yield counts without the systems' labels, and the systems' answers, of `MORE_KINDS`.

    Held-out annotators gave at least 150 labels, or labelled .6 of the items; four are drawn, each
    with a study of the items that he or she labelled. Majorities are of three and seven people.
    Biased systems triple the odds of one of the two most common labels. Half noise errs where
    people err, and on .15 of the items answers at random. The last two give the second label on .8
    of the split items and the leading label elsewhere; or err on .25 of the items, none of them
    split.
    """
    counts = panel.counts
    n_items, n_labels = counts.shape
    if kind == "annotators held out":
        yield from _held_out(panel, rng)
        return
    top = _first(counts, rng)
    share = counts / counts.sum(axis=1, keepdims=True)
    if kind == "majority of people":
        few = rng.multivariate_hypergeometric
        yield (
            counts,
            {
                f"majority of {m}": _first(np.stack([few(c, min(m, c.sum())) for c in counts]), rng)
                for m in (3, 7)
            },
        )
        return
    others = np.where(np.arange(n_labels) == top[:, None], -1, counts + rng.random(share.shape))
    second = others.argmax(axis=1)
    lead = share[np.arange(n_items), top]
    split = lead <= np.quantile(lead, SPLIT)
    if kind == "biased":
        systems = dict[str, Ints]()
        for label in np.argsort(-counts.sum(axis=0))[:2]:
            weight = share**2
            weight[:, label] *= 3
            systems[f"biased {label}"] = _choice(weight, rng)
        yield counts, systems
        return
    if kind == "half noise":
        base = _choice(share**3, rng)
        answer = np.where(rng.random(n_items) < 0.15, rng.integers(0, n_labels, n_items), base)
    elif kind == "wrong where split":
        answer = np.where(split & (rng.random(n_items) < 0.8), second, top)
    else:
        other = (top + rng.integers(1, n_labels, n_items)) % n_labels
        answer = np.where(~split & (rng.random(n_items) < 0.25), other, top)
    yield counts, {kind: answer}


def _held_out(panel: Panel, rng: np.random.Generator) -> Iterator[tuple[Ints, dict[str, Ints]]]:
    if panel.ratings is None:
        return
    ratings = panel.ratings.drop_duplicates(["item", "annotator"])
    items, size = np.unique(ratings["item"]), ratings.groupby("annotator").size()
    many = size[size >= min(150, 0.6 * len(items))].index.to_numpy()
    for name in rng.permutation(many)[:4]:
        own = ratings[ratings["annotator"] == name].set_index("item")["label"].astype(str)
        here = np.isin(items, own.index)
        answer = pd.Index(panel.labels).get_indexer(own.loc[items[here]])
        counts = panel.counts[here].copy()
        counts[np.arange(len(answer)), answer] -= 1
        yield counts, {f"annotator {name}": answer}


def _first(counts: Ints, rng: np.random.Generator) -> Ints:
    return (counts + rng.random(counts.shape)).argmax(axis=1)


def _choice(weight: Floats, rng: np.random.Generator) -> Ints:
    edge = np.cumsum(weight, axis=1)
    return (rng.random(len(weight)) * edge[:, -1] >= edge.T).sum(axis=0)


def table_of(few: Ints, labels: list[str]) -> pd.DataFrame:
    """Return a row for each label; each label has an annotator of its own."""
    item, label = np.nonzero(few)
    times = few[item, label]
    item, label = np.repeat(item, times), np.repeat(label, times)
    frame = pd.DataFrame({"item": item, "label": np.array(labels)[label]})
    frame["annotator"] = np.arange(len(frame))
    return frame


def _table(name: str, answer: Any, labels: list[str]) -> pd.DataFrame:
    n_items = len(answer)
    if answer.ndim == 1:
        label = np.array(labels)[answer]
        return pd.DataFrame({"item": np.arange(n_items), "system": name, "label": label})
    return pd.DataFrame({
        "item": np.repeat(np.arange(n_items), len(labels)), "system": name,
        "label": np.tile(labels, n_items), "score": answer.ravel(),
    })  # fmt: skip
