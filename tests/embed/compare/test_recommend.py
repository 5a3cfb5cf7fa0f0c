"""Recommendations: the most similar sample decides, and only significant differences count."""

import itertools
import json

import numpy as np
import pytest

from firth.corpora.common.errors import FirthError
from firth.corpora.encoding.pipeline import encode_corpus
from firth.corpora.encoding.request import BuildOptions, make_request
from firth.corpora.text.segment import TextSettings
from firth.embed.compare.recommend import (
    KINDS,
    Features,
    Margin,
    Recommendation,
    Recommendations,
    advise,
    features_of,
    is_unspaced,
    margin_of,
    read_evidence,
)
from firth.embed.registry import METHODS
from tests.embed.compare.refusals import message_of


def sample(tokens, words=1_000, unspaced=False, **scores):
    """A sample whose candidates have these means, by kind; standard errors of .01."""
    names = list(scores)
    return {
        "text": f"text of {tokens}",
        "tokens": tokens,
        "unspaced": unspaced,
        "words": dict.fromkeys(names, words),
        "means": [
            {"run": name, "kind": kind, "score": score, "error": 0.01}
            for name, each in scores.items()
            for kind, score in zip(KINDS, each, strict=True)
        ],
        "differences": [
            {"a": a, "b": b, "kind": kind, "error": 0.01, "difference": scores[a][k] - scores[b][k]}
            for a, b in itertools.combinations(names, 2)
            for k, kind in enumerate(KINDS)
        ],
    }


def asked(*samples, tokens=1_000_000, words=1_000, unspaced=False, dims=()):
    names = {name for each in samples for name in each["words"]}
    candidates = {
        name: {"method": "svd", "options": {"dim": dict(dims).get(name, 100)}}
        for name in sorted(names)
    }
    evidence = {"samples": list(samples), "candidates": candidates, "factor": 2.0}
    return advise(Features(tokens, words, unspaced), evidence)


def test_the_margin_is_over_the_best_other_candidate():
    found = sample(10**6, svd=(0.6, 0.1, 0.1), sg=(0.5, 0.4, 0.1), cbow=(0.4, 0.2, 0.3))

    assert margin_of(found, "similarity", "svd") == Margin("sg", pytest.approx(0.1), 0.01)
    assert margin_of(found, "similarity", "cbow") == Margin("svd", pytest.approx(-0.2), 0.01)
    assert margin_of(sample(10**6, svd=(0.6, 0.1, 0.1)), "similarity", "svd") is None


@pytest.mark.parametrize(
    ("scores", "good", "choices"),
    [
        # no candidate is good at two kinds
        (
            {"svd": (0.6, 0.1, 0.1), "sg": (0.5, 0.4, 0.1), "cbow": (0.4, 0.2, 0.3)},
            (("svd",), ("sg",), ("cbow",)),
            {"svd": KINDS[:1], "sg": KINDS[1:2], "cbow": KINDS[2:]},
        ),
        # one covers as many as possible: .019 is within two errors of .01, .021 is not
        (
            {"svd": (0.6, 0.4, 0.1), "sg": (0.581, 0.381, 0.3), "far": (0.579, 0.379, 0.279)},
            (("svd", "sg"), ("svd", "sg"), ("sg",)),
            {"sg": KINDS},
        ),
        # means break ties between candidates
        (
            {"a": (0.600, 0.390, 0.1), "b": (0.595, 0.400, 0.1), "c": (0.590, 0.392, 0.3)},
            (("a", "b", "c"), ("b", "c", "a"), ("c",)),
            {"c": KINDS},
        ),
        (
            {"a": (0.600, 0.390, 0.1), "b": (0.595, 0.400, 0.1), "d": (0.1, 0.1, 0.3)},
            (("a", "b"), ("b", "a"), ("d",)),
            {"b": KINDS[:2], "d": KINDS[2:]},
        ),
        # as shares of the best, not as sums: grammar's scores are large
        (
            {"svd": (0.55, 0.44, 0.45), "sg": (0.54, 0.30, 0.73)},
            (("svd", "sg"), ("svd",), ("sg",)),
            {"svd": KINDS[:2], "sg": KINDS[2:]},
        ),
    ],
    ids=["apart", "tied", "means", "two", "shares"],
)
def test_few_good_candidates_cover_all_kinds(scores, good, choices):
    advice = asked(sample(10**6, **scores))

    assert tuple(advice.good[kind] for kind in KINDS) == good
    assert list(advice.choices.items()) == list(choices.items())


def test_recommendations_are_a_table_in_a_notebook():
    config = METHODS["svd"].config_class()(dim=100, window=3)
    one = Recommendation("svd", config, ("similarity",), True, "novels <de>", "Greek script")
    page = Recommendations([one])._repr_html_()

    assert "<td>svd</td><td>dim=100, window=3</td><td>similarity</td>" in page
    for line in ("evidence: novels &lt;de&gt;", "the text differs: Greek script", "much from all"):
        assert line in page


def test_an_unmeasured_difference_excludes_nothing():
    each = sample(10**6, a=(0.6, 0.6, 0.6), b=(0.1, 0.1, 0.1))
    each["differences"] = [d for d in each["differences"] if d["kind"] != "meaning"]

    assert asked(each).good == {"similarity": ("a",), "meaning": ("a", "b"), "grammar": ("a",)}


def test_candidates_with_more_dimensions_than_words_are_left_out():
    each = sample(10**6, big=(0.6, 0.6, 0.6), small=(0.5, 0.5, 0.5))

    advice = asked(each, words=200, dims={"big": 300})

    assert advice.choices == {"small": KINDS}
    assert message_of(FirthError, asked, each, words=99, dims={"big": 300}) == (
        "too little text for a recommendation: 99 words occur 5 times or more; add text"
    )


@pytest.mark.parametrize(("tokens", "nearest"), [(1, 1_000), (3_000, 1_000), (4_100, 16_000)])
def test_the_sample_with_the_nearest_size_ratio_decides(tokens, nearest):
    advice = asked(
        sample(1_000, x=(0.5, 0.5, 0.5)), sample(16_000, x=(0.5, 0.5, 0.5)), tokens=tokens
    )

    assert advice.sample["tokens"] == nearest
    assert advice.factor == tokens / nearest
    assert advice.is_far == (not 0.5 <= tokens / nearest <= 2)


def test_script_counts_before_size_and_size_before_words():
    x = (0.5, 0.5, 0.5)
    poor, rich = (sample(10**6, words=words, x=x) for words in (8_000, 30_000))
    assert asked(poor, rich, words=12_000).sample is poor
    assert asked(poor, rich, words=20_000).sample is rich

    near, far = sample(10**6, x=x), sample(10**8, unspaced=True, x=x)
    assert asked(near, far, unspaced=True).sample is far
    assert not asked(near, far).is_far
    assert asked(near, unspaced=True).is_far


@pytest.mark.parametrize(("tokens", "dim"), [(1_600_000, 100), (7_999_999, 100), (8_000_000, 300)])
def test_of_equally_good_widths_that_of_a_study_is_chosen(tokens, dim):
    each = sample(2 * 10**6, wide=(0.515, 0.515, 0.515), narrow=(0.5, 0.5, 0.5))
    each["words"] = dict.fromkeys(("wide", "narrow"), 1_000)

    advice = asked(each, tokens=tokens, dims={"wide": 300})

    assert METHODS["svd"].width_for(tokens) == dim
    assert advice.choices == {"wide" if dim == 300 else "narrow": KINDS}
    assert advice.left_out == ()


def test_a_significantly_better_width_is_chosen_at_every_size():
    each = sample(2 * 10**6, wide=(0.6, 0.5, 0.5), narrow=(0.5, 0.5, 0.5))
    advice = asked(each, dims={"wide": 300})
    assert advice.choices == {"wide": KINDS}  # it alone is good at all
    assert advice.good["meaning"] == ("narrow", "wide")
    assert asked(each, tokens=10**7, dims={"wide": 100, "narrow": 300}).choices == {"wide": KINDS}


def test_a_candidate_worse_than_another_is_not_good_though_the_best_is_not_clearly_better():
    each = sample(10**6, best=(0.51, 0.5, 0.5), sure=(0.5, 0.5, 0.5), worse=(0.47, 0.5, 0.5))
    [noisy] = [
        one for one in each["differences"]
        if (one["a"], one["b"], one["kind"]) == ("best", "worse", "similarity")
    ]  # fmt: skip
    noisy["error"] = 0.05
    assert asked(each).good["similarity"] == ("best", "sure")


LOOKS = {
    "English": {"script": "Latin", "english": True, "german": False},
    "German": {"script": "Latin", "english": False, "german": True},
    "Chinese": {"script": "CJK", "english": False, "german": False},
    "unknown": {"script": "Latin", "english": False, "german": False},
}


@pytest.mark.parametrize("language", LOOKS)
def test_advice_follows_the_evidence_of_its_language_at_every_size(language):
    evidence = read_evidence()
    cited, advised = [], []
    for tokens in np.geomspace(0.3e6, 100e6, 200):
        words = round(13_000 * (tokens / 1e6) ** 0.6)
        looks = LOOKS[language]
        advice = advise(Features(round(tokens), words, language == "Chinese", **looks), evidence)
        sample, factor = advice.sample, evidence["factor"]
        assert sample["language"] == (language if language != "unknown" else "English")
        for candidate, kinds in advice.choices.items():
            for kind in kinds:
                for difference in sample["differences"]:
                    pair = [difference["a"], difference["b"]]
                    if difference["kind"] == kind and candidate in pair:
                        sign = 1 if pair[0] == candidate else -1
                        assert sign * difference["difference"] >= -factor * difference["error"]
        widths = tuple(METHODS[method].width_for(tokens) for method in ("svd", "skipgram"))
        cited.append((sample["text"], sample["tokens"], widths))
        advised.append(list(advice.choices.items()))
        assert not advice.left_out
    places = list(dict.fromkeys(cited))
    assert [each for each, _ in itertools.groupby(cited)] == places  # no sample is cited again
    # advice changes only with the sample, or with the width that suits the size
    runs = [choices for choices, _ in itertools.groupby(zip(cited, advised, strict=True))]
    assert len(runs) == len(places)


@pytest.mark.parametrize("tokens", [*np.geomspace(5.8e6, 8e6, 5)])
def test_english_of_six_to_eight_million_is_advised_the_better_width(tokens):
    features = Features(round(tokens), 40_000, False, **LOOKS["English"])
    advice = advise(features, read_evidence())
    assert advice.choices["svd-300"] == ("meaning",)
    assert advice.sample["tokens"] == 8_004_058


@pytest.mark.parametrize(
    ("script", "english", "german", "language", "differs", "is_far"),
    [
        ("Cyrillic", False, False, "English", "Cyrillic script, not Latin", True),
        ("Latin", False, False, "English", "does not look English", False),
        ("Latin", False, False, "German", "does not look German", False),
        ("Latin", True, False, "German", "looks English, not German", False),
        ("Latin", False, True, "English", "looks German, not English", False),
        ("Latin", True, False, "English", "", False),
        ("Latin", False, True, "German", "", False),
        ("Latin", True, True, "German", "", False),
        ("", None, None, "English", "", False),
    ],
)
def test_a_difference_of_script_or_language_is_told(
    script, english, german, language, differs, is_far
):
    each = {**sample(10**6, x=(0.5, 0.5, 0.5)), "language": language}
    evidence = {
        "samples": [each], "factor": 2.0,
        "candidates": {"x": {"method": "svd", "options": {"dim": 100}}},
    }  # fmt: skip

    advice = advise(Features(10**6, 1_000, False, script, english, german), evidence)

    assert (advice.differs, advice.is_far) == (differs, is_far)


def test_features_count_training_documents_only(tmp_path):
    source = tmp_path / "text.txt"
    line = "the cat sat . the dog sat .\n"
    source.write_text(line * 3 + "rare words\n")
    options = BuildOptions(held_out=0.1)
    corpus = encode_corpus(make_request([source], options=options), tmp_path / "corpus")

    # "rare words" is held out; cat and dog occur three times, the and sat six times, the full
    # stop is not a word
    assert features_of(corpus) == Features(
        tokens=24, words=2, unspaced=False, script="Latin", english=False, german=False
    )
    source.write_text("他们 来 了\n" * 4)
    chinese = encode_corpus(
        make_request([source], text=TextSettings(segmenter="whitespace")), tmp_path / "chinese"
    )
    assert is_unspaced(chinese)


def test_the_evidence_is_complete_and_its_options_are_valid():
    evidence = read_evidence()

    assert json.dumps(evidence, allow_nan=False)
    texts = {each["language"] for each in evidence["samples"]}
    assert texts == {"English", "German", "Chinese"}
    for name, about in evidence["candidates"].items():
        METHODS[about["method"]].config_class()(**about["options"])
        for each in evidence["samples"]:
            assert each["words"][name] > 0
            assert {m["kind"] for m in each["means"] if m["run"] == name} == set(KINDS)
    for each in evidence["samples"]:
        features = Features(
            each["tokens"], max(each["words"].values()), each["unspaced"],
            german=each["language"] == "German",
        )  # fmt: skip
        assert advise(features, evidence).sample == each  # a text is most like itself
