"""Tables of plans for a terminal of 80 columns."""

from __future__ import annotations

import numpy as np
import xarray as xr
from rich.markup import escape
from rich.table import Table

from dissensus._wording import capital, probability, share, short
from dissensus.dims import ANNOTATOR, ESTIMATOR, ITEM, SCOPE, SCOPES
from dissensus.studies.planning.sentences import per_pool, quantities
from dissensus.studies.planning.unknown_truth import ESTIMATORS


def plan_tables(found: xr.Dataset) -> list[Table]:
    """Lay out a plan, of whichever kind."""
    if "within_share" in found:
        return [_closeness_table(found)]
    if "reliability" not in found:
        return [_accuracy_table(found)]
    return [_reliability_table(found), *([_width_table(found)] if "half_width" in found else [])]


def _accuracy_table(found: xr.Dataset) -> Table:
    """Lay out how well the accuracy of a system would be known."""
    accuracy = found.attrs["accuracy"]
    table = Table(
        "annotators", "certainty", "items above .9", "shortfall",
        *(f"± at {n} items" for n in found[ITEM].to_numpy()),
        title=f"{found.attrs['probability']:.0%} interval of a system of accuracy {accuracy:g}",
        title_justify="left",
    )  # fmt: skip
    for n in found[ANNOTATOR].to_numpy():
        row = found.sel({ANNOTATOR: n})
        cells = [row["certainty"].item(), row["certain_share"].item(), row["shortfall"].item()]
        cells += row["half_width"].to_numpy().tolist()
        table.add_row(str(n), *(f"{cell:.3f}" for cell in cells))
    return table


def _reliability_table(found: xr.Dataset) -> Table:
    """Lay out what the mean of so many labels is worth."""
    level, target = found.attrs["probability"], share(found.attrs["target"])
    table = Table(title="Reliability of the mean label of an item", title_justify="left")
    for name in ("annotators", "median", f"{level:.0%} eti", f"P(≥ {target})"):
        table.add_column(name, justify="right", no_wrap=True)
    for name, part in per_pool(found):
        _section(table, name)
        for k in part[ANNOTATOR].to_numpy():
            row = part.sel({ANNOTATOR: k})
            low, middle, high = np.nanquantile(
                row["reliability"].to_numpy(), [(1 - level) / 2, 0.5, (1 + level) / 2]
            )
            bounds = escape(f"[{share(low)}, {share(high)}]")
            chance = probability(row["probability_reached"].item())
            table.add_row(str(k), share(middle), bounds, chance)
    return table


def _width_table(found: xr.Dataset) -> Table:
    """Lay out how wide intervals would be, and how often they are short enough."""
    level, width = found.attrs["probability"], share(found.attrs["width"])
    title = (
        f"Half the {level:.0%} interval (share of {found.attrs['studies']} simulated\n"
        f"studies where the whole is {width} or shorter)"
    )
    table = Table(title=title, title_justify="left")
    table.add_column("annotators", justify="right", no_wrap=True)
    for n in found[ITEM].to_numpy():
        table.add_column(f"{n:,} items", justify="right")
    for name, part in quantities(found):
        _section(table, capital(name.removeprefix("the ")) if name != "the ICC" else "")
        for k in part[ANNOTATOR].to_numpy():
            row = part.sel({ANNOTATOR: k})
            pairs = zip(
                row["half_width"].to_numpy(), row["probability_narrow"].to_numpy(), strict=True
            )
            table.add_row(str(k), *(f"± {share(half, 3)} ({share(p)})" for half, p in pairs))
    return table


def _closeness_table(found: xr.Dataset) -> Table:
    """Lay out how often estimates come near a system's accuracy, the truth being unknown."""
    about = found.attrs
    title = (
        f"Share of {about['studies']} simulated studies whose estimate is within "
        f"{share(about['within'])} of\nthe system's accuracy, {share(about['accuracy'])}; "
        f"± half the {about['probability']:.0%} interval; enough for {share(about['assurance'])}"
    )
    table = Table(title=title, title_justify="left")
    table.add_column("annotators", no_wrap=True)
    for n in [*(f"{n:,} items" for n in found[ITEM].to_numpy()), "enough"]:
        table.add_column(n, justify="right")
    new = found.sel({SCOPE: SCOPES[1]})
    for k in found[ANNOTATOR].to_numpy():
        table.add_section()
        for name, title in zip(ESTIMATORS, ("model", "lehner"), strict=True):
            row = new.sel({ANNOTATOR: k, ESTIMATOR: name})
            cells = [share(p) for p in row["within_share"].to_numpy()]
            if name == ESTIMATORS[0]:
                halves = row["half_width"].to_numpy()
                cells = [f"{p} ± {share(h)}" for p, h in zip(cells, halves, strict=True)]
            table.add_row(f"{k}, {title}", *cells, _enough(row["items_enough"].item(), found))
    return table


def _enough(items: float, found: xr.Dataset) -> str:
    """Write how many items it takes: exactly, at most, or more than were tried."""
    tried = found[ITEM].to_numpy()
    if not np.isfinite(items):
        return f"> {tried[-1]:,}"
    at_most = "≤ " if items == tried[0] else ""
    return f"{at_most}{items:,.0f}"


def _section(table: Table, name: str) -> None:
    """Begin a part of a table, under its name."""
    if name:
        table.add_section()
        table.add_row(f"[bold]{escape(short(name, 40))}[/bold]")
