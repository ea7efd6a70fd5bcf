"""Faults planted in fits of a latent truth, at least one for each variant."""

from __future__ import annotations

import contextlib
from unittest import mock

import numpy as np
from calibration import truth_settings

from dissensus.families.latent_truth.process import Process
from dissensus.models import dawid_skene, symmetric_confusion


def other_process(change):
    """Fit another process than the one asked for."""

    def fault(fit):
        def faulty(ann, **options):
            with contextlib.ExitStack() as stack:
                for model in (symmetric_confusion, dawid_skene):
                    stack.enter_context(mock.patch.object(model, "_process", after(model._process)))
                return fit(ann, **options)

        return faulty

    def after(checked):
        return lambda *args, **settings: change(checked(*args, **settings))

    return fault


def other_prior(**priors):
    """Fit with other priors than the card states."""
    given = {name: np.array(x) if isinstance(x, list) else x for name, x in priors.items()}
    return other_process(lambda process: process._replace(priors=process.priors._replace(**given)))


@other_process
def systems_twice(process):
    """Count what systems said twice."""
    theirs = process.respondent >= process.form.first_system
    again = {name: np.concatenate([getattr(process, name), getattr(process, name)[theirs]])
             for name in ("item", "respondent", "label")}  # fmt: skip
    return process._replace(**again)


def patterns_once(fit):
    """Take each pattern of labels for one item, however many have it."""
    votes = Process.votes

    def once(process):
        result, pattern = votes(process)
        return result._replace(n_items=np.ones_like(result.n_items)), pattern

    def faulty(ann, **options):
        with mock.patch.object(Process, "votes", once):
            return fit(ann, **options)

    return faulty


def in_draws(change):
    """Change the posterior, in place, given a generator."""

    def fault(fit):
        def faulty(ann, **options):
            tree = fit(ann, **options)
            change(tree, np.random.default_rng(options["random_seed"]))
            return tree

        return faulty

    return fault


@in_draws
def mirrored(tree, rng):
    """Let two labels change places, as they may where an accuracy can be below guessing.

    With two labels, to be right with probability 1 - p is to be right with p under the other
    names, so that this is the posterior under a prior uniform from 0 to 1.
    """
    post = tree["posterior"]
    if post.sizes["label"] != 2:
        return
    turned = rng.random(post.sizes["draw"]) < 0.5
    for name in ("annotator_accuracy", "system_accuracy", "system_correct"):
        if name in post:
            values = post[name].to_numpy()
            values[:, turned] = 1 - values[:, turned]
    for name in ("prevalence", "truth"):
        values = post[name].to_numpy()
        values[:, turned] = values[:, turned, ..., ::-1]


@in_draws
def wrong_way(tree, rng):
    """Take near errors for far ones."""
    tree["posterior"]["distance_decay"].to_numpy()[:] *= -1


@in_draws
def transposed(tree, rng):
    """Confuse the rows of matrices with their columns."""
    post = tree["posterior"]
    for name in ("confusion", "system_confusion"):
        if name in post:
            post[name] = post[name].copy(data=post[name].to_numpy().swapaxes(-1, -2))


@in_draws
def truth_of_the_prior(tree, rng):
    """Say of each item what is said of one without labels."""
    post = tree["posterior"]
    post["truth"].to_numpy()[:] = post["prevalence"].to_numpy()[:, :, None]


def judged_afterwards(fit):
    """Judge systems by what annotators alone say of items, as if that were the truth."""

    def faulty(ann, **options):
        tree = fit(ann, **{**options, "keep_items": True})
        rng = np.random.default_rng(options["random_seed"])
        post = tree["posterior"]
        edge = post["truth"].to_numpy().cumsum(axis=-1)
        drawn = (rng.random((*edge.shape[:-1], 1)) > edge).sum(axis=-1)
        labels = tree["observed_data"]["system_label_code"].to_numpy()
        right = (drawn[..., None] == labels).sum(axis=2)
        wrong = (labels >= 0).sum(axis=0) - right
        post["system_correct"].to_numpy()[:] = right / (right + wrong)
        post["system_accuracy"].to_numpy()[:] = rng.beta(1 + right, 1 + wrong)
        return tree

    return faulty


def unrelated(fit):
    """Take systems for independent that share a source; what is not learned is the prior's."""

    def faulty(ann, **options):
        tree = fit(ann, **{**options, "systems": "independent"})
        rng = np.random.default_rng(options["random_seed"])
        post = tree["posterior"]
        for name in ("shared_answers", "source_typical_accuracy"):
            post[name] = post["prevalence"][..., 0].copy(data=rng.random((1, options["draws"])))
        return tree

    return faulty


def other_labels_known(fit):
    """Take what is known of one item for the truth of another."""

    def faulty(ann, *, truth, **options):
        rolled = np.roll(list((truth or {}).values()), 1).tolist()
        return fit(ann, truth=dict(zip(truth or {}, rolled, strict=True)) or None, **options)

    return faulty


def other_layer(**priors):
    """Fit with other priors of what ``error_correlation`` adds."""

    def change(process):
        given = {name: np.array(x) for name, x in priors.items()}
        return process._replace(errors=process.errors._replace(**given))

    return other_process(change)


FAULTS = [
    ("symmetric_confusion: as it stands", "systems counted twice", systems_twice),
    ("symmetric_confusion: as it stands", "patterns counted once", patterns_once),
    ("symmetric_confusion: as it stands", "an accuracy below guessing", mirrored),
    ("symmetric_confusion: own accuracy", "a wide prior of the spread", other_prior(spread=3.0)),
    ("symmetric_confusion: graded errors", "near errors for far ones", wrong_way),
    ("symmetric_confusion: unequal errors", "errors alike", other_prior(concentration=[6.0, 0.1])),
    ("symmetric_confusion: difficulty", "no slopes of systems", other_prior(slope=1e-3)),
    ("symmetric_confusion: difficulty", "a flat prior of the spread", other_prior(difficulty=30.0)),
    ("symmetric_confusion: related systems", "systems taken for independent", unrelated),
    ("symmetric_confusion: all at once", "systems counted twice", systems_twice),
    ("symmetric_confusion: evidence of annotators", "truth of the prior", truth_of_the_prior),
    ("symmetric_confusion: known annotators", "systems judged afterwards", judged_afterwards),
    ("symmetric_confusion: truth of some known", "others known", other_labels_known),
    ("symmetric_confusion: errors together", "others known", other_labels_known),
    ("symmetric_confusion: weight of a system", "no weight", other_layer(weight=[0, 0, 1e-3, 3.5])),
    ("dawid_skene: pooled", "annotators alike", other_prior(alike=[2000.0, 20.0])),
    ("dawid_skene: pooled", "systems alike", other_prior(system=1000.0)),
    ("dawid_skene: unpooled", "systems counted twice", systems_twice),
    ("dawid_skene: one for all", "rows for columns", transposed),
    ("dawid_skene: one for all", "patterns counted once", patterns_once),
    ("dawid_skene: difficulty", "no slopes of systems", other_prior(slope=1e-3)),
    ("dawid_skene: all at once", "systems counted twice", systems_twice),
    ("dawid_skene: evidence of annotators", "truth of the prior", truth_of_the_prior),
    ("dawid_skene: known annotators", "systems judged afterwards", judged_afterwards),
    ("dawid_skene: truth of some known", "others known", other_labels_known),
    ("dawid_skene: errors together", "a prior of more", other_layer(correlation=[2.0, 0.5])),
    ("dawid_skene: weight of a system", "others known", other_labels_known),
]

LONG = truth_settings.LONG | {
    "dawid_skene: difficulty", "dawid_skene: one for all", "symmetric_confusion: related systems",
}  # fmt: skip
