"""Functions for each label of sets: the same as on annotations of that label, made by hand."""

from __future__ import annotations

from functools import partial

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from refusals import check_refused

import dissensus as dx

WORDS = {"separator": ";", "none": "none"}
QUIET = {"draws": 20, "tune": 10, "chains": 2, "progressbar": False}


def text(held, names):
    return [";".join(np.array(names)[row]) or "none" for row in held]


@pytest.fixture(scope="module")
def study():
    """Say which labels five annotators and a system give; "twin" always comes with "joy"."""
    rng = np.random.default_rng(1)
    share = rng.beta(0.6, 1.2, size=(40, 3))
    held = rng.random((40, 5, 3)) < share[:, None]
    system = np.column_stack([share > 0.5, rng.random(40) < 0.2])  # and a label of its own
    item, annotator = (each.ravel() for each in np.indices((40, 5)))
    names = ["anger", "fear", "joy"]
    labels = text(np.concatenate([held, held[..., 2:]], axis=-1).reshape(-1, 4), [*names, "twin"])
    ann = dx.annotations(
        {"item": item, "annotator": annotator, "label": labels}, kind="set", **WORDS
    )
    pred = dx.predictions(
        {"item": np.arange(40), "system": ["m"] * 40, "label": text(system, [*names, "awe"])},
        kind="set", **WORDS,
    )  # fmt: skip
    return ann, pred, held, system


def by_hand(held):
    item, annotator = (each.ravel() for each in np.indices(held.shape))
    label = np.where(held.ravel(), "yes", "no")
    return dx.annotations(
        {"item": item, "annotator": annotator, "label": label}, labels=["no", "yes"]
    )


def test_a_statistic_is_that_of_each_labels_annotations(study):
    ann, pred, held, system = study
    rows = dx.by_label(dx.krippendorff_alpha, ann)
    assert rows["element"].values.tolist() == ["anger", "fear", "joy", "twin"]
    expected = [float(dx.krippendorff_alpha(by_hand(held[..., k]))) for k in (0, 1, 2, 2)]
    np.testing.assert_allclose(rows, expected, atol=1e-12)

    with (
        pytest.warns(dx.DissensusWarning, match="taken as \"no\" in all annotations: 'awe'"),
        pytest.warns(dx.DissensusWarning, match="Label 'awe': relative_f1 leaves out 2"),
        pytest.warns(dx.DissensusWarning, match="Label 'awe': relative_f1 is undefined"),
    ):
        f1 = dx.by_label(dx.relative_f1, ann, predictions=pred, held_out=[0, 1])
    assert f1.dims == ("element", "system")
    for k, name in enumerate(["anger", "fear", "joy"]):
        answers = np.where(system[:, k], "yes", "no")
        pred = dx.predictions({"item": np.arange(40), "system": ["m"] * 40, "label": answers})
        hand = dx.relative_f1(by_hand(held[..., k]), pred, held_out=[0, 1])
        np.testing.assert_allclose(f1.sel(element=name), hand, atol=1e-12)


def test_a_label_that_only_a_system_gives_is_no_annotators(study):
    ann, pred, _, system = study
    with (
        pytest.warns(dx.DissensusWarning, match="taken as \"no\" in all annotations: 'awe'"),
        pytest.warns(dx.DissensusWarning, match="Label 'awe': .* is undefined"),
    ):
        rows = dx.by_label(lambda labels, answers: dx.discrepancy_ratio(labels, answers), ann, pred)
    assert rows["element"].values.tolist()[-1] == "awe"
    last = rows.sel(element="awe")
    assert float(last["annotator_discrepancy"]) == 0
    assert last["system_discrepancy"].item() == pytest.approx(system[:, 3].mean())


def alpha(ann, draws=10, random_seed=1):
    return dx.bayesian_bootstrap(dx.krippendorff_alpha, ann, draws=draws, random_seed=random_seed)


@pytest.mark.parametrize("seed", [None, 1, np.random.default_rng(1)])
def test_labels_have_the_same_weights_and_fits_their_own_draws(study, seed):
    ann = study[0]
    draws = dx.by_label(
        dx.bayesian_bootstrap, dx.krippendorff_alpha, ann, draws=30, random_seed=seed
    )
    assert draws.dims == ("chain", "draw", "element")
    np.testing.assert_array_equal(draws.sel(element="joy"), draws.sel(element="twin"))
    assert draws.std("draw").min() > 0
    if seed == 1:
        hand = alpha(by_hand(study[2][..., 0]), draws=30)
        np.testing.assert_allclose(draws.sel(element="anger"), hand, atol=1e-12)
    fits = dx.by_label(dx.models.dawid_skene.fit, ann, random_seed=seed, **QUIET)
    assert list(fits) == ["anger", "fear", "joy", "twin"]
    joy, twin = (fits[name]["posterior"]["prevalence"] for name in ("joy", "twin"))
    assert not np.isclose(joy, twin).any()
    assert joy["label"].values.tolist() == ["no", "yes"]


def test_a_seed_of_the_function_itself_is_kept(study):
    ann = study[0]
    expected = dx.by_label(alpha, ann)
    for call in (
        lambda: dx.by_label(alpha, ann, 10, 1),
        lambda: dx.by_label(partial(dx.bayesian_bootstrap, "krippendorff_alpha", draws=10,
                                    random_seed=1), ann),
        lambda: dx.by_label(lambda labels: alpha(labels), ann),
    ):  # fmt: skip
        np.testing.assert_array_equal(call(), expected)
    rng = np.random.default_rng(1)
    drawn = dx.by_label(
        partial(dx.bayesian_bootstrap, "krippendorff_alpha", draws=10, random_seed=rng), ann
    )
    np.testing.assert_array_equal(drawn.sel(element="joy"), drawn.sel(element="twin"))


@pytest.mark.long
@pytest.mark.parametrize("n", [63, 64, 1000])
def test_labels_that_hardly_differ_have_draws_that_hardly_differ(n):
    """Items with equal sums are not merged, as they are for one statistic."""
    joy = np.random.default_rng(0).random((n, 2)) < 0.5
    twin = joy.copy()
    joy[0], twin[0], joy[1], twin[1] = [True, True], [True, False], [True, False], [True, False]
    labels = text(np.stack([joy, twin], axis=-1).reshape(-1, 2), ["joy", "twin"])
    item, annotator = (each.ravel() for each in np.indices((n, 2)))
    table = {"item": item, "annotator": annotator, "label": labels}
    ann = dx.annotations(table, kind="set", **WORDS)
    draws = dx.by_label(dx.bayesian_bootstrap, dx.percent_agreement, ann, random_seed=1)
    assert np.corrcoef(draws.squeeze().values.T)[0, 1] > 1 - 4 / n
    whole = dx.bayesian_bootstrap(
        lambda data, weights: dx.by_label("percent_agreement", data, weights=weights).mean(),
        ann, draws=100, random_seed=2,
    )  # fmt: skip
    assert float(draws.mean("element").std()) == pytest.approx(float(whole.std()), rel=0.25)


def test_results_by_label_are_arguments_of_their_label(study):
    ann, (_, _, _, system) = study[0], study
    pred = dx.predictions(
        {"item": np.arange(40), "system": ["m"] * 40,
         "label": text(system[:, :3], ["anger", "fear", "joy"])}, kind="set", **WORDS,
    )  # fmt: skip
    answers = dx.by_label(lambda labels: labels, ann)
    dx.validate(answers["joy"])
    np.testing.assert_allclose(
        dx.by_label("krippendorff_alpha", answers), dx.by_label("krippendorff_alpha", ann)
    )
    fits = dx.by_label(dx.models.dirichlet.fit, ann, random_seed=1, prior_count=1, **QUIET)
    rows = dx.by_label(dx.top_k_accuracy, fits, pred)
    assert rows.dims == ("chain", "draw", "element", "system")
    hand = dx.predictions({"item": np.arange(40), "system": ["m"] * 40,
                           "label": np.where(study[3][:, 2], "yes", "no")})  # fmt: skip
    np.testing.assert_array_equal(rows.sel(element="joy"), dx.top_k_accuracy(fits["joy"], hand))
    how = {"weights": "bayesian-bootstrap", "random_seed": 1}
    rates = dx.by_label(dx.sensitivity_specificity, fits, pred, "yes", **how)
    of_joy = dx.sensitivity_specificity(fits["joy"], hand, "yes", **how)  # the same weights
    xr.testing.assert_allclose(rates.sel(element="joy", drop=True), of_joy)
    with pytest.raises(dx.ArgumentError, match=r"results have: 'anger'.*found 'awe'.*first call"):
        dx.by_label(dx.top_k_accuracy, fits, study[1])
    few = type(fits)({"joy": 1})
    with pytest.raises(dx.ArgumentError, match="results have: 'joy'; found 'anger'"):
        dx.by_label(lambda *given: None, few, fits)


def test_known_sets_are_known_labels(study):
    ann, _, held, _ = study
    truth = dx.annotations(
        {"item": range(9), "annotator": ["known"] * 9,
         "label": text(held[:9, 0], ["anger", "fear", "joy"])}, kind="set", **WORDS,
    )  # fmt: skip
    fits = dx.by_label(dx.models.dawid_skene.fit, ann, truth=truth, random_seed=1, **QUIET)
    for k, name in enumerate(["anger", "fear", "joy"]):
        result = fits[name]["posterior"]["truth"].sel(label="yes").isel(item=slice(9))
        np.testing.assert_array_equal(result.mean(("chain", "draw")), held[:9, 0, k])


def test_known_sets_are_taken_by_place_and_from_fits(study):
    ann, _, held, _ = study
    labels = text(np.c_[held[:, 0], held[:, 0, 2]], ["anger", "fear", "joy", "twin"])
    known = {"item": range(40), "annotator": ["known"] * 40, "label": labels}
    truth, how = dx.annotations(known, kind="set", **WORDS), {"positive": "yes", "random_seed": 1}
    roc = dx.by_label(dx.annotator_roc, ann, truth, **how)
    xr.testing.assert_identical(roc, dx.by_label(dx.annotator_roc, ann, truth=truth, **how))
    draws = roc["sensitivity"].mean("annotator").transpose("element", ...).values.reshape(4, -1)
    assert abs(np.corrcoef(draws)[np.triu_indices(4, 1)]).max() < 0.1  # seeds of their own
    fits = dx.by_label(dx.models.symmetric_confusion.fit, ann, random_seed=1, **QUIET)
    rows = dx.by_label(dx.annotator_roc, ann, truth=fits, **how)
    assert rows["sensitivity"].sizes["element"] == 4


def test_groups_and_clusters_of_items_stay(study):
    frame = dx.to_dataframe(study[0])
    frame["patient"] = frame["item"] // 4
    ann = dx.annotations(frame, kind="set", cluster="patient", **WORDS)
    with pytest.warns(dx.DissensusWarning, match="Label '.*': 10 clusters are few"):
        by_item = dx.by_label(
            dx.bayesian_bootstrap, dx.percent_agreement, ann, draws=9, random_seed=1
        )
    by_cluster = dx.by_label(
        dx.bayesian_bootstrap, dx.percent_agreement, study[0], draws=9, random_seed=1
    )
    assert not np.isclose(by_item, by_cluster).any()


def test_the_order_of_dims_does_not_matter(study):
    ann, pred = study[:2]
    turned = pred.transpose("position", "system", ...)
    with pytest.warns(dx.DissensusWarning, match="taken as \"no\" in all annotations: 'awe'"):
        shares = [dx.by_label(dx.naive_accuracy, ann, answers) for answers in (turned, pred)]
    xr.testing.assert_identical(*shares)


def test_numbers_and_tables_are_set_beside_each_other(study):
    ann = study[0]
    share = dx.by_label(lambda labels: (labels["label_code"] == 1).mean().item(), ann)
    np.testing.assert_allclose(share, ann["member"].values[ann["label_code"].values].mean(axis=0))
    tables = dx.by_label(dx.to_dataframe, ann)
    assert isinstance(tables["joy"], pd.DataFrame)


def test_what_is_refused(study):
    ann, pred = study[:2]
    labels = by_hand(study[2][..., 0])
    rows = {"item": np.arange(40), "system": ["m"] * 40, "label": ["x;y"] * 40}
    known = {"item": [0, 0], "annotator": ["a", "b"], "label": ["joy", "joy"]}
    twice = dx.annotations(known, kind="set", **WORDS)
    fit = dx.models.dawid_skene.fit
    check_refused(dx.ArgumentError, [
        ("nothing", lambda: dx.by_label(dx.krippendorff_alpha), "sets.*found nothing"),
        ("no sets", lambda: dx.by_label(dx.krippendorff_alpha, 3), "found 'int'"),
        ("labels", lambda: dx.by_label(dx.krippendorff_alpha, labels), "annotations: .*'nominal'"),
        ("predicted labels", lambda: dx.by_label(dx.relative_f1, ann, pred.assign_attrs(
            kind="nominal")), "predictions: .*'nominal'.*a single label is a set too"),
        ("no function", lambda: dx.by_label(dx.models.dawid_skene, ann), "function: .*fit; found"),
        ("known labels", lambda: dx.by_label(fit, ann, truth={0: "joy"}),
         "truth: expected annotations of kind \"set\".*found dict.*Read the known sets"),
        ("known numbers", lambda: dx.by_label(fit, ann, truth=labels), "truth: .*'nominal'"),
        ("known twice", lambda: dx.by_label(fit, ann, truth=twice), "one answer.*several for 0"),
    ])  # fmt: skip
    other = dx.predictions(rows, kind="set", separator=";", none="no")
    odd = dx.predictions(rows | {"label": ["joy;none"] * 40}, kind="set", separator=";")
    check_refused(dx.PredictionError, [
        ("other labels", lambda: dx.by_label(dx.relative_f1, ann, other), "no label in common"),
        ("another word for none", lambda: dx.by_label(dx.relative_f1, ann, odd), "'none' means no"),
    ])  # fmt: skip


def test_misspelt_labels_are_warned_of_and_numbers_meet_text(study):
    ann = study[0]
    rows = {"item": np.arange(40), "system": ["m"] * 40, "label": ["joy;Fear"] * 40}
    with pytest.warns(dx.DissensusWarning, match="'Fear' is 'fear' except for capitals"):
        actual = dx.by_label(dx.naive_accuracy, ann, dx.predictions(rows, kind="set", **WORDS))
    assert actual["element"].values.tolist() == ["anger", "fear", "joy", "twin", "Fear"]
    code = {"anger": "1", "fear": "2", "joy": "3", "twin": "4", "none": "none"}
    table = dx.to_dataframe(ann)
    table["label"] = [";".join(code[x] for x in labels.split(";")) for labels in table["label"]]
    numbered = dx.annotations(table, kind="set", **WORDS)
    assert numbered["element"].dtype.kind == "i"
    with pytest.warns(dx.DissensusWarning, match="'other'"):
        actual = dx.by_label(
            dx.naive_accuracy, numbered,
            dx.predictions(rows | {"label": ["1;other"] * 40}, kind="set", **WORDS),
        )  # fmt: skip
    assert actual["element"].values.tolist() == ["1", "2", "3", "4", "other"]
    wanted = float(actual.sel(element="1").item())
    with pytest.warns(dx.DissensusWarning, match="'other'"):
        named = dx.by_label(
            dx.naive_accuracy, ann,
            dx.predictions(rows | {"label": ["anger;other"] * 40}, kind="set", **WORDS),
        )  # fmt: skip
    assert named.sel(element="anger").item() == wanted


def test_results_that_do_not_go_together_are_in_a_dict(study):
    ann = study[0]
    sizes = iter([1, 2, 3, 4])
    rows = dx.by_label(lambda labels: xr.DataArray(np.zeros(next(sizes)), dims="q"), ann)
    assert [row.size for row in rows.values()] == [1, 2, 3, 4]
    odd = iter([None, 1.0, 2.0, xr.DataArray(1.0)])
    assert dx.by_label(lambda labels: next(odd), ann)["anger"] is None


def test_errors_name_the_label(study):
    with pytest.raises(dx.ArgumentError) as raised:
        dx.by_label(dx.krippendorff_alpha, study[0], level="no level")
    assert raised.value.__notes__ == ["This is about the label 'anger'."]
