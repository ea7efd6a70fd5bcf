"""Sample abilities and difficulties with nutpie, in an interpreter that has it; prints JSON.

python abilities_worker.py DRAWS LABELS.npz
"""

from __future__ import annotations

import json
import sys
import time

import numpy as np
import nutpie
import pymc as pm

TUNE = 500


def main() -> None:
    """Sample, and print seconds and the draws of abilities."""
    draws, table = int(sys.argv[1]), sys.argv[2]
    data = dict(np.load(table))
    item, annotator = data["item"], data["annotator"]
    with pm.Model() as model:
        mean = pm.Normal("mean_ability", 1.0, 1.5)
        ability = pm.Normal(
            "ability", mean, pm.HalfNormal("ability_spread", 1.0), shape=int(annotator.max()) + 1
        )
        difficulty = pm.Normal(
            "difficulty", 0.0, pm.HalfNormal("difficulty_spread", 1.5), shape=int(item.max()) + 1
        )
        logit = ability[annotator] - difficulty[item]
        pm.Bernoulli("right", logit_p=logit, observed=data["right"])
    compiled = nutpie.compile_pymc_model(model)
    nutpie.sample(compiled, draws=2, tune=10, chains=1, cores=1, progress_bar=False, seed=1)
    start = time.perf_counter()
    trace = nutpie.sample(
        compiled, draws=draws, tune=TUNE, chains=2, cores=2, progress_bar=False, seed=2
    )
    seconds = time.perf_counter() - start
    print(json.dumps({"seconds": seconds, "ability": trace.posterior["ability"].values.tolist()}))


if __name__ == "__main__":
    main()
