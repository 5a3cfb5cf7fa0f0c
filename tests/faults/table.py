"""One small call of every command: what it reads and what it makes.

Tests of "every command" take the commands from :data:`CALLS`.
"""

from dataclasses import dataclass

from firth.embed.registry import METHODS


@dataclass(frozen=True, kw_only=True)
class Call:
    """One command line."""

    words: str  # arguments; {inputs} is the folder of inputs, {workdir} the working folder
    reads: tuple[str, ...] = ()  # inputs that it opens
    makes: tuple[str, ...] = ()  # outputs in the working folder, besides the cache
    resumes: bool = False  # whether it keeps partial work when it is interrupted
    only_runs_commands: bool = False  # does what other commands of this table do
    writes_in_place: bool = False  # beside its input, or in the cache; has tests of its own

    def line(self, inputs: object, workdir: object) -> list[str]:
        """Return the arguments for given folders."""
        return self.words.format(inputs=inputs, workdir=workdir).split()


_LITTLE = "--dim 8 --min-count 1 --threads 1"
_TRAINING = f"{{inputs}}/corpus --out {{workdir}}/run {_LITTLE}"
_MLM = (
    "--preset 1/16/2 --pieces 60 --sequence-length 16 --batch 8 --steps 6 "
    "--dtype float32 --compile off --threads 1 --min-count 1 --device cpu"
)

CALLS = {
    **{
        f"train-{name}": Call(words=_TRAINING, reads=("corpus",), makes=("run",))
        for name in METHODS
    },
    "study": Call(
        words="{inputs}/corpus --out {workdir}/study --methods svd --budget 1m",
        reads=("corpus",),
        makes=("study",),
        resumes=True,
        only_runs_commands=True,
    ),
    "build-corpus": Call(
        words="{inputs}/text.txt --documents line --threads 1 --out {workdir}/corpus",
        reads=("text.txt",),
        makes=("corpus",),
    ),
    "corpus-info": Call(words="{inputs}/corpus -n 5 --csv", reads=("corpus",)),
    "concordance": Call(words="{inputs}/corpus word1", reads=("corpus",)),
    "collocates": Call(words="{inputs}/corpus word1", reads=("corpus",)),
    "train-skipgram": Call(
        words=f"{_TRAINING} --epochs 1", reads=("corpus",), makes=("run",), resumes=True
    ),
    "train-cbow": Call(
        words=f"{_TRAINING} --epochs 1 --subwords 3-4 --buckets 100",
        reads=("corpus",),
        makes=("run",),
        resumes=True,
    ),
    "train-nplm": Call(
        words=f"{_TRAINING} --epochs 1 --hidden 4 --samples 5 --device cpu",
        reads=("corpus",),
        makes=("run",),
        resumes=True,
    ),
    "train-autoencoder": Call(
        words=f"{_TRAINING} --epochs 1 --hidden 4 --device cpu",
        reads=("corpus",),
        makes=("run",),
        resumes=True,
    ),
    "train-mlm": Call(
        words=f"{{inputs}}/corpus --out {{workdir}}/run {_MLM}",
        reads=("corpus",),
        makes=("run",),
        resumes=True,
    ),
    "neighbors": Call(words="{inputs}/run word1 word2", reads=("run",)),
    "index": Call(words="{inputs}/run", reads=("run",), writes_in_place=True),
    "similarity": Call(words="{inputs}/run word1 word2", reads=("run",)),
    "analogy": Call(words="{inputs}/run word1 word2 word3", reads=("run",)),
    "compare": Call(
        words="{inputs}/run {inputs}/mlm {inputs}/pairs.tsv "
        "--out {workdir}/comparison --report {workdir}/page.html --plot {workdir}/scores.svg",
        reads=("run", "mlm", "pairs.tsv"),
        makes=("comparison", "page.html", "scores.svg"),
    ),
    "learning-curve": Call(
        words="{inputs}/corpus --out {workdir}/curve --methods skipgram --sizes 2000 "
        "{inputs}/pairs.tsv --plot {workdir}/curve.svg",
        reads=("corpus", "pairs.tsv"),
        makes=("curve", "curve.svg"),
        resumes=True,
    ),
    "recommend": Call(words="{inputs}/text.txt --json", reads=("text.txt",)),
    "map": Call(
        words="{inputs}/run word1 word2 word3 --plot {workdir}/map.svg",
        reads=("run",),
        makes=("map.svg",),
    ),
    "predict": Call(words="{inputs}/run {inputs}/ratings.tsv", reads=("run", "ratings.tsv")),
    "label": Call(
        words="{inputs}/run --train sentences={inputs}/labels.txt --apply {inputs}/text.txt "
        "--out {workdir}/labels.tsv",
        reads=("run", "labels.txt", "text.txt"),
        makes=("labels.tsv",),
    ),
    "passages": Call(
        words="{inputs}/speeches --label party --length 5 --out {workdir}/passages.tsv",
        reads=("speeches",),
        makes=("passages.tsv",),
    ),
    "why": Call(words="{inputs}/run word1 word2", reads=("run",)),
    "differ": Call(words="{inputs}/run {inputs}/mlm -k 2 --permutations 0", reads=("run", "mlm")),
    "align": Call(
        words="{inputs}/run {inputs}/mlm --max-vocabulary 100 --out {workdir}/aligned",
        reads=("run", "mlm"),
        makes=("aligned",),
    ),
    "regress": Call(
        words="{inputs}/speeches word1 --by party --vectors {inputs}/run "
        "--transform {inputs}/matrix.txt --report {workdir}/page.html",
        reads=("speeches", "run", "matrix.txt"),
        makes=("page.html",),
    ),
    "change": Call(
        words="{inputs}/corpus {inputs}/later --dim 8 --min-count 1 --permutations 9 "
        "--threads 1 --out {workdir}/change --plot {workdir}/path.svg word1 "
        "--report {workdir}/page.html",
        reads=("corpus", "later"),
        makes=("change", "path.svg", "page.html"),
    ),
    "refine": Call(
        words="{inputs}/run --center --out {workdir}/refined", reads=("run",), makes=("refined",)
    ),
    "explore": Call(
        words="{inputs}/run --html {workdir}/page.html", reads=("run",), makes=("page.html",)
    ),
    "mcp": Call(words="{inputs}/corpus {inputs}/run", writes_in_place=True),
    "fill-mask": Call(words="{inputs}/mlm word1[MASK] --device cpu", reads=("mlm",)),
    "score": Call(words="{inputs}/mlm {inputs}/lines.txt --device cpu", reads=("mlm", "lines.txt")),
    "generate": Call(words="{inputs}/clm word1 --length 5 --device cpu", reads=("clm",)),
    "transduce": Call(
        words="{inputs}/inflect {inputs}/verbs.tsv --test --device cpu",
        reads=("inflect", "verbs.tsv"),
    ),
    "reorder": Call(
        words="{inputs}/clm --lines {inputs}/lines.txt --device cpu", reads=("clm", "lines.txt")
    ),
    "encode": Call(
        words="{inputs}/mlm {inputs}/lines.txt --out {workdir}/words.npz --device cpu",
        reads=("mlm", "lines.txt"),
        makes=("words.npz",),
    ),
    "search": Call(words="{inputs}/lines word1 word2 --device cpu", reads=("lines",)),
    "pool": Call(
        words="{inputs}/mlm --out {workdir}/pooled --min-count 1 --device cpu",
        reads=("mlm", "corpus"),
        makes=("pooled",),
    ),
    "attention": Call(
        words="{inputs}/mlm word1 --plot {workdir}/attention.svg",
        reads=("mlm",),
        makes=("attention.svg",),
    ),
    "attend": Call(
        words="{inputs}/run word1 --on {inputs}/labels.txt", reads=("run", "labels.txt")
    ),
    "export": Call(
        words="{inputs}/run --format gensim {workdir}/vectors.kv",
        reads=("run",),
        makes=("vectors.kv", "vectors.kv.vectors.npy", "vectors.kv.vocabulary.tsv"),
    ),
    "publish": Call(
        words="{inputs}/run --no-text {workdir}/public", reads=("run",), makes=("public",)
    ),
    "caches": Call(words="", writes_in_place=True),
}

SINGLE = [
    name for name, call in CALLS.items() if not (call.only_runs_commands or call.writes_in_place)
]
WRITERS = [name for name in SINGLE if CALLS[name].makes]
PRINTERS = [name for name in SINGLE if not CALLS[name].makes]
