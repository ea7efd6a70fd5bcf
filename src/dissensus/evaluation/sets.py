"""Evaluations of sets of labels: systems' sets against the panel's, and label by label."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from functools import wraps
from typing import Any, Final

import numpy as np
import pandas as pd
import xarray as xr

from dissensus import arguments, metrics, models, statistics
from dissensus.data.contents import label_doubts
from dissensus.data.refusals import require_fit
from dissensus.data.rows import statements_per
from dissensus.data.schema import checked_annotations, checked_predictions
from dissensus.dims import ELEMENT, ITEM, LABEL, RELIABILITY, SAMPLE, SCOPE, SYSTEM
from dissensus.errors import (
    ArgumentError,
    ConvergenceWarning,
    DissensusWarning,
    PredictionError,
    shown,
    warn_caller,
)
from dissensus.evaluation.doubts import DOUBT, of_metrics
from dissensus.evaluation.observed import observed
from dissensus.evaluation.provenance import provenance
from dissensus.evaluation.runs import (
    clusters_of,
    comparison,
    diagnostics,
    item_scopes,
    undefined_for,
)
from dissensus.evaluation.section import Groups, Settings, require_settings, warn_of_chains
from dissensus.families.base import ROOM
from dissensus.sampling import convergence, fitting
from dissensus.sampling.intervals import spread
from dissensus.sampling.learned_prior import LEARNED
from dissensus.statistics._bayesian_bootstrap import bayesian_bootstrap
from dissensus.statistics._by_label import ByLabel, by_label
from dissensus.wording import capital, metric_title

LABELS: Final = "labels"
"""Group with numbers of each label."""
SHARE: Final = "share"
ALPHA: Final = "krippendorff_alpha"
_MODEL: Final = "dirichlet"
_YES: Final = "yes"
_HALF: Final = 0.5
_OF_MODEL: Final = ("tune", "prior_count")
_SHARED: Final = (
    "draws", "chains", "random_seed", "on_missing", "distance", "margin",
)  # fmt: skip
_LEADING: Final = ("jaccard", "exact_match", "micro_f1", "macro_f1")
"""Scores of sets, the leading one first."""
_RATES: Final = ("f1", "sensitivity", "specificity")


def are_sets(annotations: Any) -> bool:
    """Return whether annotations are sets of labels."""
    return isinstance(annotations, xr.Dataset) and annotations.attrs.get("kind") == "set"


def evaluate_sets(
    annotations: xr.Dataset, predictions: xr.Dataset | None, given: Mapping[str, Any],
    defaults: Mapping[str, Any], *, progressbar: bool, seed_source: str,
) -> xr.DataTree:  # fmt: skip
    """Evaluate systems by sets; ``given`` and ``defaults`` are the arguments of `evaluate`.

    Raises
    ------
    ArgumentError
        If arguments are given that sets do not have; the error names all of them.
    PredictionError
        If predictions are not sets.
    """
    require_settings(given, defaults, (*_SHARED, *_OF_MODEL), "sets of labels", model=_MODEL)
    chains, draws = arguments.sample_shape(given["draws"], given["chains"])
    arguments.one_of("distance", given["distance"], (None, "masi", "jaccard"))
    annotations = checked_annotations(annotations)
    for doubt in label_doubts(annotations):
        warn_caller(f"{doubt}.")
    for name, words in (("pool_code", "Pools are"), ("confidence", "Confidences are")):
        if name in annotations:
            warn_caller(f"{words} not used in evaluations of sets.")
    if predictions is not None:
        predictions = _checked(predictions)
        require_fit(annotations, predictions, given["on_missing"])
    _require_room(annotations, predictions, draws, chains)
    settings = Settings(
        draws * chains, given["random_seed"], given["distance"] or "masi", given["margin"],
        given["on_missing"], chains, progressbar,
    )  # fmt: skip
    found: Groups = observed(annotations, predictions, settings)
    fits = _fits(annotations, predictions, given, progressbar=progressbar)
    shares = ByLabel({label: fit["posterior"]["plausibility"] for label, fit in fits.items()})
    n_given = xr.DataArray(
        statements_per(annotations, ITEM), dims=ITEM, coords={ITEM: annotations[ITEM].to_numpy()}
    )
    found["statistics"] = found.get("statistics", xr.Dataset()).assign(n_annotations=n_given)
    found |= {"annotations": annotations, "posterior": _posterior(fits, shares)}
    found[LABELS] = _of_labels(annotations, shares, settings, compared="agreement" in found)
    if predictions is not None:
        found = _with_systems(found, shares, predictions, settings)
    settings.notes.say()
    warn_of_chains(
        found["posterior"].attrs, "the chains of the learned prior are too short",
        f"Do not trust intervals; ask for more draws (draws={4 * draws}).",
    )  # fmt: skip
    tree = xr.DataTree.from_dict(found)
    tree.attrs.update(
        {"model": _MODEL, "kind": "set", "inference": found["posterior"].attrs["inference"],
         "reference_reliability": 1.0, "markov_chains": 0,
         "point_estimate": "the labels that more than half of an item's answers have",
         "draws": draws, "chains": chains, "random_seed": str(settings.random_seed),
         "random_seed_source": seed_source},
        **provenance(annotations, predictions, given),
    )  # fmt: skip
    return tree


def _of_labels(
    annotations: xr.Dataset, shares: ByLabel, settings: Settings, *, compared: bool
) -> xr.Dataset:
    """Return draws of the share of items with a label, and of annotators' agreement on it."""
    have = [(one.sel({LABEL: _YES}, drop=True) > _HALF).mean(ITEM) for one in shares.values()]
    index = xr.IndexVariable(ELEMENT, list(shares))
    out = xr.concat(have, dim=index).transpose(*SAMPLE, ELEMENT).to_dataset(name=SHARE)
    if compared:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DissensusWarning)  # notes of the agreement say it once
            alpha = by_label(
                bayesian_bootstrap, statistics.get(ALPHA).function, annotations,
                draws=settings.draws, random_seed=settings.random_seed,
            )  # fmt: skip
        alpha = alpha.reindex({ELEMENT: out[ELEMENT]})  # not of labels that only systems give
        out[ALPHA] = out[SHARE].copy(data=alpha.to_numpy().reshape(out[SHARE].shape))
    return out


def _with_systems(
    found: Groups, shares: ByLabel, predictions: xr.Dataset, settings: Settings
) -> Groups:
    """Add scores of systems' sets for both scopes, and rates of each label for these items."""
    annotations, statistics_ = found["annotations"], found["statistics"]
    first = next(iter(shares.values()))
    weights = item_scopes(first, settings.random_seed, clusters_of(annotations, first))
    score = metrics.get("set_score").function
    more = {"insight": "learned", "random_seed": settings.random_seed}
    bare = bool((statistics_["n_annotations"] == 0).any())
    with warnings.catch_warnings():  # the fits have warned of labels that no annotator can give
        warnings.filterwarnings("ignore", "Labels outside", DissensusWarning)
        scored = score(
            shares, predictions, weights=weights, on_missing=settings.on_missing, **more
        )[list(_LEADING)].expand_dims({RELIABILITY: [1.0]})
        naive = score(
            _point(annotations, shares),
            predictions,
            on_missing="drop" if bare else settings.on_missing,
        ).mean(SAMPLE)
    scored = _defined(scored.transpose(*SAMPLE, RELIABILITY, SCOPE, SYSTEM))
    rates = by_label(
        metrics.get("sensitivity_specificity").function, shares, predictions, positive=_YES,
        on_missing=settings.on_missing, **more,
    )  # fmt: skip
    names = {f"naive_{name}": naive[name] for name in scored.data_vars}
    return found | {
        "predictions": predictions, "metrics": scored, "comparison": comparison(scored),
        "diagnostics": diagnostics(scored), "statistics": statistics_.assign(names),
        LABELS: found[LABELS].merge(rates[list(_RATES)]),
    }  # fmt: skip


def _defined(scored: xr.Dataset) -> xr.Dataset:
    """Leave out scores that are undefined in some draws, with a warning."""
    for name, values in scored.data_vars.items():
        if systems := undefined_for(values):
            warn_caller(
                f"{capital(metric_title(str(name)))} is left out: in some draws it is undefined "
                f"for {shown(systems)}, who predict no label that is in a set."
            )
            scored = scored.drop_vars(str(name))
    return scored


def _checked(predictions: Any) -> xr.Dataset:
    """Return predicted sets."""
    out = checked_predictions(predictions, sets=True)
    if out.attrs["kind"] != "set":
        of_lists = out.attrs["kind"] == "ranking"
        raise PredictionError(
            "predictions", expected='sets (kind="set"), as the annotations are',
            found=f"kind {out.attrs['kind']!r}",
            hint="Give the labels above a threshold as a set; dissensus.set_score takes lists, for "
            "their ranking loss" if of_lists
            else 'Read them with dissensus.predictions(..., kind="set")',
        )  # fmt: skip
    return out


def _require_room(
    annotations: xr.Dataset, predictions: xr.Dataset | None, draws: int, chains: int
) -> None:
    """Raise if the draws of all labels would fill the memory."""
    labels = annotations[ELEMENT].to_numpy().tolist()
    if predictions is not None:
        labels += predictions[LABEL].to_numpy().tolist()
    n_items, n_labels = annotations.sizes[ITEM], len(set(labels))
    n_bytes = 8.0 * draws * chains * n_items * n_labels
    if n_bytes > ROOM:
        raise ArgumentError(
            "draws", expected=f"fewer than {draws:,} in {chains} chains, of "
            f"{n_labels:,} labels of {n_items:,} items",
            found=f"{n_bytes / 2**30:.0f} GB of draws",
            hint=f"draws={max(1, int(draws * ROOM / n_bytes))} fits",
        )  # fmt: skip


def _fits(
    annotations: xr.Dataset, predictions: xr.Dataset | None, given: Mapping[str, Any], *,
    progressbar: bool,
) -> ByLabel:  # fmt: skip
    """Fit the model to each label, whose predictions are evidence for its prior."""
    fit = models.get(_MODEL).module.fit
    n = annotations.sizes[ELEMENT]
    steps = iter(fitting.tracked(range(n), f"Fitting {_MODEL}, label", progressbar))

    @wraps(fit)
    def fit_one(*args: Any, **kwargs: Any) -> xr.DataTree:
        next(steps, None)
        with fitting.all_or_nothing():
            posterior = fit(*args, **kwargs)["posterior"].to_dataset()
        kept = posterior[["plausibility"]].astype(np.float32)  # of all labels at once
        return xr.DataTree.from_dict({"posterior": kept.assign_attrs(posterior.attrs)})

    options = {name: given[name] for name in _OF_MODEL if name in given}
    if options.get("prior_count", LEARNED) != LEARNED:
        predictions = None  # they are evidence of the prior only
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # said once for all labels
        fits: ByLabel = by_label(
            fit_one, annotations, predictions=predictions, draws=given["draws"],
            chains=given["chains"], random_seed=given["random_seed"], progressbar=False, **options,
        )  # fmt: skip
    next(steps, None)
    return fits


def _posterior(fits: ByLabel, shares: Mapping[Any, xr.DataArray]) -> xr.Dataset:
    """Return the mean plausibility of each label (item, element), and the worst diagnostics."""
    index = xr.IndexVariable(ELEMENT, list(shares))
    mean = xr.concat(
        [one.sel({LABEL: _YES}, drop=True).mean(SAMPLE) for one in shares.values()], dim=index
    )
    attrs = {label: fit["posterior"].attrs for label, fit in fits.items()}
    reasons = [convergence.doubt(one) for one in attrs.values()]
    out = mean.transpose(ITEM, ELEMENT).to_dataset(name="plausibility_mean")
    out[DOUBT] = xr.DataArray(np.array(reasons, dtype=str), dims=ELEMENT)
    first = next(iter(attrs.values()))
    return out.assign_attrs(model=_MODEL, inference=first["inference"], **_worst(attrs))


def _worst(attrs: Mapping[Any, Mapping[Any, Any]]) -> dict[str, Any]:
    """Return the worst of each diagnostic over labels, with the label it is of."""
    out: dict[str, Any] = {}
    for name in convergence.ATTRIBUTES:
        known = {label: one[name] for label, one in attrs.items() if name in one}
        if not known or name.endswith("_item"):
            continue
        if name.startswith("n_items"):
            out[name] = sum(int(number > 0) for number in known.values())
            continue
        label = (max if name.endswith("max") else min)(known, key=lambda one: known[one])
        out[name] = known[label]
        if f"{name}_item" in attrs[label]:
            out[f"{name}_item"] = f"{label}: {attrs[label][f'{name}_item']}"
    return out


def _point(annotations: xr.Dataset, labels: Iterable[Any]) -> ByLabel:
    """Return the share of answers with each label, as one draw, of items with answers."""
    item, names = annotations["item_code"].to_numpy(), annotations[ITEM].to_numpy()
    held = annotations["member"].to_numpy()[annotations["label_code"].to_numpy()]
    known = annotations[ELEMENT].to_numpy().tolist()
    n = np.bincount(item, minlength=len(names))
    some, out = n > 0, {}
    for label in labels:
        has = held[:, known.index(label)] if label in known else np.zeros(len(item))
        yes = np.bincount(item, has, minlength=len(n))[some] / n[some]
        out[label] = xr.DataArray(
            np.stack([1 - yes, yes], axis=1)[None, None], dims=(*SAMPLE, ITEM, LABEL),
            coords={ITEM: names[some], LABEL: ["no", _YES]}, name="plausibility",
        )  # fmt: skip
    return ByLabel(out)


# The table.


def label_rows(evaluation: xr.DataTree) -> pd.DataFrame:
    """Summarise the group ``labels``; see `dissensus.summary`."""
    columns = [ELEMENT, "quantity", SYSTEM, "mean", "sd", "lower", "upper", "undefined", DOUBT]
    if LABELS not in evaluation.children:
        return pd.DataFrame(columns=columns)
    data = evaluation[LABELS].to_dataset()
    own = evaluation["posterior"][DOUBT].to_series()
    few = "" if own.ne("").any() else of_metrics(evaluation)
    frame = pd.concat(
        [_of_quantity(str(name), draws, columns) for name, draws in data.data_vars.items()],
        ignore_index=True,
    )  # fmt: skip
    of_fits = frame["quantity"] != ALPHA
    frame[DOUBT] = np.where(of_fits, frame[ELEMENT].map(own).fillna("").replace("", few), "")
    return frame


def _of_quantity(name: str, draws: xr.DataArray, columns: Iterable[str]) -> pd.DataFrame:
    parts = spread(draws, skipna=True) | {"undefined": draws.isnull().mean(SAMPLE)}
    table = xr.Dataset({part: value.drop_attrs() for part, value in parts.items()})
    frame = table.to_dataframe().reset_index().assign(quantity=name)
    frame = frame.reindex(columns=list(columns))
    frame[SYSTEM] = frame[SYSTEM].astype(object).where(frame[SYSTEM].notna(), None)
    return frame
