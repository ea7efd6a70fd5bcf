"""What fits say of items on average is what they turn out to be.

A fit gives the probability of each label being true and the mean difficulty of an item, given the
other parameters of a draw: averages, which have no places among draws. But under calibration what
was said is right on average wherever it was said, so that the error is uncorrelated with it.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from calibration.truth_studies import ITEMS, draw
from calibration.truth_worlds import FIFTHS, Setting

import dissensus as dx
from dissensus.errors import ConvergenceWarning

STUDIES = 100
SETTINGS = {
    "symmetric_confusion": Setting("symmetric_confusion", 3, 4, 2, difficulty=True),
    "dawid_skene": Setting("dawid_skene", 2, 4, 2, difficulty=True, pooling="complete"),
}


def errors(setting, seed=5):
    """Return what was said of items, and what they are less that: truth and difficulty (study)."""
    rng = np.random.default_rng(seed)
    fit = dx.models.get(setting.model).module.fit
    for _ in range(STUDIES):
        drawn = draw(setting, rng)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            warnings.filterwarnings("ignore", "In the posterior, annotators")
            tree = fit(drawn.annotations, draws=500, chains=1, progressbar=False,
                       random_seed=int(rng.integers(2**31)), **drawn.hyper)  # fmt: skip
        mean = tree["posterior"].to_dataset()[["truth", "item_difficulty"]].mean(("chain", "draw"))
        truth = np.eye(setting.n_labels)[drawn.study.truth]
        hard = -drawn.world.difficulty * FIFTHS[drawn.study.fifth]
        yield (
            (mean["truth"].to_numpy(), truth - mean["truth"].to_numpy()),
            (mean["item_difficulty"].to_numpy(), hard - mean["item_difficulty"].to_numpy()),
        )


def score(estimate, error):
    """Return a z-score of their correlation; studies are independent, items of one are not.

    Weights may hang on what was said, so that a study where much was said does not drown the rest.
    """
    each = np.array([
        (a * b).sum() / np.sqrt((a**2).sum()) for a, b in zip(estimate, error, strict=True)
    ])  # fmt: skip
    return each.mean() / (each.std(ddof=1) / np.sqrt(len(each)))


@pytest.mark.slow
@pytest.mark.parametrize("model", sorted(SETTINGS))
def test_items_are_on_average_as_they_are_said_to_be(model):
    for result in zip(*errors(SETTINGS[model]), strict=True):
        estimate, error = zip(*result, strict=True)
        assert len(estimate[0]) == ITEMS[model]
        assert abs(score(estimate, error)) < 4
        # Said twice as loudly, it would be found out.
        assert abs(score(estimate, [b - a for a, b in zip(estimate, error, strict=True)])) > 4
