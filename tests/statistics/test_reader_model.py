"""Areas by the model of latent scores: against the prior with rejection, NUTS, and simulations."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from calibration import harness
from refusals import check_refused
from scipy import integrate
from scipy.special import ndtr
from scipy.stats import halfnorm, norm

import dissensus as dx
from dissensus.kernels import reader_effects
from dissensus.kernels.random import started
from dissensus.statistics import _reader_model
from dissensus.statistics._reader_scores import of_table, readings_in, truth_of

SAMPLE = ("chain", "draw")
NAMES = {"reader": "reader", "case": "case", "modality": "modality", "score": "score"}


def simulated(rng, n_readers=3, n_cases=30, n_modalities=2, system=False):
    """Parameters from the prior, latent scores, and what is to be estimated.

    Written with loops over kinds of effects, without the code of the sampler.
    """
    ill = np.arange(n_cases) % 2
    size = (n_modalities, n_readers, n_cases)
    sd = halfnorm.rvs(scale=1.0, size=3, random_state=rng)
    sd *= [1, n_modalities > 1 or system, n_modalities > 1]
    ratio = np.exp(0.5 * rng.standard_normal())
    spread = np.where(ill, ratio, 1.0)
    unit = np.sqrt((1 + (sd**2).sum()) * (1 + ratio**2))
    normal = rng.standard_normal
    scale = 0.2 if n_modalities > 1 else 0.2 * np.sqrt(2)
    between = abs(normal(2)) * scale * [1, n_modalities > 1]
    mean = 1 + normal(n_modalities)
    probit = mean[:, None] + between[0] * normal(n_readers) + between[1] * normal(size[:2])
    case = sd[0] * normal(n_cases)
    rest = case + sd[1] * normal((n_modalities, 1, n_cases)) + normal(size)
    rest = rest + sd[2] * normal((1, n_readers, n_cases))
    score = ill * unit * probit[..., None] + spread * rest
    true = {"auc": ndtr(probit), "average_auc": ndtr(mean / np.sqrt(1 + (between**2).sum()))}
    if system:
        own = 1 + normal()
        alone = case + np.hypot(sd[1], sd[2]) * normal(n_cases) + normal(n_cases)
        alone = ill * unit * own + spread * alone
        return score, true | {"system_auc": ndtr(own)}, alone
    return score, true


def table(score, grades=None):
    modality, reader, case = np.indices(score.shape).reshape(3, -1)
    score = score.ravel()
    if grades:
        score = np.digitize(score, np.quantile(score, np.arange(1, grades) / grades))
    return pd.DataFrame(
        {"modality": modality, "reader": reader, "case": case, "score": score, "ill": case % 2}
    )


def study(frame, truth="ill", **options):
    given = {"areas": "latent", "random_seed": 1, "draws": 1000, "progressbar": False}
    return dx.reader_study(frame, truth, **given | options)


def few(n_readers=3, n_modalities=2, grades=5, seed=3):
    return table(simulated(np.random.default_rng(seed), n_readers, 30, n_modalities)[0], grades)


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::dissensus.DissensusWarning")  # few cases, few readers
@pytest.mark.parametrize("n_modalities", [1, 2])
def test_areas_have_the_posterior_that_rejection_gives(n_modalities):
    """Draws from the prior are kept if all scores of the low grade are below those of the high."""
    ill = np.arange(6) % 2
    high = np.array([[[0, 0, 0, 1, 0, 1], [0, 1, 1, 1, 0, 1]],
                     [[0, 0, 0, 0, 1, 1], [0, 1, 0, 1, 0, 1]]])[:n_modalities]  # fmt: skip
    kept, rng, size = [], np.random.default_rng(5), 100_000
    for _ in range(20):
        sd = abs(rng.standard_normal((3, size)))
        sd[1:] *= n_modalities > 1
        ratio = np.exp(0.5 * rng.standard_normal(size))
        unit = np.sqrt((1 + (sd**2).sum(axis=0)) * (1 + ratio**2))
        scale = np.array([[0.2], [0.2]]) if n_modalities > 1 else np.array([[0.2 * 2**0.5], [0]])
        between = abs(rng.standard_normal((2, size))) * scale
        mean = 1 + rng.standard_normal((n_modalities, size))
        normal = rng.standard_normal
        probit = mean[:, None] + between[0] * normal((2, size))
        probit = probit + between[1] * normal((n_modalities, 2, size))
        shape = (n_modalities, 2, 6, size)
        rest = sd[0] * normal((6, size)) + sd[1] * normal((n_modalities, 1, 6, size))
        rest = rest + sd[2] * normal((1, 2, 6, size)) + normal(shape)
        spread = np.where(ill[:, None], ratio, 1.0)
        latent = ill[:, None] * (unit * probit)[:, :, None] + spread * rest
        low = np.where(high[..., None], -np.inf, latent).max(axis=2)
        fits = (low < np.where(high[..., None], latent, np.inf).min(axis=2)).all(axis=(0, 1))
        average = ndtr(mean / np.sqrt(1 + (between**2).sum(axis=0)))
        less = ndtr(probit[0, :1]) - average[:1]  # of both in one draw
        kept.append(np.concatenate([ndtr(probit).reshape(-1, size), average, less])[:, fits])
    kept = np.concatenate(kept, axis=1)
    assert kept.shape[1] > 500
    result = study(table(high), draws=8000)
    draws = np.concatenate([
        result["auc"].stack(s=SAMPLE).to_numpy().reshape(-1, 8000),
        result["average_auc"].stack(s=SAMPLE).to_numpy().reshape(-1, 8000),
    ])  # fmt: skip
    draws = np.concatenate([draws, draws[:1] - draws[2 * n_modalities :][:1]])
    effective = result.attrs["areas_ess_bulk_min"]
    for power in (1, 2):
        error = np.sqrt((kept**power).var(axis=1) * (1 / kept.shape[1] + 1 / effective))
        away = (kept**power).mean(axis=1) - (draws**power).mean(axis=1)
        assert (abs(away) < 4 * error).all(), (away / error).round(1)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::dissensus.DissensusWarning")
def test_areas_are_those_of_nuts():
    """The same model in PyMC; the largest latent number of each grade has its density."""
    import pymc as pm
    import pytensor.tensor as pt

    frame = few(grades=None)
    scores = frame.groupby(["modality", "reader"])["score"]
    cuts = [0.2, 0.4, 0.6, 0.8]
    frame["score"] = scores.transform(lambda x: np.digitize(x, x.quantile(cuts)))
    readings = [group for _, group in frame.groupby(["modality", "reader"])]
    n_grades, big = 5, 60.0
    n_cases = frame["case"].nunique()
    modality, reader = np.arange(6) // 3, np.arange(6) % 3
    which = np.repeat(np.arange(6), n_cases)
    rows = pd.concat(readings)
    case, ill, grade = (rows[name].to_numpy() for name in ("case", "ill", "score"))
    assert all(set(group["score"]) == set(range(n_grades)) for group in readings)
    with pm.Model():
        mean = pm.Normal("mean", 1, 1, shape=2)
        between = pm.HalfNormal("between", 0.2, shape=2)
        sd = pm.HalfNormal("sd", 1, shape=3)
        ratio = pm.LogNormal("ratio", 0, 0.5)
        unit = pt.sqrt((1 + (sd**2).sum()) * (1 + ratio**2))
        of_reader = pm.Normal("of_reader", shape=3)
        probit = mean[modality] + between[0] * of_reader[reader]
        probit = pm.Deterministic("probit", probit + between[1] * pm.Normal("more", shape=6))
        rest = sd[0] * pm.Normal("u", shape=n_cases)[case]
        rest += sd[1] * pm.Normal("v", shape=(n_cases, 2))[case, modality[which]]
        rest += sd[2] * pm.Normal("w", shape=(n_cases, 3))[case, reader[which]]
        spread = pt.switch(ill == 1, ratio, 1.0)
        centre = ill * (unit * probit)[which] + spread * rest
        first = np.tile(np.linspace(-2, 4, n_grades - 1), (6, 1))
        cut = pm.Flat(
            "cut", shape=(6, n_grades - 1), initval=first,
            default_transform=pm.distributions.transforms.ordered,
        )  # fmt: skip
        ends = pt.concatenate([np.full((6, 1), -big), cut, np.full((6, 1), big)], axis=1)
        low = (ends[which, grade] - centre) / spread
        high = (ends[which, grade + 1] - centre) / spread
        above = low + high > 0
        tails = (pt.erfc(-x / np.sqrt(2)) for x in
                 (pt.switch(above, -low, high), pt.switch(above, -high, low)))  # fmt: skip
        p = 0.5 * (next(tails) - next(tails)) + 1e-300
        rate = pt.exp(-0.5 * high**2) / np.sqrt(2 * np.pi) / spread / p
        pm.Potential("scores", pt.log(p).sum())
        for j in range(6):
            for k in range(n_grades - 1):
                pm.Potential(f"largest {j} {k}", pt.log(rate[(which == j) & (grade == k)].sum()))
        pm.Deterministic("average", pm.math.invprobit(mean / pt.sqrt(1 + (between**2).sum())))
        trace = pm.sample(1500, tune=1500, chains=2, cores=2, target_accept=0.95, random_seed=1,
                          progressbar=False)  # fmt: skip
    result = study(frame, draws=12_000)
    import arviz as az

    for name, ours in (("average", "average_auc"), ("probit", "auc")):
        nuts = trace["posterior"][name]
        nuts = ndtr(nuts) if name == "probit" else nuts
        draws = result[ours].to_numpy().reshape(4, 3000, -1)
        nuts = nuts.to_numpy().reshape(2, 1500, -1)
        for k in range(draws.shape[-1]):
            actual, reference = draws[..., k], nuts[..., k]
            effective = [float(az.ess(x)) for x in (actual, reference)]
            error = np.hypot(*(x.std() / np.sqrt(n) for x, n in zip((actual, reference), effective,
                                                                     strict=True)))  # fmt: skip
            assert min(effective) > 400
            assert abs(actual.mean() - reference.mean()) < 4 * error, name
            assert actual.std() == pytest.approx(reference.std(), rel=0.1)


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::dissensus.DissensusWarning")
@pytest.mark.parametrize("studies", [40, pytest.param(300, marks=pytest.mark.slow)])
def test_true_areas_are_anywhere_among_the_draws(studies):
    result = {"auc": [], "average_auc": [], "difference": [], "system_auc": []}
    for k in range(studies):
        rng = np.random.default_rng((17, k))
        score, true, alone = simulated(rng, system=True)
        drawn = study(
            table(score, grades=6), draws=400, predictions=dict(enumerate(alone)), random_seed=k
        )
        true["difference"] = true["average_auc"][0] - true["average_auc"][1]
        for name, places in result.items():
            values = drawn[name].stack(s=SAMPLE).to_numpy().reshape(-1, 400)[:1, ::4].T
            places.append(harness.places(values, np.ravel(true[name])[:1], rng))
    for name, places in result.items():
        assert harness.p_value(np.concatenate(places)) > 0.001, name


# Areas under binormal curves by maximum likelihood, each reader alone: the documented output of
# MRMCaov 0.3 ("Using MRMCaov"); averages .9110 and .9516, difference -.0406, standard error .0248.
BINORMAL = [[0.933, 0.890, 0.929, 0.970, 0.833], [0.951, 0.935, 0.928, 1.0, 0.945]]


@pytest.mark.long
def test_published_binormal_areas(shared):
    frame = pd.read_csv(shared / "mrmc_readers" / "vandyke_ratings.csv")
    options = {"reader": "annotator", "case": "item", "modality": "group", "score": "label"}
    result = study(frame, "gold", **options, draws=4000)
    np.testing.assert_allclose(result["average_auc"].mean(SAMPLE), [0.9110, 0.9516], atol=0.01)
    assert float(result["difference"].mean()) == pytest.approx(-0.0406, abs=0.008)
    assert float(result["difference"].std()) == pytest.approx(0.0248, abs=0.004)
    # Readers share a ratio of spreads here, and are drawn to each other.
    mine = result["auc"].mean(SAMPLE).to_numpy()
    assert abs(mine - BINORMAL).max() < 0.035
    assert np.corrcoef(mine.ravel(), np.ravel(BINORMAL))[0, 1] > 0.95


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::dissensus.DissensusWarning")
def test_only_the_order_of_a_readings_scores_counts():
    frame = few()
    other = frame.assign(score=np.exp(frame["score"]) + 10 * frame["reader"] * frame["modality"])
    first, second = study(frame, draws=40), study(other, draws=40)
    for name in ("auc", "average_auc", "curve"):
        np.testing.assert_array_equal(first[name], second[name])


@pytest.mark.filterwarnings("ignore::dissensus.DissensusWarning")
def test_areas_are_those_under_the_curves():
    frame = few(n_readers=1, n_modalities=1)
    result = study(frame, max_false_positive_rate=0.3, new_readers=False)
    curve = result["curve"].squeeze("modality")
    area = curve.integrate("false_positive_rate")
    # The trapezoid between places a hundredth apart.
    np.testing.assert_allclose(area, result["auc"].squeeze(), atol=0.006)
    for name in ("auc", "partial_auc"):
        np.testing.assert_allclose(result[f"average_{name}"].squeeze(), result[name].squeeze())


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::dissensus.DissensusWarning")
def test_partial_areas_are_those_of_quadrature():
    posterior = sampled(few(), draws=4)
    partial = _reader_model.areas(posterior, 0.3)["partial_auc"]
    for s, j in np.ndindex(partial.shape):
        negative, positive = np.sqrt(posterior.variance[s])
        at = posterior.separation[s, j] * np.hypot(negative, positive)

        def sensitivity(rate, at=at, negative=negative, positive=positive):
            return norm.sf((negative * norm.isf(rate) - at) / positive)

        known = integrate.quad(sensitivity, 0, 0.3, epsabs=1e-10)[0] / 0.3
        assert partial[s, j] == pytest.approx(known, abs=1e-8)


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::dissensus.DissensusWarning")
def test_averages_of_new_readers_are_means_over_readers():
    result = study(few(), max_false_positive_rate=0.4, draws=40)
    posterior = sampled(few())
    normal = np.random.default_rng(1).standard_normal
    spread = np.hypot(*posterior.between.T)[:, None]
    for name in ("auc", "partial_auc"):
        average, _ = _reader_model.averages(posterior, name, 0.4)
        of_readers = []
        for _ in range(400):
            probit = posterior.area + spread * normal(posterior.area.shape)
            drawn = posterior._replace(separation=probit)
            of_readers.append(_reader_model.areas(drawn, 0.4)[name])
        np.testing.assert_allclose(average.mean(0), np.mean(of_readers, axis=(0, 1)), atol=0.001)
    assert {"partial_auc_difference", "average_partial_auc", "interaction_sd"} <= set(result)


def sampled(frame, draws=400):
    read = of_table(frame, NAMES, None)
    true = truth_of(read, "ill", "case", None)
    rng = np.random.default_rng(1)
    return _reader_model.sample(readings_in(read, true), {}, read, true, draws, rng, show=False)


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::dissensus.DissensusWarning")
def test_what_belongs_to_the_model_and_what_does_not():
    frame = few()
    given = {"threshold": 3, "max_false_positive_rate": 0.5, "draws": 40,
             "predictions": dict(enumerate(np.linspace(0, 1, 30) + np.arange(30) % 2))}  # fmt: skip
    first, second = (study(frame, areas=areas, **given) for areas in ("empirical", "latent"))
    assert set(first) == set(second)
    assert dict(second.sizes) == dict(first.sizes) | {"chain": 4, "draw": 10}
    model = ("auc", "curve", "reader_sd", "interaction_sd")
    for name in first:
        short = name.removeprefix("average_").removeprefix("system_").removeprefix("partial_")
        by_model = short in model or name.endswith("difference")
        by_model &= not any(word in name for word in ("observed", "sensitivity", "specificity"))
        same = np.array_equal(
            first[name].values.ravel(), second[name].values.ravel(), equal_nan=True
        )
        assert same != by_model, name
    assert "by latent scores" in second.in_words
    assert second.attrs["areas"] == "latent"
    assert study(frame, draws=41).sizes["draw"] == 11
    for name in ("new_readers", "max_false_positive_rate"):
        changed = study(frame, draws=40, **{name: name != "new_readers" and 0.2})
        assert set(changed) != set(second.drop_vars([v for v in second if "partial" in v])), name


@pytest.mark.long
def test_a_reader_without_errors_has_an_area_below_1():
    rng = np.random.default_rng(2)
    score = rng.random((1, 4, 40)) + 2 * (np.arange(40) % 2)
    result = study(table(score), draws=2000)  # the empirical areas warn
    assert result.attrs["areas_ess_bulk_min"] > 300
    assert 0.9 < float(result["auc"].mean()) < 0.999
    assert float(result["average_auc"].std()) > 0.001


@pytest.mark.filterwarnings("ignore::dissensus.DissensusWarning")
def test_chains_that_have_not_converged_are_reported(monkeypatch):
    monkeypatch.setattr(_reader_model, "WARM_UP", 0)
    monkeypatch.setattr(_reader_model._Chain, "_sweep", _alone)
    with pytest.warns(dx.ConvergenceWarning, match=r"r-hat .*with more draws \(draws=1600\)"):
        result = study(few(), draws=400)
    assert result.attrs["areas_r_hat_max"] > 1.05
    with pytest.warns(dx.ConvergenceWarning, match="only 99 draws a chain"):
        study(few(), draws=396)


def _alone(self):
    """Leave separations near where they were at first, which differs between chains."""
    if not hasattr(self, "first"):
        self.first = float(self.state[0] % 97) / 30
    self.now.separation[:] = self.first + 0.1 * np.random.default_rng(self.state[0]).normal()


@pytest.mark.filterwarnings("ignore::dissensus.DissensusWarning")
def test_scores_are_divided_into_grades_of_equal_size():
    score = np.random.default_rng(1).random(95)
    grade = _reader_model.graded(score)
    assert np.bincount(grade).tolist() == [10, 9, 10, 9, 10, 9, 10, 9, 10, 9]
    assert (np.diff(grade[np.argsort(score)]) >= 0).all()
    many = np.concatenate([np.zeros(185), np.arange(1.0, 16)])  # most are equal: others stay apart
    grades = np.bincount(_reader_model.graded(many))
    assert grades[0] == 185
    assert len(grades) == 10
    assert grades[1:].max() == 2


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::dissensus.DissensusWarning")
def test_readers_who_are_left_out_change_nothing():
    frame = few()
    more = frame.assign(reader=frame["reader"] + 100)
    others = pd.DataFrame({"reader": range(60), "case": 0, "modality": 0, "score": 1, "ill": 0})
    first, second = (
        study(table, draws=40)["average_auc"] for table in (more, pd.concat([others, more]))
    )
    np.testing.assert_array_equal(first, second)


def test_areas_are_drawn_given_separations():
    """The conditional mean and covariance of a normal distribution, in NumPy."""
    modality, reader = np.array([0, 0, 1, 1, 2]), np.array([0, 1, 0, 1, 2])
    is_system = np.array([False] * 4 + [True])
    between, sd, ratio = np.array([0.4, 0.3]), np.array([0.5, 0.6, 0.7]), np.array([1.0, 1.4])
    unit = np.sqrt((1 + (sd**2).sum()) * (1 + ratio[1] ** 2))
    separation = unit * np.array([0.5, 1.5, 0.9, 1.4, 2.0])
    state, areas = started(3), np.empty((20_000, 3))
    for area in areas:
        reader_effects.draw_areas(
            state, separation, area, between, sd, ratio, modality, reader, is_system
        )
    which = (modality[:, None] == np.arange(3)).astype(float)
    same = (reader[:, None] == reader) & ~is_system
    covariance = which @ which.T + between[0] ** 2 * same + between[1] ** 2 * np.diag(~is_system)
    gain = which.T @ np.linalg.inv(covariance)
    np.testing.assert_allclose(areas.mean(0), 1 + gain @ (separation / unit - 1), atol=0.01)
    np.testing.assert_allclose(np.cov(areas.T), np.eye(3) - gain @ which, atol=0.01)
    assert areas[:, 2].std() < 1e-4  # a system is its own average


@pytest.mark.filterwarnings("ignore::dissensus.DissensusWarning")
def test_areas_are_drawn_last(monkeypatch):
    """All moves sum them out: drawn before another move they would not belong to its values."""

    def copied(_, separation, area, between, sd, ratio, *rest):
        area[:] = separation[: len(area)] / np.sqrt((1 + (sd**2).sum()) * (1 + ratio[1] ** 2))

    monkeypatch.setattr(reader_effects, "draw_areas", copied)
    posterior = sampled(few(), draws=40)
    np.testing.assert_allclose(posterior.area, posterior.separation[:, :2])


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::dissensus.DissensusWarning")
def test_readers_with_one_modality_each_have_one_spread():
    frame = few()
    nested = frame.assign(reader=frame["reader"] + 10 * frame["modality"])
    assert "interaction_sd" not in study(nested, draws=40)
    assert "interaction_sd" in study(frame, draws=40)


def test_two_grades_are_warned_of():
    frame = few(n_readers=4, n_modalities=1)
    with pytest.warns(dx.DissensusWarning, match="two different scores"):
        study(frame.assign(score=1 * (frame["score"] + frame["ill"] > 3)))


FRAME = few()
REFUSALS = [
    ("a name", lambda: study(FRAME, areas="smooth"), "areas: expected 'empirical' or 'latent'"),
    ("all at once",
     lambda: study(FRAME.assign(patient=FRAME["case"] // 2), cluster="patient", new_cases=False),
     "areas: expected 'empirical', as .* found 'latent' with cluster= and new_cases=False"),
    ("many scores", lambda: study(few(n_readers=340)),
     r"found 'latent' with too large a study \(20,400 scores\)"),
    ("one score", lambda: study(FRAME.assign(score=FRAME["score"] * (FRAME["reader"] > 0))),
     "'latent' with one score for all cases from 'reader 0 with 0', 'reader 0 with 1'"),
    ("a bar", lambda: study(FRAME, progressbar="no"), "progressbar: expected True or False"),
    ("a plan", lambda: dx.plan(study(FRAME, draws=40), annotators=[3], items=[50]),
     "pilot: expected a reader study with areas='empirical'"),
]  # fmt: skip


@pytest.mark.filterwarnings("ignore::dissensus.DissensusWarning")
def test_refusals_say_what_is_wrong():
    check_refused(dx.DissensusError, REFUSALS)
