"""Maximum likelihood of Bradley-Terry with ties: all votes independent."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from dissensus.data.pairs import checked_pairs
from dissensus.dims import SYSTEM
from dissensus.errors import AnnotationError, shown
from dissensus.families.pairs import kernels
from dissensus.families.pairs.process import process
from dissensus.kernels.types import Floats


def maximum_likelihood(pairs: xr.Dataset, *, side: bool = False) -> xr.Dataset:
    r"""Return the strengths under which the votes are most probable, taken as independent.

    Parameters
    ----------
    pairs : xarray.Dataset
        Votes, from `dissensus.pairs`. Voters and prompts are not told apart.
    side : bool
        Whether the left answer has an advantage.

    Returns
    -------
    xarray.Dataset
        ``strength`` (system), logits that add up to 0; ``tie``, Davidson's :math:`\log \nu`, if
        there are ties; ``side`` if it is asked for; ``log_likelihood``.

    Raises
    ------
    AnnotationError
        If a group of systems always won, or never, against the others: their strengths would be
        infinite. `fit` has a prior, and takes such votes.

    Notes
    -----
    Source: Davidson (1970), Eq. 3. Newton's method on the log-likelihood, which is concave.

    Examples
    --------
    >>> import dissensus as dx
    >>> votes = dx.pairs({"left": ["a"] * 4, "right": ["b"] * 4, "winner": list("aaab")})
    >>> dx.models.bradley_terry.maximum_likelihood(votes)["strength"].values.round(3)  # log(3) / 2
    array([ 0.549, -0.549])
    """
    made = process(pairs, side=side)
    _require_finite(pairs)
    votes, _ = made.votes()
    form, n_systems = made.form, len(made.systems)
    n = n_systems + form.ties + form.side
    at, rest = np.zeros(n), np.zeros((len(votes.left), 3))
    rest[:, 0] = rest[:, 2] = 1.0
    par = kernels.Parameters(
        np.zeros(n_systems), np.zeros(2), np.empty(0), np.zeros((1, 3)), np.ones(5)
    )
    _climb(at, votes, form, par, rest)
    strength = at[:n_systems] - at[:n_systems].mean()
    par.strength[:] = strength
    out: dict[str, Any] = {"strength": (SYSTEM, strength)}
    if form.ties:
        par.common[kernels.TIE - 1] = out["tie"] = at[n_systems]
    if form.side:
        par.common[kernels.SIDE - 1] = out["side"] = at[n - 1]
    table, each = np.empty((len(rest), 5)), np.empty(len(rest))
    out["log_likelihood"] = kernels.log_likelihoods(votes, form, par, table, each)
    return xr.Dataset(out, {SYSTEM: made.systems})


def _climb(at: Floats, votes: kernels.Votes, form: kernels.Form, par: kernels.Parameters,
           rest: Floats) -> None:  # fmt: skip
    """Move to the maximum; a flat direction, of all strengths together, is not moved along."""
    n = len(at)
    matrix, slope = np.empty((n, n)), np.empty(n)
    for _ in range(200):
        kernels.slopes_of_all(at, n, matrix, slope, votes, form, par, rest, np.zeros(n))
        whole = np.tril(matrix) + np.tril(matrix, -1).T
        flat = (np.arange(n) < len(par.strength)).astype(float)
        step = np.linalg.solve(whole + np.outer(flat, flat), slope)
        at += step * min(1.0, 3.0 / max(np.abs(step).max(), 1e-300))
        if np.abs(step).max() < 1e-12:
            return


def _require_finite(pairs: xr.Dataset) -> None:
    """Raise unless a path of wins or ties leads from every system to every other."""
    checked_pairs(pairs)
    left, right = pairs["left_code"].to_numpy(), pairs["right_code"].to_numpy()
    outcome, n = pairs["outcome"].to_numpy(), pairs.sizes[SYSTEM]
    won, lost = (outcome <= 1), (outcome >= 1)
    winner = np.concatenate([left[won], right[lost]])
    loser = np.concatenate([right[won], left[lost]])
    graph = coo_array((np.ones(len(winner)), (winner, loser)), shape=(n, n))
    count, label = connected_components(graph, connection="strong")
    if count > 1:
        small = np.bincount(label).argmin()
        names = pairs[SYSTEM].to_numpy()[label == small].tolist()
        raise AnnotationError(
            "pairs", expected="for each group of systems a vote it won, and one it lost, against "
            "the others (or a tie)",
            found=f"{shown(names)} always won, or never, or were never compared with the others",
            hint="models.bradley_terry.fit has a prior for strengths, and takes these votes",
        )  # fmt: skip
