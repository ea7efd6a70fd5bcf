"""Sample crossed effects with a peer, in an interpreter that has it; prints JSON.

python components_worker.py PEER FAMILY LABELS.npz
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

import numpy as np
import pymc as pm

DRAWS = TUNE = 1000


def main() -> None:
    """Sample, and print seconds and draws."""
    peer, family, table = sys.argv[1:]
    data = dict(np.load(table))
    if peer == "bambi":
        seconds, posterior = _bambi(family, data)
    else:
        seconds, posterior = _nutpie(_model(family, data, centred="non" not in peer))
    draws = {name: np.asarray(values).reshape(1, -1).tolist() for name, values in posterior.items()}
    print(json.dumps({"seconds": seconds, "draws": draws}))


def _priors() -> dict[str, Any]:
    return {
        "mu": pm.Normal("mu", 0.0, 2.5),
        **{
            name: pm.HalfStudentT(name, nu=3, sigma=2.5)
            for name in ("sigma_item", "sigma_annotator")
        },
    }


def _model(family: str, data: dict[str, Any], *, centred: bool) -> Any:
    item, annotator = data["item"], data["annotator"]
    with pm.Model() as model:
        prior = _priors()
        effects = []
        for name, codes in (("item", item), ("annotator", annotator)):
            n, sd = int(codes.max()) + 1, prior[f"sigma_{name}"]
            if centred:
                effects.append(pm.Normal(name, 0.0, sd, shape=n)[codes])
            else:
                effects.append((sd * pm.Normal(name, shape=n))[codes])
        eta = prior["mu"] + effects[0] + effects[1]
        if family == "gaussian":
            sigma = pm.HalfStudentT("sigma", nu=3, sigma=2.5)
            pm.Normal("y", eta, sigma, observed=data["y"])
        elif family == "bernoulli":
            pm.Bernoulli("y", logit_p=eta, observed=data["y"])
        else:
            import pytensor.tensor as pt

            gap = pm.Exponential("gap", 1.0, shape=int(data["y"].max()) - 1)
            raw = pt.concatenate([pt.zeros(1), pt.cumsum(gap)])
            pm.OrderedProbit(
                "y", eta=eta, cutpoints=raw - raw.mean(), compute_p=False, observed=data["y"]
            )
    return model


def _names(posterior: Any) -> dict[str, Any]:
    wanted = ("sigma_item", "sigma_annotator", "sigma")
    return {name: posterior[name].values for name in wanted if name in posterior}


def _nutpie(model: Any) -> tuple[float, dict[str, Any]]:
    import nutpie

    compiled = nutpie.compile_pymc_model(model)
    nutpie.sample(compiled, draws=2, tune=10, chains=1, cores=1, progress_bar=False, seed=1)
    start = time.perf_counter()
    trace = nutpie.sample(
        compiled, draws=DRAWS, tune=TUNE, chains=1, cores=1, progress_bar=False, seed=2
    )
    return time.perf_counter() - start, _names(trace.posterior)


def _bambi(family: str, data: dict[str, Any]) -> tuple[float, dict[str, Any]]:
    """Bambi as it comes: PyMC's NUTS, non-centred; only the priors are given."""
    import bambi as bmb
    import pandas as pd

    frame = pd.DataFrame({k: data[k] for k in ("y", "item", "annotator")})
    frame["item"], frame["annotator"] = frame["item"].astype(str), frame["annotator"].astype(str)

    def effects() -> Any:
        return bmb.Prior("Normal", mu=0, sigma=bmb.Prior("HalfStudentT", nu=3, sigma=2.5))

    priors = {"1|item": effects(), "1|annotator": effects()}
    formula = "y ~ 1 + (1|item) + (1|annotator)"
    if family == "ordinal":
        frame["y"] = pd.Categorical(frame["y"], ordered=True)
        model = bmb.Model(
            "y ~ 0 + (1|item) + (1|annotator)", frame, family="cumulative", link="probit",
            priors=priors,
        )  # fmt: skip
    else:
        priors["Intercept"] = bmb.Prior("Normal", mu=0, sigma=2.5)
        if family == "gaussian":
            priors["sigma"] = bmb.Prior("HalfStudentT", nu=3, sigma=2.5)
        model = bmb.Model(formula, frame, family=family, priors=priors)
    model.build()
    trace = model.fit(
        draws=DRAWS, tune=TUNE, chains=1, cores=1, progressbar=False, random_seed=1,
    )  # fmt: skip
    posterior = trace.posterior
    result = {
        "sigma_item": posterior["1|item_sigma"].values,
        "sigma_annotator": posterior["1|annotator_sigma"].values,
    }
    if family == "gaussian":
        result["sigma"] = posterior["sigma"].values
    attrs = posterior.attrs
    return float(attrs["sampling_time"]), result


if __name__ == "__main__":
    main()
