"""Build requests: resolved sources and all settings."""

import dataclasses
import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from firth.corpora.artifacts.kinds import CORPUS, kind_of, wrong_kind
from firth.corpora.common.errors import SettingError, SourceError
from firth.corpora.common.memory import available_threads, parse_memory
from firth.corpora.common.options import (
    check,
    describe_settings,
    rare_setting,
    refuse_unused,
    setting,
)
from firth.corpora.datasets.named import NAMED_CORPORA, named_files
from firth.corpora.encoding.metadata import MetadataTable, read_table
from firth.corpora.encoding.phrase_options import PhraseOptions, PhraseRules, read_rules
from firth.corpora.graphs.walk_options import WalkOptions
from firth.corpora.reading.detect import HEAD_BYTES
from firth.corpora.reading.sources import SourceFile, Stream, peek, source_files
from firth.corpora.reading.text_blocks import ReadOptions
from firth.corpora.text.pairs import PAIRS, units_of
from firth.corpora.text.segment import TextSettings, lemmatizer

_NODE_NAMES = TextSettings(segmenter="tokens")
_PAIRS = "pairs"  # with the units that their columns show


@describe_settings
@dataclass(frozen=True, kw_only=True)
class BuildOptions:
    """Held-out share, pruning and kept text of a corpus, and the resources to build it.

    Examples
    --------
    >>> BuildOptions(threads=2).n_threads
    2
    """

    held_out: float | None = setting(
        None,
        "Share of the tokens held out from training, the same for every method (default: 2 % or "
        "20,000 tokens, whichever is more, but at most 10 %).",
        at_least=0.0,
        below=1.0,
        heading="Corpus",
    )
    max_types: int | None = rare_setting(
        None, "Keep only the most frequent types; all others become one type.", at_least=1
    )
    keep_text: bool = setting(
        False, "Keep the original text of every sentence, compressed, to show words in it."
    )
    memory: str | None = rare_setting(
        None,
        "Working memory, such as 4G (default: half of the machine's).",
        metavar="SIZE",
        heading="Seeds and machine",
    )
    threads: int | None = rare_setting(None, "Threads (default: all cores).", at_least=1)

    def __post_init__(self) -> None:
        check(self)
        parse_memory(self.memory)

    @property
    def n_threads(self) -> int:
        """Number of threads to use."""
        return self.threads or available_threads()


@dataclass(frozen=True, kw_only=True)
class Request:
    """A corpus to build."""

    sources: tuple[str | os.PathLike[str] | SourceFile, ...]  # "-": standard input; no names
    read: ReadOptions
    text: TextSettings
    options: BuildOptions
    phrases: PhraseRules | None = None
    metadata: MetadataTable | None = None
    walks: WalkOptions | None = None  # None for text

    def files(self, exclude: Path | None = None) -> list[SourceFile]:
        """List the files of the sources, without a table of metadata among them."""
        files = source_files(self.sources, exclude=exclude)
        if self.walks and (len(files) > 1 or (files[0].size is None and files[0].url is None)):
            what = f"{len(files)} files" if len(files) > 1 else "a pipe"
            raise SourceError(f"{files[0]}: `walks` reads the file of one graph, not {what}")
        if self.metadata is None or (table := self.metadata.path) is None:
            return files
        inside = [file.path for file in files if file.path and file.path.name == table.name]
        same = [path for path in inside if os.path.samefile(path, table)]
        return [file for file in files if file.path not in same]

    @property
    def n_phrase_passes(self) -> int:
        """How often phrases are joined."""
        return self.phrases.options.phrase_passes if self.phrases else 0

    def settings(self) -> dict[str, Any]:
        """Return the settings that determine the tokens, as memory and threads do not, as JSON."""
        # corpora without phrases have the settings of versions without the option
        phrases = {"phrases": self.phrases.settings()} if self.phrases else {}
        read = asdict(self.read)
        del read["metadata"], read["sequences"]
        if not self.read.unescape:
            del read["unescape"]  # so have those of versions without it
        settings = {
            "read": read,
            "text": self.text.to_json(),
            "held_out": self.options.held_out,
            "max_types": self.options.max_types,
            **phrases,
            **({"metadata": self.metadata.fingerprint} if self.metadata else {}),
            **({"walks": asdict(self.walks)} if self.walks else {}),
        }
        as_json: dict[str, Any] = json.loads(json.dumps(settings))
        return as_json


def make_request(
    sources: Sequence[str | os.PathLike[str] | SourceFile],
    *,
    read: ReadOptions | None = None,
    text: TextSettings | None = None,
    options: BuildOptions | None = None,
    phrases: PhraseOptions | None = None,
    metadata: Any = None,
    walks: WalkOptions | None = None,
) -> Request:
    """Resolve a named corpus, unless a file of that name exists, and fill in default settings.

    ``metadata`` is a path or a data frame, in place of that of ``read``.
    Raises SourceError for a name among other sources, options that the named corpus excludes,
    sources that are corpora or runs, and lists of words that cannot be read.
    """
    _refuse_artifacts(sources)
    read = read or ReadOptions()
    names = [str(s) for s in sources if str(s) in NAMED_CORPORA and not os.path.exists(str(s))]
    if names:
        if len(sources) > 1:
            raise SourceError(f"{names[0]}: a named corpus is built alone; pass no other source")
        sources = named_files(names[0])
        read = _with_required(read, names[0], NAMED_CORPORA[names[0]])
    text, options = text or TextSettings(), options or BuildOptions()
    walks = walks if walks and walks.walks else None
    if walks:
        _refuse_text(sources, read, text, options, phrases or PhraseOptions(), metadata)
        text = _NODE_NAMES
        options = dataclasses.replace(options, held_out=options.held_out or 0.0)
    if text.lemmatize is not None:
        lemmatizer(text.lemmatize)  # refuses a language before any work
    if text.of_tokens:
        read = _of_sequences(read)
    if PAIRS.fullmatch(text.pattern or ""):  # a table otherwise
        read = dataclasses.replace(read, format="text" if read.format == "auto" else read.format)
    if text.pattern == _PAIRS and not isinstance(sources[0], SourceFile):
        text = dataclasses.replace(text, pattern=units_of(_first_lines(sources, read)))
    rules = read_rules(phrases or PhraseOptions())
    if rules and text.lemmatize is not None:
        name = "phrases_from" if rules.listed else "phrases"
        raise SettingError(
            f"`{name}` joins words of the text, which `lemmatize={text.lemmatize}` replaces; drop "
            "one of them"
        )
    return Request(
        sources=tuple(sources),
        read=read,
        text=text,
        options=options,
        phrases=rules,
        metadata=read_table(read.metadata if metadata is None else metadata),
        walks=walks,
    )


def _refuse_text(
    sources: Sequence[Any], read: ReadOptions, text: TextSettings, options: BuildOptions,
    phrases: PhraseOptions, metadata: Any,
) -> None:  # fmt: skip
    """Raise for a source of walks that is text, and for options of text."""
    if of_text := next((each for each in sources if isinstance(each, SourceFile)), None):
        raise SourceError(f"{of_text}: is text; pass the path of a graph, or drop `walks`")
    reason = "does nothing for the walks over a graph"
    refuse_unused(options, ("max_types", "keep_text"), reason)
    refuse_unused(text, ("pattern", "segmenter"), reason)  # first, since they imply others
    for config, used in ((read, ("encoding", "errors")), (text, ()), (phrases, ())):
        names = [field.name for field in dataclasses.fields(config) if field.name not in used]
        refuse_unused(config, names, reason)
    if metadata is not None:
        raise SettingError(f"`metadata`: {reason}; leave it out")


def _refuse_artifacts(sources: Sequence[str | os.PathLike[str] | SourceFile]) -> None:
    """Raise for corpora and runs in the place of text."""
    for source in sources:
        if isinstance(source, SourceFile):
            continue
        if problem := wrong_kind(source, CORPUS):
            raise SourceError(problem)
        if kind_of(source) == CORPUS:
            raise SourceError(f"{source}: a corpus already; train on it as it is")


def _of_sequences(read: ReadOptions) -> ReadOptions:
    """Return the options by which a line or record is one sequence; raise if others were chosen."""
    given: dict[str, Any] = {"wrapped": read.wrapped, "unescape": read.unescape}
    if read.documents in ("block", "div"):
        given["documents"] = read.documents
    for option, value in given.items():
        if value:
            raise SettingError(
                f"`{option}={value}`: `segmenter=tokens` reads each line or record as one sequence "
                f"of tokens, kept as they are; drop `{option}`"
            )
    return dataclasses.replace(read, wrapped=False, sequences=True)


def _first_lines(sources: Sequence[Any], read: ReadOptions) -> list[str]:
    """Return the first lines of the first file, by which the units of pairs are known."""
    [first, *_] = source_files(sources)
    if first.size is None and first.url is None:
        raise SourceError(
            f"{first}: a pipe can be read only once; name the units of its pairs, such as "
            "`pattern=pairs:characters:words`"
        )
    head, _ = peek(Stream(first, read, HEAD_BYTES).text(), HEAD_BYTES)
    return head[:HEAD_BYTES].decode("utf-8", "ignore").split("\n")


def _with_required(read: ReadOptions, name: str, required: dict[str, Any]) -> ReadOptions:
    """Apply the options that a named corpus requires; raise if the user chose others."""
    default = ReadOptions()
    for option, value in required.items():
        given = getattr(read, option)
        if given not in (value, getattr(default, option)):
            raise SourceError(
                f"{name}: is read with `{option}={value}`, not {given}; drop `{option}`"
            )
    return dataclasses.replace(read, **required)
