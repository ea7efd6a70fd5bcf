"""Plans of votes on pairs beside a judge's verdicts: how many pairs need no votes by people."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from typing import Any, Final

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
from dissensus.studies.planning.judged import STUDIES, Words, half_width, planned, sizes

_TUNE: Final = 200
WORDS: Final = Words(
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
        warnings.simplefilter("ignore", DissensusWarning)  # fit says the same
        judged = process(pilot, predictions=predictions).evidence
    n_pairs = 0 if judged is None else len(judged.left)
    tried = sizes(annotators, items, n_pairs, prob, draws, WORDS)
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
    told, alone = half
    needed = np.array(tried.items) * (alone.mean(axis=0) / told.mean(axis=0)) ** 2
    return planned(told, alone, needed, tried, WORDS)


def _voted(
    fit: xr.DataTree, prompts: Array, n: int, times: int, rng: np.random.Generator
) -> xr.Dataset:
    """Draw votes on n of the judged pairs from one draw of the pilot's posterior."""
    posterior, known = fit["posterior"].to_dataset(), fit["constant_data"].to_dataset()
    one = {dim: [int(rng.integers(posterior.sizes[dim]))] for dim in SAMPLE}
    draw = posterior.isel(one).stack(sample=SAMPLE, create_index=False).transpose("sample", ...)
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
        who, codes["annotator_code"] = np.unique(vote.who[0], return_inverse=True)
        coords[ANNOTATOR] = posterior[ANNOTATOR].to_numpy()[who]
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
    # The rates that `evaluate` shows: votes are a sample, also where all pairs have one.
    rates = win_rate(fit, as_cast=False, random_seed=seed).transpose(*SAMPLE, SYSTEM).to_numpy()
    return np.asarray(rates.reshape(-1, rates.shape[-1]))
