"""Make the README's picture from the report of `dissensus demo`.

    uv run python docs/generate/readme_picture.py dissensus-demo/report.html docs/report.png

Needs a Chromium on the path.
"""

from __future__ import annotations

import io
import shutil
import sys
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page, sync_playwright

_LEFT = "Top-1 accuracy, by how far"
_RIGHT = ("Top-1 accuracy over the draws", "Which is better")
_COLOURS = 64
"""Enough for drawings; a third of the bytes."""


def _figure(page: Page, title: str) -> Image.Image:
    found = page.locator("figure", has_text=title).first
    return Image.open(io.BytesIO(found.screenshot())).convert("RGB")


def main(report: Path, out: Path) -> None:
    """Photograph three figures of a report, and put them side by side."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        page = browser.new_page(viewport={"width": 1000, "height": 760}, device_scale_factor=1.25)
        page.goto(report.resolve().as_uri())
        left, right = _figure(page, _LEFT), [_figure(page, title) for title in _RIGHT]
        browser.close()
    height = max(left.height, sum(one.height for one in right))
    sheet = Image.new("RGB", (left.width + right[0].width, height), "white")
    sheet.paste(left, (0, (height - left.height) // 2))
    top = 0
    for one in right:
        sheet.paste(one, (left.width, top))
        top += one.height
    sheet.quantize(_COLOURS).save(out, optimize=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
