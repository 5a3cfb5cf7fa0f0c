"""Synthetic text of two periods: what changes, and what does not."""

import json
from collections import Counter

from firth.corpora.datasets.synthetic import SyntheticConfig, documents
from tests.embed.change.planted_changes import (
    FREQUENCY_SHARE,
    changing_documents,
    company_pairs,
    frequency_pairs,
    write_changing,
)

CONFIG = SyntheticConfig(n_tokens=300_000, seed=3)
SHARE = 0.4


def words_of(text):
    """Return the words without the periods of sentences."""
    return text.replace(".", " ").split()


def test_early_documents_and_the_draws_of_late_ones_are_those_of_the_plain_text():
    plain = list(documents(CONFIG))
    changed = list(changing_documents(CONFIG, SHARE))
    assert len(plain) == len(changed)
    assert [text for period, text in changed if period == "early"] == plain[::2]
    assert [text for period, text in changed if period == "late"] != plain[1::2]
    assert [period for period, _ in changed[:3]] == ["early", "late", "early"]


def test_pairs_change_their_company_or_their_frequency_but_not_both():
    plain = Counter(w for text in list(documents(CONFIG))[1::2] for w in words_of(text))
    changed = list(changing_documents(CONFIG, SHARE))
    late = Counter(w for period, text in changed if period == "late" for w in words_of(text))
    for one, two in company_pairs():
        assert late[one] + late[two] == plain[one] + plain[two]
    for one, two in frequency_pairs():
        assert late[one] + late[two] == plain[one] + plain[two]
    moved = sum(plain[one] - late[one] for one, _ in frequency_pairs())
    share = moved / sum(plain[one] for one, _ in frequency_pairs())
    assert abs(share - FREQUENCY_SHARE) < 0.15  # of about 120 paragraphs: 4 standard errors


def test_a_share_of_the_company_is_exchanged():
    def company(texts, pairs):
        """Count the features of paragraphs by the noun in them."""
        found = Counter()
        nouns = {word for pair in pairs for word in pair}
        for text in texts:
            for line in text.split("\n"):
                words = words_of(line)
                for noun in nouns.intersection(words):
                    found.update((noun, word) for word in words)
        return found

    texts = {"early": [], "late": []}
    for period, text in changing_documents(CONFIG, 1.0):
        texts[period].append(text)
    early, late = (company(texts[period], company_pairs()) for period in ("early", "late"))
    for one, two in company_pairs():
        own = {word for (noun, word) in early if noun == one}
        other = {word for (noun, word) in early if noun == two}
        only_own, only_other = own - other, other - own
        assert sum(late[two, word] for word in only_own) > 0
        assert sum(late[one, word] for word in only_own - {one}) == 0
        assert sum(late[one, word] for word in only_other - {two}) > 0


def test_each_pair_may_have_a_share_of_its_own():
    config = SyntheticConfig(n_tokens=120_000, seed=3)
    differing = set()
    texts = [changing_documents(config, shares) for shares in (0.0, (1.0, 0.0, 0.0, 0.0))]
    for (_, without), (_, shared) in zip(*texts, strict=True):
        both = zip(words_of(without.lower()), words_of(shared.lower()), strict=True)
        differing |= {each for each in both if each[0] != each[1]}
    one, two = company_pairs()[0]
    assert differing == {(one, two), (two, one)}


def test_the_file_has_the_periods_as_a_field(tmp_path):
    write_changing(tmp_path / "a.jsonl", SyntheticConfig(n_tokens=1000), 0.5)
    lines = [json.loads(line) for line in (tmp_path / "a.jsonl").read_text().splitlines()]
    expected = list(changing_documents(SyntheticConfig(n_tokens=1000), 0.5))
    assert [(line["period"], line["text"]) for line in lines] == expected
