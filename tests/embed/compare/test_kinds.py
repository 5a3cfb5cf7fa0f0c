"""Kinds of sets: recognized by their content, refused in doubt, and added by a class and a line."""

import importlib
import sys
import types
from functools import partial

import numpy as np
import pytest

from firth.corpora.common.errors import SettingError
from firth.embed.commands import compare
from firth.embed.compare.config import CompareConfig
from firth.embed.compare.datasets.fields import read_bytes, read_rows
from firth.embed.compare.datasets.head import Head, Match
from firth.embed.compare.datasets.parts import set_name
from firth.embed.compare.kinds import KINDS, Kind
from firth.embed.compare.scoring.cache import MeasurementCache
from firth.embed.compare.scoring.sets import named_sets, split_arguments
from firth.embed.compare.statistics.estimators import Means
from firth.embed.compare.task import task_class
from firth.embed.compare.tasks.word_task import WordTask
from firth.embed.vectors.word_vectors import WordVectors
from tests.calls import output

CONLLU = "1\ta\ta\tNOUN\t_\t_\t0\troot\t_\t_\n2\tb\tb\tVERB\t_\t_\t1\tdep\t_\t_\n\n"
WEAT = "target x: a, b\ntarget y: c, d\nattribute p: e, f\nattribute q: g, h\n"
SENTENCES = "".join(f"{n % 2} a sentence of {'some ' * (n % 5)}words\n" for n in range(20))
FORMS = {
    "similarity": [
        "man\tking\t8\nman\twoman\t5\n",
        "word1,word2,SimLex999\nold,new,1.58\nhot,cold,2.1\n",
        "".join(f"a{n} b {n}\n" for n in range(20)) + "a line that is malformed in a long set\n",
    ],
    "analogy": [
        ": capitals\nAthens Greece Oslo Norway\n", "good\tbetter\tbad\tworse\n",
        "king\tkings\nyear\tyears/ages\n",
    ],
    "categorization": [
        ",category,word\n0,fruit,pear\n1,fruit,fig\n",
        "word\tcategory\ncat\tpet\ndog\tpet\nowl\tpet\n", "cat\tpet\ndog\tpet\nowl\tpet\n",
    ],
    "labels": [
        "word\tlabel\ncat\tpet\ndog\tpet\n", "word,pos\nsea,noun\nday,noun\nsee,verb\ngo,verb\n",
    ],
    "ratings": [
        "word\tvalence\nsea\t6.1\nwar\t2\n", "Word,Valence,ValenceSD\nsea,6.1,1\nwar,2,1\n",
    ],
    "odd-one-out": [
        ",category,outliers,words\n0,cars,\"['Opel']\",\"['Apple', 'HP']\"\n", "a\nb\nc\n\nd\ne\n",
    ],
    "contexts": [
        "1\ta\tn\tb\tn\ta <b>a</b> c\ta <b>b</b> d\t7.5\n",
        "carry\tV\t2-1\tYou must carry it\tHe carries on\n",
        "word1\tword2\tcontext1\tcontext2\tsim1\tsim2\na\tb\tc\td\t1\t2\n",
    ],
    "sentences": [
        SENTENCES, "label\tsentence\n1\tgood film\n", '{"label": 1, "text": "good film"}\n',
        "DESC:manner How did he go ?\n" * 3 + "HUM:ind Who is it then , and where ?\n" * 3,
    ],
    "minimal-pairs": ['{"sentence_good": "A cat is.", "sentence_bad": "A cat are."}\n'],
    "change": ["king\t0.3\nsea\t0.1\n", "word\tscore\nplane_nn\t0.88\ntree_nn\t0.07\n"],
    "association": [WEAT, '{"targets": {"x": ["a", "b"]}, "attributes": {"p": ["c", "d"]}}\n'],
}  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "text"), [(kind, text) for kind, texts in FORMS.items() for text in texts]
)
def test_a_set_is_recognized_by_its_content(tmp_path, kind, text):
    path = tmp_path / "set.txt"
    path.write_text(text)

    assert [each for each, _ in named_sets(CompareConfig(sets=(str(path),)))] == [kind]
    assert split_arguments([str(path), "run"]) == (["run"], [str(path)])


@pytest.mark.parametrize(
    ("kind", "name", "text"),
    [
        ("analogy", "a/1.txt", FORMS["analogy"][2]), ("odd-one-out", "1.txt", "a\nb\n\nc\n"),
        ("minimal-pairs", "a.jsonl", FORMS["minimal-pairs"][0]),
        ("contexts", "test/test.data.txt", FORMS["contexts"][1]),
    ],
)  # fmt: skip
def test_a_folder_is_recognized_by_its_files(tmp_path, kind, name, text):
    file = tmp_path / "set" / name
    file.parent.mkdir(parents=True)
    file.write_text(text)

    assert named_sets(CompareConfig(sets=(str(tmp_path / "set"),)))[0][0] == kind
    assert split_arguments([str(tmp_path / "set")])[1]


def test_parts_of_a_set_are_recognized_together(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, text in (("train", CONLLU), ("test", CONLLU), ("a", SENTENCES), ("b", SENTENCES)):
        (tmp_path / name).write_text(text)
    given = ("a,b", "train,test", "two-tags")

    assert [kind for kind, _ in named_sets(CompareConfig(sets=given))] == ["tagging"] * 2 + [
        "sentences"
    ]
    assert split_arguments(given) == ([], list(given))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (CONLLU, "is a set of no known form; name its kind, such as `similarity="),
        ("a\nb\nc\n", "is a set of no known form"),
        ('{"targets": [], "sentence_good": "", "sentence_bad": ""}\n', "may be a set of"),
    ],
)
def test_a_set_of_no_kind_or_of_two_is_refused_with_the_option_to_use(tmp_path, text, words):
    path = tmp_path / "set.txt"
    path.write_text(text)

    with pytest.raises(SettingError, match=words):
        named_sets(CompareConfig(sets=(str(path),)))
    named = named_sets(CompareConfig(sets=(f"tagging={path}",)))
    assert named == [("tagging", path)]


def test_vectors_are_runs_and_other_files_are_refused(tmp_path):
    vectors, prose = tmp_path / "vectors.txt", tmp_path / "prose.txt"
    vectors.write_text("king 0.1 0.2 0.3\nsea 0.3 0.4 0.5\n")
    prose.write_text("Once upon a time\nthere was\n")

    assert split_arguments([str(vectors), "gone"]) == ([str(vectors), "gone"], [])
    with pytest.raises(SettingError, match="neither vectors nor a set of a known form"):
        split_arguments([str(prose)])


class SynonymTask(WordTask):
    """Lines that start with a question mark, all of them answered right."""

    key, skill, metrics = "synonyms", "synonyms", {"right": "share of right answers"}

    def __init__(self, dataset, lines):
        object.__setattr__(self, "dataset", dataset)
        object.__setattr__(self, "lines", lines)

    @classmethod
    def recognize(cls, head):
        return Match.CERTAIN if head.text.startswith("?") else Match.NO

    @classmethod
    def read(cls, path, config):
        return cls(set_name(path), [row.text.split()[1:] for row in read_rows(path)])

    def items(self):
        return self.lines

    def measure(self, vectors, items, unknown="skip"):
        found = self._look_up(vectors, items, unknown)
        return [self._measurement("right", found.items, Means(np.ones(len(found.items))), None)]


@pytest.fixture
def compare_again():
    """Make the command again, with the kinds of that moment, and after the test with ours."""
    yield lambda: importlib.reload(compare)
    importlib.reload(compare)


def test_a_task_is_a_class_and_a_line(compare_again, tmp_path, monkeypatch):
    module = types.ModuleType("firth.embed.compare.tasks.synonyms")
    module.SynonymTask = SynonymTask
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setattr("firth.embed.compare.tasks.synonyms", module, raising=False)
    monkeypatch.setitem(KINDS, "synonyms", Kind("synonyms:SynonymTask", "questions and answers"))
    compare_again()
    assert "--synonyms (questions and" in " ".join(output("compare", "--help").split())
    (tmp_path / "run").mkdir()
    WordVectors(["a", "b", "c"], np.eye(3, dtype=np.float32)).write(tmp_path / "run")
    (tmp_path / "set.txt").write_text("? a b\n? b c\n")
    page = tmp_path / "page.html"
    printed = partial(output, "compare", tmp_path / "run", tmp_path / "set.txt")

    assert task_class("synonyms") is SynonymTask
    assert "at synonyms (set)" in printed("--report", page)
    assert '"task": "synonyms"' in printed("--json")
    assert "<b>right</b>: share of right answers." in page.read_text(encoding="utf-8")


def test_help_lists_every_kind():
    shown = " ".join(output("compare", "--help").split())
    for kind in KINDS.values():
        assert kind.files.replace("-", "") in shown.replace("- ", "").replace("-", "")


class OwnStatistic(Means):
    """A statistic that the cache does not know."""


def test_a_metric_of_ones_own_is_measured_each_time(tmp_path, monkeypatch):
    monkeypatch.setenv("FIRTH_CACHE", str(tmp_path))
    monkeypatch.setitem(SynonymTask.measure.__globals__, "Means", OwnStatistic)
    vectors = WordVectors(["a", "b"], np.eye(2, dtype=np.float32))
    cache = MeasurementCache(SynonymTask("set", [["a", "b"]]), {"run": "content"})
    for _ in range(2):
        (found,) = cache.measure("run", vectors, np.array([True]), "skip")
        assert isinstance(found.statistic, OwnStatistic)
    assert list(tmp_path.rglob("*.npz")) == []


def test_a_set_in_utf16_is_recognized_and_read(tmp_path):
    path = tmp_path / "pairs.tsv"
    path.write_text("king\tqueen\t8\nman\twoman\t9\nday\tnight\t3\n", encoding="utf-16")
    assert Head.of(str(path)).lines[0] == "king\tqueen\t8"
    assert read_bytes(path).startswith(b"king\tqueen\t8")
