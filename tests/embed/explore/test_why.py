"""Why two words are near: shares of contexts against the definitions."""

import json
import shutil

import numpy as np
import pytest

from firth.corpora.common.errors import ArtifactError, SettingError, UnknownWordError
from firth.corpora.encoding.build import open_or_build
from firth.corpora.store.corpus import Corpus
from firth.corpora.store.search import Search
from firth.embed.contextual.encoders import open_encoder
from firth.embed.explore.why import Explainer, why_near
from firth.embed.resampling.intervals import similarity_intervals
from firth.embed.svd.train import SvdConfig, train_svd
from firth.embed.vectors.word_vectors import WordVectors
from firth.embed.word2vec.config import SkipGramConfig
from firth.embed.word2vec.train import train_skipgram
from tests.calls import output
from tests.corpora.store.searched import searched_corpus
from tests.embed.themed_run import RARE, themed_run
from tests.pretrain.small_run import small_run

EVERY = 1000


@pytest.fixture(scope="module")
def corpus(tmp_path_factory) -> Corpus:
    """Return a corpus of a dozen words."""
    return searched_corpus(tmp_path_factory.mktemp("why"))


@pytest.fixture(scope="module")
def svd(corpus, tmp_path_factory):
    """Return a run of as many dimensions as words, whose vectors are those of the matrix."""
    n_words = len(corpus.view(min_count=5, punctuation="drop").words)
    config = SvdConfig(dim=n_words, singular_power=1)
    return train_svd(corpus, config, tmp_path_factory.mktemp("svd") / "run").path


@pytest.fixture(scope="module")
def skipgram(corpus, tmp_path_factory):
    """Return a run of skip-gram."""
    config = SkipGramConfig(dim=8, epochs=30, subsample=0, negatives=1, threads=1)
    return train_skipgram(corpus, config, tmp_path_factory.mktemp("skipgram") / "run").path


def test_contexts_of_counts_explain_all_of_the_cosine_of_untruncated_vectors(corpus, svd):
    found = why_near(svd, "sea", "ship", corpus=corpus, top=EVERY)
    assert found.by_contexts == pytest.approx(found.cosine, abs=1e-5)
    assert sum(each.share for each in found.contexts) == pytest.approx(1)
    shares = [each.share for each in found.contexts]
    assert shares == sorted(shares, reverse=True)
    assert len(shares) > 2
    lengths = [np.linalg.norm(WordVectors.open(svd)[word]) for word in found.words]
    for each in found.contexts:
        product = each.first * each.second / np.prod(lengths)
        assert product / found.by_contexts == pytest.approx(each.share, rel=1e-4)


def test_a_corpus_that_is_damaged_is_refused(corpus, svd, tmp_path):
    moved = Corpus.open(shutil.copytree(corpus.path, tmp_path / "moved"))
    path = moved.path / "shards" / "00000" / "ids.npy"
    ids = np.load(path)
    ids[:2] = ids[1::-1]  # in range
    np.save(path, ids)
    with pytest.raises(ArtifactError, match=r"ids\.npy: checksum mismatch, the file is damaged"):
        why_near(svd, "sea", "ship", corpus=moved)


def test_contexts_that_both_words_predict_are_those_of_the_context_table(skipgram):
    vectors = WordVectors.open(skipgram)
    found = why_near(skipgram, "sea", "ship", top=EVERY)

    a, b = (np.maximum(np.array(vectors.contexts) @ vectors[word], 0) for word in found.words)
    products = a * b / np.linalg.norm(a) / np.linalg.norm(b)
    assert found.by_contexts == pytest.approx(products.sum(), rel=1e-5)
    expected = {
        word: (a[n], b[n], products[n] / products.sum())
        for n, word in enumerate(vectors.vocabulary)
        if products[n] > 0
    }
    assert {each.context for each in found.contexts} == set(expected)
    for each in found.contexts:
        assert (each.first, each.second, each.share) == pytest.approx(
            expected[each.context], rel=1e-4
        )
    assert any(any(each.lines) for each in found.contexts)  # the corpus is where it was


def test_pieces_that_a_masked_lm_finds_likely_for_both_words_overlap(tmp_path):
    run = small_run(tmp_path, seed=4)
    corpus = open_or_build(tmp_path / "text.txt")
    encoder = open_encoder(run)

    found = why_near(run, "queen", "sawmill", corpus=corpus, top=EVERY)

    likely = []
    for texts in (
        ["the king saw the [MASK] , and the queen saw the king .",
         "the king saw the queen , and the [MASK] saw the king .",
         "the king and the [MASK] went to the mountains ."],
        ["the [MASK] stands by the river ."],
    ):  # fmt: skip
        every = [dict(encoder.fill_mask(text, EVERY)[0]) for text in texts]
        likely.append({piece: np.mean([each[piece] for each in every]) for piece in every[0]})
    overlap = {piece: np.sqrt(likely[0][piece] * likely[1][piece]) for piece in likely[0]}
    assert found.by_contexts == pytest.approx(sum(overlap.values()), rel=1e-5)
    assert 0 < found.by_contexts <= 1 + 1e-9
    for each in found.contexts:
        pair = likely[0][each.context], likely[1][each.context]
        assert (each.first, each.second) == pytest.approx(pair, rel=1e-4)


def test_long_sentences_are_shortened_until_they_fit_a_masked_lm(tmp_path):
    run = small_run(tmp_path, seed=4)  # reads 16 pieces
    text = tmp_path / "long.txt"
    text.write_text("the river and the mountains are old " * 9 + "queen " + "the old mill " * 9)
    made = json.loads((run / "provenance.json").read_text())
    corpus = open_or_build(text)
    (run / "provenance.json").write_text(json.dumps({**made, "corpus": corpus.fingerprint}))
    found = why_near(run, "queen", "mill", corpus=corpus)
    assert found.contexts
    assert {line.found for each in found.contexts for line in each.lines} == {"queen", "mill"}


def test_runs_on_samples_are_explained_by_the_sample(corpus, tmp_path):
    sample = corpus.sample(600)
    train_svd(sample, SvdConfig(dim=5, singular_power=1, min_count=2), tmp_path / "run")
    for given in (None, corpus):
        found = why_near(tmp_path / "run", "sea", "ship", corpus=given, top=EVERY)
        assert found.contexts
        assert any(any(each.lines) for each in found.contexts)


def test_sentences_have_the_word_and_the_context_near_it(corpus, svd):
    found, every, default = (
        explainer.why("sea", "ship", top=EVERY)
        for explainer in (
            Explainer(svd, corpus, tried=1), Explainer(svd, corpus, tried=10**6),
            Explainer(svd, corpus),
        )
    )  # fmt: skip
    assert found.contexts
    assert any(line for each in default.contexts for line in each.lines)
    for each, other in zip(found.contexts, every.contexts, strict=True):  # first or last tried
        assert [line is None for line in each.lines] == [line is None for line in other.lines]
    for each in (*found.contexts, *default.contexts):
        for word, line in zip(found.words, each.lines, strict=True):
            if line is not None:
                assert line.found == word
                assert each.context in [*line.left.split(), *line.right.split()]


def test_bad_input_is_refused_with_the_remedy(corpus, svd, skipgram, tmp_path):
    other = searched_corpus(tmp_path, seed=2)
    plain = tmp_path / "plain"
    plain.mkdir()
    WordVectors(["sea", "ship"], np.eye(2, dtype=np.float32)).write(plain)
    pieces = shutil.copytree(svd, tmp_path / "pieces")
    config = json.loads((pieces / "config.json").read_text())
    (pieces / "config.json").write_text(json.dumps({**config, "pieces": 100}))
    moved = shutil.copytree(svd, tmp_path / "moved")
    made = json.loads((moved / "provenance.json").read_text())
    (moved / "provenance.json").write_text(json.dumps({**made, "corpus_path": "moved"}))
    for run, given, error, message in (
        (
            moved,
            None,
            ArtifactError,
            r"its corpus moved \(checksum .* was not found; pass `corpus`",
        ),
        (svd, other, ArtifactError, "is not the corpus of"),
        (skipgram, other, ArtifactError, "is not the corpus of"),
        (pieces, corpus, SettingError, "counts pieces of words"),
        (plain, None, ArtifactError, "has no contexts to show; pass a run of"),
    ):
        with pytest.raises(error, match=message):
            why_near(run, "sea", "ship", corpus=given)
    with pytest.raises(UnknownWordError, match="no vector for 'whale'"):
        why_near(skipgram, "sea", "whale")
    with pytest.raises(SettingError, match="`top` must be at least 1"):
        why_near(skipgram, "sea", "ship", top=0)


def test_the_command_prints_a_table_with_sentences_and_json(corpus, svd):
    words = ["why", svd, "Sea", "ship", "--corpus", corpus.path, "-n", 3]
    shown, answer = output(*words), json.loads(output(*words, "--json"))
    assert "ppmi of contexts" in shown
    assert "by contexts alone" in shown
    assert answer["words"] == ["sea", "ship"]
    assert len(answer["contexts"]) == 3
    [first, *_] = answer["contexts"]
    assert first["context"] in shown
    cited = [line["fields"]["year"] for line in first["lines"]]
    assert [line["citation"] for line in first["lines"]] != cited
    shown = output(*words, "--cite", "year")
    assert all(f"({year})" in shown for year in cited)
    assert Search(corpus).find(first["context"])


def test_the_command_has_the_interval_of_the_cosine(tmp_path):
    run = themed_run(tmp_path)
    (tmp_path / "corpus").rename(tmp_path / "moved")
    words = [run, "--corpus", tmp_path / "moved", "--resamples", 40, "-n", 1]
    [found] = similarity_intervals(run, "sea1", "sea2", resamples=40, corpora=[tmp_path / "moved"])
    answer = json.loads(output("why", *words, "sea1", "sea2", "--json"))
    assert (answer["cosine"], answer["low"], answer["high"]) == pytest.approx(
        (found.value, found.low, found.high)
    )
    assert f" (95 %: {found.low:.3f} to {found.high:.3f}); by" in output(
        "why", *words, "sea1", "sea2"
    )
    assert f" (no interval: {RARE}: " in output("why", *words, "sea1", RARE)
    assert " (" not in output("why", *words[:3], "sea1", RARE).splitlines()[-1]
