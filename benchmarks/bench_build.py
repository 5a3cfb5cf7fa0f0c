"""Building a corpus: Firth against the tokenizers library, gensim and wc, as whole processes.

All read the same file of 16 million words with ``<doc>`` lines. Firth cleans it, splits it into
sentences and words, counts the types and writes ids, offsets and checksums. ``tokenizers`` only
handles words: it trains the word list and encodes in batches on all cores. gensim splits more
coarsely, makes its dictionary and encodes nothing.
"""

import argparse
import shutil
import sys
import tempfile
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import harness
import roles

ROLE = roles.REPORTING
_BATCH = 4096


def text_lines(path: Path) -> Iterator[str]:
    """Yield the lines of the text without document marks."""
    with open(path, encoding="utf-8") as file:
        for line in file:
            if line.strip() and not line.startswith(("<doc ", "</doc>")):
                yield line


def batches(path: Path) -> Iterator[list[str]]:
    """Yield lists of lines."""
    lines = text_lines(path)
    while batch := list(islice(lines, _BATCH)):
        yield batch


def run_tokenizers(path: Path) -> int:
    """Train the word list and encode; return the number of tokens."""
    import numpy as np
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.normalizers import BertNormalizer
    from tokenizers.pre_tokenizers import BertPreTokenizer
    from tokenizers.trainers import WordLevelTrainer

    tokenizer = Tokenizer(WordLevel(unk_token="[UNK]"))
    tokenizer.normalizer = BertNormalizer(lowercase=True, strip_accents=False)
    tokenizer.pre_tokenizer = BertPreTokenizer()
    trainer = WordLevelTrainer(
        vocab_size=100_000_000, min_frequency=0, special_tokens=["[UNK]"], show_progress=False
    )
    tokenizer.train_from_iterator(batches(path), trainer)
    n_tokens = 0
    with tempfile.TemporaryFile() as file:
        for batch in batches(path):
            # the library's fast path, which skips offsets
            for encoded in tokenizer.encode_batch_fast(batch, add_special_tokens=False):
                ids = np.array(encoded.ids, dtype=np.int32)
                n_tokens += len(ids)
                file.write(ids.data)
    return n_tokens


def run_gensim(path: Path) -> int:
    """Make the dictionary; return the number of tokens."""
    from gensim.corpora import Dictionary
    from gensim.utils import simple_preprocess

    dictionary = Dictionary(simple_preprocess(line) for line in text_lines(path))
    return int(dictionary.num_pos)


RIVALS = {"tokenizers": run_tokenizers, "gensim": run_gensim}


def main() -> None:
    """Run the benchmark."""
    arguments = harness.parse(__doc__, repeats=2, more=_own_options)
    if arguments.rival:
        print(RIVALS[arguments.rival](arguments.text))
        return
    text = arguments.text or harness.unpacked(roles.open_text("enwiki2015-AA", role=ROLE))
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "corpus"
        _warm_up(text, Path(folder))
        own = [sys.executable, "cli.py", "build-corpus", str(text), "--out", str(out)]
        rival = [sys.executable, __file__, "--text", str(text), "--rival"]
        measured = harness.time_processes(
            {
                "firth build-corpus": own,
                "tokenizers": [*rival, "tokenizers"],
                "gensim": [*rival, "gensim"],
                "wc -w": ["wc", "-w", str(text)],
            },
            arguments.repeats,
            before=lambda name: shutil.rmtree(out, ignore_errors=True),
        )
    harness.report(
        "build-corpus",
        measured,
        ours="firth build-corpus",
        work=text.stat().st_size / 1e6,
        unit="MB",
        arguments=arguments,
        notes={
            "tokens by tokenizers": int(measured["tokenizers"].outputs[0]),
            "tokens by gensim": int(measured["gensim"].outputs[0]),
        },
    )


def _own_options(parser: argparse.ArgumentParser) -> None:
    """Add ``--text`` and the mode in which this script runs a rival."""
    parser.add_argument("--text", type=Path, help="a WikiExtractor text instead of the usual one")
    parser.add_argument("--rival", choices=list(RIVALS), help=argparse.SUPPRESS)


def _warm_up(text: Path, folder: Path) -> None:
    """Compile the kernels on the first megabyte and read the text into the page cache."""
    piece = folder / "piece.txt"
    with open(text, "rb") as file:
        piece.write_bytes(file.read(1 << 20).rpartition(b"</doc>")[0] + b"</doc>\n")
        while file.read(1 << 22):
            pass
    build = [sys.executable, "cli.py", "build-corpus", str(piece), "--out"]
    harness.run_process([*build, str(folder / "warm")])


if __name__ == "__main__":
    main()
