"""Win rates and ranks from votes on pairs."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

import dissensus as dx


def tree(**values):
    dims = {"strength": ("chain", "draw", "system"),
            "item_effect": ("chain", "draw", "item", "system")}  # fmt: skip
    coords = {"system": ["a", "b", "c"]}
    data = {name: (dims.get(name, ("chain", "draw")), x) for name, x in values.items()}
    return xr.DataTree.from_dict({"posterior": xr.Dataset(data, coords)})


@pytest.fixture
def draws():
    rng = np.random.default_rng(1)
    return {
        "strength": rng.normal(size=(2, 4, 3)), "tie": rng.normal(size=(2, 4)),
        "side": rng.normal(size=(2, 4)), "item_effect": rng.normal(size=(2, 4, 5, 3)),
        "item_spread": rng.uniform(0.5, 1.5, (2, 4)),
    }  # fmt: skip


def won(ahead, tie, side):
    """Return P(left) and half of P(tie), each system as often on the left, by the definition."""
    out = 0.0
    for eta in (ahead + side, ahead - side):
        weights = np.exp(np.stack([eta / 2, np.broadcast_to(tie, eta.shape), -eta / 2]))
        share = weights / weights.sum(axis=0)
        out += (share[0] + share[1] / 2) / 2
    return out


def brute(s, tie, side):
    return np.array([
        np.mean([won(s[..., k] - s[..., j], tie, side) for j in range(3) if j != k], axis=0)
        for k in range(3)
    ])  # fmt: skip


def test_win_rates_on_these_prompts_are_means_over_prompts_and_opponents(draws):
    found = dx.win_rate(tree(**draws))
    s = draws["strength"][:, :, None] + draws["item_effect"]
    expected = brute(s, draws["tie"][..., None], draws["side"][..., None]).mean(axis=-1)
    np.testing.assert_allclose(found, np.moveaxis(expected, 0, -1))
    np.testing.assert_allclose(found.mean("system"), 0.5)
    assert found.dims == ("chain", "draw", "system")


def test_win_rates_on_new_prompts_integrate_over_them(draws):
    found = dx.win_rate(tree(**draws), new_items=True)
    rng = np.random.default_rng(2)
    new = rng.normal(size=(2, 4, 40_000, 3)) * draws["item_spread"][..., None, None]
    s = draws["strength"][:, :, None] + new
    expected = brute(s, draws["tie"][..., None], draws["side"][..., None]).mean(axis=-1)
    np.testing.assert_allclose(found, np.moveaxis(expected, 0, -1), atol=0.006)


def test_without_prompts_ties_and_side_it_is_the_logistic_function(draws):
    s = draws["strength"]
    found = dx.win_rate(tree(strength=s))
    expected = brute(s, np.full((2, 4), -np.inf), np.zeros((2, 4)))
    np.testing.assert_allclose(found, np.moveaxis(expected, 0, -1))
    xr.testing.assert_equal(found, dx.win_rate(tree(strength=s), new_items=True))


def test_ranks_count_the_stronger_ones(draws):
    found = dx.rank(tree(**draws))
    s = draws["strength"]
    expected = 1 + (s[..., None, :] > s[..., :, None]).sum(axis=-1)
    np.testing.assert_array_equal(found, expected)
    assert found.attrs["better"] == "lower"


def test_fits_without_strengths_or_prompts_are_refused(draws):
    with pytest.raises(dx.ArgumentError, match=r"fit: expected a fit of models\.bradley_terry"):
        dx.rank(xr.DataTree())
    del draws["item_effect"]
    with pytest.raises(dx.ArgumentError, match=r"keep_items=False.*type new_items=True"):
        dx.win_rate(tree(**draws))
    assert np.isfinite(dx.win_rate(tree(**draws), new_items=True)).all()
