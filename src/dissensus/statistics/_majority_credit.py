"""Accuracy as agreement with the majority of the others, as a function of sums over items."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import xarray as xr
from scipy import sparse

from dissensus.dims import ANNOTATOR
from dissensus.kernels.types import Floats
from dissensus.statistics._leave_one_out_agreement import credit_by_annotator
from dissensus.statistics._sums import Matrix, compact

_NEVER: Final = 1e-13
"""Nobody is taken to be right never or always from so few items: two who agree of whom one always
named the leading label, and the other never, are then right in half of the cases, not in 0 / 0."""


@dataclass(frozen=True)
class Credit:
    """How often each annotator names the label that leads among the others."""

    named: sparse.csr_array
    """(item, annotator): the share of the leading labels named."""
    judged: sparse.csr_array
    """(item, annotator): 1 where somebody else spoke too."""

    def parts(self) -> tuple[Matrix, ...]:
        """Return both, as sums over items."""
        return compact(self.named), compact(self.judged)

    def under(self, totals: Floats) -> Floats:
        """Return accuracies from totals of both: (set of weights, annotator).

        Whoever shares no item with anybody is in no pair: his is never looked at.
        """
        named, judged = np.split(totals, 2, axis=1)
        shares = named / np.where(judged > 0, judged, 1.0)
        return np.ascontiguousarray(np.clip(shares, _NEVER, 1.0 - _NEVER))

    def accuracy(self) -> Floats:
        """Return accuracies with all items alike: (1, annotator)."""
        return self.under(np.concatenate([self.named.sum(axis=0), self.judged.sum(axis=0)])[None])


def majority_credit(annotations: xr.Dataset) -> Credit:
    """Compare each annotator with the others, item by item.

    Raises
    ------
    AnnotationError
        If the annotations are numbers on a scale.
    """
    item, annotator, credit = credit_by_annotator(annotations)
    shape = (annotations.sizes["item"], annotations.sizes[ANNOTATOR])
    named, judged = (
        sparse.csr_array((values, (item, annotator)), shape=shape)
        for values in (credit, np.ones_like(credit))
    )
    return Credit(named, judged)
