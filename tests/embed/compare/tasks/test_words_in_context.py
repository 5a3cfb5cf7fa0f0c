"""Words in context: encoding, hand-worked metrics, and static baselines."""

import itertools
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import pearsonr, spearmanr

from firth.corpora.common.errors import ArtifactError, SourceError
from firth.embed.compare.config import CompareConfig
from firth.embed.compare.datasets.context_pairs import ContextSet, PairInContext, Target
from firth.embed.compare.inputs.encoder_access import WithEncoder
from firth.embed.compare.statistics.bootstrap import draw_counts
from firth.embed.compare.statistics.roc import RocArea
from firth.embed.compare.statistics.thresholds import right_by_halves
from firth.embed.compare.tasks.target_states import target_states, target_words
from firth.embed.compare.tasks.words_in_context import ContextsTask, pooled_layers
from firth.embed.contextual.in_context import parse_context
from firth.embed.vectors.word_vectors import WordVectors
from tests.embed.compare.measuring import ask, score, scores
from tests.embed.compare.refusals import message_of

RNG = np.random.default_rng(3)


class Echo:
    """An encoder: a state is the word's vector plus, times the layer, those of its neighbors."""

    n_layers = 2

    def __init__(self, dim=4):
        self.dim, self.asked, self.table = dim, [], {}

    def words(self, text):
        return text.lower().replace("-", " ").split()

    def covers(self, words):
        return np.array([word != "xyzzy" for word in words], dtype=bool)

    def encode(self, sentences, layers):
        self.asked += [(tuple(sentence), tuple(layers)) for sentence in sentences]
        return [
            np.array(
                [self.state(words, place, np.mean(layers)) for place in range(len(words))],
                dtype=np.float32,
            ).reshape(-1, self.dim)
            for words in sentences
        ]

    def state(self, words, place, weight):
        near = [words[k] for k in (place - 1, place + 1) if 0 <= k < len(words)]
        return self.own(words[place]) + weight * sum((self.own(word) for word in near), 0.0)

    def own(self, word):
        if word not in self.table:
            seed = int.from_bytes(word.encode(), "little") % 2**32
            self.table[word] = np.random.default_rng(seed).normal(size=self.dim)
        return self.table[word]


class MaskedEcho(Echo):
    """An encoder whose masked states are those of the neighbors alone, times the layer."""

    def encode_masked(self, sentences, tokens, layers):
        flat = [(words, place) for words in sentences for place in range(len(words))]
        return np.array(
            [
                self.state(*flat[k], np.mean(layers)) - self.own(flat[k][0][flat[k][1]])
                for k in tokens
            ],
            dtype=np.float32,
        )

    def static_embeddings(self, words):
        return np.array([self.own(word) for word in words], dtype=np.float32)

    def n_pieces(self, words):
        return np.array([len(word) for word in words])


def with_encoder(encoder, words=()):
    """Static vectors of some words, and the encoder."""
    matrix = np.array([encoder.own(word) for word in words], dtype=np.float32)
    return WithEncoder(WordVectors(list(words), matrix.reshape(-1, encoder.dim)), lambda: encoder)


def target(text, *marks):
    """A target from text with words between asterisks, all of them or the given marks."""
    parts = tuple(text.split("*"))
    return Target(parts, marks or tuple(range(1, len(parts), 2)))


def task_of(form, *rows):
    """A set of (listed words, target, target, gold)."""
    return ContextsTask("set", ContextSet(form, [PairInContext(*row) for row in rows]))


def cosine(a, b):
    return a @ b / np.sqrt((a @ a) * (b @ b))


SCWS = task_of(
    "scws",
    ("bank", "money", target("the *bank* of a river"), target("his *money* is gone"), 1.0),
    ("bank", "money", target("the *Bank* has it"), target("his *money* is gone"), 9.0),
    ("cup", "mug", target("a *cup* of tea"), target("one *mug* more"), 8.0),
    ("cup", "tea-cup", target("*cup* final"), target("the *tea-cup* fell"), 3.0),
)
COSIMLEX = task_of(
    "cosimlex",
    ("man", "sea", target("*men* of the *sea*", 1), target("*men* of the *sea*", 3), 2.0),
    ("man", "sea", target("a *sea* , a *man*", 3), target("a *sea* , a *man*", 1), 4.5),
    ("cup", "tea", target("more *tea* in a *cup*", 3), target("more *tea* in a *cup*", 1), 6.0),
    ("cup", "tea", target("*tea* won the *cup*", 3), target("*tea* won the *cup*", 1), 5.0),
    ("old", "new", target("*old* and *new*", 1), target("*old* and *new*", 3), 1.0),
    ("old", "new", target("*new* for *old*", 3), target("*new* for *old*", 1), 7.0),
)
WIC = task_of(
    "wic",
    ("run", "run", target("I *run* home"), target("we *run* home"), 1.0),
    ("run", "run", target("I *run* a shop"), target("a *run* of luck"), 0.0),
    ("bed", "bed", target("in *bed* now"), target("a *bed* of roses"), 0.0),
    ("bed", "bed", target("go to *bed*"), target("*beds* are soft"), 1.0),
)


def test_pairs_of_scws_share_words_and_contexts_of_cosimlex_a_pair():
    vectors = with_encoder(Echo(), ("bank", "money", "cup", "mug", "tea-cup", "man", "sea"))

    for measured in ask(SCWS, vectors):
        (bank, money), again, (cup, mug), (same, tea_cup) = measured.words.tolist()
        assert ([bank, money], cup) == (again, same)
        assert len({bank, money, cup, mug, tea_cup}) == 5
        assert (measured.units, measured.n_independent) == (None, 4)
    for measured in ask(COSIMLEX, vectors):
        assert measured.words is None
        assert measured.units[:, 0].tolist() == [0, 0, 1, 1, 2, 2]
        assert measured.n_independent == 3


def cosines_in_context(task, encoder, weight):
    """Sum of the states of the target by the definition, one sentence at a time."""
    found = []
    for pair in task.contexts.pairs:
        states = []
        for place in (pair.first, pair.second):
            words, own = [], []
            for number, part in enumerate(place.parts):
                cut = encoder.words(part)
                own += range(len(words), len(words) + len(cut)) if number in place.marks else ()
                words += cut
            states.append(np.mean([encoder.state(words, k, weight) for k in own], axis=0))
        found.append(cosine(*states))
    return np.array(found)


def fields_of(pair):
    """The fields of a pair."""
    return pair.a, pair.b, pair.first, pair.second, pair.gold


def test_with_an_encoder_a_word_is_its_state_in_context():
    encoder = Echo()
    cosines = cosines_in_context(SCWS, encoder, weight=1.5)  # layers 1 and 2, the upper half

    found = scores(SCWS, with_encoder(encoder))

    gold = [1.0, 9.0, 8.0, 3.0]
    assert found == {
        "spearman": pytest.approx(spearmanr(gold, cosines).statistic),
        "pearson": pytest.approx(pearsonr(gold, cosines).statistic, abs=1e-6),
    }


def test_a_run_of_masked_words_is_scored_by_masked_words():
    encoder, centers = MaskedEcho(), RNG.normal(size=(4, 4)).astype(np.float32)
    expected = {None: [], "joined": []}
    pairs = COSIMLEX.contexts.pairs[:4]  # the masked states of others are equal
    task, gold = task_of("cosimlex", *map(fields_of, pairs)), [pair.gold for pair in pairs]
    for pair in pairs:
        masked, joined = [], []
        for place in (pair.first, pair.second):
            word = place.parts[place.marks[0]]
            words, own = encoder.words("".join(place.parts)), encoder.own(word)
            masked.append(encoder.state(words, words.index(word), 2.0) - own)
            state = masked[-1] - centers[min(len(word), 4) - 1]
            joined.append([*own / np.linalg.norm(own), *0.7 * state / np.linalg.norm(state)])
        expected[None].append(cosine(*masked))
        expected["joined"].append(cosine(*np.array(joined)))

    for kind, cosines in expected.items():
        matrix = np.zeros((1, 8), dtype=np.float32)
        static = WordVectors(["a"], matrix, centers=centers if kind else None)
        vectors = WithEncoder(static, lambda: encoder, masked_layers=(2,))
        found = scores(task, vectors)
        assert found["spearman"] == pytest.approx(spearmanr(gold, cosines).statistic)
        assert found["pearson"] == pytest.approx(pearsonr(gold, cosines).statistic, abs=1e-5)


def test_without_an_encoder_a_word_is_its_static_vector():
    words = ["bank", "money", "cup", "mug"]
    vectors = WordVectors(words, RNG.normal(size=(4, 5)).astype(np.float32))

    spearman, pearson = ask(SCWS, vectors)

    assert spearman.items.tolist() == [0, 1, 2]  # tea-cup is unknown
    a, b = (cosine(*vectors.matrix[[k, k + 1]].astype(np.float64)) for k in (0, 2))
    assert score(spearman) == pytest.approx(spearmanr([1, 9, 8], [a, a, b]).statistic)
    assert score(pearson) == pytest.approx(pearsonr([1, 9, 8], [a, a, b]).statistic)


def test_a_word_ties_with_itself_for_any_vector():
    words = [f"w{k}" for k in range(200)]
    vectors = WordVectors(words, RNG.normal(size=(200, 7)).astype(np.float32))
    rows = [(word, word, target("*x*"), target("*x*"), float(k)) for k, word in enumerate(words)]

    for result in ask(task_of("scws", *rows), vectors):
        assert (result.statistic, result.reason) == (None, "all cosines are equal")


def test_every_context_is_encoded_once():
    encoder = Echo()
    vectors = with_encoder(encoder)
    some = np.array([True, True, False, False])

    SCWS.measure(vectors, some)
    SCWS.measure(vectors, ~some)
    ask(COSIMLEX, vectors)

    sentences = [sentence for sentence, _ in encoder.asked]
    assert len(sentences) == len(set(sentences)) == 7 + 6  # "his money is gone" occurs twice
    assert {layers for _, layers in encoder.asked} == {(1, 2)}


def test_a_target_is_tokenized_like_a_bracketed_occurrence():
    encoder = Echo()
    text = "I [Saw] a new [tea-cup] there"
    parts = tuple(re.split(r"[\[\]]", text))

    found = target_words(encoder, [Target(parts, (1,)), Target(parts, (3,)), Target(parts, (1, 3))])

    occurrences = [each.name.split() for each in parse_context(text, encoder)]
    assert found == [*occurrences, ["saw", "tea", "cup"]]


def test_layers_recorded_with_the_static_vectors_are_used():
    vectors = with_encoder(Echo())

    assert pooled_layers(vectors, Echo()) == (1, 2)
    object.__setattr__(vectors, "layers", (0, 1))
    assert pooled_layers(vectors, Echo()) == (0, 1)


def test_long_contexts_are_encoded_in_blocks_of_whole_sentences():
    blocks = []

    class Counting(Echo):
        def encode(self, sentences, layers):
            blocks.append([len(sentence) for sentence in sentences])
            return super().encode(sentences, layers)

    texts = ["*a*", "b *c*", "d *e* f g h i j", "*k* l", "m *n* o", "*p* q r s t"]
    targets = [target(text) for text in texts]

    found = target_states(Counting(), targets, (0,), at_once=5)

    assert [length for block in blocks for length in block] == [1, 2, 7, 2, 3, 5]
    assert len(blocks) > 2
    assert max(sum(block[:-1]) for block in blocks) <= 5
    assert found == pytest.approx(np.array([Echo().own(w) for w in "aceknp"]), abs=1e-6)


def test_a_pair_is_known_if_the_encoder_covers_its_targets():
    rows = [
        ("a", "b", target("*xyzzy* it"), target("*b*"), 1.0),
        ("xyzzy", "b", target("*a* xyzzy"), target("*b*"), 2.0),
        ("a", "b", target("*--*"), target("*b*"), 2.0),
        ("a", "b", target("*a*"), target("*b*-xyzzy"), 2.0),
    ]
    vectors = with_encoder(Echo())
    task = task_of("scws", *rows)

    assert task.known(vectors).tolist() == [False, True, False, True]
    assert task_of("cosimlex", *rows).known(vectors).tolist() == [False, False, False, False]
    assert task_of("cosimlex", *rows[1::2]).known(vectors).tolist() == [True, True]
    for unknown in ("zero", "mean"):
        assert task.known(vectors, unknown).all()  # every word has states
        assert score(ask(task, vectors, unknown)[0]) is not None


def test_unknown_words_of_static_vectors_follow_the_policy():
    vectors = WordVectors(["bank", "money"], np.array([[1, 0], [1, 1]], dtype=np.float32))

    assert SCWS.known(vectors).tolist() == [True, True, False, False]
    assert SCWS.known(vectors, "zero").all()
    # cosines are .71 .71 0 0
    assert score(ask(SCWS, vectors, "zero")[0]) == pytest.approx(
        spearmanr([1, 9, 8, 3], [1, 1, 0, 0]).statistic
    )


def test_change_is_the_uncentered_correlation_of_changes():
    encoder = Echo()
    cosines = cosines_in_context(COSIMLEX, encoder, weight=1.5)
    judged, found = np.array([2.5, -1.0, 6.0]), cosines[1::2] - cosines[::2]
    by_hand = judged @ found / np.sqrt((judged @ judged) * (found @ found))

    change, spearman, pearson = ask(COSIMLEX, with_encoder(encoder))

    assert [change.metric, spearman.metric, pearson.metric] == ["change", "spearman", "pearson"]
    assert score(change) == pytest.approx(by_hand, abs=1e-6)
    gold = [2.0, 4.5, 6.0, 5.0, 1.0, 7.0]
    assert score(spearman) == pytest.approx(spearmanr(gold, cosines).statistic)
    assert score(pearson) == pytest.approx(pearsonr(gold, cosines).statistic, abs=1e-6)


def test_both_contexts_of_a_pair_are_drawn_together():
    change, *_ = ask(COSIMLEX, with_encoder(Echo()))
    counts = draw_counts(6, 50, seed=1, name="set", units=change.units)
    judged, found = change.statistic.x[1::2], change.statistic.y[1::2]

    replicates = change.statistic.evaluate(counts)

    for drawn, replicate in zip(counts[:], replicates, strict=True):
        assert drawn[::2].tolist() == drawn[1::2].tolist()
        times = drawn[::2]
        norm = np.sqrt((times @ judged**2) * (times @ found**2))
        assert replicate == pytest.approx(times @ (judged * found) / norm)


def test_auc_is_the_share_of_ordered_pairs():
    encoder = Echo()
    a, b, c, d = cosines_in_context(WIC, encoder, weight=1.5)

    auc, _ = ask(WIC, with_encoder(encoder))

    assert auc.metric == "auc"
    assert score(auc) == np.mean([a > b, a > c, d > b, d > c])


def test_without_a_development_part_each_half_uses_the_threshold_of_the_other():
    rows = [fields_of(pair) for pair in WIC.contexts.pairs]
    task = task_of("wic", *rows, *rows[::-1], rows[0], rows[2])
    cosines = cosines_in_context(task, Echo(), weight=1.5)
    positive = np.array([pair.gold == 1 for pair in task.contexts.pairs])
    first = np.random.default_rng(1).permutation(10) < 5
    right = right_by_halves(positive, np.round(cosines, 12), first)

    _, accuracy = ask(task, with_encoder(Echo()))

    assert accuracy.metric == "accuracy"
    assert score(accuracy) == right.mean()
    assert accuracy.note == "each half uses the threshold that is best on the other half"
    _, one = task.measure(with_encoder(Echo()), np.isin(np.arange(10), np.flatnonzero(first)))
    assert one.reason == "too few pairs are known to choose a threshold"


def test_the_threshold_is_chosen_on_the_development_part_only(tmp_path):
    one, two = "a I ran away", "we run a shop"
    for name, gold in (("dev", "TFTF"), ("test", "TTFT"), ("other", "FFTF")):
        lines = [f"run\tV\t2-1\t{one}\t{two}", f"run\tV\t1-1\t{two}\t{two} now"] * 2
        (tmp_path / f"{name}.data.txt").write_text("\n".join(lines) + "\n")
        (tmp_path / f"{name}.gold.txt").write_text("\n".join(gold) + "\n")
    encoder = Echo()

    def read(*names):
        files = ",".join(str(tmp_path / f"{name}.data.txt") for name in names)
        return ContextsTask.read(Path(files), CompareConfig())

    task, other = read("dev", "test"), read("dev", "other")
    a, b, *_ = cosines_in_context(task, encoder, weight=1.5)
    assert a < b  # dev labels a as one meaning: with any threshold, half is wrong

    accuracy, reverse = (ask(each, with_encoder(encoder))[1] for each in (task, other))

    assert (task.dataset, task.dev.dataset) == (f"{tmp_path.name}/test", "dev")
    assert accuracy.note == reverse.note  # the labels of the test part have no part in it
    unlike = (
        "2 of 8 targets start differently from the listed words, first 'ran' for 'run' in line 1"
    )
    chosen = "threshold -inf, chosen on dev"
    assert accuracy.note == f"{unlike}; inflected forms may; {chosen}"
    assert (score(accuracy), score(reverse)) == (0.75, 0.25)
    assert repr(task) != repr(read("test"))


def test_a_development_part_is_refused_where_nothing_is_chosen(tmp_path):
    path = tmp_path / "few.txt"
    path.write_text("1\tA\tn\tb\tn\t<b>A</b>\tx <b>bs</b>\t1\n", encoding="utf-8")

    assert message_of(SourceError, ContextsTask.read, Path(f"{path},{path}"), CompareConfig()) == (
        f"{path}: the form scws has nothing to choose on a development part; pass only the file "
        "to score"
    )


def test_long_contexts_of_both_parts_are_counted_once(monkeypatch):
    counted = []

    class Short(Echo):
        def n_windows(self, sentences):
            counted.append(len(sentences))
            return np.array([1 + (len(words) > 3) for words in sentences])

    rows = [fields_of(pair) for pair in WIC.contexts.pairs]
    dev = [(*row[:2], target("now *this* is long"), target("*this*"), row[4]) for row in rows]
    task = replace(task_of("wic", *rows), dev=task_of("wic", *dev))
    own = {
        " ".join(part.strip() for part in place.parts if part.strip())
        for pair in WIC.contexts.pairs
        for place in (pair.first, pair.second)
    }
    n_long = sum(len(text.split()) > 3 for text in own) + 1
    vectors = with_encoder(Short())

    every, some = (
        task.measure(vectors, np.isin(np.arange(4), items)) for items in ([0, 1, 2, 3], [0, 1])
    )

    assert counted == [len(own) + 2]
    for each in (*every, *some):
        assert each.note.startswith(f"{n_long} of {len(own) + 2} sentences are longer than ")


def test_mismatched_targets_are_noted_for_encoders_only(tmp_path, capsys):
    path = tmp_path / "few.txt"
    row = "1\tgo\tn\tbed\tn\tI <b>went</b>\tin <b>Beds</b>\t{}\n"
    path.write_text(row.format(1) + row.format(2), encoding="utf-8")
    unlike = (
        "2 of 4 targets start differently from the listed words, first 'went' for 'go' in line 1; "
        "inflected forms may"
    )

    task = ContextsTask.read(path, CompareConfig())

    assert capsys.readouterr().err == f"few: {unlike}\n"
    static = WordVectors(["go", "bed"], np.eye(2, dtype=np.float32))
    assert {each.note for each in ask(task, with_encoder(Echo()))} == {unlike}
    assert not any(unlike in each.note for each in ask(task, static))


def test_static_vectors_ignore_the_context():
    words = ["run", "bed", "man", "sea", "cup", "tea", "old", "new"]
    vectors = WordVectors(words, RNG.normal(size=(8, 5)).astype(np.float32))

    auc, accuracy = ask(WIC, vectors)
    change, spearman, _ = ask(COSIMLEX, vectors)

    why = "a static vector ignores the context"
    for each in (auc, accuracy):
        assert (each.statistic, each.reason) == (None, f"all cosines are equal: {why}")
    assert (change.statistic, change.reason) == (None, f"no cosine changes: {why}")
    assert score(spearman) is not None


@pytest.mark.parametrize(
    ("task", "kept", "reasons"),
    [
        (WIC, [], ["no pair is known"] * 2),
        (WIC, [0, 3], ["all labels are equal"] * 2),
        (COSIMLEX, [], ["no pair is known"] * 3),
        (SCWS, [2], ["only one pair is known"] * 2),
    ],
    ids=["no labels", "equal labels", "no pairs", "one pair"],
)
def test_undefined_metrics_give_the_reason(task, kept, reasons):
    items = np.isin(np.arange(task.n_items), kept)

    measured = task.measure(with_encoder(Echo()), items)

    assert [each.reason for each in measured] == reasons
    assert all(each.statistic is None for each in measured)


def test_change_is_undefined_if_nothing_changes():
    same = [(*row[:4], 3.0) for row in map(fields_of, COSIMLEX.contexts.pairs)]
    change, *_ = ask(task_of("cosimlex", *same), with_encoder(Echo()))
    assert (change.statistic, change.reason) == (None, "no judgment changes with the context")

    one = [
        (*row[:2], target("*a* b"), target("*c*"), row[4])
        for row in map(fields_of, COSIMLEX.contexts.pairs)
    ]
    change, *_ = ask(task_of("cosimlex", *one), with_encoder(Echo()))
    assert (change.statistic, change.reason) == (None, "no cosine changes with the context")


def test_a_state_that_is_not_finite_is_refused():
    encoder = Echo()
    encoder.table["mug"] = np.full(4, np.nan)

    assert message_of(ArtifactError, ask, SCWS, with_encoder(encoder)) == (
        "vectors: the state of 'mug' in its context holds NaN or infinity; train the run again"
    )


def test_items_are_the_listed_words_of_each_pair(tmp_path):
    path = tmp_path / "few.txt"
    path.write_text("1\tA\tn\tb\tn\t<b>A</b>\tx <b>bs</b>\t1\n", encoding="utf-8")

    task = ContextsTask.read(path, CompareConfig())

    assert (task.dataset, task.n_items, list(task.items())) == ("few", 1, [("A", "b")])
    assert list(task.texts()) == ["A", "b"]
    assert repr(task) == repr(ContextsTask.read(path, CompareConfig()))


@pytest.mark.parametrize("seed", range(3))
def test_auc_matches_its_definition_in_every_draw(seed):
    rng = np.random.default_rng(seed)
    positive = rng.random(12) < 0.4
    values = rng.integers(0, 6, size=12) / 6  # with ties
    counts = draw_counts(12, 20, seed=seed, name="area")

    found = RocArea(positive, values).evaluate(counts)

    for drawn, area in zip(counts, found, strict=True):
        ups, downs = (np.repeat(values[s], drawn[s]) for s in (positive, ~positive))
        wins = [(u > d) + (u == d) / 2 for u, d in itertools.product(ups, downs)]
        assert area == pytest.approx(np.mean(wins)) if wins else np.isnan(area)
