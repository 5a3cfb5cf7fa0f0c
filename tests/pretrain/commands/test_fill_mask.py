"""The fill-mask command: exact output and exact errors."""

import json

import pytest
import torch

from firth.corpora.tokenizer.pieces import CLS, MASK, SEP
from firth.pretrain.data.batches import Rows
from tests.calls import command, output, refusal
from tests.pretrain.small_run import small_encoder, small_run


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run of train-mlm."""
    return str(small_run(tmp_path_factory.mktemp("fill-mask")))


def test_answers_are_printed_one_per_line(run):
    [answers] = small_encoder().fill_mask("the [MASK] saw.", 3)
    result = command("fill-mask", run, "the [MASK] saw.", "-k", 3)
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout == "".join(
        f"{rank:>3}  {piece:<20} {probability:7.4f}\n"
        for rank, (piece, probability) in enumerate(answers, 1)
    )


def test_one_mask_gives_one_list_in_json(run):
    text = "Is it [MASK]?"
    [answers] = small_encoder().fill_mask(text, 2)
    assert json.loads(output("fill-mask", run, text, "-k", 2, "--json")) == {
        "text": text,
        "answers": [
            {"piece": piece, "probability": pytest.approx(p, rel=1e-5)} for piece, p in answers
        ],
    }


def test_each_of_several_masks_gives_a_list(run):
    text = "the [MASK] saw the [MASK]"
    found = json.loads(output("fill-mask", run, text, "-k", 2, "--json"))["answers"]
    assert [[answer["piece"] for answer in mask] for mask in found] == [
        [answer.piece for answer in mask] for mask in small_encoder().fill_mask(text, 2)
    ]
    lines = output("fill-mask", run, text, "-k", 1).splitlines()
    assert [line[:12] for line in lines] == ["[MASK] 1   1", "[MASK] 2   1"]


def test_a_text_without_a_mask_is_refused(run):
    message = "'the saw' has no [MASK]; put one where a piece should be predicted"
    assert refusal("fill-mask", run, "the saw") == message


def test_targets_have_the_probability_of_their_pieces_from_left_to_right(run):
    encoder = small_encoder()
    targets = ["king", "sawmill", "queen"]
    expected = {}
    for word in targets:
        ids, expected[word] = encoder.pieces.split([word])[0].tolist(), 1.0
        around = [encoder.pieces.split(part)[0].tolist() for part in (["the"], ["saw"])]
        for n, piece in enumerate(ids):
            row = [CLS, *around[0], *ids[:n], *[MASK] * (len(ids) - n), *around[1], SEP]
            with torch.no_grad():
                states = encoder.model(Rows.whole(torch.tensor([row])))
                chances = encoder.model.logits(states)[0].softmax(-1)
            expected[word] *= float(chances[1 + len(around[0]) + n, piece])

    words = ("fill-mask", run, "The [MASK] saw", "--targets", ",".join(targets))
    found = json.loads(output(*words, "--json"))["targets"]

    assert [target["word"] for target in found] == sorted(targets, key=lambda w: -expected[w])
    for target in found:
        chance = expected[target["word"]]
        assert target["probability"] == pytest.approx(chance, rel=1e-4)
        assert target["share"] == pytest.approx(chance / sum(expected.values()), rel=1e-4)
    assert {target["word"]: target["pieces"] for target in found} == {
        "king": 1, "queen": 1, "sawmill": 5,
    }  # fmt: skip
    assert [line.split()[:2] for line in output(*words).splitlines()[3:6]] == [
        [target["word"], str(target["pieces"])] for target in found
    ]


@pytest.mark.parametrize(
    ("text", "targets", "message"),
    [
        ("the saw", "king", "'the saw' has no [MASK]; put one where a piece should be predicted"),
        ("[MASK] saw [MASK]", "a", "'[MASK] saw [MASK]' has 2 masks; leave one for --targets"),
        ("a [MASK]", "king,", "--targets: '' is no word; pass single words"),
        ("a [MASK]", "old king", "--targets: 'old king' is several words; pass single words"),
        ("a [MASK]", "図", "--targets: '図' has characters that no piece has; leave it out"),
    ],
)
def test_targets_that_cannot_be_scored_are_refused(run, text, targets, message):
    assert refusal("fill-mask", run, text, "--targets", targets) == message
