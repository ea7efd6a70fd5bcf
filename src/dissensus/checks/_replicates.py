"""Annotations in many versions: the data, and replicates of a fitted model.

All versions have the same rows (item, annotator) and different labels. `stacked` combines them into
one large set of annotations, so that sums over items are computed for all versions at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
import xarray as xr

from dissensus.checks._traces import (
    CONSTANT,
    NAMELESS,
    NUMBERED,
    OBSERVED,
    PREDICTIVE,
    as_fit,
    no_model,
)
from dissensus.data import tables
from dissensus.data.plausibility import REMAINDER, Space, plausibility_of, space
from dissensus.data.rows import given_numbers, label_counts
from dissensus.data.schema import checked_annotations
from dissensus.dims import ANNOTATION, ANNOTATOR, CANDIDATE, ITEM, LABEL, MEMBER, SAMPLE
from dissensus.errors import AnnotationError, ArgumentError, shown
from dissensus.kernels.types import Floats, Ints
from dissensus.sampling.fitting import REPEATED
from dissensus.statistics._resampling import over_units
from dissensus.statistics._sums import Sums, Undefined

ROWS: Final = 500_000
"""Maximum number of rows in one block of versions."""
_CELLS: Final = 20_000_000
"""Maximum number of totals (version, sum) in one block of versions."""


@dataclass(frozen=True)
class AnnotationRows:
    """Rows of annotations in one or many versions."""

    item: Ints
    """(row): code of the item."""
    annotator: Ints
    """(row): code of the annotator."""
    count: int
    """Number of versions."""
    values: Callable[[slice], npt.NDArray[Any]]
    """Function of a block of versions: returns label codes, or numbers (version, row)."""
    rank: Ints | None = None
    """(row): place of the label's block in its ranking, from 1."""
    trial: Ints | None = None
    """(row): trial, if annotators labelled an item more than once."""

    def first_choices(self) -> AnnotationRows:
        """Return the first blocks of rankings; tied labels become repeated labels."""
        if self.rank is None:
            return self
        rows = np.flatnonzero(self.rank == 1)
        item, annotator = self.item[rows], self.annotator[rows]
        place = place_within(item * (annotator.max(initial=0) + 1) + annotator)
        trial = place if place.any() else None
        return AnnotationRows(
            item, annotator, self.count, lambda block: self.values(block)[:, rows], None, trial
        )

    def blocks(self, width: int = 1) -> Iterator[slice]:
        """Yield blocks of versions that fit in memory, with ``width`` totals per version."""
        step = max(1, min(ROWS // max(len(self.item), 1), _CELLS // max(width, 1)))
        for start in range(0, self.count, step):
            yield slice(start, min(start + step, self.count))


@dataclass(frozen=True)
class Replicates:
    """The observed annotations, and replicates of a fitted model."""

    form: str
    """"labels", "numbers", "rankings" or "first choices"."""
    items: npt.NDArray[Any]
    labels: npt.NDArray[Any]
    """The label space; empty for numbers."""
    observed: AnnotationRows
    drawn: AnnotationRows
    sample: dict[str, npt.NDArray[Any]]
    """Coordinates of chain and draw; each pair is a version of ``drawn``."""
    attrs: dict[str, Any]
    """Attributes of the fit."""
    kind: str = ""
    """Kind of the annotations, if they were given."""
    another: bool = False
    """Whether the code after the last label represents all other labels together."""


def place_within(group: Ints) -> Ints:
    """Return the place of each row within its group."""
    return np.asarray(pd.Series(group).groupby(group).cumcount(), dtype=np.int64)


def stacked(
    rows: AnnotationRows,
    values: npt.NDArray[Any],
    n_items: int,
    kind: str,
    labels: npt.NDArray[Any],
) -> xr.Dataset:
    """Return one set of annotations of all versions (version, row); each has its own items."""
    n = len(values)
    item = (rows.item + n_items * np.arange(n)[:, None]).ravel()
    columns = {"item_code": item, "annotator_code": np.tile(rows.annotator, n)}
    coords = {ITEM: np.arange(n * n_items), ANNOTATOR: np.arange(rows.annotator.max() + 1)}
    if kind == "continuous":
        columns["value"] = values.ravel()
    else:
        columns["label_code"] = values.ravel()
        coords[LABEL] = labels
    for name, column in (("rank", rows.rank), ("trial", rows.trial)):
        if column is not None:
            columns[name] = np.tile(column, n)
    parts = {name: (ANNOTATION, column) for name, column in columns.items()}
    return xr.Dataset(parts, coords, {"kind": kind})


def evaluated(sums: Sums, n: int, undefined: Undefined) -> Any:
    """Compute a statistic of each of the n versions from the sums of `stacked` annotations."""
    unit = np.repeat(np.arange(n), len(sums.items) // n)
    totals = [_dense(part, n) for part in over_units(sums, unit, n).parts]
    return sums.finish(np.concatenate(totals, axis=1), undefined)


def _dense(part: Any, n: int) -> Floats:
    dense = part if isinstance(part, np.ndarray) else part.toarray()
    return np.asarray(dense, dtype=np.float64).reshape(n, -1)


def tail_probability(drawn: Floats, observed: Any, atol: float = 1e-9) -> Floats:
    """Return P(drawn > observed) along the first axis; equal values count half.

    Values are equal if they differ only by rounding.
    """
    near = np.isclose(drawn, observed, rtol=1e-9, atol=atol)
    return np.asarray(np.where(near, 0.5, drawn > observed).mean(axis=0))


def with_names(codes: Ints, item: Ints, space: Space, start: int) -> Ints:
    r"""Replace the code of the remainder by a drawn label.

    The mass of the remainder is divided among its U labels by a symmetric Dirichlet distribution
    with the parameter a, so choices follow Pólya's urn: choice t (from 0) repeats an earlier choice
    with probability :math:`t / (t + aU)`, and otherwise is any of the U labels.
    """
    version, row = np.nonzero(codes == REMAINDER)
    if not len(row):
        return codes
    rng = np.random.default_rng((20_05, space.seed, start))
    unnamed = space.sizes[item[row], -1]
    turn = place_within(version * len(space.codes) + item[row])
    first = np.arange(len(row)) - turn  # an item's remainders are adjacent, after its labels
    weight = space.concentration * unnamed
    chance = np.zeros(len(row)) if np.isinf(space.concentration) else turn / (turn + weight)
    copies = rng.random(len(row)) < chance
    member = (rng.random(len(row)) * unnamed).astype(np.int64)
    copied = first + (rng.random(len(row)) * turn).astype(np.int64)
    for now in range(1, int(turn.max()) + 1):
        copied_rows = np.flatnonzero(copies & (turn == now))
        member[copied_rows] = member[copied[copied_rows]]
    out = codes.copy()
    out[version, row] = unnamed_labels(space.codes[:, :-1], len(space.labels))[item[row], member]
    return out


def unnamed_labels(named: Ints, n_labels: int) -> Ints:
    """Return codes of labels, those that are not named for the item first: (item, place)."""
    used = np.zeros((len(named), n_labels + 1), dtype=bool)
    np.put_along_axis(used, np.where(named < 0, n_labels, named), True, axis=1)
    return np.argsort(used[:, :n_labels], axis=1, kind="stable")


def replicates(fit: Any, annotations: Any = None) -> Replicates:
    """Read the posterior predictive draws of a fit; some fits need its ``annotations`` too."""
    as_laid_out = as_fit(fit)
    given = None if annotations is None else checked_annotations(annotations)
    if given is not None and as_laid_out is not fit:  # labels of a trace are sorted by item
        by = (ITEM,) if NAMELESS in as_laid_out.attrs else (ANNOTATOR, ITEM)
        codes = (given[f"{dim}_code"].to_numpy() for dim in by)
        given = given.isel({ANNOTATION: np.lexsort(tuple(codes))})
    fit = as_laid_out
    drawn, observed = group_of(fit, PREDICTIVE), group_of(fit, OBSERVED)
    for name, reader in READERS.items():
        if name in drawn and set(SAMPLE) <= set(drawn[name].dims):
            return reader(_Source(fit, drawn, observed, given))
    hint = f"Found {no_model(fit)}" if "labels" in drawn else ""
    raise ArgumentError(
        "fit",
        expected=f"predictive draws (chain, draw, ...) of {' or '.join(READERS)}",
        found=f"the variables {shown(list(drawn.data_vars)) or 'none'}",
        hint=_OF_RANKINGS if "rankings" in drawn else hint,
    )


_OF_RANKINGS: Final = (
    "A trace of a model of rankings has ranks, not the labels that were given: type "
    "dissensus.models.plackett_luce.fit(annotations, posterior_predictive=True), or inverse_rank"
)


class _Source(NamedTuple):
    fit: xr.DataTree
    drawn: xr.Dataset
    observed: xr.Dataset
    annotations: xr.Dataset | None

    def versions(self, name: str, *dims: str) -> npt.NDArray[Any]:
        """Return the draws of all chains: (version, ...)."""
        values = self.drawn[name].transpose(*SAMPLE, *dims).to_numpy()
        return values.reshape(-1, *values.shape[2:])

    def made(self, form: str, **parts: Any) -> Replicates:
        """Return replicates of this fit."""
        coords = {dim: np.arange(self.drawn.sizes[dim]) for dim in SAMPLE}
        coords |= {d: self.drawn[d].to_numpy() for d in SAMPLE if d in self.drawn.coords}
        attrs = {str(name): value for name, value in self.fit.attrs.items()}
        kind = "" if self.annotations is None else self.annotations.attrs["kind"]
        return Replicates(form, sample=coords, attrs=attrs, kind=kind, **parts)

    def require_same(self, items: npt.NDArray[Any], *, same: bool) -> None:
        """Raise if the given annotations are not those of the fit."""
        if self.annotations is None:
            return
        if same and np.array_equal(self.annotations[ITEM].to_numpy(), items):
            self._require_names()
            return
        raise AnnotationError(
            "annotations", expected="the annotations of the fit",
            found=f"other annotations: {self.annotations.sizes[ANNOTATION]:,} rows on items "
            f"{shown(list(self.annotations[ITEM].to_numpy()), 3)}, kind "
            f"{self.annotations.attrs['kind']!r}",
        )  # fmt: skip

    def _require_names(self) -> None:
        """Raise if annotators or labels have other names, or another order, than in the fit."""
        assert self.annotations is not None
        names = [name for name in ("posterior", CONSTANT) if name in self.fit.children]
        groups = [self.fit[name].to_dataset() for name in names]
        for dim in (ANNOTATOR, LABEL):
            held = [group for group in (*groups, self.annotations) if dim in group.coords]
            fit_names, given_names = (
                [*map(str, held[k][dim].values)] if held else [] for k in (0, -1)
            )
            numbered = [f"{NUMBERED} {k + 1}" for k in range(len(fit_names))]
            unknown = dim == ANNOTATOR and (fit_names == numbered or NAMELESS in self.fit.attrs)
            if fit_names != given_names and not unknown:
                raise AnnotationError(
                    "annotations",
                    expected=f"the fit's {dim}s, in their order: {shown(fit_names, 6)}",
                    found=shown(given_names, 6),
                    hint="Pass the annotations of the fit, unchanged",
                )  # fmt: skip

    def items(self) -> npt.NDArray[Any]:
        """Return the names of items, even if the posterior does not have them."""
        groups = ("posterior", "constant_data")
        return next(self.fit[g][ITEM].to_numpy() for g in groups if ITEM in self.fit[g].coords)

    def people(self, item: Ints) -> tuple[Ints, Ints | None]:
        """Return the codes of annotators, and the trials if there are several: (row).

        If the fit does not record annotators, each label of an item gets an annotator of its own.
        Raises if annotators repeated labels in this case.
        """
        if self.annotations is None:
            recorded = people_of(self.fit)
            if recorded is not None and len(recorded[0]) == len(item):
                annotator, names = recorded
                trial = place_within(item * len(names) + annotator)
                return annotator, trial if trial.any() else None
            if self.fit.attrs.get(REPEATED):
                raise ArgumentError(
                    "annotations", expected="the annotations of the fit: some annotators labelled "
                    "an item more than once, and the fit does not record who gave which label",
                    found="None",
                )  # fmt: skip
            return place_within(item), None
        annotator = self.annotations["annotator_code"].to_numpy().astype(np.int64)
        if "trial" not in self.annotations:
            return annotator, None
        return annotator, pd.factorize(self.annotations["trial"].to_numpy())[0]


def people_of(fit: xr.DataTree) -> tuple[Ints, npt.NDArray[Any]] | None:
    """Return the annotator code of each label, and annotators' names; None if not recorded."""
    name, observed = f"{ANNOTATION}_{ANNOTATOR}", group_of(fit, OBSERVED)
    if name in observed.coords:
        names, annotator = np.unique(observed[name].to_numpy(), return_inverse=True)
        return annotator.ravel().astype(np.int64), names
    known = fit[CONSTANT].to_dataset() if CONSTANT in fit.children else xr.Dataset()
    for dim in (ANNOTATOR, MEMBER):
        if f"{dim}_code" in known and NAMELESS not in fit.attrs:
            annotator = known[f"{dim}_code"].to_numpy().astype(np.int64)
            for group in (fit["posterior"], known):
                if dim in group.coords:
                    return annotator, group[dim].to_numpy()
    return None


def group_of(fit: Any, name: str) -> xr.Dataset:
    """Return a group of a fit, or raise and explain how to get this group."""
    if not isinstance(fit, xr.DataTree):
        raise ArgumentError(
            "fit", expected="the DataTree that a model's fit returns", found=type(fit).__name__
        )
    if name in fit.children and fit[name].to_dataset().data_vars:
        return fit[name].to_dataset()
    model = fit.attrs.get("model", "<model>")
    if "statistics" in fit.children:
        raise ArgumentError(
            "fit", expected="the DataTree that a model's fit returns", found="an evaluation",
            hint=f"Fit the model: dissensus.models.{model}.fit(annotations)",
        )  # fmt: skip
    raise ArgumentError(
        "fit",
        expected=f"a fit with a group {name!r}",
        found=f"the groups {shown(list(fit.children), 8) or 'none'}",
        hint=f"Fit with dissensus.models.{model}.fit(..., posterior_predictive=True), or extend a "
        "trace by pymc.sample_posterior_predictive"
        if name == PREDICTIVE
        else "",
    )


def _counts(source: _Source) -> Replicates:
    """Read counts of labels by item, which do not contain the annotators."""
    table = source.observed["counts"].transpose(ITEM, LABEL)
    observed_counts, counts = table.to_numpy(), source.versions("counts", ITEM, LABEL)
    _require_sizes(counts.sum(axis=2), observed_counts.sum(axis=1))
    items, labels = table[ITEM].to_numpy(), table[LABEL].to_numpy()
    item = np.repeat(np.arange(len(items)), observed_counts.sum(axis=1))
    codes = np.broadcast_to(np.arange(len(labels)), observed_counts.shape)
    ann, order = source.annotations, np.arange(len(item))
    observed = _spelled(codes, observed_counts[None])
    if ann is not None:
        known = "label_code" in ann and np.array_equal(ann[LABEL].to_numpy(), labels)
        same = known and ann.sizes[ITEM] == len(items)
        source.require_same(items, same=same and np.array_equal(label_counts(ann), observed_counts))
        order = np.argsort(ann["item_code"].to_numpy(), kind="stable")
        observed = ann["label_code"].to_numpy()[None, order]
    annotator, trial = source.people(item)
    annotator, trial = annotator[order], None if trial is None else trial[order]

    def values(block: slice) -> Ints:
        spelled = _spelled(codes, counts[block])
        return spelled if trial is None else _shuffled(spelled, item, block.start)

    return source.made(
        "labels", items=items, labels=labels,
        observed=AnnotationRows(item, annotator, 1, lambda _: observed, trial=trial),
        drawn=AnnotationRows(item, annotator, len(counts), values, trial=trial),
    )  # fmt: skip


def _require_sizes(drawn: Ints, observed: Ints) -> None:
    """Raise unless replicates have as many labels of each item as the data."""
    if drawn.shape[1:] != observed.shape or (drawn != observed).any():
        raise ArgumentError(
            "fit",
            expected="predictive draws with as many labels of each item as in the data",
            found="another number of labels in some draw",
        )


def _spelled(codes: Ints, counts: Ints) -> Ints:
    """Repeat each code (item, place) by its count (version, item, place): (version, row)."""
    repeated = np.broadcast_to(codes, counts.shape)
    return np.repeat(repeated.ravel(), counts.ravel()).reshape(len(counts), -1)


def _shuffled(values: Ints, item: Ints, start: int) -> Ints:
    """Assign the labels of an item to its rows at random, since counts have no annotators."""
    rng = np.random.default_rng((20_05, start))
    order = np.argsort(item + rng.random(values.shape), axis=1)
    return np.take_along_axis(values, order, axis=1)


def _scores(source: _Source) -> Replicates:
    """Read replicates that have one score for each row."""
    scores, drawn = source.observed["score"].to_numpy(), source.versions("score", ANNOTATION)
    constant = source.fit.children.get("constant_data")
    ann, items = source.annotations, source.items()
    if ann is not None:
        known = "value" in ann or (ann.attrs["kind"] == "ordinal" and ann[LABEL].dtype.kind in "if")
        source.require_same(items, same=known and np.array_equal(given_numbers(ann), scores))
        item = ann["item_code"].to_numpy()
    elif constant is not None and "item_code" in constant:
        item = constant["item_code"].to_numpy()
    else:
        raise ArgumentError(
            "annotations", expected="the annotations of the fit: the fit does not record the item "
            "of each score", found="None",
        )  # fmt: skip
    return _by_row(source, "numbers", items, np.array([]), item, scores, drawn)


def _codes(source: _Source) -> Replicates:
    """Read replicates that have one label code for each row."""
    codes = source.observed["label_code"].to_numpy()
    drawn = source.versions("label_code", ANNOTATION)
    constant, items = source.fit["constant_data"], source.items()
    labels = constant[LABEL].to_numpy()
    if source.annotations is not None:
        ann = source.annotations
        same = "label_code" in ann and np.array_equal(ann["label_code"].to_numpy(), codes)
        source.require_same(items, same=same and np.array_equal(ann[LABEL].to_numpy(), labels))
    item = constant["item_code"].to_numpy()
    return _by_row(source, "labels", items, labels, item, codes, drawn)


def _by_row(
    source: _Source, form: str, items: npt.NDArray[Any], labels: npt.NDArray[Any], item: Ints,
    observed: npt.NDArray[Any], drawn: npt.NDArray[Any],
) -> Replicates:  # fmt: skip
    """Return replicates, given the drawn labels or numbers of each row (version, row)."""
    annotator, trial = source.people(item)
    return source.made(
        form, items=items, labels=labels,
        observed=AnnotationRows(item, annotator, 1, lambda _: observed[None], trial=trial),
        drawn=AnnotationRows(item, annotator, len(drawn), lambda block: drawn[block], trial=trial),
    )  # fmt: skip


class _Rankings(NamedTuple):
    """The observed rankings of a fit."""

    rows: AnnotationRows
    space: Space
    items: npt.NDArray[Any]
    lists: bool
    """Whether any ranking has more than one label."""


def _ranked(source: _Source) -> _Rankings:
    """Read the observed rows of rankings."""
    plausibility = plausibility_of(source.fit)
    rows, items = source.observed, plausibility[ITEM].to_numpy()
    lacking = [name for name in ("label_code", "rank") if name not in rows]
    if lacking:
        raise ArgumentError(
            "fit", expected="the annotations, in the group 'observed_data'",
            found=f"no {' and no '.join(lacking)}",
            hint=_OF_RANKINGS if "model" not in source.fit.attrs else "An older version, which did "
            "not store annotations, made the fit: fit again with posterior_predictive=True",
        )  # fmt: skip
    item = tables.match(rows[f"{ANNOTATION}_{ITEM}"].to_numpy(), items)
    annotator = pd.factorize(rows[f"{ANNOTATION}_{ANNOTATOR}"].to_numpy())[0]
    trial = None
    if f"{ANNOTATION}_trial" in rows.coords:
        trial = pd.factorize(rows[f"{ANNOTATION}_trial"].to_numpy())[0]
    code, rank = rows["label_code"].to_numpy(), rows["rank"].to_numpy()
    key = item * (annotator.max() + 1) + annotator
    if trial is not None:
        key = key * (trial.max() + 1) + trial
    ann = source.annotations
    if ann is not None:
        same = "label_code" in ann and np.array_equal(ann["label_code"].to_numpy(), code)
        source.require_same(items, same=same)
    ranked_rows = AnnotationRows(item, annotator, 1, lambda _: code[None], rank, trial)
    return _Rankings(
        ranked_rows, space(plausibility), items, bool(pd.Series(key).duplicated().any())
    )


def _lists(source: _Source) -> Replicates:
    """Read replicated lists, with the lengths and ties of the data; or codes of single labels."""
    if "rank" not in source.observed and LABEL in source.fit["constant_data"].coords:
        return _codes(source)
    rankings, lists = _ranked(source), source.versions("label_code", ANNOTATION)
    n_labels = len(rankings.space.labels)
    another = bool((lists < 0).any())

    def values(block: slice) -> Ints:
        return np.where(lists[block] < 0, n_labels, lists[block]) if another else lists[block]

    observed = rankings.rows if rankings.lists else replace(rankings.rows, rank=None)
    return source.made(
        "rankings" if rankings.lists else "labels",
        items=rankings.items, labels=rankings.space.labels, observed=observed,
        drawn=replace(observed, count=len(lists), values=values), another=another,
    )  # fmt: skip


def _first_choices(source: _Source) -> Replicates:
    """Read replicated counts of first choices (item, candidate)."""
    rankings, counts = _ranked(source), source.versions("first_choice", ITEM, CANDIDATE)
    space = rankings.space
    n = counts[0].sum(axis=1)
    _require_sizes(counts.sum(axis=2), n)
    item, observed = np.repeat(np.arange(len(n)), n), rankings.rows.first_choices()
    order = np.argsort(observed.item, kind="stable")
    annotator, trial = place_within(item), None
    if observed.trial is not None and np.array_equal(observed.item[order], item):
        annotator, trial = observed.annotator[order], observed.trial[order]

    def values(block: slice) -> Ints:
        spelled = with_names(_spelled(space.codes, counts[block]), item, space, block.start)
        return spelled if trial is None else _shuffled(spelled, item, block.start)

    return source.made(
        "first choices", items=rankings.items, labels=space.labels, observed=observed,
        drawn=AnnotationRows(item, annotator, len(counts), values, trial=trial),
    )  # fmt: skip


READERS: Final[dict[str, Callable[[_Source], Replicates]]] = {
    "counts": _counts,
    "score": _scores,
    "label_code": _lists,
    "first_choice": _first_choices,
}
