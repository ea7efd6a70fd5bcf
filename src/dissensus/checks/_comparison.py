"""Comparison of latent truth models by leave-one-out cross-validation."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from functools import partial
from inspect import signature
from itertools import combinations
from typing import Any, Final, NamedTuple

import numpy as np
import pandas as pd
import xarray as xr

from dissensus import models
from dissensus.dims import ANNOTATION, ANNOTATOR, CHAIN, DRAW, ITEM, LABEL, SYSTEM
from dissensus.errors import ArgumentError, ConvergenceWarning, brief, shown, warn_caller
from dissensus.families.base import FitOptions, by_gibbs
from dissensus.families.latent_truth.design import ENOUGH
from dissensus.families.latent_truth.fit import FitWithout
from dissensus.kernels.random import generator
from dissensus.sampling import fitting
from dissensus.wording import capital, counted, listed, number

# Variants of a latent truth model.


Candidates = Mapping[str, Mapping[str, Any]]
Refit = Callable[[int], xr.DataArray]
"""Function of an item's place: fits without the item, and returns draws of its log-likelihood."""
MODEL: Final = "model"
SYMMETRIC: Final = "symmetric_confusion"
ROWS: Final = "dawid_skene"
OPTIONS: Final = (
    "draws", "tune", "chains", "random_seed", "progressbar", "evidence", "prior_count",
    "keep_items", "posterior_predictive", "on_missing", "sampler",
)  # fmt: skip
"""Options that are the same for all variants."""


def candidates_for(annotations: xr.Dataset, predictions: xr.Dataset | None) -> Candidates:
    """Return the settings of variants by name, simplest variant first.

    Each assumption of the simplest variant is dropped alone, then each pair of them, then all. With
    two systems or more, "related" systems follow, alone and with all others; last come "matrices".
    """
    n_labels = annotations.sizes[LABEL]
    parts: dict[str, dict[str, Any]] = {}
    if annotations.sizes[ANNOTATOR] > 1:
        parts["annotator"] = {"accuracy": "annotator"}
    if n_labels > 2:
        ordered = annotations.attrs["kind"] == "ordinal"
        name = "graded" if ordered else "unequal"
        parts[name] = {"errors": name}
    parts["difficulty"] = {"difficulty": True}
    single = list(parts)
    together = [list(pair) for pair in combinations(single, 2)]
    variants = [[], *([name] for name in single), *together[:3]]
    if len(single) > 2:
        variants.append(single)
    if isinstance(predictions, xr.Dataset) and predictions.sizes.get(SYSTEM, 0) > 1:
        parts["related"] = {"systems": "related"}
        variants += [["related"], [*single, "related"]]
    out: dict[str, dict[str, Any]] = {}
    for names in variants:
        settings = {key: value for name in names for key, value in parts[name].items()}
        out[" + ".join(names) or "plain"] = {MODEL: SYMMETRIC, **settings}
    if annotations.sizes[ANNOTATION] >= ENOUGH * n_labels:
        out["matrices"] = {MODEL: ROWS}
    return out


def checked_candidates(candidates: Any) -> Candidates:
    """Return the given variants with their models, or raise."""
    if not isinstance(candidates, Mapping) or len(candidates) < 2:
        raise ArgumentError(
            "candidates", expected="names of two or more variants with their settings, such as "
            "{'plain': {}, 'hard items': {'difficulty': True}}", found=brief(candidates),
        )  # fmt: skip
    out = {}
    for name, settings in candidates.items():
        if not isinstance(settings, Mapping):
            raise ArgumentError(
                "candidates", where=f"{name!r}", expected="settings by name", found=brief(settings)
            )
        model = settings.get(MODEL, SYMMETRIC)
        if model not in (SYMMETRIC, ROWS):
            raise ArgumentError(
                "candidates", where=f"{name!r}", expected=f"a model {SYMMETRIC!r} or {ROWS!r}",
                found=shown([model]),
            )  # fmt: skip
        known = [*OPTIONS, *_settings(model)]
        for setting in settings:
            if setting != MODEL and setting not in known:
                raise ArgumentError(
                    "candidates", where=f"{name!r}", expected=f"settings of {model}: "
                    f"{shown(_settings(model), 9)}", found=repr(setting),
                )  # fmt: skip
        out[str(name)] = {MODEL: model, **settings}
    return out


def check_options(options: Mapping[str, Any]) -> None:
    """Raise unless all variants take these options, and no option is a setting of variants."""
    for name in options:
        if name not in OPTIONS:
            raise ArgumentError(
                str(name), expected=f"one of the options {shown(OPTIONS, len(OPTIONS))}",
                found="another name",
                hint="Pass settings that differ between variants in candidates="
                if name in {*_settings(SYMMETRIC), *_settings(ROWS)} else "",
            )  # fmt: skip


def _settings(model: str) -> list[str]:
    """Return the names of the settings that may differ between variants of a model."""
    taken = {"annotations", "predictions", "log_likelihood", *OPTIONS}
    known = signature(models.get(model).module.fit).parameters
    return [name for name in known if name not in taken]


_RUN: Final = (
    "draws", "tune", "chains", "random_seed", "progressbar", "log_likelihood",
    "posterior_predictive", "keep_items", "checkpoint",
)  # fmt: skip
"""The arguments of ``fit`` that are not settings of the model."""
_DRAWS: Final = 100
"""Minimum number of draws of all chains: LOO fits a Pareto distribution to the tail."""
_LIKE: Final = 2.0
"""Variants count as equal if elpd differs by less than this number of standard errors."""
_REFITS: Final = 30
"""Maximum number of fits without an item, for each variant."""
_SMALL: Final = 4.0
"""Variants count as equal up to this difference of elpd. The normal approximation of smaller
differences is poor: see ``diag_diff`` of `arviz.compare`."""


class TruthComparison(NamedTuple):
    """The result of `compare_truth_models`."""

    table: pd.DataFrame
    """One row per variant, best first: the columns of `arviz.compare`, unrounded, and ``k_high``,
    the number of items whose Pareto k is too high and for which there is no fit without the
    item."""
    fits: dict[str, xr.DataTree]
    """Fits by the name of the variant."""
    settings: dict[str, dict[str, Any]]
    """The settings of each variant, including its ``model``."""
    best: str
    """The variant with the highest elpd."""
    simplest: str
    """The first candidate that is not clearly worse than the best."""
    in_words: str


def compare_truth_models(
    annotations: xr.Dataset,
    predictions: xr.Dataset | None = None,
    candidates: Candidates | None = None,
    **options: Any,
) -> TruthComparison:
    r"""Fit variants of a latent truth model, and rank them by leave-one-out cross-validation.

    The criterion is the expected log probability of all annotations and predictions of an item,
    given the other items,

    .. math:: \mathrm{elpd} = \sum_i \log p(y_i \mid y_{-i}),

    estimated from one fit by Pareto-smoothed importance sampling. The true label is summed out.
    Where Pareto k is too high, the variant is fitted again without the item, for up to 30 items.

    Parameters
    ----------
    annotations : Dataset
        Labels, nominal or ordinal.
    predictions : Dataset, optional
        One label for each item from each system.
    candidates : mapping, optional
        Names of variants, simplest first, with their settings. These are settings of
        `dissensus.models.symmetric_confusion`, or of `dissensus.models.dawid_skene` if they include
        ``"model": "dawid_skene"``. By default each assumption of the simplest variant is dropped
        alone and with others. The alternatives are: an accuracy for each annotator; with three or
        more labels, errors graded by distance (ordered labels) or unequal errors (other labels);
        difficulty of items; related systems, if there are two; and confusion matrices ("matrices"),
        if there are a hundred annotations per label.
    **options
        Options of both models' ``fit``: ``draws``, ``tune``, ``chains``, ``random_seed``,
        ``progressbar``, ``evidence``, ``prior_count``, ``keep_items``, ``posterior_predictive``,
        ``on_missing``, ``sampler``.

    Returns
    -------
    TruthComparison
        ``table``, ``fits``, ``settings``, ``best``, ``simplest`` and ``in_words``.

    Warns
    -----
    ConvergenceWarning
        If chains of some variants did not converge.
    DissensusWarning
        If Pareto k is too high for more than 30 items of a variant.

    Notes
    -----
    LOO compares predictions of labels, not estimates of accuracies: a matrix for each annotator may
    predict well because it absorbs differences between items. If variants of
    `dissensus.models.symmetric_confusion` count as equal, use the accuracies of the more flexible
    variant. See also `dissensus.check_assumptions`. Variants whose elpd differs by less than 4, or
    by less than two standard errors, count as equal.

    Source: Vehtari, Gelman & Gabry (2017), "Practical Bayesian model evaluation using leave-one-out
    cross-validation and WAIC", *Statistics and Computing* 27.

    Examples
    --------
    >>> import dissensus as dx
    >>> study = dx.simulate.confusion_study(300, asymmetry=3, random_seed=1)
    >>> comparison = dx.compare_truth_models(
    ...     study.annotations, study.predictions, {"plain": {}, "graded": {"errors": "graded"}},
    ...     draws=250, random_seed=1, progressbar=False)
    >>> comparison.best, comparison.simplest, comparison.table.index.tolist()
    ('graded', 'graded', ['graded', 'plain'])
    """
    if candidates is None:
        fitting.require_kind(annotations, ("nominal", "ordinal"), "compare_truth_models")
        variants = candidates_for(annotations, predictions)
    else:
        variants = checked_candidates(candidates)
    if "log_likelihood" in options:
        raise ArgumentError(
            "log_likelihood",
            expected="no value: the comparison always computes it",
            found="a value",
        )
    check_options(options)
    fits, refits, poor = {}, {}, []
    for name, settings in variants.items():
        arguments = {"predictions": predictions, **options, **settings}
        fits[name], rough = _fitted(annotations, arguments)
        refits[name] = partial(_log_likelihood_without, annotations, arguments)
        poor += [name] * rough
    if poor:
        warnings.warn(
            f"The chains of {listed(list(map(repr, poor)))} are too short for "
            "some parameters: fit a variant with more draws before you use its results.",
            ConvergenceWarning, stacklevel=2,
        )  # fmt: skip
    for fit in fits.values():
        _require_draws(fit)
    table = _compared(fits, refits)
    best, order = str(table.index[0]), list(variants)
    like = [str(variant) for variant in table.index[1:] if _alike(table.loc[variant])]
    simplest = min([best, *like], key=order.index)
    return TruthComparison(
        table, fits, {name: dict(variant) for name, variant in variants.items()}, best, simplest,
        _words(table, best, like, simplest),
    )  # fmt: skip


def _fitted(annotations: xr.Dataset, settings: Mapping[str, Any]) -> tuple[xr.DataTree, bool]:
    """Fit one variant, and return whether its chains did not converge."""
    arguments = {name: value for name, value in settings.items() if name != MODEL}
    module = models.get(settings[MODEL]).module
    with warnings.catch_warnings(record=True) as caught, fitting.all_or_nothing():
        warnings.simplefilter("always")
        fit = module.fit(annotations, log_likelihood=True, **arguments)
    rough = False
    for warning in caught:
        if issubclass(warning.category, ConvergenceWarning):
            rough = True
        else:
            warnings.warn_explicit(
                warning.message, warning.category, warning.filename, warning.lineno
            )
    return fit, rough


def _log_likelihood_without(
    annotations: xr.Dataset, settings: Mapping[str, Any], place: int
) -> xr.DataArray:
    """Return draws of an item's log-likelihood, given the labels of the other items."""
    arguments = {name: value for name, value in settings.items() if name != MODEL}
    module = models.get(settings[MODEL]).module
    call = signature(module.fit).bind(annotations, **arguments)
    call.apply_defaults()
    taken = {name: call.arguments.pop(name) for name in _RUN}
    run = {name: taken[name] for name in ("draws", "tune", "chains", "progressbar")}
    with warnings.catch_warnings(), fitting.all_or_nothing():
        warnings.simplefilter("ignore")  # the fit to all items gave the same warnings
        process = module._process(**call.arguments)
        fit = FitWithout(process, FitOptions(**run, keep=False, log_likelihood=True), place)
        draws = by_gibbs(fit, generator(taken["random_seed"], "fit"))
    return fit.log_likelihood(draws)["labels"].isel({ITEM: [place]})


def _require_draws(fit: xr.DataTree) -> None:
    """Raise if there are too few draws for LOO."""
    sizes = fit["posterior"].sizes
    if sizes[CHAIN] * sizes[DRAW] < _DRAWS:
        raise ArgumentError(
            "draws", expected=f"{_DRAWS} draws or more of all chains together, to leave items out",
            found=f"{sizes[CHAIN]} x {sizes[DRAW]}",
        )  # fmt: skip


def _compared(fits: dict[str, xr.DataTree], refits: Mapping[str, Refit]) -> pd.DataFrame:
    """Rank fits by LOO."""
    import arviz as az

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # ArviZ warns about Pareto k; the warning below is ours
        results = {
            name: _left_out(az.loo(fit, var_name="labels", pointwise=True), fit, refits[name])
            for name, fit in fits.items()
        }
        table = az.compare(results, round_to="none")
    high = {name: int((loo.pareto_k > loo.good_k).sum()) for name, loo in results.items()}
    table["k_high"] = [high[name] for name in table.index]
    failed = {name: n for name, n in high.items() if n}
    if failed:
        names = listed([f"{name!r} ({n:,})" for name, n in failed.items()])
        n_items = next(iter(fits.values()))["log_likelihood"].sizes[ITEM]
        warn_caller(
            f"For some of {n_items:,} items, the approximation of leave-one-out failed (Pareto k "
            f"too high), and these items are too many to fit without each: {names}. The elpd of "
            "these variants is probably too high, by an unknown amount; a few items in hundreds "
            "rarely change the order."
        )
    return table


def _left_out(loo: Any, fit: xr.DataTree, refit: Refit) -> Any:
    """Replace failed approximations by fits without the item: the worst 30, if more failed."""
    import arviz as az
    from arviz_stats import SamplingWrapper

    failed = np.sort(loo.pareto_k.to_numpy()[loo.pareto_k.to_numpy() > loo.good_k])
    if not len(failed):
        return loo

    class Wrapper(SamplingWrapper):  # type: ignore[misc]  # ArviZ has no type annotations
        """Fits without an item; the item is given by its place."""

        def sel_observations(self, idx: int) -> tuple[int, int]:
            return idx, idx

        def sample(self, modified_observed_data: int) -> xr.DataArray:
            return refit(modified_observed_data)

        def get_inference_data(self, fitted_model: xr.DataArray) -> xr.DataArray:
            return fitted_model

        def log_likelihood__i(self, excluded_obs: int, idata__i: xr.DataArray) -> xr.DataArray:  # noqa: ARG002
            return idata__i

    least = failed[-_REFITS - 1] if len(failed) > _REFITS else loo.good_k
    wrapper = Wrapper(model=None, idata_orig=fit)
    return az.reloo(wrapper, loo, var_name="labels", k_threshold=least, pointwise=True)


def _alike(row: Any) -> bool:
    gap = abs(float(row["elpd_diff"]))
    return gap < max(_SMALL, _LIKE * float(row["dse"]))


def _words(table: pd.DataFrame, best: str, like: list[str], simplest: str) -> str:
    """Summarise the comparison."""
    out = [f"Of {counted(len(table), 'variant')}, {best!r} predicts labels best."]
    if like:
        first = table.loc[like[0]]
        out.append(
            f"{capital(listed(list(map(repr, like))))} {'is' if len(like) == 1 else 'are'} not "
            "distinguishable from the best (the elpd of the next best is lower by "
            f"{_about(first['elpd_diff'])}, standard error {_about(first['dse'])})."
        )
    rest = [str(name) for name in table.index if str(name) not in {best, *like}]
    if rest:
        row = table.loc[rest[0]]
        out.append(
            f"The next, {rest[0]!r}, is clearly worse (by {_about(row['elpd_diff'])}, standard "
            f"error {_about(row['dse'])})."
        )
    if simplest != best:
        out.append(
            f"The simplest variant that predicts as well is {simplest!r}. Accuracies of more "
            "flexible variants are safer: a setting that hardly changes predictions may change "
            "accuracies."
        )
    out.append("Check the chosen fit with check_assumptions.")
    return " ".join(out)


def _about(value: Any) -> str:
    return number(float(f"{abs(float(value)):.1f}"))
