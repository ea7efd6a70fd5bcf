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
    Replicates,
    Said,
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
    """A statistic, and how it is computed from stacked annotations."""

    name: str
    meaning: str
    kind: str
    sums: Callable[[xr.Dataset], Sums]
    firsts: bool = False
    """Whether the statistic is computed from first choices."""
    width: int = 1
    """Approximate number of totals for each version."""


def checks(both: Replicates, level: str) -> list[Check]:
    """List the checks for this form of data."""
    if both.form == "numbers":
        alpha = f"Krippendorff's alpha ({level})"
        return [
            Check("krippendorff_alpha", alpha, "continuous", _alpha(level)),
            Check(
                "mean_absolute_difference", "absolute difference of two annotators of an item",
                "continuous", _absolute_difference,
            ),
        ]  # fmt: skip
    named = both.form == "labels" and both.kind
    kind = named or ("nominal" if level == "nominal" else "ordinal")
    n_labels = len(both.labels) + both.another
    width = n_labels**2 if level == "ordinal" else n_labels
    firsts = both.form != "labels"
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
    if both.form == "first choices":
        return out
    leading = Check(
        "leave_one_out_agreement",
        "probability that an annotator gives the majority label of the others of the item",
        "ranking" if both.form == "rankings" else kind,
        statistics.get("leave_one_out_agreement").sums,
    )
    if both.form != "rankings" or not _has_equally_long_lists(both):
        return [*out, leading]
    whole = Check(
        "identical_lists", "probability that two equally long lists of an item (2 labels or more) "
        "are the same", "ranking", identical_lists,
    )  # fmt: skip
    return [*out, leading, whole]


def _has_equally_long_lists(both: Replicates) -> bool:
    rows = both.observed
    ann = stacked(rows, rows.values(slice(0, 1)), len(both.items), "ranking", both.labels)
    return bool(identical_lists(ann).bears.any())


def _alpha(level: str) -> Callable[[xr.Dataset], Sums]:
    sums = statistics.get("krippendorff_alpha").sums
    return lambda annotations: sums(annotations, level)


def checked_level(both: Replicates, level: str | None) -> str:
    """Return the given or default level, or raise if the data do not have this level."""
    known = _LEVELS[both.form]
    if both.another:
        known = known[:1]
    if level is None:
        return known[0]
    if not isinstance(level, str) or level not in known:  # `in` compares arrays element by element
        raise ArgumentError(
            "level",
            expected=f"{' or '.join(map(repr, known))} for replicates that are {both.form}",
            found=brief(level),
        )
    return level


def values_of(check: Check, both: Replicates, rows: Said, undefined: Undefined) -> Floats:
    """Compute a statistic of every version, block by block: (version)."""
    rows = rows.first_choices() if check.firsts else rows
    labels = np.arange(len(both.labels) + 1) if both.another else both.labels
    values = []
    for some in rows.blocks(check.width):
        ann = stacked(rows, rows.values(some), len(both.items), check.kind, labels)
        values.append(evaluated(check.sums(ann), some.stop - some.start, undefined))
    return np.concatenate(values)


def _absolute_difference(annotations: xr.Dataset) -> Sums:
    """Prepare the mean over items of the mean absolute difference of two annotators."""
    rows = rows_of(annotations)
    within, _ = far_pairs(rows, numbers_of(annotations))
    pairs = pairs_of(rows.voices)
    parts = ((pairs > 0).astype(np.float64), within / np.maximum(pairs, 1.0))

    def finish(totals: Floats, undefined: Undefined) -> Floats:
        return undefined.divide(totals[:, 1], totals[:, 0], NO_PAIRS)

    return Sums("mean_absolute_difference", parts, finish, annotations[ITEM].to_numpy())


def given_of(both: Replicates) -> list[tuple[str, str, float]]:
    """Return name, meaning and value of statistics that are the same in replicates by design."""
    if both.form != "rankings":
        return []
    rows = both.observed
    columns = {"item": rows.item, "annotator": rows.annotator, "rank": rows.rank}
    if rows.trial is not None:
        columns["trial"] = rows.trial
    frame = pd.DataFrame(columns)
    blocks = frame.value_counts().to_numpy()
    lists = frame.drop(columns="rank").value_counts().to_numpy()
    tied, pairs = ((n * (n - 1)).sum() for n in (blocks, lists))
    return [
        ("tie_rate", "share of tied pairs among labels that an annotator lists", tied / pairs),
        ("list_length", "labels that an annotator lists", lists.mean()),
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
    the annotations and from all replicates. If the observed value lies in a tail, the model does
    not reproduce it, and its predictions of future annotators are not reliable.

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
        If a statistic is undefined for the data, or for some replicates, which are left out.

    Notes
    -----
    Both small and large tail probabilities are misfits. With many labels and few annotators, a
    Dirichlet prior with ``prior_count=1`` makes replicates agree less than the data. Annotators who
    copy each other agree more than in any model of independent annotators; in rankings of many
    labels, ``identical_lists`` shows this best. The data are used twice, so tail probabilities
    under the true model are closer to .5 than uniform numbers. A model that passes this check may
    fail in other respects.

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
    both = replicates(fit, annotations)
    results = [_checked(both, check) for check in checks(both, checked_level(both, level))]
    results += [_given(*result) for result in given_of(both)]
    shape = tuple(len(both.sample[dim]) for dim in SAMPLE)
    values = np.stack(
        [np.broadcast_to(result.replicated, both.drawn.count) for result in results], axis=-1
    )
    out = xr.Dataset(
        {
            "observed": (STATISTIC, [result.observed for result in results]),
            "replicated": ((*SAMPLE, STATISTIC), values.reshape(*shape, len(results))),
            "tail_probability": (STATISTIC, [result.tail for result in results]),
        },
        coords={
            **both.sample,
            STATISTIC: [result.name for result in results],
            "meaning": (STATISTIC, [result.meaning for result in results]),
            "checked": (STATISTIC, [result.checked for result in results]),
        },
        attrs=both.attrs,
    )
    return out.assign_attrs(in_words="\n".join(result.words() for result in results))


class _Found(NamedTuple):
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


def _checked(both: Replicates, check: Check) -> _Found:
    """Compute a statistic of the data and of all replicates."""
    seen, drawn = Undefined(), Undefined()
    observed = values_of(check, both, both.observed, seen)
    replicated = values_of(check, both, both.drawn, drawn)
    texts = [seen.message(check.name), drawn.message(f"{check.name} of replicates", "draws")]
    if any(texts):
        warnings.warn(" ".join(filter(None, texts)), DissensusWarning, stacklevel=3)
    return _Found(check.name, check.meaning, float(observed[0]), replicated)


def _given(name: str, meaning: str, value: float) -> _Found:
    return _Found(name, meaning, float(value), np.array([value]), checked=False)


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
    r"""Draw the discrepancy ratio of new annotators of the same items.

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
    The draws have the uncertainty from new annotators and the model, for the same items;
    `bayesian_bootstrap` has the uncertainty from new items, for the same annotators. Use
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
    both = replicates(fit, annotations)
    if both.another:
        raise ArgumentError(
            "fit", expected="replicates in which each label has a name", found="unnamed labels",
            hint='Fit plackett_luce with unranked="exact"; "one" combines all other labels',
        )  # fmt: skip
    predictions = checked_predictions(predictions)
    places = xr.DataArray(np.arange(len(both.items)), dims=ITEM, coords={ITEM: both.items})
    common, predictions = common_items(places, predictions, on_missing)
    how = {"distance": distance, "tolerance": tolerance, "depth": depth, "on_missing": "drop"}
    values, attrs = _drawn(both, predictions, common.to_numpy(), how)
    shape = tuple(len(both.sample[dim]) for dim in SAMPLE)
    names = predictions[SYSTEM].to_numpy()
    return xr.DataArray(
        values.reshape(*shape, len(names)),
        dims=(*SAMPLE, SYSTEM),
        coords={**both.sample, SYSTEM: names},
        name=_RATIO,
        attrs=both.attrs | attrs,
    )


def _drawn(both: Replicates, predictions: xr.Dataset, place: Any, how: dict[str, Any]) -> Any:
    """Return the ratio (version, system), and the attributes of the statistic."""
    drawn, n_items, undefined, ratios = both.drawn, len(both.items), Undefined(), []
    kind = _kind_for(both, how["distance"])
    cells = predictions.sizes[SYSTEM] * predictions.sizes.get(POSITION, 1)

    def prepared(some: slice) -> Any:
        n = some.stop - some.start
        ann = stacked(drawn, drawn.values(some), n_items, kind, both.labels)
        item = (place + n_items * np.arange(n)[:, None]).ravel()
        again = predictions.isel({ITEM: np.tile(np.arange(len(place)), n)})
        again = again.assign_coords({ITEM: item})
        return discrepancy_ratio(ann, again, **how, weights=SUMS)

    attrs = prepared(slice(0, 1)).attrs  # warns about predictions, only once
    for some in drawn.blocks(cells * n_items):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DissensusWarning)
            ready = prepared(some)
        ratios.append(evaluated(ready, some.stop - some.start, undefined)[_RATIO])
    text = undefined.message(f"{_RATIO} of replicates", "draws")
    if text:
        warnings.warn(text, DissensusWarning, stacklevel=3)
    return np.concatenate(ratios), dict(attrs)


def _kind_for(both: Replicates, distance: Any) -> str:
    """Return the kind of replicates for a distance."""
    if both.form == "numbers":
        return "continuous"
    if both.form == "rankings":
        return "ranking"
    if both.form == "labels" and both.kind:
        return both.kind
    return "nominal" if callable(distance) or distance in _NOMINAL else "ordinal"
