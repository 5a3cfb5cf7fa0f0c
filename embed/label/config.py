"""Settings of labeling."""

from dataclasses import dataclass

from firth.corpora.common.options import check, describe_settings, rare_setting, setting


@describe_settings
@dataclass(frozen=True, kw_only=True)
class LabelConfig:
    """How labels are learned."""

    fine_tune: bool = setting(
        False,
        "Also train the encoder, with a linear layer on top, and label with it; it is compared "
        "with the probe on held-out items.",
    )
    epochs: int | None = setting(
        None, "Passes of fine-tuning (default: 3, or as many as make 300 steps).", at_least=1
    )
    seed: int = rare_setting(
        1, "Seed of the folds and of the fine-tuning.", at_least=0, below=2**64, metavar="SEED"
    )

    def __post_init__(self) -> None:
        check(self)
