"""Maximum likelihood of the Bradley-Terry model with ties, for independent votes."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import xarray as xr

from dissensus.dims import SYSTEM
from dissensus.errors import AnnotationError, shown
from dissensus.families.pairs.kernels.strengths import slopes_of_all
from dissensus.families.pairs.kernels.votes import (
    SIDE,
    TIE,
    Form,
    Parameters,
    Votes,
    empty_rows,
    empty_table,
    log_likelihoods,
)
from dissensus.families.pairs.process import process
from dissensus.kernels.types import Array, Floats


def maximum_likelihood(pairs: xr.Dataset, *, side: bool = False) -> xr.Dataset:
    r"""Return the strengths under which the votes are most probable, if votes are independent.

    Parameters
    ----------
    pairs : xarray.Dataset
        Votes, from `dissensus.pairs`. Voters and prompts are ignored.
    side : bool
        Whether the left answer has an advantage.

    Returns
    -------
    xarray.Dataset
        ``strength`` (system), logits that add up to 0; ``tie``, Davidson's :math:`\log \nu`, if
        there are ties; ``side`` if it is requested; ``log_likelihood``.

    Raises
    ------
    AnnotationError
        If no finite values maximise the likelihood, for example because a group of systems always
        won, or never won, against the others. `fit` has priors, and takes such votes.

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
    checked = process(pairs, side=side)
    votes, _ = checked.votes
    form, n_systems = checked.form, len(checked.systems)
    n = n_systems + form.ties + form.side
    at, rows = np.zeros(n), empty_rows(len(votes.left))
    par = Parameters(
        np.zeros(n_systems), np.zeros(2), np.empty(0), np.zeros((1, 3)), np.ones(7), np.empty(0),
        np.empty(0),
    )  # fmt: skip
    if not _climb(at, votes, form, n_systems, rows):
        raise _infinite(at, checked.systems, form)
    strength = at[:n_systems] - at[:n_systems].mean()
    par.strength[:] = strength
    out: dict[str, Any] = {"strength": (SYSTEM, strength)}
    if form.ties:
        par.common[TIE - 1] = out["tie"] = at[n_systems]
    if form.side:
        par.common[SIDE - 1] = out["side"] = at[n - 1]
    table = empty_table(len(votes.left))
    out["log_likelihood"] = log_likelihoods(votes, form, par, table, rows)
    return xr.Dataset(out, {SYSTEM: checked.systems})


def _climb(at: Floats, votes: Votes, form: Form, n_systems: int, rows: Floats) -> bool:
    """Move to the maximum, and return whether there is one at finite numbers."""
    rest = np.zeros((3, len(votes.left)))
    rest[0] = 1.0  # sharpness
    n = len(at)
    matrix, slope = np.empty((n, n)), np.empty(n)
    flat = (np.arange(n) < n_systems).astype(float)  # all strengths together
    for _ in range(_STEPS):
        slopes_of_all(at, n, matrix, slope, votes, form, n_systems, rest, rows, np.zeros(n))
        whole = np.tril(matrix) + np.tril(matrix, -1).T + np.outer(flat, flat)
        if np.linalg.cond(whole) > _SINGULAR:
            return False
        step = np.linalg.solve(whole, slope)
        at += step * min(1.0, 3.0 / max(np.abs(step).max(), 1e-300))
        if np.abs(at).max() > _FAR:
            return False
        if np.abs(step).max() < 1e-10:
            return True
    return False


_STEPS: Final = 200
_FAR: Final = 25.0
"""Maximum absolute estimate, in logits. Newton's method exceeds it if the maximum is at infinity,
because a group of systems won all votes against the others."""
_SINGULAR: Final = 1e13


def _infinite(at: Floats, systems: Array, form: Form) -> AnnotationError:
    """Return the error for votes without a finite maximum, naming the most extreme systems."""
    strength = at[: len(systems)] - at[: len(systems)].mean()
    far = systems[np.abs(strength) > 0.5 * np.abs(strength).max()].tolist()
    names = f" (farthest: {shown(far)})" if far else ""
    others = " or the tendency to ties" * form.ties + " or the left side's advantage" * form.side
    return AnnotationError(
        "pairs", expected="votes with finite estimates of maximum likelihood",
        found=f"strengths{others} that grow without end, or that the votes cannot "
        f"separate{names}: some systems always won, never won, or were not compared",
        hint="models.bradley_terry.fit has priors, and takes these votes",
    )  # fmt: skip
