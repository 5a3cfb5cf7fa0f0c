"""The report page: contents, escaping, accessibility, and positions in drawings."""

import base64
import hashlib
import json
import re
import struct
import zlib
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

import firth.embed.compare.report.html.page
from firth.corpora.common.errors import ArtifactError
from firth.embed.compare.report.contents import (
    ReportParts,
    RunFacts,
    choose_words,
    find_neighbors,
    make_maps,
    read_facts,
)
from firth.embed.compare.report.document import group_results, rows_of
from firth.embed.compare.report.explanations import meaning
from firth.embed.compare.report.html.attention import png_of
from firth.embed.compare.report.html.filters import FILTERS
from firth.embed.compare.report.html.page import make_page, write_report
from firth.embed.compare.report.html.run_settings import flattened
from firth.embed.compare.report.html.scale import scale_of
from firth.embed.compare.report.html.words import rotated
from firth.embed.contextual.in_context import ContextAnswer
from firth.embed.query.word_map import WordMap
from firth.embed.resampling.intervals import neighbor_intervals
from firth.embed.vectors.neighbors import Neighbor, nearest
from firth.embed.vectors.word_vectors import WordVectors
from tests.embed.compare.refusals import message_of
from tests.embed.compare.report.report_pages import (
    all_parts,
    pair,
    plain_document,
    result,
    small_document,
)
from tests.embed.themed_run import RARE, themed_run

HOSTILE = "</script></style><script>alert(1)</script><img src=x onerror='a()'>\"&\x00\x1b[31m\u202e"


class Reader(HTMLParser):
    """What a page is made of: elements with their attributes, and the text in each."""

    def __init__(self, page):
        super().__init__()
        self.elements, self.texts, self.open = [], [], []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in ("meta", "img", "input"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append((self.open[-1] if self.open else "", data))

    def all(self, name):
        return [attrs for tag, attrs in self.elements if tag == name]

    def text_of(self, *names):
        return [text for tag, text in self.texts if tag in names]


@pytest.fixture(scope="module")
def page():
    return make_page(small_document(), all_parts())


@pytest.fixture(scope="module")
def read(page):
    return Reader(page)


def rows_with(page, name):
    """The rows of tables whose heading is a run, as text without tags."""
    rows = re.findall(r"<tr[^>]*>.*?</tr>", page, re.DOTALL)
    of_run = '<th scope="row"><span class="run">'
    return [
        text_in(row) for row in rows if re.search(f"{of_run}(?:(?!</th>).)*<bdi>{name}</bdi>", row)
    ]


def text_in(part):
    """The text of a part of a page."""
    return " ".join(re.sub(r"<[^>]+>", " ", part).split())


def page_of_rows(rows, pairs=()):
    """A page of these results alone."""
    return make_page(plain_document(rows, pairs), ReportParts())


def on_one_line(page):
    """A page, or a part of it, so that cells and rows can be found with what is in them."""
    return page.replace("\n", "")


def test_names_cannot_add_an_element_or_an_attribute():
    def shape(name):
        page = make_page(small_document(name, f"{name}2", name), all_parts(name, f"{name}2", name))
        return [(tag, list(attrs)) for tag, attrs in Reader(page).elements]

    assert shape(HOSTILE) == shape("king")


def test_control_characters_never_reach_the_page():
    page = make_page(small_document(HOSTILE), all_parts(HOSTILE, word=HOSTILE + "\ud800"))
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f\ud800-\udfff]", page)
    page.encode("utf-8")


def test_the_page_loads_nothing_external(read):
    targets = [
        value
        for _, attrs in read.elements
        for name, value in attrs.items()
        if name in ("href", "src", "action", "data", "poster", "srcset", "style")
    ]
    assert {"#", "d"} == {target[0] for target in targets}
    assert all(target.startswith(("#", "data:image/png;base64,")) for target in targets)
    assert "url(" not in "".join(read.text_of("style"))
    assert "@import" not in "".join(read.text_of("style"))


def test_links_point_into_the_page_and_ids_are_unique(read):
    names = [attrs["id"] for _, attrs in read.elements if "id" in attrs]
    assert len(names) == len(set(names))
    named = [attrs["href"][1:] for attrs in read.all("a")]
    named += [attrs["for"] for attrs in read.all("label")]
    named += [attrs["aria-labelledby"] for attrs in read.all("section")]
    assert len(named) == 12 + 1 + 1 + 12  # contents, skip link, search box, sections
    assert set(named) <= set(names)


def test_the_content_policy_allows_only_its_own_script_and_style(read):
    [policy] = [m["content"] for m in read.all("meta") if m.get("http-equiv")]
    for kind in ("script", "style"):
        [text] = read.text_of(kind)
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}'" in policy
    assert policy.startswith("default-src 'none';")


def test_the_same_input_gives_the_same_bytes_read_from_json_or_not(tmp_path):
    document = small_document()
    for number, each in enumerate((document, json.loads(json.dumps(document)))):
        write_report(each, all_parts(), tmp_path / f"{number}.html")
    assert (tmp_path / "0.html").read_bytes() == (tmp_path / "1.html").read_bytes()


def test_a_report_replaces_a_file_only_with_force(tmp_path):
    out = tmp_path / "report.html"
    write_report(small_document(), ReportParts(), out)
    assert (
        message_of(ArtifactError, write_report, small_document(), ReportParts(), out)
        == f"{out}: already exists; choose another OUT or pass `force=True`"
    )
    write_report(small_document(), all_parts(), out, force=True)
    assert out.read_text(encoding="utf-8") == make_page(small_document(), all_parts())
    assert list(tmp_path.iterdir()) == [out]


def test_the_page_is_in_english_with_one_title_and_headings_in_order(read):
    assert read.all("html") == [{"lang": "en"}]
    headings = [tag for tag, _ in read.elements if re.fullmatch(r"h[1-6]", tag)]
    assert headings == ["h1"] + ["h2"] * 12
    # the result, then the words, then the scores
    assert read.text_of("h2")[:3] == [
        "Text, methods, result", "Neighbors of words", "Maps of words",
    ]  # fmt: skip


def test_the_page_begins_with_the_text_the_methods_and_the_result():
    document = small_document()
    for run in document["runs"][:2]:
        run["dim"] = 228
        run["text"] = {"sources": ["a.txt", "<b>"], "n_sources": 9, "tokens": 9_876, "documents": 1}
    document["summary"] = ["No significant difference between svd and sg.", "More."]
    page = make_page(document, all_parts())
    first = page[page.index('id="summary"') : page.index('id="neighbors"')]
    shown = text_in(first)

    assert "<title>Comparison on a.txt and 8 more: svd, sg</title>" in page
    assert "<h1>Comparison of word vectors of <bdi>a.txt and 8 more</bdi></h1>" in page
    assert "a.txt, &lt;b&gt; and 7 more , 9,876 tokens in 1 document to learn from" in shown
    assert "svd SVD of co-occurrence counts, 228 dimensions" in shown
    assert "sg skip-gram, 228 dimensions" in shown
    assert all(f"<dd>{sentence}</dd>" in first for sentence in document["summary"])
    assert "out/svd: ws353 is broken" in shown  # what failed

    for run in document["runs"][:2]:
        del run["text"]["sources"]  # as in published runs
    page = make_page(document, all_parts())
    assert "<h1>Comparison of word vectors</h1>" in page
    assert "9 sources , 9,876 tokens" in text_in(page)


def test_metrics_are_explained_where_they_stand():
    page = make_page(small_document(), all_parts())
    spearman = meaning("similarity", "spearman")
    assert f'<td class="what" title="{spearman}">spearman</td>' in page
    scores = page[page.index('id="scores"') : page.index('id="bands"')]
    assert f"<b>spearman</b>: {spearman}." in scores


def test_words_that_no_run_has_are_listed():
    parts = replace(all_parts(), unknown=("zzz", "<q>"))
    assert "In no run: <bdi>zzz</bdi>, <bdi>&lt;q&gt;</bdi>." in on_one_line(
        make_page(small_document(), parts)
    )


def test_missing_contents_have_no_section():
    document = small_document()
    bare = {name: document[name] for name in ("runs", "results", "pairs")}
    bare["results"] = [r for r in bare["results"] if "section" not in r]
    headings = Reader(make_page(bare, ReportParts())).text_of("h2")
    assert headings[:3] == ["Text, methods, result", "Scores", "Pairwise differences"]
    assert headings[3:] == ["What was compared", "How to read this page"]


def test_tables_have_captions_and_pictures_have_text(read):
    assert len(read.all("caption")) == len(read.all("table")) > 10
    assert all(attrs.get("scope") in ("row", "col") for attrs in read.all("th"))
    pictures = read.all("svg")
    assert all(p.get("aria-hidden") == "true" or p["aria-label"] for p in pictures)
    assert all(attrs["alt"] for attrs in read.all("img"))


def test_best_and_statistically_tied_runs_are_marked():
    rows = [result(run, score) for run, score in (("a", 0.5), ("b", 0.4), ("c", 0.3), ("d", 0.2))]
    rows.append(result("e", None, reason="all cosines are equal"))
    pairs = [pair("a", "b", 0.1, 0.051), pair("c", "a", -0.2, 0.05), pair("a", "d", 0.3, None)]
    [group] = group_results(plain_document(rows, pairs))

    assert group.ranking == {"a": "best", "b": "equal", "c": "worse", "d": "untested"}
    assert group.worse == ["c", "d"]
    page = page_of_rows(rows, pairs)
    shown = [rows_with(page, name)[0] for name in "abcde"]
    marks = ["0.500 best", "0.400 = best", "0.300", "0.200 no test", "undefined all cosines are"]
    for row, mark, other in zip(shown, marks, "abcde", strict=True):
        assert row.startswith(f"ws353 similarity spearman {other} {mark} ")


def test_unranked_metrics_have_no_best_run():
    more = {"ranked": False, "metric": "effect_size"}
    rows = [result("a", 1.5, 1.2, 1.8, p=0.012, **more), result("b", 0.1, 0.0, 0.2, p=0.4, **more)]
    pairs = [pair("a", "b", 1.4, 0.001, metric="effect_size")]
    document = plain_document(rows, pairs)
    [group] = group_results(document)
    assert (group.ranking, group.worse) == ({}, [])
    page = make_page(document, ReportParts())
    assert 'class="mark' not in page
    assert "not ranked: a higher score is not better" in page
    assert rows_with(page, "a")[0].split("a 1.500 ")[1].startswith("1.200 to 1.800; p = 0.012")


def test_runs_that_differ_only_in_the_seed_are_one_row():
    runs = [{"run": name, "method": "sg", "fingerprint": "1"} for name in ("x/sg1", "x/sg2")]
    runs.append({"run": "x/sg*", "method": "sg", "fingerprint": None, "seeds": ["x/sg1", "x/sg2"]})
    rows = [result("x/sg1", 0.4), result("x/sg2", 0.6)]
    rows.append(result("x/sg*", 0.5, 0.4, 0.6, seeds=2, deviation=0.125))
    document = {"runs": runs, "results": rows, "pairs": [pair("x/sg1", "x/sg2", -0.2, 0.01)]}

    assert rows_of(document) == ["x/sg*"]
    [group] = group_results(document)
    assert (list(group.results), dict(group.pairs)) == (["x/sg*"], {})
    page = make_page(document, ReportParts())
    assert "2 trainings that differ only in the seed are averaged in 1 row" in page
    assert "0.500<small> ± 0.125</small>" in page


def test_sets_with_the_same_name_are_numbered():
    rows = [result("a", 0.5), result("a", 0.1), result("a", 0.2, section="family")]
    groups = group_results(plain_document(rows))
    assert [(p.number, p.section) for p in groups] == [(0, None), (1, None), (0, "family")]
    page = page_of_rows(rows)
    assert all(f"<bdi>{name}</bdi>" in page for name in ("ws353", "ws353 (2)", "ws353: family"))


def test_difference_matrices_are_antisymmetric(page):
    matrix = page[page.index('id="differences"') : page.index('id="intrinsic"')]
    assert rows_with(matrix, "svd") == [
        "svd – +0.050 −0.050 to 0.150 p = 0.400 +0.520 0.420 to 0.620 p = 0.001"
    ]
    assert rows_with(matrix, "random") == [
        "random −0.520 −0.620 to −0.420 p = 0.001 −0.470 −0.570 to −0.370 p = 0.030 –"
    ]
    assert matrix.count('class="ahead"') == matrix.count('class="behind"') == 2


def test_bands_and_sections_have_named_difference_matrices():
    places = [{}, {"section": "top 1,000"}, {"section": "family"}]
    rows = [result(run, 0.5, **more) for more in places for run in "ab"]
    pairs = [pair("a", "b", 0.1 * n, 0.2, **more) for n, more in enumerate(places, 1)]
    page = page_of_rows(rows, pairs)

    captions = re.findall(r"<caption><span>(.*?)</span></caption>", page)
    named = [
        re.sub("<[^>]+>", "", each).split(": row minus")[0] for each in captions if "Holm" in each
    ]
    assert named == ["ws353, spearman", "ws353, top 1,000, spearman", "ws353: family, spearman"]
    matrix = page[page.index('id="differences"') : page.index('id="compared"')]
    shown = [re.findall(r'class="figure">([^<]*)<', row) for row in matrix.split("<table")[1:]]
    assert shown == [["+0.100", "−0.100"], ["+0.200", "−0.200"], ["+0.300", "−0.300"]]
    parts = [matrix.index(text) for text in ("ws353</bdi>, spearman", "By frequency", "top 1,000")]
    assert parts == sorted(parts)
    assert matrix.index("By section") < matrix.index("family")
    assert matrix.count("<details open") == 1


def test_scores_on_all_covered_items_are_shown_beside_shared_ones():
    own = {"shared_items": False, "items_used": 45}
    rows = [result("a", 0.5, 0.4, 0.6), result("b", 0.25), result("a", 0.375) | own]
    rows.append(result("b", None, reason="odd") | own)
    page = page_of_rows(rows)

    assert rows_with(page, "a")[0].endswith(" 0.400 to 0.600 40 0.375 45 of 50")
    assert rows_with(page, "b")[0].endswith(" 40 undefined 45 of 50")


def test_few_items_and_the_chance_level_are_told_beside_the_number():
    more = {"items_used": 29, "section": "top 1,000", "few": "items"}
    rows = [result("a", 0.75, 0.7, 0.8, chance=0.25), result("b", 0.25, few="units")]
    page = page_of_rows([*rows, result("a", 0.5, **more)])

    assert "few" not in rows_with(page, "a")[0]
    assert "0.250 few units" in rows_with(page, "b")[0]
    assert "0.500 n = 29, few items" in text_in(page)
    assert "chance 0.250" in rows_with(page, "a")[0]
    assert page.count('1V15" class="dotted"') == 1
    assert "chance 0" not in page_of_rows([rows[1]])


def test_notes_are_shown_once_below_the_scores():
    more = {"remark": "learnt <in> 3 s"}
    rows = [result(run, 0.5, **more, **place) for place in ({}, {"section": "x"}) for run in "ab"]
    page = page_of_rows([*rows, result("c", 0.1)])

    assert page.count("learnt &lt;in&gt; 3 s") == 1
    [notes] = re.findall(r'<ul class="notes">(.*?)</ul>', on_one_line(page))
    assert text_in(notes) == "a b on ws353 : learnt &lt;in&gt; 3 s"


def test_in_context_neighbors_are_shown_beside_static_ones():
    near = {word: [Neighbor(word, 0.5)] for word in ("first", "second", "static")}
    text = "a [saw] and [saw]"
    parts = ReportParts(
        contexts={
            "out/sg": [
                ContextAnswer(text, "saw", near["first"]),
                "[nothing] b has none",
                ContextAnswer(text, "saw", near["second"]),
            ],
            "out/svd": ["has <no> layers"],
        },
        neighbors={"saw": {"out/svd": near["static"], "out/sg": near["first"]}},
    )
    page = make_page(small_document(), parts)
    section = page[page.index('id="contexts"') : page.index('id="scores"')]

    assert "has &lt;no&gt; layers" in section
    assert "[nothing] b has none" in section
    heads = re.findall(r'<th scope="col">(.*?)</th>', section)
    assert [" ".join(re.sub("<(?!/?mark)[^>]+>", " ", head).split()) for head in heads] == [
        "Rank",
        "sg a <mark>saw</mark> and saw",
        "sg a saw and <mark>saw</mark>",
        "svd in any sentence",
        "sg in any sentence",
    ]
    assert re.findall(r'data-word="(\w+)"', section) == ["first", "second", "static", "first"]


def test_a_sentence_without_attention_is_listed_with_its_reason():
    parts = all_parts()
    [shown] = parts.attention["out/sg"]
    lines = {"out/sg": ["'b': is <long>", shown], "out/svd": ["no encoder"]}

    page = make_page(small_document(), replace(parts, attention=lines))

    section = page[page.index('id="attention"') :]
    assert section.index("is &lt;long&gt;") < section.index("read by") < section.index("no encoder")


def test_intervals_are_drawn_at_their_numbers():
    rows = [result("a", 0.75), result("b", 0.5, 0.25, 1.0, deviation=0.125)]  # a scale from 0 to 1
    pairs = [pair("a", "b", 0.25, 0.01)]
    drawn = page_of_rows(rows, pairs)
    # 190 wide, less 5 at each side: 0.25 is at 5 + 180 / 4
    assert 'd="M50.0 8H185.0" class="bar"' in drawn
    assert 'd="M72.5 8H117.5" class="spread"' in drawn
    assert 'cx="95.0" cy="8" r="3.5" class="ring"' in drawn
    words = "0.500, 95 % interval 0.250 to 1.000, deviation over seeds 0.125"
    assert f'aria-label="{words}"' in drawn


@pytest.mark.parametrize(
    ("ends", "scale"),
    [
        ((0.1, 0.5), (0.0, 0.5)),
        ((-0.01, 0.3), (-0.1, 0.3)),
        ((0.0, 0.0), (0.0, 0.1)),
        ((0.2, 1.95), (0.0, 2.0)),
        ((12.0, 47.0), (0.0, 47.0)),
        ((-130.0, 10.0), (-130.0, 10.0)),
    ],
)
def test_scales_contain_zero_and_have_round_ends(ends, scale):
    found = scale_of([{"score": ends[0], "low": ends[0], "high": ends[1]}])
    assert (found.low, found.high) == pytest.approx(scale)


def test_filters_format_numbers():
    decimal, p_value = FILTERS["decimal"], FILTERS["p_value"]
    assert (decimal(-0.25), decimal(-0.0004), decimal(3, 1)) == ("−0.250", "0.000", "3.0")
    assert (decimal(0.25, 2, signed=True), decimal(-0.5, signed=True)) == ("+0.25", "−0.500")
    assert [p_value(p) for p in (None, 0.0004, 0.0316)] == ["no test", "p < 0.001", "p = 0.032"]


def vectors(words, seed=1, zero=()):
    """Random vectors, of some words zero."""
    matrix = np.random.default_rng(seed).normal(size=(len(words), 5)).astype(np.float32)
    matrix[[words.index(word) for word in zero]] = 0.0
    return WordVectors(words, matrix, text={"segmenter": "words"})


def letters(number):
    """A word without digits."""
    return "w" + "".join(chr(ord("a") + int(digit)) for digit in f"{number:03}")


WORDS = [letters(number) for number in range(400)]


def test_chosen_words_are_from_sets_and_shared_words_without_the_most_frequent():
    runs = [vectors(WORDS), vectors([*WORDS[::-1][:300], "other"], 2)]
    # 400 words, the first of one run the last of the other: those in the middle come first in both
    sets = [[letters(205), letters(110), "nowhere"], [letters(380).upper(), letters(290)]]
    chosen = choose_words(runs, sets, 6)
    assert set(chosen[:3]) == {letters(110), letters(380), letters(290)}
    assert len(set(chosen)) == 6
    assert letters(205) not in chosen
    assert choose_words(runs[::-1], sets, 6) == chosen


def test_zero_vectors_short_words_and_digits_are_not_chosen_unless_all_words_are_few():
    words = [*WORDS[:150], "xy", "a1b", "zero", "東", "fine"]
    assert choose_words([vectors(words, zero=["zero"])], [], 9) == ["東", "fine"]
    assert choose_words([vectors(["a", "b", "c"])], [], 2) == ["a", "c"]
    assert choose_words([vectors(["a"]), vectors(["b"])], [["a"]], 2) == []


def test_neighbors_match_nearest_and_a_damaged_run_has_none(capsys):
    runs = {"a": vectors(WORDS), "b": vectors(WORDS[:50], 2, zero=[WORDS[7]])}
    runs["broken"] = vectors(WORDS)
    runs["broken"].matrix[60, 1] = np.nan
    found = find_neighbors(runs, [WORDS[7], WORDS[60], WORDS[3]], 4)
    assert [list(of_runs) for of_runs in found.values()] == [["a"], ["a"], ["a", "b"]]
    assert found[WORDS[3]]["b"] == nearest(runs["b"], [WORDS[3]], 4)[0]
    assert "broken: vectors: row 60 holds NaN or infinity" in capsys.readouterr().err


def test_words_asked_for_have_intervals_where_a_run_has_them(tmp_path):
    run = WordVectors.open(themed_run(tmp_path))
    runs = {"out/svd": run, "out/sg": vectors(["sea1", "sea2", "sea9"])}
    found = find_neighbors(runs, ["sea1", "sea9", RARE], resampled=["sea1", RARE])
    assert found["sea9"]["out/svd"] == nearest(run, ["sea9"], 10)[0]
    assert found["sea1"]["out/sg"] == nearest(runs["out/sg"], ["sea1"], 10)[0]
    expected, _ = neighbor_intervals(run, ["sea1", RARE])
    assert found["sea1"]["out/svd"] == expected.neighbors
    page = make_page(small_document(), ReportParts(neighbors=found))
    section = page[page.index('id="neighbors"') :].split("</section>")[0]
    drawn = re.findall(r'<svg class="interval c0".*?</svg>', section, re.DOTALL)
    assert len(drawn) == 10
    for near, svg in zip(expected.neighbors, drawn, strict=True):
        words = f"{near.score:.3f}, 95 % interval {near.low:.3f} to {near.high:.3f}"
        assert words.replace("-", "−") in svg
        assert ('class="dot"' in svg) == near.stable
    assert "are 95 % intervals" in section
    plain = make_page(small_document(), ReportParts(neighbors=find_neighbors(runs, ["sea1"])))
    assert "are 95 % intervals" not in plain


def test_maps_hold_words_of_all_runs_or_a_reason():
    runs = {"a": vectors(WORDS), "b": vectors(WORDS[:4], 2)}
    maps = make_maps(runs, dict.fromkeys(WORDS[1:9]))
    assert [found.words for found in maps.values()] == [tuple(WORDS[1:4])] * 2
    assert make_maps(runs, dict.fromkeys(WORDS[3:9])) == dict.fromkeys(
        runs, "a map needs at least 3 words, got 1; pass more"
    )


def test_rotated_undoes_rotation_and_reflection():
    places = np.random.default_rng(3).normal(size=(6, 2))
    first = WordMap(tuple("abcdef"), (None,) * 6, places, (0.5, 0.3))
    angle = np.array([[0.6, -0.8], [0.8, 0.6]]) @ np.diag([1.0, -1.0])
    moved = WordMap(first.words, first.groups, places @ angle, (0.4, 0.2))
    assert np.allclose(rotated(moved, first).places, places)
    other = WordMap(tuple("abcdeg"), first.groups, places @ angle, (0.4, 0.2))
    assert rotated(other, first) is other


def test_settings_without_a_value_in_any_run_are_left_out():
    facts = {
        run: RunFacts({"method": run, "memory": None, "threads": threads}, {})
        for run, threads in (("out/svd", None), ("out/sg", 2))
    }
    page = make_page(small_document(), ReportParts(facts=facts))
    settings = on_one_line(page[page.index('id="settings"') :])
    assert "memory" not in settings
    assert "<td>–</td><td><bdi>2</bdi></td>" in settings
    assert "null" not in settings[: settings.index('id="reading"')]


@pytest.mark.parametrize("objective", ["masked", "causal"])
def test_a_causal_language_model_is_called_so(objective):
    facts = {"out/svd": RunFacts({"method": "mlm", "objective": objective}, {})}
    page = make_page(small_document(), ReportParts(facts=facts))
    assert ("causal language model" in page) == (objective == "causal")


def test_settings_that_differ_are_marked(page):
    table = on_one_line(page[page.index("Settings (config.json)") :])
    marked = re.findall(r'<th scope="row">([\w.]+)<span class="mark">differs', table)
    assert marked == ["method"]
    assert '<th scope="row">text.case</th><td>–</td><td><bdi>true</bdi></td>' in table
    assert flattened({"format": 1, "command": ["a b", "c"], "x": {"format": [1, None]}}) == {
        "command": "'a b' c",
        "x.format": "[1, null]",
    }


def test_facts_are_read_from_runs_only(tmp_path):
    run = tmp_path / "run"
    run.mkdir()
    (run / "config.json").write_text('{"method": "svd", "dim": 3}')
    (tmp_path / "v.vec").write_text("1 1\na 1\n")
    facts = read_facts({"run": run, "file": tmp_path / "v.vec"})
    assert {name: (f.config, f.provenance) for name, f in facts.items()} == {
        "run": ({"method": "svd", "dim": 3, "text": None}, {})
    }


def test_attention_png_opacity_is_the_weight():
    png = png_of(np.array([[0.0, 0.2], [0.5, 0.4], [0.1, 0.25]]))
    assert png[:8] == b"\x89PNG\r\n\x1a\n"
    assert struct.unpack(">II", png[16:24]) == (2, 3)
    start = png.index(b"IDAT")
    [length] = struct.unpack(">I", png[start - 4 : start])
    lines = np.frombuffer(zlib.decompress(png[start + 4 : start + 4 + length]), np.uint8)
    pixels = lines.reshape(3, 9)[:, 1:].reshape(3, 2, 4)
    assert pixels[:, :, 3].tolist() == [[0, 102], [255, 204], [51, 128]]
    assert len({tuple(color) for color in pixels[:, :, :3].reshape(-1, 3).tolist()}) == 1


def test_attention_has_a_table(page):
    table = on_one_line(page[page.index("The most attended piece of each piece, mean") :])
    # means of both heads: king 0.7 on itself, [SEP] 0.625 on itself
    assert "<bdi>king</bdi></th><td><bdi>king</bdi><small> 0.70</small></td>" in table
    assert "<bdi>[SEP]</bdi></th><td><bdi>[SEP]</bdi><small> 0.62</small></td>" in table


def luminance(color):
    """WCAG 2.1, relative luminance of #rgb or #rrggbb."""
    digits = color[1:] if len(color) == 7 else "".join(2 * digit for digit in color[1:])
    parts = [int(digits[place : place + 2], 16) / 255 for place in (0, 2, 4)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return float(np.dot((0.2126, 0.7152, 0.0722), linear))


def contrast(a, b):
    """WCAG 2.1, from 1 to 21."""
    low, high = sorted((luminance(a), luminance(b)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("scheme", [0, 1, 2], ids=["light", "dark", "print"])
def test_colors_have_the_contrast_that_wcag_requires(scheme):
    css = Path(firth.embed.compare.report.html.page.__file__).with_name("page.css").read_text()
    named = re.findall(r":root \{(.*?)\}", css, re.DOTALL)
    colors = dict(re.findall(r"--(\w+): (#\w+)", named[0]))
    colors |= dict(re.findall(r"--(\w+): (#\w+)", named[scheme]))
    for ink in ("ink", "soft"):
        for paper in ("paper", "head", "good", "bad", "mark"):
            assert contrast(colors[ink], colors[paper]) >= 4.5, (ink, paper)
    assert contrast(colors["link"], colors["paper"]) >= 4.5
    for color in ("none", *(f"c{number}" for number in range(6))):
        assert contrast(colors[color], colors["paper"]) >= 3, color
