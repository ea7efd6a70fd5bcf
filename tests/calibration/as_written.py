"""Studies drawn from a model as it is written, to be fitted by the model's own sampler.

`build` says what the model is, `fit` draws from its posterior, and nothing but this holds the one
against the other for every model there is, with no further code: parameters and observations come
out of the PyMC model, the observations go back into the same design, and every number that both
`build` and `fit` have a name for is a question. So is the log-likelihood, which looks at the data.

What can be put back is an observed variable along ``annotation`` (numbers, or codes of labels), of
labels (item, place), counts (item, label), or of rankings (ranking, place). A model that observes
something else must be taught to `put_back`, or stand in `calibration.forms.NOT_DRAWN` with the
reason.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import xarray as xr
from calibration.designs import LABELS
from calibration.harness import Case, Floats

import dissensus as dx
from dissensus.data.plausibility import layout, with_candidates
from dissensus.data.rows import ranking_code
from dissensus.errors import DissensusWarning
from dissensus.sampling.fitting import EXACT

KNOWN = (("annotation",), ("vote",), ("item", "place"), ("item", "label"), ("ranking", "place"))
"""Dims of what is observed that can be put back."""
READ = 150
"""Draws at which the log-likelihood is computed, one by one."""
TINY = 1e-300
FEWEST = 9
"""Draws that are kept however slowly a chain moves."""


class NotDrawnError(Exception):
    """A model cannot be drawn from as it is written."""


class Written:
    """A PyMC model, compiled once: studies can be drawn from it, and their likelihood looked up."""

    def __init__(
        self, build: Callable[..., Any], design: xr.Dataset, hyper: Mapping[str, Any]
    ) -> None:
        self.design = design
        self.model = build(design, **hyper)
        self.dims = {name: tuple(dims) for name, dims in self.model.named_vars_to_dims.items()}
        names = [rv.name for rv in self.model.observed_RVs]
        known = [name for name in names if self.dims.get(name) in KNOWN]
        if names != known or len(names) != 1:
            result = {name: self.dims.get(name) for name in names}
            raise NotDrawnError(f"one of {KNOWN} is to be observed; found {result}")
        self.observed, self.along = self.model.observed_RVs[0], self.dims[names[0]]

    def studies(self, seed: int) -> Iterator[tuple[dict[str, Floats], Any]]:
        """Draw parameters and what is observed, again and again."""
        from pymc.pytensorf import compile as compiled

        # The truth of labels is given the data as they are, and not as they are drawn.
        made = [v for v in self.model.deterministics if v.name != "truth"]
        known = [*self.model.free_RVs, *made]
        draw = compiled([], [*known, self.observed], random_seed=seed)
        while True:
            *values, observed = draw()
            yield {v.name: np.asarray(x) for v, x in zip(known, values, strict=True)}, observed

    def log_density(self) -> Callable[[Mapping[str, Any], Any], float]:
        """Return the log-likelihood as a function of parameters and what is observed."""
        from pymc.logprob.basic import conditional_logp
        from pymc.pytensorf import compile as compiled

        value = {rv: rv.type() for rv in self.model.basic_RVs}
        free, seen = self.model.free_RVs, value[self.observed]
        total = conditional_logp(value)[seen].sum()
        density = compiled([*(value[rv] for rv in free), seen], total, on_unused_input="ignore")

        def at(parameters: Mapping[str, Any], observed: Any) -> float:
            # A share too small for a float is 0, and log 0 - log 0 would not be a number.
            values = (np.asarray(parameters[rv.name]) for rv in free)
            return float(density(*(np.where(x == 0, TINY, x) for x in values), observed))

        return at


def simulator(
    build: Callable[..., Any], fit: Callable[..., Any], design: xr.Dataset,
    hyper: Mapping[str, Any], *, seed: int = 0, laid_out_by_data: bool = False,
) -> Callable[[np.random.Generator], Case]:  # fmt: skip
    """Return a function that draws studies from a model as it is written.

    Whether the cells of the model are laid out by the data, so that those of two data sets cannot
    be compared, is for the caller to say; otherwise its priors must be the same for all data.
    """
    written = Written(build, design, hyper)
    studies, density = written.studies(seed), written.log_density()
    truth, observed = next(studies)
    again = put_back(design, written.along, observed)
    if not laid_out_by_data:
        _require_the_same_priors(written.model, build(again, **hyper))
    given = dict(hyper)
    if not _has_all(_fitted(fit, again, hyper), truth, written):
        given["log_likelihood"] = True

    def draw(rng: np.random.Generator) -> Case:
        truth, observed = next(studies)
        like = density(truth, observed)

        def questions(tree: xr.DataTree) -> dict[str, tuple[Floats, Floats]]:
            requested = dict(_shared(tree, written, truth))
            if not requested:
                raise NotDrawnError("build and fit have no variable in common")
            result = _likelihoods(tree, written, density, observed, native=len(given) > len(hyper))
            requested["log-likelihood"] = (result, like)
            exact = tree.attrs.get("inference") == EXACT
            kept = {name: x if exact else thinned(x) for name, (x, _) in requested.items()}
            return {
                name: (kept[name][:, None], np.array([x])) for name, (_, x) in requested.items()
            }

        return Case(put_back(design, written.along, observed), given, questions)

    return draw


def _fitted(fit: Callable[..., Any], annotations: xr.Dataset, hyper: Mapping[str, Any]) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DissensusWarning)
        return fit(
            annotations, draws=4, tune=4, chains=1, progressbar=False, random_seed=1, **hyper
        )


def _require_the_same_priors(first: Any, second: Any) -> None:
    """Raise if the prior of one data set is not that of another: then it is not a prior."""
    for mine, theirs in zip(_constants(first), _constants(second), strict=True):
        if not np.array_equal(mine, theirs, equal_nan=True):
            raise NotDrawnError(
                "the priors hang on the data: state them in calibration.forms.GIVEN "
                f"({np.ravel(mine)[:3]} is {np.ravel(theirs)[:3]} for other data)"
            )


def _constants(model: Any) -> list[Any]:
    """Return all numbers in the graphs of what is not observed."""
    from pytensor.graph.traversal import ancestors

    result = [getattr(x, "data", None) for x in ancestors(model.free_RVs)]
    return [np.asarray(x) for x in result if isinstance(x, np.ndarray) and x.dtype.kind in "iuf"]


def _has_all(tree: Any, truth: Mapping[str, Floats], written: Written) -> bool:
    """Say whether a fit keeps all that the likelihood is a function of."""
    posterior = tree["posterior"]
    return all(
        rv.name in posterior and posterior[rv.name].shape[2:] == truth[rv.name].shape
        for rv in written.model.free_RVs
    )


def _shared(
    tree: xr.DataTree, written: Written, truth: Mapping[str, Floats]
) -> Iterator[tuple[str, tuple[Floats, float]]]:
    """Yield the draws (sample) of what both have a name for, and the true number."""
    for name, draws in tree["posterior"].data_vars.items():
        if name not in truth:
            continue
        true, dims = truth[name], written.dims.get(name, ())
        if "candidate" in dims:
            true, draws = _dense(true, written.design), _dense_draws(draws)
        elif tuple(draws.dims[2:]) != dims:
            continue
        flat = draws.to_numpy().reshape(-1, *true.shape)
        for place in _places(true.shape):
            if np.ptp(flat[(slice(None), *place)]) > 0:  # a correlation with itself is 1
                label = f"{name}[{', '.join(map(str, place))}]" if place else str(name)
                yield label, (flat[(slice(None), *place)], float(true[place]))


def _places(shape: tuple[int, ...]) -> list[tuple[int, ...]]:
    """Return the first cell, the last, and one that is off the diagonal."""
    if not shape:
        return [()]
    last = tuple(n - 1 for n in shape)
    return sorted({(0,) * len(shape), last, (*last[:-1], 0)})


def _dense(true: Floats, design: xr.Dataset) -> Floats:
    named = with_candidates(
        xr.DataArray(true[None, None], dims=("chain", "draw", "item", "candidate")), design
    )
    return _dense_draws(named).to_numpy()[0, 0]


def _dense_draws(draws: xr.DataArray) -> xr.DataArray:
    labels = range(LABELS["ranking"])
    known = [x for x in labels if x in set(np.ravel(draws["candidate_label"].to_numpy()).tolist())]
    return dx.group_labels(draws, {label: label for label in draws.attrs.get("labels", known)})


def _likelihoods(
    tree: xr.DataTree, written: Written, density: Any, observed: Any, *, native: bool
) -> Floats:
    """Return the log-likelihood by draw: the fit's own, or that of the model as it is written."""
    if native:
        parts = tree["log_likelihood"].to_dataset().data_vars.values()
        return sum(x.sum(x.dims[2:]).to_numpy().ravel() for x in parts)
    flat = {}
    for rv in written.model.free_RVs:
        draws = tree["posterior"][rv.name].to_numpy()
        flat[rv.name] = draws.reshape(-1, *draws.shape[2:])
    n = len(flat[rv.name])
    some = range(0, n, max(n // READ, 1))
    return np.array([density({k: x[i] for k, x in flat.items()}, observed) for i in some])


def thinned(draws: Floats) -> Floats:
    """Keep as many draws of a chain, evenly spaced, as they are worth."""
    step = min(int(np.ceil(len(draws) / worth(draws))), len(draws) // FEWEST)
    return draws[:: max(step, 1)]


def worth(draws: Floats) -> float:
    """Return the effective sample size: Geyer's initial positive sequence of autocorrelations."""
    n = len(draws)
    centred = draws - draws.mean()
    spectrum = np.abs(np.fft.rfft(centred, 2 * n)) ** 2
    rho = np.fft.irfft(spectrum)[:n]
    if rho[0] <= 0:
        return 1.0
    pairs = (rho / rho[0])[: n // 2 * 2].reshape(-1, 2).sum(axis=1)
    stop = int(np.argmax(pairs <= 0)) if (pairs <= 0).any() else len(pairs)
    return float(min(n / max(2 * pairs[:stop].sum() - 1, 1 / np.log10(n)), n))


# -- What was drawn, as annotations -----------------------------------------------------------


def put_back(design: xr.Dataset, along: tuple[str, ...], observed: Any) -> xr.Dataset:
    """Return the design with what was drawn in place of what was said."""
    drawn = np.asarray(observed)
    if along == ("vote",):
        return design.assign(outcome=design["outcome"].copy(data=drawn.astype(np.int64)))
    if along == ("item", "label"):
        return _said_in_order(design, drawn)
    if along == ("ranking", "place"):
        return _ranked(design, drawn)
    if along == ("item", "place"):
        flat = np.empty(design.sizes["annotation"], dtype=np.int64)
        flat[np.argsort(design["item_code"].to_numpy(), kind="stable")] = drawn[drawn >= 0]
        return design.assign(label_code=design["label_code"].copy(data=flat))
    if drawn.dtype.kind == "f":
        bare = design.drop_vars(["label_code", "label"], errors="ignore")
        return bare.assign(value=("annotation", drawn)).assign_attrs(kind="continuous")
    return design.assign(label_code=design["label_code"].copy(data=drawn.astype(np.int64)))


def _said_in_order(design: xr.Dataset, counts: Any) -> xr.Dataset:
    """Give the annotators of an item the labels that were counted; who says which is all one."""
    item = design["item_code"].to_numpy()
    label = np.empty_like(item)
    for i, row in enumerate(counts):
        label[item == i] = np.repeat(np.arange(len(row)), row)
    return design.assign(label_code=design["label_code"].copy(data=label))


def _ranked(design: xr.Dataset, blocks: Any) -> xr.Dataset:
    """Put labels into the rows of rankings, of which the blocks keep their sizes."""
    codes, n = layout(design).codes, design.sizes["label"]
    ranking, item = ranking_code(design), design["item_code"].to_numpy()
    rank = design["rank"].to_numpy() if "rank" in design else np.ones_like(item)
    label = np.empty_like(item)
    for r, block in enumerate(blocks):
        rows = np.flatnonzero(ranking == r)
        named = [int(k) for k in codes[item[rows[0]]] if k >= 0]
        cells = np.array([*named, *(k for k in range(n) if k not in named)])
        listed = np.flatnonzero(block[: len(cells)] > 0)
        listed = listed[np.argsort(block[listed], kind="stable")]
        label[rows[np.argsort(rank[rows], kind="stable")]] = cells[listed]
    return design.assign(label_code=design["label_code"].copy(data=label))
