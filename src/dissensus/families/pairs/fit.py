"""Fits of votes on pairs: how draws are made and named; `families.base.run` does the rest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final, NamedTuple

import numpy as np
import xarray as xr

from dissensus.dims import ANNOTATOR, ITEM, JUDGE, PAIR, SAMPLE, SYSTEM, TERM, VOTE
from dissensus.families import base
from dissensus.families.pairs.kernels import effects, mover, strengths
from dissensus.families.pairs.kernels.votes import (
    CELL,
    ITEM_TIE,
    OUT,
    OWN,
    SHARP,
    SIDE,
    STRENGTH,
    TASTE,
    TIE,
    Parameters,
    empty_rows,
    empty_table,
    log_likelihoods,
)
from dissensus.families.pairs.process import SCALES, Process, cells
from dissensus.kernels.random import started
from dissensus.kernels.types import Array, Floats
from dissensus.sampling import convergence

_JUMPS: Final = 20
"""Number of sweeps at the start that draw blocks from their normal approximations."""
_FEW: Final = 2000
"""With fewer distinct votes, `effects.stretch` moves all spreads in each sweep, else two."""


class Trace(NamedTuple):
    """Draws, with the draw as first axis; arrays of parts that a model lacks are empty."""

    strength: Floats  # (draw, system)
    common: Floats  # (draw, 2)
    cell: Floats  # (draw, cell)
    own: Floats  # (draw, annotator, 3)
    spread: Floats  # (draw, 7)
    coefficient: Floats  # (draw, covariate)
    each: Floats  # (draw, distinct vote): log-likelihood, if it is requested
    log_likelihood: Floats  # (draw)
    taste: Floats  # (draw, voters' cell), if new votes are requested


class PairsFit(base.Fit[Process, Trace]):
    """A fit of votes on pairs; its draws are a `Trace` with the first axes chain and draw."""

    title: ClassVar[str] = "Sampling strengths"
    target_accept: ClassVar[float] = 0.9
    inference = "Gibbs sampling of blocks by exact moves on ellipses about their modes"

    def __init__(self, process: Process, options: base.FitOptions) -> None:
        super().__init__("bradley_terry", process, options)

    def require_room(self) -> None:
        """Raise if the draws of prompts' effects would take too much memory."""
        process, options = self.process, self.options
        n_kept, n_items = 8.0 * options.draws * options.chains, len(process.names(ITEM))
        if (options.keep or options.posterior_predictive) and n_items:
            base.require_room(
                self, n_kept * n_items * (len(process.systems) + process.form.ties),
                f"the effects of {n_items:,} items on {len(process.systems)} systems",
                "Strengths do not need them; new votes (posterior_predictive=True) do",
            )  # fmt: skip

    def chain(self, rng: np.random.Generator, draws: int) -> Chain:
        """Return a chain at its starting values."""
        return Chain(self.process, rng, draws, self.options)

    def gathered(self, chains: Sequence[Any], rng: np.random.Generator) -> Trace:
        """Return the draws of all chains; effects without votes are drawn from their prior."""
        trace: Trace = base.stacked(chains)
        process = self.process
        if trace.cell.shape[-1] == 0:
            return trace
        item, system = cells(process.votes[0].prompts)
        of = [CELL] * len(process.systems) + [ITEM_TIE] * process.form.ties
        shape = (*trace.spread.shape[:2], len(process.names(ITEM)), len(of))
        cell = rng.normal(size=shape)
        cell *= trace.spread[..., None, of]
        cell[..., item, system] = trace.cell
        return trace._replace(cell=cell)

    def groups(self, draws: Trace, stats: Mapping[str, Array]) -> base.Groups:
        """Return the groups of the fit: named draws, data and convergence diagnostics."""
        process, form = self.process, self.process.form
        out = {
            "strength": self._named(draws.strength, SYSTEM),
            "strength_spread": self._named(draws.spread[..., STRENGTH]),
            **self._coefficients(draws),
        }
        if form.ties:
            out["tie"] = self._named(draws.common[..., TIE - 1])
        if form.side:
            out["side"] = self._named(draws.common[..., SIDE - 1])
        if form.items:
            out["item_spread"] = self._named(draws.spread[..., CELL])
        if form.items and form.ties:
            out["item_tie_spread"] = self._named(draws.spread[..., ITEM_TIE])
        if form.annotators:
            out["sharpness_spread"] = self._named(draws.spread[..., OWN + SHARP])
            out["annotator_sharpness"] = self._named(np.exp(draws.own[..., SHARP]), ANNOTATOR)
            for has, of, name in ((form.ties, TIE, "tie"), (form.side, SIDE, "side")):
                if has:
                    spread = self._named(draws.spread[..., OWN + of])
                    out[f"annotator_{name}_spread"] = spread
                    out[f"annotator_{name}"] = self._named(draws.own[..., of], ANNOTATOR)
        if form.tastes:
            out["annotator_taste_spread"] = self._named(draws.spread[..., TASTE])
        diagnostics = convergence.diagnosed_parameters(out)
        if form.items and self.options.keep:
            n_systems = len(process.systems)
            out["item_effect"] = self._named(draws.cell[..., :n_systems], ITEM, SYSTEM)
            if form.ties:
                out["item_tie"] = self._named(draws.cell[..., n_systems].copy(), ITEM)
        sampled = {**stats, "log_likelihood": draws.log_likelihood}
        return base.Groups(
            out, {name: self._named(values) for name, values in sampled.items()},
            {"outcome": xr.DataArray(process.code("outcome"), dims=VOTE)},
            {
                name: xr.DataArray(process.annotations[name].to_numpy(), dims=VOTE)
                for name in ("left_code", "right_code", "annotator_code", "item_code")
                if name in process.annotations
            } | {
                name: xr.DataArray(values, dims=dims, coords={
                    dim: names for dim, names in evidence_coords(process).items() if dim in dims
                })
                for name, (dims, values) in constants(process).items()
            },
            diagnostics,
        )  # fmt: skip

    def _coefficients(self, draws: Trace) -> dict[str, xr.DataArray]:
        """Return the coefficients of verdicts and covariates; with verdicts, also the strengths."""
        evidence = self.process.evidence
        if evidence is None:
            return {}
        n_judges, n_along = len(evidence.judges), evidence.along.shape[1]
        parts = {
            "judge_weight": (JUDGE, draws.coefficient[..., :n_judges]),
            "judge_system_weight": (JUDGE, draws.coefficient[..., n_judges : 2 * n_judges]),
            "coefficient": (TERM, draws.coefficient[..., 2 * n_judges : n_along]),
            "judge_tie": (JUDGE, draws.coefficient[..., n_along:]),
        }
        names = evidence_coords(self.process)
        out = {
            name: xr.DataArray(values, dims=(*SAMPLE, dim), coords={dim: names[dim]})
            for name, (dim, values) in parts.items() if values.shape[-1]
        }  # fmt: skip
        if n_judges:
            weight = sum(parts[name][1] for name in ("judge_weight", "judge_system_weight"))
            whole = draws.strength + weight @ evidence.leaning
            out["strength"] = self._named(whole, SYSTEM)
            out["beyond_judge"] = self._named(draws.strength, SYSTEM)
        return out

    def log_likelihood(self, draws: Trace) -> xr.Dataset:
        """Return the log-likelihood of each vote."""
        place = self.process.votes[1]
        return xr.Dataset({"outcome": ((*SAMPLE, VOTE), draws.each[..., place])})

    def posterior_predictive(self, draws: Trace, rng: np.random.Generator) -> xr.Dataset:
        """Draw new votes of the same annotators on the same pairs.

        Tastes are drawn from their spread if their draws were not kept.
        """
        drawn, n_cells = [], len(self.process.votes[0].voters.system)
        if draws.taste.shape[-1] < n_cells:
            taste = rng.normal(size=(*draws.log_likelihood.shape, n_cells))
            draws = draws._replace(taste=taste * draws.spread[..., TASTE, None])
        # One chain at a time: the probabilities of a vote take 24 times the memory of the vote.
        for chain in range(len(draws.strength)):
            part = Trace(*(values[chain : chain + 1] for values in draws))
            left, tie, _ = np.moveaxis(probabilities(self.process, part), -1, 0)
            rest = rng.uniform(size=left.shape)
            drawn.append((rest >= left).astype(np.int8) + (rest >= left + tie))
        return xr.Dataset({"outcome": ((*SAMPLE, VOTE), np.concatenate(drawn))})

    def _named(self, values: Any, *dims: str) -> xr.DataArray:
        coords = {dim: self.process.annotations[dim].to_numpy() for dim in dims}
        return xr.DataArray(values, dims=(*SAMPLE, *dims), coords=coords)


def evidence_coords(process: Process) -> dict[str, Array]:
    """Return the names of judges and of terms."""
    evidence = process.evidence
    return {} if evidence is None else {JUDGE: evidence.judges, TERM: evidence.terms}


def constants(process: Process) -> dict[str, tuple[tuple[str, ...], Array]]:
    """Return the dims and values of evidence on pairs, by name, for `dissensus.win_rate`."""
    known = process.evidence
    if known is None:
        return {}
    out: dict[str, tuple[tuple[str, ...], Array]] = {
        "pair_item": ((PAIR,), known.item), "pair_left": ((PAIR,), known.left),
        "pair_right": ((PAIR,), known.right), "vote_pair": ((VOTE,), known.place),
        "vote_turn": ((VOTE,), known.turn),
    }  # fmt: skip
    if len(known.judges):
        out |= {
            "verdict": ((PAIR, JUDGE), known.verdict), "verdict_tie": ((PAIR, JUDGE), known.tied),
            "verdict_apart": ((PAIR, JUDGE), known.apart),
        }  # fmt: skip
    if len(known.terms):
        out["answer"] = ((PAIR, TERM), known.answer)
    return out


def probabilities(process: Process, draws: Trace) -> Floats:
    """Return the probabilities of the outcomes of each vote (chain, draw, vote, outcome)."""
    form = process.form
    left, right = process.code("left_code"), process.code("right_code")
    item, annotator = process.code("item_code"), process.code("annotator_code")
    eta = draws.strength[..., left] - draws.strength[..., right]
    if form.items:
        eta += draws.cell[..., item, left] - draws.cell[..., item, right]
    if form.tastes:
        taste_left, taste_right = process.taste_places
        eta += draws.taste[..., taste_left] - draws.taste[..., taste_right]
    along, tied = process.along, process.tied
    eta += draws.coefficient[..., : along.shape[1]] @ along.T
    tie = draws.common[..., TIE - 1, None] if form.ties else -np.inf
    tie = tie + draws.coefficient[..., along.shape[1] :] @ tied.T
    if form.items and form.ties:
        tie = tie + draws.cell[..., item, len(process.systems)]
    if form.annotators:
        eta *= np.exp(draws.own[..., annotator, SHARP])
        if form.ties:
            tie = tie + draws.own[..., annotator, TIE]
        if form.side:
            eta += draws.own[..., annotator, SIDE]
    if form.side:
        eta += draws.common[..., SIDE - 1, None]
    logits = np.stack([eta / 2, np.broadcast_to(tie, eta.shape), -eta / 2], axis=-1)
    weight = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return np.asarray(weight / weight.sum(axis=-1, keepdims=True))


class Chain:
    """A chain: its current state, and the trace of its draws."""

    scratch = frozenset({"work", "table", "ordered", "rows"})

    def __init__(
        self, process: Process, rng: np.random.Generator, draws: int, options: base.FitOptions
    ) -> None:
        self.process, self.form = process, process.form
        self.votes, _ = process.votes
        prompts, voters = self.votes.prompts, self.votes.voters
        n_systems, n_cells, n_tastes = len(process.systems), len(prompts.system), len(voters.system)
        n_people, n_votes = len(voters.start) - 1, len(self.votes.left)
        self.prior = process.precisions()
        n_common = len(self.prior)
        self.par = Parameters(
            rng.normal(0.0, 0.5, n_systems), np.array([rng.normal(-0.5, 0.5), 0.0]),
            rng.normal(0.0, 0.3, n_cells), rng.normal(0.0, 0.2, (n_people, 3)),
            np.append(rng.uniform(0.3, 1.0, TASTE), 0.5), np.zeros(n_common - 2),
            np.zeros(n_tastes),
        )  # fmt: skip
        self.scale = np.array([process.priors[name] for name in SCALES])
        self.reference = (
            np.zeros(n_systems + n_common), np.zeros(n_cells), np.zeros((n_people, 3)),
            np.zeros(n_tastes),
        )  # fmt: skip
        largest = max(np.diff(of.cell_start).max(initial=0) for of in (prompts, voters))
        self.work = mover.room(int(max(n_systems + n_common, largest, 3)))
        self.table, self.ordered = empty_table(n_votes), empty_table(n_votes)
        self.rows = empty_rows(n_votes)
        self.begun = np.zeros(1, dtype=np.int64)  # number of sweeps
        self.state = started(rng.integers(2**64, dtype=np.uint64))
        form = self.form
        has = (
            1,
            form.items,
            form.annotators,
            form.annotators & form.ties,
            form.annotators & form.side,
            form.items & form.ties,
            form.tastes,
        )
        self.stretched = np.flatnonzero(has)
        kept = n_cells if options.keep or options.posterior_predictive else 0
        self.trace = Trace(
            np.empty((draws, n_systems)), np.empty((draws, 2)), np.empty((draws, kept)),
            np.empty((draws, n_people if self.form.annotators else 0, 3)),
            np.empty((draws, len(SCALES))), np.empty((draws, n_common - 2)),
            np.empty((draws, n_votes if options.log_likelihood else 0)), np.empty(draws),
            np.empty((draws, n_tastes if options.posterior_predictive else 0)),
        )  # fmt: skip

    def advance(self, first: int, n: int) -> None:
        """Go through n sweeps, from number ``first`` on; negative numbers are the warm-up."""
        votes, form, par, work = self.votes, self.form, self.par, self.work
        every, prompts, own, tastes = self.reference
        for sweep in range(n):
            how = mover.KEEP if first + sweep >= 0 else mover.LEARN
            if self.begun[0] < _JUMPS and first + sweep < 0:
                how = mover.JUMP
            self.begun[0] += 1
            strengths.draw_strengths(
                self.state, votes, form, par, self.prior, every, how, self.table, work, self.rows
            )
            for has, reference, of in ((form.items, prompts, CELL), (form.tastes, tastes, TASTE)):
                if has:
                    effects.draw_cells(
                        self.state, votes, form, par, reference, how, self.table, work, self.rows,
                        self.ordered, of,
                    )  # fmt: skip
            if form.annotators:
                effects.draw_annotators(
                    self.state, votes, form, par, own, how, self.table, work, self.rows,
                    self.ordered,
                )  # fmt: skip
            effects.draw_spreads(self.state, votes, form, par, self.scale)
            n_spreads = len(self.stretched)
            # All spreads are stretched if there are few votes, otherwise two of them.
            turns = [first + sweep, first + sweep + n_spreads // 2]
            is_small = len(votes.left) < _FEW or n_spreads < 2
            for turn in range(n_spreads) if is_small else turns:
                of = self.stretched[turn % n_spreads]
                effects.stretch(
                    self.state, votes, form, par, self.scale, of, self.table, self.ordered[0],
                    self.rows,
                )  # fmt: skip
            if form.items or form.annotators:
                effects.draw_means(self.state, votes, form, par, self.prior, self.scale)
            if first >= 0:
                self._keep(first + sweep)

    def replay(self, values: Mapping[str, Array]) -> None:
        """Store draws of the PyMC model's variables in the trace."""
        par, form, process = self.par, self.form, self.process
        item, system = cells(self.votes.prompts)
        voter, favoured = cells(self.votes.voters)
        for place in range(len(values["strength"])):
            known = process.evidence
            par.strength[:] = values["strength"][place]
            if known is not None:
                if len(known.judges):
                    par.strength[:] = values["beyond_judge"][place]
                parts = [
                    values[name][place]
                    for name in ("judge_weight", "judge_system_weight", "coefficient", "judge_tie")
                    if name in values
                ]
                par.coefficient[:] = np.concatenate(parts)
            for has, of, name in (
                (form.ties, TIE - 1, "tie"), (form.side, SIDE - 1, "side"),
            ):  # fmt: skip
                if has:
                    par.common[of] = values[name][place]
            if form.items:
                numbers = values["item_effect"][place]
                if form.ties:
                    numbers = np.column_stack([numbers, values["item_tie"][place]])
                par.cell[:] = numbers[item, system]
            if "annotator_taste" in values:
                par.taste[:] = values["annotator_taste"][place][voter, favoured]
            if form.annotators:
                par.own[:, SHARP] = np.log(values["annotator_sharpness"][place])
                for has, of, name in ((form.ties, TIE, "tie"), (form.side, SIDE, "side")):
                    if has:
                        par.own[:, of] = values[f"annotator_{name}"][place]
            for of, name in enumerate(SCALES):
                if name in values:
                    par.spread[of] = values[name][place]
            self._keep(place)

    def _keep(self, place: int) -> None:
        """Write one draw into the trace."""
        par, trace = self.par, self.trace
        trace.strength[place] = par.strength - par.strength.mean()
        trace.common[place], trace.spread[place] = par.common, par.spread
        trace.coefficient[place] = par.coefficient
        if trace.cell.shape[1]:
            trace.cell[place] = par.cell
        if trace.own.shape[1]:
            trace.own[place] = par.own
        if trace.taste.shape[1]:
            trace.taste[place] = par.taste
        total = log_likelihoods(self.votes, self.form, par, self.table, self.rows)
        trace.log_likelihood[place] = total
        if trace.each.shape[1]:
            trace.each[place] = self.rows[OUT]
