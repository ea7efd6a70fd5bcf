"""Labels and their respondents as data of a PyMC model, in arrays (item, place)."""

from __future__ import annotations

from typing import Any

from dissensus.data.layout import LABELS, PAIRED, PLACE, RESPONDENTS
from dissensus.dims import ITEM
from dissensus.kernels.types import Ints


def observed(respondents: Ints, labels: Ints) -> tuple[Any, Any]:
    """Add respondents and labels (item, place) as data to the current PyMC model."""
    import pymc as pm

    dims = (ITEM, PLACE)
    return pm.Data(RESPONDENTS, respondents, dims=dims), pm.Data(LABELS, labels, dims=dims)


def paired(respondents: Any, labels: Any) -> Any:
    """Return respondents with a check in the graph: each label has a respondent, and vice versa."""
    import pytensor.tensor as pt
    from pytensor.raise_op import Assert

    return Assert(PAIRED)(respondents, pt.all(pt.eq(respondents < 0, labels < 0)))
