"""PyMC distributions of annotations."""

from dissensus.distributions.cumulative_probit import CumulativeProbit
from dissensus.distributions.latent_answers import LatentAnswers
from dissensus.distributions.latent_truth import LatentTruth
from dissensus.distributions.leading_dirichlet import LeadingDirichlet
from dissensus.distributions.log_gamma import LogGamma
from dissensus.distributions.partial_ranking import PartialRanking
from dissensus.distributions.power_multinomial import PowerMultinomial

__all__ = [
    "CumulativeProbit",
    "LatentAnswers",
    "LatentTruth",
    "LeadingDirichlet",
    "LogGamma",
    "PartialRanking",
    "PowerMultinomial",
]
