"""The kinds of evaluation sets: one line a task, whose class declares everything else."""

from typing import NamedTuple


class Kind(NamedTuple):
    """What is known of a task before its class is imported, so that --help is quick."""

    task: str  # module in ``tasks`` and class
    files: str  # what its sets are


KINDS = {
    "similarity": Kind("similarity:SimilarityTask", "word pairs with scores"),
    "analogy": Kind("analogy.analogies:AnalogyTask", "analogy questions, or a BATS folder"),
    "categorization": Kind("categorization:CategorizationTask", "words with categories"),
    "labels": Kind("described_words:LabelsTask", "words with labels to predict"),
    "ratings": Kind("described_words:RatingsTask", "words with ratings to predict: FILE[:COLUMN]"),
    "links": Kind("links:LinksTask", "pairs of nodes, linked or not"),
    "next-item": Kind("next_item:NextItemTask", "sessions of items, one a line"),
    "odd-one-out": Kind("odd_one_out:OddOneOutTask", "groups of words with outliers"),
    "contexts": Kind("words_in_context:ContextsTask", "SCWS, CoSimLex or WiC: [DEV,]TEST"),
    "tagging": Kind("tagging.task:TaggingTask", "tagged words: TRAIN[,DEV],TEST"),
    "sentences": Kind("sentences.task:SentencesTask", "labeled sentences: [TRAIN[,DEV],]TEST"),
    "sentence-similarity": Kind(
        "sentence_similarity:SentenceSimilarityTask", "sentence pairs with scores"
    ),
    "minimal-pairs": Kind("minimal_pairs:MinimalPairTask", "pairs of sentences, such as BLiMP"),
    "change": Kind("change:ChangeTask", "words with the degree of their change"),
    "association": Kind("associations:AssociationTask", "association tests (WEAT)"),
}


def kind_and_file(given: str) -> tuple[str | None, str]:
    """Return the kind, if it is named, and the file of a set given as ``FILE`` or ``KIND=FILE``.

    >>> kind_and_file("change=words.tsv"), kind_and_file("a=b.tsv")
    (('change', 'words.tsv'), (None, 'a=b.tsv'))
    """
    kind, equals, file = given.partition("=")
    return (kind, file) if equals and kind in KINDS else (None, given)


def list_kinds() -> str:
    """Return the kinds with what their sets are, for help."""
    return "; ".join(f"{key}, {kind.files}" for key, kind in KINDS.items())
