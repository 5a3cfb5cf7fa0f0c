"""What a learning curve is made of: its options, and nested samples of one corpus."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from corpora.common.options import check, setting
from corpora.common.reporting import note

if TYPE_CHECKING:  # numba comes with them, and --help needs only the options
    from corpora.store.corpus import Corpus

CURVE = "curve.json"
WHOLE = "all"  # what the size of the whole corpus is called


@dataclass(frozen=True, kw_only=True)
class CurveConfig:
    """Which methods learn from how much text; each with its own default options."""

    methods: str = setting(
        "svd,skipgram,cbow", "Methods, with commas between: svd, skipgram, cbow, mlm.",
        metavar="METHOD,...",
    )  # fmt: skip
    sizes: str | None = setting(
        None,
        "Tokens of the samples, such as 500K,1M,2.5M; by default doubled from 1M, or from an "
        "eighth of a small corpus. All of the corpus is always the last.",
        metavar="SIZE,...",
    )
    seeds: int = setting(
        1,
        "Train so many times, with `seed` and those that follow; svd once, as it only starts "
        "from its seed.",
        at_least=1,
        at_most=1_000,
    )
    seed: int = setting(
        1,
        "Seed of the samples, of the first training, of the random baseline and of the draws.",
        at_least=0,
        below=2**63,
        metavar="SEED",
    )

    def __post_init__(self) -> None:
        """Hold every option against its range."""
        check(self)


@dataclass(frozen=True, eq=False)
class Sampled:
    """A nested sample of the corpus."""

    name: str  # its size as it was asked for, such as ``2.5M``; ``all`` for the whole
    corpus: "Corpus"  # of these documents alone
    types: int  # distinct words and marks in its training documents


def take_samples(corpus: "Corpus", sizes: Sequence[int], seed: int) -> list[Sampled]:
    """Sample a corpus, each sample within the next; the whole corpus last."""
    from corpora.store.sampling import size_name

    samples: list[Sampled] = []
    for size in sizes:
        sample, name = corpus.sample(size, seed=seed), size_name(size)
        if sample.fingerprint == corpus.fingerprint:
            note(f"{name}: is all of {corpus.path} ({corpus.training_tokens:,} tokens to train on)")
        elif samples and sample.fingerprint == samples[-1].corpus.fingerprint:
            note(f"{name}: left out, the same documents as {samples[-1].name}: they are long")
        else:
            samples.append(Sampled(name, sample, _n_types(sample)))
    return [*samples, Sampled(WHOLE, corpus, _n_types(corpus))]


def _n_types(corpus: "Corpus") -> int:
    """Distinct words and marks of the training documents."""
    return int((corpus.stored.count_types("train") > 0).sum())
