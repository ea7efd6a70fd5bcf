"""What follows if annotators are wrong together: on studies where it is known that they are.

The algebra is checked by enumeration in tests/arrays/test_shared_mistakes.py.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import xarray as xr
from scipy import stats

import dissensus as dx
from dissensus.arrays.shared_mistakes import accuracy_of_followers
from dissensus.errors import ArgumentError, DissensusWarning

# What is tested here does not hang on how good the draws of every parameter are.
pytestmark = pytest.mark.filterwarnings("ignore::dissensus.errors.ConvergenceWarning")

SHARE = 0.12
A, B = "system A", "system B"
REPEATED = {A: 1.0, B: 0.0}
RUN = {"draws": 400, "chains": 2, "random_seed": 1, "progressbar": False}


@pytest.fixture(scope="module")
def study():
    """System A makes the mistakes of its annotators, B none of them."""
    return dx.simulate.confusion_study(
        20_000, 5, 3, ipc=(0.65, 0.7, 0.7, 0.75, 0.8), system_accuracy=(0.9, 0.75),
        prevalence=(1 / 3, 1 / 3, 1 / 3), shared_mistakes=SHARE, repeated=(1.0, 0.0), random_seed=1,
    )  # fmt: skip


@pytest.fixture(scope="module")
def large(study):
    return dx.models.symmetric_confusion.fit(
        study.annotations, predictions=study.predictions, accuracy="annotator", keep_items=False,
        **RUN,
    )  # fmt: skip


def fitted(model="symmetric_confusion", systems=(0.9, 0.75), n_items=80, **options):
    study = dx.simulate.confusion_study(
        n_items, 4, 3, ipc=0.7, system_accuracy=systems, random_seed=2
    )
    options = {**RUN, "draws": 100, "predictions": study.predictions, **options}
    return dx.models.get(model).module.fit(study.annotations, **options)


@pytest.fixture(scope="module")
def small():
    return fitted()


@pytest.fixture(scope="module")
def matrices():
    return fitted("dawid_skene", n_items=300)


def off(draws, truth):
    """How far the truth is from the posterior mean, in standard deviations."""
    return np.abs((draws.mean(("chain", "draw")) - truth) / draws.std(("chain", "draw"))).values


@pytest.mark.long
def test_with_the_true_share_accuracies_are_the_true_ones(study, large):
    found = dx.shared_mistakes(large, SHARE, repeated=REPEATED, random_seed=1)
    posterior = large["posterior"].to_dataset()
    for name in ("system_accuracy", "system_correct", "annotator_accuracy"):
        truth = study.truth[name]
        assert (off(found[name], truth) < 3).all(), name
        assert (off(posterior[name], truth) > 8).all(), name
    assert found["impossible"].values.tolist() == [0, 0]


@pytest.mark.long
def test_the_wrong_assumption_of_who_repeats_them_is_wrong(study, large):
    with pytest.warns(DissensusWarning, match="'system A' would have to"):
        found = dx.shared_mistakes(large, SHARE, repeated={A: 0, B: 1}, random_seed=1)
    assert (off(found["system_accuracy"], study.truth["system_accuracy"]) > 8).all()
    assert found["impossible"].sel(system=A) > 0.05
    assert found["impossible"].sel(system=B) == 0


def test_labels_of_two_worlds_have_one_distribution(study):
    """What annotators say together is as frequent if nobody shares mistakes with anybody.

    The chi-square statistic of all patterns, by the distribution it has if they are the same.
    """
    other = dx.simulate.confusion_study(
        20_000, 5, 3, ipc=(0.65, 0.7, 0.7, 0.75, 0.8), system_accuracy=(0.9,),
        prevalence=(1 / 3, 1 / 3, 1 / 3), random_seed=7,
    )  # fmt: skip
    counts = []
    for one in (study, other):
        codes = one.annotations["label_code"].values.reshape(20_000, 5)
        answer = one.predictions["label_code"].values.reshape(20_000, -1)[:, :1]
        codes = np.concatenate([codes, answer], axis=1)
        counts.append(np.bincount(codes @ 3 ** np.arange(6), minlength=3**6))
    enough = np.sum(counts, axis=0) >= 20
    table = np.array([np.append(one[enough], one[~enough].sum()) for one in counts])
    assert stats.chi2_contingency(table).pvalue > 0.01


@pytest.mark.parametrize("name", ["small", "matrices"])
def test_without_such_mistakes_all_is_as_fitted(name, request):
    fit = request.getfixturevalue(name)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = dx.shared_mistakes(fit, 0.0, repeated=0.3, random_seed=1)
    for variable in ("system_accuracy", "system_correct", "annotator_accuracy", "truth"):
        given = fit["posterior"][variable]
        assert found[variable].dims == given.dims
        xr.testing.assert_allclose(found[variable], given)
    assert found.attrs["in_words"] == (
        "Without mistakes that annotators share, accuracies are those of the fit."
    )


@pytest.mark.parametrize("name", ["small", "matrices"])
def test_dims_names_and_what_is_kept(name, request):
    fit = request.getfixturevalue(name)
    found = dx.shared_mistakes(fit, [0, 0.1], random_seed=1)
    each = () if name == "small" else ("annotator",)
    lead = ("chain", "draw", "share")
    assert {variable: x.dims for variable, x in found.data_vars.items()} == {
        "system_accuracy": (*lead, "system"), "system_correct": (*lead, "system"),
        "impossible": ("share", "system"), "annotator_accuracy": (*lead, *each),
        "truth": (*lead, "item", "label"),
    }  # fmt: skip
    assert found["share"].values.tolist() == [0, 0.1]
    assert found["system"].values.tolist() == [A, B]
    np.testing.assert_allclose(found["truth"].sum("label"), 1)
    assert found.attrs["model"] == fit.attrs["model"]
    one = dx.shared_mistakes(fit, 0.1, random_seed=1)
    for variable in ("system_accuracy", "annotator_accuracy", "truth"):
        np.testing.assert_array_equal(one[variable], found[variable].sel(share=0.1))
    assert dx.shared_mistakes(fit).sizes["share"] == 4


def test_every_draw_by_the_formula(small):
    found = dx.shared_mistakes(small, 0.2, repeated={B: 0.25, A: 1}, random_seed=1)
    agreed = small["posterior"]["system_accuracy"].sel(system=B).values
    free = 0.2 * 0.75
    own = np.clip((agreed - free / 2) / (1 - free * 3 / 2), 0, 1)
    want = 0.8 * own + 0.2 * (0.75 * own + 0.25 * (1 - own) / 2)
    np.testing.assert_allclose(found["system_accuracy"].sel(system=B), want)
    t = small["posterior"]["annotator_accuracy"]
    np.testing.assert_allclose(found["annotator_accuracy"], 0.8 * t + 0.2 * (1 - t) / 2)


def test_more_shared_mistakes_are_worse_for_who_makes_them(small):
    found = dx.shared_mistakes(small, (0, 0.1, 0.2, 0.4), random_seed=1)
    for name in ("system_accuracy", "annotator_accuracy"):
        assert (found[name].diff("share") < 0).all()
    assert (found["system_correct"].mean(("chain", "draw")).diff("share") < 0).all()
    few = dx.shared_mistakes(small, (0, 0.02, 0.04), repeated={A: 1, B: 0}, random_seed=1)
    assert (few["system_accuracy"].sel(system=B).diff("share") > 0).all()


def test_of_these_items_whole_numbers_are_right(small):
    found = dx.shared_mistakes(small, 0.1, random_seed=1)["system_correct"] * 80
    np.testing.assert_allclose(found, np.rint(found))
    again = dx.shared_mistakes(small, 0.1, random_seed=1)["system_correct"] * 80
    other = dx.shared_mistakes(small, 0.1, random_seed=2)["system_correct"] * 80
    assert found.equals(again)
    assert not found.equals(other)


@pytest.mark.long
def test_a_believed_share_is_drawn_for_each_draw(large):
    found = dx.shared_mistakes(large, beta=(1, 9), random_seed=1)
    drawn = found["share"]
    assert drawn.dims == ("chain", "draw")
    cut = stats.beta(1, 9).cdf(2 / 3)
    assert stats.kstest(drawn.values.ravel(), lambda x: stats.beta(1, 9).cdf(x) / cut).pvalue > 0.01
    t = large["posterior"]["annotator_accuracy"].values
    want = accuracy_of_followers(t, drawn.values[..., None], 3)
    np.testing.assert_allclose(found["annotator_accuracy"], want)
    assert found["system_accuracy"].dims == ("chain", "draw", "system")
    assert "Beta(1, 9), .10 on average" in found.attrs["in_words"]
    same = dx.shared_mistakes(large, beta=(1, 9), random_seed=1)["share"]
    np.testing.assert_array_equal(drawn, same)


def test_a_share_is_believed_only_as_far_as_labels_tell_anything(small):
    found = dx.shared_mistakes(small, beta=(3, 3), random_seed=1)
    assert float(found["share"].max()) < 2 / 3


def test_the_words_are_the_numbers(large):
    lines = dx.shared_mistakes(large, (0, 0.05, 0.08, 0.2), repeated=REPEATED).attrs["in_words"]
    people, first, second, last = lines.replace("\N{NO-BREAK SPACE}", " ").splitlines()
    mean = large["posterior"]["annotator_accuracy"].mean().item()
    want = [f"{(1 - s) * mean + s * (1 - mean) / 2:.2f}"[1:] for s in (0.05, 0.08, 0.2)]
    assert people.startswith(
        f"If annotators are wrong together on 5 %, 8 % or 20 % of the items, they are right on "
        f"{want[0]} ["
    )
    assert f", {want[1]} [" in people
    assert f" or {want[2]} [" in people
    assert "of items like these on average, not on .72 [" in people
    assert "(in brackets: 89 % intervals)" in people
    assert first.startswith("'system A' is right on .90 [")
    assert "; if it makes all of them with the annotators, on .86 [" in first
    assert "(20 % of the items is impossible: it agrees with annotators too often" in first
    assert "if it makes none of them, on .71 [" in second
    assert last == "Labels alone cannot tell which of these holds."


def test_what_is_impossible_at_every_share_is_said_so(large):
    with pytest.warns(DissensusWarning, match="In up to 100% of the draws"):
        found = dx.shared_mistakes(large, 0.3, repeated=0)
    said = found.attrs["in_words"].replace("\N{NO-BREAK SPACE}", " ")
    assert "that it makes none of them is impossible: it agrees with annotators too often" in said
    with pytest.warns(DissensusWarning):
        half = dx.shared_mistakes(large, 0.4, repeated=0.5).attrs["in_words"]
    assert "makes 50 % of them" in half.replace("\N{NO-BREAK SPACE}", " ")


def test_many_systems_are_counted_and_not_all_written():
    fit = fitted(systems=[0.8] * 8, n_items=40)
    lines = dx.shared_mistakes(fit, 0.1).attrs["in_words"].splitlines()
    assert len(lines) == 9
    assert lines[7] == "2 more systems in the numbers."


def test_without_systems_there_are_annotators():
    fit = fitted(predictions=None, keep_items=False)
    found = dx.shared_mistakes(fit, (0.1, 0.2))
    assert list(found.data_vars) == ["annotator_accuracy"]
    assert len(found.attrs["in_words"].splitlines()) == 2
    with pytest.raises(ArgumentError, match="repeated: expected a number, as the fit has no"):
        dx.shared_mistakes(fit, repeated={A: 1})


def test_a_system_without_answers_to_these_items_has_no_share_right(small):
    fit = small.copy(deep=True)
    codes = fit["observed_data"]["system_label_code"].copy()
    codes.loc[{"system": B}] = -1
    fit["observed_data"]["system_label_code"] = codes
    fit["posterior"]["system_correct"] = fit["posterior"]["system_correct"].where(
        fit["posterior"]["system"] != B
    )
    found = dx.shared_mistakes(fit, 0.1)["system_correct"]
    assert found.sel(system=B).isnull().all()
    assert found.sel(system=A).notnull().all()


def test_the_truth_of_items_must_have_room(small, monkeypatch):
    from dissensus import _shared_mistakes

    monkeypatch.setattr(_shared_mistakes, "_ROOM", small["posterior"]["truth"].nbytes)
    dx.shared_mistakes(small, 0.1)
    with pytest.raises(ArgumentError, match="share: expected fewer shares at a time"):
        dx.shared_mistakes(small)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"share": 0.7}, r"share: expected a number, or several, from 0 to below 0\.667"),
        ({"share": -0.1}, "share: expected a number"),
        ({"share": (0.1, np.nan)}, "share: expected a number"),
        ({"share": ()}, "share: expected a number"),
        ({"share": "0.1"}, "share: expected a number"),
        ({"share": [[0.1]]}, "share: expected a number"),
        ({"share": (0.1, "x")}, "share: expected a number"),
        ({"share": None}, "share: expected a number"),
        ({"repeated": 1.1}, r"repeated: expected a number in \[0, 1\]"),
        ({"repeated": "all"}, "repeated: expected a finite number"),
        ({"repeated": {A: 1}}, "repeated: expected a number, or one for each of the systems"),
        ({"repeated": {A: 1, B: 0, "C": 0}}, "found names 'system A', 'system B' and 'C'"),
        ({"repeated": {A: 1, B: 2}}, r"repeated\['system B'\]: expected a number in \[0, 1\]"),
        ({"beta": (1, 0)}, "beta: expected two finite numbers > 0"),
        ({"beta": (1, 2, 3)}, "beta: expected two finite numbers > 0"),
        ({"beta": (90, 1)}, "beta: expected a distribution that is mostly below"),
        ({"beta": (1, 9), "share": 0.1}, "share: expected nothing beside beta="),
        ({"random_seed": -1}, "random_seed: expected a whole number"),
    ],
)
def test_arguments_that_make_no_sense(arguments, message, small):
    with pytest.raises(ArgumentError, match=message):
        dx.shared_mistakes(small, **arguments)


def test_what_is_no_fit_of_a_truth_is_refused():
    with pytest.raises(ArgumentError, match="fit: expected the DataTree"):
        dx.shared_mistakes(None)
    ann = dx.annotations({"item": [1, 1], "annotator": [1, 2], "label": ["a", "b"]})
    fit = dx.models.dirichlet.fit(ann, draws=10, progressbar=False)
    with pytest.raises(ArgumentError, match="fit: expected a fit of symmetric_confusion or"):
        dx.shared_mistakes(fit)


@pytest.mark.parametrize(
    "part", [{"item": slice(0, 2)}, {"label": [0]}, {"draw": 0}, {"system": 0}]
)
def test_a_part_of_a_fit_is_refused_whose_numbers_are_of_the_whole(part, small):
    with pytest.raises(ArgumentError, match="fit: expected"):
        dx.shared_mistakes(small.isel(part))
    assert dx.shared_mistakes(small.isel(system=[0]), 0.1).sizes["system"] == 1


def test_a_single_draw_has_an_interval_of_one_point(small):
    found = dx.shared_mistakes(small.isel(chain=[0], draw=[0]), 0.1)
    assert found["system_accuracy"].sizes["draw"] == 1
    assert found.attrs["in_words"].startswith("If annotators are wrong together on 10\xa0%")
