"""Do the tests notice faults between the layers? Plants the faults of a table one at a time.

``uv run python benchmarks/wiring_faults.py [WORD]...`` prints a table of the faults whose names
contain a word, or of all. For each it replaces a text in a file of this checkout, runs the named
tests, and puts the file back, also after Ctrl-C. A text that does not occur exactly once is
*stale*: the fault must be rewritten. `mutants.py` does this for kernels. The first 23 faults are
those that an earlier state of the tests missed.
"""

from __future__ import annotations

import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
SOURCE, TESTS = ROOT / "src" / "dissensus", ROOT / "tests"


class Fault(NamedTuple):
    """A text of a file, another text in its place, and the tests that must fail."""

    name: str
    file: str
    old: str
    new: str
    tests: str
    """Arguments of pytest; paths are below ``tests``."""


OPTION = "cli/test_options.py"
PAGE = "reports/test_read_back.py"
STORED = "stored/test_stored.py -k one_truth"
"""What is fitted is held against what is stored, of which other tests read the numbers."""
FAULTS = [Fault(*row) for row in (
    ("chains share bootstrap weights", "metrics/_items.py", "draw_exponential(each, draws)",
     "draw_exponential(keys[0], draws)", "metrics/test_items.py"),
    ("eti for hdi", "sampling/intervals.py", '(hdi if rcParams["stats.ci_kind"] == "hdi" else eti)',
     "(eti or hdi)", "reports/test_describe.py -k settings"),
    ("evaluate --stratum", "cli/app.py", "cluster=cluster, stratum=stratum", "cluster=cluster",
     OPTION),
    ("evaluate --margin", "cli/app.py", "distance=distance, margin=margin", "distance=distance",
     OPTION),
    ("evaluate --store", "cli/app.py", "finish(result, out, store,", 'finish(result, out, "nc",',
     OPTION),
    ("evaluate --concentration", "cli/app.py", "concentration=concentration", "concentration=None",
     OPTION),
    ("check --trial", "cli/check.py", "confidence=confidence, trial=trial",
     "confidence=confidence, trial=None", OPTION),
    ("check --cluster", "cli/check.py", "pool=pool, cluster=cluster", "pool=pool, cluster=None",
     OPTION),
    ("check --prediction-label", "cli/check.py", "label=prediction_label or label", "label=label",
     OPTION),
    ("check --predictions-format", "cli/check.py", "format=predictions_format, kind=kind",
     "format=None, kind=kind", OPTION),
    ("plan --assurance", "cli/plan.py", "assurance=assurance", "assurance=None", OPTION),
    ("plan --scale", "cli/plan.py", "scale=scale", "scale=None", OPTION),
    ("plan --panel", "cli/plan.py", "panel=panel", "panel=None", OPTION),
    ("metrics: new items before these", "reports/tables.py", "_between(x, d) for x in (these, new)",
     "_between(x, d) for x in (new, these)", PAGE),
    ("better: rows are columns", "reports/tables.py", "each.transpose(SYSTEM, other(SYSTEM))",
     "each.transpose(other(SYSTEM), SYSTEM)", PAGE),
    ("annotators by ratio, not items", "reports/sections.py",
     'people.sort_values(["n", "mean"]', 'people.sort_values(["mean", "n"]', PAGE),
    ("majority and panel change places", "reports/sections.py",
     'share(row["majority"]), share(row["uncertainty_adjusted"])]',
     'share(row["uncertainty_adjusted"]), share(row["majority"])]', PAGE),
    ("plan on the terminal: certainty", "cli/tables.py", '("certainty", "certain_share", "short',
     '("certain_share", "certainty", "short', "cli/test_plan_tables.py"),
    ("ROC: axes", "plots/_annotators.py", '("false_positive_rate", "sensitivity")',
     '("sensitivity", "false_positive_rate")', "plots/test_annotator_roc.py"),
    ("plan of reliability: one-sided", "plots/_plans.py", "[(1 - level) / 2, 0.5, (1 + level) / 2]",
     "[1 - level, 0.5, level]", "plots/test_plans.py"),
    ("certainty: most certain first", "plots/_items.py", "to_numpy())[place],",
     "to_numpy())[::-1][place],", "plots/test_items.py"),
    ("floor for ceil of draws", "studies/planning/reliability.py", "np.ceil(assurance * n",
     "np.floor(assurance * n", "studies/planning/test_plan_reliability.py"),
    ("Argilla: id 0 is none", "data/formats/argilla.py",
     'record["id"] if record.get("id") is not None else', 'record.get("id") or',
     "data/formats/test_argilla.py"),
    # Others of the same kinds.
    ("answers: the other scope", "evaluation/answers.py", "SCOPES[int(new_items)]",
     "SCOPES[int(not new_items)]", "evaluation/test_answers.py"),
    ("answers: systems by place", "evaluation/answers.py", "accuracy.reindex({SYSTEM: draws",
     "accuracy.assign_coords({SYSTEM: draws", "evaluation/test_answers.py"),
    ("accuracy: scopes", "evaluation/accuracy.py", "xr.concat([these_items, new_items]",
     "xr.concat([new_items, these_items]", STORED),
    ("above annotators: on these items", "evaluation/accuracy.py",
     "(new_items > on_average", "(these_items > on_average", STORED),
    ("summary: first reliability", "evaluation/evidence.py",
     "draws.sel({RELIABILITY: reference}, drop=True)", "draws.isel({RELIABILITY: 0}, drop=True)",
     "evaluation/test_evidence.py"),
    ("summary: tail for bulk", "evaluation/evidence.py", 'diagnosed.sel(diagnostic="ess_bulk"',
     'diagnosed.sel(diagnostic="ess_tail"', "evaluation/test_evidence.py"),
    ("summary: mean for median", "evaluation/evidence.py", "float(draws.median(skipna=True))",
     "float(draws.mean(skipna=True))", "evaluation/test_evidence.py"),
    ("categories: mean of new items", "reports/sections.py", 'share(float(each[0]["mean"]), d)',
     'share(float(each[1]["mean"]), d)', PAGE),
    ("certainty of labels as of categories", "reports/sections.py", '("categories", "certainty"))',
     '("certainty", "categories"))', PAGE),
    ("P(below 1) with the margin", "reports/sections.py",
     '(draws["discrepancy_ratio"] < 1).mean()', '(draws["discrepancy_ratio"] < 1 + margin).mean()',
     PAGE),
    ("verdict: P(farther)", "reports/average_annotator.py", "(more > 0).mean() +",
     "(more < 0).mean() +", "reports/test_average_annotator.py"),
    ("box: settled on these items", "reports/trust.py", "lead.draws.sel({SCOPE: NEW})",
     'lead.draws.sel({SCOPE: "these items"})', "reports/test_verdict.py"),
    ("differences: ends not turned", "reports/components.py",
     '[-row["mean"], -row["upper"], -row["lower"]]', '[-row["mean"], -row["lower"], -row["upper"]]',
     "reports/test_components.py"),
    ("two models on new items", "reports/two_models.py", 'reliability"], SCOPE: THESE}\n        ea',
     'reliability"], SCOPE: "new items"}\n        ea', PAGE),
    ("items: annotations of another", "reports/items.py", "counts[places[card.name]]",
     "counts[n - 1]", PAGE),
    ("certain for uncertain items", "reports/evidence.py", "(data[name] < steps)",
     "(data[name] >= steps)", PAGE),
    ("terminal at the first reliability", "cli/tables.py",
     "evidence.reliabilities(evaluation).index(reference)", "0", PAGE),
    ("all tables are summary.csv", "cli/output.py", "partial(_table, evaluation, of)",
     "partial(_table, evaluation, None)", PAGE),
    ("demo --seed", "cli/app.py", "random_seed=seed, progressbar=progress,\n",
     "random_seed=1, progressbar=progress,\n", OPTION),
    ("better plot: rows are columns", "plots/_systems.py", "pairs.transpose(SYSTEM, other(SYSTEM))",
     "pairs.transpose(other(SYSTEM), SYSTEM)", "plots/test_items.py"),
    ("accuracies: thick new items", "plots/_rows.py",
     "((pieces.NEW, 1.4), (pieces.THESE, 4.0))", "((pieces.NEW, 4.0), (pieces.THESE, 1.4))",
     "plots/test_rows.py"),
    ("risk: one-sided", "plots/_items.py", "[(1 - prob) / 2, (1 + prob) / 2]", "[1 - prob, prob]",
     "plots/test_items.py"),
    ("prior: one-sided", "plots/_checks.py", "[ENDS[0], 0.5, ENDS[1]]", "[0.1, 0.5, 0.9]",
     "plots/test_checks.py"),
    ("models: naive of the main model", "plots/_along.py", "per_system(side,", "per_system(source,",
     "plots/test_read_back.py -k curves"),
    ("wrong labels by another share", "plots/_annotators.py",
     'data["level_share"] * data["error_rate"]', 'data["wrong_share"] * data["error_rate"]',
     "plots/test_confidence.py"),
    ("plan: smallest for largest study", "studies/planning/plan.py", 'np.argmax(sizes["items"])',
     'np.argmin(sizes["items"])', "studies/planning/test_plan.py"),
    ("half of half the width", "studies/planning/reliability.py", "(length <= width).mean",
     "(length / 2 <= width).mean", "studies/planning/test_plan_reliability.py"),
    ("Prodigy: accept is the lower label", "data/formats/prodigy.py", '("reject", "accept")',
     '("accept", "reject")', "data/formats/test_prodigy.py"),
    ("review: accuracy before the gain", "checks/_review.py", "(now + gain)[order]",
     "now[order] + gain", "checks/test_items_to_review.py"),
    ("cross-kappa: always the first pool", "evaluation/components.py", "(names[p], names[q])",
     "(names[0], names[q])", "evaluation/test_components.py"),
    ("weights from the stream of the fit", "metrics/_items.py", '"item weights").integers',
     '"fit").integers', "kernels/test_random.py"),
    ("best is last", "metrics/_comparison.py", "ranks.isel({RANK: 0}", "ranks.isel({RANK: -1}",
     "metrics/test_comparison.py"),
    ("non-inferiority without its margin", "statistics/_non_inferiority.py", "draws < 1.0 + number",
     "draws < 1.0", "statistics/test_non_inferiority.py"),
)]  # fmt: skip


def caught_by(tests: str) -> str:
    """Return the first test that fails, or "" if none does."""
    words = shlex.split(tests)
    paths = [str(TESTS / word) if (TESTS / word).exists() else word for word in words]
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-n", "1", "-m", "not slow", *paths]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode in (0, 5):  # 5: there is no such test
        return ""
    match = re.search(r"^(?:FAILED|ERROR) (\S+)", done.stdout, re.MULTILINE)
    return match[1] if match else f"pytest ended with {done.returncode}"


def fate(fault: Fault) -> str:
    """Return which test catches a fault."""
    path = SOURCE / fault.file
    text = path.read_text(encoding="utf-8")
    if text.count(fault.old) != 1:
        return "stale"
    try:
        path.write_text(text.replace(fault.old, fault.new), encoding="utf-8")
        result = caught_by(fault.tests)
    finally:
        path.write_text(text, encoding="utf-8")
    return result.removeprefix("tests/") or "**SURVIVED**"


def main() -> None:
    """Print what becomes of each fault."""
    for number in (signal.SIGINT, signal.SIGTERM):  # a process in the background ignores the first
        signal.signal(number, signal.default_int_handler)
    chosen = [fault for fault in FAULTS if any(word in fault.name for word in sys.argv[1:] or [""])]
    print("| fault | file | caught by |\n|---|---|---|")
    for fault in chosen:
        print(f"| {fault.name} | {fault.file} | {fate(fault)} |", flush=True)


if __name__ == "__main__":
    main()
