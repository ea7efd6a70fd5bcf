"""The posterior of a fit as ArviZ's table, without what there is one of for each item."""

from __future__ import annotations

import pandas as pd
import xarray as xr

from dissensus.dims import ITEM, LABEL

GROUP = "posterior"
_OTHER_NAME = "label_"
"""ArviZ gives the dim ``label`` to the rows of its table, and no variable may have it."""


def posterior_rows(fit: xr.DataTree) -> pd.DataFrame:
    """Summarise the parameters of a fit by `arviz.summary`; those of items only if none is left."""
    import arviz as az

    whole = fit[GROUP].to_dataset()
    of_items = [str(name) for name, values in whole.data_vars.items() if ITEM in values.dims]
    few = whole.drop_vars(of_items)
    left_out = of_items if few.data_vars else []
    found = few if few.data_vars else whole
    if LABEL in found.dims:
        found = found.rename({LABEL: _OTHER_NAME})
    table = az.summary(found)
    assert isinstance(table, pd.DataFrame)
    table.attrs["left_out"] = left_out
    return table
