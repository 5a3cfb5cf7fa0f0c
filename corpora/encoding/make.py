"""make_corpus: build a corpus in one call, like ``firth build-corpus``."""

import os
from collections.abc import Sequence
from concurrent.futures import Executor
from pathlib import Path

from firth.corpora.encoding.open_or_build import build, up_to_date
from firth.corpora.encoding.phrase_options import PhraseOptions
from firth.corpora.encoding.request import BuildOptions, make_request
from firth.corpora.reading.text_blocks import ReadOptions
from firth.corpora.store.corpus import Corpus
from firth.corpora.text.segment import TextSettings


def make_corpus(
    sources: str | Path | Sequence[str | Path],
    out: str | Path,
    *,
    read: ReadOptions | None = None,
    text: TextSettings | None = None,
    options: BuildOptions | None = None,
    phrases: PhraseOptions | None = None,
    force: bool = False,
    cluster: str | Executor | None = None,
) -> Corpus:
    """Build a corpus from text, or open the corpus at ``out`` if it is up to date.

    Parameters
    ----------
    sources : str, Path or sequence of these
        Files and folders in any format that Firth reads, their URLs (``s3://bucket/*.txt.gz``,
        read by fsspec), or a named corpus: ``lee``, ``wiki-sample``, ``synthetic``, ``text8``.
    out : str or Path
        The directory of the corpus.
    read : ReadOptions, optional
        Format and encoding of the sources; detected, UTF-8 by default.
    text : TextSettings, optional
        Normalization and segmentation.
    options : BuildOptions, optional
        Held-out share, pruning, memory and threads.
    phrases : PhraseOptions, optional
        Phrases that become one word, such as ``new_york``; by default none.
    force : bool
        Build even if the corpus is up to date, and replace what is at ``out``.
    cluster : str or concurrent.futures.Executor, optional
        Where files are encoded and shards written: the address of a Dask scheduler such as
        ``tcp://HOST:8786``, ``local:N`` for N processes, or an executor whose workers see the
        same files. By default threads of this process.

    Returns
    -------
    Corpus
        Opened. An existing corpus is up to date if it has the same settings and the same
        sources, compared by size and time or else by content. The bytes of its arrays depend
        on sources and settings alone, not on threads, memory or ``cluster``.

    Raises
    ------
    FirthError
        A source cannot be read or contains no words, or ``out`` exists and is something else.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "a.txt").write_text("The cat sat. The cat slept.")
    ...     corpus = make_corpus(f"{folder}/a.txt", f"{folder}/corpus")
    ...     corpus.n_tokens, corpus.vocabulary.words(0, 3)
    (8, ['.', 'cat', 'the'])
    """
    source_list = [sources] if isinstance(sources, str | os.PathLike) else sources
    request = make_request(source_list, read=read, text=text, options=options, phrases=phrases)
    out = Path(out)
    if not force and up_to_date(out, request):
        return Corpus.open(out)
    return build(request, out, force=force, cluster=cluster)
