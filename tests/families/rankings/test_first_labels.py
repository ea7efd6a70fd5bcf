"""The prior that an evaluation learns: from first labels, held against quadrature."""

import numpy as np
import pandas as pd
import pytest
from scipy import integrate, special, stats

import dissensus as dx
from dissensus.families.rankings.process import prior_of

N_LABELS = 40
"""More than 30, so that labels have no weights, and without predictions only kappa is learned."""
SETTINGS = {
    "predictions": None, "draws": 4000, "chains": 4, "tune": 500, "random_seed": 1,
    "progressbar": False,
}  # fmt: skip


def study(n_items=25, fewest=0):
    rng = np.random.default_rng(7)
    rows = []
    for i in range(n_items):
        first = np.log(rng.gamma(0.03, 1.0, N_LABELS) + 1e-9)
        for who in range(4):
            top = int(np.argmax(first + rng.gumbel(size=N_LABELS)))
            others = rng.permutation(np.delete(np.arange(N_LABELS), top))[: rng.integers(fewest, 4)]
            rows += [(i, who, int(x), k + 1) for k, x in enumerate([top, *others])]
    frame = pd.DataFrame(rows, columns=["item", "annotator", "label", "rank"])
    return dx.annotations(frame, rank="rank", labels=list(range(N_LABELS))), frame


def quadrature(frame):
    """Mean and standard deviation of log kappa: a Dirichlet-multinomial of first labels."""
    firsts = frame[frame["rank"] == 1]
    counts = [rows.label.value_counts().to_numpy() for _, rows in firsts.groupby("item")]

    def log_density(x):
        kappa = np.exp(x)
        out = stats.norm.logpdf(x, 0.0, 1.5)
        for n in counts:
            each = kappa / N_LABELS
            out += special.gammaln(kappa) - special.gammaln(kappa + n.sum())
            out += (special.gammaln(each + n) - special.gammaln(each)).sum()
        return out

    top = max(log_density(x) for x in np.linspace(-6, 6, 241))
    moments = [
        integrate.quad(lambda x, k=k: x**k * np.exp(log_density(x) - top), -7, 7, limit=200)[0]
        for k in range(3)
    ]
    mean = moments[1] / moments[0]
    return mean, np.sqrt(moments[2] / moments[0] - mean**2)


@pytest.mark.long
def test_the_prior_of_first_labels_is_that_of_quadrature():
    ann, frame = study()
    mean, sd = quadrature(frame)
    actual = prior_of(ann, first_labels=True, **SETTINGS).values[..., 0]
    assert abs(actual.mean() - mean) < 0.05 * sd + 0.01
    assert abs(actual.std() / sd - 1.0) < 0.08
    whole = prior_of(ann, **SETTINGS).values[..., 0]  # later labels are at random: a larger kappa
    assert whole.mean() > mean + 3 * sd


def test_an_evaluation_learns_its_prior_from_first_labels():
    ann, frame = study()
    quick = {"draws": 200, "random_seed": 1, "progressbar": False}
    evaluation = dx.evaluate(ann, reliability=[1.0], companion=None, **quick)
    kappa = np.log(evaluation["posterior"]["concentration"])
    mean, sd = quadrature(frame)
    assert abs(float(kappa.mean()) - mean) < sd


def test_among_the_labels_of_a_list_whole_lists_are_used():
    ann, _ = study(fewest=1)
    closed = {**SETTINGS, "draws": 100, "unranked": "absent"}
    both = [prior_of(ann, first_labels=first_only, **closed).values for first_only in (False, True)]
    np.testing.assert_array_equal(*both)


@pytest.mark.long
def test_single_labels_have_the_accuracies_and_the_insight_of_dirichlet():
    rng = np.random.default_rng(3)
    theta = rng.dirichlet([0.7] * 4, 80)
    rows = [(i, a, int(rng.choice(4, p=p))) for i, p in enumerate(theta) for a in range(3)]
    ann = dx.annotations(pd.DataFrame(rows, columns=["item", "annotator", "label"]), kind="nominal")
    labels = theta.argmax(axis=1)
    pred = dx.predictions({"item": range(80), "system": ["s"] * 80, "label": labels})
    quick = {"reliability": [1.0], "draws": 200, "random_seed": 1, "progressbar": False}
    means = []
    for model in ("dirichlet", "plackett_luce"):
        result = dx.evaluate(ann, pred, model=model, companion=None, truth_model=None, **quick)
        actual = result["metrics"]["top_1_accuracy"].sel(scope="these items").squeeze().to_numpy()
        theta_ = result["posterior"]["plausibility"]
        known = dx.top_k_accuracy(theta_, pred, insight="learned", random_seed=1)
        np.testing.assert_array_equal(actual, known.squeeze())
        assert (actual != dx.top_k_accuracy(theta_, pred).squeeze()).mean() > 0.5
        means.append(actual.mean())
    assert abs(means[0] - means[1]) < 0.03
