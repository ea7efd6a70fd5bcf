"""Tables of an evaluation, with a row for each estimate; plots and reports use them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import combinations
from typing import Any, Final

import numpy as np
import pandas as pd
import xarray as xr

from dissensus import arguments
from dissensus.dims import (
    ANNOTATOR,
    ITEM,
    POOL,
    RELIABILITY,
    SAMPLE,
    SCALE,
    SCOPE,
    SCOPES,
    SYSTEM,
    other,
)
from dissensus.errors import ArgumentError
from dissensus.evaluation.answers import GROUP as ANSWERS
from dissensus.evaluation.components import POINT
from dissensus.evaluation.doubts import (
    DOUBT,
    each,
    is_exact,
    of_answer,
    of_bootstrap,
    of_fit,
    of_ground_truth,
    of_group,
    of_metrics,
    of_numbers,
)
from dissensus.evaluation.ground_truth import GROUP
from dissensus.evaluation.readers import reader_rows
from dissensus.evaluation.sets import LABELS, label_rows
from dissensus.evaluation.votes import LEADERBOARD, leaderboard_rows
from dissensus.metrics._components import LATENT, OBSERVED
from dissensus.sampling.intervals import effective, spread, whole
from dissensus.statistics._reader_words import checked_study, is_reader_study

# Accuracy: one row for each system and scope, and for each annotator.


ACCURACY_COLUMNS: Final = (
    "of", "name", SCOPE, "mean", "sd", "lower", "upper", "majority", "uncertainty_adjusted",
    "ess_bulk", "r_hat", DOUBT,
)  # fmt: skip
OF_SYSTEM, OF_ANNOTATOR = "system", "annotator"
TRUE_RATES: Final = ("sensitivity", "specificity")
"""Of systems: rows whose ``of`` is "system sensitivity" or "system specificity"."""
_TAIL: Final = "ess_tail"
METRIC: Final = "top_1_accuracy"


def accuracy_rows(evaluation: xr.DataTree) -> pd.DataFrame:
    """Summarise the group ``accuracy``; see `dissensus.summary`."""
    if "accuracy" not in evaluation.children:
        return pd.DataFrame(columns=list(ACCURACY_COLUMNS))
    data = evaluation["accuracy"].to_dataset()
    frames = []
    if "estimated_accuracy" in data:
        extra = {"majority": data["majority_accuracy"],
                  "uncertainty_adjusted": adjusted(evaluation)}  # fmt: skip
        frames.append(_rows(data["estimated_accuracy"], SYSTEM, OF_SYSTEM, extra))
    frames += [
        _rows(data[f"estimated_{rate}"], SYSTEM, f"{OF_SYSTEM} {rate}", {})
        for rate in TRUE_RATES if f"estimated_{rate}" in data
    ]  # fmt: skip
    majority = data["annotator_majority"]
    if ANNOTATOR not in data["annotator_accuracy"].dims:
        majority = majority.mean(skipna=True)
    extra = {"majority": majority}
    frames.append(_rows(data["annotator_accuracy"], ANNOTATOR, OF_ANNOTATOR, extra))
    names = [name for frame in frames for name in frame["name"].tolist()]
    out = pd.concat([frame.drop(columns="name") for frame in frames], ignore_index=True)
    # dtype=object keeps names that are whole numbers: concat would turn 10 into 10.0.
    out["name"] = pd.Series(names, index=out.index, dtype=object)
    of_all = of_group(evaluation, "accuracy")
    row_reasons = each(out, out[_TAIL])
    out[DOUBT] = [of_all or reason for reason in row_reasons]
    return out[list(ACCURACY_COLUMNS)]


def adjusted(evaluation: xr.DataTree) -> xr.DataArray | None:
    """Return the mean top-1 accuracy at the reference reliability (scope, system), or None."""
    draws = _group(evaluation, "metrics").get(METRIC)
    if draws is None:
        return None
    reference = evaluation.attrs["reference_reliability"]
    return draws.sel({RELIABILITY: reference}, drop=True).mean(list(SAMPLE))


def _rows(
    draws: xr.DataArray, dim: str, of: str, extra: dict[str, xr.DataArray | None]
) -> pd.DataFrame:
    """Summarise draws, with one row for each scope and each name along ``dim``."""
    parts = spread(draws) | effective(draws)
    parts |= {name: values for name, values in extra.items() if values is not None}
    flat = {name: _like(values, parts["mean"]) for name, values in parts.items()}
    names = draws[dim].to_numpy().tolist() if dim in draws.dims else [None]
    scopes = draws[SCOPE].to_numpy().tolist() if SCOPE in draws.dims else [SCOPES[1]]
    out = pd.DataFrame(flat).reindex(columns=[*ACCURACY_COLUMNS, _TAIL])
    out["of"], out[SCOPE] = of, np.repeat(scopes, len(names))
    out["name"] = pd.Series(names * len(scopes), dtype=object)
    for column in ("majority", "uncertainty_adjusted"):
        out[column] = out[column].astype(np.float64)
    return out


def _like(values: xr.DataArray, like: xr.DataArray) -> Any:
    """Return values as a flat array with the cells of ``like``; NaN for systems without a value."""
    same = values.drop_attrs(deep=False).reindex({str(dim): like[dim] for dim in values.dims})
    return same.broadcast_like(like).transpose(*like.dims).to_numpy().ravel()


# Components: one row for each quantity and scale, and for each pool or pair of pools.


PAIR: Final = other(POOL)
COMPONENT_COLUMNS: Final = (
    "quantity", "by", SCALE, POOL, PAIR, "observed", "mean", "sd", "lower", "upper",
    "probability_positive", "undefined", "ess_bulk", "r_hat", DOUBT,
)  # fmt: skip
MODEL, BOOTSTRAP = "model", "bootstrap"
_ON_ONE_SCALE: Final = {"residual_share": LATENT, "mean_reliability": OBSERVED}


def component_rows(evaluation: xr.DataTree) -> pd.DataFrame:
    """Summarise ``components`` and ``pools``; see `dissensus.summary`."""
    rows: list[dict[str, Any]] = []
    of_all = of_group(evaluation, "components")
    for group, by in (("components", MODEL), ("pools", BOOTSTRAP)):
        data = _group(evaluation, group)
        for name, draws in data.data_vars.items():
            key = {"quantity": str(name), "by": by}
            if set(SAMPLE) <= set(draws.dims):
                for place, single in _single(draws):
                    row = key | place | _numbers(single, data.get(f"{POINT}{name}"), place)
                    if by == MODEL:
                        row |= _diagnosed(single)
                        values = (row.get(n) for n in ("ess_bulk", "ess_tail", "r_hat"))
                        rows.append(row | {DOUBT: of_all or of_numbers(*values)})
                    else:
                        rows.append(row | {DOUBT: of_bootstrap(single)})
            elif name == "annotators_outweigh_items":  # a probability, without an interval
                pools = draws[POOL].to_numpy().tolist() if POOL in draws.dims else [None]
                rows += [
                    key | {POOL: pool, "mean": chance, DOUBT: of_all}
                    for pool, chance in zip(pools, np.atleast_1d(draws).tolist(), strict=True)
                ]
    out = pd.DataFrame(rows, columns=list(COMPONENT_COLUMNS))
    for column in (SCALE, POOL, PAIR):  # dtype=object keeps names that are whole numbers
        names = [row.get(column) for row in rows]
        out[column] = pd.Series(names, index=out.index, dtype=object)
    return out


def _single(draws: xr.DataArray) -> Iterator[tuple[dict[str, Any], xr.DataArray]]:
    """Yield the coordinates and the draws (chain, draw) of each number; a pair of pools once."""
    for scale in draws[SCALE].to_numpy().tolist() if SCALE in draws.dims else [None]:
        of_scale = draws if scale is None else draws.sel({SCALE: scale}, drop=True)
        names = draws[POOL].to_numpy().tolist() if POOL in draws.dims else [None]
        paired = PAIR in draws.dims
        for pair in combinations(names, 2) if paired else ((name, None) for name in names):
            place = {POOL: pair[0], PAIR: pair[1]}
            single = of_scale.sel({dim: name for dim, name in place.items() if dim in draws.dims})
            compared = not str(draws.name).endswith("_difference")
            # The difference of the reference from itself is NaN in all draws.
            if compared or not bool(single.isnull().all()):
                place[SCALE] = scale or _ON_ONE_SCALE.get(str(draws.name))
                yield place, single.reset_coords(drop=True)


def _numbers(
    draws: xr.DataArray, points: xr.DataArray | None, place: dict[str, Any]
) -> dict[str, Any]:
    out: dict[str, Any] = {name: float(value) for name, value in spread(draws, skipna=True).items()}
    out["undefined"] = float(draws.isnull().mean())
    if str(draws.name).endswith("_difference"):
        out["probability_positive"] = float((draws > 0).mean())
    if points is not None:
        out["observed"] = float(points.sel({str(dim): place[str(dim)] for dim in points.dims}))
    return out


def _diagnosed(draws: xr.DataArray) -> dict[str, float]:
    """Return effective sample sizes and r-hat of a number; empty if a draw is not finite."""
    known = effective(draws) if np.isfinite(draws).all() else {}
    return {name: float(value) for name, value in known.items()}


# Ground truth: one row for each quantity.


COUNT: Final = "annotators_for_truth"
GROUND_TRUTH_COLUMNS: Final = ("quantity", "mean", "sd", "median", "lower", "upper", DOUBT)


def ground_truth_rows(evaluation: xr.DataTree) -> pd.DataFrame:
    """Summarise the group ``weighted_reliability``; see `dissensus.summary`."""
    rows: list[dict[str, Any]] = []
    for name, draws in _group(evaluation, GROUP).data_vars.items():
        if name == COUNT:
            row: dict[str, Any] = dict(whole(draws))
        else:
            row = {part: float(value) for part, value in spread(draws, skipna=True).items()}
            row["median"] = float(draws.median(skipna=True))
        rows.append(row | {"quantity": str(name), DOUBT: of_ground_truth(evaluation, str(name))})
    return pd.DataFrame(rows, columns=list(GROUND_TRUTH_COLUMNS))


# Posterior: the table of ArviZ, without variables of items.


POSTERIOR = "posterior"


def posterior_rows(fit: xr.DataTree) -> pd.DataFrame:
    """Summarise a fit by `arviz.summary`, with variables of items only if there are no others."""
    import arviz as az

    posterior = fit[POSTERIOR]
    assert isinstance(posterior, xr.DataTree)
    draws = posterior.to_dataset()
    left_out = [str(name) for name, values in draws.data_vars.items() if ITEM in values.dims]
    if len(left_out) == len(draws.data_vars):
        left_out = []
    draws = draws.drop_vars(left_out)
    if draws.chunks:
        raise ArgumentError(
            "evaluation", expected="draws in memory",
            found="draws in chunks that are not computed yet",
            hint="Summarise a metric, which needs little memory: "
            "arviz.summary(dx.certainty(fit).compute()). Or make all draws: fit.compute()",
        )  # fmt: skip
    with np.errstate(invalid="ignore"):  # r-hat of constants, such as a pool's own correlation
        table = az.summary(xr.Dataset(dict(map(_with_own_dims, draws.data_vars.items()))))
    assert isinstance(table, pd.DataFrame)
    of_all, exact = of_fit(posterior), is_exact(posterior.attrs)
    row_reasons = [""] * len(table) if exact else each(table, table.get(_TAIL))
    table[DOUBT] = [of_all or reason for reason in row_reasons]
    table.attrs["left_out"] = left_out
    return table


def _with_own_dims(variable: tuple[Any, xr.DataArray]) -> tuple[Any, xr.DataArray]:
    """Return the name of a variable, and the variable with dims that no other variable has.

    `arviz.summary` (1.3) has a dim ``label`` of its own. It gives rows wrong names if variables
    have the same dims in different orders (`fitting.in_order_of_dims`).
    """
    name, values = variable
    own = [dim for dim in values.dims if dim not in SAMPLE]
    return name, values.rename({dim: f"{name} {dim}" for dim in own})


# All tables.


_COLUMNS = ["statistic", SYSTEM, ANNOTATOR, "observed", "mean", "sd", "lower", "upper", "undefined",
            DOUBT]  # fmt: skip


def summary(evaluation: xr.DataTree | xr.Dataset, of: str | None = None) -> pd.DataFrame:
    """Summarise a group of an evaluation, the posterior of a fit, or a reader study.

    Parameters
    ----------
    evaluation : xarray.DataTree or Dataset
        From `dissensus.evaluate`, from ``fit`` of a model, or from `dissensus.reader_study`.
    of : {"metrics", "answers", "statistics", "components", "accuracy", ...}, optional
        The group; also "weighted_reliability", "labels", "leaderboard" and "posterior". By default
        the metrics (without predictions the statistics), for votes on pairs the leaderboard, and
        for a fit the posterior.

    Returns
    -------
    pandas.DataFrame
        One row for each number; empty if the evaluation has no such group. ``mean``, ``sd``,
        ``lower`` and ``upper`` summarise the draws. ArviZ's rcParams determine the kind and the
        probability of the interval; ``attrs`` names them. ``doubt`` is the reason not to rely on a
        number, or empty. Other columns:

        - metrics: model, metric, reliability, scope, system, probability_best (NaN for one system),
          naive (the value against the point estimate), ess_bulk, r_hat. Rows of a companion come
          last.
        - answers: quantity, system (empty for ``human_agreement``). ``attrs`` name the leading
          question and the scope.
        - statistics: statistic, system, annotator, observed, undefined (share of undefined draws,
          which are left out).
        - components: quantity, by ("model" or "bootstrap"), scale ("latent", "observed"), pool,
          ``pool_``, observed, probability_positive (of differences), undefined, ess_bulk, r_hat.
          ``icc``, ``annotator_icc`` and ``residual_share`` add up to 1 on the latent scale. A
          difference is pool minus ``pool_``, or minus the reference.
        - accuracy: of ("system", "annotator"; with a positive label also "system sensitivity" and
          "system specificity", against the true labels), name (empty for the accuracy of all
          annotators), scope, majority (accuracy by majority vote), uncertainty_adjusted (mean top-1
          accuracy at the reference reliability), ess_bulk, r_hat.
        - weighted_reliability: quantity, median. The interval of ``annotators_for_truth`` is
          equal-tailed; it is infinite if no number suffices, and mean and sd are NaN then.
        - leaderboard: system (best first; the numbers are of its win rate), rank (median),
          rank_lower, rank_upper, probability_best, votes (on the system), ess_bulk, r_hat.
          ``doubt`` is also set if no votes compare some systems.
        - labels, for sets: element, quantity ("share", "krippendorff_alpha", "f1", "sensitivity",
          "specificity"), system, undefined. ``doubt`` is that of the label's fit.
        - a reader study (``of`` must be None): quantity, modality, ``modality_``, system, threshold
          (the last four are empty where they do not apply), observed (for these readers and cases),
          probability_positive (of differences). There is no ``doubt``, and no row for a single
          reader.
        - posterior: the columns of `arviz.summary`. Variables of items are left out, unless there
          are no others; ``attrs["left_out"]`` names them.

    Raises
    ------
    ArgumentError
        If ``evaluation`` is not an evaluation, a fit or a reader study, or ``of`` is not one of the
        groups.

    Notes
    -----
    ``doubt`` is set if the fit failed, the effective sample size is below 100 (in the bulk or the
    tails), r-hat is above 1.05, or there are too few draws for these diagnostics.

    Examples
    --------
    >>> import dissensus as dx
    >>> ann = dx.annotations({"item": [1, 1], "annotator": list("ab"), "label": ["x", "y"]})
    >>> pred = dx.predictions({"item": [1], "system": ["m"], "label": ["x"]})
    >>> result = dx.evaluate(ann, pred, draws=50, random_seed=1, progressbar=False)
    >>> list(dx.summary(result).columns)[:6]
    ['model', 'metric', 'reliability', 'scope', 'system', 'mean']
    """
    made = _MADE.get()
    if made is None:
        return _table(evaluation, of)
    key = id(evaluation), of, *_interval()
    if key not in made:  # the evaluation is kept, since its id could be reused otherwise
        made[key] = evaluation, _table(evaluation, of)
    return made[key][1].copy()


_MADE: Final[ContextVar[dict[Any, tuple[Any, pd.DataFrame]] | None]] = ContextVar(
    "made", default=None
)


@contextmanager
def tables_made_once() -> Iterator[None]:
    """Inside the context, compute each table of `summary` only once.

    Several sections of a page read the same table. The evaluation must not change meanwhile.
    """
    token = _MADE.set({})
    try:
        yield
    finally:
        _MADE.reset(token)


def _table(evaluation: xr.DataTree | xr.Dataset, of: str | None) -> pd.DataFrame:
    if is_reader_study(evaluation):
        arguments.one_of("of", of, (None,))
        return _noted(reader_rows(checked_study(evaluation, "evaluation")))
    of = _checked_group(evaluation, of)
    assert isinstance(evaluation, xr.DataTree)
    if of == POSTERIOR:
        return posterior_rows(evaluation)
    if of != "metrics":
        return _noted(_ROWS[of](evaluation))
    out = of_model(evaluation)
    if "companion" in evaluation.children:
        companion = of_model(evaluation.children["companion"])
        out = pd.concat([out, companion], ignore_index=True)  # keeps attributes that are equal
    return out


def _checked_group(evaluation: Any, of: str | None) -> str:
    """Return the group to summarise, by default as in `summary`; raise if there is none."""
    children = evaluation.children if isinstance(evaluation, xr.DataTree) else {}
    groups = {name for name, group in children.items() if group.data_vars or group.children}
    of_votes = LEADERBOARD in groups
    if of is None and of_votes:
        of = LEADERBOARD
    if of is None and "statistics" in groups and not groups & {"metrics", LABELS}:
        of = "components" if "agreement" not in groups and "components" in groups else "statistics"
    if of is None:
        of = "metrics" if "statistics" in groups or POSTERIOR not in groups else POSTERIOR
    if of not in _OF:
        raise ArgumentError("of", expected=f"one of {_OF}", found=repr(of))
    needed = LEADERBOARD if of_votes else "statistics"
    expected = "a DataTree from dissensus.evaluate, or from a model's fit"
    if of == POSTERIOR and LABELS in groups:
        raise ArgumentError(
            "of", expected="another group: for sets, draws of plausibilities are not kept",
            found=repr(of), hint='evaluation["posterior"]["plausibility_mean"] has their means',
        )  # fmt: skip
    if of == POSTERIOR:
        needed, expected = POSTERIOR, "a fit, or an evaluation by a model"
    if needed not in groups:
        raise ArgumentError(
            "evaluation", expected=expected,
            found=f"{type(evaluation).__name__} without a group {needed!r}",
            hint="Draws: dissensus.describe(draws), or arviz.summary(draws)",
        )  # fmt: skip
    return of


def _group(evaluation: xr.DataTree, name: str) -> xr.Dataset:
    """Return a group of an evaluation, or an empty Dataset if there is no such group."""
    return evaluation[name].to_dataset() if name in evaluation.children else xr.Dataset()


def of_model(evaluation: xr.DataTree) -> pd.DataFrame:
    """Summarise the metrics of one model: the model of an evaluation, or its companion."""
    key = [RELIABILITY, SCOPE, SYSTEM]
    rows = []
    for name, values in _group(evaluation, "metrics").data_vars.items():
        diagnosed = evaluation["diagnostics"][str(name)]
        parts = spread(values) | {
            "probability_best": _best(evaluation, str(name), values),
            "naive": evaluation["statistics"][f"naive_{name}"],
            "ess_bulk": diagnosed.sel(diagnostic="ess_bulk", drop=True),
            "r_hat": diagnosed.sel(diagnostic="r_hat", drop=True),
        }
        table = xr.Dataset({part: value.drop_attrs(deep=False) for part, value in parts.items()})
        frame = table.to_dataframe(dim_order=key).reset_index()
        frame = frame.assign(metric=str(name), model=str(evaluation.attrs.get("model", "")))
        frame[DOUBT] = _reasons(evaluation, str(name), frame)
        rows.append(frame[["model", "metric", *key, *parts, DOUBT]])
    return _noted(pd.concat(rows, ignore_index=True) if rows else pd.DataFrame())


def _reasons(evaluation: xr.DataTree, name: str, frame: pd.DataFrame) -> list[str]:
    """Return the reason not to rely on each row.

    It is the reason of the model at the row's reliability, or else of the row's own diagnostics.
    """
    known = evaluation["diagnostics"][name]
    tail = None
    if "ess_tail" in known["diagnostic"]:
        of_tail = known.sel(diagnostic="ess_tail", drop=True)
        tail = of_tail.transpose(RELIABILITY, SCOPE, SYSTEM).to_numpy()
    of_all = {at: of_metrics(evaluation, at) for at in frame[RELIABILITY].unique()}
    row_reasons = [""] * len(frame) if is_exact(evaluation.attrs) else each(frame, tail)
    pairs = zip(frame[RELIABILITY], row_reasons, strict=True)
    return [of_all[at] or reason for at, reason in pairs]


def _noted(frame: pd.DataFrame) -> pd.DataFrame:
    """Add the kind and the probability of the intervals to a table's attributes."""
    kind, prob = _interval()
    frame.attrs.update(interval=kind, probability=prob)
    return frame


def _interval() -> tuple[Any, Any]:
    """Return the kind and the probability of intervals, as set in ArviZ."""
    from arviz_base import rcParams

    return rcParams["stats.ci_kind"], rcParams["stats.ci_prob"]


def _of_statistics(evaluation: xr.DataTree) -> pd.DataFrame:
    """Summarise the draws of statistics, one row for each value."""
    rows = []
    for group in ("agreement", "discrepancy"):
        for name, values in _group(evaluation, group).data_vars.items():
            if not set(SAMPLE) <= set(values.dims):
                continue
            parts = spread(values, skipna=True)
            parts["undefined"] = values.isnull().mean(SAMPLE)
            # The observed values include annotators without draws.
            point = evaluation["statistics"].to_dataset()[name]
            parts["observed"] = point.sel({dim: values[dim] for dim in point.dims})
            frame = _frame(parts, _COLUMNS, statistic=str(name), doubt=of_bootstrap(values))
            for column in (SYSTEM, ANNOTATOR):  # keeps names that are whole numbers
                frame[column] = frame[column].astype(object).where(frame[column].notna(), None)
            rows.append(frame)
    return _joined(rows, _COLUMNS)


def _of_answers(evaluation: xr.DataTree) -> pd.DataFrame:
    """Summarise the group ``answers``."""
    columns = ["quantity", SYSTEM, "mean", "sd", "lower", "upper", DOUBT]
    data = _group(evaluation, ANSWERS)
    out = _joined([
        _frame(spread(values), columns, quantity=str(name), doubt=of_answer(evaluation, str(name)))
        for name, values in data.data_vars.items()
    ], columns)  # fmt: skip
    out.attrs.update({key: data.attrs[key] for key in ("question", "scope") if key in data.attrs})
    return out


def _frame(parts: dict[str, xr.DataArray], columns: list[str], **constant: str) -> pd.DataFrame:
    """Return a table of arrays over the same dims: a row for each cell, a column for each array."""
    flat = {part: value.drop_attrs(deep=False) for part, value in parts.items()}
    frame = xr.Dataset(flat).expand_dims("row").to_dataframe().reset_index()
    return frame.assign(**constant).reindex(columns=columns)


def _joined(frames: list[pd.DataFrame], columns: list[str]) -> pd.DataFrame:
    nonempty = [frame for frame in frames if len(frame)] or [pd.DataFrame(columns=columns)]
    return pd.concat(nonempty, ignore_index=True)


def _best(evaluation: xr.DataTree, name: str, values: xr.DataArray) -> xr.DataArray:
    comparison = evaluation["comparison"].to_dataset()
    if "probability_best" not in comparison:
        return xr.full_like(values.isel(chain=0, draw=0, drop=True), float("nan"))
    return comparison["probability_best"].sel(metric=name, drop=True)


_ROWS: Final[dict[str, Callable[[xr.DataTree], pd.DataFrame]]] = {
    ANSWERS: _of_answers, "statistics": _of_statistics, "components": component_rows,
    "accuracy": accuracy_rows, GROUP: ground_truth_rows, LEADERBOARD: leaderboard_rows,
    LABELS: label_rows,
}  # fmt: skip
_OF: Final = ("metrics", *_ROWS, POSTERIOR)
