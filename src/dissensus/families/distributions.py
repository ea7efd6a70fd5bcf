"""PyMC distributions of annotations.

Importing this module registers the Gibbs steps. `pymc.sample` then uses them where they are exact.
"""

import dissensus.families.steps  # noqa: F401 (registers the steps)
from dissensus.families.conjugate.distributions import PowerMultinomial
from dissensus.families.crossed.distributions import CumulativeProbit
from dissensus.families.latent_truth.distributions import LatentTruth, LeadingDirichlet
from dissensus.families.rankings.distributions import LogGamma, PartialRanking
from dissensus.families.rasch.distributions import LatentAnswers

__all__ = [
    "CumulativeProbit",
    "LatentAnswers",
    "LatentTruth",
    "LeadingDirichlet",
    "LogGamma",
    "PartialRanking",
    "PowerMultinomial",
]
