"""True labels and accuracies as people give them: known, named, or draws of a fit."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
import xarray as xr
from scipy import sparse

from dissensus import arguments
from dissensus.data import tables
from dissensus.data.alignment import said_by_systems, systems_of
from dissensus.data.known_labels import known_codes
from dissensus.dims import ANNOTATION, ANNOTATOR, ITEM, LABEL, RESPONSE, SAMPLE, SYSTEM
from dissensus.errors import AnnotationError, ArgumentError, brief, shown, warn_caller
from dissensus.kernels.formulas import Answers
from dissensus.kernels.types import Floats, Ints, Names
from dissensus.kernels.votes import Votes, votes
from dissensus.statistics._read import labels_of, plain_label, real, rows_of, whole
from dissensus.statistics._scores import categories
from dissensus.statistics._sums import Matrix, compact

# Accuracies of annotators as people give them: numbers, by name, by place, or a fit's draws.


NAME: Final = "accuracy"
EXPECTED: Final = (
    'a number from 0 to 1, numbers by annotator, "majority", or a fit with accuracies of annotators'
)
IN_FITS: Final = (NAME, "annotator_accuracy")
"""What a posterior calls them: of annotators on items (rasch), or of annotators."""


class Accuracies(NamedTuple):
    """How often annotators are right."""

    values: Floats
    """(draw, cell): cells are everybody, annotators, items, or rows: an annotator on an item."""
    cell: Ints
    """(row): which cell is a row's."""
    coords: dict[str, Names]
    """Of the dims chain and draw, as far as there are any."""
    words: str
    """What the numbers are of."""
    by_annotator: bool
    """Whether cells are annotators, in the order of the annotations."""

    @property
    def common(self) -> bool:
        """Whether there is one number for all (in each draw)."""
        return self.values.shape[1] == 1

    @property
    def shape(self) -> tuple[int, ...]:
        """How many there are along chain and draw."""
        return tuple(len(values) for values in self.coords.values())


def accuracies(given: Any, annotations: xr.Dataset, annotator: Ints, item: Ints) -> Accuracies:
    """Read accuracies.

    Parameters
    ----------
    given : number, mapping or Series (annotator), array, DataArray, Dataset or DataTree
        As `weighted_reliability` takes it, but for "majority".
    annotations : Dataset
        Their annotators and items, in whose order the accuracies are brought.
    annotator, item : array of int (row)
        Whose they are.

    Raises
    ------
    ArgumentError
        If something else is given, an annotator or item has none, or a number is not from 0 to 1.
    """
    array = _array(given, annotations)
    known = {*SAMPLE, ANNOTATOR, ITEM}
    if not known.issuperset(array.dims) or len(set(array.dims)) < array.ndim:
        raise ArgumentError(
            NAME,
            expected=f"the dims {ANNOTATOR!r}, {ITEM!r}, 'chain' and 'draw', or some of them",
            found=f"{tuple(map(str, array.dims))}",
        )
    sample: list[str] = [dim for dim in SAMPLE if dim in array.dims]
    own: list[str] = [dim for dim in (ANNOTATOR, ITEM) if dim in array.dims]
    array = array.transpose(*sample, *own)
    values, cell = _cells(array, own, annotations, {ANNOTATOR: annotator, ITEM: item})
    if not len(values):
        raise ArgumentError(NAME, expected="at least one draw", found="none")
    coords = {
        dim: array[dim].to_numpy() if dim in array.coords else np.arange(array.sizes[dim])
        for dim in sample
    }
    words = f"by {' and '.join(own)}" if own else "one number"
    return Accuracies(values, cell, coords, words, own == [ANNOTATOR])


def _cells(
    array: xr.DataArray, own: list[str], annotations: xr.Dataset, codes: dict[str, Ints]
) -> tuple[Floats, Ints]:
    """Return the accuracies that are asked for (draw, cell), and the cell of each row.

    Of annotators on items only those of items they annotated: of a crowd's, few of all.
    """
    place: list[Any] = [_places(array, dim, annotations[dim].to_numpy()) for dim in own]
    if len(own) == 2:
        place = [each[codes[dim]] for dim, each in zip(own, place, strict=True)]
        who, cell = codes, np.arange(len(codes[ITEM]))
    else:
        who = {dim: np.arange(len(each)) for dim, each in zip(own, place, strict=True)}
        cell = codes[own[0]] if own else np.zeros(len(codes[ITEM]), dtype=np.int64)
    values = array.to_numpy().reshape(-1, *(array.sizes[dim] for dim in own))
    given = values[slice(None), *place] if own else values[:, None]
    names = {dim: annotations[dim].to_numpy() for dim in own}

    def whose(at: int) -> str:
        return ", ".join(f"{dim} {shown([names[dim][who[dim][at]]])}" for dim in own)

    return np.ascontiguousarray(_numbers(given, whose)), cell


def _array(given: Any, annotations: xr.Dataset) -> xr.DataArray:
    """Return accuracies as a DataArray, with coordinates where they come with names."""
    if isinstance(given, xr.DataTree):
        fitted = "posterior" in given.children
        if not fitted and not given.data_vars:
            raise ArgumentError(NAME, expected=EXPECTED, found="a DataTree without posterior")
        given = (given["posterior"] if fitted else given).to_dataset()
    if isinstance(given, xr.Dataset):
        found = next((name for name in IN_FITS if name in given.data_vars), None)
        if found is None:
            raise ArgumentError(
                NAME,
                expected=f"a posterior with {' or '.join(IN_FITS)}",
                found=f"the variables {shown(list(map(str, given.data_vars)))}"
                if given.data_vars
                else "no variables",
                hint="Models of a true label have it, rasch unless fitted with keep_items=False",
            )
        return given[found]
    if isinstance(given, xr.DataArray):
        return given
    if isinstance(given, Mapping | pd.Series):
        names = _index(list(given.keys()))
        values = np.fromiter((value for _, value in given.items()), dtype=object, count=len(given))
        return xr.DataArray(values, dims=ANNOTATOR, coords={ANNOTATOR: names})
    if isinstance(given, list | tuple | np.ndarray) and not np.ma.is_masked(given):
        return _by_place(given, annotations)
    if np.isnan(real(given)):
        raise ArgumentError(NAME, expected=EXPECTED, found=brief(given))
    return xr.DataArray(real(given))


def _index(names: list[Any]) -> pd.Index[Any]:
    """Return names of one kind: text, if one is text. Tuples name nobody, but may be given."""
    text = any(isinstance(name, str | tuple) for name in names)
    return pd.Index([str(name) for name in names] if text else names)


def _by_place(given: Any, annotations: xr.Dataset) -> xr.DataArray:
    """Take an array without names for numbers by annotator, or by annotator and item."""
    try:
        values = np.asarray(given)
    except ValueError as problem:  # rows of different length
        raise ArgumentError(NAME, expected=EXPECTED, found="a ragged list") from problem
    n, items = annotations.sizes[ANNOTATOR], annotations.sizes[ITEM]
    if values.shape not in ((), (n,), (n, items)):
        raise ArgumentError(
            NAME,
            expected=f"an array with a number for each of {n} annotators, or for each and each of "
            f"{items} items",
            found=f"an array of shape {values.shape}",
            hint="Draws need names: pass a DataArray with the dims chain and draw",
        )
    return xr.DataArray(values, dims=(ANNOTATOR, ITEM)[: values.ndim])


def _places(array: xr.DataArray, dim: str, names: Names) -> Ints:
    """Return the places of annotators or items along a dim, or raise if some are not there."""
    if dim not in array.coords:
        if array.sizes[dim] != len(names):
            raise ArgumentError(
                NAME,
                expected=f"a number for each of {len(names)} {dim}s, or names of the {dim}s",
                found=f"{array.sizes[dim]} without names",
            )
        return np.arange(len(names))
    known = array[dim].to_numpy()
    doubled = pd.Index(known).duplicated()
    if doubled.any():
        raise ArgumentError(
            NAME, expected=f"each {dim} once", found=f"{shown(list(known[doubled]))} twice or more"
        )
    place = tables.match(names, known) if len(known) else np.full(len(names), -1)
    lacking = names[place < 0]
    if len(lacking):
        raise ArgumentError(
            NAME,
            expected=f"a number for every {dim}",
            found=f"none for {len(lacking)} of them: {shown(list(lacking))}",
        )
    return place


def _numbers(given: Names, whose: Callable[[int], str]) -> Floats:
    """Return the numbers, or raise where one is not from 0 to 1, and say whose it is."""
    values = given
    if given.dtype.kind == "O":
        values = np.array([real(value) for value in given.ravel()]).reshape(given.shape)
    if values.dtype.kind not in "iuf":
        raise ArgumentError(NAME, expected=EXPECTED, found=f"values of type {given.dtype}")
    values = values.astype(np.float64, copy=False)
    if values.size and not (values.min() >= 0 and values.max() <= 1):
        draw, cell = np.argwhere(~((values >= 0) & (values <= 1)))[0].tolist()
        raise ArgumentError(
            NAME,
            where=whose(cell),
            expected="numbers from 0 to 1",
            found=brief(plain_label(given[draw, cell])),
        )
    return values


# Items with the same labels, and what systems answer there: how often each comes, as sums.


class AnswerPatterns(NamedTuple):
    """Labels by pattern, and the answers to each pattern."""

    items: npt.NDArray[Any]
    labels: npt.NDArray[Any]
    systems: npt.NDArray[Any]
    votes: Votes
    """Labels by pattern, every row a vote."""
    pattern: Ints
    """(item)"""
    answers: Answers
    parts: tuple[Matrix, Matrix]
    """(item, pattern) and (item, answer): 1 where an item has it. Unlabelled items have none."""
    tallies: sparse.csr_array
    """(pattern, ordered pairs | pairs that differ | times each label): what a pattern tells."""


def answer_patterns(annotations: Any, predictions: Any, on_missing: str) -> AnswerPatterns:
    """Read annotations and predictions, and take together items with the same labels."""
    annotations = categories(annotations)
    rows_of(annotations)  # nobody may say two things of an item without a trial
    items = annotations[ITEM].to_numpy()
    codes, labels = labels_of(annotations)
    systems = systems_of(annotations, predictions, on_missing)
    said = said_by_systems(systems, labels)
    which = annotations["item_code"].to_numpy().astype(np.int64)
    found, pattern = votes(which, np.zeros_like(which), codes.astype(np.int64), len(items))
    n_patterns = len(found.start) - 1
    labelled = np.bincount(which, minlength=len(items)) > 0
    of_answer, answers, answered = _answers(pattern, labelled, said, n_patterns, len(labels))
    parts = (
        _indicator(np.flatnonzero(labelled), pattern[labelled], (len(items), n_patterns)),
        _indicator(answered, of_answer, (len(items), len(answers.label))),
    )
    tallies = _tallies(found, len(labels))
    return AnswerPatterns(items, labels, systems.names, found, pattern, answers, parts, tallies)


def _answers(
    pattern: Ints, labelled: npt.NDArray[np.bool_], said: Ints, n_patterns: int, n_labels: int
) -> tuple[Ints, Answers, Ints]:
    """Return which answer each system gave each labelled item, all answers, and those items."""
    item, system = np.nonzero(labelled[:, None] & (said >= 0))
    # All labels outside the label space are one: they agree with nobody.
    label = np.minimum(said[item, system], n_labels)
    n_systems = said.shape[1]
    key = (pattern[item] * n_systems + system) * (n_labels + 1) + label
    known, which = np.unique(key, return_inverse=True)
    rest, label = np.divmod(known, n_labels + 1)
    start = np.searchsorted(rest // n_systems, np.arange(n_patterns + 1))
    label = np.where(label == n_labels, -1, label)
    return which, Answers(start.astype(np.int64), rest % n_systems, label), item


def _indicator(row: Ints, column: Ints, shape: tuple[int, int]) -> Matrix:
    return compact(sparse.csr_array((np.ones(len(row)), (row, column)), shape=shape))


def _tallies(found: Votes, n_labels: int) -> sparse.csr_array:
    n = len(found.start) - 1
    pattern = np.repeat(np.arange(n), np.diff(found.start))
    times = found.times.astype(np.float64)
    total = np.bincount(pattern, times, n)
    pairs = total * (total - 1.0)
    same = np.bincount(pattern, times * (times - 1.0), n)
    labels = sparse.csr_array((times, (pattern, found.label)), shape=(n, n_labels))
    apart = sparse.csr_array(np.stack([pairs, pairs - same], axis=1))
    return sparse.csr_array(sparse.hstack([apart, labels]))


# True labels: known ones, or draws of a fit that does not know them.


DRAWS: Final = 4000
"""How many there are unless somebody asks for others."""


class TrueLabels(NamedTuple):
    """Which label of each item is true."""

    code: Ints
    """(draw, item): one draw if they are known; -1 where nobody knows."""
    coords: dict[str, Names]
    """Of chain and draw, if there are draws."""
    words: str
    """Where they are from."""

    @property
    def drawn(self) -> bool:
        """Whether there are draws of them."""
        return bool(self.coords)

    def number_of_draws(self, draws: Any) -> int:
        """Return how many draws to make: as many as there are of the truth, if there are any."""
        if not self.drawn:
            return DRAWS if draws is None else whole("draws", draws, 1)
        if draws is not None:
            raise ArgumentError(
                "draws", expected=f"None: as many as the fit has, {len(self.code):,}",
                found=brief(draws),
            )  # fmt: skip
        return len(self.code)

    def draw_coords(self, n: int) -> dict[str, Any]:
        """Return the coordinates of chain and draw: those of a fit, or one chain."""
        return self.coords or dict(zip(SAMPLE, (np.arange(1), np.arange(n)), strict=True))


def posterior_of(given: Any, name: str) -> xr.Dataset | None:
    """Return the posterior of a fit, a posterior itself, or None for what is neither."""
    if isinstance(given, xr.DataTree):
        if "posterior" not in given.children:
            raise ArgumentError(
                name, expected="known labels, or a fit with a posterior",
                found=f"a DataTree with groups {shown(list(given.children))}",
            )  # fmt: skip
        return given["posterior"].to_dataset()
    if isinstance(given, xr.Dataset) and set(SAMPLE) <= set(given.dims):
        return given
    return None


def warn_of_blind_fit(truth: Any) -> None:
    """Warn of a fit that is to judge confidence, and drew what is true without knowing of it."""
    posterior = posterior_of(truth, "truth")
    if posterior is None or "model" not in posterior.attrs:
        return  # nobody knows what others' draws know
    if posterior.attrs.get("hyper_confidence", False):
        return
    if "truth" in posterior and bool(posterior["truth"].isin([0.0, 1.0]).all()):
        return  # all known
    warn_caller(
        "The fit drew what is true without knowing how sure annotators were: wherever labels leave "
        "it open, sure and unsure labels come out more alike than they are. Give known labels, or "
        "a fit of dissensus.models.rasch with confidence=True."
    )


def labels_only(annotations: xr.Dataset) -> xr.Dataset:
    """Return annotations that are labels, or raise: only these are right or wrong."""
    if annotations.attrs["kind"] in ("nominal", "ordinal"):
        return annotations
    raise AnnotationError(
        "annotations",
        expected="labels, which are right or wrong",
        found=f"kind {annotations.attrs['kind']!r}",
    )


def of_known_items(annotations: xr.Dataset, truth: TrueLabels) -> xr.Dataset:
    """Keep the rows of items whose true label somebody knows; all items keep their places."""
    known = (truth.code >= 0).all(axis=0)[annotations["item_code"].to_numpy()]
    return annotations if known.all() else annotations.isel({ANNOTATION: np.flatnonzero(known)})


def true_labels(
    truth: Any, annotations: xr.Dataset, rng: np.random.Generator, on_missing: str
) -> TrueLabels:
    """Read known labels, or draw them from a fit: with each of its draws, one label an item.

    A fit's ``truth`` is how probable each label is, given the rest of a draw. Drawing from it
    keeps the uncertainty that would average out.

    Raises
    ------
    ArgumentError
        If there are none, or (unless ``on_missing="drop"``) an item has none.

    Warns
    -----
    DissensusWarning
        With ``on_missing="drop"``, of items that are left out.
    """
    arguments.one_of("on_missing", on_missing, ("raise", "drop"))
    posterior = posterior_of(truth, "truth")
    if posterior is not None:
        return _drawn(posterior, annotations, rng)
    if truth is None or isinstance(truth, xr.Dataset | str):
        raise ArgumentError(
            "truth", expected="labels by item (a mapping, Series or DataArray), or a fit",
            found=brief(truth),
        )  # fmt: skip
    code = known_codes(annotations, truth)
    items = annotations[ITEM].to_numpy()
    lacking = items[code < 0]
    if len(lacking) == len(items):
        raise ArgumentError("truth", expected="the label of an item at least", found="none")
    if len(lacking) and on_missing == "raise":
        raise ArgumentError(
            "truth", expected="a label for every item",
            found=f"none for {len(lacking):,} of {len(items):,}: {shown(list(lacking))}",
            hint='Leave these out with on_missing="drop", or pass a fit of a model that takes '
            "them for unknown: dissensus.models.rasch.fit(annotations, truth=...)",
        )  # fmt: skip
    if len(lacking):
        warn_caller(f"{len(lacking):,} of {len(items):,} items have no known label: left out.")
    return TrueLabels(code[None], {}, "known labels")


def _drawn(posterior: xr.Dataset, annotations: xr.Dataset, rng: np.random.Generator) -> TrueLabels:
    """Draw a label for each item with each draw of a fit."""
    dims = (*SAMPLE, ITEM, LABEL)
    if "truth" not in posterior or set(posterior["truth"].dims) != set(dims):
        raise ArgumentError(
            "truth", expected=f"a fit whose posterior has 'truth', with dims {dims}",
            found=f"the variables {shown(list(map(str, posterior.data_vars)), 12)}",
            hint="Models of a latent truth have it, unless fitted with keep_items=False",
        )  # fmt: skip
    truth = posterior["truth"].transpose(*dims)
    place = place_of(truth, ITEM, annotations[ITEM].to_numpy())
    known = tables.match(truth[LABEL].to_numpy(), annotations[LABEL].to_numpy())
    if (known < 0).any():
        labels = list(annotations[LABEL].to_numpy())
        raise ArgumentError(
            "truth", expected=f"labels of the annotations: {shown(labels)}",
            found=shown(list(truth[LABEL].to_numpy()[known < 0])),
        )  # fmt: skip
    edges = truth.to_numpy()[:, :, place].cumsum(axis=-1)
    edges = edges.reshape(-1, *edges.shape[2:])
    drawn = (rng.random(edges.shape[:2])[..., None] * edges[..., -1:] > edges[..., :-1]).sum(-1)
    coords = {dim: _numbered(truth, dim) for dim in SAMPLE}
    return TrueLabels(known[drawn], coords, named_fit(posterior))


def place_of(array: xr.DataArray, dim: str, names: Names) -> Ints:
    """Find items (or annotators) of the annotations in a fit, or raise if one is not there."""
    place = tables.match(names, array[dim].to_numpy())
    if (place < 0).any():
        raise ArgumentError(
            "truth", expected=f"a fit of the {dim}s of the annotations",
            found=f"none of {shown(list(names[place < 0]))}",
        )  # fmt: skip
    return place


def _numbered(array: xr.DataArray, dim: str) -> Names:
    """Return the coordinate of a dim, or whole numbers."""
    return array[dim].to_numpy() if dim in array.coords else np.arange(array.sizes[dim])


def named_fit(posterior: xr.Dataset) -> str:
    """Say whose draws these are."""
    model = posterior.attrs.get("model")
    return f"draws of {model}" if model else "draws of a fit"


# ROC space from a fit that learned how annotators confuse labels.


_EVERYBODY: Final = "all annotators"


def from_posterior(posterior: xr.Dataset, positive: int) -> xr.Dataset:
    """Return sensitivities and false positive rates of annotators, and of systems.

    Raises
    ------
    ArgumentError
        If the posterior has neither confusion matrices nor accuracies with errors that fall on all
        other labels alike.
    """
    found: dict[str, xr.DataArray] = {}
    for who, prefix in ((ANNOTATOR, ""), (SYSTEM, "system_")):
        rates = _rates(posterior, who, positive)
        if rates is None and who == ANNOTATOR:
            raise ArgumentError(
                "annotations",
                expected="annotations, or a fit whose posterior has confusion matrices, or "
                "accuracies with errors that fall on all labels alike",
                found=f"the variables {shown(list(map(str, posterior.data_vars)), 12)}",
                hint="For models of more than two labels: dissensus.models.dawid_skene; or pass "
                "the annotations, and this fit as truth=",
            )
        if rates is not None:
            found |= {
                f"{prefix}{name}": rate.transpose("chain", "draw", who)
                for name, rate in zip(("sensitivity", "false_positive_rate"), rates, strict=True)
            }
    label: Any = plain_label(posterior[LABEL].to_numpy()[positive])
    return xr.Dataset(found, attrs={"positive": label, "truth": named_fit(posterior)})


def _rates(
    posterior: xr.Dataset, who: str, positive: int
) -> tuple[xr.DataArray, xr.DataArray] | None:
    """Return both rates, or None if there is nothing to take them from."""
    matrices = "confusion" if who == ANNOTATOR else "system_confusion"
    if matrices in posterior:
        said = posterior[matrices].isel({RESPONSE: positive}, drop=True)
        return _plain(said, positive), _others(said, posterior["prevalence"], positive)
    accuracy = posterior.get(f"{who}_accuracy")
    if accuracy is None or "accuracy" in posterior:  # of a Rasch model, by item
        return None
    n = posterior.sizes[LABEL]
    if n > 2 and posterior.attrs.get("hyper_errors", "equal") != "equal":
        return None
    if who not in accuracy.dims:
        accuracy = accuracy.expand_dims({who: [_EVERYBODY]})
    return accuracy, (1.0 - accuracy) / (n - 1)


def _plain(said: xr.DataArray, positive: int) -> xr.DataArray:
    return said.isel({LABEL: positive}, drop=True)


def _others(said: xr.DataArray, prevalence: xr.DataArray, positive: int) -> xr.DataArray:
    """Average over the true labels that are not positive, by how prevalent they are."""
    rest = [k for k in range(said.sizes[LABEL]) if k != positive]
    weight = prevalence.isel({LABEL: rest})
    return (said.isel({LABEL: rest}) * weight).sum(LABEL) / weight.sum(LABEL)
