"""The tables that stand in the library: right to the digit, and as published."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from scipy import integrate, stats

import dissensus as dx
from dissensus.studies.datasets import REGISTRY, _tables

EMBEDDED = [name for name, entry in REGISTRY.items() if entry.source is None]


@pytest.mark.parametrize("name", EMBEDDED)
def test_loads_as_described(name):
    data, described = dx.datasets.load(name), dx.datasets.describe(name)
    ann = data.annotations
    dx.validate(ann)
    result = {
        "items": ann.sizes["item"],
        "annotators": ann.sizes["annotator"],
        "labels": ann.sizes["label"],
        "annotations": ann.sizes["annotation"],
    }
    if data.predictions is not None:
        result["systems"] = data.predictions.sizes["system"]
    assert result == described.counts
    assert ann.attrs["kind"] == described.kind
    assert described.address is described.sha256 is None


@pytest.mark.parametrize("name", REGISTRY)
def test_descriptions_are_complete(name):
    described = dx.datasets.describe(name)
    assert described.name == name
    assert all((described.title, described.citation, described.licence, described.notes))
    assert described.kind in dx.schema.KINDS


def test_unknown_names_and_options():
    with pytest.raises(dx.ArgumentError, match=r"found 'anesthesia'\. Did you mean 'anaesthesia'"):
        dx.datasets.load("anesthesia")
    with pytest.raises(dx.ArgumentError, match="expected one of anaesthesia, lehner_table2"):
        dx.datasets.describe(None)
    with pytest.raises(dx.ArgumentError, match=r"option of the data set 'lehner_table2' \(none\)"):
        dx.datasets.load("lehner_table2", transcription="rater")
    with pytest.raises(dx.ArgumentError, match="'published' or 'rater'; found 'best'"):
        dx.datasets.load("anaesthesia", transcription="best")
    with pytest.raises(dx.ArgumentError, match="expected True or False; found 1"):
        dx.datasets.load("stutz_figure5", whole_space=1)


# Dawid and Skene -----------------------------------------------------------------------------


def em(ann, steps=500):
    """Maximum likelihood by EM from the vote proportions, in plain NumPy."""
    counts = np.zeros((45, 5, 4))
    code = (ann[f"{part}_code"].to_numpy() for part in ("item", "annotator", "label"))
    np.add.at(counts, tuple(code), 1)
    truth = counts.sum(axis=1) / counts.sum(axis=(1, 2))[:, None]
    for _ in range(steps):
        prevalence = truth.mean(axis=0)
        error = np.einsum("ij,irk->rjk", truth, counts)
        error /= error.sum(axis=2, keepdims=True)
        log = np.log(np.where(error > 0, error, 1e-300))
        joint = np.log(prevalence) + np.einsum("irk,rjk->ij", counts, log)
        top = joint.max(axis=1, keepdims=True)
        total = np.exp(joint - top).sum(axis=1, keepdims=True)
        truth = np.exp(joint - top) / total
    return prevalence, float((top + np.log(total)).sum())


@pytest.mark.parametrize(
    ("transcription", "log_likelihood"),
    # The first: the value of the fit whose rates Dawid and Skene print (docs of issue 6, found
    # again by `em`); the second stands in the README of shared/data/anesthesia.
    [("published", -192.891), ("rater", -190.7310)],
)
def test_maximum_likelihood_of_both_transcriptions(transcription, log_likelihood):
    data = dx.datasets.load("anaesthesia", transcription=transcription)
    prevalence, result = em(data.annotations)
    assert result == pytest.approx(log_likelihood, abs=6e-4)
    # Dawid and Skene (1979), Table 2: .40, .42, .11, .07.
    np.testing.assert_allclose(prevalence, [0.40, 0.42, 0.11, 0.07], atol=0.005)


def test_only_patient_7_differs_between_transcriptions():
    both = [
        dx.datasets.load("anaesthesia", transcription=name).annotations
        for name in ("published", "rater")
    ]
    labels = [ann["label"].to_numpy()[ann["label_code"]] for ann in both]
    (row,) = np.flatnonzero(labels[0] != labels[1])
    where = both[0].isel(annotation=row)
    assert int(where["item"][int(where["item_code"])]) == 7
    assert str(where["annotator"][int(where["annotator_code"])].values) == "observer 1"
    assert (int(where["trial"]), labels[0][row], labels[1][row]) == (2, 2, 1)


def test_the_other_transcription_is_that_of_the_shared_file(shared):
    ann = dx.datasets.load("anaesthesia", transcription="rater").annotations
    mine = pd.DataFrame(
        {
            "item": ann["item"].to_numpy()[ann["item_code"]],
            "annotator": 1 + ann["annotator_code"].to_numpy(),
            "trial": ann["trial"].to_numpy(),
            "label": ann["label"].to_numpy()[ann["label_code"]],
        }
    )
    theirs = pd.read_csv(shared / "anesthesia" / "ratings.csv")
    theirs["annotator"] = theirs["annotator"].str[1:].astype(int)
    key = ["item", "annotator", "trial"]
    columns = [*key, "label"]
    pd.testing.assert_frame_equal(
        mine[columns].sort_values(key, ignore_index=True),
        theirs[columns].sort_values(key, ignore_index=True),
        check_dtype=False,
    )


# Lehner --------------------------------------------------------------------------------------


def test_lehner_agreement_and_counts():
    """The text: 20 of 60 pairs agree; the counts 11, 10, 10, 9 give the printed base rates."""
    cases = np.array([list(row) for row in _tables._CASES])
    agree = sum((cases[:, a] == cases[:, b]).sum() for a, b in combinations(range(4), 2))
    assert agree == 20
    ann = dx.datasets.load("lehner_table2").annotations
    counts = np.bincount(ann["label_code"])
    np.testing.assert_array_equal(counts, [11, 10, 10, 9])
    accuracy = 1 / 4 + np.sqrt((3 / 3 - 3 / 4) / 4)  # Eq. 2 with P_a = 1/3
    assert accuracy == pytest.approx(0.5)
    base = (3 * counts / 40 - 1 + accuracy) / (4 * accuracy - 1)  # Eq. 5
    np.testing.assert_allclose(base, [0.325, 0.25, 0.25, 0.175])


def test_lehner_truth_probabilities():
    """Table 3 to its third digit, by Bayes' rule as in the text: the table is typed in right."""
    data = dx.datasets.load("lehner_table2")
    counts = np.zeros((10, 4))
    np.add.at(counts, (data.annotations["item_code"], data.annotations["label_code"]), 1)
    joint = np.array([0.325, 0.25, 0.25, 0.175]) * 0.5**counts * (1 / 6) ** (4 - counts)
    actual = joint / joint.sum(axis=1, keepdims=True)
    printed = """
        .041 .032 .860 .067   .084 .195 .584 .136   .041 .032 .860 .067   .074 .511 .057 .358
        .120 .828 .031 .021   .325 .250 .250 .175   .975 .009 .009 .006   .325 .250 .250 .175
        .657 .169 .056 .118   .657 .169 .056 .118
    """
    expected = np.array(printed.split(), dtype=float).reshape(10, 4)
    np.testing.assert_allclose(actual, expected, atol=0.00051)
    system = data.predictions["label"].to_numpy()[data.predictions["label_code"].to_numpy().ravel()]
    assert "".join(system) == "ACCBBAACDB"  # the last column of Table 3


# Stutz et al., Figure 5 ----------------------------------------------------------------------


def figure5_parameters(reliability=30.0):
    """PrIRN's Dirichlet parameters with 1/rank to every tied label, from the figure by hand."""
    score = {
        "Pyogenic granuloma": 1,
        "Hemangioma": 1 / 2 + 1 + 1 + 1,
        "Melanoma": 1 / 3 + 1 / 2 + 1 + 1 + 1 / 2,
        "Angiokeratoma of skin": 1,
        "Atypical Nevus": 1 / 2,
        "Melanocytic Nevus": 1 / 2 + 1 / 3,
        "O/E - ecchymoses present": 1 / 2,
        "Skin Tag": 1,
    }
    total = sum(score.values())
    return {label: reliability * value / total for label, value in score.items()}


def probability_of_holding_the_top(parameters, members):
    """P(the largest of independent Gammas is a member's), by one-dimensional quadrature."""

    def density(x, label):
        others = [stats.gamma.cdf(x, a) for name, a in parameters.items() if name != label]
        return stats.gamma.pdf(x, parameters[label]) * np.prod(others)

    return sum(
        integrate.quad(density, 0, 80, args=(label,), points=[5, 10, 20], limit=200)[0]
        for label in members
    )


@pytest.mark.parametrize(("system", "expected"), [("A", 0.534), ("B", 0.982)])
def test_figure_5_by_quadrature_and_by_the_model(system, expected):
    """.534 and .982 at reliability 30 (issue 2); the source prints .52 and .99, unstated."""
    data = dx.datasets.load("stutz_figure5")
    members = data.predictions["label"].to_numpy()[
        data.predictions["label_code"].sel(system=system).to_numpy().ravel()
    ]
    exact = probability_of_holding_the_top(figure5_parameters(), members)
    assert exact == pytest.approx(expected, abs=5e-4)
    fit = dx.models.inverse_rank.fit(
        data.annotations, reliability=30, split_ties=False, draws=20_000, chains=2, random_seed=5
    )
    accuracy = dx.top_k_accuracy(fit, data.predictions, k=3).sel(system=system)
    error = np.sqrt(exact * (1 - exact) / 40_000)
    assert float(accuracy.mean()) == pytest.approx(exact, abs=4 * error)


def test_figure_5_in_the_whole_label_space():
    named = dx.datasets.load("stutz_figure5")
    whole = dx.datasets.load("stutz_figure5", whole_space=True)
    assert whole.annotations.sizes["label"] == 419
    assert whole.annotations["label"].to_numpy()[-1] == "other condition 411"
    left, right = (
        dx.models.inverse_rank.point(data.annotations).values[0] for data in (named, whole)
    )
    np.testing.assert_allclose(left, right)  # nobody named the others: they change nothing here
    fit = dx.models.inverse_rank.fit(whole.annotations, draws=10, chains=1, random_seed=1)
    assert int(fit["posterior"]["candidate_size"].values[0, -1]) == 411


def test_figure_5_conditions_are_the_source_s_own(shared):
    path = shared / "dermatology" / "dermatology_conditions.txt"
    conditions = path.read_text(encoding="utf-8").splitlines()
    named = dx.datasets.load("stutz_figure5").annotations["label"].to_numpy()
    assert len(conditions) == 419
    assert set(named) <= set(conditions)


def test_figure_5_conditions_are_those_of_the_figure():
    """As read off it by hand above."""
    named = dx.datasets.load("stutz_figure5").annotations["label"].to_numpy()
    assert sorted(named) == sorted(figure5_parameters())
