"""Plans of reader studies: held to published powers, to studies of that size, and to formulas."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr
from refusals import check_refused
from scipy import stats

import dissensus as dx
from dissensus.errors import ArgumentError

COMPONENTS = {"between": 2.004e-4, "var": 8.023e-4, "cov1": 3.466e-4, "cov2": 3.441e-4,
              "cov3": 2.390e-4}  # fmt: skip
"""Of Van Dyke's five readers and 114 cases by Obuchowski and Rockette, as RJafroc gives them."""
POWER = {(10, 165): 0.8054, (6, 251): 0.801, (6, 111): 0.5526}
"""Of these components for a difference of -.0438, by the tests of RJafroc 2 (random readers and
cases)."""


def pilot(between=None, n_draws=4000, seed=1, readers=5, system=False, **components):
    """Return a pilot with exactly these variances and covariances of the readers' areas."""
    parts = COMPONENTS | components
    same = np.eye(readers, dtype=bool)
    apart = np.where(same, parts["cov1"], parts["cov3"])
    within = np.where(same, parts["var"], parts["cov2"])
    covariance = np.block([[within, apart], [apart, within]])
    rng = np.random.default_rng(seed)
    noise = rng.standard_normal((n_draws, 2 * readers))
    noise -= noise.mean(axis=0)  # the sample has the covariance of the design to the last digit
    noise = noise @ np.linalg.inv(np.linalg.cholesky(np.cov(noise, rowvar=False))).T
    areas = noise @ np.linalg.cholesky(covariance).T + np.repeat([0.897, 0.941], readers)
    areas = areas.reshape(1, n_draws, 2, readers)
    sd = np.full((1, n_draws), np.sqrt(parts["between"] if between is None else between))
    out = xr.Dataset(
        {
            "auc": (("chain", "draw", "modality", "reader"), areas),
            "average_auc": (("chain", "draw", "modality"), areas.mean(axis=-1)),
            "difference": (("chain", "draw"), areas.mean(axis=-1) @ [1.0, -1.0]),
            "reader_sd": (("chain", "draw"), sd),
            "interaction_sd": (("chain", "draw"), sd),
            "observed_auc": (("modality", "reader"), areas.mean(axis=(0, 1))),
            "curve": (("chain", "draw", "modality"), areas.mean(axis=-1)),  # not read
        },
        coords={"modality": ["film", "screen"], "reader": list(range(readers))},
        attrs={
            "new_readers": 1,
            "new_cases": 1,
            "n_cases": 114,
            "share_scored": 1.0,
            "n_readers": readers,
            "modalities": ["film", "screen"],
        },
    )
    if system:
        alone = 0.95 + 0.02 * rng.standard_normal((1, n_draws, 1))
        out["system_auc"] = ("chain", "draw", "system"), alone
        less = alone[:, :, None, :] - out["average_auc"].to_numpy()[..., None]
        out["system_difference"] = ("chain", "draw", "modality", "system"), less
        out = out.assign_coords(system=["cad"])
    return out


@pytest.mark.parametrize("size", POWER)
def test_power_is_nearly_that_of_the_variance_analysis(size):
    # Not the same: the interval has a prior of the standard deviation between readers, the F test
    # none.
    plan = dx.plan(
        pilot(), annotators=size[:1], items=size[1:], difference=-0.0438, draws=4000, random_seed=1
    )
    assert plan["power"].item() == pytest.approx(POWER[size], abs=0.04)


def test_without_spread_between_readers_an_interval_is_normal():
    # With many readers the prior has no weight, and their mean this variance.
    plan = dx.plan(pilot(between=0.0), annotators=(400,), items=(114,), random_seed=1)
    own = 2 * (COMPONENTS["var"] - COMPONENTS["cov1"])
    common = 2 * (COMPONENTS["cov2"] - COMPONENTS["cov3"])
    sd = np.sqrt((own - common) / 400 + common)
    assert plan["half_width"].item() == pytest.approx(stats.norm.ppf(0.975) * sd, rel=0.02)


def roe_and_metz(readers, cases, rng, between=0.03):
    """Scores with effects of readers, of cases, and of both with the modality, as Roe and Metz."""
    ill = np.arange(cases) % 2
    distance = 1.3 + 0.3 * np.arange(2)
    own = np.sqrt(between) * rng.standard_normal((2, readers, 1, 2))  # by true label
    common = np.sqrt(between) * rng.standard_normal((1, readers, 1, 2))
    at = np.where(ill, (own + common)[..., 1], (own + common)[..., 0])
    case = np.sqrt(0.3) * rng.standard_normal(cases)
    of_modality = np.sqrt(0.3) * rng.standard_normal((2, 1, cases))
    rest = np.sqrt(0.4) * rng.standard_normal((2, readers, cases))
    score = ill * distance[:, None, None] + at + case + of_modality + rest
    m, r, c = (index.ravel() for index in np.indices(score.shape))
    frame = {"modality": m, "reader": r, "case": c, "score": score.ravel(), "ill": ill[c]}
    return dx.reader_study(frame, truth="ill", draws=1000, random_seed=int(rng.integers(1000)))


def test_a_pilot_in_which_readers_had_their_own_cases_is_refused():
    table, ill = [], np.arange(60) % 2
    rng = np.random.default_rng(1)
    for r, c in np.ndindex(4, 60):
        if c // 2 % 2 == r % 2:
            table.append({"reader": r, "case": c, "score": ill[c] + rng.normal(), "ill": ill[c]})
    study = dx.reader_study(table, "ill", draws=200, random_seed=1)
    assert study.attrs["share_scored"] == 0.5
    with pytest.raises(
        ArgumentError, match=r"at least 90 % .*; found 50.%.*that all readers scored"
    ):
        dx.plan(study)


@pytest.mark.long
def test_intervals_of_studies_of_this_size_are_as_long_as_planned():
    # Pilots of 6 readers and 80 cases, and what studies of 10 and 200 then show.
    rng = np.random.default_rng(4)
    planned = [
        dx.plan(roe_and_metz(6, 80, rng), annotators=(10,), items=(200,), random_seed=k)
        for k in range(12)
    ]
    seen = [roe_and_metz(10, 200, rng)["difference"] for _ in range(24)]
    half = [float(np.diff(x.quantile([0.025, 0.975]))[0]) / 2 for x in seen]
    shown = np.mean([float(abs(x.mean())) > h for x, h in zip(seen, half, strict=True)])
    assert np.mean([x["half_width"].item() for x in planned]) == pytest.approx(
        np.mean(half), rel=0.15
    )
    assert np.mean([x["power"].item() for x in planned]) == pytest.approx(shown, abs=0.25)


@pytest.mark.long
def test_more_readers_and_cases_are_better_and_options_count():
    study = pilot(system=True)
    plan = dx.plan(study, annotators=(3, 10, 30), items=(50, 200, 1000), random_seed=1)
    assert (plan["half_width"].diff("annotator") < 0).all()
    assert (plan["half_width"].diff("item") < 0).all()
    assert (plan["power"].diff("item") > 0).all()
    assert plan.attrs["probability"] == 0.95
    assert plan["system_half_width"].dims == ("modality", "system", "annotator", "item")
    options = {"annotators": (10,), "items": (200,), "random_seed": 1}
    base = dx.plan(study, **options)
    assert dx.plan(study, **options).identical(base)
    assert "non_inferiority" not in base
    assert dx.plan(study, **options, prob=0.5)["half_width"].item() < base["half_width"].item() / 2
    assert dx.plan(study, **options, difference=-0.2)["power"].item() == 1
    assert not dx.plan(study, **(options | {"random_seed": 2})).equals(base)
    assert not dx.plan(study, **options, draws=150).equals(base)
    wide, narrow = (
        dx.plan(study, **options, difference=0.0, margin=margin)["non_inferiority"]
        for margin in (0.1, 0.01)
    )
    assert (wide > 0.95).all()
    assert (narrow < 0.5).all()
    worse = dx.plan(study, **options, difference=-0.05, margin=0.05)
    first, second = worse["non_inferiority"].squeeze().to_numpy()
    assert first < 0.1  # the film, which is worse by the margin
    assert second > 0.99
    assert worse["system_non_inferiority"].sizes == worse["system_power"].sizes
    # The difference that is taken for granted is that of the modalities.
    free = dx.plan(study, **options, margin=0.05)
    xr.testing.assert_equal(free["system_non_inferiority"], worse["system_non_inferiority"])


def test_with_one_modality_the_difference_is_that_of_the_system():
    study = pilot(system=True).isel(modality=[0]).assign_attrs(modalities=["film"])
    study = study.drop_vars(["difference", "interaction_sd"])
    options = {"annotators": (10,), "items": (200,), "random_seed": 1}
    plan = dx.plan(study, **options, difference=0.2)
    assert plan["system_power"].item() == 1
    assert dx.plan(study, **options, difference=0.0)["system_power"].item() < 0.1
    assert (
        "interval of the area of system cad minus the readers' average excludes 0"
        in plan.attrs["in_words"]
    )


def test_one_modality_has_the_width_of_its_average_area():
    rng = np.random.default_rng(3)
    rows = [
        {"reader": r, "case": c, "score": c % 2 + rng.normal(), "ill": c % 2}
        for r in range(5) for c in range(80)
    ]  # fmt: skip
    study = dx.reader_study(rows, truth="ill", random_seed=1)
    plan = dx.plan(study, annotators=(5,), items=(80,), random_seed=1)
    low, high = study["average_auc"].quantile([0.025, 0.975], ("chain", "draw")).squeeze()
    assert plan["half_width"].item() == pytest.approx(float(high - low) / 2, rel=0.2)
    assert set(plan.data_vars) == {"half_width"}
    assert "5 readers and 80 cases" in plan.attrs["in_words"]


def test_the_sentence_names_the_cheapest_study_that_is_enough():
    plan = dx.plan(pilot(), annotators=(5, 10, 20), items=(100, 200, 400), difference=-0.0438)
    flat = plan["power"].stack(cell=("annotator", "item"))
    enough = flat[flat >= 0.8]
    cheapest = enough[int(np.argmin((enough["annotator"] * enough["item"]).to_numpy()))]
    study = f"{cheapest['annotator'].item()} readers and {cheapest['item'].item()} cases. "
    words = plan.attrs["in_words"].replace("\N{NO-BREAK SPACE}", " ")
    assert words.startswith(f"The smallest study with a power of .80 or more has {study}")
    assert words.endswith("The difference is assumed to be \N{MINUS SIGN}.044.")
    never = dx.plan(pilot(), annotators=(2,), items=(20,)).attrs["in_words"]
    assert never.startswith(
        "No study tried has a power of .80 or more. The study with the highest power has 2 readers "
        "and 20 cases. "
    )
    assert never.endswith("The difference is drawn from the pilot's posterior.")


def test_refusals_say_what_is_wrong():
    study = pilot()
    three = xr.concat([study, study.isel(modality=[0]).assign_coords(modality=["x"])], "modality",
                      data_vars="minimal")  # fmt: skip
    single = study.isel(modality=[0]).assign_attrs(modalities=["film"])
    three = three.assign_attrs(modalities=["film", "screen", "x"])
    certain = study.assign(auc=study["auc"] * 0 + 1)
    alone = study.where(study["reader"] == 0)
    ann = dx.annotations({"item": [1, 1], "annotator": [1, 2], "label": ["a", "b"]})
    check_refused(ArgumentError, [
        ("these readers", lambda: dx.plan(study.assign_attrs(new_readers=0)), "new readers"),
        ("these cases", lambda: dx.plan(study.assign_attrs(new_cases=0)), "new_cases=False"),
        ("three", lambda: dx.plan(three), "one or two modalities; found 3"),
        ("one", lambda: dx.plan(single, difference=0.1), "one modality and no system"),
        ("a part", lambda: dx.plan(study.isel(modality=[0])), "a whole reader study.*modalities"),
        ("turned", lambda: dx.plan(study.isel(modality=[1, 0])), "a whole reader study"),
        ("few", lambda: dx.plan(study.isel(reader=[0, 1])), "found 2 of 5 readers"),
        ("no attributes", lambda: dx.plan(study.drop_attrs()), "found no attributes"),
        ("half read", lambda: dx.plan(study.assign_attrs(share_scored=0.5)), "found 50.%"),
        ("certain", lambda: dx.plan(certain), "found no variance"),
        ("draws", lambda: dx.plan(study, draws=10), "draws: expected"),
        ("readers", lambda: dx.plan(study, readers=(5,)), "numbers of readers are annotators="),
        ("one reader", lambda: dx.plan(alone), "two or more readers"),
        ("accuracy", lambda: dx.plan(study, accuracy=0.8), "areas of readers are planned"),
        ("target", lambda: dx.plan(study, target=0.8), "areas of readers are planned"),
        ("studies", lambda: dx.plan(study, studies=4), "areas of readers are planned"),
        ("margin", lambda: dx.plan(study, margin=0), "margin: expected"),
        ("difference", lambda: dx.plan(study, difference=2), "difference: expected"),
        ("items", lambda: dx.plan(study, items=(0,)), "items: expected"),
        ("prob", lambda: dx.plan(study, prob=1), "prob: expected"),
        ("labels", lambda: dx.plan(ann, margin=0.1), "not a reader study"),
    ])  # fmt: skip
