"""Votes of people beside judges' verdicts on all pairs, and covariates of answers."""

from __future__ import annotations

import re

import numpy as np
import pytest
import xarray as xr
from gradients import disagreements, points_of
from vote_fits import with_tastes

import dissensus as dx
from dissensus.models import bradley_terry

QUIET = {"random_seed": 1, "progressbar": False}
SYSTEMS = [f"s{k}" for k in range(4)]
poor = pytest.mark.filterwarnings("ignore::dissensus.errors.ConvergenceWarning")


def study(n_votes=150, n_items=6, n_people=4, seed=1, side=0.0, favour=(0, 0, 0, 1.0)):
    """Simulate by the definition: judges on all pairs, people on some; length sways people."""
    rng = np.random.default_rng(seed)
    strength = np.array([-0.8, 0.1, 0.9, -0.2])
    good = strength + rng.normal(0, 0.8, (n_items, 4))
    length = rng.normal(100, 20, (n_items, 4))
    sharp, lean = np.exp(rng.normal(0, 0.4, n_people)), rng.normal(0, 0.7, n_people)
    verdicts, votes = [], []
    for item in range(n_items):
        for i in range(4):
            for j in range(i):
                for judge in ("gpt", "llama"):
                    gap = good[item] + np.array(favour) + 0.5 * rng.normal(size=4)
                    ahead = gap[i] - gap[j]
                    won = "left" if ahead > 0.3 else "right" if ahead < -0.3 else "tie"
                    verdicts.append((SYSTEMS[i], SYSTEMS[j], won, judge, item))
    for _ in range(n_votes):
        left, right = rng.choice(4, 2, replace=False)
        who, item = rng.integers(n_people), rng.integers(n_items)
        more = (length[item, left] - length[item, right]) / 20
        eta = sharp[who] * (good[item, left] - good[item, right]) + 0.4 * more + side
        weights = np.exp([eta / 2, -0.3 + lean[who], -eta / 2])
        labels = ("left", "tie", "right")[rng.choice(3, p=weights / weights.sum())]
        votes.append((SYSTEMS[left], SYSTEMS[right], labels, f"p{who}", item))
    names = ("left", "right", "winner", "annotator", "item")
    votes, verdicts = (
        {name: [row[place] for row in rows] for place, name in enumerate(names)}
        for rows in (votes, verdicts)
    )
    answers = {"item": np.repeat(np.arange(n_items), 4), "system": SYSTEMS * n_items,
               "length": length.ravel(), "lists": rng.integers(0, 5, 4 * n_items)}  # fmt: skip
    return votes, verdicts, answers


def read(frame):
    return dx.pairs(frame, annotator="annotator", item="item")


FORMS = {
    "judges": ("predictions", {"annotators": False, "items": False}),
    "covariates, no ties": ("answers", {"annotators": False, "items": False, "ties": False}),
    "both, with all": ("both", {"side": True}),
    "judges, no ties": ("predictions", {"annotators": False, "ties": False}),
}


def given(form, **made):
    """Return votes, and the settings of a form."""
    which, options = FORMS[form]
    votes, verdicts, answers = study(**made)
    if options.get("ties") is False:
        kept = [place for place, word in enumerate(votes["winner"]) if word != "tie"]
        votes = {name: [values[k] for k in kept] for name, values in votes.items()}
    more = {"predictions": read(verdicts), "answers": answers}
    more = {name: more[name] for name in more if which in (name, "both")}
    return read(votes), {**options, **more}


@pytest.mark.unit(0, long=1)
@pytest.mark.parametrize("form", list(FORMS))
def test_draws_go_with_the_gradient_of_the_model(form):
    votes, options = given(form)
    fit = with_tastes(votes, draws=2000, **options)
    model = bradley_terry.build(votes, **options)
    name = "beyond_judge" if "predictions" in options else "strength"

    def moved(values):
        n = values[name].shape[-1]
        shift = -values[name][:, -1:] * np.sqrt(n) / (np.sqrt(n) + n)
        return {f"{name}_zerosum__": values[name][:, :-1] + shift}

    assert disagreements(model, points=points_of(fit, model, moved)) == {}


@poor
def test_log_likelihoods_and_strengths_follow_the_definition():
    votes, verdicts, answers = study()
    fit = bradley_terry.fit(
        read(votes), predictions=read(verdicts), answers=answers, annotators=False, draws=50,
        chains=1, log_likelihood=True, **QUIET,
    )  # fmt: skip
    post = fit["posterior"].to_dataset().isel(chain=0, draw=-1)
    sides = {"left": 1.0, "tie": 0.0, "right": -1.0}
    verdict = {}
    for a, b, won, judge, item in zip(*verdicts.values(), strict=True):
        verdict[item, a, b, judge] = sides[won]
        verdict[item, b, a, judge] = -sides[won]
    sd = np.std(answers["length"]), np.std(answers["lists"])
    table = {(item, system): np.array([length / sd[0], lists / sd[1]])
             for item, system, length, lists in zip(*answers.values(), strict=True)}  # fmt: skip
    each = fit["log_likelihood"]["outcome"].isel(chain=0, draw=-1).to_numpy()
    # What a judge thinks of systems: the least squares of verdicts on them.
    leaning = {}
    for judge in ("gpt", "llama"):
        pairs = [key for key in verdict if key[1] < key[2] and key[3] == judge]
        design = [[(name == a) - (name == b) for name in SYSTEMS] for _, a, b, _ in pairs]
        actual = np.linalg.lstsq(np.array(design), [verdict[key] for key in pairs], rcond=None)[0]
        leaning[judge] = dict(zip(SYSTEMS, actual, strict=True))
    for row, (left, right, won, _, item) in enumerate(zip(*votes.values(), strict=True)):
        heard = np.array([verdict[item, left, right, judge] for judge in leaning])
        places = np.array([of[left] - of[right] for of in leaning.values()])
        u = post["item_effect"].sel(item=item)
        s = post["beyond_judge"]
        eta = float(s.sel(system=left) + u.sel(system=left))
        eta -= float(s.sel(system=right) + u.sel(system=right))
        eta += heard @ post["judge_weight"].to_numpy()
        eta += places @ post["judge_system_weight"].to_numpy()
        eta += (table[item, left] - table[item, right]) @ post["coefficient"].to_numpy()
        tie = float(post["tie"] + post["item_tie"].sel(item=item))
        tie += (heard == 0) @ post["judge_tie"].to_numpy()
        logits = np.array([eta / 2, tie, -eta / 2])
        expected = logits[list(sides).index(won)] - np.log(np.exp(logits).sum())
        assert each[row] == pytest.approx(expected)
    weight = (post["judge_weight"] + post["judge_system_weight"]).to_numpy()
    of_judges = weight @ np.array([list(of.values()) for of in leaning.values()])
    np.testing.assert_allclose(post["strength"], post["beyond_judge"].to_numpy() + of_judges)


@poor
def test_sides_and_order_of_verdicts_do_not_matter():
    votes, verdicts, answers = study()
    options = {"draws": 20, "tune": 20, "chains": 1, **QUIET}
    first = bradley_terry.fit(read(votes), predictions=read(verdicts), answers=answers, **options)
    order = np.random.default_rng(3).permutation(len(verdicts["item"]))
    turned = {name: [verdicts[name][k] for k in order] for name in verdicts}
    turned["left"], turned["right"] = turned["right"], turned["left"]
    words = {"left": "right", "right": "left", "tie": "tie"}
    turned["winner"] = [words[word] for word in turned["winner"]]
    shuffled = {name: list(reversed(list(values))) for name, values in answers.items()}
    other = bradley_terry.fit(read(votes), predictions=read(turned), answers=shuffled, **options)
    xr.testing.assert_allclose(first["posterior"].to_dataset(), other["posterior"].to_dataset())
    xr.testing.assert_identical(
        dx.win_rate(first, random_seed=1), dx.win_rate(other, random_seed=1)
    )


@pytest.mark.long
@poor
def test_people_are_not_taken_in_by_a_judge_that_favours_a_system():
    votes, verdicts, _ = study(n_votes=600, n_items=40, favour=(0, 0, 0, 2.5))
    fit = bradley_terry.fit(read(votes), predictions=read(verdicts), draws=500, chains=2, **QUIET)
    heard = read(verdicts)
    sides = heard["left_code"].to_numpy() == 3, heard["right_code"].to_numpy() == 3
    outcome = heard["outcome"].to_numpy()
    by_judge = np.concatenate([1 - outcome[sides[0]] / 2, outcome[sides[1]] / 2]).mean()
    rate = dx.win_rate(fit, random_seed=1).sel(system="s3")
    assert float(rate.quantile(0.99)) < by_judge - 0.2
    best = fit["posterior"]["strength"].mean(("chain", "draw")).to_series().idxmax()
    assert best == "s2"


@poor
def test_prompts_and_systems_with_verdicts_only_are_part_of_the_fit():
    votes, verdicts, _ = study(n_items=8)
    kept = [k for k, (left, right, item) in
            enumerate(zip(votes["left"], votes["right"], votes["item"], strict=True))
            if item < 5 and "s3" not in (left, right)]  # fmt: skip
    few = {name: [values[k] for k in kept] for name, values in votes.items()}
    options = {"draws": 50, "chains": 1, **QUIET}
    fit = bradley_terry.fit(read(few), predictions=read(verdicts), **options)
    assert set(fit["posterior"]["system"].to_numpy()) == set(SYSTEMS)
    assert set(fit["posterior"]["item"].to_numpy()) == set(range(5))  # nothing is known of others
    assert np.isfinite(dx.win_rate(fit, random_seed=1)).all()
    # A system that was left out with its votes is none of the fit.
    more = dx.pairs({name: [*few[name], few[name][0]] for name in few} | {
        "left": [*few["left"], "s9"], "winner": [*few["winner"], "left"]
    }, annotator="annotator", item="item")  # fmt: skip
    rest = more.isel(vote=slice(len(few["left"])))
    again = bradley_terry.fit(rest, predictions=read(verdicts), **options)
    xr.testing.assert_equal(dx.win_rate(again, random_seed=1), dx.win_rate(fit, random_seed=1))


@poor
def test_answers_that_are_in_no_pair_change_nothing():
    votes, _, answers = study()
    options = {"draws": 10, "tune": 10, "chains": 1, "items": False, **QUIET}
    fit = bradley_terry.fit(read(votes), answers=answers, **options)
    more = {"item": [*answers["item"], 99], "system": [*answers["system"], "s1"],
            "length": [*answers["length"], np.nan], "lists": [*answers["lists"], 1e9]}  # fmt: skip
    again = bradley_terry.fit(read(votes), answers=more, **options)
    xr.testing.assert_identical(fit["posterior"].to_dataset(), again["posterior"].to_dataset())


@poor
def test_small_codes_do_not_overflow():
    votes, verdicts, _ = study()
    frame = read(votes)
    small = frame.assign({
        name: frame[name].astype(np.int8) for name in ("left_code", "right_code", "item_code")
    })  # fmt: skip
    options = {"predictions": read(verdicts), "draws": 5, "tune": 5, "chains": 1, **QUIET}
    first, second = (bradley_terry.fit(data, **options)["constant_data"] for data in (frame, small))
    np.testing.assert_array_equal(first["vote_pair"], second["vote_pair"])


def test_weights_that_only_priors_know_are_warned_of():
    votes, verdicts, answers = study()
    three = {name: [x for x, a, b in zip(values, frame["left"], frame["right"], strict=True)
                    if "s3" not in (a, b)]
             for frame in (votes,) for name, values in frame.items()}  # fmt: skip
    judged = {name: [x for x, a, b in zip(values, verdicts["left"], verdicts["right"], strict=True)
                     if "s3" not in (a, b)] for name, values in verdicts.items()}  # fmt: skip
    with pytest.warns(dx.DesignWarning, match="verdicts of 2 judges on 3 systems cannot"):
        bradley_terry.build(read(three), predictions=read(judged))
    size = {"item": answers["item"], "system": answers["system"], "length": answers["length"]}
    of_systems = {**size, "size": [1.0, 7.0, 13.0, 70.0] * 6}
    with pytest.warns(dx.DesignWarning, match="cannot separate the covariate 'size' of answers"):
        bradley_terry.build(read(votes), answers=of_systems)
    twice = {**size, "again": np.array(size["length"]) * 2 + 1}
    with pytest.warns(dx.DesignWarning, match="covariate '(length|again)'"):
        bradley_terry.build(read(votes), answers=twice)


def _without(frame, test):
    kept = [k for k in range(len(frame["item"])) if not test({n: v[k] for n, v in frame.items()})]
    return {name: [values[k] for k in kept] for name, values in frame.items()}


REFUSED = {
    "votes without prompts": (
        lambda v, j, a: (dx.pairs(v), {"predictions": read(j)}),
        r"predictions: expected None, since the votes do not say .*item=\"\.\.\.\"",
    ),
    "covariates without prompts": (
        lambda v, j, a: (dx.pairs(v), {"answers": a}), "answers: expected None, since the votes",
    ),
    "verdicts without prompts": (
        lambda v, j, a: (read(v), {"predictions": dx.pairs(j)}),
        "predictions: expected prompts, as the votes have; found verdicts without",
    ),
    "annotations": (
        lambda v, j, a: (read(v), {"predictions": dx.from_matrix([["a", "b"]])}),
        "predictions: expected judges' verdicts on pairs, from dissensus.pairs",
    ),
    "no verdict on a vote's pair": (
        lambda v, j, a: (read(v), {"predictions": read(_without(j, lambda row: row["item"] == 2))}),
        r"verdict on every pair of answers with votes; found none on \d+ votes, such as row \d+: "
        r"'s\d' and 's\d' on 2",
    ),
    "a judge's verdict is missing": (
        lambda v, j, a: (read(v), {"predictions": read(_without(
            j, lambda row: row["item"] == 2 and row["annotator"] == "gpt" and row["left"] == "s3"
        ))}),
        r"a verdict of every judge on every pair; found 3 of 72 missing, such as that of 'gpt' on "
        r"'s0' and 's3' on 2",
    ),
    "other prompts": (
        lambda v, j, a: (
            read(v), {"predictions": read({**j, "item": [x + 90 for x in j["item"]]})}
        ),
        "items such as 0, 1, 2 .*none in common, but 90, 91, 92",
    ),
    "no columns": (
        lambda v, j, a: (read(v), {"answers": {"item": a["item"], "system": a["system"]}}),
        "answers: expected the columns 'item' and 'system', and columns of numbers",
    ),
    "text": (
        lambda v, j, a: (read(v), {"answers": {**a, "length": ["long"] * 24}}),
        "column 'length', row 0: expected a finite number; found 'long'",
    ),
    "one number": (
        lambda v, j, a: (read(v), {"answers": {**a, "length": [3.0] * 24}}),
        "columns that differ between .*; found no difference in 'length'",
    ),
    "an answer twice": (
        lambda v, j, a: (read(v), {"answers": {**a, "item": [0] * 24}}),
        "answers, row 4: expected each item and system once; found 4 of them more than once",
    ),
    "an answer is missing": (
        lambda v, j, a: (read(v), {"answers": {name: x[1:] for name, x in a.items()}}),
        r"a row for each answer in the pairs; found none for one of 's0' and 's\d' on 0",
    ),
    "no column of systems": (
        lambda v, j, a: (read(v), {"answers": {"item": a["item"], "model": a["system"]}}),
        r"expected the columns 'item' and 'system', and .*found the columns 'item', 'model'",
    ),
    "of items only": (
        lambda v, j, a: (read(v), {"answers": {**a, "topic": np.repeat(np.arange(6), 4)}}),
        "differ between the two answers of some pair; found no difference in 'topic'",
    ),
    "two judges without names": (
        lambda v, j, a: (read(v), {"predictions": dx.pairs(j, item="item")}),
        r"one verdict on each pair and order of its sides, as no judge is named; found 2 on 's\d' "
        r"and 's\d' on 0",
    ),
    "both without prompts": (
        lambda v, j, a: (dx.pairs(v), {"predictions": read(j), "answers": a}),
        "predictions: expected None, .* found Dataset",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", list(REFUSED))
def test_refusals(name):
    make, words = REFUSED[name]
    votes, options = make(*study())
    with pytest.raises((dx.ArgumentError, dx.AnnotationError), match=words) as problem:
        bradley_terry.build(votes, **options)
    assert not re.search(r"np\.|array\(", str(problem.value))
