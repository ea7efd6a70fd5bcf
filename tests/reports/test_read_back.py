"""Every number in the tables of the page, on the terminal and in the files is that of the draws.

The page is written, its tables are read back, and each cell is held against a number that is
computed here from the draws. A table that has no such numbers below fails the first test.
"""

from __future__ import annotations

import io
import re
from html import unescape

import arviz as az
import everything
import numpy as np
import pandas as pd
import pytest
from rich.console import Console

import dissensus as dx
from dissensus.cli.output import _plain, of_evaluation, write_evaluation
from dissensus.cli.tables import results
from dissensus.reports import average_annotator

pytestmark = pytest.mark.usefixtures("no_pictures")

SAMPLE = list(everything.SAMPLE)
THESE, NEW = everything.SCOPES
ANY = object()
"""A cell that is not a number of draws."""
LEVEL = 0.89


def mean(draws):
    return float(draws.mean())


def ends(draws):
    return tuple(az.eti(draws.to_numpy().ravel(), prob=LEVEL).tolist())


def chance(is_so):
    """Return the share of draws in which something is so."""
    return float(is_so.mean())


def by(values, *, rising=False):
    """Return the names along the one dim of some values, the largest first."""
    (dim,) = values.dims
    order = np.argsort(values.to_numpy() if rising else -values.to_numpy(), kind="stable")
    return values[dim].to_numpy()[order].tolist()


def best(draws, name):
    """Return the probability that no other system is better; ties are shared."""
    top = draws == draws.max("system")
    return mean((top / top.sum("system")).sel(system=name))


def reference(side):
    return side.attrs["reference_reliability"]


def metrics(tree):
    """Return the rows at each reliability, metric after metric."""
    result = []
    for name, draws in tree["metrics"].data_vars.items():
        naive = tree["statistics"][f"naive_{name}"]
        for at in range(draws.sizes["reliability"]):
            these, new = (draws.isel(reliability=at).sel(scope=scope) for scope in (THESE, NEW))
            result.append((at, [
                [s, mean(these.sel(system=s)), ends(these.sel(system=s)), ends(new.sel(system=s)),
                 best(new, s), float(naive.sel(system=s)), *(known(tree, name, d, s)
                                                             for d in (these, new))]
                for s in by(these.mean(SAMPLE))
            ]))  # fmt: skip
    return result


def known(tree, metric, draws, system):
    """Return the known value, as a number and where it stands."""
    if metric not in tree["truth"]:
        return "unknown"
    value = float(tree["truth"][metric].sel(system=system, scope=draws["scope"]))
    low, high = ends(draws.sel(system=system))
    return value, "inside" if low <= value <= high else "above" if value > high else "below"


def verdict(tree):
    draws = tree["metrics"]["top_1_accuracy"].sel(reliability=reference(tree))
    these, new = (draws.sel(scope=scope) for scope in (THESE, NEW))
    answers = tree["answers"]
    more = answers["annotator_agreement"] - answers["human_agreement"]
    truth = tree["truth"]["top_1_accuracy"].sel(scope=THESE)
    largest = tree["posterior"]["plausibility"].max("label").mean("item")
    # Annotators who differ make it less certain: `test_average_annotator`.
    one_more = average_annotator.agreement_with_panel(tree).sel(scope="these items")
    assert abs(float(one_more.mean() - largest.mean())) < 0.01
    systems = [
        [s, mean(these.sel(system=s)), ends(these.sel(system=s)), ends(new.sel(system=s)),
         best(new, s), ends(more.sel(system=s)), float(truth.sel(system=s))]
        for s in by(these.mean(SAMPLE))
    ]  # fmt: skip
    # New items are those of weights that the page draws: `test_average_annotator`.
    annotator = ["An annotator", mean(one_more), ends(one_more), ANY, "", "", ""]
    return [(None, systems), (None, [annotator])]


def better(tree):
    draws = tree["metrics"]["top_1_accuracy"].sel(scope=NEW)
    at = draws.sel(reliability=reference(tree))
    names = sorted(at["system"].to_numpy(), key=lambda s: -best(at, s))
    return [
        (place, [[a, *("" if a == b else chance(part.sel(system=a) > part.sel(system=b))
                       for b in names)] for a in names])
        for place, part in enumerate(draws.transpose("reliability", ...))
    ]  # fmt: skip


def models(tree):
    rows = []
    for name in tree["metrics"].data_vars:
        both = [side["metrics"][name].sel(reliability=reference(side), scope=THESE)
                for side in (tree, tree["companion"])]  # fmt: skip
        body = []
        for s in by(both[0].mean(SAMPLE)):
            first, second = (draws.sel(system=s) for draws in both)
            (a, b), (c, d) = ends(first), ends(second)
            outside = [not low <= x <= high for x, (low, high) in
                       ((mean(first), (c, d)), (mean(second), (a, b)))]  # fmt: skip
            word = "apart" if all(outside) else "close"
            body.append([s, mean(first), (a, b), mean(second), (c, d), word])
        rows.append((None, body))
    return rows


def agreement(tree):
    observed = tree["statistics"].to_dataset()
    return [(None, [[ANY, float(observed[name]), ends(draws)]
                    for name, draws in tree["agreement"].data_vars.items()])]  # fmt: skip


def discrepancy(tree):
    data, observed = tree["discrepancy"].to_dataset(), tree["statistics"].to_dataset()
    ratio, wins = data["discrepancy_ratio"], data["winning_rate"]
    return [(None, [
        [s, float(observed["discrepancy_ratio"].sel(system=s)), ends(ratio.sel(system=s)),
         chance(ratio.sel(system=s) < 1), chance(ratio.sel(system=s) < 1.1),
         float(observed["winning_rate"].sel(system=s)), chance(wins.sel(system=s) >= 0.5)]
        for s in by(observed["discrepancy_ratio"], rising=True)
    ])]  # fmt: skip


def taken_out(tree):
    data, name = tree["discrepancy"].to_dataset(), "annotator_discrepancy_ratio"
    observed = tree["statistics"][name]
    return [(None, [
        [a, int(data["n_items"].sel(annotator=a)), float(observed.sel(annotator=a)),
         ends(data[name].sel(annotator=a))] for a in by(data["n_items"])
    ])]  # fmt: skip


def shares(tree):
    data, pools = tree["components"].to_dataset(), tree["pools"].to_dataset()
    latent, seen = (data.sel(scale=scale) for scale in ("latent", "observed"))
    rows = []
    for pool in everything.POOLS:
        each = [latent["icc"], latent["annotator_icc"], data["residual_share"], seen["icc"],
                seen["annotator_icc"], data["mean_reliability"]]  # fmt: skip
        body = [[ANY, mean(d), ends(d)] for d in (part.sel(pool=pool) for part in each)]
        body.append([ANY, float(data["annotators_outweigh_items"].sel(pool=pool)), ""])
        alpha = pools["krippendorff_alpha"].sel(pool=pool)
        observed = pools["observed_krippendorff_alpha"].sel(pool=pool)
        rows.append((None, [*body, [ANY, float(observed), ends(alpha)]]))
    return rows


def pairs(tree):
    data, pools = tree["components"].to_dataset(), tree["pools"].to_dataset()
    rows = []
    for p, q in (("crowd", "experts"), ("crowd", "tool"), ("experts", "tool")):
        at = {"pool": p, "pool_": q}
        each = [data[name].sel(at | {"scale": scale}) for name in ("normalized_xcc", "xcc")
                for scale in ("latent", "observed")]  # fmt: skip
        without = [[ANY, float(pools[f"observed_{name}"].sel(at)), ends(pools[name].sel(at))]
                   for name in ("normalized_cross_kappa", "cross_kappa")]  # fmt: skip
        rows.append((None, [*([ANY, mean(d), ends(d)] for d in each), *without]))
    return rows


def differences(tree):
    data = tree["components"].to_dataset().sel(scale="observed")
    of_pool = [data["icc_difference"].sel(pool=pool) for pool in ("crowd", "tool")]
    of_pair = [data[name].sel(pool="crowd", pool_="tool")
               for name in ("normalized_xcc_difference", "xcc_difference")]  # fmt: skip
    return [(None, [[ANY, mean(d), ends(d), chance(d > 0)] for d in part])
            for part in (of_pool, of_pair[:1], of_pair[1:])]  # fmt: skip


def accuracy(tree):
    data = tree["accuracy"].to_dataset()
    these, new = (data["estimated_accuracy"].sel(scope=scope) for scope in (THESE, NEW))
    panel = tree["metrics"]["top_1_accuracy"].sel(reliability=reference(tree), scope=NEW)
    return [(None, [
        [s, mean(new.sel(system=s)), ends(new.sel(system=s)), mean(these.sel(system=s)),
         ends(these.sel(system=s)), float(data["majority_accuracy"].sel(system=s)),
         mean(panel.sel(system=s))] for s in by(new.mean(SAMPLE))
    ])]  # fmt: skip


def annotators(tree):
    data = tree["accuracy"].to_dataset()
    draws = data["annotator_accuracy"]
    return [(None, [
        [a, mean(draws.sel(annotator=a)), ends(draws.sel(annotator=a)),
         float(data["annotator_majority"].sel(annotator=a))] for a in by(draws.mean(SAMPLE))
    ])]  # fmt: skip


def ground_truth(tree):
    data = tree["weighted_reliability"].to_dataset()
    names = ("label_accuracy", "truth_accuracy", "concordance", "weighted_reliability")
    count = np.sort(data["annotators_for_truth"].to_numpy(), axis=None)
    at = [count[int(np.ceil(q * len(count))) - 1] for q in ((1 - LEVEL) / 2, 0.5, (1 + LEVEL) / 2)]
    return [(None, [*([ANY, mean(data[name]), ends(data[name])] for name in names),
                    [ANY, at[1], (at[0], at[2])]])]  # fmt: skip


def categories(tree):
    theta = tree["categories"]["plausibility"].mean(SAMPLE)
    leads = theta.to_numpy().argmax(theta.get_axis_num("label"))
    return [(None, [[name, mean(theta.sel(label=name)), int((leads == place).sum())]
                    for place, name in enumerate(theta["label"].to_numpy().tolist())])]  # fmt: skip


def certainty_of_categories(tree):
    rows = []
    for side in (tree, tree["companion"]):
        each = [side[group]["annotation_certainty"] for group in ("categories", "certainty")]
        rows.append((None, [
            [at, *(number for part in each for here in [part.sel(reliability=at)]
                   for number in (mean(here), chance(here < 0.9)))]
            for at in each[0]["reliability"].to_numpy().tolist()
        ]))  # fmt: skip
    return rows


def accuracy_of_categories(tree):
    rows = []
    for side in (tree, tree["companion"]):
        data = side["categories"].to_dataset()
        draws = data["top_1_accuracy"].sel(reliability=reference(side))
        these, new = (draws.sel(scope=scope) for scope in (THESE, NEW))
        rows.append((None, [
            [s, mean(these.sel(system=s)), ends(these.sel(system=s)), ends(new.sel(system=s)),
             float(data["naive_top_1_accuracy"].sel(system=s))] for s in by(these.mean(SAMPLE))
        ]))  # fmt: skip
    return rows


def items(tree):
    certainty = tree["certainty"]["annotation_certainty"].sel(reliability=reference(tree))
    theta = tree["posterior"]["plausibility"].mean(SAMPLE)
    given = tree["statistics"]["n_annotations"]
    return [(None, [
        [i, float(certainty.sel(item=i)), by(theta.sel(item=i))[0], float(theta.sel(item=i).max()),
         int(given.sel(item=i))] for i in by(certainty, rising=True)
    ])]  # fmt: skip


def certainty(tree):
    return [(None, [[float(row["reliability"]), mean(row), *(chance(row < step) for step in
                                                             (0.99, 0.9, 0.75, 0.5))]
                    for row in tree["certainty"]["annotation_certainty"]])]  # fmt: skip


TABLES = {
    "table-verdict": verdict, "table-metrics": metrics, "table-better": better,
    "table-models": models, "table-agreement": agreement, "table-discrepancy": discrepancy,
    "table-taken-out": taken_out, "table-components": shares, "table-pools": pairs,
    "table-differences": differences, "table-accuracy": accuracy, "table-annotators": annotators,
    "table-ground-truth": ground_truth, "table-categories": categories,
    "table-category-certainty": certainty_of_categories, "table-items": items,
    "table-category-accuracy": accuracy_of_categories, "table-certainty-1": certainty,
}  # fmt: skip


def agrees(cell, expected):
    """Return whether a cell says the expected numbers, and a word, as far as its decimals go."""
    cell = cell.removesuffix(" !")
    if expected is ANY or isinstance(expected, str):
        return expected is ANY or cell == expected
    numbers, word = expected if isinstance(expected, tuple) else (expected,), ""
    if isinstance(numbers[-1], str):
        *numbers, word = numbers
    if not cell.endswith(word):
        return False
    if cell[0] in "<>":
        return numbers[0] < 0.01 if cell[0] == "<" else numbers[0] > 0.99
    words = re.findall(r"∞|[-−]?(?:\d[\d,]*)?\.?\d+", cell)  # noqa: RUF001 (a minus)
    values = [float(x.replace("∞", "inf").replace("−", "-").replace(",", ""))  # noqa: RUF001
              for x in words]  # fmt: skip
    steps = [10.0 ** -len(x.partition(".")[2]) for x in words]
    return len(words) == len(numbers) and all(
        x == number or abs(x - number) <= 0.5000001 * step
        for x, number, step in zip(values, numbers, steps, strict=True)
    )


def read_back(html):
    """Return the bodies of each table on a page: the place of the reliability, and the cells."""
    result = {}
    for name, table in re.findall(r'<table id="([\w-]+)".*?>(.*?)</table>', html, re.DOTALL):
        bodies = []
        for attrs, body in re.findall(r"<tbody([^>]*)>(.*?)</tbody>", table, re.DOTALL):
            at = re.search(r'data-at="(\d+)"', attrs)
            rows = [[unescape(re.sub(r"<[^>]+>", "", cell)).replace("\N{NO-BREAK SPACE}", " ")
                     for cell in re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, re.DOTALL)]
                    for row in re.findall(r"<tr>(.*?)</tr>", body, re.DOTALL)]  # fmt: skip
            bodies.append((at and int(at[1]), rows))
        result[name] = bodies
    return result


@pytest.fixture
def tables(tmp_path, known):
    """The tables of the page; it is written once."""
    if "read back" not in known:
        path = dx.report(everything.evaluation(), tmp_path / "report.html")
        known["read back"] = read_back(path.read_text(encoding="utf-8"))
    return known["read back"]


def test_every_table_of_the_page_is_read_back(tables):
    assert set(tables) == set(TABLES)


@pytest.mark.unit(len(TABLES))
@pytest.mark.parametrize("name", TABLES)
def test_cells_of_the_page_are_numbers_of_the_draws(tables, name):
    expected, actual = TABLES[name](everything.evaluation()), tables[name]
    assert [at for at, _ in actual] == [at for at, _ in expected]
    for (_, rows), (_, numbers) in zip(actual, expected, strict=True):
        assert [len(row) for row in rows] == [len(row) for row in numbers]
        wrong = [
            (cell, number)
            for row, wanted in zip(rows, numbers, strict=True)
            for cell, number in zip(row, wanted, strict=True)
            if not agrees(cell, number)
        ]
        assert wrong == []  # fmt: skip


ON_TERMINALS = [
    "table-verdict", "table-metrics", "table-models", "table-agreement", "table-discrepancy",
    "table-taken-out", "table-components", "table-pools", "table-differences", "table-accuracy",
    "table-annotators", "table-ground-truth",
]  # fmt: skip
"""In this order."""


@pytest.mark.long
def test_the_terminal_has_the_rows_of_the_page_at_the_reference(tables):
    tree = everything.evaluation()
    console = Console(width=300, file=io.StringIO())
    for part in results(tree, everything=True):
        console.print(part, highlight=False, soft_wrap=isinstance(part, str))
    lines = [" ".join(line.split()) for line in console.file.getvalue().splitlines()]
    place = tree["metrics"]["reliability"].to_numpy().tolist().index(reference(tree))
    for name in ON_TERMINALS:
        left = {5, 7} if name == "table-metrics" else set()  # for which there is no room
        for row in (row for at, rows in tables[name] if at in (None, place) for row in rows):
            numbers = " ".join(cell for k, cell in enumerate(row) if k and k not in left and cell)
            # A long name goes on in the next line.
            result = [k for k, line in enumerate(lines) if line.endswith(f" {numbers}")
                     and line.startswith(row[0][:20])]  # fmt: skip
            assert result, (name, row)
            lines = lines[result[0] + 1 :]


FILES = {"summary": None, "statistics": "statistics", "components": "components",
         "accuracy": "accuracy", "weighted_reliability": "weighted_reliability"}  # fmt: skip
"""The group of each table that is written."""


@pytest.mark.slow
def test_files_and_json_have_the_rows_of_the_summaries(tmp_path):
    tree = everything.evaluation()
    paths = write_evaluation(tree, tmp_path)
    content = _plain(of_evaluation(tree, paths))
    assert {path.name for path in paths if path.suffix == ".csv"} == {
        f"{name}.csv" for name in FILES
    }
    for name, of in FILES.items():
        table = dx.summary(tree, of)
        text = pd.read_csv(tmp_path / f"{name}.csv", keep_default_na=True)
        assert list(text.columns) == list(table.columns)
        rows = pd.DataFrame(content["metrics" if of is None else of], columns=table.columns)
        for column in table.columns:
            is_number = pd.api.types.is_numeric_dtype(table[column])
            for other in (text[column], rows[column]):
                if is_number:
                    np.testing.assert_allclose(other.astype(float), table[column], rtol=1e-9)
                else:
                    want = table[column].replace("", None)
                    assert other.replace("", None).isna().tolist() == want.isna().tolist()
                    assert other.dropna().astype(str).replace("", None).dropna().tolist() == (
                        want.dropna().astype(str).tolist())  # fmt: skip
