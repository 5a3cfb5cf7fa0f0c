"""``train_mlm``: from a corpus to a run with an encoder, its pieces and vectors of words.

Devlin et al. 2019 (arXiv:1810.04805): a bidirectional encoder learns by predicting pieces that
were masked. Killed at any moment, the same call goes on.
"""

import contextlib
import dataclasses
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from corpora.artifacts.artifact import (
    MAKER,
    artifact_paths,
    new_artifact,
    read_json,
    refuse_existing,
    write_json,
)
from corpora.artifacts.atomic import write_whole
from corpora.artifacts.checkpoint import clear_checkpoints
from corpora.artifacts.provenance import now, provenance
from corpora.common.reporting import Progress, no_progress, note, progress
from corpora.tokenizer.json_format import open_pieces, save_pieces
from corpora.tokenizer.pieces import Pieces
from embed.contextual.pooling import PoolConfig, pool_words
from pretrain.config import MlmConfig
from pretrain.data.text import TextSplits, learn_text_pieces, open_text
from pretrain.device import choose_device, device_name, explain_out_of_memory
from pretrain.inference.mlm_encoder import MlmEncoder
from pretrain.model.encoder import MaskedLanguageModel
from pretrain.model.weights import TOKENIZER, WEIGHTS, read_model, save_model
from pretrain.training.autotune import TUNED_FILE, batch_rows, check_settings, read_tuned
from pretrain.training.distributed import ProcessGroup, process_group
from pretrain.training.loop import CHECKPOINTS, run_training
from pretrain.training.prepare import prepare

if TYPE_CHECKING:
    from corpora.store.corpus import Corpus

FORMAT = 1
CONFIG = "config.json"
# What may differ when an interrupted training goes on.
_CHANGEABLE = ("device", "threads", "checkpoint_every", "keep_checkpoints", "evaluate_every")


@explain_out_of_memory()
def train_mlm(corpus: "Corpus", config: MlmConfig, out: str | Path, *, force: bool = False) -> Path:
    """Train an encoder with masked-language modelling, or go on with an interrupted training.

    Bit-identical on a CPU at the same number of threads and processes, interrupted or not, unless
    the budget is in minutes. What is decided by measuring is decided once per run. Where a
    launcher such as torchrun has started several processes, each calls this, and they
    train as one.

    Parameters
    ----------
    corpus : Corpus
        Its training documents are trained on, its held-out ones judge.
    config : MlmConfig
        Every option.
    out : str or Path
        Where the run will stand. An interrupted training of the same options,
        ``out.partial``, is gone on with.
    force : bool
        Replace a run that stands there.

    Returns
    -------
    Path
        ``out``: ``config.json``, ``provenance.json``, ``tokenizer.json``,
        ``model.safetensors``, ``metrics.jsonl``, ``decided.json``, ``vocabulary.tsv`` and
        ``vectors.npy`` float32 (V, D), ``checksums.json``.

    Raises
    ------
    ArtifactError
        ``out`` exists or is being made, or its checkpoint is of another format.
    SettingError
        An option does not fit the machine or the corpus, or nothing is held out.
    FirthError
        The training diverged.
    """
    started, out, config = now(), Path(out), config.resolved()
    with process_group(config.device) as group, contextlib.ExitStack() as stack:
        device = choose_device(config.device, group.local_rank)
        maker = _maker(corpus, config)

        def begin() -> tuple[Path, TextSplits]:
            text = _checked_text(corpus, config, device, group)
            refuse_existing(out, force)
            pieces = _pieces(out, maker, text, config)
            partial = stack.enter_context(new_artifact(out, maker, force=force, resume=CHECKPOINTS))
            if not (partial / TOKENIZER).is_file():
                write_whole(
                    partial / TOKENIZER, lambda path: save_pieces(pieces, path, corpus.text)
                )
            return partial, text

        def join() -> tuple[Path, TextSplits]:
            return artifact_paths(out)[1], open_text(corpus, config)

        def end() -> None:
            _describe(partial, corpus, config, device)
            about: dict[str, Any] = {"corpus": corpus.fingerprint, "device": device_name(device)}
            about.update(threads=torch.get_num_threads(), processes=group.size)
            write_json(
                partial / "provenance.json", provenance(started, seeds=[config.seed], **about)
            )
            clear_checkpoints(partial / CHECKPOINTS)
            (partial / TUNED_FILE).unlink(missing_ok=True)  # config.json tells it
            stack.close()

        partial, text = group.run_first(begin, join)
        if not (partial / WEIGHTS).is_file():  # else it was killed while it pooled
            _train(text, config, partial, device, group)
        group.run_first(end, lambda: None)
    return out


def _maker(corpus: "Corpus", config: MlmConfig) -> dict[str, Any]:
    """What identifies a training: with the same, it goes on."""
    options = dataclasses.asdict(config)
    kept = {name: value for name, value in options.items() if name not in _CHANGEABLE}
    return {"command": "train-mlm", "corpus": corpus.fingerprint, **kept}


def _checked_text(
    corpus: "Corpus", config: MlmConfig, device: torch.device, group: ProcessGroup
) -> TextSplits:
    """The text, if the options fit it and the machine; refused before any work."""
    check_settings(config, device)
    batch_rows(config, device, group)
    return open_text(corpus, config)


def _pieces(out: Path, maker: dict[str, Any], text: TextSplits, config: MlmConfig) -> Pieces:
    """Those of an interrupted training, else new ones; refused before anything is written."""
    partial = artifact_paths(out)[1]
    begun = partial / MAKER
    there = begun.is_file() and (partial / TOKENIZER).is_file()
    if there and read_json(begun) == json.loads(json.dumps(maker)):
        return open_pieces(partial / TOKENIZER)
    return learn_text_pieces(text, config)


def _train(
    text: TextSplits, config: MlmConfig, partial: Path, device: torch.device, group: ProcessGroup
) -> None:
    """Train, and write the weights."""
    (partial / CHECKPOINTS).mkdir(exist_ok=True)
    pieces = open_pieces(partial / TOKENIZER)
    setup = prepare(text, pieces, config, partial, device, group)
    model = MaskedLanguageModel(config.encoder(n_pieces=len(pieces)), seed=config.seed).to(device)
    try:
        with _display(group) as show:
            run_training(model, setup, group, show)
    except KeyboardInterrupt:
        note("interrupted; the same command goes on from here")
        raise
    if group.is_first:
        write_whole(partial / WEIGHTS, lambda path: save_model(model, path))


def _describe(partial: Path, corpus: "Corpus", config: MlmConfig, device: torch.device) -> None:
    """Pool vectors of words, and write ``config.json``: the run is whole but for its record."""
    if (partial / CONFIG).is_file():
        return
    tuned = read_tuned(partial / TUNED_FILE)
    assert tuned is not None
    torch.set_num_threads(tuned.threads)
    pieces = open_pieces(partial / TOKENIZER)
    encoder = config.encoder(n_pieces=len(pieces))
    description = {
        "format": FORMAT,
        "method": "mlm",
        **dataclasses.asdict(config),
        "encoder": encoder.to_json(),
        "decided": dataclasses.asdict(tuned),
        "pooling": _write_vectors(partial, corpus, config, pieces, device),
        "corpus": corpus.reference,
        "text": corpus.text.to_json(),
    }
    write_whole(partial / CONFIG, lambda path: write_json(path, description))


def _write_vectors(
    partial: Path, corpus: "Corpus", config: MlmConfig, pieces: Pieces, device: torch.device
) -> dict[str, Any]:
    """Pool the states of words into one vector each, and tell how."""
    model = read_model(partial / WEIGHTS, config.encoder(n_pieces=len(pieces)), device)
    encoder = MlmEncoder(model, pieces, corpus.text)
    with progress("pooling", "tokens") as show:
        pooled = pool_words(encoder, corpus, _pooling(config), show)
    pooled.save(partial)
    return pooled.info


def _pooling(config: MlmConfig) -> PoolConfig:
    """How words get their vectors; another way is for ``firth pool`` to make."""
    return PoolConfig(
        min_count=config.min_count, max_vocabulary=config.max_vocabulary, seed=config.seed
    )


def _display(group: ProcessGroup) -> contextlib.AbstractContextManager[Progress]:
    """Progress on the screen, of the first process alone."""
    return progress("training", "tokens") if group.is_first else contextlib.nullcontext(no_progress)
