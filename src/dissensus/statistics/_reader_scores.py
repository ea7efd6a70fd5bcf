"""Read a study in which readers scored cases: its table, true labels, and scores of systems."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Final, NamedTuple

import numpy as np
import pandas as pd
import xarray as xr

from dissensus.data import tables
from dissensus.data.annotations import grouped
from dissensus.data.frames import columns, opened
from dissensus.data.known_labels import named, require_informed
from dissensus.data.rows import given_numbers
from dissensus.dims import ANNOTATOR, ITEM, LABEL, SAMPLE, SYSTEM
from dissensus.errors import (
    AnnotationError,
    ArgumentError,
    PredictionError,
    brief,
    shown,
    warn_caller,
)
from dissensus.kernels.types import UNKNOWN, Flags, Floats, Ints, Names
from dissensus.statistics._read import codes_in, plain_label, positive_code, read
from dissensus.statistics._truth import TrueLabels, fit_name, posterior_of

FEWEST: Final = 3
"""The smallest number of positive, and of negative, cases for which weights can be drawn."""
_ALIKE: Final = 1e-9
"""If the variance of the probabilities of being positive is smaller, positive and negative cases
cannot be distinguished."""
ONE: Final = "all"
"""The name of the modality in a study with only one."""


class Study(NamedTuple):
    """A study with one row for each score."""

    case: Ints
    reader: Ints
    modality: Ints
    score: Floats
    cases: Names
    readers: Names
    modalities: Names
    cluster: Ints | None
    """(case,): the cluster of each case."""
    grades: Names | None
    """The names of grades in words, in their order; a score is the place of a grade."""
    columns: Mapping[str, pd.Series[Any]]
    """The columns of the table by name, of which one may have the true labels."""
    rows: pd.Index[Any]
    """The index of the table."""


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
    words = kind == "ordinal" and annotations[LABEL].dtype.kind not in "iuf"
    score = codes_in(annotations, LABEL)[0] if words else given_numbers(annotations)
    study = Study(
        item, reader, np.zeros_like(item), np.asarray(score, dtype=np.float64),
        annotations[ITEM].to_numpy(), annotations[ANNOTATOR].to_numpy(), np.array([ONE]),
        annotations["cluster_code"].to_numpy() if "cluster_code" in annotations else None,
        annotations[LABEL].to_numpy() if words else None, {}, pd.Index([]),
    )  # fmt: skip
    _check_once(study)
    return study


def of_table(frame: Any, names: Mapping[str, str | None], cluster: str | None) -> Study:
    """Return the study in a table with one row for each score."""
    table = opened(frame)
    names_by_role = dict(names) | {"cluster": cluster}
    if names["modality"] == "modality" and "modality" not in table:
        names_by_role["modality"] = None
    column = columns(table, names_by_role, needed=("reader", "case", "score"))
    code = {
        role: grouped(column[role], str(names_by_role[role]))
        for role in ("reader", "case", "modality", "cluster")
        if role in column
    }
    case, reader = code["case"], code["reader"]
    modality = code.get("modality")
    belongs = None
    if "cluster" in code:
        belongs = _one_each(case, code["cluster"], str(names["case"]), str(cluster), "cluster")
    score, grades = _scores(column["score"], str(names["score"]))
    study = Study(
        case.codes, reader.codes,
        np.zeros_like(case.codes) if modality is None else modality.codes,
        score,
        case.values, reader.values, np.array([ONE]) if modality is None else modality.values,
        belongs, grades, dict(table),
        frame.index if isinstance(frame, pd.DataFrame) else pd.RangeIndex(len(score)),
    )  # fmt: skip
    _check_once(study)
    return study


def _scores(column: pd.Series[Any], name: str) -> tuple[Floats, Names | None]:
    """Return scores as numbers, and the names of grades if scores are grades in words."""
    if isinstance(column.dtype, pd.CategoricalDtype) and column.dtype.ordered:
        coded = tables.encode(column, name, sort=True)
        if coded.is_text:
            return coded.codes.astype(np.float64), coded.values
    hint = "For grades in words, pass an ordered pandas.Categorical"
    return tables.numbers(column, name, hint=hint), None


def _one_each(
    case: tables.Encoded, value: tables.Encoded, case_name: str, name: str, noun: str
) -> Ints:
    """Return the code of each case's value, or raise if a case has several values."""
    out = np.zeros(len(case.values), dtype=np.int64)
    out[case.codes[::-1]] = value.codes[::-1]  # reversed, so that a case gets its first row's value
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
            hint="If different cases have the same name in different modalities, make the names "
            "distinct: put the name of the modality before each",
        )  # fmt: skip
    return out


def _check_once(study: Study) -> None:
    """Raise if a reader scored a case twice with a modality."""
    key = (study.modality * len(study.readers) + study.reader) * len(study.cases) + study.case
    repeated = pd.Index(key).duplicated()
    if not repeated.any():
        return
    row = int(repeated.argmax())
    first = int(np.flatnonzero(key == key[row])[0])
    reader, case = study.readers[study.reader[row]], study.cases[study.case[row]]
    average = "average repeated scores of a reader first"
    if not study.columns:
        hint = average.capitalize()
    elif len(study.modalities) > 1:
        hint = f"Check the columns of reader= and case=, or {average}"
    else:
        hint = "Name the column of modalities with modality=; check the columns of reader= and "
        hint += f"case=; or {average}"
    raise AnnotationError(
        "ratings", where=f"rows {first} and {row}",
        expected="one score from each reader for each case with each modality",
        found=f"two from reader {brief(plain_label(reader))}, case {brief(plain_label(case))} "
        f"(such rows: {repeated.sum():,})",
        hint=hint,
    )  # fmt: skip


class Truth(NamedTuple):
    """Which cases are positive."""

    positive: Flags | Floats
    """(1, case): whether the case is positive; or (draw, case): the probability, if from a fit."""
    fit: TrueLabels
    """The source of the truth, with the method that makes the Dataset of draws."""
    label: Any
    """The positive label."""

    @property
    def known(self) -> bool:
        """Return whether true labels are known."""
        return self.positive.dtype == bool


def truth_of(study: Study, truth: Any, case: str, positive: Any) -> Truth:
    """Return which cases are positive, or raise."""
    if _is_by_row(study, truth):
        study = study._replace(columns={**study.columns, "truth": truth})
        truth = "truth"
    posterior = None if isinstance(truth, str) else posterior_of(truth, "truth")
    if posterior is not None:
        return _of_fit(study, posterior, positive)
    if isinstance(truth, str):
        if truth not in study.columns:
            description = (
                f"columns {shown(list(study.columns), 12)}" if study.columns else "annotations"
            )
            hint = "" if study.columns else "Annotations have no columns: pass {case: label, ...}"
            raise ArgumentError(
                "truth", expected=f"a column of the table named {brief(truth)}", found=description,
                hint=hint,
            )  # fmt: skip
        column = pd.Series(study.columns[truth]).reset_index(drop=True)
        encoded = tables.encode(column, truth)
        code = _one_each(
            tables.Encoded(study.case, study.cases), encoded, case, truth, "true label"
        )
        labels = encoded.values
    else:
        code, labels = _by_case(study, truth, case)
    labels = labels.astype(np.int64) if labels.dtype.kind == "b" else labels
    if len(labels) == 1:
        raise ArgumentError(
            "truth", expected="positive and negative cases",
            found=f"the label {brief(plain_label(labels[0]))} for all {len(study.cases):,}",
        )  # fmt: skip
    chosen = _positive(positive, labels)
    known = TrueLabels(code[None], {}, "known labels")
    return Truth(code[None] == chosen, known, plain_label(labels[chosen]))


def in_truth(truth: Any, names: Collection[Any]) -> list[Any]:
    """Return the readers and systems whose labels are evidence of the truth in a fit."""
    if not isinstance(truth, xr.DataTree):
        return []
    posterior = truth["posterior"]
    by_labels = (
        "system_weight" in posterior or posterior.attrs.get("hyper_evidence") == "annotators"
    )
    dims = (ANNOTATOR,) if by_labels else (ANNOTATOR, SYSTEM)
    groups = [truth[group].coords for group in ("posterior", "constant_data") if group in truth]
    fitted = {
        str(name) for coords in groups for dim in dims if dim in coords
        for name in coords[dim].to_numpy()
    }  # fmt: skip
    return [name for name in names if str(name) in fitted]


def _is_by_row(study: Study, truth: Any) -> bool:
    """Return whether a Series has a label for each row of the table, and not for each case."""
    if not isinstance(truth, pd.Series) or not study.columns:
        return False
    names = tables.stored(truth.index.to_numpy(), study.cases).tolist()
    by_case = truth.index.is_unique and set(names) == set(study.cases.tolist())
    return truth.index.equals(study.rows) and not by_case


def _by_case(study: Study, truth: Any, case: str) -> tuple[Ints, Names]:
    """Return the code of each case's true label, and the labels; ``truth`` has labels by case."""
    names, values = named(_table_of_truth(truth, case))
    known = ~pd.isna(values)
    names, values = tables.stored(names[known], study.cases), values[known]
    pairs = pd.DataFrame({"name": names, "label": values}).drop_duplicates()
    names, values = pairs["name"].to_numpy(), pairs["label"].to_numpy()
    repeated = pd.Index(names).duplicated()
    if repeated.any():
        raise ArgumentError(
            "truth", expected="one label for each case",
            found=f"several for {shown(list(dict.fromkeys(names[repeated].tolist())))}",
        )  # fmt: skip
    place = tables.match(study.cases, names)
    lacking = study.cases[place < 0]
    if len(lacking) == len(study.cases):
        raise ArgumentError(
            "truth", expected=f"labels of cases such as {shown(list(study.cases), 3)}",
            found=f"labels of {shown(list(names), 3)}",
            hint="Names of cases must be the same in truth= and in the ratings",
        )  # fmt: skip
    if len(lacking):
        raise ArgumentError(
            "truth", expected="a label for every case",
            found=f"no label for {len(lacking):,} of {len(study.cases):,}: "
            + shown(list(lacking)),
            hint="Leave out the scores of these cases",
        )  # fmt: skip
    column = pd.Series(values[place].tolist())
    coded = tables.encode(column, "truth", sort=True)
    name = getattr(truth, "name", None)
    if isinstance(truth, pd.Series) and name in study.columns:
        stated = study.columns[str(name)].astype(str).to_numpy()
        differs = np.flatnonzero(stated != column.astype(str).to_numpy()[study.case])
        if len(differs):
            raise ArgumentError(
                "truth", where=f"row {differs[0]}",
                expected=f"labels by case, equal to the column {name!r}",
                found="other labels, perhaps a column of a table with other rows",
                hint=f"Pass the name of the column: truth={name!r}",
            )  # fmt: skip
    return coded.codes, coded.values


def _table_of_truth(truth: Any, case: str) -> Any:
    """Return a table of cases and labels with columns item and label; other input is unchanged."""
    listed = isinstance(truth, Mapping) and isinstance(truth.get(case), list | tuple | np.ndarray)
    if not (hasattr(truth, "columns") or listed):
        return truth
    table = opened(truth)
    others = [name for name in table if name != case]
    if case not in table or len(others) != 1:
        return truth
    return {ITEM: table[case].tolist(), LABEL: table[others[0]].tolist()}


def _of_fit(study: Study, posterior: xr.Dataset, positive: Any) -> Truth:
    """Return the probability that each case is positive in each draw of a fit."""
    dims = (*SAMPLE, ITEM, LABEL)
    if "truth" not in posterior or set(posterior["truth"].dims) != set(dims):
        raise ArgumentError(
            "truth", expected=f"a fit whose posterior has 'truth', with dims {dims}",
            found=f"the variables {shown(list(map(str, posterior.data_vars)), 12)}",
            hint="Models of a latent truth have 'truth', unless fitted with keep_items=False",
        )  # fmt: skip
    truth = posterior["truth"].transpose(*dims)
    place = tables.match(study.cases, truth[ITEM].to_numpy())
    if (place < 0).any():
        lacking = study.cases[place < 0]
        raise ArgumentError(
            "truth", expected="a fit that contains every case",
            found=f"a fit without {len(lacking):,} of {len(study.cases):,}: "
            + shown(list(lacking)),
            hint="Leave out the scores of these cases",
        )  # fmt: skip
    require_informed(posterior, place)
    labels = truth[LABEL].to_numpy()
    chosen = _positive(positive, labels)
    p = truth.isel({LABEL: chosen}).to_numpy()[:, :, place].reshape(-1, len(place))
    if not np.isfinite(p).all():
        lacking = study.cases[~np.isfinite(p).all(axis=0)]
        raise ArgumentError(
            "truth", expected="a probability of each case in each draw of the fit",
            found=f"none for {shown(list(lacking))}",
        )  # fmt: skip
    coords = {
        dim: truth[dim].to_numpy() if dim in truth.coords else np.arange(truth.sizes[dim])
        for dim in SAMPLE
    }
    drawn = TrueLabels(np.zeros((len(p), 0), dtype=np.int64), coords, fit_name(posterior))
    return Truth(np.asarray(p, dtype=np.float64), drawn, plain_label(labels[chosen]))


def _positive(positive: Any, labels: Names) -> int:
    """Return the code of the positive label: by default 1 of 0 and 1."""
    if isinstance(positive, bool | np.bool_) and labels.dtype.kind in "iuf":
        positive = int(positive)
    if positive is None:
        numbers = labels.dtype.kind in "iuf" and 1 in labels
        if not (numbers and set(labels.tolist()) <= {0, 1}):
            raise ArgumentError(
                "positive", expected=f"the positive label: one of {shown(list(labels))}",
                found="None", hint="There is a default only for labels 0 and 1. Type for example "
                f"positive={plain_label(labels[-1])!r}",
            )  # fmt: skip
        return int(np.flatnonzero(labels == 1)[0])
    return positive_code(positive, labels)


def numbers_of_kinds(truth: Truth, case: Ints) -> tuple[float, float]:
    """Return the numbers of positive and negative cases in ``case``; expected numbers for a fit."""
    positive = float(truth.positive[:, case].sum(axis=1).mean())
    return positive, len(case) - positive


def check_kinds(truth: Truth, study: Study) -> None:
    """Raise unless there are `FEWEST` cases of each kind, and `FEWEST` clusters with such cases."""
    n = numbers_of_kinds(truth, np.arange(len(study.cases)))
    for word, count in zip(("positive", "negative"), n, strict=True):
        if count < FEWEST:
            raise ArgumentError(
                "truth", expected=f"at least {FEWEST} {word} cases",
                found=f"{count:.3g} of {len(study.cases):,}"
                + ("" if truth.known else " (expected by the fit)"),
            )  # fmt: skip
    if study.cluster is None:
        return
    of_kind = [clusters_of(truth, study, positive) for positive in (True, False)]
    if min(of_kind) < FEWEST:
        raise AnnotationError(
            "cluster", expected=f"at least {FEWEST} clusters with positive, and with negative, "
            "cases", found=f"{of_kind[0]} and {of_kind[1]}",
        )  # fmt: skip


def clusters_of(truth: Truth, study: Study, positive: bool) -> int:
    """Count the clusters that have cases of a kind; with a fit, all clusters."""
    assert study.cluster is not None
    if not truth.known:
        return len(np.unique(study.cluster))
    return len(np.unique(study.cluster[truth.positive[0] == positive]))


def _is_usable(study: Study, truth: Truth, case: Ints) -> bool:
    """Return whether there are enough cases of both kinds in ``case``."""
    if min(numbers_of_kinds(truth, case)) < FEWEST:
        return False
    if not truth.known:
        return bool(truth.positive[:, case].var(axis=1).min() > _ALIKE)
    return min(units_of_kinds(study, truth, case)) >= FEWEST


def units_of_kinds(study: Study, truth: Truth, case: Ints) -> tuple[float, float]:
    """Return the numbers of positive and negative cases in ``case``, or of clusters with them."""
    if study.cluster is None or not truth.known:
        return numbers_of_kinds(truth, case)
    positive, cluster = truth.positive[0][case], study.cluster[case]
    return tuple(float(len(np.unique(cluster[positive == kind]))) for kind in (True, False))  # type: ignore[return-value]


def readings_in(study: Study, truth: Truth) -> list[Reading]:
    """Return the readings with enough cases of both kinds, and warn of those left out."""
    key = study.modality * len(study.readers) + study.reader
    order = np.argsort(key, kind="stable")
    cuts = np.flatnonzero(np.diff(key[order])) + 1
    out, lacking = [], []
    for rows in np.split(order, cuts):
        reading = Reading(
            int(study.modality[rows[0]]), int(study.reader[rows[0]]), study.case[rows],
            study.score[rows],
        )  # fmt: skip
        if not _is_usable(study, truth, reading.case):
            lacking.append(
                f"{study.readers[reading.reader]} with {study.modalities[reading.modality]}"
            )
        else:
            out.append(reading)
    empty = set(range(len(study.modalities))) - {reading.modality for reading in out}
    if empty:
        raise AnnotationError(
            "ratings", expected=f"with each modality, a reader who scored at least {FEWEST} "
            f"positive and {FEWEST} negative cases",
            found=f"none with {shown([study.modalities[k] for k in sorted(empty)])}",
        )  # fmt: skip
    if lacking:
        warn_caller(
            f"{len(lacking)} of {len(lacking) + len(out)} pairs of reader and modality have fewer "
            f"than {FEWEST} positive or fewer than {FEWEST} negative cases"
            + ("" if study.cluster is None else " or clusters with such cases")
            + ("" if truth.known else ", or cases whose probabilities in the fit are all the same")
            + f", and are left out: {shown(lacking)}."
        )
    return out


def scores_of_systems(
    predictions: Any, study: Study, truth: Truth, names: Mapping[str, str | None]
) -> dict[Any, Reading]:
    """Return the scores of systems by name."""
    rows = _rows_of_systems(predictions, names)
    place = tables.match(rows[1], study.cases)
    if (place < 0).any():
        raise PredictionError(
            "predictions", expected="scores of the cases that readers read, such as "
            + shown(list(study.cases), 3),
            found=f"other cases: {shown(list(dict.fromkeys(rows[1][place < 0].tolist())))}",
            hint="Leave out scores of other cases"
            if (place >= 0).any()
            else "Names of cases must be the same in predictions= and in the ratings",
        )  # fmt: skip
    out = {}
    for k, name in enumerate(rows[0].values):
        of_system = rows[0].codes == k
        if pd.Index(place[of_system]).duplicated().any():
            repeated = study.cases[place[of_system][pd.Index(place[of_system]).duplicated()]]
            raise PredictionError(
                "predictions", expected="one score for each case from each system",
                found=f"several from {brief(plain_label(name))} for {shown(list(repeated))}",
                hint="The column with the names of several systems must be called 'system'",
            )  # fmt: skip
        n_units = units_of_kinds(study, truth, place[of_system])
        if not _is_usable(study, truth, place[of_system]):
            raise PredictionError(
                "predictions", where=f"system {brief(plain_label(name))}",
                expected=f"scores of at least {FEWEST} positive and {FEWEST} negative cases",
                found=f"{n_units[0]:.3g} positive and {n_units[1]:.3g} negative",
            )  # fmt: skip
        lacking = len(study.cases) - int(of_system.sum())
        if lacking:
            warn_caller(
                f"System {brief(plain_label(name))} has no score for {lacking:,} of "
                f"{len(study.cases):,} cases. Its area is for the cases with a score; the areas of "
                "readers are for the cases that each reader scored."
            )
        out[plain_label(name)] = Reading(UNKNOWN, UNKNOWN, place[of_system], rows[2][of_system])
    return out


def _rows_of_systems(
    predictions: Any, names: Mapping[str, str | None]
) -> tuple[tables.Encoded, Names, Floats]:
    """Return the system, the case and the score of each row."""
    case, score = str(names["case"]), str(names["score"])
    systems = tables.Encoded(np.zeros(0, dtype=np.int64), np.array([SYSTEM]))
    if isinstance(predictions, xr.Dataset):
        if "value" not in predictions:
            raise PredictionError(
                "predictions", expected="numbers, or probabilities of the positive label as a "
                "table", found=f"kind {predictions.attrs.get('kind')!r}",
                hint=f"Pass a table with the columns system, {case}, {score}",
            )  # fmt: skip
        value = predictions["value"].transpose(ITEM, SYSTEM)
        item, system = np.nonzero(~np.isnan(value.to_numpy()))
        encoded = tables.Encoded(system, value[SYSTEM].to_numpy())
        return encoded, value[ITEM].to_numpy()[item], value.to_numpy()[item, system]
    by_case = isinstance(predictions, Mapping) and not {case, score} <= set(predictions)
    if by_case or isinstance(predictions, pd.Series | xr.DataArray):
        try:
            names_of, values = named(predictions)
        except ArgumentError as problem:
            raise PredictionError(
                "predictions", expected="a score for each case: a mapping, or a Series by case",
                found=brief(predictions),
            ) from problem  # fmt: skip
        numbers = tables.numbers(pd.Series(values.tolist()), "predictions", PredictionError)
        return systems._replace(codes=np.zeros(len(names_of), dtype=np.int64)), names_of, numbers
    try:
        table = opened(predictions, PredictionError)
    except PredictionError as problem:
        raise PredictionError(
            "predictions", expected=f"a table with the columns {case} and {score}, or a score for "
            "each case", found=brief(predictions), hint="For a list: dict(zip(cases, scores))",
        ) from problem  # fmt: skip
    names_by_role = {"case": case, "score": score} | ({SYSTEM: SYSTEM} if SYSTEM in table else {})
    column = columns(table, names_by_role, PredictionError)
    cases = tables.encode(column["case"], case, error=PredictionError)
    scores = tables.numbers(column["score"], score, PredictionError)
    if SYSTEM in column:
        systems = tables.encode(column[SYSTEM], SYSTEM, sort=True, error=PredictionError)
    else:
        systems = systems._replace(codes=np.zeros(len(scores), dtype=np.int64))
    return systems, cases.values[cases.codes], scores
