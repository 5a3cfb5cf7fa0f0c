"""Notes on sentences that an encoder reads in several windows."""

import numpy as np

from firth.embed.compare.inputs.long_sentences import long_sentence_note


class WindowedStub:
    """An encoder whose input holds a number of letters."""

    def __init__(self, length):
        self.length = length

    def n_windows(self, sentences):
        return np.array([-(-sum(map(len, words)) // self.length) for words in sentences])


SENTENCES = [["a", "long", "one"], ["aa"], [], ["verylong"]]


def test_sentences_of_several_windows_are_counted():
    assert long_sentence_note(WindowedStub(4), SENTENCES) == (
        "2 of 4 sentences are longer than the encoder's input and are read in overlapping windows"
    )


def test_no_note_if_all_sentences_fit_or_the_encoder_has_no_windows():
    assert long_sentence_note(WindowedStub(8), SENTENCES) is None
    assert long_sentence_note(object(), SENTENCES) is None
