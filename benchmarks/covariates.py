"""Crossed effects with covariates beside Bambi: `uv run python benchmarks/covariates.py`.

Bambi runs in an environment of its own, which uv makes (its release pins an older formulae), and in
a process of its own. Both sides get the same labels, tables and priors. Bambi gets columns of
numbers made here by pandas, so that our reading of the formula is checked too. Its threshold prior
is all but flat, and a potential makes it ours.

Parts: *agreement* raises if a mean or a standard deviation of a parameter differs by more than four
Monte Carlo standard errors. *speed* is of ordered labels: effective draws (bulk) of coefficients
for a second of processor time. *many* is of 100,000 ordered labels with 30 coefficients, *popquorn*
of ratings of offensiveness by annotators whose demographics are known (``--shared``, the folder of
real sets), both of ours alone. *without* needs ``--before``, a checkout from before covariates:
fits without a formula, in turns with ours.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

BAMBI = "bambi==0.21.0"
FORMULA = "~ words + quotes + topic + gender + race + age"
LEVELS = {"topic": "abc", "gender": "mw", "race": "pqrst"}
TRUE = {
    "words": 0.3, "quotes": -0.2, "topic[b]": 0.4, "topic[c]": -0.3, "gender[w]": 0.3,
    "race[q]": 0.5, "race[r]": -0.4, "race[s]": 0.2, "race[t]": 0.0, "age": 0.2,
}  # fmt: skip
SIZES = {"agreement": (300, 30), "speed": (4000, 100), "without": (4000, 100)}
"""Items and annotators; five labels an item."""
FAMILIES = ("gaussian", "bernoulli", "ordinal")
SAMPLERS = {
    "ours": "dissensus, Gibbs", "bambi": "Bambi as it comes", "centred": "Bambi, centred",
}  # fmt: skip
PARTS = ("sigma_item", "sigma_annotator", "sigma")
ONE = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


def main() -> None:
    """Do what is asked."""
    options = _asked()
    warnings.simplefilter("ignore")
    if options.work:
        _work(*options.work)
        return
    from machine import described

    print(described(), flush=True)
    if "agreement" in options.parts:
        for family in options.families:
            agreement(family)
    if "speed" in options.parts:
        speed(options)
    if "many" in options.parts:
        many()
    if "popquorn" in options.parts and options.shared:
        popquorn(options.shared / "popquorn_offensiveness")
    if "without" in options.parts and options.before:
        without(options)


def _asked() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parts = ("agreement", "speed", "many", "popquorn", "without")
    parser.add_argument("--parts", nargs="*", default=parts, choices=parts)
    parser.add_argument("--families", nargs="*", default=FAMILIES, choices=FAMILIES)
    parser.add_argument("--samplers", nargs="*", default=list(SAMPLERS), choices=list(SAMPLERS))
    parser.add_argument("--draws", type=int, default=200, help="Bambi's draws a chain, for speed")
    parser.add_argument("--tune", type=int, default=200, help="and before them")
    parser.add_argument("--timeout", type=int, default=3600, help="seconds for one of its fits")
    parser.add_argument("--before", default="", help="a checkout from before covariates")
    parser.add_argument("--shared", type=Path, help="the folder of real sets")
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--work", nargs=2, help=argparse.SUPPRESS)
    return parser.parse_args()


# What is fitted


def study(family: str, part: str) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Simulate labels, and tables of items and annotators."""
    n_items, n_annotators = SIZES[part]
    rng = np.random.default_rng(3)
    items = pd.DataFrame({
        "item": [f"i{k}" for k in range(n_items)], "words": rng.normal(5.0, 1.0, n_items),
        "quotes": rng.poisson(1.0, n_items), "topic": rng.choice(list("abc"), n_items),
    })  # fmt: skip
    annotators = pd.DataFrame({
        "annotator": [f"r{k}" for k in range(n_annotators)],
        "gender": rng.permutation(np.arange(n_annotators) % 2 == 0), "race": "",
        "age": rng.normal(0.0, 1.0, n_annotators),
    })  # fmt: skip
    annotators["gender"] = np.where(annotators["gender"], "m", "w")
    share = np.array([0.4, 0.2, 0.15, 0.15, 0.1]).cumsum()
    annotators["race"] = rng.permutation(
        np.array(list("pqrst"))[
            np.searchsorted(share, (np.arange(n_annotators) + 0.5) / n_annotators)
        ]
    )
    item = np.repeat(np.arange(n_items), 5)
    who = np.concatenate([rng.choice(n_annotators, 5, replace=False) for _ in range(n_items)])
    labels = pd.DataFrame({"item": items["item"].to_numpy()[item],
                           "annotator": annotators["annotator"].to_numpy()[who]})  # fmt: skip
    eta = columns(labels, items, annotators) @ np.array(list(TRUE.values()))
    eta += rng.normal(size=n_items)[item] + 0.5 * rng.normal(size=n_annotators)[who]
    if family == "bernoulli":
        labels["label"] = (eta + rng.logistic(size=len(eta)) > 0).astype(int)
    elif family == "ordinal":
        labels["label"] = np.digitize(eta + rng.normal(size=len(eta)), [-1.5, -0.5, 0.5, 1.5])
    else:
        labels["label"] = eta + rng.normal(size=len(eta))
    return labels, items, annotators


def columns(labels: pd.DataFrame, items: pd.DataFrame, annotators: pd.DataFrame) -> Any:
    """Return centred covariates (label, term) in the order of the formula, without formulae."""
    table = labels.merge(items, on="item", how="left").merge(annotators, on="annotator", how="left")
    result: dict[str, Any] = {}
    for name in FORMULA.strip("~ ").split(" + "):
        for level in LEVELS.get(name, " ")[name in LEVELS :]:
            value = table[name] == level if name in LEVELS else table[name]
            result[f"{name}[{level}]" if name in LEVELS else name] = value.astype(float)
    assert list(result) == list(TRUE)
    value = np.stack(list(result.values()), axis=1)
    return value - value.mean(axis=0)


# Work in a process of its own


def _seconds() -> float:
    """Return processor seconds of this process and its children."""
    kinds = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    return sum(used.ru_utime + used.ru_stime for used in map(resource.getrusage, kinds))


def _work(who: str, folder: str) -> None:
    """Fit what lies in a folder, or whatever is asked line by line."""
    if who == "without":
        _fits_without()
        return
    settings = json.loads((Path(folder) / "settings.json").read_text())
    tables = [pd.read_csv(Path(folder) / f"{k}.csv") for k in ("labels", "items", "annotators")]
    seconds, draws = {"bambi": _bambi, "ours": _ours}[who](settings, *tables)
    np.savez(Path(folder) / f"{who}.npz", **draws)
    print(json.dumps(seconds))


def _ours(
    settings: dict[str, Any], labels: Any, items: Any, annotators: Any
) -> tuple[dict[str, float], dict[str, Any]]:
    import dissensus as dx

    family = settings["family"]
    kind = "continuous" if family == "gaussian" else "ordinal"
    ann = dx.annotations(labels, kind=kind)
    options: dict[str, Any] = {
        "family": family, "formula": FORMULA, "items": items, "annotators": annotators,
        "progressbar": False, "random_seed": 1,
    }  # fmt: skip
    started = _seconds()
    dx.models.crossed_effects.fit(ann, draws=5, tune=5, chains=1, **options)
    first = _seconds()
    fit = dx.models.crossed_effects.fit(ann, draws=settings["draws"], **options)
    last = _seconds()
    result = {name: value.to_numpy() for name, value in fit["posterior"].data_vars.items()}
    assert fit["posterior"]["term"].to_numpy().tolist() == list(TRUE)
    draws = {name: result[name] for name in (*PARTS, "coefficient") if name in result}
    if family == "ordinal":
        draws["threshold"] = result["cutpoint"] - result["mu"][..., None]
    else:
        draws["mu"] = result["mu"]
    return {"first": first - started, "sampling": last - first}, draws


def _bambi(
    settings: dict[str, Any], labels: Any, items: Any, annotators: Any
) -> tuple[dict[str, float], dict[str, Any]]:
    """Bambi as it comes: PyMC's NUTS, non-centred if not asked otherwise, one core."""
    model = _bambi_model(settings, labels, columns(labels, items, annotators))
    tune, draws = settings["tune"], settings["draws"]
    clock: list[float] = []
    tuned: dict[int, float] = {}

    def note(trace: Any, draw: Any) -> None:  # noqa: ARG001 (called after each draw)
        clock.append(_seconds())
        if draw.tuning:
            tuned[draw.chain] = clock[-1]

    started = _seconds()
    fitted = model.fit(
        draws=draws, tune=tune, chains=2, cores=1, progressbar=False, random_seed=1, callback=note,
        compute_convergence_checks=False,
    ).posterior  # fmt: skip
    ends = [clock[tune + draws - 1], clock[-1]]
    after = sum(end - tuned[chain] for chain, end in enumerate(ends))
    names = {"sigma_item": "1|item_sigma", "sigma_annotator": "1|annotator_sigma",
             "sigma": "sigma", "mu": "Intercept", "threshold": "threshold"}  # fmt: skip
    out = {ours: fitted[theirs].to_numpy() for ours, theirs in names.items() if theirs in fitted}
    out["coefficient"] = np.stack([fitted[f"x{k}"].to_numpy() for k in range(len(TRUE))], axis=-1)
    seconds = {"first": clock[0] - started, "sampling": clock[-1] - clock[0], "after": after}
    return seconds, out


def _bambi_model(settings: dict[str, Any], labels: Any, covariates: Any) -> Any:
    """Write the library's model and priors in Bambi's words."""
    import bambi as bmb

    family = settings["family"]
    options = {"noncentered": not settings.get("centred", False)}
    frame = labels.assign(**{f"x{k}": column for k, column in enumerate(covariates.T)})
    value = frame["label"].to_numpy(dtype=float)
    unit = value.std() if family == "gaussian" else 1.0
    scale = {"gaussian": value.std(ddof=1), "bernoulli": 2.5, "ordinal": 1.5}[family]
    half_t = bmb.Prior("HalfStudentT", nu=3, sigma=scale)
    priors: dict[str, Any] = {
        f"x{k}": bmb.Prior("Normal", mu=0, sigma=2.5 * unit / column.std())
        for k, column in enumerate(covariates.T)
    }
    for name in ("1|item", "1|annotator"):
        priors[name] = bmb.Prior("Normal", mu=0, sigma=half_t)
    formula = f"label ~ {' + '.join(f'x{k}' for k in range(len(TRUE)))}"
    formula += " + (1|item) + (1|annotator)"
    if family != "ordinal":
        centre, spread = (value.mean(), scale) if family == "gaussian" else (0.0, 1.0)
        priors["Intercept"] = bmb.Prior("Normal", mu=centre, sigma=2.5 * spread)
        if family == "gaussian":
            priors["sigma"] = half_t
        return bmb.Model(formula, frame, family=family, priors=priors, **options)
    import pymc as pm

    frame["label"] = pd.Categorical(frame["label"], ordered=True)
    n = frame["label"].nunique() - 1
    priors["threshold"] = bmb.Prior(
        "Normal", mu=np.linspace(-1.5, 1.5, n), sigma=100.0,
        transform=pm.distributions.transforms.ordered,
    )  # fmt: skip

    def ours(threshold: Any) -> Any:
        # The mean of thresholds is -mu, normal with sd 2.5; gaps are exponential with mean 1.
        return -((threshold.mean() / 2.5) ** 2) / 2 - (threshold[-1] - threshold[0])

    return bmb.Model(
        formula, frame, family="cumulative", link="probit", priors=priors,
        potentials=[("threshold", ours)], **options,
    )  # fmt: skip


def _fits_without() -> None:
    """For each line with a family, fit without a formula; print processor seconds."""
    import dissensus as dx

    made: dict[str, Any] = {}
    for line in sys.stdin:
        family = line.strip()
        if family not in made:
            labels, _, _ = study(family, "without")
            kind = "continuous" if family == "gaussian" else "ordinal"
            made[family] = dx.annotations(labels, kind=kind)
        started = time.process_time()
        fit = dx.models.crossed_effects.fit(
            made[family], family=family, draws=400, tune=100, chains=2, progressbar=False,
            random_seed=1,
        )  # fmt: skip
        seconds = time.process_time() - started
        mean = float(fit["posterior"]["sigma_item"].mean())
        print(json.dumps([seconds, mean, dx.__file__]), flush=True)


# Tables


def _run(who: str, folder: Path, timeout: int) -> Any:
    """Work in a process; return its seconds and draws, or words."""
    command = [sys.executable]
    if who == "bambi":
        command = ["uv", "run", "-q", "--no-project", "--isolated", "--python", sys.executable,
                   "--with", BAMBI, "python"]  # fmt: skip
    cache = folder / "cache"  # empty at first, so that what compiling costs is seen
    environment = os.environ | ONE | {"PYTHONWARNINGS": "ignore", "NUMBA_CACHE_DIR": str(cache)}
    try:
        done = subprocess.run(
            [*command, __file__, "--work", who, folder], capture_output=True, text=True,
            timeout=timeout, check=False, env=environment,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return f"more than {timeout} s"
    if done.returncode:
        raise RuntimeError(done.stderr[-2000:])
    return json.loads(done.stdout.strip().splitlines()[-1]), dict(np.load(folder / f"{who}.npz"))


def _written(folder: Path, family: str, part: str, **settings: Any) -> None:
    (folder / "settings.json").write_text(json.dumps({"family": family, **settings}))
    for name, table in zip(("labels", "items", "annotators"), study(family, part), strict=True):
        table.to_csv(folder / f"{name}.csv", index=False)


def agreement(family: str) -> None:
    """Compare means and standard deviations of all parameters, or raise."""
    import arviz as az

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _written(folder, family, "agreement", draws=5000)
        _, ours = _run("ours", folder, 1800)
        _written(folder, family, "agreement", draws=2000, tune=1000)
        _, theirs = _run("bambi", folder, 1800)
    assert set(ours) == set(theirs), (set(ours), set(theirs))
    worst: dict[str, float] = {}
    shown = []
    for name in sorted(ours):
        pairs = zip(_each(ours[name]), _each(theirs[name]), strict=True)
        for k, (a, b) in enumerate(pairs):
            for moment_name, moment in (("mean", np.mean), ("sd", np.std)):
                error = np.hypot(*(float(az.mcse(x, method=moment_name)) for x in (a, b)))
                z = abs(moment(a) - moment(b)) / error
                worst[moment_name] = max(worst.get(moment_name, 0.0), z)
                assert z < 4, (family, name, k, moment_name, z)
            shown.append(
                f"{name} {k}: {a.mean():.3f} +- {a.std():.3f}, {b.mean():.3f} +- {b.std():.3f}"
            )
    mean, sd = worst["mean"], worst["sd"]
    print(f"{family}, 1,500 labels: {len(shown)} parameters agree with Bambi; farthest mean "
          f"{mean:.1f} MCSE, standard deviation {sd:.1f} MCSE", flush=True)  # fmt: skip
    print("\n".join(f"    {line}" for line in shown), file=sys.stderr, flush=True)


def _each(draws: Any) -> list[Any]:
    """Return the arrays (chain, draw) of a parameter."""
    return [draws] if draws.ndim == 2 else list(np.moveaxis(draws, -1, 0))


def speed(options: argparse.Namespace) -> None:
    """Print effective draws of coefficients for a second of processor time."""
    import arviz as az

    print("\n| what | first draw after | sampling | effective draws: worst, median | a second: "
          "worst, median | ours by it |\n|---|--:|--:|---|---|---|", flush=True)  # fmt: skip
    rates: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for sampler in options.samplers:
            who = "ours" if sampler == "ours" else "bambi"
            draws, tune = (1000, 500) if who == "ours" else (options.draws, options.tune)
            centred = sampler == "centred"
            _written(folder, "ordinal", "speed", draws=draws, tune=tune, centred=centred)
            result = _run(who, folder, options.timeout)
            if isinstance(result, str):
                print(f"| {SAMPLERS[sampler]} | {result} | | | | |", flush=True)
                continue
            seconds, values = result
            ess = np.array([float(az.ess(series)) for series in _each(values["coefficient"])])
            two = np.array([ess.min(), np.median(ess)])
            for period in ("sampling", *(["after"] if "after" in seconds else [])):
                rate = two / seconds[period]
                rates.setdefault("ours", rate)
                words = f"{SAMPLERS[sampler]}, {4 if who == 'ours' else 2} x ({tune} + {draws})"
                cells = [words + ", warm-up not counted" * (period == "after")]
                cells += [f"{seconds['first']:.1f} s", f"{seconds[period]:.1f} s"]
                cells += [f"{two[0]:.0f}, {two[1]:.0f}", f"{rate[0]:.3g}, {rate[1]:.3g}"]
                by = rates["ours"] / rate
                print(f"| {' | '.join(cells)} | {by[0]:.0f}, {by[1]:.0f} |", flush=True)


def _measured(ann: Any, family: str, **options: Any) -> Any:
    """Fit with compiled kernels, print what it took, and return the draws of coefficients."""
    import arviz as az

    import dissensus as dx

    fit, how = dx.models.crossed_effects.fit, {"family": family, "random_seed": 1,
                                               "progressbar": False} | options  # fmt: skip
    fit(ann, **how | {"draws": 2, "tune": 2, "chains": 1})
    begun = _seconds()
    fitted = fit(ann, **how)["posterior"]["coefficient"]
    seconds = _seconds() - begun
    effective = az.ess(fitted).to_numpy()
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(
        f"{family}, {ann.sizes['annotation']:,} labels, {fitted.sizes['term']} coefficients: "
        f"{seconds:.0f} processor seconds, peak memory {memory:.2f} GB, effective draws "
        f"{effective.min():,.0f} (worst) and {np.median(effective):,.0f}, r-hat "
        f"{float(az.rhat(fitted).max()):.3f}", flush=True,
    )  # fmt: skip
    return fitted


def many() -> None:
    """Fit ordered labels of 20,000 items by 200 annotators, five an item, on 20 + 10 covariates."""
    import dissensus as dx

    n_items, n_people, n_each = 20_000, 200, 5
    rng = np.random.default_rng(1)
    of_items, of_people = rng.normal(size=(n_items, 20)), rng.normal(size=(n_people, 10))
    item = np.repeat(np.arange(n_items), n_each)
    who = np.concatenate([rng.choice(n_people, n_each, replace=False) for _ in range(n_items)])
    eta = (of_items @ rng.normal(0, 0.2, 20) + rng.normal(size=n_items))[item]
    eta += (of_people @ rng.normal(0, 0.2, 10) + 0.5 * rng.normal(size=n_people))[who]
    label = np.digitize(eta + rng.normal(size=len(eta)), [-1.5, -0.5, 0.5, 1.5])
    ann = dx.annotations({"item": item, "annotator": who, "label": label}, kind="ordinal")
    names = [f"x{k}" for k in range(20)], [f"z{k}" for k in range(10)]
    _measured(
        ann, "ordinal", formula="~ " + " + ".join(names[0] + names[1]), tune=250, draws=500,
        items=pd.DataFrame(of_items, columns=names[0]).assign(item=np.arange(n_items)),
        annotators=pd.DataFrame(of_people, columns=names[1]).assign(annotator=np.arange(n_people)),
    )  # fmt: skip


def popquorn(folder: Path) -> None:
    """Fit ratings of offensiveness on gender, race and age of annotators."""
    import dissensus as dx

    people = pd.read_csv(folder / "annotators.csv")
    labels = pd.read_csv(folder / "ratings.csv.gz")
    for family, kind in (("gaussian", "continuous"), ("ordinal", "ordinal")):
        ann = dx.annotations(labels, kind=kind)
        draws = _measured(ann, family, formula="~ gender + race + age", annotators=people)
        each = draws.stack(sample=("chain", "draw"))
        table = pd.DataFrame({
            "mean": each.mean("sample"), "sd": each.std("sample"),
            "5.5 %": each.quantile(0.055, "sample"), "94.5 %": each.quantile(0.945, "sample"),
        }, index=draws["term"])  # fmt: skip
        print(table.round(3).to_string(), end="\n\n", flush=True)


def without(options: argparse.Namespace) -> None:
    """Print processor seconds without a formula, now and before, in turns."""
    here = Path(__file__).resolve().parents[1]
    runs = {}
    for name, path in (("now", here), ("before", Path(options.before).resolve())):
        environment = os.environ | ONE | {"PYTHONPATH": str(path / "src")}
        runs[name] = subprocess.Popen(
            [sys.executable, "-W", "ignore", __file__, "--work", "without", ""], env=environment,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
    print("\n| 20,000 labels, no formula | now | range | before | range | ratio |", flush=True)
    print("|---|--:|--:|--:|--:|--:|", flush=True)
    for family in options.families:
        times: dict[str, list[float]] = {name: [] for name in runs}
        for k in range(options.repeats + 1):
            for name in list(runs)[:: 1 if k % 2 else -1]:
                pipe = runs[name]
                assert pipe.stdin is not None
                assert pipe.stdout is not None
                print(family, file=pipe.stdin, flush=True)
                seconds, _, file = json.loads(pipe.stdout.readline())
                assert (str(here) in file) == (name == "now"), file
                times[name] += [seconds] * (k > 0)  # the first compiles
        now, before = (statistics.median(times[name]) for name in runs)
        spread = [f"{min(times[name]):.2f} to {max(times[name]):.2f}" for name in runs]
        print(f"| {family} | {now:.2f} s | {spread[0]} | {before:.2f} s | {spread[1]} | "
              f"{now / before:.3f} |", flush=True)  # fmt: skip
    for pipe in runs.values():
        pipe.communicate()


if __name__ == "__main__":
    main()
