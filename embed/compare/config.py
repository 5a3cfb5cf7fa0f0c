"""Options of a comparison; imports nothing heavy, so that --help is quick."""

from dataclasses import dataclass

from firth.corpora.common.errors import SettingError
from firth.corpora.common.options import check, describe_settings, rare_setting, setting
from firth.embed.compare.kinds import list_kinds

# for words without a vector: skip their items, use a zero vector, or use the mean of all vectors
UNKNOWN = ("skip", "zero", "mean")
# settings without an option of a command
PYTHON_ONLY = ("sets", "folds", "fine_labels", "left_to_right_in_words", "replicates")
HIERARCHICAL = "hierarchical"  # the pooling of texts of several sentences
POOLINGS = ("mean", "attention", "margin", HIERARCHICAL)  # of labeled sentences
DELTA = "delta"  # the baseline of long labeled texts, which are not pooled
# default example sentence of the HTML page
EXAMPLE = "I [saw] a man with a [saw]"


@describe_settings
@dataclass(frozen=True, kw_only=True)
class CompareConfig:
    """Evaluation sets and settings of a comparison, the same for all its runs."""

    sets: tuple[str, ...] = setting(
        (),
        "An evaluation set. Its kind is recognized from its content, or named before it. KIND is "
        f"{list_kinds()}. May be repeated.",
        metavar="[KIND=]FILE",
    )
    folds: int = setting(
        10,
        "Folds of cross-validation for labeled sentences in one file, stratified, by the seed.",
        at_least=2,
        at_most=100,
    )
    groups: str = setting(
        "",
        "Column or JSON key of labeled sets whose groups, such as books, are not divided between "
        "folds and are drawn for intervals; by default group, of words and links.",
        metavar="FIELD",
        heading="Sets and scores",
    )
    fine_labels: bool = setting(
        False,
        "In TREC's sentences, predict fine labels such as DESC:manner rather than DESC.",
    )
    pooling: str = setting(
        "",
        f"Poolings of labeled sentences, of {', '.join(POOLINGS)}, that are rows of one table and "
        "tested as runs are; by default all, as metrics.",
        metavar="POOLING,...",
    )
    encoding: str = rare_setting(
        "",
        "Encoding of evaluation sets that are not UTF-8, such as latin-1.",
        metavar="ENCODING",
        heading="Sets and scores",
    )
    limit: int = rare_setting(
        0,
        "Use at most N minimal pairs of each paradigm, the same for all runs; 0 for all.",
        at_least=0,
        metavar="N",
    )
    left_to_right_in_words: bool = setting(
        True,
        "In minimal pairs, hide the later pieces of a word when predicting one of its pieces.",
    )
    unknown: str = rare_setting(
        "skip",
        "Items with unknown words: skip them, or use a zero vector or the mean of all vectors for "
        "the words.",
        choices=UNKNOWN,
    )
    restrict: int = rare_setting(
        30_000,
        "Use only analogy questions whose four words are among the N most frequent, and search "
        "answers there; 0 for all.",
        at_least=0,
        metavar="N",
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
    seed: int = rare_setting(
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
        if not {*self.poolings} <= {*POOLINGS}:
            raise SettingError(f"`pooling={self.pooling}`: pass some of {','.join(POOLINGS)}")

    @property
    def poolings(self) -> list[str]:
        """The names in ``pooling``."""
        return list(dict.fromkeys(self.pooling.split(","))) if self.pooling else []

    @property
    def baseline_names(self) -> list[str]:
        """The names in ``baselines``."""
        return [] if self.baselines == "none" else self.baselines.split(",")

    @property
    def candidates(self) -> int | None:
        """Number of most frequent words for analogy questions; None for all."""
        return self.restrict or None


def rows_of_run(config: CompareConfig, run: str) -> list[str]:
    """Return the names of a run's rows: its own, or one for each pooling."""
    return [f"{run} {pooling}" for pooling in config.poolings if run != DELTA] or [run]
