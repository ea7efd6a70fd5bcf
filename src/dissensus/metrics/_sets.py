"""Scores of predicted sets of labels against the panel's sets, or the true sets."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import compress
from typing import Any, Final, NamedTuple

import numpy as np
import xarray as xr

from dissensus.data import tables
from dissensus.data.alignment import check_labels, common_items
from dissensus.data.known_labels import require_evidence, require_informed
from dissensus.data.plausibility import NAME, plausibility_of
from dissensus.data.schema import checked_predictions
from dissensus.dims import CHAIN, DRAW, ELEMENT, ITEM, LABEL, POSITION, SAMPLE, SYSTEM
from dissensus.errors import ArgumentError, PredictionError, brief, shown
from dissensus.kernels.random import generator, item_keys
from dissensus.kernels.types import Array, Flags, Floats, Ints, Names
from dissensus.metrics._insight import insights, lean
from dissensus.metrics._items import by_system, over_items, weights_for

_TRUTH: Final = "truth"
_YES: Final = "yes"
_HALF: Final = 0.5
_BETTER: Final = dict.fromkeys(("exact_match", "jaccard", "micro_f1", "macro_f1"), "higher")


def set_score(
    fits: Mapping[Any, Any],
    predictions: xr.Dataset,
    *,
    weights: Any = None,
    on_missing: str = "raise",
    insight: Any = None,
    random_seed: Any = None,
) -> xr.Dataset:
    r"""Exact match, Jaccard similarity, F1 and ranking loss of predicted sets of labels.

    In draw m, item i has the set of labels :math:`T_i^{(m)}`, and the system predicts
    :math:`S_i`:

    .. math:: \mathrm{exact} = \frac1n \sum_i 1[S_i = T_i], \qquad
        \mathrm{Jaccard} = \frac1n \sum_i \frac{|S_i \cap T_i|}{|S_i \cup T_i|}, \qquad
        \mathrm{micro\ } F_1 = \frac{2 \sum_i |S_i \cap T_i|}{\sum_i |S_i| + |T_i|}

    Macro F1 is the mean over labels of F1 of each label. If the system gives labels in an order,
    the ranking loss is computed from all pairs of a label in the set and a label outside it. It is
    the share of pairs in which the label outside comes first:

    .. math:: \mathrm{ranking\ loss} = \frac{1}{n} \sum_i \frac{
        \#\{(a, b): a \in T_i, b \notin T_i, b \text{ before } a\}}{|T_i|\,(K - |T_i|)}

    Parameters
    ----------
    fits : mapping
        From each label to its fit, as `by_label` returns them. With fits of `models.dirichlet` the
        set has the labels that more than half of a large panel of such annotators would give. With
        fits of `models.dawid_skene` or `models.symmetric_confusion`, which must have these
        ``predictions=``, the set has the labels that are true.
    predictions : xarray.Dataset
        Sets (``kind="set"``), or lists of labels with a score or rank.
    weights, on_missing
        As in `top_k_accuracy`.
    insight : "learned" or DataArray (..., system), optional
        As in `top_k_accuracy`, for sets and fits of `models.dirichlet`: a system's knowledge of the
        panel beyond the annotators' answers, one number for all labels.
    random_seed : int or Generator, optional
        Seed of the true sets, if the fits are of models of the truth, of the bootstrap, and of
        insight.

    Returns
    -------
    xarray.Dataset
        Draws (chain, draw, system), in [0, 1]: for sets ``exact_match``, ``jaccard``, ``micro_f1``
        and ``macro_f1``; for lists ``ranking_loss``, where 0 is best and a random order has 1/2.

    Notes
    -----
    Two empty sets match, with the Jaccard similarity 1. F1 of a label is undefined in a draw if no
    set contains the label and the system never predicts it. Macro F1 leaves out undefined F1, and
    predicted labels without a fit. In the ranking loss, labels that are not in the list come last,
    ties count half, and items whose set is empty or has all labels are left out (NaN if no item
    remains).

    Each label has its own fit, and draws of an item's labels are independent. If labels tend to be
    true together, the exact match is underestimated, and intervals of the other scores are too
    narrow. With correlated errors, draws of labels are paired by rank: the uncertain correlation
    and the uncertain weight of a system are assumed to be high or low for all labels together.

    A system's predictions are evidence of the truth. Without them, uncertainty of the truth would
    count as the system's errors: in 20 simulated studies exact match was .27 to .56 too low. Fits
    to the truth without these systems are refused; fit `models.dirichlet` with ``predictions=``
    too. With correlated errors, the weight of a prediction is the draw of its system's weight.

    Source: Tsoumakas and Katakis (2007), "Multi-label classification: an overview", for exact
    match, Jaccard similarity (their accuracy) and F1; Schapire and Singer (2000), "BoosTexter",
    for the ranking loss. The set of a draw is used in place of a known set.

    Examples
    --------
    >>> import dissensus as dx
    >>> rows = {"item": [1, 1, 2, 2], "annotator": list("abab"),
    ...         "label": ["joy", "joy;love", "none", "none"]}
    >>> ann = dx.annotations(rows, kind="set", separator=";", none="none")
    >>> pred = dx.predictions({"item": [1, 2], "system": ["m", "m"], "label": ["joy", "none"]},
    ...                       kind="set", separator=";", none="none")
    >>> fits = dx.by_label(dx.models.dirichlet.fit, ann, prior_count=0.5, random_seed=1)
    >>> scores = dx.set_score(fits, pred)
    >>> bool(scores["exact_match"].mean() < scores["micro_f1"].mean())
    True
    """
    drawn = _drawn(fits, predictions, on_missing, insight, random_seed)
    weights = weights_for(drawn.items(), weights, random_seed)
    parts = []
    for s in range(len(drawn.systems)):
        if drawn.predicted:
            parts.append(_scores(drawn.sets(s), *drawn.predicted[s], weights))
        else:
            places = _places(drawn.predictions, s, drawn.elements)
            loss = _ranking_loss(drawn.sets(s), places, weights)
            parts.append(xr.Dataset({"ranking_loss": loss}))
    return by_system(
        parts, drawn.predictions[SYSTEM].to_numpy(),
        _BETTER if drawn.predicted else {"ranking_loss": "lower"},
    )  # fmt: skip


def rates_of_labels(
    fits: Mapping[Any, Any], predictions: xr.Dataset, *, on_missing: str, random_seed: Any
) -> xr.Dataset:
    """Return each system's F1, sensitivity and specificity for each label.

    The sets of items are those of `set_score`. Dims are (chain, draw, element, system). A rate is
    NaN in draws in which its denominator is 0.
    """
    drawn = _drawn(fits, predictions, on_missing, None, random_seed)
    parts = []
    for s in range(len(drawn.systems)):
        held, _ = drawn.predicted[s]
        rates = [_rates(member, held[:, k]) for k, member in enumerate(drawn.sets(s))]
        parts.append(xr.concat(rates, dim=xr.IndexVariable(ELEMENT, drawn.elements)))
    index = xr.IndexVariable(SYSTEM, drawn.predictions[SYSTEM].to_numpy())
    return xr.concat(parts, dim=index).transpose(*SAMPLE, ELEMENT, SYSTEM)


def members(fits: Mapping[Any, Any], random_seed: Any) -> list[xr.DataArray]:
    """Return whether each label is true in each draw (..., item); predictions have no weight."""
    sources = _sources(fits, np.empty(0, object), random_seed, ordered=False)
    place = np.arange(sources[0].share.sizes[ITEM])
    return [_member(source, place, None, None) for source in _paired(sources)]


class _Drawn(NamedTuple):
    """The draws from which items' sets are computed, and the sets that systems predict."""

    sources: list[_Source]
    place: Ints
    """Places of the items with predictions."""
    predictions: xr.Dataset
    elements: Array
    predicted: list[tuple[Flags, xr.DataArray]]
    """For each system, the result of `_predicted`; empty for lists."""
    insight: xr.DataArray | None

    @property
    def systems(self) -> list[Any]:
        """Names of the systems."""
        return self.predictions[SYSTEM].to_numpy().tolist()

    def items(self) -> xr.DataArray:
        """Return the draws of the first label, for the items with predictions."""
        return self.sources[0].share.isel({ITEM: self.place})

    def sets(self, s: int) -> list[xr.DataArray]:
        """Return whether each label is in items' sets (..., item), to compare system ``s``."""
        name = self.systems[s]
        if not self.predicted:
            return [_member(source, self.place, name, None) for source in self.sources]
        insight = None if self.insight is None else self.insight.isel({SYSTEM: s}, drop=True)
        held, _ = self.predicted[s]
        return [
            _member(source, self.place, name, held[:, k], insight)
            for k, source in enumerate(self.sources)
        ]


def _sources(
    fits: Mapping[Any, Any], systems: Names, random_seed: Any, *, ordered: bool
) -> list[_Source]:
    """Return the draws of each label's fit, with a separate seed for each label."""
    seeds = generator(random_seed, "true sets").integers(2**63, size=len(fits)).tolist()
    return [
        _source(fit, label, seed, systems, ordered=ordered)
        for (label, fit), seed in zip(fits.items(), seeds, strict=True)
    ]


def _drawn(
    fits: Mapping[Any, Any], predictions: xr.Dataset, on_missing: str, insight: Any,
    random_seed: Any,
) -> _Drawn:  # fmt: skip
    """Check fits and predictions; return the draws and predicted sets of their common items."""
    elements = _elements(fits)
    predictions = checked_predictions(predictions, sets=True)
    kind = predictions.attrs["kind"]
    if kind not in {"set", "ranking"}:
        raise PredictionError(
            "predictions", expected='sets (kind="set"), or lists of labels with a score or rank',
            found="numbers" if kind == "continuous" else "one label from each system and item",
            hint='Read them with dissensus.predictions(..., kind="set")',
        )  # fmt: skip
    check_labels(predictions, elements, " are in no set")
    names = predictions[SYSTEM].to_numpy()
    sources = _sources(fits, names, random_seed, ordered=kind == "ranking")
    _require_equal_items(sources, elements)
    _require_alike(sources, elements)
    first = sources[0].share
    if insight is not None and (kind == "ranking" or not sources[0].of_panel):
        raise ArgumentError(
            "insight", found=brief(insight), expected="None, if labels have an order"
            if kind == "ranking" else "None: it is about a panel, and these are fits to the truth",
        )  # fmt: skip
    whole = xr.DataArray(
        np.arange(first.sizes[ITEM]), dims=ITEM, coords={ITEM: first[ITEM].to_numpy()}
    )
    common, predictions = common_items(whole, predictions, on_missing)
    place = common.to_numpy()
    for source, label in zip(sources, elements.tolist(), strict=True):
        if source.posterior is not None:
            require_informed(source.posterior, place, f"fits, label {label!r}")
    predicted = []
    if kind == "set":
        predicted = [_predicted(predictions, s, elements) for s in range(len(names))]
    if insight is not None:
        insight = insights(insight, first, _distinct(predictions, predicted, elements), random_seed)
    return _Drawn(_paired(sources), place, predictions, elements, predicted, insight)


def _elements(fits: Any) -> Array:
    """Return the labels, or raise if there are no fits by label."""
    if not isinstance(fits, Mapping) or isinstance(fits, xr.Dataset | xr.DataTree) or not fits:
        raise ArgumentError(
            "fits", expected="a fit for each label", found=brief(fits),
            hint="dissensus.by_label(dissensus.models.dirichlet.fit, annotations) returns them",
        )  # fmt: skip
    elements = np.array(list(fits))
    if elements.ndim != 1:
        raise ArgumentError("fits", expected="labels that are text or numbers", found=brief(fits))
    return elements


class _Source(NamedTuple):
    """The draws of one label's fit."""

    share: xr.DataArray
    """(..., item): plausibility of the label, or probability that it is true."""
    seed: int
    of_panel: bool
    weight: xr.DataArray | None = None
    """(..., system, answer): log odds that a prediction adds; None if it is part of ``share``."""
    posterior: xr.Dataset | None = None
    """The posterior, if the fit is to the truth."""

    @property
    def kind(self) -> str:
        """Description of the kind of draws, for messages."""
        if self.of_panel:
            return "of a panel"
        errors = "independent" if self.weight is None else "correlated"
        return f"of the truth with {errors} errors"


def _source(fit: Any, label: Any, seed: int, systems: Names, *, ordered: bool) -> _Source:
    """Return the draws of a fit, or raise if they are neither of the panel nor of the truth."""
    posterior = fit["posterior"].to_dataset() if _has_posterior(fit) else fit
    if isinstance(posterior, xr.DataArray) and posterior.name == _TRUTH:
        posterior = posterior.to_dataset()
    if not isinstance(posterior, xr.Dataset) or NAME in posterior:
        return _Source(_of_answer(plausibility_of(fit), label), seed, of_panel=True)
    if _TRUTH not in posterior:
        raise ArgumentError(
            "fits", where=f"label {label!r}",
            expected="draws of the panel ('plausibility') or of the truth ('truth')",
            found=f"the variables {shown(list(posterior.data_vars)) or 'none'}",
            hint="Fit models.dirichlet, or models.dawid_skene with keep_items=True",
        )  # fmt: skip
    share = _of_answer(posterior[_TRUTH], label)
    if not set(SAMPLE) <= set(share.dims):
        raise ArgumentError(
            "fits", where=f"label {label!r}", expected=f"draws along {SAMPLE}",
            found=f"dims {share.dims}",
        )  # fmt: skip
    hint = "dissensus.by_label(dissensus.models.dawid_skene.fit, annotations, predictions=sets)"
    if ordered:
        hint += ". If predictions are lists, pass the labels above a threshold as sets"
    require_evidence(posterior, systems, "fits", hint, where=f"label {label!r}", lists=ordered)
    return _Source(share, seed, False, posterior.get("system_weight"), posterior)


def _member(
    source: _Source, place: Ints, system: Any, predicted: Flags | None,
    insight: xr.DataArray | None = None,
) -> xr.DataArray:  # fmt: skip
    """Return whether the panel's or the true set of each item contains the label (..., item)."""
    if source.of_panel:
        member = (source.share > _HALF).isel({ITEM: place})
        if insight is None or predicted is None:
            return member.drop_vars(ITEM)
        keys = item_keys(member[ITEM].to_numpy(), member.sizes[CHAIN], seed=source.seed)
        claim = xr.DataArray(predicted, dims=ITEM)
        right = (member == claim).astype(np.float64).drop_vars(ITEM)
        return (lean(right, insight, keys) > _HALF) == claim
    # The random numbers are the same for all systems.
    drawn = np.random.default_rng(source.seed).random(source.share.shape)
    return _probability(source, place, system, predicted) > drawn[..., place]


def _probability(
    source: _Source, place: Ints, system: Any, predicted: Flags | None
) -> xr.DataArray:
    """Return the probability (..., item) that the label is true, given a system's prediction."""
    share = source.share.isel({ITEM: place}).drop_vars(ITEM)
    if source.weight is None or predicted is None:
        return share
    column = tables.match(np.array([system]), source.weight[SYSTEM].to_numpy()).item()
    odds = xr.apply_ufunc(np.exp, source.weight.isel({SYSTEM: column}, drop=True))
    claim = xr.DataArray(predicted, dims=ITEM)
    of_yes = odds.sel({LABEL: _YES}, drop=True)
    of_no = odds.drop_sel({LABEL: _YES}).isel({LABEL: 0}, drop=True)
    yes, no = share * xr.where(claim, of_yes, 1.0), (1 - share) * xr.where(claim, 1.0, of_no)
    return (yes / (yes + no)).transpose(*share.dims)


def _paired(sources: list[_Source]) -> list[_Source]:
    """Return the draws of all labels; with correlated errors, draws of different labels are paired.

    The uncertainty about errors is assumed to be common to all labels. So draws are paired by rank:
    draws of the truth by their error correlation, and draws of a system's weight by their size.
    """
    first = sources[0]
    if first.weight is None or first.posterior is None:
        return sources
    out = [first]
    for source in sources[1:]:
        assert source.weight is not None and source.posterior is not None  # as in the first
        order = _ranked(source.posterior["error_correlation"], first.posterior["error_correlation"])
        share = source.share.copy(
            data=np.take_along_axis(source.share.to_numpy(), order[..., None], axis=-2)
        )
        own_weight, first_weight = (
            draws.transpose(..., SYSTEM, LABEL, DRAW) for draws in (source.weight, first.weight)
        )
        weight = own_weight.copy(
            data=np.take_along_axis(
                own_weight.to_numpy(), _ranked(own_weight, first_weight), axis=-1
            )
        )
        out.append(source._replace(share=share, weight=weight))
    return out


def _ranked(draws: xr.DataArray, first: xr.DataArray) -> Ints:
    """Return the order (..., draw) in which the values of ``draws`` are ranked like ``first``."""
    order = np.empty(draws.shape, dtype=np.int64)
    np.put_along_axis(
        order, first.transpose(*draws.dims).to_numpy().argsort(axis=-1, kind="stable"),
        draws.to_numpy().argsort(axis=-1, kind="stable"), axis=-1,
    )  # fmt: skip
    return order


def _require_alike(sources: list[_Source], elements: Array) -> None:
    """Raise unless all fits are of the same kind."""
    kinds = {source.kind: label for source, label in zip(sources, elements.tolist(), strict=True)}
    if len(kinds) > 1:
        listed = "; ".join(f"{kind}: label {label!r}" for kind, label in kinds.items())
        raise ArgumentError("fits", expected="fits of one model to all labels", found=listed)


def _has_posterior(fit: Any) -> bool:
    return isinstance(fit, xr.DataTree) and "posterior" in fit.children


def _of_answer(draws: xr.DataArray, label: Any) -> xr.DataArray:
    """Return the draws of the label "yes" (..., item)."""
    answers = draws[LABEL].to_numpy().tolist() if LABEL in draws.coords else []
    if _YES not in answers:
        raise ArgumentError(
            "fits", where=f"label {label!r}", expected='a fit to the answers "yes" and "no"',
            found=f"the labels {shown(answers)}" if answers else f"dims {draws.dims}",
            hint="Fit with dissensus.by_label",
        )  # fmt: skip
    out = draws.sel({LABEL: _YES}, drop=True)
    out = out if ITEM in out.coords else out.assign_coords({ITEM: np.arange(out.sizes[ITEM])})
    if not bool(np.isfinite(out).all()):
        raise ArgumentError(
            "fits", where=f"label {label!r}", expected="numbers in every draw and item",
            found="nan or infinity",
        )  # fmt: skip
    front = [dim for dim in SAMPLE if dim in draws.dims]
    return out.transpose(*front, ..., ITEM)


def _require_equal_items(sources: list[_Source], elements: Array) -> None:
    """Raise unless all fits have the same items and numbers of draws."""
    shares = [source.share for source in sources]
    first = shares[0]
    for share, label in zip(shares[1:], elements[1:].tolist(), strict=True):
        items = share[ITEM].to_numpy()
        if dict(share.sizes) != dict(first.sizes) or (items != first[ITEM].to_numpy()).any():
            raise ArgumentError(
                "fits", where=f"label {label!r}",
                expected=f"the same items, chains and draws as for {elements.tolist()[0]!r}, "
                f"{dict(first.sizes)}",
                found=str(dict(share.sizes))
                if dict(share.sizes) != dict(first.sizes) else "other items",
            )  # fmt: skip


def _predicted(predictions: xr.Dataset, system: int, elements: Array) -> tuple[Flags, xr.DataArray]:
    """Return the sets that a system predicts (item, label), and their sizes (item).

    Labels without a fit count in the sizes only.
    """
    dims = (ITEM, POSITION)
    code = predictions["label_code"].isel({SYSTEM: system}).transpose(*dims).to_numpy()
    place = tables.match(predictions[LABEL].to_numpy(), elements)
    held = np.zeros((len(code), len(elements)), dtype=bool)
    item, position = np.nonzero(code >= 0)
    known = place[code[item, position]]
    held[item[known >= 0], known[known >= 0]] = True
    return held, xr.DataArray((code >= 0).sum(axis=1), dims=ITEM)


def _distinct(
    predictions: xr.Dataset, predicted: list[tuple[Flags, xr.DataArray]], elements: Array
) -> xr.Dataset:
    """Return predictions in which each distinct set is a single label, named by its members."""
    order = np.argsort(elements.astype(str), kind="stable")
    names = elements[order].astype(str).tolist()
    held = np.stack([flags[:, order] for flags, _ in predicted], axis=1)
    rows, code = np.unique(held.reshape(-1, len(order)), axis=0, return_inverse=True)
    text = ["\n".join(compress(names, row)) for row in rows.tolist()]
    coords = {dim: predictions[dim].to_numpy() for dim in (ITEM, SYSTEM)}
    return xr.Dataset(
        {"label_code": ((ITEM, SYSTEM, POSITION), code.reshape(*held.shape[:2], 1))},
        coords=coords | {LABEL: text},
    )


def _scores(
    sets: list[xr.DataArray], held: Flags, n_predicted: xr.DataArray, weights: xr.DataArray | None
) -> xr.Dataset:
    """Return the scores of one system's sets."""
    n_true: xr.DataArray = sum((flags.astype(np.int16) for flags in sets), start=xr.DataArray(0))
    n_common, of_labels = xr.zeros_like(n_true), []
    for k, member in enumerate(sets):
        claim = xr.DataArray(held[:, k], dims=ITEM)
        hit = member & claim
        n_common = n_common + hit
        size = over_items(claim + member.astype(np.float64), weights)
        of_labels.append(2 * over_items(hit.astype(np.float64), weights) / size.where(size > 0))
    either = n_predicted + n_true - n_common
    exact = ((n_common == n_true) & (n_common == n_predicted)).astype(np.float64)
    jaccard = xr.where(either > 0, n_common / either.where(either > 0, 1), 1.0)
    size = over_items((n_predicted + n_true).astype(np.float64), weights)
    overlap = 2 * over_items(n_common.astype(np.float64), weights)
    return xr.Dataset({
        "exact_match": over_items(exact, weights),
        "jaccard": over_items(jaccard, weights),
        "micro_f1": (overlap / size.where(size > 0)).clip(0.0, 1.0),
        "macro_f1": xr.concat(of_labels, dim=ELEMENT).mean(ELEMENT).clip(0.0, 1.0),
    })  # fmt: skip


def _rates(member: xr.DataArray, predicted: Flags) -> xr.Dataset:
    """Return F1, sensitivity and specificity of a system for one label."""
    claim = xr.DataArray(predicted, dims=ITEM)
    positive, hit = member.sum(ITEM), (member & claim).sum(ITEM)
    negative, passed = (~member).sum(ITEM), (~member & ~claim).sum(ITEM)
    size = positive + int(predicted.sum())
    return xr.Dataset({
        "f1": 2 * hit / size.where(size > 0), "sensitivity": hit / positive.where(positive > 0),
        "specificity": passed / negative.where(negative > 0),
    })  # fmt: skip


def _places(predictions: xr.Dataset, system: int, elements: Array) -> Floats:
    """Return each label's rank in a system's lists (item, label); unlisted labels are last."""
    dims = (ITEM, POSITION)
    lists = predictions.isel({SYSTEM: system})
    code, block = (lists[name].transpose(*dims).to_numpy() for name in ("label_code", "block"))
    place = tables.match(predictions[LABEL].to_numpy(), elements)
    out = np.full((len(code), len(elements)), float(block.max(initial=0)) + 1.0)
    item, position = np.nonzero(block > 0)
    known = place[code[item, position]]
    has_fit = known >= 0
    out[item[has_fit], known[has_fit]] = block[item[has_fit], position[has_fit]]
    return out


def _ranking_loss(
    sets: list[xr.DataArray], place: Floats, weights: xr.DataArray | None
) -> xr.DataArray:
    """Return the mean share of pairs of labels in the wrong order; ties count half."""
    n, shape = len(sets), sets[0].shape
    values = np.stack([member.to_numpy() for member in sets], axis=-1)
    row = np.arange(len(place))
    wrong = np.zeros(shape)
    for ties in (np.arange(n), -np.arange(n)):  # a tied pair is wrong in one of two orders
        order = np.lexsort((np.broadcast_to(ties, place.shape), place), axis=-1)
        before = np.zeros(shape, dtype=np.int32)  # labels outside the set that come earlier
        for k in range(n):
            inside = values[..., row, order[:, k]]
            wrong += np.where(inside, 0.5 * before, 0.0)
            before += ~inside
    n_inside = values.sum(axis=-1)
    pairs = n_inside * (n - n_inside)
    share = sets[0].copy(data=wrong / np.maximum(pairs, 1))
    has_pairs = sets[0].copy(data=(pairs > 0).astype(np.float64))
    size = over_items(has_pairs, weights)
    return over_items(share, weights) / size.where(size > 0)
