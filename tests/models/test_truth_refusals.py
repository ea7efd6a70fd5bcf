"""What models of a latent truth refuse, and in which words."""

from __future__ import annotations

import numpy as np
import pytest

import dissensus as dx
from dissensus.models import dawid_skene, symmetric_confusion

EACH = {
    "symmetric, build": symmetric_confusion.build, "symmetric, fit": symmetric_confusion.fit,
    "rows, build": dawid_skene.build, "rows, fit": dawid_skene.fit,
}  # fmt: skip
each = pytest.mark.parametrize("use", EACH.values(), ids=EACH)
symmetric = pytest.mark.parametrize("use", [*EACH.values()][:2], ids=["build", "fit"])
by_rows = pytest.mark.parametrize("use", [*EACH.values()][2:], ids=["build", "fit"])
ROWS = {"item": [1, 1, 2, 2], "annotator": list("abab"), "label": list("xyxx")}
QUIET = {"draws": 5, "tune": 5, "chains": 1, "progressbar": False, "random_seed": 1}


def quietly(use):
    return QUIET if use.__name__ == "fit" else {}


def labels(**options):
    return dx.annotations(ROWS, **options)


def answers(said, n_systems=1):
    rows = [(i, f"s{k}", one) for i, one in said.items() for k in range(n_systems)]
    return dx.predictions(
        dict(zip(("item", "system", "label"), zip(*rows, strict=True), strict=True))
    )


GIVEN = answers({1: "x", 2: "y"})


@each
@pytest.mark.parametrize(
    ("ann", "message"),
    [
        (dx.annotations({**ROWS, "label": [0.5, 1.5, 2.5, 3.5]}, kind="continuous"),
         "expected kind 'nominal' or 'ordinal' for the model"),
        (dx.annotations({**ROWS, "label": list("xxxx")}),
         r"expected two labels or more; found 'x' only\. If annotators could have said something"),
        ("labels", "annotations: expected"),
        (None, "annotations: expected"),
    ],
    ids=["numbers", "one label", "a word", "nothing"],
)  # fmt: skip
def test_what_is_not_labels(use, ann, message):
    with pytest.raises(dx.DissensusError, match=message):
        use(ann)


@each
def test_items_without_labels(use):
    ann = labels().isel(annotation=[0, 1])  # of item 1 both
    with pytest.raises(dx.AnnotationError, match="without one nothing speaks of its truth"):
        use(ann)


@each
@pytest.mark.parametrize(
    ("options", "message"),
    [
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
        ({"on_missing": "ignore"}, "on_missing: expected"),
    ],
)
def test_settings_that_make_no_sense(use, options, message):
    with pytest.raises(dx.ArgumentError, match=message):
        use(labels(), **{"predictions": GIVEN} | options if "on_missing" in options else options)


@symmetric
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"accuracy": "each"}, "accuracy: expected 'common' or 'annotator'; found 'each'"),
        ({"errors": "rare"}, "errors: expected 'equal' or 'graded' or 'unequal'; found 'rare'"),
        ({"errors": "graded"}, r"expected 'equal' or 'unequal' for labels without an order; .*"
                               r'read them with kind="ordinal" and labels= in that order'),
    ],
)  # fmt: skip
def test_accuracies_and_errors_that_make_no_sense(use, options, message):
    with pytest.raises(dx.ArgumentError, match=message):
        use(labels(), **options)


@by_rows
def test_poolings_there_are(use):
    with pytest.raises(
        dx.ArgumentError, match="pooling: expected 'hierarchical' or 'none' or 'complete'; found T"
    ):
        use(labels(), pooling=True)


@each
def test_systems_that_say_what_annotators_could_not(use):
    strange = answers({1: "x", 2: "z"})
    with pytest.raises(
        dx.PredictionError, match=r"labels that annotators could give: 'x', 'y'; found 'z'"
    ):
        use(labels(), predictions=strange)
    use(labels(labels="xyz"), predictions=strange, **quietly(use))


@each
def test_predictions_that_are_not_one_label_each(use):
    lists = dx.predictions(
        {"item": [1, 1, 2, 2], "system": ["s"] * 4, "label": list("xyxy"), "rank": [1, 2, 1, 2]},
        rank="rank",
    )
    scores = dx.predictions(
        {"item": [1, 2], "system": ["s", "s"], "label": [0.5, 0.7]}, kind="continuous"
    )
    for wrong in (lists, scores, labels()):
        with pytest.raises(dx.PredictionError):
            use(labels(), predictions=wrong)


@each
def test_items_that_only_one_side_has(use):
    for said in ({1: "x"}, {1: "x", 2: "y", 3: "y"}):
        with pytest.raises(dx.PredictionError, match="item"):
            use(labels(), predictions=answers(said))


@pytest.mark.parametrize("fit", [symmetric_confusion.fit, dawid_skene.fit])
def test_items_that_only_one_side_has_are_left_out_if_asked(fit):
    found = fit(labels(), predictions=answers({1: "x", 9: "y"}), on_missing="drop", **QUIET)
    said = found["observed_data"]["system_label_code"]
    assert said.dims == ("item", "system")
    assert said.to_numpy().tolist() == [[0], [-1]]
    assert found["posterior"]["truth"].sizes["item"] == 2


@pytest.mark.filterwarnings("ignore:Annotators mostly call:dissensus.errors.DissensusWarning")
@each
def test_no_item_with_two_labels(use):
    """Nothing then tells who errs: neither annotators nor systems."""
    ann = dx.annotations({"item": [1, 2, 3], "annotator": list("aab"), "label": list("xyx")})
    message = "No item has two labels: nothing tells how accurate anybody is"
    with pytest.warns(dx.DissensusWarning, match=message):
        use(ann, **quietly(use))
    said = answers({1: "x", 2: "y", 3: "y"})
    with pytest.warns(dx.DissensusWarning, match=message):
        use(ann, predictions=said, evidence="annotators", **quietly(use))
    use(ann, predictions=said, **quietly(use))


@pytest.mark.parametrize("fit", [symmetric_confusion.fit, dawid_skene.fit])
def test_truths_that_would_fill_the_memory(fit):
    message = (
        "keep_items: expected False, for 900,000,000 draws in 4 chains of the truth of 2 items "
        r"with 2 labels; found True\. They would take \d+ GB"
    )
    with pytest.raises(dx.ArgumentError, match=message):
        fit(labels(), draws=900_000_000, progressbar=False)


def test_matrices_that_would_fill_the_memory():
    with pytest.raises(dx.ArgumentError, match=r"draws: expected fewer than 900,000,000 in 4 chai"):
        dawid_skene.fit(labels(), draws=900_000_000, progressbar=False, keep_items=False)


@pytest.mark.parametrize("fit", [symmetric_confusion.fit, dawid_skene.fit])
@pytest.mark.parametrize("options", [{"draws": 0}, {"chains": 0}, {"tune": -1}, {"draws": 1.5}])
def test_numbers_of_draws_that_make_no_sense(fit, options):
    with pytest.raises(dx.ArgumentError, match=f"{next(iter(options))}: expected"):
        fit(labels(), progressbar=False, **options)


def test_few_draws_are_warned_of():
    with pytest.warns(dx.ConvergenceWarning, match="have not run long enough"):
        dawid_skene.fit(labels(), **QUIET | {"draws": 100, "random_seed": np.random.default_rng(1)})


@pytest.mark.parametrize("fit", [symmetric_confusion.fit, dawid_skene.fit])
@pytest.mark.parametrize("name", ["keep_items", "log_likelihood", "posterior_predictive"])
def test_what_is_to_be_kept_is_said_by_true_or_false(fit, name):
    with pytest.raises(dx.ArgumentError, match=f"{name}: expected True or False; found 'no'"):
        fit(labels(), progressbar=False, draws=10, **{name: "no"})
