"""Reading a fit of a latent truth: labels of annotators and systems, as given and as replicated."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import xarray as xr

from dissensus._replication.predictive_draws import OBSERVED, PREDICTIVE, group_of
from dissensus.dims import ANNOTATION, ANNOTATOR, CHAIN, DRAW, ITEM, LABEL, SAMPLE, SYSTEM
from dissensus.errors import ArgumentError
from dissensus.kernels.votes import Rows, Sums, rows, sums
from dissensus.sampling import fitting

Ints = npt.NDArray[np.integer[Any]]

MODELS: Final = ("symmetric_confusion", "dawid_skene")
_CELLS: Final = 50_000_000
"""Numbers that the sums of all versions may take."""


@dataclass(frozen=True)
class Labels:
    """Labels and answers in versions: that of the data first, then replicates."""

    where: Rows
    given: Ints
    """(version, row), sorted by item."""
    answers: Ints
    """(version, item, system); -1 for none."""
    repeats: Ints
    """(pair, 2): rows of one annotator about one item."""
    labels: npt.NDArray[Any]
    annotators: npt.NDArray[Any]
    systems: npt.NDArray[Any]
    ordered: bool
    sample: dict[str, npt.NDArray[Any]]
    """Coordinates of the replicates' dims."""

    @property
    def n_of_items(self) -> Ints:
        """How many labels each item has."""
        return np.diff(self.where.start)

    def sums(self) -> Sums:
        """Sum up how all versions agree."""
        return sums(self.where, self.given, self.answers)


def read(fit: Any, draws: int | None) -> Labels:
    """Read a fit, and at most so many replicates of it.

    Raises
    ------
    ArgumentError
        If it is no fit of a latent truth, or a part of one, or has no replicates, or none are
        wanted.
    """
    observed = group_of(fit, OBSERVED)
    model = fit.attrs.get("model", "?")
    if model not in MODELS:
        raise ArgumentError(
            "fit", expected=f"a fit of {' or '.join(MODELS)}", found=f"one of {model}",
            hint="dissensus.agreement_check takes fits of other models",
        )  # fmt: skip
    drawn, constant = group_of(fit, PREDICTIVE), group_of(fit, "constant_data")
    require_whole(fit, drawn, (ITEM, ANNOTATOR, LABEL))
    n_labels = constant.sizes[LABEL]
    drawn = _thinned(drawn, draws, n_labels * (n_labels + constant.sizes[ANNOTATOR]))
    item = constant["item_code"].to_numpy()
    who = constant["annotator_code"].to_numpy()
    order = np.lexsort((who, item))
    people, names = constant[ANNOTATOR].to_numpy(), constant[LABEL].to_numpy()
    where = rows(item[order], who[order], constant.sizes[ITEM], len(people), len(names))
    given = _versions(observed["label_code"], drawn["label_code"], (ANNOTATION,))
    systems: npt.NDArray[Any] = np.empty(0, dtype=object)
    answers: Ints = np.empty((len(given), constant.sizes[ITEM], 0), dtype=np.int64)
    if SYSTEM in observed.dims and "system_label_code" in drawn:  # judged by true labels: none
        systems, name = observed[SYSTEM].to_numpy(), "system_label_code"
        answers = _versions(observed[name], drawn[name], (ITEM, SYSTEM))
    return Labels(
        where, given[:, order], answers, _repeats(item[order], who[order]),
        labels=names, annotators=people, systems=systems,
        ordered=observed["label_code"].attrs.get("kind") == "ordinal",
        sample={dim: drawn[dim].to_numpy() for dim in SAMPLE},
    )  # fmt: skip


def require_whole(fit: xr.DataTree, drawn: xr.Dataset, dims: tuple[str, ...]) -> None:
    """Raise if chains, draws or systems are no dimension any more, or codes name what is gone.

    Parameters
    ----------
    fit : DataTree
    drawn : Dataset
        A group of it that has draws.
    dims : tuple of str
        Of which all must be there that the data speak of. Kernels count by these codes, and
        would write beyond their arrays.
    """
    observed, constant = group_of(fit, OBSERVED), group_of(fit, "constant_data")
    wanted = [(dim, drawn) for dim in SAMPLE]
    wanted += [(SYSTEM, observed)] if "system_label_code" in observed else []
    for dim, group in wanted:
        if dim not in group.dims:
            raise ArgumentError(
                "fit", expected=f"draws with the dimension {dim!r}",
                found="none, as after isel or sel with a single one",
                hint=f"Keep the dimension by a list: fit.isel({dim}=[0])",
            )  # fmt: skip
    for dim in dims:
        code = (observed if dim == LABEL else constant)[f"{dim}_code"].to_numpy()
        if code.max(initial=-1) >= constant.sizes.get(dim, 0):
            raise ArgumentError(
                "fit", expected=f"all that it was fitted to: {code.max() + 1} {dim}s or more",
                found=f"{constant.sizes.get(dim, 0)} of them",
                hint="Leave some out before fitting, or choose from what is returned",
            )  # fmt: skip


def _thinned(drawn: xr.Dataset, draws: int | None, width: int) -> xr.Dataset:
    """Keep at most so many draws, evenly spaced, as many of each chain, and what memory allows."""
    n_chains, n = drawn.sizes[CHAIN], drawn.sizes[DRAW]
    wanted = n * n_chains if draws is None else fitting.whole("draws", draws)
    wanted = min(wanted, _CELLS // width)
    n = min(n, max(1, wanted // n_chains))
    return drawn.isel({DRAW: np.linspace(0, drawn.sizes[DRAW] - 1, n).round().astype(int)})


def _versions(given: xr.DataArray, drawn: xr.DataArray, dims: tuple[str, ...]) -> Ints:
    """Lay the data in front of their replicates."""
    rest = drawn.transpose(*SAMPLE, *dims).to_numpy()
    first = given.transpose(*dims).to_numpy().astype(rest.dtype)[None]
    return np.concatenate([first, rest.reshape(-1, *first.shape[1:])])


def _repeats(item: Ints, who: Ints) -> Ints:
    """Return neighbouring rows that are of one annotator and one item."""
    first = np.flatnonzero((np.diff(item) == 0) & (np.diff(who) == 0))
    return np.stack([first, first + 1], axis=-1)
