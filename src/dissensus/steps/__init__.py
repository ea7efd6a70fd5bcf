"""PyMC step methods: exact Gibbs steps where the structure of a model allows them.

Importing this package registers them, so that `pymc.sample` chooses them by itself.
"""

from pymc.step_methods import STEP_METHODS

from dissensus.sampling.step import without_gibbs
from dissensus.steps.crossed_effects import CrossedEffectsGibbs
from dissensus.steps.latent_truth import LatentTruthGibbs
from dissensus.steps.plackett_luce import PlackettLuceGibbs
from dissensus.steps.rasch import RaschGibbs

__all__ = [
    "CrossedEffectsGibbs",
    "LatentTruthGibbs",
    "PlackettLuceGibbs",
    "RaschGibbs",
    "without_gibbs",
]

_OURS = (CrossedEffectsGibbs, LatentTruthGibbs, PlackettLuceGibbs, RaschGibbs)
STEP_METHODS.extend(one for one in _OURS if one not in STEP_METHODS)
