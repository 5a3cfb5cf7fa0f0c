"""Every command of the program, called once in little: what it reads and what it makes.

A test that says "every command" takes its commands from :data:`CALLS`.
"""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Call:
    """One command line.

    Attributes
    ----------
    words : str
        What is typed. ``{shelf}`` is where finished things lie, ``{place}`` where it may write.
    reads : tuple of str
        What of the shelf it opens.
    makes : tuple of str
        What stands in the place afterwards, besides the cache.
    goes_on : bool
        Whether it keeps what it has done when it is interrupted.
    steps : bool
        Whether it does nothing but start other commands of this table, each in a process of its
        own, so that what is to be hurt are these.
    """

    words: str
    reads: tuple[str, ...] = ()
    makes: tuple[str, ...] = ()
    goes_on: bool = False
    steps: bool = False

    def line(self, shelf: object, place: object) -> list[str]:
        """The words for a place."""
        return self.words.format(shelf=shelf, place=place).split()


_LITTLE = "--dim 8 --min-count 1 --threads 1"
_TRAINING = f"{{shelf}}/corpus --out {{place}}/run {_LITTLE}"
_MLM = (
    "--layers 1 --heads 2 --dim 16 --pieces 60 --sequence-length 16 --batch 8 --steps 6 "
    "--dtype float32 --compile off --threads 1 --min-count 1 --device cpu"
)

CALLS = {
    "study": Call(
        words="{shelf}/corpus --out {place}/study --methods svd --budget 1m",
        reads=("corpus",),
        makes=("study",),
        goes_on=True,
        steps=True,
    ),
    "build-corpus": Call(
        words="{shelf}/text.txt --documents line --threads 1 --out {place}/corpus",
        reads=("text.txt",),
        makes=("corpus",),
    ),
    "corpus-info": Call(words="{shelf}/corpus", reads=("corpus",)),
    "train-svd": Call(words=_TRAINING, reads=("corpus",), makes=("run",)),
    "train-skipgram": Call(
        words=f"{_TRAINING} --epochs 1", reads=("corpus",), makes=("run",), goes_on=True
    ),
    "train-cbow": Call(
        words=f"{_TRAINING} --epochs 1 --subwords 3-4 --buckets 100",
        reads=("corpus",),
        makes=("run",),
        goes_on=True,
    ),
    "train-mlm": Call(
        words=f"{{shelf}}/corpus --out {{place}}/run {_MLM}",
        reads=("corpus",),
        makes=("run",),
        goes_on=True,
    ),
    "neighbors": Call(words="{shelf}/run word1 word2", reads=("run",)),
    "similarity": Call(words="{shelf}/run word1 word2", reads=("run",)),
    "analogy": Call(words="{shelf}/run word1 word2 word3", reads=("run",)),
    "compare": Call(
        words="{shelf}/run {shelf}/mlm --similarity {shelf}/pairs.tsv --replicates 100 "
        "--out {place}/comparison --report {place}/page.html --plot {place}/scores.svg",
        reads=("run", "mlm", "pairs.tsv"),
        makes=("comparison", "page.html", "scores.svg"),
    ),
    "learning-curve": Call(
        words="{shelf}/corpus --out {place}/curve --methods skipgram --sizes 2000 --replicates 100 "
        "--similarity {shelf}/pairs.tsv --plot {place}/curve.svg",
        reads=("corpus", "pairs.tsv"),
        makes=("curve", "curve.svg"),
        goes_on=True,
    ),
    "recommend": Call(words="{shelf}/text.txt --json", reads=("text.txt",)),
    "map": Call(
        words="{shelf}/run word1 word2 word3 --plot {place}/map.svg",
        reads=("run",),
        makes=("map.svg",),
    ),
    "fill-mask": Call(words="{shelf}/mlm word1[MASK] --device cpu", reads=("mlm",)),
    "encode": Call(
        words="{shelf}/mlm {shelf}/lines.txt --out {place}/words.npz --device cpu",
        reads=("mlm", "lines.txt"),
        makes=("words.npz",),
    ),
    "pool": Call(
        words="{shelf}/mlm --out {place}/pooled --min-count 1 --device cpu",
        reads=("mlm", "corpus"),
        makes=("pooled",),
    ),
    "attention": Call(
        words="{shelf}/mlm word1 --out {place}/attention.svg",
        reads=("mlm",),
        makes=("attention.svg",),
    ),
    "attend": Call(words="{shelf}/run word1 --on {shelf}/labels.txt", reads=("run", "labels.txt")),
    "export": Call(
        words="{shelf}/run --format gensim {place}/vectors.kv",
        reads=("run",),
        makes=("vectors.kv", "vectors.kv.vectors.npy", "vectors.kv.vocabulary.tsv"),
    ),
}

ALONE = [name for name, call in CALLS.items() if not call.steps]
MAKERS = [name for name in ALONE if CALLS[name].makes]
TELLERS = [name for name in ALONE if not CALLS[name].makes]
