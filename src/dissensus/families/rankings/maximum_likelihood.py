"""Maximum likelihood under Plackett-Luce, from annotations to a plausibility without draws."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import numpy.typing as npt
import xarray as xr

from dissensus import arguments
from dissensus.data.plausibility import candidate_form, layout
from dissensus.data.rows import statements_per
from dissensus.dims import ITEM, LABEL
from dissensus.errors import DissensusWarning, shown
from dissensus.families.rankings.kernels.mm import maximum
from dissensus.families.rankings.layout import laid_out
from dissensus.families.rankings.process import KINDS, require_comparisons
from dissensus.sampling import fitting


def maximum_likelihood(
    annotations: xr.Dataset,
    *,
    unranked: str = "exact",
    tolerance: float = 1e-10,
    max_iterations: int = 10_000,
) -> xr.DataArray:
    r"""Return the plausibilities under which the rankings are most probable, item by item.

    This is the deterministic counterpart of the Plackett-Luce model, without a prior, draws or a
    reliability. The likelihood is exact for tied and unranked labels. If others are ranked above a
    label, directly or by a chain of rankings, and no chain leads back to them, the likelihood
    increases as the label's plausibility falls, and the result is the limit, 0. Unnamed labels also
    get 0. With a single ranking without ties, the first label has plausibility 1. With few
    annotators, do not rely on this estimate: only the posterior of the model shows the uncertainty.

    If the rankings do not decide between the strongest labels, because these are always tied (or,
    with ``unranked="absent"``, not compared by any chain of rankings), there are many maxima. The
    result is the maximum in which each group of such labels gets a part in proportion to its number
    of labels: tied labels share evenly. The coordinate ``unique`` and a warning mark such items.

    Parameters
    ----------
    annotations : xarray.Dataset
        Rankings, or single labels (then the result is their relative frequency).
    unranked : {"exact", "one", "ignore", "absent"}
        Treatment of labels that an annotator does not list. The first three give the same here:
        unlisted labels are last, and unnamed labels get 0. ``"absent"``: unlisted labels were not
        available, like drivers who did not start in a race.
    tolerance : float
        Stop when a step of the MM algorithm would change no strength by more than this fraction.
    max_iterations : int
        Maximum number of passes over the rankings. A warning says if more are needed.

    Returns
    -------
    xarray.DataArray
        ``plausibility`` (item, candidate), without draws, in candidate form (see
        `dissensus.plausibility`). Coordinates over item:

        ``log_likelihood``
            The maximum of the log-likelihood, or the limit that it tends to.
        ``boundary``
            Whether a named label has plausibility 0.
        ``unique``
            Whether there is one maximum only.
        ``reached``
            Whether the maximum was reached within `max_iterations`.

        The attributes ``n_boundary``, ``n_not_unique`` and ``n_not_reached`` count the items.

    Raises
    ------
    AnnotationError
        If the annotations are of another kind, or an item has none.
    ArgumentError
        If an argument is invalid.

    Warns
    -----
    DissensusWarning
        If the maximum of an item is not unique, or was not reached.

    References
    ----------
    Hunter (2004), MM algorithms for generalized Bradley-Terry models, Annals of Statistics 32:
    the algorithm, and when the maximum is unique; Lange (1995), A quasi-Newton acceleration of the
    EM algorithm, Statistica Sinica 5.

    Examples
    --------
    >>> import dissensus as dx
    >>> ann = dx.from_rankings({"case": [[["a"], ["b"]], [["a"]], [["b"]]]}, labels="abc")
    >>> found = dx.models.plackett_luce.maximum_likelihood(ann)
    >>> found.values.round(6)  # a is first in 2 of 3
    array([[0.666667, 0.333333, 0.      ]])
    """
    fitting.require_kind(annotations, KINDS, "plackett_luce")
    fitting.require_annotated(
        statements_per(annotations, ITEM), annotations, "without one the likelihood is constant"
    )
    where = layout(annotations)
    laid = laid_out(annotations, where, unranked)
    if unranked == "absent":
        require_comparisons(annotations, laid)
    fitted = maximum(
        laid.rankings,
        tolerance=arguments.positive("tolerance", tolerance),
        max_passes=arguments.whole("max_iterations", max_iterations),
    )
    item = np.repeat(np.arange(len(where.sizes)), laid.rankings.n_cells)
    values = np.zeros(where.codes.shape)
    values[item, laid.candidate] = fitted.share
    items, labels = (annotations[dim].to_numpy() for dim in (ITEM, LABEL))
    lost = ~fitted.top & (laid.candidate < where.codes.shape[1] - 1)  # the last is the remainder
    notes = {
        "boundary": np.bincount(item[lost], minlength=len(items)) > 0,
        "unique": fitted.n_tops == 1,
        "reached": fitted.reached,
    }
    _warn(notes, items)
    out = candidate_form(values, where, items, labels, concentration=float("inf"), seed=0)
    out.coords["log_likelihood"] = (ITEM, fitted.log_likelihood)
    out = out.assign_coords({name: (ITEM, note) for name, note in notes.items()})
    out.attrs |= {
        "unranked": unranked,
        "n_boundary": int(notes["boundary"].sum()),
        "n_not_unique": int((~notes["unique"]).sum()),
        "n_not_reached": int((~notes["reached"]).sum()),
    }
    return out


def _warn(notes: dict[str, npt.NDArray[np.bool_]], items: npt.NDArray[Any]) -> None:
    """Warn of items whose plausibilities are not unique, or for which no maximum was reached."""
    for name, text in (
        ("unique", "the rankings do not decide between the strongest labels, which are always tied "
         "or never compared; groups of them share the plausibility in proportion to their sizes. "
         "The coordinate 'unique' marks such items"),
        ("reached", "the maximum was not reached; increase max_iterations. The coordinate "
         "'reached' marks such items"),
    ):  # fmt: skip
        open_items = items[~notes[name]]
        if len(open_items):
            warnings.warn(
                f"maximum_likelihood, {len(open_items)} of {len(items)} items "
                f"({shown(list(open_items))}): {text}.",
                DissensusWarning,
                stacklevel=3,
            )
