"""The figures that docs/agreement.md prints, and paradoxes of kappa that spare concordance."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import dissensus as dx

PAGE = Path(__file__).resolve().parents[2] / "docs" / "agreement.md"
COLUMNS = {
    "agreement": dx.percent_agreement,
    "Cohen": dx.cohen_kappa,
    "Fleiss": dx.fleiss_kappa,
    "Krippendorff": dx.krippendorff_alpha,
    "Gwet AC1": dx.gwet_ac,
    "Bennett S": dx.bennett_s,
}
PAIRS = (("yes", "yes"), ("yes", "no"), ("no", "yes"), ("no", "no"))


def printed():
    """Return the counts of the four cells, the coefficient and its figure, row by row."""
    out, head = [], []
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        cells = [cell.strip().replace("\N{MINUS SIGN}", "-") for cell in line.strip("|").split("|")]
        if line.startswith("| both yes"):
            head = cells
        elif not line.startswith("|"):
            head = []
        elif head and cells[0].isdigit():
            counts = tuple(int(cell) for cell in cells[:4])
            out += [(counts, *pair) for pair in zip(head[4:], cells[4:], strict=True)]
    return out


def test_both_tables_are_found():
    assert len(printed()) == 3 * 5 + 2 * 5


@pytest.mark.parametrize(("counts", "name", "figure"), printed())
def test_a_figure_of_the_tables(counts, name, figure):
    rows = [pair for pair, count in zip(PAIRS, counts, strict=True) for _ in range(count)]
    value = float(COLUMNS[name](dx.from_matrix(np.array(rows, dtype=object))))
    assert value == pytest.approx(float(figure), abs=5.1e-4)


@pytest.mark.parametrize("counts", sorted({row[0] for row in printed()}))
def test_concordance_is_the_agreement_of_the_tables(counts):
    rows = [pair for pair, count in zip(PAIRS, counts, strict=True) for _ in range(count)]
    expected = (counts[0] + counts[3]) / 100
    assert float(dx.concordance(dx.from_matrix(np.array(rows, dtype=object)))) == expected


@pytest.mark.long
def test_guessing_the_same_label_comes_out_near_1_by_gwets_ac():
    labels = np.random.default_rng(1).random((200_000, 2)) < 0.99
    assert float(dx.gwet_ac(dx.from_matrix(labels.astype(int)))) == pytest.approx(0.98, abs=0.003)


# The paradoxes of Feinstein & Cicchetti (1990), "High agreement but low kappa", which Cabitza et
# al. (2020), section 3.2, take up.


def paradox_one():
    """Feinstein & Cicchetti (1990): high agreement, low kappa. 11 of 12 cases "0", one split."""
    return dx.from_matrix([[0, 0]] * 11 + [[0, 1]])


def test_paradox_one_in_its_classical_form_where_kappa_and_alpha_fall_to_nothing():
    # By hand: p_o = 11/12, p_e = (23/24)^2 + (1/24)^2: Fleiss -1/23 = -.043; alpha 0.
    ann = paradox_one()
    assert float(dx.fleiss_kappa(ann)) == pytest.approx(-1 / 23)
    assert float(dx.krippendorff_alpha(ann)) == pytest.approx(0.0, abs=1e-12)
    assert float(dx.concordance(ann)) == pytest.approx(11 / 12)
    assert float(dx.weighted_reliability(ann, accuracy=0.9)) == pytest.approx(11 / 12 * 0.81 / 0.82)


def test_paradox_one_as_the_source_prints_it_is_none():
    # All agree on 0 for all cases but one and on 1 for that: kappa and alpha are 1, not <= 0.
    ann = dx.from_matrix([[0, 0]] * 11 + [[1, 1]])
    for of in (dx.fleiss_kappa, dx.krippendorff_alpha, dx.concordance):
        assert float(of(ann)) == pytest.approx(1.0)


def test_paradox_two_where_kappa_depends_on_margins_and_concordance_does_not():
    # Feinstein & Cicchetti (1990): the same agreement of 60 in 100, margins alike (60/40 and
    # 70/30) or opposed (60/40 and 30/70). By hand: Cohen .130 and .259.
    tables = {"alike": (45, 15, 25, 15), "opposed": (25, 35, 5, 35)}
    kappa, sigma, rho = {}, {}, {}
    for name, (both, first, second, neither) in tables.items():
        rows = [["y", "y"]] * both + [["y", "n"]] * first
        ann = dx.from_matrix(rows + [["n", "y"]] * second + [["n", "n"]] * neither)
        kappa[name] = float(dx.cohen_kappa(ann))
        sigma[name] = float(dx.concordance(ann))
        rho[name] = float(dx.weighted_reliability(ann, accuracy=0.8))
        assert float(dx.percent_agreement(ann)) == pytest.approx(0.6)
    assert kappa["alike"] == pytest.approx(0.06 / 0.46)
    assert kappa["opposed"] == pytest.approx(0.14 / 0.54)
    assert sigma["alike"] == pytest.approx(sigma["opposed"]) == pytest.approx(0.6)
    assert rho["alike"] == pytest.approx(rho["opposed"])


def test_with_chance_as_labels_are_given_the_order_of_paradox_two_may_be_either():
    # Theorem 2 of the source: confidence decides, not the margins.
    def sigma(both, first, second, neither, sure):
        labels = ["yy"] * both + ["yn"] * first + ["ny"] * second + ["nn"] * neither
        frame = {
            "item": np.repeat(np.arange(100), 2), "annotator": np.tile([0, 1], 100),
            "label": list("".join(labels)), "sure": np.full(200, sure),
        }  # fmt: skip
        return float(dx.concordance(dx.annotations(frame, confidence="sure"), chance="empirical"))

    alike, opposed = (45, 15, 25, 15), (25, 35, 5, 35)
    assert sigma(*alike, 0.9) > sigma(*opposed, 0.8)
    assert sigma(*alike, 0.8) < sigma(*opposed, 0.9)
