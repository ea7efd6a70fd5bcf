"""The figures that docs/reliability.md prints are what the library gives."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from component_fits import fit_of
from scipy.integrate import quad
from scipy.special import expit
from scipy.stats import norm

import dissensus as dx

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "reliability.md").read_text(encoding="utf-8")


def table(first_column):
    """Return the rows of numbers of the table that begins with this column."""
    rows, inside = [], False
    for line in PAGE.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        inside = line.startswith("|") and (inside or cells[0] == first_column)
        if inside and re.fullmatch(r"-?[.\d]+", cells[0]):
            rows.append(tuple(float(cell) for cell in cells))
    return rows


def test_both_tables_are_found():
    assert len(table("ICC")) == 5
    assert len(table("mu")) == 5


@pytest.mark.parametrize("row", table("ICC"))
def test_a_row_of_the_table_of_means(row):
    icc, root, *means, for_8, for_9 = row
    assert icc**0.5 == pytest.approx(root, abs=5.1e-3)
    assert dx.spearman_brown(icc, np.array([2.0, 3, 5, 10])) == pytest.approx(means, abs=5.1e-3)
    assert (dx.annotators_needed(icc, 0.8), dx.annotators_needed(icc, 0.9)) == (for_8, for_9)


@pytest.mark.parametrize("row", table("mu"))
def test_a_row_of_the_table_of_scales(row):
    mu, sigma_item, sigma_annotator, share, latent, observed = row
    fit = fit_of("bernoulli", mu=mu, sigma_item=sigma_item, sigma_annotator=sigma_annotator)
    sd = np.hypot(sigma_item, sigma_annotator)
    yes = quad(lambda z: norm.pdf(z) * expit(mu + sd * z), -9, 9, points=[0])[0]
    assert yes == pytest.approx(share, abs=5.1e-4)
    assert dx.icc(fit).item() == pytest.approx(latent, abs=5.1e-4)
    assert dx.icc(fit, scale="observed").item() == pytest.approx(observed, abs=5.1e-4)


def test_dice_agree_by_chance():
    assert round(100 * ((5 / 6) ** 2 + (1 / 6) ** 2)) == 72
    assert round(100 * ((35 / 36) ** 2 + (1 / 36) ** 2), 1) == 94.6
    assert "94.6 %" in PAGE


def test_a_toy_of_four_items_has_the_printed_disagreements():
    # Found by search: the source shows its labels in a picture only.
    first, second = [[0, 0], [0, 0], [0, 1], [0, 1]], [[0, 0], [0, 0], [0, 1], [1, 1]]
    pairs = [(x, y) for xs, ys in zip(first, second, strict=True) for x in xs for y in ys]
    crossed = [(x, y) for xs in first for x in xs for ys in second for y in ys]
    assert (len(pairs), len(crossed)) == (16, 64)
    assert np.mean([x != y for x, y in pairs]) == 0.25
    assert np.mean([x != y for x, y in crossed]) == 0.4375
    rows = [
        {"item": item, "annotator": f"{pool}{place}", "pool": pool, "label": label}
        for pool, labels in (("first", first), ("second", second))
        for item, answers in enumerate(labels)
        for place, label in enumerate(answers)
    ]
    ann = dx.annotations(pd.DataFrame(rows), pool="pool", kind="nominal")
    assert float(dx.cross_kappa(ann)) == pytest.approx(0.43, abs=5e-3)


def test_a_normalised_kappa_exceeds_1(shared):
    # The README of the data: 1.0512 between the groups g1 and g3.
    path = shared / "annotation_paradigms" / "ratings.csv.gz"
    ann = dx.annotations(
        pd.read_csv(path, usecols=["item", "annotator", "label", "group"]),
        pool="group",
        kind="nominal",
    )
    value = float(dx.cross_kappa(ann, ("g1", "g3"), normalized=True))
    assert value == pytest.approx(1.0512, abs=5.1e-5)
    assert "it is 1.05 between two of the three groups" in PAGE


def test_the_printed_normalised_kappa_is_that_of_the_printed_parts():
    """The same in a bare clone: two alphas and a kappa_x of g1 and g3 (README of the data)."""
    expected = 0.1798 / np.sqrt(0.1978 * 0.1478)
    printed = re.search(r"it is (1\.\d+) between two of the three groups", PAGE)
    assert float(printed[1]) == pytest.approx(expected, abs=5e-3)
