"""Whether labels keep their names: counted by hand, and said of fits where it can fail."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from truth_cases import THREE, rows

import dissensus as dx
from dissensus.families.latent_truth.fit import label_order
from dissensus.models.dawid_skene import _process

GOOD = np.array([[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]])
TURNED = GOOD[[0, 2, 1]]
"""What is called 2 is meant by 1, and the other way round."""


def process():
    return _process(
        rows(THREE, n_labels=3).annotations(), None, pooling="none", difficulty=False,
        systems="independent", evidence="all", prior_count=1.0, sampler="gibbs", on_missing="raise",
    )  # fmt: skip


def chains(turned):
    """Two chains of ten draws, of two respondents who agree; so many draws are turned."""
    each = np.where((np.arange(20) < turned)[:, None, None], TURNED, GOOD)
    return np.repeat(each[:, None], 2, axis=1).reshape(2, 10, 2, 3, 3)


def test_where_labels_keep_their_names_nothing_is_said():
    result = label_order(process(), chains(0))
    assert result == {"label_kept_min": 1.0, "label_kept_min_label": "0", "labels_exchanged": 0.0}


@pytest.mark.parametrize("turned", [3, 10])
def test_counts_the_draws_in_which_labels_have_changed_places(turned):
    """Up to a half of the draws each label still leads under its own name."""
    with pytest.warns(dx.DesignWarning, match=f"In {turned / 20:.0%} of the draws") as caught:
        result = label_order(process(), chains(turned))
    assert len(caught) == 1
    assert result["label_kept_min"] == pytest.approx(1 - turned / 20)
    assert result["label_kept_min_label"] == "1"
    assert result["labels_exchanged"] == pytest.approx(turned / 20)


def test_warns_of_labels_that_have_changed_places():
    with pytest.warns(dx.DissensusWarning, match="another label") as caught:
        result = label_order(process(), chains(15))
    assert result["label_kept_min"] == 0.25
    text = str(caught[0].message)
    assert "1 (labelled 2)" in text
    assert "2 (labelled 1)" in text
    assert "0 (called" not in text


def test_annotators_are_looked_at_together():
    """One who turns labels does not outweigh one who is surer of them."""
    both = np.stack([0.9 * np.eye(3) + 0.1 / 3, TURNED])[None, None]
    assert label_order(process(), both)["label_kept_min"] == 1.0


@pytest.mark.parametrize(
    ("pooling", "told"), [("none", True), ("hierarchical", True), ("complete", False)]
)
def test_fits_tell_it_where_it_can_fail(pooling, told):
    """One matrix for all has its own labels first by its prior: that it does says nothing."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dx.DissensusWarning)
        fit = rows(THREE, n_labels=3, pooling=pooling).fit(draws=50, tune=50, chains=2)
    assert ("label_kept_min" in fit["posterior"].attrs | fit.attrs) == told
    if not told:
        matrices = fit["posterior"]["confusion"]
        assert (matrices.argmax("response") == np.arange(3)).all()
