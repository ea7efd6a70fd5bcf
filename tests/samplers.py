"""How the models of the registry are sampled, by the signature of their `fit`."""

from __future__ import annotations

import inspect

from dissensus.models import MODELS


def with_chains():
    """Return the models whose draws are a chain: their `fit` can be resumed from a checkpoint."""
    return {m.name for m in MODELS if "checkpoint" in inspect.signature(m.module.fit).parameters}


def drawn_at_once():
    """Return the models whose draws are independent."""
    return {model.name for model in MODELS} - with_chains()
