"""Documents are chosen by kept fields, and lines are cited by them."""

import csv
import io
import json

import numpy as np
import pytest
from click.testing import CliRunner

from firth import ReadOptions, build_corpus, cli
from firth.corpora.common.errors import SettingError
from firth.corpora.store.concordance import concordance
from firth.corpora.store.fields import citation, documents_where, documents_with

YEARS = ["1848", "1850", "", "1880.5", "1901", "-30", "0"]
DATES = ["1914-07-28", "1914-08-01T12:00", "1915-01", "1916", "", "-0044-03-15"]
AUTHORS = ["Fontane, Theodor", "Fontane-Fan, A.", "Theo", "", "12-13", "von Droste-Hülshoff, A."]


@pytest.mark.parametrize(
    ("values", "wanted", "expected"),
    [
        (YEARS, "1850", [1]),
        (YEARS, "", [2]),
        (YEARS, "1850.0", [1]),
        (YEARS, "1848-1850", [0, 1]),
        (YEARS, "1848 – 1850", [0, 1]),
        (YEARS, "1880-", [3, 4]),
        (YEARS, "-1850", [0, 1, 5, 6]),
        (YEARS, "-30", [5]),
        (YEARS, "-30-0", [5, 6]),
        (YEARS, "1880s", [3]),
        (YEARS, "1840s", [0]),
        (DATES, "1914", [0, 1]),
        (DATES, "1914-08", [1]),
        (DATES, "1914-07-29-1915", [1, 2]),
        (DATES, "1914-08-", [1, 2, 3]),
        (DATES, "-1914", [0, 1, 5]),
        (DATES, "1910s", [0, 1, 2, 3]),
        (AUTHORS, "Fontane, Theodor", [0]),
        (AUTHORS, "fontane", [0, 1]),
        (AUTHORS, "Theo", [2]),
        (AUTHORS, "12-13", [4]),
        (AUTHORS, "droste-hülshoff", [5]),
    ],
)
def test_a_value_is_as_written_or_a_range_or_words_inside(values, wanted, expected):
    assert np.flatnonzero(documents_with(values, "field", wanted)).tolist() == expected


@pytest.mark.parametrize(
    ("values", "wanted", "message"),
    [
        (YEARS, "1700-1800", "no document has f=1700-1800; its values are from -30 to 1901"),
        (YEARS, "1990", "no document has f=1990; its values are from -30 to 1901"),
        (YEARS, "1914-18", "1914-18 ends before it begins; pass 1914-1918"),
        (YEARS, "1870-1840", "1870-1840 ends before it begins; pass 1840-1870"),
        (["1850", "n.d."], "1840-", r"document 2: f='n\.d\.' is neither .* the range 1840- needs"),
        (["1850", "n.d."], "1849", r"no document has f=1849; its values are 1850; n\.d"),
        (AUTHORS, "Fontan", r"no document has f=Fontan; did you mean Fontane, .*; Font.*\?$"),
        (AUTHORS, "Fontanne", r"no document has f=Fontanne; did you mean Fontane, .*\?$"),
        (AUTHORS, "Goethe", "no document has f=Goethe; its values are 12-13; .*; and 2 more"),
        (["", " "], "1840-", "it is always empty"),
    ],
)
def test_what_no_document_has_is_refused(values, wanted, message):
    with pytest.raises(SettingError, match=message):
        documents_with(values, "f", wanted)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    folder = tmp_path_factory.mktemp("fields")
    rows = [("Fontane, Theodor", "Effi", "1895"), ("Fontane, Theodor", "Irrungen", "1888"),
            ("Raabe, Wilhelm", "Stopfkuchen", "1891"), ("", "", "1899")]  # fmt: skip
    lines = [
        json.dumps({"text": "the sea here", "author": author, "title": title, "year": year})
        for author, title, year in rows
    ]
    (folder / "in.jsonl").write_text("\n".join(lines))
    read = ReadOptions(keep=("year", "title", "author"))
    return build_corpus(folder / "in.jsonl", folder / "corpus", read=read)


@pytest.mark.parametrize(
    ("conditions", "expected"),
    [
        ("author=Fontane", [0, 1]),
        ("author=Fontane, Theodor,year=1890-", [0]),
        ("year=1890-1895, author=Raabe", [2]),
        ("author=,year=-1900", [3]),
    ],
)
def test_all_conditions_hold(corpus, conditions, expected):
    assert np.flatnonzero(documents_where(corpus, conditions)).tolist() == expected
    found = concordance(corpus, "sea", documents=conditions)
    assert [line.document - 1 for line in found.lines] == expected


@pytest.mark.parametrize(
    ("conditions", "message"),
    [
        ("author=Fontane,year=1900-", "no document has year=1900-; .* from 1888 to 1899"),
        ("author=Raabe,year=1888", "no document has all of author=Raabe,year=1888"),
        ("author=Raabe,yaer=1888", r"no field 'yaer' \(it keeps author, title, year\)"),
        ("Raabe", "'Raabe': expected FIELD=VALUE"),
    ],
)
def test_bad_conditions_are_refused(corpus, conditions, message):
    with pytest.raises(SettingError, match=message):
        documents_where(corpus, conditions)


def test_lines_say_where_they_are_from(corpus):
    by_default = [line.citation for line in concordance(corpus, "sea").lines]
    assert by_default[0] == "Fontane, Theodor, Effi, 1895"
    assert by_default[3] == "1899"
    lines = concordance(corpus, "sea", cite="year, title").lines
    assert [line.citation for line in lines] == ["1895, Effi", "1888, Irrungen",
                                                 "1891, Stopfkuchen", "1899"]  # fmt: skip
    with pytest.raises(SettingError, match="keeps no field 'date'"):
        concordance(corpus, "sea", cite="year,date")
    assert citation({"id": "7", "url": "x" * 99}, None, "a/b.txt") == "7"
    assert citation({}, None, "a/b.txt") == "b.txt"


def test_the_commands_print_citations(corpus):
    def run(*arguments):
        result = CliRunner().invoke(cli.main, ["concordance", str(corpus.path), *arguments])
        assert result.exit_code == 0, result.output
        return result.stdout

    arguments = ("sea", "--documents", "author=Fontane,year=1888-1890")
    assert run(*arguments).startswith("2 Fontane, Theodor, Irr… ")
    assert run(*arguments, "--cite", "author, year").startswith("2 Fontane, Theodor, 1888 ")
    [row] = csv.DictReader(io.StringIO(run(*arguments, "--cite", "title", "--csv")))
    assert (row["citation"], row["author"]) == ("Irrungen", "Fontane, Theodor")
