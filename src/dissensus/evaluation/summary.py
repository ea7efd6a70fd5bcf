"""The result of an evaluation as a tidy table: one row for each number."""

from __future__ import annotations

import pandas as pd
import xarray as xr

from dissensus.dims import ANNOTATOR, RELIABILITY, SAMPLE, SCOPE, SYSTEM
from dissensus.errors import ArgumentError
from dissensus.evaluation.answers import GROUP as ANSWERS
from dissensus.evaluation.doubts import DOUBT, each, is_exact, of_answer, of_bootstrap, of_metrics
from dissensus.evaluation.ground_truth import GROUP
from dissensus.evaluation.rows import (
    POSTERIOR,
    accuracy_rows,
    component_rows,
    ground_truth_rows,
    posterior_rows,
)
from dissensus.sampling.intervals import spread

_OF = ("metrics", ANSWERS, "statistics", "components", "accuracy", GROUP, POSTERIOR)
_COLUMNS = ["statistic", SYSTEM, ANNOTATOR, "observed", "mean", "sd", "lower", "upper", "undefined",
            DOUBT]  # fmt: skip


def summary(evaluation: xr.DataTree, of: str | None = None) -> pd.DataFrame:
    """Summarise an evaluation's metrics, statistics, components and so on, or a model's posterior.

    Parameters
    ----------
    evaluation : xarray.DataTree
        From `dissensus.evaluate`; or a fit, what ``fit`` of a model returned.
    of : {"metrics", "answers", "statistics", "components", "accuracy", ...}, optional
        Of what; also "weighted_reliability" and "posterior". Metrics and answers need predictions,
        statistics need items with two annotators, components labels that have a variance, accuracy
        and weighted reliability labels one of which may be true. By default the metrics; of a fit,
        the posterior.

    Returns
    -------
    pandas.DataFrame
        Of metrics: columns model, metric, reliability, scope, system, mean, sd, lower, upper (an
        interval of the kind and probability that ArviZ's rcParams say, named in ``attrs``),
        probability_best (NaN for one system), naive (the value against the point estimate),
        ess_bulk and r_hat. The rows of a companion model come after those of the main one.
        Empty if there were no predictions.

        Of answers: columns quantity, system (empty of ``human_agreement``), mean, sd, lower, upper;
        which question leads, and of which items it is asked, in ``attrs``.

        Of statistics: columns statistic, system, annotator (empty where it has none), observed,
        mean, sd, lower, upper, undefined (the share of draws that are, and are left out);
        coefficients of agreement first, then discrepancy ratios.

        Of components: columns quantity, by (the "model", or the "bootstrap" of what was observed),
        scale ("latent", "observed"), pool, ``pool_`` (empty where it has none; of a difference pool
        less ``pool_``, or less the reference), observed, mean, sd, lower, upper,
        probability_positive (of differences), undefined, ess_bulk and r_hat. ``icc``,
        ``annotator_icc`` and ``residual_share`` are shares of variance that add up to 1 on the
        latent scale; ``mean_reliability`` is that of an item's mean label; the mean of
        ``annotators_outweigh_items`` is a probability.

        Of accuracy: columns of ("system", "annotator"), name (empty where one accuracy stands for
        all annotators), scope, mean, sd, lower, upper of the accuracy if every item has one true
        label; majority, how often the label is that of most annotators (for annotators: of most
        others); uncertainty_adjusted, the mean top-1 accuracy of a system at the reference
        reliability; ess_bulk and r_hat.

        Of weighted reliability: columns quantity, mean, sd, median, lower, upper. Of
        ``annotators_for_truth`` the interval is equal-tailed, of numbers that occur; infinite where
        no number will do, and mean and sd are NaN then.

        Of the posterior: what `arviz.summary` returns, which by itself (1.3) fails on any variable
        with a dim ``label``. Variables of items are left out, named in ``attrs["left_out"]``,
        unless there are no others.

    Raises
    ------
    ArgumentError
        If this is no evaluation and no fit, or ``of`` is something else.

    Notes
    -----
    The last column of every table is ``doubt``: why the number and its interval are not to be
    relied on, in a few words, or an empty text. It is said of a number whose fit failed, whose
    draws are worth fewer than 100 (in the middle or in the tails), whose r-hat is above 1.05, or
    of which so few were drawn that this cannot be told.

    Examples
    --------
    >>> import dissensus as dx
    >>> ann = dx.annotations({"item": [1, 1], "annotator": list("ab"), "label": ["x", "y"]})
    >>> pred = dx.predictions({"item": [1], "system": ["m"], "label": ["x"]})
    >>> result = dx.evaluate(ann, pred, draws=50, random_seed=1, progressbar=False)
    >>> list(dx.summary(result).columns)[:6]
    ['model', 'metric', 'reliability', 'scope', 'system', 'mean']
    """
    of = _asked(evaluation, of)
    if of == POSTERIOR:
        return posterior_rows(evaluation)
    if of == ANSWERS:
        return _of_answers(evaluation)
    if of == "components":
        return _noted(component_rows(evaluation))
    if of == "accuracy":
        return _noted(accuracy_rows(evaluation))
    if of == GROUP:
        return _noted(ground_truth_rows(evaluation))
    if of == "statistics":
        return _of_statistics(evaluation)
    out = of_model(evaluation)
    if "companion" in evaluation.children:
        beside = of_model(evaluation.children["companion"])
        out = pd.concat([out, beside], ignore_index=True)  # keeps attributes that are alike
    return out


def _asked(evaluation: xr.DataTree, of: str | None) -> str:
    """Return of what; a fit has its posterior only."""
    groups = set(evaluation.children) if isinstance(evaluation, xr.DataTree) else set()
    is_evaluation, has_posterior = "statistics" in groups, POSTERIOR in groups
    if of is None:
        of = "metrics" if is_evaluation or not has_posterior else POSTERIOR
    if of not in _OF:
        raise ArgumentError("of", expected=f"one of {_OF}", found=repr(of))
    if not (has_posterior if of == POSTERIOR else is_evaluation):
        raise ArgumentError(
            "evaluation",
            expected="a fit, or an evaluation by a model"
            if of == POSTERIOR
            else "a DataTree from dissensus.evaluate, or from a model's fit",
            found=f"{type(evaluation).__name__} without a group "
            f"{POSTERIOR if of == POSTERIOR else 'statistics'!r}",
            hint="Draws: dissensus.describe(draws), or arviz.summary(draws)",
        )
    return of


def of_model(evaluation: xr.DataTree) -> pd.DataFrame:
    """Summarise the metrics under the one model that an evaluation, or a companion, is of."""
    key = [RELIABILITY, SCOPE, SYSTEM]
    rows = []
    draws = evaluation["metrics"].to_dataset() if "metrics" in evaluation.children else xr.Dataset()
    for name, values in ((str(name), values) for name, values in draws.data_vars.items()):
        parts = spread(values) | {
            "probability_best": _best(evaluation, name, values),
            "naive": evaluation["statistics"][f"naive_{name}"],
            "ess_bulk": evaluation["diagnostics"][name].sel(diagnostic="ess_bulk", drop=True),
            "r_hat": evaluation["diagnostics"][name].sel(diagnostic="r_hat", drop=True),
        }
        table = xr.Dataset({part: value.drop_attrs() for part, value in parts.items()})
        frame = table.to_dataframe(dim_order=key).reset_index()
        frame = frame.assign(metric=name, model=str(evaluation.attrs.get("model", "")))
        frame[DOUBT] = _doubts(evaluation, name, frame)
        rows.append(frame[["model", "metric", *key, *parts, DOUBT]])
    return _noted(pd.concat(rows, ignore_index=True) if rows else pd.DataFrame())


def _doubts(evaluation: xr.DataTree, name: str, frame: pd.DataFrame) -> list[str]:
    """Say of each row why it is not to be relied on: its model's draws there, or its own."""
    known = evaluation["diagnostics"][name]
    tail = None
    if "ess_tail" in known["diagnostic"]:
        of_tail = known.sel(diagnostic="ess_tail", drop=True)
        tail = of_tail.transpose(RELIABILITY, SCOPE, SYSTEM).to_numpy()
    of_all = {at: of_metrics(evaluation, at) for at in frame[RELIABILITY].unique()}
    own = [""] * len(frame) if is_exact(evaluation.attrs) else each(frame, tail)
    return [of_all[at] or one for at, one in zip(frame[RELIABILITY], own, strict=True)]


def _noted(frame: pd.DataFrame) -> pd.DataFrame:
    """Write down what the intervals are."""
    from arviz_base import rcParams

    frame.attrs.update(interval=rcParams["stats.ci_kind"], probability=rcParams["stats.ci_prob"])
    return frame


def _of_statistics(evaluation: xr.DataTree) -> pd.DataFrame:
    """Summarise the draws of statistics, one row for each value."""
    rows = [pd.DataFrame(columns=_COLUMNS)]
    for group in ("agreement", "discrepancy"):
        data = evaluation[group].to_dataset() if group in evaluation.children else xr.Dataset()
        for name, values in data.data_vars.items():
            if set(SAMPLE) <= set(values.dims):
                point = evaluation["statistics"].to_dataset()[name]
                rows.append(_rows_of(str(name), values, point))
    return _noted(pd.concat([row for row in rows if len(row)] or rows, ignore_index=True))


def _of_answers(evaluation: xr.DataTree) -> pd.DataFrame:
    """Summarise the three numbers that people call accuracy, and how far annotators agree."""
    columns = ["quantity", SYSTEM, "mean", "sd", "lower", "upper", DOUBT]
    data = evaluation[ANSWERS].to_dataset() if ANSWERS in evaluation.children else xr.Dataset()
    rows = [pd.DataFrame(columns=columns)]
    for name, values in data.data_vars.items():
        parts = {part: value.drop_attrs() for part, value in spread(values).items()}
        frame = xr.Dataset(parts).expand_dims("row").to_dataframe().reset_index()
        frame = frame.assign(quantity=str(name), doubt=of_answer(evaluation, str(name)))
        rows.append(frame.reindex(columns=columns))
    out = _noted(pd.concat([row for row in rows if len(row)] or rows, ignore_index=True))
    out.attrs.update({key: data.attrs[key] for key in ("question", "scope") if key in data.attrs})
    return out


def _rows_of(name: str, values: xr.DataArray, point: xr.DataArray) -> pd.DataFrame:
    """Summarise one statistic; ``point`` may have annotators of whom there are no draws."""
    parts = spread(values, skipna=True)
    parts["undefined"] = values.isnull().mean(SAMPLE)
    parts["observed"] = point.sel({dim: values[dim] for dim in point.dims})
    flat = {part: value.drop_attrs() for part, value in parts.items()}
    frame = xr.Dataset(flat).expand_dims("row").to_dataframe().reset_index()
    frame = frame.assign(statistic=name, doubt=of_bootstrap(values)).reindex(columns=_COLUMNS)
    for column in (SYSTEM, ANNOTATOR):  # names stay what they are: 10 is not to become 10.0
        frame[column] = frame[column].astype(object).where(frame[column].notna(), None)
    return frame


def _best(evaluation: xr.DataTree, name: str, values: xr.DataArray) -> xr.DataArray:
    comparison = evaluation["comparison"].to_dataset()
    if "probability_best" not in comparison:
        return xr.full_like(values.isel(chain=0, draw=0, drop=True), float("nan"))
    return comparison["probability_best"].sel(metric=name, drop=True)
