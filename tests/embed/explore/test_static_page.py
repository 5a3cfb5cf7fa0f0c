"""The page as one file: its size, its policy, and data that come back."""

import base64
import hashlib
import html
import json
import re
import zlib

import numpy as np
import pytest

from firth.corpora.common.errors import SettingError
from firth.embed.explore import static_page
from firth.embed.explore.space import Space
from firth.embed.explore.static_page import explore
from firth.embed.vectors.neighbors import nearest
from firth.embed.vectors.word_vectors import WordVectors
from tests.calls import output, refusal

LETTERS = np.array(list("abcdefghijklmnopqrstuvwxyz"))


def save_run(folder, n_words, dim=6):
    """Write vectors of random words and return their folder."""
    rng = np.random.default_rng(1)
    lengths = rng.integers(4, 13, 2 * n_words)
    letters, ends = "".join(rng.choice(LETTERS, lengths.sum())), lengths.cumsum()
    words = {letters[end - n : end]: 0 for n, end in zip(lengths, ends, strict=True)}
    folder.mkdir()
    counts = np.sort(rng.zipf(1.5, n_words).clip(max=10**6))[::-1]
    matrix = rng.normal(size=(n_words, dim)).astype(np.float32)
    WordVectors(list(words)[:n_words], matrix, counts=counts).write(folder)
    return folder


def data_in(page):
    """Read the data as the page's script does."""
    [found] = re.findall(r'<script type="text/plain" id="firth-data">([^<]*)</script>', page)
    return json.loads(zlib.decompress(base64.b64decode(found), wbits=-15))


@pytest.mark.slow
def test_the_data_of_runs_come_back(tmp_path):
    runs = [save_run(tmp_path / "a", 60), tmp_path / "b"]
    words = list(WordVectors.open(runs[0]).vocabulary)
    runs[1].mkdir()
    other = np.random.default_rng(2).normal(size=(60, 4)).astype(np.float32)
    WordVectors(words, other).write(runs[1])
    out = tmp_path / "page.html"
    asked = ["explore", *runs, "--html", out]
    output(*asked)
    data = data_in(out.read_text())
    assert [run["name"] for run in data["runs"]] == ["a", "b"]
    for run, path in zip(data["runs"], runs, strict=True):
        space, vectors = Space(path, 100), WordVectors.open(path)
        assert run["words"] == space.words
        assert run["counts"] == (None if space.counts is None else space.counts.tolist())
        places = np.frombuffer(base64.b64decode(run["map"]), "<i2").reshape(-1, 2) / 10_000
        assert np.allclose(places, space.map().clip(-3, 3), atol=1e-4)
        rows = np.frombuffer(base64.b64decode(run["neighbors"]), "<u2").reshape(-1, run["k"])
        assert run["row_bytes"] == 2
        steps = np.array([ord(each) - ord("0") for each in run["cosines"]]).reshape(rows.shape)
        cosines = 1 - steps.cumsum(axis=1) / 100
        for word, near, shown in zip(run["words"], rows.tolist(), cosines, strict=True):
            [expected] = nearest(vectors, word, 10)
            assert [run["words"][row] for row in near] == [each.word for each in expected]
            assert np.allclose(shown, [each.score for each in expected], atol=0.0051)
        clusters = [ord(each) - ord("0") for each in run["clusters"]]
        assert clusters == space.clusters(static_page.CLUSTERS)
    assert {each["word"] for each in data["differ"]} == set(words)
    assert "already exists" in refusal(*asked)


def test_a_cell_of_a_notebook_holds_the_page_escaped(tmp_path):
    run = save_run(tmp_path / "a", 60)
    cell = explore(WordVectors.open(run), words=40, height=300)
    [page] = re.findall('^<iframe [^<>]*srcdoc="([^"]*)" ', cell._repr_html_())
    assert html.unescape(page) == cell.html
    assert data_in(cell.html)["runs"][0]["words"] == Space(run, 40).words
    assert "height: 300px" in cell._repr_html_()
    assert repr(cell) == "<ExplorerCell: 0.1 MB of HTML, shown by notebooks>"
    with pytest.raises(SettingError, match="`words` must be at least 1, got 0"):
        explore(run, words=0)
    with pytest.raises(SettingError, match="`runs` must be at least 1, got 0"):
        explore()
    with pytest.raises(SettingError, match="in memory"):
        explore(WordVectors(["a"], np.ones((1, 2), np.float32)))


def test_the_policy_allows_the_script_and_style_of_the_page_alone(tmp_path, monkeypatch):
    texts = {
        "index.html": '<head><link rel="stylesheet" href="page.css"></head>'
        '<body><script src="data.js" defer></script><script src="map.js"></script>'
        '<script src="page.js"></script></body>',
        "page.css": "p { color: red }",
        "data.js": "const c = 1;",
        "map.js": "const b = c;",
        "page.js": r"const a = '\1 \g<0>';",
    }
    monkeypatch.setattr(static_page, "page_file", lambda name: texts[name].encode())
    hostile = {"words": ["</script><script>alert(1)</script>", "<!--"]}
    page = static_page.page_with(hostile)
    assert data_in(page) == hostile
    [policy] = re.findall(r'Content-Security-Policy" content="([^"]*)"', page)
    assert "unsafe" not in policy
    assert "connect" not in policy
    script = "\n".join(texts[name] for name in ("data.js", "map.js", "page.js"))
    for tag, expected in (("script", script), ("style", texts["page.css"])):
        [inside] = re.findall(f"<{tag}>(.*?)</{tag}>", page, re.DOTALL)
        assert inside == expected
        digest = base64.b64encode(hashlib.sha256(inside.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy
    assert ".js" not in page
    assert "page.css" not in page
    assert page.index("firth-data") < page.index("const c")


def test_the_file_of_the_real_page_has_every_part_inside_and_asks_for_nothing(tmp_path):
    save_run(tmp_path / "a", 40)
    static_page.write_page([Space(tmp_path / "a", 30)], tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert len(data_in(page)["runs"][0]["words"]) == 30
    assert data_in(page)["differ"] is None
    assert page.count("Content-Security-Policy") == 1
    assert static_page.page_file("page.js").decode() in page
    markup = re.sub(r"<script.*?</script>|<style.*?</style>", "", page, flags=re.DOTALL)
    assert not re.search(r"<link(?!.*data:,)|<script|\bsrc=|\bstyle=|\bon\w+=", markup)


@pytest.mark.slow
def test_50000_words_take_less_than_2_and_a_half_mb(tmp_path, monkeypatch):
    rng = np.random.default_rng(3)

    def neighbors(space, k):  # as random as any; all pairs of 50,000 would take a minute
        shape = len(space.words), k
        cosines = rng.normal(0.8, 0.1, (shape[0], 1)) - rng.exponential(0.02, shape).cumsum(axis=1)
        return rng.integers(0, shape[0], shape), cosines

    monkeypatch.setattr(Space, "nearest_rows", neighbors)
    space = Space(save_run(tmp_path / "a", 50_000, dim=3), 50_000)
    static_page.write_page([space], tmp_path / "page.html")
    assert (tmp_path / "page.html").stat().st_size <= 2.5e6
