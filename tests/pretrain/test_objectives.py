"""An objective's own settings: keys of its value, with types, ranges and defaults."""

import re

import pytest

from firth.corpora.common.errors import SettingError
from firth.corpora.common.options import setting
from firth.pretrain import objectives
from firth.pretrain.config import MlmConfig
from firth.pretrain.data.objectives.masked import MaskedPieces
from firth.pretrain.objectives import OBJECTIVES, ObjectiveKind, objective_help, parse_objective


@pytest.fixture
def span(monkeypatch):
    """An objective with two keys."""
    keys = {
        "share": setting(0.15, "of the pieces", above=0, below=1),
        "span": setting(3, "pieces of a run", at_least=1),
    }
    kind = ObjectiveKind(OBJECTIVES["masked"].path, "runs", keys=keys)
    monkeypatch.setitem(objectives.OBJECTIVES, "span", kind)
    return kind


def test_keys_have_their_types_and_defaults(span):
    assert parse_objective("span") == (span, {"share": 0.15, "span": 3})
    assert MlmConfig(objective="span:span=5").objective_keys == {"share": 0.15, "span": 5}
    assert MlmConfig(objective="span:span=5, share=.5").objective_keys == {"share": 0.5, "span": 5}
    assert "; span: runs, share=0.15 of the pieces, span=3 pieces of a run." in objective_help()
    assert span.load() is MaskedPieces


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("spans", "`objective=spans`: choose from masked, causal"),
        ("span:", "`objective=span:`: got '' after span and a colon, expected one each of"),
        ("span:span", "'span' after span and a colon, expected one each of share=FLOAT, span=INT"),
        ("span:span=1.5", "'span=1.5' after span and a colon, expected one each of share=FLOAT"),
        ("span:size=3", "'size=3' after span and a colon, expected one each of share=FLOAT"),
        ("span:span=2,span=3", "got 'span=3' after span and a colon, expected one each of"),
        ("span:share=1", "`objective=span:share=1`: share must be below 1, got 1.0"),
        ("span:share=nan", "share must be above 0, got nan"),
    ],
)
def test_wrong_names_keys_and_values_are_refused(span, text, words):
    with pytest.raises(SettingError, match=re.escape(words)):
        MlmConfig(objective=text)
