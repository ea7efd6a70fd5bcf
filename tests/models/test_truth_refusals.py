"""What models of a latent truth refuse, and in which words."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from refusals import check_refused

import dissensus as dx
from dissensus.models import dawid_skene, symmetric_confusion

MODELS = {"symmetric_confusion": symmetric_confusion, "dawid_skene": dawid_skene}
EACH = {f"{name}.{use}": getattr(model, use) for name, model in MODELS.items()
        for use in ("build", "fit")}  # fmt: skip
FITS = [model.fit for model in MODELS.values()]
each = pytest.mark.parametrize("use", EACH.values(), ids=EACH)
of_each = pytest.mark.parametrize("name", EACH)
ROWS = {"item": [1, 1, 2, 2], "annotator": list("abab"), "label": list("xyxx")}
QUIET = {"draws": 5, "tune": 5, "chains": 1, "progressbar": False, "random_seed": 1}


def quietly(use):
    return QUIET if use.__name__ == "fit" else {}


def labels(**options):
    return dx.annotations(ROWS, **options)


def answers(given, n_systems=1):
    rows = [(i, f"s{k}", label) for i, label in given.items() for k in range(n_systems)]
    return dx.predictions(
        dict(zip(("item", "system", "label"), zip(*rows, strict=True), strict=True))
    )


GIVEN = answers({1: "x", 2: "y"})
LISTS = dx.predictions(
    {"item": [1, 1, 2, 2], "system": ["s"] * 4, "label": list("xyxy"), "rank": [1, 2, 1, 2]},
    rank="rank",
)
SCORES = dx.predictions(
    {"item": [1, 2], "system": ["s", "s"], "label": [0.5, 0.7]}, kind="continuous"
)
DATA = [
    (dx.annotations({**ROWS, "label": [0.5, 1.5, 2.5, 3.5]}, kind="continuous"), None,
     "expected kind 'nominal' or 'ordinal' for the model"),
    (dx.annotations({**ROWS, "label": list("xxxx")}), None,
     r"expected two labels or more; found 'x' only\. If annotators could give other labels"),
    ("labels", None, "annotations: expected"),
    (None, None, "annotations: expected"),
    (labels().isel(annotation=[0, 1]), None,
     r"at least one annotation of every item \(or a system's prediction\)"),
    (labels(), answers({1: "x", 2: "z"}),
     r"labels that annotators could give: 'x', 'y'; found 'z'"),
    (labels(), LISTS, "predictions: expected one label from each system and item; found lists"),
    (labels(), SCORES, "predictions: expected one label from each system and item; found numbers"),
    (labels(), labels(), "predictions: "),
    (labels(), answers({1: "x"}), "item"),
    (labels(), answers({1: "x", 2: "y", 3: "y"}), "item"),
]  # fmt: skip
SETTINGS = [
    ({"systems": "alike"}, "systems: expected 'independent' or 'related'; found 'alike'"),
    ({"systems": "related"}, "systems: expected 'independent' with fewer than two systems"),
    ({"systems": "related", "predictions": GIVEN}, "with fewer than two systems; found 'rel"),
    ({"evidence": "systems"}, "evidence: expected 'all' or 'annotators'; found 'systems'"),
    ({"evidence": None}, "evidence: expected 'all' or 'annotators'; found None"),
    ({"sampler": "hmc"}, "sampler: expected 'gibbs' or 'nuts'; found 'hmc'"),
    ({"difficulty": "yes"}, "difficulty: expected True or False; found 'yes'"),
    ({"difficulty": 1}, "difficulty: expected True or False; found 1"),
    ({"prior_count": 0}, "prior_count: expected a finite number > 0; found 0"),
    ({"prior_count": [1, 1]}, "prior_count: expected a finite number > 0"),
    ({"on_missing": "ignore", "predictions": GIVEN}, "on_missing: expected"),
    ({"error_correlation": -0.1}, "error_correlation: expected a number from 0 on, 'learned'"),
    ({"error_correlation": "high"}, "error_correlation: expected"),
    ({"error_correlation": (0.5, 0.1, 1.0)}, "error_correlation: expected"),
    ({"error_correlation": 0.5, "systems": "related"}, "systems: expected 'independent'"),
    ({"truth": {99: 1}}, "truth: expected labels of items of the annotations"),
    ({"truth": {1: "q"}}, "truth: expected labels that annotators could give"),
]
OWN = {
    "symmetric_confusion": [
        ({"accuracy": "each"}, "accuracy: expected 'common' or 'annotator'; found 'each'"),
        ({"errors": "rare"}, "errors: expected 'equal' or 'graded' or 'unequal'; found 'rare'"),
        ({"errors": "graded"}, r"expected 'equal' or 'unequal' for labels without an order; .*"
                               r'read them with kind="ordinal" and labels= in that order'),
    ],
    "dawid_skene": [
        ({"pooling": True},
         "pooling: expected 'hierarchical' or 'none' or 'complete'; found T"),
    ],
}  # fmt: skip
RUNS = [
    *(({name: value}, f"{name}: expected") for name, value in
      (("draws", 0), ("chains", 0), ("tune", -1), ("draws", 1.5))),
    *(({name: "no"}, f"{name}: expected True or False; found 'no'")
      for name in ("keep_items", "log_likelihood", "posterior_predictive")),
    ({"draws": 900_000_000},
     "keep_items: expected False, for 900,000,000 draws in 4 chains of the truth of 2 items "
     r"with 2 labels; found True\. The draws would take \d+ GB"),
]  # fmt: skip


@of_each
def test_data_that_are_no_labels_are_refused(name):
    check_refused(dx.DissensusError, [
        (str(place), partial(EACH[name], ann, predictions=pred), words)
        for place, (ann, pred, words) in enumerate(DATA)
    ])  # fmt: skip


@of_each
def test_settings_that_make_no_sense_are_refused(name):
    model, use = name.split(".")
    runs = [
        *RUNS,
        *[
            (
                {"draws": 900_000_000, "keep_items": False},
                "draws: expected fewer than 900,000,000 in 4 chai",
            )
        ][: model == "dawid_skene"],
    ]
    check_refused(dx.ArgumentError, [
        (str(options), partial(EACH[name], labels(), **options), words)
        for options, words in [*SETTINGS, *OWN[model], *(runs if use == "fit" else [])]
    ])  # fmt: skip


@each
def test_labels_that_annotators_could_give_are_taken(use):
    use(labels(labels="xyz"), predictions=answers({1: "x", 2: "z"}), **quietly(use))


@pytest.mark.parametrize("fit", FITS)
def test_items_that_only_one_side_has_are_left_out_if_asked(fit):
    fitted = fit(labels(), predictions=answers({1: "x", 9: "y"}), on_missing="drop", **QUIET)
    codes = fitted["observed_data"]["system_label_code"]
    assert codes.dims == ("item", "system")
    assert codes.to_numpy().tolist() == [[0], [-1]]
    assert fitted["posterior"]["truth"].sizes["item"] == 2


@pytest.mark.filterwarnings("ignore:In the posterior, annotators:dissensus.errors.DissensusWarning")
@each
def test_no_item_with_two_labels(use):
    """Then neither the accuracy of annotators nor that of systems is identified."""
    ann = dx.annotations({"item": [1, 2, 3], "annotator": list("aab"), "label": list("xyx")})
    message = "No item has two labels: the data do not inform accuracies"
    with pytest.warns(dx.DissensusWarning, match=message):
        use(ann, **quietly(use))
    pred = answers({1: "x", 2: "y", 3: "y"})
    with pytest.warns(dx.DissensusWarning, match=message):
        use(ann, predictions=pred, evidence="annotators", **quietly(use))
    use(ann, predictions=pred, **quietly(use))


def test_few_draws_are_warned_of():
    with pytest.warns(dx.ConvergenceWarning, match="have not run long enough"):
        dawid_skene.fit(labels(), **QUIET | {"draws": 100, "random_seed": np.random.default_rng(1)})
