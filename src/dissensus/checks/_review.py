"""Items whose most probable label is expected to improve most with further labels."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import xarray as xr

from dissensus import arguments
from dissensus.checks._replicates import group_of
from dissensus.checks._traces import CONSTANT, as_fit, no_model
from dissensus.checks._truth import common_confusion, require_sample, require_whole
from dissensus.dims import ANNOTATOR, ITEM, LABEL, RESPONSE, SAMPLE
from dissensus.errors import ArgumentError, ConvergenceWarning, shown, warn_caller
from dissensus.kernels.formulas import (
    CELLS,
    leading_after,
    n_counts,
    right_after,
    right_after_alike,
)
from dissensus.kernels.types import Floats, Ints
from dissensus.statistics._accuracies import accuracy_of_abilities
from dissensus.wording import counted, digits_for, share

RASCH: Final = "rasch"
ROWS: Final = "dawid_skene"
PANEL: Final = "dirichlet"
"""Model without a true label: a label is right if more annotators would give it than any other."""
MODELS: Final = (PANEL, RASCH, "symmetric_confusion", ROWS)
UNSUPPORTED: Final = {
    "difficulty_spread": "difficulty=True: the difficulty of an item depends on its true label, "
    "and joint draws of both are not stored",
    "error_correlation": "error_correlation=: further labels of an item are not independent of "
    "its labels, given its truth",
    "error_concentration": 'errors="unequal": the errors of each annotator are not stored',
}
"""Variables that show that further labels cannot be predicted from a posterior, and reasons."""


@dataclass(frozen=True)
class ReviewDraws:
    """Draws of true labels, and of the labels of a further annotator."""

    truth: xr.DataArray
    """(chain, draw, item, label): probabilities of the true label, or plausibilities."""
    accuracy: xr.DataArray | None
    """(chain, draw, annotator, item) if accuracies depend on items; all errors are then equal."""
    response: Floats
    """(draw, label, response) if a further label depends on the truth only; else empty."""
    n_given: Ints
    """(item): number of labels."""
    known: npt.NDArray[np.bool_]
    """(item): whether the true label is known."""
    model: str

    def mean(self) -> Floats:
        """Return the probability (item, label) that a label is the true (or most plausible) one."""
        if self.model == PANEL:
            n, codes = self.truth.sizes[LABEL], self.truth.argmax(LABEL)
            leads = [(codes == k).mean(SAMPLE).to_numpy() for k in range(n)]
            return np.stack(leads, axis=-1).astype(np.float64)
        mean = self.truth.mean(SAMPLE).transpose(ITEM, LABEL)
        return np.asarray(mean.to_numpy(), dtype=np.float64)

    def after(self, further: int) -> Floats:
        """Return the expected P(most probable label is right) after further labels: (item)."""
        parts = []
        for block in self._lots():
            truth = _laid(self.truth.isel({ITEM: block}), ITEM, LABEL)
            if self.model == PANEL:
                parts.append(leading_after(truth, further))
                continue
            if self.accuracy is None:
                parts.append(right_after(truth, self.response, further))
                continue
            # The annotator is random: take the mean over annotators, whose labels are independent.
            right = _laid(self.accuracy.isel({ITEM: block}).mean(ANNOTATOR), ITEM)
            parts.append(right_after_alike(truth, right, further))
        return np.concatenate(parts)

    def _lots(self) -> Iterator[slice]:
        """Yield blocks of items that fit in memory."""
        size, n = self.truth.sizes, self.truth.sizes[ITEM]
        wide = size[LABEL]
        if self.accuracy is not None:
            wide += self.accuracy.sizes[ANNOTATOR]
        step = max(1, CELLS // (size["chain"] * size["draw"] * wide))
        yield from (slice(first, first + step) for first in range(0, n, step))


def review_draws(fit: Any) -> ReviewDraws:
    """Read a fit that kept the draws of all items, or a trace of a latent truth model."""
    trace, fit = fit, as_fit(fit)
    posterior = group_of(fit, "posterior")
    model = fit.attrs.get("model")
    if model not in MODELS:
        raise ArgumentError(
            "fit", expected=f"a fit of {', '.join(MODELS[:-1])} or {MODELS[-1]}",
            found=f"one of {model}" if model else no_model(fit),
        )  # fmt: skip
    if model == PANEL:
        return _of_panel(fit, posterior)
    if model == RASCH and fit is not trace:
        data = trace[CONSTANT].to_dataset()
        posterior = posterior.assign(accuracy=accuracy_of_abilities(posterior, data, "fit"))
    _require(posterior, model, ("truth", "accuracy") if model == RASCH else ("truth",))
    require_whole(fit, posterior, (ITEM, LABEL))
    n = posterior.sizes[ITEM]
    item = group_of(fit, "constant_data")["item_code"].to_numpy()
    observed = group_of(fit, "observed_data")
    known = np.zeros(n, dtype=bool)
    if "truth_code" in observed:
        known = observed["truth_code"].to_numpy() >= 0
    return ReviewDraws(
        truth=posterior["truth"],
        accuracy=posterior["accuracy"] if model == RASCH else None,
        response=np.empty((0, 0, 0)) if model == RASCH else _response(posterior, model),
        n_given=np.bincount(item, minlength=n),
        known=known,
        model=model,
    )


def _of_panel(fit: xr.DataTree, posterior: xr.Dataset) -> ReviewDraws:
    """Read a fit of plausibilities of labels."""
    _require(posterior, PANEL, ("plausibility",))
    require_sample(posterior)
    reliability = float(fit.attrs.get("hyper_reliability", 1.0))
    if reliability != 1.0:
        raise ArgumentError(
            "fit", expected="a fit with reliability=1, in which a label has the weight 1",
            found=f"reliability={reliability:g}", hint="Fit again without reliability=",
        )  # fmt: skip
    draws = posterior["plausibility"]
    if not np.allclose(draws.isel(dict.fromkeys(SAMPLE, 0)).sum(LABEL), 1.0, atol=1e-4):
        raise ArgumentError(
            "fit", expected="the plausibilities of all labels, which add up to 1",
            found=f"those of {shown(draws[LABEL].to_numpy().tolist())}",
            hint="dissensus.group_labels(fit, mapping) joins labels",
        )  # fmt: skip
    counts = group_of(fit, "observed_data")["counts"].reindex_like(draws, fill_value=0)
    n_given = counts.sum(LABEL).to_numpy()
    return ReviewDraws(
        truth=draws, accuracy=None, response=np.empty((0, 0, 0)), n_given=n_given,
        known=np.zeros(len(n_given), dtype=bool), model=PANEL,
    )  # fmt: skip


def _require(posterior: xr.Dataset, model: str, names: tuple[str, ...]) -> None:
    for name in names:
        if name not in posterior:
            raise ArgumentError(
                "fit", expected=f"draws of {' and '.join(map(repr, names))} in the posterior",
                found=f"{shown(list(map(str, posterior.data_vars)), 12)}",
                hint=f"Fit again with keep_items=True: dissensus.models.{model}.fit(annotations)",
            )  # fmt: skip
    for name, reason in UNSUPPORTED.items():
        if model != RASCH and name in posterior:
            raise ArgumentError(
                "fit", expected="draws of the probability of a further label for each item",
                found=f"a fit of {model} with {reason}",
                hint="For items of different difficulty use dissensus.models.rasch. Otherwise fit "
                "without this setting",
            )  # fmt: skip


def _response(posterior: xr.Dataset, model: str) -> Floats:
    """Return the confusion matrix of a further annotator (draw, label, response)."""
    if "confusion" in posterior:
        return _laid(posterior["confusion"].mean(ANNOTATOR), LABEL, RESPONSE)
    if model == ROWS:  # a trace with one matrix for all annotators
        return _laid(posterior["population_confusion"], LABEL, RESPONSE)
    whole = common_confusion(posterior, posterior.sizes[LABEL])
    return whole.reshape(-1, *whole.shape[2:])


def _laid(draws: xr.DataArray, *dims: str) -> Floats:
    """Return the draws of all chains: (draw, *dims)."""
    values = draws.transpose(*SAMPLE, *dims).to_numpy()
    return np.asarray(values.reshape(-1, *values.shape[2:]), dtype=np.float64)


MOST: Final = 100
"""Maximum number of further labels of an item."""
MOST_COUNTS: Final = 10_000
"""Maximum number of combinations of further labels."""
_NOTHING: Final = 1e-12
"""Smaller gains are rounding errors."""
_OPEN: Final = 0.75
_HARDLY: Final = 0.01


def items_to_review(fit: xr.DataTree, *, further: int = 1) -> xr.Dataset:
    r"""Rank items by the expected improvement of the ground truth from further labels.

    The ground truth is the most probable label of each item. It is right if it is the true label,
    or, in fits of `dissensus.models.dirichlet`, the label that more annotators would give than any
    other. The gain of n further labels :math:`y` of an item is the expected increase of the
    probability that this label is right (the expected value of sample information):

    .. math::

        G_i = \sum_y \max_z P(z_i = z, y \mid \text{data}) - \max_z P(z_i = z \mid \text{data})

    Parameters
    ----------
    fit : DataTree
        From ``fit`` of `dissensus.models.dirichlet` with ``reliability=1``. Or from ``fit`` of
        `dissensus.models.rasch`, `dissensus.models.symmetric_confusion` or
        `dissensus.models.dawid_skene`, with ``keep_items=True``, or the trace of `pymc.sample` on
        the model that their ``build`` returns. The last two models must be fitted without
        ``difficulty=True``, ``errors="unequal"`` and ``error_correlation``.
    further : int
        Number of further labels of an item, 1 to 100, each by a random annotator of the study. An
        item may have a gain from two labels but not from one: after two equal labels, one different
        label can only make a tie.

    Returns
    -------
    Dataset
        Over ``item``, in descending order of gain: ``rank``; ``gain``; ``leading_label``, the most
        probable label; ``probability_right`` of this label; ``probability_right_after``, its
        expectation after further labels; ``labels_given``; and ``expected_accuracy``, the expected
        share of all items whose ground truth is right if this item and all items before are
        reviewed. Attributes: ``further``, ``expected_accuracy_now``, and ``in_words``, one sentence
        per line.

    Warns
    -----
    ConvergenceWarning
        If the chains of the fit did not converge; for a trace, PyMC warns when it samples.

    Notes
    -----
    The gain lies between 0 and :math:`1 - \max_z P(z_i = z)`, and is 0 where the truth is known.
    The gain does not measure disagreement: a very difficult item in `rasch`, on which all
    annotators guess, has no gain, and an item with few labels by accurate annotators may have a
    gain although all labels agree.

    :math:`P(z_i, y)` is the mean over draws of
    :math:`P(z_i = z \mid \text{draw})\, P(y \mid z, \text{draw})`, in which labels by random
    annotators are independent given the draw. The maximum is computed from the mean over draws: a
    maximum in each draw would assume that the right draw is known. All counts of further labels are
    enumerated. With many labels and few draws the maximum over noisy means is too large: 4,000
    draws or more are needed with thirty labels. In `dirichlet`, z is the label with the largest
    plausibility, and further labels y are drawn from the plausibilities of each draw.

    Gains of items are added up. Two sources of further gain are ignored: labels also inform about
    annotators, and thereby about other items; and annotators may state their confidence. If all
    annotators share a mistake, the model is certain of the wrong label. `symmetric_confusion` and
    `dawid_skene` treat all items as equally hard.

    Source: Raiffa & Schlaifer (1961), *Applied statistical decision theory*, the expected value of
    sample information, with a gain of 1 for each item whose label is right.

    Examples
    --------
    >>> import dissensus as dx
    >>> votes = [["x", "x", "x"], ["y", "y", "y"]] * 8 + [["x", "x", "y"], ["y", None, None]]
    >>> fit = dx.models.symmetric_confusion.fit(
    ...     dx.from_matrix(votes), random_seed=1, progressbar=False)
    >>> review = dx.items_to_review(fit, further=2)
    >>> sorted(review["item"].values[:2].tolist()), review["rank"].values[:2].tolist()
    ([16, 17], [1, 2])
    >>> bool(review["gain"][1] > 10 * review["gain"][2])
    True
    """
    draws = review_draws(fit)
    _check(further, draws.truth.sizes[LABEL])
    _warn_of_chains(fit.attrs)
    mean = draws.mean()
    now, lead = mean.max(axis=1), mean.argmax(axis=1)
    # Rounding errors can exceed the bounds.
    gain = np.clip(draws.after(int(further)) - now, 0.0, np.maximum(1.0 - now, 0.0))
    gain[(gain < _NOTHING) | draws.known] = 0.0
    ranked = _ranked(draws, gain, now, lead)
    attrs = {
        "model": draws.model, "further": int(further), "expected_accuracy_now": now.mean(),
    }  # fmt: skip
    sentences = _sentences(ranked, int(further), draws.model)
    return ranked.assign_attrs(attrs, in_words="\n".join(sentences))


def _check(further: Any, n_labels: int) -> None:
    arguments.whole("further", further, 1, MOST)
    if n_counts(n_labels, int(further)) > MOST_COUNTS:
        fits = [n for n in range(1, int(further)) if n_counts(n_labels, n) <= MOST_COUNTS]
        raise ArgumentError(
            "further", expected=f"at most {max(fits, default=0)} with {n_labels} labels: more "
            f"further labels have over {MOST_COUNTS:,} combinations, all of which are enumerated",
            found=str(further),
        )  # fmt: skip


def _warn_of_chains(attrs: dict[Any, Any]) -> None:
    if attrs.get("n_items_poor", 0):
        r_hat = f", r-hat up to {attrs['r_hat_max']:.2f}" if "r_hat_max" in attrs else ""
        warn_caller(
            f"The chains of {attrs['model']} were too short: minimum "
            f"{attrs['ess_bulk_min']:.0f} effective draws ({attrs['ess_bulk_min_item']}){r_hat}. "
            "Another run may rank the items differently; fit with more draws.",
            ConvergenceWarning,
        )


def _ranked(draws: ReviewDraws, gain: Floats, now: Floats, lead: npt.NDArray[Any]) -> xr.Dataset:
    """Sort items by descending gain; ties keep their order."""
    order = np.argsort(-gain, kind="stable")
    labels, items = (draws.truth[dim].to_numpy() for dim in (LABEL, ITEM))
    columns = {
        "rank": np.arange(1, len(items) + 1),
        "gain": gain[order],
        "probability_right": now[order],
        "probability_right_after": (now + gain)[order],
        "leading_label": labels[lead][order],
        "labels_given": draws.n_given[order],
        "expected_accuracy": now.mean() + np.cumsum(gain[order]) / len(items),
    }
    return xr.Dataset(
        {name: (ITEM, values) for name, values in columns.items()}, coords={ITEM: items[order]}
    )


def _sentences(ranked: xr.Dataset, further: int, model: str) -> list[str]:
    """Summarise the result in sentences."""
    gain, right = ranked["gain"].to_numpy(), ranked["probability_right"].to_numpy()
    along, n, now = ranked["expected_accuracy"].to_numpy(), len(gain), float(right.mean())
    half = int(np.searchsorted(np.cumsum(gain), 0.5 * gain.sum())) + 1
    places = digits_for([float(along[half - 1]) - now])
    items = counted(n, "item")
    clause = f"most probable label is expected to be right on {share(now, places)} of {items}"
    if model == PANEL:
        out = ["A label is right here if more annotators would give it than any other."]
        out.append(f"The {clause}.")
    else:
        out = [f"If annotators err independently, the {clause}; if they err alike, on fewer."]
    if not gain.any():
        return [
            *out,
            f"{_labels(further)} would not improve any item: no most probable label would change.",
        ]
    out.append(
        f"Reviewing the {counted(half, 'item')} with the largest gain for "
        f"{_labels(further).lower()} raises this share to {share(float(along[half - 1]), places)}; "
        f"reviewing all items with a gain ({int((gain > 0).sum()):,}), to "
        f"{share(float(along[-1]), places)}."
    )
    stuck = int(((right < _OPEN) & (gain < _HARDLY)).sum())
    if stuck:
        why = f"annotators {'are divided' if model == PANEL else 'guess'} on these items"
        out.append(
            f"On {counted(stuck, 'item')} the most probable label is right with probability below "
            f"{share(_OPEN)}, and {_labels(further).lower()} would hardly help (gain below "
            f"{share(_HARDLY)}): so few labels cannot change it, or {why}."
        )
    return out


def _labels(further: int) -> str:
    return "One further label" if further == 1 else f"{further} further labels"
