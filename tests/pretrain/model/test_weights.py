"""The weights of a run: round trips, and one-line errors if they do not match."""

import errno
import json
import os

import pytest
import torch
from safetensors.torch import load_file, save_file

from firth.corpora.artifacts.artifact import CHECKSUMS, MAKER
from firth.corpora.common.errors import ArtifactError
from firth.corpora.tokenizer.json_format import save_pieces
from firth.pretrain.inference.mlm_encoder import open_run
from firth.pretrain.model.weights import (
    TOKENIZER,
    WEIGHTS,
    encoder_config,
    load_model,
    read_model,
    save_model,
)
from tests.pretrain.small_run import seal, small_encoder, small_pieces, small_run


@pytest.fixture
def run(tmp_path):
    """A finished run."""
    return small_run(tmp_path)


@pytest.mark.parametrize("shape", [{}, {"norm": "post", "positions": "sinusoidal"}])
def test_a_saved_model_loads_unchanged(tmp_path, shape):
    run = small_run(tmp_path, **shape)
    expected = small_encoder(**shape).model.state_dict()
    model = load_model(run)
    assert not model.training
    found = model.state_dict()
    assert found.keys() == expected.keys()
    assert all(torch.equal(found[name], expected[name]) for name in expected)


def test_the_tied_embedding_table_is_stored_once(tmp_path):
    encoder = small_encoder()
    save_model(encoder.model, tmp_path / WEIGHTS)
    sizes = [tuple(weight.shape) for weight in load_file(tmp_path / WEIGHTS).values()]
    assert sizes.count((len(encoder.pieces), encoder.dim)) == 1


def change_config(run, **changes):
    """Edit the encoder in config.json."""
    config = json.loads((run / "config.json").read_text())
    config["encoder"].update(changes)
    (run / "config.json").write_text(json.dumps(config))


def problem(run):
    """Return the error message of opening the run."""
    with pytest.raises(ArtifactError) as error:
        open_run(run, "cpu")
    return str(error.value).replace(str(run), "RUN")


def halve(run):
    """Store the weights in half precision."""
    weights = load_file(run / WEIGHTS)
    save_file({name: weight.half() for name, weight in weights.items()}, run / WEIGHTS)
    seal(run)


def truncate(run):
    """Cut the weights off, with valid checksums."""
    (run / WEIGHTS).write_bytes((run / WEIGHTS).read_bytes()[:-10])
    seal(run)


def exchange_pieces(run):
    """Store the pieces of another run."""
    save_pieces(small_pieces(size=70), run / TOKENIZER)
    seal(run)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda run: change_config(run, feed_forward_dim=32),
         "/model.safetensors: core.blocks.0.feed_forward.inner.weight is torch.float32 of shape"),
        (lambda run: change_config(run, layers=3, mixers=["attention"] * 3),
         "/model.safetensors: lacks core.blocks.2.feed_forward.inner.weight according to"),
        (lambda run: change_config(run, colour="blue"),
         "/config.json: does not describe an encoder ("),
        (halve, "/model.safetensors: pieces.weight is torch.float16 of shape"),
        (truncate, "/model.safetensors: is damaged ("),
        (exchange_pieces, "/tokenizer.json: has 70 pieces, but the model has 80; train"),
        (lambda run: (run / WEIGHTS).unlink(), f"/{WEIGHTS}: the file is missing; recreate run"),
        (lambda run: (run / TOKENIZER).unlink(),
         f"/{TOKENIZER}: the file is missing; recreate run"),
        (lambda run: (run / CHECKSUMS).unlink(),
         "/checksums.json: no such file; is RUN a finished artifact?"),
        (lambda run: (run / MAKER).write_text("{}"), ": is unfinished; run its command again"),
        (lambda run: run.rename(f"{run}.partial"), ": is unfinished; run its command again"),
        (lambda run: (run / "config.json").write_text('{"method": "svd"}'),
         ": has no encoder; pass a run of `train_mlm()`"),
        (lambda run: (run / "config.json").write_text(
            '{"method": "pool", "encoder_run": {"path": "/runs/mlm", "fingerprint": "0"}}'),
         ": has no encoder; pass /runs/mlm"),
    ],
    ids=["shape", "missing weight", "unknown field", "half", "truncated", "pieces", "no weights",
         "no pieces", "no checksums", "unfinished", "partial", "svd", "pool"],
)  # fmt: skip
def test_a_run_that_cannot_be_opened_is_refused(run, damage, message):
    damage(run)
    assert problem(run).startswith(f"RUN{message}")


@pytest.mark.slow
@pytest.mark.parametrize("name", [WEIGHTS, TOKENIZER])
@pytest.mark.parametrize("place", [0.02, 0.5, 0.99])
def test_one_changed_bit_anywhere_is_refused(run, name, place):
    changed = bytearray((run / name).read_bytes())
    changed[int(place * len(changed))] ^= 1
    (run / name).write_bytes(changed)
    assert problem(run) == (f"RUN/{name}: checksum mismatch, the file is damaged; recreate run")


def test_reading_missing_weights_names_the_file(run):
    with pytest.raises(ArtifactError) as error:
        read_model(run.parent / WEIGHTS, encoder_config(run))
    assert str(error.value) == (
        f"{run.parent / WEIGHTS}: no such file; is {run.parent} a finished run?"
    )


@pytest.mark.parametrize(("mask", "mode"), [(0o022, 0o644), (0o007, 0o660)])
def test_weights_are_written_with_the_umask(tmp_path, mask, mode):
    before = os.umask(mask)
    try:
        save_model(small_encoder().model, tmp_path / WEIGHTS)
    finally:
        os.umask(before)
    assert (tmp_path / WEIGHTS).stat().st_mode & 0o777 == mode


def test_a_full_disk_is_an_os_error(tmp_path):
    model = small_encoder().model
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, before[1]))
    try:
        with pytest.raises(OSError) as error:  # noqa: PT011 - its number is looked at
            save_model(model, tmp_path / WEIGHTS)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert error.value.errno == errno.EFBIG


def test_a_path_that_is_not_a_directory_is_refused(run):
    assert problem(run.parent / "none") == "RUN: no such run"
    assert problem(run / "config.json") == "RUN: is a file; pass the directory of a run"
