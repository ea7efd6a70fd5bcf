"""Plots of the default priors of models."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr

import dissensus as dx
from dissensus.sampling.fitting import quiet

_DRAWS: Final = 2000


def _prior(name: str, annotations: xr.Dataset, **settings: Any) -> xr.Dataset:
    """Sample a model's prior, as `pymc.sample_prior_predictive` does."""
    import pymc as pm

    with quiet(True), dx.models.get(name).module.build(annotations, **settings):
        found: xr.Dataset = pm.sample_prior_predictive(_DRAWS, random_seed=1)["prior"].to_dataset()
    return found


def _drawn(*panels: tuple[xr.DataArray, str]) -> Any:
    """Draw a histogram of each."""
    figure, axes = plt.subplots(1, len(panels), figsize=(3.6 * len(panels) + 1, 2.8),
                                squeeze=False, layout="constrained")  # fmt: skip
    for ax, (draws, label) in zip(axes.flat, panels, strict=True):
        values = draws.to_numpy().ravel()
        ends = np.quantile(values, [0.005, 0.995])
        ax.hist(values, bins=60, range=(ends[0], ends[1]), density=True, color="#7f7f7f")
        ax.set_xlabel(label)
        ax.set_yticks([])
    return figure


def _votes(**settings: Any) -> Any:
    return dx.simulate.study(n_items=6, kind="nominal", n_labels=4, random_seed=1, **settings)


def dirichlet() -> Any:
    """Study with four labels: plausibility of the most plausible label, and of any label."""
    theta = _prior("dirichlet", _votes().annotations)["plausibility"]
    return _drawn((theta.max("label"), "plausibility of the leading label"),
                  (theta, "plausibility of a label"))  # fmt: skip


def _ranked(name: str) -> Any:
    ann = dx.simulate.study(n_items=6, n_labels=6, random_seed=1).annotations
    theta = _prior(name, ann)["plausibility"]
    return _drawn((theta.isel(candidate=slice(0, -1)).max("candidate"),
                   "most plausible named label"),
                  (theta.isel(candidate=-1), "all unnamed labels together"))  # fmt: skip


def inverse_rank() -> Any:
    """Study with six labels: plausibility of the labels that were named, and of the others."""
    return _ranked("inverse_rank")


def plackett_luce() -> Any:
    """Study with six labels: plausibility of the labels that were named, and of the others."""
    return _ranked("plackett_luce")


def normal_scores() -> Any:
    """Scores on a scale of length 1: mean and standard deviation of an item."""
    ann = dx.simulate.replication_study(6, 4, 3, family="gaussian", random_seed=1).annotations
    found = _prior("normal_scores", ann)
    sd = found["variance"] ** 0.5
    return _drawn((found["mean"], "mean of an item"), (sd, "standard deviation of an item"))


def symmetric_confusion() -> Any:
    """Accuracy of annotators and systems with four labels, where a guess has accuracy .25."""
    study = _votes()
    found = _prior("symmetric_confusion", study.annotations, predictions=study.predictions)
    return _drawn((found["annotator_accuracy"], "accuracy of the annotators"),
                  (found["system_accuracy"], "accuracy of a system"))  # fmt: skip


def dawid_skene() -> Any:
    """Four labels: accuracy of an annotator for one label, and variation between annotators."""
    confusion = _prior("dawid_skene", _votes().annotations)["confusion"].to_numpy()
    right = xr.DataArray(np.diagonal(confusion, axis1=-2, axis2=-1))
    spread = xr.DataArray(right.to_numpy().mean(-1).std(-1))
    return _drawn((right, "probability of being right about a label"),
                  (spread, "standard deviation among eight annotators"))  # fmt: skip


def rasch() -> Any:
    """Probability that an annotator knows the label of an item, and spread of abilities."""
    found = _prior("rasch", _votes().annotations)
    odds = found["ability"] - found["difficulty"]
    return _drawn((1 / (1 + np.exp(-odds)), "probability of knowing"),
                  (found["ability_spread"], "spread of abilities, logits"))  # fmt: skip


def bradley_terry() -> Any:
    """Share of votes that the best and the worst of six systems win, against all others."""
    sides = [(a, b) for a in range(6) for b in range(a)]
    votes = dx.pairs({"left": [a for a, _ in sides], "right": [b for _, b in sides],
                      "winner": ["tie"] * len(sides)})  # fmt: skip
    found = _prior("bradley_terry", votes)
    won = dx.win_rate(xr.DataTree.from_dict({"posterior": found}))
    return _drawn((won.max("system"), "share of votes that the best system wins"),
                  (won.min("system"), "share of votes that the worst system wins"))  # fmt: skip


def _crossed(name: str, family: str, pools: tuple[str, ...] | None) -> Any:
    study = dx.simulate.replication_study(60, 8, 4, family=family, pools=pools, random_seed=1)
    found = dx.prior_predictive(name, study.annotations, family=family, random_seed=1)
    return dx.plots.prior_predictive(found)


def crossed_effects() -> Any:
    """`dissensus.prior_predictive` of a simulated study of 60 items with ordered labels."""
    return _crossed("crossed_effects", "ordinal", None)


def cross_replication() -> Any:
    """`dissensus.prior_predictive` of a simulated study of 60 items in two pools."""
    return _crossed("cross_replication", "gaussian", ("old", "new"))


PRIOR_PICTURES: Final[dict[str, Callable[[], Any]]] = {
    draw.__name__: draw
    for draw in (
        dirichlet, inverse_rank, plackett_luce, normal_scores, crossed_effects,
        cross_replication, symmetric_confusion, dawid_skene, rasch, bradley_terry,
    )
}  # fmt: skip

_CALIBRATED: Final = {
    "crossed_effects": "gaussian",
    "cross_replication": "gaussian",
    "symmetric_confusion": "as-it-stands",
    "dawid_skene": "pooled",
    "rasch": "truth-unknown",
    "bradley_terry": "pair-ties-side-as-written",
}
"""Form of a model whose calibration is plotted on its page, if it is not the first."""


def calibrated(name: str) -> Path:
    """Return the picture of a model's calibration."""
    folder = Path(__file__).resolve().parents[1] / "calibration"
    if name in _CALIBRATED:
        return folder / f"{name}-{_CALIBRATED[name]}.png"
    own = folder / f"{name}.png"
    return min(folder.glob(f"{name}-*.png"), default=own) if not own.exists() else own


def lines(name: str) -> list[str]:
    """Return the end of a model's card: plots of its prior and of its calibration."""
    caption = " ".join((PRIOR_PICTURES[name].__doc__ or "").split())
    return [
        "", ".. rubric:: Prior", "",
        f".. figure:: ../pictures/prior-{name}.png",
        f"   :alt: Default priors of {name}", "   :width: 100%", "",
        f"   The default priors. {caption}", "",
        ".. rubric:: Calibration", "",
        f".. figure:: ../../calibration/{calibrated(name).name}",
        f"   :alt: Ranks of the truth among draws of {name}", "   :width: 100%", "",
        "   Ranks of the true value among the draws, over simulated studies. If the intervals have "
        "their nominal coverage, ranks are uniform within the band "
        "(:doc:`all variants </calibration>`).", "",
    ]  # fmt: skip
