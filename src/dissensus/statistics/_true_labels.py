"""True labels: known ones, or draws of a fit that does not know them."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
import xarray as xr

from dissensus.data import tables
from dissensus.data.known_labels import known_codes
from dissensus.dims import ANNOTATION, ITEM, LABEL, SAMPLE
from dissensus.errors import AnnotationError, ArgumentError, brief, shown, warn_caller
from dissensus.kernels.types import Ints, Names
from dissensus.registry import one_of
from dissensus.statistics._settings import whole

DRAWS: Final = 4000
"""How many there are unless somebody asks for others."""


class TrueLabels(NamedTuple):
    """Which label of each item is true."""

    code: Ints
    """(draw, item): one draw if they are known; -1 where nobody knows."""
    coords: dict[str, Names]
    """Of chain and draw, if there are draws."""
    words: str
    """Where they are from."""

    @property
    def drawn(self) -> bool:
        """Whether there are draws of them."""
        return bool(self.coords)

    def number_of_draws(self, draws: Any) -> int:
        """Return how many draws to make: as many as there are of the truth, if there are any."""
        if not self.drawn:
            return DRAWS if draws is None else whole("draws", draws, 1)
        if draws is not None:
            raise ArgumentError(
                "draws", expected=f"None: as many as the fit has, {len(self.code):,}",
                found=brief(draws),
            )  # fmt: skip
        return len(self.code)

    def draw_coords(self, n: int) -> dict[str, Any]:
        """Return the coordinates of chain and draw: those of a fit, or one chain."""
        return self.coords or dict(zip(SAMPLE, (np.arange(1), np.arange(n)), strict=True))


def posterior_of(given: Any, name: str) -> xr.Dataset | None:
    """Return the posterior of a fit, a posterior itself, or None for what is neither."""
    if isinstance(given, xr.DataTree):
        if "posterior" not in given.children:
            raise ArgumentError(
                name, expected="known labels, or a fit with a posterior",
                found=f"a DataTree with groups {shown(list(given.children))}",
            )  # fmt: skip
        return given["posterior"].to_dataset()
    if isinstance(given, xr.Dataset) and set(SAMPLE) <= set(given.dims):
        return given
    return None


def warn_of_blind_fit(truth: Any) -> None:
    """Warn of a fit that is to judge confidence, and drew what is true without knowing of it."""
    posterior = posterior_of(truth, "truth")
    if posterior is None or "model" not in posterior.attrs:
        return  # nobody knows what others' draws know
    if posterior.attrs.get("hyper_confidence", False):
        return
    if "truth" in posterior and bool(posterior["truth"].isin([0.0, 1.0]).all()):
        return  # all known
    warn_caller(
        "The fit drew what is true without knowing how sure annotators were: wherever labels leave "
        "it open, sure and unsure labels come out more alike than they are. Give known labels, or "
        "a fit of dissensus.models.rasch with confidence=True."
    )


def labels_only(annotations: xr.Dataset) -> xr.Dataset:
    """Return annotations that are labels, or raise: only these are right or wrong."""
    if annotations.attrs["kind"] in ("nominal", "ordinal"):
        return annotations
    raise AnnotationError(
        "annotations",
        expected="labels, which are right or wrong",
        found=f"kind {annotations.attrs['kind']!r}",
    )


def of_known_items(annotations: xr.Dataset, truth: TrueLabels) -> xr.Dataset:
    """Keep the rows of items whose true label somebody knows; all items keep their places."""
    known = (truth.code >= 0).all(axis=0)[annotations["item_code"].to_numpy()]
    return annotations if known.all() else annotations.isel({ANNOTATION: np.flatnonzero(known)})


def true_labels(
    truth: Any, annotations: xr.Dataset, rng: np.random.Generator, on_missing: str
) -> TrueLabels:
    """Read known labels, or draw them from a fit: with each of its draws, one label an item.

    A fit's ``truth`` is how probable each label is, given the rest of a draw. Drawing from it
    keeps the uncertainty that would average out.

    Raises
    ------
    ArgumentError
        If there are none, or (unless ``on_missing="drop"``) an item has none.

    Warns
    -----
    DissensusWarning
        With ``on_missing="drop"``, of items that are left out.
    """
    one_of("on_missing", on_missing, ("raise", "drop"))
    posterior = posterior_of(truth, "truth")
    if posterior is not None:
        return _drawn(posterior, annotations, rng)
    if truth is None or isinstance(truth, xr.Dataset | str):
        raise ArgumentError(
            "truth", expected="labels by item (a mapping, Series or DataArray), or a fit",
            found=brief(truth),
        )  # fmt: skip
    code = known_codes(annotations, truth)
    items = annotations[ITEM].to_numpy()
    lacking = items[code < 0]
    if len(lacking) == len(items):
        raise ArgumentError("truth", expected="the label of an item at least", found="none")
    if len(lacking) and on_missing == "raise":
        raise ArgumentError(
            "truth", expected="a label for every item",
            found=f"none for {len(lacking):,} of {len(items):,}: {shown(list(lacking))}",
            hint='Leave these out with on_missing="drop", or pass a fit of a model that takes '
            "them for unknown: dissensus.models.rasch.fit(annotations, truth=...)",
        )  # fmt: skip
    if len(lacking):
        warn_caller(f"{len(lacking):,} of {len(items):,} items have no known label: left out.")
    return TrueLabels(code[None], {}, "known labels")


def _drawn(posterior: xr.Dataset, annotations: xr.Dataset, rng: np.random.Generator) -> TrueLabels:
    """Draw a label for each item with each draw of a fit."""
    dims = (*SAMPLE, ITEM, LABEL)
    if "truth" not in posterior or set(posterior["truth"].dims) != set(dims):
        raise ArgumentError(
            "truth", expected=f"a fit whose posterior has 'truth', with dims {dims}",
            found=f"the variables {shown(list(map(str, posterior.data_vars)), 12)}",
            hint="Models of a latent truth have it, unless fitted with keep_items=False",
        )  # fmt: skip
    truth = posterior["truth"].transpose(*dims)
    place = place_of(truth, ITEM, annotations[ITEM].to_numpy())
    known = tables.match(truth[LABEL].to_numpy(), annotations[LABEL].to_numpy())
    if (known < 0).any():
        labels = list(annotations[LABEL].to_numpy())
        raise ArgumentError(
            "truth", expected=f"labels of the annotations: {shown(labels)}",
            found=shown(list(truth[LABEL].to_numpy()[known < 0])),
        )  # fmt: skip
    edges = truth.to_numpy()[:, :, place].cumsum(axis=-1)
    edges = edges.reshape(-1, *edges.shape[2:])
    drawn = (rng.random(edges.shape[:2])[..., None] * edges[..., -1:] > edges[..., :-1]).sum(-1)
    coords = {dim: _numbered(truth, dim) for dim in SAMPLE}
    return TrueLabels(known[drawn], coords, named_fit(posterior))


def place_of(array: xr.DataArray, dim: str, names: Names) -> Ints:
    """Find items (or annotators) of the annotations in a fit, or raise if one is not there."""
    place = tables.match(names, array[dim].to_numpy())
    if (place < 0).any():
        raise ArgumentError(
            "truth", expected=f"a fit of the {dim}s of the annotations",
            found=f"none of {shown(list(names[place < 0]))}",
        )  # fmt: skip
    return place


def _numbered(array: xr.DataArray, dim: str) -> Names:
    """Return the coordinate of a dim, or whole numbers."""
    return array[dim].to_numpy() if dim in array.coords else np.arange(array.sizes[dim])


def named_fit(posterior: xr.Dataset) -> str:
    """Say whose draws these are."""
    model = posterior.attrs.get("model")
    return f"draws of {model}" if model else "draws of a fit"
