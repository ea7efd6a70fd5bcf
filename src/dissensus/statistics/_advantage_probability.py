"""Advantage probability, winning rate and t-tests: whether a system could replace an annotator."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
import xarray as xr
from scipy import sparse, stats

from dissensus import arguments
from dissensus.data.alignment import Systems, systems_of
from dissensus.dims import ANNOTATOR, ITEM, SYSTEM
from dissensus.errors import shown, warn_caller
from dissensus.kernels.types import Array, Flags, Floats, Ints, Names
from dissensus.statistics._distances import Distance
from dissensus.statistics._pairwise import StatementDistances, described, statement_distances
from dissensus.statistics._read import proportion, read, whole
from dissensus.statistics._sets import SET_DISTANCES
from dissensus.statistics._sums import Matrix, Sums, Undefined, compact, indicator

RELATIVE: Final = 1e-9
ROUNDING: Final = 1e-12
"""A system and an annotator are equally close if their distances differ by at most RELATIVE times
the larger distance, plus ROUNDING times the sum of the annotator's distance and of the system's
distances from all annotators of the item."""

NO_ITEMS: Final = "an annotator has no item with another annotator and a prediction"


def advantage_probability(
    annotations: xr.Dataset,
    predictions: xr.Dataset,
    distance: Distance | None = None,
    *,
    min_items: int = 1,
    tolerance: float | None = None,
    depth: int | None = None,
    on_missing: str = "raise",
    weights: Any = None,
) -> xr.DataArray:
    r"""Share of items on which a system is at least as close as an annotator to the others.

    .. math:: \rho_{mj} = \frac{1}{|I_j|} \sum_{i \in I_j} \Bigl[
        \sum_{r \neq j} \psi(m_i, Y_{ir}) \leq \sum_{r \neq j} \psi(Y_{ij}, Y_{ir}) \Bigr]

    for system m and annotator j, over the items :math:`I_j` that j and another annotator labelled.
    :math:`\psi` is the mean distance over pairs of labels. Ties count in favour of the system.

    Parameters
    ----------
    annotations : Dataset
        Annotations of any kind. If an annotator has several labels for an item (``trial=``), their
        distances from the others are averaged.
    predictions : Dataset
        Predictions on the same items.
    distance : str or callable, optional
        As for `discrepancy_ratio`. None is "nominal" for names, "squared" for numbers (also ordered
        ones), "jaccard" for sets, and "ranking" for rankings. The source calls "nominal" accuracy
        and "squared" RMSE.
    min_items : int
        The value is NaN for an annotator with fewer items in :math:`I_j`. Items are counted without
        their weights.
    tolerance, depth, on_missing, weights
        As for `discrepancy_ratio`.

    Returns
    -------
    xarray.DataArray
        (system, annotator), from 0 to 1. The source compares systems by the mean over annotators,
        the average advantage probability. NaN, with a warning, for an annotator with too few items.

    Notes
    -----
    Do not compare the value with one half. A system that copies the annotator scores 1. If
    annotators often agree, most items are ties, which count for the system. Compare the value with
    the annotator's own score: `alt_test` reports both, and `winning_rate` compares them. The size
    of a difference is ignored: an error that no annotator would make counts like a near miss.
    `discrepancy_ratio` measures the size of differences.

    An annotator who skips hard items is compared with the system on the same, easier items.

    Source: Calderon, Reichart and Dror (2025), "The alternative annotator test for
    LLM-as-a-judge", section 3.

    Examples
    --------
    >>> import dissensus as dx
    >>> ann = dx.from_matrix([["a", "a", "b"], ["b", "b", "b"]])
    >>> pred = dx.predictions({"item": [0, 1], "system": ["m", "m"], "label": ["a", "a"]})
    >>> dx.advantage_probability(ann, pred).values
    array([[0.5, 0.5, 0.5]])
    """
    minimum = whole("min_items", min_items, 1)
    pairs = comparisons(annotations, predictions, distance, on_missing, tolerance, depth)
    short = pairs.n_items < minimum
    shape = (-1, len(pairs.systems), len(pairs.annotators))

    def finish(totals: Floats, undefined: Undefined) -> Floats:
        n, better = totals[:, None, : shape[2]], totals[:, shape[2] :].reshape(shape)
        share = better / np.where(n > 0, n, 1.0)
        out = undefined.where(np.broadcast_to(short, share.shape), share, too_few(minimum))
        return undefined.where(np.broadcast_to(n <= 0, share.shape), out, NO_ITEMS)

    kept = ~short[pairs.annotator]  # annotators with too few items have no value
    enough = pairs._replace(item=pairs.item[kept], annotator=pairs.annotator[kept])
    name = "advantage_probability"
    return Sums(
        name,
        (pairs.counts(), pairs.by_item(pairs.system_as_close)),
        finish,
        pairs.items,
        dims={name: (SYSTEM, ANNOTATOR)},
        coords={SYSTEM: pairs.systems, ANNOTATOR: pairs.annotators},
        attrs=pairs.attrs,
        bearing=enough.counts(),
    ).value(weights)


class Comparisons(NamedTuple):
    """Comparisons of annotators with systems, by the distance from the item's other annotators.

    There is one comparison for each annotator of each item that has predictions and two or more
    annotators.
    """

    item: Ints
    """(comparison): code of the item."""
    annotator: Ints
    """(comparison): code of the annotator."""
    system_as_close: Flags
    """(comparison, system): whether the system is at least as close to the other annotators."""
    annotator_as_close: Flags
    """(comparison, system): whether the annotator is at least as close; in a tie both are."""
    items: Names
    annotators: Names
    systems: Names
    attrs: dict[str, Any]
    """The distance and its settings."""

    @property
    def n_items(self) -> Ints:
        """(annotator): number of items on which the annotator is compared with systems."""
        return np.bincount(self.annotator, minlength=len(self.annotators))

    def counts(self) -> Matrix:
        """Return the number of comparisons, 0 or 1: (item, annotator)."""
        return indicator(self.item, self.annotator, (len(self.items), len(self.annotators)))

    def by_item(self, values: Array) -> Matrix:
        """Return values (comparison, system) as (item, column).

        Each pair of system and annotator has a column.
        """
        row, system = np.nonzero(values)
        n = len(self.annotators)
        place = (self.item[row], system * n + self.annotator[row])
        shape = (len(self.items), len(self.systems) * n)
        data = values[row, system].astype(np.float64)
        return compact(sparse.csr_array((data, place), shape=shape))


def comparisons(
    annotations: Any,
    predictions: Any,
    distance: Distance | None,
    on_missing: str,
    tolerance: float | None,
    depth: int | None,
) -> Comparisons:
    """Compare each annotator with each system, item by item."""
    annotations = read(annotations, rankings=True, sets=True)
    name = described(annotations, distance, tolerance=tolerance, depth=depth)["distance"]
    systems = systems_of(annotations, predictions, on_missing, sets=name in SET_DISTANCES)
    distances = statement_distances(
        annotations, distance, systems, tolerance=tolerance, depth=depth
    )
    item = distances.item
    kept = (distances.counts[item] >= 2) & systems.present[item]
    system_as_close, annotator_as_close = _closer(distances, systems, kept)
    return Comparisons(
        item[kept],
        distances.annotator[kept],
        system_as_close,
        annotator_as_close,
        annotations[ITEM].to_numpy(),
        annotations[ANNOTATOR].to_numpy(),
        systems.names,
        distances.attrs,
    )


def _closer(distances: StatementDistances, systems: Systems, kept: Flags) -> tuple[Flags, Flags]:
    """Return `system_as_close` and `annotator_as_close` of the ``kept`` statements."""
    item = distances.item
    own = distances.to_others[kept]
    others = distances.counts[item][kept] - 1.0
    shape = (int(kept.sum()), len(systems.names))
    system, annotator = np.empty(shape, dtype=bool), np.empty(shape, dtype=bool)
    for place in range(len(systems.names)):
        each = distances.to_system(place)
        total = np.bincount(item, each, len(distances.counts))[item][kept]
        # The distance between the system and the compared annotator is left out.
        rest = np.maximum(total - each[kept], 0.0) / others
        slack = RELATIVE * np.maximum(own, rest) + ROUNDING * (own + total)
        system[:, place] = rest <= own + slack
        annotator[:, place] = own <= rest + slack
    return system, annotator


def too_few(min_items: int) -> str:
    """Return the reason why an annotator is left out, for a warning."""
    if min_items == 1:
        return NO_ITEMS
    return (
        f"fewer than {min_items} items of an annotator have another annotator and a prediction "
        "(min_items)"
    )


def winning_rate(
    annotations: xr.Dataset,
    predictions: xr.Dataset,
    epsilon: float = 0.1,
    distance: Distance | None = None,
    *,
    min_items: int = 30,
    per_annotator: bool = False,
    tolerance: float | None = None,
    depth: int | None = None,
    on_missing: str = "raise",
    weights: Any = None,
) -> xr.DataArray:
    r"""Winning rate: share of annotators against whom a system wins, up to a margin.

    .. math:: \omega_m = \frac{1}{|J|} \sum_{j \in J}
        \bigl[ \rho^f_{mj} - \rho^h_{mj} > -\varepsilon \bigr]

    :math:`\rho^f_{mj}` is the share of items on which system m is at least as close to the other
    annotators as j is (`advantage_probability`), and :math:`\rho^h_{mj}` the share on which j is at
    least as close as m. A tie counts for both. So the difference is the share of items on which the
    system is strictly closer, minus the share on which the annotator is. :math:`J` are the
    annotators with at least ``min_items`` items.

    **With** `bayesian_bootstrap` the draws are the posterior of the winning rate, and no test is
    needed. ``(draws >= 0.5).mean("draw")`` is the probability that the system passes the source's
    criterion. With ``per_annotator=True``, the mean of the draws is the probability that the system
    wins against each annotator. If wins are declared where this probability is at least .95, the
    expected share of false wins is at most .05, without further correction.

    **Without draws** the value counts all wins *on these items*, however small the difference. It
    is not evidence for other items. `alt_test` counts only significant wins: with the same settings
    and ``q`` below .5 its winning rate is never higher.

    Parameters
    ----------
    annotations, predictions, distance, tolerance, depth, on_missing, weights
        As for `advantage_probability`.
    epsilon : float
        Margin: the share of items by which the system may be behind and still win, because it is
        cheaper. The source uses .2 against experts, .15 against skilled people, .1 against
        crowd-workers.
    min_items : int
        Annotators with fewer items are left out, since the bootstrap's intervals are too narrow
        with few items. Items are counted without their weights.
    per_annotator : bool
        Return 1 where the system wins, 0 where not, and NaN for annotators left out.

    Returns
    -------
    xarray.DataArray
        (system), from 0 to 1; or ``win`` (system, annotator). NaN, with a warning, if no annotator
        has enough items.

    Notes
    -----
    The rate changes in steps of 1/J: with two or three annotators use ``per_annotator``. It is
    easiest to win against the annotator farthest from the others, so careless annotators let more
    systems pass.

    Source: Calderon, Reichart and Dror (2025), section 3. A posterior replaces the source's t-tests
    and its correction for multiple tests.

    Examples
    --------
    >>> import dissensus as dx
    >>> ann = dx.from_matrix([["a", "a", "b"], ["b", "b", "b"]])
    >>> pred = dx.predictions({"item": [0, 1], "system": ["m", "m"], "label": ["a", "b"]})
    >>> dx.winning_rate(ann, pred, min_items=2).values
    array([1.])
    """
    arguments.flags(per_annotator=per_annotator)
    margin, minimum = proportion("epsilon", epsilon), whole("min_items", min_items, 1)
    pairs = comparisons(annotations, predictions, distance, on_missing, tolerance, depth)
    ahead = pairs.system_as_close.astype(np.int8) - pairs.annotator_as_close
    enough = pairs.n_items >= minimum
    shape = (-1, len(pairs.systems), len(pairs.annotators))

    def finish(totals: Floats, undefined: Undefined) -> Floats:
        n, lead = totals[:, None, : shape[2]], totals[:, shape[2] :].reshape(shape)
        counted = enough & (n > 0)
        wins = counted & (lead / np.where(n > 0, n, 1.0) + margin > ROUNDING)
        won = wins.astype(np.float64)
        if not per_annotator:
            tested = counted.sum(axis=2).astype(np.float64)
            return undefined.divide(
                won.sum(axis=2), tested, f"no annotator can be compared: {too_few(minimum)}"
            )
        out = undefined.where(np.broadcast_to(~enough, won.shape), won, too_few(minimum))
        return undefined.where(np.broadcast_to(n <= 0, won.shape), out, NO_ITEMS)

    name, dims = ("win", (SYSTEM, ANNOTATOR)) if per_annotator else ("winning_rate", (SYSTEM,))
    return Sums(
        name,
        (pairs.counts(), pairs.by_item(ahead)),
        finish,
        pairs.items,
        dims={name: dims},
        coords={SYSTEM: pairs.systems, ANNOTATOR: pairs.annotators},
        attrs=pairs.attrs | {"epsilon": margin, "min_items": minimum},
    ).value(weights)


PASS: Final = 0.5
"""A system passes if it wins against at least this share of the tested annotators."""


def alt_test(
    annotations: xr.Dataset,
    predictions: xr.Dataset,
    epsilon: float,
    distance: Distance | None = None,
    *,
    q: float = 0.05,
    min_items: int = 30,
    tolerance: float | None = None,
    depth: int | None = None,
    on_missing: str = "raise",
) -> xr.Dataset:
    r"""Alternative annotator test: whether a system could replace annotators, up to a margin.

    For system m and annotator j, :math:`d_i` is 1 on items where j is strictly closer to the other
    annotators, -1 where the system is, 0 on ties. A one-sided t-test of
    :math:`\mathrm{H}_0: \mathrm{E}\, d \geq \varepsilon` gives a p-value, adjusted for the number
    of annotators by the procedure of Benjamini and Yekutieli. The system wins against annotators
    with an adjusted p-value of at most ``q``, and passes if it wins against at least half of the
    tested annotators.

    Parameters
    ----------
    annotations, predictions, distance, tolerance, depth, on_missing
        As for `advantage_probability`.
    epsilon : float
        Margin: the share of items by which the system may be behind. The source uses .2 against
        experts, .15 against skilled people, .1 against crowd-workers. Choose the margin before
        seeing the result.
    q : float
        The accepted rate of false wins among the wins.
    min_items : int
        Annotators who share fewer items with others are not tested. Must be 2 or more.

    Returns
    -------
    xarray.Dataset
        ``winning_rate``, ``advantage_probability`` (the mean over tested annotators), and
        ``passes``, by system; ``system_advantage`` and ``annotator_advantage`` (how often the
        system, and the annotator, is at least as close), ``p_value``, ``adjusted_p_value`` and
        ``win``, by system and annotator; ``items`` by annotator. Annotators who are not tested have
        NaN and no win, and a warning names them. If no annotator is tested, rates are NaN.

    Notes
    -----
    If all :math:`d_i` are equal, the p-value is 0 if they are below epsilon, and 1 otherwise.
    If a system fails, this does not show that it is worse: with few items no system wins.
    `winning_rate` with `bayesian_bootstrap` gives the probability of each win instead. It allows
    for clusters of items, whereas a t-test assumes independent items.

    Source: Calderon, Reichart and Dror (2025), "The alternative annotator test for
    LLM-as-a-judge", ACL, section 3.

    Examples
    --------
    >>> import dissensus as dx
    >>> ann = dx.from_matrix([["a", "a", "b"], ["b", "b", "a"], ["a", "a", "a"]] * 20)
    >>> pred = dx.predictions({"item": range(60), "system": ["m"] * 60, "label": list("aba") * 20})
    >>> test = dx.alt_test(ann, pred, epsilon=0.2)
    >>> test["winning_rate"].item(), test["passes"].item()
    (1.0, True)
    """
    margin, minimum = proportion("epsilon", epsilon), whole("min_items", min_items, 2)
    rate = proportion("q", q)
    pairs = comparisons(annotations, predictions, distance, on_missing, tolerance, depth)
    tested = pairs.n_items >= minimum
    if not tested.all():
        warn_caller(
            f"{(~tested).sum()} of {len(tested)} annotators are not tested "
            f"({shown(list(pairs.annotators[~tested]))}): {too_few(minimum)}."
        )
    system, annotator, p = _by_annotator(pairs, tested, margin)
    adjusted = np.full_like(p, np.nan)
    if tested.any():
        adjusted[:, tested] = stats.false_discovery_control(p[:, tested], axis=1, method="by")
    win = adjusted <= rate
    rates = _mean(win.astype(np.float64), tested)
    by_system = {
        "winning_rate": rates,
        "advantage_probability": _mean(system, tested),
        "passes": rates >= PASS,
    }
    by_both = {
        "system_advantage": system,
        "annotator_advantage": annotator,
        "p_value": p,
        "adjusted_p_value": adjusted,
        "win": win,
    }
    return xr.Dataset(
        {name: (SYSTEM, values) for name, values in by_system.items()}
        | {name: ((SYSTEM, ANNOTATOR), values) for name, values in by_both.items()}
        | {"items": (ANNOTATOR, pairs.n_items)},
        coords={SYSTEM: pairs.systems, ANNOTATOR: pairs.annotators},
        attrs=pairs.attrs | {"epsilon": margin, "q": rate, "min_items": minimum},
    )


def _mean(values: Floats, tested: Flags) -> Floats:
    """Return means over the tested annotators, NaN if no annotator is tested: (system)."""
    if not tested.any():
        return np.full(len(values), np.nan)
    return np.asarray(values[:, tested].mean(axis=1))


def _by_annotator(
    pairs: Comparisons, tested: Flags, margin: float
) -> tuple[Floats, Floats, Floats]:
    """Return the advantages of system and of annotator, and p-values: all (system, annotator)."""
    shape = (len(pairs.systems), len(pairs.annotators))
    system, annotator, p = (np.full(shape, np.nan) for _ in range(3))
    n = pairs.n_items[tested].astype(np.float64)
    for place in range(shape[0]):
        first, second = pairs.system_as_close[:, place], pairs.annotator_as_close[:, place]
        a, b, ahead, parted = (
            np.bincount(pairs.annotator, values, shape[1])[tested]
            for values in (first, second, second * 1.0 - first, second != first)
        )
        system[place, tested], annotator[place, tested] = a / n, b / n
        p[place, tested] = p_values(n, ahead, parted, margin)
    return system, annotator, p


def p_values(n: Floats, total: Floats, squares: Floats, margin: float) -> Floats:
    """Return p-values of t-tests of whether the mean of n whole numbers is below a margin.

    ``total`` and ``squares`` are the sums of the numbers and of their squares.
    """
    mean = total / n
    variance = (squares - total * mean) / (n - 1)
    spread = n * squares > total**2  # exact, since all three are whole numbers
    error = np.sqrt(np.where(spread, variance, 1.0) / n)
    p = stats.t.cdf((mean - margin) / error, n - 1)
    return np.asarray(np.where(spread, p, np.where(mean < margin, 0.0, 1.0)))
