"""Sentence boundaries against pysbd on UD English EWT, and the speed of both on Wikipedia.

Running text is rebuilt from the treebank's ``# text`` lines, a space between
sentences; what counts are the boundaries inside a paragraph (or inside a document).
"""

import lzma
import warnings
from importlib.metadata import version
from itertools import accumulate

import harness
import numpy as np
import roles

from firth.corpora.artifacts.artifact import write_json
from firth.corpora.text.sentences.split import sentence_offsets, split_sentences

ROLE = roles.REPORTING


def read_paragraphs(path):
    """Return documents of paragraphs of sentences."""
    documents = []
    with lzma.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            if line.startswith("# newdoc"):
                documents.append([[]])
            elif line.startswith("# newpar") and documents[-1][-1]:
                documents[-1].append([])
            elif line.startswith("# text = "):
                documents[-1][-1].append(line[len("# text = ") :].rstrip("\n"))
    return documents


def boundaries(text, sentences):
    """Return the offsets between sentences, after their spaces."""
    ends = accumulate(len(sentence) for sentence in sentences)
    places = {end + len(text[end:]) - len(text[end:].lstrip()) for end in ends}
    return {place for place in places if place < len(text)}


def score(split, units):
    """Return F1, precision and recall of the boundaries inside units of sentences."""
    right = found = wanted = 0
    for sentences in units:
        text = " ".join(sentences)
        gold = boundaries(text, [sentence + " " for sentence in sentences])
        guess = boundaries(text, split(text))
        right, found, wanted = right + len(gold & guess), found + len(guess), wanted + len(gold)
    precision, recall = right / found, right / wanted
    return {
        "f1": 2 * precision * recall / (precision + recall),
        "precision": precision,
        "recall": recall,
        "boundaries": wanted,
    }


def quality(splitters):
    """Return the scores of each splitter on dev and test, by paragraph and by document."""
    for part in ("dev", "test"):
        documents = read_paragraphs(roles.open_set(f"ud-ewt-{part}", role=ROLE))
        units = {
            "paragraph": [paragraph for document in documents for paragraph in document],
            "document": [
                [s for paragraph in document for s in paragraph] for document in documents
            ],
        }
        for unit, texts in units.items():
            for name, split in splitters.items():
                yield {"splitter": name, "part": part, "inside": unit, **score(split, texts)}


def speed(splitters):
    """Return MB/s: ours on the whole corpus, pysbd on its first half megabyte."""
    with lzma.open(roles.open_text("enwiki2015-AA", role=ROLE)) as file:
        text = np.frombuffer(file.read(), dtype=np.uint8)
    ends = np.flatnonzero(text == ord("\n")) + 1
    paragraphs = np.unique(np.concatenate([[0], ends, [len(text)]]))
    yield timed("firth", lambda: sentence_offsets(text, paragraphs), len(text), repeats=5)
    lines = text[: paragraphs[paragraphs < 500_000][-1]].tobytes().decode().split("\n")
    size = sum(len(line.encode()) for line in lines)
    pysbd = splitters["pysbd"]
    yield timed("pysbd", lambda: [pysbd(line) for line in lines if line], size, repeats=1)


def timed(name, work, size, *, repeats):
    """Return the speed of a splitter on so many bytes, by the median."""
    found = harness.time_functions({name: work}, repeats)[name]
    return {"splitter": name, "mb_per_s": size / found.median / 1e6, "seconds": found.seconds}


def pysbd_splitter():
    """Return pysbd's splitter with English rules, leaving the text unchanged."""
    import pysbd

    warnings.simplefilter("ignore")
    return pysbd.Segmenter(language="en", clean=False).segment


def main():
    """Print two tables; write them with machine, versions and commit."""
    options = harness.parse(__doc__)
    splitters = {"firth": split_sentences, "pysbd": pysbd_splitter()}

    scores = list(quality(splitters))
    print("UD English EWT    inside      splitter     F1      P      R")
    for row in scores:
        numbers = "  ".join(f"{row[key]:.3f}" for key in ("f1", "precision", "recall"))
        print(f"{row['part']:<18}{row['inside']:<12}{row['splitter']:<9}{numbers}")
    speeds = list(speed(splitters))
    print("\nsplitter     MB/s (one core)")
    for row in speeds:
        print(f"{row['splitter']:<9}{row['mb_per_s']:>8.2f}")
    if options.json:
        about = {**harness.machine(), "pysbd": version("pysbd")}
        results = {**about, "quality": scores, "speed": speeds}
        write_json(options.json, results)


if __name__ == "__main__":
    main()
