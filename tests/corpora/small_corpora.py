"""Corpora of one small text, with options of any kind, and what several tests compare them with."""

import itertools
from pathlib import Path

from firth.corpora.artifacts.artifact import CHECKSUMS, read_json
from firth.corpora.encoding.phrase_options import PhraseOptions
from firth.corpora.encoding.pipeline import encode_corpus
from firth.corpora.encoding.request import BuildOptions, Request, make_request
from firth.corpora.reading.text_blocks import ReadOptions
from firth.corpora.store.corpus import Corpus, View
from firth.corpora.text.segment import TextSettings

KINDS = {"read": ReadOptions, "text": TextSettings, "options": BuildOptions}


def request(*sources: Path, phrases: PhraseOptions | None = None, **options: object) -> Request:
    """Return a request with some options set; each goes to the settings class that has it."""
    parts = {
        name: kind(**{n: v for n, v in options.items() if n in kind.__dataclass_fields__})
        for name, kind in KINDS.items()
    }
    return make_request(sources, phrases=phrases, **parts)


def build(
    folder: Path,
    text: str,
    name: str = "news",
    sizes: dict[str, int] | None = None,
    **options: object,
) -> Corpus:
    """Build a corpus of one text file."""
    folder.mkdir(exist_ok=True)
    source = folder / f"{name}.txt"
    source.write_text(text, encoding="utf-8", newline="")
    return encode_corpus(request(source, **options), folder / name, **(sizes or {}))


def arrays(corpus: Corpus) -> dict[str, str]:
    """Return the checksums of every array and of the vocabulary TSV."""
    sums = read_json(corpus.path / CHECKSUMS)
    return {name: value for name, value in sums.items() if name.endswith((".npy", ".tsv"))}


def words_of(corpus: Corpus, level: str) -> list[list[str]]:
    """Return the words of each sentence, paragraph or document."""
    words, parts = corpus.vocabulary.words(), []
    for shard in corpus.shards:
        ids = shard.ids.tolist()
        bounds = itertools.pairwise(shard.array(level).tolist())
        parts += [[words[i] for i in ids[a:b]] for a, b in bounds]
    return parts


def parts_of(view: View) -> list[list[str]]:
    """Return the parts of a view as words."""
    return [
        [view.words[row] for row in rows[a:b]]
        for rows, offsets in view.shards()
        for a, b in itertools.pairwise(offsets.tolist())
    ]


def naive_mixed(value: int) -> int:
    """The output function of splitmix64, in Python integers."""
    value = (value ^ value >> 30) * 0xBF58476D1CE4E5B9 % 2**64
    value = (value ^ value >> 27) * 0x94D049BB133111EB % 2**64
    return value ^ value >> 31
