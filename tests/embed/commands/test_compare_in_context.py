"""The compare command on a masked LM and static vectors: contextual sets and the report."""

import json
import shutil
from functools import partial
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from firth.corpora.artifacts.artifact import checksums, write_json
from firth.corpora.tokenizer.json_format import open_pieces
from firth.embed.compare.inputs.baselines import random_vectors
from firth.embed.compare.inputs.encoder_access import WithEncoder, encoder_of, scorer_of
from firth.embed.compare.scoring.open_runs import distinct_runs, open_runs
from firth.embed.vectors.word_vectors import WordVectors
from tests.calls import command, output
from tests.pretrain.small_run import small_run

pytestmark = pytest.mark.usefixtures("brief_probes")


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run of train-mlm."""
    return str(small_run(tmp_path_factory.mktemp("compare")))


@pytest.fixture(scope="module")
def words(run):
    """The words of the run."""
    return list(WordVectors.open(run).vocabulary)


@pytest.fixture(scope="module")
def static(tmp_path_factory, words):
    """A vectors file with the same words."""
    made = random_vectors(words, 5, 1).matrix
    lines = (
        f"{word} {' '.join(f'{x:.4f}' for x in row)}\n"
        for word, row in zip(words, made, strict=True)
    )
    path = tmp_path_factory.mktemp("static") / "static.txt"
    path.write_text("".join(lines), encoding="utf-8")
    return str(path)


@pytest.fixture(scope="module")
def sets(tmp_path_factory, words):
    """A small set of each contextual kind."""
    folder = tmp_path_factory.mktemp("sets")
    few = words[:8]
    contexts = [
        f"{n}\t{a}\tn\t{b}\tn\t{few[0]} <b> {a} </b> {few[1]}\t{few[2]} <b> {b} </b>\t{n * 3 % 7}"
        + "\t1" * 10
        for n, (a, b) in enumerate((a, b) for a in few[:4] for b in few[4:])
    ]
    (folder / "scws.txt").write_text("\n".join(contexts) + "\n")
    pairs = [
        {"sentence_good": f"{a} {b} {few[0]}", "sentence_bad": f"{b} {a} {few[0]}", "UID": uid}
        for uid in ("first", "second")
        for a, b in zip(few[:4], few[4:], strict=True)
    ]
    (folder / "pairs.jsonl").write_text("".join(json.dumps(pair) + "\n" for pair in pairs))
    # every word once, so that training does not help on the development part: probes end soon
    for part, chosen in (("train", words[:32]), ("test", words[:8])):
        sentences = (
            "".join(
                f"{k}\t{word}\t_\t{('NOUN', 'VERB')[words.index(word) % 2]}\t_\t_\t0\t_\t_\t_\n"
                for k, word in enumerate(chosen[first : first + 4], 1)
            )
            for first in range(0, len(chosen), 4)
        )
        (folder / f"{part}.conllu").write_text("\n".join(sentences) + "\n")
    return [
        f"{folder / 'scws.txt'}",
        f"{folder / 'pairs.jsonl'}",
        f"{folder / 'train.conllu'},{folder / 'test.conllu'}",
    ]


ask = partial(command, "compare")


def test_a_run_of_a_masked_lm_is_opened_with_its_encoder(run, static):
    opened = open_runs([run, static])

    contextual, plain = opened.vectors.values()
    assert isinstance(contextual, WithEncoder)
    assert contextual.layers is None  # the vectors are joined, so words in context have their own
    assert encoder_of(contextual) is encoder_of(contextual)  # opened once
    assert scorer_of(contextual) is encoder_of(contextual)
    assert encoder_of(plain) is scorer_of(plain) is None
    [a, b] = contextual.vocabulary[:2]
    np.testing.assert_array_equal(contextual.vector(a), contextual.matrix[contextual.row(a)])
    assert contextual.words(f"{a} {b}") == [a, b]


def test_the_start_of_a_masked_lm_is_compared_beside_it(run, words, sets, tmp_path):
    trained, pieces = tmp_path / "mlm", open_pieces(Path(run) / "tokenizer.json")
    shutil.copytree(run, trained)
    first = random_vectors(pieces.names, 16, 2).matrix
    np.save(trained / "first_vectors.npy", first)
    write_json(trained / "checksums.json", checksums(trained))
    assert list(open_runs([trained]).vectors) == [str(trained)]  # unless they are asked for
    opened = open_runs([trained, run], starts=True)
    assert list(opened.vectors) == [str(trained), run, f"{trained} start"]  # random ones have none
    named = {"mlm": trained, "mlm start": run}  # a name that is taken stays its run's
    assert list(open_runs(named, starts=True).vectors) == list(named)
    begun = opened.vectors[f"{trained} start"]
    assert isinstance(begun, WordVectors)
    ids, bounds = pieces.split(list(begun.vocabulary))
    means = [first[ids[a:b]].mean(axis=0) for a, b in pairwise(bounds)]
    np.testing.assert_allclose(begun.matrix, means, atol=1e-6)

    page = tmp_path / "page.html"
    done = output("compare", trained, sets[0], "--report", page, "--json")
    scores = {each["run"]: each["score"] for each in json.loads(done)["results"]}
    assert scores[f"{trained} start"] != scores[str(trained)]
    assert "words of a masked LM without context" in page.read_text(encoding="utf-8")


def test_joined_vectors_and_those_before_training_are_called_so(run, words, sets, tmp_path):
    trained, pooled = tmp_path / "mlm", tmp_path / "pooled"
    shutil.copytree(run, trained)
    (trained / "start").mkdir()
    counted = random_vectors(words, 4, 5)
    counted.write(trained / "start")
    write_json(trained / "start" / "config.json", {"format": 1, "method": "svd"})
    states = random_vectors(words, 16, 6).matrix
    np.save(trained / "untrained.npy", states)
    write_json(trained / "checksums.json", checksums(trained))
    command("pool", trained, "--out", pooled, "--min-count", 1)
    opened = open_runs([trained, pooled, run], starts=True)
    assert {Path(name).name: about["method"] for name, about in opened.about.items()} == {
        "mlm": "svd + mlm", "pooled": "svd + pool", Path(run).name: "mlm",
        "mlm start": "words of a masked LM without context",
        "mlm untrained": "words of a masked LM before its training",
    }  # fmt: skip
    untrained = opened.vectors[f"{trained} untrained"]
    np.testing.assert_array_equal(untrained.matrix[:, -16:], states)
    assert opened.starts == {f"{trained} start", f"{trained} untrained"}

    page = tmp_path / "page.html"
    done = output("compare", trained, sets[0], "--report", page, "--json")
    families = {(pair["a"], pair["b"]): pair["family"] for pair in json.loads(done)["pairs"]}
    assert families[str(trained), f"{trained} untrained"] == "controls"
    assert "SVD of co-occurrence counts + masked language model" in page.read_text(encoding="utf-8")


def test_runs_with_the_same_vectors_are_compared_once(run, words, sets, tmp_path, capsys):
    trained = tmp_path / "mlm"
    shutil.copytree(run, trained)
    np.save(trained / "first_vectors.npy", random_vectors(
        open_pieces(trained / "tokenizer.json").names, 16, 2).matrix)  # fmt: skip
    write_json(trained / "checksums.json", checksums(trained))
    start = open_runs([trained], starts=True).vectors[f"{trained} start"]
    same = WordVectors(list(start.vocabulary), start.matrix.copy(), text=start.text)
    other = WordVectors(list(start.vocabulary), start.matrix * 2, text=start.text)
    shutil.copytree(trained, tmp_path / "copy")

    runs = {"mlm": trained, "svd": same, "twice": other, "again": same, "copy": tmp_path / "copy"}
    found = distinct_runs(open_runs(runs, starts=True))

    assert list(found.vectors) == ["mlm", "svd", "twice"]
    assert (list(found.about), list(found.paths)) == (["mlm", "svd", "twice"], ["mlm"])
    shown = capsys.readouterr().err
    assert "mlm start: has the same vectors as svd, compared once" in shown
    assert "copy: has the same vectors as mlm, compared once" in shown


@pytest.mark.slow
def test_every_contextual_set_also_scores_static_vectors(run, static, sets):
    done = output("compare", run, static, *sets, "--json")

    results = {
        (each["run"], each["task"], each["metric"]): each
        for each in json.loads(done)["results"]
        if each["shared_items"]
    }
    for name in (run, static):
        assert results[name, "contexts", "spearman"]["items_used"] == 16
        assert results[name, "tagging", "accuracy"]["score"] is not None
    few = "fewer than 30 items, so intervals and tests are rough"
    assert results[run, "contexts", "spearman"]["remark"] == few
    expected = f"scored with static vectors, which ignore the context; {few}"
    assert results[static, "contexts", "spearman"]["remark"] == expected
    assert 0 <= results[run, "minimal-pairs", "accuracy"]["score"] <= 1
    assert results[static, "minimal-pairs", "accuracy"]["reason"] == "has no sentence scores"
    assert results["random", "minimal-pairs", "accuracy"]["score"] == 0.5


def test_the_table_marks_runs_scored_without_context(run, static, sets):
    done = ask(run, static, sets[0])

    expected = (
        "static.txt, one-hot, random on scws: scored with static vectors, which ignore the context"
    )
    assert expected in done.stdout


def test_a_report_is_replaced_only_with_force(static, sets, tmp_path):
    page = tmp_path / "report.html"
    page.write_text("mine")

    refused = ask(static, sets[0], "--report", page)

    assert (refused.exit_code, refused.stderr.count("\n"), page.read_text()) == (1, 1, "mine")
    output("compare", static, sets[0], "--report", page, "--force")
    assert "scws" in page.read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_report_shows_attention_and_words_in_context_of_encoders(
    run, static, sets, words, tmp_path
):
    pages = [tmp_path / f"{number}.html" for number in range(3)]
    chosen = ["--example", f"{words[0]} [{words[1]}]", "--example", words[2]]

    for page, runs, examples in (
        (pages[0], (run, static), ()),
        (pages[1], (run, static), chosen),
        (pages[2], (static,), chosen),
    ):
        done = ask(*runs, sets[0], "--report", page, *examples)
        assert done.exit_code == 0, done.output

    usual, own, none = (page.read_text(encoding="utf-8") for page in pages)
    assert '<q dir="auto">I saw a man with a saw</q>' in usual
    assert "I <mark>saw</mark> a man with a saw" in usual
    assert "I saw a man with a <mark>saw</mark>" in usual
    assert f'<q dir="auto">{words[0]} {words[1]}</q>' in own
    assert f'<q dir="auto">{words[2]}</q>' in own
    assert f"<bdi>{words[0]} <mark>{words[1]}</mark></bdi>" in own
    assert own.count("in any sentence") == 2  # both runs have the word
    assert 'id="attention"' not in none
    assert 'id="contexts"' not in none
    assert "--example: no run has an encoder to read it" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--example", "a [b]"], "--example requires --report"),
        (["--example", "a [b", "--report", "r.html"], "--example 'a [b': brackets go around words"),
    ],
)
def test_what_only_a_report_shows_is_refused_before_any_work(run, sets, arguments, message):
    done = ask(run, sets[0], *arguments)
    assert (done.exit_code, done.stdout) == (1 if "--report" in arguments else 2, "")
    assert done.stderr.splitlines()[-1].startswith(f"Error: {message}")


@pytest.mark.parametrize("option", ["--report", "--plot"])
def test_no_input_is_overwritten(run, tmp_path, words, option):
    if option == "--plot":
        pytest.importorskip("matplotlib")
    pairs = tmp_path / "pairs.svg"
    pairs.write_text(f"{words[0]}\t{words[1]}\t3\n{words[2]}\t{words[3]}\t1\n")
    before = pairs.read_bytes()

    done = ask(run, pairs, option, pairs, "--force")

    assert done.exit_code == 1
    assert done.stderr == f"Error: {pairs}: also an input or another output; choose another file\n"
    assert pairs.read_bytes() == before


@pytest.mark.parametrize(
    ("kind", "named", "read"),
    [
        ("contexts", "dev.data.svg, test.data.svg", "test.data.svg"),
        ("contexts", "dev.data.svg, test.data.svg", "test.gold.svg"),
        ("contexts", "dev.data.svg, test.data.svg", "dev.gold.svg"),
        ("contexts", "a, b.svg", "a, b.svg"),
        ("contexts", "data.svg", "gold.svg"),
        ("contexts", "sub/data.svg", "gold/gold.svg"),
        ("tagging", "train, test.svg", "test.svg"),
        ("sentences", "train.svg , test", "train.svg"),
        ("analogy", "bats", "bats/1/a.txt"),
        ("odd-one-out", "topics", "topics/a.txt"),
        ("minimal-pairs", "blimp", "blimp/a.jsonl"),
    ],
)
def test_no_part_of_a_set_is_overwritten(run, tmp_path, monkeypatch, kind, named, read):
    names = ["a, b.svg", "gold/gold.svg", "bats/1/a.txt", "topics/a.txt", "blimp/a.jsonl"]
    names += [f"{name}.svg" for name in ("dev.data", "dev.gold", "test.data", "test.gold")]
    names += ["data.svg", "gold.svg", "sub/data.svg", "train.svg", "test.svg"]
    for name in names:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    monkeypatch.chdir(tmp_path)

    done = ask(run, f"--{kind}", named, "--report", read, "--force")

    assert done.exit_code == 1
    assert done.stderr == f"Error: {read}: also an input or another output; choose another file\n"
    assert [(tmp_path / name).read_text() for name in names] == names


def test_a_comparison_that_contains_labels_is_not_overwritten(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("gold", "data"):
        (tmp_path / name).mkdir()
        (tmp_path / name / f"{name}.tsv").write_text(name)
    (tmp_path / "gold" / "checksums.json").write_text("{}")
    (tmp_path / "gold" / "config.json").write_text('{"method": "compare"}')

    done = ask(run, "--contexts", "x, data/data.tsv", "--out", "gold", "--force")

    place = tmp_path / "gold" / "gold.tsv"
    expected = f"Error: --out gold: overlaps {place}, which is read; choose another\n"
    assert (done.exit_code, done.stderr) == (1, expected)
    assert place.read_text() == "gold"


@pytest.mark.slow
def test_the_cache_separates_encoders_from_static_vectors(run, sets, fresh_cache):
    opened = open_runs([run])

    assert "in context by layers" in opened.fingerprints[run]
    first = ask(run, *sets[:2], "--json").stdout
    assert ask(run, *sets[:2], "--json").stdout == first
