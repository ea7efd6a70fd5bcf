"""Mistakes that annotators share in a confusion study, and what the truth then says of them."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

import dissensus as dx

SHARE = 0.2


@pytest.fixture(scope="module")
def study():
    """Systems that make all, none and half of the annotators' mistakes."""
    return dx.simulate.confusion_study(
        30_000, 3, 4, ipc=(0.6, 0.7, 0.8), difficulty=0.1, asymmetry=1.5,
        system_accuracy=(0.9, 0.9, 0.7), prevalence=(0.4, 0.3, 0.2, 0.1), shared_mistakes=SHARE,
        repeated=(1.0, 0.0, 0.5), random_seed=1,
    )  # fmt: skip


def coded(study):
    """Return labels (item, annotator), answers (item, system), the truth and the apparent one."""
    names = study.truth["label"].values
    ann, pred = study.annotations, study.predictions
    said = ann["label_code"].values.reshape(ann.sizes["item"], -1)
    answers = np.searchsorted(names, pred["label"].values[pred["label_code"].values[..., 0]])
    both = [np.searchsorted(names, study.truth[f"{one}_label"].values)
            for one in ("truth", "apparent")]  # fmt: skip
    return said, answers, *both


def near(found, want, n):
    """Within 4.5 standard errors of a share."""
    want = np.asarray(want)
    return (np.abs(found - want) <= 4.5 * np.sqrt(want * (1 - want) / n) + 1e-12).all()


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
    one, two = (dx.simulate.confusion_study(20, random_seed=seed).annotations for seed in seeds)
    xr.testing.assert_identical(one, two)


def test_shared_mistakes_leave_the_truth_as_it_was():
    with_them, without = (
        dx.simulate.confusion_study(50, shared_mistakes=share, random_seed=1).truth
        for share in (0.3, 0.0)
    )
    for name in ("truth_label", "item_group", "prevalence"):
        xr.testing.assert_identical(with_them[name], without[name])


def test_the_apparent_label_is_evenly_any_other_on_so_many_items(study):
    *_, true, apparent = coded(study)
    wrong = true != apparent
    assert near(wrong.mean(), SHARE, len(true))
    steps = (apparent - true)[wrong] % 4
    assert near(np.bincount(steps, minlength=4)[1:] / wrong.sum(), [1 / 3] * 3, wrong.sum())


def test_annotators_and_systems_go_by_what_they_take_an_item_for(study):
    """Accuracies on items that are taken for something else, about it and about the truth."""
    said, answers, true, apparent = coded(study)
    wrong = true != apparent
    voices = np.concatenate([said, answers], axis=1)[wrong]
    n = wrong.sum()
    p, repeated = np.array([0.6, 0.7, 0.8, 0.9, 0.9, 0.7]), np.array([1, 1, 1, 1, 0, 0.5])
    about = (voices == apparent[wrong, None]).mean(axis=0)
    # Difficulty takes accuracies of .9 up to 1 and down to .8: .9 on average still.
    clear = [0, 1, 2, 3]
    assert near(about[clear], p[clear], n)
    right = (voices == true[wrong, None]).mean(axis=0)
    assert near(right[4], p[4], n)
    rest = (1 - p[5]) / 3  # errors are not even, but over labels in all they nearly are
    assert right[5] == pytest.approx(repeated[5] * rest + 0.5 * p[5], abs=0.03)
    assert about[5] == pytest.approx(right[5], abs=0.03)


def test_matrices_and_accuracies_include_the_mistakes(study):
    said, answers, true, _ = coded(study)
    truth = study.truth
    group = truth["item_group"].values
    voices = [*said.T, *answers.T]
    matrices = np.concatenate([truth["confusion"], truth["system_confusion"]])
    np.testing.assert_allclose(matrices.sum(axis=-1), 1)
    for voice, matrix in zip(voices, matrices, strict=True):
        for g, name in enumerate(truth["group"].values):
            for z in range(4):
                here = voice[(group == name) & (true == z)]
                share = np.bincount(here, minlength=4) / len(here)
                assert near(share, matrix[g, z], len(here))
    for kind in ("annotator", "system"):
        np.testing.assert_allclose(
            truth[f"{kind}_correct"], truth[f"{kind}_accuracy"], atol=4.5 * 0.5 / 30_000**0.5
        )
    want = (answers == true[:, None]).mean(axis=0)
    np.testing.assert_allclose(truth["system_correct"], want)


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
