"""Draws of a Gibbs step beside the gradient of PyMC's own density, which is what NUTS follows.

Of draws x from a density p without edges, the mean of d log p / dx is 0, and that of
(x - c) d log p / dx is -1, whatever c (by parts: Stein 1972). A prior or a term of the likelihood
that the sampler and the PyMC model do not share moves one of them. A few hundred gradients take a
second where nothing is compiled; NUTS takes minutes, for most of which it is being compiled.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import arviz as az
import numpy as np
import pymc as pm

from dissensus.sampling.interpreter import uncompiled

POINTS, THIN, TUNE = 150, 12, 300
FAR = 5.0
"""Of a z-score: one in 1.7 million, for some hundred numbers of few effective draws each."""


def disagreements(
    sampled: Any, judge: Any = None, points: list[dict[str, Any]] | None = None, *,
    held: Collection[str] = (),
) -> dict[str, float]:  # fmt: skip
    """Return z-scores past `FAR` of what is drawn from one model, by another one's density.

    Without another it is the same one; points are drawn by its step, if there are none. The keys
    name the numbers, on the scale PyMC moves them. Numbers of variables that are ``held`` do not
    move, and are left out.
    """
    judge = judge or sampled
    with uncompiled():
        points = points or _drawn(sampled)
        with judge:
            gradient = judge.logp_dlogp_function(ravel_inputs=True)
        gradient.set_extra_values({})
        flat = np.array([_flat(judge, point) for point in points])
        slopes = np.array([gradient(x)[1] for x in flat[::THIN]])
    names = _names(judge)
    moving = [k for k, name in enumerate(names) if name.partition("[")[0] not in held]
    flat, slopes, names = flat[:, moving], slopes[:, moving], [names[k] for k in moving]
    gap = flat - flat.mean(axis=0)
    # By the draws' covariances slopes say how far each mean is off, whatever goes with it.
    moves = slopes @ (gap.T @ gap / len(gap))
    widths = 1 + gap[::THIN] * slopes
    out = {}
    for text, numbers in (("mean of {}", moves), ("width of {}", widths)):
        for name, each in zip(names, numbers.T, strict=True):
            error = each.std() / np.sqrt(float(az.ess(each[None])))
            out[text.format(name)] = round(float(each.mean() / error), 1)
    return {coordinate: z for coordinate, z in out.items() if not abs(z) < FAR}


def points_of(fit: Any, model: Any, made: Any = None) -> list[dict[str, Any]]:
    """Return draws of a fit as points of a model, logarithms where it has them.

    What is not among the draws is made of them: ``made`` takes all, by name (sample, ...).
    """
    draws = fit["posterior"].to_dataset().stack(sample=("chain", "draw")).transpose("sample", ...)
    values = {str(name): x.to_numpy() for name, x in draws.data_vars.items()}
    values |= {} if made is None else made(values)
    names = [value.name for value in model.value_vars]
    of = {name: values[name] if name in values else np.log(values[name.removesuffix("_log__")])
          for name in names}  # fmt: skip
    return [{name: of[name][k] for name in names} for k in range(draws.sizes["sample"])]


def _drawn(model: Any) -> list[dict[str, Any]]:
    """Return points of the chain of the one step that PyMC chooses."""
    with model:
        _, chosen = pm.sampling.mcmc.assign_step_methods(model)
        (kind,) = chosen
        step = kind(chosen[kind], rng=7)
    point, out = model.initial_point(), []
    for number in range(TUNE + POINTS * THIN):
        if number == TUNE:
            step.stop_tuning()
        point, _ = step.step(point)
        if number >= TUNE:
            out.append(point)
    return out


def _flat(model: Any, point: dict[str, Any]) -> Any:
    return np.concatenate([np.ravel(point[value.name]) for value in model.value_vars])


def _names(model: Any) -> list[str]:
    sizes = {name: np.size(x) for name, x in model.initial_point().items()}
    return [f"{v.name}[{k}]" for v in model.value_vars for k in range(sizes[v.name])]
