"""Which numbers of an evaluation are not to be relied on, and why, in a few words.

One rule for all: a number is doubtful if the fit behind it failed, if its own draws are worth fewer
than 100, in the middle or in the tails, if its chains disagree (r-hat above 1.05), or if so few
were drawn that none of this can be told, or if the truths could as well be read the other way
round. Every table, file and picture asks here.
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
"""The column of every summary that says why; an empty text where nothing is wrong."""
MARK: Final = "!"
"""Behind an interval that is not to be relied on, wherever it is printed."""
_FITTED: Final = (
    "weighted_reliability", "label_accuracy", "truth_accuracy", "annotators_for_truth",
)  # fmt: skip
"""What the ground truth has from accuracies of annotators."""


_OF_ONE: Final = re.compile(r"\d+ effective|r-hat")
"""Begins what `of_numbers` says."""


def of_metrics(side: xr.DataTree, reliability: float | None = None) -> str:
    """Say why what one model says at a reliability, or at its reference, is not to be relied on."""
    markov = bool(int(side.attrs.get("markov_chains", 0)))
    draws, chains = (int(side.attrs.get(name, 1_000_000)) for name in ("draws", "chains"))
    few = convergence.few_draws(draws, chains, markov=markov)
    few = few or ("posterior" in side.children and _diverged(side["posterior"].attrs)) or ""
    if few or "convergence" not in side.children:
        return few
    data = side["convergence"].to_dataset()
    at = side.attrs["reference_reliability"] if reliability is None else reliability
    here = data.isel({RELIABILITY: int(np.abs(data[RELIABILITY].to_numpy() - at).argmin())})
    poor = int(here["n_items_poor"])
    if not poor:
        return ""
    n = f" of {side['certainty'].sizes['item']:,}" if "certainty" in side.children else ""
    return f"{poor:,}{n} items: {convergence.doubt({k: v.item() for k, v in here.items()})}"


def of_group(evaluation: xr.DataTree, name: str) -> str:
    """Say why what a model of its own adds to an evaluation is not to be relied on."""
    if name not in evaluation.children:
        return ""
    data = evaluation[name]
    if not int(data.attrs.get("finite", 1)):
        return "draws that are no numbers"
    short = convergence.doubt(data.attrs) or _few(data.to_dataset(), markov=True)
    return short or design.doubt(data.attrs)


def of_answer(evaluation: xr.DataTree, quantity: str) -> str:
    """Say the same of one of the numbers that people call accuracy, by what it was drawn from."""
    if quantity == "panel_agreement":
        return of_metrics(evaluation)
    if quantity == "accuracy":
        return of_group(evaluation, "accuracy")
    return of_bootstrap(evaluation["answers"].to_dataset()[quantity])


def of_ground_truth(evaluation: xr.DataTree, quantity: str) -> str:
    """Say the same of what is said of a ground truth, which has doubts of accuracies as its own."""
    data = evaluation["weighted_reliability"]
    few = _few(data.to_dataset(), markov=False)
    own = data.attrs.get("accuracy")
    if few or quantity not in _FITTED or "accuracy" not in evaluation.children:
        return few
    fitted = own == evaluation["accuracy"].attrs.get("model")
    return of_group(evaluation, "accuracy") if fitted else ""


def of_bootstrap(draws: xr.DataArray) -> str:
    """Say the same of independent draws of a statistic."""
    return _few(draws.to_dataset(name="x"), markov=False)


def of_fit(posterior: xr.DataTree) -> str:
    """Say why no number of a fit is to be relied on, whatever its own draws look like."""
    attrs = posterior.attrs
    diverged = _diverged(attrs) or _diverging(posterior.parent)
    few = _few(posterior.to_dataset(), markov=not is_exact(attrs))
    return few or diverged or design.doubt(attrs)


def of_attributes(attrs: Any) -> str:
    """Say what is written beside some draws: chains that are too short, steps that diverged."""
    return convergence.doubt(attrs) or _diverged(attrs)


def _diverged(attrs: Any) -> str:
    n = int(attrs.get("n_divergences", 0))
    return f"{n:,} divergent transitions" if n else ""


def _diverging(fit: xr.DataTree | None) -> str:
    """Say the same of a fit that does not say so itself, as PyMC's own."""
    if fit is None or "sample_stats" not in fit.children:
        return ""
    steps = fit["sample_stats"].to_dataset().get("diverging")
    return "" if steps is None else _diverged({"n_divergences": int(steps.sum())})


def _few(data: xr.Dataset, *, markov: bool) -> str:
    sizes = [data.sizes.get(dim, 1) for dim in (DRAW, CHAIN)]
    return convergence.few_draws(*sizes, markov=markov)


def of_numbers(bulk: Any, tail: Any, r_hat: Any) -> str:
    """Say what is wrong with one number's draws; what is NaN is undefined, and nothing is wrong.

    Examples
    --------
    >>> of_numbers(812.0, 64.2, 1.01)
    '64 effective draws in the tails'
    >>> of_numbers(float("nan"), None, float("nan"))
    ''
    """
    least = convergence.ESS
    said = [
        words
        for value, limit, words in (
            (bulk, bulk is not None and bulk < least, "{:.0f} effective draws"),
            (tail, tail is not None and tail < least, "{:.0f} effective draws in the tails"),
            (r_hat, r_hat is not None and r_hat > convergence.R_HAT, "r-hat {:.2f}"),
        )
        if limit
        for words in [words.format(value)]
    ]
    return ", ".join(said)


def is_exact(attrs: Any) -> bool:
    """Say whether draws hang on no others: what r-hat says of those is chance."""
    return str(attrs.get("inference", "")).startswith("exact:")


def each(frame: pd.DataFrame, tail: Any = None) -> list[str]:
    """Say of each row of a summary what is wrong with its draws."""
    n = len(frame)
    columns = [frame.get(name, pd.Series([np.nan] * n)) for name in ("ess_bulk", "r_hat")]
    bulk, r_hat = (np.asarray(column, dtype=np.float64) for column in columns)
    tails = np.full(n, np.nan) if tail is None else np.asarray(tail, dtype=np.float64).ravel()
    return [of_numbers(*row) for row in zip(bulk, tails, r_hat, strict=True)]


def marked(text: str, doubt: Any) -> str:
    """Put the mark behind an interval that is not to be relied on.

    Examples
    --------
    >>> marked(".6 to .8", "r-hat 1.30"), marked(".6 to .8", "")
    ('.6 to .8 !', '.6 to .8')
    """
    return f"{text} {MARK}" if isinstance(doubt, str) and doubt else text


def reasons(doubts: Any, most: int = 3) -> str:
    """List what is wrong with some rows, once each; nothing if nothing is.

    What is wrong with the draws of single numbers is said of all of them together.

    Examples
    --------
    >>> reasons(["", "r-hat 1.30", "only 20 draws", "12 effective draws", "only 20 draws"])
    'only 20 draws; 2 numbers of fewer than 100 effective draws, or an r-hat above 1.05'
    """
    given = [one for one in doubts if isinstance(one, str) and one]
    single = [one for one in given if _OF_ONE.match(one)]
    said = list(dict.fromkeys(one for one in given if not _OF_ONE.match(one)))
    more = [f"and {len(said) - most} more reasons"] if len(said) > most else []
    if len(set(single)) > 1:
        more.append(
            f"{len(single):,} numbers of fewer than {convergence.ESS:g} effective draws, or an "
            f"r-hat above {convergence.R_HAT:g}"
        )
    else:
        more += single[:1]
    return "; ".join([*said[:most], *more])
