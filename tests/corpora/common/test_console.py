"""Progress, tables, JSON and notes."""

import io
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import click
import pytest

from firth import cli
from firth.corpora.common import console
from tests.waiting import wait_for


@pytest.fixture(autouse=True)
def _no_progress():
    """Progress is shown here, in the place of the fixture of all tests."""


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0, "0"), (7, "7"), (999, "999"), (1000, "1k"), (1234, "1.23k"), (16_300_000, "16.3M"),
        (2.1e9, "2.1G"), (0.25, "0.25"), (123_456, "123k"), (999.9, "1k"),
        (999_999, "1M"), (999_999_999, "1G"),
    ],
)  # fmt: skip
def test_human_numbers_have_three_figures(number, text):
    assert console.human(number) == text


@pytest.mark.parametrize(
    ("number", "text"), [(0, "0 edges are"), (1, "1 edge is"), (1234, "1,234 edges are")]
)
def test_words_have_the_number_that_they_count(number, text):
    assert console.counted(number, "edge[|s] [is|are]") == text
    assert console.counted(number, "edge") == text.rpartition(" ")[0]


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.0123, "0.012 s"), (1, "1 s"), (59.4, "59 s"), (59.5, "1:00 min"), (65, "1:05 min"),
        (3599.4, "59:59 min"), (3599.6, "1:00:00 h"), (36_000, "10:00:00 h"),
    ],
)  # fmt: skip
def test_durations_have_a_unit(seconds, text):
    assert console.duration(seconds) == text


@pytest.mark.parametrize(
    ("done", "total", "rate", "line"),
    [
        (400, 1000, 100.0, "counting     40%  400 tokens  100/s  ETA 0:06"),
        (400, None, 100.0, "counting   400 tokens  100/s"),
        (0, 1000, 0.0, "counting      0%  0 tokens"),
        (1, 7201, 1.0, "counting      0%  1 tokens  1/s  ETA 2:00:00"),
        (5, 10, 0.0, "counting     50%  5 tokens"),
        (12, 10, 1.0, "counting    100%  12 tokens  1/s  ETA 0:00"),
    ],
)
def test_a_line_of_progress(done, total, rate, line):
    assert console.progress_line("counting", "tokens", done, total, rate) == line


@pytest.fixture
def clock(monkeypatch):
    """A clock that the test turns."""
    time = [100.0]
    monkeypatch.setattr(console.time, "monotonic", lambda: time[0])
    return time


def test_progress_is_silent_for_two_seconds_then_prints_a_line_every_ten(clock, capsys):
    with console.TerminalReporter().progress("counting", "tokens") as show:
        for second in range(31):
            clock[0] = 100.0 + second
            show(second, 100)

    err = capsys.readouterr().err.splitlines()
    assert [line.split()[2] for line in err] == ["10", "20", "30"]


def test_the_detail_is_shown_before_the_eta(clock, capsys):
    with console.TerminalReporter().progress("training", "tokens") as show:
        show(0, 1200)
        clock[0] += 10.0
        show(300, 1200, "loss 2.31")
    assert capsys.readouterr().err == ("training     25%  300 tokens  30/s  loss 2.31  ETA 0:30\n")


def test_the_rate_counts_from_the_first_unit(clock, capsys):
    with console.TerminalReporter().progress("reading", "bytes") as show:
        clock[0] += 20.0  # kernels compile
        show(10, 1000)
        clock[0] += 10.0
        show(110, 1000)
    first, later = capsys.readouterr().err.splitlines()
    assert first == "reading       1%  10 bytes"
    assert "  10/s  ETA 1:29" in later


@pytest.mark.slow
def test_a_long_silence_is_explained(monkeypatch):
    written = io.StringIO()
    monkeypatch.setattr(console.sys, "stderr", written)
    with console.TerminalReporter().progress("reading", "bytes"):
        wait_for(lambda: written.getvalue().endswith("\n"))
    assert (
        written.getvalue()
        == "reading    ... (the first run compiles kernels, which takes some seconds)\n"
    )


class Terminal(io.StringIO):
    """Standard error as a terminal."""

    def isatty(self):
        return True


def test_on_a_terminal_one_line_is_rewritten_and_cleared(clock, monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr(console.sys, "stderr", terminal)

    with console.TerminalReporter().progress("counting", "tokens") as show:
        clock[0] += 3.0
        show(3, 100)

    assert "\n" not in terminal.getvalue()
    assert "3 tokens" in terminal.getvalue()
    assert terminal.getvalue().endswith("\r\x1b[2K")


class Tty(io.BytesIO):
    """A terminal, as the operating system has it."""

    def isatty(self):
        return True


def test_a_terminal_obeys_no_control_sequence_of_a_text(monkeypatch):
    tty = Tty()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(tty, "latin-1"))
    cli._prepare_streams()
    print("queen\x1b]0;title\x07\x1b[31m\x9b2J\rking\u202eyawa\tça va")
    click.echo(f"the {click.style('king', bold=True)}")
    assert tty.getvalue().decode("utf-8") == (
        "queen\\x1b]0;title\\x07\\x1b[31m\\x9b2J\\rking\\u202eyawa\tça va\nthe \x1b[1mking\x1b[0m\n"
    )


def test_what_is_piped_stays_as_it_is(monkeypatch):
    pipe = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(pipe, "latin-1"))
    cli._prepare_streams()
    print("queen\x1b[31m", flush=True)
    assert pipe.getvalue() == b"queen\x1b[31m\n"


def test_progress_clears_its_line_on_a_terminal_that_escapes_texts(clock, monkeypatch):
    tty = Tty()
    monkeypatch.setattr(sys, "stderr", io.TextIOWrapper(tty, "utf-8"))
    cli._prepare_streams()
    with console.TerminalReporter().progress("a\x1bb", "tokens") as show:
        clock[0] += 3.0
        show(3, 100)
    assert tty.getvalue().startswith(b"\r\x1b[2Ka\\x1bb ")
    assert tty.getvalue().endswith(b"\r\x1b[2K")


def test_in_a_notebook_one_line_is_rewritten_and_cleared(clock, monkeypatch):
    class OutStream(io.StringIO):  # of ipykernel: no terminal
        __module__ = "ipykernel.iostream"

    cell = OutStream()
    monkeypatch.setattr(console.sys, "stderr", cell)

    with console.TerminalReporter().progress("counting", "tokens") as show:
        for done in (30, 60, 61):
            clock[0] += 3.0 if done < 61 else 0.5
            show(done, 100)

    erased, first, _, second, _, last = cell.getvalue().split("\r")[1:]
    assert (erased, last) == (" " * 100, "")
    assert (first.split()[2], second.split()[2]) == ("30", "60")
    assert "\n" not in cell.getvalue()


@pytest.fixture
def shown(clock, monkeypatch):
    """What a terminal without colors shows of a call that comes three seconds after another."""

    def show_on(columns, *call):
        terminal = Terminal()
        monkeypatch.setattr(console.sys, "stderr", terminal)
        monkeypatch.setenv("COLUMNS", str(columns))
        monkeypatch.setenv("LINES", "25")
        monkeypatch.setenv("NO_COLOR", "1")
        with console.TerminalReporter().progress("training", "tokens") as show:
            show(0)
            clock[0] += 3.0
            show(*call)
            return terminal.getvalue().rpartition("\r\x1b[2K")[2]

    return show_on


def test_a_terminal_shows_a_bar_with_the_detail_before_the_eta(shown):
    line = shown(100, 300, 1200, "loss 2.31  rate 0.0212")
    bar = "━" * 6 + " " * 18
    assert line == f"training     25%  {bar}  300 tokens  100/s  loss 2.31  rate 0.0212  ETA 0:09"


def test_without_a_total_no_bar_no_share_and_no_eta_are_shown(shown):
    assert shown(100, 300) == "training   300 tokens  100/s"


@pytest.mark.parametrize("columns", [20, 40, 60, 72])
def test_a_narrow_terminal_never_gets_a_line_that_wraps(shown, columns):
    line = shown(columns, 300, 1200, "loss 2.31  rate 0.0212")
    assert line.startswith("training     25%")
    assert "…" not in line
    assert len(line) <= columns


def test_json_is_unescaped_and_nan_is_refused(capsys):
    console.print_json({"hätte": ["が", 0.5]})
    out = capsys.readouterr().out
    assert "hätte" in out
    assert json.loads(out) == {"hätte": ["が", 0.5]}
    with pytest.raises(ValueError, match="not JSON compliant"):
        console.print_json(float("nan"))


def test_a_table_shows_words_literally_and_aligns_numbers_right(capsys):
    console.print_table(["word", "count"], [["[red]x[/red]", 5], ["b", 1234]], title="Words")

    lines = [line.rstrip() for line in capsys.readouterr().out.splitlines() if line.strip()]

    assert lines[0] == "Words"
    assert "[red]x[/red]" in lines[3]
    assert lines[3].endswith("    5")
    assert lines[4].endswith("1234")
    console.print_table(["word"], [])
    assert "word" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("number", "text"), [(0.5124, ".512"), (-0.08, "-.080"), (1.0, "1.000"), (10.05, "10.050")]
)
def test_scores_have_three_decimals_and_no_leading_zero(number, text):
    assert console.bare(number) == text


@pytest.mark.parametrize(
    ("terminal", "columns", "room"), [(True, 90, 16), (True, 140, 36), (False, 90, 10_000)]
)
def test_names_have_the_room_that_a_terminal_leaves(monkeypatch, terminal, columns, room):
    monkeypatch.setattr(sys.stdout, "isatty", lambda: terminal)
    monkeypatch.setenv("COLUMNS", str(columns))
    assert console.name_room(16) == room


def test_notes_go_to_standard_error(capsys):
    console.TerminalReporter().note("5 bytes were replaced")
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", "5 bytes were replaced\n")


@pytest.mark.process
@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("out/svd-seed1", "out/svd-seed1"),
        pytest.param(Path("-x"), "./-x", id="path"),
        ("-a b", "'./-a b'"),
        ("~", "'~'"),
        ("it's", "'it'\"'\"'s'"),
        ("Müller/語", "'Müller/語'"),
        ("caf\udce9 'a\\b'", "$'caf\\xe9 \\'a\\\\b\\''"),
        ("two\nlines", "$'two\\x0alines'"),
        ("-\u200b", "$'./-\\xe2\\x80\\x8b'"),
    ],
)
def test_a_path_is_quoted_for_the_shell(path, text):
    assert console.shell_quoted(path) == text
    if bash := shutil.which("bash"):
        command = b"printf %s " + text.encode()
        read = subprocess.run([bash, "-c", command], capture_output=True, check=True).stdout
        assert os.path.normpath(read) == os.fsencode(path)


@pytest.mark.parametrize(
    ("path", "text"),
    [("out\\svd", "out\\svd"), ("C:\\my texts", '"C:\\my texts"'), ("-x", "./-x")],
    ids=["plain", "space", "option"],
)
def test_a_path_is_quoted_for_the_shells_of_windows(monkeypatch, path, text):
    monkeypatch.setattr(console, "system", lambda: "win32")
    assert console.shell_quoted(path) == text
