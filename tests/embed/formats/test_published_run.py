"""A published run has no text, paths or URLs, and answers what needs none."""

import dataclasses

import pytest
from click.testing import CliRunner

import firth
from firth import build_corpus, cli
from firth.corpora.artifacts import metrics
from firth.corpora.artifacts.artifact import checksums, verify, write_json
from firth.corpora.common.errors import ArtifactError, SettingError
from firth.embed.explore.why import why_near
from firth.embed.formats.huggingface import TOKENIZER, WEIGHTS
from firth.embed.formats.published_run import _FILES, _without_places, publish_run
from firth.embed.runs.run import Run
from firth.embed.vectors import change_table, int8_rows, ngram_means, piece_table, word_vectors
from firth.embed.vectors.word_vectors import WordVectors

SECRET = "secretplace"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with a corpus, an SVD of it, and skip-gram that begins with earlier runs."""
    folder = tmp_path_factory.mktemp("publish") / SECRET
    folder.mkdir()
    words = [f"the sea and the {name} near the shore" for name in ("ship", "whale", "gull")]
    (folder / "in.txt").write_text("\n".join(words * 60))
    corpus = build_corpus(folder / "in.txt", folder / "corpus")
    svd = firth.SvdConfig(dim=4, min_count=1)
    firth.train_svd(corpus, svd, out=folder / "svd")
    first = firth.SkipGramConfig(dim=4, min_count=1, epochs=1, negatives=2)
    firth.train_skipgram(corpus, first, out=folder / "first")
    following = dataclasses.replace(first, init=str(folder / "first"))
    firth.train_skipgram(corpus, following, out=folder / "sg")
    return folder


@pytest.mark.parametrize("name", ["svd", "sg"])
def test_a_copy_has_the_vectors_and_nothing_of_places(folder, tmp_path, name):
    (folder / name / "notes.txt").write_text("what somebody left there")
    (folder / name / "resamples").mkdir(exist_ok=True)
    (folder / name / "resamples" / "1.npy").write_bytes(b"")
    assert publish_run(folder / name, tmp_path / "out") == ["notes.txt", "resamples"]
    verify(tmp_path / "out")
    for path in (tmp_path / "out").rglob("*"):
        assert SECRET.encode() not in path.read_bytes()
        assert b"in.txt" not in path.read_bytes()
    run, copy = WordVectors.open(folder / name), WordVectors.open(tmp_path / "out")
    assert copy.nearest("ship", k=3) == run.nearest("ship", k=3)
    assert list(copy.counts) == list(run.counts)
    kept = Run.open(tmp_path / "out")
    assert kept.training == Run.open(folder / name).training
    assert kept.text == Run.open(folder / name).text
    assert kept.provenance["text"]["documents"] == 1


def test_lines_need_the_corpus_which_is_known_by_its_checksum(folder, tmp_path):
    publish_run(folder / "svd", tmp_path / "svd")
    publish_run(folder / "sg", tmp_path / "sg")
    with pytest.raises(ArtifactError, match=r"its corpus \(checksum \w+\) was not found; pass `c"):
        why_near(tmp_path / "svd", "ship", "whale")
    found = why_near(tmp_path / "svd", "ship", "whale", corpus=folder / "corpus")
    assert found == why_near(folder / "svd", "ship", "whale")
    [*contexts] = why_near(tmp_path / "sg", "ship", "whale").contexts
    assert all(each.lines == (None, None) for each in contexts)


def test_the_names_of_files_are_those_that_runs_have():
    modules = (word_vectors, piece_table, int8_rows, ngram_means, change_table, metrics)
    names = [each for module in modules for each in vars(module).values() if isinstance(each, str)]
    arrays = {name for name in names if name.endswith((".npy", ".npz", ".tsv", ".jsonl"))}
    assert arrays | {TOKENIZER, WEIGHTS} <= _FILES


def test_settings_lose_paths_and_keep_choices():
    options = {"init": "sg", "dim": 4, "preset": "4/256/4", "source": "joined", "kind": "a\\b",
               "encoder": {"path": "enc", "layers": 2}, "runs": [{"path": "x"}, "s3://b/c"],
               "boundary": "paragraph", "nothing": None}  # fmt: skip
    hidden = "(left out)"
    assert _without_places(options) == {
        **options, "init": hidden, "kind": hidden, "encoder": {"path": hidden, "layers": 2},
        "runs": [{"path": hidden}, hidden],
    }  # fmt: skip


def test_a_run_that_a_masked_model_starts_from_is_a_whole_one(folder, tmp_path):
    publish_run(folder / "sg", tmp_path / "run")
    (tmp_path / "run" / "checksums.json").unlink()
    publish_run(folder / "svd", tmp_path / "run" / "start")
    write_json(tmp_path / "run" / "checksums.json", checksums(tmp_path / "run"))
    assert publish_run(tmp_path / "run", tmp_path / "out") == []
    verify(tmp_path / "out" / "start")
    assert WordVectors.open(tmp_path / "out" / "start").dim == 4


def test_what_cannot_be_published_is_refused(folder, tmp_path):
    def refusal(*arguments):
        result = CliRunner().invoke(cli.main, ["publish", *map(str, arguments)])
        assert result.exit_code
        return result.stderr

    out = tmp_path / "out"
    assert "a corpus, not a run" in refusal(folder / "corpus", out, "--no-text")
    assert "no such run" in refusal(folder / "nowhere", out, "--no-text")
    assert "Missing option '--no-text'" in refusal(folder / "svd", out)
    assert "has no words with vectors" in refusal(folder, out, "--no-text")
    with pytest.raises(SettingError, match="is the run to copy; choose another OUT"):
        publish_run(folder / "svd", folder / "svd", force=True)
    (folder / "first" / "vectors.npy").write_bytes(b"damaged")
    assert "checksum mismatch" in refusal(folder / "first", out, "--no-text")
    assert not out.exists()
