"""``firth pool``: other static vectors of an encoder that was trained already, as a run."""

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Any

from corpora.artifacts.artifact import new_artifact, write_json
from corpora.artifacts.provenance import now, provenance
from corpora.common.console import note, progress
from corpora.common.errors import ArtifactError, SettingError
from embed.contextual.encoders import (
    ENCODER,
    POOLED,
    encoder_fingerprint,
    encoder_run,
    open_encoder,
)
from embed.contextual.pooling import PoolConfig, pool_words
from embed.formats.huggingface import is_huggingface
from embed.protocols import ContextualEncoder
from embed.vectors.run_files import run_options

if TYPE_CHECKING:
    from corpora.store.corpus import Corpus

FORMAT = 1
CORPUS = "corpus"


def pool_run(
    run: str | Path,
    config: PoolConfig,
    out: str | Path,
    *,
    corpus: "Corpus | None" = None,
    device: str = "auto",
    force: bool = False,
) -> Path:
    """Pool the states of an encoder into one vector per word.

    Parameters
    ----------
    run : str or Path
        Has the encoder, or was pooled from one, which is then taken; or a Hugging Face folder.
    config : PoolConfig
        Every option.
    out : str or Path
        Where the new run will stand.
    corpus : Corpus, optional
        Whose words and sentences; by default that on which the encoder was trained. A Hugging
        Face folder has none; its tokenizer is given the words of any.
    device : str
        ``auto``, ``cpu`` or ``cuda``.
    force : bool
        Replace a run that stands there.

    Returns
    -------
    Path
        ``out``: ``config.json``, which names the encoder's run, ``provenance.json``,
        ``vocabulary.tsv``, ``vectors.npy`` float32 (V, D), ``checksums.json``.

    Raises
    ------
    ArtifactError
        ``out`` exists or is being made, the run has no encoder, its corpus is gone, or
        ``corpus`` is cut into words otherwise.
    SettingError
        ``out`` is the encoder's own run, the encoder has no such layers, no word is frequent
        enough, or there is no such device.
    """
    run, out, started = encoder_run(Path(run).resolve()), Path(out), now()
    if out.resolve() == run:
        raise SettingError(f"`out={out}`: has the encoder, which would be lost; choose another")
    corpus = corpus or trained_corpus(run)
    _refuse_other_text(corpus, run)
    source = encoder_fingerprint(run)
    options = dataclasses.asdict(config)
    maker = {"command": "pool", ENCODER: source, CORPUS: corpus.fingerprint, **options}
    with new_artifact(out, maker, force=force) as partial:
        encoder = open_encoder(run, device)
        _tell_lost_case(encoder, corpus)
        with progress("pooling", "tokens") as show:
            pooled = pool_words(encoder, corpus, config, show)
        pooled.save(partial)
        about: dict[str, Any] = {
            "format": FORMAT,
            "method": POOLED,
            **options,
            ENCODER: {"path": str(run), "fingerprint": source},
            CORPUS: corpus.reference,
            "pooling": pooled.about,
            "text": corpus.text.to_json(),
        }
        write_json(partial / "config.json", about)
        made = provenance(started, seeds=[config.seed], corpus=corpus.fingerprint)
        write_json(partial / "provenance.json", made)
    return out


def trained_corpus(run: Path) -> "Corpus":
    """Open the corpus that a run was trained on, where it stood then."""
    from corpora.store.corpus import Corpus, is_corpus

    known: Any = run_options(run).get(CORPUS)
    if not isinstance(known, dict) or not {"path", "fingerprint"} <= known.keys():
        raise ArtifactError(f"{run}: does not tell what corpus it was trained on; pass `corpus`")
    path = Path(str(known["path"]))
    if not is_corpus(path):
        raise ArtifactError(f"{path}: the corpus of {run} is gone; pass `corpus`")
    corpus = Corpus.open(path)
    if "sample" in known:
        corpus = corpus.sample_again(known["sample"])
    if corpus.fingerprint != known["fingerprint"]:
        raise ArtifactError(
            f"{path}: is no longer the corpus that {run} was trained on; pass `corpus` to take it "
            "all the same"
        )
    corpus.verify()
    return corpus


def _refuse_other_text(corpus: "Corpus", run: Path) -> None:
    """Words that are cut otherwise are not those that the encoder knows."""
    if is_huggingface(run):  # which divides words into pieces, however they were found
        return
    there, here = run_options(run).get("text"), corpus.text.to_json()
    if there != here:
        raise ArtifactError(
            f"{corpus.path}: its text is cut into words by {here}, that of {run} by {there}; "
            "build the corpus again with the same options"
        )


def _tell_lost_case(encoder: ContextualEncoder, corpus: "Corpus") -> None:
    """An encoder that tells case apart reads lower-cased names as other words."""
    if not corpus.text.keep_case and encoder.words("A") == ["A"]:
        note(
            f"{corpus.path}: is lower-cased, and the encoder tells case apart; build the corpus "
            "with `keep_case=True` for what it knows of capitals"
        )
