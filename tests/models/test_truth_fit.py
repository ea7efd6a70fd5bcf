"""What a fit of a latent truth holds: names, codes, labels drawn anew, and what must not matter."""

from __future__ import annotations

import numpy as np
import pytest
import truth_reference
from scipy import stats
from truth_cases import ROWS, SYMMETRIC, symmetric

import dissensus as dx
from dissensus.models import dawid_skene, symmetric_confusion

# Of a few hundred draws: what is tested here does not hang on how good they are.
pytestmark = pytest.mark.filterwarnings("ignore:The chains have not run long enough")
MODELS = {"symmetric_confusion": symmetric_confusion, "dawid_skene": dawid_skene}
by_model = pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
ALL = {f"{c.model}: {name}": c for cases in (SYMMETRIC, ROWS) for name, c in cases.items()}
RUN = {"draws": 500, "tune": 200, "chains": 2, "random_seed": 5, "progressbar": False}


@pytest.fixture(scope="module")
def study():
    return dx.simulate.confusion_study(
        150, 4, 3, ipc=0.7, system_accuracy=[0.9, 0.6], labels_per_item=3, random_seed=1
    )


@pytest.fixture(scope="module")
def complete(study):
    return {
        name: model.fit(
            study.annotations, predictions=study.predictions, log_likelihood=True,
            posterior_predictive=True, **RUN,
        )
        for name, model in MODELS.items()
    }  # fmt: skip


COMMON = {
    "prevalence": ("label",), "truth": ("item", "label"), "system_accuracy": ("system",),
    "system_correct": ("system",),
}  # fmt: skip
NAMES = {
    "symmetric_confusion": {"annotator_accuracy": ()},
    "dawid_skene": {
        "annotator_accuracy": ("annotator",), "confusion": ("annotator", "label", "response"),
        "population_confusion": ("label", "response"), "confusion_concentration": ("label",),
        "accuracy_spread": (), "system_confusion": ("system", "label", "response"),
    },
}  # fmt: skip


@pytest.mark.parametrize("name", MODELS)
def test_names_and_dims(name, complete, study):
    fit, ann = complete[name], study.annotations
    want = {n: ("chain", "draw", *dims) for n, dims in (COMMON | NAMES[name]).items()}
    assert {n: x.dims for n, x in fit["posterior"].data_vars.items()} == want
    for dim in ("item", "label"):
        assert fit["posterior"][dim].to_numpy().tolist() == ann[dim].to_numpy().tolist()
    np.testing.assert_array_equal(fit["observed_data"]["label_code"], ann["label_code"])
    for code in ("item_code", "annotator_code"):
        np.testing.assert_array_equal(fit["constant_data"][code], ann[code])
    labels = fit["observed_data"]["system_label_code"]
    assert labels.dims == ("item", "system")
    names = ann["label"].to_numpy()[labels.to_numpy()]
    given = study.predictions.sel(item=ann["item"].to_numpy())
    given = given["label"].to_numpy()[given["label_code"].squeeze("position").to_numpy()]
    np.testing.assert_array_equal(names, given)
    assert fit["log_likelihood"]["labels"].dims == ("chain", "draw", "item")
    drawn = fit["posterior_predictive"]
    assert drawn["label_code"].dims == ("chain", "draw", "annotation")
    assert drawn["system_label_code"].dims == ("chain", "draw", "item", "system")
    assert fit.attrs["model"] == name
    assert fit.attrs["hyper_evidence"] == "all"
    assert "Gibbs" in fit.attrs["inference"]
    truth = fit["posterior"]["truth"]
    np.testing.assert_allclose(truth.sum("label"), 1.0)


@pytest.mark.long
def test_nothing_of_items_without_keep_items(study):
    for model in MODELS.values():
        fit = model.fit(study.annotations, difficulty=True, keep_items=False, **RUN)
        assert not {"truth", "item_difficulty"} & set(fit["posterior"].data_vars)
        both = model.fit(study.annotations, difficulty=True, **RUN)
        mean = both["posterior"]["truth"].mean(("chain", "draw"))
        for tree in (fit, both):
            np.testing.assert_allclose(tree["constant_data"]["truth_mean"], mean, atol=1e-12)


@pytest.mark.unit(0, long=6)
@pytest.mark.parametrize("name", [one for one in ALL if "unequal" not in one])
def test_labels_drawn_anew_have_the_frequencies_of_the_model(name):
    """Each label, and each pair of labels of an item, which hang together by its truth."""
    case = ALL[name]
    fit = case.fit(draws=1500, tune=200, chains=1, posterior_predictive=True)
    points = truth_reference.points_of(case, fit["posterior"])
    drawn = fit["posterior_predictive"]
    people = drawn["label_code"].to_numpy()[0]
    codes = case.annotations()
    statement, item = (codes[f"{dim}_code"].to_numpy() for dim in ("annotator", "item"))
    columns = [(int(i), int(v), people[:, k]) for k, (i, v) in enumerate(zip(item, statement))]  # noqa: B905
    if case.n_systems:
        systems = drawn["system_label_code"].to_numpy()[0]
        columns += [
            (i, case.n_annotators + s, systems[:, i, s])
            for i, s in np.ndindex(systems.shape[1:])
        ]  # fmt: skip
    table = state_table(case, points)  # (draw, state), (draw, respondent, label, state)
    pairs = [(a, b) for a in columns for b in columns if a[0] == b[0] and a is not b][:12]
    for (_, respondent, given), (_, other, other_given) in pairs:
        for y in range(case.n_labels):
            both = np.einsum(
                "ds,ds,ds->d", table[0], table[1][:, respondent, y], table[1][:, other, y]
            )
            first = np.einsum("ds,ds->d", table[0], table[1][:, respondent, y])
            near(given == y, first)
            near((given == y) & (other_given == y), both)


def near(happened, chance):
    sd = np.sqrt((chance * (1 - chance)).sum()) + 1e-9
    assert abs(happened.sum() - chance.sum()) < 4.5 * sd


def state_table(case, points):
    """Return probabilities of states and of labels in them, from items with one label."""
    weight, response = [], []
    n, ease = case.n_labels, truth_reference.eases(case)
    related = case.get("systems") == "related"
    for z, q, f in np.ndindex(n, len(ease), n if related else 1):
        hit = truth_reference.right(points.source, points.spread * ease[q], n)
        source = np.where(f == z, hit, (1 - hit) * points.source_errors[:, z, f])
        weight.append(points.prevalence[:, z] / len(ease) * (source if related else 1.0))
        own = np.array([
            [truth_reference.answer(points, v, z, y, ease[q]) for y in range(n)]
            for v in range(points.right.shape[1])
        ])  # fmt: skip
        if related:
            same = (np.arange(n) == f)[:, None]
            own[case.n_annotators :] *= 1 - points.shared
            own[case.n_annotators :] += points.shared * same
        response.append(own)
    return np.array(weight).T, np.array(response).transpose(3, 1, 2, 0)


def test_labels_of_one_voice_and_of_new_items_are_not_those_observed(complete):
    """They are of new items: an item's labels drawn anew have nothing to do with its own."""
    fit = complete["dawid_skene"]
    drawn = fit["posterior_predictive"]["label_code"].to_numpy().reshape(-1, 450)
    seen = fit["observed_data"]["label_code"].to_numpy()
    same = (drawn == seen).mean()
    by_chance = sum((drawn == k).mean() * (seen == k).mean() for k in range(3))
    assert same == pytest.approx(by_chance, abs=0.02)


@by_model
def test_what_else_is_asked_for_changes_no_draw(model, study):
    """All but labels drawn anew, which take their own random numbers from the same stream."""
    run = RUN | {"draws": 30}
    plain = model.fit(study.annotations, **run)["posterior"].to_dataset()
    more = model.fit(study.annotations, log_likelihood=True, **run)["posterior"].to_dataset()
    assert plain.equals(more)
    less = model.fit(study.annotations, keep_items=False, **run)["posterior"].to_dataset()
    assert plain.drop_dims("item").equals(less)
    assert not np.allclose(*plain["prevalence"])  # chains differ


# -- What must not matter ------------------------------------------------------------------------


def shuffled(ann, seed=1):
    order = np.random.default_rng(seed).permutation(ann.sizes["annotation"])
    return ann.isel(annotation=order)


@pytest.mark.long
@by_model
def test_the_order_of_rows_does_not_matter(model, study):
    first, second = (
        model.fit(ann, predictions=study.predictions, **RUN)
        for ann in (study.annotations, shuffled(study.annotations))
    )
    assert first["posterior"].equals(second["posterior"])


@pytest.mark.long
def test_names_of_labels_do_not_matter():
    """Told in another order the same labels have the same posterior, within sampling error."""
    case = SYMMETRIC["unequal"]
    other = [2, 0, 1]
    labels, answers = (
        [[(who, other[y]) for who, y in item] for item in part]
        for part in (case.statements, case.answers)
    )
    renamed = symmetric(labels, answers, 3, errors="unequal")
    first, second = (c.fit(draws=8000, tune=200)["posterior"] for c in (case, renamed))
    for name in ("prevalence", "truth"):
        want = first[name].mean(("chain", "draw")).to_numpy()
        actual = second[name].mean(("chain", "draw")).to_numpy()[..., other]
        np.testing.assert_allclose(actual, want, atol=0.015)


@by_model
def test_items_with_the_same_labels_share_their_truth(model):
    """One pattern, drawn for all its items at once: as many items as it comes."""
    rows = [(i, a, "xy"[i >= 60]) for i in range(100) for a in range(3)]
    item, annotator, label = zip(*rows, strict=True)
    ann = dx.annotations({"item": item, "annotator": annotator, "label": label})
    fit = model.fit(ann, **RUN)
    truth = fit["posterior"]["truth"].to_numpy()
    np.testing.assert_array_equal(truth[:, :, :60], truth[:, :, :1].repeat(60, axis=2))
    share = fit["posterior"]["prevalence"].sel(label="x").to_numpy().ravel()
    assert stats.kstest(share[::5], stats.beta(61, 41).cdf).pvalue > 1e-3
