"""Whether labels mean what their names say: the likelihood alone would let them change places."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from dissensus.errors import DesignWarning, shown, warn_caller
from dissensus.families.latent_truth.process import Process
from dissensus.kernels.types import Floats

_SELDOM: Final = 0.05
"""Of the draws: labels that have changed places in more of them mix two posteriors."""
_MOST: Final = 0.5
"""Of the draws: a label that is called by another name in more of them has lost its own."""


def label_order(what: Process, confusion: Floats) -> dict[str, Any]:
    """Say how surely annotators call each label by its own name more often than by any other.

    Parameters
    ----------
    what : Process
    confusion : array (chain, draw, annotator's voice, label, response)

    Returns
    -------
    dict
        Attributes: ``label_kept_min``, the smallest posterior probability of it,
        ``label_kept_min_label``, and ``labels_exchanged``: the share of draws in which labels have
        changed places with each other, each still having a name of its own.

    Warns
    -----
    DissensusWarning
        Naming labels for which it is below a half; or if chains go to and fro between places of
        labels.
    """
    mean = confusion.mean(axis=2)
    kept = (mean.argmax(axis=-1) == np.arange(mean.shape[-1])).mean(axis=(0, 1))
    lost = np.flatnonzero(kept < 1 - _MOST)
    if len(lost):
        others = np.where(np.eye(mean.shape[-1], dtype=bool), -1.0, mean.mean(axis=(0, 1)))
        other = others.argmax(axis=-1)  # its own name may lead on average, if seldom in a draw
        pairs = [f"{what.labels[one]!s} (called {what.labels[other[one]]!s})" for one in lost]
        warn_caller(
            f"Annotators mostly call these labels by another name, says the posterior: "
            f"{shown(pairs)}. Either they do, or labels have changed places, or nobody can tell "
            "because the label is hardly ever true. Look at `confusion` and `prevalence`, or use "
            'symmetric_confusion, or pooling="complete".'
        )
    return _exchanged(mean.argmax(axis=-1), warned=bool(len(lost))) | {
        "label_kept_min": float(kept.min()),
        "label_kept_min_label": str(what.labels[kept.argmin()]),
    }


def _exchanged(leading: Any, *, warned: bool) -> dict[str, Any]:
    """Say how often labels have changed places: (chain, draw, label) of names.

    Chains that jump between such places have a fine r-hat, and means over both say nothing.
    """
    own = np.arange(leading.shape[-1])
    whole = (np.sort(leading, axis=-1) == own).all(axis=-1)
    other = whole & (leading != own).any(axis=-1)
    share = float(other.mean())
    if share > _SELDOM and not warned:
        chains = ", ".join(f"{one:.0%}" for one in other.mean(axis=1))
        warn_caller(
            f"In {share:.0%} of the draws (chain by chain {chains}) labels have changed places: "
            "what one draw calls by one name, another calls by another, and means and intervals "
            'mix the two. Do not report them; use symmetric_confusion, or pooling="complete", '
            "or find the truth of some items.",
            DesignWarning,
        )
    return {"labels_exchanged": share}
