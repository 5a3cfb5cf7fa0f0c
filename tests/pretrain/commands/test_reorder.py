"""The reorder command: exact output and exact errors."""

import json

import pytest

from firth.pretrain.inference.word_order import score_orders, shuffled
from tests.calls import output, refusal
from tests.pretrain.small_run import small_encoder, small_run

POINTS = {"decoder_layers": 1, "points": True}
ENCODER = small_encoder(**POINTS)
LINES = ["the queen saw the king", "Nobody saw him", "old saw"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A run of train-mlm by the objective, and files of lines."""
    folder = tmp_path_factory.mktemp("reorder")
    small_run(folder, **POINTS)
    (folder / "lines.txt").write_text("\n".join(LINES))
    (folder / "long.txt").write_text(f"saw\n{'saw ' * 15}\n")
    (folder / "empty.txt").write_text("saw\n\n")
    return folder


def test_words_are_printed_in_order(folder):
    run, texts = folder / "run", []
    for line in LINES:
        words = ENCODER.words(line)
        texts.append(" ".join(words[n] for n in ENCODER.reorder(words)))
    assert output("reorder", run, LINES[0], "--device", "cpu") == texts[0] + "\n"
    lines = ("--lines", folder / "lines.txt", "--device", "cpu")
    assert output("reorder", run, *lines).splitlines() == texts
    found = json.loads(output("reorder", run, *lines, "--json"))
    assert [line["text"] for line in found] == texts
    assert found[1]["words"] == ["nobody", "saw", "him"]
    assert sorted(found[1]["order"]) == [0, 1, 2]


def test_scores_are_printed_by_length(folder):
    texts = [ENCODER.words(line) for line in LINES]
    given = [shuffled(words, n) for n, words in enumerate(texts)]
    answers = [[words[n] for n in ENCODER.reorder(words)] for words in given]
    assert given != texts
    lines = ("--lines", folder / "lines.txt", "--score", "--device", "cpu")
    table = output("reorder", folder / "run", *lines).split("\n")
    for row, line in zip(score_orders(texts, answers, given), table[3:], strict=False):
        assert line.split() == " ".join(map(str, row)).split()


@pytest.mark.parametrize(
    ("line", "error"),
    [
        ("reorder RUN", "pass a TEXT, or a file of sentences after --lines; one of the two"),
        ("reorder RUN saw --lines DIR/lines.txt", "one of the two"),
        ("reorder RUN --lines DIR/long.txt", "long.txt:2: the sentence has 15 pieces, but the"),
        ("reorder RUN --lines DIR/empty.txt", "empty.txt:2: the sentence has no words"),
        ("reorder RUN --lines DIR/none.txt", "none.txt: No such file or directory; expected a"),
        ("generate RUN saw", "does not predict the next piece; pass a run with"),
        ("fill-mask RUN [MASK]", "RUN: predicts no masked pieces and has no masks"),
        ("export RUN DIR/out --format huggingface", "neither BERT nor ModernBERT has a decoder"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused_in_one_line(folder, line, error):
    line, error = (
        text.replace("RUN", str(folder / "run")).replace("DIR", str(folder))
        for text in (line, error)
    )
    assert error in refusal(*line.split())
