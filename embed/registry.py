"""Training methods, encoders and model formats by name, as import paths.

The paths are strings, so that importing this module loads none of them, and so that they may name
packages that ``embed`` must not import. :func:`resolve` imports them.
"""

import os
import pkgutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from firth.corpora.common.errors import SettingError, needed_packages

MIN_COUNT_HELP = (
    "Drop words with fewer tokens; by default 5, but 1 of less than a million tokens of "
    "`segmenter=tokens`."
)


@dataclass(frozen=True, kw_only=True)
class Chosen:
    """How default settings were chosen: a comparison says so when it shows one of these sets."""

    sets: tuple[str, ...]  # the evaluation sets looked at, by the names of their papers
    settings: tuple[str, ...]  # those whose defaults were chosen on them
    date: str  # year-month-day


@dataclass(frozen=True)
class Method:
    """A training method: its config, its training function and its command."""

    # ``module:name`` of its config class, a frozen dataclass of settings; its ``chosen``, if it has
    # one, is a Chosen, and its ``loss_settings`` name those that comparable losses have in common
    config: str
    # ``module:name`` of its function ``(corpus, config, out, *, force=False)``, which makes a run
    train: str
    # of the command ``train-NAME``, in the package of ``train``; empty if there is none
    summary: str = ""
    seeded: bool = True  # whether the vectors depend on the seed
    # training tokens from which 300 dimensions are better than 100 (docs/recommend.md)
    wide_from: int = 30_000_000

    def width_for(self, tokens: int) -> int:
        """Return the width of vectors that suits a text of this size."""
        return 300 if tokens >= self.wide_from else 100

    def config_class(self) -> Any:
        """Import the config class."""
        return resolve(self.config)

    def train_function(self) -> Any:
        """Import the training function."""
        return resolve(self.train)


METHODS = {
    "svd": Method(
        "firth.embed.svd.train:SvdConfig",
        "firth.embed.svd.train:train_svd",
        "Train count-based vectors by a truncated SVD of PPMI.",
        seeded=False,
        wide_from=8_000_000,
    ),
    "skipgram": Method(
        "firth.embed.word2vec.config:SkipGramConfig",
        "firth.embed.word2vec.train:train_skipgram",
        "Train skip-gram vectors with negative sampling.",
    ),
    "cbow": Method(
        "firth.embed.word2vec.config:CbowConfig",
        "firth.embed.word2vec.train:train_cbow",
        "Train CBOW vectors with negative sampling.",
    ),
    "nplm": Method(
        "firth.embed.nplm.config:NplmConfig",
        "firth.embed.nplm.train:train_nplm",
        "Train a network that predicts the next word; its first layer is vectors.",
    ),
    "autoencoder": Method(
        "firth.embed.autoencoder.config:AutoencoderConfig",
        "firth.embed.autoencoder.train:train_autoencoder",
        "Train an auto-encoder of co-occurrence rows; its codes are vectors.",
    ),
    "mlm": Method(
        "firth.pretrain.config:MlmConfig",
        "firth.pretrain.train:train_mlm",
        "Train an encoder by masked or causal language modeling, like BERT or GPT.",
    ),
}

# ``module:name`` of the function ``(corpus, config)`` that times some steps of a masked LM
ESTIMATE_MLM = "firth.pretrain.training.dry_run:estimate_mlm"

# ``module:name`` of the function that trains an encoder to label sentences or tokens
FINE_TUNE = "firth.pretrain.fine_tune:fine_tune"

# ``module:name`` of the function ``(vectors, words, k)`` that finds neighbors with intervals
NEIGHBOR_INTERVALS = "firth.embed.resampling.intervals:neighbor_intervals"

# ``module:name`` of the function that opens vectors of any format, for modules that it imports
LOAD_VECTORS = "firth.embed.formats.vector_files:load_vectors"

# The "method" of a run (or "huggingface" for a Hugging Face folder) to a function
# (run, device) -> ContextualEncoder.
ENCODERS = {
    "mlm": "firth.pretrain.inference.mlm_encoder:open_run",
    "huggingface": "firth.pretrain.huggingface.encoder:open_folder",
}


# the same for runs that predict the next piece, or do so, too
CAUSAL_ENCODER = "firth.pretrain.inference.mlm_encoder:open_causal"

_WRITE_HUGGINGFACE = (
    "firth.pretrain.huggingface.export:write_huggingface"  # ``(run, folder) -> str``
)
HUGGINGFACE_FILES = (  # that it writes: only a folder with these is overwritten
    "README.md", "config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json",
)  # fmt: skip


def resolve(path: str) -> Any:
    """Import what a path names; raise if a package that it needs is not installed."""
    with needed_packages():
        return pkgutil.resolve_name(path)


def find_method(name: str) -> Method:
    """Return the method of a name; raise SettingError if there is none."""
    if name not in METHODS:
        raise SettingError(f"method: {name}: unknown; choose one of {', '.join(METHODS)}")
    return METHODS[name]


def write_model(run: str | os.PathLike[str], out: str | Path, *, force: bool = False) -> str:
    """Write the model of a masked language model's run for Hugging Face's libraries, atomically.

    Parameters
    ----------
    run : path
        A run of ``train_mlm``, or its encoder.
    out : str or Path
        The folder to write, which ``AutoModelForMaskedLM`` and ``AutoTokenizer`` load.
    force : bool
        Overwrite ``out``.

    Returns
    -------
    str
        A summary of what was written.

    Raises
    ------
    ArtifactError
        If the run has no encoder, or ``out`` exists or cannot be written.
    """
    from firth.corpora.artifacts.atomic import atomic_output

    with atomic_output(Path(out), force, HUGGINGFACE_FILES) as partial:
        summary: str = resolve(_WRITE_HUGGINGFACE)(Path(run), partial)
    return summary
