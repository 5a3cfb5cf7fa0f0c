"""Settings of an alignment."""

from dataclasses import dataclass

from firth.corpora.common.errors import SettingError
from firth.corpora.common.options import check, describe_settings, setting

METHODS = ("procrustes", "vecmap")


@describe_settings
@dataclass(frozen=True, kw_only=True)
class AlignConfig:
    """How one space is mapped into another, and what is held out to test the map."""

    method: str = setting("procrustes", "The map.", choices=METHODS)
    max_vocabulary: int | None = setting(
        None, "Map by at most this many shared words, the most frequent.", at_least=1
    )
    held_out: float | None = setting(
        None,
        "Words whose pairs are held out: below 1 a share, else their number; 0 for none. By "
        "default 0.1, and none with a `test` dictionary.",
        at_least=0,
    )
    restrict: int = setting(
        50_000, "Search only this many words of B, the most frequent; 0 for all.", at_least=0
    )
    seed: int = setting(1, "Seed of what is held out and of the intervals.", at_least=0)

    def __post_init__(self) -> None:
        check(self)
        if self.held_out is not None and self.held_out >= 1 and self.held_out % 1:
            raise SettingError(
                f"AlignConfig.held_out must be below 1 or a whole number, got {self.held_out}",
                setting="held_out",
            )
