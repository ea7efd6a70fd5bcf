"""Planning for a reliable mean label and a narrow interval, from a pilot."""

from __future__ import annotations

import component_fits as made
import numpy as np
import pytest
import xarray as xr
from scipy import stats
from seeds import rest_long

import dissensus as dx

QUICK = {"progressbar": False, "random_seed": 1}
ONLY_ANNOTATORS = {**QUICK, "width": None}
FEW_STUDIES = {**QUICK, "items": (20,), "studies": 2, "draws": 50}


def known(family="gaussian", **changed):
    """A pilot that leaves nothing open: ICC 1 / 2.25 for numbers."""
    draws = {"mu": 0.0, "sigma_item": 1.0, "sigma_annotator": 0.5}
    draws |= {"sigma": 1.0} if family == "gaussian" else {}
    draws |= {"cutpoint": [-1.0, 0.0, 1.0]} if family == "ordinal" else {}
    draws = {name: value for name, value in (draws | changed).items() if value is not None}
    return made.fit_of(family, **draws)


def test_annotators_of_a_known_icc_are_those_of_spearman_and_brown():
    plan = dx.plan_reliability(known(), (1, 4, 5, 6), target=0.8, **ONLY_ANNOTATORS)
    # By hand: 4 / 2.25 / (3 / 2.25 + 1) = 16 / 21, 5 / (4 + 2.25) = .8, 6 / (5 + 2.25) = 24 / 29.
    values = plan["reliability"].squeeze().to_numpy()
    np.testing.assert_allclose(values, [1 / 2.25, 16 / 21, 0.8, 24 / 29])
    assert plan["probability_reached"].to_numpy().tolist() == [0, 0, 1, 1]
    assert plan["annotators_enough"].item() == 5
    assert plan["annotators_needed"].item() == 5


@pytest.mark.unit(0, long=4)
@pytest.mark.parametrize("assurance", rest_long([0.8, 0.2, 0.5, 0.95], unit=2))
@pytest.mark.parametrize("family", ["gaussian", "bernoulli", "ordinal"])
def test_enough_is_the_first_number_that_is_sure_enough(family, assurance):
    pilot = made.crossed_effects(family, draws=100)
    plan = dx.plan_reliability(pilot, (1, 2, 9), target=0.75, assurance=assurance,
                                **ONLY_ANNOTATORS)  # fmt: skip
    icc = dx.icc(pilot, scale="observed")
    sure = [k for k in range(1, 400) if (dx.spearman_brown(icc, k) >= 0.75).mean() >= assurance]
    assert plan["annotators_enough"].item() == sure[0]
    for k in (1, 2, 9):
        expected = (dx.spearman_brown(icc, k) >= 0.75).mean().item()
        assert plan["probability_reached"].sel(annotator=k).item() == expected


def test_an_icc_of_nothing_takes_more_annotators_than_there_are():
    plan = dx.plan_reliability(known(sigma_item=0.0), (5,), **ONLY_ANNOTATORS)
    assert plan["annotators_enough"].item() == np.inf
    assert plan["probability_reached"].item() == 0


def test_probabilities_rise_with_annotators_and_are_probabilities():
    pilot = made.cross_replication("gaussian", draws=200)
    plan = dx.plan_reliability(pilot, (1, 2, 4, 8, 100), **ONLY_ANNOTATORS)
    chance = plan["probability_reached"]
    assert chance.dims == ("annotator", "pool")
    assert (chance.diff("annotator") >= 0).all()
    assert ((chance >= 0) & (chance <= 1)).all()
    assert plan["reliability"].dims[:2] == ("chain", "draw")


@pytest.mark.long
def test_width_of_a_balanced_study_of_numbers_is_that_of_theory():
    # Without annotators' effects the ICC of n items by k labels has for large n the variance
    # 2 (1 - r)^2 (1 + (k - 1) r)^2 / (k (k - 1) (n - 1)): Donner (1986), International
    # Statistical Review 54, after Fisher.
    r, k, n = 0.5, 4, 400
    variance = 2 * (1 - r) ** 2 * (1 + (k - 1) * r) ** 2 / (k * (k - 1) * (n - 1))
    plan = dx.plan_reliability(
        known(sigma_annotator=None), (k,), (n,), studies=8, prob=0.9, width=0.5, **QUICK
    )
    expected = stats.norm.ppf(0.95) * np.sqrt(variance)
    np.testing.assert_allclose(plan["half_width"].item(), expected, rtol=0.1)


@pytest.mark.long
def test_width_of_normalised_xcc_without_noise_is_that_of_a_correlation():
    # Labels that show the item's effect as it is leave a plain correlation of n pairs, with the
    # standard deviation (1 - rho^2) / sqrt(n - 1).
    rho, n = 0.6, 300
    pilot = made.fit_of(
        "gaussian", names=["a", "b"], correlation=[[1, rho], [rho, 1]], mu=0.0, sigma_item=1.0,
        sigma=0.05,
    )  # fmt: skip
    plan = dx.plan_reliability(pilot, (2,), (n,), studies=8, prob=0.9, width=0.5, **QUICK)
    expected = stats.norm.ppf(0.95) * (1 - rho**2) / np.sqrt(n - 1)
    of_pair = plan["xcc_half_width"].sel(pool="a", pool_="b").item()
    np.testing.assert_allclose(of_pair, expected, rtol=0.12)


@pytest.mark.unit(0, long=1)
@pytest.mark.long
@pytest.mark.filterwarnings("ignore::dissensus.errors.ConvergenceWarning")  # hardly matters here
@pytest.mark.parametrize("family", ["gaussian", "bernoulli", "ordinal"])
def test_width_is_that_of_studies_simulated_and_fitted_one_by_one(family):
    pilot, n, k, panel = known(family), 80, 3, 10
    plan = dx.plan_reliability(pilot, (k,), (n,), studies=12, panel=panel, prob=0.9, **QUICK)
    truth = {"sigma_item": 1.0, "sigma_annotator": 0.5}
    truth |= {"cutpoint": [-1.0, 0.0, 1.0]} if family == "ordinal" else {}
    lengths = []
    for seed in range(5):
        study = dx.simulate.replication_study(
            n, panel, k, family=family, random_seed=100 + seed, **truth
        )
        fit = dx.models.crossed_effects.fit(
            study.annotations, family=family, keep_effects=False, chains=2, draws=1000,
            random_seed=seed, progressbar=False,
        )  # fmt: skip
        low, high = dx.icc(fit, scale="observed").quantile([0.05, 0.95]).to_numpy()
        lengths.append(high - low)
    # Means of 12 and of 5 lengths that scatter by a fifth: a tenth of them is one standard error.
    np.testing.assert_allclose(plan["half_width"].item(), np.mean(lengths) / 2, rtol=0.25)


@pytest.mark.long
def test_more_items_and_more_annotators_in_all_narrow_the_interval():
    pilot = known(sigma_annotator=1.0)
    few, many = (
        dx.plan_reliability(pilot, (3,), (30, 120, 480), studies=4, panel=panel, width=0.2,
                            draws=200, **QUICK)
        for panel in (4, 60)
    )  # fmt: skip
    assert (few["half_width"].diff("item") < 0).all()
    assert (many["half_width"].diff("item") < 0).all()
    assert (many["half_width"] < few["half_width"]).all()
    assert (many["probability_narrow"].diff("item") >= 0).all()
    assert many["n_labels"].to_numpy().tolist() == [[90, 360, 1440]]
    # Four people remain four people: the panel of 60 gains more from sixteen times the items.
    gain = [x["half_width"].sel(item=30) / x["half_width"].sel(item=480) for x in (few, many)]
    assert (gain[0] < gain[1]).all()


@pytest.mark.long
def test_items_enough_are_the_first_that_are_sure_enough():
    plan = dx.plan_reliability(
        known(sigma_annotator=None), (4,), (30, 400, 800), studies=5, draws=100, width=0.15, **QUICK
    )
    # Half the width: theory (above) has .15 at 30 items, .04 at 400.
    assert plan["probability_narrow"].to_numpy().tolist() == [[0, 1, 1]]
    assert plan["items_enough"].to_numpy().tolist() == [400]
    none = dx.plan_reliability(
        known(), (2,), (20,), panel=5, studies=3, draws=50, width=0.01, **QUICK
    )
    assert np.isnan(none["items_enough"]).all()


@pytest.mark.long
def test_several_pools_have_intervals_of_their_own_and_of_each_pair():
    study = dx.simulate.replication_study(
        40, (6, 8, 5), 4, pools=("new", "old", "experts"), random_seed=2
    )
    plan = dx.plan_reliability(study.annotations, (2, 4), (30,), studies=2, draws=60, **QUICK)
    assert plan["half_width"].dims == ("annotator", "item", "pool")
    assert plan["xcc_half_width"].dims == ("annotator", "item", "pool", "pool_")
    assert plan["pool"].to_numpy().tolist() == study.annotations["pool"].to_numpy().tolist()
    same = np.eye(3, dtype=bool)
    width = plan["xcc_half_width"].to_numpy()[0, 0]
    assert np.isnan(width[same]).all()
    assert (width[~same] > 0).all()
    np.testing.assert_array_equal(width, width.T)
    assert plan["n_labels"].to_numpy().tolist() == [[180], [360]]
    assert plan.attrs["pilot_annotators"] == [6, 8, 5]


@pytest.mark.long
@pytest.mark.parametrize(
    ("family", "kind"), [("gaussian", None), ("bernoulli", "nominal"), ("ordinal", "ordinal")]
)
def test_annotations_are_fitted_by_the_family_of_their_kind(family, kind):
    ann = dx.simulate.replication_study(12, 5, 3, family=family, random_seed=3).annotations
    assert kind is None or ann.attrs["kind"] == kind
    plan = dx.plan(ann, (3,), target=0.6, **FEW_STUDIES)
    assert plan.attrs["family"] == family
    assert plan["icc"].dims == ("chain", "draw")


@pytest.mark.long
def test_the_icc_is_that_of_the_pilot_fitted_with_the_seed():
    ann = dx.simulate.replication_study(12, 5, 3, random_seed=3).annotations
    plan = dx.plan(ann, (3,), **FEW_STUDIES)
    fit = dx.models.crossed_effects.fit(ann, random_seed=1, progressbar=False, keep_effects=False)
    xr.testing.assert_equal(plan["icc"], dx.icc(fit, scale="observed"))


def test_the_scale_is_a_choice():
    pilot = known("bernoulli")
    latent, observed = (
        dx.plan_reliability(pilot, (3,), scale=scale, **ONLY_ANNOTATORS)
        for scale in ("latent", "observed")
    )
    xr.testing.assert_equal(latent["icc"], dx.icc(pilot))
    assert observed["annotators_enough"] > latent["annotators_enough"]


def test_annotators_without_names_stay_nobody_in_particular():
    ann = dx.simulate.replication_study(40, 30, 3, random_seed=4).annotations
    fit = dx.models.crossed_effects.fit(ann, anonymous=True, random_seed=1, progressbar=False)
    plan = dx.plan_reliability(fit, (3,), (40,), studies=2, draws=50, **QUICK)
    assert 0 < plan["half_width"].item() < 0.5
    with pytest.raises(dx.ArgumentError, match=r"^panel: expected none"):
        dx.plan_reliability(fit, (3,), (40,), panel=5, **QUICK)


@pytest.mark.long
def test_ordered_labels_keep_their_numbers_in_new_studies():
    # Labels far apart at one end: counted as 1, 2, 3, 4 the observed ICC would be another.
    pilot = known("ordinal", sigma_annotator=0.0, sigma_item=2.0)
    far = pilot.copy()
    constants = far["constant_data"].to_dataset()
    far["constant_data"] = constants.assign(label_value=constants["label_value"] ** 6)
    first, second = (
        dx.plan_reliability(fit, (4,), (300,), panel=9, studies=2, draws=100, width=0.9, **QUICK)
        for fit in (pilot, far)
    )
    assert abs(first["icc"].item() - second["icc"].item()) > 0.05
    assert first["half_width"].item() != second["half_width"].item()


def test_same_seed_same_plan():
    first, second = (
        dx.plan_reliability(known(), (2,), (30,), panel=6, studies=3, draws=50, **QUICK)
        for _ in range(2)
    )
    assert first.identical(second)
    other = dx.plan_reliability(
        known(), (2,), (30,), panel=6, studies=3, draws=50, random_seed=2, progressbar=False
    )
    assert other["half_width"].item() != first["half_width"].item()


def test_plan_leads_to_it():
    fit = known()
    options = {"panel": 6, "studies": 2, "draws": 50, **QUICK}
    assert dx.plan(fit, (2,), (30,), **options).identical(
        dx.plan_reliability(fit, (2,), (30,), **options)
    )


@pytest.mark.parametrize(
    "bad",
    [
        {"target": 1.0}, {"target": "high"}, {"width": 0}, {"assurance": 1.5}, {"prob": 2},
        {"annotators": (0,)}, {"items": ()}, {"studies": 0}, {"draws": 0.5}, {"scale": "log"},
        {"panel": 2}, {"panel": "all"}, {"family": "ordinal"}, {"accuracy": 0.9},
        {"random_seed": "x"},
    ],
    ids=str,
)  # fmt: skip
def test_nonsense_is_refused_by_name(bad):
    with pytest.raises(dx.ArgumentError, match=f"^{next(iter(bad))}: "):
        dx.plan(known(), **({"annotators": (3,), "items": (20,), "panel": 5} | bad))


def test_a_pilot_of_rankings_is_refused_in_its_own_words(rankings):
    with pytest.raises(dx.AnnotationError, match="plans for rankings do not exist yet"):
        dx.plan(rankings[0])


def test_a_pilot_of_another_kind_is_refused():
    three = dx.annotations({"item": [1, 1, 2], "annotator": list("aba"), "label": list("xyz")})
    with pytest.raises(dx.AnnotationError, match=r"^pilot: expected numbers, ordered labels"):
        dx.plan(three, target=0.8)
    two = dx.annotations({"item": [1, 1, 2], "annotator": list("aba"), "label": list("xyx")})
    with pytest.raises(dx.ArgumentError, match=r"^pilot: expected a fit of crossed_effects"):
        dx.plan(dx.models.dirichlet.fit(two, draws=5))
    with pytest.raises(dx.ArgumentError, match=r"^panel: expected the number"):
        dx.plan(known(), **QUICK)
    with pytest.raises(dx.ArgumentError, match=r"^studies: expected none"):
        dx.plan(two, studies=3)
