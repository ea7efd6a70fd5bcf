"""The discrepancy ratio of replicates: each spelled out, and the public statistic taken of it."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

import dissensus as dx

QUICK = {"draws": 5, "chains": 2, "random_seed": 5, "progressbar": False}
DRAWS = [(0, 0), (0, 3), (1, 4)]


def fitted(model, annotations, **options):
    fit = dx.models.get(model).module.fit
    return fit(annotations, **{**QUICK, "posterior_predictive": True, **options})


def agrees(drawn, chain, draw, again, predictions, distance=None, **options):
    expected = dx.discrepancy_ratio(again, predictions, distance, **options)["discrepancy_ratio"]
    got = drawn.isel(chain=chain, draw=draw)
    np.testing.assert_array_equal(got["system"].to_numpy(), expected["system"].to_numpy())
    np.testing.assert_allclose(got.to_numpy(), expected.to_numpy(), rtol=1e-10)


@pytest.fixture
def grades():
    """Grades 0 to 4 from two to four annotators, and two systems."""
    rng = np.random.default_rng(1)
    rows = [(f"i{i}", a, int(rng.integers(0, 5))) for i in range(12) for a in range(2 + i % 3)]
    item, who, label = zip(*rows, strict=True)
    columns = {"item": item, "annotator": who, "label": label}
    ann = dx.annotations(columns, kind="ordinal", labels=range(5))
    pred = dx.predictions(
        {"item": [f"i{i}" for i in range(12)] * 2, "system": ["s"] * 12 + ["t"] * 12,
         "label": rng.integers(0, 5, 24)}, kind="nominal")  # fmt: skip
    return ann, pred


@pytest.mark.parametrize(
    ("distance", "options"),
    [(None, {}), ("nominal", {}), ("squared", {}), ("absolute", {}), ("hinge", {"tolerance": 1.0}),
     (lambda a, b: abs(a - b) ** 0.5, {})],
)  # fmt: skip
def test_labels_by_spelling_replicates_out(grades, distance, options):
    ann, pred = grades
    fit = fitted("dirichlet", ann)
    drawn = dx.model_discrepancy_ratio(fit, pred, distance, **options)
    assert drawn.dims == ("chain", "draw", "system")
    assert drawn.shape == (2, 5, 2)
    for chain, draw in DRAWS:
        counts = fit["posterior_predictive"]["counts"].isel(chain=chain, draw=draw).to_numpy()
        item, label = (np.repeat(c, counts.ravel()) for c in
                       (x.ravel() for x in np.indices(counts.shape)))  # fmt: skip
        names = ann["item"].to_numpy()[item]
        again = dx.annotations(
            {"item": names, "annotator": np.arange(len(item)), "label": label},
            kind="nominal" if distance is None else "ordinal", labels=range(5),
        )  # fmt: skip
        agrees(drawn, chain, draw, again, pred, distance, **options)


def test_with_annotations_the_distance_goes_by_their_kind(grades):
    ann, pred = grades
    fit = fitted("dirichlet", ann)
    by_kind = dx.model_discrepancy_ratio(fit, pred, annotations=ann)
    xr.testing.assert_allclose(by_kind, dx.model_discrepancy_ratio(fit, pred, "squared"))
    assert by_kind.attrs["distance"] == "squared"
    assert dx.model_discrepancy_ratio(fit, pred).attrs["distance"] == "nominal"


def test_numbers_by_spelling_replicates_out():
    rng = np.random.default_rng(2)
    item = np.repeat(np.arange(6), 3)
    ann = dx.annotations(
        {"item": item, "annotator": np.tile(np.arange(3), 6), "label": item + rng.normal(size=18)}
    )
    pred = dx.predictions({"item": range(6), "system": ["s"] * 6, "label": rng.normal(size=6)})
    fit = fitted("normal_scores", ann)
    drawn = dx.model_discrepancy_ratio(fit, pred)
    for chain, draw in DRAWS:
        score = fit["posterior_predictive"]["score"].isel(chain=chain, draw=draw).to_numpy()
        agrees(drawn, chain, draw, ann.assign(value=("annotation", score)), pred)


def test_rankings_by_spelling_replicates_out(rankings):
    ann, pred = rankings
    fit = fitted("plackett_luce", ann)
    drawn = dx.model_discrepancy_ratio(fit, pred)
    assert drawn.attrs["distance"] == "ranking"
    for chain, draw in DRAWS:
        code = fit["posterior_predictive"]["label_code"].isel(chain=chain, draw=draw).to_numpy()
        agrees(drawn, chain, draw, ann.assign(label_code=("annotation", code)), pred)


def test_first_choices_are_labels(rankings):
    ann = rankings[0]
    pred = dx.predictions({"item": ["p", "q"], "system": ["s", "s"], "label": ["a", "d"]})
    with pytest.warns(dx.DissensusWarning, match="of replicates is undefined"):
        drawn = dx.model_discrepancy_ratio(fitted("inverse_rank", ann, draws=30), pred)
    assert drawn.attrs["distance"] == "nominal"
    assert drawn.notnull().any()


def test_blocks_do_not_matter(grades, monkeypatch):
    ann, pred = grades
    fit = fitted("dirichlet", ann)
    whole = dx.model_discrepancy_ratio(fit, pred)
    monkeypatch.setattr("dissensus.checks._replicates.ROWS", 80)
    xr.testing.assert_allclose(dx.model_discrepancy_ratio(fit, pred), whole)


def test_a_system_that_speaks_like_an_annotator_has_a_ratio_of_one():
    """Labels and predictions from the same distributions: the ratio is 1 in expectation."""
    rng = np.random.default_rng(3)
    theta = rng.dirichlet([1.0, 1.0, 1.0], 400)
    labels = np.array([rng.choice(3, 6, p=row) for row in theta])
    item = np.repeat(np.arange(400), 5)
    ann = dx.annotations(
        {"item": item, "annotator": np.tile(np.arange(5), 400), "label": labels[:, :5].ravel()},
        kind="nominal",
    )
    pred = dx.predictions({"item": range(400), "system": ["s"] * 400, "label": labels[:, 5]})
    drawn = dx.model_discrepancy_ratio(fitted("dirichlet", ann, draws=100), pred)
    # The system is one annotator: its own labels vary the ratio by about 1 / sqrt(400).
    assert float(drawn.mean()) == pytest.approx(1.0, abs=0.15)
    assert 0.005 < float(drawn.std()) < 0.1


def test_items_that_only_one_side_has(grades):
    ann, pred = grades
    fit = fitted("dirichlet", ann)
    fewer = pred.isel(item=slice(0, 9))
    with pytest.raises(dx.PredictionError, match="3 annotated items without predictions: 'i9'"):
        dx.model_discrepancy_ratio(fit, fewer)
    drawn = dx.model_discrepancy_ratio(fit, fewer, on_missing="drop")
    kept = fit.copy()
    for group in ("posterior_predictive", "observed_data"):
        kept[group] = xr.DataTree(fit[group].to_dataset().isel(item=slice(0, 9)))
    expected = dx.model_discrepancy_ratio(kept, fewer)
    xr.testing.assert_allclose(drawn, expected)


def test_labels_that_annotators_could_not_give_are_warned_of_once(grades):
    ann, pred = grades
    fit = fitted("dirichlet", ann)
    labels = np.where(pred["label"].to_numpy() == 4, 9, pred["label"].to_numpy())
    count = int((pred["label_code"] == np.flatnonzero(labels == 9)[0]).sum())
    with pytest.warns(dx.DissensusWarning) as caught:
        dx.model_discrepancy_ratio(fit, pred.assign_coords(label=labels))
    (text,) = [str(record.message) for record in caught]
    assert f"(predictions with them: {count})" in text
