"""make_corpus: from sources to a corpus in one call, as ``firth build-corpus`` does it."""

from collections.abc import Sequence
from pathlib import Path

from corpora.build.open_or_build import up_to_date
from corpora.build.pipeline import build_corpus
from corpora.build.request import BuildOptions, make_request
from corpora.common.console import note, progress
from corpora.reading.text_blocks import ReadOptions
from corpora.store.corpus import Corpus
from corpora.text.segment import TextSettings


def make_corpus(
    sources: str | Path | Sequence[str | Path],
    out: str | Path,
    *,
    read: ReadOptions | None = None,
    text: TextSettings | None = None,
    options: BuildOptions | None = None,
    force: bool = False,
) -> Corpus:
    """Encode text into a corpus that every method shares; open the one that was made of it before.

    Progress and advice go to standard error.

    Parameters
    ----------
    sources : str, Path or sequence of these
        Files and folders of any format that Firth reads, or a named corpus:
        ``lee``, ``wiki-sample``, ``synthetic``, ``text8``.
    out : str or Path
        Where the corpus will stand, or stands.
    read, text, options : optional
        Settings; their defaults otherwise.
    force : bool
        Make it anew, and replace what stands at ``out``.

    Returns
    -------
    Corpus
        Opened. One that stands at ``out`` is opened where it was made of the same sources, by
        size and time or else by content, with the same settings.

    Raises
    ------
    FirthError
        A source cannot be read or holds no words, or something else stands at ``out``.
    """
    each = [sources] if isinstance(sources, str | Path) else sources
    request, out = make_request(each, read=read, text=text, options=options), Path(out)
    if not force and up_to_date(out, request):
        return Corpus.open(out)
    with progress("reading", "bytes") as show:
        corpus = build_corpus(request, out, force=force, progress=show)
    for line in corpus.advice():
        note(line)
    return corpus
