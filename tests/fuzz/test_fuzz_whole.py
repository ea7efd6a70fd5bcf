"""The public functions that no registry lists: checks of fits, plans, evaluations, reports.

`CALLS` says how to call each. A public function that is in none of the tests of this folder fails
the test at the end.
"""

from __future__ import annotations

import inspect
import tempfile
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from fuzz.data import NOT_DATA, annotation_sets, prediction_sets
from fuzz.fits import CROSSED, TRUTH, fits
from fuzz.judging import arrays, judged, twice
from fuzz.profile import cases
from fuzz.settings_of import settings_of
from fuzz.test_fuzz_metrics import draws_
from hypothesis import given
from hypothesis import strategies as st

import dissensus as dx
from dissensus.metrics import METRICS
from dissensus.models import MODELS
from dissensus.statistics import STATISTICS

EVERY = tuple(model.name for model in MODELS)
BY_ITEM = ("dirichlet", "inverse_rank", "plackett_luce", "normal_scores")
SEEDED = {"random_seed": 1}
QUIET = {"progressbar": False}


@st.composite
def _annotated(draw, kinds=("nominal", "ordinal"), confident=False):
    ann = draw(annotation_sets(kinds))
    if confident and "confidence" not in ann:
        sure = np.resize([0.5, 1.0, 0.75], ann.sizes["annotation"])
        ann["confidence"] = ("annotation", sure)
    return ann


@st.composite
def _with_truth(draw, confident=False):
    ann = draw(_annotated(confident=confident))
    labels = ann["label"].to_numpy().tolist()
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    truth = [labels[rng.integers(len(labels))] for _ in range(ann.sizes["item"])]
    names = ann["item"].to_numpy().tolist()
    by_name = dict(zip(names, truth, strict=True))
    return ann, draw(st.sampled_from([by_name] * 6 + [truth, truth[1:], "x", {}]))


@st.composite
def _checked(draw, name):
    (ann, truth), more = draw(_with_truth(confident=name != "annotator_roc")), {}
    if name == "annotator_roc":
        more = {"positive": draw(st.sampled_from([*ann["label"].to_numpy().tolist(), None]))}
    return (ann, truth), {"draws": draw(st.sampled_from([None, 3]))} | SEEDED | more


@st.composite
def _of_fit(draw, models, settings=()):
    return (draw(fits(models))[1],), dict(settings)


@st.composite
def _by_label(draw):
    item, annotator = (each.ravel().tolist() for each in np.indices((draw(st.integers(1, 4)), 3)))
    labels = [draw(st.sampled_from(["-", "a", "b", "a;b", "1;a"])) for _ in item]
    table = {"item": item, "annotator": annotator, "label": labels}
    words = {"kind": "set", "separator": ";", "none": "-", "labels": ["1", "a", "b"]}
    ann = dx.annotations(table, **words)
    alone = [entry.name for entry in STATISTICS if entry.takes == "annotations"]
    function = draw(st.sampled_from([*alone, lambda own: own]))
    return (function, draw(st.sampled_from([ann, table, dx.annotations(table)]))), {}


@st.composite
def _tested(draw):
    ann = draw(_annotated())
    return (ann, draw(prediction_sets(ann, ("labels",))), 0.1), {"min_items": 2}


@st.composite
def _against_model(draw):
    ann, fit = draw(fits(("dirichlet", "plackett_luce", "normal_scores", "crossed_effects")))
    form = "numbers" if ann.attrs["kind"] == "continuous" else "labels"
    return (fit, draw(prediction_sets(ann, (form,)))), {}


@st.composite
def _evaluation(draw):
    ann = draw(annotation_sets())
    kind = ann.attrs["kind"]
    form = {"continuous": ("numbers",), "ranking": ("ranks", "scores")}.get(kind, ("labels",))
    args = (ann, draw(prediction_sets(ann, form))) if draw(st.integers(0, 4)) else (ann,)
    more = {"threshold": 0.5} if kind == "continuous" else {}
    if not draw(st.integers(0, 4)):
        more |= {"chunks": draw(st.sampled_from([1, 3, 50]))}
    return args, more | {"draws": 4, "chains": 2} | SEEDED | QUIET


@st.composite
def _cut(draw):
    return (draw(annotation_sets()),), {"items": draw(st.sampled_from([None, 1, 2, 50]))}


@st.composite
def _by_pattern(draw):
    ann = draw(_annotated())
    if draw(st.booleans()):
        ann = dx.chunked(ann, 2)
    pred = draw(prediction_sets(ann, ("labels", "ranks")))
    return (ann, pred), {"draws": 4, "chains": 2} | SEEDED


@st.composite
def _plan(draw, name):
    ann = draw(annotation_sets(("nominal", "ordinal", "continuous")))
    few = {"annotators": (2, 3), "items": (5, 10), "draws": 4} | SEEDED | QUIET
    return (ann,), few | ({} if name == "plan" else {"studies": 2})


@st.composite
def _prior(draw):
    few = [model for model in MODELS if model.name in CROSSED or not draw(st.integers(0, 9))]
    model = draw(st.sampled_from(few))
    return (model.name, draw(annotation_sets(model.kinds))), {"draws": 3} | SEEDED


@st.composite
def _models_compared(draw):
    return (draw(_annotated()),), {"draws": 50, "tune": 2, "chains": 2} | SEEDED | QUIET


@st.composite
def _readers(draw):
    """Return scores of readers, of which some are missing, doubled or not numbers."""
    rng, n = np.random.default_rng(draw(st.integers(0, 99))), draw(st.integers(1, 12))
    people, kinds = draw(st.sampled_from([("a", "b", "c", "d"), (1, 2), ("x",)])), draw(NUMBERS)
    modalities = draw(st.sampled_from([(1,), ("old", "new"), (1, 2, 3)]))
    rows = [
        {"reader": who, "case": c, "modality": m, "score": kinds[rng.integers(len(kinds))],
         "ill": c % 2, "group": c // draw(st.sampled_from([1, 1, 3]))}
        for who in people for c in range(n) for m in modalities
        if rng.random() < 0.95
    ]  # fmt: skip
    more = {
        "threshold": draw(st.sampled_from([None, 1, [0.5, 2], "x"])),
        "cluster": draw(st.sampled_from([None, None, "group"])),
        "max_false_positive_rate": draw(st.sampled_from([1, 0.3, 0])),
        "predictions": draw(st.sampled_from([None, {c: c % 3 for c in range(n)}, {0: 1}, [1]])),
        "new_readers": draw(st.booleans()), "new_cases": draw(st.booleans()),
        "areas": draw(st.sampled_from(["empirical", "empirical", "latent"])),
    }  # fmt: skip
    truth = draw(st.sampled_from(["ill", "ill", {c: c % 2 for c in range(n)}, "score", {}, None]))
    return (rows, truth), more | {"draws": draw(st.sampled_from([1, 3]))} | SEEDED | QUIET


NUMBERS = st.sampled_from([(1, 2, 3), (0.5, 1.5), (1,), (1, None), ("low", 2), (np.inf, 1)])
NAMES = (("a", "b"), (1, 2, 3), ("left", "x"), ("", "y"), (0.5, 2))


@st.composite
def _votes(draw):
    rng, n = np.random.default_rng(draw(st.integers(0, 99))), draw(st.integers(0, 6))
    names = draw(st.sampled_from(NAMES))
    words = draw(st.sampled_from([("left", "right", "tie"), (*names, "tie"), (None, "a"), (1, 2)]))
    columns = {"left": names, "right": names, "winner": words, "who": (1.5, None, 2)}
    frame = {
        name: [some[k] for k in rng.integers(0, len(some), n)] for name, some in columns.items()
    }
    return (frame,), {}


def _curve():
    values = np.array([0.5, 0.2, np.nan, 0.9])
    made = xr.DataArray(values, {"threshold": [0.1, 0.2, 0.3, 0.4]}, ["threshold"])
    made = made.rename("discrepancy_curve").expand_dims(system=["s"])
    return st.sampled_from([made, made.isel(threshold=[]), made * np.nan, made.isel(system=0)])


CALLS = {
    "agreement_check": _of_fit(EVERY),
    "alt_test": _tested(),
    "annotator_roc": _checked("annotator_roc"),
    "best_threshold": _curve().map(lambda curve: ((curve,), {})),
    "by_label": _by_label(),
    "check_assumptions": _of_fit(TRUTH),
    "chunked": _cut(),
    "compare_truth_models": _models_compared(),
    "confidence_check": _checked("confidence_check"),
    "confidence_difficulty": _checked("confidence_difficulty"),
    "evaluate": _evaluation(),
    "items_to_review": _of_fit(TRUTH),
    "label_check": _of_fit((*TRUTH, *CROSSED)),
    "model_discrepancy_ratio": _against_model(),
    "pairs": _votes(),
    "non_inferiority": draws_().map(lambda made: ((made, 0.1), {})),
    "plan": _plan("plan"),
    "plan_accuracy": _plan("plan_accuracy"),
    "plan_reliability": _plan("plan_reliability"),
    "prior_predictive": _prior(),
    "reader_study": _readers(),
    "residual_check": _of_fit(CROSSED),
    "top_k_accuracy_by_pattern": _by_pattern(),
}
DEAR = {"evaluate": 0.1, "plan": 0.1, "plan_accuracy": 0.1, "plan_reliability": 0.1,
        "compare_truth_models": 0.1}  # fmt: skip
"""Which share of the cases is made of those that take long."""
ELSEWHERE = {
    "annotations", "predictions", "from_matrix", "from_rankings", "validate", "read_annotations",
    "read_predictions", "bayesian_bootstrap", "report", "summary", "describe", "to_dataframe",
    "warm_up",  # takes names only; tests/evaluation/test_warm_up.py hands it other things
}  # fmt: skip
"""Functions that other tests of this folder call."""


def checked(name, data):
    """Judge one call of a public function."""
    function = getattr(dx, name)
    args, more = data.draw(CALLS[name])
    if data.draw(st.integers(0, 29)) == 0:
        args = (data.draw(st.sampled_from(NOT_DATA)), *args[1:])
    taken = set(list(inspect.signature(function).parameters)[: len(args)])
    settings = data.draw(settings_of(function, but=taken))
    run = twice if data.draw(st.integers(0, 9)) == 0 and "random_seed" not in settings else judged
    answer = run(f"whole.{name}", function, *args, **(more | settings))
    if answer.refused or isinstance(answer.value, tuple):
        return answer
    for array in arrays(answer.value):
        values = array.to_numpy()
        if array.name in {"ppp", "p_value", "advantage_probability"} and values.dtype.kind == "f":
            assert np.nanmin(values, initial=0.0) >= 0.0
            assert np.nanmax(values, initial=1.0) <= 1.0
    return answer


@pytest.mark.parametrize("name", sorted(set(CALLS) - set(DEAR)))
@cases(2, 400)
@given(data=st.data())
def test_a_function_is_sound_or_refused(name, data):
    checked(name, data)


@pytest.mark.parametrize("name", sorted(DEAR))
@cases(5, 40)
@given(data=st.data())
def test_a_dear_function_is_sound_or_refused(name, data):
    checked(name, data)


@cases(2, 400)
@given(data=st.data())
def test_what_is_drawn_by_chunks_is_what_is_drawn_at_once(data):
    """Or is refused in the same words, be it later."""
    model = data.draw(st.sampled_from([first for first in MODELS if first.name in BY_ITEM]))
    ann = data.draw(annotation_sets(model.kinds))
    more = {"draws": 4, "chains": 2} | SEEDED | QUIET
    whole = judged(f"whole.{model.name}", model.module.fit, ann, **more)
    cut = judged("whole.chunked", dx.chunked, ann, data.draw(st.sampled_from([1, 2, 50])))
    assert not cut.refused
    lazily = judged(f"whole.{model.name}", drawn_now, model.module.fit, cut.value, **more)
    assert bool(whole.refused) == bool(lazily.refused), (whole.refused, lazily.refused)
    if not whole.refused:
        first, second = (answer.value["posterior"].to_dataset() for answer in (whole, lazily))
        xr.testing.assert_equal(first.drop_attrs(), second.drop_attrs().sel(item=first["item"]))


def drawn_now(fit, annotations, **settings):
    """Fit, and draw what is put off."""
    return fit(annotations, **settings).compute()


@cases(1, 40)
@given(data=st.data())
def test_an_evaluation_is_summarised_and_reported(data):
    args, more = data.draw(CALLS["evaluate"])
    answer = judged("whole.evaluate", dx.evaluate, *args, **more)
    if answer.refused:
        return
    for of in (None, "annotators", data.draw(st.sampled_from(["x", 5, ["a"], "systems"]))):
        result = judged("whole.summary", dx.summary, answer.value, of)
        if not result.refused and {"hdi_low", "hdi_high"} <= set(result.value):
            assert not (result.value["hdi_low"] > result.value["hdi_high"]).any()
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder, "report.html")
        settings = data.draw(settings_of(dx.report))
        if not judged("whole.report", dx.report, answer.value, page, **settings).refused:
            assert page.stat().st_size > 1000


def test_every_public_function_is_fuzzed():
    public = {
        name
        for name in dir(dx)
        if inspect.isfunction(getattr(dx, name)) and not name.startswith("_")
    }
    registered = {entry.name for entry in (*STATISTICS, *METRICS)}
    missed = public - registered - set(CALLS) - ELSEWHERE
    assert not missed, f"say in CALLS how to call {sorted(missed)}"
