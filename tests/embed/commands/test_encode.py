"""The encode command: contents of its files, and refusals."""

import json

import numpy as np
import pytest

from firth.embed.contextual.encoded_text import EncodeConfig, encode_file
from tests.calls import command, refusal
from tests.pretrain.small_run import small_encoder, small_run

LINES = ["The carpenter saw it.", "", "Saw a SAW"]
ENCODER = small_encoder()
WORDS = [ENCODER.words(line) for line in LINES]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run of train-mlm."""
    return str(small_run(tmp_path_factory.mktemp("encode")))


@pytest.fixture
def file(tmp_path):
    """A text of three lines, the second one blank, without a final newline."""
    path = tmp_path / "text.txt"
    path.write_text("\n".join(LINES), encoding="utf-8")
    return path


def invoke(run, file, out, *words, **more):
    """Run one command."""
    return command("encode", run, file, "--out", out, "--device", "cpu", *words, **more)


def words_of(found):
    """Return the words of an .npz, decoded as documented."""
    return found["words"].tobytes().decode().split(chr(10))


def test_an_npz_holds_concatenated_words_and_vectors(run, file, tmp_path):
    result = invoke(run, file, tmp_path / "out.npz", "--layers", "2")
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr == f"{tmp_path / 'out.npz'}: 3 lines\n"
    with np.load(tmp_path / "out.npz") as found:
        assert found["words"].dtype == np.uint8
        assert words_of(found) == [word for words in WORDS for word in words]
        assert found["lines"].tolist() == [0, 5, 5, 8]
        expected = np.concatenate(ENCODER.encode(WORDS, (2,)))
        assert found["vectors"].dtype == np.float32
        np.testing.assert_allclose(found["vectors"], expected, atol=1e-5)


def test_a_line_is_the_mean_of_its_words_and_a_blank_line_zeros(run, file, tmp_path):
    assert invoke(run, file, tmp_path / "out.npz", "--per", "sentence").exit_code == 0
    states = ENCODER.encode(WORDS, (1, 2))
    with np.load(tmp_path / "out.npz") as found:
        assert found.files == ["vectors"]
        first, blank, last = found["vectors"]
    np.testing.assert_allclose(first, states[0].mean(axis=0), atol=1e-5)
    assert not blank.any()
    np.testing.assert_allclose(last, states[2].mean(axis=0), atol=1e-5)


def test_a_jsonl_has_one_object_per_line(run, file, tmp_path):
    assert invoke(run, file, tmp_path / "out.jsonl").exit_code == 0
    encode_file(ENCODER, file, tmp_path / "parts.jsonl", EncodeConfig(), words_at_once=1)
    for name in ("out.jsonl", "parts.jsonl"):
        found = [json.loads(line) for line in (tmp_path / name).read_text().splitlines()]
        assert [line["words"] for line in found] == WORDS
        for line, states in zip(found, ENCODER.encode(WORDS, (1, 2)), strict=True):
            np.testing.assert_allclose(np.reshape(line["vectors"], states.shape), states, atol=1e-5)


def test_a_dash_reads_standard_input(run, tmp_path):
    out = tmp_path / "out.jsonl"
    result = invoke(run, "-", out, "--per", "sentence", input="\ufeffa saw\n\n".encode())
    assert result.exit_code == 0
    found = [json.loads(line) for line in out.read_text().splitlines()]
    assert [line["words"] for line in found] == [["a", "saw"], []]
    assert [len(line["vector"]) for line in found] == [16, 16]


def test_words_of_many_scripts_and_lengths_round_trip(run, tmp_path):
    words = ["naïve", "図書館", "x" * 900, "العربية", "𝕏"]
    (tmp_path / "text").write_text(" ".join(words), encoding="utf-8")
    assert invoke(run, tmp_path / "text", tmp_path / "out.npz").exit_code == 0
    with np.load(tmp_path / "out.npz") as found:
        assert words_of(found) == ENCODER.words(" ".join(words))
        assert len(found["words"]) < 1100  # words are not padded to the longest


@pytest.mark.parametrize(("text", "lines"), [("", [0]), ("\n \n", [0, 0, 0])])
def test_texts_without_words_give_zero_rows_of_full_width(run, tmp_path, text, lines):
    (tmp_path / "text").write_text(text)
    for per in ("word", "sentence"):
        out = tmp_path / f"{per}.npz"
        assert invoke(run, tmp_path / "text", out, "--per", per).exit_code == 0
        with np.load(out) as found:
            n_rows = 0 if per == "word" else len(lines) - 1
            assert found["vectors"].shape == (n_rows, ENCODER.dim)
            assert found["vectors"].dtype == np.float32
            if per == "word":
                assert (len(found["words"]), found["lines"].tolist()) == (0, lines)
    assert invoke(run, tmp_path / "text", tmp_path / "out.jsonl").exit_code == 0
    assert len((tmp_path / "out.jsonl").read_text().splitlines()) == len(lines) - 1


@pytest.mark.parametrize("byte", [b"\xe9", b"\xed\xa0\x80"], ids=["latin-1", "half a character"])
def test_invalid_utf8_is_refused_with_its_line_and_leaves_no_file(run, tmp_path, byte):
    bad = tmp_path / "bad"
    bad.write_bytes(b"a saw\ncaf" + byte + b"\n")
    assert refusal("encode", run, bad, "--out", tmp_path / "out.npz", "--device", "cpu") == (
        f"{bad}:2: byte 0x{byte[0]:02X} is not UTF-8; convert it first"
    )
    assert [path.name for path in tmp_path.iterdir()] == ["bad"]


def test_refusals(run, file, tmp_path):
    out = tmp_path / "out.npz"
    out.write_bytes(b"mine")
    for words, message in {
        (file, tmp_path / "a.txt"): (
            "--out {tmp}/a.txt: must end in .npz or .jsonl, or have no ending, for a folder that "
            "can be searched"
        ),
        (file, tmp_path / "folder"): (
            "--out {tmp}/folder: a folder has a vector per line; pass --per sentence, or a name "
            "that ends in .npz or .jsonl"
        ),
        (tmp_path / "none", tmp_path / "a.npz"): (
            "{tmp}/none: No such file or directory; expected a text file or -"
        ),
        (file, tmp_path / "a.npz", "--layers", 3): (
            "--layers 3: no layer 3; the encoder has layers 0 (embeddings) to 2"
        ),
        (file, out): "{tmp}/out.npz: already exists; choose another OUT or pass --force",
    }.items():
        text, target, *more = words
        given = ("encode", run, text, "--out", target, "--device", "cpu", *more)
        assert refusal(*given) == message.format(tmp=tmp_path)
    assert out.read_bytes() == b"mine"
    assert invoke(run, file, out, "--force").exit_code == 0
