"""Word pairs and default sets: all published forms, and refusals."""

from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firth.corpora.common.errors import SourceError
from firth.embed.compare.datasets.categories import read_categories
from firth.embed.compare.datasets.fields import fallback_encoding
from firth.embed.compare.datasets.labeled_sentences import read_sentences
from firth.embed.compare.datasets.outlier_groups import read_topics
from firth.embed.compare.datasets.questions import read_questions, read_relations
from firth.embed.compare.datasets.sentence_pairs import read_minimal_pairs
from firth.embed.compare.datasets.tagged_words import read_parts, read_tagged
from firth.embed.compare.datasets.word_pairs import (
    WordPair,
    default_sets,
    find_set,
    looks_foreign,
    looks_like,
    pairs_name,
    read_pairs,
)
from tests.embed.compare.datasets.set_files import WORDS, refusal, write
from tests.embed.compare.refusals import message_of

PAIRS = st.lists(
    st.tuples(WORDS, WORDS, st.floats(-1e9, 1e9)).map(lambda pair: WordPair(*pair)), min_size=1
)
DELIMITERS = ["\t", ";", ",", ", ", " ", "  ", "\t\t"]


@pytest.mark.parametrize(
    ("file", "score", "name"),
    [
        ("test.tsv", "SimLex999", "SimLex999"),
        ("verbs.tsv", "SimLex999", "verbs"),
        ("test.tsv", "Human (mean)", "{folder}/test"),
        ("test.tsv", "7", "{folder}/test"),
    ],
)
def test_a_file_named_for_its_part_is_named_by_its_score_column(tmp_path, file, score, name):
    path = write(tmp_path, f"word1\tword2\t{score}\nold\tnew\t1.58\nred\tblue\t3\n", file)

    assert pairs_name(path) == name.format(folder=tmp_path.name)


@pytest.mark.slow
@given(
    pairs=PAIRS,
    delimiter=st.sampled_from(DELIMITERS),
    end=st.sampled_from(["\n", "\r\n"]),
    header=st.sampled_from(["", "word1 word2 score", "# Word 1 Word 2 Human (mean)"]),
    mark=st.sampled_from(["", "\ufeff"]),
)
def test_pairs_are_read_as_written(tmp_path_factory, pairs, delimiter, end, header, mark):
    rows = [header.replace(" ", delimiter)] if header else []
    rows += [f"{p.a}{delimiter}{p.b}{delimiter}{p.score!r}" for p in pairs]
    path = write(tmp_path_factory.mktemp("sets"), mark + end.join(rows) + end)

    assert read_pairs(path) == pairs


TIGER = [("Tiger", "cat", 7.35), ("old", "new", 1.58)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # a numbered set, the number of the pair first; then the mean behind single judgments
        ("ID,Word 1,Word 2,score\n1,day,night,2.5\n2,cat,dog,3\n",
         [("day", "night", 2.5), ("cat", "dog", 3.0)]),
        ("Word 1,Word 2,s1,s2,Mean\nlove,sex,6,8,7.0\ntiger,cat,9,6,7.5\n",
         [("love", "sex", 7.0), ("tiger", "cat", 7.5)]),
        ("Word 1,Word 2,Human (mean)\nTiger,cat,7.35\nold,new,1.58\n", TIGER),  # WS-353
        ("Tiger-n cat-n 7.35\nold-j new-j 1.58\n", TIGER),  # MEN
        ("Tiger cat 7.35\nold new 1.58\n", TIGER),  # MEN, YP-130
        ("word1\tword2\tPOS\tSimLex999\tx\nTiger\tcat\tN\t7.35\t2\nold\tnew\tA\t1.58\t2\n", TIGER),
        ("Tiger\tcat\t7.35\t10\t7\t8\nold\tnew\t1.58\t0\t1\t2\n", TIGER),  # RareWord
        ("Tiger\tcat\tN\t7.35\tSYNONYMS\nold\tnew\tN\t1.58\tANTONYMS\n", TIGER),  # SimVerb
        ("Tiger;cat;7.35\nold;new;1.58\n", TIGER),  # RG-65
        ("Auto\tFahrt\t2,75\n", [("Auto", "Fahrt", 2.75)]),
        ('"ice, dry",cold,5\n', [("ice, dry", "cold", 5.0)]),
        ("ice cream\tcold\t5\n", [("ice cream", "cold", 5.0)]),
        ("// made today\n\n# more\nnan\tinfinity\t5\n", [("nan", "infinity", 5.0)]),
        ("mean\tscore\t5\n", [("mean", "score", 5.0)]),
    ],
)  # fmt: skip
def test_published_forms_are_distinguished(tmp_path, text, expected):
    assert read_pairs(write(tmp_path, text)) == [WordPair(*pair) for pair in expected]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", ": contains no word pairs; expected lines of word, word, score"),
        ("# only a comment\n", ": contains no word pairs; expected lines of word, word, score"),
        ("# c\na\tb\t1\na\tb\n", r":3: 'a\tb' is not word, word, score separated by tabs; correct"),
        ("a b 1\nnew york city 4\n", ":2: 'new york city 4' is not word, word, score separated by"),
        ("a,b,1\na,,2\n", ":2: 'a,,2' is not word, word, score separated by commas"),
        ("a\tb\t1\na\tb\tx6\n", ":2: 'x6' is not a score; correct it, or start a comment with '#'"),
        ("a\tb\tx\na\tb\t6\n", ":1: 'x' is not a score"),
        ("a\tb\t1\na\tb\tnan\n", ":2: 'nan' is not a score"),
        ("a\tb\t1\na\tb\t1e999\n", ":2: '1e999' is not a score"),
        ("# c\ra\tb\t1\rc\td\tx\r", ":3: 'x' is not a score"),
        ("1 2 3\n4 5 6\n", ":1: '1 2 3' does not start a list of word, word, score; a set of anal"),
        (": capitals\na b c d\n", ":1: ': capitals' does not start a list of word, word, score"),
    ],
)
def test_malformed_pairs_are_refused(tmp_path, text, said):
    assert refusal(read_pairs, tmp_path, text).startswith(said)


READERS = [read_pairs, read_questions, read_relations, read_categories, read_topics]


@pytest.mark.parametrize("read", [*READERS, read_tagged, read_sentences, read_minimal_pairs])
def test_files_that_are_not_sets_are_refused(tmp_path, read):
    latin, absent = "a b 1\nschön gut 2\n".encode("latin-1"), tmp_path / "absent.txt"
    said = ":2: byte 0xF6 is not UTF-8; convert the file to UTF-8"
    assert refusal(read, tmp_path, latin) == said
    with fallback_encoding(""):
        assert refusal(read, tmp_path, latin) == (
            f"{said}, or pass its encoding, such as `encoding=latin-1`"
        )
    assert message_of(SourceError, read, absent) == f"{absent}: no such file"


@pytest.mark.parametrize("read", [*READERS, read_minimal_pairs])
def test_a_folder_without_set_files_is_refused(tmp_path, read):
    kind = {read_relations: "txt", read_topics: "txt", read_minimal_pairs: "jsonl"}.get(read)
    message = f"contains no .{kind} files; expected one for each part of the set"
    assert message_of(SourceError, read, tmp_path) == (
        f"{tmp_path}: {message if kind else 'is a directory, not a file'}"
    )


def test_the_default_sets_are_complete():
    (_, wordsim), (_, simlex), (_, google) = default_sets()

    assert [len(read_pairs(wordsim)), len(read_pairs(simlex))] == [353, 999]
    assert read_pairs(wordsim)[2] == WordPair("tiger", "tiger", 10.0)
    questions = read_questions(google)
    assert len(questions) == 19544
    assert len({question.section for question in questions}) == 14


PAIR_SETS = {
    "similarity/ws353.tsv": 353,
    "similarity/ws353-sim.tsv": 203,
    "similarity/ws353-rel.tsv": 252,
    "similarity/simlex999.tsv": 999,
    "similarity/mturk287.tsv": 287,
    "similarity/rg65.tsv": 65,
    "multilingual/de/gur65.txt": 65,
    "multilingual/de/gur350.txt": 350,
    "multilingual/de/zg222.txt": 222,
    "multilingual/de/simlex999.txt": 999,
    "multilingual/de/ws353rel.txt": 252,
    "multilingual/de/ws353sim.txt": 201,
    "multilingual/zh/wordsim-240.txt": 240,
    "multilingual/zh/wordsim-297.txt": 297,
}


@pytest.mark.parametrize("name", PAIR_SETS)
def test_published_pairs_are_read_completely(shared_data, name):
    pairs = read_pairs(shared_data / "evaluation" / name)

    assert len(pairs) == PAIR_SETS[name]
    assert all(pair.a == pair.a.strip() and 0 <= pair.score <= 10 for pair in pairs)


@pytest.mark.parametrize(
    ("task", "name", "file"),
    [
        ("similarity", "wordsim353", "wordsim353.tsv"),
        ("similarity", "simlex999", "simlex999.txt"),
        ("analogy", "questions-words", "questions-words.txt"),
    ],
)
def test_bundled_sets_are_found_by_name(task, name, file):
    assert find_set(task, name).name == file
    assert find_set("odd-one-out", name) == Path(name), "of their own task alone"


def test_a_file_on_disk_takes_precedence_over_a_bundled_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "simlex999").write_text("a\tb\t1\n")

    assert find_set("similarity", "simlex999") == Path("simlex999")


def test_ambiguous_words_have_both_tags_in_every_part():
    parts = read_parts(str(find_set("tagging", "two-tags")))
    assert parts.dev is not None
    tags: dict[str, Counter] = {}
    for word, tag in zip(parts.train.words, parts.train.labels, strict=True):
        tags.setdefault(word.lower(), Counter())[tag] += 1
    both = {word for word, each in tags.items() if each["NOUN"] >= 2 and each["VERB"] >= 2}
    sizes = [(part.n_sentences, len(part.words)) for part in (parts.train, parts.dev, parts.test)]

    assert len(both) >= 60
    assert sizes == [(477, 4303), (79, 791), (172, 1551)]
    sentences = [
        tuple(part.words[start:stop])
        for part in (parts.train, parts.dev, parts.test)
        for start, stop in pairwise(part.offsets.tolist())
    ]
    assert len(set(sentences)) == len(sentences)


GERMAN = ["der", "die", "und", "in", "das", "was", "von", "zu", "den", "mit", "sich", "des"]


def test_the_language_is_told_by_frequent_words():
    english = ["The", "of", "and", "to", "in", "was"]
    further = [f"wort{chr(97 + n // 26)}{chr(97 + n % 26)}" for n in range(400)]

    assert looks_like("English", [*english, *further])
    assert not looks_like("English", [*english[1:], *further])
    assert not looks_like("English", [*further[:200], *english])  # too rare
    assert looks_foreign([*GERMAN, *further])
    assert looks_like("German", [*further[:100], *map(str.title, GERMAN)])
    dutch = ["de", "van", "het", "een", "die", "in", "der", "dat", "is", "met", "zich", "op", "was"]
    assert not looks_like("German", [*dutch, *further])
    assert not looks_like("German", [*english, "die", "von", "das", *further])
    assert not looks_foreign([*english, *further])
    assert not looks_foreign(GERMAN)  # too few words to tell
    assert not looks_foreign([f"[unused{n}]" for n in range(300)])  # pieces, not by frequency
