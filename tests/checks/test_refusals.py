"""What checks refuse: fits, data and settings that they cannot take, each by its name."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
import xarray as xr
from refusals import check_refused

import dissensus as dx
from dissensus import simulate

SAMPLED = {"draws": 10, "chains": 2, "random_seed": 1, "progressbar": False}
PREDICTED = {**SAMPLED, "posterior_predictive": True}
WORDS = dx.annotations(
    {"item": [1, 2, 1, 2, 3, 1], "annotator": list("aabbac"), "label": list("xyxxyy")}
)
NUMBERS = WORDS.drop_vars(["label_code", "label"]).assign(
    value=("annotation", np.arange(6.0) ** 2)
).assign_attrs(kind="continuous")  # fmt: skip
OTHERS = "annotations: expected the annotations of the fit; found other annotations"
ROWS = simulate.replication_study(12, 5, 3, random_seed=1).annotations


def fitted(model, annotations, **options):
    return dx.models.get(model).module.fit(annotations, **{**PREDICTED, **options})


def with_group(fit, group, change):
    """Return a fit with a group changed."""
    fit = fit.copy()
    fit[group] = xr.DataTree(change(fit[group].to_dataset()))
    return fit


# Votes on pairs have no labels that could agree.
@pytest.mark.parametrize("model", [name for name in dx.models.names() if name != "bradley_terry"])
def test_a_fit_without_predictive_draws_says_how_to_get_them(model):
    ann = WORDS if "nominal" in dx.models.get(model).kinds else NUMBERS
    if dx.models.get(model).pools:
        pool = NUMBERS["annotator_code"].to_numpy() % 2
        ann = NUMBERS.assign(pool_code=("annotation", pool)).assign_coords(pool=["p", "q"])
    fit = fitted(model, ann, posterior_predictive=False)
    hint = rf"fit: expected .* group 'posterior_predictive'.*models\.{model}\.fit\(\.\.\., post"
    check_refused(dx.ArgumentError, [
        ("agreement_check", partial(dx.agreement_check, fit), hint),
        ("model_discrepancy_ratio", partial(dx.model_discrepancy_ratio, fit, None), hint),
    ])  # fmt: skip


def of_agreement(votes, rankings):
    fit, lists = fitted("dirichlet", WORDS), fitted("inverse_rank", rankings[0])
    check, predictive = dx.agreement_check, "posterior_predictive"
    bare = fit.copy()
    del bare["observed_data"]
    renamed = with_group(fit, predictive, lambda group: group.rename(counts="numbers"))
    more = with_group(fit, predictive, lambda group: group + 1)
    silent = with_group(lists, "observed_data", lambda group: group[["score"]])
    return [
        ("data", partial(check, WORDS), "fit: expected the DataTree .* found Dataset"),
        ("observed", partial(check, bare), "'observed_data'"),
        ("names", partial(check, renamed), "counts or score or label_code or first_choice"),
        ("sizes", partial(check, more), "as many labels of each item"),
        ("rankings", partial(check, silent), "no label_code and no rank"),
    ]


def of_discrepancy(votes, rankings):
    fit, ratio = fitted("dirichlet", votes[0]), dx.model_discrepancy_ratio
    lumped = fitted("plackett_luce", rankings[0], unranked="one", concentration=5.0)
    return [
        ("distance", partial(ratio, fit, votes[1], "cosine"), "distance: expected one of"),
        ("tolerance", partial(ratio, fit, votes[1], "hinge"), "tolerance"),
        (
            "lumped",
            partial(ratio, lumped, rankings[1]),
            r"each label has a name.*unranked=\"exact\"",
        ),
    ]


def of_rows(votes, rankings):
    counts = fitted("dirichlet", votes[0])
    bare = fitted("crossed_effects", ROWS, posterior_predictive=False)
    return [
        case
        for check in (dx.label_check, dx.residual_check)
        for case in (
            ("counts", partial(check, counts), "single labels or numbers, with the annotator"),
            ("bare", partial(check, bare), "posterior_predictive=True"),
        )
    ]


def of_assumptions(votes, rankings):
    study = simulate.confusion_study(10, system_accuracy=(0.9, 0.7), random_seed=1)
    fit = fitted("symmetric_confusion", study.annotations, predictions=study.predictions)
    bare = fitted("symmetric_confusion", votes[0], posterior_predictive=False)
    check = dx.check_assumptions
    assert check(fit.isel(system=[0], draw=slice(0, 5))).sizes["draw"] == 5
    return [
        ("bare", partial(check, bare), "posterior_predictive=True"),
        ("model", partial(check, fitted("dirichlet", votes[0])), "For other models use"),
        ("data", partial(check, votes[0]), "DataTree"),
        ("draws", partial(check, fit, draws=0), "draws"),
        *((f"{part}", partial(check, fit.isel(part)), words) for part, words in (
            ({"item": slice(0, 5)}, "10 items or more; found 5 of them"),
            ({"annotator": [0]}, "3 annotators or more; found 1 of them"),
            ({"label": [0]}, "labels or more; found 1 of them"),
            ({"chain": 0}, "dimension 'chain'"),
            ({"system": 0}, r"fit.isel\(system=\[0\]\)"),
        )),
    ]  # fmt: skip


def of_priors(votes, rankings):
    prior = dx.prior_predictive
    models = ("dirichlet", "crossed", None, 3, dx.models.normal_scores)
    crossed = partial(prior, "crossed_effects", ROWS)
    return [
        *((repr(m), partial(prior, m, ROWS), "model: expected 'crossed_effects' or")
          for m in models),
        ("draws", partial(crossed, draws=0), "draws: expected a whole number"),
        ("family", partial(crossed, family="poisson"), "family"),
        ("setting", partial(crossed, correlation_prior=2.0),
         "setting of crossed_effects: expected 'family'"),
    ]  # fmt: skip


def of_comparisons(votes, rankings):
    compare = partial(dx.compare_truth_models, *votes, draws=10, progressbar=False)
    two = {"plain": {}, "hard": {"difficulty": True}}
    return [
        *((words, partial(compare, candidates), words) for candidates, words in (
            ({"plain": {}}, "two or more variants"),
            (["plain", "graded"], "two or more variants"),
            ({"plain": {}, "x": 3}, "'x'.*settings by name"),
            ({"plain": {}, "x": {"model": "dirichlet"}}, "'x'.*a model 'symmetric_confusion'"),
            ({"plain": {}, "x": {"errors": "odd"}}, "errors"),
            ({"plain": {}, "x": {"error": "graded"}},
             "'x'.*settings of symmetric_confusion.*'error'"),
            ({"plain": {}, "x": {"model": "dawid_skene", "errors": "equal"}}, "of dawid_skene"),
        )),
        ("log_likelihood", partial(compare, log_likelihood=True), "log_likelihood"),
        ("drows", partial(compare, drows=10), "drows: expected one of the options 'draws'"),
        # Of all variants, the "plain" one too.
        ("setting", partial(compare, difficulty=True), "difficulty: .*Pass settings that differ"),
        ("few", partial(compare, two, chains=2), "draws: expected 100 draws or more.*found 2 x 10"),
    ]  # fmt: skip


TABLES = (
    of_agreement, of_discrepancy, of_rows, of_assumptions, of_priors, of_comparisons,
)  # fmt: skip


@pytest.mark.unit(len(TABLES))
@pytest.mark.parametrize("cases", TABLES, ids=lambda table: table.__name__)
@pytest.mark.filterwarnings("ignore::dissensus.errors.DissensusWarning")
def test_refused_by_name(cases, votes, rankings):
    check_refused(dx.ArgumentError, cases(votes, rankings))


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::dissensus.errors.DissensusWarning")
def test_data_of_others_are_refused(votes, rankings):
    few = dx.annotations({"item": [1, 1], "annotator": [1, 2], "label": [0.5, 1.5]})
    fits = {
        "dirichlet": WORDS, "plackett_luce": rankings[0], "inverse_rank": rankings[0],
        "normal_scores": few,
    }  # fmt: skip
    cases = []
    for model, own in fits.items():
        fit = fitted(model, own, **({"prior": (0, 1, 2, 2)} if own is few else {}))
        check = partial(dx.agreement_check, fit)
        check(own)
        cases += [(model, partial(check, ann), OTHERS) for ann in fits.values() if ann is not own]
        cases.append((f"{model}, text", partial(check, "annotations.csv"), "annotations"))
    ratio = partial(dx.model_discrepancy_ratio, fitted("dirichlet", votes[0]))
    firsts = fitted("inverse_rank", rankings[0])
    changed = WORDS.assign(label_code=1 - WORDS["label_code"])
    rows = fitted("crossed_effects", ROWS)
    other = simulate.replication_study(12, 5, 3, random_seed=2).annotations
    check_refused(dx.AnnotationError, [
        *cases,
        ("changed", partial(dx.agreement_check, fitted("dirichlet", WORDS), changed), OTHERS),
        ("rows", partial(dx.label_check, rows, other), "the annotations of the fit"),
        ("pools", partial(dx.prior_predictive, "cross_replication", ROWS), "two or more pools"),
        ("numbers", partial(dx.compare_truth_models, ROWS), "kind"),
    ])  # fmt: skip
    check_refused(dx.PredictionError, [
        ("annotations", partial(ratio, votes[0]), "predictions: expected predictions of systems"),
        ("items", partial(ratio, rankings[1]), "no item in common"),
        ("lists", partial(dx.model_discrepancy_ratio, firsts, rankings[1], "nominal"),
         "one label from each"),
        ("file", partial(dx.compare_truth_models, votes[0], "systems.csv", draws=10,
                         progressbar=False), "predictions of systems"),
    ])  # fmt: skip


def test_names_in_another_order_are_refused():
    """Codes are read by place: with names exchanged a check would speak of somebody else."""
    fit = fitted("dawid_skene", WORDS)
    for dim, words in (("annotator", "the fit's annotators, in their order"), ("label", OTHERS)):
        other = WORDS.assign_coords({dim: WORDS[dim].to_numpy()[::-1]})
        with pytest.raises(dx.AnnotationError, match=words):
            dx.label_check(fit, other)
    assert dx.label_check(fit, WORDS)["annotator"].values.tolist() == ["a", "b", "c"]
