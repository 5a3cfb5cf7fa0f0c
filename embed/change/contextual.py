"""How far apart the states of words are in two periods, as an encoder reads their occurrences.

The distance of the mean states, the prototypes (Kutuzov & Giulianelli 2020, "UiO-UvA at
SemEval-2020 Task 1"), and the average distance of a pair of occurrences, one of each period
(Giulianelli, Del Tredici & Fernández 2020, "Analysing Lexical Semantic Change with Contextualised
Word Representations"). Distances are 1 - cosine; so the latter is 1 less the product of the mean
unit states.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from firth.corpora.common.reporting import progress
from firth.corpora.store.search import Search
from firth.embed.change.periods import Periods
from firth.embed.change.permutation import cosine_distances
from firth.embed.change.sentences import hits_in
from firth.embed.contextual.states import states_at
from firth.embed.protocols import ContextualEncoder
from firth.embed.vectors.search import unit_length


@dataclass(frozen=True, eq=False)
class OccurrenceStates:
    """Sampled occurrences of words, in order of words and periods."""

    words: np.ndarray  # int64 (n,)
    periods: np.ndarray  # int64 (n,)
    documents: np.ndarray  # int64 (n,)
    states: np.ndarray  # float32 (n, D), unit length

    def of(self, word: int, period: int) -> slice:
        """Return the place of the occurrences of a word in a period."""
        start, stop = np.searchsorted(self.words, [word, word + 1]).tolist()
        first, last = np.searchsorted(self.periods[start:stop], [period, period + 1]).tolist()
        return slice(start + first, start + last)


def read_occurrences(
    periods: Periods,
    words: Sequence[str],
    encoder: ContextualEncoder,
    layers: Sequence[int],
    n: int,
    seed: int,
) -> OccurrenceStates:
    """Sample up to ``n`` occurrences of each word in each period, and read their sentences."""
    searches = [Search(corpus) for corpus in periods.corpora]
    firsts = np.cumsum([0, *(corpus.n_documents for corpus in periods.corpora)])
    found = []  # word, period, which corpus, token, document
    for word, text in enumerate(words):
        for period in range(len(periods.names)):
            number, hits = hits_in(periods, searches, text, period)
            starts = hits.sample(n, seed).starts
            documents = searches[number].documents_of(starts) + firsts[number]
            about = [np.full(len(starts), each) for each in (word, period, number)]
            found.append(np.stack([*about, starts, documents]))
    places = np.concatenate(found, axis=1)
    states = np.empty((places.shape[1], encoder.encode([[]], layers)[0].shape[1]), np.float32)
    n_done = 0
    with progress("encoding", "occurrences") as show:
        for number, search in enumerate(searches):
            own = np.flatnonzero(places[2] == number)
            for chosen, part in states_at(search, places[3, own], encoder, layers):
                states[own[chosen]] = part
                n_done += len(chosen)
                show(n_done, len(states))
    return OccurrenceStates(places[0], places[1], places[4], unit_length(states))


def prototypes(found: OccurrenceStates, n_words: int, n_periods: int) -> np.ndarray:
    """Return the mean unit state of each word in each period, float32 (K, n, D)."""
    means = np.zeros((n_periods, n_words, found.states.shape[1]), np.float32)
    for period in range(n_periods):
        for word in range(n_words):
            states = found.states[found.of(word, period)]
            means[period, word] = states.mean(axis=0, dtype=np.float64)
    return means


def pair_distances(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the average distance of pairs of occurrences, given both means, float64 (n,)."""
    # a, b: float (n, D), means of unit states
    return np.clip(1 - np.einsum("ij,ij->i", a, b, dtype=np.float64), 0.0, 2.0)


def resampled_errors(
    found: OccurrenceStates, periods: Periods, n_words: int, n: int, seed: int
) -> np.ndarray:
    """Return the standard error of the prototypes' distance; NaN if a period has one document."""
    # returns float64 (n_words,)
    generator = np.random.default_rng(seed)
    ends = (0, len(periods.names) - 1)
    needed, document_of = np.unique(found.documents, return_inverse=True)
    copies = []
    for period in ends:
        own = np.flatnonzero(periods.period_of == period)
        columns = np.flatnonzero(np.isin(needed, own))
        places = np.searchsorted(own, needed[columns])
        shares = np.full(len(own), 1 / len(own))
        drawn = np.zeros((n, len(needed)), np.int32)
        for row in drawn:
            row[columns] = generator.multinomial(len(own), shares)[places]
        copies.append(drawn)
    errors = np.full(n_words, np.nan)
    for word in range(n_words):
        sums = []
        for period, drawn in zip(ends, copies, strict=True):
            place = found.of(word, period)
            documents = document_of[place]
            if len(np.unique(documents)) < 2:
                break
            sums.append(drawn[:, documents] @ found.states[place])
        else:
            a, b = sums
            drawn_both = a.any(axis=1) & b.any(axis=1)  # else no document with the word was drawn
            distances = cosine_distances(a[drawn_both], b[drawn_both])
            errors[word] = distances.std(ddof=1) if len(distances) > 1 else np.nan
    return errors
