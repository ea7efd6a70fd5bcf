"""The confusion study: the source's figures, labels that follow from the truth, shared mistakes."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import xarray as xr

import dissensus as dx

VIOLATED = {"difficulty": 0.2, "asymmetry": 2.0, "error_range": 1.0}


@pytest.fixture(scope="module")
def violated():
    return dx.simulate.confusion_study(
        30_000, 4, 3, ipc=(0.4, 0.5, 0.6, 0.7), system_accuracy=(0.9, 0.6), labels_per_item=3,
        prevalence=(0.5, 0.3, 0.2), random_seed=1, **VIOLATED,
    )  # fmt: skip


def coded(study):
    """Codes: (item, annotator), -1 for no label, (item, system), true labels and apparent ones."""
    ann, pred, truth = study
    given = np.full((ann.sizes["item"], truth.sizes["annotator"]), -1)
    row = np.searchsorted(truth["item"], ann["item"].values)[ann["item_code"].values]
    given[row, ann["annotator"].values[ann["annotator_code"].values] - 1] = ann["label_code"].values
    labels = truth["label"].values
    answers = np.searchsorted(labels, pred["label"].values[pred["label_code"].values[..., 0]])
    both = (
        np.searchsorted(labels, truth[f"{prefix}_label"].values) for prefix in ("truth", "apparent")
    )
    return given, answers, *both


def near(actual, want, n):
    """Within 4.5 standard errors of a share."""
    want = np.asarray(want)
    return (np.abs(actual - want) <= 4.5 * np.sqrt(want * (1 - want) / n) + 1e-12).all()


@pytest.mark.parametrize("name", ["violated", "mistaken"])
def test_labels_and_answers_follow_the_confusion_matrices(name, request):
    study = request.getfixturevalue(name)
    labels, answers, true, _ = coded(study)
    truth, n = study.truth, study.truth.sizes["label"]
    group = truth["item_group"].values
    matrices = np.concatenate([truth["confusion"], truth["system_confusion"]])
    np.testing.assert_allclose(matrices.sum(axis=-1), 1)
    for statement, matrix in zip([*labels.T, *answers.T], matrices, strict=True):
        for (g, place), z in itertools.product(enumerate(truth["group"].values), range(n)):
            here = statement[(group == place) & (true == z) & (statement >= 0)]
            assert near(np.bincount(here, minlength=n) / len(here), matrix[g, z], len(here))


def test_by_default_three_annotators_of_one_accuracy():
    ann, pred, truth = dx.simulate.confusion_study(random_seed=1)
    dx.validate(ann)
    dx.validate(pred)
    assert ann.attrs["kind"] == "ordinal"
    assert ann["label"].values.tolist() == list("ABCDE")
    assert dict(ann.sizes) == {"annotation": 600, "item": 200, "annotator": 3, "label": 5}
    assert pred["system"].values.tolist() == ["system A"]
    assert truth["group"].values.tolist() == ["all"]
    np.testing.assert_allclose(truth["annotator_accuracy"], 0.6)
    np.testing.assert_allclose(truth["system_accuracy"], 0.9)
    table_5 = np.full((5, 5), 0.1) + 0.5 * np.eye(5)  # Lehner (2015)
    np.testing.assert_allclose(truth["confusion"].isel(group=0), table_5[None].repeat(3, 0))
    assert truth["prevalence"].sum().item() == pytest.approx(1)
    assert truth["truth_label"].dims == ("item",)


def test_difficulty_moves_expected_accuracies_where_they_hit_the_bounds():
    """Lehner (2015), before Figure 8: preset to .1 and .9 they are .133 and .867."""
    truth = dx.simulate.confusion_study(
        ipc=(0.5, 0.6, 0.7), system_accuracy=(0.1, 0.3, 0.5, 0.7, 0.9), random_seed=3, **VIOLATED
    ).truth
    want = [0.4 / 3, 0.3, 0.5, 0.7, 2.6 / 3]
    np.testing.assert_allclose(truth["system_accuracy"], want, atol=1e-12)
    np.testing.assert_allclose(truth["annotator_accuracy"], [0.5, 0.6, 0.7], atol=1e-12)
    assert truth["accuracy_shift"].values.tolist() == [-0.2, 0.0, 0.2]
    right = np.diagonal(truth["system_confusion"], axis1=2, axis2=3) @ truth["prevalence"].values
    np.testing.assert_allclose(right[[0, 4]], [[0, 0.1, 0.3], [0.7, 0.9, 1.0]], atol=1e-12)


def kappa(truth):
    """Expected kappa against chance 1/N, as the source's, without the noise of drawing labels."""
    confusion, prevalence = truth["confusion"].values, truth["prevalence"].values
    pairs = itertools.combinations(confusion, 2)
    agreement = np.mean([np.einsum("z,gzy,gzy->g", prevalence, a, b).mean() for a, b in pairs])
    return (agreement - 0.2) / 0.8


@pytest.mark.parametrize(
    ("ipc", "n_items", "printed", "spread"),
    [
        (0.6, 5000, 0.251, 0.0009), (0.4, 200, 0.065, 0.0034), (0.6, 200, 0.255, 0.0043),
        (0.8, 200, 0.562, 0.0046), (0.4, 50, 0.060, 0.0072), (0.6, 50, 0.244, 0.0080),
        (0.8, 50, 0.546, 0.0094),
    ],
)  # fmt: skip
def test_average_kappa_is_that_of_figures_1_to_7(ipc, n_items, printed, spread):
    """Lehner (2015), captions: means over 50 runs, whose spread was found with these studies."""
    truth = dx.simulate.confusion_study(3, ipc=ipc, random_seed=1).truth
    assert kappa(truth) == pytest.approx(printed, abs=3 * spread)


@pytest.mark.long
@pytest.mark.parametrize(
    ("ipc", "printed", "spread"),
    [
        (0.6, (0.305, 0.306, 0.311), (0.0013, 0.0040, 0.0086)),  # Figures 8, 10, 13
        (0.4, (0.142, 0.144), (0.0039, 0.0071)),  # Figures 9, 12
        (0.8, (0.578, 0.586), (0.0033, 0.0078)),  # Figures 11, 14
    ],
)
def test_average_kappa_is_that_of_figures_8_to_14(ipc, printed, spread):
    """Lehner (2015), captions: means over 50 runs, whose spread was found with these studies.

    All seven lie above ours or at it; Figure 9's, .142 against .131, by 2.8 times its spread.
    """
    each = (ipc - 0.1, ipc, ipc + 0.1)
    result = [
        kappa(dx.simulate.confusion_study(3, ipc=each, random_seed=seed, **VIOLATED).truth)
        for seed in range(120)
    ]
    noise = np.std(result) / np.sqrt(len(result))
    for value, runs in zip(printed, spread, strict=True):
        assert abs(np.mean(result) - value) < 3 * np.hypot(runs, noise)


def test_observed_kappa_is_bennetts_s():
    study = dx.simulate.confusion_study(20_000, ipc=(0.5, 0.6, 0.7), random_seed=1, **VIOLATED)
    observed = dx.bennett_s(study.annotations).item()
    assert observed == pytest.approx(kappa(study.truth), abs=0.01)


def test_items_are_dealt_out_to_groups(violated):
    truth = violated.truth
    names, count = np.unique(truth["item_group"], return_counts=True)
    assert dict(zip(names, count, strict=True)) == {
        "hard": 10_000,
        "middle": 10_000,
        "easy": 10_000,
    }
    few = dx.simulate.confusion_study(4, difficulty=0.1, random_seed=1).truth["item_group"]
    assert sorted(np.unique(few, return_counts=True)[1]) == [1, 1, 2]


def test_true_labels_are_as_frequent_as_their_prevalence(violated):
    share = np.bincount(coded(violated)[2], minlength=3) / 30_000
    np.testing.assert_allclose(share, [0.5, 0.3, 0.2], atol=4 * 0.5 / np.sqrt(30_000))


def test_voices_are_independent_given_the_truth_and_the_group(violated):
    labels, answers, true, _ = coded(violated)
    group = violated.truth["item_group"].values
    here = (true == 0) & (group == "middle")
    right = np.column_stack([labels[here][:, :2] == 0, answers[here] == 0])
    right = right[(labels[here][:, :2] >= 0).all(axis=1)]
    apart = np.corrcoef(right.T)[np.triu_indices(4, 1)]
    assert (np.abs(apart) < 4.5 / np.sqrt(len(right))).all()


@pytest.mark.parametrize("name", ["violated", "mistaken"])
def test_shares_correct_are_those_of_these_labels(name, request):
    study = request.getfixturevalue(name)
    labels, answers, true, _ = coded(study)
    right = np.where(labels >= 0, labels == true[:, None], np.nan)
    truth = study.truth
    np.testing.assert_allclose(truth["annotator_correct"], np.nanmean(right, axis=0))
    np.testing.assert_allclose(truth["system_correct"], (answers == true[:, None]).mean(axis=0))
    np.testing.assert_allclose(truth["annotator_correct"], truth["annotator_accuracy"], atol=0.02)
    np.testing.assert_allclose(truth["system_correct"], truth["system_accuracy"], atol=0.015)


def test_a_random_set_of_annotators_labels_each_item(violated):
    labels = coded(violated)[0]
    assert ((labels >= 0).sum(axis=1) == 3).all()
    sets, count = np.unique(labels >= 0, axis=0, return_counts=True)
    assert len(sets) == 4
    np.testing.assert_allclose(count, 7500, atol=4.5 * np.sqrt(7500))


def test_every_voice_has_a_matrix_of_its_own_in_every_group(violated):
    truth = violated.truth
    rows = np.concatenate([truth["confusion"], truth["system_confusion"]])[:, :, 0, 1]
    assert len(np.unique(rows)) == 18
    assert (rows == 0).sum() == 1  # one system is always right about easy items


def test_related_systems_err_alike():
    kwargs = {"n_items": 40_000, "system_accuracy": (0.8, 0.8, 0.5), "random_seed": 2}
    alone = dx.simulate.confusion_study(**kwargs)
    related = dx.simulate.confusion_study(related=0.5, **kwargs)
    xr.testing.assert_identical(alone.annotations, related.annotations)
    same = []
    for study in (alone, related):
        _, answers, true, _ = coded(study)
        wrong = (answers[:, :2] != true[:, None]).all(axis=1)
        same.append((wrong.mean(), (answers[wrong, 0] == answers[wrong, 1]).mean()))
    # Both repeat in a quarter of the items; else they err independently, in one of four ways.
    assert same[0] == pytest.approx((0.2**2, 0.25), abs=0.02)
    both = 0.25 * 0.2 + 0.75 * 0.2**2
    assert same[1] == pytest.approx((both, (0.05 + 0.03 * 0.25) / both), abs=0.02)
    accuracy = related.truth["system_accuracy"].values
    np.testing.assert_allclose(accuracy, [0.8, 0.8, 0.65])
    np.testing.assert_allclose(related.truth["system_correct"], accuracy, atol=0.01)


def test_always_related_systems_are_one():
    pred = dx.simulate.confusion_study(
        50, system_accuracy=(0.6, 0.9), related=1.0, random_seed=1
    ).predictions
    code = pred["label_code"].values
    assert (code[:, 0] == code[:, 1]).all()


def test_who_labels_what_does_not_depend_on_accuracies():
    first, second = (
        dx.simulate.confusion_study(50, 6, ipc=ipc, labels_per_item=2, random_seed=4).annotations
        for ipc in (0.3, 0.8)
    )
    xr.testing.assert_identical(first["annotator_code"], second["annotator_code"])
    assert not first["label_code"].equals(second["label_code"])


def test_an_annotator_who_labels_nothing_has_no_share_correct():
    study = dx.simulate.confusion_study(2, 5, labels_per_item=1, random_seed=1)
    truth = study.truth["annotator_correct"]
    assert truth.notnull().sum().item() == study.annotations.sizes["annotator"] <= 2
    assert study.truth.sizes["annotator"] == 5


def test_many_labels_and_systems_are_numbered():
    study = dx.simulate.confusion_study(10, 3, 30, system_accuracy=[0.5] * 27, random_seed=1)
    assert study.annotations["label"].values.tolist() == list(range(1, 31))
    assert study.predictions["system"].values[[0, 26]].tolist() == ["system 01", "system 27"]
    assert dx.percent_agreement(study.annotations).notnull().item()


def test_the_smallest_study():
    study = dx.simulate.confusion_study(1, 1, 2, ipc=1.0, system_accuracy=0.0, random_seed=1)
    assert study.truth["annotator_correct"].item() == 1
    assert study.truth["system_correct"].item() == 0


SHARE = 0.2


@pytest.fixture(scope="module")
def mistaken():
    """Systems that make all, none and half of the annotators' mistakes."""
    return dx.simulate.confusion_study(
        30_000, 3, 4, ipc=(0.6, 0.7, 0.8), difficulty=0.1, asymmetry=1.5,
        system_accuracy=(0.9, 0.9, 0.7), prevalence=(0.4, 0.3, 0.2, 0.1), shared_mistakes=SHARE,
        repeated=(1.0, 0.0, 0.5), random_seed=1,
    )  # fmt: skip


def test_draws_without_shared_mistakes_are_those_of_before_there_were_any():
    """Drawn with seed 7 on 2026-11-20, before the argument existed."""
    plain = dx.simulate.confusion_study(60, random_seed=7)
    first = [3, 1, 1, 4, 1, 1, 2, 2, 0, 2, 2, 2, 2, 4, 4, 1, 4, 1, 2, 0, 2, 1, 2, 3]
    assert plain.annotations["label_code"].values[:24].tolist() == first
    answers = plain.predictions["label_code"].values[:12].ravel().tolist()
    assert answers == [1, 1, 2, 2, 2, 1, 2, 3, 0, 0, 0, 3]
    assert (plain.truth["apparent_label"] == plain.truth["truth_label"]).all()
    # A generator that is given stands where it stood: the next study is the same, too.
    seeds = [np.random.default_rng(3) for _ in range(2)]
    dx.simulate.confusion_study(20, random_seed=seeds[0])
    seeds[1].spawn(4)
    before, after = (
        dx.simulate.confusion_study(20, random_seed=seed).annotations for seed in seeds
    )
    xr.testing.assert_identical(before, after)


def test_shared_mistakes_leave_the_truth_as_it_was():
    with_them, without = (
        dx.simulate.confusion_study(50, shared_mistakes=share, random_seed=1).truth
        for share in (0.3, 0.0)
    )
    for name in ("truth_label", "item_group", "prevalence"):
        xr.testing.assert_identical(with_them[name], without[name])


def test_the_apparent_label_is_evenly_any_other_on_so_many_items(mistaken):
    *_, true, apparent = coded(mistaken)
    wrong = true != apparent
    assert near(wrong.mean(), SHARE, len(true))
    steps = (apparent - true)[wrong] % 4
    assert near(np.bincount(steps, minlength=4)[1:] / wrong.sum(), [1 / 3] * 3, wrong.sum())


def test_annotators_and_systems_go_by_what_they_take_an_item_for(mistaken):
    """Accuracies on items that are taken for something else, about it and about the truth."""
    labels, answers, true, apparent = coded(mistaken)
    wrong = true != apparent
    statements = np.concatenate([labels, answers], axis=1)[wrong]
    n = wrong.sum()
    p, repeated = np.array([0.6, 0.7, 0.8, 0.9, 0.9, 0.7]), np.array([1, 1, 1, 1, 0, 0.5])
    about = (statements == apparent[wrong, None]).mean(axis=0)
    # Difficulty takes accuracies of .9 up to 1 and down to .8: .9 on average still.
    clear = [0, 1, 2, 3]
    assert near(about[clear], p[clear], n)
    right = (statements == true[wrong, None]).mean(axis=0)
    assert near(right[4], p[4], n)
    rest = (1 - p[5]) / 3  # errors are not even, but over labels in all they nearly are
    assert right[5] == pytest.approx(repeated[5] * rest + 0.5 * p[5], abs=0.03)
    assert about[5] == pytest.approx(right[5], abs=0.03)


def test_the_source_of_related_systems_is_misled_like_the_first():
    study = dx.simulate.confusion_study(
        30_000, 3, 3, system_accuracy=(0.9, 0.6), related=0.5, shared_mistakes=0.3,
        repeated=(0.0, 1.0), random_seed=1,
    )  # fmt: skip
    misled = 0.7 * 0.6 + 0.3 * 0.2
    np.testing.assert_allclose(study.truth["system_accuracy"], [0.9, (0.9 + misled) / 2])
    np.testing.assert_allclose(
        study.truth["system_correct"], study.truth["system_accuracy"], atol=0.013
    )


def test_all_items_may_be_mistaken():
    study = dx.simulate.confusion_study(
        20, 2, 2, ipc=1.0, system_accuracy=1.0, shared_mistakes=1.0, random_seed=1
    )
    assert (study.truth["apparent_label"] != study.truth["truth_label"]).all()
    assert study.truth["annotator_correct"].values.tolist() == [0, 0]
    assert study.truth["annotator_accuracy"].values.tolist() == [0, 0]
    assert study.truth["system_correct"].item() == 0
