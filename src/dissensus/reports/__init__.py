"""The report: one HTML page that needs nothing but a browser."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import Any

import xarray as xr

from dissensus.errors import ArgumentError, shown
from dissensus.evaluation.sets import LABELS
from dissensus.evaluation.votes import LEADERBOARD
from dissensus.statistics._reader_words import checked_study, is_reader_study
from dissensus.storage import check_target, name_exists, replace

_NEEDED = ("posterior", "statistics", "annotations")
_OF_READERS = 0.95
_ENDINGS = (".html", ".htm")
_OF_VOTES = ("posterior", LEADERBOARD, "annotations")


def report(
    evaluation: xr.DataTree | xr.Dataset,
    path: str | os.PathLike[str],
    *,
    title: str | None = None,
    ci_kind: str | None = None,
    ci_prob: float | None = None,
    overwrite: bool = False,
) -> Path:
    """Write an evaluation, or a reader study, as one self-contained HTML page.

    The page has sentences, figures and tables. It needs no network, can be printed, and follows
    the reader's setting of light or dark. The same evaluation gives the same bytes.

    Parameters
    ----------
    evaluation : xarray.DataTree or Dataset
        From `dissensus.evaluate` or `dissensus.reader_study`. An evaluation may have a group
        ``truth`` with known values: variables named like the metrics, over (system) or (scope,
        system). The page shows them beside the intervals.
    path : path
        The file to write.
    title : str, optional
        Heading of the page; by default counts, such as the numbers of systems and items.
    ci_kind : {"eti", "hdi"}, optional
        Kind of the intervals; ArviZ's setting by default.
    ci_prob : float, optional
        Probability of the intervals; ArviZ's setting by default, .95 for reader studies.
    overwrite : bool
        Whether to replace an existing file.

    Returns
    -------
    pathlib.Path
        The file written.

    Raises
    ------
    ArgumentError
        If ``evaluation`` is from another function, if ``path`` does not end with .html or its
        folder does not exist, or if the file exists and ``overwrite`` is false.

    Examples
    --------
    >>> import dissensus as dx, pathlib, tempfile
    >>> ann = dx.annotations({"item": [1, 1, 2], "annotator": [1, 2, 1], "label": list("aab")})
    >>> pred = dx.predictions({"item": [1, 2], "system": ["m", "m"], "label": ["a", "a"]})
    >>> result = dx.evaluate(ann, pred, draws=20, random_seed=1, progressbar=False)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     page = dx.report(result, pathlib.Path(folder) / "report.html")
    ...     page.read_text(encoding="utf-8")[:15]
    '<!doctype html>'
    """
    from arviz_base import rc_context

    from dissensus.evaluation.evidence import tables_made_once
    from dissensus.plots._source import interval_settings
    from dissensus.reports.page import page
    from dissensus.reports.readers_page import page as readers_page
    from dissensus.reports.sets_page import page as sets_page
    from dissensus.reports.votes_page import page as votes_page

    _check(evaluation)
    target = Path(path)
    _check_target(target, overwrite)
    of_readers = is_reader_study(evaluation)
    if of_readers and ci_prob is None:
        ci_prob = _OF_READERS
    kind, prob = interval_settings(ci_kind, ci_prob)
    with rc_context({"stats.ci_kind": kind, "stats.ci_prob": prob}), tables_made_once():
        write: Any = readers_page
        if not of_readers:
            write = (
                votes_page if LEADERBOARD in evaluation.children
                else sets_page if LABELS in evaluation.children else page
            )  # fmt: skip
        html = write(evaluation, title)
    replace(target, partial(_write, html), overwrite=overwrite)
    return target


def _check(evaluation: Any) -> None:
    if is_reader_study(evaluation):
        checked_study(evaluation, "evaluation")
        return
    if not isinstance(evaluation, xr.DataTree):
        raise ArgumentError(
            "evaluation",
            expected="a DataTree from dissensus.evaluate, or a Dataset from dissensus.reader_study",
            found=type(evaluation).__name__,
        )
    needed = _OF_VOTES if LEADERBOARD in evaluation.children else _NEEDED
    missing = [name for name in needed if name not in evaluation.children]
    if missing:
        raise ArgumentError(
            "evaluation",
            expected=f"the groups {', '.join(needed)}, as dissensus.evaluate returns them",
            found=f"no {', '.join(missing)}, but {shown(list(evaluation.children), 12) or 'none'}",
        )


def _check_target(target: Path, overwrite: bool) -> None:
    if target.suffix.lower() not in _ENDINGS:
        raise ArgumentError(
            "path", expected="a name that ends with .html", found=str(target),
            hint="The report is a web page; a browser can print it to PDF",
        )  # fmt: skip
    check_target(target)
    if name_exists(target) and not overwrite:
        raise ArgumentError(
            "path",
            expected="a file that does not exist yet",
            found=str(target),
            hint="overwrite=True replaces it",
        )
    if not target.parent.is_dir():
        raise ArgumentError(
            "path", expected="a folder that exists", found=f"no folder {target.parent}"
        )


def _write(html: str, path: Path) -> None:
    path.write_text(html, encoding="utf-8", newline="\n", errors="replace")
