"""Areas under the ROC curves of readers, with readers and cases drawn at random."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
import xarray as xr
from scipy.special import ndtri

from dissensus import arguments
from dissensus.dims import (
    FALSE_POSITIVE_RATE,
    MODALITY,
    POOL,
    READER,
    SYSTEM,
    THRESHOLD,
    other,
)
from dissensus.errors import (
    ArgumentError,
    ConvergenceWarning,
    DissensusWarning,
    brief,
    shown,
    warn_caller,
)
from dissensus.kernels.random import generator
from dissensus.kernels.types import Floats, Ints, Names
from dissensus.statistics import _reader_model as latent_scores
from dissensus.statistics._read import code_of
from dissensus.statistics._reader_areas import (
    PLACES,
    Measured,
    correct_extremes,
    warn_of_bounds,
    weights_of,
)
from dissensus.statistics._reader_model import CHAINS
from dissensus.statistics._reader_scores import (
    Reading,
    Study,
    Truth,
    check_kinds,
    clusters_of,
    in_truth,
    numbers_of_kinds,
    of_annotations,
    of_table,
    readings_in,
    scores_of_systems,
    truth_of,
)
from dissensus.statistics._reader_spread import Cells, Chance, of_new_readers, spreads
from dissensus.statistics._reader_words import concerns, in_words
from dissensus.wording import listed, short

SPREAD: Final = {"auc": 0.2, "partial_auc": 0.28, "sensitivity": 0.4, "specificity": 0.4}
"""Scale of the prior of both standard deviations between readers, on the probit scale. Roe & Metz
(1997) simulate areas with .07 (small) and .17 (large): the prior's median is between them. The
standard deviation of sensitivities is sqrt(2) times larger; thresholds increase it further."""
AREAS: Final = ("empirical", "latent")
_LEAST: Final = 1000
"""Minimum number of draws from which the covariance between readers is computed."""
_READERS: Final = "readers"
"""The name of the readers in a mapping of thresholds."""

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
    areas: str = "empirical",
    predictions: Any = None,
    new_readers: bool = True,
    new_cases: bool = True,
    draws: int | None = None,
    random_seed: Any = None,
    progressbar: bool = True,
) -> xr.Dataset:
    r"""Areas under the ROC curve of readers with each modality, and their differences.

    The area of a reader is the probability that a positive case has a higher score than a negative
    one; equal scores count half. Cases are weighted by a Bayesian bootstrap, with the same weights
    for all readers and modalities. Weights are gamma variables of shape (n - 2) / n, where n is the
    number of positive cases for positive cases, and the number of negative cases for negative
    cases. With ``cluster=``, n is the number of clusters that have such cases; with a fit as
    ``truth``, it is the number of all cases. With these weights the variance of a mean is
    :math:`s^2 / n`. For new readers the average area of modality m is

    .. math:: \bar A_m - \frac{1}{J_m} \sum_r (\rho_r + \delta_{mr}), \qquad
        \rho_r \sim N(0, \sigma_\rho^2), \quad \delta_{mr} \sim N(0, \sigma_\delta^2)

    where :math:`\bar A_m` is the mean area of its :math:`J_m` readers, and :math:`\rho_r` and
    :math:`\delta_{mr}` are the deviations of these readers from all readers. The deviations are
    subtracted on the probit scale, so that averages stay between 0 and 1. The posterior of both
    standard deviations excludes the part of the spread between readers' areas that the cases cause.
    A bootstrap of readers and cases together would count this part three times (Owen 2007, "The
    pigeonhole bootstrap").

    Parameters
    ----------
    ratings : dataframe, mapping of columns, rows, or Dataset
        One row for each score, with columns for the reader, the case, the modality and the score. A
        higher score means that the case is more likely to be positive. Or annotations with ordered
        labels or numbers, which are one modality.
    truth : str, mapping, Series, DataArray (item), table, or DataTree
        The true label of each case: a column of ``ratings``, or its name; labels by case; or a fit
        to labels of other annotators, whose posterior has ``truth`` (item, label). Given the true
        label, these annotators and the readers must err independently.
    reader, case, modality, score : str
        Names of columns. A table without a column ``modality`` has one modality, named "all". Cases
        with the same name are the same case in all modalities: if each modality numbers its cases
        from 1, make the names distinct first. Scores are numbers or an ordered categorical.
    cluster : str, optional
        Name of the column of clusters of cases, such as patients. Clusters are weighted instead of
        cases.
    positive : label, optional
        The positive true label; all others are negative. Default: 1 of 0 and 1.
    threshold : float, grade, list of floats or grades, or mapping, optional
        Adds sensitivities and specificities, for which scores of at least the threshold count as
        positive. To give systems other thresholds, pass a mapping from "readers" and the name of
        each system (by default "system"): ``{"readers": [3, 4], "system": [0.5, 0.8]}``, where 3 is
        paired with .5 and 4 with .8.
    max_false_positive_rate : float, default 1
        If below 1, adds the partial area: the mean sensitivity over false positive rates up to this
        value. Requires known true labels.
    areas : {"empirical", "latent"}, default "empirical"
        "empirical": areas and curves as above. "latent": areas and curves by a model of latent
        scores (see Notes), for studies with few cases: curves are smooth, and areas are below 1.
        Requires known true labels, new cases, and no clusters.
    predictions : dataframe, mapping, Series or Dataset, optional
        Scores of systems for the same cases: a table with the columns named by ``case`` and
        ``score``, and ``system`` if there are several systems; a score for each case; or
        `dissensus.predictions` that are numbers.
    new_readers : bool, default True
        True: averages are for the population of which these readers are a sample. False: for these
        readers.
    new_cases : bool, default True
        True: areas are for all cases like these. False: for these cases.
    draws : int, optional
        Default: 4,000. With a fit in ``truth`` it must be None: all its draws are used. With latent
        scores it is rounded up to a multiple of 4, the number of chains.
    random_seed : optional
        As in `bayesian_bootstrap`.
    progressbar : bool, default True
        Show the progress of the model of latent scores, which takes seconds, or minutes for large
        studies.

    Returns
    -------
    xarray.Dataset
        Draws (chain, draw) of

        - ``auc`` (modality, reader), NaN where a reader scored fewer than three positive or three
          negative cases with a modality;
        - ``average_auc`` (modality), the mean over readers;
        - ``difference``, with two modalities, the first minus the second (sorted by name, or in the
          order of an ordered categorical); with more, all differences (``modality``,
          ``modality_``);
        - with ``new_readers=True``, ``reader_sd``, the standard deviation of areas between readers,
          and with several modalities ``interaction_sd``, between modalities within a reader (with
          latent scores, if readers use several);
        - ``curve`` (modality, false_positive_rate), the mean sensitivity of these readers;
        - with ``threshold=``, ``sensitivity`` and ``specificity`` (modality, reader, threshold),
          and with ``max_false_positive_rate=``, ``partial_auc`` (modality, reader), each with
          averages and differences: ``average_sensitivity``, ``sensitivity_difference``, and so on;
        - with ``predictions=``, ``system_auc`` (system), and ``system_difference`` (modality,
          system), its area minus the average area of the readers. Also ``system_partial_auc`` and
          ``system_partial_auc_difference``. If ``threshold`` has thresholds of systems:
          ``system_sensitivity`` and ``system_specificity`` (system, threshold), their differences
          from the readers' averages, ``system_sensitivity_difference`` and so on, and
          ``system_threshold``. The coordinate ``threshold`` has the readers' thresholds.

        Variables ``observed_...`` have no draws: they are values for these readers and cases.

    Raises
    ------
    AnnotationError, ArgumentError, PredictionError
        If columns or entries are missing, a reader scored a case twice with a modality, a case has
        no true label or several, or there are fewer than three positive or three negative cases.

    Notes
    -----
    Readers may have scored only some of the cases, and used only some of the modalities. All
    readers have equal weights in the average.

    If an observed area is 1 or 0, its draws have no spread. With known true labels areas are then
    drawn with half a positive and half a negative case added. Each lies beyond a share :math:`u^2`
    of the cases of the other kind, with u uniform. If this changes an area of 1 by E on average,
    areas of 1 - d are changed by max(0, 1 - d / 2E) times as much. The added cases are the same for
    all readers of a modality, and differ between modalities. Sensitivities and specificities of 0
    and 1 are drawn from their posterior with Jeffreys' prior. Draws of partial areas are corrected
    for the bias that few negative cases cause.

    Standard deviations have half-normal priors. On the probit scale, at the mean observed value,
    their scale is .2 for areas, .28 for partial areas, and .4 for sensitivities and specificities
    (times :math:`\sqrt{2}` with one modality). With few readers the interval for new readers
    depends on this prior. For new readers, deviations of sensitivity and of specificity are drawn
    independently: the sum of both averages has the right mean, but not the right spread.

    With a fit as ``truth``, in which case i is positive with probability :math:`p_i`, areas are
    those of a regression,

    .. math:: \frac{1}{2} + \frac{\sum_{ij} w_i w_j (p_i - p_j) (\psi_{ij} - \frac{1}{2})}
        {\sum_{ij} w_i w_j (p_i - p_j)^2},

    where :math:`\psi_{ij}` is 1 if case i has the higher score, and ½ for equal scores. If readers
    err independently of the annotators whose labels were fitted, areas of this regression are
    unbiased, while areas against drawn labels or majority labels are too close to ½. If both err
    on the same cases, areas are too large. Draws outside 0 to 1 are set to 0 or 1, with a warning
    if there are many.

    With ``areas="latent"``, the score of reading j (a reader with a modality, or a system) for case
    i with true label d is an unknown ascending function, different for each reading, of

    .. math:: d\,a_j + \tau_d\,(u_i + v_{i m(j)} + w_{i r(j)} + e_{ij}), \qquad \tau_0 = 1

    with normal effects u of the case, v of the case with the modality, w of the case with the
    reader, and residuals e. The area is :math:`\Phi(a_j / T)`, where :math:`T^2` is the sum of the
    variances of a positive and of a negative case. As in the empirical area, only the order of
    scores counts; scores are divided into up to ten grades of about equal size. Equal scores have
    unequal latent scores, so with few grades areas are larger than empirical areas, which count
    equal scores half. With two grades areas are extrapolations.

    Probits of average areas have a normal prior with mean 1 and standard deviation 1. Standard
    deviations of effects of cases have half-normal priors with scale 1; the standard deviation of
    residuals is 1. The sampler is a Gibbs sampler, whose diagnostics are in attributes
    ``areas_...``. Sensitivities, specificities and ``observed_...`` do not depend on the model.

    Sources: DeLong, DeLong & Clarke-Pearson (1988), *Biometrics* 44, for the covariance between
    areas (here computed from the draws); Obuchowski & Rockette (1995), *Communications in
    Statistics* 24, for the model; Roe & Metz (1997), *Academic Radiology* 4, for simulations in
    which intervals were checked.

    Examples
    --------
    Four readers are less accurate with CT:

    >>> import dissensus as dx
    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> rows = [
    ...     {"reader": r, "case": c, "modality": m, "score": c % 2 * d + rng.normal(), "ill": c % 2}
    ...     for r in range(4) for c in range(100) for m, d in (("MRI", 2.0), ("CT", 1.5))
    ... ]
    >>> study = dx.reader_study(rows, truth="ill", random_seed=1)
    >>> study["average_auc"].mean(("chain", "draw")).round(2).to_series().to_dict()
    {'CT': 0.86, 'MRI': 0.92}
    >>> bool((study["difference"] < 0).mean() > 0.9)
    True
    """
    arguments.flags(new_readers=new_readers, new_cases=new_cases, progressbar=progressbar)
    latent = arguments.one_of("areas", areas, AREAS) == "latent"
    max_rate = arguments.probability(
        "max_false_positive_rate", max_false_positive_rate, allow_zero=False
    )
    names = {"reader": reader, "case": case, "modality": modality, "score": score}
    if isinstance(ratings, xr.Dataset):
        _refuse_columns(names, cluster, predictions)
        study = of_annotations(ratings)
        if ratings.sizes.get(POOL, 1) > 1:
            pools = shown(ratings[POOL].to_numpy().tolist())
            warn_caller(
                f"The pools of readers ({pools}) are read as one. If they are modalities, pass the "
                "table, with the name of their column as modality=."
            )
    else:
        study = of_table(ratings, names, cluster)
    thresholds, place = _thresholds(_of_readers(threshold), study)
    true = truth_of(study, truth, case, positive)
    n = true.fit.number_of_draws(draws)
    check_kinds(true, study)
    if max_rate < 1 and not true.known:
        raise ArgumentError(
            "max_false_positive_rate", expected="1 with a fit as truth=", found=brief(max_rate)
        )
    readings = readings_in(study, true)
    systems = {} if predictions is None else scores_of_systems(predictions, study, true, names)
    if latent:
        latent_scores.refuse(readings, systems, study, true, new_cases=new_cases)
        n = -(-n // CHAINS) * CHAINS
    rng = generator(random_seed, "reader study")
    all_readings = [*readings, *systems.values()]
    system_thresholds = _of_systems(threshold, systems, place)
    thresholds_by_reading = np.tile(thresholds, (len(all_readings), 1))
    if system_thresholds is not None:
        thresholds_by_reading[len(readings) :] = system_thresholds
    measured = Measured(all_readings, thresholds_by_reading, max_rate, len(study.modalities))
    observed = measured.observed(true)
    blocks = weights_of(true, study, max(n, _LEAST), new_cases, rng)
    drawn = measured.over(blocks, study, true, observed)
    if new_cases:
        # A separate random stream, so that thresholds do not change areas.
        edges = generator(random_seed, "edges of a reader study")
        correct_extremes(drawn, observed, all_readings, study, true, max_rate, edges)
    if not true.known:
        warn_of_bounds(drawn)
        _warn_of_contradiction(observed["auc"])

    cells = Cells(
        np.array([reading.modality for reading in readings]),
        np.array([reading.reader for reading in readings]),
    )
    by_model = None
    if latent:
        by_model = latent_scores.sample(
            readings, systems, study, true, n, generator(random_seed, "latent scores"),
            show=progressbar,
        )  # fmt: skip
        drawn |= latent_scores.areas(by_model, max_rate)
        drawn["curve"] = latent_scores.curves(by_model, cells.modality, len(study.modalities))
    sizes = _sizes(readings, true)
    several = len(study.modalities) > 1
    values: Values = {"curve": ((MODALITY, FALSE_POSITIVE_RATE), drawn.pop("curve")[:n])}
    for name, array in drawn.items():
        dims = (THRESHOLD,) if array.ndim > 2 else ()
        by_reader, by_system = np.split(array, [len(readings)], axis=1)
        estimate = observed[name][: len(readings)]
        chance = Chance.drawn(n, cells, rng) if new_readers else None
        if by_model is not None and new_readers and name in ("auc", "partial_auc"):
            average, sd = latent_scores.averages(by_model, name, max_rate)
        else:
            average, sd = _averages(
                by_reader, estimate, cells, sizes[name], SPREAD[name], chance, n
            )
        values[name] = (
            (MODALITY, READER, *dims),
            _on_grid(by_reader[:n].clip(0, 1), cells, study),
        )
        values[f"average_{name}"] = ((MODALITY, *dims), average)
        prefix = "" if name == "auc" else f"{name}_"
        if several:
            values[f"{prefix}difference"] = _differences(average, dims)
        if name == "auc" and new_readers:
            values["reader_sd"] = ((), sd[:, 0])
            if several and sd.shape[1] > 1:
                values["interaction_sd"] = ((), sd[:, 1])
        if systems and (not dims or system_thresholds is not None):
            by_system = by_system[:n].clip(0, 1)
            values[f"system_{name}"] = ((SYSTEM, *dims), by_system)
            system_difference = by_system[:, None] - average[:, :, None]
            values[f"system_{prefix}difference"] = ((MODALITY, SYSTEM, *dims), system_difference)
    coords: dict[str, Any] = {MODALITY: study.modalities, READER: study.readers}
    coords[FALSE_POSITIVE_RATE] = PLACES
    if len(thresholds):
        coords[THRESHOLD] = thresholds if study.grades is None else _grades(thresholds, study)
    if systems:
        coords[SYSTEM] = list(systems)
    if len(study.modalities) > 2:
        coords[other(MODALITY)] = study.modalities
    fit = true.fit
    if by_model is not None:
        fit = fit._replace(coords=latent_scores.coordinates(n))
    out = fit.dataset(values, coords)
    for name, array in observed.items():
        dim = FALSE_POSITIVE_RATE if name == "curve" else THRESHOLD
        dims = (dim,) if array.ndim > 1 else ()
        grid = _on_grid(array[None, : len(readings)], cells, study)[0]
        out[f"observed_{name}"] = (MODALITY, READER, *dims), grid
        if systems and (name == "curve" or f"system_{name}" in out):
            out[f"observed_system_{name}"] = (SYSTEM, *dims), array[len(readings) :]
    if system_thresholds is not None:
        out["system_threshold"] = (SYSTEM, THRESHOLD), system_thresholds
    counts = numbers_of_kinds(true, np.arange(len(study.cases)))
    out = out.assign_attrs(
        positive=true.label,
        truth=true.fit.source,
        n_cases=len(study.cases),
        n_positive=counts[0],
        new_readers=int(new_readers),
        new_cases=int(new_cases),
        max_false_positive_rate=max_rate,
        areas=areas,
        **({} if by_model is None else by_model.diagnostics),
    )
    units = counts if study.cluster is None else tuple(
        float(clusters_of(true, study, kind)) for kind in (True, False)
    )  # fmt: skip
    n_cells = len(study.readers) * len(study.modalities) * len(study.cases)
    out = out.assign_attrs(
        modalities=[str(name) for name in study.modalities],
        n_readers=len(study.readers),
        share_scored=len(study.case) / n_cells,
        truth_known=int(true.known),
        in_truth=shown(in_truth(truth, [*study.readers, *systems])),
        unit="cases" if study.cluster is None else "clusters",
        n_constant=sum(bool(np.ptp(reading.score) == 0) for reading in readings),
        constant_systems=listed(
            [short(name) for name, reading in systems.items() if np.ptp(reading.score) == 0]
        ),
        units_positive=units[0],
        units_negative=units[1],
    )
    for topic, text in concerns(out).items():
        warn_caller(text, ConvergenceWarning if topic == "chains" else DissensusWarning)
    return out.assign_attrs(in_words=in_words(out))


def _of_readers(threshold: Any) -> Any:
    """Return the readers' thresholds."""
    if not isinstance(threshold, Mapping):
        return threshold
    if threshold.get(_READERS) is None:
        raise ArgumentError(
            "threshold", expected=f"{_READERS!r} among the names, with the readers' thresholds",
            found=shown(list(threshold)),
        )  # fmt: skip
    return threshold[_READERS]


def _of_systems(threshold: Any, systems: Mapping[str, Reading], place: Ints) -> Floats | None:
    """Return the thresholds of each system (system, threshold), None if systems have none.

    ``place`` (threshold): where each of the readers' ascending thresholds is in the argument.
    """
    if not isinstance(threshold, Mapping):
        return None
    if not systems or _READERS in map(str, systems):
        raise ArgumentError(
            "threshold", expected="a threshold of readers, or a list of thresholds, as "
            + (f"a system is named {_READERS!r}" if systems else "there are no predictions"),
            found=f"a mapping from {shown(list(threshold))}",
        )  # fmt: skip
    of_name = {str(name): value for name, value in threshold.items()}
    if of_name.keys() != {_READERS, *map(str, systems)} or len(of_name) < len(threshold):
        raise ArgumentError(
            "threshold", expected=f"{_READERS!r} and every system: {shown(list(systems))}",
            found=shown(list(threshold)),
        )  # fmt: skip
    number, out = np.size(threshold[_READERS]), []
    for name, reading in systems.items():
        entry = of_name[str(name)]
        where = f"system {brief(name)}"
        row = entry if arguments.is_listed(entry) else [entry]
        low, high = reading.score.min(), reading.score.max()
        own = arguments.finite_row("threshold", row, f"numbers for {where}")
        if len(own) != number or number != len(place):
            raise ArgumentError(
                "threshold", where=where,
                expected="as many different thresholds as the readers have", found=brief(entry),
            )  # fmt: skip
        own = own[place]
        if (np.diff(own) <= 0).any() or own[0] <= low or own[-1] > high:
            raise ArgumentError(
                "threshold", where=where, found=brief(entry),
                expected=f"scores above its lowest, {low:g}, up to its highest, {high:g}, in the "
                "same order as the readers' thresholds",
            )  # fmt: skip
        out.append(own)
    return np.stack(out)


def _warn_of_contradiction(observed: Floats) -> None:
    """Warn of areas that are impossible if the fit's probabilities are right."""
    beyond = int(((observed < -0.02) | (observed > 1.02)).sum())
    if beyond:
        warn_caller(
            f"{beyond} of {len(observed)} areas against the fit are outside 0 to 1 before they are "
            "set to 0 or 1: the fit's probabilities are too close to 1/2 for these readers. Do not "
            "report these areas."
        )


def _refuse_columns(names: Mapping[str, str | None], cluster: str | None, predictions: Any) -> None:
    """Raise if the arguments name columns that annotations do not have."""
    own = {"reader": "annotator", "modality": None, "case": "item", "score": "label"}
    named_roles = {role for role, name in names.items() if name not in (role, own[role])}
    if predictions is not None:  # these arguments also name the columns of predictions
        named_roles -= {"case", "score"}
    if cluster is not None:
        raise ArgumentError(
            "cluster", expected="None, since ratings are annotations", found=brief(cluster),
            hint="Name clusters in dissensus.annotations(..., cluster=)",
        )  # fmt: skip
    if named_roles:
        name = min(named_roles)
        raise ArgumentError(
            name, expected="the default, since ratings are annotations", found=brief(names[name]),
            hint="Pass the table instead of annotations",
        )  # fmt: skip


def _spoken(score: float, study: Study) -> str:
    """Return a score as text, or the name of the grade that it stands for."""
    return f"{score:g}" if study.grades is None else repr(str(study.grades[int(score)]))


def _grades(thresholds: Floats, study: Study) -> Names:
    """Return the names of the grades at places in the order of grades."""
    assert study.grades is not None
    return np.asarray(study.grades[thresholds.astype(np.int64)])


def _thresholds(threshold: Any, study: Study) -> tuple[Floats, Ints]:
    """Return the distinct thresholds, ascending, and where each is in the argument.

    Thresholds that are grades are returned as the places of the grades.
    """
    if threshold is None:
        return np.empty(0), np.empty(0, dtype=np.int64)
    entries = list(threshold) if arguments.is_listed(threshold) else [threshold]
    if study.grades is not None:
        place = [code_of(grade, study.grades) for grade in entries]
        if min(place, default=-1) < 0:
            raise ArgumentError(
                "threshold", expected=f"grades: {shown(list(study.grades), 12)}",
                found=shown([x for x, k in zip(entries, place, strict=True) if k < 0] or entries),
            )  # fmt: skip
        entries = [float(k) for k in place]
    out, first = np.unique(arguments.finite_row("threshold", entries), return_index=True)
    low, high = study.score.min(), study.score.max()
    outside = out[(out <= low) | (out > high)]
    if len(outside):
        raise ArgumentError(
            "threshold", expected=f"scores above the lowest, {_spoken(low, study)}, up to the "
            f"highest, {_spoken(high, study)}", found=", ".join(_spoken(x, study) for x in outside),
            hint="Otherwise all cases, or none, are called positive",
        )  # fmt: skip
    return out, first


def _sizes(readings: Sequence[Reading], true: Truth) -> dict[str, Floats]:
    """Return by measure the size of each reading: the variance is proportional to 1 / size."""
    positive, negative = np.array([numbers_of_kinds(true, reading.case) for reading in readings]).T
    both = positive * negative / (positive + negative)
    return {
        "auc": both, "partial_auc": both, "sensitivity": positive, "specificity": negative,
    }  # fmt: skip


def spread_at(observed: Floats, spread: float) -> float:
    """Convert a standard deviation on the probit scale to the scale of ``observed`` (reading,)."""
    at = ndtri(np.clip(np.nanmean(observed), 0.01, 0.99))
    return float(spread * np.exp(-0.5 * at**2) / np.sqrt(2 * np.pi))


def _averages(
    by_reading: Floats,
    estimate: Floats,
    cells: Cells,
    size: Floats,
    spread: float,
    chance: Chance | None,
    n: int,
) -> tuple[Floats, Floats]:
    """Return averages over readers (draw, modality, ...), and standard deviations (draw, 2).

    Standard deviations are between readers, and between a reader's modalities. Without ``chance``
    averages are for these readers, and there are no standard deviations. The covariance of noise
    is computed from all draws in ``by_reading``; the first ``n`` draws are returned.
    """
    if by_reading.ndim > 2:  # each threshold separately
        each = [
            _averages(by_reading[..., k], estimate[:, k], cells, size, spread, chance, n)
            for k in range(by_reading.shape[2])
        ]
        return np.stack([result[0] for result in each], axis=-1), each[0][1]
    average = cells.mean(by_reading)[:n].clip(0, 1)
    if chance is None:
        return average, np.empty((0, 2))
    noise = np.atleast_2d(np.cov(by_reading, rowvar=False))
    sd = spreads(cells, estimate, noise, size, spread_at(estimate, spread), chance.spread)
    return of_new_readers(average, cells, sd, chance), sd


def _on_grid(values: Floats, cells: Cells, study: Study) -> Floats:
    """Return values (draw, reading, ...) as (draw, modality, reader, ...); NaN if not read."""
    shape = (len(values), len(study.modalities), len(study.readers), *values.shape[2:])
    out = np.full(shape, np.nan)
    out[:, cells.modality, cells.reader] = values
    return out


def _differences(average: Floats, dims: tuple[str, ...]) -> tuple[tuple[str, ...], Floats]:
    """Return the first modality minus the second; with more modalities, all differences."""
    if average.shape[1] == 2:
        return dims, average[:, 0] - average[:, 1]
    return (MODALITY, other(MODALITY), *dims), average[:, :, None] - average[:, None]
