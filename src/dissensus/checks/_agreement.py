"""Posterior predictive checks of the agreement of annotators."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Final, NamedTuple

import numpy as np
import pandas as pd
import xarray as xr

from dissensus import statistics
from dissensus.checks._replicates import Replicates, Said, evaluated, replicates, stacked
from dissensus.dims import ITEM, SAMPLE
from dissensus.errors import ArgumentError, DissensusWarning, brief
from dissensus.kernels.distances import far_pairs
from dissensus.kernels.types import Floats
from dissensus.statistics._chance import NO_PAIRS
from dissensus.statistics._distances import pairs_of
from dissensus.statistics._read import numbers_of, rows_of
from dissensus.statistics._sums import Sums, Undefined
from dissensus.wording import number, probability, share

_LEVELS: Final = {
    "labels": ("nominal", "ordinal", "interval", "ratio"),
    "numbers": ("interval",),
    "rankings": ("nominal",),
    "first choices": ("nominal",),
}
"""Levels of Krippendorff's alpha by form of the data; the first is the default."""


class Check(NamedTuple):
    """A statistic, and how it is computed from stacked annotations."""

    name: str
    meaning: str
    kind: str
    sums: Callable[[xr.Dataset], Sums]
    firsts: bool = False
    """Whether it is computed from first choices."""
    width: int = 1
    """About how many totals it needs for each version."""


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
    of = " of their first choices (of tied ones, one at random)" if firsts else ""
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
        "probability that an annotator names the label that leads among the others of the item",
        "ranking" if both.form == "rankings" else kind,
        statistics.get("leave_one_out_agreement").sums,
    )
    return [*out, leading]


def _alpha(level: str) -> Callable[[xr.Dataset], Sums]:
    sums = statistics.get("krippendorff_alpha").sums
    return lambda annotations: sums(annotations, level)


def checked_level(both: Replicates, level: str | None) -> str:
    """Return the level given, or the default; raise if the data do not have it."""
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


def values_of(check: Check, both: Replicates, said: Said, undefined: Undefined) -> Floats:
    """Compute a statistic of every version (version), block by block."""
    said = said.first_choices() if check.firsts else said
    labels = np.arange(len(both.labels) + 1) if both.another else both.labels
    found = []
    for some in said.blocks(check.width):
        ann = stacked(said, said.values(some), len(both.items), check.kind, labels)
        found.append(evaluated(check.sums(ann), some.stop - some.start, undefined))
    return np.concatenate(found)


def _absolute_difference(annotations: xr.Dataset) -> Sums:
    """Prepare the mean over items of the mean absolute difference of two annotators."""
    rows = rows_of(annotations)
    within, _ = far_pairs(rows, numbers_of(annotations), tolerance=0.0)
    pairs = pairs_of(rows.voices)
    parts = ((pairs > 0).astype(np.float64), within / np.maximum(pairs, 1.0))

    def finish(totals: Floats, undefined: Undefined) -> Floats:
        return undefined.divide(totals[:, 1], totals[:, 0], NO_PAIRS)

    return Sums("mean_absolute_difference", parts, finish, annotations[ITEM].to_numpy())


def given_of(both: Replicates) -> list[tuple[str, str, float]]:
    """Return name, meaning and value of statistics that replicates share by construction."""
    if both.form != "rankings":
        return []
    said = both.observed
    columns = {"item": said.item, "annotator": said.annotator, "rank": said.rank}
    if said.trial is not None:
        columns["trial"] = said.trial
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
_SAME: Final = 1e-9
"""Tolerance for values that differ only by the order of summation."""


def agreement_check(
    fit: xr.DataTree, annotations: xr.Dataset | None = None, *, level: str | None = None
) -> xr.Dataset:
    r"""Check whether a fitted model reproduces the agreement of annotators.

    Each posterior draw gives one replicate of the annotations: the same items with as many
    annotators each, whose labels are drawn from the model. Statistics of agreement are computed
    from the annotations and from all replicates. If the observed value lies in a tail, the model
    does not reproduce it, and its predictions of future annotators are not reliable.

    .. math:: p_T = P(T(y^{rep}) > T(y) \mid y) + \tfrac{1}{2} P(T(y^{rep}) = T(y) \mid y)

    Parameters
    ----------
    fit : DataTree
        What a model's ``fit(..., posterior_predictive=True)`` returned.
    annotations : Dataset, optional
        What the model was fitted to. Needed only if annotators gave an item several labels
        (``trial=``), and the fit does not say who did: else each label is one annotator's.
    level : {"nominal", "ordinal", "interval", "ratio"}, optional
        Of `krippendorff_alpha`. None is "interval" for models of numbers, "nominal" for all others.

    Returns
    -------
    Dataset
        ``observed`` (statistic), ``replicated`` (chain, draw, statistic) and
        ``tail_probability`` (statistic), NaN where nothing is checked. The coordinate ``meaning``
        says what each statistic is, ``checked`` whether it is checked; the attribute ``in_words``
        says what was found. The statistics are

        - of labels: `percent_agreement`, `krippendorff_alpha`, `leave_one_out_agreement`;
        - of numbers: `krippendorff_alpha`, and ``mean_absolute_difference`` of two annotators;
        - of rankings: `percent_agreement` and `krippendorff_alpha` of first choices (of tied ones
          one at random), `leave_one_out_agreement` of lists, and ``tie_rate`` and
          ``list_length``. The last two are *given, not checked*: replicates are as long and as
          tied as the data, by construction;
        - of `models.inverse_rank`, which predicts first choices only: the first two.

    Raises
    ------
    ArgumentError
        If the fit has no predictive draws, or on a level that its data do not have.
    AnnotationError
        If the annotations are not those the model was fitted to.

    Warns
    -----
    DissensusWarning
        Where a statistic is undefined, of the data or of some replicates (left out then).

    Notes
    -----
    Both small and large tail probabilities are misfits. With many labels and few annotators, a
    Dirichlet prior with ``prior_count=1`` makes replicates agree less than the data. Annotators
    who copy each other make the data agree more than any model of independent annotators. The data
    are used twice, so tail probabilities of a true model are closer to .5 than uniform ones, and
    .04 is stronger evidence than a p-value of .04. A model that passes reproduces agreement; it may
    fail in other respects.

    Source: Gelman, Meng & Stern (1996), "Posterior predictive assessment of model fitness via
    realized discrepancies", *Statistica Sinica* 6.

    Examples
    --------
    Six labels and a prior of one label each, which three annotators do not outweigh:

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
    found = [_checked(both, check) for check in checks(both, checked_level(both, level))]
    found += [_given(*one) for one in given_of(both)]
    shape = tuple(len(both.sample[dim]) for dim in SAMPLE)
    values = np.stack([np.broadcast_to(one.replicated, both.drawn.count) for one in found], axis=-1)
    out = xr.Dataset(
        {
            "observed": (STATISTIC, [one.observed for one in found]),
            "replicated": ((*SAMPLE, STATISTIC), values.reshape(*shape, len(found))),
            "tail_probability": (STATISTIC, [one.tail for one in found]),
        },
        coords={
            **both.sample,
            STATISTIC: [one.name for one in found],
            "meaning": (STATISTIC, [one.meaning for one in found]),
            "checked": (STATISTIC, [one.checked for one in found]),
        },
        attrs=both.attrs,
    )
    return out.assign_attrs(in_words="\n".join(one.words() for one in found))


class _Found(NamedTuple):
    """One statistic of the data and of all replicates."""

    name: str
    meaning: str
    observed: float
    replicated: Floats
    checked: bool = True

    @property
    def tail(self) -> float:
        """P(replicated >= observed), equal ones counting half."""
        known = self.replicated[np.isfinite(self.replicated)]
        if not (self.checked and len(known) and np.isfinite(self.observed)):
            return float("nan")
        near = np.isclose(known, self.observed, rtol=_SAME, atol=_SAME)
        return float(np.where(near, 0.5, known > self.observed).mean())

    def words(self) -> str:
        """Summarise the result in one line."""
        start = f"{self.name}: observed {_written(self.observed)}"
        if not self.checked:
            return f"{start}; given, not checked: replicates have the same by construction."
        if np.isnan(self.tail):
            return f"{start}; not checked, since it is undefined."
        known = self.replicated[np.isfinite(self.replicated)]
        low, high = (_written(value) for value in np.quantile(known, [0.05, 0.95]))
        verdict = "reproduced"
        if not EXTREME <= self.tail <= 1.0 - EXTREME:
            verdict = "lower" if self.tail > EXTREME else "higher"
            verdict = f"not reproduced, {verdict} in the data than in the model"
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
