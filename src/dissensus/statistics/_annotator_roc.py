"""The sensitivity and false positive rate of each annotator."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import xarray as xr

from dissensus.data.alignment import labels_by_systems, systems_of
from dissensus.data.known_labels import require_evidence
from dissensus.data.layout import EVERYBODY, RESPONDENTS
from dissensus.dims import ANNOTATOR, ITEM, LABEL, RESPONSE, SAMPLE, SYSTEM
from dissensus.errors import ArgumentError, brief, shown, warn_caller
from dissensus.kernels.random import generator
from dissensus.kernels.types import Floats, Ints, Names
from dissensus.statistics._read import codes_in, plain_label, positive_code, read
from dissensus.statistics._truth import (
    TrueLabels,
    fit_name,
    labels_only,
    of_known_items,
    posterior_of,
    prior_counts,
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
    r"""Posterior of the sensitivity and false positive rate of each annotator.

    With known labels, an annotator gives positive items :math:`n_+` labels, of which :math:`t` are
    positive, and other items :math:`n_-` labels, of which :math:`f` are positive. The posterior is

    .. math:: \mathrm{sensitivity} \sim \mathrm{Beta}(a + t, b + n_+ - t), \qquad
        \mathrm{false\ positive\ rate} \sim \mathrm{Beta}(a + f, b + n_- - f)

    The two rates are independent. If ``annotations`` is a fit, the draws are those of the fit.

    Parameters
    ----------
    annotations : Dataset or DataTree
        Labels; or a fit of `models.dawid_skene` or `models.symmetric_confusion` whose annotators
        err independently. With a fit, ``truth`` must be None.
    truth : mapping, Series or DataArray (item), or DataTree
        Known labels by item; or a fit whose posterior has ``truth`` (item, label): each draw then
        uses true labels drawn from one of the fit's draws.
    positive : label, optional
        The positive label; all others together are negative. Default: the second of two labels
        with an order (ordinal labels, or numbers).
    predictions : Dataset, optional
        One label for each item from each system. Must be None with a fit, which has its own. If
        ``truth`` is a fit, it must be a fit with these predictions, which are evidence of the
        truth: the annotators' labels alone underestimate systems.
    prior : (float, float)
        Prior counts of positive and other labels, > 0, for both rates. Not used if ``annotations``
        is a fit.
    draws, random_seed
        As in `confidence_check`.
    on_missing : {"raise", "drop"}
        Whether items without a known label, or without predictions, are an error or are left out
        with a warning.

    Returns
    -------
    xarray.Dataset
        Draws of ``sensitivity`` and ``false_positive_rate`` (annotator), from 0 to 1. If there are
        systems, also ``system_sensitivity`` and ``system_false_positive_rate`` (system), except
        from a fit of `models.dawid_skene` with ``systems="related"``. ``attrs["positive"]`` is the
        positive label. With known labels, ``attrs["n_positive"]`` and ``attrs["n_negative"]`` are
        the numbers of labels from which each annotator's rates are estimated. If an annotator
        labelled no positive item (or no other item), the rate is drawn from the prior, with a
        warning.

    Notes
    -----
    If ``truth`` is a fit, rates depend on the assumptions of its model. In a simulation, items
    differed in difficulty and the fit of `models.symmetric_confusion` did not model difficulty:
    89 % intervals contained 73 % of 60 rates, and sensitivities were .03 too high on average.

    An annotator who guesses has equal rates. The items are fixed, and labels of one annotator are
    assumed to be independent given the truth. Each repeated label of an item (``trial=``) counts.

    Fits of `models.symmetric_confusion` with two labels have sensitivity p and false positive rate
    1 - p, where p is the accuracy. If all annotators have one accuracy, they have the same rates.
    If items differ in difficulty, rates are averages over items.

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
        for name, value in (("predictions", predictions), ("draws", draws)):
            if value is not None:
                expected = "None with a fit, which contains its own"
                raise ArgumentError(name, expected=expected, found=brief(value))
        return _of_fit(annotations, positive)
    annotations = labels_only(read(annotations))
    labels, people = annotations[LABEL].to_numpy(), annotations[ANNOTATOR].to_numpy()
    code = _positive(positive, labels, annotations.attrs["kind"])
    rng = generator(random_seed, "annotator ROC")
    known = true_labels(truth, annotations, rng, on_missing, systems=predictions is not None)
    n = known.number_of_draws(draws)
    known_annotations = of_known_items(annotations, known)
    item, label_code, annotator = codes_in(known_annotations, ITEM, LABEL, ANNOTATOR)
    tables = _tables(known.code, code, item, label_code, annotator, len(people))
    _warn(tables, people)
    values = {
        name: ((ANNOTATOR,), rates)
        for name, rates in zip(NAMES, _rates(tables, counts, rng, n), strict=True)
    }
    coords = {ANNOTATOR: people}
    if predictions is not None:
        systems = systems_of(annotations, predictions, on_missing)
        by_system = _tables_of_systems(
            known, posterior_of(truth, "truth"), labels_by_systems(systems, labels),
            systems.names, code,
        )  # fmt: skip
        values |= {
            f"system_{name}": ((SYSTEM,), rates)
            for name, rates in zip(NAMES, _rates(by_system, counts, rng, n), strict=True)
        }
        coords |= {SYSTEM: systems.names}
    out = known.dataset(values, coords)
    name = plain_label(labels[code])
    if not known.drawn:
        n_negative, n_positive = tables[0].sum(axis=-1).T
        out = out.assign_attrs(n_positive=n_positive, n_negative=n_negative)
    return out.assign_attrs(
        positive=name, truth=known.source, prior=list(counts), in_words=in_words(out, name)
    )


def _positive(positive: Any, labels: Names, kind: str) -> int:
    """Return the code of the positive label."""
    if positive is None:
        if len(labels) == 2 and (kind == "ordinal" or labels.dtype.kind in "iuf"):
            return 1
        raise ArgumentError(
            "positive",
            expected=f"the positive label: one of {shown(list(labels))}",
            found="None",
            hint="There is a default only for two labels with an order: the second",
        )
    return positive_code(positive, labels)


def _tables(truth: Ints, positive: int, item: Ints, label: Ints, respondent: Ints, n: int) -> Ints:
    """Count labels: (draw, respondent, item is positive, label is positive)."""
    known = (truth >= 0)[:, item]
    is_positive = truth[:, item] == positive
    cell = 4 * respondent + (label == positive)
    out = np.empty((len(truth), n, 2, 2), dtype=np.int64)
    for draw in range(len(truth)):
        cells = (cell + 2 * is_positive[draw])[known[draw]]
        out[draw] = np.bincount(cells, minlength=4 * n).reshape(n, 2, 2)
    return out


def _tables_of_systems(
    truth: TrueLabels, posterior: xr.Dataset | None, predicted: Ints, names: Names, positive: int
) -> Ints:
    """Count predictions (item, system): (draw, system, item is positive, prediction is positive).

    In a fit with correlated errors, each system's predictions are evidence of the truth for this
    system only.
    """
    weight = None
    if posterior is not None:
        hint = "Fit the model again with predictions="
        require_evidence(posterior, names, "truth", hint)
        weight = posterior.get("system_weight")
    is_known = (truth.code >= 0).all(axis=0)
    each = []
    for answer, name in zip(predicted.T, names, strict=True):
        code = truth.code
        if weight is not None:
            of_system = weight.sel({SYSTEM: name}).transpose(*SAMPLE, ...).to_numpy()
            code = truth.beside(answer, of_system.reshape(len(code), -1))
        (item,) = np.nonzero((answer >= 0) & is_known)
        each.append(_tables(code, positive, item, answer[item], np.zeros_like(item), 1))
    return np.concatenate(each, axis=1)


def _rates(
    tables: Ints, prior: tuple[float, float], rng: np.random.Generator, n: int
) -> tuple[Floats, Floats]:
    """Draw sensitivities and false positive rates (draw, respondent)."""
    shape = (n, tables.shape[1])
    positive, negative = (
        rng.beta(prior[0] + tables[:, :, k, 1], prior[1] + tables[:, :, k, 0], shape)
        for k in (1, 0)
    )
    return positive, negative


def _warn(tables: Ints, people: Names) -> None:
    """Warn of annotators who labelled no positive, or no other, item in any draw of the truth."""
    for k, name, rate in ((1, "is positive", NAMES[0]), (0, "is not positive", NAMES[1])):
        lacking = people[(tables[:, :, k].sum(axis=(0, 2)) == 0)]
        if len(lacking):
            warn_caller(
                f"{len(lacking)} of {len(people)} annotators ({shown(list(lacking))}) labelled no "
                f"item that {name}: their {rate} is drawn from the prior."
            )


def in_words(roc: xr.Dataset, positive: Any) -> str:
    """Return the range of the annotators' rates as a sentence."""
    means = [roc[name].mean(list(SAMPLE)) for name in NAMES]
    between = [f"{share(float(mean.min()))} to {share(float(mean.max()))}" for mean in means]
    return (
        f"Where {positive!r} is true, annotators say so with probability {between[0]}; "
        f"where it is not, with probability {between[1]} (posterior means)."
    )


# Rates from the annotators' confusion matrices in a fit.


def _of_fit(fit: xr.DataTree, positive: Any) -> xr.Dataset:
    posterior = posterior_of(fit, "annotations")
    assert posterior is not None
    labels = posterior[LABEL].to_numpy() if LABEL in posterior.coords else np.empty(0)
    observed = fit["observed_data"].to_dataset() if "observed_data" in fit.children else {}
    kind = observed["label_code"].attrs.get("kind", "") if "label_code" in observed else ""
    code = _positive(positive, labels, str(kind))
    of_a_trace = "constant_data" in fit.children and RESPONDENTS in fit["constant_data"]
    if "error_correlation" in posterior or (of_a_trace and "truth" not in posterior):
        raise ArgumentError(
            "annotations", expected="a fit of annotators whose errors are independent",
            found="a fit with error_correlation, whose confusion matrices are relative to the "
            "label behind the annotations, which may differ from the true label"
            if "error_correlation" in posterior
            else "a trace without 'truth', as with error_correlation",
            hint="Pass the annotations, with a fit as truth=: annotator_roc(annotations, fit)",
        )  # fmt: skip
    rates: dict[str, xr.DataArray] = {}
    for dim, prefix in ((ANNOTATOR, ""), (SYSTEM, "system_")):
        pair = _fitted_rates(posterior, dim, code)
        if pair is None and dim == ANNOTATOR:
            raise ArgumentError(
                "annotations",
                expected="annotations, or a fit whose posterior has confusion matrices, or "
                "accuracies with equally frequent errors",
                found=f"the variables {shown(list(map(str, posterior.data_vars)), 12)}",
                hint="With more than two labels use dissensus.models.dawid_skene; or pass "
                "the annotations, with this fit as truth=",
            )
        for name, rate in zip(NAMES, pair or (), strict=False):
            rates[f"{prefix}{name}"] = rate.transpose(*SAMPLE, dim)
    label = plain_label(labels[code])
    out = xr.Dataset(rates, attrs={"positive": label, "truth": fit_name(posterior)})
    return out.assign_attrs(in_words=in_words(out, label))


def _fitted_rates(
    posterior: xr.Dataset, dim: str, positive: int
) -> tuple[xr.DataArray, xr.DataArray] | None:
    """Return sensitivities and false positive rates along ``dim``, or None if they are unknown."""
    matrices = "confusion" if dim == ANNOTATOR else "system_confusion"
    if any(str(name).startswith("typical_") for name in posterior):
        return None  # a trace: matrices are for typical items, not averages over items
    if dim == SYSTEM and matrices in posterior and "shared_answers" in posterior:
        return None  # matrices describe only those answers that systems do not share
    complete = "population_confusion" in posterior and "confusion_concentration" not in posterior
    if dim == ANNOTATOR and matrices not in posterior and complete:
        posterior = posterior.assign({  # a trace with one matrix for all annotators
            matrices: posterior["population_confusion"].expand_dims({dim: [EVERYBODY]})
        })  # fmt: skip
    if matrices in posterior:
        response = posterior[matrices].isel({RESPONSE: positive}, drop=True)
        # The mean over the other true labels, weighted by their prevalence.
        others = [k for k in range(response.sizes[LABEL]) if k != positive]
        weight = posterior["prevalence"].isel({LABEL: others})
        false = (response.isel({LABEL: others}) * weight).sum(LABEL) / weight.sum(LABEL)
        return response.isel({LABEL: positive}, drop=True), false
    accuracy = posterior.get(f"{dim}_accuracy")
    if accuracy is None or "accuracy" in posterior:  # a Rasch model has accuracies by item
        return None
    n = posterior.sizes[LABEL]
    if n > 2 and {"distance_decay", "error_concentration"} & set(posterior):
        return None  # wrong labels are not equally frequent
    if dim not in accuracy.dims:
        accuracy = accuracy.expand_dims(dim if dim in accuracy.coords else {dim: [EVERYBODY]})
    return accuracy, (1.0 - accuracy) / (n - 1)
