"""The arguments of a replication study, checked and laid out pool by pool."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from dissensus.errors import ArgumentError, brief
from dissensus.kernels.types import Floats
from dissensus.simulate import _checks

FAMILIES: Final = {"gaussian": "continuous", "bernoulli": "nominal", "ordinal": "ordinal"}
"""Each family with the kind of its annotations."""
_LATENT: Final = {"bernoulli": np.pi / np.sqrt(3), "ordinal": 1.0}
_CORRELATION: Final = 0.7
_CUTPOINT: Final = (-1.5, -0.5, 0.5, 1.5)
_ROUNDING: Final = 1e-9


@dataclass(frozen=True)
class Design:
    """A replication study to draw; arrays and lists have one entry for each pool."""

    n_items: int
    n_annotators: list[int]
    labels_per_item: list[int]
    family: str
    mu: Floats
    sigma_item: Floats
    sigma_annotator: Floats
    sigma: Floats
    one_sigma: bool
    correlation: Floats
    pools: tuple[str, ...] | None
    cutpoint: Floats
    overlap: float

    @property
    def n_pools(self) -> int:
        """How many pools there are; one without a name is one."""
        return len(self.n_annotators)

    @property
    def pool_of(self) -> npt.NDArray[np.int64]:
        """The pool of each annotator, through all pools."""
        return np.repeat(np.arange(self.n_pools), self.n_annotators)


def checked(
    *, n_items: Any, n_annotators: Any, labels_per_item: Any, family: Any, mu: Any,
    sigma_item: Any, sigma_annotator: Any, sigma: Any, correlation: Any, pools: Any,
    cutpoint: Any, overlap: Any,
) -> Design:  # fmt: skip
    """Check what `replication_study` was given."""
    n_items = _checks.count("n_items", n_items)
    named = None if pools is None else _pools(pools)
    n_pools = 1 if named is None else len(named)
    family = _checks.one_of("family", family, tuple(FAMILIES))
    number = partial(_per_pool, n_pools=n_pools, least=-np.inf)
    spread = partial(_per_pool, n_pools=n_pools, least=0.0)
    people = _checks.per_pool("n_annotators", n_annotators, n_pools, _checks.count)
    return Design(
        n_items=n_items,
        n_annotators=people,
        labels_per_item=_labels_per_item(labels_per_item, people),
        family=family,
        mu=number("mu", mu),
        sigma_item=spread("sigma_item", sigma_item),
        sigma_annotator=spread("sigma_annotator", sigma_annotator),
        sigma=_sigma(sigma, family, n_pools),
        one_sigma=not _checks.is_listed(sigma),
        correlation=_correlation(correlation, n_pools),
        pools=named,
        cutpoint=_cutpoint(cutpoint, family),
        overlap=_overlap(overlap, n_pools, n_items),
    )


def _per_pool(name: str, value: Any, *, n_pools: int, least: float) -> Floats:
    return np.array(_checks.per_pool(name, value, n_pools, partial(_checks.number, least=least)))


def _pools(pools: Any) -> tuple[str, ...]:
    """Return two or more different names."""
    names = tuple(pools) if _checks.is_listed(pools) else ()
    text = all(isinstance(name, str) and name for name in names)
    if len(names) < 2 or not text or len(set(names)) < len(names):
        raise ArgumentError(
            "pools", expected="two or more different names, or None for one pool",
            found=brief(pools),
        )  # fmt: skip
    return tuple(str(name) for name in names)


def _labels_per_item(value: Any, n_annotators: list[int]) -> list[int]:
    """Return the number in each pool, none of them more than there are annotators."""

    def count(name: str, entry: Any) -> int | None:
        return None if entry is None else _checks.count(name, entry)

    given = _checks.per_pool("labels_per_item", value, len(n_annotators), count)
    for place, (each, people) in enumerate(zip(given, n_annotators, strict=True)):
        if each is not None and each > people:
            where = f"pool {place}" if len(n_annotators) > 1 else ""
            raise ArgumentError(
                "labels_per_item", where=where, found=str(each),
                expected=f"at most the {people} annotators there are, or None for all of them",
            )  # fmt: skip
    return [people if each is None else each
            for each, people in zip(given, n_annotators, strict=True)]  # fmt: skip


def _sigma(sigma: Any, family: str, n_pools: int) -> Floats:
    """Return the residual standard deviations: given, or those of the latent scale."""
    if family == "gaussian":
        given = 1.0 if sigma is None else sigma
        return np.array(_checks.per_pool("sigma", given, n_pools, _checks.positive))
    if sigma is not None:
        raise ArgumentError(
            "sigma", expected=f"None with family={family!r}, whose latent scale fixes it",
            found=brief(sigma),
        )  # fmt: skip
    return np.full(n_pools, _LATENT[family])


def _correlation(value: Any, n_pools: int) -> Floats:
    """Return the matrix, from one number for all pairs or from a matrix."""
    if n_pools == 1:
        if value is not None:
            raise ArgumentError(
                "correlation", expected="None without pools=, as it is one between pools",
                found=brief(value),
            )  # fmt: skip
        return np.ones((1, 1))
    if _checks.is_listed(value):
        matrix = _matrix(value)
    else:
        pair = _checks.number("correlation", _CORRELATION if value is None else value)
        matrix = np.where(np.eye(n_pools, dtype=bool), 1.0, pair)
    if matrix.shape != (n_pools, n_pools) or not _is_correlation(matrix):
        least = -1 / (n_pools - 1)
        raise ArgumentError(
            "correlation",
            expected=f"a number from {least:.3g} to 1, or a symmetric matrix of "
            f"{n_pools} x {n_pools} with ones on its diagonal and no negative eigenvalue",
            found=brief(value),
        )
    return matrix


def _matrix(value: Any) -> Floats:
    """Return rows of numbers as an array; an empty one of anything else."""
    try:
        return np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        return np.empty((0, 0))


def _is_correlation(matrix: Floats) -> bool:
    if not np.isfinite(matrix).all():
        return False
    even = np.abs(matrix - matrix.T).max() <= _ROUNDING
    ones = np.abs(np.diag(matrix) - 1).max() <= _ROUNDING
    return bool(even and ones and np.linalg.eigvalsh(matrix).min() >= -_ROUNDING)


def _cutpoint(value: Any, family: str) -> Floats:
    """Return the cutpoints; none for families without."""
    if family != "ordinal":
        if value is not None:
            raise ArgumentError(
                "cutpoint", expected=f"None with family={family!r}", found=brief(value)
            )
        return np.empty(0)
    if value is None:
        return np.array(_CUTPOINT)
    found = _checks.numbers("cutpoint", value)
    if (np.diff(found) <= 0).any():
        raise ArgumentError("cutpoint", expected="increasing numbers", found=brief(value))
    if abs(found.mean()) > _ROUNDING * (1 + np.abs(found).max()):
        raise ArgumentError(
            "cutpoint", expected="numbers whose mean is 0", found=f"a mean of {found.mean():.6g}",
            hint="Take the mean off the cutpoints and off mu: the labels stay the same",
        )  # fmt: skip
    return found


def _overlap(value: Any, n_pools: int, n_items: int) -> float:
    """Return the share of items for all pools, where each pool has an item at all."""
    share = _checks.probability("overlap", value)
    if n_pools == 1 and share != 1:
        raise ArgumentError("overlap", expected="1 without pools=", found=repr(value))
    if round(share * n_items) == 0 and n_items < n_pools:
        raise ArgumentError(
            "n_items", expected=f"at least {n_pools}, as no item is for all of {n_pools} pools",
            found=str(n_items), hint="Or raise overlap",
        )  # fmt: skip
    return share
