"""Data and settings shared by the PyMC form and the Gibbs sampler of Plackett-Luce."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import xarray as xr

from dissensus import arguments
from dissensus.data.chunks import chunks_of, is_chunked
from dissensus.data.plausibility import Layout, candidate_form, layout
from dissensus.data.predictions import Features, check_predicted, features
from dissensus.data.rows import statements_per
from dissensus.data.schema import checked_annotations
from dissensus.dims import ANNOTATOR, ITEM, LABEL
from dissensus.errors import AnnotationError, ArgumentError, shown, warn_caller
from dissensus.families.rankings.kernels.learned_prior import Leaning
from dissensus.families.rankings.layout import TREATMENTS, LaidOut, laid_out
from dissensus.families.rankings.learned_prior import (
    PriorCells,
    Taught,
    has_own_prior,
    joined,
    learned,
    of_unnamed,
    prior_cells,
    shapes,
    taught,
)
from dissensus.kernels.random import generator
from dissensus.kernels.types import Floats, Ints
from dissensus.sampling import fitting
from dissensus.sampling.learned_prior import LEARNED as LEARNED_PRIOR
from dissensus.sampling.learned_prior import LearnedPrior, chosen, is_learned, no_evidence

RANKING: Final = "ranking"
LEARNED: Final = ("common", "annotator")
TEMPERINGS: Final = ("likelihood", "strength")
KINDS: Final = ("nominal", "ordinal", "ranking")
SAMPLERS: Final = ("gibbs", "nuts")
MOST_ITEMS: Final = 300
"""Maximum number of items from which the prior is learned, chosen by hashes of their names. More
items are not needed, because a ranking is very informative, and would make every draw slower."""


class Process(NamedTuple):
    """The layout of rankings, the prior of each strength, and the reliability of rankings."""

    annotations: xr.Dataset
    where: Layout
    laid: LaidOut
    shape: Floats
    """(cell): the Gamma shape of each strength."""
    concentration: float
    """Dirichlet parameter of each label of the remainder; infinite if the split is even."""
    reliability: float | str
    tempering: str
    unranked: str
    item_features: Features
    leaning: Leaning | None = None
    """Features of each cell's prior, if it is learned."""
    prior_draws: LearnedPrior | None = None
    """The learned prior; `shape` is then computed at its mean."""

    @property
    def power(self) -> float:
        """The power of the likelihood."""
        return float(self.reliability) if self.tempering == "likelihood" else 1.0

    @property
    def sharpness(self) -> Floats | None:
        """The given power of the strengths (ranking); None if it is learned or does not apply."""
        if self.tempering == "likelihood" or self.reliability in LEARNED:
            return None
        return np.full(self.n_rankings, float(self.reliability))

    @property
    def lumped(self) -> bool:
        """Whether no item has more than one cell of unnamed labels."""
        return bool((self.laid.rankings.n_cells - self.laid.named <= 1).all())

    @property
    def n_rankings(self) -> int:
        """Number of rankings of all items."""
        return len(self.laid.rankings.ranking_start) - 1

    def first_rows(self) -> Ints:
        """Return the index of each ranking's first annotation."""
        return self.laid.row[self.laid.rankings.ranking_start[:-1]]

    def prior_cells(self) -> PriorCells:
        """Return the features of each cell's prior."""
        return prior_cells(self.laid, self.where, self.item_features)

    def of_ranking(self, name: str) -> Ints:
        """Return the code of each ranking's item or annotator."""
        return np.asarray(self.annotations[f"{name}_code"].to_numpy()[self.first_rows()])

    def n_unnamed(self) -> Ints:
        """Return the number of unnamed labels of each item; 1 if they count as one."""
        return np.bincount(self.owner(), self.laid.n_labels).astype(np.int64) - self.laid.named

    def owner(self) -> Ints:
        """Return the item of each cell."""
        n_cells = self.laid.rankings.n_cells
        return np.repeat(np.arange(len(n_cells)), n_cells)

    def prior(self) -> Floats:
        """Return the Gamma shape of each candidate's strength (item, candidate)."""
        out = np.zeros(self.where.codes.shape)
        np.add.at(out, (self.owner(), self.laid.candidate), self.shape)
        return out

    def cells(self) -> Ints:
        """Return the index of each strength (item, place); -1 after the item's last strength."""
        rankings = self.laid.rankings
        place = np.arange(rankings.n_cells.max())
        cell = rankings.cell_start[:-1, None] + place
        return np.where(place < rankings.n_cells[:, None], cell, -1)

    def ranks(self) -> tuple[Ints, Ints]:
        """Return the index of each strength, -1 if absent, and its block, both (ranking, place)."""
        rankings = self.laid.rankings
        of_row = np.repeat(np.arange(self.n_rankings), np.diff(rankings.ranking_start))
        chosen = self.cells()[self.of_ranking(ITEM)]
        block = np.zeros_like(chosen)
        block[of_row, rankings.place] = rankings.rank
        return np.where(rankings.closed[:, None] & (block == 0), -1, chosen), block

    def with_prior(self, prior: LearnedPrior) -> Process:
        """Return a copy that uses a learned prior."""
        if self.leaning is None:
            return self
        mean = prior.values.mean(axis=(0, 1))[None]
        shape = shapes(self.leaning, mean, 0, len(self.laid.rankings.n_cells))[0]
        split = np.inf
        if self.unranked == "exact":
            of_all = prior.unnamed  # computed from all items, even if this fit is of a chunk
            split = of_unnamed(self.leaning, prior.values) if of_all is None else of_all
        return self._replace(shape=shape, concentration=split, prior_draws=prior)

    def shape_of(self, chain: int, draws: int, low: int, high: int) -> Floats:
        """Return the shapes of some items' cells (cell), or (draw, cell) if they were learned."""
        if self.leaning is None or self.prior_draws is None:
            return self.shape[slice(*self.laid.rankings.cell_start[[low, high]])]
        return shapes(self.leaning, self.prior_draws.values[chain, :draws], low, high)

    def taught(self, teaches: npt.NDArray[np.bool_], *, first_labels: bool = False) -> Taught:
        """Return the items from which the prior is learned, with unnamed labels in one cell."""
        laid, n_labels = self.laid, self.annotations.sizes[LABEL]
        if self.tempering != "likelihood":
            laid = laid_out(self.annotations, self.where, self.unranked)
        if first_labels:
            laid = laid._replace(rankings=laid.rankings.first_blocks())
        return taught(
            laid, prior_cells(laid, self.where, self.item_features).leaning(n_labels), teaches
        )

    def named(self, values: Floats, seed: int) -> xr.DataArray:
        """Name draws of plausibilities (chain, draw, item, candidate)."""
        items, labels = (self.annotations[dim].to_numpy() for dim in (ITEM, LABEL))
        return candidate_form(
            values, self.where, items, labels, concentration=self.concentration, seed=seed
        )


def process(
    annotations: xr.Dataset,
    *,
    reliability: float | str,
    tempering: str,
    concentration: Any,
    unranked: str,
    sampler: str,
    predictions: xr.Dataset | None = None,
) -> Process:
    """Check annotations and settings, and lay them out."""
    fitting.require_kind(annotations, KINDS, "plackett_luce")
    arguments.one_of("unranked", unranked, TREATMENTS)
    arguments.one_of("tempering", tempering, TEMPERINGS)
    arguments.one_of("sampler", sampler, SAMPLERS)
    reliability = _checked_reliability(reliability, tempering, annotations)
    if unranked in {"ignore", "absent"}:
        fitting.require_annotated(
            statements_per(annotations, ITEM), annotations,
            f"with unranked={unranked!r} an item without one has no labels",
        )  # fmt: skip
    learns = isinstance(concentration, LearnedPrior) or is_learned(concentration)
    if not learns:
        no_evidence(predictions, "concentration", concentration)
    item_features, where = _candidates(annotations, predictions, unranked, learns=learns)
    if is_learned(concentration):
        check_predicted(annotations[ITEM].to_numpy(), predictions)
    laid = laid_out(annotations, where, unranked, lumped=tempering == "likelihood")
    if unranked == "absent":
        require_comparisons(annotations, laid)
        _warn_of_uninformative(annotations, laid)
    each = _each_label(laid, None if learns else concentration)
    # Except with 'exact', the remainder is not a set of labels, and no result depends on its split.
    split = each[0] if unranked == "exact" else np.inf
    out = Process(
        annotations, where, laid, each * laid.n_labels, float(split), reliability, tempering,
        unranked, item_features,
    )  # fmt: skip
    if learns:
        cells = prior_cells(laid, where, item_features)
        out = out._replace(leaning=cells.leaning(annotations.sizes[LABEL]))
    return out.with_prior(concentration) if isinstance(concentration, LearnedPrior) else out


def _candidates(
    annotations: xr.Dataset, predictions: xr.Dataset | None, unranked: str, *, learns: bool
) -> tuple[Features, Layout]:
    """Return the features from predictions, and the layout of each item's candidates."""
    items, labels = (annotations[dim].to_numpy() for dim in (ITEM, LABEL))
    item_features = features(predictions, items, labels)
    # With other settings, unnamed labels are absent or have no separate prior.
    extra = (
        has_own_prior(item_features, len(items), len(labels))
        if learns and unranked == "exact"
        else None
    )
    return item_features, layout(annotations, extra)


def most_candidates(annotations: xr.Dataset, predictions: xr.Dataset | None, unranked: str) -> int:
    """Return the largest number of candidates that an item has under a learned prior."""
    each = (_candidates(part, predictions, unranked, learns=True) for part in _parts(annotations))
    return max(where.codes.shape[1] for _, where in each)


def _parts(annotations: xr.Dataset) -> Iterable[xr.Dataset]:
    if not is_chunked(annotations):
        return [annotations]
    return (checked_annotations(chunk.read()) for chunk in chunks_of(annotations))


def teaching(items: npt.NDArray[np.generic]) -> npt.NDArray[np.bool_]:
    """Return, for each item, whether the prior is learned from it."""
    return chosen(items, MOST_ITEMS)


def prior_of(
    annotations: xr.Dataset, *, predictions: xr.Dataset | None, draws: int, chains: int,
    tune: int, random_seed: Any, progressbar: bool, tempering: str = "likelihood",
    unranked: str = "exact", first_labels: bool = False, **others: Any,
) -> LearnedPrior:  # fmt: skip
    """Draw the hyperparameters of the prior that all items share; annotations may be in chunks.

    Every ranking counts once, whatever the reliability; with ``first_labels`` only its first block
    counts (docs/decisions/0033). The result can be the ``concentration`` of fits with the same
    predictions, draws and chains.
    """
    del others
    parts = _parts(annotations)
    names = annotations[ITEM].to_numpy()
    teaches = dict(zip(names.tolist(), teaching(names).tolist(), strict=True))
    needed = (
        part for part in parts if any(teaches[name] for name in part[ITEM].to_numpy().tolist())
    )
    teaching_items = (
        process(
            part, reliability=1.0, tempering=tempering, concentration=LEARNED_PRIOR,
            unranked=unranked, sampler="gibbs", predictions=predictions,
        ).taught(np.array([teaches[name] for name in part[ITEM].to_numpy().tolist()]),
                 first_labels=first_labels)
        for part in needed
    )  # fmt: skip
    return learned(
        joined(teaching_items), annotations.sizes[LABEL], arguments.sample_shape(draws, chains),
        arguments.whole("tune", tune, least=0), generator(random_seed, "prior"),
        progressbar=progressbar,
    )  # fmt: skip


def _each_label(laid: LaidOut, concentration: Any) -> Floats:
    """Return the Gamma shape of one label of each cell; by default, an item's shapes sum to 1."""
    n_cells = laid.rankings.n_cells
    if isinstance(concentration, str):
        raise ArgumentError(
            "concentration", expected=f"{LEARNED_PRIOR!r}, a number > 0, or None",
            found=repr(concentration),
        )  # fmt: skip
    if concentration is not None:
        return np.full(n_cells.sum(), arguments.within("concentration", concentration, 1e-9, 1e9))
    # Every item has a cell: an item without named labels has an unnamed cell, or is refused.
    total = np.add.reduceat(laid.n_labels, laid.rankings.cell_start[:-1])
    return np.repeat(1.0 / total, n_cells)


def _checked_reliability(
    reliability: float | str, tempering: str, annotations: xr.Dataset
) -> float | str:
    if not isinstance(reliability, str):
        return arguments.within("reliability", reliability, 1e-6, 1e6)
    if reliability not in LEARNED:
        raise ArgumentError(
            "reliability", expected="a finite number > 0, 'common' or 'annotator'",
            found=repr(reliability),
        )  # fmt: skip
    if tempering != "strength":
        raise ArgumentError(
            "tempering", expected=f"'strength' where reliability={reliability!r} is to be learned",
            found=repr(tempering),
            hint="With tempering='likelihood' a reliability cannot be learned: the density of the "
            "labels is not normalised",
        )  # fmt: skip
    if reliability == "annotator":
        _require_known(annotations)
    return reliability


def _require_known(annotations: xr.Dataset) -> None:
    """Raise if every annotator ranked only one item: no reliability can be learned."""
    items = np.unique(
        np.stack([annotations[f"{dim}_code"].to_numpy() for dim in (ANNOTATOR, ITEM)]), axis=1
    )
    if np.bincount(items[0]).max(initial=0) < 2:
        raise AnnotationError(
            "annotations",
            expected="annotators who ranked several items, to learn the reliability of each",
            found=f"{annotations.sizes[ANNOTATOR]} annotators, none on more than one item",
            hint='If annotators have other names on each item, use reliability="common"',
        )


def require_comparisons(annotations: xr.Dataset, laid: LaidOut) -> None:
    """Raise if a closed ranking has tied labels only: it is not informative."""
    starts = laid.rankings.ranking_start
    tied = (laid.rankings.rank[starts[1:] - 1] == 1) & (np.diff(starts) > 1)
    if tied.any():
        row = laid.row[starts[:-1][np.argmax(tied)]]
        annotator, item = (
            annotations[dim].to_numpy()[annotations[f"{dim}_code"].to_numpy()[row]].item()
            for dim in (ANNOTATOR, ITEM)
        )
        raise AnnotationError(
            "annotations", where=f"annotator {annotator!r}, item {item!r}",
            expected="labels in some order, with unranked='absent'",
            found=f"all labels tied (such rankings: {tied.sum():,}), which has probability 1 and "
            "is not informative",
            hint=("If these are votes on pairs, use dx.pairs and models.bradley_terry, where ties "
                  "count; otherwise leave" if (np.diff(starts)[tied] == 2).all() else "Leave")
            + " these rankings out",
        )  # fmt: skip


def _warn_of_uninformative(annotations: xr.Dataset, laid: LaidOut) -> None:
    """Warn about items whose closed rankings have one block each: they compare no labels."""
    starts, rank = laid.rankings.ranking_start, laid.rankings.rank
    compares = rank[starts[1:] - 1] > 1
    item = np.repeat(np.arange(annotations.sizes[ITEM]), np.diff(laid.rankings.item_start))
    uninformative = np.bincount(item, compares, minlength=annotations.sizes[ITEM]) == 0
    if uninformative.any():
        names = shown(list(annotations[ITEM].to_numpy()[uninformative]))
        warn_caller(
            f"With unranked='absent' the rankings of {uninformative.sum()} items ({names}) are not "
            "informative: each lists only one label, and all other labels are absent. The "
            "plausibilities of these items are those of the prior."
        )
