"""Small models with a Gibbs step, for tests that alter them."""

from __future__ import annotations

import dissensus as dx
from dissensus.families import steps
from dissensus.models import cross_replication, crossed_effects, dawid_skene, rasch

OURS = set(steps._OURS)
CONFUSED = dx.simulate.confusion_study(15, 3, 3, ipc=0.7, system_accuracy=[0.8], random_seed=2)


def effects(family, pools=None):
    return dx.simulate.replication_study(
        15, 5, 3, family=family, pools=pools, overlap=0.6 if pools else 1, random_seed=2
    ).annotations


MODELS = {
    "numbers": lambda: crossed_effects.build(effects("gaussian")),
    "two labels": lambda: crossed_effects.build(effects("bernoulli"), family="bernoulli"),
    "ordered labels": lambda: crossed_effects.build(effects("ordinal"), family="ordinal"),
    "pools": lambda: cross_replication.build(effects("gaussian", ("a", "b")), residual="pool"),
    "rasch": lambda: rasch.build(CONFUSED.annotations),
    "dawid_skene": lambda: dawid_skene.build(CONFUSED.annotations),
}
