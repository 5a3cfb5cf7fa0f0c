"""Options of skip-gram and CBOW: their errors, and what importing them loads."""

import pytest

from firth.corpora.common.errors import SettingError
from firth.embed.word2vec.config import CbowConfig, Ngrams, SkipGramConfig


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"window": 1001}, "SkipGramConfig.window must be at most 1000, got 1001"),
        ({"learning_rate": 0.0}, "SkipGramConfig.learning_rate must be above 0, got 0.0"),
        (
            {"subwords": "6-3"},
            (
                "`subwords` must be MIN-MAX with 1 <= MIN <= MAX <= 999, lengths of n-grams in "
                "characters such as 3-6, got '6-3'"
            ),
        ),
        (
            {"buckets": 1000},
            "`buckets=1000`: there are no n-grams without `subwords`; leave it out",
        ),
        (
            {"engine": "gensim", "deterministic": True},
            (
                "`engine=gensim` does not support `deterministic=True`; leave it out or pass "
                "`engine=firth`"
            ),
        ),
        (
            {"engine": "gensim", "deterministic": True, "init": "run"},
            (
                "`engine=gensim` does not support `init` and `deterministic=True`; leave them out "
                "or pass `engine=firth`"
            ),
        ),
        (
            {"engine": "gensim", "window": "all"},
            "`engine=gensim` does not support `window=all`; leave it out or pass `engine=firth`",
        ),
        (
            {"engine": "gensim", "seed": 2**32},
            "`engine=gensim` needs a seed below 4294967296, got 4294967296; pass a smaller `seed`",
        ),
    ],
)  # fmt: skip
def test_options_out_of_range_are_refused(options, message):
    with pytest.raises(SettingError) as refusal:
        SkipGramConfig(**options)
    assert str(refusal.value) == message


def test_gensim_has_no_corrected_gradient():
    with pytest.raises(SettingError) as refusal:
        CbowConfig(engine="gensim", combine="corrected")
    assert str(refusal.value) == (
        "`engine=gensim` does not support `combine=corrected`; leave it out or pass `engine=firth`"
    )


def test_gensim_accepts_its_largest_seed():
    pytest.importorskip("gensim")
    assert SkipGramConfig(engine="gensim", seed=2**32 - 1).seed == 2**32 - 1


def test_subwords_and_buckets_become_ngrams():
    assert SkipGramConfig().ngrams is None
    assert CbowConfig(subwords="3-6", buckets=50).ngrams == Ngrams(3, 6, 50)
