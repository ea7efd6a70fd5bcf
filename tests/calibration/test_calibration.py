"""Every model is calibrated, and the harness would say so if one were not.

`make calibrate` runs it in full (`calibration.full`), and writes the page of the documentation.
"""

from __future__ import annotations

import dataclasses
from unittest import mock

import numpy as np
import pytest
from calibration import (
    crossed_simulators,
    forms,
    full,
    harness,
    rasch_simulators,
    truth_faults,
    truth_settings,
    truth_simulators,
)
from calibration.full import FALSE_ALARM
from calibration.simulators import SIMULATORS
from scipy import stats

import dissensus as dx
from dissensus.families.crossed.kernels import sweep

REDUCED, FAULTY = (8, 199), (8, 199)
"""Studies of 40 items each, and draws of each fit."""
ONE_ANSWER = {"reduced": (10, 99), "faulty": (80, 99), "coarse": (12, 99)}
"""The same where a study has one answer to a question, and not one for each item."""
TRUTH = {"reduced": (6, 39), "faulty": (100, 39), "coarse": (12, 39)}
"""The same of a latent truth: many variants, each a kernel's work."""
often = pytest.mark.parametrize("name", sorted(set(SIMULATORS) - truth_settings.LONG))


def model_of(name):
    return name.split(":")[0]


def fit_of(name):
    return dx.models.get(model_of(name)).module.fit


def places(name, extent, fault=lambda fit: fit, seed=1):
    """Run the harness to some extent."""
    size = {"reduced": REDUCED, "faulty": FAULTY}
    if model_of(name) in {*crossed_simulators.MODELS, rasch_simulators.MODEL}:
        size = ONE_ANSWER
    if model_of(name) in truth_simulators.MODELS:
        size = TRUTH
    studies, draws = size[extent]
    more = {"enough": is_caught} if extent == "faulty" else {}
    return harness.run(fault(fit_of(name)), SIMULATORS[name], studies=studies, draws=draws,
                       seed=seed, **more)  # fmt: skip


def is_caught(result):
    return min(harness.p_value(where) for where in result.values()) < FALSE_ALARM


def test_every_model_is_calibrated():
    drawn = {form.model.name for form in forms.forms().values()}  # needs no simulator
    assert {model_of(name) for name in SIMULATORS} | drawn == set(dx.models.names())


@often
@pytest.mark.unit(0, long=2)
def test_calibrated(name):
    result = places(name, "reduced")
    assert {
        q: harness.p_value(p) for q, p in result.items() if harness.p_value(p) < FALSE_ALARM
    } == {}


@pytest.mark.parametrize("fault", [False, True])
def test_a_full_run_fails_if_a_form_is_not_calibrated(monkeypatch, capsys, fault):
    """With a rank that is always the least, as of a posterior that is too high."""
    places = np.zeros(200) if fault else (np.arange(200) + 0.5) / 200
    run = full.Run("a form", None, None, 200, 999)
    kept = full.saved.Record("a form", 200, 999, {"a question": places}, 1.0, "", "", {}, "")
    monkeypatch.setattr(full, "runs", lambda: {"a form": run})
    monkeypatch.setattr(full, "record_of", lambda run, studies, *, again: kept)
    monkeypatch.setattr(full.saved, "read", lambda name: None)
    monkeypatch.setattr(full.page, "write", lambda records, names: "written")
    monkeypatch.setattr("sys.argv", ["full"])
    if fault:
        with pytest.raises(SystemExit, match="not calibrated: a form: a question"):
            full.main()
    else:
        full.main()
    assert "a form: 200 studies" in capsys.readouterr().out


# -- Planted faults ---------------------------------------------------------------------------


def without_first_annotator(ann):
    """Drop one annotator's rows; items keep their place."""
    return ann.isel(annotation=np.flatnonzero(ann["annotator_code"].to_numpy() != 0))


def wrong_hyper(**factor):
    """Fit with a hyperparameter off by a factor."""

    def fault(fit):
        def faulty(ann, **options):
            changed = {name: options.get(name, 1.0) * by for name, by in factor.items()}
            return fit(ann, **{**options, **changed})

        return faulty

    return fault


def dropped_annotator(fit):
    return lambda ann, **options: fit(without_first_annotator(ann), **options)


def dropped_rows(fit):
    """Every other statement is lost."""

    def faulty(ann, **options):
        keep = np.arange(ann.sizes["annotation"]) % 2 > 0
        # An item must keep one statement, or some models rightly refuse.
        first = np.unique(ann["item_code"].to_numpy(), return_index=True)[1]
        keep[first] = True
        return fit(ann.isel(annotation=np.flatnonzero(keep)), **options)

    return faulty


def wrong_prior(place, by):
    """Fit scores with one of (m, k, a, b) off by a factor."""

    def fault(fit):
        def faulty(ann, *, prior, **options):
            changed = [x * by if i == place else x for i, x in enumerate(prior)]
            return fit(ann, prior=tuple(changed), **options)

        return faulty

    return fault


def evenly_split_remainder(fit):
    """Take the labels that nobody named for equally plausible, as a point estimate would."""

    def faulty(ann, **options):
        tree = fit(ann, **options)
        tree["posterior"]["plausibility"].attrs["remainder_concentration"] = np.inf
        return tree

    return faulty


def narrow(fit):
    """Pull all draws a third of the way to their mean, as over-confident samplers do."""

    def faulty(ann, **options):
        tree = fit(ann, **options)
        for draws in tree["posterior"].data_vars.values():
            draws[:] = (2 * draws + draws.mean(("chain", "draw"))) / 3
        return tree

    return faulty


def dropped_ranking(fit):
    """The first ranking of every item is lost."""

    def faulty(ann, **options):
        item, who = (ann[f"{dim}_code"].to_numpy() for dim in ("item", "annotator"))
        first = np.full(ann.sizes["item"], np.iinfo(who.dtype).max)
        np.minimum.at(first, item, who)
        return fit(ann.isel(annotation=np.flatnonzero(who > first[item])), **options)

    return faulty


def other_tempering(fit):
    """A power of the likelihood where the strengths' was meant."""
    return lambda ann, **options: fit(ann, **{**options, "tempering": "likelihood"})


def never_moved(part):
    """Standard deviations of one kind, and what is drawn with them, stay where the chain began."""

    def fault(fit):
        learned = sweep.learned

        def learned_less(*args):
            known = learned(*args)
            return dataclasses.replace(known, tuning=known.tuning._replace(**{part: np.empty(0)}))

        def faulty(ann, **options):
            with mock.patch.object(sweep, "learned", learned_less):
                return fit(ann, **options)

        return faulty

    return fault


def wrong_power(name, by):
    """Resample draws by a power of a parameter, as if a volume had been forgotten."""

    def fault(fit):
        def faulty(ann, **options):
            tree = fit(ann, **options)
            if name not in tree["posterior"]:
                return tree
            size = tree["posterior"][name].to_numpy()[0].reshape(options["draws"], -1)[:, 0]
            weight = size**by / (size**by).sum()
            rng = np.random.default_rng(options["random_seed"])
            return tree.isel(draw=rng.choice(len(weight), len(weight), p=weight))

        return faulty

    return fault


def other_prior(**priors):
    """Fit with other priors, or another shape of the correlation's, than the truth came from."""

    def fault(fit):
        def faulty(ann, **options):
            given = {name: prior for name, prior in priors.items() if name in options["priors"]}
            changed = {**options, "priors": options["priors"] | given}
            if "correlation_prior" in priors:
                changed["correlation_prior"] = priors["correlation_prior"]
            return fit(ann, **changed)

        return faulty

    return fault


def confidence_reversed(fit):
    """Take the surest for the least sure."""

    def faulty(ann, **options):
        sure = ann["confidence"]
        return fit(ann.assign(confidence=sure.max() + sure.min() - sure), **options)

    return faulty


def next_labels_known(fit):
    """Take the next label for the true one wherever one is known."""

    def faulty(ann, *, truth, **options):
        n = ann.sizes["label"]
        return fit(ann, truth={item: (z + 1) % n for item, z in truth.items()}, **options)

    return faulty


def guessing_mistaken(fit):
    """Let guess who only errs, and err who guesses."""
    return lambda ann, *, guessing, **options: fit(ann, guessing=not guessing, **options)


def covariates_of_others(fit):
    """Take each item's covariate for that of another."""

    def faulty(ann, *, items, **options):
        words = np.roll(np.asarray(items["words"]), 1)
        return fit(ann, items=items | {"words": words}, **options)

    return faulty


FAULTS = [
    ("dirichlet", "half the prior count", wrong_hyper(prior_count=0.5)),
    ("dirichlet", "doubled reliability", wrong_hyper(reliability=2.0)),
    ("dirichlet", "a dropped annotator", dropped_annotator),
    ("dirichlet", "narrow draws", narrow),
    ("inverse_rank", "half the prior count", wrong_hyper(prior_count=0.5)),
    ("inverse_rank", "doubled reliability", wrong_hyper(reliability=2.0)),
    ("inverse_rank", "dropped rows", dropped_rows),
    ("inverse_rank", "an evenly split remainder", evenly_split_remainder),
    ("inverse_rank", "narrow draws", narrow),
    ("plackett_luce", "half the concentration", wrong_hyper(concentration=0.5)),
    ("plackett_luce", "doubled reliability", wrong_hyper(reliability=2.0)),
    ("plackett_luce", "a dropped ranking", dropped_ranking),
    ("plackett_luce", "the other tempering", other_tempering),
    ("plackett_luce", "narrow draws", narrow),
    ("normal_scores", "five times the prior weight k", wrong_prior(1, 5.0)),
    ("normal_scores", "double the prior shape a", wrong_prior(2, 2.0)),
    ("normal_scores", "double the prior scale b", wrong_prior(3, 2.0)),
    ("normal_scores", "a dropped annotator", dropped_annotator),
    ("normal_scores", "narrow draws", narrow),
    ("crossed_effects: gaussian", "a residual that never moves", never_moved("sd")),
    ("crossed_effects: gaussian", "a wrong power", wrong_power("sigma_annotator", -1)),
    ("crossed_effects: gaussian", "a dropped annotator", dropped_annotator),
    ("crossed_effects: gaussian", "narrow draws", narrow),
    ("crossed_effects: bernoulli", "annotators that never move", never_moved("sd_annotator")),
    ("crossed_effects: bernoulli", "a wrong power", wrong_power("sigma_item", -1)),
    ("crossed_effects: ordinal", "a dropped annotator", dropped_annotator),
    ("crossed_effects: ordinal", "another prior of gaps", other_prior(gap=("half_normal", 9.0))),
    ("cross_replication: gaussian", "narrow draws", narrow),
    ("cross_replication: gaussian", "another prior of R", other_prior(correlation_prior=30.0)),
    ("cross_replication: bernoulli", "a wrong power", wrong_power("sigma_item", -1)),
    ("cross_replication: ordinal", "a dropped annotator", dropped_annotator),
    *truth_faults.FAULTS,
    ("rasch: truth known", "dropped rows", dropped_rows),
    ("rasch: truth unknown", "dropped rows", dropped_rows),
    ("rasch: truth known, guesses", "no guesses", guessing_mistaken),
    ("rasch: truth unknown, no guesses", "guesses", guessing_mistaken),
    ("rasch: truth of some known", "other labels known", next_labels_known),
    ("rasch: truth known, covariates", "covariates of others", covariates_of_others),
    ("rasch: truth of some known, covariates", "covariates of others", covariates_of_others),
    ("rasch: confidence", "confidence reversed", confidence_reversed),
]


OFTEN = {
    "dirichlet: half the prior count": "faulty",
    "inverse_rank: dropped rows": "faulty",
    "plackett_luce: a dropped ranking": "faulty",
    "normal_scores: double the prior scale b": "faulty",
    "crossed_effects: gaussian: a dropped annotator": "faulty",
    "crossed_effects: bernoulli: annotators that never move": "faulty",
    "cross_replication: bernoulli: a wrong power": "coarse",
    "symmetric_confusion: related systems: systems taken for independent": "coarse",
    "symmetric_confusion: known annotators: systems judged afterwards": "coarse",
    "dawid_skene: truth of some known: others known": "coarse",
    "rasch: truth known: dropped rows": "faulty",
}
"""Faults that are planted with every change, one or two in each model, and the extent that shows
them; the others with `make calibrate`. Their priors are also held to PyMC's gradients."""


@pytest.mark.unit(0, long=4)
@pytest.mark.parametrize(
    ("name", "fault", "extent"),
    [
        pytest.param(name, fault, extent, id=f"{name}: {words}",
                     marks=[] if f"{name}: {words}" in OFTEN else pytest.mark.slow)
        for name, words, fault in FAULTS
        for extent in [OFTEN.get(f"{name}: {words}", "faulty")]
    ],
)  # fmt: skip
def test_a_planted_fault_is_caught(name, fault, extent):
    assert is_caught(places(name, extent, fault))


def test_a_fault_is_planted_in_every_model_with_every_change():
    assert {f"{name}: {words}" for name, words, _ in FAULTS} > set(OFTEN)
    assert {model_of(fault) for fault in OFTEN} == {model_of(name) for name in SIMULATORS}


def test_every_model_has_planted_faults():
    assert {name for name, _, _ in FAULTS} == set(SIMULATORS)


# -- The harness itself -----------------------------------------------------------------------


def test_uniform_places_are_seldom_suspected():
    rng = np.random.default_rng(3)
    p = np.array([harness.p_value(rng.random(200)) for _ in range(100)])
    for level in (0.01, 0.05, 0.5):
        assert (p <= level).mean() <= level + 4 * np.sqrt(level * (1 - level) / 100)
    assert stats.kstest(p, "uniform").pvalue > 1e-3


def test_places_of_a_truth_among_its_like_are_uniform():
    """Even if many draws equal the truth."""
    rng = np.random.default_rng(4)
    for numbers in (rng.normal(size=(100, 4000)), rng.integers(0, 3, (100, 4000)).astype(float)):
        result = harness.places(numbers[1:], numbers[0], rng)
        assert stats.kstest(result, "uniform").pvalue > 1e-3


def test_the_envelope_holds_as_often_as_it_says():
    rng = np.random.default_rng(5)
    points, low, high = harness.envelope(150, level=0.9)
    inside = []
    for _ in range(200):
        ecdf = np.searchsorted(np.sort(rng.random(150)), points, side="right") / 150
        inside.append(((low <= ecdf) & (ecdf <= high)).all())
    assert np.mean(inside) == pytest.approx(0.9, abs=4 * np.sqrt(0.09 / 200) + 0.02)
