"""ROC curves show the draws, the readers and the systems that the study has."""

from __future__ import annotations

import numpy as np
import pytest

import dissensus as dx
from dissensus.wording import share


@pytest.fixture(scope="module")
def study():
    rng, ill = np.random.default_rng(2), np.arange(60) % 2
    rows = [
        {"reader": r, "case": c, "modality": m, "score": d * ill[c] + rng.normal(), "ill": ill[c]}
        for r in range(4) for c in range(60) for m, d in (("MRI", 2.0), ("CT", 1.2))
    ]  # fmt: skip
    alone = {c: 2 * ill[c] + rng.normal() for c in range(60)}
    options = {
        "predictions": alone,
        "threshold": {"readers": [0, 1.5], "system": [0.1, 1.4]},
        "draws": 200,
        "random_seed": 1,
    }
    return rows, dx.reader_study(rows, "ill", **options)


def test_lines_and_marks_are_those_of_the_study(study):
    data = study[1]
    figure = dx.plots.reader_study(data, ci_kind="eti", ci_prob=0.8)
    ax = figure.axes[0]
    thick = [line for line in ax.lines if line.get_linewidth() > 2]
    for line, name in zip(thick, ("CT", "MRI"), strict=True):
        mean = data["curve"].sel(modality=name).mean(("chain", "draw"))
        np.testing.assert_allclose(line.get_ydata(), mean)
    thin = [line for line in ax.lines if line.get_linewidth() < 0.7]
    assert len(thin) == 8
    np.testing.assert_allclose(thin[0].get_ydata(), data["observed_curve"][0, 0])
    marks = [line for line in ax.lines if line.get_marker() not in ("None", "", None)]
    assert len(marks) == 6
    of_system = data.isel(system=0, threshold=1).mean(("chain", "draw"))
    np.testing.assert_allclose(marks[5].get_xdata(), 1 - of_system["system_specificity"])
    np.testing.assert_allclose(marks[5].get_ydata(), of_system["system_sensitivity"])
    at = data.isel(modality=0, threshold=0).mean(("chain", "draw"))
    np.testing.assert_allclose(marks[0].get_xdata(), 1 - at["specificity"])
    np.testing.assert_allclose(marks[0].get_ydata(), at["sensitivity"])
    average = data["average_auc"].sel(modality="CT")
    low, high = average.quantile([0.1, 0.9]).values
    words = [text.get_text() for text in ax.get_legend().get_texts()]
    assert words[0] == f"CT: {share(average.mean().item())} ({share(low)} to {share(high)})"
    assert words[2] == f"system: {share(data['system_auc'].mean().item())}"
    notes = " ".join(" ".join(text.get_text() for text in figure.texts).split())
    assert (
        "bands: these readers on new cases. Marks: scores of at least 0, 1.5. Large marks: systems"
        in notes
    )


def test_one_modality_is_called_readers(study):
    rows = [row for row in study[0] if row["modality"] == "CT"]
    for row in rows:
        row.pop("modality")
    alone = dx.reader_study(rows, "ill", new_cases=False, draws=50, random_seed=1)
    figure = dx.plots.reader_study(alone)
    assert figure.axes[0].get_legend().get_texts()[0].get_text().startswith("readers: .")
    assert "bands" not in " ".join(text.get_text() for text in figure.texts)
