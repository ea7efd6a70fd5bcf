"""Exports of annotation tools, right in form but for what a case spoils."""

from __future__ import annotations

from hypothesis import strategies as st

ODD = st.sampled_from([None, 0, -1, 1.5, "", "x", [], [1], {}, {"id": 1}, True, [[]], [{}], 10**30])


@st.composite
def field(draw, good):
    """Return what the tool writes, in most cases."""
    return draw(good) if draw(st.integers(0, 49)) < 49 else draw(ODD)


@st.composite
def label_studio(draw):
    """Make the tasks of a Label Studio export."""
    return [
        {
            "id": draw(field(st.just(number))),
            "data": draw(field(st.just({"text": "t", "patient": number % 2}))),
            "annotations": draw(field(st.lists(_statement("completed_by"), max_size=3))),
            "predictions": draw(field(st.lists(_statement("model_version"), max_size=2))),
        }
        for number in range(draw(st.integers(1, 4)))
    ]


@st.composite
def _statement(draw, who):
    result = {
        "from_name": draw(field(st.just("label"))),
        "type": draw(field(st.sampled_from(["choices", "rating"]))),
        "value": draw(
            field(st.sampled_from([{"choices": ["a"]}, {"choices": ["b"]}, {"rating": 3}]))
        ),
    }
    return {
        "id": draw(st.integers(0, 9)),
        who: draw(field(st.sampled_from([1, 2, 3, {"id": 4}, "me"]))),
        "result": draw(field(st.just([result]))),
        "was_cancelled": draw(field(st.sampled_from([False, False, True]))),
    }


@st.composite
def prodigy(draw):
    """Make the decisions of a Prodigy export."""
    choice = draw(st.booleans())
    labels = (
        {"accept": st.sampled_from([["a"], ["b"], []])} if choice else {"label": st.just("yes")}
    )
    return [
        {
            "_input_hash": draw(field(st.just(number // 2))),
            "_task_hash": draw(field(st.just(number // 2))),
            "_annotator_id": draw(field(st.just(f"r{number % 2}"))),
            "answer": draw(field(st.sampled_from(["accept", "accept", "reject", "ignore"]))),
            **{name: draw(field(strategy)) for name, strategy in labels.items()},
        }
        for number in range(draw(st.integers(1, 6)))
    ]
