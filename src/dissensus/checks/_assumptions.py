"""Checks of latent truth models: assumptions about errors, annotators, items and systems."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from typing import Any, Final, NamedTuple

import numpy as np
import xarray as xr

from dissensus.checks._traces import as_fit
from dissensus.checks._truth import CheckResult, Labels, in_place, read, results_of
from dissensus.dims import LABEL, SAMPLE
from dissensus.families.latent_truth.design import ENOUGH
from dissensus.wording import capital, listed, share, short

_ERRORS: Final = {"error_pairs", "error_distance"}
_HARD: Final = {"item_agreement", "system_unanimity"}


class Advice(NamedTuple):
    """A model, and its settings that differ from those of the fit."""

    model: str
    settings: dict[str, Any]

    def words(self) -> str:
        """Write the advice as a call."""
        settings = "".join(f", {name}={value!r}" for name, value in self.settings.items())
        return f"dissensus.models.{self.model}.fit(...{settings})"


def advice(
    model: str, settings: Mapping[str, Any], against: Collection[str], *, ordered: bool,
    labels_each: float,
) -> Advice | None:  # fmt: skip
    """Return the model to fit next; None if no setting corrects the failed checks (``against``).

    ``labels_each`` is the number of annotations per label of the label space.
    """
    change: dict[str, Any] = {}
    after = model
    if model == "dawid_skene":
        rows = _ERRORS | {"label_use", "annotator_agreement"}
        if rows & set(against) and settings.get("pooling") == "complete":
            change["pooling"] = "hierarchical"
    else:
        change = _changes(settings, set(against), ordered=ordered)
        if change.pop("model", None) and labels_each >= ENOUGH:
            after, change = "dawid_skene", {}
    if _HARD & set(against) and not settings.get("difficulty"):
        change["difficulty"] = True
    # Unequal errors also make systems err alike: correct the setting of errors first.
    first = _ERRORS & set(against) and (change or after != model)
    if "system_pairs" in against and settings.get("systems") == "independent" and not first:
        change["systems"] = "related"
    return Advice(after, change) if change or after != model else None


def _richer(errors: str, *, ordered: bool) -> str | None:
    """Return the next more flexible setting of errors; None if only matrices are more flexible."""
    if errors == "equal" and ordered:
        return "graded"
    return None if errors == "unequal" else "unequal"


def _changes(settings: Mapping[str, Any], against: set[str], *, ordered: bool) -> dict[str, Any]:
    """Return changed settings of accuracies and errors; key ``model`` if errors need matrices."""
    change: dict[str, Any] = {}
    if "annotator_agreement" in against and settings.get("accuracy") == "common":
        change["accuracy"] = "annotator"
    if _ERRORS & against:
        richer = _richer(str(settings.get("errors")), ordered=ordered)
        change |= {"errors": richer} if richer else {"model": True}
    # Annotators of different accuracy also use labels differently: correct the accuracy first.
    if "label_use" in against and "accuracy" not in change:
        if settings.get("errors") == "unequal":
            change["model"] = True
        else:
            change["errors"] = "unequal"
    return change


CHECK: Final = "check"
CLEAR: Final = 0.01
"""p-values below this number are evidence against the model."""
HINT: Final = 0.05
"""p-values below this number are a hint; of several checks, one may be below it by chance."""
_IN_PLACE: Final = 0.95


def check_assumptions(fit: Any, *, draws: int | None = 1000) -> xr.Dataset:
    r"""Check the assumptions of a latent truth model by posterior predictive checks.

    Accuracies of systems are biased if the model of errors is wrong. Each check is for one
    assumption. It compares a statistic of the labels with the statistic of replicates, which are
    labels of new items by the same annotators and systems, drawn from the posterior.

    Parameters
    ----------
    fit : DataTree
        From ``fit(..., posterior_predictive=True)`` of `dissensus.models.symmetric_confusion` or
        `dissensus.models.dawid_skene`, or the trace of `pymc.sample` on the model that their
        ``build`` returns, extended by `pymc.sample_posterior_predictive`.
    draws : int or None
        Maximum number of replicates, which are evenly spaced draws. None: all that fit in memory.

    Returns
    -------
    Dataset
        Along ``check``: ``observed``, ``replicated`` (chain, draw, check), ``tail_probability``
        (the share of replicates above the data, where equal values count half), ``p_value`` (the
        tail probability, or the two-sided p-value if both tails count; NaN if it cannot be
        computed), and coordinates ``assumption`` and ``sentence``. The checks are:

        ``error_pairs`` : all errors are equally frequent
            Of pairs of annotators who disagree on an item, the share with each pair of labels is
            compared with its mean over replicates: the root of :math:`\sum (O - E)^2 / E`.
        ``error_distance`` : near and far errors are equally frequent
            Mean number of steps between two labels that disagree; only for ordered labels.
        ``label_use`` : annotators use labels equally often
            Difference between an annotator's share of each label and the label's share on the same
            items, minus the mean over replicates; root mean square over annotations.
        ``annotator_agreement`` : annotators are equally accurate
            Standard deviation over annotators of their agreement with the others.
        ``item_agreement`` : items are equally hard
            Standard deviation over items of the agreement of two labels; only items with three or
            more labels.
        ``system_pairs`` : systems err independently
            Share of cases in which two systems agree on one label and two annotators on another,
            minus the mean over replicates; the largest value of all pairs of systems.
        ``system_unanimity`` : items hard for annotators are not hard for systems
            Agreement of a system with annotators on unanimous items, minus its agreement with an
            annotator on divided items; the mean over systems.
        ``repeats`` : labels by one annotator are independent, like labels by two annotators
            Share of repeated labels of an item by one annotator that are the same.

        ``in_place`` (label) is the posterior probability that each label is the most frequent
        response to items on which it is true; if it is low, labels may be switched. Attributes:
        ``in_words``, one sentence per line; ``recommendation``; ``next_model`` and
        ``next_settings`` (JSON), the model to fit next, or "" and "{}".

    Notes
    -----
    A p-value below .01 is evidence against the model, a p-value below .05 is a hint. Of 420
    simulated studies fitted by the right model, with seven checks each, 16 had a p-value below .01,
    and 10 to 25 % had one between .01 and .05. A check without evidence does not show that the
    assumption holds, above all with few items. Checks overlap: errors near the truth also cause
    common errors of systems. The recommendation is the first change to make; check the new fit
    again.

    Source: the assumptions are the "K-properties" of Lehner (2015), which leaves tests of them to
    future research; posterior predictive p-values: Gelman, Meng & Stern (1996), *Statistica Sinica*
    6.

    Examples
    --------
    >>> import dissensus as dx
    >>> study = dx.simulate.confusion_study(300, asymmetry=3, random_seed=1)
    >>> fit = dx.models.symmetric_confusion.fit(study.annotations, posterior_predictive=True,
    ...     draws=250, random_seed=1, progressbar=False)
    >>> checks = dx.check_assumptions(fit)
    >>> round(float(checks["observed"].sel(check="error_distance")), 1)
    1.4
    >>> print(checks.attrs["recommendation"])
    Try dissensus.models.symmetric_confusion.fit(..., errors='graded'), and check again.
    """
    fit = as_fit(fit)
    versions = read(fit, draws)
    results = results_of(versions)
    places = in_place(fit["posterior"].to_dataset(), versions.labels)
    moved = [str(label) for label in versions.labels[places.to_numpy() < _IN_PLACE]]
    proposal = _advice(fit, versions, results)
    n = {dim: len(values) for dim, values in versions.sample.items()}
    lines = [_sentence(result) for result in results]
    words = [line for result, line in zip(results, lines, strict=True) if len(result.values)]
    return xr.Dataset(
        {
            "observed": (CHECK, [result.observed for result in results]),
            "replicated": ((*SAMPLE, CHECK), _stacked(results, n)),
            "tail_probability": (CHECK, [result.tail for result in results]),
            "p_value": (CHECK, [result.p_value for result in results]),
            "in_place": (LABEL, places.to_numpy()),
        },
        coords={
            **versions.sample, LABEL: versions.labels, CHECK: [result.name for result in results],
            "assumption": (CHECK, [result.meaning for result in results]),
            "sentence": (CHECK, lines),
        },
        attrs={
            **fit.attrs,
            "in_words": "\n".join([*words, *_of_places(moved)]),
            "recommendation": _recommendation(versions, results, moved, proposal),
            "next_model": proposal.model if proposal else "",
            "next_settings": json.dumps(proposal.settings if proposal else {}),
        },
    )  # fmt: skip


def _stacked(results: list[CheckResult], n: dict[str, int]) -> Any:
    """Combine the replicated values of all checks: (chain, draw, check)."""
    out = np.full((*n.values(), len(results)), np.nan)
    for place, result in enumerate(results):
        if len(result.values):
            out[..., place] = result.values[1:].reshape(tuple(n.values()))
    return out


def _sentence(result: CheckResult) -> str:
    """Summarise one check in one line."""
    if not len(result.values):
        return f"Whether {result.meaning} was not checked: {result.size}."
    p = result.p_value
    if not np.isfinite(p):
        return f"Whether {result.meaning} was not checked: it is undefined in the replicates."
    verdict = "evidence against the model" if p < CLEAR else "a hint" if p < HINT else "as expected"
    return f"{capital(result.size)} (p {_written(p)}; {verdict})."


def _written(p: float) -> str:
    return "< .001" if p < 0.001 else share(p, 3 if p < HINT else 2)


def _of_places(moved: list[str]) -> list[str]:
    if not moved:
        return []
    names = listed([repr(short(name)) for name in moved], "or")
    return [f"If the true label is {names}, annotators may mostly give another label."]


def _advice(fit: Any, versions: Labels, results: list[CheckResult]) -> Advice | None:
    settings = {
        name.removeprefix("hyper_"): value
        for name, value in fit.attrs.items()
        if name.startswith("hyper_")
    }
    return advice(
        fit.attrs["model"], settings, [result.name for result in results if result.p_value < CLEAR],
        ordered=versions.ordered, labels_each=versions.codes.shape[1] / len(versions.labels),
    )  # fmt: skip


def _recommendation(
    versions: Labels, results: list[CheckResult], moved: list[str], proposal: Advice | None
) -> str:
    """Return advice in sentences."""
    against = [result for result in results if result.p_value < CLEAR]
    hints = [result.name for result in results if CLEAR <= result.p_value < HINT]
    lines = []
    if any(result.name == "repeats" for result in against):
        lines.append(
            "Keep one label by each annotator of each item, and check again: repeated labels make "
            "items seem unequal, and systems related."
        )
    if proposal:
        lines.append(f"Try {proposal.words()}, and check again.")
        if proposal.settings.get("errors") == "unequal" and not versions.order_known:
            lines.append("If labels are ordered, try errors='graded' first.")
    elif left := [result.meaning for result in against if result.name != "repeats"]:
        lines.append(
            f"No setting of this model corrects these failed checks: {'; '.join(left)}. Use its "
            "accuracies with caution, and compare other models: dissensus.compare_truth_models."
        )
    elif not any(np.isfinite(result.p_value) for result in results):
        lines.append("No assumption could be checked: checks need items with two annotators.")
    elif not against:
        lines.append("No check is evidence against this model.")
    if moved:
        lines.append(
            "Labels may be switched: use one matrix for all annotators, or symmetric_confusion."
        )
    if hints and not against:
        lines.append(f"Hints: {listed(hints)}.")
    return " ".join(lines)
