"""Plans of people's answers on a part of the items, if judges or systems answered all items.

This module has the common part of these plans, and plans of votes on pairs. The module `labels` has
plans of labels and scores.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from typing import Any, Final, NamedTuple

import numpy as np
import xarray as xr

from dissensus import arguments, models
from dissensus.data.pairs import checked_pairs
from dissensus.dims import ANNOTATOR, ITEM, PAIR, SAMPLE, SYSTEM, VOTE
from dissensus.errors import ArgumentError, DissensusWarning
from dissensus.families.base import FitOptions, run
from dissensus.families.pairs.evidence import prompts_of
from dissensus.families.pairs.fit import PairsFit
from dissensus.families.pairs.process import process
from dissensus.kernels.random import generator
from dissensus.kernels.types import Array, Floats
from dissensus.metrics._pairs import vote_on, win_rate
from dissensus.sampling import fitting
from dissensus.studies.planning.studies import counts, level
from dissensus.wording import counted, percent
from dissensus.wording import share as spoken

STUDIES: Final = 5
"""Simulated studies of each size."""
_STUDENT: Final = 2.776
"""Quantile .975 of a t distribution with four degrees of freedom."""
_FEWEST: Final = 100
"""Minimum number of draws."""
_TUNE: Final = 200
"""Warm-up sweeps of fits to simulated votes."""
_TENTHS: Final = 1, 3, 6
"""Sizes of studies by default, in tenths of all units."""


class Words(NamedTuple):
    """Words for answers, units and the estimated quantity in the sentences of a plan."""

    given: str
    """One answer of a person, such as "vote"."""
    to: str
    """Preposition between an answer and a unit."""
    units: str
    """All units, such as "judged pairs"."""
    unit: str
    quantity: str
    judges: str
    """All answers of judges, such as "the verdicts"."""
    alone: str
    """Without these answers, such as "without the verdicts"."""
    whole: bool
    """Whether judges' answers add no information if people answered all units."""


class Sizes(NamedTuple):
    """The sizes of studies that are tried, and how intervals are computed."""

    annotators: list[int]
    items: list[int]
    n_units: int
    prob: float
    draws: int


def sizes(
    annotators: Any, items: Sequence[int] | None, n_units: int, prob: Any, draws: Any, words: Words
) -> Sizes:
    """Return the checked sizes of a plan; by default `_TENTHS` of the units are tried."""
    tenths = tuple(sorted({max(n_units * k // 10, 1) for k in _TENTHS}))
    tried = counts("items", tenths if items is None else items)
    if tried[-1] > n_units:
        raise ArgumentError(
            "items", expected=f"at most {n_units:,}, the number of {words.units}",
            found=f"{tried[-1]:,}", hint=f"Type items={tenths}",
        )  # fmt: skip
    draws = arguments.whole("draws", draws, least=_FEWEST)
    return Sizes(counts("annotators", annotators), tried, n_units, level(prob), draws)


def half_width(draws: Floats, prob: float) -> float:
    """Return half the length of intervals of draws (draw, system), averaged over systems."""
    low, high = np.quantile(draws, [(1.0 - prob) / 2, (1.0 + prob) / 2], axis=0)
    return float((high - low).mean() / 2)


def planned(
    judged: Floats,
    alone: Floats,
    needed: Floats,
    tried: Sizes,
    words: Words,
    *,
    notable: float = 1.0,
) -> xr.Dataset:
    """Return the plan from half-widths (study, annotator, item) with judges (``judged``) and alone.

    Judges save something if, without them, the largest studies would need more than ``notable``
    times as many items, and if the difference in length exceeds the error of the simulation.
    """
    dims = ANNOTATOR, ITEM
    out = xr.Dataset(
        {
            "half_width": (dims, judged.mean(axis=0)),
            "half_width_alone": (dims, alone.mean(axis=0)),
            "items_alone": (dims, needed),
        },
        coords={ANNOTATOR: tried.annotators, ITEM: tried.items},
        attrs={"probability": tried.prob, words.units.replace(" ", "_"): tried.n_units},
    )
    # If people answer all units, judges may add nothing: sentences are about the next smaller size.
    has_all = words.whole and tried.items[-1] == tried.n_units
    place = -2 if has_all and len(tried.items) > 1 else -1
    gap = (alone - judged)[:, -1, place]
    error = _STUDENT * gap.std(ddof=1) / np.sqrt(STUDIES)
    saves = needed[-1, place] > notable * tried.items[place] and gap.mean() > error
    costs = gap.mean() < -error
    study = out.isel({ANNOTATOR: -1, ITEM: place})
    text = _in_words(study, tried, words, saves=saves, costs=costs)
    if has_all and place == -2:
        text += f" {_of_all(words)}"
    return out.assign_attrs(in_words=text)


def _of_all(words: Words) -> str:
    return f"With {words.given}s {words.to} all {words.units}, {words.judges} add no information."


def _in_words(study: xr.Dataset, tried: Sizes, words: Words, *, saves: bool, costs: bool) -> str:
    """Return sentences on a study, one cell of the plan, and on the answers that judges save."""
    n, alone = int(study[ITEM]), round(float(study["items_alone"]))
    half, without = (spoken(float(study[name]), 3) for name in ("half_width", "half_width_alone"))
    text = (
        f"With {counted(tried.annotators[-1], words.given)} {words.to} each of {n:,} of "
        f"{tried.n_units:,} {words.units}, {percent(tried.prob)} intervals of {words.quantity} are "
        f"on average ±{half}, and ±{without} {words.alone}. "
    )
    if words.whole and n == tried.n_units:
        return text + _of_all(words)
    if costs:
        return text + f"Here {words.judges} make intervals longer: they contain little information."
    if not saves:
        return text + (
            f"From these simulated studies it is not certain that {words.judges} save "
            f"{words.given}s."
        )
    alone_first = words.alone[0].upper() + words.alone[1:]
    beyond = ", more than there are" if alone > tried.n_units else ""
    return text + (
        f"{alone_first}, ±{half} needs {words.given}s {words.to} about {alone:,} {words.unit}s"
        f"{beyond}."
    )


_OF_VOTES: Final = Words(
    "vote", "on", "judged pairs", "pair", "win rates", "the verdicts", "without the verdicts",
    whole=False,
)  # fmt: skip


def plan_votes(
    pilot: Any,
    annotators: Sequence[int],
    items: Sequence[int] | None,
    *,
    predictions: Any = None,
    prob: float | None = None,
    draws: int = 400,
    random_seed: Any = None,
    progressbar: bool = True,
) -> xr.Dataset:
    """Return the plan of `dissensus.plan` for votes on pairs that judges have judged."""
    if predictions is None:
        raise ArgumentError(
            "predictions", expected="judges' verdicts on all pairs, from dissensus.pairs",
            found="None", hint="Without a judge, dissensus.evaluate(votes) names the next votes",
        )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DissensusWarning)  # the fit below gives the same warnings
        judged = process(pilot, predictions=predictions).evidence
    n_pairs = 0 if judged is None else len(judged.left)
    tried = sizes(annotators, items, n_pairs, prob, draws, _OF_VOTES)
    arguments.flags(progressbar=progressbar)
    fit = models.get("bradley_terry").module.fit(
        pilot, predictions=predictions, random_seed=random_seed, progressbar=progressbar
    )
    prompts = prompts_of(checked_pairs(pilot), predictions)
    shape = len(tried.annotators), len(tried.items)
    half = np.zeros((2, STUDIES, *shape))  # with verdicts, and without
    rng = generator(random_seed, "plan of votes")
    lots = list(product(range(STUDIES), np.ndindex(shape)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DissensusWarning)  # about simulated studies
        for study, place in fitting.tracked(lots, "Simulating studies", progressbar):
            times, n = tried.annotators[place[0]], tried.items[place[1]]
            votes = _voted(fit, prompts, n, times, rng)
            seed = int(rng.integers(2**32))
            for row, is_told in enumerate((True, False)):
                rates = _win_rates(votes, predictions, tried.draws, seed, is_told=is_told)
                half[row, study, *place] = half_width(rates, tried.prob)
    with_verdicts, alone = half
    needed = np.array(tried.items) * (alone.mean(axis=0) / with_verdicts.mean(axis=0)) ** 2
    return planned(with_verdicts, alone, needed, tried, _OF_VOTES)


def _voted(
    fit: xr.DataTree, prompts: Array, n: int, times: int, rng: np.random.Generator
) -> xr.Dataset:
    """Draw ``times`` votes on each of n judged pairs, from one draw of the pilot's posterior."""
    posterior, known = fit["posterior"].to_dataset(), fit["constant_data"].to_dataset()
    draw_place = {dim: [int(rng.integers(posterior.sizes[dim]))] for dim in SAMPLE}
    draw = (
        posterior.isel(draw_place).stack(sample=SAMPLE, create_index=False).transpose("sample", ...)
    )
    chosen = np.repeat(rng.choice(known.sizes[PAIR], n, replace=False), times)
    pair = known.isel({PAIR: chosen})
    vote = vote_on(draw, pair, rng, expected=False)
    item, item_code = np.unique(pair["pair_item"].to_numpy(), return_inverse=True)
    codes = {
        "left_code": pair["pair_left"].to_numpy(), "right_code": pair["pair_right"].to_numpy(),
        "outcome": np.rint(2.0 * (1.0 - vote.won[0])).astype(np.int64), "item_code": item_code,
    }  # fmt: skip
    coords = {SYSTEM: posterior[SYSTEM].to_numpy(), ITEM: prompts[item]}
    if ANNOTATOR in posterior.coords:
        voters, codes["annotator_code"] = np.unique(vote.voter[0], return_inverse=True)
        coords[ANNOTATOR] = posterior[ANNOTATOR].to_numpy()[voters]
    votes = {name: (VOTE, values) for name, values in codes.items()}
    return xr.Dataset(votes, coords, {"kind": "pair"})


def _win_rates(votes: xr.Dataset, verdicts: Any, draws: int, seed: int, *, is_told: bool) -> Floats:
    """Return win rates (draw, system) on the judged pairs, with or without the verdicts."""
    study = process(votes, predictions=verdicts)
    if not is_told and (known := study.evidence) is not None:
        nothing = {
            name: np.zeros_like(getattr(known, name)) for name in ("verdict", "tied", "leaning")
        }
        study = replace(study, evidence=known._replace(**nothing))
    options = FitOptions(
        draws=draws // 2, tune=_TUNE, chains=2, random_seed=seed, progressbar=False
    )
    fit = run(PairsFit(study, options), lambda: None, {})
    # Rates of expected votes, as in `evaluate`: votes are a sample, even if all pairs have one.
    rates = win_rate(fit, as_cast=False, random_seed=seed).transpose(*SAMPLE, SYSTEM).to_numpy()
    return np.asarray(rates.reshape(-1, rates.shape[-1]))
