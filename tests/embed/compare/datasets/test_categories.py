"""Category files: all published forms, and refusals."""

import os
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firth.corpora.common.errors import SourceError
from firth.embed.compare.datasets.categories import CategoryWord, read_categories, read_groups
from tests.embed.compare.datasets.set_files import WORDS, refusal, write
from tests.embed.compare.refusals import message_of


@pytest.mark.slow
@given(
    words=st.lists(st.tuples(WORDS, st.sampled_from(["Tier", "Pflanze"])), min_size=3),
    form=st.sampled_from(["{w}{d}{c}", "{i}{d}{c}{d}{w}"]),
    delimiter=st.sampled_from(["\t", ",", ", ", ";", " "]),
    header=st.booleans(),
    end=st.sampled_from(["\n", "\r\n"]),
    mark=st.sampled_from(["", "\ufeff"]),
)
def test_words_are_read_as_written(tmp_path_factory, words, form, delimiter, header, end, mark):
    rows = [
        form.format(w=word, c=category, i=place, d=delimiter)
        for place, (word, category) in enumerate(words)
    ]
    if header:
        rows.insert(0, form.format(w="word", c="category", i="id", d=delimiter))
    path = write(tmp_path_factory.mktemp("sets"), mark + end.join(rows) + end)

    assert read_categories(path) == [CategoryWord(*word) for word in words]


@pytest.mark.parametrize(
    "text",
    [
        ",category,word\n0,animal,cat\n1,verb,run\n",
        "\tcategory\tword\n0\tanimal\tcat\n1\tverb\trun\n",
        "Category;Word\nanimal;cat\nverb;run\n",
        "# of mine\n\ncat animal\nrun verb\ncat animal\n",
        "category,word,frequency,pos,index\nanimal,cat,10,n,0\nverb,run,5,n,1\n",
        '"","word","category","source"\n"0","cat","animal","a, b"\n"1","run","verb","c"\n',
        "word\tcategory\tx\ty\n0\tcat\tanimal\t1\t2\n1\trun\tverb\t3\t4\n",
        "word,category\ncat,animal\n",
    ],
)
def test_published_forms_are_distinguished(tmp_path, text):
    words = read_categories(write(tmp_path, text))

    expected = [CategoryWord("cat", "animal"), CategoryWord("run", "verb")]
    assert list(dict.fromkeys(words)) == expected[: len(words)]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", ": contains no words; expected lines of word, category or of number, category, word"),
        ("word,category\n", ": contains no words below its header; expected lines of word, c"),
        ("cat\tanimal\ndog\n", ":2: 'dog' is not 2 fields separated by tabs, with a word and"),
        (",category,word\n0,animal,cat\n1,,dog\n", ":3: '1,,dog' is not 3 fields separated by c"),
        ("cat,feline,animal\ndog,canine,animal\n",
         ":1: 'cat,feline,animal' does not start a list of words and categories; expected lines"),
        ("fruit,apple\nfruit,pear\nbeast,dog\nbeast,dog\n",
         ": contains 3 categories for 4 words; put the word before its category, or name the c"),
    ],
)  # fmt: skip
def test_malformed_categories_are_refused(tmp_path, text, said):
    assert refusal(read_categories, tmp_path, text).startswith(said)


@pytest.mark.parametrize(("name", "size"), [("ap", (402, 21)), ("bless", (200, 17))])
def test_published_sets_are_read_completely(shared_data, name, size):
    words = read_categories(shared_data / "evaluation" / "categorisation" / f"{name}.csv")

    assert (len(words), len({word.category for word in words})) == size


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "\ufeffking\r\nnew york\r\n\r\n# no\r\n東京\r\n",
            [("king", None), ("new york", None), ("東京", None)],
        ),
        (
            "cat\tanimal\ndog\tanimal\nrun\tto move\n",
            [("cat", "animal"), ("dog", "animal"), ("run", "to move")],
        ),
        (
            ",category,word\n0,animal,cat\n1,animal,dog\n2,verb,run\n",
            [("cat", "animal"), ("dog", "animal"), ("run", "verb")],
        ),
        ("king\tmale\nqueen\tfemale\n", [("king", "male"), ("queen", "female")]),
        ("word;group\na b;x\nc;y\n", [("a b", "x"), ("c", "y")]),
        ("king\nqueen, lady\nman\n", [("king", None), ("queen, lady", None), ("man", None)]),
        ("king\n,\n", [("king", None), (",", None)]),
    ],
)
def test_words_are_read_with_and_without_groups(tmp_path, text, expected):
    assert read_groups(write(tmp_path, text)) == expected


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_words_are_read_from_a_pipe(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    text = "cat\tanimal\ndog\tanimal\nrun\tverb\n"
    writer = threading.Thread(target=pipe.write_text, args=(text,))
    writer.start()
    assert read_groups(pipe) == [("cat", "animal"), ("dog", "animal"), ("run", "verb")]
    writer.join()


def test_malformed_word_files_are_refused(tmp_path):
    absent = tmp_path / "words.txt"
    assert message_of(SourceError, read_groups, absent) == f"{absent}: no such file of words"
    for text, said in (
        ("\n# nothing\n", ": contains no words; expected one word per line, or word, tab, group"),
        ("cat\tanimal\ndog\nbee\tanimal\n", ":2: 'dog' is not 2 fields separated by tabs"),
    ):
        assert refusal(read_groups, tmp_path, text).startswith(said)
