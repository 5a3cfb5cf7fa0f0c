"""Labeling words: inputs, probes, held-out parts, metrics and notes."""

import re
import weakref
from pathlib import Path

import numpy as np
import pytest
from tokenizers import Tokenizer, models, pre_tokenizers, trainers

from firth.corpora.common.errors import ArtifactError
from firth.corpora.text.segment import TextSettings
from firth.corpora.tokenizer.external import ExternalTokenizer
from firth.embed.compare.config import CompareConfig
from firth.embed.compare.datasets.parts import DEV, TEST, TRAIN
from firth.embed.compare.datasets.tagged_words import read_parts, read_tagged
from firth.embed.compare.inputs.baselines import make_baselines
from firth.embed.compare.inputs.encoder_access import WithEncoder
from firth.embed.compare.statistics.bootstrap import draw_counts, resample
from firth.embed.compare.tasks.tagging.inputs import (
    phrase_of_each,
    sentences_read,
    state_inputs,
    static_inputs,
)
from firth.embed.compare.tasks.tagging.items import TaggingSet
from firth.embed.compare.tasks.tagging.task import TaggingTask
from firth.embed.vectors.word_vectors import WordVectors
from tests.embed.compare.measuring import ask, score, scores

pytestmark = pytest.mark.usefixtures("brief_probes")

NOUNS, VERBS = [f"n{i}" for i in range(12)], [f"v{i}" for i in range(12)]
VOCABULARY = ["the", "they", "saw", *NOUNS, *VERBS]


def sentences(n, seed):
    """Sentences "they verb the noun", in which "saw" is a verb after "they", a noun after "the"."""
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(n):
        verb = "saw" if rng.random() < 0.4 else VERBS[rng.integers(12)]
        noun = "saw" if rng.random() < 0.4 else NOUNS[rng.integers(12)]
        found.append([("They", "P"), (verb, "V"), ("the", "D"), (noun, "N")])
    return found


def written(path, some):
    path.write_text("\n\n".join("\n".join(f"{w} {t}" for w, t in s) for s in some) + "\n")
    return path


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Train, dev and test."""
    folder = tmp_path_factory.mktemp("tagged")
    sizes = {"train": 400, "dev": 60, "test": 80}
    return [
        written(folder / f"{name}.txt", sentences(size, seed))
        for seed, (name, size) in enumerate(sizes.items())
    ]


def read(*files, **options):
    return TaggingTask.read(Path(",".join(map(str, files))), CompareConfig(**options))


@pytest.fixture(scope="module")
def vectors():
    """Vectors that separate nouns and verbs, with saw in between."""
    rng = np.random.default_rng(4)
    matrix = rng.normal(size=(len(VOCABULARY), 8)).astype(np.float32)
    matrix[3:15, 0] += 5
    matrix[15:, 0] -= 5
    return WordVectors(VOCABULARY, matrix, name="apart")


@pytest.fixture(scope="module")
def measured(files, vectors):
    """The measurements of the vectors."""
    return ask(read(*files), vectors)


class Positions:
    """An encoder whose layer 1 encodes the preceding word, layer 2 less of it, layer 0 nothing."""

    n_layers = 2

    def words(self, text):
        return text.lower().split("-") if text != "\x00" else []

    def n_windows(self, sentences):
        return np.array([1 + ("n3" in sentence) for sentence in sentences])

    def encode(self, sentences, layers):
        [layer] = layers
        return [self._states(sentence, layer) for sentence in sentences]

    def _states(self, sentence, layer):
        states = np.zeros((len(sentence), 4), np.float32)
        for place in range(len(sentence)):
            seen = sentence[place - 1] if place else ""
            states[place, ["", "they", "the"].index(seen) if seen in ("", "they", "the") else 3] = 1
        return states * [0.0, 1.0, 0.0][layer]


@pytest.mark.slow
def test_a_window_resolves_ambiguous_words(files, measured):
    task = read(*files)
    found = {each.metric: each for each in measured}

    assert list(found) == [
        "accuracy", "accuracy_window", "accuracy_ambiguous", "accuracy_ambiguous_window",
        "selectivity", "selectivity_window",
    ]  # fmt: skip
    assert score(found["accuracy_window"]) > 0.98
    assert score(found["accuracy_ambiguous_window"]) > 0.98
    assert 0.3 < score(found["accuracy_ambiguous"]) < 0.7
    n_saws = task.words.parts.test.words.count("saw")
    for metric in ("accuracy_ambiguous", "accuracy_ambiguous_window"):
        assert len(found[metric].items) == found[metric].items_total == n_saws
        # the last items, so that a part of the set is a part of them
        assert found[metric].first + n_saws == task.n_items
    right = score(found["accuracy"]) * 320 - score(found["accuracy_ambiguous"]) * n_saws
    assert right == pytest.approx(320 - n_saws)  # all words with one label


@pytest.mark.slow
def test_the_bootstrap_draws_sentences(measured):
    accuracy = measured[0]

    assert np.unique(accuracy.units, return_counts=True)[1].tolist() == [4] * 80
    counts = draw_counts(320, 100, 1, "x", accuracy.units)
    assert np.isfinite(resample(accuracy.statistic, counts).replicates).all()


@pytest.mark.slow
def test_every_word_is_scored_and_unknown_ones_are_counted(files, vectors):
    task = read(*files)
    few = WordVectors(VOCABULARY[:15], vectors.matrix[:15])

    assert task.known(few).all()
    accuracy, window, *_ = ask(task, few)

    n_verbs = sum(word.startswith("v") for word in task.words.parts.test.words)
    assert (len(accuracy.items), accuracy.items_zero) == (320, n_verbs)
    assert score(window) > 0.98  # what is unknown here is a verb


@pytest.mark.slow
def test_one_hot_vectors_memorize_words_without_context(files, vectors):
    task = read(*files)
    one_hot = make_baselines([vectors], task.texts(), 100, 1)["one-hot"]

    found = scores(task, one_hot)

    assert found["accuracy_window"] > 0.98
    assert 0.3 < found["accuracy_ambiguous"] < 0.7
    # the control task is memorized: no word of the test part is new
    assert found["selectivity"] == pytest.approx(found["accuracy"] - 1, abs=0.01)
    assert found["selectivity_window"] == pytest.approx(found["accuracy_window"] - 1, abs=0.02)


@pytest.mark.slow
def test_the_layer_is_chosen_on_the_development_part(files, vectors, capsys):
    task = read(*files, sections=True)
    run = WithEncoder(vectors, Positions)

    found = ask(task, run)

    layers = {each.section: score(each) for each in found if each.section}
    assert list(layers) == ["static", "layer 0", "layer 1", "layer 2"]
    assert layers["layer 0"] == layers["layer 2"] < layers["layer 1"] == score(found[0])
    assert re.fullmatch(r"apart on \S+/test: [0-9]+ s on one core\n", capsys.readouterr().err)
    chosen = "layer 1 is best on the development part; trained on 1,600 words, weight decay "
    n_long = sum(word == "n3" for word in task.words.words)
    expected_note = (
        f"; {n_long} of 540 sentences are longer than the encoder's input and are read in "
    )
    for each in found:
        assert (each.note is None) == (each.section is not None)
        if each.note is not None:
            assert each.note.startswith(chosen)
            assert each.note.endswith(f"{expected_note}overlapping windows")


@pytest.mark.slow
def test_unseen_labels_are_noted_and_count_as_wrong(files, vectors, tmp_path, capsys):
    task = read(
        *files[:2], written(tmp_path / "new", [[("They", "P"), ("they", "X"), ("v1", "Y")]])
    )

    assert capsys.readouterr().err == (
        "new: 2 words have labels that the training part lacks (X, Y); they count as wrong\n"
    )
    assert scores(task, vectors)["accuracy"] == pytest.approx(1 / 3)


def test_at_most_ten_unseen_labels_are_listed(files, tmp_path, capsys):
    new = [[("They", "P"), *((f"x{n}", f"X{n:02}") for n in range(13))]]

    read(*files[:2], written(tmp_path / "new", new))

    named = ", ".join(f"X{n:02}" for n in range(10))
    assert capsys.readouterr().err == (
        f"new: 13 words have labels that the training part lacks ({named}, 3 more); they count as "
        "wrong\n"
    )


@pytest.mark.slow
def test_without_ambiguous_words_the_metric_is_undefined(vectors, tmp_path):
    path = written(tmp_path / "x", [[("n1", "N"), ("v1", "V")]] * 20)

    found = {each.metric: each for each in ask(read(path, path), vectors)}

    assert found["accuracy_ambiguous"].statistic is None
    assert found["accuracy_ambiguous"].reason == "no ambiguous word is scored"
    assert score(found["accuracy"]) == 1


@pytest.mark.slow
def test_entities_also_have_f1_of_exact_spans(vectors, tmp_path):
    some = [[("the", "O"), ("n1", "B-X"), ("n2", "I-X"), ("v1", "O"), ("n3", "B-X")]] * 30
    path = written(tmp_path / "x", some)

    found = scores(read(path, path, path), vectors)

    # alone, a noun is as likely to begin as to continue a span: n1 and n3 begin one
    assert found["f1_window"] == found["f1"] == 1.0


def test_without_a_development_part_a_tenth_of_the_sentences_is_held_out(files):
    words = TaggingSet(read_parts(f"{files[0]},{files[2]}"), 1)
    other = TaggingSet(words.parts, 2)

    of_sentences = words.roles[words.offsets[:-1]]
    assert np.bincount(of_sentences).tolist() == [360, 40, 80]
    assert (words.roles == words.roles[words.offsets[words.sentences]]).all()
    assert set(np.flatnonzero(words.roles == TEST)) == set(range(1600, 1920))
    assert (words.roles != other.roles).any()
    given = TaggingSet(read_parts(",".join(map(str, files))), 1)
    assert [int((given.roles == role).sum()) for role in (TRAIN, DEV, TEST)] == [1600, 240, 320]


def test_control_labels_are_fixed_per_word_with_the_label_frequencies(files):
    words = TaggingSet(read_parts(f"{files[0]},{files[2]}"), 1)

    by_word = {(w.lower(), label) for w, label in zip(words.words, words.control, strict=True)}

    assert len(by_word) == len(VOCABULARY)
    draws = [words._draw(f"word {i}") for i in range(4000)]
    # uniform: the chance that a quarter is off by 0.035 is below 1e-6
    assert np.histogram(draws, 4, (0, 1))[0] / 4000 == pytest.approx([0.25] * 4, abs=0.035)


def test_a_rare_second_label_does_not_make_a_word_ambiguous(tmp_path):
    path = written(tmp_path / "x", [[("a", "X"), ("b", "X")]] * 19 + [[("A", "X"), ("b", "Y")]] * 2
                   + [[("a", "Y"), ("c", "X")]])  # fmt: skip
    words = TaggingSet(read_parts(f"{path},{path}"), 1)

    # b: 2 of 21 are Y; a: 1 of 22
    expected_note = {w for w, several in zip(words.words, words.ambiguous, strict=True) if several}
    assert expected_note == {"b"}


def test_a_split_word_is_the_mean_of_its_known_parts(vectors):
    run = WordVectors(["do", "n"], np.array([[2, 0], [0, 4]], np.float32), text=Dashes())

    found = static_inputs(run, ["do", "do-n", "do-x", "?", "x", "do"])

    assert found.table.tolist() == [
        [2, 0, 0, 0],
        [1, 2, 0, 0],
        [2, 0, 0.5, 0],
        [0, 0, 1, 1],  # unknown, and no letter
        [0, 0, 1, 0],
        [0, 0, 1, 0],  # outside
    ]
    assert found.rows.tolist() == [0, 1, 2, 3, 4, 0]
    assert found.composed.tolist() == [False, True, True, False, False, False]
    assert found.zero.tolist() == [False, False, False, True, True, False]


class Dashes:
    """Text settings that split at dashes."""

    of_tokens = False

    def words(self, text):
        return text.split("-")


def test_the_state_of_a_split_word_is_the_mean_of_its_parts():
    found = state_inputs(Positions(), ["the-they", "\x00", "saw"], np.array([0, 2, 3]), 1)

    # [the they] [] | [saw]
    assert found.table[:, :4].tolist() == [[0.5, 0, 0.5, 0], [0] * 4, [1, 0, 0, 0], [0] * 4]
    assert found.table[:, 4].tolist() == [0, 1, 0, 1]
    assert found.zero.tolist() == [False, True, False]


def test_words_of_a_phrase_have_its_state_and_its_vector():
    class Joining(Positions):
        text = TextSettings(joined_phrases=("the\tthey",))

    words, offsets = ["the", "they", "saw", "the", "they-saw"], np.array([0, 3, 5])
    found = state_inputs(Joining(), words, offsets, 1)
    # [the_they saw] [the_they saw]: the last word is half of each
    assert found.table[:, 0].tolist() == [1, 1, 0, 1, 0.5, 0]
    assert sentences_read(Joining(), words, offsets) == [["the_they", "saw"]] * 2
    vectors = WordVectors(
        ["the", "they", "the_they"], np.eye(3, dtype=np.float32), text=Joining.text
    )
    read = phrase_of_each(vectors, ["The", "they", "the", "saw", "they"], np.array([0, 4, 5]))
    assert read == ["the_they", "the_they", "the", "saw", "they"]
    assert phrase_of_each(Positions(), words, offsets) == words


def test_states_do_not_depend_on_block_size():
    words = ["the", "saw", "\x00", "they-saw", "saw", "the", "saw"]
    offsets = np.array([0, 2, 3, 5, 7])
    whole = state_inputs(Positions(), words, offsets, 1)
    together = []

    class Noting(Positions):
        def encode(self, sentences, layers):
            together.append(len(sentences))
            return super().encode(sentences, layers)

    found = state_inputs(Noting(), words, offsets, 1, at_once=2)

    assert together == [1, 2, 1]
    assert found.table.tolist() == whole.table.tolist()
    assert np.abs(whole.table[:, :4]).max() > 0


class Deeper(Positions):
    """An encoder with a layer 3 that equals layer 2."""

    n_layers = 3

    def encode(self, sentences, layers):
        return super().encode(sentences, [min(*layers, 2)])


@pytest.mark.slow
def test_only_the_table_of_the_best_layer_is_kept(files, vectors, monkeypatch):
    task, tables, alive = read(*files), [], []

    def watched(*arguments, heads, gaps):
        alive.append(sum(table() is not None for table in tables))
        found = state_inputs(*arguments, heads=heads)
        tables.append(weakref.ref(found.table))
        return found

    monkeypatch.setattr("firth.embed.compare.tasks.tagging.task.state_inputs", watched)
    ask(task, WithEncoder(vectors, Deeper))

    assert alive == [0, 1, 1, 1]


def test_padding_is_encoded_as_an_unknown_word(files, vectors, tmp_path):
    test = written(tmp_path / "test.txt", [[("xx", "N"), ("the", "D")]])
    train = written(tmp_path / "train.txt", [*sentences(99, 1), [("xx", "N")]])
    task, task_of_one = read(*files[:2], test), read(train, files[1], test)

    for each in (task, task_of_one):
        seen = each._train_source("static", static_inputs(vectors, each.words.words)).inputs

        assert seen.table[-1, -2:].tolist() == [1, 0]
        assert seen.table[seen.rows[each.words.words.index("xx")], -2:].tolist() == [1, 0]


def test_a_window_never_crosses_a_sentence(vectors):
    found = static_inputs(vectors, ["the", "saw", "they"])

    windows = found.windows(np.array([0, 2, 3]), 1)

    assert windows.tolist() == [[3, 0, 1], [0, 1, 3], [3, 2, 3]]


def test_a_vector_that_is_not_finite_is_refused(files, vectors):
    matrix = vectors.matrix.copy()
    matrix[2, 1] = np.nan

    with pytest.raises(ArtifactError, match="the vector of 'saw' holds NaN or infinity"):
        ask(read(*files), WordVectors(VOCABULARY, matrix, name="broken"))


@pytest.mark.slow
def test_results_are_reproducible_and_reprs_distinguish_tasks(files, vectors, measured):
    once, again, other = (read(*files, seed=seed) for seed in (1, 1, 2))

    values = [
        [each.statistic.values.tobytes() for each in found]
        for found in (measured, ask(again, vectors))
    ]

    assert values[0] == values[1]
    assert repr(once) == repr(again) != repr(other)
    assert repr(once) != repr(read(files[0], files[1], files[1]))


CONLLU = """# text = He can't (really) say "c'est au roi", can he?
1\tHe\the\tPRON\t_\t_\t0\troot\t_\t_
2-3\tcan't\t_\t_\t_\t_\t_\t_\t_\t_
2\tca\tcan\tAUX\t_\t_\t0\tdep\t_\t_
3\tn't\tnot\tPART\t_\t_\t0\tdep\t_\t_
4\t(\t(\tPUNCT\t_\t_\t0\tdep\t_\tSpaceAfter=No
5\treally\treally\tADV\t_\t_\t0\tdep\t_\tGloss=x|SpaceAfter=No
6\t)\t)\tPUNCT\t_\t_\t0\tdep\t_\t_
7\tsay\tsay\tVERB\t_\t_\t0\tdep\t_\t_
8\t"\t"\tPUNCT\t_\t_\t0\tdep\t_\tSpaceAfter=No
9\tc'\tce\tPRON\t_\t_\t0\tdep\t_\tSpaceAfter=No
10\test\t\u00eatre\tAUX\t_\t_\t0\tdep\t_\t_
11-12\tau\t_\t_\t_\t_\t_\t_\t_\t_
11\tde\tde\tADP\t_\t_\t0\tdep\t_\t_
12\tle\tle\tDET\t_\t_\t0\tdep\t_\t_
13\troi\troi\tNOUN\t_\t_\t0\tdep\t_\tSpaceAfter=No
13.1\tx\tx\tX\t_\t_\t_\t_\t_\t_
14\t"\t"\tPUNCT\t_\t_\t0\tdep\t_\tSpaceAfter=No
15\t,\t,\tPUNCT\t_\t_\t0\tdep\t_\t_
16-17\tcanhe\t_\t_\t_\t_\t_\t_\t_\tSpaceAfter=No
16\tcan\tcan\tAUX\t_\t_\t0\tdep\t_\t_
17\the\the\tPRON\t_\t_\t0\tdep\t_\t_
18\t?\t?\tPUNCT\t_\t_\t0\tdep\t_\t_

1\tHi\thi\tX\t_\t_\t0\troot\t_\tSpaceAfter=No

1\tYes\tyes\tX\t_\t_\t0\troot\t_\t_
"""
CONLLU_TEXTS = ["He can't (really) say \"c'est de le roi\", canhe?", "Hi", "Yes"]


def library_tokenizer(kind):
    """A tokenizer of the library, trained on the texts: byte-level, Unigram or WordPiece."""
    model, trainer, splitter = {
        "byte-level": (
            models.BPE(), trainers.BpeTrainer(
                vocab_size=290, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
                show_progress=False,
            ), pre_tokenizers.ByteLevel(add_prefix_space=False),
        ),
        "unigram": (
            models.Unigram(), trainers.UnigramTrainer(
                vocab_size=60, unk_token="<unk>", special_tokens=["<unk>"], show_progress=False,
            ), pre_tokenizers.Metaspace(),
        ),
        "wordpiece": (
            models.WordPiece(unk_token="[UNK]"), trainers.WordPieceTrainer(
                vocab_size=60, special_tokens=["[UNK]"], show_progress=False,
            ), pre_tokenizers.BertPreTokenizer(),
        ),
    }[kind]  # fmt: skip
    tokenizer = Tokenizer(model)
    tokenizer.pre_tokenizer = splitter
    tokenizer.train_from_iterator(CONLLU_TEXTS * 9, trainer)
    return tokenizer


@pytest.mark.parametrize("kind", ["byte-level", "unigram", "wordpiece"])
def test_words_of_conllu_have_the_pieces_of_their_text(tmp_path, kind):
    (tmp_path / "test.conllu").write_text(CONLLU)
    tokenizer = library_tokenizer(kind)
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    pieces = ExternalTokenizer(tmp_path / "tokenizer.json")
    tagged = read_tagged(tmp_path / "test.conllu")
    sentences = sentences_read(pieces, tagged.words, tagged.offsets, tagged.gaps)
    assert [sentence.text for sentence in sentences] == CONLLU_TEXTS
    ids, bounds, offsets, _ = pieces.split_sentences(sentences)
    ends = bounds[offsets]
    for text, start, stop in zip(CONLLU_TEXTS, ends, ends[1:], strict=False):
        assert ids[start:stop].tolist() == tokenizer.encode(text, add_special_tokens=False).ids


def test_words_of_columns_have_spaces_where_they_can_be_expected(tmp_path):
    (tmp_path / "test.txt").write_text("He DET\n( P\n\nHi X\n")
    assert read_tagged(tmp_path / "test.txt").gaps is None
    (tmp_path / "test.conllu").write_text(CONLLU.replace("SpaceAfter=No", "_"))
    assert read_tagged(tmp_path / "test.conllu").gaps is None
