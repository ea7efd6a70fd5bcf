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


def test_at_5_percent_one_model_is_twice_as_far_and_the_other_half_as_far():
    """Model 0.9 "is twice as far from annotators as they are from each other", 1.0 "twice as
    close"; in exact terms 1.54 and 0.51 (read off Figure 2b, "about")."""
    rng = np.random.default_rng(1)
    near, far = ratio(rng, 0.05, 1.0), ratio(rng, 0.05, 0.9)
    assert near == pytest.approx(exact(0.05, 1.0), rel=0.05)
    assert far == pytest.approx(exact(0.05, 0.9), rel=0.05)
    assert near == pytest.approx(0.5, abs=0.05)
    assert 1.4 < far < 2.2


@pytest.mark.parametrize("kept", [0.8, 0.9, 1.0])
def test_labels_drawn_at_random_put_all_at_1(kept):
    assert ratio(np.random.default_rng(2), 1.0, kept) == pytest.approx(1.0, abs=0.01)


def test_a_model_is_at_1_where_annotators_are_as_accurate_as_it_is():
    """The points of Figure 2a: swap probabilities of 0.1 * 10/9 and 0.2 * 10/9.

    Model X equals an annotator there, whose wrong labels are spread in the same way.
    """
    rng = np.random.default_rng(3)
    for kept in (0.9, 0.8):
        swap = (1 - kept) * 10 / 9
        assert exact(swap, kept) == pytest.approx(1.0, rel=1e-12)
        assert ratio(rng, swap, kept) == pytest.approx(1.0, abs=0.04)


def test_the_truth_is_below_1_at_every_swap_probability():
    """Figure 2b: "the curve of model 1.0 always lies below 1", and others cross it once."""
    rng = np.random.default_rng(4)
    swaps = np.array([0.02, 0.1, 0.3, 0.6, 0.9])
    truth, noisy = ([ratio(rng, swap, kept) for swap in swaps] for kept in (1.0, 0.8))
    assert max(truth) < 1
    assert np.flatnonzero(np.array(noisy) < 1).tolist() == [2, 3, 4]


def test_the_number_of_annotators_does_not_matter():
    """Figure 2c, at a swap probability of .3."""
    rng = np.random.default_rng(5)
    found = [ratio(rng, 0.3, 0.9, count=count) for count in (2, 3, 6, 12)]
    np.testing.assert_allclose(found, exact(0.3, 0.9), rtol=0.03)


def test_a_strict_annotator_does_not_matter():
    """Figure 2d: images differ in their swap probability; one annotator skips the harder ones."""
    rng = np.random.default_rng(6)
    swap = rng.uniform(0, 0.6, ITEMS)
    found = []
    for skipped in (0.0, 0.3, 0.6, 0.9):
        missing = np.zeros((ITEMS, 4), dtype=bool)
        missing[:, 0] = swap > np.quantile(swap, 1 - skipped) if skipped else False
        found.append(ratio(rng, swap, 0.9, count=4, missing=missing))
    np.testing.assert_allclose(found, found[0], rtol=0.04)
