"""The options of a comparison; imports nothing heavy, so that help is quick."""

from dataclasses import dataclass

from corpora.settings import check, setting


@dataclass(frozen=True, kw_only=True)
class CompareConfig:
    """What a comparison scores and how; the same for every run in it."""

    similarity: tuple[str, ...] = setting(
        (), "A set of word pairs with scores; may be repeated.", metavar="FILE"
    )
    analogies: tuple[str, ...] = setting(
        (), "A set of analogy questions; may be repeated.", metavar="FILE"
    )
    restrict: int = setting(
        30_000,
        "Ask only analogy questions whose four words are among the N most frequent, and look "
        "for answers there.",
        at_least=4,
        metavar="N",
    )
    sections: bool = setting(False, "Also score each section of the analogy sets.")
    seed: int = setting(1, "Seed of the random baseline.", at_least=0, below=2**64, metavar="SEED")

    def __post_init__(self) -> None:
        """Hold every option against its range."""
        check(self)
