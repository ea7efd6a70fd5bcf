"""The page of the documentation that shows what the full calibration found, and its pictures."""

from __future__ import annotations

import io
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import numpy as np
from calibration import forms
from calibration.harness import Floats, envelope, p_value
from calibration.saved import ROOT, Record, file_of

PAGE: Final = ROOT / "docs" / "calibration.md"
PICTURES: Final = ROOT / "docs" / "calibration"
FALSE_ALARM: Final = 0.001
"""Of one question."""
COLUMNS: Final = 6
COLOURS: Final = 24

_HEAD: Final = """# Calibration

These tests check whether each sampler draws from the posterior of its model (simulation-based
calibration). In each simulated study, parameters are drawn from the prior, and annotations are
drawn given the parameters. The model is then fitted to the annotations, and the rank of the true
value among the posterior draws is computed. A *question* is a function of parameters and data
whose ranks are computed. If the sampler is correct, the ranks over studies are uniform for every
question (Talts et al. 2018; Modrak et al. 2023). Ranks that are not uniform show a fault of the
sampler or of its warm-up, or a difference between the simulated and the fitted model.

The full tests take hours and do not run with every change; shorter versions of most of them run
with every change. The table gives the days on which the full tests ran and passed:

```{{csv-table}}
:file: calibration/passes.csv
:header-rows: 1
```

A *form* is a model with certain settings and data. Forms "as written" are simulated from the PyMC
model that `build` returns, and fitted by `fit`. The code of these tests is the same for all models.
The other forms are simulated by NumPy code without PyMC, written by hand from the models' cards.

In the forms *errors together* and *weight of a system*, the correlation of errors and the weight of
a system's predictions are learned from known labels. There is no generative model of known labels
and annotations together, because the annotators' parameters are learned from the annotations alone.
Each of the two forms therefore simulates only the part that has a joint distribution. A study has
5,000 items, which determine the annotators' parameters (`tests/calibration/truth_correlated.py`).

In the pictures, the line is the distribution function of the ranks minus its expectation. If the
sampler is correct, the whole line is within the grey band with probability .95 (Säilynoja, Bürkner
& Vehtari 2022). In the tables, n is the number of studies with this question, and p is the
probability that uniform ranks deviate at least as much as the observed ranks. It is estimated by
simulation and is never below 1/2001. A question passes if p > 1/1000. If all samplers are correct,
about {expected:.1f} of the {questions} questions are expected to fail.

{found}

{missing}Written by `make calibrate` ({command}).
"""


def write(actual: Sequence[Record], wanted: Sequence[str]) -> str:
    """Write the page and its pictures; return a sentence on it.

    Sections and pictures of forms whose results are not on this machine stay as they are.
    """
    PICTURES.mkdir(exist_ok=True)
    kept = {name: text for name, text in sections().items() if name in wanted}
    every = kept | {record.name: _section(record) for record in actual}
    every = {name: every[name] for name in sorted(every)}
    parts = [head(every, actual, wanted)]
    for model in dict.fromkeys(name.split(": ")[0] for name in every):
        parts.append(f"\n## {model}\n")
        if model in forms.NOT_DRAWN:
            parts.append(f'There is no form "as written": {forms.NOT_DRAWN[model]}.\n')
        parts += [text for name, text in every.items() if name.split(": ")[0] == model]
    PAGE.write_text("\n".join(parts), encoding="utf-8")
    shown = {file_of(name).with_suffix(".png").name for name in every}
    for old in PICTURES.glob("*.png"):
        if old.name not in shown:
            old.unlink()
    size = sum(path.stat().st_size for path in PICTURES.glob("*.png"))
    return f"{PAGE.relative_to(ROOT)}: {len(every)} of {len(wanted)} forms, {size / 1e3:.0f} kB"


def sections() -> dict[str, str]:
    """Return the sections of the page as it is, by form."""
    out: dict[str, str] = {}
    if not PAGE.exists():
        return out
    for part in re.split(r"^## ", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]:
        model = part.partition("\n")[0]
        for section in re.split(r"^### ", part, flags=re.MULTILINE)[1:]:
            form = section.partition("\n")[0]
            name = form if form == model else f"{model}: {form}"
            out[name] = f"### {section.rstrip()}\n"
    return out


def passes(p: float) -> bool:
    """Say whether a question passes."""
    return p > FALSE_ALARM


def head(every: Mapping[str, str], actual: Sequence[Record], wanted: Sequence[str]) -> str:
    """Return what the page begins with; ``every`` are all sections, ``found`` those made now."""
    text = "\n".join(every.values())
    judged = re.findall(r"\| (pass|\*\*FAIL\*\*) \|$", text, flags=re.MULTILINE)
    studies = sum(map(int, re.findall(r"^(\d+) studies, up to", text, flags=re.MULTILINE)))
    dates = sorted(set(re.findall(r" minutes; (\d{4}-\d\d-\d\d), commit", text)))
    stale = text.count(", sources changed since.")
    missing = [name for name in wanted if name not in every]
    n = max(len(judged), 1)
    versions = sorted({tuple(record.versions.items()) for record in actual})
    message = "; ".join(", ".join(f"{k} {v}" for k, v in each) for each in versions)
    when = dates[0] if len(dates) == 1 else f"{dates[0]} to {dates[-1]}" if dates else "-"
    words = [
        f"**{judged.count('pass')} of {n} questions pass** in {len(every)} forms of "
        f"{len({name.split(':')[0] for name in every})} models, "
        f"{studies:,} studies, run {when}{f', the last run with {message}' if message else ''}.",
    ]
    if stale:
        words.append(f"For {stale} of the forms, source files have changed since the run.")
    lacking = f"Not run yet, of {len(wanted)} forms: {'; '.join(missing)}.\n\n" if missing else ""
    return _HEAD.format(
        questions=n, expected=n * FALSE_ALARM, found=" ".join(words), missing=lacking,
        command="`PYTHONPATH=tests python -m calibration.full`",
    )  # fmt: skip


def _section(record: Record) -> str:
    """Return the table of a form and its picture, which is drawn."""
    image = file_of(record.name).with_suffix(".png").name
    picture(record.places, PICTURES / image)
    form = record.name.split(": ", 1)[-1]
    lines = [
        f"### {form}\n",
        f"{record.studies} studies, up to {record.draws} draws of each, "
        f"{record.minutes:.1f} minutes; "
        f"{record.date}, commit {record.commit}"
        f"{', sources changed since' if record.stale else ''}.\n",
        f"![{form}](calibration/{image})\n",
        "| question | n | p | |", "|---|---|---|---|",
    ]  # fmt: skip
    for question, x in record.places.items():
        p = p_value(x)
        lines.append(f"| {question} | {len(x)} | {p:.4f} | {'pass' if passes(p) else '**FAIL**'} |")
    return "\n".join(lines) + "\n"


def picture(result: Mapping[str, Floats], path: Path) -> None:
    """Save a small picture of each question, in rows."""
    import matplotlib as mpl

    mpl.use("agg")
    import matplotlib.pyplot as plt
    from PIL import Image

    rows = -(-len(result) // COLUMNS)
    figure, axes = plt.subplots(
        rows, COLUMNS, figsize=(1.55 * COLUMNS, 1.25 * rows + 0.2), squeeze=False,
        sharex=True, layout="constrained",
    )  # fmt: skip
    for axis in axes.flat[len(result) :]:
        axis.set_axis_off()
    for axis, (question, values) in zip(axes.flat, result.items(), strict=False):
        points, low, high = envelope(len(values))
        ecdf = np.searchsorted(np.sort(values), points, side="right") / len(values)
        axis.fill_between(points, low - points, high - points, step="mid", color="0.86", lw=0)
        axis.step(points, ecdf - points, where="mid", lw=0.9)
        axis.set_title(question, fontsize=6.5, pad=2)
        axis.tick_params(labelsize=5, length=2, pad=1)
        axis.set_xticks([0, 0.5, 1])
    buffer = io.BytesIO()
    figure.savefig(buffer, dpi=100, format="png")
    plt.close(figure)
    Image.open(buffer).convert("RGB").quantize(COLOURS).save(path, optimize=True)
