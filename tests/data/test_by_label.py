"""Functions for each label of sets: the same as on annotations of that label, made by hand."""

from __future__ import annotations

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
    said = text(np.concatenate([held, held[..., 2:]], axis=-1).reshape(-1, 4), [*names, "twin"])
    ann = dx.annotations({"item": item, "annotator": annotator, "label": said}, kind="set", **WORDS)
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
    found = dx.by_label(dx.krippendorff_alpha, ann)
    assert found["element"].values.tolist() == ["anger", "fear", "joy", "twin"]
    expected = [float(dx.krippendorff_alpha(by_hand(held[..., k]))) for k in (0, 1, 2, 2)]
    np.testing.assert_allclose(found, expected, atol=1e-12)

    with (
        pytest.warns(dx.DissensusWarning, match="Label 'awe': relative_f1 leaves out 2"),
        pytest.warns(dx.DissensusWarning, match="Label 'awe': relative_f1 is undefined"),
    ):
        f1 = dx.by_label(dx.relative_f1, ann, predictions=pred, held_out=[0, 1])
    assert f1.dims == ("element", "system")
    for k, name in enumerate(["anger", "fear", "joy"]):
        answers = np.where(system[:, k], "yes", "no")
        one = dx.predictions({"item": np.arange(40), "system": ["m"] * 40, "label": answers})
        hand = dx.relative_f1(by_hand(held[..., k]), one, held_out=[0, 1])
        np.testing.assert_allclose(f1.sel(element=name), hand, atol=1e-12)


def test_a_label_that_only_a_system_gives_is_no_annotators(study):
    ann, pred, _, system = study
    with pytest.warns(dx.DissensusWarning, match="Label 'awe': .* is undefined"):
        found = dx.by_label(lambda one, other: dx.discrepancy_ratio(one, other), ann, pred)
    assert found["element"].values.tolist()[-1] == "awe"
    last = found.sel(element="awe")
    assert float(last["annotator_discrepancy"]) == 0
    assert last["system_discrepancy"].item() == pytest.approx(system[:, 3].mean())


@pytest.mark.parametrize("seed", [None, 1, np.random.default_rng(1)])
def test_labels_have_the_same_weights_and_fits_their_own_draws(study, seed):
    """So that the mean over labels of a bootstrap is a macro average, and fits are independent."""
    ann = study[0]
    draws = dx.by_label(
        dx.bayesian_bootstrap, dx.krippendorff_alpha, ann, draws=30, random_seed=seed
    )
    assert draws.dims == ("chain", "draw", "element")
    np.testing.assert_array_equal(draws.sel(element="joy"), draws.sel(element="twin"))
    assert draws.std("draw").min() > 0
    fits = dx.by_label(dx.models.dawid_skene.fit, ann, random_seed=seed, **QUIET)
    assert list(fits) == ["anger", "fear", "joy", "twin"]
    joy, twin = (fits[name]["posterior"]["prevalence"] for name in ("joy", "twin"))
    assert not np.isclose(joy, twin).any()
    assert joy["label"].values.tolist() == ["no", "yes"]


def test_a_macro_average_has_the_interval_of_bootstrapping_it(study):
    """Weights that differ between labels would make it narrower: these labels are alike."""
    ann = study[0]
    draws = dx.by_label(dx.bayesian_bootstrap, dx.krippendorff_alpha, ann, draws=400, random_seed=1)
    whole = dx.bayesian_bootstrap(
        lambda one, weights: dx.by_label(dx.krippendorff_alpha, one, weights=weights).mean(),
        ann, draws=200, random_seed=2,
    )  # fmt: skip
    assert float(draws.mean("element").std()) == pytest.approx(float(whole.std()), rel=0.2)


def test_groups_and_clusters_of_items_stay(study):
    frame = dx.to_dataframe(study[0])
    frame["patient"] = frame["item"] // 4
    ann = dx.annotations(frame, kind="set", cluster="patient", **WORDS)
    with pytest.warns(dx.DissensusWarning, match="Label '.*': 10 clusters are few"):
        one = dx.by_label(dx.bayesian_bootstrap, dx.percent_agreement, ann, draws=9, random_seed=1)
    other = dx.by_label(
        dx.bayesian_bootstrap, dx.percent_agreement, study[0], draws=9, random_seed=1
    )
    assert not np.isclose(one, other).any()


def test_the_order_of_dims_does_not_matter(study):
    ann, pred = study[:2]
    turned = pred.transpose("position", "system", ...)
    shares = [dx.by_label(dx.naive_accuracy, ann, one) for one in (turned, pred)]
    xr.testing.assert_identical(*shares)


def test_numbers_and_tables_are_set_beside_each_other(study):
    ann = study[0]
    share = dx.by_label(lambda one: (one["label_code"] == 1).mean().item(), ann)
    np.testing.assert_allclose(share, ann["member"].values[ann["label_code"].values].mean(axis=0))
    tables = dx.by_label(dx.to_dataframe, ann)
    assert isinstance(tables["joy"], pd.DataFrame)


def test_what_is_refused(study):
    ann, pred = study[:2]
    labels = by_hand(study[2][..., 0])
    check_refused(dx.ArgumentError, [
        ("nothing", lambda: dx.by_label(dx.krippendorff_alpha), r"args: .*sets.*found nothing"),
        ("no sets", lambda: dx.by_label(dx.krippendorff_alpha, 3), r"args: .*found 'int'"),
        ("labels", lambda: dx.by_label(dx.krippendorff_alpha, labels), "annotations: .*'nominal'"),
        ("predicted labels", lambda: dx.by_label(dx.relative_f1, ann, pred.assign_attrs(
            kind="nominal")), "predictions: .*'nominal'.*a single label is a set too"),
        ("no function", lambda: dx.by_label("krippendorff_alpha", ann), "function: .*a function"),
    ])  # fmt: skip


def test_errors_name_the_label(study):
    with pytest.raises(dx.ArgumentError) as raised:
        dx.by_label(dx.krippendorff_alpha, study[0], level="no level")
    assert raised.value.__notes__ == ["This is about the label 'anger'."]
