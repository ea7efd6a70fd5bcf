"""Simulation of labels with effects of items and annotators, in one pool or several."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
import xarray as xr

from dissensus import arguments
from dissensus.data import annotations as _annotations
from dissensus.dims import ANNOTATOR, BOUNDARY, ITEM, POOL, other
from dissensus.errors import ArgumentError, brief
from dissensus.kernels.types import Flags, Floats, Ints
from dissensus.studies.simulate._study import for_each

_NO_PLACE: Final = -1


class Rows(NamedTuple):
    """A row for each label; annotators are numbered from 0, pool after pool."""

    item: Ints
    annotator: Ints
    pool: Ints


def seen_by(n_items: int, n_pools: int, overlap: float, rng: np.random.Generator) -> Flags:
    """Draw which pools see an item (item, pool): for a share ``overlap`` all pools, else one."""
    seen = np.zeros((n_items, n_pools), dtype=bool)
    order = rng.permutation(n_items)
    n_shared = round(overlap * n_items)
    seen[order[:n_shared]] = True
    alone = order[n_shared:]
    seen[alone, np.arange(len(alone)) % n_pools] = True
    return seen


def who_labels(
    seen: Flags,
    n_annotators: Sequence[int],
    labels_per_item: Sequence[int],
    rng: np.random.Generator,
) -> Rows:
    """Draw the annotators of each item, without replacement, from each pool that sees it."""
    parts = []
    first = 0
    for pool, (size, each) in enumerate(zip(n_annotators, labels_per_item, strict=True)):
        items = np.flatnonzero(seen[:, pool])
        chosen = first + subsets(len(items), size, each, rng)
        rows = Rows(np.repeat(items, each), chosen.ravel(), np.full(chosen.size, pool))
        parts.append(rows)
        first += size
    item, annotator, pool_of = (np.concatenate(column) for column in zip(*parts, strict=True))
    order = np.argsort(item, kind="stable")
    return Rows(item[order], annotator[order], pool_of[order])


def subsets(n_rows: int, size: int, each: int, rng: np.random.Generator) -> Ints:
    """Draw for each row a set of ``each`` numbers below ``size``, in increasing order (row, each).

    This is Floyd's algorithm, on all rows at once: step t draws a number up to ``size - each + t``,
    and takes this bound instead if the number is already in the set.
    """
    if each == size:
        return np.tile(np.arange(size), (n_rows, 1))
    chosen = np.full((n_rows, each), _NO_PLACE)
    for step, bound in enumerate(range(size - each, size)):
        drawn = rng.integers(bound + 1, size=n_rows)
        is_repeated = (chosen[:, :step] == drawn[:, None]).any(axis=1)
        chosen[:, step] = np.where(is_repeated, bound, drawn)
    chosen.sort(axis=1)
    return chosen


def item_effects(
    n_items: int, sigma: Floats, correlation: Floats, rng: np.random.Generator
) -> Floats:
    """Draw correlated effects (item, pool).

    Eigenvectors are used, since NumPy has no Cholesky factor for a correlation of 1.
    """
    value, vector = np.linalg.eigh(correlation)
    root = vector * np.sqrt(np.maximum(value, 0))
    return np.asarray(rng.standard_normal((n_items, len(sigma))) @ root.T * sigma)


def yes(eta: Floats, rng: np.random.Generator) -> Ints:
    """Draw 1 with the probability whose logit is the linear predictor, else 0."""
    return (eta + rng.logistic(size=len(eta)) > 0).astype(np.int64)


def grades(eta: Floats, cutpoint: Floats, rng: np.random.Generator) -> Ints:
    """Draw the number of cutpoints below a normal draw around each linear predictor."""
    return np.searchsorted(cutpoint, eta + rng.standard_normal(len(eta)))


FAMILIES: Final = {"gaussian": "continuous", "bernoulli": "nominal", "ordinal": "ordinal"}
"""The kind of annotations of each family."""
_LATENT: Final = {"bernoulli": np.pi / np.sqrt(3), "ordinal": 1.0}
_CORRELATION: Final = 0.7
_CUTPOINT: Final = (-1.5, -0.5, 0.5, 1.5)
_ROUNDING: Final = 1e-9


@dataclass(frozen=True)
class Design:
    """Checked settings of `replication_study`; arrays and lists have an entry for each pool."""

    n_items: int
    n_annotators: list[int]
    labels_per_item: list[int]
    family: str
    mu: Floats
    sigma_item: Floats
    sigma_annotator: Floats
    sigma: Floats
    one_sigma: bool
    correlation: Floats
    pools: tuple[str, ...] | None
    cutpoint: Floats
    overlap: float

    @property
    def n_pools(self) -> int:
        """The number of pools."""
        return len(self.n_annotators)

    @property
    def pool_of(self) -> npt.NDArray[np.int64]:
        """(annotator): place of the annotator's pool."""
        return np.repeat(np.arange(self.n_pools), self.n_annotators)


def _per_pool(name: str, value: Any, *, n_pools: int, least: float) -> Floats:
    return np.array(for_each(name, value, n_pools, "pool", partial(arguments.finite, least=least)))


def _pools(pools: Any) -> tuple[str, ...]:
    """Return two or more different names."""
    names = tuple(pools) if arguments.is_listed(pools) else ()
    are_texts = all(isinstance(name, str) and name for name in names)
    if len(names) < 2 or not are_texts or len(set(names)) < len(names):
        raise ArgumentError(
            "pools", expected="two or more different names, or None for one pool",
            found=brief(pools),
        )  # fmt: skip
    return tuple(str(name) for name in names)


def _labels_per_item(value: Any, n_annotators: list[int]) -> list[int]:
    """Return each pool's number of labels per item, or raise if it has fewer annotators."""

    def count(name: str, entry: Any) -> int | None:
        return None if entry is None else arguments.whole(name, entry)

    given = for_each("labels_per_item", value, len(n_annotators), "pool", count)
    for place, (each, people) in enumerate(zip(given, n_annotators, strict=True)):
        if each is not None and each > people:
            where = f"pool {place}" if len(n_annotators) > 1 else ""
            raise ArgumentError(
                "labels_per_item", where=where, found=str(each),
                expected=f"at most {people}, the number of annotators, or None for all",
            )  # fmt: skip
    return [people if each is None else each
            for each, people in zip(given, n_annotators, strict=True)]  # fmt: skip


def _sigma(sigma: Any, family: str, n_pools: int) -> Floats:
    """Return each pool's residual standard deviation: given, or fixed by the latent scale."""
    if family == "gaussian":
        given = 1.0 if sigma is None else sigma
        return np.array(for_each("sigma", given, n_pools, "pool", arguments.positive))
    if sigma is not None:
        raise ArgumentError(
            "sigma", expected=f"None with family={family!r}, whose latent scale fixes it",
            found=brief(sigma),
        )  # fmt: skip
    return np.full(n_pools, _LATENT[family])


def _correlation(value: Any, n_pools: int) -> Floats:
    """Return the correlation matrix of pools, from one number for all pairs or from a matrix."""
    if n_pools == 1:
        if value is not None:
            raise ArgumentError(
                "correlation", expected="None without pools=",
                found=brief(value),
            )  # fmt: skip
        return np.ones((1, 1))
    if np.iterable(value) and not isinstance(value, str):
        try:
            matrix = np.asarray(value, dtype=np.float64)
        except (TypeError, ValueError):
            matrix = np.empty((0, 0))
    else:
        pair = arguments.finite("correlation", _CORRELATION if value is None else value)
        matrix = np.where(np.eye(n_pools, dtype=bool), 1.0, pair)
    if matrix.shape != (n_pools, n_pools) or not _is_correlation(matrix):
        least = -1 / (n_pools - 1)
        raise ArgumentError(
            "correlation",
            expected=f"a number from {least:.3g} to 1, or a symmetric matrix of "
            f"{n_pools} x {n_pools} with ones on its diagonal and no negative eigenvalue",
            found=brief(value),
        )
    return matrix


def _is_correlation(matrix: Floats) -> bool:
    if not np.isfinite(matrix).all():
        return False
    even = np.abs(matrix - matrix.T).max() <= _ROUNDING
    ones = np.abs(np.diag(matrix) - 1).max() <= _ROUNDING
    return bool(even and ones and np.linalg.eigvalsh(matrix).min() >= -_ROUNDING)


def _cutpoint(value: Any, family: str) -> Floats:
    """Return the cutpoints; an empty array for families without cutpoints."""
    if family != "ordinal":
        if value is not None:
            raise ArgumentError(
                "cutpoint", expected=f"None with family={family!r}", found=brief(value)
            )
        return np.empty(0)
    if value is None:
        return np.array(_CUTPOINT)
    cutpoints = arguments.finite_row("cutpoint", value)
    if (np.diff(cutpoints) <= 0).any():
        raise ArgumentError("cutpoint", expected="increasing numbers", found=brief(value))
    if abs(cutpoints.mean()) > _ROUNDING * (1 + np.abs(cutpoints).max()):
        raise ArgumentError(
            "cutpoint", expected="numbers whose mean is 0",
            found=f"a mean of {cutpoints.mean():.6g}",
            hint="Subtract this mean from the cutpoints and from mu: labels do not change",
        )  # fmt: skip
    return cutpoints


def _overlap(value: Any, n_pools: int, n_items: int) -> float:
    """Return the share of items that all pools label, or raise if a pool would have no items."""
    share = arguments.probability("overlap", value)
    if n_pools == 1 and share != 1:
        raise ArgumentError("overlap", expected="1 without pools=", found=repr(value))
    if round(share * n_items) == 0 and n_items < n_pools:
        raise ArgumentError(
            "n_items", expected=f"at least {n_pools}, since no item is for all {n_pools} pools",
            found=str(n_items), hint="Or increase overlap",
        )  # fmt: skip
    return share


_YES: Final = ("no", "yes")


class ReplicationStudy(NamedTuple):
    """The result of `replication_study`.

    Examples
    --------
    >>> import dissensus as dx
    >>> annotations, truth = dx.simulate.replication_study(10, 5, 3, random_seed=1)
    >>> annotations.sizes["annotation"], round(truth["icc"].item(), 3)
    (30, 0.444)
    """

    annotations: xr.Dataset
    truth: xr.Dataset
    """The models' parameters, with ``item_effect`` and ``annotator_effect``, and on the latent
    scale ``icc``, ``annotator_icc`` and, between pools, ``normalized_xcc`` and ``xcc``."""


def replication_study(
    n_items: int = 200,
    n_annotators: int | Sequence[int] = 20,
    labels_per_item: int | Sequence[int | None] | None = 5,
    *,
    family: str = "gaussian",
    mu: float | Sequence[float] = 0.0,
    sigma_item: float | Sequence[float] = 1.0,
    sigma_annotator: float | Sequence[float] = 0.5,
    sigma: float | Sequence[float] | None = None,
    correlation: float | npt.ArrayLike | None = None,
    pools: Sequence[str] | None = None,
    cutpoint: Sequence[float] | None = None,
    overlap: float = 1.0,
    random_seed: Any = None,
) -> ReplicationStudy:
    r"""Simulate labels with effects of items and of annotators, in one pool or several.

    .. math:: \eta_{ij} = \mu_p + a_{ip} + b_j, \qquad a_i \sim \mathrm{Normal}(0, S R S), \qquad
        b_j \sim \mathrm{Normal}(0, \sigma_{\mathrm{annotator}, p}^2)

    for item i and annotator j of pool p: the process of the models `crossed_effects` (one pool)
    and `cross_replication`. S has ``sigma_item`` on the diagonal, R is ``correlation``.

    Parameters
    ----------
    n_items : int
        Number of items.
    n_annotators : int or sequence of int
        Number of annotators: one number for all pools, or a number for each. Each annotator is in
        one pool.
    labels_per_item : int, None or sequence of these
        Number of annotators of a pool who label an item that the pool sees; None for all. Every set
        of annotators is equally likely.
    family : {"gaussian", "bernoulli", "ordinal"}
        Numbers, Normal(:math:`\eta`, ``sigma``); "no" or "yes", with :math:`\eta` the logit of
        "yes"; or labels 1 to K, with P(label <= k) = :math:`\Phi(c_k - \eta)`.
    mu : float or sequence of float
        Mean of each pool.
    sigma_item, sigma_annotator : float or sequence of float
        Standard deviations of the effects; >= 0.
    sigma : float or sequence of float, optional
        Residual standard deviation, > 0, for the family "gaussian" (1 by default). For the other
        families it is fixed on the latent scale: :math:`\pi/\sqrt 3` and 1.
    correlation : float or array_like (pool, pool), optional
        Correlation of the effects of an item in different pools: one number for all pairs (.7 by
        default), or a matrix.
    pools : sequence of str, optional
        Names of two or more pools; by default there is one pool without a name.
    cutpoint : sequence of float, optional
        For the family "ordinal": K - 1 increasing numbers whose mean is 0. By default -1.5, -.5,
        .5, 1.5, for five labels.
    overlap : float
        Share of items, from 0 to 1, that all pools label. Each other item is labelled by one pool.
    random_seed : int or numpy.random.Generator, optional
        The same seed gives the same study. With one seed, the annotators of an item do not depend
        on the family or the parameters.

    Returns
    -------
    ReplicationStudy
        With the fields ``annotations`` (continuous, nominal or ordinal) and ``truth``, which also
        has effects of items in pools that did not label them, and of annotators without labels.

    Notes
    -----
    The true latent ICC of a pool is :math:`\sigma_{\mathrm{item}}^2 / (\sigma_{\mathrm{item}}^2 +
    \sigma_{\mathrm{annotator}}^2 + \sigma^2)`; the annotator ICC has
    :math:`\sigma_{\mathrm{annotator}}^2` as its numerator. Normalised xCC is the correlation, and
    xCC is the correlation times :math:`\sqrt{\mathrm{ICC}_p \mathrm{ICC}_q}`.

    Four million labels take a few seconds.

    Examples
    --------
    >>> import dissensus as dx
    >>> study = dx.simulate.replication_study(
    ...     50, (12, 12, 4), (4, 4, None), pools=("control", "treatment", "experts"),
    ...     correlation=0.8, random_seed=1,
    ... )
    >>> dict(study.annotations.sizes)
    {'annotation': 600, 'item': 50, 'annotator': 28, 'pool': 3}
    >>> study.truth["icc"].round(3).values
    array([0.444, 0.444, 0.444])
    """
    n_items = arguments.whole("n_items", n_items)
    named = None if pools is None else _pools(pools)
    n_pools = 1 if named is None else len(named)
    family = arguments.one_of("family", family, tuple(FAMILIES))
    number = partial(_per_pool, n_pools=n_pools, least=-np.inf)
    spread = partial(_per_pool, n_pools=n_pools, least=0.0)
    people = for_each("n_annotators", n_annotators, n_pools, "pool", arguments.whole)
    design = Design(
        n_items=n_items,
        n_annotators=people,
        labels_per_item=_labels_per_item(labels_per_item, people),
        family=family,
        mu=number("mu", mu),
        sigma_item=spread("sigma_item", sigma_item),
        sigma_annotator=spread("sigma_annotator", sigma_annotator),
        sigma=_sigma(sigma, family, n_pools),
        one_sigma=not arguments.is_listed(sigma),
        correlation=_correlation(correlation, n_pools),
        pools=named,
        cutpoint=_cutpoint(cutpoint, family),
        overlap=_overlap(overlap, n_pools, n_items),
    )
    of_annotators, effects, labels = np.random.default_rng(random_seed).spawn(3)
    seen = seen_by(design.n_items, design.n_pools, design.overlap, of_annotators)
    rows = who_labels(seen, design.n_annotators, design.labels_per_item, of_annotators)
    drawn = _drawn_effects(design, effects)
    eta = design.mu[rows.pool] + drawn.item[rows.item, rows.pool] + drawn.annotator[rows.annotator]
    ann = _annotated(design, rows, eta, labels)
    return ReplicationStudy(ann, _truth(design, drawn, ann))


@dataclass(frozen=True)
class _Effects:
    item: Floats
    """(item, pool)"""
    annotator: Floats
    """(annotator): pool after pool."""


def _drawn_effects(design: Design, rng: np.random.Generator) -> _Effects:
    of_items, of_annotators = rng.spawn(2)
    item = item_effects(design.n_items, design.sigma_item, design.correlation, of_items)
    spread = design.sigma_annotator[design.pool_of]
    return _Effects(item, spread * of_annotators.standard_normal(len(spread)))


def _annotated(design: Design, rows: Rows, eta: Floats, rng: np.random.Generator) -> xr.Dataset:
    """Draw the labels and read them as annotations."""
    table: dict[str, Any] = {"item": rows.item + 1, "annotator": rows.annotator + 1}
    settings: dict[str, Any] = {"kind": FAMILIES[design.family]}
    if design.pools is not None:
        # Ordered, so that pools keep the given order and are not sorted by name.
        pool = pd.Categorical.from_codes(rows.pool, pd.Index(design.pools), ordered=True)
        table["pool"], settings["pool"] = pool, "pool"
    if design.family == "gaussian":
        table["label"] = eta + design.sigma[rows.pool] * rng.standard_normal(len(eta))
    elif design.family == "bernoulli":
        table["label"] = np.array(_YES)[yes(eta, rng)]
        settings["labels"] = list(_YES)
    else:
        table["label"] = 1 + grades(eta, design.cutpoint, rng)
        settings["labels"] = list(range(1, len(design.cutpoint) + 2))
    return _annotations.annotations(table, **settings)


def _truth(design: Design, drawn: _Effects, ann: xr.Dataset) -> xr.Dataset:
    """Return the truth with the variables and dims of the models' posterior."""
    total = design.sigma_item**2 + design.sigma_annotator**2 + design.sigma**2
    per_pool = {
        "mu": design.mu, "sigma_item": design.sigma_item,
        "sigma_annotator": design.sigma_annotator, "sigma": design.sigma,
        "icc": design.sigma_item**2 / total, "annotator_icc": design.sigma_annotator**2 / total,
    }  # fmt: skip
    coords: dict[str, Any] = {
        ITEM: np.arange(1, design.n_items + 1),
        ANNOTATOR: np.arange(1, len(drawn.annotator) + 1),
    }
    if design.pools is None:
        out = xr.Dataset({name: value[0] for name, value in per_pool.items()}, coords)
        out["item_effect"] = (ITEM, drawn.item[:, 0])
        out["annotator_effect"] = (ANNOTATOR, drawn.annotator)
    else:
        names = ann[POOL].to_numpy()  # as they were read: "1" becomes a number
        coords |= {POOL: names, other(POOL): names}
        out = xr.Dataset({name: (POOL, value) for name, value in per_pool.items()}, coords)
        if design.one_sigma:
            out["sigma"] = design.sigma[0]
        _add_between_pools(out, design, drawn)
    if design.family == "ordinal":
        out["cutpoint"] = (BOUNDARY, design.cutpoint)
    return out.assign_attrs(family=design.family)


def _add_between_pools(out: xr.Dataset, design: Design, drawn: _Effects) -> None:
    """Add effects of each pool, and correlations between pools."""
    out["item_effect"] = ((ITEM, POOL), drawn.item)
    elsewhere = design.pool_of[:, None] != np.arange(design.n_pools)
    effect = np.where(elsewhere, np.nan, drawn.annotator[:, None])
    out["annotator_effect"] = ((ANNOTATOR, POOL), effect)
    pair = (POOL, other(POOL))
    icc = out["icc"].to_numpy()
    out["correlation"] = (pair, design.correlation)
    out["normalized_xcc"] = (pair, design.correlation)
    out["xcc"] = (pair, design.correlation * np.sqrt(np.outer(icc, icc)))
