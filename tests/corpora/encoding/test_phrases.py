"""Phrases as words, against naive twins and gensim."""

import functools
import itertools
import json
import math
from collections import Counter

import numpy as np
import pytest
from click.testing import CliRunner

from firth import cli
from firth.corpora.common.errors import FirthError, SettingError
from firth.corpora.encoding import phrases as phrases_module
from firth.corpora.encoding.build import build_corpus
from firth.corpora.encoding.phrase_options import PhraseOptions
from firth.corpora.encoding.request import BuildOptions, make_request
from firth.corpora.store.corpus import Corpus
from firth.corpora.text.segment import TextSettings
from firth.corpora.tokenizer.json_format import why_not_exportable
from tests.corpora.small_corpora import arrays, words_of
from tests.corpora.small_corpora import build as build_one
from tests.corpora.store.searched import documents_of

SPACES = TextSettings(segmenter="whitespace")
STOP_WORDS = ["w0", "w3"]
PUNCTUATION = [",", "-", "."]


@functools.cache
def random_text(seed, n_sentences=900):
    """Return lines of documents, with punctuation and pairs of words that prefer each other."""
    rng = np.random.default_rng(seed)
    lines = []
    for _ in range(n_sentences):
        words = [f"w{n}" for n in rng.zipf(1.4, size=rng.integers(1, 14)) % 60]
        words = [w for word in words for w in ([word, f"x{word}"] if word > "w4" else [word])]
        for place in rng.integers(0, len(words), size=rng.integers(0, 3)):
            words.insert(int(place), str(rng.choice(PUNCTUATION)))
        lines.append(" ".join(words))
    return "\n".join(lines) + "\n\n"


def build(tmp_path, text, name="out", *, threads=1, max_types=None, **phrases):
    """Build a corpus of one document per line, and its words separated by spaces."""
    return build_one(
        tmp_path, text, name, {"shard_tokens": 1500, "block_bytes": 4000}, documents="line",
        segmenter="whitespace", threads=threads, max_types=max_types,
        phrases=PhraseOptions(**phrases),
    )  # fmt: skip


@pytest.fixture(scope="module", params=[1, 2])
def unjoined(request, tmp_path_factory):
    """Return a random text, and its corpus without phrases."""
    text = random_text(request.param)
    return text, build(tmp_path_factory.mktemp("plain"), text)


def cut(sentence, breaks):
    """Divide a sentence at words that are in no phrase; these are parts of their own."""
    parts = [[]]
    for word in sentence:
        if word in breaks:
            parts += [[word], []]
        else:
            parts[-1].append(word)
    return [part for part in parts if part]


def naive_join(sentences, phrases):
    """Join the longest phrase at every place, from left to right."""
    longest = max(map(len, phrases), default=1)
    joined = []
    for sentence in sentences:
        words, start = [], 0
        while start < len(sentence):
            sizes = range(min(longest, len(sentence) - start), 1, -1)
            size = next((n for n in sizes if tuple(sentence[start : start + n]) in phrases), 1)
            words.append("_".join(sentence[start : start + size]))
            start += size
        joined.append(words)
    return joined


def naive_phrases(sentences, formula, threshold, min_count, breaks):
    """Return the pairs whose score is above the threshold, by the definitions."""
    parts = [part for sentence in sentences for part in cut(sentence, breaks)]
    runs = [part for part in parts if part[0] not in breaks]
    counts = Counter(word for run in runs for word in run)
    pairs = Counter(pair for run in runs for pair in itertools.pairwise(run))
    found = set()
    for (a, b), n in pairs.items():
        if formula == "ratio":
            score = (n - min_count) / (counts[a] * counts[b]) * (len(counts) + len(pairs))
        elif n >= min_count:
            total = counts.total()
            joint = n / total
            score = math.log(joint / ((counts[a] / total) * (counts[b] / total))) / -math.log(joint)
        else:
            continue
        if score > threshold:
            found.add((a, b))
    return found


def check_consistency(corpus):
    """Compare counts, document counts and manifest with the words of the text."""
    documents = words_of(corpus, "documents")
    counts = Counter(word for document in documents for word in document)
    words = corpus.vocabulary.words()
    assert words == sorted(counts, key=lambda word: (-counts[word], word))
    assert corpus.vocabulary.counts.tolist() == [counts[word] for word in words]
    documents_with = Counter(word for document in documents for word in set(document))
    assert corpus.vocabulary.document_counts.tolist() == [documents_with[word] for word in words]
    table = (corpus.path / "vocabulary.tsv").read_text().splitlines()
    assert [line.split("\t")[0] for line in table] == [w.replace("\\", r"\\") for w in words]
    assert corpus.n_tokens == counts.total()
    assert [entry["tokens"] for entry in corpus.manifest["shards"]] == [
        len(shard.ids) for shard in corpus.shards
    ]
    assert corpus.manifest["types"] == len(words)
    held_out = sum(np.diff(s.units)[s.held_out].sum() for s in corpus.shards)
    assert corpus.manifest["held_out_tokens"] == held_out > 0
    for level in ("sentences", "paragraphs"):
        assert [w for part in words_of(corpus, level) for w in part] == [
            word for document in documents for word in document
        ]
    corpus.verify()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("formula", "threshold", "min_count", "passes", "stop_words"),
    [
        ("ratio", 0.5, 2, 1, []), ("ratio", 0.3, 2, 2, STOP_WORDS), ("ratio", 0.05, 1, 3, []),
        ("npmi", 0.3, 1, 2, []), ("npmi", 0.45, 3, 1, STOP_WORDS), ("npmi", -1.0, 1, 1, []),
    ],
)  # fmt: skip
def test_the_text_is_joined_by_the_definition(
    tmp_path, unjoined, formula, threshold, min_count, passes, stop_words
):
    text, plain = unjoined
    (tmp_path / "stop.txt").write_text("\n".join(stop_words))
    sentences = words_of(plain, "sentences")
    for _ in range(passes):
        phrases = naive_phrases(
            sentences, formula, threshold, min_count, {*PUNCTUATION, *stop_words}
        )
        assert phrases
        sentences = naive_join(sentences, phrases)

    corpus = build(
        tmp_path, text, phrases=formula, phrase_threshold=threshold, phrase_passes=passes,
        phrase_min_count=min_count,
        phrase_stop_words=str(tmp_path / "stop.txt") if stop_words else None,
    )  # fmt: skip

    assert len(corpus.shards) > 3
    assert words_of(corpus, "sentences") == sentences
    check_consistency(corpus)
    assert corpus.manifest["tally"] == plain.manifest["tally"]
    joined = sum(word.count("_") for sentence in sentences for word in sentence)
    assert sum(each["tokens"] for each in corpus.manifest["phrases"]) == joined
    assert corpus.n_documents == plain.n_documents
    assert corpus.n_tokens == plain.n_tokens - joined


@pytest.mark.slow
@pytest.mark.parametrize("formula", ["ratio", "npmi"])
@pytest.mark.parametrize("source", ["lee", "generated"])
def test_phrases_are_those_of_gensim(tmp_path, formula, source):
    gensim = pytest.importorskip("gensim.models.phrases", reason="gensim is not installed")
    options = {"options": BuildOptions(threads=1)}
    if source == "generated":
        (tmp_path / "text.txt").write_text(random_text(3))
        source = tmp_path / "text.txt"
    plain = build_corpus(source, tmp_path / "plain", **options)
    (tmp_path / "stop.txt").write_text("The\nof")
    chosen = PhraseOptions(
        phrases=formula, phrase_passes=2, phrase_stop_words=str(tmp_path / "stop.txt")
    )
    corpus = build_corpus(source, tmp_path / "joined", phrases=chosen, **options)

    sentences, vocabulary = words_of(plain, "sentences"), plain.vocabulary
    punctuation = itertools.compress(vocabulary.words(), vocabulary.punctuation)
    breaks = {*punctuation, "the", "of"}
    name = {"ratio": "default", "npmi": "npmi"}[formula]
    for _ in range(2):
        parts = [cut(sentence, breaks) for sentence in sentences]
        runs = [part for each in parts for part in each if part[0] not in breaks]
        model = gensim.Phrases(runs, min_count=5, threshold=chosen.threshold, scoring=name)
        sentences = [[word for part in each for word in model[part]] for each in parts]

    assert sum(each["types"] for each in corpus.manifest["phrases"]) > 5
    assert words_of(corpus, "sentences") == sentences
    check_consistency(corpus)


def test_arrays_do_not_depend_on_threads_or_memory(tmp_path, monkeypatch):
    options = {"phrases": "ratio", "phrase_threshold": 0.5, "phrase_passes": 2}
    one = build(tmp_path, random_text(1), "one", **options)
    monkeypatch.setattr(phrases_module, "_LEAST_TOKENS", 100)
    two = build(tmp_path, random_text(1), "two", threads=2, **options)
    assert arrays(one) == arrays(two)
    assert one.fingerprint == two.fingerprint


def test_listed_phrases_are_joined_the_longest_first(tmp_path):
    listed = "new york\n\nNew_York City  \ncity hall of\nnew , york\nblue moon\nyork city hall\nof"
    (tmp_path / "list.txt").write_text(listed)
    text = (
        "new york city hall of new york\nyork city hall new york\n"
        "new\nyork new , york city york city york\n" * 9
    )
    corpus = build(tmp_path, text, phrases_from=str(tmp_path / "list.txt"))
    lines = ["new_york_city hall of new_york", "york_city_hall new_york"]
    assert words_of(corpus, "sentences")[:2] == [line.split() for line in lines]
    phrases = {
        tuple(line.lower().replace("_", " ").split())
        for line in listed.split("\n")
        if "," not in line
    } - {("of",), ()}
    assert words_of(corpus, "sentences") == naive_join(
        words_of(build(tmp_path, text, "plain"), "sentences"), phrases
    )
    check_consistency(corpus)


def test_a_phrase_merges_with_a_word_of_the_same_spelling(tmp_path):
    (tmp_path / "list.txt").write_text("new york\nb c\na b c")
    corpus = build(
        tmp_path, "new york and new_york\na b c , b c\nnew york\n",
        phrases_from=str(tmp_path / "list.txt"),
    )  # fmt: skip
    counts = dict(zip(corpus.vocabulary.words(), corpus.vocabulary.counts.tolist(), strict=True))
    assert counts == {"new_york": 3, "and": 1, "a_b_c": 1, ",": 1, "b_c": 1}


def test_rare_words_are_pruned_after_they_were_joined(tmp_path):
    text = "a b x , a b y , a b z\n" * 2
    corpus = build(tmp_path, text, phrases="npmi", phrase_min_count=2, max_types=2)
    assert corpus.vocabulary.words() == ["a_b", ",", ""]
    assert corpus.vocabulary.counts.tolist() == [6, 4, 6]


def test_a_text_without_phrases_stays_as_it_is(tmp_path):
    corpus = build(tmp_path, random_text(1), phrases="ratio", phrase_threshold=1e9)
    plain = build(tmp_path, random_text(1), "plain")
    assert corpus.manifest["phrases"] == [{"types": 0, "tokens": 0}]
    assert arrays(corpus) == arrays(plain)


def test_without_phrases_the_settings_are_those_of_earlier_versions(tmp_path):
    corpus = build(tmp_path, "the cat sat on the mat\n" * 50)
    assert set(corpus.manifest["settings"]) == {"read", "text", "held_out", "max_types"}
    assert "phrases" not in corpus.manifest
    assert corpus.fingerprint == "70aa7fa3231a8823"  # of the versions before


@pytest.mark.slow
def test_the_fingerprint_depends_on_options_and_contents_of_files(tmp_path):
    file = tmp_path / "list.txt"

    def fingerprint(name, content="a", **options):
        file.write_text(content)
        return build(tmp_path, "a b , a b\n", name, **options).fingerprint

    listed = {"phrases_from": str(file)}
    fingerprints = [
        fingerprint("1"),
        fingerprint("2", phrases="ratio"),
        fingerprint("3", phrases="npmi"),
        fingerprint("4", phrases="npmi", phrase_threshold=0.4),
        fingerprint("5", phrases="npmi", phrase_stop_words=str(file)),
        fingerprint("6", "b", phrases="npmi", phrase_stop_words=str(file)),
        fingerprint("7", "a b", **listed),
        fingerprint("8", "a b\nb a", **listed),
    ]
    assert len(set(fingerprints)) == len(fingerprints)
    assert fingerprint("9", phrases="npmi", phrase_threshold=0.5) == fingerprints[2]
    assert fingerprint("10", "\na_b\n", **listed) == fingerprints[6]


def test_a_failed_build_leaves_no_corpus_and_is_repeated(tmp_path, monkeypatch):
    options = {"phrases": "ratio", "phrase_threshold": 0.5}
    done = build(tmp_path, random_text(1), "done", **options)

    def fail(*args):
        raise OSError("disk full")

    with monkeypatch.context() as patch:
        patch.setattr("firth.corpora.encoding.phrases.TypeRuns.merge", fail)
        patch.setattr("firth.corpora.encoding.pipeline.TypeRuns.merge", fail)
        with pytest.raises(OSError, match="disk full"):
            build(tmp_path, random_text(1), **options)
    assert not (tmp_path / "out").exists()
    again = build(tmp_path, random_text(1), **options)
    assert again.fingerprint == done.fingerprint
    assert words_of(again, "sentences") == words_of(done, "sentences")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"phrase_passes": 2}, "`phrase_passes` needs `phrases=ratio` or `phrases=npmi`; pass one"),
        (
            {"phrases_from": "x", "phrase_threshold": 0.1},
            "`phrase_threshold` needs `phrases=ratio`",
        ),
        (
            {"phrases": "npmi", "phrases_from": "x"},
            "`phrases` or `phrases_from`, not both; drop one",
        ),
        ({"phrases": "npmi", "phrase_threshold": 10.0}, "`phrase_threshold` must be from -1 to 1 "),
        ({"phrases": "ratio", "phrase_threshold": 0.0}, "`phrase_threshold` must be above 0 for "),
        ({"phrases": "mikolov"}, "PhraseOptions.phrases must be one of ratio, npmi, got 'mikolov'"),
    ],
)
def test_refused_options(options, message):
    with pytest.raises(SettingError) as refusal:
        PhraseOptions(**options)
    assert str(refusal.value).startswith(message)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "cannot be read (No such file or directory); correct the path"),
        (b"\n \n", "is empty; expected one entry per line"),
        (b"caf\xe9", "is not UTF-8; convert it to UTF-8"),
    ],
    ids=["missing", "empty", "latin-1"],
)
def test_lists_that_cannot_be_read_are_refused_before_any_work(tmp_path, content, message):
    path = tmp_path / "list.txt"
    if content is not None:
        path.write_bytes(content)
    for options in (
        {"phrases_from": str(path)},
        {"phrases": "npmi", "phrase_stop_words": str(path)},
    ):
        with pytest.raises(FirthError) as refusal:
            make_request(["lee"], phrases=PhraseOptions(**options))
        assert str(refusal.value) == f"{path}: {message}"


def test_the_command_joins_and_refuses_lemmas(tmp_path):
    pytest.importorskip("simplemma", reason="the extra lemmas is not installed")
    (tmp_path / "a.txt").write_text("New York, New York. " * 20)
    command = ["build-corpus", str(tmp_path / "a.txt"), "--out", str(tmp_path / "out")]
    command += ["--threads", "1", "--phrases", "npmi"]
    refused = CliRunner().invoke(cli.main, [*command, "--lemmatize", "en"])
    assert refused.exit_code == 1
    assert refused.stderr.splitlines()[-1] == (
        "Error: --phrases joins words of the text, which --lemmatize en replaces; drop one of them"
    )
    done = CliRunner().invoke(cli.main, command)
    assert done.stdout.splitlines()[-1] == f"{tmp_path}/out: joined 1 phrase, 40 times"
    assert "new_york" in Corpus.open(tmp_path / "out").vocabulary.words()


@pytest.mark.parametrize("passes", [1, 2])
@pytest.mark.parametrize("threshold", [0.01, 20])
def test_later_texts_get_the_phrases_of_the_corpus(passes, threshold, tmp_path):
    text = random_text(3)
    corpus = build(
        tmp_path, text, phrases="ratio", phrase_passes=passes, phrase_threshold=threshold
    )
    settings = TextSettings.from_json(json.loads(json.dumps(corpus.text.to_json())))
    assert settings.joined_phrases == corpus.text.joined_phrases
    assert len(settings.joined_phrases) == (passes if threshold < 1 else 1)
    lines = [line for line in text.split("\n") if line]
    # the sentences of the corpus end where the text has no mark, so each line is one
    assert [settings.words(line) for line in lines] == [
        [word for sentence in document for word in sentence] for document in documents_of(corpus)
    ]
    assert settings == corpus.text == SPACES
    assert "joined_phrases" not in settings.shown
    assert "joined_phrases" not in repr(settings)


def test_listed_phrases_are_joined_in_texts_the_longest_first(tmp_path):
    (tmp_path / "list.txt").write_text("new york\nnew york city hall\nnot there\n")
    corpus = build_one(
        tmp_path, "In New York City Hall. To new york city.\n", "out",
        phrases=PhraseOptions(phrases_from=str(tmp_path / "list.txt")),
    )  # fmt: skip
    assert corpus.text.joined_phrases == ("new\tyork\nnew\tyork\tcity\thall",)
    words = corpus.text.words("New York city; NEW YORK CITY HALL, not there new-york new")
    assert " ".join(words) == "new_york city ; new_york_city_hall , not there new - york new"
    assert corpus.text.join_phrases(["new", "york", "new"]) == (["new_york", "new"], [2, 1])
    assert corpus.text.before_lemmas == TextSettings()
    assert why_not_exportable(corpus.text).startswith("the corpus has words joined into phrases")
