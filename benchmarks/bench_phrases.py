"""Joining phrases: Firth's stage of build-corpus beside gensim's Phrases on the same tokens.

Both learn pairs by the ratio of counts with the same threshold, and join them. gensim gets the
sentences of the corpus as lists of words in memory, cut at punctuation, which is never part of a
phrase here. Firth's time includes copying and rewriting the arrays of the corpus and its
vocabulary. One thread each.
"""

import argparse
import shutil
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import harness
import numpy as np
import roles

from firth.corpora.encoding.build import open_or_build
from firth.corpora.encoding.phrase_options import PhraseOptions, PhraseRules
from firth.corpora.encoding.phrases import find_phrases, join_phrases, write_joined
from firth.corpora.encoding.vocabulary_writer import TypeRuns
from firth.corpora.store.corpus import Corpus

ROLE = roles.REPORTING
TEXT = "enwiki2015-AA"
_MEMORY = 1 << 30


def sentences_of(corpus: Corpus, n_shards: int) -> Iterator[list[str]]:
    """Yield the sentences of the first shards as words, cut at punctuation."""
    words, breaks = corpus.vocabulary.words(), corpus.vocabulary.punctuation
    for shard in corpus.shards[:n_shards]:
        cuts = np.flatnonzero(breaks[shard.ids])
        bounds = np.unique(np.concatenate([shard.offsets("sentence"), cuts, cuts + 1]))
        ids = shard.ids.tolist()
        for first, stop in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
            if not breaks[ids[first]]:
                yield [words[each] for each in ids[first:stop]]


def join_with_firth(corpus: Corpus, n_shards: int, folder: Path) -> int:
    """Join the phrases of a copy of the corpus; return how many tokens are phrases."""
    copy = Corpus.open(shutil.copytree(corpus.path, folder / "corpus", dirs_exist_ok=True))
    directories = [shard.directory for shard in copy.shards[:n_shards]]
    rules = PhraseRules(PhraseOptions(phrases="ratio"))
    with ThreadPoolExecutor(1) as threads:
        found = find_phrases(directories, copy.vocabulary, rules, copy.text, threads, 1, _MEMORY)
        _, n_joined = join_phrases(directories, found, len(copy.vocabulary), threads)
        runs = TypeRuns(folder / "runs")
        write_joined(copy.path / "vocabulary", runs, found, n_joined, None)
    shutil.rmtree(folder / "runs")
    return int(n_joined.sum())


def join_with_gensim(sentences: list[list[str]]) -> int:
    """Learn and join phrases; return how many tokens are phrases."""
    from gensim.models.phrases import Phrases

    phrases = Phrases(sentences, min_count=5, threshold=10.0, max_vocab_size=1 << 30).freeze()
    return sum(word.count("_") for sentence in sentences for word in phrases[sentence])


def main() -> None:
    """Time both on the first shards of the text."""
    arguments = harness.parse(__doc__, repeats=1, more=_own_options)
    corpus = open_or_build(roles.open_text(TEXT, role=ROLE))
    n_shards = arguments.shards or len(corpus.shards)
    sentences = list(sentences_of(corpus, n_shards))
    with tempfile.TemporaryDirectory() as folder:
        candidates = {
            "firth": lambda: join_with_firth(corpus, n_shards, Path(folder)),
            "gensim Phrases": lambda: join_with_gensim(sentences),
        }
        measured = harness.time_functions(candidates, arguments.repeats, keep_outputs=True)
    joined = {name: each.outputs[0] for name, each in measured.items()}
    tokens = sum(map(len, sentences)) / 1e6
    harness.report(
        "Phrases", measured, ours="firth", work=tokens, unit="Mtokens", arguments=arguments,
        notes={"joined": joined},
    )  # fmt: skip


def _own_options(parser: argparse.ArgumentParser) -> None:
    """Add the size of the text."""
    parser.add_argument("--shards", type=int, help="of 8 million tokens; all by default")


if __name__ == "__main__":
    main()
