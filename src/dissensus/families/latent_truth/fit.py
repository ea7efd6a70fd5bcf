"""Fits of a latent truth: their chains, names of draws, and diagnostics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final

import numpy as np
import xarray as xr

from dissensus.dims import ANNOTATION, ANNOTATOR, CHAIN, DRAW, ITEM, LABEL, SAMPLE, SYSTEM, TERM
from dissensus.errors import ArgumentError, DesignWarning, shown, warn_caller
from dissensus.families import base
from dissensus.families.latent_truth.chain import Chain, Trace
from dissensus.families.latent_truth.kernels.data import COMPLETE, DIFFICULTY, NO_ANSWER
from dissensus.families.latent_truth.parameters import named
from dissensus.families.latent_truth.process import Process
from dissensus.kernels.types import Array, Floats
from dissensus.sampling import convergence
from dissensus.sampling.design import near_guessing

_EXCHANGED: Final = 0.05
"""A fit warns if labels are exchanged in more than this share of draws."""
OTHER_MODELS: Final = ', or use symmetric_confusion, or pooling="complete"'
"""End of advice that does not apply to fits of sets of labels."""
_LOST: Final = 0.5
"""A fit warns of a label if, in more than this share of draws, another label is the most frequent
response to it."""
_MOST: Final = 500
"""If all confusion matrices together have more entries than this, the entries are not diagnosed:
this would take longer than sampling."""


class TruthFit(base.Fit[Process, Trace]):
    """A fit of a latent truth. Its draws are a `Trace`, whose first axes are chain and draw."""

    title: ClassVar[str] = "Sampling the truth"
    nuts: ClassVar[str] = "NUTS on the PyMC model, the truth summed out"
    target_accept: ClassVar[float] = 0.95
    inference = "exact Gibbs sampling, items with the same labels taken together"

    def __init__(self, process: Process, options: base.FitOptions) -> None:
        super().__init__(process.model, process, options)
        self.votes, self.pattern = process.votes()

    def renamed(self, posterior: xr.Dataset) -> Mapping[str, xr.DataArray] | None:
        """Return None if errors are correlated, and otherwise what `base.Fit` returns.

        With correlated errors, the PyMC model has no accuracies against true labels.
        """
        return super().renamed(posterior) if self.process.errors is None else None

    def require_room(self) -> None:
        """Raise if draws of items' truths, or of confusion matrices, would fill the memory."""
        form, n_items = self.process.form, len(self.process.items)
        n_kept = 8.0 * self.options.draws * self.options.chains
        if self.options.keep:
            base.require_room(
                self,
                n_kept * form.n_labels * (n_items + len(self.votes.n_items)),
                f"the truth of {n_items:,} items with {form.n_labels} labels",
                "Accuracies do not need them, and the mean over draws is kept in constant_data",
            )
        of_matrices = n_kept * form.n_respondents * form.n_labels**2 * form.rows
        if of_matrices > base.ROOM:
            raise ArgumentError(
                "draws",
                expected=f"fewer than {self.options.draws:,} in {self.options.chains} chains, of "
                f"the confusion matrices of {form.n_respondents:,} annotators and systems with "
                f"{form.n_labels} labels",
                found=f"{of_matrices / 2**30:.0f} GB",
            )

    def chain(self, rng: np.random.Generator, draws: int) -> Chain:
        """Return a chain at a random start."""
        options = self.options
        chain = Chain(
            self.process, self.votes, self.pattern, draws, items=options.keep,
            log_likelihood=options.log_likelihood, predictive=options.posterior_predictive,
        )  # fmt: skip
        chain.start(rng)
        return chain

    def gathered(self, chains: Sequence[Any], rng: np.random.Generator) -> Trace:  # noqa: ARG002
        """Return one trace with the draws of all chains."""
        trace: Trace = base.stacked(chains)
        return trace

    def groups(self, draws: Trace, stats: Mapping[str, Array]) -> base.Groups:
        """Name the draws and diagnose the chains."""
        process, form = self.process, self.process.form
        posterior = named(process, draws)
        diagnostics = _diagnosed(process, posterior)
        diagnostics |= near_guessing(posterior["annotator_accuracy"], form.n_labels)
        # With complete pooling, the prior of the only matrix prevents label switching.
        if form.rows and form.pooling != COMPLETE:
            diagnostics |= label_order(process, draws.confusion[:, :, : form.first_system])
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

    def log_likelihood(self, draws: Trace) -> xr.Dataset:
        """Return the log-likelihood of each item, for all its labels together."""
        values = draws.item_log_likelihood[..., self.pattern]
        each = self._of_items(values, ITEM)
        # Items without labels have log-likelihood 0, and rounding errors break leave-one-out.
        has_labels = np.diff(self.votes.start)[self.pattern] > 0
        return xr.Dataset({"labels": each if has_labels.all() else each.isel({ITEM: has_labels})})

    def posterior_predictive(self, draws: Trace, rng: np.random.Generator) -> xr.Dataset:  # noqa: ARG002
        """Return labels of new items, in the layout of annotations and of predictions."""
        process = self.process
        values = np.empty_like(draws.replicate)
        values[..., process.item_order] = draws.replicate
        n = process.annotations.sizes[ANNOTATION]
        labels = {"label_code": xr.DataArray(values[..., :n], dims=(*SAMPLE, ANNOTATION))}
        if process.form.n_respondents > process.form.first_system:
            system, item = np.nonzero(process.answers.T != NO_ANSWER)
            shape = (*values.shape[:2], *process.answers.shape)
            codes = np.full(shape, NO_ANSWER, dtype=values.dtype)
            codes[..., item, system] = values[..., n:]
            labels["system_label_code"] = _answers(process, codes, (CHAIN, DRAW))
        return xr.Dataset(labels)

    def _of_items(self, values: Any, *dims: str) -> xr.DataArray:
        names = {ITEM: self.process.items, LABEL: self.process.labels}
        coords = {dim: names[dim] for dim in dims}
        return xr.DataArray(values, dims=(*SAMPLE, *dims), coords=coords)


class FitWithout(TruthFit):
    """A fit to all items but one; the log-likelihood of that item is computed too."""

    title: ClassVar[str] = "Leaving out an item"

    def __init__(self, process: Process, options: base.FitOptions, place: int) -> None:
        super().__init__(process, options)
        # The pattern stays even if it has no other item: `log_likelihood` refers to it.
        n_items = self.votes.n_items - (np.arange(len(self.votes.n_items)) == self.pattern[place])
        self.votes = self.votes._replace(n_items=n_items)


def label_order(process: Process, confusion: Floats) -> dict[str, Any]:
    """Diagnose whether labels are switched, and warn if so.

    The likelihood stays the same if two labels exchange their prevalences and their rows of
    matrices. ``confusion`` is (chain, draw, annotator, label, response). In each draw, each label
    has a most frequent response, on average over annotators. ``label_kept_min`` is the share of
    draws in which a label is its own most frequent response, for the label with the smallest share.
    ``labels_exchanged`` is the share of draws in which the most frequent responses are all labels,
    but in another order.
    """
    mean = confusion.mean(axis=2)
    own, leading = np.arange(mean.shape[-1]), mean.argmax(axis=-1)
    probability = (leading == own).mean(axis=(0, 1))
    lost = np.flatnonzero(probability < 1 - _LOST)
    if len(lost):
        # The label itself is excluded: it can be the most frequent response on average over draws,
        # although it seldom is in a single draw.
        others = np.where(np.eye(len(own), dtype=bool), -1.0, mean.mean(axis=(0, 1)))
        other = others.argmax(axis=-1)
        pairs = [f"{process.labels[z]!s} (labelled {process.labels[other[z]]!s})" for z in lost]
        warn_caller(
            "In the posterior, annotators mostly give another label where these are true: "
            f"{shown(pairs)}. Either annotators err in this way, or the labels are switched, or "
            "the label is too rarely true to be estimated. Check `confusion` and `prevalence`, or "
            f"give known labels of some items{OTHER_MODELS}."
        )
    # R-hat does not detect chains that jump between two orders of labels.
    permuted = (np.sort(leading, axis=-1) == own).all(axis=-1) & (leading != own).any(axis=-1)
    share = float(permuted.mean())
    if share > _EXCHANGED and not len(lost):
        chains = ", ".join(f"{each:.0%}" for each in permuted.mean(axis=1))
        warn_caller(
            f"In {share:.0%} of the draws (chain by chain {chains}) labels are switched: draws "
            "give the same label different meanings, and means and intervals mix them. Do not "
            f"report them; give known labels of some items{OTHER_MODELS}.",
            DesignWarning,
        )
    return {
        "labels_exchanged": share,
        "label_kept_min": float(probability.min()),
        "label_kept_min_label": str(process.labels[probability.argmin()]),
    }


def _diagnosed(process: Process, posterior: Mapping[str, xr.DataArray]) -> dict[str, Any]:
    """Diagnose the chains for all parameters together, and warn if diagnostics are poor."""
    judged = dict(posterior)
    if "confusion" in judged and (
        process.interchangeable or judged["confusion"][0, 0].size > _MOST
    ):
        del judged["confusion"]  # accuracies are diagnosed instead, and the population's matrix
    return convergence.diagnosed_parameters(judged)


def _observed(process: Process) -> dict[str, xr.DataArray]:
    """Return the codes of annotations, known true labels, and predictions."""
    data = base.observed_labels(process, process.known)
    if len(process.systems):
        data["system_label_code"] = _answers(process, process.answers, ())
    return data


def _answers(process: Process, codes: Any, lead: tuple[str, ...]) -> xr.DataArray:
    coords = {ITEM: process.items, SYSTEM: process.systems}
    return xr.DataArray(codes, dims=(*lead, ITEM, SYSTEM), coords=coords)


def _constants(process: Process, truth_mean: Floats) -> dict[str, xr.DataArray]:
    """Return the constants of a fit: the design, and mean probabilities of true labels."""
    data = base.truth_constants(process, truth_mean)
    data["n_labels_given"] = xr.DataArray(
        np.bincount(data["annotator_code"], minlength=len(process.annotators)), dims=ANNOTATOR,
        coords={ANNOTATOR: process.annotators},
    )  # fmt: skip
    if process.form.terms:
        names = {ANNOTATOR: process.annotators, TERM: process.terms}
        data["covariates"] = xr.DataArray(process.covariates, coords=names, dims=(ANNOTATOR, TERM))
        data["covariate_mean"] = xr.DataArray(
            process.covariate_mean, coords={TERM: process.terms}, dims=TERM
        )
    return data
