"""Areas under the ROC curves of readers, with readers and cases drawn at random."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import xarray as xr
from scipy.special import ndtri

from dissensus import arguments
from dissensus.dims import (
    FALSE_POSITIVE_RATE,
    MODALITY,
    READER,
    SAMPLE,
    SYSTEM,
    THRESHOLD,
    other,
)
from dissensus.errors import shown, warn_caller
from dissensus.kernels.random import generator
from dissensus.kernels.roc import area, rates, sensitivity_at
from dissensus.kernels.types import Flags, Floats, Ints
from dissensus.statistics._readers import Cells, of_new_readers, spreads
from dissensus.statistics._readings import (
    Reading,
    Study,
    check_both,
    labels_of_truth,
    of_annotations,
    of_table,
    readings_in,
    scores_of_systems,
)
from dissensus.wording import listed, share, spoken_probability

SPREAD: Final = {"auc": 0.15, "partial_auc": 0.15, "sensitivity": 0.4, "specificity": 0.4}
"""Scale of the prior of both standard deviations between readers, on the probit scale. Roe & Metz
(1997) simulate areas with .07 (small) and .17 (large); sensitivities and specificities differ by
readers' thresholds too."""
_BLOCK: Final = 2_000_000
"""Weights that are in memory at a time."""
_FEW_READERS: Final = 4
_PLACES: Final = np.linspace(0.0, 1.0, 51)
"""False positive rates at which curves are stored."""

Values = dict[str, tuple[tuple[str, ...], Floats]]


def reader_study(
    ratings: Any,
    truth: Any,
    *,
    reader: str = "reader",
    case: str = "case",
    modality: str | None = "modality",
    score: str = "score",
    cluster: str | None = None,
    positive: Any = None,
    threshold: Any = None,
    max_false_positive_rate: float = 1.0,
    predictions: Any = None,
    new_readers: bool = True,
    new_cases: bool = True,
    draws: int | None = None,
    random_seed: Any = None,
) -> xr.Dataset:
    r"""Areas under the ROC curve of readers with each modality, and their differences.

    The area of a reader is the probability that he gives a higher score to a positive case than to
    a negative one, equal scores counting half. Cases are weighted by a Bayesian bootstrap, which
    all readers and modalities share: gamma weights with shape (n - 2) / n for the n positive and
    the n negative cases, for which the posterior variance of a mean is the usual :math:`s^2 / n`.
    For new readers the average area of modality m is

    .. math:: \bar A_m - \frac{1}{J_m} \sum_r (\rho_r + \delta_{mr}), \qquad
        \rho_r \sim N(0, \sigma_\rho^2), \quad \delta_{mr} \sim N(0, \sigma_\delta^2)

    (on the probit scale, so that it stays below 1), where :math:`\bar A_m` is the mean of its
    :math:`J_m` readers' areas. The posterior of both standard deviations takes out the part of the
    spread between readers' areas that comes from the cases. A bootstrap of readers and
    cases together counts this part three times (Owen 2007, The pigeonhole bootstrap).

    Parameters
    ----------
    ratings : dataframe, mapping of columns, rows, or Dataset
        One row for each score: who gave it, to which case, with which modality. Or annotations
        with ordered labels or numbers, which are one modality.
    truth : str, mapping, Series, DataArray (item), or DataTree
        The true label of each case: the name of a column of the table; labels by case; or a fit
        whose posterior has ``truth`` (item, label). Each draw then uses true labels drawn from one
        of the fit's draws.
    reader, case, modality, score : str
        Columns. A table without the column ``modality`` has one modality.
    cluster : str, optional
        Column of what cases belong to, such as patients. Clusters are weighted instead of cases.
    positive : label, optional
        The positive true label; all others are negative. Default: 1 of 0 and 1, True of True and
        False.
    threshold : float or list of floats, optional
        Adds sensitivities and specificities where scores of at least the threshold are positive.
    max_false_positive_rate : float, default 1
        Adds the partial area: the mean sensitivity over false positive rates up to this.
    predictions : dataframe, mapping, Series or Dataset, optional
        Scores of systems that read the same cases: a table with columns named as ``case`` and
        ``score``, and ``system`` if there are several; a score for each case; or
        `dissensus.predictions` that are numbers.
    new_readers : bool, default True
        Whether averages are for readers like these, or for these readers.
    new_cases : bool, default True
        Whether areas are for cases like these, or for these cases.
    draws : int, optional
        Default: 4,000, or those of the fit in ``truth``.
    random_seed : optional
        As in `bayesian_bootstrap`.

    Returns
    -------
    xarray.Dataset
        Draws (chain, draw) of ``auc`` (modality, reader), NaN where a reader did not use a modality;
        ``average_auc`` (modality); ``difference``, the first modality less the second, or
        (modality, modality_) if there are more than two; ``reader_sd`` and ``interaction_sd``, the
standard deviations. ``curve`` (modality, false_positive_rate) is the mean of the
        sensitivities of these readers. ``observed_auc`` and ``observed_curve`` (modality, reader)
        have no draws. With ``threshold=``:
        ``sensitivity`` and ``specificity`` (modality, reader, threshold), and with
        ``max_false_positive_rate=`` ``partial_auc``, each also with ``average_`` before its name
        and ``_difference`` after it. With ``predictions=``: ``system_auc`` (system), and
        ``system_difference`` (modality, system), its area less the average of the readers.

    Raises
    ------
    AnnotationError, ArgumentError
        If columns or entries are missing, a reader scored a case twice with a modality, a case has
        no true label or several, or there are fewer than three positive or three negative cases.

    Notes
    -----
    Readers need not have read all cases, nor all modalities. Each reader counts alike in the
    average, however many cases he read.

    An area of exactly 1 stays 1 in all draws, with a warning: the bootstrap cannot tell how many
    more cases would have made it smaller.

    Standard deviations have half-normal priors, with scale 0.15 on the probit scale for areas and
    0.4 for sensitivities and specificities. With fewer than four readers the interval for new
    readers depends on this prior, with a warning.

    With an uncertain truth, areas are for the true labels of each draw. If the fit learned the
    truth from the same scores, readers agree with it more than with the truth itself.

    Sources: DeLong, DeLong & Clarke-Pearson (1988), *Biometrics* 44, for the covariance between
    readers; Obuchowski & Rockette (1995), *Communications in Statistics* 24, for the model; Roe &
    Metz (1997), *Academic Radiology* 4, for the simulations in
    `docs/validation.md <https://github.com/dissensus/dissensus/blob/main/docs/validation.md>`_.

    Examples
    --------
    Two readers less experienced with the second modality:

    >>> import dissensus as dx
    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> rows = [
    ...     {"reader": r, "case": c, "modality": m, "score": c % 2 * d + rng.normal(), "ill": c % 2}
    ...     for r in range(4) for c in range(100) for m, d in (("MRI", 2.0), ("CT", 1.5))
    ... ]
    >>> study = dx.reader_study(rows, truth="ill", random_seed=1)
    >>> study["average_auc"].mean(("chain", "draw")).round(2).to_series().to_dict()
    {'CT': 0.86, 'MRI': 0.93}
    >>> bool((study["difference"] < 0).mean() > 0.9)
    True
    """
    arguments.flags(new_readers=new_readers, new_cases=new_cases)
    most = arguments.probability("max_false_positive_rate", max_false_positive_rate, zero=False)
    thresholds = _thresholds(threshold)
    names = {"reader": reader, "case": case, "modality": modality, "score": score}
    if isinstance(ratings, xr.Dataset):
        study = of_annotations(ratings)
    else:
        study = of_table(ratings, names, cluster)
    rng = generator(random_seed, "reader study")
    true, code, label = labels_of_truth(study, truth, case, positive, rng)
    n = true.number_of_draws(draws)
    positives = true.code == code
    check_both(positives, study)
    readings = readings_in(study, positives)
    systems = {} if predictions is None else scores_of_systems(predictions, study, names)

    every = _Measured([*readings, *systems.values()], thresholds, most)
    drawn = every.over(
        _weights(positives, study.cluster, n, new_cases, rng), len(study.modalities)
    )
    seen = every.over(_weights(positives, study.cluster, len(positives), False, rng))
    n_positive = np.array([positives[:, one.case].sum(axis=1).mean() for one in readings])
    n_each = np.array([len(one.case) for one in readings])
    cells = Cells(
        np.array([one.modality for one in readings]),
        np.array([one.reader for one in readings]),
        n_positive * (n_each - n_positive) / n_each,
    )
    several = len(study.modalities) > 1
    values: Values = {}
    values["curve"] = ((MODALITY, FALSE_POSITIVE_RATE), drawn.pop("curve"))
    for name, array in drawn.items():
        dims = (THRESHOLD,) if array.ndim > 2 else ()
        of_readers, alone = np.split(array, [len(readings)], axis=1)
        estimate = seen[name][:, : len(readings)].mean(axis=0)
        average, sd = _averages(of_readers, estimate, cells, SPREAD[name], new_readers, rng)
        values[name] = ((MODALITY, READER, *dims), _on_grid(of_readers, cells, study))
        values[f"average_{name}"] = ((MODALITY, *dims), average)
        prefix = "" if name == "auc" else f"{name}_"
        if several:
            values[f"{prefix}difference"] = _differences(average, dims)
        if name == "auc":
            values["reader_sd"] = ((), sd[:, 0])
            if several:
                values["interaction_sd"] = ((), sd[:, 1])
            if systems:
                values["system_auc"] = ((SYSTEM,), alone)
                less = alone[:, None, :] - average[:, :, None]
                values["system_difference"] = ((MODALITY, SYSTEM), less)
    coords: dict[str, Any] = {MODALITY: study.modalities, READER: study.readers}
    coords[FALSE_POSITIVE_RATE] = _PLACES
    if len(thresholds):
        coords[THRESHOLD] = thresholds
    if systems:
        coords[SYSTEM] = list(systems)
    if len(study.modalities) > 2:
        coords[other(MODALITY)] = study.modalities
    out = true.dataset(values, coords)
    for name in ("auc", "curve"):
        dims = (FALSE_POSITIVE_RATE,) if name == "curve" else ()
        observed = seen[name].mean(axis=0, keepdims=True)
        at = _on_grid(observed[:, : len(readings)], cells, study)[0]
        out[f"observed_{name}"] = (MODALITY, READER, *dims), at
        if systems:
            out[f"observed_system_{name}"] = (SYSTEM, *dims), observed[0, len(readings) :]
    _warn(out, new_readers)
    out = out.assign_attrs(
        positive=label,
        truth=true.source,
        n_cases=len(study.cases),
        n_positive=float(positives.sum(axis=1).mean()),
        new_readers=int(new_readers),
        new_cases=int(new_cases),
        max_false_positive_rate=most,
    )
    return out.assign_attrs(in_words=in_words(out))


def _thresholds(threshold: Any) -> Floats:
    """Return distinct thresholds, ascending; none if none is given."""
    if threshold is None:
        return np.empty(0)
    given = threshold if arguments.is_listed(threshold) else [threshold]
    return np.unique(arguments.finite_row("threshold", given))


def _weights(
    positives: Flags, cluster: Ints | None, n: int, drawn: bool, rng: np.random.Generator
) -> Iterator[tuple[Flags, Floats]]:
    """Yield, for blocks of draws, which cases are positive and the weights of cases (draw, case).

    A gamma variable of shape (n - 2) / n for each of n cases, divided by their sum, has the
    variance for which that of a weighted mean is s^2 / n, with n - 1 in the denominator of s^2.
    """
    size = max(1, _BLOCK // positives.shape[1])
    groups = 0 if cluster is None else int(cluster.max()) + 1
    for start in range(0, n, size):
        stop = min(n, start + size)
        true = positives if len(positives) == 1 else positives[start:stop]
        shape = (stop - start, groups or positives.shape[1])
        if not drawn:
            yield true, np.ones((stop - start, positives.shape[1]))
        elif cluster is not None:
            yield true, rng.gamma((groups - 2) / groups, size=shape)[:, cluster]
        else:
            n_positive = true.sum(axis=1, keepdims=True)
            of_kind = np.where(true, n_positive, true.shape[1] - n_positive)
            yield true, rng.gamma((of_kind - 2) / of_kind, size=shape)


class _Measured(NamedTuple):
    """What is measured of each reading."""

    readings: Sequence[Reading]
    thresholds: Floats
    most: float

    def over(
        self, blocks: Iterable[tuple[Flags, Floats]], n_modalities: int = 0
    ) -> dict[str, Floats]:
        """Return values (draw, reading, ...) by name; curves (draw, modality, ...) if asked."""
        parts = []
        modality = np.array([one.modality for one in self.readings])
        for true, weights in blocks:
            part = self._block(true, weights)
            if n_modalities:  # as many curves as readings and draws would be large
                curves = [part["curve"][:, modality == k].mean(1) for k in range(n_modalities)]
                part["curve"] = np.stack(curves, axis=1)
            parts.append(part)
        return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}

    def _block(self, true: Flags, weights: Floats) -> dict[str, Floats]:
        shape = (len(weights), len(self.readings))
        out = {"auc": np.empty(shape), "curve": np.empty((*shape, len(_PLACES)))}
        if self.most < 1:
            out["partial_auc"] = np.empty(shape)
        if len(self.thresholds):
            at = (*shape, len(self.thresholds))
            out |= {"sensitivity": np.empty(at), "specificity": np.empty(at)}
        for k, one in enumerate(self.readings):
            found = rates(one.score, true[:, one.case], weights[:, one.case])
            distinct, sensitivity, false_positive_rate = found
            out["auc"][:, k] = area(sensitivity, false_positive_rate)
            out["curve"][:, k] = sensitivity_at(sensitivity, false_positive_rate, _PLACES)
            if self.most < 1:
                out["partial_auc"][:, k] = area(sensitivity, false_positive_rate, self.most)
            if len(self.thresholds):
                place = np.searchsorted(-distinct, -self.thresholds, side="right")
                out["sensitivity"][:, k] = sensitivity[:, place]
                out["specificity"][:, k] = 1.0 - false_positive_rate[:, place]
        return out


def _averages(
    by_reading: Floats,
    estimate: Floats,
    cells: Cells,
    spread: float,
    new_readers: bool,
    rng: np.random.Generator,
) -> tuple[Floats, Floats]:
    """Return averages over readers (draw, modality, ...), and the standard deviations (draw, 2)."""
    if by_reading.ndim > 2:  # each threshold by itself
        each = [
            _averages(by_reading[..., k], estimate[:, k], cells, spread, new_readers, rng)
            for k in range(by_reading.shape[2])
        ]
        return np.stack([one[0] for one in each], axis=-1), each[0][1]
    noise = np.atleast_2d(np.cov(by_reading, rowvar=False))
    at = ndtri(np.clip(estimate.mean(), 0.01, 0.99))
    scale = spread * np.exp(-0.5 * at**2) / np.sqrt(2 * np.pi)
    sd = spreads(cells, estimate, noise, scale, len(by_reading), rng)
    average = cells.mean(by_reading)
    return of_new_readers(average, cells, sd, rng) if new_readers else average, sd


def _on_grid(values: Floats, cells: Cells, study: Study) -> Floats:
    """Return values (draw, reading, ...) as (draw, modality, reader, ...), NaN where none is."""
    shape = (len(values), len(study.modalities), len(study.readers), *values.shape[2:])
    out = np.full(shape, np.nan)
    out[:, cells.modality, cells.reader] = values
    return out


def _differences(average: Floats, dims: tuple[str, ...]) -> tuple[tuple[str, ...], Floats]:
    """Return the first modality less the second, or all pairs if there are more."""
    if average.shape[1] == 2:
        return dims, average[:, 0] - average[:, 1]
    return (MODALITY, other(MODALITY), *dims), average[:, :, None] - average[:, None]


def _warn(study: xr.Dataset, new_readers: bool) -> None:
    """Warn of scores that run the other way, of areas of 1, and of few readers."""
    observed = study["observed_auc"]
    low = observed.mean(READER)
    low = low[low < 0.5]
    if len(low):
        warn_caller(
            f"With {shown(low[MODALITY].values.tolist())}, positive cases have lower scores than "
            "negative ones on average. If low scores mean positive, change their sign."
        )
    perfect = [
        f"{observed[READER].values[r]} with {observed[MODALITY].values[m]}"
        for m, r in np.argwhere(observed.values == 1)
    ]
    if perfect:
        warn_caller(
            f"All positive cases have higher scores than all negative ones: {shown(perfect)}. "
            "The area is 1 in all draws, which understates its uncertainty."
        )
    n = int(observed.notnull().sum(READER).min())
    if new_readers and n < _FEW_READERS:
        warn_caller(
            f"A modality has {n} reader{'' if n == 1 else 's'}: how much new readers differ is "
            "mostly assumed. Use new_readers=False for these readers only."
        )


def in_words(study: xr.Dataset) -> str:
    """Return the average areas, and the probability of a difference, as sentences."""
    average = study["average_auc"].mean(SAMPLE)
    areas = [
        f"{share(float(value), 3)} with {name}"
        for name, value in zip(average[MODALITY].values, average.values, strict=True)
    ]
    whom = "new readers" if study.attrs["new_readers"] else "these readers"
    what = "new cases" if study.attrs["new_cases"] else "these cases"
    text = f"The average area under the ROC curve of {whom} on {what} is {listed(areas)}"
    text += " (posterior means)."
    if len(areas) == 2:
        first, second = average[MODALITY].values
        larger = float((study["difference"] > 0).mean())
        text += f" It is larger with {first} than with {second} with probability "
        text += f"{spoken_probability(larger)}."
    return text
