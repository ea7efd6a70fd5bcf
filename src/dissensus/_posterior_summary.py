"""The posterior of a fit as ArviZ's table, without what there is one of for each item."""

from __future__ import annotations

import pandas as pd
import xarray as xr

from dissensus._doubts import DOUBT, each, is_exact, of_fit
from dissensus.dims import ITEM, LABEL
from dissensus.errors import ArgumentError

GROUP = "posterior"
_OTHER_NAME = "label_"
"""ArviZ gives the dim ``label`` to the rows of its table, and no variable may have it."""


def posterior_rows(fit: xr.DataTree) -> pd.DataFrame:
    """Summarise the parameters of a fit by `arviz.summary`; those of items only if none is left."""
    import arviz as az

    posterior = fit[GROUP]
    assert isinstance(posterior, xr.DataTree)
    whole = posterior.to_dataset()
    of_items = [str(name) for name, values in whole.data_vars.items() if ITEM in values.dims]
    few = whole.drop_vars(of_items)
    left_out = of_items if few.data_vars else []
    found = few if few.data_vars else whole
    if found.chunks:
        raise ArgumentError(
            "evaluation", expected="draws in memory", found="draws in chunks, yet to be made",
            hint="Metrics of them are small: arviz.summary(dx.certainty(fit).compute()); "
            "fit.compute() draws all",
        )  # fmt: skip
    if LABEL in found.dims:
        found = found.rename({LABEL: _OTHER_NAME})
    table = az.summary(found)
    assert isinstance(table, pd.DataFrame)
    of_all = of_fit(posterior)
    exact = is_exact(posterior.attrs)
    own = [""] * len(table) if exact else each(table, table.get("ess_tail"))
    table[DOUBT] = [of_all or one for one in own]
    table.attrs["left_out"] = left_out
    return table
