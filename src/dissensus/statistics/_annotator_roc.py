"""Annotators in ROC space: how often each says "positive" where it is, and where it is not."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt
import xarray as xr

from dissensus.data.alignment import said_by_systems, systems_of
from dissensus.dims import ANNOTATOR, ITEM, LABEL, SAMPLE, SYSTEM
from dissensus.errors import ArgumentError, brief, shown, warn_caller
from dissensus.kernels.random import generator
from dissensus.kernels.types import Floats, Ints
from dissensus.statistics._confidence import prior_counts
from dissensus.statistics._read import code_of, plain_label, read
from dissensus.statistics._truth import (
    TrueLabels,
    from_posterior,
    labels_only,
    of_known_items,
    posterior_of,
    true_labels,
)
from dissensus.wording import share

NAMES: Final = ("sensitivity", "false_positive_rate")


def annotator_roc(
    annotations: Any,
    truth: Any = None,
    *,
    positive: Any = None,
    predictions: xr.Dataset | None = None,
    prior: tuple[float, float] = (1.0, 1.0),
    draws: int | None = None,
    random_seed: Any = None,
    on_missing: str = "raise",
) -> xr.Dataset:
    r"""Sensitivity and false positive rate of each annotator, with their posterior.

    With known labels, :math:`t` of an annotator's :math:`n_+` labels of positive items being
    positive, and :math:`f` of the :math:`n_-` of others,

    .. math:: \mathrm{sensitivity} \sim \mathrm{Beta}(a + t, b + n_+ - t), \qquad
        \mathrm{false\ positive\ rate} \sim \mathrm{Beta}(a + f, b + n_- - f)

    independent of each other. Of a fit that learned the truth, its own draws.

    Parameters
    ----------
    annotations : Dataset or DataTree
        Labels; or a fit of `models.dawid_skene` or `models.symmetric_confusion`, without ``truth``.
    truth : mapping, Series or DataArray (item), or DataTree
        Known labels by item; or a fit whose posterior has ``truth`` (item, label): then each draw
        takes true labels drawn from one of the fit's.
    positive : label, optional
        What is looked for; all other labels together are its opposite. Without it, the second of
        two labels, if these have an order: labels that are ordinal, or numbers.
    predictions : Dataset, optional
        One label for each item from each system, to go beside annotators. A fit has its own.
    prior : (float, float)
        Positive and other labels in advance, of both rates; > 0. Not used with a fit alone.
    draws : int, optional
        How many; 4,000, or, of a fit, as many as it has.
    random_seed : int or numpy.random.Generator, optional
        The same seed gives the same draws.
    on_missing : {"raise", "drop"}
        Whether items without a known label are an error, or left out with a warning; so for items
        without predictions.

    Returns
    -------
    xarray.Dataset
        Draws of ``sensitivity`` and ``false_positive_rate`` (annotator), from 0 to 1, with those of
        systems ``system_sensitivity`` and ``system_false_positive_rate`` (system) if there are any.
        ``attrs["positive"]`` is the label looked for; with known labels ``attrs["n_positive"]`` and
        ``attrs["n_negative"]`` say on how many labels each annotator's rest.

    Raises
    ------
    AnnotationError
        If what is annotated is not labels.
    ArgumentError
        If no label is positive, an item has no known label, or a fit has no confusion of labels.

    Warns
    -----
    DissensusWarning
        Of annotators with no label of a positive item, or of no other: that rate is the prior's.

    Notes
    -----
    An annotator who guesses is on the diagonal. Items are taken as given, and labels of one
    annotator as independent given the truth; repeated labels of one item (``trial=``) count each.

    Of `models.symmetric_confusion` with one accuracy p for all there is one point, and with two
    labels all lie on the line from the upper left corner: it has sensitivity p and false positive
    rate 1 - p. If items differ in difficulty, rates are averages over items.

    Source: Cabitza et al. (2020), "The elephant in the machine", *Applied Sciences* 10, Figure 7a,
    with posteriors.

    Examples
    --------
    >>> import dissensus as dx
    >>> ann = dx.from_matrix([[1, 1], [1, 0], [0, 0], [0, 1]] * 10)
    >>> truth = dict(zip(range(40), [1, 1, 0, 0] * 10))
    >>> roc = dx.annotator_roc(ann, truth, random_seed=1)
    >>> roc["sensitivity"].mean(("chain", "draw")).round(2).values  # 21 of 22, 11 of 22
    array([0.95, 0.5 ])
    """
    counts = prior_counts(prior)
    if isinstance(annotations, xr.DataTree) and truth is None and "posterior" in annotations:
        _alone(predictions, draws)
        posterior = posterior_of(annotations, "annotations")
        assert posterior is not None
        labels = posterior[LABEL].to_numpy() if LABEL in posterior.coords else np.empty(0)
        kind = _kind(annotations)
        out = from_posterior(posterior, _positive(positive, labels, kind))
        return out.assign_attrs(in_words=in_words(out, out.attrs["positive"]))
    annotations = labels_only(read(annotations))
    code = _positive(positive, annotations[LABEL].to_numpy(), annotations.attrs["kind"])
    rng = generator(random_seed, "annotator ROC")
    known = true_labels(truth, annotations, rng, on_missing)
    n = known.number_of_draws(draws)
    kept = of_known_items(annotations, known)
    item, said, who = (kept[f"{name}_code"].to_numpy() for name in (ITEM, LABEL, ANNOTATOR))
    people = annotations[ANNOTATOR].to_numpy()
    tables = _tables(known.code, code, item, said, who, len(people))
    _warn(tables, people)
    found = dict(zip(NAMES, _rates(tables, counts, rng, n), strict=True))
    out = _labelled(found, ANNOTATOR, people, known, n)
    if predictions is not None:
        out = out.merge(_systems(annotations, predictions, known, code, counts, rng, n, on_missing))
    positive = plain_label(annotations[LABEL].to_numpy()[code])
    if not known.drawn:
        n_negative, n_positive = tables[0].sum(axis=-1).T
        out = out.assign_attrs(n_positive=n_positive, n_negative=n_negative)
    return out.assign_attrs(
        positive=positive, truth=known.words, prior=list(counts), in_words=in_words(out, positive)
    )


def _kind(fit: xr.DataTree) -> str:
    """Return the kind of the labels a fit was made of, if it says so."""
    observed = fit["observed_data"].to_dataset() if "observed_data" in fit.children else {}
    return str(observed["label_code"].attrs.get("kind", "")) if "label_code" in observed else ""


def _alone(predictions: Any, draws: Any) -> None:
    """Raise if something is asked of a fit that it has itself."""
    for name, given in (("predictions", predictions), ("draws", draws)):
        if given is not None:
            raise ArgumentError(name, expected="None, of a fit: it has its own", found=brief(given))


def _positive(positive: Any, labels: npt.NDArray[Any], kind: str) -> int:
    """Return the code of the label that is looked for."""
    if positive is None:
        if len(labels) == 2 and (kind == "ordinal" or labels.dtype.kind in "iuf"):
            return 1
        raise ArgumentError(
            "positive", expected=f"the label that is looked for: one of {shown(list(labels))}",
            found="None", hint="Only of two labels with an order it is known: the second",
        )  # fmt: skip
    code = code_of(positive, labels)
    if code < 0:
        raise ArgumentError(
            "positive", expected=f"one of the labels {shown(list(labels))}", found=brief(positive)
        )
    return code


def _tables(truth: Ints, positive: int, item: Ints, said: Ints, who: Ints, n: int) -> Ints:
    """Count labels (draw, annotator, whether it is positive, whether it is said to be)."""
    known = (truth >= 0)[:, item]
    is_positive = truth[:, item] == positive
    cell = 4 * who + (said == positive)
    out = np.empty((len(truth), n, 2, 2), dtype=np.int64)
    for draw in range(len(truth)):  # counted in compiled code, each
        one = (cell + 2 * is_positive[draw])[known[draw]]
        out[draw] = np.bincount(one, minlength=4 * n).reshape(n, 2, 2)
    return out


def _rates(
    tables: Ints, prior: tuple[float, float], rng: np.random.Generator, n: int
) -> tuple[Floats, Floats]:
    """Draw sensitivities and false positive rates (draw, annotator)."""
    shape = (n, tables.shape[1])
    positive, negative = (
        rng.beta(prior[0] + tables[:, :, k, 1], prior[1] + tables[:, :, k, 0], shape)
        for k in (1, 0)
    )
    return positive, negative


def _warn(tables: Ints, people: npt.NDArray[Any]) -> None:
    """Warn of annotators of whom a rate is the prior's, in all draws."""
    for k, name, rate in ((1, "is positive", NAMES[0]), (0, "is not positive", NAMES[1])):
        lacking = people[(tables[:, :, k].sum(axis=(0, 2)) == 0)]
        if len(lacking):
            warn_caller(
                f"{len(lacking)} of {len(people)} annotators ({shown(list(lacking))}) labelled no "
                f"item that {name}: their {rate} is the prior's."
            )


def _labelled(
    found: dict[str, Floats], dim: str, names: npt.NDArray[Any], known: TrueLabels, n: int
) -> xr.Dataset:
    coords = known.draw_coords(n)
    shape = tuple(len(coords[each]) for each in SAMPLE)
    return xr.Dataset(
        {name: ((*SAMPLE, dim), x.reshape(*shape, len(names))) for name, x in found.items()},
        coords=coords | {dim: names},
    )


def _systems(
    annotations: xr.Dataset, predictions: xr.Dataset, known: TrueLabels, positive: int,
    prior: tuple[float, float], rng: np.random.Generator, n: int, on_missing: str,
) -> xr.Dataset:  # fmt: skip
    """Return the same of systems."""
    found = systems_of(annotations, predictions, on_missing)
    said = said_by_systems(found, annotations[LABEL].to_numpy())
    item, system = np.nonzero((said >= 0) & (known.code >= 0).all(axis=0)[:, None])
    tables = _tables(known.code, positive, item, said[item, system], system, len(found.names))
    rates = _rates(tables, prior, rng, n)
    named = {f"system_{name}": x for name, x in zip(NAMES, rates, strict=True)}
    return _labelled(named, SYSTEM, found.names, known, n)


def in_words(found: xr.Dataset, positive: Any) -> str:
    """Say between which rates annotators are."""
    mean = [found[name].mean(list(SAMPLE)) for name in NAMES]
    between = [f"{share(float(one.min()))} to {share(float(one.max()))}" for one in mean]
    return (
        f"Where {positive!r} is true, annotators say so with probability {between[0]}; "
        f"where it is not, with probability {between[1]} (posterior means)."
    )
