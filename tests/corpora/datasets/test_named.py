"""Named corpora: found in an installed package, downloaded or generated."""

from pathlib import Path

import pytest

from firth.corpora.datasets import named, synthetic
from firth.corpora.datasets.download import Download
from firth.corpora.datasets.named import NAMED_CORPORA, named_files, synthetic_gold
from firth.corpora.datasets.synthetic import SyntheticConfig, documents
from firth.corpora.reading.text_blocks import ReadOptions


def test_samples_are_those_of_gensim():
    paths, options = named_files("lee"), NAMED_CORPORA["lee"]
    assert [path.name for path in paths] == ["lee_background.cor", "lee.cor"]
    text = "".join(path.read_text(encoding=options["encoding"]) for path in paths)
    assert text.count("\n") == 348  # neither file ends its last line
    assert "his £3,000 satelite" in text
    [dump] = named_files("wiki-sample")
    assert dump.suffix == ".bz2"


def test_synthetic_text_is_generated_once(fresh_cache, capsys, monkeypatch):
    config = SyntheticConfig(n_tokens=2_000, seed=3)
    monkeypatch.setattr(synthetic, "SyntheticConfig", lambda: config)
    [path] = named_files("synthetic")
    made = path.stat()

    assert path.read_text() == "".join(document + "\n" for document in documents(config))
    assert named_files("synthetic") == [path]
    assert path.stat().st_mtime_ns == made.st_mtime_ns
    assert fresh_cache in path.parents
    folder = synthetic_gold()[0].parent
    assert f"synthetic: gold evaluation sets are in {folder}\n" in capsys.readouterr().err


def test_text8_is_checked_against_its_published_checksum(fresh_cache, monkeypatch):
    asked: list[tuple[Download, Path]] = []

    def fetch(wanted: Download, folder: Path) -> Path:
        asked.append((wanted, folder))
        return folder / wanted.name

    monkeypatch.setattr(named, "fetch", fetch)

    assert named_files("text8") == [fresh_cache / "samples" / "text8"]
    assert asked[0][0].checksum == "md5:3bea1919949baf155f99411df5fada7e"
    assert asked[0][0].url == "http://mattmahoney.net/dc/text8.zip"


@pytest.mark.parametrize("name", NAMED_CORPORA)
def test_readers_accept_the_options_of_every_named_corpus(name):
    ReadOptions(**NAMED_CORPORA[name])
