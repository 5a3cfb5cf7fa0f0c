"""The scores of attention by name: how a slot chooses what it reads."""

from dataclasses import dataclass


@dataclass(frozen=True)
class ScoreKind:
    """What a score needs of the code around it."""

    # whether weights are a softmax of products, which kernels and Hugging Face models compute
    softmax_of_products: bool = False
    products: bool = True  # whether a score is a product of a query and a key
    splits: bool = False  # whether keys and values are parts of the state, not maps of it
    random: bool = False  # whether training needs random numbers
    activation: str = "softmax"  # what makes weights of scores


SCORES = {
    "scaled-dot": ScoreKind(softmax_of_products=True),
    "dot": ScoreKind(softmax_of_products=True),
    "additive": ScoreKind(products=False),
    "bilinear": ScoreKind(softmax_of_products=True),
    "key-value": ScoreKind(products=False, splits=True),
    "relu": ScoreKind(activation="relu"),
    "sparsemax": ScoreKind(activation="sparsemax"),
    "hard": ScoreKind(activation="hard", random=True),
    "hard-best": ScoreKind(activation="hard"),
}
