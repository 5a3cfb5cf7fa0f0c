"""Hugging Face folders: rows of whole words, means of pieces, and errors for unusable folders."""

import json
import pickle
import sys
import weakref

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from tokenizers import Tokenizer, models, processors

from firth.corpora.common.errors import ArtifactError
from firth.corpora.tokenizer.external import ExternalTokenizer
from firth.embed.formats import huggingface
from firth.embed.formats.huggingface import is_huggingface, model_checksums, model_type
from firth.embed.formats.vector_files import load_vectors
from firth.embed.protocols import StaticVectors
from tests.calls import output as answer
from tests.embed.huggingface_folder import (
    WORDPIECES,
    byte_level,
    llama,
    some_table,
    unigram,
    wordpiece,
    write_folder,
)

NAME = "bert.embeddings.word_embeddings.weight"
TABLE = some_table(len(WORDPIECES))


@pytest.fixture
def folder(tmp_path):
    """A BERT with the hand-made pieces."""
    return write_folder(tmp_path / "bert", wordpiece(), {NAME: TABLE})


def test_words_are_whole_pieces_in_id_order_with_their_rows(folder, capsys):
    vectors = load_vectors(folder)
    assert capsys.readouterr().err == (
        f"{folder}: using the context-free input embeddings of bert; `pool_run()` makes "
        "vectors from its states\n"
    )
    # not Tiger, which the normalizer lowercases; not [unused0], which it splits; not ##s
    words = ["the", "king", "tiger", "queen", ",", "t"]
    assert list(vectors.vocabulary) == words
    assert vectors.matrix.dtype == np.float32
    assert np.array_equal(vectors.matrix, TABLE[[WORDPIECES.index(word) for word in words]])
    assert isinstance(vectors, StaticVectors)
    assert vectors.name == str(folder)


def test_other_words_are_the_mean_of_their_pieces_without_a_row(folder):
    vectors = load_vectors(folder)
    kingdoms = [WORDPIECES.index(piece) for piece in ("king", "##dom", "##s")]
    assert vectors.row("kingdoms") is None
    np.testing.assert_array_equal(vectors.vector("kingdoms"), TABLE[kingdoms].mean(axis=0))
    assert vectors.vector("kingdoms").dtype == np.float32
    several = vectors.rows(["king", "kingdoms", "xyz"])
    np.testing.assert_array_equal(several[:2], [vectors["king"], vectors["kingdoms"]])
    assert not several[2].any()


@pytest.mark.parametrize("word", ["xyz", "kingx", "", "[UNK]", "\u200b"])
def test_words_with_an_unknown_piece_have_no_vector(folder, word):
    assert load_vectors(folder).vector(word) is None


def test_text_is_split_by_the_tokenizers_own_rules(folder):
    assert load_vectors(folder).words("The TIGER, kings") == ["the", "tiger", ",", "kings"]


def decoded(piece):
    """Return a byte-level piece as text, by GPT-2's byte table; None if it is not valid UTF-8."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in printable]
    table = {chr(byte): byte for byte in printable}
    table |= {chr(256 + n): byte for n, byte in enumerate(others)}
    try:
        return bytes(table[character] for character in piece).decode()
    except UnicodeDecodeError:
        return None


def test_byte_level_words_are_decoded_pieces_that_start_with_a_space(tmp_path):
    tokenizer = byte_level()
    n = tokenizer.get_vocab_size()
    folder = write_folder(tmp_path / "gpt", tokenizer, {"wte.weight": some_table(n)})
    vectors = load_vectors(folder)
    ids = {}
    for name, piece in sorted(tokenizer.get_vocab().items(), key=lambda item: item[1]):
        text = decoded(name) if name != "<|endoftext|>" else None
        if text and text[0] == " " and text[1:].strip():
            ids[text[1:]] = piece
    assert {"Tiger", "tiger", "the", "東京", "naïve"} <= ids.keys()
    assert list(vectors.vocabulary) == list(ids)
    assert np.array_equal(vectors.matrix, some_table(n)[list(ids.values())])


@pytest.mark.parametrize(("tokenizer", "n_words"), [(unigram, 3), (llama, 20)])
def test_sentencepiece_words_are_pieces_without_their_space_mark(tokenizer, n_words, tmp_path):
    tokenizer = tokenizer()
    table = some_table(tokenizer.get_vocab_size())
    vectors = load_vectors(write_folder(tmp_path / "x", tokenizer, {"shared.weight": table}))
    assert len(vectors.vocabulary) >= n_words
    for word, row in zip(vectors.vocabulary, vectors.matrix, strict=True):
        assert np.array_equal(row, table[tokenizer.token_to_id("▁" + word)])
    whole = [
        name[1:]
        for name in tokenizer.get_vocab()
        if name[1:] and tokenizer.encode(name[1:], add_special_tokens=False).tokens == [name]
    ]
    assert set(vectors.vocabulary) == set(whole)


@pytest.mark.parametrize("tokenizer", [byte_level, unigram, llama])
def test_a_word_is_split_as_inside_a_sentence(tokenizer, tmp_path):
    tokenizer = tokenizer()
    table = some_table(tokenizer.get_vocab_size())
    vectors = load_vectors(write_folder(tmp_path / "x", tokenizer, {"shared.weight": table}))
    ids = tokenizer.encode("the tiger sat", add_special_tokens=False).ids
    for word in ("kingdom", "tiger"):
        before = len(tokenizer.encode("the", add_special_tokens=False).ids)
        ids = tokenizer.encode(f"the {word}", add_special_tokens=False).ids[before:]
        assert vectors.words(word) == [word]
        np.testing.assert_allclose(vectors.vector(word), table[ids].mean(axis=0), rtol=1e-6)
    assert vectors.words("the tiger sat") == ["the", "tiger", "sat"]
    assert vectors.words("Tiger") == ["Tiger"]


def test_an_unknown_character_makes_a_sentencepiece_word_unknown(tmp_path):
    tokenizer = unigram()
    table = some_table(tokenizer.get_vocab_size())
    folder = write_folder(tmp_path / "t5", tokenizer, {"shared.weight": table})
    vectors = load_vectors(folder)
    assert tokenizer.encode("the🍕", add_special_tokens=False).ids[0] != 2
    assert vectors.vector("the🍕") is None
    rewrite(folder, unk_id=None)
    without = load_vectors(folder)
    np.testing.assert_array_equal(without.vector("kingdom"), vectors.vector("kingdom"))
    assert without.vector("the🍕") is None


def rewrite(folder, **model):
    """Edit the model of a saved tokenizer in ways that the library's classes do not allow."""
    path = folder / "tokenizer.json"
    described = json.loads(path.read_text())
    described["model"] |= model
    path.write_text(json.dumps(described))


def test_words_a_wordpiece_without_unknown_piece_cannot_split_are_unknown(folder):
    expected = load_vectors(folder)
    rewrite(folder, unk_token="[NONE]")
    vectors = load_vectors(folder)
    assert vectors.vocabulary == expected.vocabulary
    assert np.array_equal(vectors.matrix, expected.matrix)
    np.testing.assert_array_equal(vectors.vector("kingdoms"), expected.vector("kingdoms"))
    assert vectors.vector("xyz") is None
    pieces = ExternalTokenizer(folder / "tokenizer.json")
    assert pieces.covers(["king", "xyz", "", "kings"]).tolist() == [True, False, False, True]
    assert pieces.split(["king", "xyz", "kings"])[1].tolist() == [0, 1, 2, 4]
    assert pieces.frame == ([2], [3])


def test_the_frame_is_found_for_a_non_latin_alphabet(tmp_path):
    tokenizer = Tokenizer(models.BPE({"<s>": 0, "</s>": 1, "東": 2, "京": 3}, []))
    tokenizer.add_special_tokens(["<s>", "</s>"])
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 1)]
    )
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    assert ExternalTokenizer(tmp_path / "tokenizer.json").frame == ([0], [1])


def test_truncation_and_padding_of_a_tokenizer_are_ignored(tmp_path):
    tokenizer = wordpiece()
    tokenizer.enable_truncation(4)
    tokenizer.enable_padding()
    vectors = load_vectors(write_folder(tmp_path / "st", tokenizer, {NAME: TABLE}))
    assert list(vectors.vocabulary) == ["the", "king", "tiger", "queen", ",", "t"]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64], ids=str)
def test_weights_of_any_width_become_float32(folder, dtype):
    expected = load_vectors(folder).matrix
    save_file({NAME: torch.from_numpy(TABLE).to(dtype)}, folder / "model.safetensors")
    read = load_vectors(folder)
    assert read.matrix.dtype == np.float32
    assert np.array_equal(read.matrix, expected)


def shard(folder):
    """Split the weights into two files."""
    (folder / "model.safetensors").unlink()
    files = {"a.safetensors": {NAME: TABLE}, "b.safetensors": {"pooler.weight": TABLE}}
    for file, tensors in files.items():
        save_file({n: torch.from_numpy(t) for n, t in tensors.items()}, folder / file)
    index = {"weight_map": {NAME: "a.safetensors", "pooler.weight": "b.safetensors"}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))


def test_sharded_weights_are_read(folder):
    expected = load_vectors(folder).matrix
    shard(folder)
    assert np.array_equal(load_vectors(folder).matrix, expected)


N = len(WORDPIECES)
OTHER = TABLE + 1
FAMILIES = {
    "BERT": {NAME: TABLE, "bert.embeddings.position_embeddings.weight": OTHER,
             "bert.embeddings.token_type_embeddings.weight": OTHER[:2],
             "bert.embeddings.LayerNorm.weight": OTHER[0], "cls.predictions.decoder.weight": OTHER},
    "ModernBERT": {"model.embeddings.tok_embeddings.weight": TABLE, "decoder.weight": OTHER},
    "RoBERTa": {"roberta.embeddings.word_embeddings.weight": TABLE, "lm_head.weight": OTHER},
    "ELECTRA": {"electra.embeddings.word_embeddings.weight": TABLE,
                "electra.embeddings_project.weight": OTHER[:4]},
    "ALBERT": {"albert.embeddings.word_embeddings.weight": TABLE,
               "albert.encoder.embedding_hidden_mapping_in.weight": OTHER[:8]},
    "GPT-2": {"wte.weight": TABLE, "wpe.weight": OTHER},
    "GPT": {"tokens_embed.weight": TABLE, "positions_embed.weight": OTHER},
    "GPT-NeoX": {"gpt_neox.embed_in.weight": TABLE, "embed_out.weight": OTHER},
    "Llama": {"model.embed_tokens.weight": TABLE, "lm_head.weight": OTHER},
    "T5": {"shared.weight": TABLE, "encoder.embed_tokens.weight": TABLE},
    "BART": {"model.shared.weight": TABLE, "model.encoder.embed_positions.weight": OTHER,
             "model.encoder.layernorm_embedding.weight": OTHER[0]},
    "XLNet": {"word_embedding.weight": TABLE, "layer.0.rel_attn.seg_embed": OTHER[:2]},
    "LayoutLM": {"layoutlm.embeddings.word_embeddings.weight": TABLE,
                 "layoutlm.embeddings.x_position_embeddings.weight": OTHER},
}  # fmt: skip


@pytest.mark.parametrize("family", FAMILIES)
def test_the_input_table_is_found_in_each_model_family(family, tmp_path):
    tensors = {name: tensor.copy() for name, tensor in FAMILIES[family].items()}
    vectors = load_vectors(write_folder(tmp_path / "x", wordpiece(), tensors))
    assert np.array_equal(vectors.vector("king"), TABLE[WORDPIECES.index("king")])


def test_without_a_vocab_size_a_table_may_have_more_rows_than_pieces(tmp_path):
    tensors = {"embeddings": some_table(N + 3)}
    folder = write_folder(
        tmp_path / "x", wordpiece(), tensors, vocab_size=None, model_type="model2vec"
    )
    assert np.array_equal(load_vectors(folder).vector("king"), TABLE[WORDPIECES.index("king")])


def static_model(folder, **tensors):
    """A folder as Model2Vec writes it."""
    config = {"vocab_size": None, "model_type": "model2vec", "architectures": ["StaticModel"]}
    return write_folder(folder, wordpiece(), tensors, **config)


WEIGHTS = np.linspace(0.05, 2, N)
ROWS = np.arange(N) % 5


@pytest.mark.parametrize(
    ("tensors", "table"),
    [
        ({"embeddings": TABLE, "weights": WEIGHTS}, TABLE * WEIGHTS[:, None]),
        ({"embeddings": TABLE[:5], "mapping": ROWS}, TABLE[ROWS]),
        (
            {"embeddings": TABLE[:5].astype(np.float16), "mapping": ROWS.astype(np.int32),
             "weights": WEIGHTS.astype(np.float32)},
            TABLE[ROWS] * WEIGHTS[:, None],
        ),
        ({"embeddings": (4 * TABLE).astype(np.int8), "weights": WEIGHTS},
         4 * TABLE * WEIGHTS[:, None]),
    ],
    ids=["weights", "shared rows", "both, half precision", "integers"],
)  # fmt: skip
def test_pieces_of_model2vec_have_their_rows_and_weights(tensors, table, tmp_path, capsys):
    vectors = load_vectors(static_model(tmp_path / "x", **tensors))
    pieces = [WORDPIECES.index(piece) for piece in ("king", "##dom", "##s")]
    np.testing.assert_allclose(vectors.vector("king"), table[pieces[0]], rtol=1e-6)
    np.testing.assert_allclose(vectors.vector("kingdoms"), table[pieces].mean(axis=0), rtol=1e-5)
    assert vectors.vector("king").dtype == np.float32
    assert capsys.readouterr().err == ""  # it has no states to pool


@pytest.mark.parametrize(
    "tensors",
    [
        {"mapping": np.full(N, 5)}, {"mapping": np.full(N, -1)}, {"mapping": ROWS[:, None]},
        {"mapping": ROWS, "weights": WEIGHTS[1:]}, {"weights": WEIGHTS},
    ],
    ids=["beyond", "negative", "a matrix", "fewer weights", "weights without mapping"],
)  # fmt: skip
def test_rows_and_weights_that_do_not_fit_are_refused(tensors, tmp_path):
    folder = static_model(tmp_path / "x", embeddings=TABLE[:5], **tensors)
    with pytest.raises(ArtifactError) as refusal:
        load_vectors(folder)
    assert str(refusal.value) == (
        f"{folder}/model.safetensors: mapping and weights do not fit embeddings; download it again"
    )


def test_tied_copies_are_compared_one_at_a_time(tmp_path, monkeypatch):
    names = ["shared.weight", *(f"{n}.embed_tokens.weight" for n in range(4))]
    folder = write_folder(tmp_path / "t5", wordpiece(), {name: TABLE.copy() for name in names})
    read, most, tables = huggingface._floats, [], []

    def counted(path, name):
        table = read(path, name)
        tables.append(weakref.ref(table))
        most.append(sum(each() is not None for each in tables))
        return table

    monkeypatch.setattr(huggingface, "_floats", counted)
    load_vectors(folder)
    assert most == [1, 2, 2, 2, 2]


def test_neither_transformers_nor_a_pickle_is_loaded(folder, tmp_path, monkeypatch):
    class Payload:
        def __reduce__(self):
            return (open, (str(tmp_path / "ran"), "w"))

    (folder / "pytorch_model.bin").write_bytes(pickle.dumps(Payload()))
    monkeypatch.setitem(sys.modules, "transformers", None)
    assert len(load_vectors(folder, verified=True).vocabulary) == 6
    (folder / "model.safetensors").unlink()
    with pytest.raises(ArtifactError):
        load_vectors(folder)
    assert not (tmp_path / "ran").exists()


def test_a_run_and_a_plain_folder_are_not_models(tmp_path):
    (tmp_path / "config.json").write_text('{"method": "svd", "model_type": "x"}')
    assert not is_huggingface(tmp_path)
    (tmp_path / "config.json").write_text('["model_type"]')
    assert not is_huggingface(tmp_path)
    assert not is_huggingface(tmp_path / "absent")


def test_checksums_cover_only_the_files_that_determine_the_vectors(folder):
    before = model_checksums(folder)
    assert list(before) == ["config.json", "model.safetensors", "tokenizer.json"]
    (folder / "README.md").write_text("other")
    assert model_checksums(folder) == before
    save_file({NAME: torch.from_numpy(OTHER)}, folder / "model.safetensors")
    assert model_checksums(folder) != before
    shard(folder)
    assert {"a.safetensors", "b.safetensors", "model.safetensors.index.json"} <= set(
        model_checksums(folder)
    )


def test_the_model_type_comes_from_the_configuration(folder):
    assert model_type(folder) == "bert"
    (folder / "config.json").write_text('{"architectures": ["OddModel"]}')
    assert is_huggingface(folder)
    assert model_type(folder) == "OddModel"


def pickled(folder):
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    return (
        "{folder}/pytorch_model.bin: a pickle is never opened because it can run any code; if "
        "you trust it, convert it to model.safetensors with "
        "AutoModel.from_pretrained(...).save_pretrained(...)"
    )


def no_weights(folder):
    (folder / "model.safetensors").unlink()
    return (
        "{folder}: has no model.safetensors; save the model with "
        "AutoModel.from_pretrained(...).save_pretrained(...)"
    )


def no_tokenizer(folder):
    (folder / "tokenizer.json").unlink()
    return (
        "{folder}: has no tokenizer.json; save it with a fast tokenizer, "
        "AutoTokenizer.from_pretrained(...).save_pretrained(...)"
    )


def damaged_config(folder):
    (folder / "config.json").write_text("{")
    return (
        "{folder}/config.json: cannot be read as JSON: Expecting property name enclosed in double "
        "quotes: line 1 column 2 (char 1)"
    )


def truncated(folder):
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(ArtifactError, match=r"model\.safetensors: damaged \("):
        load_vectors(folder)
    path.write_bytes(b"\xff" * 100)
    return "{folder}/model.safetensors: damaged ("


def damaged_tokenizer(folder):
    (folder / "tokenizer.json").write_text('{"model": {"type": "None"}}')
    with pytest.raises(ArtifactError, match="not a tokenizer that the tokenizers library can"):
        load_vectors(folder)
    (folder / "tokenizer.json").write_text("[]")
    return "{folder}/tokenizer.json: not a tokenizer that the tokenizers library can read ("


def broken_normalizer(folder):
    described = json.loads((folder / "tokenizer.json").read_text())
    described["normalizer"] = {"type": "Precompiled", "precompiled_charsmap": "AAAA"}
    (folder / "tokenizer.json").write_text(json.dumps(described))
    return "{folder}/tokenizer.json: not a tokenizer that the tokenizers library can read ("


def nan(folder):
    table = TABLE.copy()
    table[7, 2] = np.nan
    save_file({NAME: torch.from_numpy(table)}, folder / "model.safetensors")
    return f"{{folder}}: row 7 of {NAME} contains NaN or infinity; download it again"


def two_tables(folder):
    tables = {"a.embed_tokens.weight": TABLE, "b.embed_tokens.weight": OTHER}
    save_file({n: torch.from_numpy(t) for n, t in tables.items()}, folder / "model.safetensors")
    return (
        "{folder}: a.embed_tokens.weight and b.embed_tokens.weight differ and either could be "
        "the input embeddings; save only the submodel that has one of them"
    )


def no_table(folder):
    tables = {"embed_positions.weight": TABLE, "embed_patches.weight": TABLE[:5].copy()}
    save_file({n: torch.from_numpy(t) for n, t in tables.items()}, folder / "model.safetensors")
    return (
        "{folder}: no tensor is an embedding table of 15 pieces (found: embed_patches.weight); "
        "this model cannot be read"
    )


def quantized(folder):
    save_file({NAME: torch.from_numpy(TABLE).to(torch.int8)}, folder / "model.safetensors")
    return (
        f"{{folder}}/model.safetensors: {NAME} is quantized (stored as I8); use the unquantized "
        "model"
    )


def smaller(folder):
    config = {"model_type": "bert", "vocab_size": 9}
    (folder / "config.json").write_text(json.dumps(config))
    save_file({NAME: torch.from_numpy(TABLE[:9].copy())}, folder / "model.safetensors")
    return (
        f"{{folder}}/tokenizer.json: has 15 pieces, but {NAME} only 9 rows; take both from the "
        "same model"
    )


def no_words(folder):
    described = json.loads((folder / "tokenizer.json").read_text())
    described["model"]["vocab"] = {name: n for n, name in enumerate(WORDPIECES[:5])}
    (folder / "tokenizer.json").write_text(json.dumps(described))
    return "{folder}/tokenizer.json: no piece is a whole word"


def shard_gone(folder):
    shard(folder)
    (folder / "b.safetensors").unlink()
    return (
        "{folder}/b.safetensors: listed in model.safetensors.index.json but missing; "
        "download it again"
    )


def shard_elsewhere(folder):
    shard(folder)
    index = {"weight_map": {NAME: "../a.safetensors"}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    return "{folder}/model.safetensors.index.json: lists no files of this folder; download it again"


@pytest.mark.parametrize(
    "damage",
    [
        pickled, no_weights, no_tokenizer, damaged_config, truncated, damaged_tokenizer,
        broken_normalizer, nan, two_tables, no_table, quantized, smaller, no_words, shard_gone,
        shard_elsewhere,
    ],
)  # fmt: skip
def test_an_unusable_folder_raises_a_one_line_error(folder, damage):
    expected = damage(folder).format(folder=folder)
    with pytest.raises(ArtifactError) as refusal:
        load_vectors(folder)
    message = str(refusal.value)
    assert message.startswith(expected) if expected.endswith("(") else message == expected
    assert "\n" not in message


def test_weights_files_are_not_taken_for_vectors_files(folder):
    torch.save({"a": torch.zeros(3)}, folder / "pytorch_model.bin")
    expected = {
        "model.safetensors": "tensors without words; pass the folder that contains it",
        "pytorch_model.bin": "a PyTorch pickle is never opened because it can run any "
        "code; save the model as safetensors and pass its folder",
    }
    for name, message in expected.items():
        with pytest.raises(ArtifactError) as refusal:
            load_vectors(folder / name)
        assert str(refusal.value) == f"{folder / name}: {message}"


def test_commands_accept_a_folder_as_a_run(folder, tmp_path):
    pairs = json.loads(answer("similarity", folder, "Tiger", "kings", "--json"))
    vectors = load_vectors(folder)
    a, b = vectors.vector("tiger"), vectors.vector("kings")
    cosine = a @ b / np.linalg.norm(a) / np.linalg.norm(b)
    assert (pairs["a"], pairs["b"]) == ("tiger", "kings")
    assert pairs["cosine"] == pytest.approx(float(cosine), abs=1e-6)
    [neighbor] = json.loads(answer("neighbors", folder, "kings", "-k", "1", "--json"))["kings"]
    assert neighbor["neighbor"] in vectors.vocabulary
    assert len(answer("analogy", folder, "king", "queen", "tiger", "-k", "2").splitlines()) == 2
    answer("export", folder, tmp_path / "out.txt", "--format", "word2vec-text")
    assert np.array_equal(load_vectors(tmp_path / "out.txt").matrix, vectors.matrix)
