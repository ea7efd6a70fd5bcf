"""Whether labels mean what their names say: the likelihood alone would let them change places."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from dissensus._truth.process import Process
from dissensus.errors import shown, warn_caller

Floats = npt.NDArray[np.float64]

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
        Attributes: ``label_kept_min``, the smallest posterior probability of it, and
        ``label_kept_min_label``.

    Warns
    -----
    DissensusWarning
        Naming labels for which it is below a half.
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
    return {
        "label_kept_min": float(kept.min()),
        "label_kept_min_label": str(what.labels[kept.argmin()]),
    }
