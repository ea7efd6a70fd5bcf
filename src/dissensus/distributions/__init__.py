"""PyMC distributions of annotations."""

from dissensus.distributions.power_multinomial import PowerMultinomial

__all__ = ["PowerMultinomial"]
