"""Options of a learning curve, and nested samples of a corpus."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from firth.corpora.common.options import check, describe_settings, setting
from firth.corpora.common.reporting import note

if TYPE_CHECKING:  # numba comes with them, and --help needs only the options
    from firth.corpora.store.corpus import Corpus

CURVE = "curve.json"
WHOLE = "all"  # name of the size of the whole corpus


@describe_settings
@dataclass(frozen=True, kw_only=True)
class CurveConfig:
    """Methods and sample sizes of a learning curve; methods use their default options."""

    methods: str = setting(
        "svd,skipgram,cbow",
        "Methods, separated by commas: svd, skipgram, cbow, nplm, autoencoder, mlm.",
        metavar="METHOD,...",
    )  # fmt: skip
    sizes: str | None = setting(
        None,
        "Sample sizes in tokens, such as 500K,1M,2.5M; by default doubling from 1M, or from an "
        "eighth of a small corpus. The whole corpus is always the last sample.",
        metavar="SIZE,...",
    )
    seeds: int = setting(
        1,
        "Number of training seeds, from `seed` on; svd is trained once, since its seed only sets "
        "the starting point.",
        at_least=1,
        at_most=1_000,
    )
    seed: int = setting(
        1,
        "Seed of the samples, the first training run, the random baseline and the bootstrap.",
        at_least=0,
        below=2**63,
        metavar="SEED",
    )

    def __post_init__(self) -> None:
        """Check the range of every option."""
        check(self)


@dataclass(frozen=True, eq=False)
class NestedSample:
    """A nested sample of the corpus."""

    name: str  # the requested size, such as ``2.5M``; ``all`` for the whole corpus
    corpus: "Corpus"  # restricted to the sampled documents
    types: int  # distinct words and punctuation marks in its training documents


def take_samples(corpus: "Corpus", sizes: Sequence[int], seed: int) -> list[NestedSample]:
    """Return nested samples of a corpus in ascending size; the whole corpus is last."""
    from firth.corpora.store.sampling import size_name

    samples: list[NestedSample] = []
    for size in sizes:
        sample, name = corpus.sample(size, seed=seed), size_name(size)
        if sample.fingerprint == corpus.fingerprint:
            note(
                f"{name}: covers all of {corpus.path} ({corpus.training_tokens:,} training tokens)"
            )
        elif samples and sample.fingerprint == samples[-1].corpus.fingerprint:
            note(f"{name}: left out, same documents as {samples[-1].name} (documents are long)")
        else:
            samples.append(NestedSample(name, sample, _n_types(sample)))
    return [*samples, NestedSample(WHOLE, corpus, _n_types(corpus))]


def _n_types(corpus: "Corpus") -> int:
    """Count the distinct words and punctuation marks of the training documents."""
    return int((corpus.stored.count_types("train") > 0).sum())
