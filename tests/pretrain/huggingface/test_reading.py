"""Hugging Face folders read as our encoders: equal logits, and reasons why others are refused."""

import numpy as np
import pytest
import torch

from firth.corpora.artifacts.artifact import read_json, write_json
from firth.corpora.common.errors import FirthError
from firth.corpora.tokenizer.pieces import MASK, SPECIAL
from firth.pretrain.config import MlmConfig
from firth.pretrain.data.batches import Rows
from firth.pretrain.huggingface.export import write_huggingface
from firth.pretrain.model.encoder import MaskedLanguageModel
from firth.pretrain.model.weights import load_model
from firth.pretrain.training.origin import continued, open_origin
from tests.pretrain.small_run import random_run

transformers = pytest.importorskip("transformers")

PRE = {"dim": 32, "feed_forward_dim": 128}
POST = {"norm": "post", "positions": "learned", "feed_forward": "gelu", "feed_forward_dim": 128}
EXPORTED = {
    "pre": PRE,
    "pre, causal": PRE | {"causal": True},
    "pre, span": PRE | {"attention_span": 3},
    "pre, span, global": PRE | {"attention_span": 4, "global_every": 2},
    "pre, span, global, causal": PRE | {"attention_span": 4, "global_every": 2, "causal": True},
    "pre, bilinear": PRE | {"attention_score": "bilinear"},
    "post": POST,
    "post, causal": POST | {"causal": True},
    "post, sinusoidal": POST | {"positions": "sinusoidal"},
}


def opened(folder):
    """The encoder of a folder, as a training begins with it, and its pieces."""
    origin = open_origin(str(folder))
    config = continued(MlmConfig(continue_=str(folder)))
    model = MaskedLanguageModel(config.shape(n_pieces=len(origin.pieces)))
    model.load_state_dict(origin.weights())
    return model.eval(), origin


def logits(model, ids):
    """Scores of all pieces in one row."""
    with torch.no_grad():
        return model.logits(model(Rows.whole(ids)))


@pytest.mark.parametrize("shape", EXPORTED.values(), ids=EXPORTED)
def test_an_exported_run_is_read_back(shape, tmp_path):
    run = random_run(tmp_path / "run", **shape)
    write_huggingface(run, tmp_path / "folder")
    model, origin = opened(tmp_path / "folder")
    expected = load_model(run)
    ids = torch.arange(MASK, MASK + 20)[None]
    assert (logits(model, ids) - logits(expected, ids)).abs().max() < 1e-4
    assert origin.settings["sequence_length"] == expected.config.max_length
    run_text = open_origin(str(run))
    assert (origin.text, origin.pieces.names) == (run_text.text, run_text.pieces.names)


@pytest.fixture
def stock(tmp_path):
    """A stock BERT, whose special pieces are not the first and whose texts have kinds."""
    words = ["[PAD]", "the", "cat", "##s", "[UNK]", "[CLS]", "[SEP]", "sat", "[MASK]", "a", "##t"]
    tokenizer = transformers.BertTokenizerFast(
        vocab={word: number for number, word in enumerate(words)}
    )
    config = transformers.BertConfig(
        vocab_size=16, hidden_size=32, num_hidden_layers=2, num_attention_heads=2,
        intermediate_size=128, max_position_embeddings=24,
    )  # fmt: skip
    torch.manual_seed(3)
    model = transformers.BertForMaskedLM(config).eval()
    with torch.no_grad():
        for weight in model.parameters():
            weight += 0.1 * torch.randn(weight.shape)
    model.save_pretrained(tmp_path / "stock")
    tokenizer.save_pretrained(tmp_path / "stock")
    return tmp_path / "stock", model, words


def test_a_stock_bert_has_its_special_pieces_moved(stock):
    folder, bert, words = stock
    model, origin = opened(folder)
    names = origin.pieces.names
    assert names == (*SPECIAL, "the", "cat", "##s", "sat", "a", "##t")
    assert origin.text.strip_accents
    assert not origin.text.keep_case
    numbers = [words.index(name) for name in names]
    ids = torch.tensor([[2, 5, 6, 7, 8, 3]])
    with torch.no_grad():
        expected = bert(torch.tensor(numbers)[ids]).logits[..., numbers]
    np.testing.assert_allclose(logits(model, ids), expected, atol=1e-4)


REFUSED = {
    "activation": ({"hidden_act": "relu"}, "its hidden_act is relu, not gelu"),
    "width": ({"intermediate_size": 64}, "its intermediate_size is 64, not 128"),
    "output": ({"tie_word_embeddings": False}, "its tie_word_embeddings is False, not True"),
    "kind": ({"model_type": "roberta"}, "a model of type roberta is no BERT or ModernBERT"),
}


@pytest.mark.parametrize(("changes", "reason"), REFUSED.values(), ids=REFUSED)
def test_other_models_are_refused_with_the_reason(stock, changes, reason):
    folder = stock[0]
    write_json(folder / "config.json", read_json(folder / "config.json") | changes)
    with pytest.raises(FirthError) as refused:
        continued(MlmConfig(continue_=str(folder)))
    assert str(refused.value) == f"{folder}: training cannot go on from it: {reason}"


def test_other_pieces_are_refused(stock):
    folder = stock[0]
    tokenizer = read_json(folder / "tokenizer.json")
    tokenizer["model"] = {"type": "BPE", "vocab": {"a": 0}, "merges": []}
    write_json(folder / "tokenizer.json", tokenizer)
    with pytest.raises(FirthError, match=r"tokenizer\.json has no pieces of WordPiece with \[PAD"):
        continued(MlmConfig(continue_=str(folder)))


def test_pieces_without_a_row_are_refused(stock):
    folder = stock[0]
    tokenizer = read_json(folder / "tokenizer.json")
    tokenizer["model"]["vocab"]["dog"] = 16
    write_json(folder / "tokenizer.json", tokenizer)
    with pytest.raises(FirthError, match=r"has pieces beyond the 16 of the model"):
        opened(folder)


def test_a_folder_of_damaged_weights_is_refused(stock):
    folder = stock[0]
    (folder / "model.safetensors").write_bytes(b"damaged")
    with pytest.raises(FirthError, match=r"transformers .* cannot open it"):
        opened(folder)
