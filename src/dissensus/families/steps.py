"""PyMC step methods: exact Gibbs steps where the structure of a model allows them.

Importing this module registers them, so that `pymc.sample` chooses them automatically.
"""

from pymc.step_methods import STEP_METHODS

from dissensus.families.crossed.step import CrossedEffectsGibbs
from dissensus.families.latent_truth.step import LatentTruthGibbs
from dissensus.families.rankings.step import PlackettLuceGibbs
from dissensus.families.rasch.step import RaschGibbs
from dissensus.sampling.step import Model as Model
from dissensus.sampling.step import without_gibbs
from dissensus.sampling.step import written as written

__all__ = [
    "CrossedEffectsGibbs",
    "LatentTruthGibbs",
    "PlackettLuceGibbs",
    "RaschGibbs",
    "without_gibbs",
]

_OURS = (CrossedEffectsGibbs, LatentTruthGibbs, PlackettLuceGibbs, RaschGibbs)
STEP_METHODS.extend(method for method in _OURS if method not in STEP_METHODS)
