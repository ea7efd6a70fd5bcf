"""Evaluations of votes on pairs of systems: the leaderboard, and its check."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import pandas as pd
import xarray as xr
from scipy.sparse import coo_array

from dissensus import metrics, models
from dissensus.data.contents import name_warnings
from dissensus.data.pairs import checked_pairs, system_groups
from dissensus.dims import CHAIN, DRAW, ITEM, PAIR, SAMPLE, SCOPES, SYSTEM, VOTE
from dissensus.errors import DissensusWarning, warn_caller
from dissensus.evaluation.doubts import DOUBT, each, of_group
from dissensus.evaluation.provenance import provenance
from dissensus.evaluation.section import require_settings
from dissensus.families.base import FitOptions
from dissensus.families.pairs.fit import PairsFit
from dissensus.families.pairs.process import process as pairs_process
from dissensus.families.pairs.sides import REMEDY, is_separable, side_warnings, sides
from dissensus.kernels.random import generator
from dissensus.kernels.types import Floats
from dissensus.sampling import fitting
from dissensus.sampling.intervals import effective, spread, whole

LEADERBOARD: Final = "leaderboard"
COMPARISON: Final = "comparison"
CHECK: Final = "vote_check"
ALONE: Final = "votes_alone"
_MODEL: Final = "bradley_terry"
_GROUPS: Final = ("posterior", "sample_stats", "observed_data", "constant_data")
_OF_MODEL: Final = ("annotators", "items", "side", "ties", "priors", "answers")
_OF_RUN: Final = ("tune", "sampler", "checkpoint")
_SHARED: Final = ("draws", "chains", "random_seed", "new_items")
_REPLICATES: Final = 200
"""Number of replicates of the votes in all chains, for the posterior predictive check."""


def evaluate_votes(
    votes: xr.Dataset, verdicts: xr.Dataset | None, given: Mapping[str, Any],
    defaults: Mapping[str, Any], *, progressbar: bool, seed_source: str,
) -> xr.DataTree:  # fmt: skip
    """Evaluate systems by votes; ``given`` are the arguments of `evaluate`.

    Raises
    ------
    ArgumentError
        If arguments are given that do not apply to votes; the error names all of them.
    """
    votes = checked_pairs(votes)
    require_settings(
        given, defaults, (*_SHARED, *_OF_MODEL, *_OF_RUN), "votes on pairs", model=_MODEL
    )
    of_model = {name: given[name] for name in _OF_MODEL if name in given}
    of_run = {name: given[name] for name in _OF_RUN if name in given}
    shared = {name: given[name] for name in ("draws", "chains", "random_seed")}
    for warning in name_warnings(votes):
        warn_caller(f"{warning}.")
    fit = models.get(_MODEL).module.fit
    with fitting.all_or_nothing():
        fitted = fit(votes, predictions=verdicts, progressbar=progressbar, **shared, **of_model,
                    **of_run)  # fmt: skip
    board = leaderboard(fitted, votes, new_items=given["new_items"], seed=given["random_seed"])
    if given["new_items"] and not board.attrs["scope"]:
        warn_caller(
            "new_items=True changes nothing, because the votes name no prompts, or the model has "
            'no effects of prompts. Name their column with item="...", or type items=True.'
        )
    groups = {name: fitted[name].to_dataset() for name in _GROUPS if name in fitted.children}
    groups |= {LEADERBOARD: board, "annotations": votes}
    compared: xr.Dataset = metrics.get("compare").function(board[board.attrs["order"]])
    groups[COMPARISON] = compared.drop_vars(["difference", *SAMPLE])
    with warnings.catch_warnings():  # the first fit has warned of the same data
        warnings.simplefilter("ignore", DissensusWarning)
        groups[CHECK] = _vote_check(fitted, votes, verdicts, of_model, given["random_seed"])
        if verdicts is not None:
            groups["predictions"] = verdicts
            of_run.pop("checkpoint", None)
            of_model |= {  # the same effects, so that only the verdicts differ
                name: bool(fitted.attrs[f"hyper_{name}"]) for name in ("annotators", "items")
            }
            with fitting.all_or_nothing():
                alone = fit(votes, progressbar=progressbar, **shared, **of_model, **of_run)
            groups[ALONE] = leaderboard(
                alone, votes, new_items=given["new_items"], seed=given["random_seed"]
            )[["win_rate", "strength"]]
    tree = xr.DataTree.from_dict(groups)
    attrs = groups["posterior"].attrs
    tree.attrs.update(
        {"model": _MODEL, "kind": "pair", "inference": attrs["inference"],
         **{name: given[name] for name in ("draws", "chains")},
         "random_seed": str(given["random_seed"]), "random_seed_source": seed_source},
        **{str(name): value for name, value in attrs.items() if str(name).startswith("hyper_")},
        **provenance(votes, verdicts, given),
    )  # fmt: skip
    return tree


def leaderboard(fit: xr.DataTree, votes: xr.Dataset, *, new_items: bool, seed: Any) -> xr.Dataset:
    r"""Return draws of ``win_rate``, ``rank`` and ``strength`` (chain, draw, system).

    The rank in a draw is 1 plus the number of systems with a larger win rate. With verdicts, a win
    rate is a share of expected votes on the judged pairs, not of the votes cast. Systems may meet
    different opponents on these pairs, so the rank is then by strength (attribute ``order``). The
    strength is for the same prompts as the win rate: if these are the prompts of the votes, it
    contains the systems' mean effects on them. ``group`` (system) is the number of a system's
    group; votes or verdicts connect the systems of a group.
    """
    won = metrics.get("win_rate").function(
        fit, new_items=new_items, as_cast=False, random_seed=seed
    )
    posterior = fit["posterior"].to_dataset()
    order = "strength" if "beyond_judge" in posterior else "win_rate"
    strength = posterior["strength"]
    if "item_effect" in posterior and not new_items:
        strength = strength + posterior["item_effect"].mean(ITEM)
    strength = (strength - strength.mean(SYSTEM)).assign_attrs(better="higher")
    by = {"win_rate": won, "strength": strength}
    values = by[order].transpose(*SAMPLE, SYSTEM).to_numpy()
    above = (values[..., None, :] > values[..., :, None]).sum(axis=-1)
    out = xr.Dataset({
        **by, "rank": won.copy(data=above + 1.0).assign_attrs(better="lower"),
        "votes": (SYSTEM, _votes_of(votes, won.sizes[SYSTEM])),
        "group": (SYSTEM, _groups(fit["constant_data"].to_dataset(), won.sizes[SYSTEM])),
    })  # fmt: skip
    has_items = "item_spread" in posterior
    scope = SCOPES[int(new_items)] if has_items or "beyond_judge" in posterior else ""
    return out.assign_attrs(model=_MODEL, scope=scope, order=order)


def _votes_of(votes: xr.Dataset, n_systems: int) -> Any:
    """Return the number of votes on each system; it is 0 for systems that only verdicts compare."""
    codes = np.concatenate([votes[f"{side}_code"].to_numpy() for side in ("left", "right")])
    return np.bincount(codes, minlength=n_systems)


def _groups(known: xr.Dataset, n_systems: int) -> Any:
    """Return the number of each system's group; votes or verdicts connect a group's systems."""
    form = "pair_{}" if "verdict" in known else "{}_code"
    left, right = (known[form.format(side)].to_numpy() for side in ("left", "right"))
    return system_groups(left, right, n_systems)


def unconnected_reason(evaluation: xr.DataTree) -> str:
    """Return a reason not to rely on the order if systems form several groups, else ""."""
    n = int(evaluation[LEADERBOARD]["group"].max()) + 1
    return f"systems are in {n:,} groups that no votes compare" if n > 1 else ""


# A posterior predictive check: shares of votes won, pair by pair.


def _vote_check(
    fit: xr.DataTree, votes: xr.Dataset, verdicts: xr.Dataset | None, settings: Mapping[str, Any],
    seed: Any,
) -> xr.Dataset:  # fmt: skip
    """Return the share of votes that a pair's first system wins: observed, and in replicates.

    A replicate has new votes of the same voters on the same pairs and prompts; voters' tastes are
    drawn anew.
    """
    posterior = fit["posterior"].to_dataset()
    step = max(1, posterior.sizes[CHAIN] * posterior.sizes[DRAW] // _REPLICATES)
    kept = posterior.isel({DRAW: slice(None, None, step)})
    made = pairs_process(
        votes, predictions=verdicts, **{"annotators": None, "items": None, **settings}
    )
    options = FitOptions(draws=kept.sizes[DRAW], chains=kept.sizes[CHAIN], progressbar=False)
    of_pairs, rng = PairsFit(made, options), generator(seed, CHECK)
    drawn = of_pairs.posterior_predictive(of_pairs.replayed(kept, rng), rng)["outcome"]
    sides = np.stack([votes[f"{side}_code"].to_numpy() for side in ("left", "right")])
    pair, place = np.unique(np.sort(sides, axis=0), axis=1, return_inverse=True)
    turned = sides[0] > sides[1]
    count = np.bincount(place.ravel())
    sums = coo_array((1.0 / count[place.ravel()], (place.ravel(), np.arange(len(turned))))).tocsr()

    def shares(outcome: Any) -> Floats:
        won = 1.0 - 0.5 * outcome
        return np.asarray((sums @ np.where(turned, 1.0 - won, won).T).T)

    flat = drawn.transpose(*SAMPLE, VOTE).to_numpy()
    replicated = shares(flat.reshape(-1, flat.shape[-1])).reshape(*flat.shape[:2], -1)
    return xr.Dataset({
        "observed": (PAIR, shares(votes["outcome"].to_numpy()[None])[0]),
        "replicated": ((*SAMPLE, PAIR), replicated),
        "votes": (PAIR, count), "first_code": (PAIR, pair[0]), "second_code": (PAIR, pair[1]),
    })  # fmt: skip


def misfit(evaluation: xr.DataTree) -> tuple[float, Floats]:
    r"""Return P(replicated misfit is at least the observed misfit), and the misfit of each pair.

    The misfit of a pair is the distance of its share of votes won from the mean of the replicates,
    in standard deviations of the replicates; the misfit of all pairs is the mean of the squares.
    """
    data = evaluation[CHECK].to_dataset()
    drawn = data["replicated"].to_numpy().reshape(-1, data.sizes[PAIR])
    mean, sd = drawn.mean(axis=0), drawn.std(axis=0)
    scale = np.where(sd > 0, sd, 1.0)
    apart = (data["observed"].to_numpy() - mean) / scale
    total = (((drawn - mean) / scale) ** 2).mean(axis=1)
    return float((total >= (apart**2).mean()).mean()), apart


# The sides on which answers were shown.


def side_bias(evaluation: xr.DataTree) -> tuple[str, str, str]:
    """Return whether the side biases the order of systems, the reason, and a remedy.

    The first is ``modelled`` or ``confounded`` if the model estimates the advantage of the left (in
    vain if confounded), else a `families.pairs.sides.Sides.state`.
    """
    votes = evaluation["annotations"].to_dataset()
    if "side" in evaluation["posterior"]:
        problems = list(side_warnings(votes, modelled=True))
        return ("confounded", *problems[-1]) if problems else ("modelled", "", "")
    known = sides(votes)
    return known.state, known.reason, REMEDY


def side_separable(evaluation: xr.DataTree) -> bool:
    """Return whether ``side=True`` can separate an advantage of the left from strengths."""
    return is_separable(evaluation["annotations"].to_dataset())


def left_share(evaluation: xr.DataTree) -> xr.DataArray:
    """Return draws of the share of votes that the left one of two equal answers wins.

    It is for a typical voter and prompt; a tie counts half.
    """
    posterior = evaluation["posterior"].to_dataset()
    ahead: xr.DataArray = np.exp(posterior["side"] / 2)  # type: ignore[assignment] # NumPy's stubs
    tie: Any = np.exp(posterior["tie"]) if "tie" in posterior else 0.0
    return (ahead + tie / 2) / (ahead + tie + 1 / ahead)


# The table.


def leaderboard_rows(evaluation: xr.DataTree) -> pd.DataFrame:
    """Summarise the group ``leaderboard``; see `dissensus.summary`."""
    if LEADERBOARD not in evaluation.children:
        return pd.DataFrame(columns=[SYSTEM, "mean", "sd", "lower", "upper", DOUBT])
    board = evaluation[LEADERBOARD].to_dataset()
    parts = spread(board["win_rate"]) | effective(board["win_rate"])
    out = pd.DataFrame({SYSTEM: pd.Series(board[SYSTEM].to_numpy().tolist(), dtype=object)})
    tail = parts.pop("ess_tail")
    diagnosed = {name: parts.pop(name) for name in ("ess_bulk", "r_hat") if name in parts}
    out = out.assign(**{name: values.to_numpy() for name, values in parts.items()})
    ranks = [whole(board["rank"].isel({SYSTEM: n})) for n in range(len(out))]
    for name, part in (("rank", "median"), ("rank_lower", "lower"), ("rank_upper", "upper")):
        out[name] = [int(rank[part]) for rank in ranks]
    out["probability_best"] = evaluation[COMPARISON]["probability_best"].to_numpy()
    out["votes"] = board["votes"].to_numpy()
    out = out.assign(**{name: values.to_numpy() for name, values in diagnosed.items()})
    of_all = of_group(evaluation, LEADERBOARD)
    shared = unconnected_reason(evaluation)
    reasons = [of_all or reason for reason in each(out, tail)]
    out[DOUBT] = ["; ".join(filter(None, (reason, shared))) for reason in reasons]
    order = np.argsort(-board[board.attrs["order"]].mean(SAMPLE).to_numpy(), kind="stable")
    return out.iloc[order].reset_index(drop=True)
