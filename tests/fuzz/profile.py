"""How many cases each fuzz test makes: few in the ordinary suite, many in `make fuzz`."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, Final

from hypothesis import HealthCheck, Phase, settings

ALL: Final = "explicit generate target shrink"
FULL: Final = os.environ.get("DISSENSUS_FUZZ") == "full"
SHARE: Final = float(os.environ.get("DISSENSUS_FUZZ_SHARE", "1"))
"""Of the full number of cases; above 1 for a long night."""
PHASES: Final = tuple(
    phase for phase in Phase if phase.name in os.environ.get("DISSENSUS_FUZZ_PHASES", ALL)
)
"""Without "shrink" a failure is shown as it was found, and at once."""


def cases(ordinary: int, full: int) -> Callable[[Any], Any]:
    """Say how many cases a test makes; the same ones in every run of the same hypothesis."""
    number = max(1, round(full * SHARE)) if FULL else ordinary
    return settings(
        max_examples=number,
        derandomize=True,
        deadline=None,  # a kernel is compiled when it is called first
        database=None,
        print_blob=True,
        phases=PHASES,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )
