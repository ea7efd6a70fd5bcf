"""Whether PyMC may choose our steps by itself."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_LEFT_OUT: ContextVar[bool] = ContextVar("gibbs_steps_left_out", default=False)


@contextmanager
def without_gibbs() -> Iterator[None]:
    """Let `pymc.sample` choose among its own steps only, here NUTS for everything.

    By its own choice it also finds starts for NUTS, of each chain another, from which r-hat can
    tell whether chains have met; with ``step=pm.NUTS()`` all chains begin at one point.

    Examples
    --------
    >>> import dissensus as dx, pymc as pm
    >>> from dissensus.steps import without_gibbs
    >>> ann = dx.datasets.load("anaesthesia").annotations
    >>> with dx.models.dawid_skene.build(ann) as model, without_gibbs():
    ...     steps = pm.sampling.mcmc.assign_step_methods(model)[1]
    >>> [step.__name__ for step in steps]
    ['NUTS']
    """
    token = _LEFT_OUT.set(True)
    try:
        yield
    finally:
        _LEFT_OUT.reset(token)


def left_out() -> bool:
    """Return whether this is such a place."""
    return _LEFT_OUT.get()
