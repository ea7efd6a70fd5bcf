"""Sets of labels: all forms of a table give the same answers, and what is ambiguous is refused."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from refusals import check_refused

import dissensus as dx

TEXT = pd.DataFrame(
    {"item": [1, 1, 2, 2], "annotator": list("abab"), "label": ["x;y", "x", "none", "z; y"]}
)


def read(frame=TEXT, **options):
    return dx.annotations(frame, **{"kind": "set", "separator": ";", "none": "none"} | options)


def test_answers_are_rows_and_labels_are_elements():
    ann = read()
    assert dict(ann.sizes) == {"annotation": 4, "item": 2, "annotator": 2, "label": 4, "element": 3}
    assert ann["element"].values.tolist() == ["x", "y", "z"]
    answers = ann["label"].values[ann["label_code"].values]
    assert answers.tolist() == ["x;y", "x", "none", "y;z"]
    held = ann["member"].values[ann["label_code"].values]
    assert held.astype(int).tolist() == [[1, 1, 0], [1, 0, 0], [0, 0, 0], [0, 1, 1]]
    assert dx.validate(ann) is ann


def test_all_forms_of_a_table_are_one():
    lists = TEXT.assign(label=[["y", "x"], ["x"], [], ["z", "y"]])
    rows = lists.explode("label").fillna({"label": "none"})
    for frame, options in (
        (lists, {"separator": None}), (lists.assign(label=lists["label"].map(set)), {}),
        (rows, {"separator": None}), (rows.sample(frac=1, random_state=1), {}),
        (dx.to_dataframe(read()), {}),
    ):  # fmt: skip
        ann = read(frame, **options)
        table = dx.to_dataframe(ann).sort_values(["item", "annotator"])
        assert table["label"].tolist() == ["x;y", "x", "none", "y;z"]


def test_files_are_read_as_tables(tmp_path):
    path = tmp_path / "a.csv"
    TEXT.to_csv(path, index=False)
    ann = dx.read_annotations(path, kind="set", separator=";", none="none")
    xr.testing.assert_equal(ann, read())
    path.write_text("item,annotator,label\n1,a,x;y\n1,b,\n")
    with pytest.raises(dx.AnnotationError, match=r"a.csv: column 'label', line 3: .*none="):
        dx.read_annotations(path, kind="set", separator=";")
    with pytest.raises(dx.AnnotationError, match="separator: expected None, unless"):
        dx.read_annotations(path, separator=";")


def test_labels_with_commas_are_no_sets():
    towns = ["Paris, France", "Lyon, France", "Paris, Texas", "Lyon, Texas"]
    frame = {"item": range(4), "annotator": ["a"] * 4, "label": towns}
    ann = dx.annotations(frame, kind="set", separator=";")
    assert sorted(ann["element"].values) == sorted(towns)


def test_labels_may_contain_another_separator():
    places = ["left, upper", "left, lower", "right, upper", "right, lower"]
    space = [places[0], "left", "upper"]
    for labels, options in (
        (places[:2] * 2, {}), ([[place] for place in places], {}), (places, {"labels": places}),
        (["left, upper;left", "upper", "left", "left, upper"], {"labels": space}),
        (["left, upper;left", "upper", "left", "left, upper"], {}),
    ):  # fmt: skip
        ann = read(TEXT.assign(label=labels), **options)
        assert set(ann["element"].values.tolist()) <= {*places, *space}


def test_the_label_space_and_numbers_are_kept():
    ann = read(labels=["z", "y", "x", "w"])
    assert ann["element"].values.tolist() == ["z", "y", "x", "w"]
    assert ann["label"].values[ann["label_code"].values].tolist()[0] == "y;x"
    numbers = read(TEXT.assign(label=[[1, 2], [2], [], [3]]))
    assert numbers["element"].dtype.kind == "i"
    assert read(TEXT.assign(label=[[], [], [], []]), labels=["x"])["member"].values.sum() == 0


def test_other_columns_come_along():
    frame = TEXT.assign(patient=[7, 7, 8, 8], sure=[1, 0.5, 0.5, 1])
    rows = frame.assign(label=frame["label"].str.split(";")).explode("label")
    ann = read(rows, separator=None, cluster="patient", confidence="sure")
    assert ann["cluster_code"].values.tolist() == [0, 1]
    assert ann["confidence"].values.tolist() == [1, 0.5, 0.5, 1]
    twice = pd.concat([frame.assign(time=1), frame.assign(time=2)])
    assert read(twice, trial="time").sizes["annotation"] == 8


def row(**columns):
    return pd.concat([TEXT, pd.DataFrame({"item": [1], "annotator": ["a"]} | columns)])


LISTS = TEXT.assign(label=[["x", "y"], ["x"], [], ["z"]])


def labelled(*cells, **options):
    return read(TEXT.assign(label=pd.Series(list(cells), dtype=object)), **options)


CASES = [
    ("a label twice", lambda: read(row(label=["x"])),
     r"rows 0 and 4 \(item 1, annotator 'a'\): expected one row for each answer, or rows of one"),
    ("a label twice in rows", lambda: read(pd.concat([TEXT[1:2], TEXT[1:2], TEXT[3:]])),
     r"rows 0 and 1: expected each label once in an answer; found 'x' twice"),
    ("a label twice in a row", lambda: labelled("x;x", "x", "y", "z"), "row 0: expected each lab"),
    ("none beside a label", lambda: read(row(label=["none"])), "rows 0 and 4"),
    ("empty twice", lambda: read(pd.concat([TEXT, TEXT[2:3]])), "rows 2 and 4 .*one row for each"),
    ("lists of one answer", lambda: read(pd.concat([LISTS, LISTS[1:2]])), "rows 1 and 4"),
    ("none in a compound", lambda: labelled("x;none", "x", "y", "z"),
     "row 0: expected labels, or the word of none= alone, .* found 'x;none'"),
    ("none in a list", lambda: labelled(["x", "none"], "x", "y", "z"), "the word of none= alone"),
    ("none in capitals", lambda: labelled("None", "x", "y", "z"), "the word of none= alone"),
    ("none as a label", lambda: read(labels=["none", "x", "y", "z"]), "labels: expected labels w"),
    ("none with a separator", lambda: read(none="a;b"), "none: expected a word or number"),
    ("none of several", lambda: read(none=["none"]), "none: expected a word or number"),
    ("no separator", lambda: read(separator=None),
     "expected labels without ';'; found .*pass separator=';'"),
    ("entries of lists", lambda: labelled(["a;b"], ["a"], ["a"], ["b"]),
     "expected labels without ';'; found 'a;b'. Pass a separator= that is in no label"),
    ("another separator", lambda: labelled("x;y", "y;x", "z", "none", separator=","),
     "separator: expected text that separates .* found ',' in no answer, but answers such as "
     "'x;y' and 1 more. .*pass separator=';'. .*name all labels with labels="),
    ("another separator, once", lambda: labelled("x, y", "x", "y", "none"), "separator=','"),
    ("nothing between", lambda: read(TEXT.assign(label="x;;y")),
     "row 0: expected a label before and after each ';'"),
    ("a blank", lambda: labelled("x", "", "y", "z"),
     "row 1: expected a label, a list of labels, or the word given with none=; found ''"),
    ("missing", lambda: labelled("x", None, "y", "z"), "row 1: expected a label"),
    ("missing, as pandas has it", lambda: read(
        TEXT.assign(label=pd.array(["x", pd.NA, "y", "z"], dtype="string"))), "row 1: expected a"),
    ("missing in a list", lambda: labelled(["x", "y"], ["x"], ["z", np.nan], ["y"]),
     "row 2: expected a label"),
    ("not missing, but nan", lambda: labelled("x", np.nan, "y", "z", none="nan"), "none: expected"),
    ("mappings", lambda: labelled({"x": 1}, "x", "y", "z"), "row 0: expected a label"),
    ("lists as text", lambda: labelled('["x"]', "x", "y", "z"), "row 0: .*json.loads"),
    ("several kinds", lambda: labelled("1;x", "x", 3, "y"), "column 'label', rows? .*2"),
    ("outside the space", lambda: read(labels=["x", "y"]), "row 3: expected labels of labels="),
    ("all empty", lambda: read(TEXT.assign(label="none")), "expected at least one label in some"),
    ("the name of none", lambda: labelled("(none)", "x", "y", "z", none=None),
     "labels other than .*none="),
    ("separator of blanks", lambda: read(separator=" "), "separator: expected text between labels"),
    ("rank", lambda: read(TEXT.assign(r=1), rank="r"), "rank: expected None with kind=\"set\""),
    ("separator without sets", lambda: dx.annotations(TEXT, separator=";"),
     "separator: expected None, unless kind=\"set\"; found ';'. If an answer can contain"),
    ("rows without sets", lambda: dx.annotations(pd.concat([TEXT, TEXT])), 'pass kind="set"'),
    ("two confidences", lambda: read(
        pd.concat([TEXT[1:], TEXT[1:2].assign(label="z")]).assign(c=[1, 1, 1, 0.5]),
        confidence="c"),
     r"column 'c', row 3 \(item 1, annotator 'b'\): expected one value in all rows of an answer"),
    ("a confidence outside", lambda: read(
        pd.concat([TEXT[1:2], TEXT[1:2].assign(label="z"), TEXT[2:]]).assign(c=[1, 1, 1, 7]),
        confidence="c"), "column 'c', row 3"),
    ("one and true", lambda: read(TEXT.assign(item=[1, 1, True, 2])), "column 'item', rows 0 and"),
    ("no member", lambda: dx.validate(read().drop_vars("member")), "expected the variables"),
    ("counts as member", lambda: dx.validate(read().assign(member=read()["member"] * 2)),
     "member: expected true or false over"),
    ("fewer elements", lambda: dx.validate(read().sel(element=["x"])),
     "member, answer 'y;z': expected the labels in the name of the answer"),
    ("a format", lambda: dx.read_annotations("x.csv", "wide", kind="set"), "Read the table with"),
    ("a model", lambda: dx.models.dirichlet.fit(read()), '"masi": krippendorff_alpha'),
    ("a plan", lambda: dx.plan(read()), r"dissensus\.by_label"),
    ("another statistic", lambda: dx.percent_agreement(read()), r"dissensus\.by_label"),
]  # fmt: skip


def test_forms_that_are_easily_confused():
    assert read(separator="; ")["element"].values.tolist() == ["x", "y", "z"]
    zero = labelled(1.0, 0.0, 2.0, 3.0, none="0", separator=None)
    assert zero["element"].values.tolist() == [1, 2, 3]
    grades = pd.Categorical(["lo", "hi", "mid", "hi"], ["lo", "mid", "hi", "max"], ordered=True)
    ordered = read(TEXT.assign(label=grades))
    assert ordered["element"].values.tolist() == ["lo", "mid", "hi", "max"]
    assert labelled(" x", "x", "y", "x ")["element"].values.tolist() == ["x", "y"]
    assert dx.validate(dx.from_matrix([["a", "b"]]).assign(member=1)).attrs["kind"] == "nominal"


def test_refusals_say_what_is_wrong():
    check_refused(dx.DissensusError, CASES)


def simulated():
    """Return rows (item, annotator, set) with some missing answers, as in the reference values."""
    rng, labels, rows = np.random.default_rng(3), list("abcdef"), []
    for item in range(60):
        base = set(rng.choice(labels, rng.integers(1, 4), replace=False))
        for annotator in "xyzw":
            if rng.random() < 0.2:
                continue
            held = set(base)
            for label in labels:
                if rng.random() < 0.15:
                    held ^= {label}
            rows.append((item, annotator, held or {"a"}))
    return pd.DataFrame(rows, columns=["item", "annotator", "label"])


# Of nltk 3.10.4: AnnotationTask(data=[(annotator, item, frozenset), ...], distance=...).alpha()
# with jaccard_distance and masi_distance, on these rows.
NLTK = {"jaccard": 0.3207624118076703, "masi": 0.24595312546423742}


@pytest.mark.parametrize("distance", ["jaccard", "masi"])
def test_alpha_is_that_of_nltk(distance):
    alpha = dx.krippendorff_alpha(read(simulated()), distance=distance)
    assert float(alpha) == pytest.approx(NLTK[distance], abs=1e-10)
    assert alpha.attrs["distance"] == distance


def apart(a, b, distance):
    if not a | b:
        return 0.0
    share = len(a & b) / len(a | b)
    if distance == "jaccard":
        return 1 - share
    m = 1 if a == b else 2 / 3 if a <= b or b <= a else 1 / 3 if a & b else 0
    return 1 - (m if a & b else 0) * share


@pytest.mark.parametrize("distance", ["jaccard", "masi"])
@pytest.mark.parametrize("block", [1, 10**9])
def test_alpha_is_that_of_all_pairs(distance, block, monkeypatch):
    monkeypatch.setattr("dissensus.statistics._sets._ENTRIES", block)
    frame = simulated()[:80]
    frame.loc[frame.index % 9 == 0, "label"] = [set()] * (frame.index % 9 == 0).sum()
    frame = frame[frame.groupby("item")["item"].transform("size") > 1]
    observed, values = 0.0, frame["label"].tolist()
    for _, rows in frame.groupby("item"):
        sets = rows["label"].tolist()
        observed += sum(apart(a, b, distance) for a in sets for b in sets) / (len(sets) - 1)
    expected = sum(apart(a, b, distance) for a in values for b in values) / (len(values) - 1)
    alpha = dx.krippendorff_alpha(read(frame, separator=None), distance=distance)
    assert float(alpha) == pytest.approx(1 - observed / expected, abs=1e-12)


def test_weights_and_the_bootstrap_take_sets():
    ann = read(simulated())
    draws = dx.bayesian_bootstrap(
        dx.krippendorff_alpha, ann, distance="masi", draws=300, random_seed=1
    )
    assert float(draws.mean()) == pytest.approx(NLTK["masi"], abs=0.02)
    assert 0.01 < float(draws.std()) < 0.1
    twice = pd.concat([simulated(), simulated().assign(item=lambda x: x["item"] + 100)])
    counted = dx.krippendorff_alpha(ann, distance="masi", weights=np.full(60, 2))
    assert float(counted) == pytest.approx(
        float(dx.krippendorff_alpha(read(twice), distance="masi"))
    )


def test_distances_are_for_sets_and_levels_for_others():
    ann = read(simulated())
    xr.testing.assert_identical(
        dx.krippendorff_alpha(ann), dx.krippendorff_alpha(ann, distance="jaccard")
    )
    check_refused(dx.ArgumentError, [
        ("level", lambda: dx.krippendorff_alpha(ann, level="nominal"), "level: expected None"),
        ("name", lambda: dx.krippendorff_alpha(ann, distance="dice"), "distance: .*'masi'"),
        ("labels", lambda: dx.krippendorff_alpha(dx.from_matrix([[1, 2]]), distance="masi"),
         "distance: expected None, unless annotations are sets"),
    ])  # fmt: skip


# Systems that predict sets.


def system_sets(seed=5):
    """Return sets of two systems for the items of `simulated`: some empty, some as annotators."""
    rng = np.random.default_rng(seed)
    rows = [
        (item, system, set(rng.choice(list("abcdef"), rng.integers(0, 4), replace=False).tolist()))
        for item in range(60) for system in ("m", "n")
    ]  # fmt: skip
    return pd.DataFrame(rows, columns=["item", "system", "label"])


def predicted(frame=None, **options):
    frame = system_sets() if frame is None else frame
    return dx.predictions(frame, kind="set", **options)


def test_predicted_sets_are_lists_without_order():
    pred = predicted()
    given = {(row.item, row.system): row.label for row in system_sets().itertuples()}
    for (item, system), held in given.items():
        code = pred["label_code"].sel(item=item, system=system).to_numpy()
        assert set(pred["label"].values[code[code >= 0]].tolist()) == held
    assert pred.attrs == {"kind": "set", "separator": ";", "none": "(none)"}
    table = dx.to_dataframe(pred)
    back = dx.predictions(table, kind="set", separator=";", none="(none)")
    xr.testing.assert_identical(back, pred)
    xr.testing.assert_identical(dx.validate(pred), pred)


def test_all_forms_of_predicted_sets_are_one(tmp_path):
    text = system_sets().assign(label=lambda x: x["label"].map(lambda s: ";".join(sorted(s))))
    text["label"] = text["label"].replace("", "none")
    whole = predicted(text, separator=";", none="none")
    rows = text.assign(label=text["label"].str.split(";")).explode("label")
    xr.testing.assert_identical(predicted(rows, none="none"), whole)
    text.to_csv(tmp_path / "sets.csv", index=False)
    read_back = dx.read_predictions(tmp_path / "sets.csv", kind="set", separator=";", none="none")
    xr.testing.assert_identical(read_back.drop_attrs(), whole.drop_attrs())
    few = predicted(text[1:], separator=";", none="none", on_missing="drop")
    assert few.attrs["items_dropped"] == 1


@pytest.mark.parametrize("distance", ["jaccard", "masi"])
def test_discrepancies_are_means_over_pairs(distance):
    frame, answers = simulated(), system_sets()
    frame.loc[frame.index % 9 == 0, "label"] = [set()] * (frame.index % 9 == 0).sum()
    ann, pred = read(frame, separator=None), predicted(answers)
    within, of_system = [], {"m": [], "n": []}
    own = answers.set_index(["item", "system"])["label"]
    for item, rows in frame.groupby("item"):
        sets = rows["label"].tolist()
        if len(sets) < 2:
            continue
        pairs = [apart(a, b, distance) for i, a in enumerate(sets) for b in sets[:i]]
        within.append(np.mean(pairs))
        for name, held in of_system.items():
            held.append(np.mean([apart(own[item, name], labels, distance) for labels in sets]))
    result = dx.discrepancy_ratio(ann, pred, distance=distance)
    assert float(result["annotator_discrepancy"]) == pytest.approx(np.mean(within))
    for name, held in of_system.items():
        ratio = result["discrepancy_ratio"].sel(system=name)
        assert float(ratio) == pytest.approx(np.mean(held) / np.mean(within))
    drawn = dx.bayesian_bootstrap(
        dx.discrepancy_ratio, ann, pred, distance=distance, draws=200, random_seed=1
    )
    assert drawn["discrepancy_ratio"].sizes == {"chain": 1, "draw": 200, "system": 2}


def test_jaccard_is_the_default_and_annotators_are_compared_too():
    ann, pred = read(simulated()), predicted()
    xr.testing.assert_identical(
        dx.discrepancy_ratio(ann, pred), dx.discrepancy_ratio(ann, pred, distance="jaccard")
    )
    masi = dx.annotator_discrepancy_ratio(ann, distance="masi")
    assert not masi.equals(dx.annotator_discrepancy_ratio(ann))
    # A system that answers as one of the annotators is as close to the others as that one is.
    frame = simulated()
    copied = frame[frame["annotator"] == "x"].drop(columns="annotator").assign(system="copy")
    both = frame[frame["item"].isin(copied["item"])]
    advantage = dx.advantage_probability(read(both), predicted(copied))
    assert float(advantage.sel(system="copy", annotator="x")) == 1.0


def test_a_system_may_find_nothing_anywhere():
    ann = read(simulated())
    never = system_sets().groupby("item").head(1).assign(system="never", label=[set()] * 60)
    both = predicted(pd.concat([system_sets(), never]))
    ratio = dx.discrepancy_ratio(ann, both)["system_discrepancy"].sel(system="never")
    assert float(ratio) == 1.0  # annotators of `simulated` always find something
    alone = dx.discrepancy_ratio(ann, both.sel(system=["never"]))
    assert alone["system_discrepancy"].item() == 1.0


def test_separators_with_blanks_on_both_sides_keep_them():
    ann = dx.annotations(
        {"item": [1, 1], "annotator": ["x", "y"], "label": ["n/a / joy", "joy  /  n/a"]},
        kind="set", separator=" / ",
    )  # fmt: skip
    assert ann["element"].values.tolist() == ["joy", "n/a"]
    assert ann["label"].values.tolist() == ["joy / n/a"]


def test_wide_tables_of_sets_are_read(tmp_path):
    (tmp_path / "wide.csv").write_text("item,m,n\n1,joy;love,joy\n2,none,love\n")
    pred = dx.read_predictions(tmp_path / "wide.csv", kind="set", separator=";", none="none")
    assert dx.to_dataframe(pred)["label"].tolist() == ["joy;love", "joy", "none", "love"]


def test_the_word_for_none_is_no_category():
    frame = pd.DataFrame({"item": [1, 2], "annotator": ["x", "x"]})
    frame["label"] = pd.Categorical(["none", "b"], ["none", "b", "a"], ordered=True)
    ann = dx.annotations(frame, kind="set", none="none")
    assert ann["element"].values.tolist() == ["b", "a"]


def test_an_annotators_repeated_answers_are_averaged():
    frame = pd.DataFrame({
        "item": [1, 1, 1], "annotator": ["x", "x", "y"], "trial": [1, 2, 1],
        "label": ["a", "a;b", "b"],
    })  # fmt: skip
    ann = read(frame, trial="trial")
    ratio = dx.discrepancy_ratio(ann, predicted(pd.DataFrame(
        {"item": [1], "system": ["m"], "label": ["b"]}
    )))  # fmt: skip
    assert float(ratio["annotator_discrepancy"]) == pytest.approx((1 + 0.5) / 2)
    assert ratio["system_discrepancy"].item() == pytest.approx(((1 + 0.5) / 2 + 0) / 2)


def test_refusals_of_predicted_sets():
    ann, pred = read(simulated()), predicted()
    labels = dx.from_matrix([["a", "b"]] * 60)
    columns = {"item": [1, 1], "system": ["m", "m"]}
    check_refused(dx.PredictionError, [
        ("nominal", lambda: dx.naive_accuracy(labels, pred), "found sets of labels"),
        ("metric", lambda: dx.top_k_accuracy(THETA, pred), "found sets of labels"),
        ("model", lambda: dx.models.dirichlet.fit(labels, predictions=pred), "found sets"),
        ("evaluate", lambda: dx.evaluate(labels, pred), "found sets of labels"),
        ("distance", lambda: dx.discrepancy_ratio(labels, pred, "nominal"), "found sets"),
        ("separator", lambda: dx.predictions(system_sets(), separator=";"), "separator: .*kind="),
        ("none", lambda: dx.predictions(system_sets(), none="x"), "none: .*kind="),
        ("score", lambda: predicted(score="label"), "kind: expected .*score= or rank="),
        ("another separator", lambda: predicted(
            {"item": [1, 2], "system": ["m", "m"], "label": ["a|b", "b|a"]}, separator=";"),
         r"separator: .*pass separator='\|'. .*give answers as lists"),
        ("mixed", lambda: predicted({**columns, "label": ["a;b", "c"]}, separator=";"),
         r"rows 0 and 1 \(item 1, system 'm'\).*one row for each answer"),
        ("twice", lambda: predicted({**columns, "label": ["a", "a"]}), "each label once"),
        ("empty", lambda: predicted({"item": [1], "system": ["m"], "label": [[]]}), "empty sets"),
        ("missing", lambda: predicted(system_sets()[1:]), "1 items without one"),
        ("tool", lambda: dx.read_predictions("x.json", "deepeval", kind="set"), "no sets"),
        ("row by row", lambda: predicted({"item": [1, 1, 2], "system": ["m", "n", "m"],
                                          "label": ["a", "b", "a"]}),
         "add a row with the word passed as none="),
        ("nominal text", lambda: dx.discrepancy_ratio(ann, JOINED),
         "predictions without ';'.*found 'a;b'"),
        ("others' none", lambda: dx.discrepancy_ratio(ann, NO_A), "'a' means no label; found 'a'"),
        ("others' text", lambda: dx.discrepancy_ratio(
            dx.from_matrix([["a;b", "a"]] * 60), pred, "jaccard"), "Read both with kind="),
        ("ranking", lambda: dx.discrepancy_ratio(ann, LISTED), "expected sets.*kind 'ranking'"),
        ("numbers", lambda: dx.discrepancy_ratio(ann, NUMBERS), "expected sets.*'continuous'"),
        ("attributes", lambda: dx.validate(pred.drop_attrs().assign_attrs(kind="set")),
         "attrs.*separator"),
        ("blocks", lambda: dx.validate(LISTED.assign_attrs(pred.attrs)), "one block in each set"),
        ("words", lambda: dx.validate(pred.assign_attrs(none="b")), "other than 'b'"),
    ])  # fmt: skip


def of_one(label, **options):
    given = {"item": range(60), "system": ["m"] * 60, "label": [label] * 60, "rank": [1] * 60}
    return dx.predictions(pd.DataFrame(given), **options)


JOINED, NO_A = of_one("a;b"), dx.predictions(
    pd.DataFrame({"item": range(60), "system": "m", "label": ["a", "b"] * 30}), kind="set", none="a"
)  # fmt: skip
LISTED, NUMBERS = dx.predictions(
    {"item": [0, 0], "system": ["m", "m"], "label": ["a", "b"], "rank": [1, 2]}, rank="rank"
), of_one(1.5)  # fmt: skip
LISTED = xr.concat([LISTED.assign_coords(item=[k]) for k in range(60)], "item", data_vars="minimal")
THETA = xr.DataArray(
    np.full((1, 1, 60, 2), 0.5), dims=("chain", "draw", "item", "label"),
    coords={"item": range(60), "label": ["a", "b"]},
)  # fmt: skip


WIDE = {"item": [1, 1, 2, 2], "annotator": list("abab"), "x": [1, 1, 0, 0], "y": [1, 0, 0, 1],
        "z": [0, 0, 0, 1]}  # fmt: skip


@pytest.mark.parametrize("form", ["numbers", "flags", "text", "fractions", "frame"])
def test_a_column_for_each_label_is_read(form, tmp_path):
    ways = {"numbers": int, "flags": bool, "text": str, "fractions": float, "frame": int}
    wide = {
        name: [ways[form](value) for value in values] if name in "xyz" else values
        for name, values in WIDE.items()
    }
    wide = pd.DataFrame(wide) if form == "frame" else wide
    expected = read().drop_vars("label").drop_attrs()
    for actual in (dx.annotations(wide, kind="set"), dx.annotations(wide, kind="set", none="none")):
        xr.testing.assert_identical(actual.drop_vars("label").drop_attrs(), expected)
    pd.DataFrame(wide).to_csv(tmp_path / "wide.csv", index=False)
    actual = dx.read_annotations(tmp_path / "wide.csv", kind="set")
    np.testing.assert_array_equal(actual["member"], expected["member"])
    np.testing.assert_array_equal(actual["label_code"], expected["label_code"])
    systems = {name: values for name, values in wide.items() if name != "annotator"}
    systems = {"item": list("pqrs"), "system": ["m"] * 4} | {k: systems[k] for k in "xyz"}
    text = {"item": list("pqrs"), "system": ["m"] * 4, "label": ["x;y", "x", "none", "z;y"]}
    words = {"kind": "set", "separator": ";", "none": "none"}
    mine = dx.predictions(systems, kind="set")
    xr.testing.assert_identical(mine.drop_attrs(), dx.predictions(text, **words).drop_attrs())
    pd.DataFrame(systems).to_csv(tmp_path / "systems.csv", index=False)
    pd.DataFrame(systems).drop(columns="system").to_csv(tmp_path / "nobody.csv", index=False)
    with pytest.raises(dx.FormatError, match="found only 0 and 1 in 'x', 'y', 'z'"):
        dx.read_predictions(tmp_path / "nobody.csv", kind="set")
    again = dx.read_predictions(tmp_path / "systems.csv", kind="set")
    np.testing.assert_array_equal(again["label_code"], mine["label_code"])


def test_the_columns_that_are_labels_can_be_named():
    wide = WIDE | {"note": list("wxyz"), "never": [0, 0, 0, 0]}
    result = dx.annotations(wide, kind="set", labels=["z", "y", "x", "never"])
    assert result["element"].values.tolist() == ["z", "y", "x", "never"]
    assert result["member"].values[result["label_code"].values].sum(0).tolist() == [1, 2, 2, 0]


def test_columns_that_are_no_labels_are_refused():
    no_label = r"there is no column 'label', so that each column is a label; found"
    check_refused(dx.AnnotationError, [
        ("a number", lambda: dx.annotations(WIDE | {"y": [1, 2, 0, 0]}, kind="set"),
         rf"column 'y', row 1: expected 0 or 1: {no_label} 2\. Name the column of labels"),
        ("missing", lambda: dx.annotations(WIDE | {"y": [1, 0, None, 0]}, kind="set"),
         r"column 'y', row 2: expected 0 or 1"),
        ("text", lambda: dx.annotations(WIDE | {"note": list("wxyz")}, kind="set"),
         r"column 'note', row 0: .*or the columns that are labels with labels="),
        ("no labels", lambda: dx.annotations(
            {"item": [1, 2], "annotator": ["a", "a"], "p": ["u", "v"], "q": ["w", "w"]}, kind="set"
        ), r"column 'label': expected a column of this name"),
        ("another kind", lambda: dx.annotations(WIDE), r"column 'label': expected a column"),
    ])  # fmt: skip
