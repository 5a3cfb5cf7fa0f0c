"""CoNLL-U: tokens, sentences, paragraphs and documents as annotated."""

import lzma

import pytest

from firth.corpora.common.errors import SourceError

SAMPLE = """\
# newdoc id = first
# sent_id = 1
# newpar
1-2\tvámonos\t_\t_\t_\t_\t_\t_\t_\t_
1\tvamos\tir\tVERB\t_\t_\t0\troot\t_\t_
2\tnos\tnosotros\tPRON\t_\t_\t1\tobj\t_\t_
3\tal\t_\tADP\t_\t_\t1\tx\t_\t_

1\tSue\tSue\tPROPN\t_\t_\t0\troot\t_\t_
1.1\tlikes\tlike\tVERB\t_\t_\t_\t_\t_\t_
2\t10 000\t10 000\tNUM\t_\t_\t1\tx\t_\t_

# sent_id = 3
# newpar id = p2
1\t_\t_\tPUNCT\t_\t_\t0\troot\t_\t_

# newdoc
1\tEnde\tEnde\tNOUN\t_\t_\t0\troot\t_\t_
"""


@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
@pytest.mark.parametrize("block_bytes", [1, 40, 1 << 20])
def test_forms_are_surface_tokens(line_end, block_bytes, write, read_all):
    write("a.conllu", SAMPLE.replace("\n", line_end))
    reading = read_all("a.conllu", block_bytes=block_bytes)
    assert all(block.pretokenized for block in reading.blocks)
    first, second = reading.documents
    # where blocks are as small as this, a cut between sentences ends a paragraph
    text = first.text if block_bytes > 1000 else first.text.replace("al\n", "al\x1e")
    assert text == "vámonos\x1fal\x1eSue\x1f10 000\n_\n"
    assert second.text == "Ende\n"
    assert (first.fields, second.fields) == ({"id": "first"}, {"id": ""})
    assert (first.position, second.position) == (1, 17)


def test_lemmas_are_those_of_the_words_of_a_multiword_token(write, read_all):
    write("a.conllu", SAMPLE)
    reading = read_all("a.conllu", field="lemma")
    assert reading.texts[0] == "ir\x1fnosotros\x1fal\x1eSue\x1f10 000\n_\n"
    assert reading.counts == {"missing_lemmas": 1}


def test_a_file_without_newdoc_is_one_document(write, read_all):
    word = "1\ta\ta\tX\t_\t_\t0\troot\t_\t_\n"
    write("a.conllu", ("# newpar\n" + word + "\n" + word + "\n") * 50)
    for block_bytes in (1, 200, 1 << 20):
        reading = read_all("a.conllu", block_bytes=block_bytes)
        assert len(reading.documents) == 1
        assert reading.texts[0].replace("\x1e", "\n").split("\n")[:-1] == ["a"] * 100
    assert reading.texts == ["a\x1ea\n" * 50]
    assert read_all("a.conllu", block_bytes=200).texts == reading.texts


def test_errors_name_file_and_line(write, read_all):
    for bad, message in {
        "2\ta\ta\n": "3 columns, but CoNLL-U has 10; fix the line, or pass `format=text`",
        "x" + "\t_" * 9 + "\n": "'x' is not a word number; fix the line",
    }.items():
        write("a.conllu", SAMPLE + bad)
        for block_bytes in (1, 1 << 20):
            with pytest.raises(SourceError) as caught:
                read_all("a.conllu", block_bytes=block_bytes)
            assert str(caught.value) == f"a.conllu:19: {message}"
    write("a.conllu", SAMPLE)
    with pytest.raises(SourceError) as caught:
        read_all("a.conllu", field="upos")
    assert str(caught.value) == "a.conllu: no field 'upos'; the fields are: form, lemma"


def test_no_treebank_token_is_lost(shared_data, read_all):
    path = shared_data / "evaluation/ud_ewt/en_ewt-ud-dev.conllu.xz"
    lines = lzma.decompress(path.read_bytes()).decode().split("\n")
    cells = [line.split("\t") for line in lines if line[:1].isdigit()]
    words = [row for row in cells if row[0].isdigit()]
    reading = read_all(path, field="lemma")
    for mark in "\x1e\n":
        reading.documents = [
            type(d)(d.text.replace(mark, "\x1f"), d.position, d.source) for d in reading.documents
        ]
    tokens = "".join(reading.texts).split("\x1f")[:-1]
    assert tokens == [row[2] if row[2] != "_" else row[1] for row in words]
    assert len(reading.documents) == sum(line.startswith("# newdoc") for line in lines)


def sentence(*heads):
    """Return a sentence of CoNLL-U whose words have these heads."""
    lines = [f"{n}\tw{n}\tw{n}\tX\t_\t_\t{head}\tx\t_\t_\n" for n, head in enumerate(heads, 1)]
    return "".join(lines) + "\n"


@pytest.mark.parametrize("block_bytes", [1, 1 << 20])
def test_heads_are_distances_between_tokens(block_bytes, write, read_all):
    """Of the multiword token 3-4 that of word 4, which is nearer to the root; 5.1 is no word."""
    write(
        "a.conllu",
        sentence(2, 0, 2, 5, 2)
        .replace("3\tw3", "3-4\tw34" + "\t_" * 8 + "\n3\tw3")
        .replace("3\tw3\tw3\tX\t_\t_\t2", "3\tw3\tw3\tX\t_\t_\t4")
        .replace("\n\n", "\n5.1\tw\t_\t_\t_\t_\t_\t_\t_\t_\n\n")
        + sentence(0)
        + sentence("_", 1, 1),
    )

    forms, lemmas = (
        [
            distance
            for block in read_all("a.conllu", block_bytes=block_bytes, field=field).blocks
            for distance in (len(block.text.split()) * [0] if block.heads is None else block.heads)
        ]
        for field in ("form", "lemma")
    )

    assert forms == [1, 0, 1, -2, 0, 0, -1, -2]  # w1 w2 w34 w5; w1; w1 w2 w3
    assert lemmas == [1, 0, 1, 1, -3, 0, 0, -1, -2]


def test_a_text_without_heads_has_none(write, read_all):
    write("a.conllu", sentence("_", "_") + sentence(0))
    assert read_all("a.conllu").blocks[0].heads is None


@pytest.mark.parametrize(
    "heads",
    [(2, 0, "x"), (2, 0, "-1"), (2, 0, ""), (2, 0, "9" * 5000), (2, 0, 4), (0, 3, 2), (1, 0, 2)],
    ids=lambda heads: str(heads)[:20],
)
def test_heads_that_are_no_tree_are_unknown_and_counted(heads, write, read_all):
    write("a.conllu", sentence(2, 0) + sentence(*heads))
    reading = read_all("a.conllu")
    assert reading.blocks[0].heads.tolist() == [1, 0, 0, 0, 0]
    assert reading.counts["no_trees"] == 1


def test_an_open_head_does_not_hide_that_of_the_other_word_of_a_token(write, read_all):
    heads = {"1": "_", "2-3": "_", "2": "_", "3": "4", "4": "0"}
    lines = ["\t".join([word, "w", *"_" * 4, head, *"_" * 3]) for word, head in heads.items()]
    write("a.conllu", "\n".join(lines) + "\n\n")
    assert read_all("a.conllu").blocks[0].heads.tolist() == [0, 1, 0]
