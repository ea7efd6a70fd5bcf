"""Evaluations of sets of labels: systems' sets against the panel's sets, or the true sets."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from functools import wraps
from typing import Any, Final

import numpy as np
import pandas as pd
import xarray as xr

from dissensus import arguments, metrics, models, statistics
from dissensus.data import tables
from dissensus.data.alignment import predicted_labels
from dissensus.data.annotations import annotations as read_sets
from dissensus.data.contents import label_warnings, name_warnings
from dissensus.data.known_labels import named
from dissensus.data.refusals import require_fit
from dissensus.data.rows import statements_per
from dissensus.data.schema import checked_annotations, checked_predictions
from dissensus.dims import ANNOTATOR, ELEMENT, ITEM, LABEL, RELIABILITY, SAMPLE, SCOPE, SYSTEM
from dissensus.errors import (
    AnnotationError,
    ArgumentError,
    ConvergenceWarning,
    DissensusWarning,
    PredictionError,
    brief,
    held_back,
    relocated,
    shown,
    warn_caller,
)
from dissensus.evaluation.answers import TRUTH, question_of
from dissensus.evaluation.doubts import DOUBT, of_metrics
from dissensus.evaluation.observed import observed
from dissensus.evaluation.provenance import provenance
from dissensus.evaluation.scoring import (
    clusters_of,
    comparison,
    diagnostics,
    item_scopes,
    undefined_for,
)
from dissensus.evaluation.section import (
    Groups,
    Settings,
    is_same,
    require_settings,
    warn_of_chains,
)
from dissensus.families.base import ROOM
from dissensus.families.latent_truth.fit import OTHER_MODELS
from dissensus.kernels.random import generator
from dissensus.kernels.types import Ints
from dissensus.metrics._sets import members, rates_of_labels
from dissensus.sampling import convergence, fitting
from dissensus.sampling.intervals import spread
from dissensus.sampling.learned_prior import LEARNED
from dissensus.statistics._bayesian_bootstrap import bayesian_bootstrap
from dissensus.statistics._by_label import ByLabel, by_label
from dissensus.wording import capital, left_out_note, metric_title

LABELS: Final = "labels"
"""Group with quantities of each label."""
SHARE: Final = "share"
ALPHA: Final = "krippendorff_alpha"
_MODEL: Final = "dirichlet"
_TRUTH_MODEL: Final = "dawid_skene"
_DRAWS: Final = {
    _MODEL: ("plausibility",),
    _TRUTH_MODEL: ("truth", "prevalence", "system_weight", "error_correlation"),
}
"""Variables of a fit that are used, by model."""
_KNOWN: Final = "known"
_YES: Final = "yes"
_HALF: Final = 0.5
_SHAPE: Final = 0.4
"""Standard deviation of an error that all plausibilities of a label share.

Its unit is the posterior standard deviation of an item's plausibility. A few answers per item do
not show how many plausibilities are near one half; see ``docs/validation.md``.
"""
_OF_MODEL: Final = ("tune", "prior_count")
_OF_TRUTH: Final = ("truth", "error_correlation")
_SHARED: Final = (
    "draws", "chains", "random_seed", "on_missing", "distance", "margin", "question",
)  # fmt: skip
_LEADING: Final = ("jaccard", "exact_match", "micro_f1", "macro_f1")
"""Scores of sets, the leading one first."""
_RATES: Final = ("f1", "sensitivity", "specificity")


def are_sets(annotations: Any) -> bool:
    """Return whether annotations are sets of labels."""
    return isinstance(annotations, xr.Dataset) and annotations.attrs.get("kind") == "set"


def evaluate_sets(
    annotations: xr.Dataset, predictions: xr.Dataset | None, given: Mapping[str, Any],
    defaults: Mapping[str, Any], truth: Any = None, *, progressbar: bool, seed_source: str,
) -> xr.DataTree:  # fmt: skip
    """Evaluate systems by sets; ``given`` are the arguments of `evaluate`.

    ``given["truth"]`` is ``truth`` in the form in which it is recorded.

    Raises
    ------
    ArgumentError
        If arguments are given that do not apply to sets; the error names all of them.
    PredictionError
        If predictions are not sets.
    """
    question = question_of(given["question"], int(truth is not None))
    of_truth = question == TRUTH
    require_settings(
        given, defaults, (*_SHARED, *_OF_MODEL, *_OF_TRUTH), "sets of labels", model=_MODEL
    )
    if not of_truth:
        _require_no_truth(given, defaults)
    chains, draws = arguments.sample_shape(given["draws"], given["chains"])
    arguments.one_of("distance", given["distance"], (None, "masi", "jaccard"))
    annotations = checked_annotations(annotations)
    for name, words in (("pool_code", "Pools are"), ("confidence", "Confidences are")):
        if name in annotations:
            warn_caller(f"{words} not used in evaluations of sets.")
    if predictions is not None:
        predictions = _checked(predictions)
        require_fit(annotations, predictions, given["on_missing"])
    for warning in label_warnings(annotations) + name_warnings(annotations, predictions):
        warn_caller(f"{warning}.")
    _require_room(annotations, predictions, draws, chains, 16 if of_truth else 8)
    settings = Settings(
        draws * chains, given["random_seed"], given["distance"] or "masi", given["margin"],
        given["on_missing"], chains, progressbar,
    )  # fmt: skip
    known = _known(truth, annotations, predictions)
    groups: Groups = observed(annotations, predictions, settings)
    model = _TRUTH_MODEL if of_truth else _MODEL
    fits = _fits(model, annotations, predictions, given, known, progressbar=progressbar)
    n_given = xr.DataArray(
        statements_per(annotations, ITEM), dims=ITEM, coords={ITEM: annotations[ITEM].to_numpy()}
    )
    groups["statistics"] = groups.get("statistics", xr.Dataset()).assign(n_annotations=n_given)
    groups |= {"annotations": annotations, "posterior": _posterior(model, fits)}
    groups |= dict.fromkeys(("metrics", "comparison", "diagnostics"), xr.Dataset())
    informed = _informed(annotations, fits, known)
    groups[LABELS] = _of_labels(
        annotations, model, fits, informed, settings, compared="agreement" in groups
    )  # fmt: skip
    if predictions is not None:
        groups = _with_systems(groups, model, fits, predictions, informed, settings)
    settings.notes.say()
    warn_of_chains(
        groups["posterior"].attrs, "the chains are too short" if of_truth
        else "the chains of the learned prior are too short",
        f"Do not trust intervals; ask for more draws (draws={4 * draws}).",
    )  # fmt: skip
    tree = xr.DataTree.from_dict(groups)
    if of_truth:
        counts = {
            "n_known": 0 if known is None else len(np.unique(known[f"{ITEM}_code"])),
            "n_left_out": annotations.sizes[ITEM] - len(informed),
            "correlated_errors": int("error_correlation" in next(iter(fits.values()))),
        }
        tree.attrs |= {name: number for name, number in counts.items() if number}
    tree.attrs.update(
        {"model": model, "kind": "set", "inference": groups["posterior"].attrs["inference"],
         "question": question, "reference_reliability": 1.0, "markov_chains": int(of_truth),
         "point_estimate": "the labels that more than half of an item's answers have",
         "draws": draws, "chains": chains, "random_seed": str(settings.random_seed),
         "random_seed_source": seed_source},
        **provenance(annotations, predictions, {**given, "truth": _as_mapping(known)}),
    )  # fmt: skip
    return tree


def _require_no_truth(given: Mapping[str, Any], defaults: Mapping[str, Any]) -> None:
    """Raise if settings of the truth model are given with the question "panel"."""
    odd = [name for name in _OF_TRUTH if not is_same(given[name], defaults[name])]
    if odd:
        raise ArgumentError(
            ", ".join(odd), expected='the default, unless question="truth"',
            found=", ".join(f"{name}={brief(given[name])}" for name in odd),
        )  # fmt: skip


def _of_labels(
    annotations: xr.Dataset, model: str, fits: ByLabel, informed: Ints, settings: Settings, *,
    compared: bool,
) -> xr.Dataset:  # fmt: skip
    """Return, for each label, draws of the share of items with it, and of agreement on it."""
    if model == _TRUTH_MODEL:
        drawn = members(fits, settings.random_seed)
        shares = [draws.isel({ITEM: informed}).mean(ITEM) for draws in drawn]
    else:
        rng = generator(settings.random_seed, SHARE)
        each = [fit["plausibility"].sel({LABEL: _YES}, drop=True) for fit in fits.values()]
        shares = [share_of_panel(draws, rng) for draws in each]
    index = xr.IndexVariable(ELEMENT, list(fits))
    out = xr.concat(shares, dim=index).transpose(*SAMPLE, ELEMENT).to_dataset(name=SHARE)
    if compared:
        with warnings.catch_warnings():
            # The notes of the group ``agreement`` contain these warnings.
            warnings.simplefilter("ignore", DissensusWarning)
            alpha = by_label(
                bayesian_bootstrap, statistics.get(ALPHA).function, annotations,
                draws=settings.draws, random_seed=settings.random_seed,
            )  # fmt: skip
        alpha = alpha.reindex({ELEMENT: out[ELEMENT]})  # NaN for labels that only systems give
        out[ALPHA] = out[SHARE].copy(data=alpha.to_numpy().reshape(out[SHARE].shape))
    return out


def share_of_panel(
    plausibility: xr.DataArray, rng: np.random.Generator, off: float = _SHAPE
) -> xr.DataArray:
    """Return draws of the share of items to which most of a large panel would give the label.

    Each draw counts the items whose plausibility (chain, draw, item) exceeds 1/2 + z * ``off`` * s,
    where s is the item's posterior standard deviation, and the standard normal number z is the same
    for all items.
    """
    size = [plausibility.sizes[dim] for dim in SAMPLE]
    shift = xr.DataArray(rng.normal(scale=off, size=size), dims=SAMPLE)
    return (plausibility > _HALF + shift * plausibility.std(SAMPLE)).mean(ITEM)


def _informed(annotations: xr.Dataset, fits: ByLabel, known: xr.Dataset | None) -> Ints:
    """Return the positions of items for which the fits have evidence.

    Fits with correlated errors have evidence for items with answers or known labels, because
    predictions are not evidence in these fits. Other fits have evidence for all items.
    """
    names = annotations[ITEM].to_numpy()
    if "error_correlation" not in next(iter(fits.values())):
        return np.arange(len(names))
    informed = statements_per(annotations, ITEM) > 0
    if known is not None:
        known_names = known[ITEM].to_numpy()[known[f"{ITEM}_code"].to_numpy()]
        informed |= tables.match(names, known_names) >= 0
    return np.flatnonzero(informed)


def _with_systems(
    groups: Groups, model: str, fits: ByLabel, predictions: xr.Dataset, informed: Ints,
    settings: Settings,
) -> Groups:  # fmt: skip
    """Add scores of systems' sets for both scopes and, for these items only, each label's rates."""
    annotations, statistics_ = groups["annotations"], groups["statistics"]
    first = next(iter(fits.values()))[_DRAWS[model][0]]
    options: dict[str, Any] = {"insight": "learned", "random_seed": settings.random_seed}
    if model == _TRUTH_MODEL:
        options["insight"] = None
        if n_left_out := first.sizes[ITEM] - len(informed):
            note = left_out_note(n_left_out, "item", "without answers and without known labels")
            warn_caller(
                f"{note} With correlated errors, predictions are not evidence of true labels. With "
                "error_correlation=0 they are evidence, if systems err independently."
            )
        first = first.isel({ITEM: informed})
        common = tables.match(predictions[ITEM].to_numpy(), first[ITEM].to_numpy()) >= 0
        predictions = predictions.isel({ITEM: common})
    weights = item_scopes(first, settings.random_seed, clusters_of(annotations, first))
    score = metrics.get("set_score").function
    bare = bool((statistics_["n_annotations"] == 0).any())
    with warnings.catch_warnings():  # the fits have warned of labels that no annotator can give
        warnings.filterwarnings("ignore", "Labels outside", DissensusWarning)
        scored = score(
            fits, predictions, weights=weights,
            on_missing="drop" if model == _TRUTH_MODEL else settings.on_missing, **options,
        )[list(_LEADING)].expand_dims({RELIABILITY: [1.0]})  # fmt: skip
        naive = score(
            _point(annotations, fits),
            predictions,
            on_missing="drop" if bare else settings.on_missing,
        ).mean(SAMPLE)
    scored = _defined(scored.transpose(*SAMPLE, RELIABILITY, SCOPE, SYSTEM))
    if model == _TRUTH_MODEL:
        rates = rates_of_labels(
            fits, predictions, on_missing="drop", random_seed=settings.random_seed
        )
    else:
        rates = by_label(
            metrics.get("sensitivity_specificity").function, fits, predictions, positive=_YES,
            on_missing=settings.on_missing, **options,
        )  # fmt: skip
    names = {f"naive_{name}": naive[name] for name in scored.data_vars}
    return groups | {
        "predictions": predictions, "metrics": scored, "comparison": comparison(scored),
        "diagnostics": diagnostics(scored), "statistics": statistics_.assign(names),
        LABELS: groups[LABELS].merge(rates[list(_RATES)]),
    }  # fmt: skip


def _defined(scored: xr.Dataset) -> xr.Dataset:
    """Leave out scores that are undefined in some draws, with a warning."""
    for name, values in scored.data_vars.items():
        if systems := undefined_for(values):
            warn_caller(
                f"{capital(metric_title(str(name)))} is left out: in some draws it is undefined "
                f"for {shown(systems)}, which predict no label that is in a set."
            )
            scored = scored.drop_vars(str(name))
    return scored


def _checked(predictions: Any) -> xr.Dataset:
    """Return the predictions; raise if they are not sets."""
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
    annotations: xr.Dataset, predictions: xr.Dataset | None, draws: int, chains: int, n_bytes: int
) -> None:
    """Raise if the draws of all labels would fill the memory."""
    labels = annotations[ELEMENT].to_numpy().tolist()
    if predictions is not None:
        labels += predictions[LABEL].to_numpy().tolist()
    n_items, n_labels = annotations.sizes[ITEM], len(set(labels))
    needed = float(n_bytes) * draws * chains * n_items * n_labels
    if needed > ROOM:
        raise ArgumentError(
            "draws", expected=f"fewer than {draws:,} in {chains} chains, for "
            f"{n_labels:,} labels of {n_items:,} items",
            found=f"{needed / 2**30:.0f} GB of draws",
            hint=f"draws={max(1, int(draws * ROOM / needed))} fits",
        )  # fmt: skip


def _fits(
    model: str, annotations: xr.Dataset, predictions: xr.Dataset | None, given: Mapping[str, Any],
    truth: xr.Dataset | None, *, progressbar: bool,
) -> ByLabel:  # fmt: skip
    """Fit the model to each label, with predictions as evidence; return draws by label."""
    fit = models.get(model).module.fit
    n = annotations.sizes[ELEMENT]
    steps = iter(fitting.tracked(range(n), f"Fitting {model}, label", progressbar))

    @wraps(fit)
    def fit_one(*args: Any, **kwargs: Any) -> xr.DataTree:
        next(steps, None)
        with fitting.all_or_nothing(), held_back() as held:
            posterior = fit(*args, **kwargs)["posterior"].to_dataset()
        for text, category in held:
            warn_caller(text.replace(OTHER_MODELS, ""), category)
        kept = posterior[[name for name in _DRAWS[model] if name in posterior]]
        if model == _MODEL:
            kept = kept.astype(np.float32)  # draws of all labels are in memory at once
        elif SYSTEM in posterior.coords:  # the systems' predictions are evidence
            kept = kept.assign_coords({SYSTEM: posterior[SYSTEM]})
        return xr.DataTree.from_dict({"posterior": kept.assign_attrs(posterior.attrs)})

    options = {name: given[name] for name in _OF_MODEL if name in given}
    if model == _TRUTH_MODEL:
        options |= {"error_correlation": given["error_correlation"], "truth": truth}
    elif options.get("prior_count", LEARNED) != LEARNED:
        predictions = None  # they would be evidence of a learned prior only
    with warnings.catch_warnings():
        # `evaluate_sets` warns once for all labels.
        warnings.simplefilter("ignore", ConvergenceWarning)
        fits: ByLabel = by_label(
            fit_one, annotations, predictions=predictions, draws=given["draws"],
            chains=given["chains"], random_seed=given["random_seed"], progressbar=False, **options,
        )  # fmt: skip
    next(steps, None)
    return ByLabel({label: fitted["posterior"].to_dataset() for label, fitted in fits.items()})


def _known(
    truth: Any, annotations: xr.Dataset, predictions: xr.Dataset | None
) -> xr.Dataset | None:
    """Return known sets as annotations with one answer for each item; None if there are none."""
    labels = annotations[ELEMENT].to_numpy().tolist()
    if predictions is not None:
        labels += [label for label in predicted_labels(predictions).tolist() if label not in labels]
    if truth is None:
        return None
    if isinstance(truth, xr.Dataset):
        given = truth[ELEMENT].to_numpy()[truth["member"].to_numpy().any(axis=0)].tolist()
        if unknown := [label for label in given if label not in labels]:
            raise ArgumentError(
                "truth", expected=f"labels of the annotations or predictions, {shown(labels)}",
                found=f"also {shown(unknown)}",
                hint="Name all labels when the annotations are read: labels=",
            )  # fmt: skip
        return truth
    items, sets = named(truth)
    present = np.array([cell is not None and cell == cell for cell in sets], dtype=bool)
    items, sets = items[present], sets[present]
    if not len(items):
        return None
    if (repeated := pd.Series(items).duplicated(keep=False)).any():
        raise ArgumentError(
            "truth", expected="one set for each known item",
            found=f"several for {shown(list(dict.fromkeys(items[repeated].tolist())))}",
            hint='Give the labels of an item together: {"a17": ["joy", "love"]}',
        )  # fmt: skip
    rows = {ITEM: items, ANNOTATOR: np.full(len(items), _KNOWN), "label": sets}
    options: dict[str, Any] = {name: annotations.attrs.get(name) for name in ("separator", "none")}
    try:
        with relocated(lambda row: f"item {shown([items[row]])}"):
            return read_sets(rows, kind="set", labels=labels, **options)
    except AnnotationError as problem:
        raise ArgumentError(
            "truth", expected="a set of labels for each known item, written as in the annotations",
            found=str(problem),
        ) from problem  # fmt: skip


def _as_mapping(known: xr.Dataset | None) -> dict[Any, list[Any]] | None:
    """Return known sets in the form in which they are recorded: the labels of each item."""
    if known is None:
        return None
    items = known[ITEM].to_numpy()[known[f"{ITEM}_code"].to_numpy()].tolist()
    held = known["member"].to_numpy()[known["label_code"].to_numpy()]
    return {item: known[ELEMENT].to_numpy()[row].tolist()
            for item, row in zip(items, held, strict=True)}  # fmt: skip


def _posterior(model: str, fits: ByLabel) -> xr.Dataset:
    """Return posterior means of each label (item, element), with the labels' worst diagnostics."""
    name = _DRAWS[model][0]
    index = xr.IndexVariable(ELEMENT, list(fits))
    mean = xr.concat(
        [fit[name].sel({LABEL: _YES}, drop=True).mean(SAMPLE) for fit in fits.values()], dim=index
    )
    attrs = {label: fit.attrs for label, fit in fits.items()}
    reasons = [convergence.warning(diagnostics) for diagnostics in attrs.values()]
    out = mean.transpose(ITEM, ELEMENT).to_dataset(name=f"{name}_mean")
    out[DOUBT] = xr.DataArray(np.array(reasons, dtype=str), dims=ELEMENT)
    first = next(iter(attrs.values()))
    return out.assign_attrs(model=model, inference=first["inference"], **_worst(attrs))


def _worst(attrs: Mapping[Any, Mapping[Any, Any]]) -> dict[str, Any]:
    """Return the worst value of each diagnostic, and its label; labels are counted, not items."""
    out: dict[str, Any] = {}
    for name in convergence.ATTRIBUTES:
        known = {label: of_fit[name] for label, of_fit in attrs.items() if name in of_fit}
        if not known or name.endswith("_item"):
            continue
        if name.startswith("n_items"):
            out[name] = sum(int(number > 0) for number in known.values())
            continue
        label = (max if name.endswith("max") else min)(known, key=known.__getitem__)
        out[name] = known[label]
        if f"{name}_item" in attrs[label]:
            out[f"{name}_item"] = f"{label}: {attrs[label][f'{name}_item']}"
    return out


def _point(annotations: xr.Dataset, labels: Iterable[Any]) -> ByLabel:
    """Return the share of each item's answers that have a label, as one draw.

    Items without answers are left out.
    """
    item, names = annotations["item_code"].to_numpy(), annotations[ITEM].to_numpy()
    held = annotations["member"].to_numpy()[annotations["label_code"].to_numpy()]
    known = annotations[ELEMENT].to_numpy().tolist()
    n = np.bincount(item, minlength=len(names))
    answered, out = n > 0, {}
    for label in labels:
        has = held[:, known.index(label)] if label in known else np.zeros(len(item))
        yes = np.bincount(item, has, minlength=len(n))[answered] / n[answered]
        out[label] = xr.DataArray(
            np.stack([1 - yes, yes], axis=1)[None, None], dims=(*SAMPLE, ITEM, LABEL),
            coords={ITEM: names[answered], LABEL: ["no", _YES]}, name="plausibility",
        )  # fmt: skip
    return ByLabel(out)


# The table.


def label_rows(evaluation: xr.DataTree) -> pd.DataFrame:
    """Summarise the group ``labels``; see `dissensus.summary`."""
    columns = [ELEMENT, "quantity", SYSTEM, "mean", "sd", "lower", "upper", "undefined", DOUBT]
    if LABELS not in evaluation.children:
        return pd.DataFrame(columns=columns)
    data = evaluation[LABELS].to_dataset()
    of_label = evaluation["posterior"][DOUBT].to_series()
    reason = "" if of_label.ne("").any() else of_metrics(evaluation)
    frame = pd.concat(
        [_of_quantity(str(name), draws, columns) for name, draws in data.data_vars.items()],
        ignore_index=True,
    )  # fmt: skip
    of_fits = frame["quantity"] != ALPHA
    reasons = frame[ELEMENT].map(of_label).fillna("").replace("", reason)
    frame[DOUBT] = np.where(of_fits, reasons, "")
    return frame


def _of_quantity(name: str, draws: xr.DataArray, columns: Iterable[str]) -> pd.DataFrame:
    parts = spread(draws, skipna=True) | {"undefined": draws.isnull().mean(SAMPLE)}
    table = xr.Dataset({part: value.drop_attrs(deep=False) for part, value in parts.items()})
    frame = table.to_dataframe().reset_index().assign(quantity=name)
    frame = frame.reindex(columns=list(columns))
    frame[SYSTEM] = frame[SYSTEM].astype(object).where(frame[SYSTEM].notna(), None)
    return frame
