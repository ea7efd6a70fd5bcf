"""Scores of predicted sets of labels against the panel's sets, or the true ones."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import xarray as xr

from dissensus.data import tables
from dissensus.data.alignment import check_labels, common_items
from dissensus.data.known_labels import require_informed
from dissensus.data.plausibility import NAME, plausibility_of
from dissensus.data.schema import checked_predictions
from dissensus.dims import ITEM, LABEL, POSITION, SAMPLE, SYSTEM
from dissensus.errors import ArgumentError, PredictionError, brief, shown
from dissensus.kernels.random import generator
from dissensus.kernels.types import Array, Flags, Floats
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
    random_seed: Any = None,
) -> xr.Dataset:
    r"""Exact match, Jaccard similarity, F1 and ranking loss of predicted sets of labels.

    In draw m, item i has the set of labels :math:`T_i^{(m)}`, and the system predicts
    :math:`S_i`:

    .. math:: \mathrm{exact} = \frac1n \sum_i 1[S_i = T_i], \qquad
        \mathrm{Jaccard} = \frac1n \sum_i \frac{|S_i \cap T_i|}{|S_i \cup T_i|}, \qquad
        \mathrm{micro\ } F_1 = \frac{2 \sum_i |S_i \cap T_i|}{\sum_i |S_i| + |T_i|}

    Macro F1 is the mean over labels of F1 of each label. If the system gives labels in an order,
    the ranking loss is the share of pairs of a label in the set and one outside of which the
    second comes first:

    .. math:: \mathrm{ranking\ loss} = \frac{1}{n} \sum_i \frac{
        \#\{(a, b): a \in T_i, b \notin T_i, b \text{ before } a\}}{|T_i|\,(K - |T_i|)}

    Parameters
    ----------
    fits : mapping
        From each label to its fit, as `by_label` returns them. Of `models.dirichlet`: the set has
        the labels that more than half of a large panel of such annotators would give. Of a model
        of the truth: the set has the labels that are true.
    predictions : xarray.Dataset
        Sets (``kind="set"``), or lists of labels with a score or rank.
    weights, on_missing
        As in `top_k_accuracy`.
    random_seed : int or Generator, optional
        Seed of the true sets, if the fits are of models of the truth, and of the bootstrap.

    Returns
    -------
    xarray.Dataset
        Draws (chain, draw, system), in [0, 1]: of sets ``exact_match``, ``jaccard``, ``micro_f1``
        and ``macro_f1``; of lists ``ranking_loss``, where 0 is best and a random order has 1/2.

    Notes
    -----
    Two empty sets match, with the Jaccard similarity 1. A label without F1 in a draw, which no set
    contains and the system never predicts, is left out of macro F1. In the ranking loss, labels
    that are not in the list come last, ties count half, and items whose set is empty or has all
    labels are left out.

    Each label has its own fit, and draws of an item's labels are independent. If labels tend to be
    true together, the exact match is underestimated, and intervals of the other scores are too
    narrow.

    Against the panel, a system that knows more than the labels show is underestimated where the
    panel is split: there is no ``insight`` as in `top_k_accuracy`.

    Source: Tsoumakas and Katakis (2007), "Multi-label classification: an overview", for exact
    match, Jaccard similarity (their accuracy) and F1; Schapire and Singer (2000), "BoosTexter",
    for the ranking loss. The set is that of a draw in place of the known one.

    Examples
    --------
    >>> import dissensus as dx
    >>> rows = {"item": [1, 1, 2, 2], "annotator": list("abab"),
    ...         "label": ["joy", "joy;love", "none", "none"]}
    >>> ann = dx.annotations(rows, kind="set", separator=";", none="none")
    >>> pred = dx.predictions({"item": [1, 2], "system": ["m", "m"], "label": ["joy", "none"]},
    ...                       kind="set", separator=";", none="none")
    >>> fits = dx.by_label(dx.models.dirichlet.fit, ann, prior_count=0.5, random_seed=1)
    >>> found = dx.set_score(fits, pred)
    >>> bool(found["exact_match"].mean() < found["micro_f1"].mean())
    True
    """
    elements = _elements(fits)
    predictions = checked_predictions(predictions, sets=True)
    check_labels(predictions, elements, " are in no set")
    ordered = predictions.attrs["kind"] != "set"
    if ordered and predictions.sizes[POSITION] < 2:
        raise PredictionError(
            "predictions", expected='sets (kind="set"), or lists of labels with a score or rank',
            found="one label from each system and item",
            hint='Read them with dissensus.predictions(..., kind="set")',
        )  # fmt: skip
    rng = generator(random_seed, "true sets")
    each = [_member(one, label, rng) for label, one in fits.items()]
    _require_equal_items(each, elements)
    whole = xr.DataArray(
        np.arange(each[0].sizes[ITEM]), dims=ITEM, coords={ITEM: each[0][ITEM].to_numpy()}
    )
    common, predictions = common_items(whole, predictions, on_missing)
    if len(common) < len(whole):
        each = [one.isel({ITEM: common.to_numpy()}) for one in each]
    weights = weights_for(each[0], weights, random_seed)
    sets = [one.drop_vars(ITEM) for one in each]
    names = predictions[SYSTEM].to_numpy()
    if ordered:
        places = [_places(predictions, s, elements) for s in range(len(names))]
        parts = [xr.Dataset({"ranking_loss": _ranking_loss(sets, one, weights)}) for one in places]
        return by_system(parts, names, {"ranking_loss": "lower"})
    n_true = sum(one.astype(np.int16) for one in sets)
    parts = [
        _scores(sets, n_true, *_predicted(predictions, s, elements), weights)
        for s in range(len(names))
    ]
    return by_system(parts, names, _BETTER)


def _elements(fits: Any) -> Array:
    """Return the labels, or raise if there are no fits by label."""
    if not isinstance(fits, Mapping) or isinstance(fits, xr.Dataset | xr.DataTree) or not fits:
        raise ArgumentError(
            "fits", expected="a fit for each label", found=brief(fits),
            hint="dissensus.by_label(dissensus.models.dirichlet.fit, annotations) returns them",
        )  # fmt: skip
    return np.array(list(fits))


def _member(fit: Any, label: Any, rng: np.random.Generator) -> xr.DataArray:
    """Return in which draws the label is in an item's set (..., item)."""
    posterior = fit["posterior"].to_dataset() if _has_posterior(fit) else fit
    if isinstance(posterior, xr.Dataset) and NAME not in posterior and _TRUTH in posterior:
        share = _of_answer(posterior[_TRUTH], label)
        require_informed(posterior, np.arange(share.sizes[ITEM]))
        return share > rng.random(share.shape)
    if isinstance(posterior, xr.Dataset) and NAME not in posterior:
        raise ArgumentError(
            "fits", where=f"label {label!r}",
            expected="draws of the panel ('plausibility') or of the truth ('truth')",
            found=f"the variables {shown(list(posterior.data_vars)) or 'none'}",
            hint="Fit models.dirichlet, or models.dawid_skene with keep_items=True",
        )  # fmt: skip
    return _of_answer(plausibility_of(fit), label) > _HALF


def _has_posterior(fit: Any) -> bool:
    return isinstance(fit, xr.DataTree) and "posterior" in fit.children


def _of_answer(draws: xr.DataArray, label: Any) -> xr.DataArray:
    """Return the draws of "yes"."""
    answers = draws[LABEL].to_numpy().tolist() if LABEL in draws.coords else []
    if _YES not in answers:
        raise ArgumentError(
            "fits", where=f"label {label!r}", expected='a fit to the answers "yes" and "no"',
            found=f"the labels {shown(answers)}" if answers else f"dims {draws.dims}",
            hint="Fit with dissensus.by_label",
        )  # fmt: skip
    front = [dim for dim in SAMPLE if dim in draws.dims]
    return draws.sel({LABEL: _YES}, drop=True).transpose(*front, ITEM)


def _require_equal_items(each: list[xr.DataArray], elements: Array) -> None:
    """Raise unless all fits have the same items and numbers of draws."""
    first = each[0]
    for one, label in zip(each[1:], elements[1:].tolist(), strict=True):
        items = one[ITEM].to_numpy()
        if dict(one.sizes) != dict(first.sizes) or (items != first[ITEM].to_numpy()).any():
            raise ArgumentError(
                "fits", where=f"label {label!r}",
                expected=f"the same items, chains and draws as of {elements.tolist()[0]!r}, "
                f"{dict(first.sizes)}",
                found=str(dict(one.sizes))
                if dict(one.sizes) != dict(first.sizes) else "other items",
            )  # fmt: skip


def _predicted(predictions: xr.Dataset, system: int, elements: Array) -> tuple[Flags, xr.DataArray]:
    """Return a system's sets (item, label), and how many labels they have, also others (item)."""
    dims = (ITEM, POSITION)
    code = predictions["label_code"].isel({SYSTEM: system}).transpose(*dims).to_numpy()
    place = tables.match(predictions[LABEL].to_numpy(), elements)
    held = np.zeros((len(code), len(elements)), dtype=bool)
    item, position = np.nonzero(code >= 0)
    known = place[code[item, position]]
    held[item[known >= 0], known[known >= 0]] = True
    return held, xr.DataArray((code >= 0).sum(axis=1), dims=ITEM)


def _scores(
    sets: list[xr.DataArray], n_true: Any, held: Flags, n_said: xr.DataArray,
    weights: xr.DataArray | None,
) -> xr.Dataset:  # fmt: skip
    """Return the scores of one system's sets."""
    both, of_labels = xr.zeros_like(n_true), []
    for k, member in enumerate(sets):
        said = xr.DataArray(held[:, k], dims=ITEM)
        hit = member & said
        both = both + hit
        size = over_items(said + member.astype(np.float64), weights)
        of_labels.append(2 * over_items(hit.astype(np.float64), weights) / size.where(size > 0))
    either = n_said + n_true - both
    exact = ((both == n_true) & (both == n_said)).astype(np.float64)
    jaccard = xr.where(either > 0, both / either.where(either > 0, 1), 1.0)
    size = over_items((n_said + n_true).astype(np.float64), weights)
    found = 2 * over_items(both.astype(np.float64), weights)
    return xr.Dataset({
        "exact_match": over_items(exact, weights),
        "jaccard": over_items(jaccard, weights),
        "micro_f1": (found / size.where(size > 0)).clip(0.0, 1.0),
        "macro_f1": xr.concat(of_labels, dim="element").mean("element").clip(0.0, 1.0),
    })  # fmt: skip


def _places(predictions: xr.Dataset, system: int, elements: Array) -> Floats:
    """Return the block of each label in a system's list (item, label): the last if not listed."""
    dims = (ITEM, POSITION)
    mine = predictions.isel({SYSTEM: system})
    code, block = (mine[name].transpose(*dims).to_numpy() for name in ("label_code", "block"))
    place = tables.match(predictions[LABEL].to_numpy(), elements)
    out = np.full((len(code), len(elements)), float(block.max(initial=0)) + 1.0)
    item, position = np.nonzero(block > 0)
    known = place[code[item, position]]
    kept = known >= 0
    out[item[kept], known[kept]] = block[item[kept], position[kept]]
    return out


def _ranking_loss(
    sets: list[xr.DataArray], place: Floats, weights: xr.DataArray | None
) -> xr.DataArray:
    """Return the mean share of pairs of labels in the wrong order; ties count half."""
    n, shape = len(sets), sets[0].shape
    values = np.stack([one.to_numpy() for one in sets], axis=-1)
    row = np.arange(len(place))
    wrong = np.zeros(shape)
    for ties in (np.arange(n), -np.arange(n)):  # in both orders: half of the tied pairs are wrong
        order = np.lexsort((np.broadcast_to(ties, place.shape), place), axis=-1)
        before = np.zeros(shape, dtype=np.int32)  # labels outside the set that come earlier
        for k in range(n):
            inside = values[..., row, order[:, k]]
            wrong += np.where(inside, 0.5 * before, 0.0)
            before += ~inside
    n_inside = values.sum(axis=-1)
    pairs = n_inside * (n - n_inside)
    share = sets[0].copy(data=wrong / np.maximum(pairs, 1))
    some = sets[0].copy(data=(pairs > 0).astype(np.float64))
    size = over_items(some, weights)
    return over_items(share, weights) / size.where(size > 0)
