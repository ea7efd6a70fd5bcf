"""Reasons not to rely on a number of an evaluation, in a few words.

The same rule holds for all tables, files and plots. A number is marked if

- the fit behind it failed, or its labels can be exchanged (label switching);
- its effective sample size is below 100, in the bulk or in the tails;
- its r-hat is above 1.05;
- it has too few draws or chains to compute these diagnostics.

Functions that return a reason return "" if there is none.
"""

from __future__ import annotations

import re
from typing import Any, Final

import numpy as np
import pandas as pd
import xarray as xr

from dissensus.dims import CHAIN, DRAW, RELIABILITY
from dissensus.sampling import convergence, design

DOUBT: Final = "doubt"
"""Column of every summary with the reason, or an empty text."""
MARK: Final = "!"
"""Sign after the interval of a marked number."""
_FITTED: Final = (
    "weighted_reliability", "label_accuracy", "truth_accuracy", "annotators_for_truth",
)  # fmt: skip
"""Quantities of the ground truth that are computed from the annotators' accuracies."""


_OF_NUMBER: Final = re.compile(r"\d+ effective|r-hat")
"""Matches the start of the texts that `of_numbers` returns."""


def of_metrics(tree: xr.DataTree, reliability: float | None = None) -> str:
    """Return the reason not to rely on a model's metrics, by default at its reference."""
    markov = bool(int(tree.attrs.get("markov_chains", 0)))
    draws, chains = (int(tree.attrs.get(name, 1_000_000)) for name in ("draws", "chains"))
    reason = convergence.few_draws(draws, chains, markov=markov)
    reason = reason or ("posterior" in tree.children and _diverged(tree["posterior"].attrs)) or ""
    if reason or "convergence" not in tree.children:  # sets have a fit for each label
        return reason or (convergence.warning(tree["posterior"].attrs) if "labels" in tree else "")
    items, prior = chains_of(tree, reliability)
    if int(prior.get("n_items_poor", 0)):
        return convergence.warning(prior, " of the learned prior")
    poor = int(items.get("n_items_poor", 0))
    if not poor:
        return ""
    n = f" of {tree['certainty'].sizes['item']:,}" if "certainty" in tree.children else ""
    return f"{poor:,}{n} items: {convergence.warning(items)}"


def of_prior(tree: xr.DataTree) -> bool:
    """Return whether a model's only chains are those of its learned prior, not of items."""
    return not int(tree.attrs.get("markov_chains", 1))


def chains_of(
    tree: xr.DataTree, reliability: float | None = None
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the diagnostics of the chains of a model's items, and of its learned prior, by name.

    Both are for one reliability, by default the model's reference. A mapping is empty if the model
    has no such chains.
    """
    if "convergence" not in tree.children:
        return {}, {}
    data = tree["convergence"].to_dataset()
    at = tree.attrs["reference_reliability"] if reliability is None else reliability
    nearest = data.isel({RELIABILITY: int(np.abs(data[RELIABILITY].to_numpy() - at).argmin())})
    named = {str(name): value.item() for name, value in nearest.data_vars.items()}
    if of_prior(tree):
        return {}, named
    start = convergence.OF_PRIOR
    prior = {name: value for name, value in named.items() if name.startswith(start)}
    items = {name: value for name, value in named.items() if name not in prior}
    return items, {name.removeprefix(start): value for name, value in prior.items()}


def of_group(evaluation: xr.DataTree, name: str) -> str:
    """Return the reason not to rely on a group that has its own model."""
    if name not in evaluation.children:
        return ""
    data = evaluation[name]
    if not int(data.attrs.get("finite", 1)):
        return "draws that are not numbers"
    short = convergence.warning(data.attrs) or _few_draws(data, markov=True)
    return short or design.warning(data.attrs)


def of_answer(evaluation: xr.DataTree, quantity: str) -> str:
    """Return the reason not to rely on a quantity of the group ``answers``."""
    if quantity == "panel_agreement":
        return of_metrics(evaluation)
    if quantity == "accuracy":
        return of_group(evaluation, "accuracy")
    return of_bootstrap(evaluation["answers"].to_dataset()[quantity])


def of_ground_truth(evaluation: xr.DataTree, quantity: str) -> str:
    """Return the reason not to rely on a quantity of the ground truth.

    Quantities that are computed from fitted accuracies of annotators have the reason of the fit.
    """
    data = evaluation["weighted_reliability"]
    reason = _few_draws(data, markov=False)
    if reason or quantity not in _FITTED or "accuracy" not in evaluation.children:
        return reason
    fitted = data.attrs.get("accuracy") == evaluation["accuracy"].attrs.get("model")
    return of_group(evaluation, "accuracy") if fitted else ""


def of_bootstrap(draws: xr.DataArray) -> str:
    """Return the reason not to rely on a statistic with independent draws."""
    return _few_draws(draws, markov=False)


def of_fit(posterior: xr.DataTree) -> str:
    """Return the reason not to rely on any number of a fit."""
    attrs = posterior.attrs
    diverged = _diverged(attrs)
    fit = posterior.parent
    if not diverged and fit is not None and "sample_stats" in fit.children:  # by `pymc.sample`
        steps = fit["sample_stats"].to_dataset().get("diverging", xr.DataArray(0))
        diverged = _diverged({"n_divergences": int(steps.sum())})
    return _few_draws(posterior, markov=not is_exact(attrs)) or diverged or design.warning(attrs)


def of_attributes(attrs: Any) -> str:
    """Return the reason that attributes of draws give: short chains, divergent transitions."""
    return convergence.warning(attrs) or _diverged(attrs)


def _diverged(attrs: Any) -> str:
    n = int(attrs.get("n_divergences", 0))
    return f"{n:,} divergent transitions" if n else ""


def _few_draws(data: xr.DataTree | xr.DataArray, *, markov: bool) -> str:
    sizes = [data.sizes.get(dim, 1) for dim in (DRAW, CHAIN)]
    return convergence.few_draws(*sizes, markov=markov)


def of_numbers(bulk: Any, tail: Any, r_hat: Any) -> str:
    """Return the reason that a number's diagnostics give; they are NaN or None if undefined.

    Examples
    --------
    >>> of_numbers(812.0, 64.2, 1.01)
    '64 effective draws in the tails'
    >>> of_numbers(float("nan"), None, float("nan"))
    ''
    """
    texts = []
    if bulk is not None and bulk < convergence.ESS:
        texts.append(f"{bulk:.0f} effective draws")
    if tail is not None and tail < convergence.ESS:
        texts.append(f"{tail:.0f} effective draws in the tails")
    if r_hat is not None and r_hat > convergence.R_HAT:
        texts.append(f"r-hat {r_hat:.2f}")
    return ", ".join(texts)


def is_exact(attrs: Any) -> bool:
    """Return whether draws are independent: their r-hat deviates from 1 by chance only."""
    return str(attrs.get("inference", "")).startswith("exact:")


def each(frame: pd.DataFrame, tail: Any = None) -> list[str]:
    """Return the reason not to rely on each row of a summary, from its diagnostics."""
    n = len(frame)
    columns = [frame.get(name, pd.Series([np.nan] * n)) for name in ("ess_bulk", "r_hat")]
    bulk, r_hat = (np.asarray(column, dtype=np.float64) for column in columns)
    tails = np.full(n, np.nan) if tail is None else np.asarray(tail, dtype=np.float64).ravel()
    return [of_numbers(*row) for row in zip(bulk, tails, r_hat, strict=True)]


def marked(text: str, reason: Any) -> str:
    """Put the mark after the interval of a number if there is a reason not to rely on it.

    Examples
    --------
    >>> marked(".6 to .8", "r-hat 1.30"), marked(".6 to .8", "")
    ('.6 to .8 !', '.6 to .8')
    """
    return f"{text} {MARK}" if isinstance(reason, str) and reason else text


def reasons(texts: Any, most: int = 3) -> str:
    """List the reasons of several rows, each once.

    Different reasons that concern single numbers are only counted.

    Examples
    --------
    >>> reasons(["", "r-hat 1.30", "only 20 draws", "12 effective draws", "only 20 draws"])
    'only 20 draws; 2 numbers of fewer than 100 effective draws, or an r-hat above 1.05'
    """
    nonempty = [text for text in texts if isinstance(text, str) and text]
    single = [text for text in nonempty if _OF_NUMBER.match(text)]
    shared = list(dict.fromkeys(text for text in nonempty if not _OF_NUMBER.match(text)))
    extra = [f"and {len(shared) - most} more reasons"] if len(shared) > most else []
    if len(set(single)) > 1:
        extra.append(
            f"{len(single):,} numbers of fewer than {convergence.ESS:g} effective draws, or an "
            f"r-hat above {convergence.R_HAT:g}"
        )
    else:
        extra += single[:1]
    return "; ".join([*shared[:most], *extra])
