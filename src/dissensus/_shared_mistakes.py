"""How accurate systems and annotators are if annotators are wrong together on some items."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import xarray as xr

from dissensus._replication.predictive_draws import OBSERVED, group_of
from dissensus._replication.truth_labels import MODELS, require_whole
from dissensus._shared_mistakes_arguments import Level, chances, level_of
from dissensus._shared_mistakes_words import POOR, Told, sentences
from dissensus.arrays.seeds import generator
from dissensus.arrays.shared_mistakes import Accuracy, accuracy_of_followers, accuracy_of_system
from dissensus.dims import ITEM, LABEL, SAMPLE, SYSTEM
from dissensus.errors import ArgumentError, shown, warn_caller

Floats = npt.NDArray[np.float64]

SHARES: Final = (0.0, 0.05, 0.1, 0.2)
_ROOM: Final = 4 * 2**30
"""Bytes that the truth of items may take."""


def shared_mistakes(
    fit: Any,
    share: float | Sequence[float] = SHARES,
    *,
    repeated: float | Mapping[Any, float] = 1.0,
    beta: tuple[float, float] | None = None,
    random_seed: Any = None,
) -> xr.Dataset:
    r"""Say how accurate all are if annotators are wrong together on a share of the items.

    Models of the truth assume that annotators err independently given the truth. If all of them
    take an ironic text literally, their labels look as if the literal reading were true: what a
    model finds is the *apparent* truth. Labels alone cannot tell how often that is not the truth,
    so it has to be assumed, or known from elsewhere, and this says what follows.

    Parameters
    ----------
    fit : DataTree
        What ``fit`` of `dissensus.models.symmetric_confusion` or `dissensus.models.dawid_skene`
        returned.
    share : float or sequence of float
        :math:`\mu`, the share of items on which annotators' labels point to another label than
        the true one; from 0 to below (L - 1)/L, where labels tell nothing. The true one is then
        evenly any of the others.
    repeated : float or mapping
        :math:`\varphi`, the chance that a system is misled like the annotators on such an item:
        1 if it makes all their mistakes, 0 if it makes none. One for all systems, or one for each
        by name.
    beta : (float, float), optional
        Instead of ``share``, what is believed of it: a share is drawn for each draw from this
        beta distribution, cut off at (L - 1)/L. (1, 9) has the mean .1.
    random_seed : int or numpy.random.Generator, optional
        Makes the draws of ``system_correct`` and of a believed share repeatable.

    Returns
    -------
    Dataset
        Draws (chain, draw), and for a sequence along ``share``, of ``system_accuracy`` (system),
        how often it is right on items like these; ``system_correct`` (system), the share of *these*
        items it got right; ``annotator_accuracy``, as in the fit; ``truth`` (item, label), if the
        fit kept it; ``share``, if it was drawn. ``impossible`` (system) is the part of the draws
        in which no system could agree with the apparent truth as this one does; it is then
        counted as right as it can be. ``attrs["in_words"]`` says it in sentences, one a line.

    Raises
    ------
    ArgumentError
        If it is no such fit, or a part of one, a number is out of its range, or the truth of items
        would take more than 4 GB.

    Warns
    -----
    DissensusWarning
        If more than 5 % of a system's draws are impossible: then the share is lower, or more of
        the mistakes are repeated.

    Notes
    -----
    With :math:`t` an annotator's accuracy in the fit, and :math:`a` a system's, both agreement
    with the apparent truth,

    .. math::

        t' &= (1 - \mu)\, t + \mu\, \frac{1 - t}{L - 1}, \\
        a &= (1 - \mu)\, \alpha + \mu \left[\varphi \alpha
             + (1 - \varphi) \frac{1 - \alpha}{L - 1}\right], \\
        a' &= (1 - \mu)\, \alpha + \mu \left[(1 - \varphi)\, \alpha
             + \varphi \frac{1 - \alpha}{L - 1}\right].

    The second is solved for :math:`\alpha`, how often the system is right about what it takes an
    item for, draw by draw; of the items that it seems to have got right or wrong, binomial numbers
    change sides. So what was uncertain in the fit stays so.

    Errors are taken as even over the labels, as ``errors="equal"`` has them. If they are not, what
    is off is the small terms, those over :math:`L - 1`. In simulated studies of 10,000 items, a
    share of .1, one each, accuracies came out within .005 of the true ones with graded errors, and
    with uneven prevalence, beside what the fit itself is off (.013 to .04 with graded and random
    errors and items that differ in difficulty). Mistakes are taken to be independent of how hard an
    item is otherwise. With several systems that do not repeat the mistakes, their agreement with
    each other against the annotators would show in the labels; no use is made of that.

    See Also
    --------
    check_assumptions : Those assumptions that labels can speak against.

    Examples
    --------
    >>> import dissensus as dx
    >>> study = dx.simulate.confusion_study(
    ...     2000, 5, 3, ipc=0.7, system_accuracy=[0.9], shared_mistakes=0.1, random_seed=1)
    >>> fit = dx.models.symmetric_confusion.fit(
    ...     study.annotations, predictions=study.predictions, random_seed=1, progressbar=False)
    >>> found = dx.shared_mistakes(fit, (0, 0.1), random_seed=1)
    >>> found["system_correct"].sel(share=0).quantile([0.05, 0.95]).round(2).values
    array([0.91, 0.92])
    >>> found["system_correct"].sel(share=0.1).quantile([0.05, 0.95]).round(2).values
    array([0.82, 0.84])
    >>> study.truth["system_correct"].round(2).values
    array([0.82])
    """
    posterior, n_labels = _posterior_of(fit)
    rng = generator(random_seed, "shared mistakes")
    n = tuple(posterior.sizes[dim] for dim in SAMPLE)
    level = level_of(share, SHARES, beta, n_labels, n, rng)
    _require_room(posterior, level)
    found: dict[str, xr.DataArray] = {}
    told = None
    if "system_accuracy" in posterior:
        systems = posterior[SYSTEM].to_numpy()
        chance = chances(repeated, systems)
        seen = _laid(posterior["system_accuracy"])
        judged = accuracy_of_system(seen, level.values, chance, n_labels)
        found |= _of_systems(fit, posterior, level, judged, rng)
        told = _told(posterior, level, seen, chance, n_labels)
        _warn_if_impossible(judged, systems)
    else:
        chances(repeated, np.empty(0, dtype=object))
    for name in ("annotator_accuracy", "truth"):
        if name in posterior:
            given = posterior[name]
            values = accuracy_of_followers(_laid(given), level.values, n_labels)
            found[name] = _named(values, given, level)
    out = xr.Dataset(level.drawn | found, coords=level.coords, attrs=dict(fit.attrs))
    words = sentences(out, posterior, level.words, told)
    return out.assign_attrs(in_words="\n".join(words))


def _posterior_of(fit: Any) -> tuple[xr.Dataset, int]:
    """Return the posterior, and the number of labels, or raise if it is no latent truth's."""
    posterior = group_of(fit, "posterior")
    model = fit.attrs.get("model", "?")
    if model not in MODELS:
        raise ArgumentError(
            "fit", expected=f"a fit of {' or '.join(MODELS)}", found=f"one of {model}"
        )
    require_whole(fit, posterior, (ITEM, LABEL))
    return posterior, posterior.sizes[LABEL]


def _require_room(posterior: xr.Dataset, level: Level) -> None:
    """Raise if the truth of items would fill the memory."""
    size = posterior["truth"].nbytes * len(level.words) if "truth" in posterior else 0
    if size > _ROOM:
        raise ArgumentError(
            "share", expected=f"fewer shares at a time, with the truth of "
            f"{posterior.sizes[ITEM]:,} items in {posterior.sizes[LABEL]} labels",
            found=f"{len(level.words)}, which would take {size / 2**30:.0f} GB",
            hint="Accuracies do not need the truth: fit with keep_items=False",
        )  # fmt: skip


def _laid(draws: xr.DataArray) -> Floats:
    """Lay draws out as (chain, draw, share, rest), all the same along share."""
    values = draws.transpose(*SAMPLE, ...).to_numpy()
    return np.asarray(values.reshape(*values.shape[:2], 1, -1), dtype=np.float64)


def _named(values: Floats, like: xr.DataArray, level: Level) -> xr.DataArray:
    """Give (chain, draw, share, rest) the names of what it was made from."""
    rest = [dim for dim in like.dims if dim not in SAMPLE]
    shape = [like.sizes[dim] for dim in (*SAMPLE, *rest)]
    shape[2:2] = [values.shape[2]] * len(level.dims)
    coords = {dim: like[dim] for dim in (*SAMPLE, *rest)}
    return xr.DataArray(
        values.reshape(shape), dims=(*SAMPLE, *level.dims, *rest), coords=level.coords | coords
    )


def _of_systems(
    fit: xr.DataTree, posterior: xr.Dataset, level: Level, judged: Accuracy,
    rng: np.random.Generator,
) -> dict[str, xr.DataArray]:  # fmt: skip
    """Return a system's accuracy, what it got right of these items, and where that cannot be."""
    answers = group_of(fit, OBSERVED)["system_label_code"].transpose(ITEM, SYSTEM)
    n = (answers.to_numpy() >= 0).sum(axis=0)
    given = posterior["system_correct"]
    right = np.rint(np.nan_to_num(_laid(given)) * n).astype(np.int64)
    kept = rng.binomial(right, 1 - judged.lost)
    gained = rng.binomial(n - right, judged.gained)
    correct = np.where(n > 0, (kept + gained) / np.maximum(n, 1), np.nan)
    impossible = judged.impossible.mean(axis=(0, 1))
    return {
        "system_accuracy": _named(judged.accuracy, posterior["system_accuracy"], level),
        "system_correct": _named(correct, given, level),
        "impossible": xr.DataArray(
            impossible if level.dims else impossible[0], dims=(*level.dims, SYSTEM),
            coords={**level.coords, SYSTEM: given[SYSTEM]},
        ),
    }  # fmt: skip


def _told(posterior: xr.Dataset, level: Level, seen: Floats, chance: Floats, n_labels: int) -> Told:
    """Return what is said beside: of systems that make all the mistakes, and none."""
    given = posterior["system_accuracy"]
    one, none = (
        accuracy_of_system(seen, level.values, np.full(len(chance), value), n_labels)
        for value in (1.0, 0.0)
    )
    return Told(
        repeated=chance, all=_named(one.accuracy, given, level),
        none=_named(none.accuracy, given, level),
        none_impossible=none.impossible.mean(axis=(0, 1)),
        shares=level.values.mean(axis=(0, 1))[:, 0],
    )  # fmt: skip


def _warn_if_impossible(judged: Accuracy, systems: npt.NDArray[Any]) -> None:
    part = judged.impossible.mean(axis=(0, 1)).max(axis=0)
    bad = part > POOR
    if bad.any():
        warn_caller(
            f"In up to {part.max():.0%} of the draws no system could agree with the annotators' "
            f"apparent truth as {shown(systems[bad].tolist())} would have to: too often, or too "
            "rarely, for one that repeats so few of their mistakes. So the share of such mistakes "
            "is lower, or more of them are repeated (repeated=); the accuracy is taken as near as "
            "it can be."
        )
