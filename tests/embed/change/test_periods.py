"""Periods: which documents belong to which, and the text of each."""

import json

import numpy as np
import pytest

from firth import ReadOptions, build_corpus
from firth.corpora.common.errors import SettingError
from firth.embed.change.periods import read_periods, read_texts, two_corpora

YEARS = ["1848", "1850", "", "1899", "1901", "1900"]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    folder = tmp_path_factory.mktemp("periods")
    lines = []
    for number, year in enumerate(YEARS):
        own = f"only{number} " * 5
        text = "" if number == 3 else f"the sea, the {own}ship. A rare{number}.\nAnother the line."
        genre = "news" if number < 4 else "fiction"
        lines.append(json.dumps({"text": text, "year": year, "genre": genre}))
    (folder / "in.jsonl").write_text("\n".join(lines))
    read = ReadOptions(keep=("year", "genre"))
    return build_corpus(folder / "in.jsonl", folder / "corpus", read=read)


@pytest.mark.parametrize(
    ("by", "periods", "expected"),
    [
        ("year", ["1840-1850", "1901-1910"], [0, 0, -1, -1, 1, -1]),
        ("year", ["1848", "1899-1901"], [0, -1, -1, 1, 1, 1]),
        ("year", ["1901", "1850", "1840-1848"], [2, 1, -1, -1, 0, -1]),
        ("year", ["-1850", "1900-"], [0, 0, -1, -1, 1, 1]),
        ("genre", ["fiction", "news"], [1, 1, 1, 1, 0, 0]),
    ],
)
def test_documents_are_sorted_into_ranges_and_values(corpus, by, periods, expected):
    assert read_periods(corpus, by, periods).period_of.tolist() == expected


@pytest.mark.parametrize(
    ("periods", "expected"),
    [
        (["1840-1849", "1850-1860"], [0, 0, 1, -1]),
        (["1840s", "1850s"], [0, 0, 1, -1]),
    ],
    ids=["years", "decades"],
)
def test_iso_dates_are_of_their_year(tmp_path, periods, expected):
    dates = ["1843-05-12", "1849-12", "1852-01-31T23:59:00Z", ""]
    lines = [json.dumps({"text": "a b", "date": date}) for date in dates]
    (tmp_path / "d.jsonl").write_text("\n".join(lines))
    read = ReadOptions(keep=("date",))
    corpus = build_corpus(tmp_path / "d.jsonl", tmp_path / "corpus", read=read)
    assert read_periods(corpus, "date", periods).period_of.tolist() == expected


def test_ranges_with_spaces_or_an_en_dash_are_named_without(corpus):
    periods = read_periods(corpus, "year", ["1840 - 1850", "1901\N{EN DASH}1910"])
    assert periods.names == ["1840-1850", "1901-1910"]
    assert periods.period_of.tolist() == [0, 0, -1, -1, 1, -1]
    assert periods.by == "year"


@pytest.mark.parametrize(
    ("by", "periods", "message"),
    [
        ("year", ["1840-1850"], "`periods=1840-1850`: pass two or more, such as"),
        ("year", ["1850", "1850"], "`periods=1850,1850`: the same period occurs twice"),
        ("year", ["1840-1850", "1850-1900"], r"document 2 \(year=1850\) is in 1840-1850 and in"),
        (
            "year",
            ["1840-1850", "1700-1800"],
            "no document has year=1700-1800; .* 1848 to 1901",
        ),
        ("year", ["1850-1840", "1900"], "1850-1840 ends before it begins; pass 1840-1850"),
        ("genre", ["1840-1850", "news"], "document 1: genre='news' is neither a number nor an ISO"),
        ("genre", ["drama", "news"], "no document has genre=drama; its values are fiction; news"),
        ("month", ["1", "2"], r"keeps no field 'month' \(it keeps genre, year\)"),
    ],
    ids=lambda value: None if isinstance(value, str) else ",".join(value),
)
def test_bad_periods_are_refused(corpus, by, periods, message):
    with pytest.raises(SettingError, match=message):
        read_periods(corpus, by, periods)


def test_the_largest_strata_are_listed_with_their_documents(tmp_path, capsys):
    lines = [
        {"text": "a b", "part": part, "author": f"{author}, x", "genre": "ode"}
        for part in ("i", "ii")
        for author in range(7)
        for _ in range(1 + author * (part == "ii"))
    ]
    (tmp_path / "d.jsonl").write_text("\n".join(map(json.dumps, lines)))
    read = ReadOptions(keep=("part", "author", "genre"))
    corpus = build_corpus(tmp_path / "d.jsonl", tmp_path / "corpus", read=read)
    capsys.readouterr()
    periods = read_periods(corpus, "part", ["i", "ii"], ["author", "genre"])
    assert capsys.readouterr().err == (
        "chance is measured within author and genre (documents in i, ii): 6, x, ode (1, 7); "
        "5, x, ode (1, 6); 4, x, ode (1, 5); 3, x, ode (1, 4); 2, x, ode (1, 3); 2 more (2, 3)\n"
    )
    assert len(set(periods.strata.tolist())) == 7


def test_the_text_of_a_period_is_that_of_its_documents(corpus):
    periods = read_periods(corpus, "year", ["1848-1850", "1899-1901"])
    view = periods.view("paragraph", "drop")
    texts = read_texts(periods, view)
    words = [[view.words[row] for row in text.rows] for text in texts]
    for number, (found, documents) in enumerate(zip(words, [(0, 1), (4, 5)], strict=True)):
        line = [["the", *["the"], *[f"only{d}"] * 5, "the"] for d in documents]
        assert found == [word for each in line for word in each]
        assert (
            texts[number].counts.tolist()
            == np.bincount(texts[number].rows, minlength=len(view.counts)).tolist()
        )
        parts = texts[number].documents.tolist()
        assert sorted(set(parts)) == list(documents)
    assert view.counts.tolist() == sum(text.counts for text in texts).tolist()


def test_two_corpora_are_two_periods(corpus, tmp_path):
    (tmp_path / "b.txt").write_text("the sea the whale\n\nthe whale")
    other = build_corpus(tmp_path / "b.txt", tmp_path / "other")
    periods = two_corpora(corpus, other)
    assert periods.names == ["corpus", "other"]
    assert periods.period_of.tolist() == [0] * 6 + [1] * other.n_documents
    view = periods.view("paragraph", "drop")
    texts = read_texts(periods, view)
    the = view.words.index("the")
    assert [int(text.counts[the]) for text in texts] == [15, 3]
    with pytest.raises(SettingError, match="has the same text as"):
        two_corpora(corpus, corpus)
