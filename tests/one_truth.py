"""A study with a known truth, evaluated by models of one true label."""

from __future__ import annotations

from functools import cache

import stored

import dissensus as dx

OPTIONS = {"draws": 60, "reliability": (1,), "components": None, "random_seed": 1,
           "progressbar": False}  # fmt: skip


@cache
def study():
    """Four annotators of 200 items, right with the probabilities given, and two systems."""
    return dx.simulate.confusion_study(
        200, ipc=(0.8, 0.7, 0.6, 0.7), n_annotators=4, system_accuracy=[0.9, 0.6], random_seed=1
    )


@cache
def evaluated():
    """Evaluate it anew, as long tests do."""
    return dx.evaluate(study().annotations, study().predictions, **OPTIONS)


@cache
def kept():
    """Read its evaluation from the file."""
    return stored.read("one_truth")
