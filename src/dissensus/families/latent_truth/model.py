"""The PyMC form of a latent truth, part by part, as the two models put it together."""

from __future__ import annotations

from typing import Any

import numpy as np

from dissensus.dims import ANNOTATOR, ITEM, LABEL, RESPONSE, SYSTEM
from dissensus.families.latent_truth.parameters import oracle
from dissensus.families.latent_truth.process import Process

GIVEN = "given"
"""The dim of labels of annotators and systems together, and the name of what is observed."""
VOICE = "voice"
OTHER_LABEL = "other_label"
OUTCOME = "outcome"


def coordinates(what: Process) -> dict[str, Any]:
    """Return the coordinates of a PyMC model."""
    n, n_voices = what.form.n_labels, what.form.first_system + known_systems(what)
    n_given = int((what.voice < what.form.evidence).sum() + len(known_items(what)))
    return {
        ITEM: what.items, LABEL: what.labels, RESPONSE: what.labels,
        ANNOTATOR: what.annotators, SYSTEM: what.systems, GIVEN: np.arange(n_given),
        VOICE: np.arange(n_voices), OTHER_LABEL: np.arange(n - 1), OUTCOME: ["right", "wrong"],
    }  # fmt: skip


def prevalence(what: Process) -> Any:
    """Make the prevalence of labels."""
    import pymc as pm

    return pm.Dirichlet("prevalence", a=what.priors.prevalence, dims=LABEL)


def observe(what: Process, share: Any, skill: Any, log_error: Any, log_source: Any) -> Any:
    """Make the labels.

    Parameters
    ----------
    what : Process
    share : tensor (label)
        Prevalence.
    skill : tensor (voice, label)
        Logit of being right about a typical item.
    log_error : tensor (voice, label, response)
        Where errors fall; the diagonal is not read.
    log_source : tensor (label, response)
        The same of a source that systems share.
    """
    import pytensor.tensor as pt

    import dissensus.families.steps  # noqa: F401 (pymc.sample then takes the Gibbs step by itself)
    from dissensus.families.latent_truth.distributions import LatentTruth

    form, n = what.form, what.form.n_labels
    spread, slope = _difficulty(what)
    eta = skill[:, :, None] + spread * slope[:, None, None] * what.ease  # (voice, label, ease)
    _name_accuracies(what, share, pt.sigmoid(eta))
    same = np.eye(n, dtype=bool)
    own = _answers(eta[:, :, None, :], log_error[..., None], same[None, :, :, None])
    log_weight = (pt.log(share) - np.log(len(what.ease)))[:, None] + pt.zeros(len(what.ease))
    related = form.related and known_systems(what)
    if related:
        taken, source = _source()
        answer = _answers(
            source + spread * what.ease[None, None, :], log_source[:, :, None], same[:, :, None]
        )
        log_weight = log_weight[:, None, :] + answer  # (label, the source's answer, ease)
        own = _mixed(own, taken, form.first_system)
        log_weight = log_weight.transpose(1, 2, 0).ravel()
        table = own.transpose(0, 2, 3, 4, 1).reshape(
            (-1, n, len(what.ease) * n * (n if related else 1))
        )
    else:
        log_weight = log_weight.T.ravel()
        table = own.transpose(0, 2, 3, 1).reshape(
            (-1, n, len(what.ease) * n * (n if related else 1))
        )
    used = what.voice < form.evidence
    sure = known_items(what)
    if len(sure):  # the truth that is known is said by one voice more, which never errs
        n_states = len(what.ease) * n * (n if related else 1)
        table = pt.concatenate([table, oracle(n, n_states)[None]])
    rows = (what.item, what.voice, what.label)
    last = np.full(len(sure), what.form.first_system + known_systems(what))
    item, voice, label = (
        np.concatenate([mine[used], its])
        for mine, its in zip(rows, (sure, last, what.known[sure]), strict=True)
    )
    return LatentTruth("labels", log_weight, table, item, voice, observed=label, dims=GIVEN)


def _name_accuracies(process: Process, share: Any, right: Any) -> None:
    """Name the accuracies that `fit` reports and that are no variables of the model.

    Parameters
    ----------
    process : Process
    share : tensor (label)
        Prevalence.
    right : tensor (voice, label, ease)
        Probability of being right.
    """
    import pymc as pm

    form, there = process.form, pm.modelcontext(None).named_vars
    accuracy = (share[None, :, None] * right).sum(axis=1).mean(axis=-1)
    if "annotator_accuracy" not in there and form.first_system:
        people = accuracy[: form.first_system]
        each = form.rows or form.own_accuracy
        if each and process.shared:
            people = people[np.zeros(len(process.annotators), dtype=np.int64)]
        pm.Deterministic(
            "annotator_accuracy", people if each else people[0], dims=ANNOTATOR if each else None
        )
    if "system_accuracy" not in there and known_systems(process) and not form.related:
        pm.Deterministic("system_accuracy", accuracy[form.first_system :], dims=SYSTEM)


def _answers(eta: Any, log_error: Any, same: Any) -> Any:
    """Return log-probabilities of answers, right ones where truth and response are the same."""
    import pytensor.tensor as pt

    right, wrong = -pt.softplus(-eta), -pt.softplus(eta)
    return pt.switch(same, right, wrong + log_error)


def _difficulty(what: Process) -> tuple[Any, Any]:
    """Make how much items differ in how hard they are, and how much that matters (voice)."""
    import pymc as pm
    import pytensor.tensor as pt

    one, n_voices = pt.ones(what.form.first_system), what.form.first_system + known_systems(what)
    if not what.form.difficulty:
        return 0.0, pt.ones(n_voices)
    spread = pm.HalfNormal("difficulty_spread", sigma=what.priors.difficulty)
    if not known_systems(what):
        return spread, one
    slope = pm.LogNormal("difficulty_slope", mu=0.0, sigma=what.priors.slope, dims=SYSTEM)
    return spread, pt.concatenate([one, slope])


def _source() -> tuple[Any, Any]:
    """Make how often systems give the answer of a source they share, and the source's logit."""
    import pymc as pm

    taken = pm.Uniform("shared_answers", 0.0, 1.0)
    return taken, pm.math.logit(pm.Uniform("source_typical_accuracy", 0.0, 1.0))


def _mixed(own: Any, taken: Any, first: int) -> Any:
    """Mix systems' own answers with the source's (voice, label, response, source, ease)."""
    import pytensor.tensor as pt

    n = own.shape[2]
    alone = pt.log1p(-taken) + own[first:, :, :, None, :]
    same = pt.eye(n, dtype="bool")[None, None, :, :, None]
    systems = pt.switch(same, pt.logaddexp(alone, pt.log(taken)), alone)
    people = own[:first, :, :, None, :] + pt.zeros((1, 1, 1, n, 1))
    return pt.concatenate([people, systems])


def known_items(what: Process) -> Any:
    """Return the items whose truth the PyMC form has: none where true labels are drawn after."""
    return np.flatnonzero((what.known >= 0) & (what.errors is None))


def known_systems(what: Process) -> int:
    """Return how many systems the PyMC form has: none if they are no evidence."""
    n_systems = what.form.n_voices - what.form.first_system
    return n_systems if what.form.evidence == what.form.n_voices else 0
