"""Assumptions of a model of the truth, checked by replicates.

The oracle: loops over versions, items and pairs of labels. The power is simulated.
"""

from __future__ import annotations

import itertools
import json

import numpy as np
import pytest
import xarray as xr

import dissensus as dx
from dissensus.checks._assumptions import advice

# Checks are what is tested here; a few hundred draws do for them, if not for every parameter.
pytestmark = pytest.mark.filterwarnings("ignore::dissensus.errors.ConvergenceWarning")

CHECKS = [
    "error_pairs", "error_distance", "label_use", "annotator_agreement", "item_agreement",
    "system_pairs", "system_unanimity", "repeats",
]  # fmt: skip


def fitted(study, model="symmetric_confusion", draws=100, **options):
    pred = options.pop("predictions", study.predictions)
    options = {"random_seed": 1, "posterior_predictive": True, "keep_items": False, **options}
    return dx.models.get(model).module.fit(
        study.annotations, predictions=pred, draws=draws, chains=2, progressbar=False, **options
    )


def quick_fit(annotations, draws=20, **options):
    """Fit annotations with few draws."""
    options = {"chains": 1, "random_seed": 1, "posterior_predictive": True, **options}
    return dx.models.symmetric_confusion.fit(annotations, draws=draws, progressbar=False, **options)


def versions(fit):
    """Return rows (item, annotator) and all versions of labels and answers, the data first."""
    constant, seen = fit["constant_data"], fit["observed_data"]
    drawn = fit["posterior_predictive"]
    y = drawn["label_code"].to_numpy()
    a = drawn["system_label_code"].to_numpy()
    y = np.concatenate([seen["label_code"].to_numpy()[None], y.reshape(-1, y.shape[-1])])
    first = seen["system_label_code"].to_numpy()
    a = np.concatenate([first[None], a.reshape(-1, *first.shape)])
    return constant["item_code"].to_numpy(), constant["annotator_code"].to_numpy(), y, a


def test_statistics_by_loops():
    study = dx.simulate.confusion_study(
        25, 4, 4, ipc=0.6, labels_per_item=3, system_accuracy=(0.8, 0.7), random_seed=1
    )
    rows = np.random.default_rng(1).permutation(75)[:68]  # in any order, some items with fewer
    ann = study.annotations.isel(annotation=rows)
    fit = quick_fit(
        ann, 10, predictions=study.predictions, chains=2, random_seed=2, on_missing="drop"
    )
    checks = dx.check_assumptions(fit, draws=None)
    item, who, y, a = versions(fit)
    raw = [by_loops(item, who, labels, answers) for labels, answers in zip(y, a, strict=True)]
    names = raw[0].keys()
    many = {name: np.array([sums[name] for sums in raw]) for name in names}
    m = np.bincount(who[np.isin(item, np.flatnonzero(np.bincount(item) > 1))], minlength=4)
    pairs = many["pairs"] / many["pairs"].sum(axis=1, keepdims=True)
    mean = pairs.mean(axis=0)
    there = mean > 0
    use = many["use"] / m[None, :, None]
    agreement = many["agreed"] / m
    middle = agreement @ m / m.sum()
    steps = np.array([b - a for a, b in itertools.combinations(range(4), 2)])
    expected = {
        "error_pairs": np.sqrt((((pairs - mean) ** 2)[:, there] / mean[there]).sum(axis=1)),
        "error_distance": pairs @ steps,
        "label_use": np.sqrt((m[:, None] * (use - use.mean(0)) ** 2).sum(axis=(1, 2)) / m.sum()),
        "annotator_agreement": np.sqrt((agreement - middle[:, None]) ** 2 @ m / m.sum()),
        "item_agreement": many["items"].std(axis=1),
        "system_pairs": many["same"] - many["same"].mean(),
        "system_unanimity": many["unanimous"].mean(axis=1),
    }
    for name, values in expected.items():
        check = checks.sel(check=name)
        np.testing.assert_allclose(float(check["observed"]), values[0], atol=1e-12, err_msg=name)
        np.testing.assert_allclose(
            check["replicated"].to_numpy().ravel(), values[1:], atol=1e-12, err_msg=name
        )
        drawn = values[1:][np.isfinite(values[1:])]
        gap = drawn - values[0]
        tail = np.mean(np.where(np.abs(gap) < 1e-9, 0.5, gap > 0))
        assert float(check["tail_probability"]) == pytest.approx(tail)


def by_loops(item, who, label, answers):
    """Sum up one version."""
    pairs = dict.fromkeys(itertools.combinations(range(4), 2), 0.0)
    agreed, use, items, against, requested = np.zeros(4), np.zeros((4, 4)), [], 0.0, 0
    one_mind = [[[], []] for _ in answers[0]]
    for i in range(len(answers)):
        rows = np.flatnonzero(item == i)
        n = len(rows)
        if n < 2:
            continue
        same = [label[p] == label[q] for p, q in itertools.combinations(rows, 2)]
        for p, q in itertools.combinations(rows, 2):
            if label[p] != label[q]:
                pairs[tuple(sorted((label[p], label[q])))] += 1 / (n - 1)
        for p in rows:
            agreed[who[p]] += np.mean([label[p] == label[q] for q in rows if q != p])
            for k in range(4):
                use[who[p], k] += (label[p] == k) - np.mean(label[rows] == k)
        if n > 2:
            items.append(np.mean(same))
        for s, answer in enumerate(answers[i]):
            if answer >= 0:
                one_mind[s][int(not all(same))].append(np.mean(label[rows] == answer))
        if (answers[i] >= 0).all():
            requested += 1
            if answers[i][0] == answers[i][1]:
                against += np.mean([
                    label[p] == label[q] != answers[i][0]
                    for p, q in itertools.combinations(rows, 2)
                ])  # fmt: skip
    gaps = [np.mean(u) - np.mean(v) if u and v else np.nan for u, v in one_mind]
    return {
        "pairs": list(pairs.values()), "agreed": agreed, "use": use, "items": items,
        "same": against / requested, "unanimous": gaps,
    }  # fmt: skip


VIOLATIONS = {
    "asymmetry": ({"asymmetry": 3.0}, "error_distance", {"errors": "graded"}),
    "ipc": ({"ipc": (0.4, 0.5, 0.6, 0.8)}, "annotator_agreement", {"accuracy": "annotator"}),
    "difficulty": ({"difficulty": 0.25}, "system_unanimity", {"difficulty": True}),
    "related": ({"related": 0.6}, "system_pairs", {"systems": "related"}),
}


@pytest.mark.long
@pytest.mark.parametrize("name", VIOLATIONS)
def test_the_right_check_fires_and_names_the_right_setting(name):
    violation, check, settings = VIOLATIONS[name]
    study = dx.simulate.confusion_study(
        500, 4, system_accuracy=(0.85, 0.75), prevalence=[0.3, 0.25, 0.2, 0.15, 0.1],
        random_seed=1, **{"ipc": 0.6, **violation},
    )  # fmt: skip
    checks = dx.check_assumptions(fitted(study, draws=300))
    assert float(checks["p_value"].sel(check=check)) < 0.01
    assert json.loads(checks.attrs["next_settings"]) == settings
    again = dx.check_assumptions(fitted(study, draws=300, **settings))
    assert float(again["p_value"].sel(check=check)) > 0.01
    assert again.attrs["recommendation"].startswith("No check is evidence against this model.")


@pytest.mark.long
def test_where_all_holds_nothing_is_said():
    smallest = []
    for seed in range(5):
        study = dx.simulate.confusion_study(300, 3, system_accuracy=(0.9, 0.7), random_seed=seed)
        checks = dx.check_assumptions(fitted(study, draws=250))
        smallest.append(float(checks["p_value"].min()))
        assert (checks["in_place"] > 0.95).all()
    assert min(smallest) > 0.005
    assert np.mean(np.array(smallest) < 0.05) <= 0.25  # seven checks, two-sided or not


@pytest.mark.parametrize("pooling", ["hierarchical", "none", "complete"])
def test_takes_confusion_matrices_of_any_pooling(pooling):
    study = dx.simulate.confusion_study(
        300, ipc=(0.5, 0.7, 0.9), asymmetry=3, prevalence=[0.2] * 5, random_seed=1
    )
    checks = dx.check_assumptions(fitted(study, "dawid_skene", 250, pooling=pooling))
    against = checks["p_value"].sel(check="annotator_agreement") < 0.01
    assert bool(against) == (pooling == "complete")
    if pooling == "complete":
        assert json.loads(checks.attrs["next_settings"]) == {"pooling": "hierarchical"}
    assert float(checks["p_value"].sel(check="error_distance")) > 0.01


def test_labels_that_changed_places_are_seen():
    study = dx.simulate.confusion_study(300, ipc=0.8, prevalence=[0.2] * 5, random_seed=1)
    fit = dx.models.dawid_skene.fit(
        study.annotations, draws=50, chains=2, random_seed=1, progressbar=False,
        posterior_predictive=True,
    )  # fmt: skip
    turned = fit["posterior"].to_dataset()
    rows = turned["population_confusion"]
    turned["population_confusion"] = rows.copy(data=rows.to_numpy()[..., [1, 0, 2, 3, 4]])
    fit["posterior"] = xr.DataTree(turned)
    checks = dx.check_assumptions(fit)
    assert (checks["in_place"][:2] < 0.05).all()
    assert "'A' or 'B', annotators may mostly give another label" in checks.attrs["in_words"]
    assert "Labels may be switched" in checks.attrs["recommendation"]


def test_what_the_data_cannot_show_is_not_checked():
    ann = dx.from_matrix([["a", "a"], ["b", "a"], ["b", "b"], ["a", None]])
    checks = dx.check_assumptions(quick_fit(ann))
    assert checks["check"].to_numpy().tolist() == CHECKS
    known = checks["check"][checks["p_value"].notnull()].to_numpy().tolist()
    assert known == ["label_use"]
    assert "not checked: no two items have three or more labels" in str(
        checks["sentence"].sel(check="item_agreement").item()
    )
    assert checks.attrs["in_words"].count("\n") == 0


def test_annotators_who_repeat_themselves_are_told_from_independent_ones():
    study = dx.simulate.confusion_study(200, 3, random_seed=1)
    frame = study.annotations
    names = {dim: frame[dim].to_numpy()[frame[f"{dim}_code"]] for dim in ("item", "annotator")}
    label = frame["label"].to_numpy()[frame["label_code"]]
    twice = {name: np.tile(values, 2) for name, values in names.items()}
    twice |= {"label": np.tile(label, 2), "trial": np.repeat([1, 2], len(label))}
    ann = dx.annotations(twice, trial="trial", kind="ordinal", labels=list("ABCDE"))
    checks = dx.check_assumptions(quick_fit(ann, 100, chains=2))
    repeats = checks.sel(check="repeats")
    assert float(repeats["observed"]) == 1.0
    assert float(repeats["p_value"]) == 0.0
    assert "Keep one label by each annotator" in checks.attrs["recommendation"]


@pytest.mark.long
def test_fewer_replicates_are_spread_over_the_chains_and_survive_netcdf(tmp_path):
    study = dx.simulate.confusion_study(40, random_seed=1)
    fit = fitted(study, draws=50)
    checks = dx.check_assumptions(fit, draws=20)
    assert dict(checks["replicated"].sizes) == {"chain": 2, "draw": 10, "check": 8}
    fit.to_netcdf(tmp_path / "fit.nc", engine="h5netcdf")
    with xr.open_datatree(tmp_path / "fit.nc", engine="h5netcdf") as again:
        xr.testing.assert_allclose(dx.check_assumptions(again, draws=20), checks)
    checks.to_netcdf(tmp_path / "check.nc", engine="h5netcdf")


def test_where_nothing_can_be_checked_nothing_is_said_of_the_model():
    ann = dx.from_matrix([["a"], ["b"], ["a"]])
    with pytest.warns(dx.DissensusWarning, match="No item has two labels"):
        fit = quick_fit(ann)
    checks = dx.check_assumptions(fit)
    assert checks.attrs["in_words"] == ""
    assert checks.attrs["recommendation"].startswith("No assumption could be checked")


def test_items_that_agree_alike_do_not_differ_by_a_rounding_error():
    rows = [["a", "a", "b"], ["b", "a", "b"], ["b", "b", "a"], ["a", "b", "b"], ["b", "b", "a"]]
    checks = dx.check_assumptions(quick_fit(dx.from_matrix(rows))).sel(check="item_agreement")
    assert float(checks["observed"]) == 0.0
    assert "between items 0 times as much" in str(checks["sentence"].item())


PLAIN = {"accuracy": "common", "errors": "equal", "difficulty": False, "systems": "independent"}


@pytest.mark.parametrize(
    ("settings", "against", "more", "expected"),
    [
        ({}, [], {}, None),
        ({}, ["error_pairs"], {"ordered": False, "labels_each": 50}, {"errors": "unequal"}),
        ({}, ["error_pairs"], {"ordered": False}, {"errors": "unequal"}),
        ({"errors": "graded"}, ["error_pairs"], {}, {"errors": "unequal"}),
        ({"errors": "unequal"}, ["error_pairs"], {}, "dawid_skene"),
        ({"errors": "unequal"}, ["label_use"], {}, "dawid_skene"),
        ({"errors": "unequal"}, ["error_pairs"], {"labels_each": 50}, None),
        ({}, ["label_use"], {}, {"errors": "unequal"}),
        ({}, ["label_use", "annotator_agreement"], {}, {"accuracy": "annotator"}),
        ({}, ["error_pairs", "system_pairs"], {}, {"errors": "graded"}),
        ({}, ["system_pairs"], {}, {"systems": "related"}),
        ({"systems": "related"}, ["system_pairs"], {}, None),
        ({"difficulty": 1}, ["item_agreement"], {}, None),
        ({}, ["repeats"], {}, None),
    ],
)  # fmt: skip
def test_advice(settings, against, more, expected):
    more = {"ordered": True, "labels_each": 300, **more}
    actual = advice("symmetric_confusion", PLAIN | settings, against, **more)
    if isinstance(expected, dict):
        assert actual == ("symmetric_confusion", expected)
    else:
        assert actual == (None if expected is None else ("dawid_skene", {}))
