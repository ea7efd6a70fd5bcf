"""Models that other packages bring by an entry point."""

import sys

import numpy as np
import pytest
from lean import LEAN
from typer.testing import CliRunner

import dissensus as dx
from dissensus.cli import app
from dissensus.errors import DissensusWarning
from dissensus.evaluation import rerun

pytestmark = pytest.mark.usefixtures("no_pictures")


@pytest.fixture
def bring(tmp_path, monkeypatch):
    """Install a package that is nothing but entry points."""

    def installed(package="their-models", **entries):
        home = tmp_path / f"{package}-1.0.dist-info"
        home.mkdir()
        (home / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
        lines = [f"{name} = {value}" for name, value in entries.items()]
        (home / "entry_points.txt").write_text("\n".join(["[dissensus.models]", *lines]))

    monkeypatch.syspath_prepend(str(tmp_path))
    yield installed
    sys.path_importer_cache.pop(str(tmp_path), None)


@pytest.fixture
def study():
    return dx.simulate.study(n_items=12, kind="nominal", random_seed=1)


def test_a_model_is_found_by_its_entry_point(bring, study):
    bring(panel="plugins.panel")
    assert dx.models.plugins() == ["panel"]
    assert dx.models.names()[-1] == "panel"
    assert "panel" in dir(dx.models)
    assert dx.models.get("panel").summary == "shares of labels, smoothed"
    fit = dx.models.panel.fit(study.annotations, draws=50, random_seed=1)
    assert 0 < dx.top_k_accuracy(fit, study.predictions).mean() < 1


def test_evaluate_takes_it_and_agrees_with_the_librarys_own(bring, study):
    bring(panel="plugins.panel")
    settings = {"draws": 500, "random_seed": 1, "progressbar": False, **LEAN}
    theirs = dx.evaluate(study.annotations, study.predictions, model="panel", **settings)
    ours = dx.evaluate(
        study.annotations,
        study.predictions,
        model="dirichlet",
        reliability=[1.0],
        prior_count=1.0,
        **settings,
    )
    first, second = (
        each["metrics"]["top_1_accuracy"].mean(("chain", "draw")) for each in (theirs, ours)
    )
    np.testing.assert_allclose(first, second.transpose(*first.dims), atol=0.02)
    assert theirs.attrs["inference"] == "as the model panel does it"
    assert int(theirs["convergence"]["n_items_poor"].item()) == 0


@pytest.mark.long
def test_reports_and_summaries_of_it_are_written(bring, study, tmp_path):
    bring(panel="plugins.panel")
    result = dx.evaluate(
        study.annotations, study.predictions, model="panel", draws=200, random_seed=1,
        progressbar=False, **LEAN,
    )  # fmt: skip
    assert set(dx.summary(result)["model"]) == {"panel"}
    page = dx.report(result, tmp_path / "report.html").read_text("utf-8")
    assert "shares of labels with a common prior" in page  # its card


def test_hyperparameters_are_its_own(bring, study):
    bring(panel="plugins.panel")
    settings = {"draws": 20, "random_seed": 1, "progressbar": False, "model": "panel", **LEAN}
    sure, unsure = (
        dx.evaluate(study.annotations, smoothing=much, **settings)["certainty"]
        for much in (0.1, 50.0)
    )
    assert (sure - unsure)["annotation_certainty"].mean() > 0.2
    with pytest.raises(dx.ArgumentError, match="a hyperparameter of panel: tune, smoothing"):
        dx.evaluate(study.annotations, study.predictions, prior_count=2.0, **settings)
    with pytest.raises(dx.ArgumentError, match="the model panel has no such argument"):
        dx.evaluate(study.annotations, study.predictions, reliability=(1, 2), **settings)


def test_one_with_a_reliability_can_be_gone_through(bring, study):
    bring(trusting="plugins.trusting")
    result = dx.evaluate(
        study.annotations, study.predictions, model="trusting", reliability=(1.0, 4.0), draws=200,
        random_seed=1, progressbar=False, **LEAN,
    )  # fmt: skip
    certainty = result["certainty"]["annotation_certainty"].mean("item")
    assert certainty.sel(reliability=4.0) > certainty.sel(reliability=1.0)


def test_of_another_kind_of_annotations_it_is_refused(bring):
    bring(panel="plugins.panel")
    ranked = dx.simulate.study(n_items=4, kind="ranking", random_seed=1)
    with pytest.raises(
        dx.ArgumentError, match=r"expected one for ranking annotations; found 'panel'"
    ):
        dx.evaluate(ranked.annotations, model="panel", progressbar=False)


def test_a_name_that_is_taken_is_left_out_and_said_so(bring):
    bring(dirichlet="plugins.panel")
    with pytest.warns(DissensusWarning, match="their-models provides a model 'dirichlet'"):
        assert dx.models.plugins() == []
    with pytest.warns(DissensusWarning, match="left out"):
        assert dx.models.get("dirichlet").home == ""


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("gone", "plugins.nowhere", "a module that can be loaded; found ModuleNotFoundError"),
        ("panel", "plugins.panel:fit", "a module; found function"),
        ("pool", "plugins.panel", "MODEL to be named 'pool'; found 'panel'"),
        ("plain", "small_studies", "MODEL, a dissensus.models.Model; found None"),
    ],
)
def test_one_that_is_not_in_order_is_named_with_its_package(bring, name, value, words):
    bring(**{name: value})
    with pytest.raises(dx.ArgumentError) as problem:
        dx.models.get(name)
    assert f"the model '{name}' of their-models: expected {words}" in str(problem.value)


def test_the_command_lists_it_and_is_not_stopped_by_one_out_of_order(bring):
    bring(panel="plugins.panel", gone="plugins.nowhere")
    text = " ".join(CliRunner().invoke(app.app, ["models"]).output.split())
    assert "shares of labels, smoothed" in text
    assert "their-models" in text
    assert "rasch" in text


def test_unknown_names_list_it_too(bring):
    bring(panel="plugins.panel")
    with pytest.raises(dx.ArgumentError, match=r"panel; found 'panle'. Did you mean 'panel'"):
        dx.models.get("panle")
    with pytest.raises(AttributeError, match="panel"):
        dx.models.panle  # noqa: B018


@pytest.mark.long
def test_an_evaluation_says_which_package_its_model_is_of(bring, study, tmp_path):
    bring(panel="plugins.panel")
    made = dx.evaluate(
        study.annotations, study.predictions, model="panel", draws=100, random_seed=1,
        progressbar=False, **LEAN,
    )  # fmt: skip
    assert made.attrs["model_package"] == "their-models"
    assert made.attrs["their-models_version"] == "1.0"
    assert rerun.rerun(made, progressbar=False).versions == []
    made.attrs["their-models_version"] = "0.9"
    assert rerun.rerun(made, progressbar=False).versions == ["their-models 0.9 then, 1.0 now"]
    made.attrs["model"] = "gone"
    with pytest.raises(dx.ArgumentError, match=r"'gone' of the package their-models 0\.9.*Install"):
        rerun.rerun(made, progressbar=False)


def test_a_package_installed_in_the_session_is_found(bring):
    assert dx.models.plugins() == []
    bring(panel="plugins.panel")
    assert dx.models.plugins() == ["panel"]
