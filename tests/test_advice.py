"""Advice in messages and examples: commands and options exist, and what can be run runs."""

import ast
import re
import shlex

import click
import pytest

from firth.cli import COMMANDS, load_command
from firth.corpora.common.options import as_command_line
from tests.calls import command, output
from tests.source import FILES, parsed

EXAMPLE = re.compile(r"^ +firth (.+)$", re.MULTILINE)
ADVICE = re.compile(r"firth ([a-z]+(?:-[a-z]+)*)((?: --[a-z-]+| \S*\{\}\S*| [A-Z]+)*)")
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z0-9-]*")
VALUE = re.compile(r"`([a-z][a-z0-9_]*)=([^`{}]+)`")
# of firth itself, of every command, and parameters of functions that no command has
OTHERS = {"--debug", "--help", "--help-all", "--text", "--read", "--order", "--pattern"}
TEXT = (
    "the king and the queen of france saw the sea at paris .\n"
    "a man and a woman of japan saw the ocean near tokyo .\n"
    "the ship on the sea and the ship on the ocean came to the bank .\n"
    "the cell of the king was near the bank of france in japan .\n"
    "france italy spain paris rome madrid are near the sea .\n"
)
# commands whose examples take seconds or minutes, or need other material
NOT_RUN = {
    "attend", "attention", "build-corpus", "caches", "change", "compare", "fill-mask", "generate",
    "learning-curve", "mcp", "pool", "recommend", "regress", "reorder", "score", "study",
    "transduce",
    *(name for name in COMMANDS if name.startswith("train-")),
}  # fmt: skip
FILES_READ = {
    "words.txt": "king\nsea\n",
    "pairs.txt": "king queen\nsea ocean\n",
    "sentences.txt": "the king saw the sea\na ship came\n",
    "synonyms.txt": "sea ocean\nking queen\n",
    "reviews.txt": "a dull film\na fine film\n",
    "ratings.tsv": "word\tvalence\n"
    + "".join(f"{word}\t{len(word)}\n" for word in dict.fromkeys(TEXT.split()) if word.isalpha()),
    "animals-and-verbs.tsv": "king\tpeople\nqueen\tpeople\nsea\tplaces\nocean\tplaces\n",
}


def strings(*, docstrings):
    """Every string of the product; what an f-string inserts is ``{}``."""
    for path in FILES:
        nodes = list(ast.walk(parsed(path)))
        skipped = {id(n.value) for n in nodes if isinstance(n, ast.Expr)}
        skipped |= {id(part) for n in nodes if isinstance(n, ast.JoinedStr) for part in n.values}
        for node in nodes:
            text = getattr(node, "value", None)
            if docstrings and isinstance(node, ast.Expr):
                text = getattr(text, "value", None)
            elif docstrings or id(node) in skipped:
                continue
            elif isinstance(node, ast.JoinedStr):
                parts = [v.value if isinstance(v, ast.Constant) else "{}" for v in node.values]
                text = "".join(map(str, parts))
            if isinstance(text, str):
                yield path.name, text


def examples():
    """The arguments of each example of the help, and the file that it reads as standard input."""
    for _, text in strings(docstrings=True):
        for line in EXAMPLE.findall(text.replace("\\\n", " ")):
            read = re.search(r" < (\S+)", line)
            yield shlex.split(re.split(r" [|<>] ", line)[0]), read[1] if read else None


def options(name):
    """The options of a command by their spelling."""
    return {o: p for p in load_command(name).params for o in (*p.opts, *p.secondary_opts)}


def problem(name, *args):
    """Why a command does not take the arguments; None if it does."""
    if name not in COMMANDS:
        return "no command"
    try:
        load_command(name).make_context(name, list(args))
    except click.exceptions.Exit:
        return None
    except click.UsageError as error:
        return error.format_message()


@pytest.mark.slow
def test_every_example_is_parsed():
    problems = [(*args, problem(*args)) for args, _ in examples()]
    assert [(*args, p) for *args, p in problems if p and "does not exist" not in p] == []


@pytest.mark.slow
def test_every_command_in_a_message_has_its_options():
    failures = []
    for path, text in strings(docstrings=False):
        for name, rest in ADVICE.findall(as_command_line(text)):
            if name in COMMANDS:
                lacking = {*OPTION.findall(rest)} - options(name).keys() - OTHERS
                failures += [(path, name, option) for option in lacking]
            elif name not in ("import", "train"):  # Python, and a name that is composed
                failures.append((path, name))
    assert failures == []


@pytest.mark.slow
def test_every_option_in_a_message_is_one_of_a_command_and_takes_the_value():
    every = [(o, p) for name in COMMANDS for o, p in options(name).items()]
    known = {option for option, _ in every} | OTHERS
    failures = []
    for path, text in strings(docstrings=False):
        if " " in text:
            failures += [(path, o) for o in OPTION.findall(as_command_line(text)) if o not in known]
        for name, value in VALUE.findall(text):
            kinds = [p.type for _, p in every if p.name == name]
            if value not in ("True", "False") and not any(_takes(kind, value) for kind in kinds):
                failures.append((path, name, value))
    assert failures == []


def _takes(kind, value):
    """Whether a value is one of the type of an option."""
    try:
        kind.convert(value, None, None)
    except click.BadParameter:
        return False
    return True


@pytest.mark.slow
def test_examples_of_small_things_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, text in FILES_READ.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "text.txt").write_text(TEXT * 20)
    output("build-corpus", "text.txt", "--documents", "line", "--out", "out/wiki")
    small = ("--dim", 4, "--min-count", 1, "--deterministic")
    for name in ("svd", "svd-1990", "svd-2020"):
        output("train-svd", "out/wiki", "--out", f"out/{name}", *small[:-1])
    output("train-skipgram", "out/wiki", "--out", "out/skipgram", *small, "--epochs", 1)
    done = {
        shlex.join(args): command(*args, input=FILES_READ.get(read))
        for args, read in examples()
        if args[0] not in NOT_RUN and args[:3] != ["explore", "out/svd", "out/skipgram"]  # serves
    }
    errors = {line: one.stderr for line, one in done.items() if one.exit_code}
    made_elsewhere = {
        line for line, error in errors.items() if re.search("no such|not a finished", error)
    }
    assert {line: errors[line] for line in errors.keys() - made_elsewhere} == {}
    assert len(done) - len(made_elsewhere) > 30
