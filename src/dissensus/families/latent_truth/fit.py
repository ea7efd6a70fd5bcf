"""How draws of a latent truth are made and named: `families.base.run` does the rest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final

import numpy as np
import xarray as xr

from dissensus.dims import ANNOTATION, ANNOTATOR, CHAIN, DRAW, ITEM, LABEL, SAMPLE, SYSTEM
from dissensus.errors import ArgumentError, DesignWarning, shown, warn_caller
from dissensus.families import base
from dissensus.families.latent_truth.kernels import sweep as gibbs
from dissensus.families.latent_truth.kernels.data import (
    COMPLETE,
    DIFFICULTY,
    HIERARCHICAL,
    MEAN,
    SHARED,
    SOURCE,
    SPREAD,
    Parameters,
    blank,
)
from dissensus.families.latent_truth.parameters import parameters, points
from dissensus.families.latent_truth.process import Process
from dissensus.kernels.random import started
from dissensus.kernels.types import Array, Floats, Ints
from dissensus.kernels.votes import Votes
from dissensus.sampling import convergence
from dissensus.sampling.design import near_guessing


class TruthFit(base.Fit[Process, gibbs.Trace]):
    """A fit of a latent truth; the draws are the kernel's trace, chain and draw in front."""

    title: ClassVar[str] = "Sampling the truth"
    nuts: ClassVar[str] = "NUTS on the PyMC model, the truth summed out"
    target_accept: ClassVar[float] = 0.95
    inference = "exact Gibbs sampling, items with the same labels taken together"

    def __init__(self, process: Process, options: base.FitOptions) -> None:
        super().__init__(process.model, process, options)
        self.votes, self.pattern = process.votes()

    @property
    def annotations(self) -> xr.Dataset:
        """The annotations of the process."""
        return self.process.annotations

    def require_room(self) -> None:
        """Raise if truths of items, or confusion matrices, would fill the memory."""
        form, n_items = self.process.form, len(self.process.items)
        n_kept = 8.0 * self.options.draws * self.options.chains
        if self.options.keep:
            base.require_room(
                self,
                n_kept * form.n_labels * (n_items + len(self.votes.n_items)),
                f"the truth of {n_items:,} items with {form.n_labels} labels",
                "Accuracies do not need them, and the mean over draws is kept in constant_data",
            )
        of_matrices = n_kept * form.n_voices * form.n_labels**2 * form.rows
        if of_matrices > base.ROOM:
            raise ArgumentError(
                "draws",
                expected=f"fewer than {self.options.draws:,} in {self.options.chains} chains, of "
                f"the confusion matrices of {form.n_voices:,} annotators and systems with "
                f"{form.n_labels} labels",
                found=f"{of_matrices / 2**30:.0f} GB",
            )

    def chain(self, rng: np.random.Generator, draws: int) -> _Chain:
        """Return a chain at its start."""
        return _Chain(self.process, self.votes, self.pattern, rng, draws, self.options)

    def gathered(self, chains: Sequence[Any], rng: np.random.Generator) -> gibbs.Trace:  # noqa: ARG002
        """Return the traces as one."""
        trace: gibbs.Trace = base.stacked(chains)
        return trace

    def replayed(self, posterior: xr.Dataset, rng: np.random.Generator) -> gibbs.Trace:
        """Draw truths given the parameters that NUTS has drawn."""
        return self.gathered(base.replay(self, posterior, rng), rng)

    def groups(self, draws: gibbs.Trace, stats: Mapping[str, Array]) -> base.Groups:
        """Name the draws and judge the chains."""
        process, form = self.process, self.process.form
        posterior = parameters(process, draws)
        diagnostics = _diagnosed(process, posterior)
        diagnostics |= near_guessing(posterior["annotator_accuracy"], form.n_labels)
        if form.rows and form.pooling != COMPLETE:  # one matrix keeps its names by its prior
            people = draws.confusion[..., : form.first_system, :, :]
            diagnostics |= label_order(process, people)
        if self.options.keep:
            posterior["truth"] = self._of_items(draws.truth[:, :, self.pattern], ITEM, LABEL)
            if form.difficulty:
                spread = draws.number[..., DIFFICULTY]
                hard = -spread[..., None] * draws.ease[:, :, self.pattern]
                posterior["item_difficulty"] = self._of_items(hard, ITEM)
        sampled = {**stats, "log_likelihood": draws.log_likelihood}
        return base.Groups(
            posterior,
            {name: xr.DataArray(values, dims=SAMPLE) for name, values in sampled.items()},
            _observed(process),
            _constants(process, draws.truth_mean.mean(axis=0)[self.pattern]),
            diagnostics,
        )

    def log_likelihood(self, draws: gibbs.Trace) -> xr.Dataset:
        """Return the log-likelihood of each item, all its labels together."""
        return xr.Dataset({"labels": self._of_items(draws.each[..., self.pattern], ITEM)})

    def posterior_predictive(
        self,
        draws: gibbs.Trace,
        rng: np.random.Generator,  # noqa: ARG002
    ) -> xr.Dataset:
        """Give labels that the kernel drew anew back to annotators and systems."""
        process, drawn = self.process, draws.replicate
        values = np.empty_like(drawn)
        values[..., _row_order(process)] = drawn
        n = process.annotations.sizes[ANNOTATION]
        out = {"label_code": xr.DataArray(values[..., :n], dims=(*SAMPLE, ANNOTATION))}
        if process.form.n_voices > process.form.first_system:
            who, which = np.nonzero(process.answers.T >= 0)
            codes = np.full((*values.shape[:2], *process.answers.shape), -1, dtype=values.dtype)
            codes[..., which, who] = values[..., n:]
            out["system_label_code"] = _answers(process, codes, (CHAIN, DRAW))
        return xr.Dataset(out)

    def _of_items(self, values: Any, *dims: str) -> xr.DataArray:
        names = {ITEM: self.process.items, LABEL: self.process.labels}
        coords = {dim: names[dim] for dim in dims}
        return xr.DataArray(values, dims=(*SAMPLE, *dims), coords=coords)


def _row_order(process: Process) -> Ints:
    """Return the places of labels in the order of items, in which the kernel draws them anew."""
    return np.argsort(process.item, kind="stable")


class _Chain:
    """One chain, with all it writes to."""

    scratch = frozenset({"work", "after"})

    def __init__(
        self, process: Process, votes: Votes, pattern: Ints, rng: np.random.Generator, draws: int,
        options: base.FitOptions,
    ) -> None:  # fmt: skip
        self.process, self.judging = process, process.judging(votes, pattern)
        if self.judging is not None and self.judging.n_given.max() > 1:
            # A matrix that had learned from an item's truth would show no error there. Of items
            # with one label each nothing else tells how good anybody is.
            votes = votes._replace(known=votes.known[:0])
        self.votes, form, ease = votes, process.form, process.ease
        order = _row_order(process)
        self.rows = process.item[order], process.voice[order]
        self.work = gibbs.work_room(votes, form, ease)
        alone = form.evidence < form.n_voices
        self.after = gibbs.work_room(votes, form, ease) if alone else self.work
        self.trace = gibbs.trace_room(
            votes, form, draws, items=options.keep, each=options.log_likelihood,
            n_rows=len(process.item) if options.posterior_predictive else 0,
            n_judged=None if self.judging is None else len(process.systems),
        )  # fmt: skip
        self.par = start(process, rng)
        self.state = started(rng.integers(2**64, dtype=np.uint64))

    def advance(self, first: int, n: int) -> None:
        """Go through a lot of sweeps."""
        gibbs.advance(
            self.state, self.votes, self.process.form, self.process.ease, self.par,
            self.process.priors, self.work, self.after, self.trace, *self.rows, n, max(first, -1),
            self.judging,
        )  # fmt: skip

    def replay(self, values: Mapping[str, Array]) -> None:
        """Draw what follows from the variables of the PyMC model, draw by draw."""
        gibbs.replay(
            self.state, self.votes, self.process.form, self.process.ease,
            points(self.process.form, values), self.par, self.process.priors, self.work,
            self.after, self.trace, *self.rows, self.judging,
        )  # fmt: skip


def start(process: Process, rng: np.random.Generator) -> Parameters:
    """Start with annotators who are better than guessing, in each chain otherwise.

    Every label then means itself, and no system knows better than they. A chain that started where
    labels had changed places, or where a system's errors were the truth, would stay there: with
    many items nothing leads from one such place to another.
    """
    par = blank(process.form)
    chance, people = 1.0 / process.form.n_labels, process.form.first_system
    better = rng.uniform(0.3, 0.9, len(par.skill))
    better[people:] *= better[:people].min(initial=0.9)
    accuracy = chance + (1.0 - chance) * better
    par.skill[:] = np.log(accuracy / (1 - accuracy))[:, None]
    first = par.skill[:people]
    if not process.form.own_accuracy and not process.form.rows:
        first[:] = first[0]
    par.number[MEAN] = first.mean()
    par.number[SPREAD] = rng.uniform(0.2, 1.0)
    par.number[DIFFICULTY] *= rng.uniform(0.5, 2.0)
    par.number[[SHARED, SOURCE]] = rng.normal(0.0, 1.0, 2)
    diagonal = np.eye(process.form.n_labels)
    par.log_population[:] = np.log(0.4 * diagonal + 0.6 * chance)
    par.alike[:] = rng.uniform(3.0, 15.0, len(par.alike))
    if process.form.pooling == HIERARCHICAL:
        par.level[:people] = par.number[SPREAD] * rng.standard_normal(people)
    return par


# Whether labels mean what their names say: the likelihood alone would let them change places.


_SELDOM: Final = 0.05
"""Of the draws: labels that have changed places in more of them mix two posteriors."""
_MOST_LOST: Final = 0.5
"""Of the draws: a label that is called by another name in more of them has lost its own."""


def label_order(process: Process, confusion: Floats) -> dict[str, Any]:
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
    lost = np.flatnonzero(kept < 1 - _MOST_LOST)
    if len(lost):
        others = np.where(np.eye(mean.shape[-1], dtype=bool), -1.0, mean.mean(axis=(0, 1)))
        other = others.argmax(axis=-1)  # its own name may lead on average, if seldom in a draw
        pairs = [f"{process.labels[one]!s} (called {process.labels[other[one]]!s})" for one in lost]
        warn_caller(
            f"Annotators mostly call these labels by another name, says the posterior: "
            f"{shown(pairs)}. Either they do, or labels have changed places, or nobody can tell "
            "because the label is hardly ever true. Look at `confusion` and `prevalence`, or use "
            'symmetric_confusion, or pooling="complete".'
        )
    return _exchanged(mean.argmax(axis=-1), warned=bool(len(lost))) | {
        "label_kept_min": float(kept.min()),
        "label_kept_min_label": str(process.labels[kept.argmin()]),
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


_MOST: Final = 500
"""Numbers in matrices that are judged one by one; of more that would take longer than sampling."""


def _diagnosed(process: Process, posterior: Mapping[str, xr.DataArray]) -> dict[str, Any]:
    """Judge the chains by all parameters at once, and warn if they are poor."""
    judged = dict(posterior)
    if "confusion" in judged and (process.shared or judged["confusion"][0, 0].size > _MOST):
        del judged["confusion"]  # judged by what matrices have in common, and by accuracies
    return convergence.diagnosed_parameters(judged)


def _observed(process: Process) -> dict[str, xr.DataArray]:
    """Return what was said, in codes of labels."""
    given = process.annotations["label_code"].to_numpy().astype(np.int64)
    kind = {"kind": process.annotations.attrs["kind"]}
    out = {"label_code": xr.DataArray(given, dims=ANNOTATION, attrs=kind)}
    if (process.known >= 0).any():
        out["truth_code"] = xr.DataArray(process.known, dims=ITEM, coords={ITEM: process.items})
    if len(process.systems):
        out["system_label_code"] = _answers(process, process.answers, ())
    return out


def _answers(process: Process, codes: Any, lead: tuple[str, ...]) -> xr.DataArray:
    coords = {ITEM: process.items, SYSTEM: process.systems}
    return xr.DataArray(codes, dims=(*lead, ITEM, SYSTEM), coords=coords)


def _constants(process: Process, truth_mean: Floats) -> dict[str, xr.DataArray]:
    """Return who gave each label, and the mean probabilities (item, label) of the truth."""
    out = {
        f"{dim}_code": xr.DataArray(
            process.annotations[f"{dim}_code"].to_numpy().astype(np.int64), dims=ANNOTATION
        )
        for dim in ("item", "annotator")
    }
    out["n_labels_given"] = xr.DataArray(
        np.bincount(out["annotator_code"], minlength=len(process.annotators)), dims=ANNOTATOR,
        coords={ANNOTATOR: process.annotators},
    )  # fmt: skip
    out["truth_mean"] = xr.DataArray(
        truth_mean, dims=(ITEM, LABEL), coords={ITEM: process.items, LABEL: process.labels}
    )
    return out
