"""A replication study with a known truth: one pool or several, and items labelled in each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
import xarray as xr

from dissensus.data import annotations as _annotations
from dissensus.dims import ANNOTATOR, BOUNDARY, ITEM, POOL, other
from dissensus.kernels.types import Floats
from dissensus.simulate import _crossed
from dissensus.simulate._replication_checks import FAMILIES, Design, checked

_YES: Final = ("no", "yes")


class ReplicationStudy(NamedTuple):
    """What `replication_study` returns.

    Examples
    --------
    >>> import dissensus as dx
    >>> annotations, truth = dx.simulate.replication_study(10, 5, 3, random_seed=1)
    >>> annotations.sizes["annotation"], round(truth["icc"].item(), 3)
    (30, 0.444)
    """

    annotations: xr.Dataset
    truth: xr.Dataset
    """The parameters under the names that the models give them, with ``item_effect`` and
    ``annotator_effect``, and on the latent scale ``icc``, ``annotator_icc`` and, between pools,
    ``normalized_xcc`` and ``xcc``."""


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
    and `cross_replication`. S holds ``sigma_item`` on its diagonal, R is ``correlation``.

    Parameters
    ----------
    n_items : int
        How many items; at least 1.
    n_annotators : int or sequence of int
        How many annotators, in every pool or in each. Nobody is in two pools.
    labels_per_item : int, None or sequence of these
        How many annotators of a pool label an item that the pool sees; None for all of them. Who
        does is drawn item by item, every set of annotators being equally likely.
    family : {"gaussian", "bernoulli", "ordinal"}
        Numbers, Normal(:math:`\eta`, ``sigma``); "no" or "yes", with :math:`\eta` the logit of
        "yes"; or labels 1 to K, with P(label <= k) = :math:`\Phi(c_k - \eta)`.
    mu : float or sequence of float
        The mean of each pool.
    sigma_item, sigma_annotator : float or sequence of float
        Standard deviations of the effects; >= 0.
    sigma : float or sequence of float, optional
        Standard deviation of what remains, > 0, for the family "gaussian" (1 by default). The
        others have theirs fixed on the latent scale: :math:`\pi/\sqrt 3` and 1.
    correlation : float or array_like (pool, pool), optional
        Between the effects of one item in different pools: one for all pairs (.7 by default), or
        the matrix.
    pools : sequence of str, optional
        Names of two or more pools. By default there is one, without a name.
    cutpoint : sequence of float, optional
        For the family "ordinal": K - 1 increasing numbers whose mean is 0, so that ``mu`` is
        measured from the middle of the scale. By default -1.5, -.5, .5, 1.5, for five labels.
    overlap : float
        Share of items, from 0 to 1, that all pools see. The others are dealt out, one pool each.
    random_seed : int or numpy.random.Generator, optional
        Makes the study repeatable. With one seed, who labels what does not depend on the family
        nor on the parameters.

    Returns
    -------
    ReplicationStudy
        With the fields ``annotations`` (of the kind "continuous", "nominal" or "ordinal") and
        ``truth``, which also holds items' effects in pools that did not see them, and annotators
        who happened to label nothing.

    Raises
    ------
    ArgumentError
        If an argument makes no sense.

    Notes
    -----
    The true latent ICC of a pool is :math:`\sigma_{\mathrm{item}}^2 / (\sigma_{\mathrm{item}}^2 +
    \sigma_{\mathrm{annotator}}^2 + \sigma^2)`, the annotator ICC has
    :math:`\sigma_{\mathrm{annotator}}^2` above the line. Normalised xCC is the correlation, and
    xCC is it times :math:`\sqrt{\mathrm{ICC}_p \mathrm{ICC}_q}`.

    Time and memory grow with the number of labels (four million take a few seconds), and with the
    number of items times the square of ``labels_per_item``.

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
    design = checked(
        n_items=n_items, n_annotators=n_annotators, labels_per_item=labels_per_item,
        family=family, mu=mu, sigma_item=sigma_item, sigma_annotator=sigma_annotator,
        sigma=sigma, correlation=correlation, pools=pools, cutpoint=cutpoint, overlap=overlap,
    )  # fmt: skip
    who, effects, labels = np.random.default_rng(random_seed).spawn(3)
    seen = _crossed.seen_by(design.n_items, design.n_pools, design.overlap, who)
    rows = _crossed.who_labels(seen, design.n_annotators, design.labels_per_item, who)
    drawn = _drawn_effects(design, effects)
    eta = design.mu[rows.pool] + drawn.item[rows.item, rows.pool] + drawn.annotator[rows.annotator]
    ann = _annotated(design, rows, eta, labels)
    return ReplicationStudy(ann, _truth(design, drawn, ann))


@dataclass(frozen=True)
class _Effects:
    item: Floats
    """(item, pool)"""
    annotator: Floats
    """(annotator), through all pools"""


def _drawn_effects(design: Design, rng: np.random.Generator) -> _Effects:
    of_items, of_annotators = rng.spawn(2)
    item = _crossed.item_effects(design.n_items, design.sigma_item, design.correlation, of_items)
    spread = design.sigma_annotator[design.pool_of]
    return _Effects(item, spread * of_annotators.standard_normal(len(spread)))


def _annotated(
    design: Design, rows: _crossed.Rows, eta: Floats, rng: np.random.Generator
) -> xr.Dataset:
    """Draw the labels and read them as annotations."""
    table: dict[str, Any] = {"item": rows.item + 1, "annotator": rows.annotator + 1}
    settings: dict[str, Any] = {"kind": FAMILIES[design.family]}
    if design.pools is not None:
        # Ordered, for the pools to stay as they were given and not become alphabetical.
        pool = pd.Categorical.from_codes(rows.pool, pd.Index(design.pools), ordered=True)
        table["pool"], settings["pool"] = pool, "pool"
    if design.family == "gaussian":
        table["label"] = _crossed.numbers(eta, design.sigma[rows.pool], rng)
    elif design.family == "bernoulli":
        table["label"] = np.array(_YES)[_crossed.yes(eta, rng)]
        settings["labels"] = list(_YES)
    else:
        table["label"] = 1 + _crossed.grades(eta, design.cutpoint, rng)
        settings["labels"] = list(range(1, len(design.cutpoint) + 2))
    return _annotations.annotations(table, **settings)


def _truth(design: Design, drawn: _Effects, ann: xr.Dataset) -> xr.Dataset:
    """Lay the truth out as the models lay out their posterior."""
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
        names = ann[POOL].to_numpy()  # as they were read: "1" is a number there
        coords |= {POOL: names, other(POOL): names}
        out = xr.Dataset({name: (POOL, value) for name, value in per_pool.items()}, coords)
        if design.one_sigma:
            out["sigma"] = design.sigma[0]
        _add_between_pools(out, design, drawn)
    if design.family == "ordinal":
        out["cutpoint"] = (BOUNDARY, design.cutpoint)
    return out.assign_attrs(family=design.family)


def _add_between_pools(out: xr.Dataset, design: Design, drawn: _Effects) -> None:
    """Add what one pool alone does not have."""
    out["item_effect"] = ((ITEM, POOL), drawn.item)
    elsewhere = design.pool_of[:, None] != np.arange(design.n_pools)
    effect = np.where(elsewhere, np.nan, drawn.annotator[:, None])
    out["annotator_effect"] = ((ANNOTATOR, POOL), effect)
    pair = (POOL, other(POOL))
    icc = out["icc"].to_numpy()
    out["correlation"] = (pair, design.correlation)
    out["normalized_xcc"] = (pair, design.correlation)
    out["xcc"] = (pair, design.correlation * np.sqrt(np.outer(icc, icc)))
