"""Settings of a refinement."""

from dataclasses import dataclass

from firth.corpora.common.options import check, describe_settings, setting


@describe_settings
@dataclass(frozen=True, kw_only=True)
class RefineConfig:
    """Which steps are done; their order is fixed."""

    center: bool = setting(False, "Subtract the mean vector.")
    remove_top: int | None = setting(
        None, "Subtract the mean, and the projections on the first N principal components.",
        at_least=1, metavar="N",
    )  # fmt: skip
    dim: int | None = setting(
        None, "Subtract the mean, and keep the first N principal components.",
        at_least=1, metavar="N",
    )  # fmt: skip
    whiten: bool = setting(
        False, "Subtract the mean, and scale all principal components to the same variance."
    )
    normalize: bool = setting(
        False, "Scale vectors to unit length, before the other steps and again after them."
    )

    def __post_init__(self) -> None:
        check(self)

    @property
    def centers(self) -> bool:
        """Whether the mean is subtracted."""
        return self.center or self.whiten or self.remove_top is not None or self.dim is not None
