"""Hugging Face folders as encoders: agreement with our encoder and stock code, and refusals."""

import json
import re
import socket
import sys
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from safetensors import safe_open

from firth.corpora.common.errors import ArtifactError, SettingError
from firth.corpora.text.segment import TextSettings
from firth.corpora.tokenizer.pieces import MASK, UNK
from firth.embed.compare.tasks.sentences.inputs import split_sentence
from firth.embed.compare.tasks.tagging.inputs import sentences_read
from firth.embed.contextual.encoded_text import EncodeConfig, encode_file
from firth.embed.contextual.encoders import open_encoder
from firth.embed.contextual.in_context import parse_context
from firth.embed.contextual.line_scores import score_lines
from firth.embed.protocols import (
    ContextualEncoder,
    InputEmbeddings,
    JoinableEncoder,
    SentenceScorer,
    WindowedEncoder,
)
from firth.pretrain.huggingface.encoder import open_folder
from firth.pretrain.huggingface.export import write_huggingface
from firth.pretrain.huggingface.loading import mask_piece
from firth.pretrain.inference.mlm_encoder import open_run
from firth.pretrain.inference.windows import PiecedText
from tests.embed.huggingface_folder import byte_level, roberta, unigram, wordpiece
from tests.pretrain.small_run import random_run

transformers = pytest.importorskip("transformers")

POST = {"norm": "post", "positions": "learned", "feed_forward": "gelu"}
LAYOUTS = {"pre": {}, "pre, span": {"attention_span": 3, "global_every": 2}, "post": POST}
SENTENCES = [
    ["the", "cat", "sat", "on", "the", "mat", "."],
    ["friend"],
    [],
    ["naïve", "xyz", "東", "unbelievably", "walking"] * 9,  # of several windows
    ["the", "cat", "sat", "on", "the", "mat"],
]


@pytest.fixture(autouse=True)
def _one_thread():
    torch.set_num_threads(1)


@pytest.fixture(scope="module", params=LAYOUTS)
def both(request, tmp_path_factory):
    """A run and what is exported of it, both opened."""
    torch.set_num_threads(1)
    folder = tmp_path_factory.mktemp("both")
    run = random_run(folder / "run", **LAYOUTS[request.param])
    write_huggingface(run, folder / "out")
    return open_run(run, "cpu"), open_folder(folder / "out", "cpu")


@pytest.mark.slow
def test_an_exported_run_gives_the_states_of_the_run_at_every_layer(both):
    ours, stock = both
    assert isinstance(stock, ContextualEncoder)
    assert isinstance(stock, InputEmbeddings)
    assert (stock.n_layers, stock.max_pieces) == (ours.n_layers, ours.max_pieces) == (3, 22)
    for layers in ([0], [1], [2], [3], [1, 3]):
        expected, found = ours.encode(SENTENCES, layers), stock.encode(SENTENCES, layers)
        assert [states.shape for states in found] == [(len(s), 32) for s in SENTENCES]
        for a, b in zip(expected, found, strict=True):
            np.testing.assert_allclose(b, a, atol=1e-5)
    assert isinstance(stock, WindowedEncoder)
    lengths = [len(ours.pieces.split(sentence)[0]) for sentence in SENTENCES]
    # of 22 pieces, each half over the one before
    counts = [-(-max(n - 22, 0) // 11) + (n > 0) for n in lengths]
    assert max(counts) > 2
    assert stock.n_windows(SENTENCES).tolist() == ours.n_windows(SENTENCES).tolist() == counts
    words = ["the", "xyz", "東", "unbelievably"]
    np.testing.assert_array_equal(stock.covers(words), ours.covers(words))
    np.testing.assert_array_equal(stock.input_embeddings(words), ours.input_embeddings(words))
    assert stock.words("The Cat, on") == ours.words("The Cat, on")
    assert stock.encode([], [0]) == []
    assert stock.static_layers() == ((1, 2, 3), "stated in config.json")  # the run's own default


@pytest.mark.slow
def test_an_exported_run_reads_masked_words_as_the_run_does(both):
    ours, stock = both
    tokens = np.arange(0, sum(map(len, SENTENCES)), 3)
    found = stock.encode_masked(SENTENCES, tokens, (1, 2))
    np.testing.assert_allclose(found, ours.encode_masked(SENTENCES, tokens, (1, 2)), atol=1e-5)
    assert isinstance(stock, JoinableEncoder)
    words = ["the", "unbelievably"]
    assert stock.n_pieces(words).tolist() == ours.n_pieces(words).tolist()
    np.testing.assert_array_equal(stock.static_embeddings(words), ours.input_embeddings(words))


@pytest.mark.slow
@pytest.mark.parametrize("within", [True, False])
def test_an_exported_run_scores_sentences_as_the_run_does(within, both):
    ours, stock = both
    assert isinstance(stock, SentenceScorer)

    stock.slots = 60
    found = stock.score(SENTENCES, left_to_right_in_words=within)
    stock.slots = None

    expected = ours.score(SENTENCES, left_to_right_in_words=within)
    np.testing.assert_allclose(found, expected, rtol=1e-5)
    assert (found[2], found.dtype) == (0.0, np.float64)
    assert stock.score([]).shape == (0,)


HEADS = {"num_hidden_layers": 2, "num_attention_heads": 2}
SIZES = {"hidden_size": 16, "intermediate_size": 24, **HEADS}


def save(folder, name, tokenizer, **sizes):
    """A model with random weights as transformers writes it, and the tokenizer's own file."""
    kind = getattr(transformers, name)
    kind(kind.config_class(**sizes)).save_pretrained(folder)
    tokenizer.save(str(folder / "tokenizer.json"))
    return folder


def save_of_pieces(folder, name, tokenizer, **sizes):
    """The same of a model with a vector for each piece of the tokenizer."""
    return save(folder, name, tokenizer, vocab_size=tokenizer.get_vocab_size(), **sizes)


def bert(folder):
    return save_of_pieces(
        folder, "BertForMaskedLM", wordpiece(), max_position_embeddings=12, **SIZES
    )


def gpt2(folder):
    sizes = {"n_embd": 16, "n_layer": 2, "n_head": 2, "n_positions": 32}
    return save_of_pieces(
        folder, "GPT2LMHeadModel", byte_level(), bos_token_id=0, eos_token_id=0, **sizes
    )


def roberta_model(folder):
    tokenizer = roberta()
    ends = {"bos_token_id": "<s>", "eos_token_id": "</s>"}
    special = {name: tokenizer.token_to_id(piece) for name, piece in ends.items()}
    return save_of_pieces(
        folder, "RobertaModel", tokenizer, max_position_embeddings=24, pad_token_id=0,
        **special, **SIZES,
    )  # fmt: skip


def t5(folder):
    sizes = {"d_model": 16, "d_kv": 8, "d_ff": 24, "num_layers": 2, "num_heads": 2}
    return save_of_pieces(folder, "T5ForConditionalGeneration", unigram(), **sizes)


def xlnet(folder):
    sizes = {"d_model": 16, "n_layer": 2, "n_head": 2, "d_inner": 24}
    return save_of_pieces(folder, "XLNetModel", unigram(), **sizes)


def opt(folder):
    sizes = {"hidden_size": 16, "ffn_dim": 24, "word_embed_proj_dim": 8, **HEADS}
    return save_of_pieces(folder, "OPTModel", byte_level(), max_position_embeddings=20, **sizes)


def funnel(folder):
    sizes = {"block_sizes": [1, 1], "d_model": 16, "n_head": 2, "d_head": 8, "d_inner": 24}
    return save_of_pieces(folder, "FunnelModel", wordpiece(), **sizes)


def canine(folder):
    sizes = {"max_position_embeddings": 64, "num_hash_buckets": 64, **SIZES}
    return save(folder, "CanineModel", wordpiece(), **sizes)


def sentence_encoder(folder):
    """A masked LM that sentence-transformers trained further: the list of its modules is there."""
    bert(folder)
    (folder / "modules.json").write_text("[]")
    return folder


def electra(folder):
    """A discriminator of replaced pieces, pretrained on text like a masked LM."""
    bert(folder)
    edit(folder / "config.json", architectures=["BertForPreTraining"])
    return folder


@pytest.mark.slow
@pytest.mark.parametrize(
    ("make", "layers", "reason"),
    [
        (bert, (0, 1), "the lower half of a masked language model"),
        (electra, (0, 1), "the lower half of a masked language model"),
        (sentence_encoder, (2,), "the last one of a sentence encoder"),
        (gpt2, (2,), "the last one, since GPT2LMHeadModel is not a masked LM"),
        (roberta_model, (2,), "the last one, since RobertaModel is not a masked LM"),
        (t5, (2,), "the last one, since T5ForConditionalGeneration is not a masked LM"),
    ],
    ids=lambda each: getattr(each, "__name__", None),
)
def test_static_layers_follow_from_what_a_model_was_trained_for(make, layers, reason, tmp_path):
    folder = make(tmp_path / "model")
    assert open_folder(folder, "cpu").static_layers() == (layers, reason)


@pytest.mark.parametrize("stated", [[2, 1], None, [], 3])
def test_layers_stated_in_the_config_come_first(stated, tmp_path):
    bert(tmp_path / "model")
    edit(tmp_path / "model" / "config.json", static_layers=stated)
    expected = (1, 2) if stated == [2, 1] else (0, 1)
    assert open_folder(tmp_path / "model", "cpu").static_layers()[0] == expected


MODELS = {"BERT": bert, "GPT-2": gpt2, "RoBERTa": roberta_model, "T5": t5}


@pytest.fixture
def folder(tmp_path, request):
    """A model with random weights, BERT unless a test asks for another."""
    torch.manual_seed(3)
    verbosity = transformers.utils.logging.get_verbosity()
    transformers.utils.logging.set_verbosity_error()
    yield getattr(request, "param", bert)(tmp_path / "model")
    transformers.utils.logging.set_verbosity(verbosity)


def no_start(folder):
    """GPT-2 without a piece that begins a text."""
    gpt2(folder)
    edit(folder / "config.json", bos_token_id=None)
    return folder


@pytest.mark.parametrize("folder", [bert, no_start, roberta_model], indirect=True)
def test_without_a_head_and_a_mask_or_a_start_there_are_no_scores(folder):
    # the first has a head, and a tokenizer without a mask
    assert not isinstance(open_folder(folder, "cpu"), SentenceScorer)
    with pytest.raises(ArtifactError, match="is not a language model; pass a run of"):
        score_lines(folder, ["a"])


def stock_states(folder, sentence, layer):
    """Encode one sentence with stock code: states of the whole text, and the word of each piece."""
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_file=str(folder / "tokenizer.json"))
    model = transformers.AutoModel.from_pretrained(folder).eval()
    text = " ".join(sentence)
    encoding = tokenizer(text, return_offsets_mapping=True, return_tensors="pt")
    offsets = encoding.pop("offset_mapping")[0].tolist()
    model = model.get_encoder() if model.config.is_encoder_decoder else model
    with torch.no_grad():
        inputs = {"input_ids": encoding["input_ids"]}
        states = model(**inputs, output_hidden_states=True).hidden_states[layer][0]
    # the word of a piece is that in which it ends
    ends = np.cumsum([len(word) + 1 for word in sentence]) - 1
    owners = np.array([np.searchsorted(ends, b) if b else -1 for _, b in offsets])
    return np.stack([states[owners == word].mean(0).numpy() for word in range(len(sentence))])


@pytest.mark.slow
@pytest.mark.parametrize("folder", MODELS.values(), ids=MODELS, indirect=True)
def test_states_are_those_of_stock_code_on_the_whole_text(folder):
    sentences = [["the", "king", "sat"], ["kings"], ["a", "tiger", "and", "the", "kingdom"]]
    encoder = open_folder(folder, "cpu")
    assert encoder.n_layers == 2
    for layer in range(3):
        found = encoder.encode(sentences, [layer])
        for sentence, states in zip(sentences, found, strict=True):
            np.testing.assert_allclose(states, stock_states(folder, sentence, layer), atol=1e-5)
    assert np.abs(found[0]).max() > 0.01  # states that could differ


def masked_roberta(folder):
    """RoBERTa with its head and a mask."""
    tokenizer = roberta()
    tokenizer.add_special_tokens(["<mask>"])
    named = {name: tokenizer.token_to_id(f"<{name}>") for name in ("s", "/s", "mask")}
    return save_of_pieces(
        folder, "RobertaForMaskedLM", tokenizer, hidden_size=16, num_hidden_layers=1,
        num_attention_heads=2, intermediate_size=24, max_position_embeddings=99, pad_token_id=0,
        bos_token_id=named["s"], eos_token_id=named["/s"], initializer_range=0.5,
    )  # fmt: skip


SPELLED = "\"The king isn't (well-known),\" said  it; who's there, Richard?"


@pytest.mark.parametrize("folder", [masked_roberta, t5], indirect=True)
def test_marks_and_contractions_have_the_pieces_of_the_models_own_tokenizer(folder):
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_file=str(folder / "tokenizer.json"))
    ids = tokenizer(SPELLED, return_tensors="pt")["input_ids"]
    encoder = open_folder(folder, "cpu")
    with torch.no_grad():
        expected = encoder.model(input_ids=ids).last_hidden_state[0]
    text = PiecedText.split(encoder.pieces, [encoder.words(SPELLED)])
    inside = expected[len(encoder.frame.before) : len(expected) - len(encoder.frame.after)]
    [states] = encoder.encode([encoder.words(SPELLED)], [encoder.n_layers])
    np.testing.assert_allclose(states, text.word_means(inside.numpy()), atol=1e-5)


def stock_score(folder, text, within):
    """The pseudo-log-likelihood of a text as the model's own tokenizer reads it."""
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_file=str(folder / "tokenizer.json"), mask_token="<mask>"
    )
    model = transformers.AutoModelForMaskedLM.from_pretrained(folder).eval()
    encoding = tokenizer(text)
    ids, words = torch.tensor(encoding["input_ids"]), encoding.word_ids()
    total = 0.0
    for place, word in enumerate(words):
        if word is not None:
            masked = ids.clone()
            later = [place + n for n, other in enumerate(words[place:]) if other == word]
            masked[later if within else place] = tokenizer.mask_token_id
            with torch.no_grad():
                logits = model(input_ids=masked[None]).logits[0, place]
            total += logits.log_softmax(-1)[ids[place]].item()
    return total


@pytest.mark.slow
@pytest.mark.parametrize("folder", [masked_roberta], indirect=True)
def test_sentences_are_scored_as_the_models_own_tokenizer_reads_them(folder):
    encoder = open_folder(folder, "cpu")
    texts = ["Who isn't there, Richard?", 'the king\'s "cat" (old)', "'s well-known", " the"]
    for within in (False, True):
        found = encoder.score([*map(encoder.words, texts)], left_to_right_in_words=within)
        expected = [stock_score(folder, text, within) for text in texts]
        np.testing.assert_allclose(found, expected, rtol=1e-4)


@pytest.mark.parametrize("folder", [gpt2], indirect=True)
def test_a_causal_models_score_is_its_own_loss(folder):
    encoder = open_folder(folder, "cpu")
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_file=str(folder / "tokenizer.json"))
    model = transformers.GPT2LMHeadModel.from_pretrained(folder).eval()
    texts = ["the king sat", "a king's cat (old) sat there, Richard"]
    for text, found in zip(texts, score_lines(encoder, texts), strict=True):
        ids = torch.tensor([[0, *tokenizer(text)["input_ids"]]])  # 0 is its start of a text
        with torch.no_grad():
            loss = model(input_ids=ids, labels=ids).loss.item()
        assert found.log_likelihood == pytest.approx(-loss * (ids.shape[1] - 1), rel=1e-5)
        assert [word.word for word in found.words] == text.split()


def test_an_exported_causal_run_scores_words_as_the_run_does(tmp_path):
    run = random_run(tmp_path / "run", causal=True)
    write_huggingface(run, tmp_path / "out")
    ours, stock = open_run(run, "cpu"), open_folder(tmp_path / "out", "cpu")
    sentences = [ours.words("The cat sat on the mat."), [], ["quickly"]]
    for found, expected in zip(
        stock.score_words(sentences), ours.score_words(sentences), strict=True
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-4)


@pytest.mark.parametrize("folder", [masked_roberta], indirect=True)
def test_masks_are_filled_as_the_models_own_tokenizer_reads_them(folder):
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_file=str(folder / "tokenizer.json"), mask_token="<mask>"
    )
    ids = torch.tensor([tokenizer("the king<mask>, there")["input_ids"]])
    model = transformers.AutoModelForMaskedLM.from_pretrained(folder).eval()
    with torch.no_grad():
        logits = model(input_ids=ids).logits[0, ids[0] == tokenizer.mask_token_id][0]

    [answers] = open_folder(folder, "cpu").fill_mask("the king [MASK], there", k=9_999)

    pieces = tokenizer.convert_tokens_to_ids([answer.piece for answer in answers])
    np.testing.assert_allclose(
        [answer.probability for answer in answers], logits[pieces].softmax(-1), rtol=1e-4
    )
    assert not {answer.piece for answer in answers} & {"<s>", "</s>", "<mask>", "<pad>"}


@pytest.mark.parametrize("folder", [masked_roberta], indirect=True)
def test_however_a_text_arrives_it_has_the_same_states(folder, tmp_path):
    encoder = open_folder(folder, "cpu")
    text = "the king isn't there, (old) cat?"
    whole = encoder.encode([encoder.words(text)], [1])[0]

    marked = parse_context("the [king] isn't there, (old) [cat]?", encoder)[0].words
    as_list = TextSettings(keep_case=True).words(text)  # isn ' t
    by_token = split_sentence(encoder.words, text)
    [tagged] = sentences_read(
        encoder, ["the", "king", "isn't", "there", ",", "(old)", "cat", "?"], np.array([0, 8])
    )
    for words in (marked, by_token, tagged):
        np.testing.assert_allclose(encoder.encode([words], [1])[0], whole, atol=1e-5)
    states = encoder.encode([as_list], [1])[0]
    places = [as_list.index(word) for word in ("the", "king", "isn", "t", "there", "old", "?")]
    spelled = [marked.index(word) for word in ("the", "king", "isn", "'t", "there", "old", "?")]
    np.testing.assert_allclose(states[places], whole[spelled], atol=1e-5)
    np.testing.assert_array_equal(states[as_list.index("t")], states[as_list.index("'")])

    tokens = np.array(places)
    found = encoder.encode_masked([as_list], tokens, [1])
    np.testing.assert_allclose(found, encoder.encode_masked([marked], np.array(spelled), [1]))

    (tmp_path / "text").write_text(f"{text}\r\n{text}")
    config = EncodeConfig(layers="1")
    encode_file(encoder, tmp_path / "text", tmp_path / "written.npz", config)
    written = np.load(tmp_path / "written.npz")["vectors"]
    np.testing.assert_allclose(written, [*whole, *whole], atol=1e-5)


@pytest.mark.parametrize("folder", MODELS.values(), ids=MODELS, indirect=True)
def test_long_sentences_fill_the_rows_and_nothing_is_cut_off(folder):
    encoder = open_folder(folder, "cpu")
    rooms = {"bert": 12 - 2, "gpt2": 32, "roberta": 24 - 1 - 2, "t5": 512 - 1}
    assert encoder.max_pieces == rooms[encoder.model.config.model_type]
    sentence = ["the", "kingdom", "cat"] * 40
    [states] = encoder.encode([sentence], [2])
    [again, short] = encoder.encode([sentence, ["the", "cat"]], [2])
    assert states.shape == (120, 16)
    np.testing.assert_allclose(states, again, atol=1e-5)
    [alone] = encoder.encode([["the", "cat"]], [2])
    np.testing.assert_allclose(short, alone, atol=1e-5)


@pytest.mark.parametrize("folder", [gpt2], indirect=True)
def test_a_word_that_normalizes_to_nothing_is_unknown(folder):
    encoder = open_folder(folder, "cpu")
    assert encoder.covers(["the", "", "🍕"]).tolist() == [True, False, True]
    assert encoder.encode([["", "the"]], [1])[0].shape == (2, 16)


def test_unused_heads_are_not_reported_and_logging_is_restored(folder, capfd):
    transformers.utils.logging.set_verbosity_info()
    transformers.utils.logging.enable_progress_bar()
    open_folder(folder, "cpu")
    assert transformers.utils.logging.get_verbosity() == transformers.logging.INFO
    assert transformers.utils.logging.is_progress_bar_enabled()
    assert capfd.readouterr().err == ""


def test_nothing_is_downloaded_and_remote_code_is_never_trusted(folder, monkeypatch):
    asked, addresses = [], []
    load = transformers.AutoModel.from_pretrained

    def seen(path, **options):
        asked.append((path, options))
        return load(path, **options)

    def refuse(self, address):
        addresses.append(address)
        raise OSError("no network")

    monkeypatch.setattr(transformers.AutoModel, "from_pretrained", seen)
    monkeypatch.setattr(socket.socket, "connect", refuse)
    adapted = {"base_model_name_or_path": "someone/model", "peft_type": "LORA"}
    (folder / "adapter_config.json").write_text(json.dumps(adapted))
    (folder / "generation_config.json").unlink(missing_ok=True)
    open_encoder(folder, "cpu")
    [(path, options)] = asked
    assert path == folder
    assert options["local_files_only"] is True
    assert options["trust_remote_code"] is False
    assert options["use_safetensors"] is True
    assert addresses == []


@pytest.mark.parametrize("folder", [xlnet], indirect=True)
def test_a_model_whose_positions_have_no_bound_reads_512_pieces(folder):
    encoder = open_folder(folder, "cpu")
    assert encoder.max_pieces == 512 - 1
    [states] = encoder.encode([["the", "king"] * 300], [2])
    assert states.shape == (600, 16)


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [
        [], {"model_max_length": "5"}, {"model_max_length": -1}, {"model_max_length": 0},
        {"model_max_length": None}, {"model_max_length": 1e30}, {"model_max_length": float("nan")},
        {"model_max_length": float("inf")},
    ],
)  # fmt: skip
def test_an_invalid_length_is_ignored(folder, options):
    (folder / "tokenizer_config.json").write_text(json.dumps(options))
    assert open_folder(folder, "cpu").max_pieces == 12 - 2


def test_a_shorter_tokenizer_length_limits_rows_and_too_short_ones_are_refused(folder):
    path = folder / "tokenizer_config.json"
    path.write_text('{"model_max_length": 4}')
    encoder = open_folder(folder, "cpu")
    assert encoder.max_pieces == 2
    assert encoder.encode([["the", "king", "saw"] * 5], [2])[0].shape == (15, 16)
    for length, room in {3: 1, 2: 0, 1: 0}.items():
        path.write_text(json.dumps({"model_max_length": length}))
        assert refusal_of(folder) == (
            f"{folder}: its rows have room for {room} pieces of text; correct "
            "max_position_embeddings in config.json or model_max_length in tokenizer_config.json"
        )


def test_an_invalid_padding_id_is_never_looked_up(folder):
    expected = open_folder(folder, "cpu").encode([["the"], ["the", "king", "saw"]], [2])
    edit(folder / "config.json", pad_token_id=-1)
    found = open_folder(folder, "cpu").encode([["the"], ["the", "king", "saw"]], [2])
    for a, b in zip(expected, found, strict=True):
        np.testing.assert_allclose(b, a, atol=1e-6)


def refusal_of(folder, kind=ArtifactError):
    """Return the one-line error of opening a folder."""
    with pytest.raises(kind) as problem:
        open_encoder(folder, "cpu")
    message = str(problem.value)
    assert "\n" not in message
    return message


def test_without_transformers_one_line_says_what_to_install(folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "transformers", None)
    assert refusal_of(folder, SettingError) == (
        f"{folder}: the states of a Hugging Face model need the package transformers; "
        "pip install 'firth[hf]'"
    )


def edit(path, **values):
    """Change a JSON file."""
    path.write_text(json.dumps(json.loads(path.read_text()) | values))


def test_a_folders_own_code_is_never_run(folder, tmp_path):
    edit(
        folder / "config.json",
        model_type="odd",
        auto_map={"AutoConfig": "odd.OddConfig", "AutoModel": "odd.OddModel"},
    )
    (folder / "odd.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n")
    message = refusal_of(folder)
    assert message.startswith(f"{folder}: transformers {transformers.__version__} cannot open it: ")
    assert not (tmp_path / "ran").exists()


def weights(damage):
    """Return what changes the weights of a folder as bytes."""

    def change(folder):
        path = folder / "model.safetensors"
        path.write_bytes(damage(path.read_bytes()))

    return change


def weights_elsewhere(folder):
    """Move the weights, and list them in an index that leads out of the folder."""
    (folder.parent / "outside").mkdir()
    outside = folder.parent / "outside" / "w.safetensors"
    (folder / "model.safetensors").rename(outside)
    with safe_open(outside, "pt") as tensors:
        listed = dict.fromkeys(tensors.keys(), "../outside/w.safetensors")
    index = {"metadata": {"total_size": 1}, "weight_map": listed}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))


UNQUANTIZED = r"needs another package for it \(.*\); use the unquantized model with standard"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"quantization_config": {"quant_method": "bitsandbytes", "load_in_4bit": True}},
         UNQUANTIZED),
        ({"quantization_config": {"quant_method": "gptq", "bits": 4}}, UNQUANTIZED),
        ({"_attn_implementation": "flash_attention_2"}, UNQUANTIZED),
        ({"pad_token_id": 99_999}, "cannot open it: Padding_idx must be within num_embeddings"),
        ({"num_attention_heads": 0}, "cannot open it: integer modulo by zero"),
        ({"hidden_size": "abc"}, "cannot open it: Validation error for field 'hidden_size'"),
        ({"intermediate_size": 25}, "cannot open it"),
        # else these would be drawn at random
        ({"num_hidden_layers": 3},
         r"the weights lack encoder.layer.2.attention.output.LayerNorm.bias, .*; download"),
        (weights(lambda whole: whole[:-5]), r"cannot open it: .*incomplete metadata"),
        (weights(lambda whole: b""), r"cannot open it: .*header too small"),
        (weights(lambda whole: b"\xff" * 100), r"cannot open it: .*header too large"),
        (weights_elsewhere, r"\.index\.json: lists no files of this folder; download it again"),
        (lambda folder: byte_level().save(str(folder / "tokenizer.json")),
         r"tokenizer\.json: has \d+ pieces, and the model only 15; take both from the same model"),
        (lambda folder: (folder / "tokenizer.json").unlink(),
         r": has no tokenizer\.json; save it with a fast tokenizer"),
        (lambda folder: (folder / "model.safetensors").rename(folder / "pytorch_model.bin"),
         r"pytorch_model\.bin: a pickle is never opened"),
    ],
    ids=[
        "4 bits", "gptq", "flash", "padding", "no heads", "text as width", "other width", "layers",
        "cut", "empty", "other bytes", "index", "other tokenizer", "no tokenizer", "pickle",
    ],
)  # fmt: skip
def test_a_folder_that_cannot_be_opened_is_refused_in_one_line(folder, change, words):
    change(folder) if callable(change) else edit(folder / "config.json", **change)
    message = refusal_of(folder)
    assert message.startswith(str(folder))
    assert re.search(words, message)


@pytest.mark.parametrize(
    ("folder", "words"),
    [
        (opt, "the model does not have one state per piece and layer"),
        (funnel, "the model does not have one state per piece and layer"),
        (canine, "cannot open it: "),  # has no pieces
    ],
    indirect=["folder"],
)
def test_models_of_another_form_are_refused(folder, words):
    assert words in refusal_of(folder)


def test_states_that_are_not_finite_are_refused(folder):
    encoder = open_folder(folder, "cpu")
    with torch.no_grad():
        encoder.model.get_input_embeddings().weight[5] = torch.nan
    with pytest.raises(ArtifactError) as problem:
        encoder.encode([["the"]], [0])
    assert str(problem.value).startswith(f"{folder}: the states contain NaN or infinity; choose")


BERT_MODEL = SimpleNamespace(config=SimpleNamespace(architectures=["BertForMaskedLM"]))


@pytest.fixture(scope="module")
def masked_lm(tmp_path_factory):
    """An exported run, whose ``mask_token`` each test sets."""
    folder = tmp_path_factory.mktemp("masked")
    write_huggingface(random_run(folder / "run"), folder / "out")
    return folder / "out"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("stated", "found"),
    [
        *((stated, MASK) for stated in (None, "[MASK]", ["[MASK]"], {"content": "[MASK]"})),
        *((stated, MASK) for stated in ({"content": 4}, "[UNSEEN]", 4)),
        *((stated, UNK) for stated in ("[UNK]", {"content": "[UNK]"})),
    ],
)
def test_the_mask_is_the_configured_one_or_found_in_the_tokenizer(stated, found, masked_lm):
    edit(masked_lm / "tokenizer_config.json", mask_token=stated)
    assert mask_piece(masked_lm, BERT_MODEL) == found
    assert isinstance(open_folder(masked_lm, "cpu"), SentenceScorer)


@pytest.mark.parametrize(
    ("added", "architectures"),
    [
        ([{"content": "[MASK]"}], ["BertForMaskedLM"]),
        (["[MASK]"], ["BertForMaskedLM"]),
        ([], [None]),
    ],
)
def test_an_unreadable_mask_is_a_one_line_error(added, architectures, tmp_path):
    (tmp_path / "tokenizer.json").write_text(json.dumps({"added_tokens": added}))
    model = SimpleNamespace(config=SimpleNamespace(architectures=architectures))

    with pytest.raises(ArtifactError) as problem:
        mask_piece(tmp_path, model)

    message = str(problem.value)
    assert message.startswith(f"{tmp_path}: transformers {transformers.__version__} cannot open it")
    assert "\n" not in message
