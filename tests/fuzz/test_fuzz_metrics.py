"""Every metric in the registry, of plausibilities in either form and with any settings."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
import xarray as xr
from component_fits import cross_replication, crossed_effects
from fuzz.data import NOT_DATA, annotation_sets, prediction_sets
from fuzz.judging import arrays, judged, twice, within
from fuzz.profile import cases
from fuzz.settings_of import settings_of
from hypothesis import given
from hypothesis import strategies as st

import dissensus as dx
from dissensus.metrics import METRICS

every_metric = pytest.mark.parametrize("entry", METRICS, ids=lambda entry: entry.name)
NUMBERS = (0.5, 0.0, 1.0, 0.9, -0.2, 1.5, float("nan"), float("inf"), 1e-300, None, "x", [], True)


@st.composite
def plausibilities(draw):
    """Make plausibilities from a fit, dense or with candidates; some of them harmed."""
    ann = draw(annotation_sets(("nominal", "ranking", "ordinal"), silent=False))
    dense = ann.attrs["kind"] != "ranking" and draw(st.booleans())
    fit = dx.models.dirichlet.fit if dense else dx.models.inverse_rank.fit
    tree = fit(ann, draws=3, chains=draw(st.integers(1, 2)), random_seed=1, progressbar=False)
    result = tree["posterior"]["plausibility"]
    harm = draw(st.integers(0, 19))
    if harm == 0:
        result = harmed(result, draw(st.sampled_from(HARMS)))
    return ann, (tree if harm == 1 else result)


HARMS = (
    "nan",
    "negative",
    "too much",
    "no chain",
    "no item",
    "integers",
    "bare",
    "twice",
    "no draws",
)


def harmed(result: xr.DataArray, how: str) -> xr.DataArray:
    """Do plausibilities a wrong."""
    ways = {
        "nan": lambda: result.where(result["item"] != result["item"][0]),
        "negative": lambda: -result,
        "too much": lambda: 3 * result,
        "no chain": lambda: result.isel(chain=0, drop=True),
        "no item": lambda: result.isel(item=0, drop=True),
        "integers": lambda: result.round().astype(int),
        "bare": lambda: xr.DataArray(result.to_numpy()),
        "twice": lambda: xr.concat([result, result], "item"),
        "no draws": lambda: result.isel(draw=[]),
    }
    return ways[how]()


@st.composite
def calls(draw, entry):
    """Make the arguments of one call."""
    more = dict(entry.arguments)
    if entry.takes in {"lists", "plausibility", "probabilities", "two labels"}:
        ann, result = draw(plausibilities())
        args = [result]
        if entry.takes != "plausibility":
            args.append(draw(prediction_sets(ann, ("labels", "ranks", "scores"))))
        labels = ann["label"].to_numpy().tolist()
        if entry.name == "group_labels":
            more["mapping"] = draw(mappings(labels, ("even", "odd", "both", 1, None, "")))
        if entry.name == "expected_risk":
            more["risk"] = draw(mappings(labels, (0, 1.5, 2, float("nan"), float("inf"), "x")))
    elif entry.takes in {"components", "pools"}:
        args = [draw(fits(entry.takes))]
    elif entry.takes == "scores":
        ann, result = draw(plausibilities())
        if isinstance(result, xr.DataArray):
            result = result.isel({result.dims[-1]: 0}, drop=True)
            result = result.drop_vars("candidate_size", errors="ignore")
        args = [result, draw(prediction_sets(ann, ("numbers", "labels")))]
    elif entry.name == "event_plausibility":
        args, more = [normal(draw(draws_()), draw(draws_()))], {"threshold": 0.2}
    elif entry.name == "majority_accuracy":
        args, more = [], more | {"accuracy": draw(draws_())}
    elif entry.takes == "draws":
        args = [draw(draws_())]
    elif entry.takes == "coefficients":
        args = [coefficients(draw(draws_()))]
    elif entry.takes == "sets":
        ann, _ = draw(plausibilities())
        args = [draw(by_label(ann)), draw(prediction_sets(ann, ("labels", "ranks", "sets")))]
    elif entry.takes == "pairs":
        few = {"draws": 3, "tune": 2, "chains": 1, "random_seed": 1, "progressbar": False}
        args = [dx.models.bradley_terry.fit(draw(annotation_sets(("pair",))), **few)]
    else:
        args = [draw(blocks()), draw(blocks()), draw(st.integers(0, 5)), draw(st.integers(4, 6))]
        if entry.takes == "strengths":
            numbers = NUMBERS if draw(st.integers(0, 3)) == 0 else (0.5, 1.0, 1e-300, 1e300, 3)
            strengths = st.lists(st.sampled_from(numbers), min_size=4, max_size=5)
            args = [draw(strengths), draw(blocks())]
    if args and draw(st.integers(0, 19)) == 0:
        args[draw(st.integers(0, len(args) - 1))] = draw(st.sampled_from(NOT_DATA))
    taken = set(list(inspect.signature(entry.function).parameters)[: len(args)])
    return args, more | draw(settings_of(entry.function, but=taken))


@st.composite
def by_label(draw, ann):
    """Map labels to draws of the answers "yes" and "no", or of others."""
    answers = ["no", "yes"] if draw(st.integers(0, 5)) else ["a", "b"]
    items = ann["item"].to_numpy()
    out = {}
    for label in ann["label"].to_numpy().tolist():
        share = np.random.default_rng(draw(st.integers(0, 3))).random((1, 3, len(items)))
        out[label] = xr.DataArray(
            np.stack([1 - share, share], axis=-1), dims=("chain", "draw", "item", "label"),
            coords={"item": items, "label": answers},
        )  # fmt: skip
        if draw(st.integers(0, 9)) == 0:
            out[label] = draw(st.sampled_from((out[label].isel(item=slice(1)), None, "x")))
    return out


@st.composite
def blocks(draw):
    """Make a partial ranking of codes from 0 to 3; one in some cases is none."""
    if draw(st.integers(0, 4)) == 0:
        return draw(st.lists(st.lists(st.integers(-1, 4), max_size=3), max_size=3))
    order = draw(st.permutations(range(4)))
    ends = draw(st.lists(st.integers(1, 2), min_size=1, max_size=3))
    parts = np.split(np.array(order), np.minimum(np.cumsum(ends), 4))[:-1]
    return [part.tolist() for part in parts if len(part)]


@st.composite
def mappings(draw, labels, values):
    """Map labels to values, all of them in most cases."""
    kept = labels if draw(st.integers(0, 5)) else labels[1:]
    good = values[:3]
    chosen = st.sampled_from(good if draw(st.integers(0, 3)) else values)
    return {label: draw(chosen) for label in kept}


@st.composite
def draws_(draw):
    """Make draws of a number for two systems, or a number in another form."""
    kind = draw(st.integers(0, 6))
    if kind == 0:
        return draw(st.sampled_from(NUMBERS))
    values = np.random.default_rng(draw(st.integers(0, 99))).random((1, 4, 2))
    if kind == 1:
        values[0, draw(st.integers(0, 3))] = draw(st.sampled_from([np.nan, np.inf, -1.0, 0.0, 2.0]))
    array = xr.DataArray(
        values, dims=("chain", "draw", "system"), coords={"system": ["s", "t"]}, name="number"
    )
    other = {2: array.isel(system=0, drop=True), 3: values, 4: array.to_dataset()}
    return other.get(kind, array)


def coefficients(draws):
    """Make a fit with coefficients of what was made, where that is an array with names."""
    if not isinstance(draws, xr.DataArray) or "system" not in draws.dims:
        return draws
    terms = draws.rename(system="term").assign_coords(term=["x", "y"])
    return xr.DataTree.from_dict({"posterior": terms.to_dataset(name="coefficient")})


def normal(mean, variance):
    """Give a fit of normal scores the numbers that were made."""
    try:
        return xr.Dataset({"mean": mean, "variance": variance})
    except (ValueError, TypeError):
        return mean


@st.composite
def fits(draw, takes):
    """Make a fit with variance components of one pool or of three."""
    make = crossed_effects if takes == "components" or draw(st.integers(0, 9)) == 0 else None
    family = draw(st.sampled_from(["gaussian", "bernoulli", "ordinal"]))
    return (make or cross_replication)(family, draws=draw(st.sampled_from([1, 3])))


@every_metric
@cases(3, 500)
@given(data=st.data())
def test_a_metric_is_within_its_bounds_or_refused(entry, data):
    args, settings = data.draw(calls(entry))
    run = twice if data.draw(st.integers(0, 4)) == 0 and "random_seed" not in settings else judged
    if settings.get("weights") is not None:
        run = judged  # weights of the bootstrap are drawn anew
    answer = run(f"metrics.{entry.name}", entry.function, *args, **settings)
    if answer.refused:
        return
    low = entry.low if entry.name != "compare" else -float("inf")
    high = entry.high if entry.name != "compare" else float("inf")
    within(answer.value, low, high)
    if entry.takes == "lists" and entry.name != "certainty":
        assert {"system"} <= set(answer.value.dims)
    for array in arrays(answer.value):
        assert array.name
