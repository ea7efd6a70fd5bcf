"""Run crowd-kit's Dawid-Skene, in an interpreter that has it; prints JSON.

python crowdkit_worker.py LABELS.csv [PROBABILITIES.csv]

The table has columns task, worker and label. Seconds are those of the second run.
"""

from __future__ import annotations

import json
import sys
import time

import pandas as pd
from crowdkit.aggregation import DawidSkene
from memory import peak_memory


def main() -> None:
    """Fit, keep the probabilities if asked to, and print seconds, iterations and memory."""
    table = pd.read_csv(sys.argv[1], dtype=str)
    DawidSkene(n_iter=1).fit(table)
    start = time.perf_counter(), time.process_time()
    fitted = DawidSkene().fit(table)
    spent = {
        "seconds": time.perf_counter() - start[0],
        "processor": time.process_time() - start[1],
    }
    if len(sys.argv) > 2:
        fitted.probas_.to_csv(sys.argv[2])
    peak = peak_memory() / 2**30
    print(json.dumps(spent | {"iterations": len(fitted.loss_history_), "peak": peak}))


if __name__ == "__main__":
    main()
