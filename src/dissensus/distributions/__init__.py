"""PyMC distributions of annotations."""

from dissensus.distributions.cumulative_probit import CumulativeProbit
from dissensus.distributions.latent_truth import LatentTruth
from dissensus.distributions.log_gamma import LogGamma
from dissensus.distributions.partial_ranking import PartialRanking
from dissensus.distributions.power_multinomial import PowerMultinomial

__all__ = ["CumulativeProbit", "LatentTruth", "LogGamma", "PartialRanking", "PowerMultinomial"]
