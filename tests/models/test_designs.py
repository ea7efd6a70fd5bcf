"""Designs that leave something to priors are told before sampling; ordinary ones are not."""

from __future__ import annotations

import warnings
from functools import cache

import numpy as np
import pytest
import xarray as xr

import dissensus as dx
from dissensus.families.crossed.design import unequal_noise
from dissensus.models import (
    cross_replication,
    crossed_effects,
    dawid_skene,
    rasch,
    symmetric_confusion,
)
from dissensus.sampling.design import near_guessing

EVERYBODY = [(i, a) for i in range(12) for a in "abcd"]
ISLANDS = [(i, a) for i in range(6) for a in "abc"] + [(i, a) for i in range(6, 12) for a in "def"]
NESTED = [(i, "abcd"[i % 4]) for i in range(12)]
AGAIN = [(i, "abcdefghijkl"[i]) for i in range(12) for _ in range(2)]
STRANGER = [(i, a) for i in range(9) for a in "abc"] + [(i, "z") for i in range(9, 12)]
PAIR = [(i, a) for i in range(12) for a in "ab"]
ONE = [(i, "a") for i in range(6)] * 2
EXPERT = [(i, a) for i in range(12) for a in ("a", "bcd"[i % 3])]
STRAGGLER = [(i, a) for i in range(40) for a in "abc"] + [(99, "y"), (99, "z")]


def labels(rows, **more):
    """Labels that differ, of who labelled what."""
    rng = np.random.default_rng(3)
    table = {"item": [i for i, _ in rows], "annotator": [a for _, a in rows]}
    table["trial"] = list(range(len(rows)))
    answers = rng.choice(["n", "y"], len(rows)).tolist()
    answers[:2] = ["n", "y"]
    more |= {"trial": "trial"} if len(set(rows)) < len(rows) else {}
    pool = more.pop("pool", None)
    table |= {"label": answers} | ({} if pool is None else {"pool": pool})
    named = {"pool": None if pool is None else "pool", **more}
    return dx.annotations(table, kind="nominal", labels=["n", "y"], **named)


def warnings_of(model, ann, **options):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.build(ann, **options)
    assert all(issubclass(record.category, dx.DesignWarning) for record in caught)
    return " ".join(str(record.message) for record in caught)


CROSSED = (crossed_effects, {"family": "bernoulli"})
RASCH = (rasch, {})
OWN = (symmetric_confusion, {"accuracy": "annotator"})
SHARED = (symmetric_confusion, {})
MATRICES = (dawid_skene, {})
COMPLETE = (dawid_skene, {"pooling": "complete"})


@pytest.mark.parametrize("how", [CROSSED, RASCH, OWN, SHARED, MATRICES])
def test_ordinary_designs_are_left_in_peace(how):
    assert warnings_of(how[0], labels(EVERYBODY), **how[1]) == ""


REPEATED = [(i, a) for i in range(12) for a in "abc" for _ in range(2)]


@pytest.mark.parametrize("anonymous", [False, True])
def test_repeated_labels_are_not_independent(anonymous):
    result = warnings_of(crossed_effects, labels(REPEATED), family="bernoulli", anonymous=anonymous)
    assert "36 of 72 labels repeat a label by the same annotator" in result
    assert "sigma_item and ICC are too high" in result
    few = [*EVERYBODY, (0, "a")]  # 1 of 49
    assert warnings_of(crossed_effects, labels(few), family="bernoulli") == ""


def test_labels_of_two_pools_are_not_repeated():
    pool = [p for p in "xy" for _ in EVERYBODY]
    rows = [(i, f"{a}{p}") for p in "xy" for i, a in EVERYBODY]
    assert "repeat" not in warnings_of(
        cross_replication, labels(rows, pool=pool), family="bernoulli", anonymous=True
    )


def test_items_of_a_cluster_are_not_independent():
    table = {"item": [i for i, _ in EVERYBODY], "annotator": [a for _, a in EVERYBODY]}
    table |= {"label": [(i * 7 + ord(a)) % 5 * 1.0 for i, a in EVERYBODY]}
    table |= {"patient": [i // 3 for i, _ in EVERYBODY]}
    ann = dx.annotations(table, cluster="patient", kind="continuous")
    result = warnings_of(crossed_effects, ann)
    assert "also items of the same cluster (4 clusters)" in result
    assert "ICC and xCC are too narrow for new items" in result
    own = dx.annotations(table | {"patient": table["item"]}, cluster="patient", kind="continuous")
    assert warnings_of(crossed_effects, own) == ""


def noisy(rng, spread, n_items=120, n_annotators=12):
    """Numbers of all annotators on all items, whose noise has a log sd of ``spread``."""
    item, who = (axis.ravel() for axis in np.indices((n_items, n_annotators)))
    sd = np.exp(spread * rng.normal(size=n_annotators))
    return rng.normal(size=n_items)[item] + sd[who] * rng.normal(size=len(item)), item, who


def test_intervals_of_sigma_are_too_narrow_by_what_studies_with_other_annotators_differ():
    """The mean residual variance of 400 studies varies so much more than the model says."""
    rng = np.random.default_rng(2)
    variances, factors = [], []
    for _ in range(400):
        value, item, who = noisy(rng, 0.3)
        actual = unequal_noise(value, item, who)
        factors.append(1.0 if actual is None else actual[1])
        table = value.reshape(120, 12)
        rest = table - table.mean(axis=1, keepdims=True) - table.mean(axis=0) + table.mean()
        variances.append((rest**2).sum() / (119 * 11))
    v = np.array(variances)
    expected = v.std() / (v.mean() * np.sqrt(2 / (119 * 11)))
    assert np.sqrt(np.mean(np.square(factors))) == pytest.approx(expected, rel=0.1)
    alike = [unequal_noise(*noisy(rng, 0.0)) for _ in range(300)]
    assert sum(actual is not None for actual in alike) <= 2  # .3 expected


def test_noise_that_differs_by_annotator_is_told():
    value, item, who = noisy(np.random.default_rng(4), 0.4)
    table = {"item": item, "annotator": [f"p{k}" for k in who], "label": value}
    result = warnings_of(crossed_effects, dx.annotations(table, kind="continuous"))
    sd, factor = unequal_noise(value, item, who)
    assert f"residuals go from {sd.min():.3g} ('p{sd.argmin()}')" in result
    assert f"by a factor of at least about {factor:.2g}" in result
    assert "noise" not in warnings_of(
        crossed_effects, dx.annotations(table, kind="continuous"), anonymous=True
    )


def test_noise_that_a_model_has_is_not_told_nor_heavy_tails_of_all():
    rng = np.random.default_rng(6)
    value, item, who = noisy(rng, 0.0)
    wide = np.where(who < 6, value, 3 * value)  # a sigma of each pool
    table = {"item": item, "annotator": [f"p{k}" for k in who], "label": wide}
    table |= {"pool": ["xy"[int(k >= 6)] for k in who]}
    ann = dx.annotations(table, kind="continuous", pool="pool")
    assert "noise" not in warnings_of(cross_replication, ann, residual="pool")
    text = warnings_of(cross_replication, ann)
    assert "residuals is 0.999 in pool 'x' and 3.07 in pool 'y'" in text
    assert text.count("noise") == 1 and text.endswith('Use residual="pool".')
    grades = np.digitize(wide, [-3.0, -1.0, 0.0, 1.0, 3.0])
    ann = dx.annotations(table | {"label": grades}, kind="ordinal", pool="pool")
    assert "ICC of pool 'x' is too low" in warnings_of(cross_replication, ann, family="ordinal")
    # People in both pools, with an effect in each.
    both = {"item": np.tile(item, 2), "annotator": [f"p{k}" for k in np.tile(who, 2)],
            "label": np.r_[value, value + 3 * rng.normal(size=12)[who]],
            "pool": np.repeat(["x", "y"], len(item))}  # fmt: skip
    ann = dx.annotations(both, kind="continuous", pool="pool")
    assert "noise" not in warnings_of(cross_replication, ann, shared_annotators=True)
    tails = [rng.standard_t(4, size=len(item)) for _ in range(200)]
    assert sum(unequal_noise(value, item, who) is not None for value in tails) <= 10


@cache
def simulated():
    """Studies as the library simulates them, by what can be fitted to them."""
    sparse = {"n_items": 100, "n_annotators": 30, "labels_per_item": 3, "random_seed": 1}
    crowd = dx.simulate.confusion_study(n_labels=2, **sparse)
    numbers = dx.simulate.replication_study(**sparse).annotations
    pools = dx.simulate.replication_study(
        100, [20, 20], [3, 3], correlation=0.8, pools=["old", "new"], overlap=0.5, random_seed=1
    ).annotations
    return [
        (crossed_effects, numbers, {}),
        (cross_replication, pools, {}),
        *((model, crowd.annotations, options)
          for model, options in (CROSSED, RASCH, OWN, MATRICES)),
        *((model, crowd.annotations, {"predictions": crowd.predictions, **options})
          for model, options in (OWN, SHARED, MATRICES)),
    ]  # fmt: skip


@pytest.mark.parametrize("place", range(9))
def test_simulated_studies_of_ordinary_size_are_left_in_peace(place):
    model, ann, options = simulated()[place]
    assert warnings_of(model, ann, **options) == ""


@pytest.mark.parametrize(
    ("how", "rows", "words"),
    [
        (OWN, EXPERT, ["only two at a time ('a', 'b', 'c' and 1 more)"]),
        (MATRICES, PAIR, ["No item has three labels"]),
        (COMPLETE, PAIR, ["No item has three labels"]),
        (RASCH, PAIR, ["only two at a time ('a', 'b')"]),
        (CROSSED, ISLANDS, ["2 groups that share no item ('a', 'b', 'c' | 'd', 'e', 'f')",
                            "ICC and xCC are valid if items were assigned at random"]),
        (CROSSED, NESTED, ["sigma_item cannot be separated from the residual",
                           "annotator ICC is valid"]),
        (CROSSED, AGAIN, ["sigma_item and sigma_annotator cannot be separated", "their sum"]),
        (CROSSED, ONE, ["only one annotator: sigma_annotator, ICC and xCC depend on priors only"]),
        (CROSSED, [(i, f"a{i}{k}") for i in range(6) for k in range(2)],
         ["sigma_annotator cannot be separated from the residual, which is fixed",
          "ICC and xCC are valid"]),
        (RASCH, ISLANDS, ["able annotators and easy items are separated only by the prior"]),
        (RASCH, NESTED, ["no truth is known: the data do not inform abilities"]),
        (RASCH, STRANGER, ["1 of 4 annotators ('z')", "have no known truth"]),
        (OWN, ISLANDS, ["2 groups that share no item", "better than guessing"]),
        (MATRICES, ISLANDS, ["2 groups that share no item"]),
        (OWN, STRANGER, ["1 of 4 annotators ('z') share no item with other annotators"]),
        (OWN, PAIR, ["only two at a time ('a', 'b')"]),
        (MATRICES, NESTED, ["No item has two labels: the data do not inform accuracies"]),
    ],
)  # fmt: skip
def test_what_labels_cannot_tell_is_said_with_names(how, rows, words):
    result = warnings_of(how[0], labels(rows), **how[1])
    for word in words:
        assert word in result
    assert any(advice in result for advice in ("Let ", "Get ", "Do not report", "set anonymous"))


@pytest.mark.parametrize(("how", "rows"), [
    (SHARED, ISLANDS), (SHARED, STRANGER), (SHARED, PAIR), (COMPLETE, ISLANDS),
    (COMPLETE, STRANGER),
])  # fmt: skip
def test_one_accuracy_for_all_needs_no_links(how, rows):
    assert warnings_of(how[0], labels(rows), **how[1]) == ""


@pytest.mark.parametrize("how", [OWN, RASCH])
@pytest.mark.parametrize("rows", [PAIR, STRANGER])
def test_who_labels_items_twice_agrees_with_himself_more_or_less(how, rows):
    result = warnings_of(how[0], labels(rows * 2), **how[1])
    assert "share no item with other annotators" not in result
    assert "two at a time" not in result


@pytest.mark.parametrize("how", [CROSSED, RASCH, OWN, MATRICES])
def test_a_few_stragglers_are_no_groups(how):
    assert "groups that share no item" not in warnings_of(how[0], labels(STRAGGLER), **how[1])


def test_one_system_and_single_labels_leave_open_which_errs():
    table = {"item": list(range(12)), "system": ["s"] * 12, "label": ["n", "y"] * 6}
    pred = dx.predictions(table)
    result = warnings_of(symmetric_confusion, labels(NESTED), predictions=pred)
    assert "only two at a time ('the annotators', 's')" in result
    more = {name: column * 2 for name, column in table.items()}
    two = dx.predictions(more | {"system": ["s"] * 12 + ["t"] * 12})
    assert warnings_of(symmetric_confusion, labels(NESTED), predictions=two) == ""


@pytest.mark.parametrize(
    ("rows", "options", "never"),
    [
        ([(i, "a") for i in range(6)], {}, "is valid"),
        ([(0, a) for a in "abcdef"], {}, "are valid"),
        (NESTED, {"anonymous": True}, "no annotator"),
    ],
)
def test_nothing_is_said_to_stand_that_does_not(rows, options, never):
    result = warnings_of(crossed_effects, labels(rows), family="bernoulli", **options)
    assert "ICC and xCC" in result
    assert never not in result


def test_one_item_is_too_few_for_strangers_too():
    rows = [(0, a) for a in "abcdef"]
    result = warnings_of(crossed_effects, labels(rows), family="bernoulli", anonymous=True)
    assert "only one item: sigma_item, ICC and xCC depend on priors only" in result


def test_systems_that_label_all_items_join_annotators():
    ann = labels(ISLANDS)
    table = {"item": list(range(12)), "system": ["s"] * 12, "label": ["n", "y"] * 6}
    pred = dx.predictions(table)
    assert warnings_of(symmetric_confusion, ann, accuracy="annotator", predictions=pred) == ""
    alone = warnings_of(symmetric_confusion, ann, accuracy="annotator", predictions=pred,
                        evidence="annotators")  # fmt: skip
    assert "2 groups" in alone


def test_known_truths_make_strangers_comparable():
    truth = {i: "n" if i % 2 else "y" for i in range(12)}
    assert "no known truth" not in warnings_of(rasch, labels(STRANGER), truth=truth)
    assert "difficulty_spread depends on its prior" in warnings_of(
        rasch, labels(NESTED), truth=truth
    )


def test_items_without_a_label_are_named():
    whole = labels([*EVERYBODY, (12, "a")])
    actual = warnings_of(crossed_effects, whole.isel(annotation=slice(48)), family="bernoulli")
    assert "1 of 13 items (12) have no label" in actual


def test_labels_that_are_all_the_same():
    rows = {"item": [0, 0, 1, 1], "annotator": list("abab"), "label": ["y"] * 4}
    ann = dx.annotations(rows, kind="nominal", labels=["n", "y"])
    result = warnings_of(crossed_effects, ann, family="bernoulli")
    assert "All labels are 'y'" in result


@pytest.mark.parametrize(("shared", "words"), [(0, "share no item"), (1, "share 1 item."), (5, "")])
def test_pools_with_few_items_in_common_are_named(shared, words):
    rows = [(i, a) for i in range(12) for a in "ab"]
    rows += [(i + 12 - shared, a) for i in range(12) for a in "cd"]
    pool = ["old" if a in "ab" else "new" for _, a in rows]
    result = warnings_of(cross_replication, labels(rows, pool=pool), family="bernoulli")
    if not words:
        assert result.count("Pools") == 0
        return
    assert words in result
    # Of two pools the LKJ prior with shape 1 is uniform over correlations.
    assert "between -0.90 and 0.90" in result


def test_three_pools_have_the_priors_interval_of_a_beta():
    """With shape 1 and three pools (r + 1) / 2 is Beta(1.5, 1.5): its .95 quantile is .9027."""
    rows = [(10 * p + i, "abcdef"[2 * p + k]) for p in range(3) for i in range(8) for k in (0, 1)]
    pool = [str("abcdef".index(a) // 2) for _, a in rows]
    result = warnings_of(cross_replication, labels(rows, pool=pool), family="bernoulli")
    assert "and by other pools" in result
    assert "between -0.81 and 0.81" in result


def test_a_residual_that_pools_share_is_known_if_one_pool_tells_it():
    rng = np.random.default_rng(1)
    rows = [(i, a) for i in range(8) for a in "abc"] + [
        (i, f"z{i}{k}") for i in range(8) for k in (0, 1)
    ]
    table = {"item": [i for i, _ in rows], "annotator": [a for _, a in rows],
             "label": rng.normal(size=len(rows)), "pool": ["old"] * 24 + ["new"] * 16}  # fmt: skip
    ann = dx.annotations(table, pool="pool", kind="continuous")
    assert warnings_of(cross_replication, ann) == ""
    assert "sigma_annotator cannot be separated" in warnings_of(
        cross_replication, ann, residual="pool"
    )


def test_a_known_residual_does_not_part_item_and_annotator_who_met_once():
    rng = np.random.default_rng(1)
    rows = [(i, a) for i in range(8) for a in "abc"] + [(i, f"z{i}") for i in range(8)]
    table = {"item": [i for i, _ in rows], "annotator": [a for _, a in rows],
             "label": rng.normal(size=len(rows)), "pool": ["old"] * 24 + ["new"] * 8}  # fmt: skip
    ann = dx.annotations(table, pool="pool", kind="continuous")
    result = warnings_of(cross_replication, ann)
    assert "Every item of pool 'new' was labelled by one annotator" in result


@pytest.mark.parametrize("n_labels", [2, 3])
def test_cutpoints_that_pools_share_tell_the_scale_if_there_are_two(n_labels):
    rng = np.random.default_rng(1)
    rows = [(i, a) for i in range(8) for a in "abc"] + [
        (i, f"z{i}{k}") for i in range(8) for k in (0, 1)
    ]
    table = {"item": [i for i, _ in rows], "annotator": [a for _, a in rows],
             "label": rng.integers(0, n_labels, len(rows)),
             "pool": ["old"] * 24 + ["new"] * 16}  # fmt: skip
    ann = dx.annotations(table, pool="pool", kind="ordinal", labels=list(range(n_labels)))
    result = warnings_of(cross_replication, ann, family="ordinal")
    assert ("sigma_annotator cannot be separated" in result) == (n_labels == 2)


def test_pools_apart_are_not_groups_as_well():
    rows = [(i, a) for i in range(12) for a in "ab"] + [
        (i + 12, a) for i in range(12) for a in "cd"
    ]
    pool = ["old" if a in "ab" else "new" for _, a in rows]
    result = warnings_of(cross_replication, labels(rows, pool=pool), family="bernoulli")
    assert "share no item" in result
    assert "groups" not in result


def test_a_pool_whose_labels_are_all_the_same_is_named():
    rows = {"item": [0, 0, 1, 1] * 2, "annotator": list("ababcdcd"),
            "label": ["y"] * 4 + ["n", "y"] * 2, "pool": ["old"] * 4 + ["new"] * 4}  # fmt: skip
    ann = dx.annotations(rows, kind="nominal", labels=["n", "y"], pool="pool")
    result = warnings_of(cross_replication, ann, family="bernoulli")
    assert "All labels of pool 'old' are 'y'" in result
    assert "All labels of pool 'new'" not in result


def test_annotators_of_whom_neither_truth_nor_others_tell_are_named():
    truth = {i: "n" if i % 2 else "y" for i in range(0, 12, 4)}  # those of 'a'
    result = warnings_of(rasch, labels(NESTED), truth=truth)
    assert "3 of 4 annotators ('b', 'c', 'd') share no item" in result


# -- After sampling: truths that could be read the other way round -----------------------------


def test_annotators_who_guess_are_found_out():
    rng = np.random.default_rng(5)
    ann = dx.from_matrix(rng.choice(["n", "y"], (60, 4)).tolist(), labels=["n", "y"])
    run = {"draws": 200, "chains": 2, "random_seed": 1, "progressbar": False}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dx.ConvergenceWarning)
        with pytest.warns(dx.DesignWarning, match="with the two labels exchanged") as caught:
            fit = symmetric_confusion.fit(ann, keep_items=False, **run)
    assert fit.attrs["near_guessing"] > 0.1
    assert any("chain by chain" in str(record.message) for record in caught)
    assert dx.summary(fit)["doubt"].str.contains("annotators may be guessing|effective").all()


def test_annotators_who_exchange_labels_are_named():
    draws = np.full((2, 50, 3), 0.8)
    draws[..., 2] = 0.1
    dims, coords = ("chain", "draw", "annotator"), {"annotator": ["a", "b", "c"]}
    with pytest.warns(dx.DissensusWarning, match=r"1 of 3 annotators \('c'\) are right less often"):
        near_guessing(xr.DataArray(draws, dims=dims, coords=coords), 2)


@pytest.mark.parametrize(("n_labels", "words"), [(2, "labels exchanged"), (3, "by chance")])
def test_only_two_labels_can_be_read_the_other_way_round(n_labels, words):
    draws = xr.DataArray(np.full((2, 50), 1 / n_labels), dims=("chain", "draw"))
    with pytest.warns(dx.DesignWarning, match=words) as caught:
        near_guessing(draws, n_labels)
    assert ("labels exchanged" in str(caught[0].message)) == (n_labels == 2)
