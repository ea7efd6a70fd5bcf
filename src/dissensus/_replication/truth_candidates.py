"""Which variants of a model of the truth are worth comparing for these labels."""

from __future__ import annotations

from collections.abc import Mapping
from inspect import signature
from typing import Any, Final

import xarray as xr

from dissensus import models
from dissensus.dims import ANNOTATION, ANNOTATOR, LABEL, SYSTEM
from dissensus.errors import ArgumentError, brief, shown
from dissensus.families.latent_truth.design import ENOUGH

Candidates = Mapping[str, Mapping[str, Any]]
MODEL: Final = "model"
SYMMETRIC: Final = "symmetric_confusion"
ROWS: Final = "dawid_skene"
OPTIONS: Final = (
    "draws", "tune", "chains", "random_seed", "progressbar", "evidence", "prior_count",
    "keep_items", "posterior_predictive", "on_missing", "sampler",
)  # fmt: skip
"""What is the same for all variants."""


def candidates_for(annotations: xr.Dataset, predictions: xr.Dataset | None) -> Candidates:
    """Return variants from the plainest on: names to settings, with the ``model``.

    Each assumption of the plainest is given up alone, then those that go together.

    Examples
    --------
    >>> import dissensus as dx
    >>> two = dx.from_matrix([["a", "a", "b"], ["b", "b", "b"]])
    >>> list(candidates_for(two, None))
    ['plain', 'annotator', 'difficulty', 'annotator + difficulty']
    """
    n_labels = annotations.sizes[LABEL]
    parts: dict[str, dict[str, Any]] = {}
    if annotations.sizes[ANNOTATOR] > 1:
        parts["annotator"] = {"accuracy": "annotator"}
    if n_labels > 2:
        ordered = annotations.attrs["kind"] == "ordinal"
        name = "graded" if ordered else "unequal"
        parts[name] = {"errors": name}
    parts["difficulty"] = {"difficulty": True}
    single = list(parts)
    together = [list(pair) for k, pair in enumerate(_pairs(single)) if k < 3]
    wanted = [[], *([name] for name in single), *together]
    if len(single) > 2:
        wanted.append(single)
    if isinstance(predictions, xr.Dataset) and predictions.sizes.get(SYSTEM, 0) > 1:
        parts["related"] = {"systems": "related"}
        wanted += [["related"], [*single, "related"]]
    out: dict[str, dict[str, Any]] = {}
    for names in wanted:
        settings = {key: value for name in names for key, value in parts[name].items()}
        out[" + ".join(names) or "plain"] = {MODEL: SYMMETRIC, **settings}
    if annotations.sizes[ANNOTATION] >= ENOUGH * n_labels:
        out["matrices"] = {MODEL: ROWS}
    return out


def _pairs(names: list[str]) -> list[tuple[str, str]]:
    return [(one, two) for k, one in enumerate(names) for two in names[k + 1 :]]


def checked_candidates(candidates: Any) -> Candidates:
    """Return variants that somebody named, or raise if they are none.

    Raises
    ------
    ArgumentError
        If there are fewer than two, or one is not of a model of the truth, or has a setting that
        the model has not.
    """
    if not isinstance(candidates, Mapping) or len(candidates) < 2:
        raise ArgumentError(
            "candidates", expected="names of two variants or more with their settings, such as "
            "{'plain': {}, 'hard items': {'difficulty': True}}", found=brief(candidates),
        )  # fmt: skip
    out = {}
    for name, settings in candidates.items():
        if not isinstance(settings, Mapping):
            raise ArgumentError(
                "candidates", where=f"{name!r}", expected="settings by name", found=brief(settings)
            )
        model = settings.get(MODEL, SYMMETRIC)
        if model not in (SYMMETRIC, ROWS):
            raise ArgumentError(
                "candidates", where=f"{name!r}", expected=f"a model {SYMMETRIC!r} or {ROWS!r}",
                found=shown([model]),
            )  # fmt: skip
        known = [*OPTIONS, *_settings(model)]
        for one in settings:
            if one != MODEL and one not in known:
                raise ArgumentError(
                    "candidates", where=f"{name!r}", expected=f"settings of {model}: "
                    f"{shown(_settings(model), 9)}", found=repr(one),
                )  # fmt: skip
        out[str(name)] = {MODEL: model, **settings}
    return out


def check_options(options: Mapping[str, Any]) -> None:
    """Raise unless these are options that every variant takes, and none of their settings."""
    for name in options:
        if name not in OPTIONS:
            raise ArgumentError(
                str(name), expected=f"one of the options {shown(OPTIONS, len(OPTIONS))}",
                found="another name",
                hint="Settings in which variants differ belong in candidates="
                if name in {*_settings(SYMMETRIC), *_settings(ROWS)} else "",
            )  # fmt: skip


def _settings(model: str) -> list[str]:
    """Return the names of the settings that the variants of a model differ in."""
    taken = {"annotations", "predictions", "log_likelihood", *OPTIONS}
    return [one for one in signature(models.get(model).module.fit).parameters if one not in taken]
