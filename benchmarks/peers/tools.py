"""The tools, each of which goes through the studies in an environment that has it.

python tools.py FUNCTION STUDIES.npz [HOW_MANY]

A function makes what the tool wants of a study, which is not timed, and returns what is timed and
what reads its answer. It prints JSON: the seconds of each study after one that is not counted, the
peak of memory, and what the answers come to.
"""

from __future__ import annotations

import gc
import json
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

sys.path.append(str(Path(__file__).resolve().parents[1]))
from memory import peak_memory

Answer = dict[str, float]
Job = tuple[Callable[[], Any], Callable[[Any], Answer]]
FUNCTIONS: dict[str, Callable[..., Iterator[Job]]] = {}


def tool(function: Callable[..., Iterator[Job]]) -> Callable[..., Iterator[Job]]:
    """Give a function a name on the command line."""
    FUNCTIONS[function.__name__] = function
    return function


def main() -> None:
    """Go through the studies, and print what was found."""
    name, path, *n = sys.argv[1:]
    data = dict(np.load(path))
    seconds, answers = [], []
    limit = int(n[0]) if n else None
    for number, (work, read) in enumerate(FUNCTIONS[name](data)):
        if number == limit:
            break
        if number == 0:
            work()
        gc.collect()
        start = time.perf_counter()
        result = work()
        seconds.append(time.perf_counter() - start)
        answers.append(_a_second(read(result), seconds[-1]))
    mean = {key: float(np.mean([answer[key] for answer in answers])) for key in answers[0]}
    mean |= {key: mean[key] ** 0.5 for key in mean if key.startswith("RMSE")}
    print(json.dumps({"seconds": seconds, "peak": peak_memory(), "answers": mean}))


def _a_second(answer: Answer, seconds: float) -> Answer:
    """Turn effective draws into those of a second."""
    if "effective draws" in answer:
        answer["effective draws a second"] = answer.pop("effective draws") / seconds
    return answer


# Which label is right


def _crowds(data: dict[str, Any]) -> Iterator[tuple[Any, Any, Any]]:
    for study, (truth, accuracy) in enumerate(zip(data["truth"], data["accuracy"], strict=True)):
        yield data["rows"][data["rows"][:, 0] == study, 1:], truth, accuracy


def _scored(probability: Any, accuracy: Any, truth: Any, true_accuracy: Any) -> Answer:
    labels = probability[np.arange(len(truth)), truth]
    return {
        "items wrong": float((probability.argmax(axis=1) != truth).mean()),
        "log loss": float(-np.log(np.maximum(labels, 1e-10)).mean()),
        "RMSE of accuracies": float(((accuracy - true_accuracy) ** 2).mean()),
    }


def _ours(data: dict[str, Any], model: str = "dawid_skene", **options: Any) -> Iterator[Job]:
    import warnings

    import dissensus as dx

    warnings.simplefilter("ignore", dx.DissensusWarning)
    for rows, truth, accuracy in _crowds(data):
        ann = dx.annotations(
            dict(zip(("item", "annotator", "label"), rows.T, strict=True)), kind="nominal"
        )

        def work(ann: Any = ann) -> Any:
            fit = dx.models.get(model).module.fit
            return fit(ann, random_seed=1, progressbar=False, keep_items=False, **options)

        def read(fit: Any, truth: Any = truth, accuracy: Any = accuracy) -> Answer:
            mean = fit["constant_data"]["truth_mean"].sortby("item").to_numpy()
            each = fit["posterior"]["annotator_accuracy"].sortby("annotator")
            low, high = each.quantile([0.05, 0.95], ("chain", "draw")).to_numpy()
            out = _scored(mean, each.mean(("chain", "draw")).to_numpy(), truth, accuracy)
            covers = float(((low <= accuracy) & (accuracy <= high)).mean())
            return out | {"90 % intervals that cover": covers}

        yield work, read


@tool
def ours_truth(data: dict[str, Any]) -> Iterator[Job]:
    """Sample as `fit` does."""
    return _ours(data)


@tool
def ours_truth_short(data: dict[str, Any]) -> Iterator[Job]:
    """Sample for about as long as crowd-kit's EM algorithm runs."""
    return _ours(data, **_SHORT)


@tool
def ours_symmetric(data: dict[str, Any]) -> Iterator[Job]:
    """Sample the model in which an annotator has one accuracy."""
    return _ours(data, "symmetric_confusion", **_EACH)


@tool
def ours_symmetric_short(data: dict[str, Any]) -> Iterator[Job]:
    """... for as long as an EM algorithm runs."""
    return _ours(data, "symmetric_confusion", **_EACH, **_SHORT)


_EACH = {"accuracy": "annotator", "errors": "unequal"}
_SHORT = {"chains": 2, "draws": 100, "tune": 100}


def _crowdkit(data: dict[str, Any], make: Callable[[], Any], of_fit: Any = None) -> Iterator[Job]:
    import pandas as pd

    for rows, truth, accuracy in _crowds(data):
        table = pd.DataFrame(rows, columns=["task", "worker", "label"])

        def work(table: Any = table) -> Any:
            return make().fit(table)

        def read(
            fit: Any, table: Any = table, truth: Any = truth, accuracy: Any = accuracy
        ) -> Answer:
            probability = fit.probas_.reindex(columns=range(int(data["n_labels"])), fill_value=0.0)
            probability = probability.sort_index().to_numpy()
            if of_fit is None:  # how often an annotator is expected to be right on these items
                right = probability[table["task"], table["label"]]
                each = pd.Series(right).groupby(table["worker"]).mean().sort_index().to_numpy()
            else:
                each = of_fit(fit)
            return _scored(probability, each, truth, accuracy)

        yield work, read


@tool
def crowdkit_dawid_skene(data: dict[str, Any]) -> Iterator[Job]:
    """EM; accuracies from its confusion matrices and prevalences."""
    from crowdkit.aggregation import DawidSkene

    def accuracies(fit: Any) -> Any:
        errors = fit.errors_.sort_index()
        right = np.array([errors.xs(k, level="label")[k].to_numpy()
                          for k in range(int(data["n_labels"]))])  # fmt: skip
        return fit.priors_.sort_index().to_numpy() @ right

    return _crowdkit(data, DawidSkene, accuracies)


@tool
def crowdkit_one_coin(data: dict[str, Any]) -> Iterator[Job]:
    """EM with one accuracy an annotator."""
    from crowdkit.aggregation import OneCoinDawidSkene

    return _crowdkit(data, OneCoinDawidSkene, lambda fit: fit.skills_.sort_index().to_numpy())


@tool
def crowdkit_mace(data: dict[str, Any]) -> Iterator[Job]:
    """Variational Bayes, ten restarts, as it comes."""
    from crowdkit.aggregation import MACE

    return _crowdkit(data, MACE)


@tool
def crowdkit_majority(data: dict[str, Any]) -> Iterator[Job]:
    """Count votes."""
    from crowdkit.aggregation import MajorityVote

    return _crowdkit(data, MajorityVote)


# How well annotators agree


def annotations(table: Any, kind: str = "nominal") -> Any:
    """Read a table (item, annotator) into what dissensus takes."""
    import dissensus as dx

    item, annotator = np.indices(table.shape).reshape(2, -1)
    return dx.annotations({"item": item, "annotator": annotator, "label": table.ravel()}, kind=kind)


@tool
def ours_alpha(data: dict[str, Any]) -> Iterator[Job]:
    """Compute one number."""
    import dissensus as dx

    for table in data["table"]:
        ann = annotations(table)
        yield lambda ann=ann: dx.krippendorff_alpha(ann), lambda result: {"alpha": float(result)}


@tool
def ours_alpha_draws(data: dict[str, Any]) -> Iterator[Job]:
    """Draw a thousand."""
    import dissensus as dx

    for table in data["table"]:
        ann = annotations(table)
        yield (
            lambda ann=ann: dx.bayesian_bootstrap("krippendorff_alpha", ann, draws=1000,
                                                  random_seed=1),
            lambda draws: {"alpha": float(draws.mean()), "its standard error": float(draws.std())},
        )  # fmt: skip


@tool
def krippendorff_alpha(data: dict[str, Any]) -> Iterator[Job]:
    """Compute one number."""
    import krippendorff

    for table in data["table"]:
        ratings = table.T.astype(float)
        yield (
            lambda ratings=ratings: krippendorff.alpha(ratings, level_of_measurement="nominal"),
            lambda result: {"alpha": float(result)},
        )


@tool
def statsmodels_fleiss(data: dict[str, Any]) -> Iterator[Job]:
    """Count the labels of each item, and compute one number."""
    from statsmodels.stats.inter_rater import aggregate_raters, fleiss_kappa

    for table in data["table"]:
        yield (
            lambda table=table: fleiss_kappa(aggregate_raters(table)[0]),
            lambda result: {"alpha": float(result)},
        )


@tool
def irrcac_alpha(data: dict[str, Any]) -> Iterator[Job]:
    """Compute one number with its standard error."""
    import pandas as pd
    from irrCAC.raw import CAC

    for table in data["table"]:
        frame = pd.DataFrame(table)
        yield (
            lambda frame=frame: CAC(frame).krippendorff()["est"],
            lambda est: {"alpha": est["coefficient_value"], "its standard error": est["se"]},
        )


def _interval(result: float, low: float, high: float, truth: float) -> Answer:
    return {"RMSE": (result - truth) ** 2, "intervals that cover": float(low <= truth <= high),
            "mean width": high - low}  # fmt: skip


@tool
def ours_interval(data: dict[str, Any]) -> Iterator[Job]:
    """Bootstrap."""
    import warnings

    import dissensus as dx

    warnings.simplefilter("ignore", dx.DissensusWarning)
    for table in data["table"]:
        ann = annotations(table)
        yield (
            lambda ann=ann: dx.bayesian_bootstrap("krippendorff_alpha", ann, random_seed=1),
            lambda result: _interval(float(result.mean()), *np.quantile(result, [0.025, 0.975]),
                                    float(data["alpha"])),
        )  # fmt: skip


@tool
def irrcac_interval(data: dict[str, Any]) -> Iterator[Job]:
    """Estimate, and an interval of Student's t."""
    import pandas as pd
    from irrCAC.raw import CAC

    for table in data["table"]:
        frame = pd.DataFrame(table)
        yield (
            lambda frame=frame: CAC(frame).krippendorff()["est"],
            lambda est: _interval(est["coefficient_value"], *est["confidence_interval"],
                                  float(data["alpha"])),
        )  # fmt: skip


# How reliable a label is


def _of_draws(draws: Any, truth: float) -> Answer:
    return _interval(float(np.mean(draws)), *np.quantile(draws, [0.025, 0.975]), truth)


@tool
def ours_icc(data: dict[str, Any]) -> Iterator[Job]:
    """Sample as `fit` does."""
    import warnings

    import dissensus as dx

    warnings.simplefilter("ignore", dx.DissensusWarning)
    for table in data["table"]:
        ann = annotations(table, "continuous")

        def work(ann: Any = ann) -> Any:
            fit = dx.models.crossed_effects.fit(
                ann, random_seed=1, progressbar=False, keep_effects=False
            )
            return dx.icc(fit)

        def read(icc: Any) -> Answer:
            return _of_draws(icc, float(data["icc"])) | _effective(icc)

        yield work, read


def _effective(draws: Any) -> Answer:
    import arviz as az

    return {"effective draws": float(az.ess(np.asarray(draws)))}


@tool
def pingouin_icc(data: dict[str, Any]) -> Iterator[Job]:
    """Analysis of variance."""
    import pandas as pd
    import pingouin as pg

    for table in data["table"]:
        item, annotator = np.indices(table.shape).reshape(2, -1)
        frame = pd.DataFrame({"item": item, "annotator": annotator, "label": table.ravel()})

        def read(result: Any) -> Answer:
            row = result.set_index("Type").loc["ICC(A,1)"]
            column = next(name for name in row.index if name.startswith("CI95"))
            return _interval(row["ICC"], *row[column], float(data["icc"]))

        yield lambda frame=frame: pg.intraclass_corr(frame, "item", "annotator", "label"), read


@tool
def statsmodels_icc(data: dict[str, Any]) -> Iterator[Job]:
    """Crossed components as those of one group that holds all; a point estimate."""
    import pandas as pd
    import statsmodels.formula.api as smf

    parts = {"item": "0 + C(item)", "annotator": "0 + C(annotator)"}
    for table in data["table"]:
        item, annotator = np.indices(table.shape).reshape(2, -1)
        frame = pd.DataFrame({"item": item, "annotator": annotator, "y": table.ravel(), "all": 1})

        def work(frame: Any = frame) -> Any:
            return smf.mixedlm("y ~ 1", frame, groups="all", vc_formula=parts).fit()

        def read(result: Any) -> Answer:
            of = dict(zip(result.model.exog_vc.names, result.vcomp, strict=True))
            icc = of["item"] / (sum(of.values()) + result.scale)
            return {"RMSE": (icc - float(data["icc"])) ** 2}

        yield work, read


@tool
def bambi_icc(data: dict[str, Any]) -> Iterator[Job]:
    """Bambi with its own priors; compilation of the model is part of each fit, as a user has it."""
    import bambi as bmb
    import pandas as pd

    for table in data["table"]:
        item, annotator = np.indices(table.shape).reshape(2, -1)
        frame = pd.DataFrame({"y": table.ravel(), "item": item.astype(str),
                              "annotator": annotator.astype(str)})  # fmt: skip

        def work(frame: Any = frame) -> Any:
            model = bmb.Model("y ~ 1 + (1|item) + (1|annotator)", frame)
            trace = model.fit(draws=1000, tune=1000, chains=4, progressbar=False, random_seed=1)
            posterior = trace.posterior
            of = {name: np.asarray(posterior[name]) ** 2
                  for name in ("1|item_sigma", "1|annotator_sigma", "sigma")}  # fmt: skip
            return of["1|item_sigma"] / sum(of.values())

        def read(icc: Any) -> Answer:
            return _of_draws(icc, float(data["icc"])) | _effective(icc)

        yield work, read


if __name__ == "__main__":
    main()
