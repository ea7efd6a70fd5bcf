r"""Make the README's picture from the report of `dissensus demo`: its first screen.

    uv run --group browser python docs/generate/readme_picture.py dissensus-demo/report.html \
        docs/report.png

Needs a Chromium on the path.
"""

from __future__ import annotations

import io
import shutil
import sys
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

_COLOURS = 64
"""Enough for drawings; a third of the bytes."""


def main(report: Path, out: Path) -> None:
    """Photograph a report down to the end of its table."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        page = browser.new_page(viewport={"width": 800, "height": 760}, device_scale_factor=1.25)
        page.goto(report.resolve().as_uri())
        end = page.locator("#table-verdict").bounding_box()
        assert end is not None
        size = {"x": 0, "y": 0, "width": 800, "height": end["y"] + end["height"] + 10}
        found = Image.open(io.BytesIO(page.screenshot(clip=size, full_page=True))).convert("RGB")
        browser.close()
    found.quantize(_COLOURS).save(out, optimize=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
