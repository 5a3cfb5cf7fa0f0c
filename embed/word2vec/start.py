"""What skip-gram and CBOW start from: the words of a text, the epochs it gets, other vectors."""

import hashlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # numba comes with it
    from corpora.store.corpus import Corpus
    from embed.vectors.word_vectors import WordVectors
    from embed.word2vec.train import Word2VecConfig
    from embed.word2vec.training_text import TrainingText

_EPOCHS, _FEW_TOKENS, _EPOCHS_OF_FEW = 5, 4_000_000, 20


def open_text(
    corpus: "Corpus", config: "Word2VecConfig", init: "WordVectors | None"
) -> "TrainingText":
    """Open the words and text to train on.

    Parameters
    ----------
    corpus : Corpus
        Its training documents are read.
    config : SkipGramConfig or CbowConfig
        Every option.
    init : WordVectors or None
        What ``config.init`` names.

    Returns
    -------
    TrainingText
        Nothing of the text is held in memory.

    Raises
    ------
    SettingError
        There is nothing to train, or ``init`` does not fit.
    """
    from embed.word2vec.training_text import open_training_text

    return open_training_text(
        corpus,
        min_count=config.min_count,
        max_vocabulary=config.max_vocabulary,
        punctuation=config.punctuation,  # type: ignore[arg-type]
        boundary=config.boundary,  # type: ignore[arg-type]
        init=init,
    )


def settled_epochs(config: "Word2VecConfig", n_tokens: int) -> int:
    """Tell how many epochs a training takes.

    Parameters
    ----------
    config : SkipGramConfig or CbowConfig
        Every option.
    n_tokens : int
        Tokens of one epoch.

    Returns
    -------
    int
        Those of the config; where it leaves them open, more for a text of few tokens.
    """
    if config.epochs is not None:
        return config.epochs
    return _EPOCHS_OF_FEW if n_tokens < _FEW_TOKENS else _EPOCHS


def init_fingerprint(init: "WordVectors") -> str:
    """Name the vectors to start from, so that only the same training goes on.

    Parameters
    ----------
    init : WordVectors
        Dense vectors.

    Returns
    -------
    str
        16 hexadecimal digits, of the words and a thousand or more of the rows.
    """
    digest = hashlib.sha256(repr(init.matrix.shape).encode())
    digest.update(init.matrix[:: max(1, len(init.matrix) // 1000)].tobytes())
    digest.update("\n".join(init.vocabulary).encode(errors="backslashreplace"))
    return digest.hexdigest()[:16]
