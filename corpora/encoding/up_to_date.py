"""Whether a corpus has the settings and the sources of a request."""

from pathlib import Path

from firth.corpora.artifacts.artifact import checksum
from firth.corpora.common.errors import ArtifactError
from firth.corpora.encoding.request import Request
from firth.corpora.reading.sources import SourceFile
from firth.corpora.store.corpus import Corpus, is_corpus
from firth.corpora.store.manifest import read_manifest


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
