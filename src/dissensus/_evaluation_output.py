"""What a command leaves behind that made an evaluation: files, and tables on the terminal."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from dissensus._console import SafeConsole
from dissensus._options import as_options
from dissensus._terminal import certainty_table, models_table, sections, summary_table

if TYPE_CHECKING:
    import xarray as xr

_LEGEND: Final = (
    "best: probability of being the best on new items. naive: against the point estimate, "
    "as if the annotators had not disagreed."
)
_console = SafeConsole()


def finish(result: xr.DataTree, out: Path, store: str, *, as_json: bool = False) -> None:
    """Write the files and print the table."""
    import dissensus as dx
    from dissensus._files import write_evaluation
    from dissensus._json_output import of_evaluation, print_json
    from dissensus._report import words
    from dissensus._report.two_models import parting_words
    from dissensus.evaluation.recipes import HEAVY_PRIOR

    written = write_evaluation(result, out, store)
    if as_json:
        print_json(of_evaluation(result, written))
        return
    if "metrics" in result.children:
        rows = dx.summary(result)
        main = rows[rows["model"] == result.attrs["model"]]
        _console.print(summary_table(main, result.attrs["reference_reliability"]))
        _console.print(f"[dim]{_LEGEND}[/dim]")
        if "companion" in result.children:
            _console.print(models_table(result, rows))
    else:
        _console.print(certainty_table(result))
    if "companion" in result.children:
        _console.print(parting_words(result), markup=False, highlight=False)
    for one in sections(result):
        _console.print(as_options(one) if isinstance(one, str) else one, highlight=False)
    if not words.some_shared(result["annotations"].to_dataset()):
        _console.print(f"[yellow]note[/yellow] {words.ALONE}")
    if result.attrs.get("prior_weight", 0) > HEAVY_PRIOR:
        _console.print(
            f"[yellow]note[/yellow] The prior has {result.attrs['prior_weight']:.0%} of the weight "
            "in a typical item: few annotators for so many labels. Look at --prior-count."
        )
    for path in written:
        _console.print(f"wrote {path}", markup=False, highlight=False)
