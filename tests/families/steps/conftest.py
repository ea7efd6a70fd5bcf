"""Steps stand in graphs of a moment, compiled only where a test asks for it, and prove models."""

import pytest
from pymc_runs import graphs_are_not_compiled, no_compiler

import dissensus.families.steps  # noqa: F401 (models by hand: nothing else registers the steps)
from dissensus.families import crossed, latent_truth, rankings, rasch

__all__ = ["graphs_are_not_compiled", "no_compiler"]


@pytest.fixture(autouse=True)
def nothing_is_taken_on_trust(monkeypatch: pytest.MonkeyPatch) -> None:
    """Models are proved although the library has written them: `tests/sampling/test_written.py`."""
    for family in (crossed, latent_truth, rankings, rasch):
        monkeypatch.setattr(family.step, "is_as_written", lambda _: False)
