"""Which items to send back: against enumeration by the definition, simulation, and common sense."""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st
from seeds import rest_long, seeds

import dissensus as dx
from dissensus.kernels import formulas

SEEDS = st.integers(0, 2**31)
few = settings(max_examples=12, deadline=None)
SAMPLE = ("chain", "draw")
MODELS = ("dirichlet", "rasch", "symmetric_confusion", "dawid_skene")


def fitted(model, posterior, *, labels_given=None, truth_code=None, **attrs):
    """Return a DataTree as a fit of this posterior would be."""
    n = posterior.sizes["item"]
    item = np.repeat(np.arange(n), 3 if labels_given is None else labels_given)
    observed = {"label_code": ("annotation", np.zeros(len(item), dtype=int))}
    if truth_code is not None:
        observed["truth_code"] = ("item", truth_code)
    codes = {"item_code": ("annotation", item), "annotator_code": ("annotation", 0 * item)}
    constant = xr.Dataset(codes)
    if model == "dirichlet":
        counts = np.full((n, posterior.sizes["label"]), 0)
        np.add.at(counts, (item, 0), 1)
        observed = {"counts": (("item", "label"), counts)}
    else:
        constant["truth_mean"] = posterior["truth"].mean(SAMPLE)
    groups = {"posterior": posterior, "observed_data": xr.Dataset(observed),
              "constant_data": constant}  # fmt: skip
    tree = xr.DataTree.from_dict(groups)
    tree.attrs.update({"model": model, "n_items_poor": 0, **attrs})
    return tree


def drawn(seed, model, *, n_items=4, n_labels=3, n_annotators=3, graded=False, chains=2, draws=5):
    """Draw a posterior that may be any, and return it as a fit."""
    rng = np.random.default_rng([31, seed])
    shape = (chains, draws)
    coords = {"item": [f"i{k}" for k in range(n_items)], "label": list("abcde")[:n_labels],
              "annotator": [f"r{k}" for k in range(n_annotators)]}  # fmt: skip
    truth = rng.dirichlet(np.ones(n_labels) * 0.7, size=(*shape, n_items))
    name = "plausibility" if model == "dirichlet" else "truth"
    parts = {name: ((*SAMPLE, "item", "label"), truth)}
    if model == "dirichlet":
        pass
    elif model == "rasch":
        values = rng.random((*shape, n_annotators, n_items))
        parts["accuracy"] = ((*SAMPLE, "annotator", "item"), values)
    elif model == "dawid_skene":
        rows = rng.dirichlet(np.ones(n_labels), size=(*shape, n_annotators, n_labels))
        parts["confusion"] = ((*SAMPLE, "annotator", "label", "response"), rows)
        coords["response"] = coords["label"]
    elif seed % 2:
        parts["annotator_accuracy"] = (SAMPLE, rng.random(shape))
    else:
        parts["annotator_accuracy"] = ((*SAMPLE, "annotator"), rng.random((*shape, n_annotators)))
    if graded:
        parts["distance_decay"] = (SAMPLE, rng.normal(size=shape))
    posterior = xr.Dataset(parts, coords={"chain": range(chains), "draw": range(draws)})
    kept = {dim: names for dim, names in coords.items() if dim in posterior.dims}
    return fitted(model, posterior.assign_coords(kept))


def true_labels(fit):
    """Return P(z) of each draw; the label with the largest plausibility is right."""
    posterior = fit["posterior"].to_dataset()
    if "truth" in posterior:
        return posterior["truth"]
    theta = posterior["plausibility"]
    return (theta == theta.max("label")).astype(float)


def answers(fit):
    """Return P(y | z) of a further annotator (draw, item, label, response), number by number."""
    posterior = fit["posterior"].to_dataset()
    flat = posterior.stack(one=SAMPLE).transpose("one", ...)
    n, n_items, k = (flat.sizes[dim] for dim in ("one", "item", "label"))
    out = np.empty((n, n_items, k, k))
    for m, i, z, y in np.ndindex(out.shape):
        draw = flat.isel(one=m)
        if fit.attrs["model"] == "dirichlet":
            out[m, i, z, y] = draw["plausibility"].isel(item=i, label=y)
            continue
        if fit.attrs["model"] == "dawid_skene":
            each = draw["confusion"].isel(label=z, response=y).to_numpy()
        else:
            name = "accuracy" if fit.attrs["model"] == "rasch" else "annotator_accuracy"
            right = draw[name]
            right = (right.isel(item=i) if "item" in right.dims else right).to_numpy()
            decay = float(draw["distance_decay"]) if "distance_decay" in draw else 0.0
            weight = [np.exp(-decay * abs(z - other)) for other in range(k) if other != z]
            each = right if y == z else (1 - right) * np.exp(-decay * abs(z - y)) / sum(weight)
        out[m, i, z, y] = np.mean(each)
    return out


def by_enumeration(fit, further):
    """Go through all sequences of further labels (item)."""
    truth = true_labels(fit).transpose(*SAMPLE, "item", "label").to_numpy()
    truth = truth.reshape(-1, *truth.shape[2:])
    response = answers(fit)
    out = np.zeros(truth.shape[1])
    for i in range(truth.shape[1]):
        for labels in itertools.product(range(truth.shape[2]), repeat=further):
            both = [
                np.mean([truth[m, i, z] * np.prod([response[m, i, z, y] for y in labels])
                         for m in range(len(truth))])
                for z in range(truth.shape[2])
            ]  # fmt: skip
            out[i] += max(both)
    return out - truth.mean(axis=0).max(axis=-1)


@pytest.mark.unit(12, long=8)
@pytest.mark.parametrize("further", rest_long([1, 3, 2], unit=2))
@pytest.mark.parametrize("n_labels", [2, 3])
@pytest.mark.parametrize("model", [*MODELS, "graded"])
@pytest.mark.parametrize("seed", seeds(3, unit=2))
def test_gains_are_what_enumeration_gives(seed, model, n_labels, further):
    graded = model == "graded"
    fit = drawn(seed, "symmetric_confusion" if graded else model, n_labels=n_labels, graded=graded)
    review = dx.items_to_review(fit, further=further)
    expected = by_enumeration(fit, further)
    items = fit["posterior"]["item"].values
    np.testing.assert_allclose(review["gain"].sel(item=items), expected, rtol=1e-12, atol=1e-12)
    mean = true_labels(fit).mean(SAMPLE)
    np.testing.assert_allclose(review["probability_right"].sel(item=items), mean.max("label"))
    lead = mean["label"].values[mean.argmax("label")]
    assert (review["leading_label"].sel(item=items) == lead).all()
    assert (review["labels_given"] == 3).all()


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("further", [1, 3])
def test_a_little_at_a_time_is_the_same(model, further, monkeypatch):
    fit = drawn(1, model, n_items=7)
    expected = dx.items_to_review(fit, further=further)
    for module in ("dissensus.checks._review", "dissensus.kernels.formulas"):
        monkeypatch.setattr(f"{module}.CELLS", 40)
    xr.testing.assert_allclose(dx.items_to_review(fit, further=further), expected, rtol=1e-12)


@pytest.mark.long
@given(seed=SEEDS, model=st.sampled_from(MODELS))
@few
def test_more_labels_never_gain_less_nor_more_than_what_is_missing(seed, model):
    fit = drawn(seed, model, n_labels=2 + seed % 3)
    before = 0.0
    for further in (1, 2, 4):
        review = dx.items_to_review(fit, further=further).sel(item=fit["posterior"]["item"])
        assert (review["gain"] >= before - 1e-12).all()
        assert (review["gain"] <= 1.0 - review["probability_right"] + 1e-12).all()
        before = review["gain"]


@given(seed=SEEDS, model=st.sampled_from(MODELS))
@few
def test_items_are_sorted_and_the_whole_adds_up(seed, model):
    fit = drawn(seed, model, n_items=6)
    review = dx.items_to_review(fit)
    assert (np.diff(review["gain"]) <= 0).all()
    assert review["rank"].values.tolist() == [1, 2, 3, 4, 5, 6]
    right, after = review["probability_right"], review["probability_right_after"]
    np.testing.assert_allclose(after, right + review["gain"])
    np.testing.assert_allclose(review.attrs["expected_accuracy_now"], right.mean())
    for k in range(1, 7):  # those sent back, and those not
        share = (float(after[:k].sum()) + float(right[k:].sum())) / 6
        np.testing.assert_allclose(review["expected_accuracy"][k - 1], share)


@pytest.mark.long
@given(seed=SEEDS, model=st.sampled_from(MODELS))
@few
def test_names_and_orders_do_not_matter(seed, model):
    rng = np.random.default_rng(seed)
    fit = drawn(seed, model, n_items=5)
    expected = dx.items_to_review(fit, further=2)
    posterior = fit["posterior"].to_dataset()
    items, labels = rng.permutation(5), rng.permutation(3)
    turned = posterior.isel(item=items, label=labels, draw=rng.permutation(5))
    turned = turned.isel(response=labels) if "response" in turned.dims else turned
    turned = turned.transpose(*rng.permutation(list(turned.dims)).tolist())
    review = dx.items_to_review(fitted(model, turned), further=2)
    for name in ("gain", "leading_label", "probability_right"):
        first, second = (x[name].sel(item=posterior["item"]).values for x in (review, expected))
        if name == "leading_label":
            assert (first == second).all()
        else:
            np.testing.assert_allclose(first, second, atol=1e-12)


def alike(truth, accuracy, n_labels=2, **more):
    """Return a fit of rasch whose draws are all the same."""
    n = len(truth)
    posterior = xr.Dataset(
        {"truth": ((*SAMPLE, "item", "label"), np.broadcast_to(truth, (1, 4, n, n_labels))),
         "accuracy": ((*SAMPLE, "annotator", "item"), np.broadcast_to(accuracy, (1, 4, 3, n)))},
        coords={"item": np.arange(n), "label": list("abcdefgh")[:n_labels]},
    )  # fmt: skip
    return fitted("rasch", posterior, **more)


def test_who_guesses_tells_nothing_however_open_the_item_is():
    # Item 0: all guess, and nobody knows. Item 1: one label so far, by somebody mostly right.
    fit = alike([[0.5, 0.5], [0.8, 0.2]], [0.5, 0.9])
    for further in (1, 2, 9):
        review = dx.items_to_review(fit, further=further)
        assert review["item"].values.tolist() == [1, 0]
        assert review["gain"].values[1] == 0.0
        assert review["gain"].values[0] > 0.08
    assert (
        "On 1 item the most probable label is right with probability below .75"
        in review.attrs["in_words"]
    )
    even = alike([[0.25] * 4, [0.7, 0.1, 0.1, 0.1]], [0.25, 0.9], n_labels=4)
    assert dx.items_to_review(even, further=3)["gain"].values.tolist()[1] == 0.0


def test_a_lead_that_one_label_cannot_turn_gains_nothing_by_one():
    # Odds of .9 to .1 are 9; a label of somebody right in .8 is worth 4, and two are worth 16.
    fit = alike([[0.9, 0.1]], [0.8])
    none = dx.items_to_review(fit)
    assert none["gain"].item() == 0.0
    assert none.attrs["in_words"].endswith("no most probable label would change.")
    # Both say the other label: if it is right .1 * .64, against .9 * .04 if it is not.
    np.testing.assert_allclose(dx.items_to_review(fit, further=2)["gain"], 0.064 - 0.036)


def test_draws_are_averaged_before_the_maximum_is_taken():
    # In one half of the draws the label is a, in the other b: that a further label tells nothing
    # of which half is right must not be hidden by taking each half's own maximum.
    truth = np.array([[[1.0, 0.0]], [[0.0, 1.0]]] * 2)[None]
    posterior = xr.Dataset(
        {"truth": ((*SAMPLE, "item", "label"), truth),
         "accuracy": ((*SAMPLE, "annotator", "item"), np.full((1, 4, 1, 1), 0.5))},
        coords={"item": [0], "label": ["a", "b"]},
    )  # fmt: skip
    review = dx.items_to_review(fitted("rasch", posterior), further=3)
    assert review["probability_right"].item() == 0.5
    assert review["gain"].item() == 0.0


def test_known_truth_is_not_sent_back():
    fit = alike([[1.0, 0.0], [0.6, 0.4]], [0.7, 0.7], truth_code=[0, -1])
    review = dx.items_to_review(fit)
    assert review["gain"].sel(item=0).item() == 0.0
    assert review["probability_right"].sel(item=0).item() == 1.0
    assert review["item"].values.tolist() == [1, 0]


def quiet(function, *args, **more):
    """Chains are short here, and need not have converged."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dx.DissensusWarning)
        return function(*args, **more)


@pytest.mark.long
@pytest.mark.unit(1, long=1)
@pytest.mark.parametrize("model", MODELS)
def test_fits_are_taken_as_they_are_and_through_a_file(model, tmp_path):
    study = dx.simulate.confusion_study(40, 4, 3, ipc=0.7, random_seed=1)
    more = {"truth": {1: "A", 2: "B"}} if model == "rasch" else {}
    fit = quiet(
        dx.models.get(model).module.fit, study.annotations, draws=60, tune=100, chains=2,
        random_seed=1, progressbar=False, **more,
    )  # fmt: skip
    actual = quiet(dx.items_to_review, fit, further=2)
    assert set(actual["item"].values) == set(study.annotations["item"].values)
    assert (actual["labels_given"] == 4).all()
    expected = by_enumeration(fit.isel(draw=slice(3)), 1)
    short = quiet(dx.items_to_review, fit.isel(draw=slice(3)))
    np.testing.assert_allclose(short["gain"].sel(item=fit["posterior"]["item"]), expected,
                               atol=1e-12)  # fmt: skip
    if model == "rasch":
        assert (actual["gain"].sel(item=[1, 2]) == 0).all()
    fit.to_netcdf(tmp_path / "fit.nc")
    with xr.open_datatree(tmp_path / "fit.nc") as again:
        xr.testing.assert_allclose(quiet(dx.items_to_review, again, further=2), actual)
    actual.to_netcdf(tmp_path / "found.nc")


@pytest.mark.long
def test_one_more_label_of_a_panel_makes_as_many_items_right_as_expected():
    """Plausibilities are drawn from the prior: the label that leads is known."""
    rng = np.random.default_rng(5)
    theta = rng.dirichlet(np.full(3, 0.5), 1500)
    labels = np.array([rng.choice(list("abc"), 5, p=row) for row in theta])
    right = np.array(list("abc"))[theta.argmax(axis=1)]

    def reviewed(n):
        ann = dx.from_matrix(labels[:, :n].tolist())
        fit = dx.models.dirichlet.fit(ann, prior_count=0.5, draws=500, random_seed=1)
        review = dx.items_to_review(fit)
        leads = review["leading_label"].sortby("item").to_numpy()
        return fit, review, (leads == right).mean()

    (fit, review, before), (_, _, after) = reviewed(4), reviewed(5)
    now, then = review.attrs["expected_accuracy_now"], float(review["expected_accuracy"].max())
    assert then - now > 0.02
    noise = 3 * np.sqrt(now * (1 - now) / 1500)
    assert before == pytest.approx(now, abs=noise)
    assert after == pytest.approx(then, abs=noise)
    assert after - before == pytest.approx(then - now, abs=0.01)
    np.testing.assert_allclose(now, dx.annotation_certainty(fit).mean())


def test_chains_that_had_not_met_are_pointed_at():
    poor = {"n_items_poor": 2, "r_hat_max": 1.4, "ess_bulk_min": 12.0, "ess_bulk_min_item": "x"}
    fit = alike([[0.6, 0.4]], [0.7], **poor)
    with pytest.warns(dx.ConvergenceWarning, match=r"12 effective draws \(x\), r-hat up to 1.40"):
        dx.items_to_review(fit)


def without(fit, name):
    fit = fit.copy()
    fit["posterior"] = fit["posterior"].to_dataset().drop_vars(name)
    return fit


def with_reliability(number):
    fit = drawn(1, "dirichlet")
    fit.attrs["hyper_reliability"] = number
    return fit


def with_more(fit, name):
    fit = fit.copy()
    fit["posterior"] = fit["posterior"].to_dataset().assign({name: (SAMPLE, np.ones((2, 5)))})
    return fit


@pytest.mark.parametrize(
    ("fit", "words"),
    [
        (lambda: without(drawn(1, "rasch"), "truth"), "fit: expected draws of 'truth' and 'accura"),
        (lambda: without(drawn(1, "rasch"), "accuracy"), "keep_items=True: dissensus.models.rasch"),
        (lambda: without(drawn(1, "dawid_skene"), "truth"), "keep_items=True"),
        (lambda: with_more(drawn(1, "symmetric_confusion"), "difficulty_spread"),
         "with difficulty=True"),
        (lambda: with_more(drawn(1, "symmetric_confusion"), "error_concentration"),
         'with errors="unequal"'),
        (lambda: drawn(1, "rasch").isel(item=[0, 1]), "all of the fitted data"),
        (lambda: drawn(1, "rasch").isel(chain=0), "draws with the dimension 'chain'"),
        (lambda: fitted("crossed_effects", drawn(1, "rasch")["posterior"].to_dataset()),
         "a fit of dirichlet, rasch, symmetric_confusion or dawid_skene; found one of crossed"),
        (lambda: drawn(1, "dirichlet").isel(chain=0), "draws with the dimension 'chain'"),
        (lambda: drawn(1, "dirichlet").isel(label=[0, 1]), "plausibilities of all labels"),
        (lambda: with_reliability(2.0), "reliability=1, in which .*; found reliability=2"),
        (lambda: {"posterior": 1}, "fit: expected the DataTree"),
    ],
)  # fmt: skip
def test_what_is_no_such_fit_is_refused(fit, words):
    with pytest.raises(dx.ArgumentError, match=words):
        dx.items_to_review(fit())


@pytest.mark.parametrize("further", [0, 101, 1.5, True, "two", None])
def test_numbers_of_labels_that_make_no_sense_are_refused(further):
    with pytest.raises(dx.ArgumentError, match="further: expected a whole number from 1 to 100"):
        dx.items_to_review(drawn(1, "rasch"), further=further)


def test_too_many_things_to_say_are_refused_with_what_would_do():
    assert dx.items_to_review(drawn(1, "rasch", n_labels=2), further=100).sizes["item"] == 4
    with pytest.raises(dx.ArgumentError, match="further: expected at most 19 with 5 labels"):
        dx.items_to_review(drawn(1, "rasch", n_labels=5), further=30)
    assert formulas.n_counts(5, 19) <= 10_000 < formulas.n_counts(5, 20)
