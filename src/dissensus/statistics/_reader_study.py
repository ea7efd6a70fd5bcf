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
    off_the_edge,
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
"""The name of the readers' thresholds."""

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
    number of positive cases for positive cases, and of negative cases for negative ones (of
    clusters, with ``cluster=``; of all cases, with a fit): the variance of a mean is then
    :math:`s^2 / n`. For new readers the average area of modality m is

    .. math:: \bar A_m - \frac{1}{J_m} \sum_r (\rho_r + \delta_{mr}), \qquad
        \rho_r \sim N(0, \sigma_\rho^2), \quad \delta_{mr} \sim N(0, \sigma_\delta^2)

    where :math:`\bar A_m` is the mean area of its :math:`J_m` readers, and :math:`\rho_r` and
    :math:`\delta_{mr}` are the deviations of these readers from all readers. They are subtracted on
    the probit scale, so that averages stay between 0 and 1. The posterior of both standard
    deviations leaves out the part of the spread between readers' areas that comes from the cases. A
    bootstrap of readers and cases together counts this part three times (Owen 2007, "The pigeonhole
    bootstrap").

    Parameters
    ----------
    ratings : dataframe, mapping of columns, rows, or Dataset
        One row for each score: who gave it, to which case, with which modality. The higher the
        score, the more likely the case is positive. Or annotations with ordered labels or numbers,
        which are one modality.
    truth : str, mapping, Series, DataArray (item), table, or DataTree
        The true label of each case: a column of ``ratings``, or its name; labels by case; or a fit
        whose posterior has ``truth`` (item, label), made from labels of other people. Given the
        true label, these people and the readers must err independently.
    reader, case, modality, score : str
        Columns. A table without a column ``modality`` has one modality, named "all". Equal names
        mean the same case in all modalities: if each modality numbers its cases from 1, make the
        names distinct first. Scores are numbers or an ordered categorical.
    cluster : str, optional
        Column of the clusters of cases, such as patients. Clusters are weighted instead of cases.
    positive : label, optional
        The positive true label; all others are negative. Default: 1 of 0 and 1.
    threshold : float, grade, list of floats or grades, or mapping, optional
        Adds sensitivities and specificities where scores of at least the threshold are positive.
        For systems, a mapping from "readers" and the name of each system (by default "system"):
        ``{"readers": [3, 4], "system": [0.5, 0.8]}``, where 3 is paired with .5 and 4 with .8.
    max_false_positive_rate : float, default 1
        If below 1, adds the partial area: the mean sensitivity over false positive rates up to
        this. Needs known true labels.
    areas : {"empirical", "latent"}, default "empirical"
        "empirical": areas and curves as above. "latent": by a model of latent scores, see Notes,
        for studies with few cases: curves are smooth, and areas below 1. Needs known true labels,
        new cases, and no clusters.
    predictions : dataframe, mapping, Series or Dataset, optional
        Scores of systems that read the same cases: a table with the columns ``case`` and ``score``
        (or your names of these), and ``system`` if there are several; a score for each case; or
        `dissensus.predictions` that are numbers.
    new_readers : bool, default True
        True: averages are for all readers like these. False: for these readers.
    new_cases : bool, default True
        True: areas are for all cases like these. False: for these cases.
    draws : int, optional
        Default: 4,000. With a fit in ``truth`` it must be None: all its draws are used. With latent
        scores it is rounded up to a multiple of 4, the number of chains.
    random_seed : optional
        As in `bayesian_bootstrap`.
    progressbar : bool, default True
        Show progress of the model of latent scores: it takes seconds, in large studies minutes.

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
          and with ``max_false_positive_rate=``, ``partial_auc`` (modality, reader), with averages
          and differences: ``average_sensitivity``, ``sensitivity_difference``, and so on;
        - with ``predictions=``, ``system_auc`` (system), and ``system_difference`` (modality,
          system), its area minus the average area of the readers; also ``system_partial_auc``,
          ``system_partial_auc_difference``. If ``threshold`` has thresholds of systems:
          ``system_sensitivity`` and ``system_specificity`` (system, threshold), their differences
          from the readers' averages, ``system_sensitivity_difference`` and so on, and
          ``system_threshold``. The coordinate ``threshold`` has the readers' thresholds.

        Variables ``observed_...`` have no draws: they are for these readers and cases.

    Raises
    ------
    AnnotationError, ArgumentError, PredictionError
        If columns or entries are missing, a reader scored a case twice with a modality, a case has
        no true label or several, or there are fewer than three positive or three negative cases.

    Notes
    -----
    Readers need not have read all cases, nor all modalities. Each reader has the same weight in the
    average.

    Draws of an observed area of 1 or 0 have no spread. With known true labels they are replaced by
    draws of the area with half a positive and half a negative case added, both tied with all
    others. Sensitivities and specificities of 0 and 1 are drawn from their posterior with Jeffreys'
    prior. Draws of partial areas are corrected for the bias that few negative cases cause.

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
    err independently of the people behind the fit, areas against drawn labels or majority labels
    are too close to ½, and areas of this regression are unbiased. If both err on the same cases,
    areas are too large. Draws outside 0 to 1 are set to 0 or 1, with a warning if they are many.

    With ``areas="latent"``, the score of reading j (a reader with a modality, or a system) for case
    i with true label d is an unknown ascending function, different for each reading, of

    .. math:: d\,a_j + \tau_d\,(u_i + v_{i m(j)} + w_{i r(j)} + e_{ij}), \qquad \tau_0 = 1

    with normal effects of the case, of the case with the modality, and with the reader. The area is
    :math:`\Phi(a_j / T)`, where :math:`T^2` is the sum of the variances of a positive and of a
    negative case. Only the order of scores counts, as in the empirical area, in up to ten grades of
    about equal size. Equal scores have unequal latent scores, so areas of few grades are larger
    than empirical areas, which count equal scores half; with two grades areas are extrapolations.
    Probits of average areas have a normal prior with mean 1 and standard deviation 1. Standard
    deviations of effects of cases have half-normal priors with scale 1; the standard deviation of
    residuals is 1. The sampler is a Gibbs sampler; attributes ``areas_...`` have its diagnostics.
    Sensitivities, specificities and ``observed_...`` do not depend on the model.

    Sources: DeLong, DeLong & Clarke-Pearson (1988), *Biometrics* 44, for the covariance between
    areas (here computed from the draws); Obuchowski & Rockette (1995), *Communications in
    Statistics* 24, for the model; Roe & Metz (1997), *Academic Radiology* 4, for simulations in
    which intervals were checked.

    Examples
    --------
    Four readers, who are less accurate with CT:

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
    most = arguments.probability("max_false_positive_rate", max_false_positive_rate, zero=False)
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
    if most < 1 and not true.known:
        raise ArgumentError(
            "max_false_positive_rate", expected="1 with a fit as truth=", found=brief(most)
        )
    readings = readings_in(study, true)
    systems = {} if predictions is None else scores_of_systems(predictions, study, true, names)
    if latent:
        latent_scores.refuse(readings, systems, study, true, new_cases=new_cases)
        n = -(-n // CHAINS) * CHAINS
    rng = generator(random_seed, "reader study")
    every = [*readings, *systems.values()]
    own = _of_systems(threshold, systems, place)
    least = np.tile(thresholds, (len(every), 1))
    if own is not None:
        least[len(readings) :] = own
    measured = Measured(every, least, most, len(study.modalities))
    seen = measured.observed(true)
    blocks = weights_of(true, study, max(n, _LEAST), new_cases, rng)
    drawn = measured.over(blocks, study, true, seen)
    if new_cases:
        # A separate random stream, so that thresholds do not change areas.
        edges = generator(random_seed, "edges of a reader study")
        off_the_edge(drawn, seen, every, study, true, most, edges)
    if not true.known:
        warn_of_bounds(drawn)
        _warn_of_contradiction(seen["auc"])

    cells = Cells(
        np.array([one.modality for one in readings]), np.array([one.reader for one in readings])
    )
    by_model = None
    if latent:
        by_model = latent_scores.sample(
            readings, systems, study, true, n, generator(random_seed, "latent scores"),
            show=progressbar,
        )  # fmt: skip
        drawn |= latent_scores.areas(by_model, most)
        drawn["curve"] = latent_scores.curves(by_model, cells.modality, len(study.modalities))
    sizes = _sizes(readings, true)
    several = len(study.modalities) > 1
    values: Values = {"curve": ((MODALITY, FALSE_POSITIVE_RATE), drawn.pop("curve")[:n])}
    for name, array in drawn.items():
        dims = (THRESHOLD,) if array.ndim > 2 else ()
        of_readers, alone = np.split(array, [len(readings)], axis=1)
        estimate = seen[name][: len(readings)]
        chance = Chance.drawn(n, cells, rng) if new_readers else None
        if by_model is not None and new_readers and name in ("auc", "partial_auc"):
            average, sd = latent_scores.averages(by_model, name, most)
        else:
            average, sd = _averages(
                of_readers, estimate, cells, sizes[name], SPREAD[name], chance, n
            )
        values[name] = (
            (MODALITY, READER, *dims),
            _on_grid(of_readers[:n].clip(0, 1), cells, study),
        )
        values[f"average_{name}"] = ((MODALITY, *dims), average)
        prefix = "" if name == "auc" else f"{name}_"
        if several:
            values[f"{prefix}difference"] = _differences(average, dims)
        if name == "auc" and new_readers:
            values["reader_sd"] = ((), sd[:, 0])
            if several and sd.shape[1] > 1:
                values["interaction_sd"] = ((), sd[:, 1])
        if systems and (not dims or own is not None):
            alone = alone[:n].clip(0, 1)
            values[f"system_{name}"] = ((SYSTEM, *dims), alone)
            less = alone[:, None] - average[:, :, None]
            values[f"system_{prefix}difference"] = ((MODALITY, SYSTEM, *dims), less)
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
    for name, array in seen.items():
        more = FALSE_POSITIVE_RATE if name == "curve" else THRESHOLD
        dims = (more,) if array.ndim > 1 else ()
        grid = _on_grid(array[None, : len(readings)], cells, study)[0]
        out[f"observed_{name}"] = (MODALITY, READER, *dims), grid
        if systems and (name == "curve" or f"system_{name}" in out):
            out[f"observed_system_{name}"] = (SYSTEM, *dims), array[len(readings) :]
    if own is not None:
        out["system_threshold"] = (SYSTEM, THRESHOLD), own
    counts = numbers_of_kinds(true, np.arange(len(study.cases)))
    out = out.assign_attrs(
        positive=true.label,
        truth=true.fit.source,
        n_cases=len(study.cases),
        n_positive=counts[0],
        new_readers=int(new_readers),
        new_cases=int(new_cases),
        max_false_positive_rate=most,
        areas=areas,
        **({} if by_model is None else by_model.diagnostics),
    )
    units = counts if study.cluster is None else tuple(
        float(clusters_of(true, study, kind)) for kind in (True, False)
    )  # fmt: skip
    cells_of = len(study.readers) * len(study.modalities) * len(study.cases)
    out = out.assign_attrs(
        modalities=[str(name) for name in study.modalities],
        n_readers=len(study.readers),
        share_scored=len(study.case) / cells_of,
        truth_known=int(true.known),
        unit="cases" if study.cluster is None else "clusters",
        n_constant=sum(bool(np.ptp(one.score) == 0) for one in readings),
        constant_systems=listed(
            [short(name) for name, one in systems.items() if np.ptp(one.score) == 0]
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
    """Return the thresholds of each system (system, threshold), None if they have none.

    ``place`` is where the ascending thresholds of readers were given.
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
    for name, one in systems.items():
        given = of_name[str(name)]
        where = f"system {brief(name)}"
        row = given if arguments.is_listed(given) else [given]
        low, high = one.score.min(), one.score.max()
        own = arguments.finite_row("threshold", row, f"numbers for {where}")
        if len(own) != number or number != len(place):
            raise ArgumentError(
                "threshold", where=where,
                expected="as many different thresholds as the readers have", found=brief(given),
            )  # fmt: skip
        own = own[place]
        if (np.diff(own) <= 0).any() or own[0] <= low or own[-1] > high:
            raise ArgumentError(
                "threshold", where=where, found=brief(given),
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
    """Raise if columns are named that annotations do not have."""
    own = {"reader": "annotator", "modality": None, "case": "item", "score": "label"}
    given = {role for role, name in names.items() if name not in (role, own[role])}
    if predictions is not None:  # these arguments also name the columns of predictions
        given -= {"case", "score"}
    if cluster is not None:
        raise ArgumentError(
            "cluster", expected="None, since ratings are annotations", found=brief(cluster),
            hint="Name clusters in dissensus.annotations(..., cluster=)",
        )  # fmt: skip
    if given:
        name = min(given)
        raise ArgumentError(
            name, expected="the default, since ratings are annotations", found=brief(names[name]),
            hint="Pass the table instead of annotations",
        )  # fmt: skip


def _spoken(score: float, study: Study) -> str:
    """Return a score, or the grade that it stands for."""
    return f"{score:g}" if study.grades is None else repr(str(study.grades[int(score)]))


def _grades(thresholds: Floats, study: Study) -> Names:
    """Return the words of grades by their places."""
    assert study.grades is not None
    return np.asarray(study.grades[thresholds.astype(np.int64)])


def _thresholds(threshold: Any, study: Study) -> tuple[Floats, Ints]:
    """Return distinct thresholds, ascending, grades by their places, and where each was given."""
    if threshold is None:
        return np.empty(0), np.empty(0, dtype=np.int64)
    given = list(threshold) if arguments.is_listed(threshold) else [threshold]
    if study.grades is not None:
        place = [code_of(one, study.grades) for one in given]
        if min(place, default=-1) < 0:
            raise ArgumentError(
                "threshold", expected=f"grades: {shown(list(study.grades), 12)}",
                found=shown([x for x, k in zip(given, place, strict=True) if k < 0] or given),
            )  # fmt: skip
        given = [float(k) for k in place]
    out, first = np.unique(arguments.finite_row("threshold", given), return_index=True)
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
    """Return, by measure, numbers of cases to which variances are inversely proportional."""
    positive, negative = np.array([numbers_of_kinds(true, one.case) for one in readings]).T
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

    These are between readers, and between a reader's modalities. Without ``chance`` averages are
    for these readers, and there are no standard deviations. The covariance is computed from all
    draws, of which the first ``n`` are returned.
    """
    if by_reading.ndim > 2:  # each threshold by itself
        each = [
            _averages(by_reading[..., k], estimate[:, k], cells, size, spread, chance, n)
            for k in range(by_reading.shape[2])
        ]
        return np.stack([one[0] for one in each], axis=-1), each[0][1]
    average = cells.mean(by_reading)[:n].clip(0, 1)
    if chance is None:
        return average, np.empty((0, 2))
    noise = np.atleast_2d(np.cov(by_reading, rowvar=False))
    sd = spreads(cells, estimate, noise, size, spread_at(estimate, spread), chance.spread)
    return of_new_readers(average, cells, sd, chance), sd


def _on_grid(values: Floats, cells: Cells, study: Study) -> Floats:
    """Return values (draw, reading, ...) as (draw, modality, reader, ...), NaN for no reading."""
    shape = (len(values), len(study.modalities), len(study.readers), *values.shape[2:])
    out = np.full(shape, np.nan)
    out[:, cells.modality, cells.reader] = values
    return out


def _differences(average: Floats, dims: tuple[str, ...]) -> tuple[tuple[str, ...], Floats]:
    """Return the first modality minus the second; with more modalities, all differences."""
    if average.shape[1] == 2:
        return dims, average[:, 0] - average[:, 1]
    return (MODALITY, other(MODALITY), *dims), average[:, :, None] - average[:, None]
