"""The table of methods."""

import pytest

from firth.corpora.common.errors import SettingError
from firth.embed.registry import METHODS, find_method
from tests.run_python import run_python
from tests.source import ROOT


@pytest.mark.parametrize("name", METHODS)
def test_every_method_resolves_to_a_config_and_a_function(name):
    method = find_method(name)
    assert method.config_class()() == method.config_class()()
    assert callable(method.train_function())


@pytest.mark.process
def test_importing_the_registry_imports_no_method():
    code = "import firth.embed.registry, sys; sys.exit('numpy' in sys.modules)"
    assert run_python("-c", code, cwd=ROOT).returncode == 0


def test_an_unknown_method_is_refused():
    with pytest.raises(SettingError) as caught:
        find_method("glove")
    assert str(caught.value).startswith("method: glove: unknown; choose one of svd")
