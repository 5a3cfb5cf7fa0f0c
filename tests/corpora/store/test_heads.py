"""Syntactic heads in a corpus: beside their tokens, whatever is dropped, sampled or held out."""

import itertools
from concurrent.futures import ThreadPoolExecutor

import pytest

from firth.corpora.encoding.phrase_options import PhraseOptions
from firth.corpora.encoding.pipeline import encode_corpus
from firth.corpora.encoding.request import BuildOptions, make_request
from firth.corpora.store.corpus import Corpus
from firth.corpora.store.statistics import describe
from firth.corpora.text.segment import TextSettings
from tests.corpora.small_corpora import arrays
from tests.pretrain.small_training import chains, conllu, tree_corpus_of

SIZES = {"shard_tokens": 300, "block_bytes": 700}
# of each word the one that it depends on; \x7f is dropped, since it is a control character
TREE = {
    "the": "dog",
    "dog": "barks",
    "barks": None,
    "\x7f": "barks",
    "loudly": "\x7f",
    ".": "barks",
}
HEADS = [list(TREE).index(head) + 1 if head else 0 for head in TREE.values()]


def edges(view):
    """Return words with their heads, sentence by sentence, of a view by sentences."""
    found = []
    for (rows, offsets), heads in zip(view.shards(), view.heads(), strict=True):
        assert len(heads) == len(rows)
        for start, stop in itertools.pairwise(offsets.tolist()):
            places = [place + int(heads[place]) for place in range(start, stop)]
            assert all(start <= place < stop for place in places)
            words = [view.words[row] for row in rows]
            found.append([(words[n], words[place]) for n, place in enumerate(places, start)])
    return found


def build(folder, content, *, name="out", sizes=SIZES, phrases=None, text=None, **options):
    """Build a corpus of one file without starting other processes, which takes seconds."""
    path = folder / "a.conllu"
    path.write_text(content, encoding="utf-8")
    options = BuildOptions(**{"held_out": 0.0, "threads": 1, **options})
    request = make_request([path], text=text, options=options, phrases=phrases)
    with ThreadPoolExecutor(1) as executor:
        return encode_corpus(request, folder / name, executor=executor, **sizes)


def test_heads_stay_with_their_words_where_a_token_is_dropped(tmp_path):
    corpus = build(tmp_path, conllu(TREE, HEADS) * 40)

    assert corpus.keeps_heads
    assert len(corpus.shards) == 1  # a document
    kept = {word: head for word, head in TREE.items() if word != "\x7f"}
    expected = [(word, head if head in kept else word) for word, head in kept.items()]
    assert edges(corpus.view()) == [expected] * 40


def test_all_other_arrays_are_those_of_the_same_text_without_heads(tmp_path):
    words = ["\u00ad", "Né", "10 000", "\x7f", "a\x7f", "", "."]
    nothing = "# newpar\n" + conllu(["\x7f"], [0]) + "# newpar\n"
    settings = {"keep_text": True, "text": TextSettings(strip_accents=True)}

    given, unknown = (
        build(tmp_path, (conllu(words, heads) + nothing) * 40, name=name, **settings)
        for name, heads in (("given", [2, 0, 2, 3, 4, 5, 1]), ("unknown", "_" * 7))
    )

    # ne, 10 000, a and the full stop; the heads of the last two are dropped
    assert given.shards[0].heads.tolist() == [0, -1, 0, 0] * 40
    for with_heads, without in zip(given.shards, unknown.shards, strict=True):
        for path in without.directory.iterdir():
            assert (with_heads.directory / path.name).read_bytes() == path.read_bytes(), path.name


def test_words_without_a_row_leave_no_edge(tmp_path):
    rare = {"the": "cat", "cat": "barks", "barks": None}
    heads = [2, 3, 0]
    corpus = build(tmp_path, conllu(TREE, HEADS) * 3 + conllu(rare, heads))

    pruned = build(tmp_path, conllu(TREE, HEADS) * 3, name="pruned", max_types=3)

    found = edges(corpus.view(min_count=3, punctuation="drop"))

    assert found[-1] == [("the", "the"), ("barks", "barks")]  # the head of "the" has no row
    assert found[0] == [("the", "dog"), ("dog", "barks"), ("barks", "barks"), ("loudly", "loudly")]
    assert edges(pruned.view())[0] == [("dog", "barks"), ("barks", "barks"), (".", "barks")]


def test_every_sentence_has_its_tree_in_all_parts_of_the_text(tmp_path):
    corpus = tree_corpus_of(tmp_path)
    blocks = (tmp_path / "trees.conllu").read_text().split("\n\n")[:-1]
    expected = set()
    for block in blocks:
        cells = [line.split("\t") for line in block.split("\n") if line[0] != "#"]
        words = [row[1] for row in cells]
        heads = [words[int(row[6]) - 1] if int(row[6]) else row[1] for row in cells]
        expected.add(tuple(zip(words, heads, strict=True)))

    sample = corpus.sample(1000)
    parts = [corpus.view(), corpus.view(documents="held-out"), sample.view()]

    found = [set(map(tuple, edges(view))) for view in parts]
    assert found[0] | found[1] == expected
    assert found[2] < found[0]


@pytest.mark.process
def test_arrays_with_heads_do_not_depend_on_threads_processes_or_blocks(tmp_path):
    text = "".join(
        f"# newdoc\n{conllu(TREE, HEADS) if n % 3 else conllu(TREE, [0] * 6)}" for n in range(200)
    )
    text += "".join(conllu([word], [0]) for word in chains(100))

    one = build(tmp_path, text, name="one")
    request = make_request([tmp_path / "a.conllu"], options=BuildOptions(held_out=0.0, threads=2))
    two = encode_corpus(request, tmp_path / "two", **SIZES)
    whole = build(tmp_path, text, name="whole", sizes={**SIZES, "block_bytes": 1 << 20})

    assert len(one.shards) > 2
    assert arrays(one) == arrays(two)
    assert edges(whole.view()) == edges(one.view())


def test_a_text_without_trees_has_no_array_of_heads(tmp_path):
    corpus = build(tmp_path, conllu("abc", ["_", "_", "_"]))
    assert not corpus.keeps_heads
    assert not list(corpus.path.rglob("heads*"))
    assert [*corpus.shards[0].heads] == [0] * corpus.n_tokens


def test_text_without_trees_beside_text_with_trees_has_unknown_heads(tmp_path):
    texts = {"1.txt": "b a\n", "2.conllu": conllu("ab", [2, 0]), "3.txt": "a b\n"}
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    request = make_request(
        [tmp_path / name for name in texts],
        text=TextSettings(segmenter="whitespace"),
        options=BuildOptions(held_out=0.0, threads=1),
    )
    with ThreadPoolExecutor(1) as executor:
        corpus = encode_corpus(request, tmp_path / "out", executor=executor)
    assert corpus.shards[0].heads.tolist() == [0, 0, 1, 0, 0, 0]
    assert Corpus.open(corpus.path).keeps_heads
    assert describe(corpus)["share_with_heads"] == 1 / 6


def test_joined_phrases_keep_no_heads(tmp_path):
    rules = PhraseOptions(phrases="ratio", phrase_min_count=1, phrase_threshold=0.1)
    corpus = build(tmp_path, conllu(TREE, HEADS) * 40, phrases=rules)
    assert not corpus.keeps_heads
