"""The index of occurrences, queries, and lines of text around what they find."""

import csv
import fnmatch
import io
import json
import os
import pickle
import unicodedata

import numpy as np
import pytest
from click.testing import CliRunner

from firth import cli
from firth.corpora.artifacts.artifact import verify
from firth.corpora.common.errors import ArtifactError, SettingError, UnknownWordError
from firth.corpora.encoding.build import build_corpus
from firth.corpora.encoding.phrase_options import PhraseOptions
from firth.corpora.encoding.request import BuildOptions
from firth.corpora.reading.text_blocks import ReadOptions
from firth.corpora.store.collocates import collocates
from firth.corpora.store.concordance import concordance
from firth.corpora.store.corpus import Corpus
from firth.corpora.store.occurrences import INDEX, Occurrences
from firth.corpora.store.search import Hits, Search
from firth.corpora.store.statistics import describe
from tests.corpora.store.searched import documents_of, occurrences_of, searched_corpus


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    """Return a corpus of several shards."""
    corpus = searched_corpus(tmp_path_factory.mktemp("search"))
    assert len(corpus.shards) > 2
    return corpus


@pytest.fixture(scope="module")
def documents(corpus):
    """Return its documents as lists of sentences."""
    return documents_of(corpus)


def found_by(corpus, query):
    """Return (document, first token in it) of each hit, and check its length."""
    search = Search(corpus)
    hits = search.find(query)
    owners = search.documents_of(hits.starts)
    return list(zip(owners.tolist(), (hits.starts - search.document_starts[owners]).tolist(),
                    strict=True))  # fmt: skip


def test_a_corpus_is_taken_by_its_path_and_pickled_by_it(corpus):
    word = corpus.vocabulary[0]
    corpus.shards  # noqa: B018 - which are not pickled
    again = pickle.loads(pickle.dumps(corpus))  # noqa: S301
    for given in (str(corpus.path), corpus.path, again):
        assert concordance(given, word) == concordance(corpus, word)
        assert collocates(given, word) == collocates(corpus, word)
        assert describe(given) == describe(corpus)
    assert len(pickle.dumps(corpus)) < 1000
    sample = corpus.sample(corpus.training_tokens // 2, seed=2)
    fingerprints = [pickle.loads(pickle.dumps(sample)).fingerprint, sample.fingerprint]  # noqa: S301
    assert len(set(fingerprints)) == 1


def test_the_index_has_the_positions_of_every_type_in_order(corpus):
    text = np.concatenate([shard.ids for shard in corpus.shards])
    occurrences = Occurrences(corpus)
    for each in range(len(corpus.vocabulary)):
        assert occurrences.of(each).tolist() == np.flatnonzero(text == each).tolist()
        assert occurrences.count(each) == (text == each).sum()
    assert (corpus.path / INDEX).stat().st_size == 128 + 4 * len(text)
    verify(corpus.path)  # the index is no part of what was built
    Corpus.open(corpus.path).verify()


@pytest.mark.parametrize(
    ("query", "phrases"),
    [
        ("sea", [["sea"]]),
        ("SEA", [["sea"]]),
        ("the sea", [["the", "sea"]]),
        ("new york", [["new", "york"], ["new_york"]]),
        ("a new york", [["a", "new", "york"], ["a", "new_york"]]),
        ("SEA , *", [["sea", ",", None]]),
        ("the * sea", [["the", None, "sea"]]),
        ("* sea", [[None, "sea"]]),
        ("sea*", [["sea"], ["seal"]]),
        ("*ea", [["sea"]]),
        ("of s*", [["of", "sea"], ["of", "seal"], ["of", "ship"]]),
    ],
)
def test_queries_find_what_the_definition_does(corpus, documents, query, phrases):
    expected = sorted(each for words in phrases for each in occurrences_of(documents, words))
    assert found_by(corpus, query) == expected
    assert len(expected) > 1
    first = Search(corpus).find(query, limit=2)
    assert first.starts.tolist() == Search(corpus).find(query).starts[:2].tolist()


def test_every_way_to_join_the_words_of_a_long_query_is_found_without_trying_each(tmp_path):
    rng = np.random.default_rng(1)
    lines = ["ha ha ha", "ha ha", "ha", "we said ha", "oh ha ha said we"]
    (tmp_path / "a.txt").write_text("\n".join(" ".join(rng.choice(lines, 40)) for _ in range(20)))
    (tmp_path / "phrases.txt").write_text("ha ha\nha ha ha\nwe said\nsaid we\n")
    corpus = build_corpus(
        tmp_path / "a.txt", tmp_path / "out",
        read=ReadOptions(documents="line"),
        phrases=PhraseOptions(phrases_from=str(tmp_path / "phrases.txt")),
    )  # fmt: skip
    documents = documents_of(corpus)
    assert {"ha", "ha_ha", "ha_ha_ha", "we_said"} <= set(corpus.vocabulary)
    for query in ("ha ha ha ha", "we said ha ha", "* ha ha said we", "said we s* ha"):
        ways = divisions(query.split())
        expected = {each for words in ways for each in star_occurrences(documents, words)}
        assert found_by(corpus, query) == sorted(expected)
    assert len(Search(corpus).find("ha ha ha ha")) > 1
    for n_words in (60, 2000):
        assert len(Search(corpus).find("ha " * n_words)) == 0
        assert Search(corpus).count("ha " * n_words) is None
    with pytest.raises(UnknownWordError, match="does not contain 'nowhere'"):
        Search(corpus).find("ha " * 60 + "nowhere")


def divisions(words):
    """Yield all ways to join neighbors among some words."""
    if not words:
        yield []
    for stop in range(1, len(words) + 1):
        if stop == 1 or not any("*" in word for word in words[:stop]):
            yield from (["_".join(words[:stop]), *rest] for rest in divisions(words[stop:]))


def star_occurrences(documents, words):
    """Yield (document, first token in it) of words that may have a star at their end."""
    for number, sentences in enumerate(documents):
        before = 0
        for sentence in sentences:
            for start in range(len(sentence) - len(words) + 1):
                pairs = zip(words, sentence[start:], strict=False)
                if all(fnmatch.fnmatchcase(token, word) for word, token in pairs):
                    yield number, before + start
            before += len(sentence)


def test_stars_match_as_a_shell_does_in_a_word_of_any_length(tmp_path):
    rng = np.random.default_rng(2)
    words = ["".join(rng.choice(list("ab"), rng.integers(1, 8))) for _ in range(300)]
    corpus = build_corpus([" ".join([*words, "x" * 200_000])], tmp_path / "out")
    for query in ("a*b", "*a*b*", "ab*ba", "*aa*aa*", "a**b", "*b*b*a"):
        expected = sorted(word for word in set(words) if fnmatch.fnmatchcase(word, query))
        hits = Search(corpus).find(query)
        found = {word for [word] in Search(corpus).words(hits.starts, hits.stops)}
        assert sorted(found) == expected
    for query in ("*x" * 50 + "*y", "*" + "x" * 1000 + "*y*x*"):
        with pytest.raises(UnknownWordError):
            Search(corpus).find(query)


def test_words_near_another_are_in_the_same_document_and_within_reach(corpus, documents):
    search = Search(corpus)
    for query, others, within in (
        ("sea", [["ship"]], 1),
        ("sea", [["new", "york"], ["new_york"]], 3),
        ("the", [["the"]], 2),
    ):
        near = [
            (number, first, first + len(words) - 1)
            for words in others
            for number, first in occurrences_of(documents, words)
        ]
        expected = [
            (document, place)
            for document, place in occurrences_of(documents, [query])
            if any(
                document == other and (0 < place - first <= within or 0 < last - place <= within)
                and not first <= place <= last
                for other, first, last in near
            )
        ]  # fmt: skip
        hits = search.near(search.find(query), search.find(" ".join(others[0])), within)
        owners = search.documents_of(hits.starts)
        found = list(zip(owners, hits.starts - search.document_starts[owners], strict=True))
        assert found == expected
        assert 0 < len(found) < len(search.find(query))


@pytest.mark.parametrize(("n_hits", "n_others"), [(60, 5), (5, 60), (40, 40)])
def test_near_is_found_from_whichever_side_has_fewer(corpus, n_hits, n_others):
    search = Search(corpus)
    rng = np.random.default_rng(n_hits)
    for within in (1, 4, 30):
        hits, others = (random_hits(rng, n, corpus.n_tokens) for n in (n_hits, n_others))
        owners = search.documents_of(hits.starts)
        expected = []
        for start, stop, owner in zip(hits.starts, hits.stops, owners, strict=True):
            first = max(start - within, search.document_starts[owner])
            last = min(stop + within, search.document_starts[owner + 1])
            before = (others.starts >= first) & (others.stops <= start)
            after = (others.starts >= stop) & (others.stops <= last)
            expected.append((before | after).any())
        found = search.near(hits, others, within)
        assert found.starts.tolist() == hits.starts[expected].tolist()


def random_hits(rng, n, n_tokens):
    """Return hits of one to three tokens."""
    starts = np.sort(rng.choice(n_tokens - 3, n, replace=False))
    return Hits(starts, starts + rng.integers(1, 3, n))


def test_lines_have_words_of_the_same_document_and_where_they_are_from(corpus, documents):
    found = concordance(corpus, "the sea", width=3, lines=1000)
    places = occurrences_of(documents, ["the", "sea"])
    assert found.n_found == len(found.lines) == len(places)
    for line, (number, first) in zip(found.lines, places, strict=True):
        text = [word for sentence in documents[number] for word in sentence]
        assert (line.document, line.token) == (number + 1, first + 1)
        assert line.left.split() == text[max(0, first - 3) : first]
        assert line.found == "the sea"
        assert line.right.split() == text[first + 2 : first + 5]
        assert line.fields == {"year": str(1900 + number % 3), "title": f"T{number}"}
        assert line.source.endswith("texts.jsonl")
        assert line.record == number + 1


def test_lines_are_sorted_by_neighbors_or_sampled(corpus):
    every = concordance(corpus, "sea", lines=1000).lines
    right = concordance(corpus, "sea", lines=1000, order="right").lines
    following = [each.right.split()[:3] for each in right]
    assert following == sorted(each.right.split()[:3] for each in every)
    left = concordance(corpus, "sea", lines=1000, order="left").lines
    nearest_first = [each.left.split()[:-4:-1] for each in left]
    assert nearest_first == sorted(each.left.split()[:-4:-1] for each in every)
    sample = concordance(corpus, "sea", lines=5, order="sample", seed=3).lines
    assert sample == concordance(corpus, "sea", lines=5, order="sample", seed=3).lines
    assert sample != concordance(corpus, "sea", lines=5, order="sample", seed=4).lines
    assert [each for each in every if each in sample] == sample


def test_lines_are_as_written_if_the_corpus_keeps_its_text(tmp_path):
    text = "We saw The Sea,\tthe big sea!  It's\nNew York City's (old) sea.\n\nNo Sea."
    (tmp_path / "a.txt").write_text(text)
    phrases = tmp_path / "phrases.txt"
    phrases.write_text("new york")
    corpus = build_corpus(
        tmp_path / "a.txt", tmp_path / "out",
        read=ReadOptions(wrapped=True),
        options=BuildOptions(keep_text=True),
        phrases=PhraseOptions(phrases_from=str(phrases)),
    )  # fmt: skip
    found = [(each.left, each.found, each.right) for each in concordance(corpus, "sea").lines]
    assert found[0] == ("We saw The", "Sea", ", the big sea! It's")
    assert found[2] == ("s New York City's (old)", "sea", ". No Sea.")
    assert concordance(corpus, "new_york", width=2) == concordance(corpus, "new york", width=2)
    assert concordance(corpus, "new york city").n_found == 1
    [line] = concordance(corpus, "new york", width=2).lines
    assert (line.left, line.found, line.right) == ("'s", "New York", "City'")


def test_documents_are_chosen_by_a_kept_field(corpus):
    every = concordance(corpus, "sea", lines=1000).lines
    some = concordance(corpus, "sea", lines=1000, documents="year=1901")
    assert some.lines == [each for each in every if each.fields["year"] == "1901"]
    assert 0 < some.n_found < len(every)


@pytest.mark.parametrize(
    ("query", "options", "error", "message"),
    [
        ("whale", {}, UnknownWordError, "does not contain 'whale'"),
        ("sea", {"near": "whale"}, UnknownWordError, "does not contain 'whale'"),
        ("* *", {}, SettingError, "expected a word or phrase"),
        ("", {}, SettingError, "expected a word or phrase"),
        ("sea", {"order": "up"}, SettingError, "`order=up`: expected one of text, left"),
        ("sea", {"width": 0}, SettingError, "`width` must be at least 1, got 0"),
        ("sea", {"documents": "year"}, SettingError, "expected FIELD=VALUE"),
        ("sea", {"documents": "author=x"}, SettingError, "it keeps title, year"),
        ("sea", {"documents": "year=1"}, SettingError, "its values are from 1900 to 1902"),
    ],
)
def test_bad_queries_are_refused(corpus, query, options, error, message):
    with pytest.raises(error, match=message):
        concordance(corpus, query, **options)


def test_a_phrase_of_known_words_may_be_absent(corpus):
    assert concordance(corpus, "york ocean york ocean york sea").n_found == 0


def test_a_damaged_index_is_refused_with_the_remedy(tmp_path):
    corpus = searched_corpus(tmp_path)
    np.save(corpus.path / INDEX, np.zeros(3, dtype=np.int32))
    with pytest.raises(ArtifactError, match=r"does not fit the corpus .*; delete it"):
        Search(corpus).find("sea")
    n_tokens = corpus.n_tokens
    np.save(corpus.path / INDEX, np.zeros(n_tokens, dtype=np.int32))
    with pytest.raises(ArtifactError, match=r"does not fit the corpus .*; delete it"):
        Search(corpus).find("ship")
    (corpus.path / INDEX).write_bytes(b"no array")
    with pytest.raises(ArtifactError, match=r"is damaged .*; delete it"):
        Search(corpus).find("sea")


def test_no_index_is_made_of_a_damaged_corpus(tmp_path):
    corpus = searched_corpus(tmp_path)
    ids = np.load(corpus.shards[0].directory / "ids.npy", mmap_mode="r+")
    ids[:2] = ids[1::-1]  # each word as often as before
    ids.flush()
    with pytest.raises(ArtifactError, match=r"ids\.npy: "):
        Search(corpus).find("sea")
    assert not (corpus.path / INDEX).exists()


def test_a_corpus_that_cannot_be_written_is_indexed_in_the_cache(tmp_path, monkeypatch):
    corpus = searched_corpus(tmp_path)
    monkeypatch.setenv("FIRTH_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(os, "access", lambda path, mode: path != corpus.path)  # root may write all
    assert len(Search(corpus).find("sea")) > 0
    assert not (corpus.path / INDEX).exists()
    [index] = (tmp_path / "cache" / "occurrences").iterdir()
    assert index.name == f"{corpus.fingerprint}.npy"


def test_the_command_prints_lines_csv_and_json(corpus):
    def run(*options):
        result = CliRunner().invoke(cli.main, ["concordance", str(corpus.path), *options])
        assert result.exit_code == 0, result.stderr
        return result

    shown = run("the sea", "-n", "3")
    assert shown.stderr.startswith("3 of ")
    assert all("  the sea  " in line for line in shown.stdout.splitlines())
    assert len({line.index("  the sea  ") for line in shown.stdout.splitlines()}) == 1
    lines = json.loads(run("the sea", "-n", "3", "--json").stdout)["lines"]
    rows = list(csv.DictReader(io.StringIO(run("the sea", "-n", "3", "--csv").stdout)))
    assert [row["left"] for row in rows] == [line["left"] for line in lines]
    assert [row["year"] for row in rows] == [line["fields"]["year"] for line in lines]


@pytest.mark.process
def test_two_processes_can_make_the_index_at_once(server, tmp_path):
    corpus = searched_corpus(tmp_path)
    code = (
        "import sys, firth; from firth.corpora.store.search import Search; "
        "print(len(Search(firth.Corpus.open(sys.argv[1])).find('sea')))"
    )
    both = [server.python(code, corpus.path, workdir=tmp_path) for _ in range(2)]
    counts = [process.wait().stdout for process in both]
    assert counts == [f"{len(Search(corpus).find('sea'))}\n"] * 2


@pytest.mark.process
def test_queries_find_words_as_the_corpus_spells_them(tmp_path):
    rows = ["xã hội", "cafe\u0301", "nhà", "xã hội"]
    lines = [f"{n}\t{word}\t_\tX\t_\t_\t0\troot\t_\t_" for n, word in enumerate(rows, 1)]
    (tmp_path / "a.conllu").write_text("\n".join(lines) + "\n\n", "utf-8")
    corpus = build_corpus(
        tmp_path / "a.conllu", tmp_path / "corpus", options=BuildOptions(threads=1)
    )
    for query in ("xã hội", "Xã  Hội", "xã_hội", unicodedata.normalize("NFD", "xã hội")):
        assert len(Search(corpus).find(query)) == Search(corpus).count(query) == 2
    assert len(Search(corpus).find("caf\u00e9 nhà xã hội")) == 1
    with pytest.raises(UnknownWordError, match="does not contain 'nhá'; did you mean 'nhà'"):
        Search(corpus).find("nhá")
