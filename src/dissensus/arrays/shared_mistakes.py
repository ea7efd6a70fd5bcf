"""Accuracies where annotators' labels point to another label than the true one, on some items.

Of L labels, on a share of the items the apparent one is not the true one, which is then evenly any
other. Annotators go by the apparent one, and so does a system with a certain chance, else by the
true one. Whatever they go by, they are right about it equally often, and otherwise say evenly any
other label. All arrays broadcast against each other.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


class Accuracy(NamedTuple):
    """How often a system is right, and how that comes about."""

    accuracy: Floats
    """How often it says the true label."""
    lost: Floats
    """How often the apparent label is not the true one where it says the apparent one."""
    gained: Floats
    """How often it says the true label where it does not say the apparent one."""
    impossible: npt.NDArray[np.bool_]
    """Where no system could agree with the apparent label so often, or so rarely."""


def accuracy_of_followers(agreement: Floats, share: Floats, n_labels: int) -> Floats:
    """Return how often those are right who always go by the apparent label, such as annotators.

    The same holds of probabilities: from those of being the apparent label to those of being the
    true one.

    Parameters
    ----------
    agreement : array
        How often they say the apparent label.
    share : array
        On how many items it is not the true one.
    n_labels : int

    Examples
    --------
    >>> accuracy_of_followers(np.array(0.9), np.array([0.0, 0.1]), 3).round(3)
    array([0.9  , 0.815])
    """
    return np.asarray((1 - share) * agreement + share * (1 - agreement) / (n_labels - 1))


def accuracy_of_system(
    agreement: Floats, share: Floats, repeated: Floats, n_labels: int
) -> Accuracy:
    """Return how often a system is right that goes by the apparent label with a certain chance.

    Parameters
    ----------
    agreement : array
        How often it says the apparent label.
    share : array
        On how many items that is not the true one; ``share * (1 - repeated)`` must be below
        (L - 1)/L.
    repeated : array
        The chance that it goes by the apparent label on such an item.
    n_labels : int

    Examples
    --------
    >>> found = accuracy_of_system(np.array(0.9), np.array(0.1), np.array([1.0, 0.0]), 3)
    >>> found.accuracy.round(3), found.impossible
    (array([0.815, 1.   ]), array([False, False]))
    """
    rest = n_labels - 1
    free = share * (1 - repeated)  # items on which it goes by the true label, and they do not
    slope = 1 - free * n_labels / rest
    wanted = (agreement - free / rest) / slope
    own = np.clip(wanted, 0.0, 1.0)
    seen = slope * own + free / rest  # the agreement itself, but where that is impossible
    error = (1 - own) / rest
    lost = share * (repeated * own + (1 - repeated) * error)
    gained = share * (repeated * error + (1 - repeated) * own)
    return Accuracy(
        accuracy=(1 - share * repeated) * own + share * repeated * error,
        lost=_part(lost, seen),
        gained=_part(gained, 1 - seen),
        impossible=np.asarray(np.abs(wanted - own) > _ROUNDING),
    )


_ROUNDING = 1e-9


def _part(some: Floats, whole: Floats) -> Floats:
    """Divide parts by their wholes; what is part of nothing does not count."""
    some, whole = np.broadcast_arrays(some, whole)
    found = np.divide(some, whole, out=np.zeros(some.shape), where=whole > _ROUNDING)
    return np.clip(found, 0.0, 1.0)
