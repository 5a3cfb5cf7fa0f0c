"""What tasks, metrics and methods are, in words for readers of a table or page."""

from firth.embed.compare.kinds import KINDS
from firth.embed.compare.task import task_class

# intrinsic measures, which need no set
INTRINSIC = {
    "mean_cosine": "over pairs of words; 0 if directions are spread evenly",
    "isotropy": "1 if no direction is preferred",
    "hubness": "skewness of how often words are neighbors of others",
    "largest_hub": "times that the most frequent neighbor occurs",
    "length_frequency": "rank correlation of length and frequency",
    "neighbors": "overlap of the ten nearest neighbors (Jaccard index)",
    "procrustes": "distance after optimal rotation; 0 if rotation makes them equal",
}
CAUSAL = "causal"  # an objective of language models
METHODS = {
    "svd": "SVD of co-occurrence counts",
    "skipgram": "skip-gram",
    "cbow": "CBOW",
    "nplm": "next-word network",
    "autoencoder": "auto-encoder of co-occurrence rows",
    "mlm": "masked language model",
    "init": "vectors of another run",
    CAUSAL: "causal language model",
    "change": "words in several periods",
    "pool": "vectors pooled from an encoder",
}


def skill(task: str, noun: str = "word") -> str:
    """Return what a run is good at if it scores high in a task."""
    return task_class(task).skill.replace("words", f"{noun}s") if task in KINDS else task


def meaning(task: str, metric: str) -> str:
    """Return what a metric of a task is; empty if unknown."""
    metrics = task_class(task).metrics if task in KINDS else INTRINSIC
    return metrics.get(metric, "")
