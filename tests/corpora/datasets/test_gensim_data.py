"""Files of gensim's test data: from the installed package, else downloaded and verified."""

import hashlib
import importlib.util
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from firth.corpora.common.errors import SourceError
from firth.corpora.datasets.gensim_data import _MAX_BYTES, _SHA256, gensim_file


@pytest.fixture
def installed() -> Path:
    """Return the folder of the installed files."""
    return Path(pytest.importorskip("gensim.test.utils").datapath("lee.cor")).parent


@pytest.fixture
def without_gensim(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)


@pytest.mark.parametrize("name", _SHA256)
def test_an_installed_file_is_the_one_that_would_be_downloaded(name, installed, fresh_cache):
    path = gensim_file(name)

    assert path == installed / name
    assert hashlib.sha256(path.read_bytes()).hexdigest() == _SHA256[name]
    assert path.stat().st_size <= _MAX_BYTES
    assert not fresh_cache.exists()


@pytest.mark.process
def test_gensim_is_not_imported_to_find_a_file(root):
    code = (
        "import sys; from firth.corpora.datasets.gensim_data import gensim_file; "
        "gensim_file('lee.cor'); print('gensim' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, check=True)

    assert done.stdout == b"False\n"


def test_without_gensim_a_file_is_downloaded_once(installed, without_gensim, fresh_cache):
    path = gensim_file("lee.cor", address=installed.as_uri())

    assert path == fresh_cache / "samples" / "lee.cor"
    assert path.read_bytes() == (installed / "lee.cor").read_bytes()
    assert gensim_file("lee.cor", address="nowhere:") == path


def test_an_installed_gensim_may_lack_the_file(installed, fresh_cache, monkeypatch, tmp_path):
    spec = SimpleNamespace(submodule_search_locations=[str(tmp_path)])
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: spec)
    assert fresh_cache in gensim_file("lee.cor", address=installed.as_uri()).parents


def test_a_changed_file_is_rejected(without_gensim, fresh_cache, tmp_path):
    (tmp_path / "lee.cor").write_text("other news\n")

    with pytest.raises(SourceError) as refused:
        gensim_file("lee.cor", address=tmp_path.as_uri())
    found = hashlib.sha256(b"other news\n").hexdigest()
    assert str(refused.value) == (
        f"{tmp_path.as_uri()}/lee.cor: lee.cor: the SHA256 is {found}, not {_SHA256['lee.cor']}; "
        "download discarded, try again"
    )
    assert not (fresh_cache / "samples" / "lee.cor").exists()
