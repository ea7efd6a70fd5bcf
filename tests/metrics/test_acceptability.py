"""The annotator ICC above the ICC: one probability, on both scales."""

from __future__ import annotations

import numpy as np
import pytest
from component_fits import cross_replication, crossed_effects, fit_of

import dissensus as dx
from dissensus.metrics._cross_replication import annotators_outweigh_items


@pytest.mark.long
@pytest.mark.parametrize("family", ["gaussian", "bernoulli", "ordinal"])
@pytest.mark.parametrize("scale", ["latent", "observed"])
def test_is_the_share_of_draws_with_the_larger_annotator_icc(family, scale):
    for fit in (crossed_effects(family, draws=100), cross_replication(family, draws=60)):
        found = annotators_outweigh_items(fit)
        above = dx.annotator_icc(fit, scale) > dx.icc(fit, scale)
        np.testing.assert_array_equal(found, above.mean(("chain", "draw")))
        assert found.name == "annotators_outweigh_items"
        assert found.dims == above.dims[2:]
        assert 0 < found.min() <= found.max() < 1


def test_annotators_without_names_are_refused():
    fit = fit_of("bernoulli", mu=0.0, sigma_item=1.0)
    with pytest.raises(dx.ArgumentError, match="anonymous=True"):
        annotators_outweigh_items(fit)
