"""The page of how words change: contents, escaping, refusals."""

import json

import numpy as np
import pytest

from firth import ReadOptions, build_corpus
from firth.corpora.common.errors import ArtifactError
from firth.embed.change.config import ChangeConfig
from firth.embed.change.report import write_change_report
from firth.embed.change.words import word_changes

ODD = "<script>a()</script>&"


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """Return the changes of random words between three years, one of an odd name."""
    folder = tmp_path_factory.mktemp("report")
    rng = np.random.default_rng(3)
    lines = [
        {"text": " ".join(rng.choice([f"w{n}" for n in range(9)], 40).tolist()), "year": year}
        for year in ("1900", "1901", ODD)
        for _ in range(10)
    ]
    (folder / "in.jsonl").write_text("\n".join(map(json.dumps, lines)))
    corpus = build_corpus(folder / "in.jsonl", folder / "c", read=ReadOptions(keep=("year",)))
    config = ChangeConfig(dim=4, permutations=9, threads=1)
    return word_changes(corpus, config=config, by="year", periods=["1900", "1901", ODD])


def test_the_page_has_numbers_neighbors_and_sentences(found, tmp_path):
    shown = found.describe(["w3", "w5"], k=3, lines=2)
    page = write_change_report(found, shown, tmp_path / "page.html").read_text()
    assert ODD not in page
    assert "<title>How words change in c: 1900, 1901, &lt;script&gt;" in page
    assert "<h1>How words change in <bdi>c</bdi></h1>" in page
    assert "&lt;script&gt;a()&lt;/script&gt;&amp;" in page
    assert "9 words compared, with at least 10 tokens in every period" in page
    for word in shown:
        assert f'data-value="{word.distance}"' in page
        assert f'data-value="{word.p}"' in page
        assert all(f'data-value="{count}"' in page for count in word.counts)
        assert all(f'data-word="{near}"' in page for part in word.neighbors for near in part)
        assert page.count(f"<mark>{word.word}</mark>") == 6
    assert page.count("<cite><bdi>1900</bdi></cite>") == 4
    assert page.count('class="word"') == 2
    assert "Step to" in page
    write_change_report(found, shown, tmp_path / "again.html")
    assert (tmp_path / "again.html").read_text() == page


def test_a_page_without_p_says_why_and_replaces_no_file(found, tmp_path):
    config = ChangeConfig(route="procrustes", dim=4, threads=1)
    corpus = found.periods.corpora[0]
    aligned = word_changes(corpus, config=config, by="year", periods=["1900", "1901"])
    page = write_change_report(aligned, aligned.describe(top=3), tmp_path / "page.html")
    assert "There is no p: only route=svd-joint has it." in page.read_text()
    assert "procrustes: svd, 4 dimensions" in page.read_text()
    with pytest.raises(ArtifactError, match="already exists"):
        write_change_report(aligned, [], page)
    write_change_report(aligned, [], page, force=True)
    assert "<table" in page.read_text()
