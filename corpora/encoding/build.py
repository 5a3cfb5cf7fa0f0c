"""Build a corpus in one call, like ``firth build-corpus``, or open one."""

import os
from collections.abc import Iterable
from concurrent.futures import Executor
from pathlib import Path
from typing import Any

from firth.corpora.artifacts.artifact import checksum, fingerprint, refuse_existing
from firth.corpora.common.cache import cache_folder
from firth.corpora.common.cluster import open_executor
from firth.corpora.common.errors import ArtifactError, SettingError
from firth.corpora.common.reporting import note, progress
from firth.corpora.common.system import file_name
from firth.corpora.encoding.phrase_options import PhraseOptions
from firth.corpora.encoding.pipeline import encode_corpus
from firth.corpora.encoding.request import BuildOptions, Request, make_request
from firth.corpora.graphs.walk_options import WalkOptions
from firth.corpora.reading.in_memory import TextSource, as_files
from firth.corpora.reading.sources import SourceFile
from firth.corpora.reading.text_blocks import ReadOptions
from firth.corpora.store.corpus import Corpus, is_corpus
from firth.corpora.store.manifest import read_manifest
from firth.corpora.text.segment import TextSettings


def build_corpus(
    source: TextSource,
    out: str | Path | None = None,
    *,
    text: str | None = None,
    keep: Iterable[str] = (),
    metadata: Any = None,
    read: ReadOptions | None = None,
    words: TextSettings | None = None,
    options: BuildOptions | None = None,
    phrases: PhraseOptions | None = None,
    walks: WalkOptions | None = None,
    force: bool = False,
    cluster: str | Executor | None = None,
) -> Corpus:
    """Build a corpus from text or a graph, or open the corpus at ``out`` if it is up to date.

    Parameters
    ----------
    source : path, sequence of paths, or text in memory
        Files and folders in any format that Firth reads, their URLs (``s3://bucket/*.txt.gz``,
        read by fsspec), or a named corpus: ``lee``, ``wiki-sample``, ``synthetic``, ``text8``.
        Text in memory is a data frame, or a list, Series or iterator of strings, of lists of
        tokens, of records with named fields, or of pairs of a text and a mapping of fields. Each
        item is a document; tokens are not divided any more. In a list, strings of which every one
        may be a path are taken for paths; in a Series or an iterator, none is.
    out : str or Path, optional
        The directory of the corpus; by default it is in the cache.
    text : str, optional
        The column or field with the text: of data frames, records, JSONL, CSV and others.
    keep : sequence of str
        Columns or fields to keep with each document, for ``change`` and others; of pairs of a
        text and fields, by default all.
    metadata : path or data frame, optional
        A table (TSV, CSV, XLSX) with a row of fields for each document, all of which are kept.
        Rows are found by a column with the names of the files, or by one that the documents keep,
        or else there are as many as documents, in their order.
    read : ReadOptions, optional
        Format and encoding of the sources; detected, UTF-8 by default.
    words : TextSettings, optional
        Normalization and segmentation.
    options : BuildOptions, optional
        Held-out share, pruning, memory and threads.
    phrases : PhraseOptions, optional
        Phrases that become one word, such as ``new_york``; by default none.
    walks : WalkOptions, optional
        Random walks over the graph in the file ``source``, which become the sentences of the
        corpus; by default the source is text. Nothing is held out by default, and of the other
        options only the encoding, memory and threads may be set.
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
    ...     corpus = build_corpus(["The cat sat.", "The cat slept."], f"{folder}/corpus")
    ...     corpus.n_documents, corpus.n_tokens, corpus.vocabulary.words(0, 3)
    (2, 8, ['.', 'cat', 'the'])
    """
    with as_files(source, read, text, keep) as (files, read):
        request = make_request(
            files, read=read, text=words, options=options, phrases=phrases, metadata=metadata,
            walks=walks,
        )  # fmt: skip
        path = _in_cache(request) if out is None else Path(out)
        if force or not up_to_date(path, request):
            if out is None:
                note(f"building a corpus of {', '.join(map(str, files))} in {path}")
            build(request, path, force=force or (out is None and path.exists()), cluster=cluster)
        return Corpus.open(path)


def build(
    request: Request, out: Path, *, force: bool, cluster: str | Executor | None = None
) -> Corpus:
    """Build a corpus, reporting progress and then the notes on the corpus."""
    refuse_existing(out, force)  # before workers start
    if request.walks and cluster is not None:
        raise SettingError("`cluster` does nothing for the walks over a graph; leave it out")
    what = ("walking", "tokens") if request.walks else ("reading", "bytes")
    with open_executor(cluster) as executor, progress(*what) as show:
        corpus = encode_corpus(request, out, force=force, executor=executor, progress=show)
    for line in corpus.advice():
        note(line)
    return corpus


def open_or_build(source: Corpus | TextSource, words: TextSettings | None = None) -> Corpus:
    """Open a corpus and verify its checksums, or build one of a text in the cache first."""
    if isinstance(source, Corpus):
        return source
    if isinstance(source, str | os.PathLike) and is_corpus(Path(source)):
        corpus = Corpus.open(Path(source))
    else:
        corpus = build_corpus(source, words=words)
    corpus.verify()
    return corpus


def _in_cache(request: Request) -> Path:
    """Return the path of a corpus in the cache, by its sources and settings."""
    files = request.files()
    marks = [file.url or file.etag or str(file.path and file.path.resolve()) for file in files]
    name = Path(str(request.sources[0])).stem.strip("<>") if len(request.sources) == 1 else "corpus"
    return cache_folder("corpora") / f"{file_name(name)}-{fingerprint([marks, request.settings()])}"


def up_to_date(out: Path, request: Request) -> bool:
    """Return whether the corpus at a path has the settings and sources of a request.

    It may keep text without being asked to. Sources are compared by size and time, or else by
    content; standard input always differs.
    """
    if not is_corpus(out):
        return False
    try:
        manifest = read_manifest(out)
    except ArtifactError:
        return False
    if manifest["settings"] != request.settings():
        return False
    if request.options.keep_text and not Corpus(out, manifest).keeps_text:
        return False
    files = request.files(out)
    known = manifest["sources"]
    return len(files) == len(known) and all(map(_is_unchanged, files, known))


def _is_unchanged(file: SourceFile, known: dict[str, object]) -> bool:
    """Return whether a file is unchanged, by name, size and time or else by content."""
    if file.url is not None:
        marks = {"size": file.size, "etag": file.etag, "mtime_ns": file.mtime_ns}
        same = all(value == known.get(name) for name, value in marks.items())
        return same and (file.etag or file.mtime_ns) is not None
    if file.path is None or file.size is None or file.size != known["size"]:
        return False
    if (file.path.name, file.mtime_ns) == (Path(str(known["name"])).name, known["mtime_ns"]):
        return True
    return "unreadable" not in known and checksum(file.path) == known["sha256"]
