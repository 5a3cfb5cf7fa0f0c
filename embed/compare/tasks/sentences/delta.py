"""Burrows' Delta (2002): the label whose frequent words are used most alike."""

import numpy as np

from firth.embed.compare.datasets.parts import TEST
from firth.embed.compare.tasks.sentences.items import SentenceSet

LONG = 100  # words of a text, on average, from which Delta is a baseline
_WORDS = 150  # most frequent ones, which are mostly function words
_WORD = r"[^\W\d_]+(?:['’][^\W\d_]+)*"


def predict_delta(sentences: SentenceSet, n_words: int = _WORDS) -> np.ndarray:
    """Return the class of each text of the test part that has the least Delta.

    Delta is the mean absolute difference between z-scores of relative frequencies, those of a text
    and the mean of those of a class.
    """
    # returns int64 (n_test,)
    from scipy.spatial.distance import cdist
    from sklearn.feature_extraction.text import CountVectorizer

    known, test = np.flatnonzero(sentences.roles != TEST), sentences.places(TEST)
    counter = CountVectorizer(token_pattern=_WORD, max_features=n_words)
    counter.fit([sentences.texts[place] for place in known])
    split = counter.build_analyzer()
    lengths = np.array([max(len(split(text)), 1) for text in sentences.texts])
    shares = counter.transform(sentences.texts).toarray() / lengths[:, None]
    deviations = shares[known].std(axis=0)
    z = (shares - shares[known].mean(axis=0)) / np.where(deviations > 0, deviations, 1)
    labels = sentences.labels[known]
    profiles = [z[known[labels == number]].mean(axis=0) for number in range(len(sentences.classes))]
    return np.asarray(cdist(z[test], profiles, "cityblock").argmin(axis=1))
