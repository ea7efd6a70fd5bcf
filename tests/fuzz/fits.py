"""Fits of a few draws, for the functions that take one."""

from __future__ import annotations

from fuzz.data import annotation_sets, prediction_sets
from hypothesis import strategies as st

import dissensus as dx

FEW = {"draws": 3, "tune": 2, "chains": 1, "progressbar": False, "random_seed": 1}
TRUTH = ("symmetric_confusion", "dawid_skene", "rasch")
CROSSED = ("crossed_effects", "cross_replication")


@st.composite
def fits(draw, models, **more):
    """Fit one of some models; annotations that it refuses are replaced by a small study."""
    model = dx.models.get(draw(st.sampled_from(models)))
    ann = draw(annotation_sets(model.kinds, pools=model.pools or None))
    settings = FEW | {"chains": draw(st.sampled_from([1, 2]))} | more
    if draw(st.integers(0, 7)) and model.name != "inverse_rank":
        settings["posterior_predictive"] = True
    if model.name in TRUTH[:2] and draw(st.booleans()):
        settings["predictions"] = draw(prediction_sets(ann, ("labels",)))
    try:
        return ann, _quietly(model, ann, settings)
    except dx.DissensusError:
        kind = "continuous" if "continuous" in model.kinds else "nominal"
        ann = _study(kind)
        settings.pop("predictions", None)
        return ann, _quietly(model, ann, settings)


def _quietly(model, ann, settings):
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dx.DissensusWarning)
        return model.module.fit(ann, **settings)


def _study(kind):
    columns = {"item": list("aabbccdd"), "annotator": [1, 2] * 4, "pool": ["p", "q"] * 4}
    numbers = [1.0, 1.5, 2.0, 2.25, 3.0, 1.0, 0.5, 0.75]
    labels = numbers if kind == "continuous" else list("xxyyxyyx")
    return dx.annotations({**columns, "label": labels}, pool="pool")
