"""The fill-mask command: exact output and exact errors."""

import json

import pytest

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
