"""Fits of annotations in chunks: lazy, and number by number what one fit of all items draws."""

from __future__ import annotations

import dask
import numpy as np
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st
from seeds import rest_long

import dissensus as dx
from dissensus.data.chunks import chunked
from dissensus.sampling import by_item

CASES = [
    ("dirichlet", "nominal", {"reliability": 2.0}),
    ("dirichlet", "ordinal", {"prior_count": 0.3}),
    ("inverse_rank", "ranking", {"reliability_per": "annotator"}),
    ("inverse_rank", "nominal", {"prior_count": 0.1}),
    ("normal_scores", "continuous", {}),
    ("normal_scores", "continuous", {"prior": (50, 1, 2, 3)}),
    ("plackett_luce", "ranking", {}),
    ("plackett_luce", "ranking", {"tempering": "strength", "reliability": 1.5}),
    ("plackett_luce", "nominal", {"unranked": "one"}),
]
each_case = pytest.mark.parametrize(("name", "kind", "hyper"), CASES)
some_cases = pytest.mark.parametrize(
    ("name", "kind", "hyper"), rest_long(CASES[::2] + CASES[1::2], unit=5)
)
"""One of each kind, and in long tests all."""
RUN = {"draws": 6, "tune": 5, "chains": 2, "progressbar": False}


def fit(name, annotations, random_seed=7, **options):
    run = {**RUN, "random_seed": random_seed, **options}
    return dx.models.get(name).module.fit(annotations, **run)


def labelled(kind, n_items=7, n_rows=30, seed=1):
    """Annotations whose items stand in no order."""
    rng = np.random.default_rng(seed)
    item = np.r_[np.arange(n_items), rng.integers(0, n_items, n_rows)]
    names = [f"i{(k * 5) % n_items}" for k in item]
    if kind == "ranking":
        lists = {name: [] for name in names}
        for name in names:
            lists[name].append([[k] for k in rng.permutation(list("abcdef"))[: rng.integers(1, 4)]])
        return dx.from_rankings(lists, labels=list("abcdef"))
    label = rng.normal(50, 3, len(item)) if kind == "continuous" else rng.integers(0, 4, len(item))
    table = {"item": names, "annotator": np.arange(len(item)), "label": label}
    return dx.annotations(table, kind=kind, labels=None if kind == "continuous" else range(4))


def assert_same(lazy, whole):
    """All that is said of items, and sums over them; rows are the annotations' own."""
    assert set(lazy.children) == set(whole.children)
    assert lazy.attrs == whole.attrs
    for group, node in whole.children.items():
        actual = lazy[group].to_dataset()
        for name, values in node.to_dataset().variables.items():
            if "annotation" in values.dims:
                continue
            if name == "lp":  # a sum in another order
                xr.testing.assert_allclose(actual[name].variable, values, rtol=1e-12)
            else:
                xr.testing.assert_identical(actual[name].variable.compute(), values)


@pytest.mark.long
@pytest.mark.unit(3, long=2)
@each_case
@pytest.mark.parametrize("items", rest_long([3, 1, 100], unit=1))
def test_the_same_draws_whatever_the_chunks(name, kind, hyper, items):
    ann = labelled(kind)
    lazy = fit(name, chunked(ann, items), **hyper)
    assert all(v.chunks for v in lazy["posterior"].data_vars.values() if "item" in v.dims)
    assert_same(lazy, fit(name, ann, **hyper))


@pytest.mark.long
@pytest.mark.unit(1, long=1)
@some_cases
def test_the_same_draws_from_chunks_that_cut_items(name, kind, hyper):
    ann = labelled(kind)
    assert_same(fit(name, ann.chunk(annotation=4), **hyper), fit(name, ann, **hyper))


@pytest.mark.long
@pytest.mark.unit(1, long=3)
@some_cases
def test_draws_are_cut_to_what_dask_takes_for_a_chunk(name, kind, hyper):
    ann = labelled(kind)
    with dask.config.set({"array.chunk-size": 500}):
        lazy = fit(name, chunked(ann), **hyper)
    draws = next(iter(lazy["posterior"].data_vars.values()))
    each = draws.nbytes // draws.sizes["item"]
    assert len(draws.chunksizes["item"]) > 1
    assert max(draws.chunksizes["item"]) * each <= max(500, each)
    assert_same(lazy, fit(name, ann, **hyper))


@pytest.mark.parametrize(("name", "kind"), [case[:2] for case in CASES[::2]])
@given(seed=st.integers(0, 1000))
@settings(deadline=None, max_examples=5)
def test_an_item_s_draws_hang_on_nothing_beside_it(name, kind, seed):
    """Neither on which items there are, nor on their order."""
    ann = labelled(kind, seed=seed)
    hyper = {"normal_scores": {"prior": (50, 1, 2, 3)}, "dirichlet": {"prior_count": 1},
             "plackett_luce": {"concentration": None}}  # fmt: skip
    hyper = hyper.get(name, {})  # what is learned from all items hangs on all
    whole = fit(name, ann, **hyper)["posterior"].to_dataset()
    chosen = np.random.default_rng(seed).permutation(ann.sizes["item"])[:3]
    rows = np.isin(ann["item_code"].to_numpy(), chosen)
    code = np.empty(ann.sizes["item"], dtype=np.int64)
    code[chosen] = np.arange(3)
    some = ann.isel(annotation=rows)
    some = some.assign(item_code=("annotation", code[some["item_code"].to_numpy()]))
    few = some.isel(item=[0, 1, 2]).assign_coords(item=ann["item"].to_numpy()[chosen])
    fitted = fit(name, few, **hyper)["posterior"].to_dataset()
    for variable in fitted.data_vars:
        first, second = fitted[variable], whole[variable].isel(item=chosen)
        if "candidate" in first.dims:  # there are as many columns as these items need
            first, second = (np.sort(x, axis=-1)[..., -3:] for x in (first, second))
        np.testing.assert_array_equal(first, second)


def test_nothing_is_drawn_before_it_is_asked_for(monkeypatch):
    drawn, real = [], by_item.dirichlet.draw_dirichlet

    def counting(alpha, *rest):
        drawn.append(len(alpha))
        return real(alpha, *rest)

    monkeypatch.setattr(by_item.dirichlet, "draw_dirichlet", counting)
    lazy = fit("dirichlet", chunked(labelled("nominal"), 2), prior_count=1)
    assert drawn == [1]  # one draw of one item, to see what there is
    lazy["posterior"]["plausibility"].isel(item=[2]).compute()
    assert sum(drawn) == 1 + 2 * RUN["chains"]  # its chunk
    drawn.clear()
    lazy["observed_data"]["counts"].isel(item=[2]).compute()
    assert sum(drawn) == 2  # once, as few as can be


@pytest.mark.long
def test_a_generator_goes_on_as_it_does_without_chunks():
    first, second = (np.random.default_rng(3) for _ in range(2))
    ann = labelled("ranking")
    for name in ("inverse_rank", "plackett_luce"):
        whole, lazy = fit(name, ann, first), fit(name, chunked(ann, 3), second)
        assert_same(lazy, whole)
    assert first.bit_generator.state == second.bit_generator.state


@pytest.mark.long
def test_without_a_seed_looking_twice_gives_the_same():
    lazy = fit("dirichlet", chunked(labelled("nominal"), 2), None)
    xr.testing.assert_identical(lazy["posterior"].to_dataset().compute(),
                                lazy["posterior"].to_dataset().compute())  # fmt: skip


@pytest.mark.long
def test_items_that_nobody_spoke_about_may_fill_a_chunk():
    matrix = np.array([["a", "b"], [None, None], [None, None], ["b", "b"]], dtype=object)
    ann = dx.from_matrix(matrix, labels=["a", "b"])
    for name in ("dirichlet", "plackett_luce"):
        assert_same(fit(name, chunked(ann, 1)), fit(name, ann))
    with pytest.raises(dx.AnnotationError, match="at least one annotation of every item"):
        fit("inverse_rank", chunked(ann, 1))["posterior"].to_dataset().compute()


@pytest.mark.parametrize(
    ("name", "kind", "options"),
    [("plackett_luce", "ranking", {"log_likelihood": True}),
     ("dirichlet", "nominal", {"posterior_predictive": True}),
     ("normal_scores", "continuous", {"log_likelihood": True})],
)  # fmt: skip
def test_what_needs_all_items_at_once_is_made_in_memory(name, kind, options):
    ann = labelled(kind)
    whole, lazy = fit(name, ann, **options), fit(name, chunked(ann, 3), **options)
    draws = next(iter(lazy["posterior"].data_vars))
    assert lazy["posterior"][draws].chunks is None
    assert set(lazy.children) == set(whole.children)


def test_bad_settings_are_refused_at_once():
    with pytest.raises(dx.ArgumentError, match="reliability"):
        fit("dirichlet", chunked(labelled("nominal"), 2), reliability=-1)
    for bad in (0, 2.5, "many"):
        with pytest.raises(dx.ArgumentError, match="draws: expected a whole number"):
            fit("dirichlet", chunked(labelled("nominal"), 2), draws=bad)
    with pytest.raises(dx.ArgumentError, match="chains: expected a whole number"):
        fit("dirichlet", chunked(labelled("nominal"), 2), chains=0)
    with pytest.raises(dx.AnnotationError, match="kind 'nominal' or 'ordinal'"):
        fit("dirichlet", chunked(labelled("continuous"), 2))


@pytest.mark.long
def test_chains_that_are_too_short_are_said_to_be_so_wherever_they_ran():
    ann = labelled("ranking")
    run = {"draws": 100, "tune": 0, "chains": 2, "reliability": 3.0, "tempering": "strength",
           "concentration": 0.2}  # fmt: skip
    with pytest.warns(dx.ConvergenceWarning):
        whole = fit("plackett_luce", ann, **run)
    lazy = fit("plackett_luce", chunked(ann, 2), **run)
    with pytest.warns(dx.ConvergenceWarning, match="n_items_poor") as caught:
        stats = lazy["sample_stats"].to_dataset().compute()
    assert len(caught) == 1  # whatever the number of blocks
    for name in ("n_items_poor", "ess_bulk_min", "ess_tail_min", "r_hat_max"):
        assert stats[name].item() == whole.attrs[name]
    assert whole.attrs["n_items_poor"] > 0
    few = fit("plackett_luce", chunked(ann, 2), draws=99)["sample_stats"].to_dataset().compute()
    assert np.isnan(few["r_hat_max"])
