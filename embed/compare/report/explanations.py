"""What tasks, metrics and methods are, in words for readers of a table or page."""

# task -> what a run is good at, as in "better at similarity of words"
SKILLS = {
    "similarity": "similarity of words",
    "analogy": "analogies",
    "categorization": "categories of words",
    "odd-one-out": "finding the odd one out",
    "contexts": "words in context",
    "tagging": "labels of words",
    "sentences": "labels of sentences",
    "minimal-pairs": "grammatical sentences",
    "change": "change of words",
    "association": "associations",
}
_CORRELATIONS = {
    "spearman": "rank correlation of cosines and human ratings; 1 if they order all pairs alike",
    "pearson": "linear correlation of cosines and human ratings",
}
# task -> metric -> what it is; task "intrinsic" for measures without a set
METRICS = {
    "similarity": _CORRELATIONS,
    "analogy": {
        "accuracy": "share of questions answered right by the word nearest to b - a + c (3CosAdd)",
        "accuracy_3cosmul": "the same by a product of similarities instead of a sum",
        "accuracy_pairdirection": "the same by the direction of the difference alone",
        "accuracy_lrcos": "the same with a classifier of the answers' class",
    },
    "categorization": {
        "purity": "share of words that are in the most frequent category of their cluster",
        "nmi": "normalized mutual information of clusters and categories; 1 if they are the same",
        "ari": "share of word pairs that both put together or apart, adjusted for chance: 0",
    },
    "odd-one-out": {
        "accuracy": "share of groups whose outlier is the least similar word",
        "opp": "mean position of the outlier by similarity; 1 if it is always last",
    },
    "contexts": _CORRELATIONS
    | {
        "change": "correlation of the changes from one context to the other",
        "auc": "chance that a pair of one meaning has the higher cosine; .5 by guessing",
        "accuracy": "share of pairs judged right by a threshold on the cosine",
    },
    "tagging": {
        "accuracy": "share of words that a linear classifier of their vectors labels right",
        "accuracy_window": "the same for a classifier that also sees the two neighboring words",
        "accuracy_ambiguous": "accuracy on words that have several labels",
        "accuracy_ambiguous_window": "accuracy window on words that have several labels",
        "selectivity": "accuracy minus that on random labels: what is learned, not memorized",
        "selectivity_window": "the same for accuracy window",
        "f1": "F1 of exact spans of entities",
        "f1_window": "the same for the classifier that sees the neighboring words",
    },
    "sentences": {
        "accuracy": "share of sentences labeled right from the mean of their word vectors",
        "accuracy_attention": "the same from a weighted mean with trained weights",
        "accuracy_attention_margin": "the same trained with a margin between labels",
    },
    "minimal-pairs": {
        "accuracy": "share of pairs whose acceptable sentence is more likely; .5 by guessing"
    },
    "change": {
        "spearman": "rank correlation of distances between periods and human judgments of change",
        "spearman_frequency": "the same of the change of frequency alone, which is no change of "
        "meaning",
    },
    "association": {
        "effect_size": "how much more one list of words is associated with the first attributes; "
        "neither sign is better",
    },
    "intrinsic": {
        "mean_cosine": "over pairs of words; 0 if directions are spread evenly",
        "isotropy": "1 if no direction is preferred",
        "hubness": "skewness of how often words are neighbors of others",
        "largest_hub": "times that the most frequent neighbor occurs",
        "length_frequency": "rank correlation of length and frequency",
        "neighbors": "overlap of the ten nearest neighbors (Jaccard index)",
        "procrustes": "distance after optimal rotation; 0 if rotation makes them equal",
    },
}
CAUSAL = "causal"  # an objective of language models
METHODS = {
    "svd": "SVD of co-occurrence counts",
    "skipgram": "skip-gram",
    "cbow": "CBOW",
    "nplm": "next-word network",
    "autoencoder": "auto-encoder of co-occurrence rows",
    "mlm": "masked language model",
    CAUSAL: "causal language model",
    "change": "words in several periods",
    "pool": "vectors pooled from an encoder",
}


def skill(task: str) -> str:
    """Return what a run is good at if it scores high in a task."""
    return SKILLS.get(task, task)


def page_of(task: str) -> str | None:
    """Return the file of the documentation that describes a task; None if there is none."""
    page = "associations" if task == "association" else task
    return f"docs/tasks/{page}.md" if task in SKILLS else None


def meaning(task: str, metric: str) -> str:
    """Return what a metric of a task is; empty if unknown."""
    return METRICS.get(task, {}).get(metric, "")
