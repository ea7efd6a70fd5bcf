"""Differential diagnoses as nested lists of label codes: what both samplers can be given."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import xarray as xr

import dissensus as dx

Rankings = list[list[list[int]]]


@dataclass(frozen=True)
class Case:
    """One item, and the prior to fit it with."""

    name: str
    rankings: Rankings
    """Annotator, block, label code."""
    n_labels: int
    concentration: float | None = None
    """Of each label; None for 1 each and one more label for all that nobody named, as the
    published notebook runs it."""
    exact: float | None = None
    """Posterior mean of the leading label, where it is known in closed form."""

    def __str__(self) -> str:
        """Name it, and say how large it is."""
        blocks = [block for ranking in self.rankings for block in ranking]
        named = {label for block in blocks for label in block}
        return (
            f"{self.name}: {len(self.rankings)} annotators, {len(named)} labels, "
            f"ties up to {max(map(len, blocks))}"
        )

    @property
    def annotations(self) -> xr.Dataset:
        """The case as annotations."""
        return dx.from_rankings({self.name: self.rankings}, labels=range(self.n_labels))


def handful(ann: xr.Dataset, n_cases: int) -> list[Case]:
    """Choose cases from the smallest to the largest, evenly by their number of statements."""
    item = ann["item_code"].to_numpy()
    by_size = np.argsort(np.bincount(item), kind="stable")
    chosen = by_size[np.linspace(0, len(by_size) - 1, n_cases).round().astype(int)]
    return [_case(ann.isel(annotation=item == code)) for code in chosen]


def figure_5() -> Case:
    """Return the example of Stutz et al. (2023), Figure 5."""
    ann, _, _ = dx.datasets.load("stutz_figure5", whole_space=True)
    return _case(ann)


def sparse() -> list[Case]:
    r"""Return cases whose posterior mean under a sparse prior is known in closed form.

    Both annotators put label 0 first. The likelihood is :math:`\theta_0^2` times a function of
    :math:`\theta_k / (1 - \theta_0)`, and under a Dirichlet prior that is independent of
    :math:`\theta_0`: so :math:`\theta_0 \sim \mathrm{Beta}(a + 2, (K - 1) a)`, whatever follows.
    """
    n_labels = 50
    a = 1 / n_labels
    exact = (a + 2) / (n_labels * a + 2)
    return [
        Case("x alone, twice", [[[0]], [[0]]], n_labels, a, exact),
        Case("x before y, twice", [[[0], [1]], [[0], [1]]], n_labels, a, exact),
    ]


def _case(ann: xr.Dataset) -> Case:
    """Take the only item of some annotations apart."""
    rankings: dict[int, dict[int, list[int]]] = {}
    columns = (ann[name].to_numpy().tolist() for name in ("annotator_code", "rank", "label_code"))
    for annotator, rank, label in zip(*columns, strict=True):
        rankings.setdefault(annotator, {}).setdefault(rank, []).append(label)
    nested = [[blocks[rank] for rank in sorted(blocks)] for blocks in rankings.values()]
    name = str(ann["item"].to_numpy()[ann["item_code"].to_numpy()[0]])
    return Case(name, nested, ann.sizes["label"])
