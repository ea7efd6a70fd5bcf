r"""Choosing labels in proportion to their plausibility, without laying out the remainder.

An item's annotators choose from its named labels and from the remainder, U labels whose shares of
its mass are a symmetric Dirichlet(a) draw. One chooses among the named labels, those of the
remainder already looked at, and the rest of it, with its mass. If the choice falls on the rest, the
label in it is one picked with probability proportional to its share: of n labels, the share of one
has the density Beta(a, (n - 1) a), and to weigh it by the share itself adds one to the first
parameter. So the label takes Beta(a + 1, (n - 1) a) of the rest; which of the n it is, is uniform,
as they are exchangeable; and the other n - 1 share what is left as a symmetric Dirichlet(a) again,
independent of all that was seen. From then on that label is looked at: for this annotator, who has
it on the list, and for the next, who may choose it too, since the split is part of the draw.

With another sharpness than 1, labels are chosen in proportion to a power of their plausibility. The
rest's weight is then a sum of powers. It is at most what an even split of the rest would give, or
all in one label; labels are taken out of the rest until that cannot matter. For an even split
(a infinite) it is known without.
"""

from __future__ import annotations

import math

import numpy as np

from dissensus.kernels.compiled import inner
from dissensus.kernels.random import State, uniform
from dissensus.kernels.remainder import SMALL, parted
from dissensus.kernels.types import Codes, Flags, Floats
from dissensus.kernels.variates import log_gamma_variate

_NEGLIGIBLE = -40.0
"""A weight e^-40 times another is below the other's last digit."""

# Plain arrays and numbers go from function to function here. Numba counts references to each array
# of a tuple at every call, which took most of the time.


@inner
def next_log_share(
    state: State, log_rest: float, step: int, members: Codes, a: float
) -> tuple[float, float]:
    """Take the next share off the rest, and move its label to ``members[step]``.

    As `dissensus.kernels.remainder.next_share` does, with the same random numbers, but in
    logarithms: powers far below 1 bring back what is smaller than any floating-point number.

    Parameters
    ----------
    state : array
        The stream.
    log_rest : float
        What is left.
    step : int
        How many shares have been taken.
    members : array (unnamed)
        Numbers of the remainder's labels; written anew at step 0.
    a : float
        The Dirichlet parameter; infinity: an even split.

    Returns
    -------
    log_share, log_rest : float
    """
    if step == 0:
        for member in range(len(members)):
            members[member] = member
    left = len(members) - step - 1
    pick = step + int(uniform(state) * (left + 1))
    members[step], members[pick] = members[pick], members[step]
    if left == 0:
        return log_rest, -np.inf
    if a < SMALL:
        taken, _, log_kept = parted(state, a, left)
        return log_rest + math.log(taken), log_rest + log_kept
    if a == np.inf:
        odds = math.log(left)
    else:
        odds = log_gamma_variate(state, a * left) - log_gamma_variate(state, 1.0 + a)
    both = max(odds, 0.0) + math.log1p(math.exp(-abs(odds)))
    return log_rest - both, log_rest + odds - both


@inner
def log_hidden(log_rest: float, n_hidden: int, a: float, sharp: float) -> float:
    """Return the logarithm of the weight of the rest, or of the most it can be.

    The former where the sharpness is 1, the split is even, or one label is left. A sum of powers
    below 1 is largest where all shares are equal, of powers above 1 where one is all.
    """
    if n_hidden == 0 or log_rest == -np.inf:
        return -np.inf
    if sharp < 1.0 or (sharp > 1.0 and a == np.inf):
        return math.log(n_hidden) + sharp * (log_rest - math.log(n_hidden))
    return sharp * log_rest


@inner
def look(
    state: State, log_mass: Floats, taken: Flags, n_named: int, n_seen: int, log_rest: float,
    members: Codes, a: float, sharp: float,
) -> tuple[int, float]:  # fmt: skip
    """Take labels out of the rest until its weight is known, or cannot matter.

    Parameters
    ----------
    state : array
        The stream of shares.
    log_mass, taken : array (named labels, then those looked at)
        Written, for each that is taken out.
    n_named, n_seen : int
        How many there are of either.
    log_rest, members, a
        As for `next_log_share`.
    sharp : float
        The power.

    Returns
    -------
    n_seen, log_rest : int, float
    """
    if sharp == 1.0 or a == np.inf:
        return n_seen, log_rest
    top = -np.inf
    for k in range(n_named + n_seen):
        if not taken[k]:
            top = max(top, sharp * log_mass[k])
    while n_seen < len(members) - 1:
        if log_hidden(log_rest, len(members) - n_seen, a, sharp) <= top + _NEGLIGIBLE:
            break
        log_share, log_rest = next_log_share(state, log_rest, n_seen, members, a)
        log_mass[n_named + n_seen], taken[n_named + n_seen] = log_share, False
        top = max(top, sharp * log_share)
        n_seen += 1
    return n_seen, log_rest


@inner
def choose(
    state: State, log_mass: Floats, taken: Flags, n_known: int, log_other: float, n_other: int,
    sharp: float, weight: Floats,
) -> int:  # fmt: skip
    """Choose a label that is not taken, or one of the others, which is place `n_known`.

    Parameters
    ----------
    state : array
        The stream.
    log_mass, taken : array (label)
        Of which the first `n_known` are read.
    n_known : int
        How many labels.
    log_other, n_other : float, int
        The others' weight, all together, and how many they are.
    sharp : float
        The power to which a mass is a weight.
    weight : array
        Room to work in, longer than `n_known`.

    Notes
    -----
    If none that is left has any mass, each is as likely as any other.
    """
    top = log_other
    for k in range(n_known):
        if not taken[k]:
            top = max(top, sharp * log_mass[k])
    total = 0.0
    for k in range(n_known):
        weight[k] = 0.0
        if not taken[k]:
            weight[k] = math.exp(sharp * log_mass[k] - top) if top > -np.inf else 1.0
        total += weight[k]
    weight[n_known] = math.exp(log_other - top) if top > -np.inf else n_other
    left, found = uniform(state) * (total + weight[n_known]), n_known
    for k in range(n_known + 1):
        if weight[k] > 0.0:  # so that rounding never ends at one without weight
            found = k
            left -= weight[k]
            if left <= 0.0:
                break
    return found
