"""PyMC distributions of annotations."""

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
