"""The regression of words on fields, from a corpus to its answers."""

import csv
import json
import lzma

import numpy as np
import pytest

from firth.corpora.common.errors import ArtifactError, SettingError, UnknownWordError
from firth.corpora.encoding.pipeline import encode_corpus
from firth.corpora.encoding.request import BuildOptions, make_request
from firth.corpora.reading.text_blocks import ReadOptions
from firth.corpora.store.search import Search
from firth.corpora.text.segment import TextSettings
from firth.embed.regress.config import RegressConfig
from firth.embed.regress.occurrences import Surroundings, find_topic
from firth.embed.regress.regress import regress
from firth.embed.regress.report import write_regression_report
from firth.embed.regress.transform import Transform, TransformSettings, estimate, open_transform
from firth.embed.svd.train import SvdConfig, make_svd_run
from firth.embed.vectors.word_vectors import WordVectors
from tests.calls import output, refusal

FIELDS = ("party", "chamber", "year", "speaker", "left", "first", "slip", "few", "one")
SEA, SUN = [f"sea{n}" for n in range(30)], [f"sun{n}" for n in range(30)]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    """Speeches in which one party uses *law* mostly beside the sea, and another beside the sun."""
    rng = np.random.default_rng(5)
    folder = tmp_path_factory.mktemp("speeches")
    with open(folder / "speeches.jsonl", "w", encoding="utf-8") as file:
        for n in range(160):
            party = "AB"[n % 2] if n else "C"
            own = [*SUN * 3, *SEA] if party == "B" else [*SEA * 3, *SUN]
            lines = [[*rng.choice(own, 4), "law", *rng.choice(own, 4)]]
            lines += [[*rng.choice(near, 8), "."] for near in (SEA, SUN)]
            lines += [["tax", *rng.choice(SEA + SUN, 5)], ["rare", "word"]] if n % 20 == 3 else []
            about = {
                "party": party, "chamber": party.lower(), "year": str(1900 + n % 7),
                "speaker": f"s{n // 4}", "left": "" if n == 5 else "x" * (1 + n % 2),
                "first": "yes" if n else "no", "slip": str(n) if n else "o",
                "few": str(int(n % 20 == 3)), "one": str(int(n > 0)),
            }  # fmt: skip
            about["text"] = "\n".join(map(" ".join, lines))
            file.write(json.dumps(about) + "\n")
    request = make_request(
        [folder / "speeches.jsonl"],
        read=ReadOptions(keep=FIELDS),
        options=BuildOptions(held_out=0),
    )
    return encode_corpus(request, folder / "corpus")


@pytest.fixture(scope="module")
def run(corpus, tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "svd"
    make_svd_run(corpus, SvdConfig(dim=5, min_count=1, window=4, threads=1, device="cpu"), folder)
    return folder


def test_a_run_of_sets_has_the_usual_window(corpus, run, tmp_path):
    config = SvdConfig(dim=5, min_count=1, window="all", threads=1, device="cpu")
    of_sets = make_svd_run(corpus, config, tmp_path / "svd")
    windows = [regress(each, "law", "party", k=1, lines=0)[0].window for each in (run, of_sets)]
    assert windows == [4, 5]


def test_a_word_that_two_parties_use_differently(run):
    [found] = regress(run, "law", "party,year", words=["sea1", "sun1"], k=4, lines=1)
    rows = {each.name: each for each in found.coefficients}
    assert list(rows) == ["party=B", "party=C", "year"]
    assert rows["party=B"].p <= 0.01
    assert rows["party=B"].low > 0
    assert rows["year"].p > 0.05
    assert rows["year"].low < 0 < rows["year"].high
    assert rows["party=C"].p is rows["party=C"].debiased is None
    assert "1 of 5" in rows["party=C"].reason
    groups = {group.name: group for group in found.groups}
    assert all(near.word.startswith("sun") for near in groups["B"].nearest)
    assert all(near.low <= near.cosine < near.high for near in groups["A"].nearest)
    assert groups["C"].nearest[0].low is None
    assert groups["A"].lines[0].fields["party"] == "A"
    assert found.reference == ["party=A"]
    assert len(found.to_pandas()) == 3


def test_a_reference_of_one_document_says_nothing_of_other_levels(run):
    [found] = regress(run, "law", "first,year")
    [first, year] = found.coefficients
    assert (first.name, first.clusters, first.p) == ("first=yes", 1, None)
    assert year.p is not None


def test_a_number_with_two_values_is_as_two_levels(run):
    [found] = regress(run, "law", "few,one")
    [few, one] = found.coefficients
    assert (few.clusters, one.clusters) == (8, 1)
    assert few.p is not None
    assert one.p is None
    assert [(g.name, g.occurrences) for g in found.groups[:2]] == [("0", 152), ("1", 8)]


def test_ratios_of_cosines_with_two_groups(corpus, tmp_path):
    rng = np.random.default_rng(7)
    themes = np.repeat([[3.0, 1.0], [1.0, 3.0]], 30, axis=0) + rng.random((60, 2))
    lines = [f"{w} {a:.4f} {b:.4f}\n" for w, (a, b) in zip(SEA + SUN, themes, strict=True)]
    (tmp_path / "vectors.txt").write_text("".join(lines), encoding="utf-8")
    np.savetxt(tmp_path / "matrix.txt", 2 * np.eye(2))
    given = {"vectors": tmp_path / "vectors.txt", "transform": tmp_path / "matrix.txt"}
    [found] = regress(corpus.path, "law", "party,year", words=["sea1", "sun1"], **given)
    ratios = {each.word: each for each in found.ratios if each.field == "party"}
    assert ratios["sun1"].p <= 0.01
    assert 1 < ratios["sun1"].low < ratios["sun1"].ratio < ratios["sun1"].high
    assert ratios["sea1"].high < 1
    assert {each.group for each in found.ratios} == {"B", "1906"}  # none of a single document


def test_permutations_and_groups_are_drawn_by_the_seed(run):
    first, again, other = (
        regress(run, "law", "year", RegressConfig(seed=seed))[0].to_json() for seed in (1, 1, 2)
    )
    assert first == again != other


def test_words_around_occurrences_are_those_that_a_loop_finds(corpus):
    words = [*SEA[:20], "law", "tax"]  # others keep their places
    vectors = WordVectors(words, np.eye(len(words), dtype=np.float32))
    search = Search(corpus)
    hits = find_topic(search, "law,tax,sea1 *")
    near, offsets = Surroundings(search, vectors, 3).around(hits)
    assert len(hits) > 180
    for n, (start, stop) in enumerate(zip(hits.starts, hits.stops, strict=True)):
        sentence = search.sentences_of(np.array([start]))[0]
        ends = search.sentence_starts[sentence : sentence + 2]
        [text] = search.words(ends[:1], ends[1:])
        first, last = start - ends[0], stop - ends[0]
        before = [word for word in text[:first] if word != "."][-3:]
        after = [word for word in text[last:] if word != "."][:3]
        wanted = [words.index(word) for word in before + after if word in words]
        assert near[offsets[n] : offsets[n + 1]].tolist() == wanted


def test_overlapping_occurrences_of_a_topic_count_once(corpus):
    search = Search(corpus)
    assert len(find_topic(search, "law,la*,* law")) == len(find_topic(search, "* law"))


def test_a_matrix_maps_means_of_contexts_to_vectors(corpus):
    rng = np.random.default_rng(6)
    matrix = rng.normal(0, 1, (60, 3)).astype(np.float32)
    vectors = WordVectors(SEA + SUN, matrix)
    found = estimate(vectors, corpus, TransformSettings(4, "none", 1))
    search = Search(corpus)
    surroundings = Surroundings(search, vectors, 4)
    around = [surroundings.around(search.find(word)) for word in SEA + SUN]
    means = [surroundings.means(*each) for each in around]
    sizes = [np.diff(offsets) for _, offsets in around]
    of_words = [np.average(each, 0, weights=size) for each, size in zip(means, sizes, strict=True)]
    wanted = np.linalg.lstsq(np.array(of_words), matrix, rcond=None)[0].T
    np.testing.assert_allclose(found.matrix, wanted, rtol=2e-3, atol=2e-3)


def test_a_run_keeps_its_matrix_until_settings_change(run, corpus):
    vectors = WordVectors.open(run)
    settings = TransformSettings(4, "log", None)
    first = open_transform(vectors, corpus, settings)
    kept = run / "a_la_carte.json"
    about = json.loads(kept.read_text())
    about["cosine"] = 0.25
    kept.write_text(json.dumps(about))
    again = open_transform(vectors, corpus, settings)
    assert again.cosine == 0.25
    assert (again.matrix == first.matrix).all()
    assert open_transform(vectors, corpus, TransformSettings(3, "log", None)).cosine != 0.25
    kept.write_text("[]")
    assert isinstance(open_transform(vectors, corpus, settings), Transform)


def test_products_and_clusters(run):
    config = RegressConfig(cluster="speaker", permutations=19)
    [found] = regress(run, "law", "left*year", config, lines=0)
    assert [each.name for each in found.coefficients] == ["left=xx", "year", "left=xx x year"]
    assert (found.clusters, found.documents, found.cluster) == (40, 159, "speaker")


def test_products_that_tell_nothing_new_are_left_out(run):
    [found] = regress(run, "law", "party*year", RegressConfig(permutations=19), lines=0)
    names = [each.name for each in found.coefficients]
    assert names == ["party=B", "party=C", "year", "party=B x year"]  # C has one document


@pytest.mark.parametrize(
    ("topic", "by", "options", "wanted"),
    [
        ("law", "nothing", {}, "keeps no field 'nothing'"),
        ("law", "party", {"cluster": "nobody"}, "keeps no field 'nobody'"),
        ("law", " ,", {}, "' ,': expected kept fields"),
        ("law", "party*", {}, r"'party\*': expected kept fields"),
        ("", "party", {}, "'': expected a word or phrase"),
        ("law", "party,chamber", {}, "chamber=b is known from party=B"),
        ("rare", "year", {"cluster": "speaker"}, None),
        ("rare", "year,speaker", {}, "too few for"),
        ("tax", "party", {}, "party is 'B' in all documents"),
        ("law", "slip", {}, "slip is 'o' in a document, and a number or a date in most"),
    ],
)
def test_what_cannot_be_estimated_is_said(run, topic, by, options, wanted):
    if wanted is None:
        [found] = regress(run, topic, by, RegressConfig(**options))
        assert found.occurrences == 8
        return
    with pytest.raises(SettingError, match=wanted):
        regress(run, topic, by, RegressConfig(**options))


def test_unknown_words_and_matrices_are_refused(run, corpus, tmp_path):
    with pytest.raises(UnknownWordError, match="does not contain 'zebra'"):
        regress(run, "zebra", "party")
    with pytest.raises(UnknownWordError, match="no vector for 'zebra'"):
        regress(run, "law", "party", words=["sea1", "zebra"])
    with pytest.raises(SettingError, match="is a corpus"):
        regress(corpus.path, "law", "party")
    np.savetxt(tmp_path / "small.txt", np.eye(2))
    with pytest.raises(ArtifactError, match="2 x 2, not one of 5 x 5"):
        regress(run, "law", "party", transform=tmp_path / "small.txt")
    (tmp_path / "words.txt").write_text("a b\n")
    with pytest.raises(ArtifactError, match="no matrix of numbers"):
        regress(run, "law", "party", transform=tmp_path / "words.txt")


def test_the_command_prints_tables_json_and_a_page(run, tmp_path):
    shown = output("regress", run, "law", "--by", "party,year", "--words", "sun1")
    assert "party=B" in shown
    assert "levels are compared with party=A" in shown
    page = tmp_path / "law.html"
    told = output("regress", run, "law", "--by", "party", "--report", page, "--json")
    assert json.loads(told)[0]["topic"] == "law"
    text = page.read_text(encoding="utf-8")
    assert "<title>law by party</title>" in text
    assert "party=B" in text
    message = refusal("regress", run, "law", "--by", "party", "--report", page)
    assert "exists" in message
    assert "--force" in message
    found = regress(run, "law", "party")
    assert write_regression_report(found, tmp_path / "again.html").read_text() != ""


def test_the_printed_figures_of_another_program(shared_data, tmp_path):
    """Those of conText's guide, from its vectors, matrix and texts."""
    folder = shared_data / "regression" / "congress"
    files = {}
    for name in ("cr_glove_subset", "cr_transform"):
        files[name] = tmp_path / f"{name}.txt"
        files[name].write_bytes(lzma.decompress((folder / f"{name}.txt.xz").read_bytes()))
    with (
        lzma.open(folder / "cr_sample_corpus.tsv.xz", "rt", encoding="utf-8") as lines,
        open(tmp_path / "texts.jsonl", "w", encoding="utf-8") as file,
    ):
        for row in csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE):
            row["text"] = " ".join(word for word in row["text"].split() if len(word) > 2)
            file.write(json.dumps(row) + "\n")
    request = make_request(
        [tmp_path / "texts.jsonl"],
        text=TextSettings(segmenter="whitespace"),
        read=ReadOptions(keep=("party", "gender")),
    )
    place = encode_corpus(request, tmp_path / "corpus").path
    given = {"vectors": files["cr_glove_subset"], "transform": files["cr_transform"]}
    config = RegressConfig(window=6, cluster="occurrence")
    [found] = regress(place, "immigration", "party,gender", config, **given)
    assert found.occurrences == 924
    assert [each.squared for each in found.coefficients] == pytest.approx(
        [10.139940, 6.908761], rel=2e-6
    )
    assert [each.debiased for each in found.coefficients] == pytest.approx(
        [8.668252, 5.154713], rel=2e-6
    )
    [found] = regress(place, "immigr*", "party", config, words=["reform", "enforcement"], **given)
    cosines = [near.cosine for group in found.groups for near in group.words]
    assert cosines == pytest.approx([0.5949757, 0.6059709, 0.4270958, 0.5968879], abs=4e-6)
    ratios = {each.word: each.ratio for each in found.ratios}
    assert ratios["illegal"] == pytest.approx(1.1834716, abs=4e-6)
    assert ratios["immigrants"] == pytest.approx(1.0070933, abs=4e-6)
