"""Sentences that are read in windows are counted by pieces, and told."""

import numpy as np

from embed.compare.inputs.long_sentences import long_sentence_note


class Counts:
    """An encoder whose rows hold as many letters."""

    def __init__(self, most):
        self.most = most

    def n_windows(self, sentences):
        return np.array([-(-sum(map(len, words)) // self.most) for words in sentences])


SENTENCES = [["a", "long", "one"], ["aa"], [], ["verylong"]]


def test_sentences_of_several_windows_are_told():
    assert long_sentence_note(Counts(4), SENTENCES) == (
        "2 of 4 sentences are longer than the encoder's input and are read in overlapping windows"
    )


def test_nothing_is_told_where_all_are_read_at_once_or_there_are_no_windows():
    assert long_sentence_note(Counts(8), SENTENCES) is None
    assert long_sentence_note(object(), SENTENCES) is None
