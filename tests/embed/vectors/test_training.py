"""The training functions of the public API: arguments and return values."""

import dataclasses
import json
import os
import re

import numpy as np
import pytest

import firth
from firth.corpora.common.errors import ArtifactError, FirthError, SettingError
from firth.embed.vectors import training
from firth.embed.vectors.word_vectors import WordVectors
from tests.embed.small_corpus import SmallCorpus

TEXT = "the cat sat on the mat\nthe dog sat on the rug\na cat saw a dog\n" * 4
CONFIGS = {
    "svd": (firth.train_svd, firth.SvdConfig(dim=4, min_count=1, threads=1, device="cpu")),
    "skipgram": (firth.train_skipgram, firth.SkipGramConfig(dim=4, min_count=1, threads=1)),
    "cbow": (firth.train_cbow, firth.CbowConfig(dim=4, min_count=1, threads=1)),
}


@pytest.mark.parametrize("method", CONFIGS)
def test_vectors_are_the_same_with_and_without_a_run(method, tmp_path):
    train, config = CONFIGS[method]
    corpus = SmallCorpus(TEXT)

    kept = train(corpus, config, tmp_path / "run")
    loose = train(corpus, config)

    assert isinstance(kept.matrix, np.memmap)
    assert (kept.path, kept.name) == (tmp_path / "run", str(tmp_path / "run"))
    assert np.array_equal(WordVectors.open(kept).matrix, kept.matrix)
    assert not isinstance(loose.matrix, np.memmap)
    assert (loose.path, loose.name) == (None, method)
    assert np.array_equal(loose.matrix, kept.matrix)
    assert list(loose) == list(kept)
    assert np.array_equal(loose.counts, kept.counts)
    assert loose.text == kept.text
    if method != "svd":
        assert np.array_equal(loose.contexts, kept.contexts)


def test_text_is_built_into_a_corpus_and_a_run_is_replaced_by_force(tmp_path):
    (tmp_path / "text.txt").write_text(TEXT)
    config = firth.SvdConfig(dim=2, min_count=1, device="cpu")
    assert "cat" in firth.train_svd(str(tmp_path / "text.txt"), config, tmp_path / "run")
    firth.train_svd(tmp_path / "text.txt", config, tmp_path / "run", force=True)


TRAININGS = [firth.train_svd, firth.train_skipgram, firth.train_cbow, firth.train_mlm]


@pytest.mark.parametrize("train", TRAININGS)
def test_an_existing_run_is_refused_before_the_corpus_is_built(train, tmp_path):
    out = tmp_path / "run"
    out.mkdir()
    missing = tmp_path / "missing.txt"  # another error if it were opened
    with pytest.raises(ArtifactError) as caught:
        train(missing, out=out)
    assert str(caught.value) == (
        f"{out}: already exists; choose another `out` or pass `force=True`"
    )
    (out / "notes.txt").touch()
    with pytest.raises(ArtifactError, match="not a corpus or run"):
        train(missing, out=out, force=True)
    with pytest.raises(ArtifactError, match="cannot be written: File name too long"):
        train(missing, out=tmp_path / ("run" * 100))


@pytest.mark.parametrize("train", TRAININGS)
def test_a_config_of_another_class_is_refused_before_the_corpus_is_built(train, tmp_path):
    with pytest.raises(SettingError, match=r"^config must be of type \w+, got PoolConfig$"):
        train(tmp_path / "missing.txt", firth.PoolConfig())
    with pytest.raises(SettingError, match=r", got str; pass the path as `out`$"):
        train(tmp_path / "missing.txt", "run")


MLM = firth.MlmConfig(
    preset="1/16/2", steps=2, batch=4, sequence_length=16,
    min_count=1, threads=1, device="cpu",
    dtype="float32", compile="off",
)  # fmt: skip


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    """A corpus whose documents are blocks of lines, a quarter of them held out."""
    folder = tmp_path_factory.mktemp("corpus")
    (folder / "text.txt").write_text(TEXT.replace("\n", "\n\n") * 3)
    read, built = firth.ReadOptions(documents="block"), firth.BuildOptions(held_out=0.25)
    return firth.build_corpus(folder / "text.txt", folder / "corpus", read=read, options=built)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("train", "config", "stopped"),
    [
        (*CONFIGS["skipgram"], "firth.embed.word2vec.loop.TextSession.steps"),
        (firth.train_mlm, MLM, "firth.pretrain.training.session.MlmSession.step"),
    ],
    ids=["skipgram", "mlm"],
)
def test_only_a_training_with_a_directory_is_resumed(
    train, config, stopped, corpus, tmp_path, monkeypatch, capsys
):
    def interrupt(*_):
        raise KeyboardInterrupt

    with firth.show_progress(), monkeypatch.context() as patch:
        patch.setattr(stopped, interrupt)
        with pytest.raises(KeyboardInterrupt):
            train(corpus, config)
        assert "interrupted" not in capsys.readouterr().err
        with pytest.raises(KeyboardInterrupt):
            train(corpus, config, tmp_path / "run")
        assert "interrupted; run the same command to resume\n" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["run.partial"]
    assert train(corpus, config, tmp_path / "run").path == tmp_path / "run"
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


@pytest.mark.slow
def test_an_encoder_is_returned_with_and_without_a_run(corpus, tmp_path, monkeypatch):
    kept = firth.train_mlm(corpus, MLM, tmp_path / "run")
    with monkeypatch.context() as patch:
        patch.setattr("firth.pretrain.train.pool_words", None)  # reads the whole corpus
        loose = firth.train_mlm(corpus, MLM)

    assert (kept.path, loose.path, loose.name) == (tmp_path / "run", None, "mlm")
    monkeypatch.chdir(tmp_path)
    opened = firth.open_encoder("run")
    assert (opened.name, opened.path) == ("run", tmp_path / "run")
    states = [each.encode([["the", "cat"]], [0, 1])[0] for each in (kept, loose)]
    assert np.array_equal(*states)
    assert json.loads((tmp_path / "run" / "config.json").read_text())["method"] == "mlm"
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(SettingError, match=r"pass `out`$"):
        firth.train_mlm(corpus, MLM)


ALONE = {
    "svd": firth.SvdConfig(dim=1, min_count=1, weighting="counts", device="cpu"),
    "skipgram": firth.SkipGramConfig(dim=2, min_count=1, subsample=0),
    "cbow": firth.CbowConfig(dim=2, min_count=1, subsample=0),
    "nplm": firth.NplmConfig(dim=2, min_count=1, device="cpu"),
    "autoencoder": firth.AutoencoderConfig(dim=1, min_count=1, device="cpu"),
    "mlm": dataclasses.replace(MLM, mask_rate="0.001", steps=3),
    "causal": dataclasses.replace(MLM, objective="causal"),
}


def each_alone(text, min_count, tmp_path):
    """Train with every method on lines that are documents; return the messages of the refusals."""
    read, built = firth.ReadOptions(documents="line"), firth.BuildOptions(held_out=0.25)
    (tmp_path / "text.txt").write_text(text)
    corpus = firth.build_corpus(
        tmp_path / "text.txt", tmp_path / "corpus", read=read, options=built
    )
    messages = {}
    for method, config in ALONE.items():
        train = getattr(firth, f"train_{method.replace('causal', 'mlm')}")
        with pytest.raises(FirthError) as refusal:
            train(corpus, dataclasses.replace(config, min_count=min_count), tmp_path / "run")
        messages[method] = str(refusal.value).replace(f"{corpus.path}: ", "")
        assert not (tmp_path / "run").exists()
    return messages


@pytest.mark.slow
def test_a_word_a_text_is_refused_by_every_method(tmp_path):
    for method, message in each_alone("\n".join(["aa", "bb", "cc"] * 60), 1, tmp_path).items():
        unit = "piece" if method in ("mlm", "causal") else "word"
        assert re.match(rf"(the .*: )?no two of the \d+ {unit}s occur in the same", message), method


@pytest.mark.slow
def test_a_text_of_one_word_is_refused_by_every_method(tmp_path):
    for method, message in each_alone("aa aa aa aa\n" * 60, 1, tmp_path).items():
        unit = "piece" if method in ("mlm", "causal") else "word"
        assert f"only one {unit} occurs; pass more text or a smaller" in message, method


@pytest.mark.slow
def test_a_view_without_words_is_refused_by_every_method(tmp_path):
    for method, message in each_alone("aa bb cc dd\n" * 60, 99, tmp_path).items():
        assert "no word occurs 99 times or more in its train documents" in message, method


@pytest.mark.slow
def test_masks_that_hit_nothing_are_refused(tmp_path):
    (tmp_path / "text.txt").write_text("aa bb\n" * 20)
    config = dataclasses.replace(MLM, mask_rate="0.001", steps=3)
    with pytest.raises(
        FirthError, match=r"`mask_rate=0\.001` leaves no piece of the training text"
    ):
        firth.train_mlm(
            firth.build_corpus(
                tmp_path / "text.txt", tmp_path / "corpus",
                read=firth.ReadOptions(documents="line"),
                options=firth.BuildOptions(held_out=0.25),
            ),
            config,
        )  # fmt: skip


@pytest.mark.slow
def test_a_study_of_a_word_a_line_shows_no_neighbors(tmp_path, capsys):
    (tmp_path / "text.txt").write_text("\n".join(["apple", "pear", "plum", "fig"] * 25))
    study = firth.Study((str(tmp_path / "text.txt"),), ("svd", "skipgram"))
    with pytest.raises(FirthError, match=r"no method could be trained: .*no two of the 4 words"):
        firth.study(study, tmp_path / "study")
    assert capsys.readouterr().out == ""


def test_a_process_forked_from_one_with_threads_computes_in_one_thread_or_says_so(monkeypatch):
    monkeypatch.setattr(training, "_parallel", {os.getpid() + 1})  # of the parent
    with training.torch_threads(1):
        pass
    with pytest.raises(FirthError, match="pass threads=1"), training.torch_threads(2):
        pass
    monkeypatch.setattr(training, "_parallel", {os.getpid()})
    with training.torch_threads(2):
        pass
