"""A synthetic corpus, and settings of short trainings on it."""

import dataclasses
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from firth.corpora.encoding.pipeline import encode_corpus
from firth.corpora.encoding.request import BuildOptions, make_request
from firth.corpora.reading.text_blocks import ReadOptions
from firth.pretrain.config import MlmConfig, MlmTuning

SMALL = {
    "preset": "1/16/2", "pieces": "60", "sequence_length": 16, "batch": 8,
    "steps": 12, "learning_rate": 3e-3, "dtype": "float32", "compile": "off", "threads": 1,
    "min_count": 1, "device": "cpu",
}  # fmt: skip


# a checkpoint after every step
OFTEN = MlmTuning(checkpoint_seconds=0.0)


def shape_of(*, layers, dim, heads, n_pieces=60, mixer="attention", attention_score="", **changes):
    """The shape of an encoder, from settings of a training and from fields of the shape."""
    named = f"{mixer}:{attention_score}" if attention_score else mixer
    settings = {field.name for field in dataclasses.fields(MlmConfig)}
    given = {name: changes.pop(name) for name in settings & changes.keys()}
    config = MlmConfig(preset=f"{layers}/{dim}/{heads}", mixer=named, **given)
    return dataclasses.replace(config.shape(n_pieces=n_pieces), **changes)


def chains(n_lines=400, n_words=40, seed=2):
    """Lines in which each word usually determines the next one."""
    rng = np.random.default_rng(seed)
    lines = []
    for _ in range(n_lines):
        words = [int(rng.integers(n_words))]
        for strays in rng.random(rng.integers(3, 20)) < 0.1:
            words.append(int(rng.integers(n_words)) if strays else (words[-1] * 7 + 3) % n_words)
        lines.append(" ".join(f"word{word}" for word in words))
    return lines


def corpus_of(folder, lines=None, *, held_out=0.1, name="chains"):
    """A corpus whose documents are lines."""
    (folder / f"{name}.txt").write_text("\n".join(lines or chains()), encoding="utf-8")
    request = make_request(
        [folder / f"{name}.txt"],
        read=ReadOptions(documents="line"),
        options=BuildOptions(held_out=held_out, threads=1),
    )
    return encode_corpus(request, folder / name)


def as_words(options):
    """Return options as command-line arguments."""
    words = []
    for name, value in options.items():
        words += [f"--{name.replace('_', '-')}", str(value)]
    return words


def tree_corpus_of(folder, lines=None, *, name="trees", seed=3):
    """A corpus of CoNLL-U whose sentences are lines with random trees; a document has five."""
    rng = np.random.default_rng(seed)
    sentences = [
        conllu(line.split(), random_heads(len(line.split()), rng)) for line in lines or chains()
    ]
    for number in range(0, len(sentences), 5):
        sentences[number] = f"# newdoc\n{sentences[number]}"
    (folder / f"{name}.conllu").write_text("".join(sentences), encoding="utf-8")
    options = BuildOptions(held_out=0.1, threads=1)
    request = make_request([folder / f"{name}.conllu"], options=options)
    with ThreadPoolExecutor(1) as executor:  # starts no processes, which takes seconds
        return encode_corpus(request, folder / name, executor=executor)


def random_heads(n_words, rng):
    """The number of the head of each word in a random tree, 0 for the root."""
    order = rng.permutation(n_words)  # a word depends on one before it in this order
    heads = np.zeros(n_words, dtype=int)
    for place in range(1, n_words):
        heads[order[place]] = order[rng.integers(place)] + 1
    return heads.tolist()


def conllu(words, heads):
    """Return a sentence of CoNLL-U."""
    lines = [
        f"{number}\t{word}\t{word}\tX\t_\t_\t{head}\tdep\t_\t_\n"
        for number, (word, head) in enumerate(zip(words, heads, strict=True), 1)
    ]
    return "".join(lines) + "\n"
