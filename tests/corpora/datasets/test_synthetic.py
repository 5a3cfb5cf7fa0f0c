"""The synthetic corpus is reproducible, and a plain PPMI-SVD recovers its structure."""

import csv
import hashlib
import itertools
import os
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.stats import spearmanr

from firth.corpora.common.errors import SettingError
from firth.corpora.datasets.synthetic import SyntheticConfig, documents, write_gold, write_synthetic
from firth.corpora.datasets.synthetic_language import (
    GRADES,
    PARTS_OF_SPEECH,
    TEMPLATES,
    overlap,
    synthetic_language,
)

CONFIG = SyntheticConfig(n_tokens=300_000)


@pytest.fixture(scope="module")
def text() -> str:
    return "\n".join(documents(CONFIG))


@pytest.fixture(scope="module")
def vectors(text: str) -> dict[str, np.ndarray]:
    """Unit vectors of lower-cased words: PPMI, window 5, smoothing 0.75, SVD."""
    paragraphs = [line.lower().replace(".", "").split() for line in text.split("\n") if line]
    index = {word: i for i, word in enumerate(sorted({w for p in paragraphs for w in p}))}
    window = 5
    ids = np.concatenate([[index[w] for w in p] + [-1] * window for p in paragraphs])
    counts = sp.csr_matrix((len(index), len(index)))
    for distance in range(1, window + 1):
        a, b = ids[:-distance], ids[distance:]
        both = (a >= 0) & (b >= 0)
        weights = np.full(both.sum(), (window + 1 - distance) / window)
        counts = counts + sp.coo_matrix((weights, (a[both], b[both])), shape=counts.shape).tocsr()
    pairs = (counts + counts.T).tocoo()
    total = np.asarray(pairs.sum(axis=1)).ravel()
    smooth = total**0.75 / (total**0.75).sum()
    pmi = np.log(pairs.data / (total[pairs.row] * smooth[pairs.col]))
    kept = pmi > 0
    ppmi = sp.csr_matrix((pmi[kept], (pairs.row[kept], pairs.col[kept])), shape=counts.shape)
    left, values, _ = np.linalg.svd(ppmi.toarray())
    rows = left[:, :100] * np.sqrt(values[:100])
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return dict(zip(index, rows, strict=True))


def test_text_is_the_same_on_every_machine() -> None:
    one, two = (next(documents(SyntheticConfig(n_tokens=1, seed=seed))) for seed in (0, 1))
    assert one.startswith("These blidilish bliloms vludaned the pranem. ")
    assert two != one
    digest = hashlib.sha256("".join(documents(SyntheticConfig(n_tokens=20_000))).encode())
    assert digest.hexdigest()[:16] == "3ba2c914d36c61b4"


def test_a_longer_text_begins_with_a_shorter_one() -> None:
    short = list(documents(SyntheticConfig(n_tokens=5_000)))
    long = list(itertools.islice(documents(SyntheticConfig(n_tokens=400_000)), len(short)))

    assert long == short


def test_size_is_rounded_up_to_whole_documents(text: str) -> None:
    n_words = [len(document.split()) for document in documents(CONFIG)]

    assert sum(n_words) >= CONFIG.n_tokens > sum(n_words[:-1])
    assert sum(n_words) == len(text.split())


def test_sentences_end_in_full_stops_and_begin_with_capitals(text: str) -> None:
    for line in text.split("\n")[:2000]:
        assert line == "" or line.endswith(".")
        for sentence in line.rstrip(".").split(". ") if line else []:
            assert sentence[0].isupper()
            assert 5 <= len(sentence.split()) <= 12


def test_words_are_distinct_and_templates_have_one_noun_and_one_feature_per_part() -> None:
    words = synthetic_language().words
    assert len(set(words)) == len(words)
    assert all(word.isascii() and word.isalpha() for word in words)
    for template in itertools.chain(*TEMPLATES.values()):
        counts = Counter(template.split())
        assert [counts[slot] for slot in ("noun", *PARTS_OF_SPEECH)] == [1, 1, 1, 1]


def features_of_nouns() -> dict[str, np.ndarray]:
    """Return the features of each noun; those of its last sense."""
    language = synthetic_language()
    rows = zip(language.nouns, language.features, strict=True)
    return {language.words[noun]: row for noun, row in rows}


def test_graded_pairs_overlap_by_their_grade() -> None:
    language, features = synthetic_language(), features_of_nouns()
    for first, second, grade in language.graded:
        assert overlap(features[first], features[second]) == pytest.approx(grade)
    assert Counter(grade for *_, grade in language.graded) == dict.fromkeys(GRADES, 8)


def test_nouns_share_features_with_their_class_and_their_partner() -> None:
    language, features = synthetic_language(), features_of_nouns()
    for nouns in language.classes.values():
        for a, b in itertools.combinations(nouns, 2):
            assert 0.7 <= overlap(features[a], features[b]) <= 0.85
    for relation, pairs in language.relations.items():
        for a, b in pairs:
            shared = 1.0 if relation.startswith("gram") else 0.3
            assert overlap(features[a], features[b]) == pytest.approx(shared)


def test_shares_of_senses_sum_to_one() -> None:
    language = synthetic_language()
    totals: Counter[str] = Counter()
    for word, name, share in language.senses:
        assert word not in language.classes[name]
        totals[word] += share
    assert language.probabilities.sum() == pytest.approx(1)
    assert all(total == pytest.approx(1) for total in totals.values())
    assert np.all(np.diff(language.domains) >= 0)


def test_word_frequencies_match_the_language(text: str) -> None:
    language = synthetic_language()
    words = text.replace(".", "").split()
    index = {word: i for i, word in enumerate(language.words)}
    counts = np.bincount([index[word] for word in words], minlength=len(index))
    nouns = np.bincount(language.nouns, language.probabilities, minlength=len(index))
    # 4.5 sentences per paragraph, each with the paragraph's noun once
    expected = (
        nouns
        / nouns.sum()
        * counts[language.nouns[np.unique(language.nouns, return_index=True)[1]]].sum()
    )
    seen = nouns > 0
    deviations = (counts[seen] - expected[seen]) / np.sqrt(4.8 * expected[seen])
    assert np.abs(deviations).max() < 5  # one seed in a thousand exceeds this
    assert abs(deviations).mean() < 1.2


def test_classes_are_recovered(vectors: dict[str, np.ndarray]) -> None:
    label = {
        word.lower(): name for name, words in synthetic_language().classes.items() for word in words
    }
    words = list(label)
    rows = np.stack([vectors[word] for word in words])
    cosines = rows @ rows.T
    np.fill_diagonal(cosines, -1)
    nearest = np.argsort(-cosines, axis=1)[:, :5]
    same = [
        label[words[j]] == label[word]
        for word, row in zip(words, nearest, strict=True)
        for j in row
    ]

    assert np.mean(same) >= 0.95


def test_similarities_are_recovered(vectors: dict[str, np.ndarray]) -> None:
    graded = synthetic_language().graded
    cosines = [vectors[a] @ vectors[b] for a, b, _ in graded]

    assert spearmanr(cosines, [grade for *_, grade in graded]).statistic > 0.9


def test_analogies_are_recovered(vectors: dict[str, np.ndarray], tmp_path: Path) -> None:
    words = list(vectors)
    index = {word: i for i, word in enumerate(words)}
    rows = np.stack(list(vectors.values()))
    right: dict[str, list[bool]] = {}
    for line in (write_gold(tmp_path)[1]).read_text().splitlines():
        if line.startswith(": "):
            answers = right.setdefault(line[2:], [])
            continue
        a, b, c, d = (index[word] for word in line.lower().split())
        scores = rows @ (rows[b] - rows[a] + rows[c])
        scores[[a, b, c]] = -np.inf
        answers.append(bool(scores.argmax() == d))

    assert list(right) == ["gram-singular-plural", "country-capital", "man-woman"]
    assert [len(answers) for answers in right.values()] == [288, 182, 132]
    assert all(np.mean(answers) > 0.9 for answers in right.values())


def test_a_word_of_two_classes_is_near_both(vectors: dict[str, np.ndarray]) -> None:
    language = synthetic_language()
    centers = {
        name: np.mean([vectors[word.lower()] for word in words], axis=0)
        for name, words in language.classes.items()
    }
    for (word, one, _), (_, two, _) in zip(
        language.senses[::2], language.senses[1::2], strict=True
    ):
        near = sorted(centers, key=lambda name: -float(vectors[word] @ centers[name]))
        assert set(near[:2]) == {one, two}


def test_gold_sets_that_are_being_read_are_replaced_whole(tmp_path: Path) -> None:
    path, opened = write_gold(tmp_path / "gold")[0], tmp_path / "opened"
    os.link(path, opened)
    opened.write_text("as it was")
    write_gold(tmp_path / "gold")
    assert opened.read_text() == "as it was"
    assert path.read_text() != "as it was"


def test_gold_sets_have_the_published_formats(tmp_path: Path) -> None:
    similarity, analogies, categories, senses = write_gold(tmp_path / "gold")

    rows = [line.split("\t") for line in similarity.read_text().splitlines()]
    assert len(rows) == 48
    assert {float(score) for *_, score in rows} == {0, 2, 4, 6, 8, 10}
    questions = [q.split() for q in analogies.read_text().splitlines() if not q.startswith(":")]
    assert all(len(set(question)) == 4 for question in questions)
    assert len({tuple(question) for question in questions}) == len(questions)
    with open(categories, encoding="utf-8", newline="") as file:
        table = list(csv.reader(file))
    assert table[0] == ["", "category", "word"]
    assert table[1][:2] == ["0", "animal"]
    assert len(table) == 1 + 6 * 12 + 2 * 14 + 2 * 12
    with open(senses, encoding="utf-8", newline="") as file:
        table = list(csv.reader(file))
    assert table[0] == ["", "category", "word", "share"]
    assert len(table) == 1 + 2 * 10


def test_a_file_separates_documents_and_is_whole_or_absent(tmp_path: Path) -> None:
    config = SyntheticConfig(n_tokens=3_000)
    path = tmp_path / "new" / "synthetic.txt"
    shown: list[float] = []
    write_synthetic(path, config, lambda done, total=None: shown.append(done))

    assert path.read_text() == "".join(document + "\n" for document in documents(config))
    assert path.read_text().count("\n\n") == len(list(documents(config)))
    assert shown[-1] == len(path.read_text().split())

    def interrupt(done: float, total: float | None = None) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_synthetic(tmp_path / "other.txt", config, interrupt)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["new"]


@pytest.mark.parametrize("options", [{"n_tokens": 0}, {"seed": -1}], ids=str)
def test_settings_out_of_range_are_refused(options) -> None:
    [(name, value)] = options.items()
    with pytest.raises(SettingError, match=rf"^SyntheticConfig\.{name} must be .*, got {value}$"):
        SyntheticConfig(**options)
