"""Change by an encoder's states: distances by their definitions, sampling, intervals."""

import dataclasses
import itertools
import json

import numpy as np
import pytest

from firth import ReadOptions, build_corpus
from firth.corpora.common.errors import SettingError, UnknownWordError
from firth.corpora.store.corpus import Corpus
from firth.embed.change.config import ChangeConfig
from firth.embed.change.contextual import (
    pair_distances,
    prototypes,
    read_occurrences,
    resampled_errors,
)
from firth.embed.change.periods import read_periods, two_corpora
from firth.embed.change.permutation import cosine_distances
from firth.embed.change.words import word_changes
from firth.embed.vectors.word_vectors import WordVectors
from firth.pretrain.inference.mlm_encoder import MlmEncoder
from tests.calls import command, output
from tests.pretrain.small_run import small_encoder, small_run

WORDS = ["saw", "river", "king"]
LAYERS = (1, 2)
SENTENCES = [
    "he saw the king .", "the old saw cut the wood .", "the river saw the king saw .",
    "a king and a river .", "the saw is old . the river is older .", "nobody saw the saw .",
]  # fmt: skip


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    """Return 24 documents of two years, some of two sentences."""
    folder = tmp_path_factory.mktemp("years")
    lines = [
        {"text": f"{SENTENCES[n % 6]} {SENTENCES[(n * 5 + 1) % 6]}", "year": str(1900 + n // 12)}
        for n in range(24)
    ]
    (folder / "in.jsonl").write_text("\n".join(map(json.dumps, lines)))
    read = ReadOptions(keep=("year",))
    return build_corpus(folder / "in.jsonl", folder / "corpus", read=read)


@pytest.fixture(scope="module")
def periods(corpus):
    return read_periods(corpus, "year", ["1900", "1901"])


@pytest.fixture(scope="module")
def encoder():
    return small_encoder()


def naive_states(corpus: Corpus, encoder, word, documents):
    """Return the unit state of every occurrence of a word, one sentence at a time."""
    [shard] = corpus.shards
    words = [corpus.vocabulary[each] for each in shard.ids.tolist()]
    bounds = shard.offsets("sentence").tolist()
    found, owners = [], []
    for first, last in itertools.pairwise(bounds):
        document = int(np.searchsorted(shard.documents, first, "right")) - 1
        if document not in documents:
            continue
        [states] = encoder.encode([words[first:last]], LAYERS)
        for place in range(first, last):
            if words[place] == word:
                state = states[place - first]
                found.append(state / np.linalg.norm(state))
                owners.append(document)
    return np.array(found), owners


def test_every_occurrence_is_read_in_its_sentence(corpus, periods, encoder):
    found = read_occurrences(periods, WORDS, encoder, LAYERS, 1000, 1)
    for number, word in enumerate(WORDS):
        for period in range(2):
            documents = range(12 * period, 12 * period + 12)
            states, owners = naive_states(corpus, encoder, word, documents)
            place = found.of(number, period)
            np.testing.assert_allclose(found.states[place], states, atol=2e-5)
            assert found.documents[place].tolist() == owners


def test_distances_are_those_of_all_pairs_and_of_means(periods, encoder):
    found = read_occurrences(periods, WORDS, encoder, LAYERS, 1000, 1)
    means = prototypes(found, len(WORDS), 2)
    distances = pair_distances(*means)
    for number in range(len(WORDS)):
        a, b = (found.states[found.of(number, period)] for period in range(2))
        pairs = [1 - x @ y for x in a for y in b]
        assert distances[number] == pytest.approx(np.mean(pairs), abs=1e-6)
        np.testing.assert_allclose(means[:, number], [a.mean(0), b.mean(0)], atol=1e-6)


def test_a_sample_is_some_of_the_occurrences_and_depends_on_the_seed(periods, encoder):
    every = read_occurrences(periods, WORDS, encoder, LAYERS, 1000, 1)
    some, again, other = (
        read_occurrences(periods, WORDS, encoder, LAYERS, 4, seed) for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(some.states, again.states)
    assert some.documents.tolist() != other.documents.tolist()
    assert len(some.states) == 4 * len(WORDS) * 2
    for number in range(len(WORDS)):
        for period in range(2):
            whole, part = (each.states[each.of(number, period)] for each in (every, some))
            nearest = (part @ whole.T).max(axis=1)
            np.testing.assert_allclose(nearest, 1, atol=1e-5)


def test_errors_are_those_of_documents_drawn_with_replacement(periods, encoder):
    found = read_occurrences(periods, WORDS, encoder, LAYERS, 1000, 1)
    errors = resampled_errors(found, periods, len(WORDS), 400, 1)
    rng = np.random.default_rng(5)
    for number in range(len(WORDS)):
        drawn = []
        for _ in range(400):
            means = []
            for period in range(2):
                documents = np.flatnonzero(periods.period_of == period)
                place = found.of(number, period)
                states = [
                    found.states[place][found.documents[place] == each]
                    for each in rng.choice(documents, len(documents))
                ]
                means.append(np.concatenate(states).mean(axis=0))
            drawn.append(float(cosine_distances(*(each[None] for each in means))[0]))
        # 400 draws: 3.5 % standard error of a standard deviation, twice
        assert errors[number] == pytest.approx(np.std(drawn, ddof=1), rel=0.2)


def test_a_word_of_one_document_has_no_error_and_two_corpora_are_read(corpus, encoder, tmp_path):
    (tmp_path / "b.txt").write_text("the king saw a river .\nthe king is old .\n")
    other = build_corpus(tmp_path / "b.txt", tmp_path / "b", read=ReadOptions(documents="line"))
    periods = two_corpora(corpus, other)
    found = read_occurrences(periods, ["king", "river"], encoder, LAYERS, 1000, 1)
    states, owners = naive_states(other, encoder, "king", range(2))
    place = found.of(0, 1)
    np.testing.assert_allclose(found.states[place], states, atol=2e-5)
    assert found.documents[place].tolist() == [24 + each for each in owners]
    errors = resampled_errors(found, periods, 2, 50, 1)
    assert np.isfinite(errors[0])
    assert np.isnan(errors[1])


def test_two_draws_without_a_word_have_no_error(corpus, periods, encoder):
    found = read_occurrences(periods, ["nobody"], encoder, LAYERS, 1000, 1)
    two = [found.of(0, period).start for period in (0, 1)]  # of two documents in each period
    some = sorted({*two, *(found.of(0, period).stop - 1 for period in (0, 1))})
    rare = dataclasses.replace(
        found, **{f.name: getattr(found, f.name)[some] for f in dataclasses.fields(found)}
    )
    errors = [resampled_errors(rare, periods, 1, 2, seed)[0] for seed in range(10)]
    # both documents are missing in a draw of 12 with probability .11, in either period
    assert 0 < np.isnan(errors).sum() < 10


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return small_run(tmp_path_factory.mktemp("run"), name="mlm")


def test_the_command_shows_and_stores_what_the_states_say(corpus, run, tmp_path):
    line = f"change {corpus.path} --by year --periods 1900,1901 --min-count 2 --route contextual"
    out = tmp_path / "out"
    words = ("--encoder", run, "--words", "saw,river", "--out", out)
    shown = output(*line.split(), *words)
    assert "pairs" in shown
    assert "no p: only --route svd-joint has it" in shown
    config = ChangeConfig(route="contextual", encoder=str(run), min_count=2)
    found = word_changes(corpus, config=config, by="year", periods=["1900", "1901"])
    table = found.table
    assert {"saw", "river", "king", "the", "nobody"} <= set(table.words)
    assert (table.low <= table.distances).all()
    assert (table.distances <= table.high).all()
    assert (table.distances <= table.pairs + 1e-6).all()  # means are shorter than 1
    rows = (out / "change.tsv").read_text().splitlines()
    assert rows[0].split("\t")[:2] == ["word", "distance"]
    stored = {row.split("\t")[0]: float(row.split("\t")[1]) for row in rows[1:]}
    assert set(stored) == {"saw", "river"}
    for word, distance in stored.items():
        assert distance == pytest.approx(table.distances[found.row(word)], abs=1e-5)
    vectors = WordVectors.open(out)
    own = 1 - vectors.similarity("saw@1900", "saw@1901")
    assert own == pytest.approx(stored["saw"], abs=1e-5)
    assert list(table.distances) == sorted(table.distances, reverse=True)
    pairs = {
        row.split("\t")[0]: float(row.split("\t")[rows[0].split("\t").index("pairs")])
        for row in rows[1:]
    }
    assert pairs["saw"] == pytest.approx(table.pairs[found.row("saw")], abs=1e-5)


def test_an_encoder_is_needed_and_words_that_it_knows(corpus, run):
    with pytest.raises(SettingError, match="`route=contextual` needs an `encoder`"):
        ChangeConfig(route="contextual")
    with pytest.raises(SettingError, match="and no other route does"):
        ChangeConfig(encoder="out/mlm")
    config = ChangeConfig(route="contextual", encoder=str(run))
    years = {"by": "year", "periods": ["1900", "1901"]}
    with pytest.raises(UnknownWordError, match="'xyz' is not one of the"):
        word_changes(corpus, config=config, **years, words=["xyz"])


def test_words_are_checked_before_anything_is_encoded(corpus, run, tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    monkeypatch.setattr("firth.embed.change.routes.read_occurrences", None)
    line = f"change {corpus.path} --by year --periods 1900,1901 --min-count 2 --route contextual"
    line += f" --encoder {run} --plot {tmp_path / 'path.svg'} xyz"
    for more in ("", " --words saw"):
        done = command(*(line + more).split())
        assert done.stderr.startswith("Error: 'xyz' is not one of the ")
    done = command(*(line[:-3] + "saw --words saw").split())
    assert "--plot needs neighbors, which --route contextual finds among --words" in done.stderr
    monkeypatch.setattr(MlmEncoder, "covers", lambda self, words: np.zeros(len(words), bool))
    config = ChangeConfig(route="contextual", encoder=str(run), min_count=2)
    with pytest.raises(UnknownWordError, match=r"^the encoder has no pieces for 'saw'$"):
        word_changes(corpus, config=config, by="year", periods=["1900", "1901"], words=["saw"])
