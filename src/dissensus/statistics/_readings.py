"""Reading a study in which readers scored cases: its table, true labels, and scores of systems."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import numpy as np
import pandas as pd
import xarray as xr

from dissensus.data import tables
from dissensus.data.frames import columns, opened
from dissensus.data.known_labels import named
from dissensus.data.rows import given_numbers
from dissensus.dims import ANNOTATOR, ITEM, LABEL, SYSTEM
from dissensus.errors import (
    AnnotationError,
    ArgumentError,
    PredictionError,
    brief,
    shown,
    warn_caller,
)
from dissensus.kernels.types import UNKNOWN, Array, Flags, Floats, Ints, Names
from dissensus.statistics._read import codes_in, plain_label, positive_code, read
from dissensus.statistics._truth import TrueLabels, posterior_of, true_labels

FEWEST: Final = 3
"""The smallest number of positive, and of negative, cases for which weights can be drawn."""
ONE: Final = "all"
"""The name of the modality of a study with one."""


class Study(NamedTuple):
    """Scores, in rows."""

    case: Ints
    reader: Ints
    modality: Ints
    score: Floats
    cases: Names
    readers: Names
    modalities: Names
    cluster: Ints | None
    """(case,): the cluster of each case."""
    columns: Mapping[str, Array]
    """The columns of the table by name, for a true label in one of them."""


class Reading(NamedTuple):
    """The scores of one reader with one modality, or of a system."""

    modality: int
    reader: int
    case: Ints
    score: Floats


def of_annotations(annotations: xr.Dataset) -> Study:
    """Return annotations as a study with one modality."""
    annotations = read(annotations)
    item, reader = codes_in(annotations, ITEM, ANNOTATOR)
    kind = annotations.attrs["kind"]
    if kind == "nominal":
        raise AnnotationError(
            "ratings", expected="ordered labels or numbers: the higher, the more certain that a "
            "case is positive", found='kind "nominal"',
            hint='Read them with kind="ordinal", and labels=[...] from the lowest to the highest',
        )  # fmt: skip
    score = given_numbers(annotations) if kind == "continuous" else codes_in(annotations, LABEL)[0]
    study = Study(
        item, reader, np.zeros_like(item), np.asarray(score, dtype=np.float64),
        annotations[ITEM].to_numpy(), annotations[ANNOTATOR].to_numpy(), np.array([ONE]),
        annotations["cluster_code"].to_numpy() if "cluster_code" in annotations else None, {},
    )  # fmt: skip
    _check_once(study)
    return study


def of_table(frame: Any, names: Mapping[str, str | None], cluster: str | None) -> Study:
    """Return a table with one row for each score as a study."""
    table = opened(frame)
    wanted = dict(names) | {"cluster": cluster}
    if names["modality"] == "modality" and "modality" not in table:
        wanted["modality"] = None
    column = columns(table, wanted, needed=("reader", "case", "score"))
    code = {
        role: tables.encode(column[role], str(wanted[role]), sort=True)
        for role in ("reader", "case", "modality", "cluster")
        if role in column
    }
    case, reader = code["case"], code["reader"]
    modality = code.get("modality")
    belongs = None
    if "cluster" in code:
        belongs = _one_each(case, code["cluster"], str(names["case"]), str(cluster), "cluster")
    study = Study(
        case.codes, reader.codes,
        np.zeros_like(case.codes) if modality is None else modality.codes,
        tables.numbers(column["score"], str(names["score"])),
        case.values, reader.values, np.array([ONE]) if modality is None else modality.values,
        belongs, {str(name): table[name] for name in table},
    )  # fmt: skip
    _check_once(study)
    return study


def _one_each(
    case: tables.Encoded, value: tables.Encoded, case_name: str, name: str, noun: str
) -> Ints:
    """Return the code of each case, or raise if rows of a case have several."""
    out = np.zeros(len(case.values), dtype=np.int64)
    out[case.codes] = value.codes
    differs = np.flatnonzero(out[case.codes] != value.codes)
    if len(differs):
        row = int(differs[0])
        first = int(np.flatnonzero(case.codes == case.codes[row])[0])
        cases = len(np.unique(case.codes[differs]))
        both = [value.values[value.codes[k]] for k in (first, row)]
        raise AnnotationError(
            f"column {name!r}", where=f"rows {first} and {row} "
            f"({case_name} {brief(case.values[case.codes[row]].item())})",
            expected=f"one {noun} for each case",
            found=f"{brief(plain_label(both[0]))} and {brief(plain_label(both[1]))} (such cases: "
            f"{cases:,} of {len(case.values):,})",
            hint="If one name stands for different cases under different modalities, make a name "
            "for each: frame['case'] = frame['modality'].astype(str) + ' ' + "
            "frame['case'].astype(str)",
        )  # fmt: skip
    return out


def _check_once(study: Study) -> None:
    """Raise if a reader scored a case twice with a modality."""
    key = (study.modality * len(study.readers) + study.reader) * len(study.cases) + study.case
    again = pd.Index(key).duplicated()
    if again.any():
        row = int(again.argmax())
        first = int(np.flatnonzero(key == key[row])[0])
        what = f"reader {brief(study.readers[study.reader[row]].item())}, case "
        what += brief(study.cases[study.case[row]].item())
        several = len(study.modalities) > 1
        raise AnnotationError(
            "ratings", where=f"rows {first} and {row}",
            expected="one score from each reader for each case"
            + (" with each modality" if several else ""),
            found=f"two from {what} (such rows: {again.sum():,})",
            hint="Average repeated scores of a reader first"
            if several
            else "Name the column of what readers read the case with: modality=. Average repeated "
            "scores of a reader first",
        )  # fmt: skip


def labels_of_truth(
    study: Study, truth: Any, case: str, positive: Any, rng: np.random.Generator
) -> tuple[TrueLabels, int, Any]:
    """Return the true labels, the code of the positive one, and its name."""
    if isinstance(truth, str):
        if truth not in study.columns:
            raise ArgumentError(
                "truth", expected="a column of the table, or labels by case", found=brief(truth),
                hint=f"Columns: {shown(list(study.columns), 12)}" if study.columns else "",
            )  # fmt: skip
        column = tables.encode(pd.Series(study.columns[truth]).reset_index(drop=True), truth)
        names = tables.Encoded(study.case, study.cases)
        code = _one_each(names, column, case, truth, "true label")
        labels = _plain(column.values)
        true = TrueLabels(code[None], {}, "known labels")
    else:
        posterior = posterior_of(truth, "truth")
        fitted = posterior is not None and LABEL in posterior.coords
        labels = posterior[LABEL].to_numpy() if fitted else _given(truth)  # type: ignore[index]
        place = xr.Dataset(coords={ITEM: study.cases, LABEL: labels})
        true = true_labels(truth, place, rng, "raise")
    chosen = _positive(positive, labels)
    return true, chosen, plain_label(labels[chosen])


def _given(truth: Any) -> Names:
    """Return the distinct labels in true labels by case."""
    if isinstance(truth, xr.DataArray | pd.Series | Mapping) or hasattr(truth, "columns"):
        values = named(truth)[1]
        kept = pd.Series(values[~pd.isna(values)].tolist())
        return _plain(tables.encode(kept, "truth", sort=True).values) if len(kept) else kept
    return np.empty(0)  # `true_labels` says what is wrong


def _plain(labels: Names) -> Names:
    """Return true and false as 1 and 0."""
    return labels.astype(np.int64) if labels.dtype.kind == "b" else labels


def _positive(positive: Any, labels: Names) -> int:
    """Return the code of the positive label: by default 1 of 0 and 1."""
    if isinstance(positive, bool | np.bool_):
        positive = int(positive)
    if positive is None:
        one = np.flatnonzero(labels == 1) if labels.dtype.kind in "iuf" else []
        if len(one) == 0 or not set(labels.tolist()) <= {0, 1}:
            raise ArgumentError(
                "positive", expected=f"the positive label: one of {shown(list(labels))}",
                found="None", hint="There is a default only for labels 0 and 1",
            )  # fmt: skip
        return int(one[0])
    return positive_code(positive, labels)


def check_both(positives: Flags, study: Study) -> None:
    """Raise unless there are some positive and some negative cases in each draw."""
    n = positives.sum(axis=1)
    for word, count in (("positive", n.min()), ("negative", positives.shape[1] - n.max())):
        if count < FEWEST:
            drawn = " in one of the fit's draws" if len(positives) > 1 else ""
            raise ArgumentError(
                "truth", expected=f"at least {FEWEST} {word} cases",
                found=f"{count} of {len(study.cases):,}{drawn}",
            )  # fmt: skip


def readings_in(study: Study, positives: Flags) -> list[Reading]:
    """Return the scores of each reader with each modality, in which both kinds of cases occur."""
    key = study.modality * len(study.readers) + study.reader
    order = np.argsort(key, kind="stable")
    cuts = np.flatnonzero(np.diff(key[order])) + 1
    out, lacking = [], []
    for rows in np.split(order, cuts):
        case = study.case[rows]
        modality, reader = int(study.modality[rows[0]]), int(study.reader[rows[0]])
        true = positives[:, case].sum(axis=1)
        if true.min() == 0 or true.max() == len(case):
            lacking.append(f"{study.readers[reader]} with {study.modalities[modality]}")
        else:
            out.append(Reading(modality, reader, case, study.score[rows]))
    empty = set(range(len(study.modalities))) - {one.modality for one in out}
    if empty:
        raise AnnotationError(
            "ratings", expected="with each modality, a reader who scored positive and negative "
            "cases", found=f"none with {shown([study.modalities[k] for k in sorted(empty)])}",
        )  # fmt: skip
    if lacking:
        warn_caller(
            f"{len(lacking)} of {len(lacking) + len(out)} readings have no positive, or no "
            f"negative, case, and therefore no area; they are left out: {shown(lacking)}."
        )
    return out


def scores_of_systems(
    predictions: Any, study: Study, names: Mapping[str, str | None]
) -> dict[Any, Reading]:
    """Return the scores of systems by name."""
    rows = _rows_of_systems(predictions, names)
    place = tables.match(rows[1], study.cases)
    if (place < 0).any():
        raise PredictionError(
            "predictions", expected="scores of the cases that readers read",
            found=f"other cases: {shown(list(dict.fromkeys(rows[1][place < 0].tolist())))}",
            hint="Leave out scores of other cases",
        )  # fmt: skip
    out = {}
    for k, name in enumerate(rows[0].values):
        mine = rows[0].codes == k
        if pd.Index(place[mine]).duplicated().any():
            again = study.cases[place[mine][pd.Index(place[mine]).duplicated()]]
            raise PredictionError(
                "predictions", expected="one score for each case from each system",
                found=f"several from {brief(plain_label(name))} for {shown(list(again))}",
            )  # fmt: skip
        lacking = len(study.cases) - int(mine.sum())
        if lacking:
            warn_caller(
                f"System {brief(plain_label(name))} has no score for {lacking:,} of "
                f"{len(study.cases):,} cases: its area is that of the others."
            )
        out[plain_label(name)] = Reading(UNKNOWN, UNKNOWN, place[mine], rows[2][mine])
    return out


def _rows_of_systems(
    predictions: Any, names: Mapping[str, str | None]
) -> tuple[tables.Encoded, Names, Floats]:
    """Return the system, the case and the score of each row."""
    case, score = str(names["case"]), str(names["score"])
    one = tables.Encoded(np.zeros(0, dtype=np.int64), np.array([SYSTEM]))
    if isinstance(predictions, xr.Dataset):
        if "value" not in predictions:
            raise PredictionError(
                "predictions", expected="numbers, or probabilities of the positive label as a "
                "table", found=f"kind {predictions.attrs.get('kind')!r}",
                hint=f"Pass a table with the columns system, {case}, {score}",
            )  # fmt: skip
        value = predictions["value"].transpose(ITEM, SYSTEM)
        item, system = np.nonzero(~np.isnan(value.to_numpy()))
        found = tables.Encoded(system, value[SYSTEM].to_numpy())
        return found, value[ITEM].to_numpy()[item], value.to_numpy()[item, system]
    by_case = isinstance(predictions, Mapping) and not {case, score} <= set(predictions)
    if by_case or isinstance(predictions, pd.Series | xr.DataArray):
        cases, values = named(predictions)
        numbers = tables.numbers(pd.Series(values.tolist()), "predictions", PredictionError)
        return one._replace(codes=np.zeros(len(cases), dtype=np.int64)), cases, numbers
    table = opened(predictions, PredictionError)
    wanted = {"case": case, "score": score} | ({SYSTEM: SYSTEM} if SYSTEM in table else {})
    column = columns(table, wanted, PredictionError)
    cases = tables.encode(column["case"], case, error=PredictionError)
    given = tables.numbers(column["score"], score, PredictionError)
    if SYSTEM in column:
        one = tables.encode(column[SYSTEM], SYSTEM, sort=True, error=PredictionError)
    else:
        one = one._replace(codes=np.zeros(len(given), dtype=np.int64))
    return one, cases.values[cases.codes], given
