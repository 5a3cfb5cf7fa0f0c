"""Tokenizers of other models: text is read as their own code reads it."""

import numpy as np
import pytest
from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers

from firth.corpora.text.joining import joined_parts
from firth.corpora.tokenizer.external import ExternalTokenizer
from tests.embed.huggingface_folder import byte_level, llama, roberta, unigram, wordpiece

TEXTS = [
    "Who isn't there, Richard?",
    "\"Don't,\" he said (twice): well-known e-mails [sic]; John's 3.5% — naïve café!",
    " 's double  spaces and\ttabs\n and more  ",
    "'s 東京はいい。それ «où?» ¿qué? e\u0301 ﬁne İ a\u00a0b\u3000c x 😊😊",
    "<s> the [MASK] <mask>",
]


def with_parts(tokenizer, **parts):
    for name, part in parts.items():
        setattr(tokenizer, name, part)
    return tokenizer


def cased():
    """BERT's, cased, with every character a piece."""
    marks = [chr(code) for code in range(33, 127)]
    names = ["[UNK]", "[CLS]", "[SEP]", *marks, *(f"##{mark}" for mark in marks), "The", "isn"]
    tokenizer = Tokenizer(
        models.WordPiece({name: piece for piece, name in enumerate(names)}, unk_token="[UNK]")
    )
    return with_parts(
        tokenizer,
        normalizer=normalizers.BertNormalizer(lowercase=False),
        pre_tokenizer=pre_tokenizers.BertPreTokenizer(),
    )


def contractions():
    """Llama 3's: byte-level pieces of words that another pattern divides."""
    pattern = (
        r"(?i:'s|'t)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s+(?!\S)|\s+"
    )
    first = pre_tokenizers.Split(Regex(pattern), "isolated")
    second = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    return with_parts(byte_level(), pre_tokenizer=pre_tokenizers.Sequence([first, second]))


KINDS = {
    "byte-level": byte_level,
    "byte-level between ends": roberta,
    "byte-level with a space before the text": lambda: with_parts(
        roberta(), pre_tokenizer=pre_tokenizers.ByteLevel(add_prefix_space=True)
    ),
    "byte-level of normalized text": lambda: with_parts(
        byte_level(), normalizer=normalizers.Sequence([normalizers.NFC(), normalizers.Lowercase()])
    ),
    "contractions": contractions,
    "SentencePiece": unigram,
    "SentencePiece without a space before the text": lambda: with_parts(
        unigram(), pre_tokenizer=pre_tokenizers.Metaspace(prepend_scheme="never")
    ),
    "SentencePiece and marks": lambda: with_parts(
        unigram(),
        pre_tokenizer=pre_tokenizers.Sequence(
            [pre_tokenizers.Metaspace(), pre_tokenizers.Punctuation()]
        ),
    ),
    "Llama": llama,
    "BERT": wordpiece,
    "BERT, cased": cased,
}


@pytest.fixture(params=KINDS.values(), ids=KINDS)
def both(request, tmp_path):
    """The library's tokenizer and ours of the same file."""
    library = request.param()
    library.save(str(tmp_path / "tokenizer.json"))
    library.encode_special_tokens = True
    return library, ExternalTokenizer(tmp_path / "tokenizer.json")


def test_a_text_has_the_pieces_that_the_models_own_tokenizer_gives_it(both):
    library, ours = both
    for text in TEXTS:
        words = ours.words(text)
        ids, bounds, offsets, groups = ours.split_sentences([words])
        assert ids.tolist() == library.encode(text, add_special_tokens=False).ids
        assert groups.tolist() == list(range(len(words)))
        assert offsets.tolist() == [0, len(words)]
        assert (np.diff(bounds) > 0).all()


def test_a_text_divided_at_brackets_is_read_as_the_whole(both):
    library, ours = both
    parts = ["The Tiger isn't at the ", "king", "'s (old) ", "kingdom", "?"]
    split = [ours.words(part) for part in parts]
    ids, *_ = ours.split_sentences([joined_parts(split, [""] * len(parts))])
    whole = library.encode("".join(parts), add_special_tokens=False).ids
    assert ids.tolist() == whole


def words_with_pieces(library, ours, sentences):
    """The pieces of each word, as text."""
    ids, bounds, _, groups = ours.split_sentences(sentences)
    names = [library.id_to_token(piece) for piece in ids.tolist()]
    return ["".join(names[bounds[group] : bounds[group + 1]]) for group in groups.tolist()]


def test_each_word_has_the_pieces_of_its_place_in_the_text(tmp_path):
    roberta().save(str(tmp_path / "tokenizer.json"))
    ours = ExternalTokenizer(tmp_path / "tokenizer.json")
    sentences = [ours.words("the  naïve king's"), [], ours.words("東京?")]
    assert sentences == [["the", "naïve", "king", "'s"], [], ["東京", "?"]]
    # white space that is a piece of its own belongs to the word behind it
    expected = ["the", "ĠĠnaÃ¯ve", "Ġking", "'s", "æĿ±äº¬", "?"]
    assert words_with_pieces(roberta(), ours, sentences) == expected


def test_words_that_are_part_of_one_piece_share_it(tmp_path):
    roberta().save(str(tmp_path / "tokenizer.json"))
    ours = ExternalTokenizer(tmp_path / "tokenizer.json")
    words = ["the", "cats", "don", "'", "t", "sit", ".", "It", "'", "s"]
    expected = ["the", "Ġcats", "Ġdon", "'t", "'t", "Ġsit", ".", "ĠIt", "'s", "'s"]
    assert words_with_pieces(roberta(), ours, [words]) == expected
    assert ours.split_sentences([words[:5], words])[2].tolist() == [0, 4, 12]


def test_lists_of_words_are_read_as_the_text_that_they_are_joined_to(both):
    library, ours = both
    words = ["the", "king", "'s", "(", "old", ")", "cat", ",", "isn", "'", "t", "there", "."]
    text = "the king's (old) cat, isn't there."
    ids, *_ = ours.split_sentences([words])
    assert ids.tolist() == library.encode(text, add_special_tokens=False).ids


def test_where_a_word_has_no_piece_all_words_are_split_alone(tmp_path):
    byte_level().save(str(tmp_path / "tokenizer.json"))
    ours = ExternalTokenizer(tmp_path / "tokenizer.json")
    for words in (["", "the"], [""]):
        ids, bounds, _, groups = ours.split_sentences([words, ours.words("  ")])
        alone = ours.split(words)
        assert ids.tolist() == alone[0].tolist()
        assert bounds.tolist() == alone[1].tolist()
        assert groups.tolist() == list(range(len(words)))


def test_characters_without_a_piece_do_not_stop_the_reading(tmp_path):
    tokenizer = Tokenizer(models.Unigram([("▁the", -1.0), ("▁", -2.0), ("t", -3.0)]))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    ours = ExternalTokenizer(tmp_path / "tokenizer.json")
    ids, bounds, *_ = ours.split_sentences([ours.words("the xyz t")])
    assert bounds.tolist() == ours.split(["the", "xyz", "t"])[1].tolist()
    assert ids[0] == 0


def test_a_long_text_without_spaces_is_read_in_linear_time(tmp_path):
    wordpiece().save(str(tmp_path / "tokenizer.json"))
    ours = ExternalTokenizer(tmp_path / "tokenizer.json")
    text = "É,e\u0301 " * 10_000
    words = ours.words(text)
    assert len(words) == 30_000
    assert len(ours.split_sentences([words, list(words)])[3]) == 60_000
