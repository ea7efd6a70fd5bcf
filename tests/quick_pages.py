"""Pages of reports without the pictures, which take most of the time."""

from __future__ import annotations

from markupsafe import Markup


def empty_picture(draw, prefix, words):
    """Stand in for `dissensus.reports.svg.drawn`."""
    return Markup('<svg class="figure" role="img" id="{}" aria-label="{}"></svg>').format(
        prefix, words
    )
