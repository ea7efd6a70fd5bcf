"""A plot of each statistic: its dependence on the labels, or its posterior.

The docstring of a function is the caption of its plot. Curves by the truth of the items are
exact: each pattern of labels is weighted by its probability, and items are so many that
corrections for small numbers (as in alpha) vanish.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from itertools import product
from typing import Any, Final

import numpy as np
import xarray as xr

import dissensus as dx
from generate.drawn import curves, densities, empty, of_systems
from generate.studies import study

_SURE: Final = 0.9
"""Accuracy of an annotator of the curves."""
_TIMES: Final = 500
"""Number of items of each pattern."""


def _words(statistic: Callable[..., Any]) -> str:
    return statistic.__name__.replace("_", " ")


@cache
def _patterns() -> xr.Dataset:
    """Return items with all pairs of labels by two annotators."""
    found = np.array(list(product(range(2), repeat=2)))
    return dx.from_matrix(np.tile(found, (_TIMES, 1)))


def _chances(shares: Sequence[float], first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return the probabilities of items, given shares of the truth and two confusion matrices."""
    joint = np.einsum("t,ti,tj->ij", np.asarray(shares), first, second).ravel()
    return np.tile(joint, _TIMES)


def _confusion(*, extra: float = 0.0, right: float = _SURE) -> np.ndarray:
    """Return the label probabilities of an annotator who changes a share of no to yes."""
    matrix = np.array([[right, 1 - right], [1 - right, right]])
    matrix[:, 1] += extra * matrix[:, 0]
    matrix[:, 0] *= 1 - extra
    return matrix


def _by_share(*statistics: Callable[..., Any]) -> Any:
    """Draw coefficients of two equal annotators by the share of items whose truth is yes."""
    items = _patterns()
    share = np.linspace(0.02, 0.98, 49)
    one = _confusion()
    weights = [_chances((1 - yes, yes), one, one) for yes in share]
    lines = {_words(each): [float(each(items, weights=w)) for w in weights] for each in statistics}
    return curves(share, lines, ("share of items whose truth is yes", "coefficient"))


def _by_habit(*statistics: Callable[..., Any]) -> Any:
    """Draw coefficients of two annotators, by the second annotator's bias towards yes."""
    items = _patterns()
    extra = np.linspace(0, 0.9, 46)
    weights = [_chances((0.5, 0.5), _confusion(), _confusion(extra=more)) for more in extra]
    lines = {_words(each): [float(each(items, weights=w)) for w in weights] for each in statistics}
    return curves(extra, lines, ("share of a no that the second turns into a yes", "coefficient"))


def _posterior(statistic: Any, *more: Any, items: int = 80, **settings: Any) -> Any:
    annotations = study("nominal", items).annotations
    return dx.bayesian_bootstrap(
        statistic, annotations, *more, draws=2000, random_seed=1, **settings
    )


def _against_annotators(statistic: Any, **settings: Any) -> Any:
    return _posterior(statistic, study("nominal").predictions, **settings)


def bayesian_bootstrap() -> Any:
    """Posterior of Krippendorff's alpha, for studies with 80 and with 20 items."""
    parts = {f"{n} items": _posterior("krippendorff_alpha", items=n) for n in (80, 20)}
    return densities(parts, "Krippendorff's alpha")


def percent_agreement() -> Any:
    """Two annotators with accuracy .9 agree on 82 % of items, for any share of yes."""
    return _by_share(dx.percent_agreement, dx.krippendorff_alpha)


def bennett_s() -> Any:
    """Two annotators with accuracy .9: chance agreement is 1/2 for any share of yes."""
    return _by_share(dx.bennett_s, dx.fleiss_kappa)


def cohen_kappa() -> Any:
    """Two annotators with accuracy .9: kappa is lower if yes is rare or frequent."""
    return _by_share(dx.cohen_kappa, dx.gwet_ac)


def fleiss_kappa() -> Any:
    """Two annotators, by the bias of one towards yes: this coefficient uses one chance distribution
    for both, and decreases more than Cohen's, which uses one for each."""
    return _by_habit(dx.fleiss_kappa, dx.cohen_kappa)


def iota() -> Any:
    """Two annotators, by the bias of one towards yes: iota and Cohen's kappa ignore the bias, alpha
    counts it as disagreement."""
    return _by_habit(dx.iota, dx.krippendorff_alpha)


def krippendorff_alpha() -> Any:
    """Two annotators with accuracy .9: alpha is lower if yes is rare or frequent, and Gwet's
    coefficient is higher."""
    return _by_share(dx.krippendorff_alpha, dx.gwet_ac, dx.percent_agreement)


def gwet_ac() -> Any:
    """Two annotators with accuracy .9: this coefficient is higher if yes is rare or frequent."""
    return _by_share(dx.gwet_ac, dx.krippendorff_alpha, dx.bennett_s)


def cross_kappa() -> Any:
    """Agreement between two pools of annotators, raw and normalised by noise within pools."""
    annotations = dx.simulate.replication_study(
        300, 8, 4, family="bernoulli", sigma_item=1.5, pools=("old", "new"), random_seed=1
    ).annotations
    parts = {
        words: dx.bayesian_bootstrap(
            dx.cross_kappa, annotations, normalized=normalized, draws=2000, random_seed=1
        )
        for words, normalized in (("cross kappa", False), ("normalized", True))
    }
    return densities(parts, "old and new")


def leave_one_out_agreement() -> Any:
    """Agreement with the other annotators' most frequent label is higher than pairwise
    agreement."""
    parts = {_words(one): _posterior(one)
             for one in (dx.leave_one_out_agreement, dx.percent_agreement)}  # fmt: skip
    return densities(parts, "share")


def concordance() -> Any:
    """Concordance of an item whose two annotators agree, by their confidence."""
    sure = np.linspace(0, 1, 41)
    frame = {"item": np.repeat(np.arange(41), 2), "annotator": np.tile(["a", "b"], 41),
             "label": np.full(82, "x"), "sure": np.repeat(sure, 2)}  # fmt: skip
    lines = {
        f"{n}": dx.concordance(
            dx.annotations(frame, labels=list("xyzuvw")[:n], confidence="sure"), per_item=True
        )
        for n in (2, 5)
    }
    return curves(sure, lines, ("confidence of both", "concordance"), "labels")


def weighted_reliability() -> Any:
    """Two confident annotators, by the accuracy of each: the difference is agreement on wrong
    labels."""
    right = np.linspace(0.5, 1.0, 26)
    items = _patterns()
    weights = [_chances((0.5, 0.5), _confusion(right=one), _confusion(right=one)) for one in right]
    lines = {
        "percent agreement": [float(dx.percent_agreement(items, weights=w)) for w in weights],
        "weighted reliability": [
            float(dx.weighted_reliability(items, accuracy=one, weights=w))
            for one, w in zip(right, weights, strict=True)
        ],
    }
    return curves(right, lines, ("accuracy of each annotator", "share of pairs"))


def discrepancy_ratio() -> Any:
    """Discrepancy ratio of four systems. Below 1, a system is closer to the annotators than they
    are to each other."""
    found = _against_annotators(dx.discrepancy_ratio)["discrepancy_ratio"]
    return of_systems(found, "discrepancy ratio", mark=1.0)


def annotator_discrepancy_ratio() -> Any:
    """Discrepancy ratio of each annotator, compared with the others (94 % intervals)."""
    draws = _posterior(dx.annotator_discrepancy_ratio)
    return _intervals(draws, "annotator", "discrepancy ratio")


def _intervals(draws: xr.DataArray, dim: str, label: str) -> Any:
    figure, ax = empty()
    low, middle, high = draws.quantile([0.03, 0.5, 0.97], ("chain", "draw")).to_numpy()
    names = [str(name) for name in draws[dim].to_numpy()]
    ax.errorbar(middle, names, xerr=[middle - low, high - middle], fmt="o", capsize=3)
    ax.axvline(1.0, color="black", linestyle=":", linewidth=1)
    ax.set_xlabel(label)
    ax.set_ylabel(dim)
    return figure


def discrepancy_curve() -> Any:
    """Discrepancy ratio of a system with scores, by its threshold for yes. The lowest ratio is
    higher on other items."""
    rng = np.random.default_rng(1)
    score = rng.beta(1.2, 1.2, 80)
    labels = rng.random((80, 4)) < score[:, None] ** 2 / (score**2 + (1 - score) ** 2)[:, None]
    annotations = dx.from_matrix(labels.astype(int))
    found = dx.discrepancy_curve(annotations, dict(enumerate(score)), np.linspace(0, 1, 81))
    return curves(found["threshold"], {"system": found[0]}, ("threshold", "discrepancy ratio"))


def advantage_probability() -> Any:
    """Four systems, averaged over the annotators they are compared with. The mean of annotators is
    above one half, because ties count."""
    draws = _against_annotators(dx.advantage_probability).mean("annotator")
    return of_systems(draws, "average advantage probability")


def winning_rate() -> Any:
    """Share of annotators against whom four systems win, by the allowed disadvantage."""
    margins = np.linspace(0, 0.4, 21)
    data = study("nominal")
    rates = [dx.winning_rate(data.annotations, data.predictions, epsilon=one) for one in margins]
    lines = {str(name): [float(rate.sel(system=name)) for rate in rates]
             for name in rates[0]["system"].to_numpy()}  # fmt: skip
    return curves(margins, lines, ("epsilon", "winning rate"))


def relative_f1() -> Any:
    """F1 of four systems minus the F1 of half of the annotators, both against the other half."""
    held_out = study("nominal").annotations["annotator"].to_numpy()[:4]
    draws = _against_annotators(dx.relative_f1, held_out=held_out)
    return of_systems(draws, "F1 of the system less that of annotators", mark=0.0)


@cache
def _without_truth() -> tuple[np.ndarray, dict[str, list[float]]]:
    """Return three estimated accuracies of one system, by the accuracy of its three annotators."""
    right = np.linspace(0.45, 0.95, 11)
    data = [
        dx.simulate.confusion_study(3000, ipc=one, system_accuracy=(_SURE,), random_seed=1)
        for one in right
    ]
    lines = {
        "one annotator is the truth": [
            float(dx.naive_accuracy(one.annotations, one.predictions)[0]) for one in data
        ],
        "the majority is the truth": [
            float(dx.majority_vote_accuracy(one.annotations, one.predictions)[0]) for one in data
        ],
        "Lehner's algebra": [
            float(dx.lehner(one.annotations, one.predictions)["system_accuracy"][0]) for one in data
        ],
    }
    return right, lines


def _system_without_truth() -> Any:
    figure = curves(*_without_truth(), ("accuracy of each annotator", "accuracy of the system"))
    figure.axes[0].axhline(_SURE, color="black", linestyle=":", linewidth=1)
    return figure


def naive_accuracy() -> Any:
    """System with accuracy .9 (dotted), evaluated against three annotators with errors: two of
    three methods count the annotators' errors as its own."""
    return _system_without_truth()


def majority_vote_accuracy() -> Any:
    """System with accuracy .9 (dotted): majority vote corrects some errors of three annotators, and
    counts the others as errors of the system."""
    return _system_without_truth()


def lehner() -> Any:
    """System with accuracy .9 (dotted): the estimate is right, because its assumptions hold and
    annotators are better than guessing."""
    return _system_without_truth()


STATISTIC_PICTURES: Final[dict[str, Callable[[], Any]]] = {
    draw.__name__: draw
    for draw in (
        bayesian_bootstrap, percent_agreement, bennett_s, cohen_kappa, fleiss_kappa, gwet_ac,
        iota, cross_kappa, krippendorff_alpha, leave_one_out_agreement, concordance,
        weighted_reliability, discrepancy_ratio, annotator_discrepancy_ratio, discrepancy_curve,
        naive_accuracy, majority_vote_accuracy, lehner, advantage_probability, winning_rate,
        relative_f1,
    )
}  # fmt: skip
