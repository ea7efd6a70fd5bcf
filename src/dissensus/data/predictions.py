"""Read predictions of systems from tables, and convert them to features of labels."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
import xarray as xr

from dissensus.data import tables
from dissensus.data.frames import columns, opened
from dissensus.data.prediction_schema import (
    PREDICTION_KINDS,
    are_probabilities,
    check_predictions,
)
from dissensus.data.schema import checked_predictions, dense
from dissensus.data.sets import gathered, of_columns, refuse_words
from dissensus.dims import ITEM, LABEL, LISTING_SYSTEM, POSITION, SCORED_SYSTEM, STRATUM, SYSTEM
from dissensus.errors import (
    AnnotationError,
    PredictionError,
    shown,
    warn_caller,
)
from dissensus.kernels.types import Array, Floats, Ints
from dissensus.wording import counted


def predictions(
    frame: Any,
    item: str = "item",
    system: str = "system",
    label: str = "label",
    *,
    score: str | None = None,
    rank: str | None = None,
    kind: str | None = None,
    separator: str | None = None,
    none: Any = None,
    on_missing: str = "raise",
) -> xr.Dataset:
    """Read predictions from a table: one row per item and system, or several for lists and sets.

    If the scores are probabilities of all labels, models with a learned prior use them (see
    `dissensus.models.dirichlet`).

    Parameters
    ----------
    frame : dataframe, mapping of columns, or rows
        As in `dissensus.annotations`. Or a wide table with a column of items, a column of systems,
        and for each label a column of probabilities, whose name is the label. The probabilities of
        a row sum to 1.
    item, system, label : str
        Columns of the item, the system, and the predicted label.
    score : str, optional
        Column of scores. The labels of a system for an item are ordered by descending score; equal
        scores are ties.
    rank : str, optional
        Column of ranks 1, 2, 2, 3 (ties share a rank, no gaps) instead of scores.
    kind : {"nominal", "ranking", "continuous", "set"}, optional
        "continuous" reads the labels as numbers. "set": a prediction can contain several labels.
        The table has a row per label, or per prediction, as in `dissensus.annotations`. The default
        is "ranking" if ``score`` or ``rank`` is given, else "nominal" ("continuous" if the labels
        are numbers with fractions).
    separator, none
        For sets. ``separator`` is the text between the labels of a row, such as ";"; by default
        rows are not split. ``none`` is the word for no label, such as "none". Use the same
        separator and word for annotations and predictions. In a table with a row per label, a
        prediction without labels needs a row with this word.
    on_missing : {"raise", "drop"}
        What to do with items for which some system has no prediction. ``attrs["items_dropped"]`` is
        the number of dropped items.

    Returns
    -------
    xarray.Dataset
        Over ``item``, ``system`` and ``position``; see `dissensus.schema`.

    Raises
    ------
    PredictionError
        If columns, entries or items are missing, an item and system have two rows without
        ``score``, ``rank`` or ``kind="set"``, a label is listed twice, or ranks have gaps.

    Examples
    --------
    >>> import dissensus as dx
    >>> pred = dx.predictions({
    ...     "item": [1, 1, 2], "system": ["m", "m", "m"], "label": ["a", "b", "b"],
    ...     "score": [0.2, 0.8, 0.5],
    ... }, score="score")
    >>> pred["label_code"].sel(item=1, system="m").values
    array([1, 0])
    """
    _check_options(score, rank, kind)
    check_on_missing(on_missing)
    if kind == "set":
        return _sets(frame, {"item": item, "system": system, "label": label}, separator, none,
                     on_missing)  # fmt: skip
    refuse_words(separator, none, "a prediction", PredictionError)
    may_be_wide = (score is None or score == PROBABILITY) and rank is None
    wide = _wide(frame, item, system, label, score) if may_be_wide else None
    if wide is not None:
        frame, score = wide, PROBABILITY
    wanted = {"item": item, "system": system, "label": label, "score": score, "rank": rank}
    column = columns(frame, wanted, PredictionError, ("item", "system", "label"))
    items = tables.encode(column["item"], str(item), error=PredictionError)
    systems = tables.encode(column["system"], str(system), error=PredictionError)
    names = f"columns {str(item)!r} and {str(system)!r}"
    rows = _Rows(names, items, systems, items.codes * len(systems.values) + systems.codes)
    coords = {ITEM: items.values, SYSTEM: systems.values}
    if kind != "continuous":
        labels = tables.encode(
            column["label"], str(label), sort=True, error=PredictionError, hint=_NO_LABEL
        )
        if kind is None:
            ordered = score is not None or rank is not None
            fractions = labels.values.dtype.kind == "f"
            kind = "ranking" if ordered else "continuous" if fractions else "nominal"
    if kind != "ranking":
        _require_distinct(
            rows,
            rows.pair,
            expected="one row for each item and system",
            hint="For lists of labels, name the column of scores or ranks with score= or rank=",
        )
    if kind == "continuous":
        out = _grid(
            rows.pair,
            tables.numbers(column["label"], str(label), PredictionError, blank_hint=_NO_LABEL),
            coords,
        )
    else:
        listed = rows.pair * len(labels.values) + labels.codes
        _require_distinct(rows, listed, expected="each label once in a list", labels=labels)
        key = _order(column, rows, score, rank)
        out = _lists(rows.pair, labels, key, coords, scored=score is not None)
    out.attrs["kind"] = kind
    out = _complete(out, on_missing)
    check_predictions(out)
    return out


def _sets(
    frame: Any, wanted: dict[str, Any], separator: Any, none: Any, on_missing: str
) -> xr.Dataset:
    """Read predictions that are sets of labels."""
    frame, _ = of_columns(frame, wanted, None, PredictionError, none=none)
    column = columns(frame, wanted, PredictionError, tuple(wanted))
    names = {role: str(name) for role, name in wanted.items()}
    items, systems = (
        tables.encode(column[role], names[role], error=PredictionError)
        for role in ("item", "system")
    )
    try:
        answers = gathered(column, names, separator, none, None)
    except AnnotationError as problem:
        hint = problem.hint
        if "labels=" in hint:  # `predictions` has no argument labels=
            hint = "At least one prediction must contain a label"
        raise PredictionError(
            problem.subject, where=problem.where, expected=problem.expected, found=problem.found,
            hint=hint,
        ) from problem  # fmt: skip
    pair = (items.codes * len(systems.values) + systems.codes)[answers.first]
    member = answers.member[answers.label.codes]
    answer, label = np.nonzero(member)
    coords = {ITEM: items.values, SYSTEM: systems.values}
    labels = tables.Encoded(label, answers.elements)
    out = _lists(pair[answer], labels, np.zeros(len(answer)), coords, scored=False)
    out = out.assign_attrs(kind="set", **answers.words)
    predicted = np.zeros(len(items.values) * len(systems.values), dtype=bool)
    predicted[pair] = True
    absent = ~predicted.reshape(len(items.values), -1)
    hint = "Where a system predicted no label, add a row with the word passed as none=. "
    out = _complete(out, on_missing, xr.DataArray(absent, dims=(ITEM, SYSTEM)), hint)
    check_predictions(out)
    return out


PROBABILITY: Final = "probability"
_NO_LABEL: Final = (
    'Delete the rows without a prediction, and leave their items out with on_missing="drop"; '
    "or write what the system predicted"
)


def _wide(
    frame: Any, item: str, system: str, label: str, score: str | None
) -> dict[str, Any] | None:
    """Return a wide table of probabilities as a long table; None if the table is not of this form.

    Raises if the columns are numbers, but not probabilities that add up to 1.
    """
    table = opened(frame, PredictionError)
    names = [str(name) for name in (item, system)]
    labels = [name for name in table if name not in names]
    is_long = str(label) in table or score in table
    if is_long or len(labels) < 2 or not all(name in table for name in names):
        return None
    columns = [table[name] for name in labels]
    kinds = {pd.api.types.infer_dtype(column) for column in columns}
    if not kinds <= {"floating", "mixed-integer-float", "integer"} or kinds == {"integer"}:
        return None
    probability = np.stack([column.to_numpy(dtype=np.float64) for column in columns], axis=1)
    total = probability.sum(axis=1)
    bad = np.flatnonzero(~are_probabilities(probability) | np.isnan(total))
    if len(bad):
        row = probability[bad[0]]
        outside = np.flatnonzero((row < 0) | (row > 1))
        description = f"{shown(labels)} with the sum {total[bad[0]]:g}"
        if len(outside):
            description = f"{row[outside[0]]:g} for {shown([labels[outside[0]]])}"
        raise PredictionError(
            "the table",
            where=f"row {bad[0]}",
            expected=f"a column {str(label)!r}, or probabilities of all labels that add up to 1",
            found=f"{description} (such rows: {len(bad)})",
            hint="Name the label column with label=, or remove the columns without labels",
        )
    n = len(labels)
    return {
        **{name: table[name].repeat(n).reset_index(drop=True) for name in names},
        str(label): labels * len(probability),
        PROBABILITY: probability.ravel(),
    }


class _Rows(NamedTuple):
    """The item and the system of each row of a table."""

    columns: str
    """The names of the columns of items and systems, for error messages."""
    items: tables.Encoded
    systems: tables.Encoded
    pair: Ints
    """(row): a number that identifies the combination of item and system."""

    def named(self, row: int) -> str:
        """Return the names of the item and the system of a row, for messages."""
        item = self.items.values[self.items.codes[row]]
        system = self.systems.values[self.systems.codes[row]]
        return f"item {shown([item])}, system {shown([system])}"


def check_on_missing(on_missing: Any) -> None:
    """Raise unless the argument is "raise" or "drop"."""
    if not isinstance(on_missing, str) or on_missing not in {"raise", "drop"}:
        raise PredictionError("on_missing", expected="'raise' or 'drop'", found=repr(on_missing))


def _check_options(score: str | None, rank: str | None, kind: str | None) -> None:
    if score is not None and rank is not None:
        arguments = f"{score!r} and {rank!r}"
        raise PredictionError("score and rank", expected="one of the two", found=arguments)
    if kind is not None and (not isinstance(kind, str) or kind not in PREDICTION_KINDS):
        expected = f"one of {PREDICTION_KINDS} or None"
        hint = 'Grades are kind="nominal" here: their order is in the annotations'
        hint = hint if isinstance(kind, str) and kind == "ordinal" else ""
        raise PredictionError("kind", expected=expected, found=repr(kind), hint=hint)
    ordered = score is not None or rank is not None
    if kind == "ranking" and not ordered:
        expected = 'score= or rank= together with kind="ranking"'
        raise PredictionError("kind", expected=expected, found="neither")
    if kind == "set" and ordered:
        raise PredictionError(
            "kind", expected="sets of labels, without score= or rank=", found=repr(kind),
            hint="Keep only the rows of labels in the set, without scores. For the ranking loss of "
            "all scores, leave out kind= and pass the predictions to dissensus.set_score",
        )  # fmt: skip
    if kind in ("nominal", "continuous") and ordered:
        expected = 'kind="ranking" (or None) together with score= or rank='
        raise PredictionError("kind", expected=expected, found=repr(kind))


def _require_distinct(
    rows: _Rows, key: Ints, *, expected: str, labels: tables.Encoded | None = None, hint: str = ""
) -> None:
    """Raise if two rows have the same key (row); ``labels`` are for the message."""
    repeated = np.flatnonzero(pd.Series(key).duplicated().to_numpy())
    if len(repeated):
        row = int(repeated[0])
        first = int(np.flatnonzero(key == key[row])[0])
        description = f"another row (repeated rows: {len(repeated)})"
        if labels is not None:
            description = f"{shown([labels.values[labels.codes[row]]])} a second time"
        where = f"rows {first} and {row} ({rows.named(row)})"
        raise PredictionError(
            rows.columns, where=where, expected=expected, found=description, hint=hint
        )


def _order(
    column: dict[str, pd.Series[Any]], rows: _Rows, score: str | None, rank: str | None
) -> Floats:
    """Return a key for each row, by which a list is sorted; rows with equal keys are ties."""
    if score is not None:
        return -tables.numbers(column["score"], str(score), PredictionError)
    if rank is None:
        return np.zeros(len(rows.pair))
    ranks = tables.numbers(column["rank"], str(rank), PredictionError)
    order = np.lexsort((ranks, rows.pair))
    first = np.diff(rows.pair[order], prepend=-1) != 0
    before = np.where(first, 0, np.concatenate([[0], ranks[order][:-1]]))
    step = ranks[order] - before
    bad = np.flatnonzero((step != 1) & ((step != 0) | first))
    if len(bad):
        row, last = int(order[bad[0]]), before[bad[0]]
        raise PredictionError(
            f"column {str(rank)!r}",
            where=f"row {row} ({rows.named(row)})",
            expected="whole ranks 1, 2, ... without a gap (the next number follows a tie: 1, 1, 2)",
            found=f"{ranks[row]:g} after {last:g}" if last else f"{ranks[row]:g} as the first",
            hint=dense("item", "system"),
        )
    return ranks


def _grid(pair: Ints, values: Floats, coords: dict[str, Any]) -> xr.Dataset:
    shape = (len(coords[ITEM]), len(coords[SYSTEM]))
    grid = np.full(shape[0] * shape[1], np.nan)
    grid[pair] = values
    return xr.Dataset({"value": ((ITEM, SYSTEM), grid.reshape(shape))}, coords=coords)


def _lists(
    pair: Ints, labels: tables.Encoded, key: Floats, coords: dict[str, Any], *, scored: bool
) -> xr.Dataset:
    """Return predictions as lists along ``position``, sorted by ``key``, with numbered blocks.

    ``pair`` is the number of each row's item and system. With ``scored`` the key is minus the
    score.
    """
    order = np.lexsort((labels.codes, key, pair))
    pair, key, codes = pair[order], key[order], labels.codes[order]
    start = np.flatnonzero(np.diff(pair, prepend=-1))
    length = np.diff(np.append(start, len(pair)))
    position = np.arange(len(pair)) - np.repeat(start, length)
    new_block = np.diff(key, prepend=np.nan) != 0
    new_block[start] = True
    count = np.cumsum(new_block)
    block = count - np.repeat(count[start] - 1, length)
    shape = (len(coords[ITEM]), len(coords[SYSTEM]), int(length.max()))
    dims = (ITEM, SYSTEM, POSITION)

    def laid(values: Array, empty: float, dtype: Any) -> tuple[Any, Array]:
        out = np.full((shape[0] * shape[1], shape[2]), empty, dtype=dtype)
        out[pair, position] = values
        return dims, out.reshape(shape)

    variables = {"label_code": laid(codes, -1, np.int64), "block": laid(block, 0, np.int64)}
    if scored:
        variables["score"] = laid(-key, np.nan, np.float64)
    return xr.Dataset(variables, coords={**coords, LABEL: labels.values})


def _complete(
    pred: xr.Dataset, on_missing: str, absent: xr.DataArray | None = None, hint: str = ""
) -> xr.Dataset:
    """Drop items for which some system has no prediction, or raise if ``on_missing="raise"``.

    Systems can be compared only on the same items. ``absent`` (item, system) marks missing
    predictions. It must be given for sets, because an empty set is not a missing prediction.
    """
    if absent is None:
        lists = "label_code" in pred
        absent = (pred["label_code"] < 0).all(POSITION) if lists else pred["value"].isnull()
    lacking = absent.any(SYSTEM).to_numpy()
    if not lacking.any():
        return pred
    if on_missing == "drop":
        if lacking.all():
            expected = "an item for which every system has a prediction"
            description = f"none among {len(lacking)} items"
            raise PredictionError("predictions", expected=expected, found=description)
        return pred.isel({ITEM: ~lacking}).assign_attrs(items_dropped=int(lacking.sum()))
    bare = pred[ITEM].to_numpy()[lacking]
    per_system = absent.sum(ITEM).to_numpy()
    worst = int(per_system.argmax())
    raise PredictionError(
        "predictions",
        expected="a prediction of every system for every item",
        found=f"{len(bare)} items without one: {shown(list(bare))}"
        f" (system {shown([pred[SYSTEM].to_numpy()[worst]])} lacks {int(per_system[worst])})",
        hint=f'{hint}on_missing="drop" leaves those items out for all systems',
    )


def has_numbers(predictions: xr.Dataset | None) -> bool:
    """Return whether there are predictions, and each is one number."""
    if predictions is None or "value" in predictions:
        return predictions is not None
    return predictions[LABEL].dtype.kind in "iuf" and predictions.sizes[POSITION] == 1


def predicted_numbers(predictions: xr.Dataset, hint: str = "") -> xr.DataArray:
    """Return the number that each system predicts (item, system), or raise for text and lists."""
    if "value" in predictions:
        return predictions["value"].transpose(ITEM, SYSTEM)
    labels = predictions[LABEL].to_numpy()
    if not has_numbers(predictions):
        text = labels.dtype.kind not in "iuf"
        raise PredictionError(
            "predictions",
            expected="one number from each system and item",
            found=f"text such as {str(labels[0])!r}" if text else "lists",
            hint=hint,
        )
    code = predictions["label_code"].isel({POSITION: 0}, drop=True).transpose(ITEM, SYSTEM)
    return code.copy(data=labels.astype(np.float64)[code.to_numpy()]).rename("value")


def _strata(annotations: xr.Dataset) -> dict[str, Any]:
    """Return the fields ``stratum`` and ``strata``, or {} if the items have only one stratum."""
    if annotations.sizes.get(STRATUM, 1) < 2:
        return {}
    code = annotations["stratum_code"].to_numpy().astype(np.int64)
    return {"stratum": code, "strata": tuple(annotations[STRATUM].to_numpy())}


class Numbers(NamedTuple):
    """Predicted numbers of items, as evidence for the means of the items' scores."""

    centred: Floats
    """(item, system): the predicted number minus the system's mean; 0 without a prediction."""
    scale: Floats
    """(system): the standard deviation of a system's numbers; 1 if they are all equal."""
    systems: list[Any]
    """Names of the systems."""
    stratum: Ints | None = None
    """(item): code of each item's stratum; None if all items are in one stratum."""
    strata: tuple[Any, ...] = ()
    """Names of the strata."""

    def coords(self) -> dict[str, list[Any]]:
        """Return the names of systems and strata, by dimension."""
        names = {SYSTEM: self.systems, STRATUM: list(self.strata)}
        return {dim: each for dim, each in names.items() if each}

    def by_stratum(self, annotations: xr.Dataset) -> Numbers:
        """Return a copy with the strata of the items in ``annotations``, if there are several."""
        return self._replace(**_strata(annotations))

    def of(self, chosen: npt.NDArray[np.bool_]) -> Numbers:
        """Return the numbers of the items for which ``chosen`` (item) is true."""
        stratum = None if self.stratum is None else self.stratum[chosen]
        return self._replace(centred=self.centred[chosen], stratum=stratum)


def numbers(predictions: xr.Dataset | None, items: Array) -> Numbers:
    """Return the predicted numbers of ``items``, minus each system's mean over predicted items."""
    if predictions is None:
        return Numbers(np.zeros((len(items), 0)), np.ones(0), [])
    predictions = checked_predictions(predictions)
    value = predicted_numbers(predictions).to_numpy().astype(np.float64)
    # Set equal numbers to 0: by rounding, their standard deviation could be above 0.
    value = np.where(np.ptp(value, axis=0) > 0, value, 0.0)
    centre, scale = value.mean(axis=0), value.std(axis=0)
    rows = np.append(value - centre, np.zeros((1, value.shape[1])), axis=0)
    row = tables.match(items, predictions[ITEM].to_numpy())  # -1 without predictions: the last row
    names = list(predictions[SYSTEM].to_numpy())
    return Numbers(rows[row], np.where(scale > 0, scale, 1.0), names)


LEAST: Final = 1e-3
"""Smaller predicted probabilities are set to this number. Classifiers can predict 1e-9 for a label
that a tenth of the annotators give."""


class Features(NamedTuple):
    """Features of a learned prior: predictions and probabilities of systems, strata of items."""

    values: list[Floats]
    """Arrays (item, label), one for each feature: first labels, later labels, log probabilities.
    They are 0 for items without a prediction."""
    systems: list[Any]
    """Names of the systems with predictions, in the order of the features."""
    with_lists: list[Any]
    """Names of the systems that list several labels, without probabilities, in the same order."""
    with_probabilities: list[Any]
    """Names of the systems with probabilities, in the order of the features."""
    stratum: Ints | None = None
    """(item): code of each item's stratum; None if all items are in one stratum."""
    strata: tuple[Any, ...] = ()
    """Names of the strata."""

    @property
    def kinds(self) -> tuple[int, int, int]:
        """Number of features that are first labels, later labels, and log probabilities."""
        return len(self.systems), len(self.with_lists), len(self.with_probabilities)

    def coords(self) -> dict[str, list[Any]]:
        """Return the names of systems and strata, by dimension."""
        names = {
            SYSTEM: self.systems, LISTING_SYSTEM: self.with_lists,
            SCORED_SYSTEM: self.with_probabilities,
        }  # fmt: skip
        return names | ({STRATUM: list(self.strata)} if self.strata else {})

    def by_stratum(self, annotations: xr.Dataset) -> Features:
        """Return a copy with the strata of the items in ``annotations``, if there are several."""
        return self._replace(**_strata(annotations))


def features(predictions: xr.Dataset | None, items: Array, labels: Array) -> Features:
    """Return predictions as features of items and labels.

    Features of items without predictions are 0, and labels outside the label space are ignored. The
    first label of a list has the value 1; labels that are tied in the first block share the 1.
    Later labels are a feature of their own, because a system's second labels may tell much about
    the panel or nothing. Their value is 1 / log2(1 + block), the discount of Jarvelin & Kekalainen
    (2002). If a list has all labels, its last place follows from the others, and has the value 0.
    Systems with probabilities do not have this feature.
    """
    if predictions is None:
        return Features([], [], [], [])
    predictions = checked_predictions(predictions)
    if "label_code" not in predictions:
        raise PredictionError(
            "predictions", expected="labels, as evidence for the prior", found="numbers",
            hint="Leave out predictions, to learn the prior from the items alone",
        )  # fmt: skip
    names = list(predictions[SYSTEM].to_numpy())
    dims = (ITEM, SYSTEM, POSITION)
    code = predictions["label_code"].transpose(*dims).to_numpy()
    place = np.append(tables.match(predictions[LABEL].to_numpy(), labels), -1)[code]
    block = np.where(place >= 0, predictions["block"].transpose(*dims).to_numpy(), 0)
    row = tables.match(items, predictions[ITEM].to_numpy())
    answers, laters, logs, listing, scored = [], [], [], [], []
    for s, name in enumerate(names):
        first = block[:, s] == 1
        part = first / np.maximum(first.sum(axis=1, keepdims=True), 1)
        answers.append(_laid(part, place[:, s], row, len(labels)))
        probability = probabilities(predictions, s, labels)
        if probability is None:
            full = (block[:, s] > 0).sum(axis=1, keepdims=True) == len(labels)
            last = full & (block[:, s] == block[:, s].max(axis=1, keepdims=True))
            later = (block[:, s] > 1) & ~last
            if later.any():
                discount = later / np.log2(1 + np.maximum(block[:, s], 1))
                laters.append(_laid(discount, place[:, s], row, len(labels)))
                listing.append(name)
        else:
            least = np.maximum(np.append(probability, np.zeros((1, len(labels))), axis=0), LEAST)
            logs.append(np.log(least / least.sum(axis=1, keepdims=True))[row])
            scored.append(name)
    return Features(answers + laters + logs, names, listing, scored)


def check_predicted(items: Array, predictions: xr.Dataset | None) -> None:
    """Warn if some annotated items have no predictions; raise if no annotated item has any."""
    if predictions is None:
        return
    predicted = checked_predictions(predictions)[ITEM].to_numpy()
    bare = tables.match(items, predicted) < 0
    if bare.all():
        raise PredictionError(
            "predictions",
            expected=f"predictions of annotated items, such as {shown(items[:2].tolist())}",
            found=f"only other items: {shown(predicted.tolist())}",
            hint="Use the same names of items in both tables",
        )  # fmt: skip
    if bare.any():
        names = shown(items[bare].tolist())
        warn_caller(
            f"No system has a prediction of {counted(int(bare.sum()), 'annotated item')} "
            f"({names}): the learned prior has no evidence from systems on them."
        )


def _laid(value: Floats, place: Ints, row: Ints, n_labels: int) -> Floats:
    """Return values of lists (item, position) by label: (item, label).

    ``place`` (item, position) are codes of labels. ``row`` is the row of each item of the result;
    -1 gives zeros.
    """
    out = np.zeros((len(value) + 1, n_labels))  # row -1 stays 0
    item, position = np.nonzero(place >= 0)
    out[item, place[item, position]] = value[item, position]
    return out[row]


def probabilities(predictions: xr.Dataset, system: int, labels: Array) -> Floats | None:
    """Return a system's probabilities (item, label); None if its scores are no probabilities."""
    if "score" not in predictions:
        return None
    score, code = (
        predictions[name].transpose(ITEM, SYSTEM, POSITION).to_numpy()[:, system]
        for name in ("score", "label_code")
    )
    if not are_probabilities(score).all():
        return None
    place = np.append(tables.match(predictions[LABEL].to_numpy(), labels), -1)[code]
    return _laid(np.nan_to_num(score), place, np.arange(len(score)), len(labels))
