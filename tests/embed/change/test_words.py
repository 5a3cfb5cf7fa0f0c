"""The change of words: planted changes, false alarms, refusals, runs and the command."""

import csv
import dataclasses
import io
import json
import re
from typing import Any

import numpy as np
import pytest

from firth import ReadOptions, build_corpus
from firth.corpora.common.errors import FirthError, SettingError, UnknownWordError
from firth.corpora.datasets.synthetic import SyntheticConfig
from firth.corpora.datasets.synthetic_language import synthetic_language
from firth.embed.change.config import ChangeConfig
from firth.embed.change.path_picture import draw_path
from firth.embed.change.report import write_change_report
from firth.embed.change.table import ChangeTable
from firth.embed.change.words import word_changes
from firth.embed.formats.published_run import publish_run
from firth.embed.vectors.word_vectors import WordVectors
from tests.calls import command, output
from tests.embed.change.planted_changes import company_pairs, frequency_pairs, write_changing

SETTINGS = ChangeConfig(dim=30, permutations=40, threads=2)
PERIODS = ["early", "late"]
PROCRUSTES = ChangeConfig(route="procrustes", dim=30, threads=2)


def build(folder, lines, *fields):
    """Build a corpus of JSON lines with fields."""
    (folder / "in.jsonl").write_text("\n".join(map(json.dumps, lines)))
    return build_corpus(folder / "in.jsonl", folder / "corpus", read=ReadOptions(keep=fields))


def changing(folder, n_tokens, seed, share):
    """Build a corpus in which a share of the company of some words is exchanged."""
    write_changing(folder / "in.jsonl", SyntheticConfig(n_tokens=n_tokens, seed=seed), share)
    read = ReadOptions(keep=("period",))
    return build_corpus(folder / "in.jsonl", folder / "corpus", read=read)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    """Return a text in which most of the company of some words is exchanged."""
    return changing(tmp_path_factory.mktemp("change"), 300_000, 1, 0.7)


@pytest.fixture(scope="module")
def found(corpus):
    return word_changes(corpus, config=SETTINGS, by="period", periods=PERIODS)


def kinds(table):
    """Return the p of words whose company changes, of those whose frequency does, of others."""
    language = synthetic_language()
    company = {word for pair in company_pairs() for word in pair}
    frequency = {word for pair in frequency_pairs() for word in pair}
    others = {language.words[noun].lower() for noun in language.nouns} - company - frequency
    return [
        np.array([p for word, p in zip(table.words, table.p, strict=True) if word in chosen])
        for chosen in (company, frequency, others)
    ]


@pytest.mark.slow
def test_words_are_found_by_their_company_and_not_by_their_frequency(found):
    company, frequency, others = kinds(found.table)
    assert len(company) == 8
    assert len(frequency) >= 4  # the others become too rare
    assert (company <= 0.01).mean() >= 0.75
    assert (np.sort(company)[:6] <= np.quantile(others, 0.02)).all()
    # binomial with probability .05: at most 3 of 8 with probability .9996
    assert (frequency <= 0.05).sum() <= 3
    # of 250 words, that are not quite independent: 4 standard errors above .05
    assert 0.01 <= (others <= 0.05).mean() <= 0.105


@pytest.mark.slow
def test_without_a_change_p_is_uniform(tmp_path, monkeypatch):
    monkeypatch.setattr("tests.embed.change.planted_changes.FREQUENCY_SHARE", 0.0)
    corpus = changing(tmp_path, 100_000, 2, 0.0)
    table = word_changes(corpus, config=SETTINGS, by="period", periods=PERIODS).table
    # 650 words: 4 standard errors of independent ones on either side
    assert 0.016 <= (table.p <= 0.05).mean() <= 0.084
    assert 0.42 <= (table.p <= 0.5).mean() <= 0.58
    assert table.q.min() > 0.01


@pytest.mark.slow
def test_the_result_does_not_depend_on_threads(corpus, found):
    config = dataclasses.replace(SETTINGS, threads=1)
    again = word_changes(corpus, config=config, by="period", periods=PERIODS)
    assert again.table.words == found.table.words
    np.testing.assert_array_equal(again.table.p, found.table.p)
    np.testing.assert_array_equal(again.table.distances, found.table.distances)


@pytest.mark.slow
def test_procrustes_finds_the_words_too(corpus):
    table = word_changes(corpus, config=PROCRUSTES, by="period", periods=PERIODS).table
    company = {word for pair in company_pairs() for word in pair}
    assert len(company & set(table.words[:20])) >= 6
    assert table.p is None


def test_a_run_has_words_of_periods_and_a_table(found, tmp_path):
    vectors = found.save(tmp_path / "run")
    word = company_pairs()[0][0]
    row = found.vocabulary.index(word)
    np.testing.assert_array_equal(vectors[f"{word}@late"], found.vectors[1, row])
    assert vectors.counts[vectors.row(f"{word}@early")] == found.counts[0, row]
    assert (np.diff(vectors.counts) <= 0).all()
    with open(tmp_path / "run" / "change.tsv", encoding="utf-8") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    assert list(rows[0])[:6] == ["word", "distance", "p", "q", "count@early", "count@late"]
    assert [each["word"] for each in rows] == found.table.words
    own = 1 - WordVectors.open(tmp_path / "run").similarity(f"{word}@early", f"{word}@late")
    assert float(rows[found.row(word)]["distance"]) == pytest.approx(own, abs=1e-5)


def test_neighbors_are_those_of_each_period(found):
    one, two = company_pairs()[0]
    [described] = found.describe([one], k=4, lines=2)
    vectors = found.word_vectors()
    frequent = [w for w, n in zip(found.vocabulary, found.counts[1], strict=True) if n >= 10]
    cosines = {w: vectors.similarity(f"{one}@late", f"{w}@late") for w in frequent if w != one}
    assert described.neighbors[1] == sorted(cosines, key=lambda w: -cosines[w])[:4]
    for period, lines in zip(PERIODS, described.lines, strict=True):
        assert len(lines) == 2
        assert {line.fields["period"] for line in lines} == {period}
        assert {line.found for line in lines} == {one}
    assert two in found.vocabulary


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """Return a text of three periods; "solo" is of one document mostly, "gone" of the first."""
    folder = tmp_path_factory.mktemp("decades")
    rng = np.random.default_rng(4)
    lines = []
    for number in range(36):
        words = [*rng.choice([f"w{n}" for n in range(20)], 40).tolist(), "some"]
        words += ["solo"] * (12 if number == 30 else 1) + ["gone"] * (number < 12)
        text = " ".join(rng.permutation(words).tolist())
        lines.append({"text": text, "year": str(1890 + number)})
    return build(folder, lines, "year")


def test_words_that_have_no_company_in_a_period_are_not_compared(tmp_path):
    lines = [
        {"text": f"w{n % 7} w{n % 5} w{n % 3} w{n % 2}\n\n" + ("alone" if late else "alone w1"),
         "period": PERIODS[late]}
        for n in range(60) for late in (0, 1)
    ]  # fmt: skip
    corpus = build(tmp_path, lines, "period")
    config = ChangeConfig(dim=3, permutations=0, min_count=5)
    table = word_changes(corpus, config=config, by="period", periods=PERIODS).table
    assert sorted(table.words) == [f"w{n}" for n in range(7)]


DECADES = ["1890-1901", "1902-1913", "1914-1925"]
SMALL = ChangeConfig(dim=8, permutations=5, min_count=6)


def test_words_of_one_document_are_flagged_and_missing_ones_are_not_compared(small):
    found = word_changes(small, config=SMALL, by="year", periods=DECADES)
    table = found.table
    flagged = [w for w, own in zip(table.words, table.one_document, strict=True) if own]
    assert flagged == ["solo"]
    np.testing.assert_allclose(table.shares[table.words.index("solo")], [1 / 12, 1 / 12, 12 / 23])
    assert "gone" not in table.words
    assert table.steps.shape == (len(table), 2)
    [gone] = found.describe(["gone"])
    assert gone.missing.startswith("'gone' is missing in a period (12 in 1890")
    assert found.describe(["xyz"])[0].missing.startswith("'xyz' is not one of the 23 words")


@pytest.mark.parametrize(
    ("config", "first", "reason"),
    [
        (SMALL, "1890-1893", "a period has 4 documents, too few to measure chance"),
        (dataclasses.replace(SMALL, permutations=0), "1890-1901", "`permutations=0`"),
    ],
    ids=["few-documents", "no-permutations"],
)
def test_without_a_measure_of_chance_the_distances_are_the_same(small, config, first, reason):
    periods = [first, "1904-1925"]
    found = word_changes(small, config=config, by="year", periods=periods)
    assert found.table.p is None
    assert found.no_p.startswith(reason)
    assert (np.diff(found.table.distances) <= 0).all()
    vectors = found.word_vectors()
    own = [1 - vectors.similarity(f"{w}@{first}", f"{w}@1904-1925") for w in found.table.words]
    np.testing.assert_allclose(found.table.distances, own, atol=1e-5)


def test_asked_words_are_checked_before_anything_is_measured(small, monkeypatch):
    monkeypatch.delattr("firth.embed.change.words.measure")
    with pytest.raises(UnknownWordError, match="'gone' is missing in a period"):
        word_changes(small, config=SMALL, by="year", periods=DECADES, require=["w1", "gone"])
    with pytest.raises(UnknownWordError, match="'xyz' is not one of the "):
        word_changes(small, config=SMALL, by="year", periods=DECADES, words=["xyz"])


def test_asked_words_alone_are_compared_and_one_that_is_missing_says_so(small, tmp_path):
    every = word_changes(small, config=SMALL, by="year", periods=DECADES)
    asked = ["gone", "xyz", "w1"]
    found = word_changes(small, config=SMALL, by="year", periods=DECADES, words=asked)
    assert found.table.words == ["w1"]
    assert found.table.distances[0] == every.table.distances[every.row("w1")]
    assert 1 / (1 + SMALL.permutations) <= found.table.p[0] == found.table.q[0]
    gone, other = found.describe(["gone", "w1"], lines=1)
    assert (gone.distance, gone.missing[:27]) == (None, "'gone' is missing in a peri")
    assert sorted(map(bool, gone.neighbors)) == [False, False, True]
    assert sorted(map(bool, gone.lines)) == [False, False, True]
    assert other.missing is None
    assert other.neighbors == every.describe(["w1"])[0].neighbors
    shown = found.describe(asked, lines=1)
    page = write_change_report(found, shown, tmp_path / "page.html", paths_of=["w1"])
    text = page.read_text(encoding="utf-8")
    assert "is missing in a period" in text
    assert "is not one of the 23 words" in text
    assert text.count("data:image/svg+xml") == 1
    assert re.search(r"w1</bdi></i>\s*(<b>changed</b>|did not change) more", text)


def test_a_single_word_that_is_missing_in_a_period_is_a_row_too(small, tmp_path):
    found = word_changes(small, config=SMALL, by="year", periods=DECADES, words=["gone", "xyz"])
    assert (len(found.table), found.no_p) == (0, "nothing was compared")
    [gone] = found.describe(["gone"])
    assert (gone.distance, gone.counts[0]) == (None, 12)
    assert gone.missing.startswith("'gone' is missing in a period (12 in 1890")
    page = write_change_report(found, [gone], tmp_path / "page.html")
    assert "is missing in a period" in page.read_text(encoding="utf-8")


def test_changes_are_opened_again_from_their_run(small, tmp_path):
    made = word_changes(small, config=SMALL, by="year", periods=DECADES, out=tmp_path / "run")
    again = word_changes(tmp_path / "run")
    np.testing.assert_allclose(again.table.p, made.table.p, rtol=1e-5)
    assert again.names == made.names
    words = ["w1", "gone"]
    first, second = (each.describe(words, k=3, lines=2) for each in (made, again))
    assert [each.neighbors for each in first] == [each.neighbors for each in second]
    assert [each.lines for each in first] == [each.lines for each in second]
    assert first[0].shares == pytest.approx(second[0].shares, abs=1e-5)
    assert (again.n_untested, again.no_p) == (made.n_untested, made.no_p)
    shown = command("change", str(tmp_path / "run"), "--words", "w1,gone")
    assert shown.stdout.splitlines()[1:] == command(
        "change", str(small.path), *["--by", "year", "--periods"], ",".join(DECADES),
        *f"--permutations {SMALL.permutations} --dim {SMALL.dim} --out {tmp_path / 'b'}".split(),
        *f"--min-count {SMALL.min_count} --words w1,gone".split(),
    ).stdout.splitlines()[1:]  # fmt: skip
    done = command("change", str(tmp_path / "run"), "--by", "year")
    assert "is a finished run, which has its settings" in done.stderr


def test_sure_changes_come_first_by_what_exceeds_chance():
    n = np.zeros((4, 1))
    table = ChangeTable(
        ["a", "b"], ["the", "rail", "few", "no"], np.array([0.05, 0.4, 0.9, 0.3]), n, n, n,
        p=np.array([1e-4, 1e-3, 0.2, 0.1]), q=np.array([4e-4, 2e-3, 0.2, 0.1]),
        chance=np.array([0.01, 0.1, 0.8, 0.2]),
    )  # fmt: skip
    assert [table.words[row] for row in table.ordered()] == ["rail", "the", "no", "few"]


def test_names_of_periods_have_no_spaces_in_a_run(small):
    found = word_changes(small, config=SMALL, by="year", periods=["1890-1901", "1904-1925"])
    periods = dataclasses.replace(found.periods, names=["short story", "long novel"])
    words = dataclasses.replace(found, periods=periods).word_vectors().vocabulary
    assert {word.split("@")[1] for word in words} == {"short_story", "long_novel"}


def test_two_corpora_are_compared_and_need_common_words(small, tmp_path):
    (tmp_path / "a.txt").write_text("\n".join(["b c d e f g h i j"] * 20))
    other = build_corpus(tmp_path / "a.txt", tmp_path / "other", read=ReadOptions(documents="line"))
    with pytest.raises(SettingError, match="no word occurs 6 times in each of "):
        word_changes(small, other, SMALL)
    (tmp_path / "a.txt").write_text("\n".join(["w1 w2 w3 w4 w5 w6"] * 20))
    other = build_corpus(tmp_path / "a.txt", tmp_path / "next", read=ReadOptions(documents="line"))
    found = word_changes(small, other, SMALL)
    assert sorted(found.table.words) == [f"w{n}" for n in range(1, 7)]
    assert found.table.p is not None
    lines = found.describe(["w1"], lines=1)[0].lines
    assert [len(each) for each in lines] == [1, 1]


@pytest.mark.parametrize(
    ("config", "options", "message"),
    [
        ({}, {}, "pass two corpora, or one with `by` and `periods`"),
        ({"dim": 99}, {}, "`dim=99` is larger than the vocabulary"),
        ({"min_count": 4000}, {}, f"4000 times in each of {', '.join(DECADES)}; pass `min_count=2"),
        ({"route": "procrustes", "permutations": 9}, {}, "`permutations` is of `route=svd-joint`"),
        ({}, {"other": True}, "`by` and `periods` divide one corpus"),
    ],
    ids=["no-periods", "dim", "min_count", "permutations", "both"],
)
def test_settings_that_do_not_fit_are_refused(small, config, options, message):
    by = {} if "pass two" in message else {"by": "year", "periods": DECADES}
    with pytest.raises(FirthError, match=message):
        settings = ChangeConfig(**{"dim": 8, **config})
        word_changes(small, small if options else None, settings, **by)


@pytest.mark.slow
def test_a_path_is_drawn_to_a_file(small, tmp_path):
    found = word_changes(small, config=SMALL, by="year", periods=DECADES)
    draw_path(found, "w3", tmp_path / "path.svg", k=3)
    text = (tmp_path / "path.svg").read_text()
    assert all(f"w3 {period}" in text for period in DECADES)


def test_the_command_prints_tables_json_and_csv(small, tmp_path):
    line = ["change", small.path, "--by", "year", "--periods", ",".join(DECADES)]
    line += ["--dim", 8, "--permutations", 5, "--min-count", 6]
    made = ["--out", tmp_path / "run", "--report", tmp_path / "page.html"]
    shown = output(*line, "--words", "solo,w1", "--lines", 1, *made)
    rows = [row.split() for row in shown.splitlines() if row.split()[:1] == ["1902-1913"]]
    assert [row[1] for row in rows] == ["12", "23"]
    assert max(map(len, shown.splitlines())) <= 120
    assert "<bdi>solo</bdi>" in (tmp_path / "page.html").read_text()
    assert "1 document" in shown
    cited = re.search(r"^solo 1890-1901: .* \((\d+)\)$", shown, re.MULTILINE)
    assert 1890 <= int(cited[1]) <= 1901
    refused = command(*line, "--lines", 1, "--cite", "year,author")
    assert "keeps no field 'author'" in refused.stderr
    assert "22 words compared; 0 are rarer in a period" in shown
    assert (tmp_path / "run" / "change.tsv").is_file()
    assert json.loads((tmp_path / "run" / "config.json").read_text())["by"] == "year"
    publish_run(tmp_path / "run", tmp_path / "shared")
    assert output("change", tmp_path / "shared", "--words", "solo").count("1902-1913") == 1
    assert str(small.path) not in (tmp_path / "shared" / "provenance.json").read_text()
    refused = command(*line, "--csv", "--lines", 1)
    assert "--csv has no room for --lines; use --json" in refused.stderr
    found = json.loads(output(*line, "--top", 3, "--json"))
    assert (found["by"], found["other"]) == ("year", None)
    assert (found["periods"], len(found["words"])) == (DECADES, 3)
    rows = list(csv.DictReader(io.StringIO(output(*line, "--top", 0, "--csv"))))
    assert len(rows) == 22
    assert [row["word"] for row in rows[:3]] == [word["word"] for word in found["words"]]


@pytest.fixture(scope="module")
def genres(tmp_path_factory):
    """Return letters and sermons, of which the later period has other shares, and two others.

    The company of "hand" is of the genre; of "road" it changes from one period to the next.
    """
    rng = np.random.default_rng(5)
    company = {"letter": [f"a{n}" for n in range(12)], "sermon": [f"b{n}" for n in range(12)]}
    lines = []
    for number in range(160):
        period = "early" if number < 80 else "late"
        genre = "letter" if rng.random() < (0.2 if period == "early" else 0.8) else "sermon"
        text = []
        for _ in range(4):
            text += [*rng.choice(company[genre], 8).tolist(), "hand"]
            text += rng.choice(company[genre], 8).tolist()
            text += [*rng.choice([f"{period}{n}" for n in range(12)], 8).tolist(), "road"]
            text += rng.choice([f"{period}{n}" for n in range(12)], 8).tolist()
        lines.append({"text": " ".join(text), "period": period, "genre": genre})
    lines += [{"text": "hand road " * 8, "period": "late", "genre": g} for g in ("poem", " ")]
    return build(tmp_path_factory.mktemp("genres"), lines, "period", "genre")


def test_chance_within_genres_has_their_shares(genres, capsys):
    settings = ChangeConfig(dim=8, permutations=100, min_count=20)
    periods: Any = {"by": "period", "periods": ["early", "late"]}
    plain = word_changes(genres, config=settings, **periods)
    within = word_changes(genres, config=settings, **periods, within="genre")
    strata = "letter (16, 64); sermon (64, 16)"
    assert capsys.readouterr().err.splitlines()[-3:] == [
        "1 of 162 documents in the periods have no genre and are left out",
        "left out, since only one period has this genre (documents in early, late): poem (0, 1)",
        f"chance is measured within genre (documents in early, late): {strata}",
    ]
    p = [dict(zip(each.table.words, each.table.p, strict=True)) for each in (plain, within)]
    assert p[0]["hand"] < 0.05 < p[1]["hand"]
    assert p[0]["road"] < 0.05 > p[1]["road"]
    assert within.periods.within == ("genre",)


def test_what_is_printed_says_within_what_chance_is(genres, tmp_path):
    page = tmp_path / "page.html"
    line = ["change", genres.path, "--by", "period", "--periods", "early,late", "--dim", 8]
    shown = output(*line, "--permutations", 9, "--within", "genre", "--report", page)
    assert shown.endswith("; p is within genre\n")
    assert "q ≤ 0.05 within <bdi>genre</bdi>)" in page.read_text(encoding="utf-8")
    assert "keeps no field ''" in command(*line, "--within", "").stderr


def test_fields_within_which_nothing_can_be_dealt_out_are_refused(genres):
    periods: Any = {"by": "period", "periods": ["early", "late"]}
    with pytest.raises(SettingError) as refused:
        word_changes(genres, **periods, within=["period"])
    assert str(refused.value) == (
        "`within=period`: early shares no period with another period; pass other fields, or longer "
        "periods"
    )
    with pytest.raises(SettingError, match="`within` deals out the documents of one corpus"):
        word_changes(genres, config=ChangeConfig(route="procrustes"), **periods, within=["genre"])
