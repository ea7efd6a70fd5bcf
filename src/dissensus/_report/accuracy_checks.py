"""Whether estimated accuracies can be relied on, as far as the chains go."""

from __future__ import annotations

import xarray as xr

from dissensus._report import numbers as facts
from dissensus._report.language import Name, Sentence, sentence


def troubles(evaluation: xr.DataTree) -> list[Sentence]:
    """Say if the chains are too short for some accuracy."""
    if not facts.has(evaluation, "accuracy"):
        return []
    attrs = evaluation["accuracy"].attrs
    if not int(attrs.get("n_items_poor", 0)):
        return []
    r_hat = f", r-hat up to {attrs['r_hat_max']:.2f}" if "r_hat_max" in attrs else ""
    return [sentence(
        "The chains of {model} have not run long enough: as few as {ess} effective draws "
        "({name}){r_hat}. Do not rely on estimated accuracies; evaluate again with more draws.",
        model=str(attrs["model"]), ess=f"{attrs['ess_bulk_min']:,.0f}", r_hat=r_hat,
        name=Name(str(attrs["ess_bulk_min_item"])),
    )]  # fmt: skip


def diagnosis(evaluation: xr.DataTree) -> list[Sentence]:
    """Say how good the draws are."""
    if not facts.has(evaluation, "accuracy"):
        return []
    data = evaluation["accuracy"].to_dataset()
    attrs = data.attrs
    how = f"{data.sizes['chain'] * data.sizes['draw']:,} draws by {attrs['inference']}"
    if "ess_bulk_min" not in attrs:
        return [sentence("Estimated accuracies: {how}.", how=how)]
    r_hat = f", r-hat at most {attrs['r_hat_max']:.3f}" if "r_hat_max" in attrs else ""
    return [sentence(
        "Estimated accuracies: {how}; {ess} effective draws or more of each{r_hat}.",
        how=how, ess=f"{attrs['ess_bulk_min']:,.0f}", r_hat=r_hat,
    )]  # fmt: skip
