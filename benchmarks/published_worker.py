"""Run the published Plackett-Luce sampler in an interpreter that has JAX, and no dissensus.

`published_plackett_luce.py` starts it and speaks with it in lines of JSON. The first is how to
sample: ``published`` (the folder of the clone), ``tune``, ``draws``, ``timeout`` and ``jit``. Each
further one is a case: ``rankings`` (annotator, block, label code), ``n_labels``, and
``concentration``, None for the published treatment of labels that nobody named. It answers each
before it reads the next, so that it rests while the other side is measured.
"""

from __future__ import annotations

import importlib
import json
import signal
import sys
import time
from typing import Any


class TooSlowError(Exception):
    """A case took longer than allowed."""


def main() -> None:
    """Run all cases in one process: what JAX compiles for one may serve the next."""
    how = json.loads(sys.stdin.readline())
    sys.path.insert(0, how["published"])
    signal.signal(signal.SIGALRM, _too_slow)
    samplers, jax = importlib.import_module("pl_samplers"), importlib.import_module("jax")
    _say({"machine": f"jax {jax.__version__}, {jax.default_backend()}"})
    for line in sys.stdin:
        signal.alarm(how["timeout"])
        try:
            _say(_measured(json.loads(line), how, samplers, jax))
        except TooSlowError:
            _say({"failed": f"more than {how['timeout']} s"})
        except Exception as error:  # a case that fails is a finding, and must not hide the others
            _say({"failed": f"{type(error).__name__}: {error}"[:200]})
        finally:
            signal.alarm(0)


def _measured(case: dict[str, Any], how: dict[str, Any], samplers: Any, jax: Any) -> dict[str, Any]:
    """Time a case with a new sampler, as the notebook makes one for each, and once more."""
    sampler = samplers.GibbsSamplerPlackettLuce(how["jit"])
    seconds = []
    for seed in (1, 2):
        start = time.process_time()
        strength = _sample(case, how["tune"] + how["draws"], sampler, jax, seed)
        strength.block_until_ready()
        seconds.append(time.process_time() - start)
    named = sorted({label for ranking in case["rankings"] for block in ranking for label in block})
    draws = [_shares(row, named) for row in strength[how["tune"] :].tolist()]
    return {"first": seconds[0], "again": seconds[1], "draws": draws}


def _sample(case: dict[str, Any], sweeps: int, sampler: Any, jax: Any, seed: int) -> Any:
    key, n_labels = jax.random.PRNGKey(seed), case["n_labels"]
    if case["concentration"] is None:
        return sampler.sample_from_ranked_classes(
            key, case["rankings"], shape_lam_i=1, rate_lam_i=1.0, num_classes=n_labels,
            num_iterations=sweeps,
        )  # fmt: skip
    ones = jax.numpy.ones(n_labels)
    return sampler.sample(
        key, case["rankings"], case["concentration"] * ones, ones, num_iterations=sweeps
    )


def _shares(strength: list[float], named: list[int]) -> list[float]:
    """Return the plausibilities of the named labels, in order of code, and of all others."""
    others = sum(value for label, value in enumerate(strength) if label not in named)
    parts = [*(strength[label] for label in named), others]
    return [part / sum(parts) for part in parts]


def _too_slow(*_: object) -> None:
    raise TooSlowError


def _say(answer: dict[str, Any]) -> None:
    print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
