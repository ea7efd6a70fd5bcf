"""Reasons not to rely on a number of an evaluation, in a few words.

The same rule holds for all tables, files and plots. A number is marked if

- the fit behind it failed, or its labels can be exchanged (label switching);
- its effective sample size is below 100, in the bulk or in the tails;
- its r-hat is above 1.05;
- it has too few draws or chains to compute these diagnostics.

Every function returns an empty text where no reason is found.
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
"""Printed behind the interval of a marked number."""
_FITTED: Final = (
    "weighted_reliability", "label_accuracy", "truth_accuracy", "annotators_for_truth",
)  # fmt: skip
"""Quantities of the ground truth that are computed from the annotators' accuracies."""


_OF_ONE: Final = re.compile(r"\d+ effective|r-hat")
"""Start of the texts that `of_numbers` returns."""


def of_metrics(side: xr.DataTree, reliability: float | None = None) -> str:
    """Return the reason for one model's metrics, at a reliability or at its reference."""
    markov = bool(int(side.attrs.get("markov_chains", 0)))
    draws, chains = (int(side.attrs.get(name, 1_000_000)) for name in ("draws", "chains"))
    few = convergence.few_draws(draws, chains, markov=markov)
    few = few or ("posterior" in side.children and _diverged(side["posterior"].attrs)) or ""
    if few or "convergence" not in side.children:  # sets have a fit for each label
        return few or (convergence.doubt(side["posterior"].attrs) if "labels" in side else "")
    items, prior = chains_of(side, reliability)
    if int(prior.get("n_items_poor", 0)):
        return convergence.doubt(prior, " of the learned prior")
    poor = int(items.get("n_items_poor", 0))
    if not poor:
        return ""
    n = f" of {side['certainty'].sizes['item']:,}" if "certainty" in side.children else ""
    return f"{poor:,}{n} items: {convergence.doubt(items)}"


def of_prior(side: xr.DataTree) -> bool:
    """Return whether a model's only chains are those of its learned prior, not of items."""
    return not int(side.attrs.get("markov_chains", 1))


def chains_of(
    side: xr.DataTree, reliability: float | None = None
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the diagnostics of a model's items, and of its learned prior, by name.

    They are those at a reliability, or at the model's reference; empty where there are none.
    """
    if "convergence" not in side.children:
        return {}, {}
    data = side["convergence"].to_dataset()
    at = side.attrs["reference_reliability"] if reliability is None else reliability
    here = data.isel({RELIABILITY: int(np.abs(data[RELIABILITY].to_numpy() - at).argmin())})
    named = {str(name): value.item() for name, value in here.data_vars.items()}
    if of_prior(side):
        return {}, named
    start = convergence.OF_PRIOR
    prior = {name: value for name, value in named.items() if name.startswith(start)}
    items = {name: value for name, value in named.items() if name not in prior}
    return items, {name.removeprefix(start): value for name, value in prior.items()}


def of_group(evaluation: xr.DataTree, name: str) -> str:
    """Return the reason for a group that has its own model."""
    if name not in evaluation.children:
        return ""
    data = evaluation[name]
    if not int(data.attrs.get("finite", 1)):
        return "draws that are not numbers"
    short = convergence.doubt(data.attrs) or _few(data, markov=True)
    return short or design.doubt(data.attrs)


def of_answer(evaluation: xr.DataTree, quantity: str) -> str:
    """Return the reason for one of the quantities of the group ``answers``."""
    if quantity == "panel_agreement":
        return of_metrics(evaluation)
    if quantity == "accuracy":
        return of_group(evaluation, "accuracy")
    return of_bootstrap(evaluation["answers"].to_dataset()[quantity])


def of_ground_truth(evaluation: xr.DataTree, quantity: str) -> str:
    """Return the reason for a quantity of the ground truth.

    Quantities computed from the annotators' accuracies inherit the reason for these.
    """
    data = evaluation["weighted_reliability"]
    few = _few(data, markov=False)
    if few or quantity not in _FITTED or "accuracy" not in evaluation.children:
        return few
    fitted = data.attrs.get("accuracy") == evaluation["accuracy"].attrs.get("model")
    return of_group(evaluation, "accuracy") if fitted else ""


def of_bootstrap(draws: xr.DataArray) -> str:
    """Return the reason for a statistic with independent draws."""
    return _few(draws, markov=False)


def of_fit(posterior: xr.DataTree) -> str:
    """Return the reason that holds for all numbers of a fit."""
    attrs = posterior.attrs
    diverged = _diverged(attrs)
    fit = posterior.parent
    if not diverged and fit is not None and "sample_stats" in fit.children:  # of `pymc.sample`
        steps = fit["sample_stats"].to_dataset().get("diverging", xr.DataArray(0))
        diverged = _diverged({"n_divergences": int(steps.sum())})
    return _few(posterior, markov=not is_exact(attrs)) or diverged or design.doubt(attrs)


def of_attributes(attrs: Any) -> str:
    """Return the reason that the attributes of some draws give: short chains, divergences."""
    return convergence.doubt(attrs) or _diverged(attrs)


def _diverged(attrs: Any) -> str:
    n = int(attrs.get("n_divergences", 0))
    return f"{n:,} divergent transitions" if n else ""


def _few(data: xr.DataTree | xr.DataArray, *, markov: bool) -> str:
    sizes = [data.sizes.get(dim, 1) for dim in (DRAW, CHAIN)]
    return convergence.few_draws(*sizes, markov=markov)


def of_numbers(bulk: Any, tail: Any, r_hat: Any) -> str:
    """Return the reason that a number's diagnostics give. Undefined diagnostics are NaN.

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
    """Return the reason not to rely on each row of a summary, from its diagnostics.

    The reason is "" if there is none.
    """
    n = len(frame)
    columns = [frame.get(name, pd.Series([np.nan] * n)) for name in ("ess_bulk", "r_hat")]
    bulk, r_hat = (np.asarray(column, dtype=np.float64) for column in columns)
    tails = np.full(n, np.nan) if tail is None else np.asarray(tail, dtype=np.float64).ravel()
    return [of_numbers(*row) for row in zip(bulk, tails, r_hat, strict=True)]


def marked(text: str, doubt: Any) -> str:
    """Put the mark behind the interval of a number with a reason.

    Examples
    --------
    >>> marked(".6 to .8", "r-hat 1.30"), marked(".6 to .8", "")
    ('.6 to .8 !', '.6 to .8')
    """
    return f"{text} {MARK}" if isinstance(doubt, str) and doubt else text


def reasons(doubts: Any, most: int = 3) -> str:
    """List the reasons of several rows, each once.

    Reasons that concern single numbers are counted instead.

    Examples
    --------
    >>> reasons(["", "r-hat 1.30", "only 20 draws", "12 effective draws", "only 20 draws"])
    'only 20 draws; 2 numbers of fewer than 100 effective draws, or an r-hat above 1.05'
    """
    given = [text for text in doubts if isinstance(text, str) and text]
    single = [text for text in given if _OF_ONE.match(text)]
    shared = list(dict.fromkeys(text for text in given if not _OF_ONE.match(text)))
    more = [f"and {len(shared) - most} more reasons"] if len(shared) > most else []
    if len(set(single)) > 1:
        more.append(
            f"{len(single):,} numbers of fewer than {convergence.ESS:g} effective draws, or an "
            f"r-hat above {convergence.R_HAT:g}"
        )
    else:
        more += single[:1]
    return "; ".join([*shared[:most], *more])
