"""Options of a comparison; imports nothing heavy, so that --help is quick."""

from dataclasses import dataclass

from firth.corpora.common.options import check, describe_settings, setting

# for words without a vector: skip their items, use a zero vector, or use the mean of all vectors
UNKNOWN = ("skip", "zero", "mean")
# default example sentence of the HTML page
EXAMPLE = "I [saw] a man with a [saw]"


@describe_settings
@dataclass(frozen=True, kw_only=True)
class CompareConfig:
    """Evaluation sets and settings of a comparison, the same for all its runs."""

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
        (), "A set of word groups with outliers; may be repeated.", metavar="FILE"
    )
    associations: tuple[str, ...] = setting(
        (),
        "Association tests (WEAT): lists of target and of attribute words; may be repeated.",
        metavar="FILE",
    )
    contexts: tuple[str, ...] = setting(
        (),
        "A set of words in two contexts, such as SCWS, WiC or CoSimLex; for WiC, DEV,TEST chooses "
        "the threshold on DEV; may be repeated.",
        metavar="[DEV,]TEST",
    )
    tagging: tuple[str, ...] = setting(
        (),
        "Files of tagged words, CoNLL-U or columns, to train and score tagging probes; may be "
        "repeated.",
        metavar="TRAIN[,DEV],TEST",
    )
    sentences: tuple[str, ...] = setting(
        (),
        "Files of labeled sentences, such as SST-2 or TREC, to train and score sentence probes; "
        "one file, such as MR or Subj, is cross-validated; may be repeated.",
        metavar="[TRAIN[,DEV],]TEST",
    )
    minimal_pairs: tuple[str, ...] = setting(
        (),
        "A set of minimal pairs of sentences, one of them acceptable, such as BLiMP; may be "
        "repeated.",
        metavar="FILE",
    )
    change: tuple[str, ...] = setting(
        (),
        "A set of words with the degree of their change, such as those of SemEval-2020 Task 1, to "
        "score runs that store how words change; may be repeated.",
        metavar="FILE",
    )
    folds: int = setting(
        10,
        "Folds of cross-validation for labeled sentences in one file, stratified, by the seed.",
        at_least=2,
        at_most=100,
    )
    fine_labels: bool = setting(
        False,
        "In TREC's sentences, predict fine labels such as DESC:manner rather than DESC.",
    )
    encoding: str = setting(
        "",
        "Encoding of evaluation sets that are not UTF-8, such as latin-1.",
        metavar="ENCODING",
    )
    limit: int = setting(
        0,
        "Use at most N minimal pairs of each paradigm, the same for all runs; 0 for all.",
        at_least=0,
        metavar="N",
    )
    left_to_right_in_words: bool = setting(
        True,
        "In minimal pairs, hide the later pieces of a word when predicting one of its pieces.",
        opposite="all-other-pieces",
    )
    unknown: str = setting(
        "skip",
        "Items with unknown words: skip them, or use a zero vector or the mean of all vectors for "
        "the words.",
        choices=UNKNOWN,
    )
    restrict: int = setting(
        30_000,
        "Use only analogy questions whose four words are among the N most frequent, and search "
        "answers there; 0 for all.",
        at_least=0,
        metavar="N",
    )
    exclude: bool = setting(
        True,
        "Exclude the words of an analogy question from its answers.",
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
        "Report intrinsic measures: isotropy, hubness, length against frequency, and agreement "
        "between runs; without any set, only these.",
    )
    baselines: str = setting(
        "one-hot,random",
        "Untrained vectors to compare with: one-hot, random, both or none. On probes one-hot can "
        "take longer than the runs.",
        choices=("one-hot,random", "one-hot", "random", "none"),
    )
    replicates: int = setting(
        1_000, "Bootstrap draws of items, for intervals and tests.", at_least=100, at_most=100_000
    )
    seed: int = setting(
        1,
        "Seed of the random baseline, the bootstrap, the probes, the starts of clusterings, the "
        "split of WiC into halves, and the sample of minimal pairs.",
        at_least=0,
        below=2**64,
        metavar="SEED",
    )

    def __post_init__(self) -> None:
        """Check the range of every option."""
        check(self)

    @property
    def baseline_names(self) -> list[str]:
        """The names in ``baselines``."""
        return [] if self.baselines == "none" else self.baselines.split(",")

    @property
    def candidates(self) -> int | None:
        """Number of most frequent words for analogy questions; None for all."""
        return self.restrict or None
