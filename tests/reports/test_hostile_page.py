"""A report whose every name was chosen by somebody who means harm: in a parser and in a browser."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from base64 import b64encode
from hashlib import sha256
from html import unescape
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import dissensus as dx
from dissensus.reports import sentences

RUN = "document.title='HACKED'"
NAMES = [
    f"<script>{RUN}</script>",
    f"</script><script>{RUN}</script>",
    f"</title></style></svg></text><script>{RUN}</script>",
    f'"><img src=x onerror="{RUN}">',
    f'\'><svg onload="{RUN}">',
    f"` onmouseover={RUN} x=`",
    f"javascript:{RUN}",
    f"--><!-- ]]><script>{RUN}</script>",
    f"{{{{ 7 * 7 }}}}{{% if 1 %}}{RUN}{{% endif %}}",
    f"{{{{constructor.constructor('{RUN}')()}}}}",
    r"$\frac{1}{0}$ $\undefined $ \$ _under_ ^x",
    "_leading",
    "\u202eoverride \u2066isolate",
    "\u200frtl\u05e9\u05dc\u05d5\u05dd mark",
    "zero\u200b\u200d\ufeffwidth",
    "bell\x07escape\x1b[31m",
    "two\nlines\r\nand\ta tab\u2028more",
    "x" * 10_000,
    "W" * 39,
    'id="words" d="M 0.123456" url(#a) style="color: #0072b2" xlink:href="#x"',
    "&lt;b&gt; &amp; &#60;script&#62;",
    "<b>bold</b> [red]rich[/red]",
]


@pytest.fixture(scope="module")
def hostile():
    """An evaluation in which items, annotators, labels and systems have such names."""
    rng = np.random.default_rng(1)
    who, items = NAMES[:6], [f"{name}{k}" for k, name in enumerate(NAMES)]
    rows = [(i, a, NAMES[rng.integers(len(NAMES))]) for i in items for a in who]
    ann = dx.annotations(pd.DataFrame(rows, columns=["item", "annotator", "label"]), labels=NAMES)
    rows = [(i, s, NAMES[rng.integers(len(NAMES))]) for i in items for s in NAMES]
    pred = dx.predictions(pd.DataFrame(rows, columns=["item", "system", "label"]))
    groups = {name: NAMES[k % 4] for k, name in enumerate(NAMES)}
    return dx.evaluate(
        ann, pred, draws=20, chains=2, random_seed=1, progressbar=False, reliability=(1.0, 2.0),
        groups=groups, companion="inverse_rank", truth_model="symmetric_confusion", prior_count=1,
    )  # fmt: skip


@pytest.fixture(scope="module")
def written(hostile, tmp_path_factory):
    import matplotlib.pyplot as plt

    plt.switch_backend("agg")
    return dx.report(hostile, tmp_path_factory.mktemp("page") / "report.html")


PROBE = """<script nonce="probe">
const all = [...document.querySelectorAll("*")], root = document.documentElement;
const loose = all.filter(e => !e.closest(".scroll") && e.getClientRects().length);
const control = document.querySelector(".control");
const found = {
  title: document.title,
  scripts: document.scripts.length,
  handlers: all.flatMap(e => e.getAttributeNames()).filter(n => n.startsWith("on")),
  links: [...document.querySelectorAll("[href]")].filter(e => e.getAttribute("href")[0] !== "#"
    ).length,
  foreign: document.querySelectorAll("img, iframe, object, embed, base, form[action]").length,
  ours: control !== null && !control.hidden,
  width: root.clientWidth, wide: root.scrollWidth,
  beyond: loose.filter(e => e.getBoundingClientRect().right > root.clientWidth + 1
    ).map(e => e.tagName + " " + e.textContent.slice(0, 60)).slice(0, 5),
};
document.body.textContent = "";
const out = document.createElement("pre");
out.id = "probe"; out.textContent = JSON.stringify(found); document.body.append(out);
</script>"""
"""What a browser made of the page; the policy lets it run by its nonce."""


@pytest.fixture(scope="module")
def browser(written, tmp_path_factory):
    """Return a function that opens the page in a browser, with or without the page's policy."""
    names = ("chromium", "chromium-browser", "google-chrome")
    program = next((path for path in map(shutil.which, names) if path), None)
    if program is None:
        pytest.skip("no Chromium on PATH: the page is checked by a parser only")

    def opened(width, policy, planted=""):
        folder = tmp_path_factory.mktemp("browser")
        html = written.read_text(encoding="utf-8")
        if policy:
            html = html.replace("script-src '", "script-src 'nonce-probe' '", 1)
        else:
            html = re.sub("<meta http-equiv=[^>]*>", "", html, count=1)
        page = folder / "page.html"
        page.write_text(html.replace("</body>", planted + PROBE + "</body>"), encoding="utf-8")
        done = subprocess.run(
            [program, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
             f"--user-data-dir={folder / 'user'}", f"--window-size={width},900", "--dump-dom",
             page.as_uri()],
            capture_output=True, text=True, timeout=300, check=False,
        )  # fmt: skip
        match = re.search(r'<pre id="probe">(.*?)</pre>', done.stdout, re.DOTALL)
        if match is None:
            pytest.fail(f"Chromium shows no probe: {done.stdout[-300:]} {done.stderr[-300:]}")
        return json.loads(unescape(match.group(1)))

    return opened


@pytest.mark.unit(0, long=1)
@pytest.mark.parametrize("policy", [True, False])
@pytest.mark.parametrize("width", [1280, 500])
def test_nothing_runs_and_nothing_overflows_in_a_browser(browser, width, policy):
    # Without the policy, too: names are escaped, the policy is a second wall.
    result = browser(width, policy)
    assert result["title"] == "22 systems on 22 items"
    assert result["scripts"] == 2  # the page's, and the probe
    assert result["handlers"] == []
    assert result["foreign"] == result["links"] == 0
    assert result["ours"], "the page's own script did not run"
    assert result["width"] <= width
    assert result["wide"] <= result["width"], result["beyond"]
    assert result["beyond"] == []


@pytest.mark.long
@pytest.mark.parametrize("policy", [True, False])
def test_a_name_that_was_not_escaped_would_be_seen(browser, policy):
    # The faults this page does not have, planted; and what the policy makes of the first.
    result = browser(1280, policy, planted=NAMES[0] + NAMES[3] + "<p><nobr>" + "x" * 3000)
    assert result["title"].startswith("22 systems" if policy else "HACKED")
    assert result["scripts"] == 3
    assert result["handlers"] == ["onerror"]
    assert result["foreign"] == 1
    assert result["wide"] > result["width"]
    assert result["beyond"]


@pytest.mark.long
def test_a_parser_sees_names_as_text_only(written, parse):
    html = written.read_text(encoding="utf-8")
    parsed = parse(html)
    assert len(parsed.all("script")) == 1
    assert not {"img", "iframe", "object", "embed", "base", "b"} & {
        tag for tag, _ in parsed.elements
    }
    for tag, attrs in parsed.elements:
        assert not [name for name in attrs if name.startswith("on")]
        for name in ("src", "href", "xlink:href", "action", "formaction"):
            assert attrs.get(name, "#").startswith("#"), (tag, attrs)
        assert "javascript:" not in str(attrs.get("style"))
    for name in (0, 8, 19, 20, 21):
        assert NAMES[name][:38] in parsed.text
    seen = parsed.text + "".join(str(value) for _, attrs in parsed.elements
                                 for value in attrs.values())  # fmt: skip
    assert not set("\x07\x1b\u202e\u2066") & set(seen)
    assert "x" * 41 not in parsed.text
    assert any("x" * 500 in attrs.get("title", "") for attrs in parsed.all("bdi"))
    assert len(html) < 5_000_000


@pytest.mark.long
def test_ids_are_ours_and_whole(written, parse):
    parsed = parse(written.read_text(encoding="utf-8"))
    assert len(parsed.ids) == len(set(parsed.ids))
    assert all(re.fullmatch(r"[\w.-]+", name) for name in parsed.ids)


@pytest.mark.long
def test_no_name_is_a_formula_in_a_picture(written):
    # Matplotlib writes formulas as outlines, with a comment or a group of glyphs, not as text.
    html = written.read_text(encoding="utf-8")
    pictures = re.findall(r"<svg class=.figure.*?</svg>", html, re.DOTALL)
    text = unescape(" ".join(pictures))
    assert r"$\frac{1}{0}$" in text
    assert "_leading" in text
    assert 'id="words" d="M' in text  # a name that reads like an attribute is left alone


@pytest.mark.long
def test_only_our_script_may_run(written, parse):
    html = written.read_text(encoding="utf-8")
    policy = next(a["content"] for a in parse(html).all("meta") if "http-equiv" in a)
    script = re.search(r"<script>(.*?)</script>", html, re.DOTALL).group(1)
    digest = b64encode(sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in policy
    assert "default-src 'none'" in policy
    assert "'unsafe-inline'" not in policy.split("script-src")[1].split(";")[0]


def test_the_templates_escape_everything():
    environment = sentences.environment(page=True)
    assert environment.autoescape is True
    sources = [
        path.read_text(encoding="utf-8") for path in Path(sentences.__file__).parent.glob("*.html")
    ]
    assert sources
    for source in sources:
        assert not re.search(r"\|\s*safe\b|autoescape", source)
