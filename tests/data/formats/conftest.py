"""Files made for a test."""

from __future__ import annotations

import pytest


@pytest.fixture
def file(tmp_path):
    """Write text, bytes or JSON under a name, and return the path."""
    import json

    def write(name, content):
        path = tmp_path / name
        if isinstance(content, bytes):
            path.write_bytes(content)
        else:
            text = content if isinstance(content, str) else json.dumps(content)
            path.write_text(text, encoding="utf-8", newline="")
        return path

    return write


def statements(ann):
    """What was said, as a set of tuples of names."""
    roles = ["item", "annotator"] + (["label"] if "label_code" in ann else [])
    names = [ann[role].to_numpy()[ann[f"{role}_code"].to_numpy()].tolist() for role in roles]
    names += [ann[name].to_numpy().tolist() for name in ("value", "rank") if name in ann]
    return set(zip(*names, strict=True))


@pytest.fixture(name="statements")
def statements_fixture():
    """What was said, as a set of tuples of names."""
    return statements
