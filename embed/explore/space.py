"""What the page asks about one run: its words, a map of them, neighbors, and its encoder."""

import contextlib
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import asdict
from functools import cached_property, lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from firth.corpora.common.errors import ArtifactError, FirthError, SettingError
from firth.corpora.common.options import as_command_line
from firth.corpora.common.reporting import (
    Progress,
    SilentReporter,
    no_progress,
    progress,
    reporting_to,
)
from firth.corpora.store.corpus import Corpus
from firth.embed.contextual.encoders import encoder_run, vectors_method
from firth.embed.contextual.in_context import nearest_in_space
from firth.embed.explore.differ import Differing, differ
from firth.embed.explore.directions import direction, pairs_of
from firth.embed.explore.maps import plane, umap_places
from firth.embed.explore.why import Explainer, Why
from firth.embed.formats.vector_files import load_vectors
from firth.embed.protocols import AttentionReader, MaskFiller
from firth.embed.query.prompt import find_word
from firth.embed.resampling.chance import ONE_DOCUMENT
from firth.embed.resampling.drawn_text import top_shares
from firth.embed.resampling.intervals import neighbor_intervals
from firth.embed.runs.run import Run
from firth.embed.vectors.int8_rows import is_dense
from firth.embed.vectors.neighbors import nearest_to, unit_queries
from firth.embed.vectors.search import largest, unit_matrix
from firth.embed.vectors.word_vectors import WordVectors
from firth.embed.vectors.wordlist import noun_of

_COSINES = 1 << 23  # at once
COMPARED = 20_000  # most frequent words of each run; all pairs of them are compared
_SAMPLE = 30_000  # words that the centers of clusters are from
_REMEMBERED = 1000  # answers why words are near
_DIGITS, _MOST_PIECES = 4, 100  # of attention weights, which grow with the square of pieces
_LIMITS = threading.Lock()  # a search sets the threads of BLAS, which belong to the process
_RESAMPLING = threading.Lock()
_TRAINING = threading.Lock()  # the reporter belongs to the process, too


class Once:
    """Keeps values that are made when they are first asked for, by one thread each."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._locks: dict[object, threading.Lock] = {}
        self._values: dict[object, Any] = {}

    def get(self, key: object, make: Callable[[], Any]) -> Any:
        """Return the value of a key; after an error it is made again on the next request."""
        with self._lock:
            lock = self._locks.setdefault(key, threading.Lock())
        with lock:
            if key not in self._values:
                self._values[key] = make()
            return self._values[key]

    def begun(self, key: object, make: Callable[[], Any]) -> "Future[Any]":
        """Return what is made in the background; after an error it is made again when asked for."""
        making: Future[Any] = self.get(("making", key), lambda: in_background(make))
        if making.done() and making.exception():
            self._values.pop(("making", key), None)
        return making


class Space:
    """The most frequent words of a run, numbered by frequency, and answers about them."""

    def __init__(
        self, run: Path, max_words: int, corpus: Path | None = None, name: str | None = None
    ) -> None:
        self.path = run
        self.name = name or run.resolve().name
        self.vectors = load_vectors(run)
        counts = self.vectors.counts
        keys = np.zeros(len(self.vectors)) if counts is None else -counts
        self.rows = np.argsort(keys, kind="stable")[:max_words]  # int64 (n,), rows of the vectors
        every = list(self.vectors.vocabulary)
        self.words = [every[row] for row in self.rows.tolist()]
        self.counts = None if counts is None else counts[self.rows]
        self.corpus: Corpus | None = None  # that the run was trained on, if it is found
        with contextlib.suppress(ArtifactError):
            self.corpus = Run.open(run).corpus([] if corpus is None else [corpus])
        self._explainer = Explainer(run, self.corpus)
        self._lock = threading.RLock()  # of what a request may open
        self._once = Once()
        self._percent = 0.0  # of a map that is being made
        self._why = lru_cache(_REMEMBERED)(self._explainer.why)

    def describe(self) -> dict[str, Any]:
        """Return what the page shows of the run."""
        try:
            method = vectors_method(Run.open(self.path)) or "vectors"
        except ArtifactError:
            method = "vectors"
        return {
            "name": self.name,
            "method": method,
            "dim": self.vectors.dim,
            "words": len(self.words),
            "noun": noun_of(self.vectors),
            "corpus": self.corpus and self.corpus.path.resolve().name,
            "tokens": self.corpus and self.corpus.n_tokens,
            "encoder": self._has_encoder,
        }

    def find(self, typed: str) -> str:
        """Return the word of the run for a typed one; raise UnknownWordError if there is none."""
        if self.vectors.row(typed) is not None:
            return typed
        return find_word(self.vectors, typed)

    def neighbors(self, typed: str, k: int) -> dict[str, Any]:
        """Return the words nearest to a word."""
        with _LIMITS:
            word = self.find(typed)
            units, rows = unit_queries(self.vectors, [word])
            [found] = nearest_to(self.vectors, units, rows, k)
        counts, row = self.vectors.counts, rows[0]
        count = None if counts is None or row is None else int(counts[row])
        return {"word": word, "count": count, "neighbors": _named(found)}

    def intervals(self, typed: str, k: int) -> dict[str, Any]:
        """Return the words nearest to a word with intervals, why there are none, or nothing yet."""
        corpora = [] if self.corpus is None else [self.corpus.path]
        ask = partial(neighbor_intervals, self.vectors, corpora=corpora)
        try:
            prepared = self._once.begun("text", lambda: ask([]))
            if not prepared.done():
                return {}
            prepared.result()
            with _LIMITS:  # for good, since neither this nor searches meanwhile can put it back
                self._once.get("limits", lambda: threadpool_limits(1, user_api="blas"))
            with _RESAMPLING:
                [found] = ask([self.find(typed)], k)
        except FirthError as error:
            return {"reason": as_command_line(str(error))}
        near = [{**asdict(each), "stable": each.stable} for each in found.neighbors]
        return {**found.to_json(), "neighbors": near}

    def direction(self, pairs: str, words: Sequence[str], k: int) -> dict[str, Any]:
        """Return the direction of pairs, and where given or the k farthest words lie."""
        units, placed = self.units(COMPARED), self.words[:COMPARED]
        named = [(self.find(a), self.find(b)) for a, b in pairs_of(pairs)]
        columns = [[pair[side] for pair in named] for side in (0, 1)]
        found = direction(*(unit_queries(self.vectors, column)[0] for column in columns))
        if words:
            placed = list(dict.fromkeys(map(self.find, words)))
            units = unit_queries(self.vectors, placed)[0]
        cosines, own = units @ found.axis, {*columns[0], *columns[1]}
        order = [row for row in np.argsort(-cosines).tolist() if words or placed[row] not in own]
        ends = order if words else order[:k] + order[k:][-k:]
        left_out = [None] if found.p is None else found.left_out.tolist()
        return {
            "pairs": [{"words": w, "cosine": c} for w, c in zip(named, left_out, strict=True)],
            "right": found.n_right,
            "p": found.p,
            "words": _named([(placed[row], cosines[row]) for row in ends]),
        }

    def map(self, method: str = "pca") -> np.ndarray:
        """Return the places of the words on a map, float32 (n, 2)."""
        places: np.ndarray = self._once.get(method, lambda: self._places(method))
        return places

    def map_or_percent(self, method: str) -> np.ndarray | float:
        """Return a map, or how much of it is made: it is made in the background."""
        making = self._once.begun(method, lambda: self.map(method))
        return making.result() if making.done() else self._percent

    def clusters(self, k: int) -> list[int]:
        """Return a cluster of each word, by k-means of unit vectors."""
        found: list[int] = self._once.get(("clusters", k), lambda: _clusters(self.units(), k))
        return found

    def nearest_rows(self, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the k nearest words of each word and their cosines, nearest first."""
        # returns int64 (n, k) and float32 (n, k)
        units = self.units()
        k = min(k, len(units) - 1)
        found, near = np.empty((len(units), k), np.int64), np.empty((len(units), k), np.float32)
        step = max(1, _COSINES // len(units))
        with progress(f"{self.name}: neighbors", "words") as show:
            for start in range(0, len(units), step):
                cosines = units[start : start + step] @ units.T
                own = np.arange(len(cosines))
                cosines[own, own + start] = -np.inf
                part = found[start : start + step] = largest(cosines, k)
                near[start : start + step] = np.take_along_axis(cosines, part, axis=1)
                show(start + len(cosines), len(units))
        return found, near

    def why(self, first: str, second: str) -> Why:
        """Return the contexts that two words share."""
        with self._lock:
            return self._why(self.find(first), self.find(second))

    def in_context(self, text: str, k: int) -> list[dict[str, Any]]:
        """Return the words nearest to each bracketed word of a text."""
        with self._lock:
            encoder = self._explainer.encoder
        with self._lock, _LIMITS:
            found = nearest_in_space(encoder, self.path, self.vectors, [text], k)
        return [
            {"context": each.context, "word": each.word, "neighbors": _named(each.neighbors)}
            for each in found
        ]

    def fill(self, text: str, k: int) -> list[list[dict[str, Any]]]:
        """Return predictions of each masked piece of a text."""
        with self._lock:
            encoder: object = self._explainer.encoder
            if not isinstance(encoder, MaskFiller):
                raise SettingError(f"{self.name}: its encoder predicts no masked pieces")
            return [
                [{"piece": piece, "probability": float(p)} for piece, p in mask]
                for mask in encoder.fill_mask(text, k)
            ]

    def attention(self, text: str) -> dict[str, Any]:
        """Return the attention weights of a text, by layer, head, query and key."""
        with self._lock:
            encoder: object = self._explainer.encoder
            if not isinstance(encoder, AttentionReader):
                raise SettingError(f"{self.name}: its encoder shows no attention")
            pieces, weights = encoder.attention(encoder.words_and_masks(text))
        if len(pieces) > _MOST_PIECES:
            raise SettingError(
                f"{len(pieces)} pieces are too many for a table of attention, which shows "
                f"{_MOST_PIECES}; use a shorter sentence"
            )
        return {
            "pieces": pieces,
            "layers": list(encoder.attention_layers),
            "weights": weights.astype(float).round(_DIGITS).tolist(),
        }

    def frequent(self, n: int) -> WordVectors:
        """Return the vectors of the n most frequent words."""
        counts = None if self.counts is None else self.counts[:n]
        matrix = self.vectors.matrix[self.rows[:n]]
        return WordVectors(self.words[:n], matrix, counts=counts, name=self.name)

    def units(self, n: int | None = None) -> np.ndarray:
        """Return the vectors of all words, or of n, at unit length, float32 (n, D)."""
        if not is_dense(self.vectors.matrix):
            raise SettingError(f"{self.name}: has sparse vectors, which are not drawn")
        return unit_matrix(self.vectors.matrix, self.rows[:n])

    def _places(self, method: str) -> np.ndarray:
        """Make a map."""
        if method == "pca":
            return plane(self.units())
        with progress(f"{self.name}: UMAP", "rounds") as show:

            def tell(done: float, total: float) -> None:
                self._percent = 100 * done / total
                show(done, total)

            return umap_places(self.units(), tell)

    @cached_property
    def _has_encoder(self) -> bool:
        try:
            encoder_run(self.path)
        except ArtifactError:
            return False
        return True


def _named(neighbors: Sequence[tuple[str, float]]) -> list[dict[str, Any]]:
    """Return neighbors as JSON objects."""
    return [{"word": word, "cosine": float(cosine)} for word, cosine in neighbors]


def in_background(make: Callable[[], Any]) -> "Future[Any]":
    """Make something in a thread, for which the end of the program does not wait."""
    future: Future[Any] = Future()

    def run() -> None:
        try:
            future.set_result(make())
        except BaseException as error:  # noqa: BLE001 - raised where the result is asked for
            future.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    return future


def open_spaces(runs: Sequence[Path], max_words: int, corpus: Path | None) -> list[Space]:
    """Open runs, with their paths as names if the names of some are equal."""
    alike = len({run.resolve().name for run in runs}) < len(runs)
    return [Space(run, max_words, corpus, str(run) if alike else None) for run in runs]


class Resampling(SilentReporter):
    """Keeps the percent of resampling, and discards everything else."""

    percent = 0.0

    def progress(self, label: str, unit: str) -> contextlib.AbstractContextManager[Progress]:
        """Return what receives the progress."""
        return contextlib.nullcontext(self._tell if label == "resampling" else no_progress)

    def _tell(self, done: float, total: float | None = None, detail: str = "") -> None:
        self.percent = 100 * done / (total or 1)


def compare_spaces(
    a: Space, b: Space, n_words: int = COMPARED, reporter: Resampling | None = None
) -> Differing:
    """Compare the neighborhoods of the most frequent words of two runs, also against chance."""
    if a is b:
        raise SettingError(f"{a.name}: is compared with itself; pass two runs")
    if reporter is None:
        return differ(a.frequent(n_words), b.frequent(n_words), permutations=0)
    both = [s.frequent(n_words) if s.counts is None else s.vectors for s in (a, b)]
    least = max(1 if s.counts is None else int(s.counts[:n_words][-1]) for s in (a, b))
    corpora = [space.corpus.path for space in (a, b) if space.corpus is not None]
    with _TRAINING, reporting_to(reporter):
        return differ(*both, min_count=least, corpora=corpora)


def shown(
    differing: Differing, spaces: Sequence[Space], n_words: int, n_near: int, first: str = ""
) -> list[dict[str, Any]]:
    """Return ``first`` and the words that differ most, with the nearest words of one run only."""
    listed = [each for each in differing.words if each.word == first] + differing.words[:n_words]
    words = [each.word for each in listed]
    shares = [top_shares(s.corpus.stored, words) for s in spaces if s.corpus is not None]
    marked = np.max([np.zeros(len(words)), *shares], axis=0) >= ONE_DOCUMENT
    return [
        {
            "word": each.word,
            "distance": round(each.distance, 4),
            "usual": each.usual,
            "chance": each.chance,
            "p": each.p,
            "q": each.q,
            "only_a": each.only_a[:n_near],
            "only_b": each.only_b[:n_near],
            "one_document": mark,
        }
        for each, mark in zip(listed, marked.tolist(), strict=True)
    ]


def _clusters(units: np.ndarray, k: int) -> list[int]:
    """Return the cluster of each row; centers are those of a sample."""
    from sklearn.cluster import MiniBatchKMeans  # slow to import

    chosen = np.random.default_rng(1).permutation(len(units))[:_SAMPLE]
    # larger batches than the default of 1,024 need fewer steps
    means = MiniBatchKMeans(min(k, len(units)), batch_size=4096, n_init=1, random_state=1)
    labels: list[int] = means.fit(units[np.sort(chosen)]).predict(units).tolist()
    return labels
