"""How many more votes would settle the order of two neighbours in a leaderboard."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Final

import numpy as np
import pandas as pd
import xarray as xr

from dissensus.dims import SAMPLE, SCOPES, SYSTEM
from dissensus.evaluation.votes import CHECK, COMPARISON, LEADERBOARD

SURE: Final = 0.95
_Z: Final = 1.645
"""Standard errors that a difference must be above 0 for P(better) to be `SURE`."""
_NODES: Final = 32


def next_votes(evaluation: xr.DataTree) -> pd.DataFrame:
    r"""Return neighbours in the leaderboard whose order is open, the cheapest to settle first.

    Neighbours belong to one group: votes or verdicts connect them. Their order is open if
    P(better) is between .05 and .95. If their difference has the posterior mean m and variance v,
    and a vote on the two systems adds the information J to :math:`1 / v`, then P(better) is .95
    after

    .. math:: n = \frac{1.645^2 / m^2 - 1 / v}{J}

    votes. The score y of a vote is 1 (for the first system), 0 (a tie) or -1 (for the second). If
    :math:`\eta` are the log odds of the first against the second on a prompt, the derivative of
    E(y) with respect to :math:`\eta` is Var(y) / 2. Therefore

    .. math:: J = \frac{(\overline{Var(y)} / 2)^2}{\overline{Var(y)} + Var(E(y))}

    with means over prompts and voters, :math:`\eta \sim \mathrm{Normal}(m, 2 \sigma_u^2 + 2
    \sigma_v^2)` and the tendency to ties :math:`\mathrm{Normal}(\tau, \sigma_\tau^2)`. If the
    leaderboard is for the prompts of the votes, new votes are spread evenly over these prompts. Of
    Var(E(y)) then only the share of voters' tastes counts, :math:`\sigma_v^2 / (\sigma_u^2 +
    \sigma_v^2)`. A difference of win rates is divided by its slope against the difference of
    strengths: m and v are then on the scale of :math:`\eta`.

    Assumptions: new votes do not change the estimated difference (in fact they do, so about half of
    all repetitions need more votes), voters are typical, each new vote is by another voter, and
    posteriors are normal. J ignores judges' verdicts; m and v are from the fit with verdicts.

    Returns
    -------
    pandas.DataFrame
        Columns ``first``, ``second`` (systems), ``better`` (the probability that the first is
        better), ``votes`` (of the pair so far), and ``more`` (n; infinite if win rates do not grow
        with strengths).
    """
    board, posterior = evaluation[LEADERBOARD].to_dataset(), evaluation["posterior"].to_dataset()
    value = board[board.attrs["order"]].transpose(*SAMPLE, SYSTEM).to_numpy()
    order = np.argsort(-value.mean(axis=(0, 1)), kind="stable")
    pairs = evaluation[COMPARISON].to_dataset()
    better = (pairs["probability_better"] + pairs["probability_equal"] / 2).to_numpy()
    strength = board["strength"].transpose(*SAMPLE, SYSTEM).to_numpy()
    seen = votes_of_pairs(evaluation[CHECK].to_dataset(), len(order))
    tie = float(posterior["tie"].mean()) if "tie" in posterior else -np.inf
    spreads = [
        float(posterior[name].mean()) if name in posterior else 0.0
        for name in ("item_spread", "item_tie_spread", "annotator_taste_spread")
    ]
    names, group = board[SYSTEM].to_numpy().tolist(), board["group"].to_numpy()
    rows = []
    order = order[np.argsort(group[order], kind="stable")]
    for first, second in pairwise(order.tolist()):
        p = float(better[first, second])
        if group[first] != group[second] or not 1 - SURE < p < SURE:
            continue
        apart = value[..., first] - value[..., second]
        along = strength[..., first] - strength[..., second]
        slope = ((apart - apart.mean()) * (along - along.mean())).mean() / along.var()
        more = np.inf
        if slope > 0 and apart.mean() > 0:
            m, v = float(apart.mean() / slope), float(apart.var() / slope**2)
            gain = information(m, tie, spreads, new_items=board.attrs["scope"] == SCOPES[1])
            more = max(((_Z / m) ** 2 - 1 / v) / gain, 1.0)
        rows.append((names[first], names[second], p, int(seen[first, second]), more))
    out = pd.DataFrame(rows, columns=["first", "second", "better", "votes", "more"])
    return out.sort_values("more", kind="stable", ignore_index=True)


def information(apart: float, tie: float, spreads: Sequence[float], *, new_items: bool) -> float:
    """Return J of `next_votes`: the information that a vote adds on a difference of strengths.

    ``spreads`` are ``item_spread``, ``item_tie_spread`` and ``annotator_taste_spread``.

    Examples
    --------
    >>> information(0.0, float("-inf"), (0.0, 0.0, 0.0), new_items=False)
    0.25
    """
    nodes, weights = np.polynomial.hermite_e.hermegauss(_NODES)
    weights = np.multiply.outer(weights, weights).ravel() / weights.sum() ** 2
    spread = math.hypot(spreads[0], spreads[2])
    eta = apart + np.sqrt(2.0) * spread * np.repeat(nodes, _NODES)
    tied = tie + spreads[1] * np.tile(nodes, _NODES)
    odds = np.exp(np.stack([eta / 2, tied, -eta / 2]))
    left, _, right = odds / odds.sum(axis=0)
    mean, variance = left - right, left + right - (left - right) ** 2
    within = weights @ variance
    between = weights @ mean**2 - (weights @ mean) ** 2
    if not new_items:
        between *= (spreads[2] / spread) ** 2 if spread > 0.0 else 0.0
    return float((within / 2) ** 2 / (within + between))


def votes_of_pairs(check: xr.Dataset, n: int) -> Any:
    """Return the number of votes of each pair (system, system)."""
    out = np.zeros((n, n), dtype=np.int64)
    codes = check["first_code"].to_numpy(), check["second_code"].to_numpy()
    out[codes] = check["votes"].to_numpy()
    return out + out.T
