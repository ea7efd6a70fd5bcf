"""Cautions about the design of a study: who labelled what, and which true labels are known."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
import xarray as xr

from dissensus.data import tables
from dissensus.data.contents import label_warnings, name_warnings, prediction_contents
from dissensus.data.rows import sorted_items, statements_per, voices_per
from dissensus.dims import ANNOTATOR, ITEM, POOL, SAMPLE
from dissensus.evaluation.answers import TRUTH
from dissensus.evaluation.provenance import ARGUMENTS, arguments_of
from dissensus.evaluation.section import FEWEST
from dissensus.kernels.grouped import label_shares
from dissensus.kernels.types import Flags, Floats, Ints
from dissensus.reports import evidence
from dissensus.reports.evidence import Topics
from dissensus.statistics._distances import pairs_of
from dissensus.statistics._read import labels_of, rows_of
from dissensus.statistics._resampling import FEW_UNITS

_UNLIKE: Final = 2.33
"""Minimum difference in standard errors: 2 % of normal numbers are beyond.

In four real data sets, 10, 30 or 100 items drawn at random were beyond in 1.7 % of 2,400 draws. 30
or more of the most unanimous items always were, and 10 of them except on one set with five labels
per item.
"""
_APART: Final = 0.05
"""Minimum difference of the shares of pairs that agree; a smaller one hardly affects accuracies."""


def none_known(evaluation: xr.DataTree) -> Topics:
    """Caution if the question is the true label, and no known label could show shared errors.

    In the data set ducks, whose annotators disagree about geese and grebes, the majority label is
    right on .70 of the images; the interval without known labels was .72 to .86. With 40 known
    labels, the intervals of five systems contained the systems' accuracies.
    """
    data = evidence.group(evaluation, "accuracy")
    is_of_truth = evidence.group(evaluation, "answers").attrs.get("question") == TRUTH
    alone = is_of_truth and data.attrs.get("n_known", 1) == 0
    return [("no_known_truth", {"wanted": "20 to 40"})] if alone else []


def unlike_others(evaluation: xr.DataTree) -> Topics:
    """Caution if known items are clearer or harder than others, as random items seldom are.

    In three data sets with five labels per item, 89 % intervals of accuracies contained the true
    ones in .92 of the cases if 30 known items were random, and in .60 if they were the most
    unanimous ones. Biases were up to .12 with unanimous, and .07 with split items.
    """
    if not evidence.group(evaluation, "accuracy").attrs.get("n_known", 0):
        return []
    truth = arguments_of(evaluation.attrs).get("truth") if ARGUMENTS in evaluation.attrs else None
    if not truth:  # not recorded: names of items that JSON cannot hold
        return []
    annotations = evaluation["annotations"].to_dataset()
    known = tables.match(annotations[ITEM].to_numpy(), np.array(list(truth))) >= 0
    seen = compared(annotations, known)
    if seen is None or abs(seen.known - seen.others) < _APART or abs(seen.errors) < _UNLIKE:
        return []
    return [("known_items", seen._asdict() | {"clearer": seen.known > seen.others})]


class Compared(NamedTuple):
    """The mean agreement of annotators on known items, and on the others."""

    n: int
    """Number of known items with two annotators."""
    known: float
    others: float
    errors: float
    """The difference of the two means in standard errors."""


def compared(annotations: xr.Dataset, known: Flags) -> Compared | None:
    r"""Compare the agreement of annotators on known items (item) and on other items.

    The agreement :math:`a_i` of an item with two annotators or more is the share of pairs of its
    annotators who give the same label. The difference of the means is :math:`\sum_i w_i a_i`, where
    :math:`w_i` is one over the number of known items, or minus one over the number of other items.
    Its standard error is

    .. math:: \Bigl(s^2 \sum_i w_i^2 + \gamma \sum_c \bigl[(\sum_{i \in c} w_i)^2
        - \sum_{i \in c} w_i^2\bigr]\Bigr)^{1/2}

    with the variance :math:`s^2` of :math:`a_i`, and the covariance :math:`\gamma` (from 0 to the
    variance) of two items of a cluster :math:`c`. Both are of known and other items together, since
    items on which all annotators agree do not vary. Without clusters, the standard error is the
    standard deviation over random choices of the known items.

    The result is None with fewer than five known or five other items, or if all agreement is equal.
    """
    rows = rows_of(annotations)
    codes, labels = labels_of(annotations)
    several = rows.n_annotators >= 2
    pairs = pairs_of(rows.n_annotators[several])
    agreement = label_shares(rows, codes, len(labels)).agreement[several] / pairs
    known = known[several]
    n, n_others = int(known.sum()), int((~known).sum())
    if min(n, n_others) < FEWEST or np.ptp(agreement) == 0.0:
        return None
    weight = np.where(known, 1.0 / n, -1.0 / n_others)
    deviation = agreement - agreement.mean()
    variance = float(agreement.var(ddof=1) * (weight**2).sum())
    if "cluster_code" in annotations:
        cluster = annotations["cluster_code"].to_numpy()[several].astype(np.int64)
        n_pairs = _of_pairs(np.ones(len(cluster)), cluster)
        if n_pairs > 0.0:
            shared = np.clip(_of_pairs(deviation, cluster) / n_pairs, 0.0, agreement.var())
            variance += float(shared) * _of_pairs(weight, cluster)
    means = float(agreement[known].mean()), float(agreement[~known].mean())
    return Compared(n, *means, (means[0] - means[1]) / float(np.sqrt(variance)))


def _of_pairs(values: Floats, cluster: Ints) -> float:
    """Return the sum over ordered pairs of different items of a cluster of products of values."""
    return float((np.bincount(cluster, values) ** 2).sum() - (values**2).sum())


# Annotators.


LENIENT: Final = 0.015
"""Intervals of the panel's mean are too narrow if the annotators' mean leniency has more than this
share of the variance of scores. At .04 their coverage is about one half
(`benchmarks/real_scores.py`)."""


_REPEATED: Final = 0.05
"""Minimum share of labels that repeat a label by the same annotator, for a caution."""


def spelling(evaluation: xr.DataTree) -> Topics:
    """Caution if labels or names seem to have several spellings, or a column is no annotator."""
    data = evaluation["annotations"].to_dataset()
    given = next((evaluation[name].to_dataset() for name in ("predictions_given", "predictions")
                  if evidence.has(evaluation, name)), None)  # fmt: skip
    warnings = label_warnings(data) + name_warnings(data, given)
    if given is not None and "label_code" in given and "member" not in data:
        known = prediction_contents(data, given)
        if near := known.get("labels_misspelt", "").strip().removesuffix("."):
            warnings.append(
                f"Predictions with labels outside the label space, which count as wrong: "
                f"{sum(known['labels_outside'].values()):,}. {near}"
            )
    return [("spelling", {"warnings": warnings})] if warnings else []


def people(evaluation: xr.DataTree) -> Topics:
    """Caution if annotators are places, repeat themselves, differ in leniency, or are few."""
    data = evaluation["annotations"].to_dataset()
    if n := sorted_items(data):
        return [("places", {"n": n})]
    n_labels, n_given = (int(number(data, ITEM).sum()) for number in (statements_per, voices_per))
    facts = {"n": n_labels - n_given, "of": n_labels}
    repeated: Topics = [("repeated", facts)] if facts["n"] > _REPEATED * n_labels else []
    return repeated + (_leniency(evaluation) or _few_people(evaluation))


def _leniency(evaluation: xr.DataTree) -> Topics:
    """Caution if few annotators who differ in leniency gave all numbers."""
    data = evidence.group(evaluation, "components")
    if not evidence.is_of_numbers(evaluation) or "annotator_icc" not in data:
        return []
    icc = data["annotator_icc"]
    if POOL in icc.dims:
        return []
    own = float(icc.isel({dim: -1 for dim in icc.dims if dim not in SAMPLE}).mean())
    n = evaluation["annotations"].sizes[ANNOTATOR]
    facts = {"icc": own, "n": n, "wide": evidence.widened(evaluation)}
    return [("leniency", facts)] if own / n > LENIENT else []


_FEW_PEOPLE: Final = 4
"""Maximum number of annotators for a caution that other annotators may label differently. In
mlqe_pe_da, correlations with the mean of three raters were outside the intervals estimated from
three other raters in 5 of 6 language pairs."""
_FEW_AT_ALL: Final = 12
"""The same for rankings, and for evaluations in chunks, in which intervals of the agreement with
the panel do not allow for other annotators."""
_BY_ALL: Final = 0.9
"""Minimum share of the items that all of these annotators labelled."""


def _few_people(evaluation: xr.DataTree) -> Topics:
    """Caution if the same few annotators, who are named, labelled nearly all items."""
    data = evaluation["annotations"].to_dataset()
    n = data.sizes.get(ANNOTATOR, 0)
    wide = evidence.widened(evaluation)
    most = _FEW_PEOPLE if wide or evidence.is_of_numbers(evaluation) else _FEW_AT_ALL
    if not 1 < n <= most or not evidence.has(evaluation, "predictions"):
        return []
    each = voices_per(data, ITEM)
    by_all = float((each[each > 0] == n).mean())
    facts = {
        "n": n, "wide": wide, "answers": evidence.has(evaluation, "answers"),
        "ratios": "system_discrepancy" in evidence.group(evaluation, "discrepancy"),
    }  # fmt: skip
    return [("few_people", facts)] if len(each) >= FEW_UNITS and by_all >= _BY_ALL else []
