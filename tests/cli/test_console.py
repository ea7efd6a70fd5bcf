"""Names from the data at a terminal: shown as text, whatever they would have it do."""

from __future__ import annotations

import csv
import io
import subprocess
import sys
import warnings

import pytest
from rich.table import Table
from typer.testing import CliRunner

import dissensus as dx
from dissensus.cli import app
from dissensus.cli.console import SafeConsole

pytestmark = pytest.mark.usefixtures("no_pictures")

# Colours, the window's title, the clipboard, the eight-bit introducer, a carriage return and a
# backspace that overwrite, an override of direction.
COMMANDS = ["\x1b[31m", "\x1b]0;title\x07", "\x1b]52;c;eA==\x07", "\x9b31m", "a\rb", "a\bb",
            "\u202eab", "\x1bc"]  # fmt: skip
NAMES = ["[red]x", "[/red]", "[bold]", "[link=http://x]", r"\[a", "[", *COMMANDS, "y" * 10_000]
BAD = set("\x1b\x07\x08\x9b\r\u202e")


@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.parametrize("terminal", [True, False])
def test_no_text_is_a_command(name, terminal):
    plain = SafeConsole(file=io.StringIO(), force_terminal=terminal, color_system=None, width=60)
    table = Table(title=name)
    table.add_column(name)
    table.add_row(name)
    for content in (table, name):
        plain.print(content, highlight=False)
    plain.out(name)
    assert not BAD & set(plain.file.getvalue())


def test_our_own_colours_stay():
    console = SafeConsole(file=io.StringIO(), force_terminal=True, color_system="standard")
    console.print("[red]ours[/red] \x1b[32m")
    assert "\x1b[31mours\x1b[0m" in console.file.getvalue()
    assert "\x1b[32m" not in console.file.getvalue()


def call(*arguments):
    return CliRunner().invoke(app.app, [str(argument) for argument in arguments])


@pytest.fixture
def file(tmp_path):
    """A file whose name, items, annotators and labels are such."""
    path = tmp_path / "[red]a[x].csv"
    with path.open("w", newline="", encoding="utf-8") as target:
        rows = csv.writer(target)
        rows.writerow(["item", "annotator", "label"])
        for place, item in enumerate(NAMES):
            for step, who in enumerate(NAMES[:3]):
                rows.writerow([item, who, NAMES[(place + step // 2) % len(NAMES)]])
    return path


def test_a_check_shows_names_as_they_are(file):
    done = call("check", file)
    assert done.exit_code == 0, done.output
    assert not BAD & set(done.output)
    assert "[link=http://x]" in done.output
    assert "[red]a[x].csv" in done.output.replace("\n", "")
    assert len(done.output) < 5000


def test_labels_nobody_used_are_shown_in_brief(file, tmp_path):
    (tmp_path / "labels").write_text("\n".join([*NAMES[:6], "z" * 10_000, "[/]"]))
    short = tmp_path / "a.csv"
    short.write_text("item,annotator,label\ni,a,[red]x\ni,b,[bold]\n")
    done = call("check", short, "--labels", tmp_path / "labels")
    assert done.exit_code == 0, done.output
    assert "[/]" in done.output or "z" * 30 in done.output
    assert len(done.output) < 3000


@pytest.mark.long
def test_an_evaluation_shows_names_as_they_are(file, tmp_path):
    pred = tmp_path / "p.csv"
    with pred.open("w", newline="", encoding="utf-8") as target:
        rows = csv.writer(target)
        rows.writerow(["item", "system", "label"])
        rows.writerows([item, who, NAMES[0]] for item in NAMES for who in NAMES)
    done = call("evaluate", file, "--predictions", pred, "--out", tmp_path / "[o]", "--draws", 20,
                "--seed", 1, "--no-progress", "--reliability", 1, "--truth-model", "none",
                "--components", "none")  # fmt: skip
    assert done.exit_code == 0, done.output
    assert not BAD & set(done.output)
    assert "[/red]" in done.output
    assert "y" * 100 not in done.output


@pytest.mark.long
def test_complaints_and_notes_command_nothing(tmp_path, capsys, monkeypatch):
    evil = str(tmp_path / "[red]\x1b[31mno.csv")
    done = subprocess.run([sys.executable, "-m", "dissensus", "check", evil], capture_output=True,
                          text=True, check=False)  # fmt: skip
    assert done.returncode == 2
    assert "no.csv" in done.stderr.replace("\n", "")
    assert "Traceback" not in done.stderr
    assert not BAD & set(done.stderr)
    monkeypatch.setattr(warnings, "showwarning", app._note)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        app._note("an item named \x1b[31m[/red]", dx.errors.DissensusWarning, "", 0)
    text = capsys.readouterr().err
    assert "[/red]" in text
    assert not BAD & set(text)


def test_a_picture_of_a_plan_is_not_overwritten(tmp_path):
    picture = tmp_path / "plan.svg"
    given = ("plan", "--annotators", "3", "--items", "20", "--studies", 2, "--seed", 1, "--kappa",
             0.5, "--label-count", 3, "--no-progress", "--plot", picture)  # fmt: skip
    picture.write_text("of an earlier plan")
    done = call(*given)
    assert isinstance(done.exception, dx.ArgumentError)
    assert "--force" in str(done.exception)
    assert picture.read_text() == "of an earlier plan"
    assert call(*given, "--force").exit_code == 0
    assert picture.read_text(encoding="utf-8").startswith("<?xml")
    assert list(tmp_path.iterdir()) == [picture]


def test_results_go_to_no_place_they_cannot_stay(file, tmp_path):
    loop, nowhere = tmp_path / "loop", tmp_path / "nowhere"
    loop.symlink_to(loop)
    nowhere.symlink_to(tmp_path / "gone")
    for out in (loop, nowhere, nowhere / "below"):
        done = call("evaluate", file, "--out", out, "--force")
        assert isinstance(done.exception, dx.ArgumentError), done.output
        assert "--out: expected a folder; found a link that leads to no folder" in str(
            done.exception
        )


def test_a_folder_named_like_a_result_is_not_replaced(file, tmp_path):
    out = tmp_path / "out"
    (out / "summary.csv" / "precious").mkdir(parents=True)
    for force in ((), ("--force",)):
        done = call("evaluate", file, "--out", out, *force)
        assert isinstance(done.exception, dx.ArgumentError)
        assert "summary.csv" in str(done.exception)
    assert (out / "summary.csv" / "precious").is_dir()


def test_results_that_are_links_to_nowhere_are_there(file, tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    (out / "report.html").symlink_to(tmp_path / "elsewhere")
    done = call("evaluate", file, "--out", out)
    assert "a folder without earlier results" in str(done.exception)
    assert not (tmp_path / "elsewhere").exists()


@pytest.mark.parametrize("command", ["evaluate", "plan"])
def test_a_folder_that_takes_no_files_is_named_first(file, tmp_path, monkeypatch, command):
    import tempfile

    def refuse(*_, **__):
        raise PermissionError(13, "Permission denied")

    options = {"evaluate": ("--out", tmp_path / "new"), "plan": ("--plot", tmp_path / "p.png")}
    monkeypatch.setattr(tempfile, "mkdtemp", refuse)
    done = call(command, file, *options[command])
    assert isinstance(done.exception, dx.ArgumentError), done.output
    assert "expected a folder that may be written to" in str(done.exception)
