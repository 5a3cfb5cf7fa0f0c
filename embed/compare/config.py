"""The options of a comparison; imports nothing heavy, so that help is quick."""

from dataclasses import dataclass

from corpora.common.options import check, setting

# What becomes of a word without a vector: its items are left out; a zero vector; the mean of all.
UNKNOWN = ("skip", "zero", "mean")
# What encoders read for the page where nobody names a sentence.
EXAMPLE = "I [saw] a man with a [saw]"


@dataclass(frozen=True, kw_only=True)
class CompareConfig:
    """What a comparison scores and how; the same for every run in it."""

    similarity: tuple[str, ...] = setting(
        (), "A set of word pairs with scores; may be repeated.", metavar="FILE"
    )
    analogies: tuple[str, ...] = setting(
        (), "A set of analogy questions, or a BATS folder; may be repeated.", metavar="FILE"
    )
    categories: tuple[str, ...] = setting(
        (), "A set of words with their categories; may be repeated.", metavar="FILE"
    )
    odd_one_out: tuple[str, ...] = setting(
        (), "A set of groups of words with words that do not fit; may be repeated.", metavar="FILE"
    )
    associations: tuple[str, ...] = setting(
        (),
        "Association tests (WEAT): lists of target and of attribute words; may be repeated.",
        metavar="FILE",
    )
    contexts: tuple[str, ...] = setting(
        (),
        "A set of words in two contexts, as SCWS, WiC or CoSimLex; of WiC, DEV,TEST chooses its "
        "threshold on DEV; may be repeated.",
        metavar="[DEV,]TEST",
    )
    tagging: tuple[str, ...] = setting(
        (),
        "Files of tagged words, CoNLL-U or columns, to learn labels from and to score them on; may "
        "be repeated.",
        metavar="TRAIN[,DEV],TEST",
    )
    sentences: tuple[str, ...] = setting(
        (),
        "Files of labeled sentences, as of SST-2 or TREC, to learn labels from and to score them "
        "on; may be repeated.",
        metavar="TRAIN[,DEV],TEST",
    )
    minimal_pairs: tuple[str, ...] = setting(
        (),
        "A set of pairs of sentences of which one is right, as BLiMP; may be repeated.",
        metavar="FILE",
    )
    limit: int = setting(
        0,
        "Take so many minimal pairs of each paradigm, the same for all runs; 0 for all.",
        at_least=0,
        metavar="N",
    )
    left_to_right_in_words: bool = setting(
        True,
        "In minimal pairs, predict a piece without those that follow it in its word.",
        opposite="all-other-pieces",
    )
    unknown: str = setting(
        "skip",
        "What becomes of items with unknown words: left out, or the words stand for a zero "
        "vector or the mean of all vectors.",
        choices=UNKNOWN,
    )
    restrict: int = setting(
        30_000,
        "Ask only analogy questions whose four words are among the N most frequent, and look "
        "for answers there; 0 for all.",
        at_least=0,
        metavar="N",
    )
    exclude: bool = setting(
        True,
        "The words of an analogy question are no answers to it.",
        opposite="include-question-words",
    )
    sections: bool = setting(
        False,
        "Also score each section of analogy sets, each paradigm of minimal pairs, and each layer "
        "in tagging and sentences.",
    )
    bands: bool = setting(
        False, "Also score by frequency, the rank of an item's rarest word in the first RUN."
    )
    intrinsic: bool = setting(
        False,
        "Also measure the vectors themselves: isotropy, hubness, length against frequency, and "
        "how far runs agree with each other.",
    )
    replicates: int = setting(
        1_000, "Draws of items, for intervals and tests.", at_least=100, at_most=100_000
    )
    seed: int = setting(
        1,
        "Seed of the random baseline, of the draws, of probes, of the halves of WiC that choose "
        "each other's threshold, and of which minimal pairs `limit` takes.",
        at_least=0,
        below=2**64,
        metavar="SEED",
    )

    def __post_init__(self) -> None:
        """Hold every option against its range."""
        check(self)

    @property
    def candidates(self) -> int | None:
        """How many words analogy questions may hold; None for all."""
        return self.restrict or None
