"""The figures that docs/agreement.md prints are what the library gives."""

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
    found = float(COLUMNS[name](dx.from_matrix(np.array(rows, dtype=object))))
    assert found == pytest.approx(float(figure), abs=5.1e-4)


@pytest.mark.parametrize("counts", sorted({row[0] for row in printed()}))
def test_concordance_is_the_agreement_of_the_tables(counts):
    rows = [pair for pair, count in zip(PAIRS, counts, strict=True) for _ in range(count)]
    expected = (counts[0] + counts[3]) / 100
    assert float(dx.concordance(dx.from_matrix(np.array(rows, dtype=object)))) == expected


@pytest.mark.long
def test_guessing_the_same_label_comes_out_near_1_by_gwets_ac():
    said = np.random.default_rng(1).random((200_000, 2)) < 0.99
    assert float(dx.gwet_ac(dx.from_matrix(said.astype(int)))) == pytest.approx(0.98, abs=0.003)
