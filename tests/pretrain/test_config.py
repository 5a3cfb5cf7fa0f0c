"""Settings and the encoder shape that follows from them: sizes, defaults, JSON, refusals."""

import dataclasses
import re

import pytest

from firth.corpora.common.errors import SettingError
from firth.pretrain.config import PRESETS, MlmConfig, parse_preset
from firth.pretrain.shape import EncoderConfig

KEY_VALUE = {"mixer": "attention:key-value"}
SPAN = {"preset": "2/16/2", "attention": "4:2"}
UNUSED = "no layer has attention with `mixer="


def shape_of(**options):
    """The shape that settings describe, for 60 pieces."""
    return MlmConfig(**options).shape(n_pieces=60)


def test_feed_forward_and_positions_follow_the_norm():
    modern, bert = shape_of(preset="3/16/2"), shape_of(preset="3/16/2", norm="post")
    assert (modern.positions, modern.feed_forward) == ("rotary", "geglu")
    assert (bert.positions, bert.feed_forward, bert.feed_forward_dim) == ("learned", "gelu", 64)
    assert PRESETS["base"].heads == 12


def test_sizes_as_numbers_have_the_rates_of_the_preset_that_is_no_wider():
    assert parse_preset("4/512/8") == PRESETS["small"]
    sizes = {"layers": 1, "dim": 16, "heads": 2}
    assert parse_preset("1/16/2") == dataclasses.replace(PRESETS["tiny"], **sizes)


def test_a_resolved_config_can_be_made_again():
    for mixer in ("attention", "lstm", "conv,conformer,mean,gru"):
        resolved = MlmConfig(mixer=mixer).resolved()
        assert dataclasses.replace(resolved) == resolved
    assert MlmConfig(mixer="lstm").resolved().positions == "none"
    assert MlmConfig(mixer="linear").resolved().positions == "rotary"
    assert MlmConfig(mixer="mean", positions="learned").resolved().positions == "learned"
    assert MlmConfig(mixer="mean,mean,mean,conformer").resolved().positions == "rotary"


@pytest.mark.parametrize(
    "options",
    [{}, {"attention": "3:2"}, {"attention": "tree:2"}, {"objective": "causal"}, {"mixer": "conv"}],
    ids=str,
)
def test_a_shape_survives_json(options):
    shape = shape_of(**options)
    assert EncoderConfig.from_json(shape.to_json()) == shape
    assert shape.causal == ("objective" in options)


def test_a_run_without_mixers_attends_in_every_layer():
    described = shape_of(preset="2/16/2").to_json()
    del described["mixers"]
    assert EncoderConfig.from_json(described).mixers == ("attention", "attention")


def test_heads_along_edges_are_some_or_all():
    assert shape_of(attention="tree:2").tree_heads == 2
    assert shape_of(attention="tree").tree_heads == 4


@pytest.mark.parametrize(
    ("options", "words"),
    [
        *(
            ({"preset": preset}, "pass one of tiny, micro")
            for preset in ("huge", "1/16", "1/16/0", "a/b/c", "")
        ),
        ({"preset": "3/16/3"}, "a `preset` of width 16 is not divisible by 3 heads"),
        ({"preset": "3/6/2"}, "`positions=rotary` needs keys of an even dimension"),
        ({"attention": "24", "sequence_length": 24},
         "an attention span of 24 must be below the row length of 24"),
        ({"steps": 3, "minutes": 1.0}, "`steps` and `minutes` are both budgets"),
        ({"pieces": "many"}, "`pieces=many`: expected auto or a number up to 1,000,000"),
        ({"pieces": "9" * 5000}, "9`: expected auto or a number up to 1,000,000"),
        *(
            ({"mask_rate": rate}, f"`mask_rate={rate}`: pass a share from 0.001 to below 1")
            for rate in ("0.3:1.5", "0.15:", "1e-12", "nan")
        ),
        ({"objective": "causal", "masking": "word"},
         "`masking=word`: nothing is masked with `objective=causal`; leave it out"),
        ({"objective": "mask"}, "`objective=mask`: choose from masked, causal, mixed"),
        ({"objective": "masked:"}, "got '' after masked and a colon, expected nothing"),
        ({"objective": "causal:span=3"}, "got 'span=3' after causal and a colon, expected nothing"),
        ({"objective": "causal", "mask_rate": "0.2"}, "`mask_rate=0.2`: nothing is masked with"),
        # scores and positions
        ({**KEY_VALUE, "preset": "4/12/4", "positions": "none"}, "halves each head, and a width"),
        ({**KEY_VALUE, "preset": "4/12/2"}, "2 heads of a width of 12 have 3; pass another number"),
        ({"mixer": "attention:additive", "positions": "relative"}, "pass `positions=rotary`"),
        ({**KEY_VALUE, "positions": "relative"}, "pass `positions=rotary`"),
        # mixers
        (
            {"mixer": "lstm,rnn"},
            "`mixer=rnn`: choose from attention, lstm, gru, elman, conv, conformer",
        ),
        ({"mixer": ","}, "`mixer=,`: has 0 names for 4 layers"),
        ({"mixer": "lstm,gru,conv"}, "`mixer=lstm,gru,conv`: has 3 names for 4 layers"),
        ({"mixer": "gru", "preset": "4/33/3"}, "needs an even width, not 33"),
        ({"mixer": "attention:odd"}, "`mixer=attention:odd`: pass a score after attention"),
        ({"mixer": "conv:4"}, "a width of 4: a filter has as many slots on each"),
        ({"mixer": "attention:7"}, "`mixer=attention:7`: pass a score after attention"),
        ({"mixer": "lstm:dot"}, "`mixer=lstm:dot`: pass a score after attention"),
        ({"preset": "2/8/2", "mixer": "attention,attention:dot"}, "must have the same score and"),
        ({"mixer": "attention,lstm", **SPAN}, "`attention=4:2`: no layer has it with"),
        ({"mixer": "lstm,attention", **SPAN}, "`attention=4:2`: no layer that it makes"),
        ({"mixer": "mean", "positions": "relative"}, f"`positions=relative`: {UNUSED}mean`"),
        ({"mixer": "lstm", "positions": "rotary"}, f"`positions=rotary`: {UNUSED}lstm`"),
        ({"mixer": "linear", "positions": "relative"}, f"`positions=relative`: {UNUSED}linear`"),
        ({"mixer": "linear", "attention": "3"}, f"`attention=3`: {UNUSED}linear`"),
        ({"mixer": "linear", "preset": "4/18/4"}, "width 18 is not divisible by 4 heads"),
        ({"mixer": "linear", "preset": "4/18/6"}, "6 heads of a width of 18 have 3; pass another"),
        ({"mixer": "lstm", "attention": "3"}, f"`attention=3`: {UNUSED}lstm`"),
        ({"mixer": "lstm", "attention": "tree:3"}, f"`attention=tree:3`: {UNUSED}lstm`"),
        # edges of trees
        ({"attention": "graph"}, "`attention=graph`: pass neighbors each side, N:K, tree or tree:"),
        ({"attention": "tree:0"}, "`attention=tree:0`: pass tree, or tree:N"),
        ({"attention": "tree:"}, "`attention=tree:`: pass tree, or tree:N"),
        ({"attention": "tree:5"}, "`attention=tree:5`: a layer has 4 heads; pass at most as many"),
        ({"attention": "tree", "mixer": "attention,conv,attention,attention"},
         "`attention=tree` needs attention in every layer, and layer 1 is `mixer=conv`"),
        ({"attention": "tree:2", "mixer": "conformer"}, "layer 0 is `mixer=conformer`"),
        ({"attention": "tree:4", "objective": "mixed"}, "`objective=causal` or mixed predicts, or"),
        ({"mixer": "lstm", "objective": "mixed"}, "`objective=mixed` needs attention in every"),
        ({"objective": "mixed:causal_share=1"}, "causal_share must be below 1, got 1.0"),
        ({"attention": "tree:4", "objective": "causal"}, ": edges also lead to words that"),
        ({"attention": "tree", "objective": "denoise"}, "or that are hidden from an encoder with"),
        ({"objective": "denoise", "masking": "word"}, "`masking=word`: nothing is masked with"),
        ({"objective": "denoise:share=0.95"}, "share must be at most 0.9, got 0.95"),
        ({"objective": "denoise", "mixer": "lstm", "preset": "2/130/4"},
          "a `preset` of width 130 is not divisible by 4 heads"),
    ],
)  # fmt: skip
def test_settings_that_do_not_fit_are_refused(options, words):
    with pytest.raises(SettingError, match=re.escape(words)):
        MlmConfig(**options)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"positions": "foo"}, "positions must be one of learned, sinusoidal, rotary, relative"),
        ({"norm": "x"}, "norm must be one of pre, post, got 'x'"),
        ({"n_pieces": -5}, "n_pieces must be at least 1, got -5"),
        ({"n_pieces": "5"}, "n_pieces must be of type int, got '5'"),
        ({"layers": 10**9}, "layers must be at most 1000, got 1000000000"),
        ({"attention_span": -1}, "attention_span must be at least 1, got -1"),
        ({"attention_span": 3, "global_every": 0}, "global_every must be at least 1, got 0"),
        ({"layers": 3, "mixers": ["attention"] * 2}, "3 layers but 2 mixers"),
        ({"layers": 1, "mixers": ["spell"]}, "unknown mixer 'spell'; choose from attention, lstm"),
        ({"dropout": 1.0}, "dropout must be below 1, got 1.0"),
        ({"attention_edges": 1}, "attention_edges must be of type str, got 1"),
        ({"causal": "yes"}, "causal must be of type bool, got 'yes'"),
    ],
)
def test_an_invalid_encoder_description_is_refused(change, words):
    described = shape_of().to_json()
    with pytest.raises(SettingError, match=re.escape(words)):
        EncoderConfig.from_json({**described, "mixers": [], **change})
