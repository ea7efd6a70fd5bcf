"""The prior of rankings that is learned: from every ranking once, from predictions, in chunks."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pymc as pm
import pytest
from gradients import disagreements, points_of

import dissensus as dx
from dissensus.data.plausibility import plausibility_of, with_candidates
from dissensus.dims import SAMPLE
from dissensus.families.rankings import process
from dissensus.models import plackett_luce

LABELS = list("abcde")


def study(n=40, seed=3, n_labels=5, readers=3):
    """So many readers an item, with ties and short lists, and a system that is often right."""
    rng = np.random.default_rng(seed)
    labels = [f"{k:02d}" for k in range(n_labels)] if n_labels > 26 else LABELS
    rankings, answers = {}, []
    for item in range(n):
        theta = rng.dirichlet(np.full(n_labels, 3.0 / n_labels)) + 1e-9
        lists = []
        for _ in range(readers):
            order = rng.choice(n_labels, 3, replace=False, p=theta / theta.sum())
            first, second, third = (labels[k] for k in order)
            lists.append(
                [[[first], [second, third]], [[first, second]], [[first]]][rng.integers(3)]
            )
        rankings[f"i{item}"] = lists
        answers.append(labels[int(theta.argmax())])
    frame = {"item": list(rankings), "system": ["s"] * n, "label": answers}
    return dx.from_rankings(rankings, labels=labels), dx.predictions(frame)


@pytest.fixture(scope="module")
def few():
    return study()


@pytest.fixture(scope="module")
def many():
    """Of forty labels, which are all alike."""
    return study(n_labels=40)


def fit(ann, **options):
    default = {"draws": 100, "tune": 100, "chains": 2, "random_seed": 1, "progressbar": False}
    return plackett_luce.fit(ann, **default | options)


pytestmark = pytest.mark.filterwarnings("ignore:.*chains have not run long enough")


@pytest.fixture(scope="module")
def alone(few):
    return fit(few[0])


@pytest.fixture(scope="module")
def of_many(many):
    """Fits with the predictions, and without."""
    return fit(many[0], predictions=many[1]), fit(many[0])


@pytest.mark.long
def test_it_is_the_default_and_is_told(few, alone):
    ann, pred = few
    leant = fit(ann, predictions=pred)
    assert alone.attrs["hyper_concentration"] == "learned"
    assert alone["posterior"]["label_weight"].dims == ("chain", "draw", "label")
    assert "prediction_weight" not in alone["posterior"]
    assert float(leant["posterior"]["prediction_weight"].mean()) > 1  # it is often right
    assert leant["posterior"]["prediction_weight"]["system"].values.tolist() == ["s"]
    assert "prior_r_hat_max" in leant.attrs


def test_few_labels_are_all_candidates_of_every_item(alone):
    theta = alone["posterior"]["plausibility"]
    assert theta["candidate_label"].values[:, :5].tolist() == [LABELS] * 40
    np.testing.assert_allclose(theta.sum("candidate"), 1.0)
    assert not theta["candidate_size"][:, -1].any()


@pytest.mark.long
def test_of_many_labels_what_a_system_says_is_a_candidate(many, of_many):
    _, pred = many
    theta = of_many[0]["posterior"]["plausibility"]
    labels = pred["label"].values[pred["label_code"].sel(system="s").values[:, 0]]
    for item, label in zip(pred["item"].values, labels, strict=True):
        x = theta.sel(item=item)
        assert label in x["candidate_label"].values[x["candidate_size"].values == 1]
    assert int(theta["candidate_size"].sum("candidate").min()) == 40
    lean, alone = (dx.top_k_accuracy(x, pred) for x in (theta, of_many[1]))
    assert float(lean.mean()) > float(alone.mean())


@pytest.mark.long
def test_every_ranking_counts_once_whatever_the_reliability(few):
    ann, pred = few
    first, second = (fit(ann, predictions=pred, reliability=r)["posterior"] for r in (1.0, 4.0))
    np.testing.assert_array_equal(first["concentration"], second["concentration"])
    sharper = [plausibility_of(fit).max("candidate").mean() for fit in (first, second)]
    assert float(sharper[1]) > float(sharper[0])


@pytest.mark.long
@pytest.mark.parametrize("unranked", ["exact", "one", "ignore"])
def test_chunks_have_the_draws_of_the_whole(many, of_many, unranked):
    ann, pred = many
    exact = unranked == "exact"
    whole = of_many[0] if exact else fit(ann, predictions=pred, unranked=unranked)
    whole = whole["posterior"].to_dataset()
    parts = fit(dx.chunked(ann, 7), predictions=pred, unranked=unranked)["posterior"]
    theta = [dx.top_k_accuracy(post["plausibility"], pred) for post in (whole, parts.to_dataset())]
    np.testing.assert_allclose(theta[0], theta[1].compute())
    np.testing.assert_array_equal(whole["concentration"], parts["concentration"])


@pytest.mark.long
def test_of_very_many_items_some_teach_it_whatever_their_order(few, monkeypatch):
    ann, _ = few
    monkeypatch.setattr(process, "MOST_ITEMS", 10)
    teaches = process.teaching(ann["item"].values)
    assert teaches.sum() == 10
    other = process.teaching(ann["item"].values[::-1])
    np.testing.assert_array_equal(other, teaches[::-1])
    some = fit(ann)["posterior"]["concentration"]
    # In chunks of one item most teach nothing.
    parts = fit(dx.chunked(ann, 1), draws=5)["posterior"]["concentration"]
    np.testing.assert_array_equal(parts, fit(ann, draws=5)["posterior"]["concentration"])
    names = ann["item"].values
    gone = names[~teaches]
    lists = {"i" + str(k): rows for k, rows in enumerate(said_of(ann))}
    alone = dx.from_rankings({n: r for n, r in lists.items() if n not in gone}, labels=LABELS)
    np.testing.assert_allclose(fit(alone)["posterior"]["concentration"], some)


def said_of(ann):
    """Give the lists of every item back."""
    label = ann["label"].values[ann["label_code"].values]
    for item in range(ann.sizes["item"]):
        lists = []
        for who in np.unique(ann["annotator_code"].values[ann["item_code"].values == item]):
            rows = (ann["item_code"].values == item) & (ann["annotator_code"].values == who)
            rank = ann["rank"].values[rows]
            lists.append([label[rows][rank == level].tolist() for level in np.unique(rank)])
        yield lists


@pytest.mark.long
def test_lower_places_speak_for_themselves_and_less(many, of_many):
    ann, pred = many
    first = pred["label"].values[pred["label_code"].sel(system="s").values[:, 0]]
    rows = [(item, label, rank) for item, label in zip(pred["item"].values, first, strict=True)
            for label, rank in ((label, 2), ("39" if label != "39" else "38", 1))]  # fmt: skip
    item, label, rank = zip(*rows, strict=True)
    second = dx.predictions({"item": item, "system": ["s"] * len(item), "label": label,
                             "rank": rank}, rank="rank")  # fmt: skip
    weights = [tree["posterior"] for tree in (of_many[0], fit(ann, predictions=second))]
    assert "later_weight" not in weights[0]
    assert float(weights[1]["later_weight"].mean()) > 0.3
    assert float(weights[1]["prediction_weight"].mean()) < 0.0  # of first places, which are wrong
    lean = [dx.top_k_accuracy(post["plausibility"], pred).mean() for post in weights]
    assert float(lean[0]) > float(lean[1]) > float(dx.top_k_accuracy(of_many[1], pred).mean())


def test_a_fixed_prior_sees_no_predictions(few):
    with pytest.raises(dx.ArgumentError, match=r'concentration="learned".*learns from them'):
        fit(few[0], predictions=few[1], concentration=1.0)


def test_no_one_model_learns_at_one_reliability_and_holds_to_it_at_another(few):
    with pytest.raises(dx.ArgumentError, match="reliability is not 1"):
        plackett_luce.build(few[0], reliability=2.0)


@pytest.mark.long
def test_where_reliability_is_learned_the_prior_is_held_at_its_mean(few):
    got = fit(few[0], tempering="strength", reliability="common", draws=20, tune=20)
    assert {"concentration", "reliability"} <= set(got["posterior"].data_vars)


@pytest.mark.long
def test_draws_of_pymc_are_named_by_what_the_model_was_built_with(many):
    ann, _ = many
    few = dx.from_rankings(dict(zip("xy", list(said_of(ann))[:2], strict=True)),
                           labels=ann["label"].values)  # fmt: skip
    some = dx.predictions({"item": ["x", "y"], "system": ["s", "s"], "label": ["38", "39"]})
    with plackett_luce.build(few, predictions=some):
        drawn = pm.sample(5, tune=5, chains=1, random_seed=1, progressbar=False)
    named = with_candidates(drawn, few)
    assert "38" in named["candidate_label"].sel(item="x").values
    assert "39" in named["candidate_label"].sel(item="y").values
    assert named["candidate_size"].sum("candidate").values.tolist() == [40, 40]


@pytest.mark.long
def test_a_finished_fit_without_a_seed_is_read_again(few, tmp_path):
    options = {"checkpoint": tmp_path / "fit.zarr", "random_seed": None, "draws": 10, "tune": 10}
    first, second = (fit(few[0], **options)["posterior"]["plausibility"] for _ in range(2))
    np.testing.assert_array_equal(first, second)


def test_a_word_that_is_none_is_refused_with_those_there_are(few):
    with pytest.raises(dx.ArgumentError, match="concentration: expected 'learned', a number"):
        fit(few[0], concentration="learn")
    with pytest.raises(dx.PredictionError):
        fit(few[0], predictions={"a": 1})


@pytest.mark.long
def test_few_items_move_with_their_prior(few):
    """One item, of which it is hardly known: plausibilities go with the concentration.

    With 10 sweeps held at each draw the correlation of the two was -.45; with one, -.22.
    """
    ann = dx.from_rankings({"x": [[["a"], ["b"], ["c"]], [["b"], ["a"], ["d"]]]}, labels="abcdef")
    fitted = fit(ann, draws=2000, tune=500)["posterior"]
    first = np.log(fitted["concentration"]).to_numpy().ravel()
    second = fitted["plausibility"][..., 0, :2].sum("candidate").to_numpy().ravel()
    assert np.corrcoef(first, second)[0, 1] < -0.25


@pytest.mark.unit(0, long=1)
@pytest.mark.parametrize("given", ["predictions", "labels alone"])
def test_draws_go_with_the_gradient_of_the_model_that_build_writes(given):
    """Of ten readers, who name all labels: no strength is next to nothing."""
    ann, pred = study(12, readers=10)
    options = {"predictions": pred} if given == "predictions" else {}
    fitted = fit(ann, draws=900, **options)
    rng = np.random.default_rng(1)

    def strengths(values):
        """Their sum is a Gamma variate, whatever the shares are."""
        whole = np.log(rng.gamma(values["concentration"]))[:, None, None]
        logs = np.log(values["plausibility"][..., :-1]) + whole
        return {"log_strength": logs.reshape(len(logs), -1)}

    for other in (False, True):
        swapped = ann if not other else study(12, seed=4, readers=10)[0]
        model = plackett_luce.build(swapped, **options)
        assert bool(disagreements(model, points=points_of(fitted, model, strengths))) == other


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*transitions diverged")
def test_nuts_on_the_same_model_agrees():
    """Of ten readers: with three the concentration hardly moves in NUTS (10 effective of 1,400)."""
    ann, pred = study(12, readers=10)
    first, second = (
        fit(ann, predictions=pred, sampler=how, draws=n, tune=n)["posterior"]
        for how, n in (("gibbs", 2000), ("nuts", 700))
    )
    for name in ("concentration", "label_weight", "prediction_weight"):
        a, b = (np.log(x[name]) if name == "concentration" else x[name] for x in (first, second))
        assert abs(a.mean(SAMPLE) - b.mean(SAMPLE)).max() < 0.15, name
        assert abs(a.std(SAMPLE) - b.std(SAMPLE)).max() < 0.12, name
    theta = [x["plausibility"].mean(SAMPLE) for x in (first, second)]
    assert abs(theta[0] - theta[1]).max() < 0.03


def foreseen(fit, held_out):
    """Return the mean log probability of a label of each item."""
    theta, logs = fit["posterior"]["plausibility"].mean(SAMPLE), []
    for item, label in held_out.items():
        of_item = theta.sel(item=item)
        named = (of_item["candidate_label"] == label) & (of_item["candidate_size"] == 1)
        rest = float(of_item[-1]) / max(int(of_item["candidate_size"][-1]), 1)
        logs.append(np.log(float(of_item.where(named, 0.0).sum()) if named.any() else rest))
    return np.mean(logs)


@pytest.mark.long
def test_another_simulated_reader_is_foreseen_better():
    """Of three readers of an item, one is held out; a system names what is most plausible."""
    whole, pred = study(60, seed=2, n_labels=40)
    lists = dict(zip(whole["item"].values.tolist(), said_of(whole), strict=True))
    held_out = {item: three[-1][0][0] for item, three in lists.items()}
    ann = dx.from_rankings(
        {item: three[:2] for item, three in lists.items()}, labels=whole["label"].values
    )
    fixed, learned, leant = (
        foreseen(fit(ann, **options), held_out)
        for options in ({"concentration": None}, {}, {"predictions": pred})
    )
    assert learned > fixed + 0.05
    assert leant > learned + 0.05


@pytest.mark.long
def test_another_dermatologist_is_foreseen_better(shared):
    """Real cases, two readers each to learn from: one more is the system, and one is held out.

    Of the label that the one held out puts first, the mean log probability.
    """
    frame = pd.read_csv(shared / "dermatology" / "rankings.csv")
    reader = frame["annotator"].str.split("_").str[1].astype(int)
    cases = sorted(frame["item"][reader == 4].unique())[:200]
    frame, reader = frame[frame["item"].isin(cases)], reader[frame["item"].isin(cases)]
    names = {"annotator": "annotator", "label": "class", "rank": "rank"}
    ann = dx.annotations(frame[reader.isin([3, 4])], labels=list(range(419)), **names)
    pred = dx.predictions(
        frame[reader == 1].assign(system="one"), label="class", rank="rank"
    )  # fmt: skip
    held_out = frame[(reader == 2) & (frame["rank"] == 1)].drop_duplicates("item")
    held_out = held_out.set_index("item")["class"]

    def score(**options):
        return foreseen(fit(ann, draws=250, tune=250, **options), held_out)

    scores = score(concentration=None), score(), score(predictions=pred)
    assert scores[1] > scores[0] - 0.05
    assert scores[2] > scores[0] + 0.1
