"""The commands in docs/course.md and docs/tutorial.md are valid and print what is shown."""

import importlib.util
import re
import shlex
import shutil
import sys
from pathlib import Path

import click
import pytest

from firth import cli
from tests.calls import output

ROOT = Path(__file__).resolve().parents[1]
COURSE, TUTORIAL = ROOT / "docs" / "course.md", ROOT / "docs" / "tutorial.md"


def load_script():
    """Import docs/run_examples.py, which is not in a package."""
    spec = importlib.util.spec_from_file_location("run_examples", ROOT / "docs/run_examples.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["run_examples"] = module
    spec.loader.exec_module(module)
    return module


script = load_script()


def examples_of(page):
    """Return the commands of a page with their outputs."""
    return script.examples_in(page.read_text(encoding="utf-8"))


def calls(command):
    """Return the arguments of each call of firth in a line of bash."""
    lexer = shlex.shlex(
        command.replace("\\\n", " ").replace(" 2>&1", ""), posix=True, punctuation_chars=True
    )
    lexer.whitespace_split = True
    found, words = [], []
    for word in [*lexer, "|"]:
        if word not in {"|", ">", "<", "&&", ";"}:
            words.append(word)
            continue
        if words[:1] == ["firth"]:
            found.append(words[1:])
        words = []
    return found


ALL = [example for page in (COURSE, TUTORIAL) for example in examples_of(page)]
CALLS = [call for example in ALL if "firth" in example.command for call in calls(example.command)]


def test_every_call_has_valid_options():
    assert len(CALLS) > 40
    for name, *words in CALLS:
        command = cli.load_command(name)
        context = click.Context(command, info_name=name)
        values, left, _ = command.make_parser(context).parse_args(words)
        assert left == [], (name, words)
        for param in command.params:
            if isinstance(param.type, click.Choice | click.IntRange) and param.name in values:
                param.type_cast_value(context, values[param.name])


@pytest.mark.parametrize("page", [COURSE, TUTORIAL], ids=lambda page: page.name)
def test_commands_read_only_what_exists_by_then(page):
    demo = {"demo/corpus", "demo/svd", "demo/cbow", "demo/skipgram", "demo/mlm"}
    made = set()
    for example in examples_of(page):
        named = set(re.findall(r"\b(?:out|demo)/[\w-]+", example.command))
        made |= set(re.findall(r"(?:--out|>) (out/[\w-]+)", example.command))
        runs = {re.sub(r"-seed\d*$", "", name) for name in named}
        assert runs <= made | demo, example.command


# ---- running the course


def is_run(example):
    """Return whether a command of the course is quick and needs only the demo."""
    quick = re.match(
        r"firth (neighbors|similarity|analogy|map|attention|fill-mask) ", example.command
    )
    return quick and "|" not in example.command and "out/" not in example.command


QUERIES = [example for example in examples_of(COURSE) if is_run(example)]


def answer(example):
    """Return the output of a command, as pages show it."""
    (call,) = calls(example.command)
    return [line.rstrip() for line in output(*call).splitlines() if line.strip()]


def test_the_course_shows_the_output_of_the_demo(monkeypatch):
    if not (script.DEMO / "mlm" / "model.safetensors").exists():
        pytest.skip("no demo/: run make demo")
    if script.stamp() not in COURSE.read_text(encoding="utf-8"):
        pytest.skip(
            "demo/ has other runs than the page shows (another processor or version); "
            "python docs/run_examples.py docs/course.md updates the page"
        )
    monkeypatch.chdir(ROOT)
    for example in QUERIES:
        assert answer(example) == example.output.splitlines(), example.command


@pytest.mark.process
def test_output_of_static_vectors_has_the_form_shown_in_the_course(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    output("build-corpus", "wiki-sample", "--out", "demo/corpus")
    few = ("--dim", 10, "--epochs", 1)
    output("train-skipgram", "demo/corpus", "--out", "demo/skipgram", *few)  # hardly any training
    for other in ("svd", "cbow"):
        shutil.copytree("demo/skipgram", f"demo/{other}")
    for example in QUERIES:
        if "demo/mlm" not in example.command:
            shown = [len(line.split()) for line in example.output.splitlines()]
            assert [len(line.split()) for line in answer(example)] == shown, example.command


# ---- the script that records the outputs


@pytest.mark.process
def test_outputs_replace_the_old_ones(tmp_path):
    before = "No $ echo\n```console\n$ echo one\nstale\nstale\n$ printf 'two \\n\\nthree'\n"
    after = "No $ echo\n```console\n$ echo one\none\n$ printf 'two \\n\\nthree'\ntwo\nthree\n"
    rest = "```\n\n```sh\n$ echo never\n```\n"
    assert script.refresh(before + rest, tmp_path) == after + rest
    page = "```console\n$ cat <<'END' \\\n>     | tr a b\n> aa\n> END\nold\n```\n"
    new = script.refresh(page, tmp_path)  # a command of several lines
    assert new == page.replace("old", "bb")
    assert script.examples_in(new) == [
        script.Example("cat <<'END' \\\n    | tr a b\naa\nEND", "bb\n")
    ]
    page = "```console\n$ echo kept > file\n```\n\n```console\n$ cat file\n```\n"
    assert script.refresh(page, tmp_path).endswith("$ cat file\nkept\n```\n")
    assert script.run("echo told >&2; echo shown", tmp_path) == "shown\n"
    with pytest.raises(SystemExit) as caught:
        script.run("echo lost >&2; false | cat", tmp_path)
    assert caught.value.code == "$ echo lost >&2; false | cat\nlost\n"


@pytest.mark.process
def test_pages_are_rewritten_in_place_with_access_to_the_demo(tmp_path, monkeypatch):
    monkeypatch.setattr(script, "DEMO", tmp_path / "runs")
    (tmp_path / "runs" / "svd").mkdir(parents=True)
    page, broken = tmp_path / "page.md", tmp_path / "broken.md"
    page.write_text("```console\n$ ls demo > out; cat out\n```\n")
    broken.write_text("```console\n$ cat out\n```\n")

    with pytest.raises(SystemExit):  # each page starts in an empty folder
        script.main([str(page), str(broken)])

    assert page.read_text() == "```console\n$ ls demo > out; cat out\nsvd\n```\n"
    assert broken.read_text() == "```console\n$ cat out\n```\n"


def test_a_page_records_which_runs_it_shows(tmp_path, monkeypatch):
    monkeypatch.setattr(script, "DEMO", tmp_path)
    (tmp_path / "svd").mkdir()
    (tmp_path / "svd" / "vectors.npy").write_bytes(b"one")
    first = script.refresh("<!-- demo:  -->\n", tmp_path)
    (tmp_path / "svd" / "vectors.npy").write_bytes(b"two")
    second = script.refresh(first, tmp_path)
    assert all(re.fullmatch(r"<!-- demo: [0-9a-f]{16} -->\n", page) for page in (first, second))
    assert first != second
