"""The page in a browser: what no reading of its HTML would show.

Headless Chromium, driven by Playwright. `CHROMIUM` may name the program; in Debian and its kin
`apt-get install chromium` brings it, which `.ci/run` does.
"""

from __future__ import annotations

import os
import shutil
from importlib.util import find_spec

import pytest

import dissensus as dx

_NAMES = ("chromium", "chromium-browser", "google-chrome")
FOUND = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, _NAMES)), None)

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(FOUND is None, reason="no Chromium here: apt-get install chromium"),
    pytest.mark.skipif(find_spec("playwright") is None, reason="needs uv sync --group browser"),
]


@pytest.fixture(scope="module")
def browser():
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=FOUND, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """A report with two models, a slider, and names that would like to be code."""
    study = dx.simulate.study(n_items=40, kind="ranking", n_labels=5, random_seed=3)
    ann, pred = study.annotations, study.predictions
    hostile = ["<script>document.title='gone'</script>", '"><img src=x>', "plain", "system D"]
    pred = pred.assign_coords(system=hostile)
    with pytest.warns(dx.ConvergenceWarning):  # so that there are doubts to be seen
        result = dx.evaluate(
            ann, pred, draws=150, concentration=1.0, random_seed=1, progressbar=False
        )
    return dx.report(result, tmp_path_factory.mktemp("report") / "report.html")


@pytest.fixture
def page(browser, written):
    page = browser.new_page(viewport={"width": 1100, "height": 900})
    page.complaints = []
    page.on("console", lambda message: page.complaints.append(message.text))
    page.on("pageerror", lambda message: page.complaints.append(str(message)))
    page.on("request", lambda request: page.complaints.append(request.url)
            if not request.url.startswith("file:") else None)  # fmt: skip
    page.goto(written.as_uri())
    yield page
    assert page.complaints == []
    page.close()


def opened(page):
    """Open what is closed."""
    page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true; })")


def column(page, table, place):
    return [row.locator("th, td").nth(place).inner_text()
            for row in page.locator(f"#{table} tbody:visible tr:not(.group)").all()]  # fmt: skip


@pytest.mark.slow
def test_names_stay_names(page):
    assert page.title() == "4 systems on 40 items"
    assert page.locator("img").count() == 0


def test_tables_are_sorted_by_a_click_and_back(page):
    opened(page)
    head = page.locator("#table-items thead button")
    first = column(page, "table-items", 1)
    assert first == sorted(first, key=float)  # least certain first
    head.nth(1).click()
    assert column(page, "table-items", 1) == sorted(first, key=float, reverse=True)
    assert (
        page.locator("#table-items th[aria-sort=descending]").inner_text().startswith("Certainty")
    )
    head.nth(1).click()
    assert column(page, "table-items", 1) == first
    head.nth(2).click()
    head.nth(2).click()
    labels = column(page, "table-items", 2)
    assert labels == sorted(labels)
    assert page.locator("#table-items th[aria-sort]").count() == 1


def test_sorting_works_from_the_keyboard_and_within_each_group(page):
    opened(page)
    table = page.locator("#table-metrics")
    groups = table.locator("tbody:visible").count()
    table.locator("thead button").first.focus()
    page.keyboard.press("Enter")
    assert table.locator("th[aria-sort]").count() == 1
    for body in table.locator("tbody:visible").all()[:groups]:
        assert body.locator("tr").first.get_attribute("class") == "group"
        names = [cell.inner_text() for cell in body.locator("tr:not(.group) th").all()]
        assert len(set(names)) == 4


def test_an_item_leads_to_what_was_said_of_it(page):
    for place in ("#next li a", "#table-items tbody a"):  # the first opens what is closed
        link = page.locator(place).first
        name = link.inner_text()
        link.click()
        target = page.evaluate("document.querySelector(':target h4').textContent")
        assert target.startswith(name)
        assert page.locator(":target").is_visible()


def test_the_page_opens_short(page):
    """Four screens and 900 words: the limits of a first reading."""
    assert page.locator("details[open]").count() == 0
    assert page.evaluate("document.documentElement.scrollHeight") <= 4500
    assert page.evaluate("document.body.innerText.split(/\\s+/).length") <= 900
    assert page.locator("#table-verdict").bounding_box()["y"] < 1200


def test_no_table_of_the_open_page_is_clipped_on_a_phone(page):
    page.set_viewport_size({"width": 400, "height": 800})
    wide = page.evaluate(
        "[...document.querySelectorAll('.scroll')].filter(e =>"
        " !e.closest('details:not([open])') && e.scrollWidth > e.clientWidth + 1)"
        ".map(e => e.firstElementChild.id)"
    )
    assert wide == []
    assert page.locator("#table-verdict td").first.is_visible()


def test_what_is_closed_is_printed(page):
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    assert page.locator("details:not([open])").count() == 0
    assert page.locator("#table-items").is_visible()
    page.evaluate("window.dispatchEvent(new Event('afterprint'))")
    assert page.locator("details[open]").count() == 0


def test_the_slider_changes_words_tables_and_marks(page):
    opened(page)
    slider = page.locator("#at")
    words = page.locator("p[data-at]:visible")
    before = words.inner_text()
    slider.focus()
    page.keyboard.press("End")
    assert words.inner_text() != before
    assert page.locator("output").inner_text() == "10"
    assert slider.get_attribute("aria-valuetext") == "10"
    assert page.locator("#table-metrics tbody:visible").first.get_attribute("data-at") == "2"


def test_marks_say_their_numbers(page):
    titles = page.evaluate(
        "[...document.querySelectorAll('svg g.tip title')].map(e => e.textContent)"
    )
    assert any(title.startswith("plain: .") and "at reliability 10" in title for title in titles)
    assert any("certainty ." in title for title in titles)
    assert any(title.startswith("<script>") for title in titles)  # as text


@pytest.mark.unit(0, long=4)
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(
    "selector", ["body", ".note", "summary h3", ".box p", "thead th", "figcaption", ".doubt"]
)
def test_text_stands_out(page, scheme, selector):
    """At least 4.5 to 1, as WCAG 2.2 asks for (1.4.3)."""
    page.emulate_media(color_scheme=scheme)
    if not page.locator(selector).count():
        pytest.skip(f"no {selector} on this page")
    colors = page.evaluate(
        "name => [getComputedStyle(document.querySelector(name)).color,"
        " getComputedStyle(document.body).backgroundColor]", selector,
    )  # fmt: skip
    light, dark = sorted((luminance(color) for color in colors), reverse=True)
    assert (light + 0.05) / (dark + 0.05) >= 4.5


def luminance(color):
    """WCAG's relative luminance of what `getComputedStyle` returns."""
    parts = [float(part) / 255 for part in color.strip("rgba()").split(",")[:3]]
    linear = [x / 12.92 if x <= 0.04045 else ((x + 0.055) / 1.055) ** 2.4 for x in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("width", [320, 390, 768, 1100])
def test_the_page_fits_any_screen(page, width):
    page.set_viewport_size({"width": width, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_without_scripts_all_is_there(browser, written):
    page = browser.new_page(java_script_enabled=False)
    page.goto(written.as_uri())
    assert page.locator("p.lead").first.is_visible()
    assert page.locator("#table-items tbody a").count() == 20
    assert not page.locator(".control").is_visible()  # what would do nothing is not shown
    page.close()


def test_it_prints(page, tmp_path):
    page.emulate_media(media="print")
    assert not page.locator(".control").is_visible()
    assert page.pdf(format="A4").startswith(b"%PDF")


def test_screenshots_are_not_blank(page, tmp_path):
    import numpy as np
    from PIL import Image

    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        file = tmp_path / f"{scheme}.png"
        page.screenshot(path=file)
        shades = np.asarray(Image.open(file).convert("L"))
        assert (shades.mean() > 128) == (scheme == "light")
        assert shades.std() > 10


@pytest.mark.slow
def test_a_thousand_items_are_less_than_three_megabytes(tmp_path):
    study = dx.simulate.study(n_items=1000, random_seed=1)
    result = dx.evaluate(
        study.annotations, study.predictions, model="inverse_rank", draws=20, random_seed=1,
        progressbar=False,
    )  # fmt: skip
    assert dx.report(result, tmp_path / "report.html").stat().st_size < 3_000_000
