"""Draws in the words that a paper wants: sentences, or rows of a table."""

from __future__ import annotations

from typing import Any

import xarray as xr

from dissensus._description.rows import described
from dissensus._description.writing import WRITERS
from dissensus.dims import ITEM, SAMPLE
from dissensus.errors import ArgumentError, shown
from dissensus.evaluation.doubts import of_attributes, of_fit
from dissensus.registry import one_of


def describe(draws: xr.DataArray | xr.Dataset | xr.DataTree, format: str = "text") -> str:  # noqa: A002 -- as read_annotations
    r"""Report draws as papers ask for it: sentences, a Markdown table, or a LaTeX one.

    Parameters
    ----------
    draws : DataArray, Dataset or DataTree
        Draws (chain, draw, ...) of metrics or statistics, what `dissensus.compare` returned, or a
        fit, of which parameters are reported, and not what there is one of for each item.
    format : {"text", "markdown", "latex"}
        Sentences, each of which can stand alone; a table; or a ``tabular`` with the rules of
        LaTeX's package booktabs. Names that came with the data are escaped.

    Returns
    -------
    str
        For each number its mean and interval, of the kind and probability that ArviZ's settings
        say, which are named. Of numbers of annotators, and where some draw is infinite, median and
        equal-tailed interval instead. Then how many draws there were, the least effective
        sample sizes, the largest r-hat, and the Monte Carlo error of the means. What is not to be
        relied on is said to be so, and why, as far as draws tell by themselves: what a metric was
        computed from, `dissensus.summary` of an evaluation knows, and of a fit this function.

    Raises
    ------
    ArgumentError
        If these are no draws, or no numbers, or an evaluation, which has many kinds of them, or
        there is no such format.

    Notes
    -----
    Decimals are as many as show two digits of a variable's narrowest interval, four at most (more
    where even the widest would not show); two at least, of intervals longer than 3 one, longer
    than 30 none, and none for what is counted. Of
    what is set side by side along dims such as ``system`` and ``system_``, each pair is given once.

    Interval, draws and diagnostics are what Kruschke (2021), "Bayesian analysis reporting
    guidelines", *Nature Human Behaviour* 5, asks for. An estimate with its uncertainty is item 24
    of STARD 2015 and item 13 of GRRAS; the guide to reporting in the documentation goes through
    both lists.

    Examples
    --------
    >>> import arviz as az, dissensus as dx, numpy as np, xarray as xr
    >>> values = np.random.default_rng(1).beta([60, 50], [40, 50], size=(4, 1000, 2))
    >>> draws = xr.DataArray(values, dims=("chain", "draw", "system"), name="top_1_accuracy",
    ...                      coords={"system": ["A", "B"]})
    >>> with az.rc_context({"stats.ci_kind": "eti", "stats.ci_prob": 0.95}):
    ...     print(dx.describe(draws))
    Top-1 accuracy, A: mean 0.60 (95% equal-tailed interval 0.50 to 0.69).
    Top-1 accuracy, B: mean 0.50 (95% equal-tailed interval 0.40 to 0.60).
    4,000 draws in 4 chains; ...; Monte Carlo error of the means at most 0.0008.
    >>> print(dx.describe(dx.compare(draws), "markdown"))
    | | system | mean | 89% equal-tailed interval | P(first is better) |
    |---|---|--:|--:|--:|
    | Difference in top-1 accuracy | A less B | 0.10 | -0.01 to 0.21 | 0.93 |
    ...
    """
    one_of("format", format, WRITERS)
    data, doubt = _draws(draws)
    return WRITERS[format](described(data, doubt, parameters=isinstance(draws, xr.DataTree)))


def _draws(source: Any) -> tuple[xr.Dataset, str]:
    """Return variables that have draws, and why none of them is to be relied on, if so."""
    if isinstance(source, xr.DataTree):
        return _of_fit(source)
    if isinstance(source, xr.DataArray):
        source = source.to_dataset(name=source.name or "value")
    if not isinstance(source, xr.Dataset):
        raise ArgumentError("draws", expected="draws, or a fit", found=type(source).__name__)
    bare = [str(name) for name, one in source.data_vars.items() if not set(SAMPLE) <= set(one.dims)]
    if len(bare) == len(source.data_vars):
        raise ArgumentError(
            "draws", expected="variables with the dims chain and draw",
            found=shown(bare) or "no variables",
            hint="A metric of a fit has them, and a statistic by dissensus.bayesian_bootstrap",
        )  # fmt: skip
    _require_draws(source)
    return source.compute(), of_attributes(source.attrs)


def _require_draws(data: xr.Dataset) -> None:
    """Raise if there is nothing along a dim."""
    bare = [str(dim) for dim, size in data.sizes.items() if not size]
    if bare:
        raise ArgumentError("draws", expected="one or more of everything",
                            found=f"nothing along {shown(bare)}")  # fmt: skip


def _of_fit(fit: xr.DataTree) -> tuple[xr.Dataset, str]:
    if "statistics" in fit.children or "posterior" not in fit.children:
        raise ArgumentError(
            "draws", expected="draws, or a fit", found=f"groups {shown(list(fit.children), 12)}",
            hint="Of an evaluation dissensus.summary makes tables, with doubts of its fits; of its "
            "draws describe some: result['metrics'].to_dataset().sel(reliability=1)",
        )  # fmt: skip
    posterior = fit["posterior"]
    assert isinstance(posterior, xr.DataTree)
    data = posterior.to_dataset()
    few = data.drop_vars([name for name, one in data.data_vars.items() if ITEM in one.dims])
    if not few.data_vars:
        raise ArgumentError(
            "draws", expected="a fit with parameters that are not of single items",
            found=f"{shown(list(data.data_vars))} of {data.sizes[ITEM]:,} items",
            hint="Describe a metric of it, such as dissensus.top_k_accuracy(fit, predictions)",
        )  # fmt: skip
    _require_draws(few)
    return few.compute(), of_fit(posterior)
