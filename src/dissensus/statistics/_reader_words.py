"""The results of a reader study in sentences, and warnings about them."""

from __future__ import annotations

from itertools import combinations
from typing import Final, TypeGuard

import numpy as np
import xarray as xr

from dissensus.dims import CHAIN, DRAW, MODALITY, READER, SAMPLE, SYSTEM, other
from dissensus.errors import ArgumentError, shown
from dissensus.sampling.convergence import few_draws, warning
from dissensus.statistics._reader_scores import ONE
from dissensus.wording import counted, listed, share, spoken_probability

FEW_READERS: Final = 4
FEW_CASES: Final = 10
_SURE: Final = 0.95
_NONE: Final = 1e-9
"""A standard deviation below this is a rounding error."""

_PARTS: Final = ("auc", "average_auc", "observed_auc", "curve")


def is_reader_study(data: object) -> TypeGuard[xr.Dataset]:
    """Return whether ``data`` is a result of `reader_study`, or a part of a result."""
    return isinstance(data, xr.Dataset) and "average_auc" in data


def checked_study(study: xr.Dataset, name: str) -> xr.Dataset:
    """Return a study, or raise if variables, readers or modalities are missing."""
    lacking = [part for part in _PARTS if part not in study]
    attrs = study.attrs
    if lacking or "n_readers" not in attrs:
        description = f"no {listed(lacking)}" if lacking else "no attributes"
    elif MODALITY not in study["auc"].dims or READER not in study["auc"].dims:
        description = f"dims {study['auc'].dims}"
    else:
        names = [str(modality) for modality in study[MODALITY].to_numpy().tolist()]
        modalities = [str(modality) for modality in np.atleast_1d(attrs["modalities"]).tolist()]
        if names == modalities and study.sizes[READER] == attrs["n_readers"]:
            return study
        description = f"{study.sizes[READER]} of {counted(attrs['n_readers'], 'reader')}, "
        description += f"modalities {shown(names)} of {shown(modalities)}"
    raise ArgumentError(
        name, expected="a whole reader study, as dissensus.reader_study returns it",
        found=description,
        hint="For fewer readers or modalities, pass their rows to reader_study",
    )  # fmt: skip


def concerns(study: xr.Dataset) -> dict[str, str]:
    """Return the warnings of `reader_study` about a study, by topic."""
    attrs, observed = study.attrs, study["observed_auc"]
    out = {}
    latent = attrs.get("areas") == "latent"
    poor = chains_in_words(study) if latent else ""
    if poor:
        out["chains"] = (
            f"Do not trust the areas by latent scores ({poor}). Run reader_study again with "
            f"more draws (draws={4 * study.sizes[CHAIN] * study.sizes[DRAW]})."
        )
    if constant := attrs.get("n_constant"):
        verb = "has" if constant == 1 else "have"
        out["constant"] = (
            f"{constant} of {int(observed.notnull().sum())} pairs of reader and modality {verb} "
            "the same score for all cases, which gives an area of .5. Check that the column of "
            "scores is the right one."
        )
    if systems := attrs.get("constant_systems"):
        out["constant systems"] = (
            f"All cases have the same score by {systems}, which gives an area of .5. Check that "
            "the column of scores is the right one."
        )
    if attrs.get("areas_grades_min", 3) < 3:
        out["grades"] = (
            "A reader or system has only two different scores, which give one point of the curve. "
            "The area by latent scores follows from this point and the model only."
        )
    if not attrs["truth_known"]:
        out["truth"] = (
            "The truth is estimated. If readers and the people whose labels were fitted err on the "
            "same cases, areas are too large: on mammograms whose truth is known, by .06 to .09 "
            "(docs/validation.md). Confirm the true labels of some cases."
        )
        if inside := attrs.get("in_truth"):
            out["truth"] = (
                f"The estimated truth depends on the answers of {inside} themselves, and areas are "
                "too large. Fit the labels of other annotators, or confirm the true labels of some "
                "cases."
            )
    below = (study["average_auc"] < 0.5).mean(SAMPLE)
    below = below[below > _SURE]
    if len(below):
        names = below[MODALITY].values.tolist()
        out["direction"] = (
            "Positive cases have lower scores than negative ones on average"
            + ("" if names == [ONE] else f" (modality {shown(names)})")
            + ". If low scores mean positive, reverse the scores."
        )
    several = observed.sizes[MODALITY] > 1
    perfect = [
        f"{observed[READER].values[r]}" + several * f" with {observed[MODALITY].values[m]}"
        for m, r in np.argwhere(observed.values > 1 - 1e-9)
    ]
    if perfect and attrs["truth_known"] and attrs["new_cases"] and not latent:
        out["perfect"] = (
            "All positive cases have higher scores than all negative ones: "
            f"{shown(perfect)}. The area is drawn with half a positive and half a negative case "
            "added, and its interval depends on this (see Notes of dx.reader_study)."
        )
    counts = {kind: attrs[f"units_{kind}"] for kind in ("positive", "negative")}
    few = [f"{n:.3g} {kind}" for kind, n in counts.items() if n < FEW_CASES]
    if few and attrs["new_cases"]:
        out["cases"] = (
            f"There are only {listed(few)} {attrs['unit']}: 95 % intervals "
            + ("depend on priors." if latent else "may be too narrow. In simulations with four of "
               "a kind, 87 % contained the true value.")
        )  # fmt: skip
    least = attrs["max_false_positive_rate"] * counts["negative"]
    if attrs["max_false_positive_rate"] < 1 and least < FEW_CASES and not latent:
        out["partial"] = (
            f"The partial area depends on about {least:.2g} negative {attrs['unit']}: it is "
            "uncertain, and may be biased."
        )
    n = int(observed.notnull().sum(READER).min())
    if attrs["new_readers"] and n < FEW_READERS:
        out["readers"] = (
            f"There {'is' if n == 1 else 'are'} only {counted(n, 'reader')}"
            + several * " with a modality"
            + ": the interval for new readers depends mostly on a prior. For these readers only, "
            "pass new_readers=False."
        )
    return out


def chains_in_words(study: xr.Dataset) -> str:
    """Return the convergence problem of the model of latent scores; empty if there is none."""
    attrs = study.attrs
    few = few_draws(study.sizes[DRAW], study.sizes[CHAIN], markov=True)
    named = {str(name).removeprefix("areas_"): value for name, value in attrs.items()}
    return few or warning(named)


def in_words(study: xr.Dataset) -> str:
    """Return the average areas, and differences with their probabilities, as sentences."""
    readers = "new readers" if study.attrs["new_readers"] else "these readers"
    cases = "new cases" if study.attrs["new_cases"] else "these cases"
    names = study[MODALITY].values.tolist()
    average = study["average_auc"]
    areas = [
        f"{name} {_with_interval(average.sel({MODALITY: name}))}".removeprefix(
            f"{ONE} " if len(names) == 1 else ""
        )
        for name in names
    ]
    method = " by latent scores" if study.attrs.get("areas") == "latent" else ""
    text = f"Average area under the ROC curve{method}, {readers} on {cases}: {listed(areas)}."
    for first, second in combinations(names, 2):
        difference = study["difference"]
        if other(MODALITY) in difference.dims:
            difference = difference.sel({MODALITY: first, other(MODALITY): second})
        text += f" {first} minus {second}: {_with_interval(difference)}"
        if float(difference.std()) > _NONE:
            text += (
                f"; above 0 with probability {spoken_probability(float((difference > 0).mean()))}"
            )
        text += "."
    for name in study[SYSTEM].values.tolist() if SYSTEM in study.dims else ():
        subject = "The system" if name == SYSTEM else f"System {name}"
        text += f" {subject}: {_with_interval(study['system_auc'].sel({SYSTEM: name}))}."
    return text


def _with_interval(draws: xr.DataArray) -> str:
    """Return the mean and the 95 % interval, the usual one in reader studies, as text."""
    mean = share(float(draws.mean()), 3)
    if float(draws.std()) < _NONE:
        return mean
    low, high = (share(float(x), 3) for x in draws.quantile([0.025, 0.975]))
    return f"{mean} (95 % interval {low} to {high})"
