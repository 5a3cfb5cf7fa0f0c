"""A small corpus of several shards with kept fields, and its text as lists, for tests of search."""

import itertools
import json

import numpy as np

from firth.corpora.encoding.pipeline import encode_corpus
from firth.corpora.encoding.request import make_request
from firth.corpora.reading.text_blocks import ReadOptions
from firth.corpora.text.segment import TextSettings

WORDS = ["sea", "seal", "ship", "ocean", "new", "york", "the", "of", "a", ",", "new_york"]


def searched_corpus(folder, *, n_documents=120, seed=1, shard_tokens=150):
    """Build a corpus of random sentences with a year and a title for each document."""
    rng = np.random.default_rng(seed)
    lines = []
    for number in range(n_documents):
        sentences = [
            " ".join(rng.choice(WORDS, size=rng.integers(1, 9))) + " ."
            for _ in range(rng.integers(0, 6))
        ]
        text = " ".join(sentences).replace("the", "The")
        lines.append({"text": text, "year": str(1900 + number % 3), "title": f"T{number}"})
    path = folder / "texts.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)))
    request = make_request(
        [path],
        read=ReadOptions(keep=("year", "title")),
        text=TextSettings(segmenter="whitespace"),
    )
    out = folder / "corpus"
    return encode_corpus(request, out, shard_tokens=shard_tokens, block_bytes=500)


def documents_of(corpus):
    """Return the documents as lists of sentences, which are lists of words."""
    found = []
    for shard in corpus.shards:
        words = [corpus.vocabulary[each] for each in shard.ids.tolist()]
        sentences = [words[a:b] for a, b in itertools.pairwise(shard.offsets("sentence").tolist())]
        starts = shard.offsets("sentence")[:-1]
        for first, last in itertools.pairwise(shard.documents.tolist()):
            inside = np.flatnonzero((starts >= first) & (starts < last))
            found.append([sentences[n] for n in inside])
    return found


def occurrences_of(documents, words):
    """Return (document, first token in it) of a phrase, by the definition; None is any word."""
    found = []
    for number, sentences in enumerate(documents):
        first = 0
        for sentence in sentences:
            for place in range(len(sentence) - len(words) + 1):
                part = sentence[place : place + len(words)]
                if all(word in (None, own) for word, own in zip(words, part, strict=True)):
                    found.append((number, first + place))
            first += len(sentence)
    return found
