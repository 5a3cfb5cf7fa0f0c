"""How the next piece is drawn: temperature and nucleus (Holtzman et al. 2020, arXiv:1904.09751)."""

from dataclasses import dataclass

import numpy as np

from firth.corpora.common.options import check, describe_settings, refuse_unused, setting


@describe_settings
@dataclass(frozen=True, kw_only=True)
class GenerateConfig:
    """How a text is continued."""

    length: int = setting(40, "Most pieces to add.", at_least=1, at_most=65_536)
    temperature: float = setting(
        1.0,
        "Divides the logits: below 1 likely pieces become likelier; 0 always takes the likeliest.",
        at_least=0,
    )
    top_p: float = setting(
        1.0,
        "Draw from the fewest, likeliest pieces that together have this probability.",
        above=0,
        at_most=1,
    )
    seed: int = setting(1, "Seed of the draws.", at_least=0, at_most=2**31 - 1)

    def __post_init__(self) -> None:
        check(self)
        if self.temperature == 0:
            refuse_unused(self, ("top_p", "seed"), "nothing is drawn with `temperature=0`")


def draw_piece(chances: np.ndarray, draw: float, config: GenerateConfig) -> int:
    """Return the piece that a draw in [0, 1) selects."""
    # chances: float64 (V,), which sum to 1
    order = np.argsort(-chances, kind="stable")
    if config.temperature == 0:
        return int(order[0])
    # a quotient of a tiny temperature is infinite, and the likeliest piece has 0 of any
    with np.errstate(divide="ignore", over="ignore"):
        scores = np.log(chances[order] / chances[order[0]]) / config.temperature
    shares = np.exp(scores)
    sums = np.cumsum(shares / shares.sum())
    n = min(int(np.searchsorted(sums, config.top_p)) + 1, len(sums))  # the fewest that reach top_p
    return int(order[min(int(np.searchsorted(sums, draw * sums[n - 1], side="right")), n - 1)])
