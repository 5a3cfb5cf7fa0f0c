"""German and Chinese end to end: letters, case and segmentation."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from firth import cli
from firth.corpora.store.corpus import Corpus

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


def firth(*arguments: object) -> tuple[str, str]:
    """Return the output and the notes of a command that succeeds."""
    result = CliRunner().invoke(cli.main, list(map(str, arguments)), catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout, result.stderr


def refusal(*arguments: object) -> str:
    """Return the error of a command that fails."""
    result = CliRunner().invoke(cli.main, list(map(str, arguments)), catch_exceptions=False)
    assert result.exit_code == 1, result.output
    return result.stderr


def build(folder: Path, text: str, *options: str, encoding: str = "utf-8") -> Path:
    """Build a corpus of a text without held-out documents."""
    source = folder / "text.txt"
    source.write_text(text, encoding=encoding)
    out = folder / f"corpus{''.join(options)}"
    firth("build-corpus", source, "--held-out", 0, *options, "--out", out, "--threads", 1)
    return out


def train(corpus: Path, method: str, *options: object) -> Path:
    """Train a small run on every word."""
    out = corpus.with_name(f"{corpus.name}-{method}")
    firth(f"train-{method}", corpus, "--min-count", 1, *options, "--out", out)
    return out


def count(corpus: Path, word: str) -> int:
    """Return the count of a word in a corpus."""
    vocabulary = Corpus.open(corpus).vocabulary
    row = vocabulary.id_of(word)
    return 0 if row is None else int(vocabulary.counts[row])


def sentences(corpus: Path) -> int:
    """Return the number of sentences in a corpus."""
    return int(json.loads(firth("corpus-info", corpus, "--json")[0])["sentences"])


@pytest.fixture(scope="module")
def german(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The German text with default settings."""
    return build(tmp_path_factory.mktemp("german"), GERMAN)


@pytest.fixture(scope="module")
def cased(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The German text with its capitals."""
    return build(tmp_path_factory.mktemp("cased"), GERMAN, "--keep-case")


@pytest.fixture(scope="module")
def german_run(german: Path) -> Path:
    """Vectors of the default corpus, with n-grams."""
    return train(german, "skipgram", "--dim", 8, "--subwords", "3-4", "--threads", 1)


@pytest.fixture(scope="module")
def cased_run(cased: Path) -> Path:
    """Vectors of words with capitals."""
    return train(cased, "svd", "--dim", 4)


@pytest.fixture(scope="module")
def jieba_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Vectors of the Chinese text segmented by jieba."""
    pytest.importorskip("jieba")
    corpus = build(tmp_path_factory.mktemp("jieba"), CHINESE, "--segmenter", "jieba")
    return train(corpus, "svd", "--dim", 4)


@pytest.fixture(scope="module")
def character_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Vectors of the characters of the Chinese text."""
    corpus = build(tmp_path_factory.mktemp("characters"), CHINESE, "--segmenter", "characters")
    return train(corpus, "svd", "--dim", 4)


def coverage(compared: str, run: Path) -> int:
    """Return how many items of a comparison's single set a run covers by itself."""
    results = json.loads(compared)["results"]
    found = [r for r in results if r["run"] == str(run) and not r["shared_items"]]
    return next(r["items_used"] for r in found if r["metric"] == "spearman")


def test_umlauts_and_sharp_s_are_kept(german):
    assert (count(german, "schon"), count(german, "schön")) == (2, 3)
    assert (count(german, "straße"), count(german, "strasse")) == (5, 0)
    assert (count(german, "äpfel"), count(german, "apfel")) == (2, 0)


def test_lower_casing_merges_a_noun_and_a_verb(german, cased):
    assert count(german, "wagen") == 6
    assert (count(cased, "Wagen"), count(cased, "wagen")) == (3, 3)


def test_keeping_case_splits_a_word_by_its_position_in_the_sentence(german, cased):
    assert count(german, "der") == count(cased, "der") + count(cased, "Der")
    assert count(cased, "Der") > 0


def test_titles_and_guillemets_neither_end_sentences_nor_become_words(german, german_run):
    assert count(german, "»") == 2
    assert "»" not in (german_run / "vocabulary.tsv").read_text(encoding="utf-8")
    assert sentences(german) == GERMAN.count(".") - 1  # the period of "Dr." ends no sentence


def test_latin_1_gives_the_same_words_as_utf_8(german, tmp_path):
    latin = GERMAN.replace("»", '"').replace("«", '"')
    built = build(tmp_path, latin, "--encoding", "latin-1", encoding="latin-1")
    assert count(built, "straße") == count(german, "straße")
    assert count(built, "schön") == count(german, "schön")


def test_undeclared_latin_1_is_refused_at_its_first_byte(tmp_path):
    source = tmp_path / "text.txt"
    source.write_text(GERMAN, encoding="latin-1", errors="replace")
    message = refusal("build-corpus", source, "--out", tmp_path / "out")
    assert message == (f"Error: {source}:1: byte 0xFC is not UTF-8; pass --encoding latin-1\n")


def test_a_query_is_normalized_like_its_corpus(german_run, cased_run):
    found, notes = firth("similarity", german_run, "STRASSE", "Straße", "--json")
    assert json.loads(found)["a"] == "strasse"  # as in Unicode: SS is not lowered to ß
    assert "'Straße' is read as 'straße'" in notes
    assert (
        json.loads(firth("similarity", german_run, "GROẞE", "große", "--json")[0])["a"] == "große"
    )
    assert json.loads(firth("similarity", cased_run, "Wagen", "wagen", "--json")[0])["a"] == "Wagen"
    assert "did you mean 'Straße'" in refusal("neighbors", cased_run, "straße")


def test_an_unseen_compound_is_composed_of_ngrams(german_run):
    _, notes = firth("neighbors", german_run, "Gartentisch", "-k", 3)
    assert "'gartentisch' is not in the vocabulary; its vector is composed of its n-grams" in notes


def test_a_set_with_capital_nouns_is_covered_with_and_without_case(german_run, cased_run, tmp_path):
    pairs = tmp_path / "pairs.txt"
    pairs.write_text(
        "Straße Brücke 7.5\nMüller Müllerin 8\nschön alt 3\nÄpfel Fluss 1\nHund Kinder 4,5\n",
        encoding="utf-8",
    )
    compared, _ = firth("compare", german_run, cased_run, "--similarity", pairs, "--json")
    assert (coverage(compared, german_run), coverage(compared, cased_run)) == (5, 5)


@pytest.mark.process
def test_jieba_finds_words_and_skips_full_width_punctuation(jieba_run):
    words = (jieba_run / "vocabulary.tsv").read_text(encoding="utf-8")
    assert {"北京", "老师", "图书馆"} <= {line.split("\t")[0] for line in words.splitlines()}
    assert not set("，。！？：“”") & set(words)


@pytest.mark.process
def test_chinese_sentences_end_at_their_own_full_stops(jieba_run):
    corpus = jieba_run.with_name(jieba_run.name.removesuffix("-svd"))
    assert sentences(corpus) == sum(CHINESE.count(mark) for mark in "。！？")


@pytest.mark.process
def test_the_characters_segmenter_has_no_multi_character_words(jieba_run, character_run, tmp_path):
    pairs = tmp_path / "pairs.txt"
    pairs.write_text("老师\t学生\t8\n北京\t上海\t7\n他\t我\t3\n去\t买\t2\n冷\t住\t1\n", "utf-8")
    compared, _ = firth("compare", jieba_run, character_run, "--similarity", pairs, "--json")
    assert (coverage(compared, jieba_run), coverage(compared, character_run)) == (5, 3)
    assert "'北京' is 2 words (北 京)" in refusal("neighbors", character_run, "北京")


def test_chinese_without_a_segmenter_gives_advice(tmp_path):
    source = tmp_path / "text.txt"
    source.write_text(CHINESE, encoding="utf-8")
    _, notes = firth("build-corpus", source, "--out", tmp_path / "out")
    assert "use --segmenter jieba (Chinese) or --segmenter characters" in notes


@pytest.mark.process
def test_jieba_joins_a_verb_and_its_object_into_one_word(jieba_run):
    corpus = jieba_run.with_name(jieba_run.name.removesuffix("-svd"))
    assert (count(corpus, "喝茶"), count(corpus, "茶")) == (3, 0)
    assert "no vector for '茶'" in refusal("neighbors", jieba_run, "茶")


@pytest.mark.process
def test_full_width_digits_and_traditional_characters_are_distinct_words(jieba_run):
    corpus = jieba_run.with_name(jieba_run.name.removesuffix("-svd"))
    assert (count(corpus, "３"), count(corpus, "3")) == (1, 0)
    assert "no vector for '學生'" in refusal("neighbors", jieba_run, "學生")


@pytest.mark.process
def test_reports_and_exports_keep_chinese_text(jieba_run, tmp_path):
    pairs = tmp_path / "pairs.txt"
    pairs.write_text("老师\t学生\t8\n北京\t上海\t7\n他\t我\t3\n", encoding="utf-8")
    page, vectors = tmp_path / "页.html", tmp_path / "向量.vec"
    firth("compare", jieba_run, "--similarity", pairs, "--report", page)
    firth("export", jieba_run, vectors, "--format", "word2vec-text")
    assert "学生" in page.read_text(encoding="utf-8")
    words = {line.split(" ")[0] for line in vectors.read_text(encoding="utf-8").splitlines()}
    assert {"学生", "图书馆"} <= words
    again, _ = firth("similarity", vectors, "老师", "学生", "--json")
    first, _ = firth("similarity", jieba_run, "老师", "学生", "--json")
    assert json.loads(again)["cosine"] == pytest.approx(json.loads(first)["cosine"], abs=1e-4)
