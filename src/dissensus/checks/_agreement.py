"""Agreement of annotators, and discrepancy ratios of systems, in replicates of a fitted model."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, Final, NamedTuple

import numpy as np
import pandas as pd
import xarray as xr

from dissensus import statistics
from dissensus.checks._lists import identical_lists
from dissensus.checks._replicates import (
    AnnotationRows,
    Replicates,
    evaluated,
    replicates,
    stacked,
    tail_probability,
)
from dissensus.data.alignment import common_items
from dissensus.data.schema import checked_predictions
from dissensus.dims import ITEM, POSITION, SAMPLE, SYSTEM
from dissensus.errors import ArgumentError, DissensusWarning, brief
from dissensus.kernels.distances import far_pairs
from dissensus.kernels.types import Floats
from dissensus.statistics._chance import NO_PAIRS
from dissensus.statistics._discrepancy_ratio import discrepancy_ratio
from dissensus.statistics._distances import pairs_of
from dissensus.statistics._read import numbers_of, rows_of
from dissensus.statistics._sums import SUMS, Sums, Undefined
from dissensus.wording import number, probability, share

_LEVELS: Final = {
    "labels": ("nominal", "ordinal", "interval", "ratio"),
    "numbers": ("interval",),
    "rankings": ("nominal",),
    "first choices": ("nominal",),
}
"""Levels of Krippendorff's alpha by form of the data; the first level is the default."""


class Check(NamedTuple):
    """A statistic, and the function that computes it from `stacked` annotations."""

    name: str
    meaning: str
    kind: str
    sums: Callable[[xr.Dataset], Sums]
    firsts: bool = False
    """Whether the statistic is computed from first choices."""
    width: int = 1
    """Approximate number of totals per version, from which the size of blocks follows."""


def checks(versions: Replicates, level: str) -> list[Check]:
    """Return the checks for the form of the replicates (labels, numbers, rankings, ...)."""
    if versions.form == "numbers":
        alpha = f"Krippendorff's alpha ({level})"
        return [
            Check("krippendorff_alpha", alpha, "continuous", _alpha(level)),
            Check(
                "mean_absolute_difference", "absolute difference of two annotators of an item",
                "continuous", _absolute_difference,
            ),
        ]  # fmt: skip
    named = versions.form == "labels" and versions.kind
    kind = named or ("nominal" if level == "nominal" else "ordinal")
    n_labels = len(versions.labels) + versions.another
    width = n_labels**2 if level == "ordinal" else n_labels
    firsts = versions.form != "labels"
    of = " of their first choices (ties broken at random)" if firsts else ""
    out = [
        Check(
            "percent_agreement", f"probability that two annotators of an item agree{of}",
            kind, statistics.get("percent_agreement").sums, firsts, n_labels,
        ),
        Check(
            "krippendorff_alpha", f"Krippendorff's alpha ({level}){of}", kind, _alpha(level),
            firsts, width,
        ),
    ]  # fmt: skip
    if versions.form == "first choices":
        return out
    leading = Check(
        "leave_one_out_agreement",
        "probability that an annotator gives the majority label of the item's other annotators",
        "ranking" if versions.form == "rankings" else kind,
        statistics.get("leave_one_out_agreement").sums,
    )
    if versions.form != "rankings" or not _has_equally_long_lists(versions):
        return [*out, leading]
    whole = Check(
        "identical_lists", "probability that two equally long lists of an item (2 labels or more) "
        "are the same", "ranking", identical_lists,
    )  # fmt: skip
    return [*out, leading, whole]


def _has_equally_long_lists(versions: Replicates) -> bool:
    rows = versions.observed
    ann = stacked(rows, rows.values(slice(0, 1)), len(versions.items), "ranking", versions.labels)
    return bool(identical_lists(ann).bears.any())


def _alpha(level: str) -> Callable[[xr.Dataset], Sums]:
    sums = statistics.get("krippendorff_alpha").sums
    return lambda annotations: sums(annotations, level)


def checked_level(versions: Replicates, level: str | None) -> str:
    """Return ``level``, or the default if it is None; raise if the data do not have this level."""
    levels = _LEVELS[versions.form]
    if versions.another:
        levels = levels[:1]
    if level is None:
        return levels[0]
    if not isinstance(level, str) or level not in levels:  # `in` compares arrays element by element
        raise ArgumentError(
            "level",
            expected=f"{' or '.join(map(repr, levels))} for replicates that are {versions.form}",
            found=brief(level),
        )
    return level


def values_of(
    check: Check, versions: Replicates, rows: AnnotationRows, undefined: Undefined
) -> Floats:
    """Compute a statistic of every version, block by block: (version)."""
    rows = rows.first_choices() if check.firsts else rows
    labels = np.arange(len(versions.labels) + 1) if versions.another else versions.labels
    values = []
    for block in rows.blocks(check.width):
        ann = stacked(rows, rows.values(block), len(versions.items), check.kind, labels)
        values.append(evaluated(check.sums(ann), block.stop - block.start, undefined))
    return np.concatenate(values)


def _absolute_difference(annotations: xr.Dataset) -> Sums:
    """Prepare the mean over items of the mean absolute difference of two annotators."""
    rows = rows_of(annotations)
    within, _ = far_pairs(rows, numbers_of(annotations))
    pairs = pairs_of(rows.n_annotators)
    parts = ((pairs > 0).astype(np.float64), within / np.maximum(pairs, 1.0))

    def finish(totals: Floats, undefined: Undefined) -> Floats:
        return undefined.divide(totals[:, 1], totals[:, 0], NO_PAIRS)

    return Sums("mean_absolute_difference", parts, finish, annotations[ITEM].to_numpy())


def copied_statistics(versions: Replicates) -> list[tuple[str, str, float]]:
    """Return name, meaning and value of statistics that replicates copy from the data."""
    if versions.form != "rankings":
        return []
    rows = versions.observed
    columns = {"item": rows.item, "annotator": rows.annotator, "rank": rows.rank}
    if rows.trial is not None:
        columns["trial"] = rows.trial
    frame = pd.DataFrame(columns)
    blocks = frame.value_counts().to_numpy()
    lists = frame.drop(columns="rank").value_counts().to_numpy()
    tied, pairs = ((n * (n - 1)).sum() for n in (blocks, lists))
    return [
        ("tie_rate", "share of tied pairs among labels that an annotator lists", tied / pairs),
        ("list_length", "number of labels that an annotator lists", lists.mean()),
    ]


STATISTIC: Final = "statistic"
EXTREME: Final = 0.05
"""Tail probabilities below this, or above one minus this, are reported as misfits."""


def agreement_check(
    fit: xr.DataTree, annotations: xr.Dataset | None = None, *, level: str | None = None
) -> xr.Dataset:
    r"""Check whether a fitted model reproduces the agreement of annotators.

    Each posterior draw gives one replicate of the annotations: the same items with the same numbers
    of annotators, whose labels are drawn from the model. Statistics of agreement are computed from
    the annotations and from all replicates. If the observed value lies in a tail of the replicated
    values, the model does not reproduce it, and predicts future annotators unreliably.

    .. math:: p_T = P(T(y^{rep}) > T(y) \mid y) + \tfrac{1}{2} P(T(y^{rep}) = T(y) \mid y)

    Parameters
    ----------
    fit : DataTree
        From a model's ``fit(..., posterior_predictive=True)``.
    annotations : Dataset, optional
        The data of the fit. Needed only if annotators gave an item several labels (``trial=``) and
        the fit does not contain the annotator of each label.
    level : {"nominal", "ordinal", "interval", "ratio"}, optional
        Level of `krippendorff_alpha`. None is "interval" for models of numbers, "nominal" for all
        others.

    Returns
    -------
    Dataset
        ``observed`` (statistic), ``replicated`` (chain, draw, statistic) and
        ``tail_probability`` (statistic), NaN for statistics that are not checked; the coordinates
        ``meaning`` and ``checked`` of each statistic; and the attribute ``in_words``. The
        statistics are

        - for labels: `percent_agreement`, `krippendorff_alpha`, `leave_one_out_agreement`;
        - for numbers: `krippendorff_alpha`, and ``mean_absolute_difference`` of two annotators;
        - for rankings: `percent_agreement` and `krippendorff_alpha` of first choices (ties broken
          at random), `leave_one_out_agreement` of lists, ``identical_lists`` (the share of pairs of
          equally long lists of an item, of two labels or more, that are the same), and ``tie_rate``
          and ``list_length``, which are not checked, since replicates copy them from the data;
        - for `models.inverse_rank`, which predicts only first choices: `percent_agreement` and
          `krippendorff_alpha`.

    Warns
    -----
    DissensusWarning
        If a statistic is undefined for the data, or for some replicates. These replicates are left
        out.

    Notes
    -----
    Both small and large tail probabilities are misfits. With many labels and few annotators, a
    Dirichlet prior with ``prior_count=1`` makes replicates agree less than the data. Annotators who
    copy each other agree more than in any model of independent annotators; in rankings of many
    labels, ``identical_lists`` shows this best. The data are used twice, for the fit and for the
    check, so tail probabilities under the true model are closer to .5 than uniform random numbers.
    A model that passes this check may fail in other respects.

    Source: Gelman, Meng & Stern (1996), "Posterior predictive assessment of model fitness via
    realized discrepancies", *Statistica Sinica* 6.

    Examples
    --------
    Six labels, with a prior that has more weight than three annotators:

    >>> import dissensus as dx
    >>> study = dx.simulate.study(n_items=60, n_labels=6, kind="nominal", random_seed=1)
    >>> fit = dx.models.dirichlet.fit(study.annotations, prior_count=1, draws=100,
    ...     posterior_predictive=True, random_seed=1, progressbar=False)
    >>> check = dx.agreement_check(fit).sel(statistic="percent_agreement")
    >>> round(float(check["observed"]), 2), round(float(check["replicated"].mean()), 2)
    (0.8, 0.4)
    >>> float(check["tail_probability"])
    0.0
    """
    versions = replicates(fit, annotations)
    results = [
        _checked(versions, check) for check in checks(versions, checked_level(versions, level))
    ]
    results += [_copied(*result) for result in copied_statistics(versions)]
    shape = tuple(len(versions.sample[dim]) for dim in SAMPLE)
    values = np.stack(
        [np.broadcast_to(result.replicated, versions.drawn.count) for result in results], axis=-1
    )
    out = xr.Dataset(
        {
            "observed": (STATISTIC, [result.observed for result in results]),
            "replicated": ((*SAMPLE, STATISTIC), values.reshape(*shape, len(results))),
            "tail_probability": (STATISTIC, [result.tail for result in results]),
        },
        coords={
            **versions.sample,
            STATISTIC: [result.name for result in results],
            "meaning": (STATISTIC, [result.meaning for result in results]),
            "checked": (STATISTIC, [result.checked for result in results]),
        },
        attrs=versions.attrs,
    )
    return out.assign_attrs(in_words="\n".join(result.words() for result in results))


class _Result(NamedTuple):
    """One statistic of the data and of all replicates."""

    name: str
    meaning: str
    observed: float
    replicated: Floats
    checked: bool = True

    @property
    def tail(self) -> float:
        """P(replicated > observed); equal values count half."""
        known = self.replicated[np.isfinite(self.replicated)]
        if not (self.checked and len(known) and np.isfinite(self.observed)):
            return float("nan")
        return float(tail_probability(known, self.observed))

    def words(self) -> str:
        """Summarise the result in one line."""
        start = f"{self.name}: observed {_written(self.observed)}"
        if not self.checked:
            return f"{start}; not checked, since replicates have the same value by design."
        if np.isnan(self.tail):
            return f"{start}; not checked, since it is undefined."
        known = self.replicated[np.isfinite(self.replicated)]
        low, high = (_written(value) for value in np.quantile(known, [0.05, 0.95]))
        verdict = "reproduced"
        if not EXTREME <= self.tail <= 1.0 - EXTREME:
            verdict = "lower" if self.tail > EXTREME else "higher"
            verdict = f"not reproduced: {verdict} in the data than in the model"
        return (
            f"{start}, replicated {_written(known.mean())} (90 % of replicates from {low} to "
            f"{high}), tail probability {probability(self.tail)}; {verdict}."
        )


def _written(value: float) -> str:
    return share(value, 3) if abs(value) <= 1 else number(float(f"{value:.4g}"))


def _checked(versions: Replicates, check: Check) -> _Result:
    """Compute a statistic of the data and of all replicates."""
    undefined, undefined_replicates = Undefined(), Undefined()
    observed = values_of(check, versions, versions.observed, undefined)
    replicated = values_of(check, versions, versions.drawn, undefined_replicates)
    texts = [
        undefined.message(check.name),
        undefined_replicates.message(f"{check.name} of replicates", "draws"),
    ]
    if any(texts):
        warnings.warn(" ".join(filter(None, texts)), DissensusWarning, stacklevel=3)
    return _Result(check.name, check.meaning, float(observed[0]), replicated)


def _copied(name: str, meaning: str, value: float) -> _Result:
    return _Result(name, meaning, float(value), np.array([value]), checked=False)


# Discrepancy ratios of replicates.


_RATIO: Final = "discrepancy_ratio"
_NOMINAL: Final = (None, "nominal", "jaccard")


def model_discrepancy_ratio(
    fit: xr.DataTree,
    predictions: xr.Dataset,
    distance: Any = None,
    *,
    annotations: xr.Dataset | None = None,
    tolerance: float | None = None,
    depth: int | None = None,
    on_missing: str = "raise",
) -> xr.DataArray:
    r"""Draw the discrepancy ratio of systems, against new annotators of the same items.

    .. math:: \Delta^{(m)} = \frac{\mu(y^{rep (m)})}{\alpha(y^{rep (m)})}, \qquad
        y^{rep (m)} \sim p(y^{rep} \mid \theta^{(m)}), \quad \theta^{(m)} \sim p(\theta \mid y)

    with :math:`\mu` and :math:`\alpha` as in `discrepancy_ratio`, both computed from the same
    replicate.

    Parameters
    ----------
    fit : DataTree
        From a model's ``fit(..., posterior_predictive=True)``.
    predictions : Dataset
        Predictions on the same items.
    distance : str or callable, optional
        As in `discrepancy_ratio`. None is "nominal" for models of labels, "squared" for models of
        numbers, and "ranking" for models of rankings.
    annotations : Dataset, optional
        As in `agreement_check`. If given, the default ``distance`` depends on the kind of the
        annotations.
    tolerance, depth, on_missing
        As in `discrepancy_ratio`.

    Returns
    -------
    DataArray
        (chain, draw, system), for `arviz.summary`.

    Warns
    -----
    DissensusWarning
        If the ratio is undefined in a replicate because annotators agree on all items.

    Notes
    -----
    The draws contain the uncertainty from new annotators and the model, for the same items;
    `bayesian_bootstrap` draws contain the uncertainty from new items, for the same annotators. Use
    `agreement_check` first: if annotators of replicates disagree more than the observed annotators
    (a strong prior), the ratio of systems is too low.

    Examples
    --------
    >>> import dissensus as dx
    >>> study = dx.simulate.study(n_items=30, kind="nominal", random_seed=1)
    >>> fit = dx.models.dirichlet.fit(
    ...     study.annotations, posterior_predictive=True, draws=50, random_seed=1,
    ...     progressbar=False)
    >>> dx.model_discrepancy_ratio(fit, study.predictions).dims
    ('chain', 'draw', 'system')
    """
    versions = replicates(fit, annotations)
    if versions.another:
        raise ArgumentError(
            "fit", expected="replicates in which each label has a name", found="unnamed labels",
            hint='Fit plackett_luce with unranked="exact"; "one" combines all other labels',
        )  # fmt: skip
    predictions = checked_predictions(predictions)
    places = xr.DataArray(np.arange(len(versions.items)), dims=ITEM, coords={ITEM: versions.items})
    common, predictions = common_items(places, predictions, on_missing)
    how = {"distance": distance, "tolerance": tolerance, "depth": depth, "on_missing": "drop"}
    values, attrs = _drawn(versions, predictions, common.to_numpy(), how)
    shape = tuple(len(versions.sample[dim]) for dim in SAMPLE)
    names = predictions[SYSTEM].to_numpy()
    return xr.DataArray(
        values.reshape(*shape, len(names)),
        dims=(*SAMPLE, SYSTEM),
        coords={**versions.sample, SYSTEM: names},
        name=_RATIO,
        attrs=versions.attrs | attrs,
    )


def _drawn(versions: Replicates, predictions: xr.Dataset, place: Any, how: dict[str, Any]) -> Any:
    """Return the ratios (version, system), and the attributes of the statistic."""
    drawn, n_items, undefined, ratios = versions.drawn, len(versions.items), Undefined(), []
    kind = _kind_for(versions, how["distance"])
    cells = predictions.sizes[SYSTEM] * predictions.sizes.get(POSITION, 1)

    def prepared(block: slice) -> Any:
        n = block.stop - block.start
        ann = stacked(drawn, drawn.values(block), n_items, kind, versions.labels)
        item = (place + n_items * np.arange(n)[:, None]).ravel()
        repeated = predictions.isel({ITEM: np.tile(np.arange(len(place)), n)})
        repeated = repeated.assign_coords({ITEM: item})
        return discrepancy_ratio(ann, repeated, **how, weights=SUMS)

    # This call warns about predictions; in the loop the same warnings are ignored.
    attrs = prepared(slice(0, 1)).attrs
    for block in drawn.blocks(cells * n_items):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DissensusWarning)
            ready = prepared(block)
        ratios.append(evaluated(ready, block.stop - block.start, undefined)[_RATIO])
    text = undefined.message(f"{_RATIO} of replicates", "draws")
    if text:
        warnings.warn(text, DissensusWarning, stacklevel=3)
    return np.concatenate(ratios), dict(attrs)


def _kind_for(versions: Replicates, distance: Any) -> str:
    """Return the kind of the replicated annotations that the distance needs."""
    if versions.form == "numbers":
        return "continuous"
    if versions.form == "rankings":
        return "ranking"
    if versions.form == "labels" and versions.kind:
        return versions.kind
    return "nominal" if callable(distance) or distance in _NOMINAL else "ordinal"
