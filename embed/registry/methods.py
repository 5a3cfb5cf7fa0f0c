"""METHODS: what can be trained, by name, as import paths in text.

Text, so that naming a method imports nothing, and so that a method may stand
here whose package this one must not import.
"""

import importlib
from dataclasses import dataclass
from typing import Any

from corpora.common.errors import SettingError


@dataclass(frozen=True)
class Method:
    """A way to train vectors.

    Parameters
    ----------
    config : str
        ``module:name`` of its config class.
    train : str
        ``module:name`` of its function ``(corpus, config, out, *, force) -> Path``.
    help : str
        One line.
    """

    config: str
    train: str
    help: str

    def config_class(self) -> Any:
        """Import the config class.

        Returns
        -------
        type
            A frozen dataclass of settings.
        """
        return _resolve(self.config)

    def train_function(self) -> Any:
        """Import the training function.

        Returns
        -------
        callable
            ``(corpus, config, out, *, force=False) -> Path``.
        """
        return _resolve(self.train)


METHODS = {
    "svd": Method(
        "embed.svd.train:SvdConfig",
        "embed.svd.train:train_svd",
        "Co-occurrence counts, PPMI, truncated SVD.",
    ),
    "skipgram": Method(
        "embed.word2vec.train:SkipGramConfig",
        "embed.word2vec.train:train_skipgram",
        "Skip-gram with negative sampling.",
    ),
    "cbow": Method(
        "embed.word2vec.train:CbowConfig",
        "embed.word2vec.train:train_cbow",
        "CBOW with negative sampling.",
    ),
    "mlm": Method(
        "pretrain.config:MlmConfig",
        "pretrain.train:train_mlm",
        "Masked-language modelling: word vectors are means of contextual states.",
    ),
}


def find_method(name: str) -> Method:
    """Look a method up.

    Parameters
    ----------
    name : str
        A key of ``METHODS``.

    Returns
    -------
    Method
        Nothing of it is imported yet.

    Raises
    ------
    SettingError
        There is no such method.
    """
    if name not in METHODS:
        raise SettingError(f"method: {name}: is not known; take one of {', '.join(METHODS)}")
    return METHODS[name]


def _resolve(path: str) -> Any:
    """``module:name`` as the object."""
    module, _, name = path.partition(":")
    return getattr(importlib.import_module(module), name)
