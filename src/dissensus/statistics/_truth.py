"""True labels of items: known labels, or draws of a fit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import numpy as np
import xarray as xr

from dissensus import arguments
from dissensus.data import tables
from dissensus.data.known_labels import known_codes, require_informed
from dissensus.data.rows import statements_per
from dissensus.dims import ANNOTATION, ITEM, LABEL, SAMPLE
from dissensus.errors import AnnotationError, ArgumentError, brief, shown, warn_caller
from dissensus.kernels.types import Floats, Ints, Names
from dissensus.statistics._read import real, whole

DRAWS: Final = 4000
"""The number of draws by default."""


def prior_counts(prior: Any) -> tuple[float, float]:
    """Return the two positive numbers of a Beta prior, or raise."""
    pair = list(prior) if isinstance(prior, list | tuple | np.ndarray) else []
    numbers = [real(value) for value in pair]
    if len(numbers) != 2 or not all(0 < value < np.inf for value in numbers):
        raise ArgumentError(
            "prior", expected="two positive numbers, such as (1, 1)", found=brief(prior)
        )
    return numbers[0], numbers[1]


def labels_only(annotations: xr.Dataset) -> xr.Dataset:
    """Return nominal or ordinal annotations; raise for others, which cannot be right or wrong."""
    if annotations.attrs["kind"] in ("nominal", "ordinal"):
        return annotations
    raise AnnotationError(
        "annotations",
        expected="labels, which are right or wrong",
        found=f"kind {annotations.attrs['kind']!r}",
    )


class TrueLabels(NamedTuple):
    """The true label of each item."""

    code: Ints
    """(draw, item): one draw if labels are known; -1 where a label is unknown."""
    coords: dict[str, Names]
    """Coordinates of chain and draw, if there are draws."""
    source: str
    """The source of the true labels."""
    share: Floats | None = None
    """Probabilities (draw, item, label) from which a fit's true labels are drawn."""
    number: Floats | None = None
    """Uniform random numbers (draw, item) with which they are drawn."""

    @property
    def drawn(self) -> bool:
        """Whether true labels are draws."""
        return bool(self.coords)

    def number_of_draws(self, draws: Any) -> int:
        """Return the number of draws: that of the fit, if true labels are drawn from a fit."""
        if not self.drawn:
            return DRAWS if draws is None else whole("draws", draws, 1)
        if draws is not None:
            raise ArgumentError(
                "draws",
                expected=f"None, which uses all {len(self.code):,} draws of the fit",
                found=brief(draws),
            )
        return len(self.code)

    def beside(self, answer: Ints, weight: Floats) -> Ints:
        """Draw the true labels (draw, item) again, with a system's answers as evidence of them.

        ``answer`` (item) is a code, of no label if there is none, or a label that annotators could
        not give; ``weight`` (draw, 1 or label) are the log odds that an answer adds. In fits with
        correlated errors, `share` depends on the annotators' labels only.
        """
        assert self.share is not None
        assert self.number is not None
        odds = self.share.copy()
        (item,) = np.nonzero((answer >= 0) & (answer < odds.shape[-1]))
        added = np.broadcast_to(np.exp(weight), (len(weight), odds.shape[-1]))
        odds[:, item, answer[item]] *= added[:, answer[item]]
        return _drawn_from(odds, self.number)

    def dataset(
        self, values: Mapping[str, tuple[tuple[str, ...], Floats]], coords: dict[str, Any]
    ) -> xr.Dataset:
        """Return draws (draw, ...) by name as variables (chain, draw, ...)."""
        n = len(next(iter(values.values()))[1])
        sample = self.coords or dict(zip(SAMPLE, (np.arange(1), np.arange(n)), strict=True))
        shape = tuple(len(sample[dim]) for dim in SAMPLE)
        return xr.Dataset(
            {
                name: ((*SAMPLE, *dims), array.reshape(*shape, *array.shape[1:]))
                for name, (dims, array) in values.items()
            },
            coords={**sample, **coords},
        )


def posterior_of(fit: Any, name: str) -> xr.Dataset | None:
    """Return the posterior of a fit; a posterior is unchanged. None if ``fit`` is neither."""
    if isinstance(fit, xr.DataTree):
        if "posterior" not in fit.children:
            raise ArgumentError(
                name,
                expected="known labels, or a fit with a posterior",
                found=f"a DataTree with groups {shown(list(fit.children))}",
            )
        return fit["posterior"].to_dataset()
    if isinstance(fit, xr.Dataset) and set(SAMPLE) <= set(fit.dims):
        return fit
    return None


def of_known_items(annotations: xr.Dataset, truth: TrueLabels) -> xr.Dataset:
    """Keep the rows of items whose true label is known; all items keep their codes."""
    known = (truth.code >= 0).all(axis=0)[annotations["item_code"].to_numpy()]
    return annotations if known.all() else annotations.isel({ANNOTATION: np.flatnonzero(known)})


def true_labels(
    truth: Any, annotations: xr.Dataset, rng: np.random.Generator, on_missing: str, *,
    systems: bool = False,
) -> TrueLabels:  # fmt: skip
    """Return known labels, or draw a label of each item from each draw of a fit.

    The ``truth`` of a fit is, in each draw, the probability of each label given the other
    parameters. True labels are drawn with this probability, so that their uncertainty is included.

    With ``systems``, items that annotators did not label need a truth too.
    """
    arguments.one_of("on_missing", on_missing, ("raise", "drop"))
    posterior = posterior_of(truth, "truth")
    if posterior is not None:
        return _drawn(posterior, annotations, rng, systems)
    if truth is None or isinstance(truth, xr.Dataset | str):
        raise ArgumentError(
            "truth",
            expected="labels by item (a mapping, Series or DataArray), or a fit",
            found=brief(truth),
        )
    code = known_codes(annotations, truth)
    items = annotations[ITEM].to_numpy()
    lacking = items[code < 0]
    if len(lacking) == len(items):
        raise ArgumentError("truth", expected="the label of at least one item", found="none")
    if len(lacking) and on_missing == "raise":
        raise ArgumentError(
            "truth",
            expected="a label for every item",
            found=f"none for {len(lacking):,} of {len(items):,}: {shown(list(lacking))}",
            hint='Use on_missing="drop" to drop these items, or pass a fit of a model that treats '
            "them as unknown: dissensus.models.rasch.fit(annotations, truth=...)",
        )
    if len(lacking):
        warn_caller(
            f"{len(lacking):,} of {len(items):,} items have no known label and are left out."
        )
    return TrueLabels(code[None], {}, "known labels")


def _drawn(
    posterior: xr.Dataset, annotations: xr.Dataset, rng: np.random.Generator, systems: bool
) -> TrueLabels:
    dims = (*SAMPLE, ITEM, LABEL)
    if "truth" not in posterior or set(posterior["truth"].dims) != set(dims):
        raise ArgumentError(
            "truth",
            expected=f"a fit whose posterior has 'truth', with dims {dims}",
            found=f"the variables {shown(list(map(str, posterior.data_vars)), 12)}",
            hint="Models of a latent truth have 'truth', unless fitted with keep_items=False",
        )
    truth = posterior["truth"].transpose(*dims)
    place = place_of(truth, ITEM, annotations[ITEM].to_numpy())
    known = tables.match(truth[LABEL].to_numpy(), annotations[LABEL].to_numpy())
    if (known < 0).any():
        raise ArgumentError(
            "truth",
            expected=f"labels of the annotations: {shown(list(annotations[LABEL].to_numpy()))}",
            found=shown(list(truth[LABEL].to_numpy()[known < 0])),
        )
    require_informed(posterior, place[(statements_per(annotations, ITEM) > 0) | systems])
    fitted = truth.to_numpy()[:, :, place]
    share = np.zeros((fitted.shape[0] * fitted.shape[1], len(place), annotations.sizes[LABEL]))
    share[..., known] = fitted.reshape(len(share), *fitted.shape[2:])
    number = rng.random(share.shape[:2])
    coords = {
        dim: truth[dim].to_numpy() if dim in truth.coords else np.arange(truth.sizes[dim])
        for dim in SAMPLE
    }
    return TrueLabels(_drawn_from(share, number), coords, fit_name(posterior), share, number)


def _drawn_from(share: Floats, number: Floats) -> Ints:
    """Return labels (draw, item) drawn in proportion to ``share`` (draw, item, label)."""
    edges = share.cumsum(axis=-1)
    return (number[..., None] * edges[..., -1:] > edges[..., :-1]).sum(-1)


def place_of(array: xr.DataArray, dim: str, names: Names) -> Ints:
    """Return the place of each item (or annotator) in a fit, or raise if one is missing."""
    place = tables.match(names, array[dim].to_numpy())
    if (place < 0).any():
        raise ArgumentError(
            "truth",
            expected=f"a fit of the {dim}s of the annotations",
            found=f"a fit without {shown(list(names[place < 0]))}",
        )
    return place


def fit_name(posterior: xr.Dataset) -> str:
    """Return a description of the fit that draws are from."""
    model = posterior.attrs.get("model")
    return f"draws of {model}" if model else "draws of a fit"
