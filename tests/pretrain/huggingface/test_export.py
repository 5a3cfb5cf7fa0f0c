"""The exported folder in stock transformers: equal logits and ids."""

import pytest
import torch
from safetensors import safe_open

from firth.corpora.artifacts.artifact import read_json, write_json
from firth.corpora.common.errors import ArtifactError, SettingError
from firth.corpora.text.segment import TextSettings
from firth.corpora.tokenizer.json_format import open_pieces, save_pieces, why_not_exportable
from firth.corpora.tokenizer.pieces import CLS, MASK, PAD, SEP, UNK
from firth.embed.registry import HUGGINGFACE_FILES
from firth.pretrain.config import PRESETS, MlmConfig
from firth.pretrain.data.batches import Rows
from firth.pretrain.huggingface.export import write_huggingface
from firth.pretrain.huggingface.layouts import huggingface_form, layout_problem
from firth.pretrain.inference.mlm_encoder import open_causal
from firth.pretrain.inference.sampling import GenerateConfig
from firth.pretrain.model import encoder
from firth.pretrain.model.encoder import MaskedLanguageModel
from firth.pretrain.model.weights import load_model
from tests.pretrain.small_run import SCRIPTS, pieces_of_scripts, random_model, random_run, seal

transformers = pytest.importorskip("transformers")

POST = {"norm": "post", "positions": "learned", "feed_forward": "gelu"}
LAYOUTS = {
    "pre": {},
    "pre, dot": {"attention_score": "dot"},
    "pre, bilinear": {"attention_score": "bilinear"},
    "pre, span": {"attention_span": 3},
    "pre, span, global": {"attention_span": 4, "global_every": 2},
    "post": POST,
    "post, sinusoidal": POST | {"positions": "sinusoidal"},
    "post, dot": POST | {"attention_score": "dot"},
    "post, bilinear": POST | {"attention_score": "bilinear"},
}


@pytest.fixture(autouse=True)
def _quiet():
    """Disable progress bars, and use one thread."""
    transformers.utils.logging.disable_progress_bar()
    torch.set_num_threads(1)


def difference(model, stock, ids):
    """Largest difference of the logits where there is no padding."""
    real = ids != PAD
    positions = torch.arange(ids.shape[1]).expand_as(ids)
    segments = torch.where(real, 0, -1)
    with torch.no_grad():
        ours = model.logits(model(Rows(ids, segments, positions)))
        theirs = stock(input_ids=ids, attention_mask=real.long()).logits
    assert ours[real].std() > 0.05  # logits that could differ
    return float((ours - theirs)[real].abs().max())


def opened(folder, kind="AutoModelForMaskedLM"):
    """Load the stock model; every weight must be in the file, and no other."""
    loader = getattr(transformers, kind)
    model, info = loader.from_pretrained(folder, output_loading_info=True)
    assert {key: list(names) for key, names in info.items() if names} == {}
    return model.eval()


def some_rows(n_pieces, length):
    """Rows of different lengths, padded."""
    generator = torch.Generator().manual_seed(5)
    ids = torch.randint(MASK, n_pieces, (3, length), generator=generator)
    ids[:, 0] = CLS
    ids[1, length // 2 :] = PAD
    ids[2, 2:] = PAD
    return ids


STOCK = {
    ("pre", False): "ModernBertForMaskedLM",
    ("post", False): "BertForMaskedLM",
    ("pre", True): "ModernBertDecoderForCausalLM",
    ("post", True): "BertLMHeadModel",
}


@pytest.mark.slow
@pytest.mark.parametrize("causal", [False, True], ids=["masked", "causal"])
@pytest.mark.parametrize("name", LAYOUTS)
def test_the_stock_model_gives_the_same_logits_padding_or_not(name, causal, tmp_path):
    run = random_run(tmp_path / "run", causal=causal, **LAYOUTS[name])

    summary = write_huggingface(run, tmp_path / "out")

    kind = "AutoModelForCausalLM" if causal else "AutoModelForMaskedLM"
    model, stock = load_model(run), opened(tmp_path / "out", kind)
    expected = STOCK[model.config.norm, causal]
    assert type(stock).__name__ == expected
    assert summary == f"{expected} of 3 layers x 32"
    ids = some_rows(model.config.n_pieces, model.config.max_length)
    assert difference(model, stock, ids) < 1e-4


@pytest.mark.parametrize("layout", [{}, POST], ids=["pre", "post"])
def test_a_run_of_both_ways_becomes_the_stock_decoder(layout, tmp_path):
    run = random_run(tmp_path / "run", both_ways=True, **layout)
    write_huggingface(run, tmp_path / "out")
    model = load_model(run, causal=True)
    stock = opened(tmp_path / "out", "AutoModelForCausalLM")
    ids = some_rows(model.config.n_pieces, model.config.max_length)
    assert difference(model, stock, ids) < 1e-4


@pytest.mark.slow
@pytest.mark.parametrize("layout", [{}, POST], ids=["pre", "post"])
def test_stock_generation_continues_a_prompt_as_the_run_does(layout, tmp_path):
    run = random_run(tmp_path / "run", causal=True, **layout)
    write_huggingface(run, tmp_path / "out")
    stock = opened(tmp_path / "out", "AutoModelForCausalLM")
    tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path / "out")
    assert "AutoModelForCausalLM" in (tmp_path / "out" / "README.md").read_text()
    greedy = GenerateConfig(length=8, temperature=0)

    ours = open_causal(run, "cpu").generate("The cat sat", greedy)

    row = tokenizer("The cat sat", return_tensors="pt")
    continuing = open_pieces(run / "tokenizer.json").continues.nonzero()[0].tolist()
    theirs = stock.generate(
        **row,
        do_sample=False,
        max_new_tokens=8,
        suppress_tokens=[PAD, UNK, CLS, MASK],
        begin_suppress_tokens=continuing,  # ours starts with a word
    )
    added = tokenizer.convert_ids_to_tokens(theirs[0, row["input_ids"].shape[1] :])
    assert row["input_ids"][0, 0] == CLS
    assert SEP not in row["input_ids"]
    assert [piece for piece, _ in ours.pieces] == added


@pytest.mark.slow
@pytest.mark.parametrize("norm", ["pre", "post"])
@pytest.mark.parametrize("preset", PRESETS)
def test_every_preset_has_a_huggingface_form(preset, norm, monkeypatch):
    monkeypatch.setattr(encoder, "init_weights", lambda model, seed: None)  # shapes are enough
    shape = MlmConfig(preset=preset, norm=norm).shape(n_pieces=50)
    assert layout_problem(shape) is None
    config, tensors = huggingface_form(MaskedLanguageModel(shape))
    with torch.device("meta"):
        kind = transformers.AutoConfig.for_model(**config)
        stock = transformers.AutoModelForMaskedLM.from_config(kind)
    # what is tied is stored once, under the name of the input
    tied = {"cls.predictions.decoder.weight", "cls.predictions.decoder.bias", "decoder.weight"}
    expected = {name: w.shape for name, w in stock.state_dict().items() if name not in tied}
    assert {name: tensor.shape for name, tensor in tensors.items()} == expected


@pytest.mark.slow
@pytest.mark.parametrize(
    "settings",
    [{}, {"keep_case": True, "fold_digits": True}, {"segmenter": "characters"}],
    ids=["plain", "case and digits", "characters"],
)
def test_the_stock_tokenizer_gives_the_same_ids_of_raw_text(settings, tmp_path):
    text = TextSettings(**settings)
    run = random_run(tmp_path / "run", text=text)
    write_huggingface(run, tmp_path / "out")
    pieces = open_pieces(run / "tokenizer.json")

    tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path / "out")

    assert isinstance(tokenizer, transformers.PreTrainedTokenizerFast)
    for line in [*SCRIPTS.splitlines(), "unseen wörds, ∑ cats", "", "a  b\u00a0c\tthe"]:
        own = [CLS, *pieces.split(text.words(line))[0].tolist(), SEP]
        assert tokenizer(line)["input_ids"] == own, line
        assert UNK not in own or line not in SCRIPTS
    special = tokenizer.convert_tokens_to_ids(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"])
    assert special == [PAD, UNK, CLS, SEP, MASK]
    assert (tokenizer.mask_token_id, tokenizer.pad_token_id) == (MASK, PAD)
    assert tokenizer.model_max_length == 24
    assert list(tokenizer("the cat")) == ["input_ids", "attention_mask"]


def test_fill_mask_of_raw_text_answers_as_the_run_does(tmp_path):
    run = random_run(tmp_path / "run")
    write_huggingface(run, tmp_path / "out")
    model, pieces = load_model(run), open_pieces(run / "tokenizer.json")
    before, after = (pieces.split(words)[0].tolist() for words in (["the", "cat"], ["on"]))
    ids = torch.tensor([[CLS, *before, MASK, *after, SEP]])
    place = ids[0].tolist().index(MASK)
    row = model(Rows.whole(ids))
    best = model.logits(row)[0, place].argsort(descending=True)[:3].tolist()

    fill = transformers.pipeline(
        "fill-mask",
        model=transformers.AutoModelForMaskedLM.from_pretrained(tmp_path / "out"),
        tokenizer=transformers.AutoTokenizer.from_pretrained(tmp_path / "out"),
    )

    assert [answer["token"] for answer in fill("The cat [MASK] on", top_k=3)] == best


def test_the_folder_holds_what_the_format_promises_and_tied_weights_once(tmp_path):
    run = random_run(tmp_path / "run")
    write_huggingface(run, tmp_path / "out")
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert names == set(HUGGINGFACE_FILES)
    n_pieces = load_model(run).config.n_pieces
    with safe_open(tmp_path / "out" / "model.safetensors", "pt") as file:
        sizes = [file.get_slice(name).get_shape() for name in file.keys()]  # noqa: SIM118
    assert sizes.count([n_pieces, 32]) == 1


def test_the_same_run_gives_the_same_bytes(tmp_path):
    run = random_run(tmp_path / "run")
    for name in ("a", "b"):
        write_huggingface(run, tmp_path / name)
    for path in (tmp_path / "a").iterdir():
        assert path.read_bytes() == (tmp_path / "b" / path.name).read_bytes(), path.name


def test_exporting_leaves_the_model_as_it_is():
    model = random_model(40, attention_score="bilinear")
    before = {name: weight.clone() for name, weight in model.state_dict().items()}
    huggingface_form(model)
    assert all(torch.equal(weight, before[name]) for name, weight in model.state_dict().items())


@pytest.mark.parametrize(
    ("shape", "reason"),
    [
        *(
            ({"attention_score": score}, f"BERT and ModernBERT have no `mixer=attention:{score}`")
            for score in ("additive", "key-value", "relu", "sparsemax", "hard", "hard-best")
        ),
        *(
            ({"positions": name}, f"ModernBERT (`norm=pre`) has rotary positions, not {name}")
            for name in ("relative", "none", "learned")
        ),
        *(
            (
                POST | {"positions": name},
                f"BERT (`norm=post`) has a table of positions, not {name}",
            )
            for name in ("relative", "none", "rotary")
        ),
        ({"feed_forward": "gelu"}, "neither BERT nor ModernBERT has `norm=pre` with gelu"),
        (POST | {"feed_forward": "geglu"}, "has `norm=post` with geglu"),
        (POST | {"attention_span": 4}, "attends to all, not to `attention=4`"),
        ({"mixers": ("attention", "lstm", "attention")}, "layer 1 is `mixer=lstm`"),
    ],
)
def test_unsupported_encoders_are_refused_with_the_reason(shape, reason, tmp_path):
    run = random_run(tmp_path / "run", **shape)
    with pytest.raises(SettingError) as caught:
        write_huggingface(run, tmp_path / "out")
    assert str(caught.value).startswith(f"{run}: has no huggingface form: ")
    assert reason in str(caught.value)
    assert not (tmp_path / "out").exists()


def segment_by_jieba(run):
    """Store that words are found by jieba."""
    jieba = TextSettings(segmenter="jieba")
    save_pieces(open_pieces(run / "tokenizer.json"), run / "tokenizer.json", jieba)


def forget_segmentation(run):
    """Store no rule by which text is segmented."""
    tokenizer = read_json(run / "tokenizer.json")
    del tokenizer["pre_tokenizer"]
    write_json(run / "tokenizer.json", tokenizer)


def exchange_pieces(run):
    """Store the pieces of another run."""
    pieces = pieces_of_scripts(TextSettings(segmenter="characters"))
    save_pieces(pieces, run / "tokenizer.json", TextSettings())


def lose_the_encoder(run):
    """Describe a run of word vectors."""
    write_json(run / "config.json", {"method": "svd", "text": None})


NO_FORM = f"has no huggingface form: {why_not_exportable(TextSettings(segmenter='jieba'))}"
OTHER_PIECES = "has 105 pieces, but the model has 180; train the run again"
NO_ENCODER = "has no encoder; pass a run of `train_mlm()`"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (segment_by_jieba, f"RUN: {NO_FORM}"),
        (forget_segmentation, f"RUN: {NO_FORM}"),
        (exchange_pieces, f"RUN/tokenizer.json: {OTHER_PIECES}"),
        (lose_the_encoder, f"RUN: {NO_ENCODER}"),
    ],
)  # fmt: skip
def test_a_run_that_cannot_be_exported_is_refused_with_the_reason(change, message, tmp_path):
    run = random_run(tmp_path / "run")
    change(run)
    seal(run)
    with pytest.raises((ArtifactError, SettingError)) as caught:
        write_huggingface(run, tmp_path / "out")
    assert str(caught.value).replace(str(run), "RUN") == message
    assert not (tmp_path / "out").exists()
