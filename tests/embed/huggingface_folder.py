"""Small Hugging Face folders: three kinds of tokenizers, and the files of a model."""

import json
from pathlib import Path

import numpy as np
from safetensors.numpy import save_file
from tokenizers import (
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
    trainers,
)

LINES = (
    "The Tiger saw the cat, and the tigers sat there. A king and a queen saw it.",
    "The naïve cats don't sit in 東京; it's 5 kings, and the kingdom of the cat",
    "the queen sat there and the cat saw the king, the kings and the tiger",
)
# hand-made: whole words, continuations, and pieces that the normalizer makes unreachable
WORDPIECES = (
    "[PAD]", "[UNK]", "[CLS]", "[SEP]", "[unused0]", "the", "king", "##s", "tiger", "Tiger",
    "##dom", "queen", ",", "t", "##iger",
)  # fmt: skip


def wordpiece() -> Tokenizer:
    """BERT's, lowercased, with the pieces above."""
    vocabulary = {name: piece for piece, name in enumerate(WORDPIECES)}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    tokenizer.add_special_tokens(["[PAD]", "[UNK]", "[CLS]", "[SEP]"])
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    return tokenizer


def byte_level(size: int = 400) -> Tokenizer:
    """GPT-2's: byte-level BPE, cased, without an unknown piece or any at the ends."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    special = ["<|endoftext|>"]
    trainer = trainers.BpeTrainer(
        vocab_size=size, initial_alphabet=alphabet, special_tokens=special, show_progress=False
    )
    tokenizer.train_from_iterator(LINES * 20, trainer)
    return tokenizer


def roberta() -> Tokenizer:
    """RoBERTa's: GPT-2's between <s> and </s>."""
    tokenizer = byte_level()
    tokenizer.add_special_tokens(["<s>", "</s>"])
    first, last = (tokenizer.token_to_id(name) for name in ("<s>", "</s>"))
    tokenizer.post_processor = processors.RobertaProcessing(
        ("</s>", last), ("<s>", first), add_prefix_space=False
    )
    return tokenizer


def unigram(size: int = 60) -> Tokenizer:
    """T5's: SentencePiece's Unigram, cased, </s> at the end."""
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.normalizer = normalizers.NFKC()
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Metaspace()
    special = ["<pad>", "</s>", "<unk>"]
    trainer = trainers.UnigramTrainer(
        vocab_size=size, special_tokens=special, unk_token="<unk>", show_progress=False
    )
    tokenizer.train_from_iterator(LINES * 20, trainer)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="$A </s>", special_tokens=[("</s>", 1)]
    )
    return tokenizer


def llama(size: int = 80) -> Tokenizer:
    """Llama's: SentencePiece's BPE; its normalizer marks words, and it has no pre-tokenizer."""
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>"))
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]
    )
    tokenizer.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    )
    words = [word for line in LINES * 20 for word in line.split()]
    trainer = trainers.BpeTrainer(vocab_size=size, special_tokens=["<unk>"], show_progress=False)
    tokenizer.train_from_iterator(words, trainer)
    return tokenizer


def some_table(n_rows: int, dim: int = 4) -> np.ndarray:
    """Return float32 (n_rows, dim) with distinct rows, exact in float16 and bfloat16."""
    return (np.arange(n_rows * dim, dtype=np.float32).reshape(n_rows, dim) % 251 - 100) / 4


def write_folder(
    folder: Path, tokenizer: Tokenizer, tensors: dict[str, np.ndarray], **config: object
) -> Path:
    """Write the three files of a model folder; ``vocab_size=None`` omits that setting."""
    folder.mkdir()
    size = tokenizer.get_vocab_size()
    options = {"model_type": "bert", "architectures": ["BertModel"], "vocab_size": size} | config
    kept = {key: value for key, value in options.items() if value is not None}
    (folder / "config.json").write_text(json.dumps(kept))
    save_file(tensors, folder / "model.safetensors")
    tokenizer.save(str(folder / "tokenizer.json"))
    return folder
