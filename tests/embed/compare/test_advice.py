"""Advice: the sample most like a text decides, and only differences that are no chance count."""

import json

import pytest

from corpora.build import build_corpus
from corpora.request import make_request
from corpora.segment import TextSettings
from embed.compare.advice import (
    TASKS,
    Features,
    advise,
    features_of,
    is_unspaced,
    read_evidence,
)
from embed.methods import METHODS


def sample(tokens, words=1_000, unspaced=False, **scores):
    """A sample whose candidates have these means, similarity and analogy; errors of .01."""
    means = [
        {"run": name, "task": task, "score": score, "error": 0.01}
        for name, both in scores.items()
        for task, score in zip(TASKS, both, strict=True)
    ]
    names = list(scores)
    differences = [
        {"a": a, "b": b, "task": task, "error": 0.01, "difference": scores[a][k] - scores[b][k]}
        for place, a in enumerate(names)
        for b in names[place + 1 :]
        for k, task in enumerate(TASKS)
    ]
    return {
        "text": f"text of {tokens}",
        "tokens": tokens,
        "unspaced": unspaced,
        "words": dict.fromkeys(names, words),
        "means": means,
        "differences": differences,
    }


def asked(*samples, tokens=1_000_000, words=1_000, unspaced=False):
    return advise(Features(tokens, words, unspaced), {"samples": list(samples)})


def test_each_task_has_its_own_best_where_no_candidate_is_good_at_both():
    advice = asked(sample(10**6, svd=(0.6, 0.1), sg=(0.5, 0.4), cbow=(0.4, 0.2)))

    similarity, analogy = advice.choices
    assert (similarity.task, similarity.candidate, similarity.score) == ("similarity", "svd", 0.6)
    assert (similarity.equals, similarity.worse) == ((), ("sg", "cbow"))
    assert (analogy.task, analogy.candidate, analogy.score) == ("analogy", "sg", 0.4)
    assert (analogy.equals, analogy.worse) == ((), ("cbow", "svd"))


def test_one_that_cannot_be_told_from_the_best_in_either_serves_both():
    # differences of .019 are within 1.96 errors of .01, those of .02 are not
    advice = asked(sample(10**6, svd=(0.6, 0.381), sg=(0.582, 0.4), far=(0.58, 0.4)))

    assert [choice.candidate for choice in advice.choices] == ["sg", "sg"]
    assert {advice.choices[0].candidate, *advice.choices[0].equals} == {"svd", "sg"}
    assert advice.choices[0].worse == ("far",)


def test_of_several_that_serve_both_the_means_decide():
    advice = asked(sample(10**6, a=(0.600, 0.390), b=(0.595, 0.400), c=(0.590, 0.392)))

    assert [choice.candidate for choice in advice.choices] == ["b", "b"]
    assert advice.choices[0].equals == ("a", "c")
    assert advice.choices[1].equals == ("c", "a")


@pytest.mark.parametrize(("tokens", "nearest"), [(1, 1_000), (3_000, 1_000), (4_100, 16_000)])
def test_the_sample_nearest_in_size_decides_as_a_ratio(tokens, nearest):
    advice = asked(sample(1_000, x=(0.5, 0.5)), sample(16_000, y=(0.5, 0.5)), tokens=tokens)

    assert advice.sample["tokens"] == nearest
    assert advice.factor == tokens / nearest
    assert advice.is_far == (not 0.5 <= tokens / nearest <= 2)


def test_richness_in_words_tells_texts_of_one_size_apart():
    poor, rich = sample(10**6, words=8_000, x=(0.5, 0.5)), sample(10**6, words=30_000, y=(0.5, 0.5))

    assert asked(poor, rich, words=12_000).sample is poor
    assert asked(poor, rich, words=20_000).sample is rich


def test_script_counts_before_size():
    near, far = sample(10**6, x=(0.5, 0.5)), sample(10**8, unspaced=True, y=(0.5, 0.5))

    assert asked(near, far, unspaced=True).sample is far


def test_features_are_those_of_the_training_documents(tmp_path):
    source = tmp_path / "text.txt"
    line = "the cat sat . the dog sat .\n"
    source.write_text(line * 3 + "rare words\n")
    corpus = build_corpus(make_request([source]), tmp_path / "corpus")

    # cat and dog occur three times, the and sat six times, the stop is no word
    assert features_of(corpus) == Features(tokens=26, words=2, unspaced=False)
    source.write_text("他们 来 了\n" * 4)
    chinese = build_corpus(
        make_request([source], text=TextSettings(segmenter="whitespace")), tmp_path / "chinese"
    )
    assert is_unspaced(chinese)


def test_the_evidence_is_whole_and_can_be_typed():
    evidence = read_evidence()

    assert json.dumps(evidence, allow_nan=False)
    texts = {each["language"] for each in evidence["samples"]}
    assert texts == {"English", "German", "Chinese"}
    for name, about in evidence["candidates"].items():
        METHODS[about["method"]].config_class()(**about["options"])
        for each in evidence["samples"]:
            assert each["words"][name] > 0
            assert {m["task"] for m in each["means"] if m["run"] == name} == set(TASKS)
    for each in evidence["samples"]:
        features = Features(each["tokens"], max(each["words"].values()), each["unspaced"])
        assert advise(features, evidence).sample == each  # a text is most like itself
