"""What every model in the registry must do, whatever it models."""

from __future__ import annotations

import inspect
import re
from functools import cache, partial

import arviz as az
import matplotlib.pyplot as plt
import numpy as np
import pymc as pm
import pytensor
import pytest
import xarray as xr
from refusals import check_refused

import dissensus as dx
from dissensus.models import MODELS
from dissensus.sampling.fitting import EXACT
from dissensus.sampling.interpreter import Interpreted, interpreted, uncompiled
from dissensus.sampling.step import Model

# The arguments that docs call with, and their defaults: api.md, "Models".
FIT_DEFAULTS = {
    "draws": 1000,
    "tune": 500,
    "chains": 4,
    "random_seed": None,
    "progressbar": True,
    "log_likelihood": False,
    "posterior_predictive": False,
}
GROUPS = {"posterior", "sample_stats", "observed_data", "constant_data"}
PAIRS = [pytest.param(model, kind, id=f"{model.name}-{kind}") for model in MODELS
         for kind in model.kinds]  # fmt: skip
pytestmark = pytest.mark.unit(6, long="all")

by_model = pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)
LAST = [pytest.param(model, kind, id=f"{model.name}-{kind}",
                     marks=[] if kind == model.kinds[-1] else pytest.mark.long)
        for model in MODELS for kind in model.kinds]  # fmt: skip
by_last_kind = pytest.mark.parametrize(("model", "kind"), LAST)
"""One kind of each model; the others in long tests."""
by_kind = pytest.mark.parametrize(("model", "kind"), PAIRS)


def small_fit(model, annotations, **options):
    options = {"draws": 50, "chains": 2, "random_seed": 3, "progressbar": False, **options}
    return model.module.fit(annotations, **options)


NO_LIKELIHOOD = {"inverse_rank"}
"""Models that say they have no likelihood, and so no pointwise one."""


POTENTIALS = "ignore:The effect of Potentials on other parameters"
"""PyMC says so of rounded scores, of which a prior is learned by the spread of rounding."""


@pytest.fixture(scope="module")
def complete(examples):
    """Return a model's fit with all groups it has, made once."""

    @cache
    def made(model, kind):
        return small_fit(
            model, examples[kind],
            posterior_predictive=True, log_likelihood=model.name not in NO_LIKELIHOOD,
        )  # fmt: skip

    return made


def test_names_are_those_of_the_registry():
    assert dx.models.names() == [model.name for model in MODELS]
    assert set(dx.models.names()) <= set(dir(dx.models))


@by_model
def test_found_by_name(model):
    assert dx.models.get(model.name) is model
    assert getattr(dx.models, model.name) is model.module
    assert tuple(model.module.KINDS) == model.kinds


def test_an_unknown_name_is_refused_with_the_known_ones():
    with pytest.raises(dx.ArgumentError, match="dirichlet"):
        dx.models.get("dirichelt")
    with pytest.raises(AttributeError, match="dirichlet"):
        _ = dx.models.dirichelt


@by_model
def test_the_docstring_is_a_card(model):
    card = model.module.__doc__
    for word in (r"The story\.", r"Priors and why\.", r"When to use it\.", r"When not:",
                 r"Source: .*\(\d{4}\)", r"\.\. math::"):  # fmt: skip
        assert re.search(word, card), f"the card of {model.name} lacks {word}"


@by_model
def test_arguments(model):
    fit = inspect.signature(model.module.fit).parameters
    build = inspect.signature(model.module.build).parameters
    first = "pairs" if model.kinds == ("pair",) else "annotations"
    assert next(iter(fit)) == next(iter(build)) == first
    for name, default in FIT_DEFAULTS.items():
        assert fit[name].default == default
    assert all(fit[name].kind == inspect.Parameter.KEYWORD_ONLY for name in list(fit)[1:])
    assert all(build[name].kind == inspect.Parameter.KEYWORD_ONLY for name in list(build)[1:])
    hyper = {name: p.default for name, p in build.items() if name != first}
    no_settings = {*FIT_DEFAULTS, first, "keep_effects", "keep_items", "checkpoint"}
    assert hyper == {n: p.default for n, p in fit.items() if n not in no_settings}


@by_kind
def test_fit_returns_arviz_groups(model, kind, complete, examples):
    fit = complete(model, kind)
    assert isinstance(fit, xr.DataTree)
    assert set(fit.children) >= GROUPS
    assert ("plausibility" in fit["posterior"]) == model.plausibility
    for name, draws in fit["posterior"].data_vars.items():
        assert draws.dims[:2] == ("chain", "draw"), name
        assert draws.shape[:2] == (2, 50)
        assert draws.dtype == np.float64
        nowhere = draws.isnull().all(["chain", "draw"])
        assert np.isfinite(draws.where(~nowhere, 0)).all()
        # An annotator has no effect in a pool that is not theirs.
        assert not nowhere.any() or (name == "annotator_effect" and model.pools)
    if fit.attrs["inference"] == EXACT:
        assert np.isfinite(fit["sample_stats"]["lp"]).all()
    assert fit["posterior"].indexes["item"].tolist() == examples[kind].indexes["item"].tolist()


@by_kind
def test_every_group_says_how_it_was_made(model, kind, complete):
    fit = complete(model, kind)
    for group in (fit, *fit.children.values()):
        assert group.attrs["model"] == model.name
        assert group.attrs["inference"]
        assert group.attrs["inference_library"] == "dissensus"
        assert [name for name in group.attrs if name.startswith("hyper_")]


@by_kind
def test_groups_on_request(model, kind, complete):
    fit = complete(model, kind)
    extra = {"posterior_predictive"}
    extra |= set() if model.name in NO_LIKELIHOOD else {"log_likelihood", "log_prior"}
    assert set(fit.children) == GROUPS | extra
    for name in set(fit.children) - GROUPS:
        assert len(fit[name].data_vars) in {1, 2} or name == "log_prior"
        for values in fit[name].data_vars.values():
            assert values.dims[:2] == ("chain", "draw")
            assert np.isfinite(values).all()
            assert values.std() > 0 or name == "log_prior"  # of uniform priors


@pytest.mark.parametrize("name", sorted(NO_LIKELIHOOD))
def test_models_without_a_likelihood_refuse_a_pointwise_one(name, examples):
    model = dx.models.get(name)
    with pytest.raises(dx.ArgumentError, match="log_likelihood"):
        small_fit(model, examples[model.kinds[0]], log_likelihood=True)


@by_model
def test_same_seed_same_draws(model, examples):
    first, second, other = (
        small_fit(model, examples[model.kinds[-1]], random_seed=seed, draws=10, tune=20,
                  posterior_predictive=True)
        for seed in (1, 1, 2)
    )  # fmt: skip
    for group in first.children:
        for name in first[group].data_vars:
            xr.testing.assert_equal(first[group][name], second[group][name])
    for group in ("posterior", "posterior_predictive"):
        for name in first[group].data_vars:
            assert not first[group][name].equals(other[group][name])


@by_model
def test_a_generator_is_a_seed_too_and_moves_on(model, examples):
    ann = examples[model.kinds[-1]]
    rng = np.random.default_rng(5)
    first, second = (small_fit(model, ann, random_seed=rng, draws=10) for _ in range(2))
    again = small_fit(model, ann, random_seed=np.random.default_rng(5), draws=10)
    assert set(first.children) == GROUPS
    name = next(iter(first["posterior"].data_vars))
    assert not first["posterior"][name].equals(second["posterior"][name])
    assert first["posterior"][name].equals(again["posterior"][name])


@by_kind
# A plausibility of exactly 0 does not vary, and has no R-hat.
@pytest.mark.filterwarnings("ignore:invalid value encountered in scalar divide:RuntimeWarning")
def test_arviz_summarises_a_fit(model, kind, complete):
    fit = complete(model, kind)
    if "candidate" in fit["posterior"].dims:  # whose coordinates ArviZ wants everywhere
        fit["posterior"] = fit["posterior"].to_dataset()[["plausibility"]]
    cells = sum(int(np.prod(draws.shape[2:])) for draws in fit["posterior"].data_vars.values())
    # ArviZ's wide table stacks into a dimension of its own called "label".
    wide = az.summary(fit["posterior"].to_dataset().rename({"label": "label_"})
                      if "label" in fit["posterior"].dims else fit)  # fmt: skip
    assert len(wide) == cells
    means = az.summary(fit, kind="stats", fmt="xarray", round_to="none").sel(summary="mean")
    for name, draws in fit["posterior"].data_vars.items():
        np.testing.assert_allclose(
            means[name].to_numpy().ravel(), draws.mean(("chain", "draw")).to_numpy().ravel()
        )


@by_last_kind
@pytest.mark.filterwarnings(POTENTIALS)
def test_the_model_can_be_read(model, kind, examples):
    """As text and as a graph, with all its variables and what is observed."""
    built = model.module.build(examples[kind])
    text, drawn = built.str_repr(), pm.model_to_mermaid(built)
    for variable in [*built.basic_RVs, *built.deterministics]:
        assert re.search(rf"^ *{variable.name} [~=]", text, re.MULTILINE), variable.name
        assert re.search(rf"^{variable.name}\b", drawn, re.MULTILINE), variable.name


@pytest.mark.xfail(raises=ValueError, reason='ArviZ 1.3 cannot tabulate a dimension called "label"')
def test_arviz_tabulates_labels(complete):
    az.summary(complete(dx.models.get("dirichlet"), "nominal"))


RANKINGS_DRAWN = {"inverse_rank", "plackett_luce"}
"""Models whose replicates are orders, of which a density says nothing: see `dx.plots`."""


def first_that_varies(draws):
    """Take the draws of one number: no correlation with itself, no one outside a pool (NaN)."""
    cells = draws.transpose("chain", "draw", ...).to_numpy().reshape(*draws.shape[:2], -1)
    varies = np.isfinite(cells).all((0, 1)) & (cells != cells[:1, :1]).any((0, 1))
    return xr.DataArray(cells[..., varies.argmax()], dims=("chain", "draw"))


# Each model by one kind, and by the others with `make calibrate`.
@pytest.mark.unit(0, long=2)
@pytest.mark.parametrize(("model", "kind"), [
    pytest.param(model, kind, id=f"{model.name}-{kind}",
                 marks=[] if kind == model.kinds[-1] else pytest.mark.slow)
    for model in MODELS for kind in model.kinds
])  # fmt: skip
# A density of label codes is not a good picture, but it is one; so few draws are too few for LOO.
@pytest.mark.filterwarnings("ignore:Variables .* look discrete:UserWarning")
@pytest.mark.filterwarnings("ignore:Estimated shape parameter of Pareto:UserWarning")
def test_arviz_draws_a_fit(model, kind, complete):
    fit = complete(model, kind)
    few = xr.Dataset(
        {name: first_that_varies(variable) for name, variable in fit["posterior"].data_vars.items()}
    )
    assert az.plot_forest(fit) is not None
    assert az.plot_dist(few) is not None
    if model.name not in RANKINGS_DRAWN:
        assert az.plot_ppc_dist(fit) is not None
    if "log_likelihood" in fit.children:
        name = next(iter(fit["log_likelihood"].data_vars))
        assert np.isfinite(az.loo(fit, var_name=name).elpd)
        table = az.compare({"one": fit, "again": fit}, var_name=name)
        assert len(table) == 2
    plt.close("all")


@pytest.mark.unit(4, long="all")
@by_last_kind
def test_netcdf_round_trip(model, kind, complete, tmp_path):
    fit = complete(model, kind)
    fit.to_netcdf(tmp_path / "fit.nc", engine="h5netcdf")
    with xr.open_datatree(tmp_path / "fit.nc", engine="h5netcdf") as back:
        back = back.load()
    xr.testing.assert_equal(back, fit)
    for group in ("/", *fit.children):
        assert set(back[group].attrs) == set(fit[group].attrs)
        for name, value in fit[group].attrs.items():
            np.testing.assert_array_equal(back[group].attrs[name], value)
    if "plausibility" in fit["posterior"]:
        for name, value in fit["posterior"]["plausibility"].attrs.items():
            np.testing.assert_array_equal(back["posterior"]["plausibility"].attrs[name], value)
        xr.testing.assert_equal(
            dx.annotation_certainty(back, top=2), dx.annotation_certainty(fit, top=2)
        )


@pytest.mark.unit(4, long="all")
@by_kind
@pytest.mark.filterwarnings(POTENTIALS)
def test_build_is_a_pymc_model_that_draws(model, kind, examples):
    built = model.module.build(examples[kind])
    assert isinstance(built, pm.Model)
    with uncompiled():
        prior = pm.sample_prior_predictive(20, model=built, random_seed=1)
    assert {"prior", "prior_predictive"} <= set(prior.children)
    for group in ("prior", "prior_predictive"):
        for values in prior[group].data_vars.values():
            assert np.isfinite(values).all()
    if model.pools:  # effects are kept by annotator and pool, not by member as in the PyMC model:
        return  # predictions are made by the fit itself
    fit = small_fit(model, examples[kind], draws=10)
    with uncompiled():
        ahead = pm.sample_posterior_predictive(fit, model=built, progressbar=False, random_seed=1)
    for name, values in prior["prior_predictive"].data_vars.items():
        assert ahead["posterior_predictive"][name].shape[2:] == values.shape[2:]
        assert ahead["posterior_predictive"].sizes["draw"] == 10


@pytest.mark.unit(4, long="all")
@by_model
@pytest.mark.filterwarnings(POTENTIALS)
def test_observed_data_can_be_replaced(model, examples):
    """What `simuk` and posterior predictive refits need; the models' own tests sample."""
    built = model.module.build(examples[model.kinds[-1]])
    with uncompiled():
        drawn = pm.sample_prior_predictive(1, model=built, random_seed=1)["prior_predictive"]
    new = {name: values.to_numpy()[0, 0] for name, values in drawn.data_vars.items()}
    again = pm.observe(built, new)
    assert [rv.name for rv in again.observed_RVs] == [rv.name for rv in built.observed_RVs]
    for rv in again.observed_RVs:
        np.testing.assert_array_equal(again.rvs_to_values[rv].eval(), new[rv.name])
    with uncompiled():
        assert np.isfinite(again.compile_logp()(again.initial_point()))


@by_model
def test_a_trace_is_evaluated_as_pytensor_evaluates_it(model, examples):
    """PyTensor's own interpreter, which rewrites graphs, is the reference."""
    built = model.module.build(examples[model.kinds[-1]])
    values, traced = built.value_vars, built.unobserved_value_vars
    ours = interpreted(values, traced)
    if isinstance(built, Model):
        ours = built.compile_fn(
            [pytensor.Out(output, borrow=True) for output in traced], inputs=values, point_fn=False,
            on_unused_input="ignore", trust_input=True,
        )  # fmt: skip
    assert isinstance(ours, Interpreted)
    reference = pytensor.function(values, traced, on_unused_input="ignore")
    rng = np.random.default_rng(1)
    for _ in range(3):
        point = built.initial_point()
        moved = [np.asarray(point[v.name] + rng.normal(0.0, 0.5, np.shape(point[v.name])))
                 for v in values]  # fmt: skip
        for name, actual, expected in zip(traced, ours(*moved), reference(*moved), strict=True):
            assert actual.dtype == expected.dtype
            np.testing.assert_allclose(actual, expected, rtol=1e-10, atol=1e-14, err_msg=str(name))


@by_model
def test_other_kinds_are_refused(model, examples):
    for kind in set(examples) - set(model.kinds):
        for use in (model.module.build, model.module.fit):
            result = f"{model.name}; found '{kind}'|'gaussian'; found {kind} labels"
            result += "|found votes on pairs" * (kind == "pair")
            with pytest.raises(dx.AnnotationError, match=result):
                use(examples[kind])


@by_model
def test_senseless_arguments_are_named(model, examples):
    senseless = [
        ("draws", 0), ("draws", 1.5), ("draws", "many"), ("draws", None), ("chains", -1),
        ("chains", True), ("random_seed", "one"), ("random_seed", -1),
    ]  # fmt: skip
    fit = partial(model.module.fit, examples[model.kinds[0]])
    check_refused(dx.ArgumentError, [
        (f"{name}={value}", partial(fit, **{name: value}), f"{name}.*{value}")
        for name, value in senseless
    ])  # fmt: skip


@by_model
def test_what_is_no_annotations_is_refused(model):
    pred = dx.predictions({"item": [1], "system": ["s"], "label": ["x"]})
    check_refused(dx.AnnotationError, [
        ("mapping", partial(model.module.fit, {"item": [1]}), r"xarray\.Dataset"),
        ("fit", partial(model.module.fit, pred), "found predictions"),
        ("build", partial(model.module.build, pred), "found predictions"),
    ])  # fmt: skip
