"""German and Chinese end to end: letters, case and segmentation."""

import json
from pathlib import Path

import pytest

from firth.corpora.store.corpus import Corpus
from tests.calls import command, output, refusal

GERMAN = """\
Der alte Müller wohnt in der schmalen Straße am Fluss. Schon früh am Morgen öffnet er das Tor.
Sein Wagen steht im Hof, und der Hund schläft unter dem Wagen. Heute wagen wir den weiten Weg.
»Schön ist der Garten«, sagt die Müllerin, »aber das Gras ist hoch.« Er hört ihr schon nicht zu.
In der Straße spielen große Kinder mit einem großen Ball. Die Straße ist schön, der Fluss tief.
Am Abend gehen die Kinder nach Hause. Der Hund läuft über die Straße und der Müller ruft den Hund.
Über dem Fluss steht eine Brücke. Unter der Brücke schwimmen Fische, auf ihr fährt ein Wagen.
Das Haus hat einen Garten. Im Garten steht ein Baum, und unter dem Baum steht ein Tisch.
Die Müllerin trägt Äpfel aus dem Garten in das Haus. Sie sind süß, und die Kinder essen die Äpfel.
Dr. Weiß kommt aus der Stadt. Er trinkt mit dem Müller Tee am Tisch unter dem Baum.
Wer viel zu wagen hat, der wagt nicht alles. Wir wagen es trotzdem, sagt der Müller.
Der Fluss führt im Frühling viel Wasser. Das Wasser ist kalt, und die Fische schwimmen tief.
Im Winter liegt Schnee auf der Straße. Die Kinder werfen Schnee, und der Hund frisst den Schnee.
Das Haus ist alt, aber schön. Das Tor ist groß, und der Hof ist größer.
Die Müllerin öffnet das Fenster und hört den Fluss. Der Müller schließt das Fenster am Abend.
Die Kinder lieben den Hund. Der Hund liebt die Kinder und das Wasser im Fluss.
"""
CHINESE = """\
老师在学校里教学生。学生在学校里学习。老师和学生都很高兴。
他的朋友住在北京，她的朋友住在上海。北京和上海都是大城市。
我们今天去公园，公园里有很多花。孩子们在公园里跑来跑去！
妈妈在厨房里做饭，爸爸在房间里看书。孩子在看书吗？
老师说：“今天的天气很好，我们去公园看花吧。”学生都很高兴。
我的朋友喜欢喝茶，不喜欢喝咖啡。老师也喜欢喝茶。
北京的冬天很冷，上海的冬天不太冷。我喜欢北京的冬天。
他买了３本书，都是关于中国历史的。学生喜欢看历史书。
孩子喜欢喝牛奶。妈妈给孩子买牛奶，也给爸爸买咖啡。
学校在公园旁边，公园在图书馆旁边。学生在图书馆里看书。
今天的天气很冷，孩子在房间里喝茶。妈妈说：明天去学校。
上海的图书馆很大，北京的图书馆也很大。我的老师住在上海。
"""


def build(folder: Path, text: str, *options: str) -> Path:
    """Build a corpus of a text without held-out documents."""
    source, out = folder / "text.txt", folder / "corpus"
    source.write_text(text, encoding="utf-8")
    output("build-corpus", source, "--held-out", 0, *options, "--out", out, "--threads", 1)
    return out


def train(corpus: Path, method: str, *options: object) -> Path:
    """Train a small run on every word."""
    out = corpus.with_name("run")
    output(f"train-{method}", corpus, "--min-count", 1, *options, "--out", out)
    return out


def counts(corpus: Path, words: str) -> list[int]:
    """Return the counts of some words in a corpus."""
    vocabulary = Corpus.open(corpus).vocabulary
    rows = [vocabulary.id_of(word) for word in words.split()]
    return [0 if row is None else int(vocabulary.counts[row]) for row in rows]


def sentences(corpus: Path) -> int:
    """Return the number of sentences in a corpus."""
    return int(json.loads(output("corpus-info", corpus, "--json"))["sentences"])


def covered(pairs: str, folder: Path, *runs: Path) -> list[int]:
    """Return how many pairs each run covers by itself."""
    (folder / "pairs.txt").write_text(pairs, encoding="utf-8")
    compared = output("compare", *runs, "--similarity", folder / "pairs.txt", "--json")
    results = [r for r in json.loads(compared)["results"] if r["metric"] == "spearman"]
    used = {r["run"]: r["items_used"] for r in results if not r["shared_items"]}
    return [used[str(run)] for run in runs]


def test_german_keeps_its_letters_and_capitals_on_request(tmp_path):
    for name in ("lower", "cased"):
        (tmp_path / name).mkdir()
    german = build(tmp_path / "lower", GERMAN)
    cased = build(tmp_path / "cased", GERMAN, "--keep-case")
    assert counts(german, "schon schön straße strasse äpfel apfel") == [2, 3, 5, 0, 2, 0]
    assert (counts(german, "wagen"), counts(cased, "Wagen wagen")) == ([6], [3, 3])
    assert counts(german, "der") == [sum(counts(cased, "der Der"))]
    assert sentences(german) == GERMAN.count(".") - 1  # the period of "Dr." ends no sentence

    lower_run = train(german, "skipgram", "--dim", 8, "--subwords", "3-4", "--threads", 1)
    cased_run = train(cased, "svd", "--dim", 4)
    assert "»" not in (lower_run / "vocabulary.tsv").read_text(encoding="utf-8")
    asked = command("similarity", lower_run, "STRASSE", "Straße", "--json")
    assert json.loads(asked.stdout)["a"] == "straße"  # SS is ß in capitals
    assert "'Straße' is read as 'straße'" in asked.stderr
    asked = output("similarity", lower_run, "GROẞE", "große", "--json")
    assert json.loads(asked)["a"] == "große"
    assert "'straße' is read as 'Straße'" in command("neighbors", cased_run, "straße").stderr
    composed = "'gartentisch' is not in the vocabulary; its vector is composed of its n-grams"
    assert composed in command("neighbors", lower_run, "Gartentisch", "-k", 3).stderr
    pairs = "Straße Brücke 7.5\nMüller Müllerin 8\nschön alt 3\nÄpfel Fluss 1\nHund Kinder 4,5\n"
    assert covered(pairs, tmp_path, lower_run, cased_run) == [5, 5]


def test_undeclared_latin_1_is_refused_at_its_first_byte(tmp_path):
    source = tmp_path / "text.txt"
    source.write_text(GERMAN, encoding="latin-1", errors="replace")
    message = refusal("build-corpus", source, "--out", tmp_path / "out")
    assert message == f"{source}:1: byte 0xFC is not UTF-8; pass --encoding latin-1"


@pytest.mark.process
def test_chinese_is_split_into_words_or_characters(tmp_path):
    pytest.importorskip("rjieba")
    for name in ("jieba", "characters"):
        (tmp_path / name).mkdir()
    words = build(tmp_path / "jieba", CHINESE, "--segmenter", "jieba")
    characters = build(tmp_path / "characters", CHINESE, "--segmenter", "characters")
    assert sentences(words) == sum(CHINESE.count(mark) for mark in "。！？")
    assert counts(words, "喝茶 茶 ３ 3") == [3, 0, 1, 0]

    word_run, character_run = (train(each, "svd", "--dim", 4) for each in (words, characters))
    vocabulary = (word_run / "vocabulary.tsv").read_text(encoding="utf-8")
    assert {"北京", "老师", "图书馆"} <= {line.split("\t")[0] for line in vocabulary.splitlines()}
    assert not set("，。！？：“”") & set(vocabulary)
    for word in ("茶", "學生"):  # part of a word; traditional
        assert f"no vector for '{word}'" in refusal("neighbors", word_run, word)
    assert "'北京' is 2 words (北 京)" in refusal("neighbors", character_run, "北京")
    pairs = "老师\t学生\t8\n北京\t上海\t7\n他\t我\t3\n去\t买\t2\n冷\t住\t1\n"
    assert covered(pairs, tmp_path, word_run, character_run) == [5, 3]

    page, vectors = tmp_path / "页.html", tmp_path / "向量.vec"
    output("compare", word_run, "--similarity", tmp_path / "pairs.txt", "--report", page)
    assert "学生" in page.read_text(encoding="utf-8")
    output("export", word_run, vectors, "--format", "word2vec-text")
    first, again = (
        json.loads(output("similarity", run, "老师", "学生", "--json"))["cosine"]
        for run in (word_run, vectors)
    )
    assert again == pytest.approx(first, abs=1e-4)


def test_chinese_without_a_segmenter_gives_advice(tmp_path):
    (tmp_path / "text.txt").write_text(CHINESE, encoding="utf-8")
    built = command("build-corpus", tmp_path / "text.txt", "--out", tmp_path / "out")
    assert "use --segmenter jieba (Chinese) or --segmenter characters" in built.stderr
