"""``train_mlm``: train a masked (Devlin et al. 2019, arXiv:1810.04805) or causal language model.

A training that was killed at any moment is resumed by the same call.
"""

import contextlib
import dataclasses
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from firth.corpora.artifacts.arrays import save_array
from firth.corpora.artifacts.artifact import artifact_paths, checksum, resumes
from firth.corpora.artifacts.atomic import write_whole
from firth.corpora.artifacts.checkpoint import CHECKPOINTS
from firth.corpora.common.errors import SettingError
from firth.corpora.common.options import config_of
from firth.corpora.common.reporting import Progress, SilentReporter, progress, reporting_to
from firth.corpora.encoding.build import open_or_build
from firth.corpora.tokenizer.json_format import open_pieces, save_pieces
from firth.corpora.tokenizer.pieces import Pieces
from firth.embed.contextual.pooling import PoolConfig, Pooled, pool_words
from firth.embed.runs.run import CONTINUED
from firth.embed.runs.writer import CONFIG, RunWriter, new_run, settings_for, training_maker
from firth.embed.vectors.piece_table import FIRST_VECTORS, TOKENIZER
from firth.embed.vectors.training import run_folder, torch_threads
from firth.embed.vectors.word_vectors import UNTRAINED, open_start
from firth.pretrain.attention_scores import SCORES
from firth.pretrain.config import TUNING, MlmConfig, MlmTuning
from firth.pretrain.data.text import TextSplits, open_text
from firth.pretrain.device import choose_device, device_name, explain_out_of_memory
from firth.pretrain.inference.mlm_encoder import encoder_class, open_run
from firth.pretrain.inference.trained_encoder import TrainedEncoder
from firth.pretrain.model.encoder import MaskedLanguageModel
from firth.pretrain.model.weights import WEIGHTS, read_model, save_model
from firth.pretrain.training.autotune import (
    TUNED_FILE,
    StepTimer,
    batch_rows,
    check_settings,
    read_tuned,
    threads_of,
    tune_once,
)
from firth.pretrain.training.distributed import ProcessGroup, process_group
from firth.pretrain.training.forgetting import measure_forgetting
from firth.pretrain.training.loop import train_model
from firth.pretrain.training.origin import continued, first_pieces, text_of_origin, write_origin
from firth.pretrain.training.prepare import build_training_data, make_first_vectors
from firth.pretrain.training.warm_start import (
    AUTO,
    NONE,
    ORIGIN,
    check_source,
    count_words,
    untrained_model,
)

if TYPE_CHECKING:
    from firth.corpora.reading.in_memory import TextSource
    from firth.corpora.store.corpus import Corpus

METHOD = "mlm"


def train_mlm(
    corpus: "Corpus | TextSource",
    config: MlmConfig | None = None,
    out: str | Path | None = None,
    *,
    force: bool = False,
) -> TrainedEncoder:
    """Train an encoder to predict masked or next pieces, or resume an interrupted training.

    Bit-identical on a CPU at the same number of threads and processes, interrupted or not, unless
    the budget is in minutes. What is tuned by measuring is tuned once per run. If a launcher such
    as torchrun started several processes, each calls this with ``out``, and they train together.

    Parameters
    ----------
    corpus : Corpus, path or text
        A corpus, or text in files or in memory, as :func:`firth.build_corpus` takes it. It is
        trained on the training documents and evaluated on the held-out ones.
    config : MlmConfig, optional
        The settings; by default those of ``MlmConfig()``.
    out : str or Path, optional
        Directory of the run to make. If a training with the same settings was interrupted, it
        is resumed from ``out.partial``. Without ``out``, the encoder is only returned, no word
        vectors are pooled, and an interrupted training is lost.
    force : bool
        Overwrite a run at ``out``.

    Returns
    -------
    MlmEncoder, CausalEncoder, DenoisingEncoder or TrainedEncoder
        By ``objective``, on the device of the training. With ``out``, its ``path`` is the run:
        ``config.json``, ``provenance.json``, ``tokenizer.json``, ``model.safetensors``,
        ``metrics.jsonl``, ``held_out.npy`` float64 (2, U), ``vocabulary.tsv``, ``vectors.npy``
        float32 (V, S + D), ``centers.npy`` float32 (4, D) of joined vectors, ``untrained.npy``
        float32 (V, D), the last D columns as the encoder pools them before its training,
        ``checksums.json``. Unless the start was random, ``start``, a run of the words without
        context, S wide, and unless it goes on, ``first_vectors.npy`` float32 (P, D) of the pieces.

    Raises
    ------
    ArtifactError
        If ``out`` exists, another process is making it, or its checkpoint has another format.
    SettingError
        If a setting does not fit the machine or the corpus, nothing is held out, or several
        processes train without ``out``.
    FirthError
        If the training diverged.
    """
    config = continued(config_of(config, MlmConfig))
    if out is None and os.environ.get("WORLD_SIZE", "1") != "1":
        raise SettingError("several processes train together only into one run; pass `out`")
    with (
        run_folder(out, force=force) as run,
        process_group(config.device) as group,
        torch_threads(config.threads),
    ):
        with group.first_ahead():
            opened = open_or_build(corpus, text_of_origin(config))
        make_mlm_run(opened, config, run, force=force, temporary=out is None)
        encoder = open_run(run, "cpu")
        encoder.model.to(choose_device(config.device, group.local_rank))
    if out is None:
        encoder.path, encoder.name = None, METHOD
    return encoder


@explain_out_of_memory()
def make_mlm_run(
    corpus: "Corpus", config: MlmConfig, out: Path, *, force: bool = False, temporary: bool = False,
    tuning: MlmTuning = TUNING,
) -> Path:  # fmt: skip
    """Train an encoder, or resume an interrupted training; write the run and return its path.

    A temporary run is not resumable and has no word vectors: pooling reads the whole corpus.
    """
    config = config.resolved()
    maker, resume = training_maker(METHOD, config, corpus), None if temporary else CHECKPOINTS
    with (
        process_group(config.device) as group,
        torch_threads(config.threads),
        contextlib.ExitStack() as unfinished,  # the run, which the first process makes
    ):
        device = choose_device(config.device, group.local_rank)
        with group.first_ahead():  # it raises before any work if the settings do not fit
            check_settings(config, device)
            batch_rows(config, device, group)
            text = open_text(corpus, config)
            run = RunWriter(artifact_paths(out)[1])
            if group.is_first:
                resumed = resumes(out, maker, force=force, resume=resume)
                if not (resumed and (run.path / FIRST_VECTORS).is_file()):
                    check_source(config)
                tokenizer = run.path / TOKENIZER
                pieces = (
                    open_pieces(tokenizer)
                    if resumed and tokenizer.is_file()
                    else first_pieces(corpus, text, config)
                )
                run = unfinished.enter_context(new_run(out, maker, force=force, resume=resume))
                if not tokenizer.is_file():
                    if config.continue_ is not None:
                        write_origin(run.path / ORIGIN, config, pieces)
                    write_whole(tokenizer, lambda path: save_pieces(pieces, path, corpus.text))
        if not (run.path / WEIGHTS).is_file():  # they exist if it was killed while pooling
            _train(text, config, run.path, device, group, tuning)
        with group.first_ahead():
            if group.is_first:
                _describe(run, corpus, config, device, group, pool=not temporary)
                for name in (TUNED_FILE, ORIGIN):  # config.json tells of them
                    (run.path / name).unlink(missing_ok=True)
                unfinished.close()  # while the others wait for the finished run
    return out


def _train(
    text: TextSplits, config: MlmConfig, run: Path, device: torch.device, group: ProcessGroup,
    tuning: MlmTuning,
) -> None:  # fmt: skip
    """Train and write the weights; settings that an earlier call chose stay."""
    (run / CHECKPOINTS).mkdir(exist_ok=True)
    pieces, earlier = open_pieces(run / TOKENIZER), read_tuned(run / TUNED_FILE)
    threads = threads_of(config, earlier, device, group)
    torch.set_num_threads(threads)
    batch = earlier.batch if earlier else config.batch
    batch = batch_rows(dataclasses.replace(config, batch=batch), device, group)
    data, seconds = build_training_data(text, pieces, config, batch, device), 0.0
    if config.init != NONE and config.continue_ is None:
        with group.first_ahead():  # which keeps the time of all
            if group.is_first:
                seconds = make_first_vectors(run, text, data, threads)
    timer = StepTimer(data, device, batch // group.size)
    tuned = tune_once(run / TUNED_FILE, timer, threads, group)
    model = untrained_model(run, data.shape, config, data.counts.cpu()).to(device)
    train_model(model, data, tuned, run, group, seconds=seconds, tuning=tuning)
    if group.is_first:
        write_whole(run / WEIGHTS, lambda path: save_model(model, path))


def _describe(
    run: RunWriter,
    corpus: "Corpus",
    config: MlmConfig,
    device: torch.device,
    group: ProcessGroup,
    *,
    pool: bool,
) -> None:
    """Pool word vectors and describe the run, unless an earlier call did."""
    if (run.path / CONFIG).is_file():
        return
    partial = run.path
    tuned = read_tuned(partial / TUNED_FILE)
    assert tuned is not None
    torch.set_num_threads(tuned.threads)
    pieces = open_pieces(partial / TOKENIZER)
    options = {
        **settings_for(config, corpus),
        "encoder": config.shape(n_pieces=len(pieces)).to_json(),
        "decided": dataclasses.asdict(tuned),
        "pooling": (
            _write_vectors(partial, corpus, config, pieces, device, tuned.step_settings.dtype)
            if pool
            else None
        ),
    }
    made: dict[str, Any] = {**corpus.trained_on, "device": device_name(device)}
    if config.continue_ is not None:
        options[CONTINUED] = measure_forgetting(partial, corpus, config, pieces, device)
        made["continue"] = checksum(partial / ORIGIN)[:16]
    made |= {"threads": torch.get_num_threads(), "processes": group.size}
    if config.init not in (AUTO, NONE):
        made["init"] = checksum(partial / FIRST_VECTORS)[:16]
    run.describe(METHOD, options, corpus.text, seeds=[config.seed], **made)


def _write_vectors(
    partial: Path, corpus: "Corpus", config: MlmConfig, pieces: Pieces, device: torch.device,
    dtype: torch.dtype,
) -> dict[str, Any]:  # fmt: skip
    """Pool states into word vectors, as ``firth pool`` does; return a description."""
    shape = config.shape(n_pieces=len(pieces))
    count_words(partial, corpus, config, pieces, torch.get_num_threads())
    start = open_start(partial)
    # in half precision, if training was: means of many states lose nothing by it, but a rounded
    # score may choose another slot
    dtype = torch.float32 if SCORES[shape.attention_score].activation == "hard" else dtype
    pooling = PoolConfig(
        min_count=config.min_count, max_vocabulary=config.max_vocabulary, seed=config.seed
    )

    def pool(model: MaskedLanguageModel, show: Progress) -> Pooled:
        encoder = encoder_class(shape)(model, pieces, corpus.text, start=start, dtype=dtype)
        return pool_words(encoder, corpus, pooling, show)

    if not (partial / UNTRAINED).is_file():
        counts = torch.ones(len(pieces), dtype=torch.int64)  # states do not depend on it
        untrained = untrained_model(partial, shape, config, counts).to(device)
        # its notes are those of the trained encoder
        with progress("pooling untrained", "tokens") as show, reporting_to(SilentReporter()):
            matrix = pool(untrained, show).vectors.matrix
        states = matrix[:, start.dim if start is not None else 0 :]
        write_whole(partial / UNTRAINED, lambda path: save_array(path, states))
        del untrained, matrix, states  # before as many are made
    with progress("pooling", "tokens") as show:
        pooled = pool(read_model(partial / WEIGHTS, shape, device), show)
    pooled.vectors.write(partial)
    return pooled.info | {"dtype": str(dtype).removeprefix("torch.")}
