"""Evaluations whose numbers a test can dictate."""

from __future__ import annotations

from html.parser import HTMLParser

import matplotlib.pyplot as plt
import numpy as np
import pytest
import xarray as xr

import dissensus as dx
from dissensus.dims import SCOPES
from dissensus.evaluation import scoring
from dissensus.reports import checks
from dissensus.reports.sentences import paragraph


def spoken(topic, facts):
    """Return the sentences of a topic, with breakable spaces."""
    text = paragraph(topic, facts) if facts else ""
    return text.replace("\N{NO-BREAK SPACE}", " ")


VOID = {"meta", "input", "br", "link", "img", "col", "wbr"}


class Page(HTMLParser):
    """What a browser would see: elements, attributes, text, and whether tags are balanced."""

    def __init__(self, html):
        super().__init__()
        self.elements, self.text, self.open, self.ids = [], "", [], []
        self.feed(html)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.elements.append((tag, attrs))
        self.ids += [attrs["id"]] if "id" in attrs else []
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] not in {"style", "script"}:
            self.text += data

    def all(self, tag):
        return [attrs for name, attrs in self.elements if name == tag]


@pytest.fixture
def parse():
    """Return a function that reads HTML as a browser would."""
    return Page


@pytest.fixture
def page(tmp_path):
    """Return a function that reports and parses."""

    def write(evaluation, **options):
        path = dx.report(evaluation, tmp_path / "report.html", overwrite=True, **options)
        return Page(path.read_text(encoding="utf-8"))

    return write


@pytest.fixture(scope="session")
def known():
    """What tests that only look at a page keep for each other."""
    return {}


@pytest.fixture
def usual(evaluate, known, tmp_path):
    """The page of the small study: its HTML, and what a browser would see."""
    if "usual" not in known:
        html = dx.report(evaluate(), tmp_path / "usual.html").read_text(encoding="utf-8")
        known["usual"] = html, Page(html)
    return known["usual"]


@pytest.fixture(autouse=True)
def no_window():
    """Draw without a screen; a report leaves no figure open."""
    before = plt.get_backend()
    plt.switch_backend("agg")
    yield
    assert plt.get_fignums() == []
    plt.switch_backend(before)


@pytest.fixture
def evaluate(votes, evaluated):
    """Return a function that evaluates the small study, with options."""

    def run(predictions=True, **options):
        ann, pred = votes
        return evaluated("votes", ann, pred if predictions else None, **{"draws": 150, **options})

    return run


@pytest.fixture
def dictated(evaluate):
    """Return a function that puts given means of systems, along reliability, into an evaluation."""

    def build(means, *, spread=0.01, naive=None, metric="top_1_accuracy", names=None):
        """``means``: system -> one mean for each of the reliabilities 1, 2, ..."""
        table = np.array(list(means.values()), dtype=float).T
        trust = [float(k) for k in range(1, len(table) + 1)]
        result = evaluate(reliability=trust)
        noise = np.random.default_rng(0).normal(0, 1, (4, 150, len(trust), 2, table.shape[1]))
        noise -= noise.mean(axis=(0, 1))
        noise *= spread * np.array([1, 2])[:, None]
        draws = xr.Dataset(
            {
                metric: (
                    ("chain", "draw", "reliability", "scope", "system"),
                    table[:, None, :] + noise,
                    {"better": "higher"},
                )
            },
            coords={
                "chain": range(4),
                "draw": range(150),
                "reliability": trust,
                "scope": list(SCOPES),
                "system": list(means),
            },
        )
        point = table[-1] if naive is None else np.asarray(naive, dtype=float)
        naive = xr.DataArray(point, dims="system", coords={"system": list(means)})
        statistics = result["statistics"].to_dataset().drop_dims("system", errors="ignore")
        result["metrics"] = draws
        result["comparison"] = scoring.comparison(draws)
        result["diagnostics"] = scoring.diagnostics(draws)
        result["statistics"] = statistics.assign({f"naive_{metric}": naive})
        result["discrepancy"] = result["discrepancy"].to_dataset().drop_dims("system")
        return result

    return build


@pytest.fixture
def two(dictated):
    """Return a function that sets two evaluations of the same items beside each other."""

    def build(main, beside, **options):
        """``main``, ``beside``: as the means of `dictated`; the reference is reliability 1."""
        result, other = dictated(main, **options), dictated(beside, **options)
        groups = {
            name: other[name].to_dataset()
            for name in ("certainty", "metrics", "comparison", "diagnostics", "statistics")
        }
        posterior = other["posterior"].to_dataset()
        mean = (
            posterior["plausibility"].mean(("chain", "draw")).to_dataset(name="plausibility_mean")
        )
        groups["posterior"] = mean.assign_attrs(posterior.attrs)
        companion = xr.DataTree.from_dict(groups)
        companion.attrs.update(other.attrs, model="inverse_rank")
        result["companion"] = companion
        return result

    return build


@pytest.fixture
def three_are_enough(monkeypatch):
    """Take the three items of these evaluations for enough."""
    monkeypatch.setattr(checks, "FEW_UNITS", 3)
