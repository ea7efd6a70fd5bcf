"""Crossed effects beside published tables and lme4's REML figures.

Figures of lme4 1.1-31 and of pingouin 0.6.1 are those of the READMEs in ``shared/data``, others
name their source. REML maximises a likelihood, a posterior averages: with thousands of items they
are one, with six they only have to be compatible.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import optimize, special, stats
from statsmodels.formula.api import mixedlm
from statsmodels.tools.numdiff import approx_hess

import dissensus as dx
from dissensus.models import crossed_effects

PARTS = ("sigma_item", "sigma_annotator", "sigma")
SHROUT_FLEISS = [
    [9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7],
]  # fmt: skip
"""Table 2 of Shrout & Fleiss (1979): six targets by four judges."""
FLAT = dict.fromkeys(PARTS, ("half_t", 100.0, 3.0))
"""All but flat where scores go from 1 to 10."""


def fit(ann, **options):
    return crossed_effects.fit(
        ann,
        **{"draws": 2000, "chains": 2, "tune": 300, "random_seed": 8, "progressbar": False,
           "keep_effects": False, **options},
    )  # fmt: skip


def read(path, column="label", kind="continuous", **options):
    if not path.is_file():
        pytest.skip(f"{path.name} of {path.parent.name} is not in shared/data")
    return dx.annotations(pd.read_csv(path), label=column, kind=kind, **options)


def variances(result):
    return {name: (result["posterior"][name] ** 2).to_numpy() for name in PARTS}


def inside(draws, value, share=0.9):
    low, high = np.quantile(draws, [(1 - share) / 2, (1 + share) / 2])
    return low < value < high


def test_shrout_and_fleiss():
    """REML: item 2.556, judge 5.244, residual 1.019; ICC(2,1) .290, as printed."""
    fitted = fit(dx.from_matrix(SHROUT_FLEISS, kind="continuous"), priors=FLAT, draws=4000)
    for name, value in zip(PARTS, (2.556, 5.244, 1.019), strict=True):
        assert inside(variances(fitted)[name], value), name
    assert inside(dx.icc(fitted), 0.290)
    # Four judges say next to nothing of how judges differ.
    low, high = np.quantile(dx.icc(fitted), [0.05, 0.95])
    assert low < 0.1
    assert high > 0.6


LARGE = {
    "insteval/ratings.csv.gz": (0.27373, 0.10621, 1.38718, 3.254158),
    "vcc2018_mos/ratings.csv.gz": (0.47873, 0.48494, 0.71186, 2.89696),
    "nflx_video_quality/ratings.csv": (1.40403, 0.08761, 0.39405, 3.54479),
}
"""lmer(label ~ 1 + (1 | item) + (1 | annotator)), REML: variances of items, annotators and
residual, and the intercept."""


@pytest.mark.long
@pytest.mark.parametrize("name", LARGE)
def test_lme4_on_thousands_of_grades(name, shared):
    *parts, intercept = LARGE[name]
    fitted = fit(read(shared / name), draws=400, tune=200)
    for part, value in zip(PARTS, parts, strict=True):
        draws = variances(fitted)[part]
        # With 26 annotators or 79 items the mean of a skewed posterior lies above its peak.
        assert abs(np.median(draws) - value) < 0.35 * draws.std(), part
    mu = fitted["posterior"]["mu"].to_numpy()
    assert abs(mu.mean() - intercept) < 0.25 * mu.std()


def by_mean_squares(table):
    """Return REML's variances of a complete table, which are those of mean squares, and ICC(A,1).

    Where none is negative (Searle, Casella & McCulloch 1992, chapter 4; McGraw & Wong 1996).
    """
    n, k = table.shape
    rows, columns = table.mean(axis=1), table.mean(axis=0)
    rest = table - rows[:, None] - columns + table.mean()
    item, annotator = k * rows.var(ddof=1), n * columns.var(ddof=1)
    error = (rest**2).sum() / ((n - 1) * (k - 1))
    parts = np.array([(item - error) / k, (annotator - error) / n, error])
    assert (parts > 0).all()
    return parts, parts[0] / parts.sum()


def complete(n_items, n_annotators, sds, seed):
    """Simulate a number from everybody of everything."""
    rng = np.random.default_rng(seed)
    item, annotator, rest = (
        sd * rng.standard_normal(size)
        for sd, size in zip(
            sds, [(n_items, 1), (1, n_annotators), (n_items, n_annotators)], strict=True
        )
    )
    return 3.0 + item + annotator + rest


def test_mean_squares_on_thousands_of_simulated_grades():
    """What lme4 is for the sets above, in a bare clone: 80 items by 40 annotators."""
    table = complete(80, 40, (0.7, 0.5, 1.0), seed=4)
    parts, icc = by_mean_squares(table)
    fitted = fit(dx.from_matrix(table.tolist(), kind="continuous"), draws=800, tune=200)
    for part, value in zip(PARTS, parts, strict=True):
        draws = variances(fitted)[part]
        assert abs(np.median(draws) - value) < 0.35 * draws.std(), part
    mu = fitted["posterior"]["mu"].to_numpy()
    assert abs(mu.mean() - table.mean()) < 0.25 * mu.std()
    assert np.median(dx.icc(fitted)) == pytest.approx(icc, abs=0.02)


def test_lme4_and_pingouin_on_wine_scores(shared):
    """REML SDs: bottle 13.817, judge 8.517, residual 12.587; ICC(A,1) .4525."""
    fitted = fit(read(shared / "wine_bitterness" / "ratings.csv", "response"))
    for name, value in zip(PARTS, (13.817, 8.517, 12.587), strict=True):
        draws = fitted["posterior"][name].to_numpy()
        assert abs(np.median(draws) - value) < 0.6 * draws.std(), name
    assert np.median(dx.icc(fitted)) == pytest.approx(0.4525, abs=0.05)


def test_shrout_and_fleiss_under_default_priors():
    """ICC(2,1) as printed: near the middle of what 24 numbers leave open."""
    icc = dx.icc(fit(dx.from_matrix(SHROUT_FLEISS, kind="continuous")))
    assert inside(icc, 0.290)
    assert abs(np.median(icc) - 0.290) < 0.75 * float(icc.std())


def test_mean_squares_of_a_small_table():
    """Eight bottles by nine judges, as of the wine scores: default priors move little."""
    table = complete(8, 9, (14.0, 8.5, 12.5), seed=3)
    parts, icc = by_mean_squares(table)
    fitted = fit(dx.from_matrix(table.tolist(), kind="continuous"))
    for name, value in zip(PARTS, np.sqrt(parts), strict=True):
        draws = fitted["posterior"][name].to_numpy()
        assert abs(np.median(draws) - value) < 0.6 * draws.std(), name
    assert np.median(dx.icc(fitted)) == pytest.approx(icc, abs=0.05)


TABLES = {
    "wine_bitterness/ratings.csv": 0.3885,
    "textbook_reliability/irr_anxiety.csv": 0.1980,
    "textbook_reliability/icc_wine_judges.csv": 0.7277,
}
"""ICC(A,1), two-way random effects, absolute agreement: the ICC of this model."""


@pytest.mark.parametrize("name", TABLES)
def test_pingouin_on_small_tables(name, shared):
    icc = dx.icc(fit(read(shared / name)))
    assert inside(icc, TABLES[name])
    assert abs(np.median(icc) - TABLES[name]) < 0.75 * float(icc.std())


def test_judges_of_wine_in_grades(shared):
    """clmm (logit; temperature and contact as fixed effects): judges' variance 1.288.

    Bottles differ by temperature and contact, so that their random effects here take the place of
    those fixed ones. A logistic standard deviation is 1.6 to 1.8 of a probit one.
    """
    ann = read(shared / "wine_bitterness" / "ratings.csv", kind="ordinal", labels=range(1, 6))
    judges = fit(ann, family="ordinal")["posterior"]["sigma_annotator"]
    assert inside(judges, np.sqrt(1.288) / 1.7)


POPQUORN = {
    "gender[Non-binary]": (-0.225, 0.060), "gender[Woman]": (-0.018, 0.019),
    "race[Black or African American]": (0.173, 0.044), "race[Hispanic or Latino]": (-0.419, 0.077),
    "race[Native American]": (-0.519, 0.071), "race[White]": (-0.113, 0.036),
    "age[25-29]": (-0.165, 0.040), "age[30-34]": (-0.166, 0.039), "age[35-39]": (-0.158, 0.038),
    "age[40-44]": (-0.020, 0.042), "age[45-49]": (-0.072, 0.043), "age[50-54]": (-0.072, 0.044),
    "age[54-59]": (0.017, 0.037), "age[60-64]": (0.343, 0.048), "age[>65]": (0.148, 0.039),
}  # fmt: skip
"""Coefficients and their standard errors by statsmodels' MixedLM (REML, effects of items only), as
printed in ``Tables/Table_popquorn.tex`` of github.com/anasan00/CSS_project_Hennig_Sanchez; there:
intercept 1.995 (.046), variance of items .434, of the residual 1.0224, 12,987 labels. The one
annotator of the group "Arab American" is left out there, so that groups are compared with Asian."""


def popquorn(shared, kind="continuous"):
    folder = shared / "popquorn_offensiveness"
    if not folder.is_dir():
        pytest.skip("popquorn_offensiveness is not in shared/data")
    people = pd.read_csv(folder / "annotators.csv").query("race != 'Arab American'")
    labels = pd.read_csv(folder / "ratings.csv.gz")
    labels = labels[labels["annotator"].isin(people["annotator"])]
    assert len(labels) == 12_987
    ann = dx.annotations(labels, kind=kind)
    return ann, {"formula": "~ gender + race + age", "annotators": people}


@pytest.mark.long
def test_statsmodels_on_simulated_annotators_of_two_groups():
    """`MixedLM` (REML, effects of items only), as the one printed below."""
    rng = np.random.default_rng(5)
    people = pd.DataFrame({
        "annotator": range(40), "age": rng.normal(size=40), "group": rng.choice(["a", "b"], 40),
    })  # fmt: skip
    who = np.concatenate([rng.permutation(40)[:6] for _ in range(100)])
    labels = pd.DataFrame({"item": np.repeat(range(100), 6), "annotator": who})
    both = labels.merge(people, on="annotator", validate="many_to_one")
    both["label"] = 2.0 + 0.3 * both["age"] - 0.4 * (both["group"] == "b")
    both["label"] += 0.7 * rng.normal(size=100)[both["item"]] + rng.normal(size=600)
    known = mixedlm("label ~ group + age", both, groups="item").fit()
    fitted = fit(
        dx.annotations(both[["item", "annotator", "label"]], kind="continuous"), anonymous=True,
        formula="~ group + age", annotators=people,
    )  # fmt: skip
    draws = fitted["posterior"]["coefficient"]
    for term, name in (("group[b]", "group[T.b]"), ("age", "age")):
        term_draws, error = draws.sel(term=term), known.bse[name]
        assert abs(float(term_draws.mean()) - known.params[name]) < 0.15 * error, term
        assert float(term_draws.std()) == pytest.approx(error, rel=0.1), term
    intercept = fitted["posterior"]["mu"] - draws @ fitted["constant_data"]["covariate_mean"]
    error = known.bse["Intercept"]
    assert abs(float(intercept.mean()) - known.params["Intercept"]) < 0.15 * error
    for name, value in (("sigma_item", known.cov_re.iloc[0, 0]), ("sigma", known.scale)):
        draws = fitted["posterior"][name] ** 2
        assert abs(float(np.median(draws)) - value) < 0.25 * float(draws.std()), name


@pytest.mark.long
def test_a_printed_regression_on_demographics_of_annotators(shared):
    ann, known = popquorn(shared)
    fitted = fit(ann, anonymous=True, **known, draws=1000)
    draws = fitted["posterior"]["coefficient"]
    assert draws["term"].to_numpy().tolist() == list(POPQUORN)
    for k, (term, (value, error)) in enumerate(POPQUORN.items()):
        assert abs(float(draws[..., k].mean()) - value) < 0.15 * error, term
        assert float(draws[..., k].std()) == pytest.approx(error, rel=0.1), term
    mean = fitted["constant_data"]["covariate_mean"]
    intercept = fitted["posterior"]["mu"] - (draws * mean).sum("term")
    assert float(intercept.mean()) == pytest.approx(1.995, abs=0.01)
    assert float(intercept.std()) == pytest.approx(0.046, rel=0.1)
    for name, value in (("sigma_item", 0.434), ("sigma", 1.0224)):
        draws = fitted["posterior"][name] ** 2
        assert float(draws.mean()) == pytest.approx(value, rel=0.01), name


BAMBI = {
    "gaussian": {
        "sigma_item": (0.667, 0.015), "sigma_annotator": (0.536, 0.027), "sigma": (0.870, 0.006),
        "difference": (0.289, 0.104),
    },
    "ordinal": {
        "sigma_item": (1.020, 0.027), "sigma_annotator": (0.844, 0.040),
        "difference": (0.359, 0.159),
    },
}  # fmt: skip
"""Means and standard deviations by Bambi 0.21.0 under the same priors, run for this test by
``label ~ ... + (1|item) + (1|annotator)``: gaussian, 2 x 500 draws of NUTS, and cumulative probit,
2 x 200. The difference is between Black or African American and White annotators; it has 110 and
156 effective draws, the others 170 to 1,300."""


@pytest.mark.unit(0, long=1)
@pytest.mark.parametrize("family", BAMBI)
def test_bambi_on_demographics_of_annotators_who_differ(family, shared):
    ann, known = popquorn(shared, "ordinal" if family == "ordinal" else "continuous")
    fitted = fit(ann, family=family, **known, draws=800)
    contrast = dx.contrast(fitted, {"race[Black or African American]": 1.0, "race[White]": -1.0})
    for name, (value, sd) in BAMBI[family].items():
        draws = contrast if name == "difference" else fitted["posterior"][name]
        # Standard errors of Bambi's means are .1 sd and less.
        assert abs(float(draws.mean()) - value) < 0.35 * sd, name
        assert float(draws.std()) == pytest.approx(sd, rel=0.2), name


@pytest.mark.long
def test_a_covariate_of_items_that_everybody_labelled_is_a_t_test():
    """Of the items' means, as annotators' effects cancel."""
    table = complete(60, 12, (0.7, 0.5, 1.0), seed=6)
    gold = np.arange(60) % 3 == 0
    table += 0.5 * gold[:, None]
    share = table.mean(axis=1)
    difference = share[gold].mean() - share[~gold].mean()
    error = difference / stats.ttest_ind(share[gold], share[~gold]).statistic
    items = pd.DataFrame({"item": range(60), "gold": np.where(gold, "Yes", "No")})
    fitted = fit(dx.from_matrix(table.tolist(), kind="continuous"), formula="~ gold", items=items)
    draws = dx.contrast(fitted, {"gold[Yes]": 1.0})
    assert abs(float(draws.mean()) - difference) < 0.1 * error
    assert float(draws.std()) == pytest.approx(error, rel=0.07)


@pytest.mark.long
def test_everybody_labels_everything_and_experts_divide_the_items(shared):
    """In a complete table the coefficient is the difference of two means of items' means.

    Its standard error is that of a t test on the items' means, as annotators' effects cancel.
    """
    folder = shared / "dices350"
    if not folder.is_dir():
        pytest.skip("dices350 is not in shared/data")
    labels = pd.read_csv(folder / "ratings.csv.gz")
    labels["label"] = (labels["label"] == "Yes").astype(float)
    gold = pd.read_csv(folder / "expert.csv")
    share = labels.groupby("item")["label"].mean()
    unsafe = share.index.isin(gold["item"][gold["gold"] == "Yes"])
    difference = share[unsafe].mean() - share[~unsafe].mean()
    error = difference / stats.ttest_ind(share[unsafe], share[~unsafe]).statistic
    assert difference == pytest.approx(0.19438, abs=1e-5)
    fitted = fit(dx.annotations(labels, kind="continuous"), formula="~ gold", items=gold)
    draws = dx.contrast(fitted, {"gold[Yes]": 1.0})
    assert abs(float(draws.mean()) - difference) < 0.1 * error
    assert float(draws.std()) == pytest.approx(error, rel=0.07)


@pytest.mark.long
def test_a_covariate_of_annotators_who_labelled_everything_is_a_t_test():
    """Of the annotators' means, as effects of items cancel."""
    table = complete(12, 60, (0.7, 0.5, 1.0), seed=6)
    old = np.arange(60) % 3 == 0
    table += 0.5 * old
    mean = table.mean(axis=0)
    difference = mean[old].mean() - mean[~old].mean()
    error = difference / stats.ttest_ind(mean[old], mean[~old]).statistic
    people = pd.DataFrame({"annotator": range(60), "group": np.where(old, "old", "young")})
    fitted = fit(
        dx.from_matrix(table.tolist(), kind="continuous"), formula="~ group", annotators=people,
        draws=4000,
    )  # fmt: skip
    draws = dx.contrast(fitted, {"group[young]": -1.0})
    assert abs(float(draws.mean()) - difference) < 0.1 * error
    assert float(draws.std()) == pytest.approx(error, rel=0.07)


@pytest.mark.long
def test_grades_by_two_groups_of_annotators_beside_maximum_likelihood():
    """Cumulative probit, effects of items integrated by Gauss-Hermite nodes, as R's clmm does."""
    rng = np.random.default_rng(3)
    who = np.concatenate([rng.permutation(30)[:8] for _ in range(150)])
    item, group, words = np.repeat(np.arange(150), 8), np.arange(30) % 2, rng.normal(size=150)
    x = np.column_stack([group[who], words[item], group[who] * words[item]])
    latent = 0.8 * rng.normal(size=150)[item] + x @ [0.5, -0.3, 0.4] + rng.normal(size=1200)
    grade = np.digitize(latent, [-0.5, 0.4, 1.3])
    node, weight = np.polynomial.hermite_e.hermegauss(25)

    def minus(free):
        cut = np.r_[-np.inf, free[0] + np.cumsum(np.r_[0.0, np.exp(free[1:3])]), np.inf]
        eta = (x @ free[4:])[:, None] + np.exp(free[3]) * node
        above, below = (special.ndtr(cut[grade + k][:, None] - eta) for k in (1, 0))
        each = np.log(np.maximum(above - below, 1e-300)).reshape(150, 8, -1).sum(axis=1)
        return -np.log(np.exp(each) @ weight).sum()

    best = optimize.minimize(minus, [-0.5, *np.zeros(6)]).x
    errors = np.sqrt(np.diag(np.linalg.inv(approx_hess(best, minus))))
    fitted = fit(
        dx.annotations({"item": item, "annotator": who, "label": grade}, kind="ordinal"),
        family="ordinal", anonymous=True, formula="~ group * words",
        items={"item": range(150), "words": words},
        annotators={"annotator": range(30), "group": np.where(group, "b", "a")},
    )["posterior"]  # fmt: skip
    gaps = np.log(fitted["cutpoint"].diff("boundary"))
    terms = ("group[b]", "words", "group[b]:words")
    drawn = [gaps[..., 0], gaps[..., 1], np.log(fitted["sigma_item"])]
    drawn += [fitted["coefficient"].sel(term=term) for term in terms]
    for draws, value, error in zip(drawn, best[1:], errors[1:], strict=True):
        assert abs(float(draws.mean()) - value) < 0.25 * error
        assert float(draws.std()) == pytest.approx(error, rel=0.15)
