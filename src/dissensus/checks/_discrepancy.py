"""The discrepancy ratio with a fitted model's new annotators in place of the observed ones."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import xarray as xr

from dissensus.checks._replicates import Replicates, evaluated, replicates, stacked
from dissensus.data.alignment import common_items
from dissensus.data.schema import checked_predictions
from dissensus.dims import ITEM, POSITION, SAMPLE, SYSTEM
from dissensus.errors import ArgumentError, DissensusWarning
from dissensus.statistics._discrepancy_ratio import discrepancy_ratio
from dissensus.statistics._sums import SUMS, Undefined

_NAME = "discrepancy_ratio"
_NOMINAL = (None, "nominal", "jaccard")


def model_discrepancy_ratio(
    fit: xr.DataTree,
    predictions: xr.Dataset,
    distance: Any = None,
    *,
    annotations: xr.Dataset | None = None,
    tolerance: float | None = None,
    depth: int | None = None,
    on_missing: str = "raise",
) -> xr.DataArray:
    r"""Draw the discrepancy ratio that new annotators of the same items would give.

    .. math:: \Delta^{(m)} = \frac{\mu(y^{rep (m)})}{\alpha(y^{rep (m)})}, \qquad
        y^{rep (m)} \sim p(y^{rep} \mid \theta^{(m)}), \quad \theta^{(m)} \sim p(\theta \mid y)

    with :math:`\mu` and :math:`\alpha` as in `discrepancy_ratio`: both from the same replicate.

    Parameters
    ----------
    fit : DataTree
        What a model's ``fit(..., posterior_predictive=True)`` returned.
    predictions : Dataset
        Predictions on the same items.
    distance : str or callable, optional
        As in `discrepancy_ratio`. None is "nominal" for models of labels, "squared" for models of
        numbers, and "ranking" for models of rankings.
    annotations : Dataset, optional
        What the model was fitted to. Needed only if annotators gave an item several labels
        (``trial=``), and the fit does not say who did: else each label is one annotator's. With
        them, None for ``distance`` goes by their kind.
    tolerance, depth, on_missing
        As in `discrepancy_ratio`.

    Returns
    -------
    DataArray
        (chain, draw, system), for `arviz.summary`.

    Raises
    ------
    ArgumentError
        If the fit has no predictive draws, or there is no such distance.
    AnnotationError, PredictionError
        If replicates or predictions do not have the distance, or items differ.

    Warns
    -----
    DissensusWarning
        Where replicates are undefined: annotators who agree on all items.

    Notes
    -----
    The spread is that of the annotators who happen to be asked, and of what the model does not
    know of the items; items stay what they are. `bayesian_bootstrap` gives the opposite: these
    annotators, other items. It holds as far as the model holds: see `agreement_check` first. A
    model that lets replicates disagree more than annotators do (a strong prior) flatters systems.

    Examples
    --------
    >>> import dissensus as dx
    >>> study = dx.simulate.study(n_items=30, kind="nominal", random_seed=1)
    >>> fit = dx.models.dirichlet.fit(
    ...     study.annotations, posterior_predictive=True, draws=50, random_seed=1,
    ...     progressbar=False)
    >>> dx.model_discrepancy_ratio(fit, study.predictions).dims
    ('chain', 'draw', 'system')
    """
    both = replicates(fit, annotations)
    if both.another:
        raise ArgumentError(
            "fit", expected="replicates that name each label", found="some label that nobody named",
            hint='Fit plackett_luce with unranked="exact": "one" takes all others for one label',
        )  # fmt: skip
    predictions = checked_predictions(predictions)
    places = xr.DataArray(np.arange(len(both.items)), dims=ITEM, coords={ITEM: both.items})
    common, predictions = common_items(places, predictions, on_missing)
    how = {"distance": distance, "tolerance": tolerance, "depth": depth, "on_missing": "drop"}
    values, attrs = _drawn(both, predictions, common.to_numpy(), how)
    shape = tuple(len(both.sample[dim]) for dim in SAMPLE)
    names = predictions[SYSTEM].to_numpy()
    return xr.DataArray(
        values.reshape(*shape, len(names)),
        dims=(*SAMPLE, SYSTEM),
        coords={**both.sample, SYSTEM: names},
        name=_NAME,
        attrs=both.attrs | attrs,
    )


def _drawn(both: Replicates, predictions: xr.Dataset, place: Any, how: dict[str, Any]) -> Any:
    """Return the ratio of each version and system, and what the statistic says of itself."""
    said, n_items, undefined, found = both.drawn, len(both.items), Undefined(), []
    kind = _kind(both, how["distance"])
    cells = predictions.sizes[SYSTEM] * predictions.sizes.get(POSITION, 1)

    def prepared(some: slice) -> Any:
        n = some.stop - some.start
        ann = stacked(said, said.values(some), n_items, kind, both.labels)
        item = (place + n_items * np.arange(n)[:, None]).ravel()
        again = predictions.isel({ITEM: np.tile(np.arange(len(place)), n)})
        again = again.assign_coords({ITEM: item})
        return discrepancy_ratio(ann, again, **how, weights=SUMS)

    attrs = prepared(slice(0, 1)).attrs  # warns of predictions, once and with the right numbers
    for some in said.blocks(cells * n_items):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DissensusWarning)
            ready = prepared(some)
        found.append(evaluated(ready, some.stop - some.start, undefined)[_NAME])
    text = undefined.message(f"{_NAME} of replicates", "draws")
    if text:
        warnings.warn(text, DissensusWarning, stacklevel=3)
    return np.concatenate(found), dict(attrs)


def _kind(both: Replicates, distance: Any) -> str:
    """Return of which kind replicates are, as far as the distance asks."""
    if both.form == "numbers":
        return "continuous"
    if both.form == "rankings":
        return "ranking"
    if both.form == "labels" and both.kind:
        return both.kind
    return "nominal" if callable(distance) or distance in _NOMINAL else "ordinal"
