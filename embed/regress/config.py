"""Settings of a regression."""

from dataclasses import dataclass

from firth.corpora.common.options import check, describe_settings, rare_setting, setting

A_LA_CARTE, STATES, BOTH = "a-la-carte", "states", "both"
DOCUMENT, OCCURRENCE = "document", "occurrence"  # clusters that are no fields
WEIGHTS = ("log", "count", "none")


@describe_settings
@dataclass(frozen=True, kw_only=True)
class RegressConfig:
    """How the occurrences of a word are regressed on fields."""

    source: str = setting(
        A_LA_CARTE,
        "Vectors of occurrences: of the words around them, or the states of the run's encoder.",
        choices=(A_LA_CARTE, STATES, BOTH),
    )
    window: int | None = setting(
        None, "Words on each side (default: the window of the run, or 5).", at_least=1
    )
    cluster: str = setting(
        DOCUMENT, "What varies by chance: document, occurrence, or a field such as speaker."
    )
    permutations: int = setting(200, "Permutations of the covariates, for p.", at_least=19)
    groups: int = setting(
        100, "Groups of clusters, of which each is left out once, for errors.", at_least=20
    )
    occurrences: int | None = setting(
        None,
        "Most occurrences, a random sample if there are more (default: 100,000; of states 2,000).",
        at_least=50,
    )
    weights: str = rare_setting(
        "log",
        "Weights of words in estimating the matrix, by their counts.",
        choices=WEIGHTS,
    )
    min_count: int | None = rare_setting(
        None,
        "Words with fewer tokens do not help to estimate the matrix (default: 100, or less to "
        "have ten words a dimension).",
        at_least=1,
    )
    seed: int = setting(1, "Seed of groups, permutations and samples.", at_least=0)

    def __post_init__(self) -> None:
        check(self)
