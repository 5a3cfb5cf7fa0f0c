"""Settings of labeling."""

from dataclasses import dataclass

from firth.corpora.common.options import check, describe_settings, rare_setting, setting
from firth.embed.contextual.encoded_text import DOCUMENT, SENTENCE


@describe_settings
@dataclass(frozen=True, kw_only=True)
class LabelConfig:
    """How labels are learned, and what of a corpus gets one."""

    per: str = setting(
        SENTENCE, "Label each sentence or document of a corpus.", choices=(SENTENCE, DOCUMENT)
    )
    fine_tune: bool = setting(
        False,
        "Also train the encoder, with a linear layer on top, and label with it; it is compared "
        "with the probe on held-out items.",
    )
    epochs: int | None = setting(
        None,
        "Passes of the fine-tuning over the labeled file (default: 3, or as many as make 300 "
        "steps).",
        at_least=1,
    )
    seed: int = rare_setting(
        1, "Seed of the folds and of the fine-tuning.", at_least=0, below=2**64, metavar="SEED"
    )
    encoding: str = rare_setting(
        "", "Encoding of files that are not UTF-8, such as latin-1.", metavar="ENCODING"
    )

    def __post_init__(self) -> None:
        check(self)
