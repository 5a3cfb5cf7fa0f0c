"""What runs say of themselves, and where their corpora are."""

import shutil

import pytest

from firth.corpora.artifacts.artifact import MAKER, write_json
from firth.corpora.common.errors import ArtifactError
from firth.embed.contextual.encoders import encoder_run
from firth.embed.runs.run import Run, corpus_at
from firth.embed.runs.writer import new_run
from tests.corpora.store.searched import searched_corpus

UNFINISHED = "is unfinished; run its command again to complete it"


def refusal(run, check=Run.finished):
    """Return the error message for a path, without the path."""
    with pytest.raises(ArtifactError) as error:
        check(run)
    return str(error.value).removeprefix(f"{run}: ")


@pytest.mark.parametrize("check", [Run.finished, encoder_run])
def test_paths_that_are_not_runs_are_refused(tmp_path, check):
    (tmp_path / "file").write_text("")
    (tmp_path / "begun.partial").mkdir()
    assert refusal(tmp_path / "none", check) == "no such run"
    assert refusal(tmp_path / "file", check) == "is a file; pass the directory of a run"
    assert refusal(tmp_path / "begun", check) == UNFINISHED


def test_an_unfinished_run_is_recognized_by_its_maker_file(tmp_path):
    partial = tmp_path / "run.partial"
    partial.mkdir()
    (partial / MAKER).write_text("{}")
    assert refusal(partial) == UNFINISHED
    assert refusal(tmp_path / "run") == UNFINISHED


def test_a_run_is_accepted_while_its_replacement_is_trained(tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run.partial").mkdir()
    Run.finished(tmp_path / "run")


def test_a_run_with_an_encoder_is_its_own_encoder_run(tmp_path):
    (tmp_path / "config.json").write_text('{"method": "mlm"}')
    assert encoder_run(tmp_path) == tmp_path


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ([], "not the configuration of a run; train the run again"),
        ({"method": "svd", "text": "words"}, "not the configuration of a run; train the run again"),
        (
            {"method": "svd", "format": 2},
            "has format 2, not 1; use the version of Firth that wrote it, or train the run again",
        ),
    ],
)
def test_other_configurations_are_refused(tmp_path, config, message):
    write_json(tmp_path / "config.json", config)
    assert refusal(tmp_path, Run.open) == f"{tmp_path / 'config.json'}: {message}"


def test_a_file_of_another_program_says_nothing(tmp_path):
    write_json(tmp_path / "config.json", {"format": "onnx", "model_type": "bert"})
    assert (Run.open(tmp_path).method, Run.open(tmp_path).training) == (None, None)


def small_run(out, corpus):
    """Write a run that was trained on a corpus."""
    with new_run(out, {"command": "train-svd"}) as run:
        run.describe("svd", {"dim": 3, "seed": 1}, corpus.text, **corpus.trained_on)
    return out


def test_a_run_finds_its_corpus_where_it_was_beside_itself_and_where_it_is_told(tmp_path):
    for name in ("first", "second", "moved", "away"):
        (tmp_path / name).mkdir()
    corpus = searched_corpus(tmp_path / "first")
    other = searched_corpus(tmp_path / "second", seed=2)
    sample = corpus.sample(100)
    run = small_run(tmp_path / "first" / "run", corpus)
    part = small_run(tmp_path / "first" / "part", sample)
    assert Run.open(run).corpus().fingerprint == corpus.fingerprint
    assert Run.open(part).corpus().fingerprint == sample.fingerprint != corpus.fingerprint

    (tmp_path / "first").rename(tmp_path / "moved" / "all")
    run, part = (tmp_path / "moved" / "all" / path.name for path in (run, part))
    assert Run.open(part).corpus().fingerprint == sample.fingerprint
    shutil.move(tmp_path / "moved" / "all" / "corpus", tmp_path / "away" / "text")
    shutil.copytree(other.path, tmp_path / "away" / "other")
    damaged = tmp_path / "away" / "damaged"
    shutil.copytree(other.path, damaged)
    (damaged / "manifest.json").write_text("{}")
    told = [tmp_path / "second", tmp_path / "away"]  # folders of corpora
    assert Run.open(part).corpus(told).fingerprint == sample.fingerprint
    assert Run.open(run).corpus([tmp_path / "away" / "text"]).fingerprint == corpus.fingerprint

    wanted = f"{corpus.path} (checksum {corpus.fingerprint})"
    lost, nowhere = (
        refusal(run, lambda run, told=told: Run.open(run).corpus(told)) for told in ((), [tmp_path])
    )
    assert lost == f"its corpus {wanted} was not found; pass `corpus`"
    assert nowhere.startswith(f"{tmp_path}: not a finished corpus; build one with ")
    shutil.copytree(other.path, tmp_path / "moved" / "all" / "corpus")
    assert refusal(run, lambda run: Run.open(run).corpus()) == (
        f"its corpus {wanted} has changed; pass `corpus`"
    )


def test_a_given_corpus_is_that_of_one_of_the_runs_if_any_records_its_own(tmp_path):
    paths = [tmp_path / name for name in "abc"]
    for path in paths:
        path.mkdir()
    a, b, c = (searched_corpus(path, seed=seed) for seed, path in enumerate(paths, 1))
    runs = [Run.open(small_run(tmp_path / f"run{n}", corpus)) for n, corpus in enumerate((a, b))]
    for place, found in ((a.path, a), (b.path, b), (paths[1], b)):
        assert corpus_at(place, runs).fingerprint == found.fingerprint
    whose = " or ".join(
        f"{run.path} (checksum {corpus.fingerprint})"
        for run, corpus in zip(runs, (a, b), strict=True)
    )
    refused = refusal(c.path, lambda place: corpus_at(place, runs))
    assert refused == f"is not the corpus of {whose}; pass that one"
    assert corpus_at(c.path, [Run.open(tmp_path)]).fingerprint == c.fingerprint


def test_a_run_without_a_corpus_says_so(tmp_path):
    with new_run(tmp_path / "run", {"command": "refine"}) as run:
        run.describe("refine", {}, None)
    assert refusal(tmp_path / "run", lambda run: Run.open(run).corpus()) == (
        "does not record its training corpus; pass `corpus`"
    )
