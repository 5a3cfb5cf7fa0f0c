"""Words in context and entities in the exact forms in which they were published."""

import pytest

from firth.corpora.common.errors import SettingError, SourceError
from firth.embed.compare.config import CompareConfig
from firth.embed.compare.datasets.context_pairs import read_contexts
from firth.embed.compare.datasets.labeled_sentences import read_sentence_parts
from firth.embed.compare.datasets.tagged_words import read_parts, read_tagged
from firth.embed.compare.statistics.span_f1 import are_entities, spans
from firth.embed.compare.tasks.words_in_context import ContextsTask
from tests.embed.compare.datasets.set_files import write
from tests.embed.compare.measuring import read_task
from tests.embed.compare.refusals import message_of

# Our own sentences with the columns, marks, spacing and line ends of the published files.
WIC_DATA = (
    "shore\tN\t2-0\tFrom the shore we saw nothing .\tShore leave is over at noon .\n"
    "drive\tV\t0-3\tDrive me home .\tThe heat will drive them out , sooner or later .\n"
    "note\tN\t1-4\tA note of sadness .\tShe left me a note\n"
)
WIC_GOLD = "F\nF\nF\n"

COLUMNS = (
    "word1\tword2\tcontext1\tcontext2\tsim1\tsim2\tstdev1\tstdev2\tpvalue\t"
    "word1_context1\tword2_context1\tword1_context2\tword2_context2\n"
)
CONTEXTS = (
    'He said: "the <strong>rivers</strong> rise." A <strong>valley</strong> was lost\t'
    "Each <strong>valley</strong> has its <strong>river</strong>."
)
INFLECTED = "rivers\tvalley\triver\tvalley"
COSIMLEX = f"{COLUMNS}river\tvalley\t{CONTEXTS}\t3.27\t4.37\t1.89\t1.79\t0.041\t{INFLECTED}\n"

SEMEVAL_DATA = (
    "word1\tword2\tcontext1\tcontext2\t"
    "word1_context1\tword2_context1\tword1_context2\tword2_context2\n"
    f"river\tvalley\t{CONTEXTS}\t{INFLECTED}\n"
)
SEMEVAL_GOLD = "sim_context1\tsim_context2\tchange\n3.27\t4.37\t1.10\n"

CONLL_IOB1 = """-DOCSTART- -X- O O

Mayor NNP I-NP O
Ada NNP I-NP I-PER
North NNP I-NP I-PER
Bob NNP B-NP B-PER
met VBD I-VP O
Acme NNP I-NP I-ORG
in IN I-PP O
Oslo NNP I-NP I-LOC
. . O O

-DOCSTART- -X- O O

# # I-NP O
1 CD I-NP O

"""
CONLL_BIO = (
    CONLL_IOB1.replace("Ada NNP I-NP I", "Ada NNP B-NP B")
    .replace("I-ORG", "B-ORG")
    .replace("I-LOC", "B-LOC")
)


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_published_wic_is_read(tmp_path, end):
    data = write(tmp_path / "dev", WIC_DATA.replace("\n", end), "dev.data.txt")
    write(tmp_path / "dev", WIC_GOLD.replace("\n", end), "dev.gold.txt")

    found = read_contexts(data)

    assert found.form == "wic"
    marked = [
        tuple(target.parts[1] for target in (pair.first, pair.second)) for pair in found.pairs
    ]
    assert marked == [("shore", "Shore"), ("Drive", "drive"), ("note", "note")]
    assert [pair.gold for pair in found.pairs] == [0, 0, 0]


@pytest.mark.parametrize("gold", ["data/gold_en.tsv", "gold/gold_en.tsv"])
def test_cosimlex_as_distributed_by_semeval_is_read(tmp_path, gold):
    data = write(tmp_path / "data", SEMEVAL_DATA, "data_en.tsv")
    write(tmp_path, SEMEVAL_GOLD, gold)
    whole = write(tmp_path, COSIMLEX, "cosimlex_en.tsv")

    assert read_contexts(data) == read_contexts(whole)


def test_mismatched_judgments_are_refused(tmp_path):
    data = write(tmp_path, SEMEVAL_DATA, "data_en.tsv")
    with pytest.raises(SourceError, match="here or in a file named gold beside one named data"):
        read_contexts(data)

    gold = write(tmp_path, SEMEVAL_GOLD + "1\t2\t1\n", "gold_en.tsv")
    assert (
        message_of(SourceError, read_contexts, data)
        == f"{gold}: has 3 lines for the 2 lines of {data}"
    )


def test_both_forms_of_conll_2003_mark_the_same_entities(tmp_path):
    old, new = (write(tmp_path, text, name) for name, text in (("a", CONLL_IOB1), ("b", CONLL_BIO)))

    one, other = read_tagged(old), read_tagged(new)

    assert one.words == ["Mayor", "Ada", "North", "Bob", "met", "Acme", "in", "Oslo", ".", "#", "1"]
    assert one.offsets.tolist() == [0, 9, 11]
    assert (other.words, other.offsets.tolist()) == (one.words, [0, 9, 11])
    assert are_entities(one.labels)
    assert one.labels != other.labels
    entities = {(1, 3, "PER"), (3, 4, "PER"), (5, 6, "ORG"), (7, 8, "LOC")}
    assert spans(one.labels, one.offsets) == spans(other.labels, other.offsets) == entities
    assert read_parts(f"{old},{new}").test.labels == other.labels


TREC = "HUM:ind Who was Faberg\u00e9 ?\nNUM:date When was it ?\nHUM:gr Who ?\nNUM:count How ?\n"


def test_published_trec_is_read_with_coarse_and_with_fine_labels(tmp_path):
    file = tmp_path / "train_5500.label"
    file.write_bytes(TREC.encode("latin-1"))
    named = f"{file},{file}"
    with pytest.raises(SourceError, match=r"0xE9 is not UTF-8.*such as `encoding=latin-1`$"):
        read_task("sentences", named, CompareConfig())

    config = CompareConfig(encoding="latin-1")
    [coarse] = read_task("sentences", named, config).folds
    with pytest.raises(SourceError, match="4 labels for 4 sentences"):
        read_task("sentences", named, CompareConfig(encoding="latin-1", fine_labels=True))

    assert coarse.texts[0] == "Who was Faberg\u00e9 ?"
    assert coarse.classes == ["HUM", "NUM"]
    text = write(tmp_path, TREC * 2, "utf8")  # the encoding is for files that are not UTF-8
    fine = read_sentence_parts(f"{text},{text}", fine=True)
    assert fine.train.labels[:2] == ("HUM:ind", "NUM:date")
    assert read_task("sentences", f"{text},{text}", config).folds[0].texts[0] == coarse.texts[0]
    for unfit in ("latin-11", "hex", "rot13", "undefined"):
        with pytest.raises(SettingError, match=f"`encoding={unfit}` is not a text encoding; try"):
            read_task("sentences", named, CompareConfig(encoding=unfit))


def test_the_folder_of_wic_is_read(tmp_path):
    for part in ("train", "dev", "test"):
        write(tmp_path / part, WIC_DATA, f"{part}.data.txt")
    with pytest.raises(SourceError, match=r"contains no dev\.data\.txt or test\.data\.txt with"):
        ContextsTask.parts(tmp_path)

    dev, test = (tmp_path / part / f"{part}.data.txt" for part in ("dev", "test"))
    gold = [write(tmp_path / part, WIC_GOLD, f"{part}.gold.txt") for part in ("dev", "test")]

    assert ContextsTask.parts(tmp_path) == [dev, test]
    assert ContextsTask.files(tmp_path) == [tmp_path, dev, test, *gold]
    task = read_task("contexts", tmp_path, CompareConfig())
    assert (task.dataset, task.dev.n_items) == (f"{tmp_path.name}/test", 3)
    gold[1].unlink()
    assert ContextsTask.parts(tmp_path) == [dev]
    write(tmp_path / "fr", WIC_DATA, "dev.data.txt")
    with pytest.raises(
        SourceError, match=r"contains dev.dev\.data\.txt and fr.dev\.data\.txt; pass"
    ):
        ContextsTask.parts(tmp_path)
