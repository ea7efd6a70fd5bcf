"""The notebooks as pages: converted for the build, which runs them and shows what comes out."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any


def write(source: Path, folder: Path) -> None:
    """Convert each notebook that has changed; the index lists them by their titles."""
    import jupytext

    folder.mkdir(parents=True, exist_ok=True)
    pages = sorted(source.glob("*.md"))
    for page in pages:
        target = folder / f"{page.stem}.ipynb"
        if not target.exists() or target.stat().st_mtime < page.stat().st_mtime:
            jupytext.write(_linked(jupytext.read(page)), target)
    for target in folder.glob("*.ipynb"):
        if not (source / f"{target.stem}.md").exists():
            target.unlink()


def _linked(notebook: Any) -> Any:
    """Have links lead to where the pages are here: beside the notebooks, not above them."""
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            cell.source = re.sub(r"\]\(([\w-]+)\.md", r"](\1.ipynb", cell.source)
            cell.source = cell.source.replace("](../docs/", "](../")
    return notebook
