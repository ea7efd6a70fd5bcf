"""The claims of section 4.1 of Lovchinsky et al. (2020), on labels simulated as described there.

Ten classes. An annotator swaps a label with probability p for one drawn from all ten; "model X"
keeps the share X of the true labels and draws the others from the nine wrong ones. With q = 1 - p
the discrepancies of 0/1 distances are, exactly,

    alpha = (1 - q^2) 9/10,   mu = 1 - X (q + p/10) - (1 - X) p/10.
"""

from __future__ import annotations

import numpy as np
import pytest

import dissensus as dx

CLASSES, ITEMS = 10, 10_000  # as many as the test set of MNIST


def annotators(rng, truth, swap, count):
    drawn = rng.integers(0, CLASSES, (len(truth), count))
    swapped = rng.random((len(truth), count)) < np.broadcast_to(swap, (len(truth),))[:, None]
    return np.where(swapped, drawn, truth[:, None])


def model(rng, truth, kept):
    wrong = (truth + rng.integers(1, CLASSES, len(truth))) % CLASSES
    return np.where(rng.random(len(truth)) < kept, truth, wrong)


def ratio(rng, swap, kept, count=6, missing=None):
    """Return the ratio of model X in one simulated study."""
    truth = rng.integers(0, CLASSES, ITEMS)
    labels = annotators(rng, truth, swap, count)
    answers = model(rng, truth, kept)
    given = np.ones(labels.shape, dtype=bool) if missing is None else ~missing
    item, who = np.nonzero(given)
    ann = dx.annotations(
        {"item": item, "annotator": who, "label": labels[item, who]},
        kind="nominal", labels=range(CLASSES),
    )  # fmt: skip
    pred = dx.predictions({"item": range(ITEMS), "system": ["m"] * ITEMS, "label": answers})
    return dx.discrepancy_ratio(ann, pred)["discrepancy_ratio"].item()


def exact(swap, kept):
    q = 1 - swap
    alpha = (1 - q**2) * 0.9
    return (1 - kept * (q + swap / 10) - (1 - kept) * swap / 10) / alpha


@pytest.mark.unit(8)
@pytest.mark.parametrize(
    ("swap", "kept", "count"),
    [(0.02, 1.0, 6), (0.05, 1.0, 6), (0.05, 0.9, 6), (0.9, 1.0, 6), (1.0, 0.8, 6), (1.0, 1.0, 6),
     (0.3, 0.9, 2), (0.3, 0.9, 12)],
)  # fmt: skip
def test_simulated_ratios_are_the_exact_ones_whatever_the_number_of_annotators(swap, kept, count):
    """Figures 2b and 2c."""
    result = ratio(np.random.default_rng(1), swap, kept, count=count)
    assert result == pytest.approx(exact(swap, kept), rel=0.05)


def test_the_figures_of_the_source_are_the_exact_ratios():
    # "Model 0.9 is twice as far from annotators as they are from each other", 1.0 "twice as close"
    # at 5 %; in exact terms 1.54 and 0.51 (read off Figure 2b, "about").
    assert exact(0.05, 1.0) == pytest.approx(0.5, abs=0.05)
    assert 1.4 < exact(0.05, 0.9) < 2.2
    # Labels drawn at random put all models at 1.
    assert [exact(1.0, kept) for kept in (0.8, 0.9, 1.0)] == pytest.approx([1.0] * 3)
    # The points of Figure 2a: model X equals an annotator whose wrong labels are spread alike.
    for kept in (0.9, 0.8):
        assert exact((1 - kept) * 10 / 9, kept) == pytest.approx(1.0, rel=1e-12)
    # Figure 2b: "the curve of model 1.0 always lies below 1", and others cross it once.
    swaps = np.array([0.02, 0.1, 0.3, 0.6, 0.9])
    assert (exact(swaps, 1.0) < 1).all()
    assert np.flatnonzero(exact(swaps, 0.8) < 1).tolist() == [2, 3, 4]


def test_a_strict_annotator_does_not_matter():
    """Figure 2d: images differ in their swap probability; one annotator skips the harder ones."""
    rng = np.random.default_rng(6)
    swap = rng.uniform(0, 0.6, ITEMS)
    result = []
    for skipped in (0.0, 0.3, 0.6, 0.9):
        missing = np.zeros((ITEMS, 4), dtype=bool)
        missing[:, 0] = swap > np.quantile(swap, 1 - skipped) if skipped else False
        result.append(ratio(rng, swap, 0.9, count=4, missing=missing))
    np.testing.assert_allclose(result, result[0], rtol=0.04)
