"""Fit all cases in a process of its own: what the first fit takes, and the peak of memory.

Prints one line of JSON. `rankings.py` starts it: what a process has needed at most can be told
only by one that did nothing else.
"""

from __future__ import annotations

import json
import sys
import time
import warnings

import data
from memory import peak_memory

import dissensus as dx


def main() -> None:
    """Fit once with the chains and draws given on the command line."""
    warnings.simplefilter("ignore", dx.DissensusWarning)  # few effective draws do not matter here
    chains, draws = map(int, sys.argv[1:])
    _, ann = data.dermatology()
    before = peak_memory()
    start = time.perf_counter()
    fit = dx.models.plackett_luce.fit(
        ann, draws=draws, chains=chains, concentration=None, random_seed=1, progressbar=False
    )
    seconds = time.perf_counter() - start
    size = fit["posterior"]["plausibility"].nbytes
    result = {"seconds": seconds, "before": before, "peak": peak_memory(), "draws": size}
    print(json.dumps(result))


if __name__ == "__main__":
    main()
