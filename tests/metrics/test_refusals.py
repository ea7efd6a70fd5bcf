"""What metrics refuse: settings, draws and fits that make no sense, each by its name."""

from __future__ import annotations

from functools import partial

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from component_fits import cross_replication, crossed_effects, fit_of, tree
from refusals import check_refused

import dissensus as dx
from dissensus.metrics import METRICS
from dissensus.metrics._cross_replication import annotators_outweigh_items

SAMPLE = ("chain", "draw")
WHOLE = "{}: expected a whole number"
BETWEEN = "^{}: expected a number between 0 and 1"
NO_SHARES = (1.1, -0.1, np.inf, "0.9", None)
NO_TARGETS = (0, 1, -0.5, 1.5, np.nan, "0.8", None, [0.8, 0.9])
NO_LABEL_COUNTS = (1, 0, 2.5, "2", None, [2, 3], 1e300, 2.0**63, 10**400, np.inf)

THETA = xr.DataArray(
    np.tile([0.5, 0.3, 0.2], (2, 3, 3, 1)),
    dims=(*SAMPLE, "item", "label"),
    coords={"chain": [0, 1], "item": ["i0", "i1", "i2"], "label": ["l0", "l1", "l2"]},
)
POINT = THETA.isel(chain=0, draw=0)
PREDICTED = dx.predictions(
    {"item": ["i0", "i1", "i2"] * 2, "system": list("sssttt"), "label": ["l0"] * 6}
)
DRAWS = xr.DataArray(np.full((2, 3, 2), 0.5), dims=(*SAMPLE, "system"))
RELIABILITY = xr.DataArray(np.full((1, 2, 2), 0.4), {"pool": ["a", "b"]}, (*SAMPLE, "pool"))
ACCURACY = xr.DataArray(np.full((2, 3, 4), 0.8), {"chain": [0, 1]}, (*SAMPLE, "annotator"))
ALIKE = ACCURACY.mean("annotator")
NORMAL = xr.Dataset({name: THETA.isel(label=0, drop=True) for name in ("mean", "variance")})


def each(function, argument, values, words):
    """Return a case for each value that an argument cannot have."""
    return [
        (f"{argument}={value!r}", partial(function, **{argument: value}), words.format(argument))
        for value in values
    ]


def of_lists():
    top, per_item = partial(dx.top_k_accuracy, THETA, PREDICTED), {"per_item": True}
    no_depths = (0, -1, 1.5, True, "2", np.nan, np.inf)
    ties = "None together with per_item=True"
    return [
        *each(top, "k", (*no_depths, None), WHOLE),
        *each(partial(dx.set_accuracy, THETA, PREDICTED), "k", no_depths, WHOLE),
        *each(partial(dx.overlap, THETA, PREDICTED), "k", no_depths, WHOLE),
        *each(partial(dx.average_overlap, THETA, PREDICTED), "depth", no_depths, WHOLE),
        *each(partial(dx.rank_biased_overlap, THETA, PREDICTED), "p", NO_TARGETS, BETWEEN),
        *each(partial(dx.annotation_certainty, THETA), "top", (*no_depths, 10**30, 10**400), WHOLE),
        ("point", partial(dx.annotation_certainty, POINT), "expected draws"),
        ("point", partial(dx.certainty, POINT, PREDICTED), "expected draws"),
        ("frame", partial(dx.top_k_accuracy, pd.DataFrame({"a": [1.0]}), PREDICTED), "DataFrame"),
        ("on_missing", partial(top, on_missing="ignore"), "on_missing: expected 'raise' or 'drop'"),
        ("weights", partial(top, weights=[1, 1, 1], **per_item), ties),
        ("bootstrap", partial(top, weights="bayesian-bootstrap", **per_item), ties),
        ("bootstrap of a point",
         partial(dx.top_k_accuracy, POINT, PREDICTED, weights="bayesian-bootstrap"), "needs draws"),
    ]  # fmt: skip


def of_flags():
    flags = (np.array([1.0, np.nan]), np.array([]), pd.Series([0.1]), "False", 1, None, [])
    return [
        case
        for entry in METRICS if entry.takes == "lists" and entry.name != "certainty"
        for case in each(partial(entry.function, THETA, PREDICTED, **dict(entry.arguments)),
                         "per_item", flags, "^{}: expected True or False")
    ]  # fmt: skip


def of_weights():
    top, names = partial(dx.top_k_accuracy, THETA, PREDICTED), {"item": ["i0", "i1", "i2"]}
    drawn = xr.DataArray(np.ones((2, 3, 3)), names, (*SAMPLE, "item"))
    return [
        (words, partial(top, weights=weights), f"^weights.*{words}")
        for weights, words in (
            ([1, -1, 1], "finite, non-negative weights"),
            ([1, np.nan, 1], "finite, non-negative weights"),
            ([1, np.inf, 1], "finite, non-negative weights"),
            ([0, 0, 0], "one of them positive"),
            ([1, 1], r"one weight for each of 3 items; found an array of shape \(2,\)"),
            (np.ones((3, 2)), r"found an array of shape \(3, 2\)"),
            (2.0, r"found an array of shape \(\)"),
            (["a", "b", "c"], "expected None, numbers, or 'bayesian-bootstrap'"),
            ("bootstrap", "expected None, an array, or 'bayesian-bootstrap'"),
            (xr.DataArray([1, 1, 1], dims="system"), "names of items"),
            (xr.DataArray([1, 1], {"item": ["i0", "x"]}, ["item"]), "none for 2 of them"),
            (pd.Series([1, 1, 1], index=["i0", "i1", "i1"]), "'i1' more than once"),
            ({"i0": 1, "i2": 1}, "none for 1 of them: 'i1'"),
            (drawn.drop_vars("item"), "names of items"),
            (drawn.isel(draw=[0]), "3 along 'draw'"),
            (-drawn, "non-negative"),
            (drawn.isel(item=[0]), "none for 2"),
        )
    ]


def of_insight():
    def of(values, *systems):
        return xr.DataArray(np.array(values), {"system": list(systems)}, ["system"])

    both = of([0.1, 0.2], "s", "t")
    top = partial(dx.top_k_accuracy, THETA, PREDICTED)
    learned = partial(dx.top_k_accuracy, predictions=PREDICTED, insight="learned")
    return [
        (words, partial(top, insight=insight), rf"^insight: expected .*{words}")
        for insight, words in (
            (0.3, r"a DataArray over 'system'.*found 0\.3"),
            ("much", "None, 'learned', or a DataArray"),
            (of([0.1], "s"), r"finite numbers for \['s', 't'\]"),
            (of([0.1, 0.2, 0.3], "s", "t", "t"), "each system once"),
            (of(["a", "b"], "s", "t"), r"numbers; found \['a', 'b'\]"),
            (both.isel(system=0), "a DataArray over 'system'"),
            (both.expand_dims(chain=[4, 5]), "the chains of the pl"),
            (of([0.1, np.inf], "s", "t"), "finite numbers"),
            (both.expand_dims(draw=9), "only the dims.*'draw': 9"),
            (both.expand_dims(item=3), "only the dims.*'item': 3"),
        )
    ] + each(learned, "plausibility", (POINT, THETA.isel(chain=0)), "^{}: expected draws")


def of_groups():
    risk, group = {"l0": 0, "l1": 1, "l2": 2}, {"l0": "a", "l1": "b", "l2": "a"}
    low = partial(dx.expected_risk, THETA)
    cases = [
        (f"l1: {bad!r}", partial(low, risk | {"l1": bad}),
         "risk, label 'l1': expected a finite number")
        for bad in (np.nan, np.inf, "high", None)
    ]  # fmt: skip
    matrix = xr.DataArray(np.ones((3, 2)), dims=("label", "kind"))
    cases.append(("matrix", partial(low, matrix), "risk: expected dims"))
    for function in (dx.group_labels, dx.expected_risk):
        of = partial(function, THETA)
        cases += [
            ("one", partial(of, {"l0": 1}), "none for 'l1', 'l2'"),
            ("none", partial(of, {}), "an empty mapping"), ("list", partial(of, [1, 2, 3]), "list"),
        ]  # fmt: skip
    return cases + [
        (
            f"l1: {bad!r}",
            partial(dx.group_labels, THETA, group | {"l1": bad}),
            "mapping, label.*'l1'",
        )
        for bad in (None, 1, ["g"])
    ]


def of_events():
    event = partial(dx.event_plausibility, NORMAL)
    text = xr.DataArray([[["a"]]], dims=(*SAMPLE, "item"))
    no_fit = "{}: expected a fit of normal_scores"
    fits = (NORMAL[["mean"]], xr.Dataset({"mean": text, "variance": text}))
    return [
        *each(event, "threshold", (np.nan, np.inf, "a", None, 10**400), "^{}: "),
        *each(partial(event, 1.0), "labels", (("a", "a"), None, (["a"], ["b"])), "^{}: "),
        *each(partial(dx.event_plausibility, threshold=0.5), "fit", fits, no_fit),
        ("variance", partial(dx.event_plausibility, NORMAL - 1, 0.5),
         "^fit: expected variances of 0 or more; found -"),
    ]  # fmt: skip


def of_compare():
    return [
        *each(partial(dx.compare, DRAWS), "dim", ("chain", "draw", "rank", None, [], {}),
              "{}: expected the name of a dim"),
        ("ranks", partial(dx.compare, DRAWS.expand_dims(rank=2)), "and not 'rank'"),
        ("objects", partial(dx.compare, DRAWS.astype(object)), "of type object"),
        ("dataset", partial(dx.compare, DRAWS.to_dataset(name="m")), "Choose one variable"),
        ("no draws", partial(dx.compare, DRAWS.mean("draw")), "expected dims"),
        ("no dim", partial(dx.compare, DRAWS, dim="annotator"), "expected dims"),
        ("one", partial(dx.compare, DRAWS.isel(system=[0])), "two or more values along 'system'"),
        ("NaN", partial(dx.compare, DRAWS.where(DRAWS["draw"] > 0)), "4 of 12 undefined"),
    ]  # fmt: skip


def of_contrast():
    terms = xr.DataArray(
        np.zeros((2, 5, 1)), dims=("chain", "draw", "term"), coords={"term": ["x"]}
    )
    fit = xr.DataTree.from_dict({"posterior": terms.to_dataset(name="coefficient")})
    none = xr.DataTree.from_dict({"posterior": terms.to_dataset(name="mu")})
    wanted = "fit: expected a fit with formula="
    return [
        ("no fit", partial(dx.contrast, terms, {"x": 1}), wanted),
        ("empty", partial(dx.contrast, xr.DataTree(), {"x": 1}), wanted),
        ("no coefficient", partial(dx.contrast, none, {"x": 1}), "found the variables 'mu'"),
        ("no weights", partial(dx.contrast, fit, {}), "weights: expected a mapping from terms"),
        ("a list", partial(dx.contrast, fit, ["x"]), "weights: expected a mapping from terms"),
        ("a stranger", partial(dx.contrast, fit, {"z": 1}), "terms of the fit: 'x'; found 'z'"),
        ("no number", partial(dx.contrast, fit, {"x": "1"}), r"weights\['x'\]: expected a finite"),
    ]


def of_components():
    fit = cross_replication("ordinal")
    posterior = fit["posterior"].to_dataset()
    constants = {"constant_data": fit["constant_data"].to_dataset()}
    bare = xr.DataTree.from_dict({"posterior": posterior.drop_attrs()})
    unnamed = fit_of("bernoulli", mu=0.0, sigma_item=1.0)
    cases = [
        ("anonymous", partial(function, unnamed), "anonymous=True")
        for function in (dx.annotator_icc, annotators_outweigh_items)
    ]
    for metric in (dx.icc, dx.annotator_icc, dx.xcc, dx.normalized_xcc):
        cases += [
            *each(metric, "fit", (None, posterior, posterior["mu"], 0.5),
                  "^{}: expected a fit of .*cross_replication"),
            ("empty", partial(metric, xr.DataTree()), "found no groups"),
            ("constants", partial(metric, xr.DataTree.from_dict(constants)),
             "found the groups 'constant_data'"),
            ("model", partial(metric, tree("dirichlet", "gaussian", posterior)),
             "found a fit of dirichlet"),
            ("no model", partial(metric, bare), "found no attribute 'model'"),
            ("family", partial(metric, tree("cross_replication", "poisson", posterior)),
             "^family of the fit: expected 'gaussian' or"),
            ("scale", partial(metric, fit, scale="Latent"),
             "scale: expected 'latent' or 'observed'"),
        ]  # fmt: skip
    for name in ("mu", "sigma_item", "cutpoint", "correlation"):
        rest = tree("cross_replication", "ordinal", posterior.drop_vars(name))
        cases.append((name, partial(dx.icc, rest), f"found none of '{name}'"))
    return cases


def of_pools():
    fit = cross_replication("gaussian", names=["experts", "crowd"])
    no_pairs = ("experts", ("experts",), ("experts", "experts"), ["a", "b", "c"], 3, [1, [2]])
    return [
        case
        for metric in (dx.xcc, dx.normalized_xcc)
        for case in [
            ("one pool", partial(metric, crossed_effects("gaussian")),
             r"a fit of crossed_effects\. This model has only one pool"),
            ("near", partial(metric, fit, reference="expert"),
             r"^reference: .*Did you mean 'experts'\?"),
            ("other", partial(metric, fit, pools=("experts", 3)),
             "^pools: expected one of the pools 'experts', 'crowd'"),
            *each(partial(metric, fit), "pools", no_pairs, "^{}: "),
            ("both", partial(metric, fit, pools=("experts", "crowd"), reference="crowd"),
             "either pools= or reference="),
        ]
    ]  # fmt: skip


def of_reliability():
    brown, needed = dx.spearman_brown, dx.annotators_needed
    wrong = (1.1, -1.5, np.inf, "0.5", None, True, [0.5, 2.0], [[0.1], [1, 2]])
    words = "^{}: expected reliabilities of one label"
    other = xr.DataArray([2, 5], {"pool": ["a", "z"]}, ["pool"])
    return [
        *each(partial(brown, k=2), "icc", wrong, words),
        *each(partial(needed, target=0.5), "icc", wrong, words),
        *each(partial(brown, k=3), "icc", (cross_replication("gaussian"),), "{}: .*found DataTree"),
        *each(partial(brown, k=3), "icc", (RELIABILITY.to_dataset(name="icc"),), "found Dataset"),
        *each(partial(brown, RELIABILITY), "k", (0, -1, np.nan, np.inf, "3", [1, 0], None),
              "^{}: expected positive finite numbers"),
        *each(partial(brown, RELIABILITY), "k", ([[1, 2], [3, 4]],), "^{}: expected one dim"),
        *each(partial(brown, [0.1, 0.2, 0.3]), "k", ([1, 2],), "numbers that broadcast with icc"),
        *each(partial(brown, RELIABILITY), "k", (other,), "^{}: .*different names along a dim"),
        *each(partial(needed, RELIABILITY), "target", NO_TARGETS, BETWEEN),
    ]  # fmt: skip


def of_majorities():
    majority = dx.majority_accuracy
    wrong = (*NO_SHARES, True, [0.9, 2.0])
    no_counts = (0, -3, 2.5, np.nan, np.inf, "3", True, [3, 0])
    words = "^{}: expected accuracies of annotators"
    clash = xr.DataArray([3, 5], {"chain": [7, 8]}, ["chain"])
    none = np.full(1000, 0.6)
    most = "^n_annotators: expected at most 999.*1000"
    return [
        *each(partial(majority, 5), "accuracy", ([0.9, 0.8], np.full(3, 0.9), ACCURACY),
              "^{}: .*as n_annotators is 5; found"),
        ("two", partial(majority, [3, 5], [0.9, 0.8]), r"^accuracy: expected one number.*\[3, 5"),
        ("none", partial(majority, None, []), "^accuracy: .*found 0 numbers"),
        *each(partial(majority, None), "accuracy", (0.9, ALIKE), "^n_annotators: .*found None"),
        *each(partial(majority, accuracy=0.85), "n_annotators", no_counts,
              "^{}: expected whole numbers, 1 or more"),
        *each(partial(majority, accuracy=ACCURACY), "n_annotators", no_counts,
              "^{}: expected whole numbers, 1 or more"),
        ("dims", partial(majority, [[1, 2], [3, 4]], ALIKE), "^n_annotators: expected one dim"),
        ("clash", partial(majority, clash, ALIKE), "^n_annotators: .*different names along a dim"),
        *(("most", partial(majority, *given, 3), most)
          for given in ((1000, 0.6), ([3, 1000], 0.6), (None, none))),
        *each(dx.annotators_for_truth, "accuracy", wrong, words),
        *each(partial(majority, 2), "accuracy", wrong, words),
        *each(partial(dx.annotators_for_truth, 0.9), "n_labels", NO_LABEL_COUNTS, "^{}: "),
        *each(partial(majority, 3, 0.9), "n_labels", NO_LABEL_COUNTS,
              "^{}: expected a whole number, 2 or"),
        *each(partial(dx.annotators_for_truth, ALIKE), "target", NO_TARGETS, BETWEEN),
    ]  # fmt: skip


def of_truth_accuracies():
    truth, actual = dx.truth_accuracy, dx.actual_accuracy
    support = dx.probability_of_support
    number = "^{}: expected a number above 0, to 1"
    return [
        *each(partial(truth, n_annotators=3), "reliability", NO_SHARES,
              "^{}: expected draws of weighted_reli"),
        *each(partial(truth, ALIKE, 3), "confidence", (*NO_SHARES, 0, []), number),
        *each(partial(truth, ALIKE, 3), "measure", ("kappa",), "'weighted_reliability' or"),
        *each(partial(truth, ALIKE), "n_annotators", (0, None), "^{}: "),
        *each(partial(truth, 0.8, 3), "n_labels", NO_LABEL_COUNTS, "^{}: "),
        *each(partial(actual, truth_accuracy=0.9), "accuracy", (*NO_SHARES, True),
              "^{}: expected accuracies of systems"),
        *each(partial(actual, 0.9), "truth_accuracy", (*NO_SHARES, True),
              "^{}: expected accuracies of a ground"),
        *each(partial(actual, 0.9, 0.9), "errors", ("printed",), "'product' or 'independent'"),
        *each(partial(actual, 0.9, 0.9), "n_labels", (1,), "^{}: "),
        *each(partial(actual, [0.9, 0.8]), "truth_accuracy", ([0.9, 0.8, 0.7],),
              "^{}: expected numbers that broadcast"),
        *each(partial(support, accuracy=0.95, required=0.9), "truth_accuracy", (0.9,),
              "^{}: expected draws, with dims"),
        *each(partial(support, ALIKE, 0.9), "required", (*NO_SHARES, True, 0), number),
    ]  # fmt: skip


def of_rankings():
    overlap, likelihood = dx.mean_average_overlap, dx.partial_ranking_logp
    wrong = (
        ([[0], [0]], "each label once"), ([[0, 0]], "each label once"), ([[0], []], "empty block"),
        ([[4]], "codes from 0 to 3; found 4"), ([[-1]], "codes from 0 to 3; found -1"),
        ([[0.5]], "codes from 0 to 3"), ([["a"]], "codes from 0 to 3; found 'a'"),
        ([0, 1], "a list of blocks"), (["ab"], "a list of blocks"), (3, "a list of blocks"),
    )  # fmt: skip
    strengths = (
        ([1, 0, 2, 1], "strengths, label 1: .*found 0"),
        ([1, 2, -1, 1], "strengths, label 2: .*found -1"),
        ([np.nan, 1, 1, 1], "strengths, label 0: .*found nan"),
        ([1, 1, 1, np.inf], "strengths, label 3: .*found inf"),
        (xr.Dataset(), "strengths: expected positive.*found Dataset"),
        (xr.DataTree(), "strengths: expected positive.*found DataTree"),
        *((value, "strengths: expected positive") for value in (
            [], 3.0, [[1, 2], [3, 4]], [[1, 2], [3]], ["a", "b"], [True, True], None)),
    )  # fmt: skip
    sizes = ((0, 3), (4, 3), (1.5, 3), (1, 0), ("x", 3))
    return [
        *((f"{n}", partial(overlap, [[0]], [[0]], *n), "depth|n_labels") for n in sizes),
        *((words, partial(overlap, bad, [[0]], 2, 4), f"ranking: .*{words}")
          for bad, words in wrong),
        *((words, partial(overlap, [[0]], bad, 2, 4), f"other: .*{words}") for bad, words in wrong),
        *((words, partial(likelihood, [1.0] * 4, bad), f"blocks: .*{words}")
          for bad, words in wrong),
        *((words, partial(likelihood, bad, [[0]]), words) for bad, words in strengths),
    ]  # fmt: skip


TABLES = (
    of_lists, of_flags, of_weights, of_insight, of_groups, of_events, of_compare, of_components,
    of_contrast,
    of_pools, of_reliability, of_majorities, of_truth_accuracies, of_rankings,
)  # fmt: skip


@pytest.mark.unit(len(TABLES))
@pytest.mark.parametrize("cases", TABLES, ids=lambda table: table.__name__)
def test_refused_by_name(cases):
    check_refused(dx.ArgumentError, cases())
