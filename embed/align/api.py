"""align_vectors: map one space into another, test the map, and store the result."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from firth.corpora.common.display import Table
from firth.corpora.common.errors import SettingError
from firth.corpora.common.keywords import suggesting
from firth.corpora.common.options import config_of
from firth.corpora.common.reporting import note
from firth.embed.align.config import AlignConfig
from firth.embed.align.mapping import apply, centered, procrustes, vecmap
from firth.embed.align.pairs import (
    DictionaryCounts,
    Pairs,
    hold_out,
    read_dictionary,
    shared_pairs,
)
from firth.embed.align.retrieval import Precision, precision
from firth.embed.runs.writer import new_run
from firth.embed.vectors.int8_rows import is_dense
from firth.embed.vectors.opened import opened
from firth.embed.vectors.search import nonzero_rows, unit_matrix
from firth.embed.vectors.source import describe_source, refuse_not_finite
from firth.embed.vectors.word_vectors import WordVectors, with_matrix

METHOD = "align"
_HELD_OUT = 0.1


@suggesting
@dataclass(frozen=True, eq=False, repr=False)
class Aligned(Table):
    """Two spaces in one, made by :func:`align_vectors`; notebooks show its precision.

    Attributes
    ----------
    a, b : WordVectors
        A in the space of B, and B. B is as it was, except by ``vecmap``.
    precision : list of Precision
        ``retrieval`` (cosine or csls), ``at`` (1 or 5), ``score``, ``low`` and ``high`` of the
        held-out words; empty if none were held out.
    about : dict
        Sources, settings, and how many pairs were used and held out, as JSON data.
    """

    a: WordVectors
    b: WordVectors
    precision: list[Precision]
    about: dict[str, Any]
    _listed = ("precision",)

    def __repr__(self) -> str:
        return f"<Aligned {self.about['a']['path']} in the space of {self.about['b']['path']}>"

    def to_json(self) -> dict[str, Any]:
        """Return all but the vectors: ``about``, with the list ``precision``."""
        return {**self.about, "precision": [asdict(each) for each in self.precision]}

    def both(self, suffixes: Sequence[str]) -> WordVectors:
        """Return the words of both spaces as one vocabulary.

        Parameters
        ----------
        suffixes : sequence of str
            Two marks: ``king`` becomes ``king@de`` of A and ``king@en`` of B by ``["de", "en"]``.

        Returns
        -------
        WordVectors
            Sorted by count if both have counts, else by place in either vocabulary.

        Raises
        ------
        SettingError
            If the marks are not two different ones, without spaces and ``@``.
        """
        check_suffixes(suffixes)
        words = [
            f"{word}@{mark}"
            for vectors, mark in zip((self.a, self.b), suffixes, strict=True)
            for word in vectors.vocabulary
        ]
        counted = self.a.counts is not None and self.b.counts is not None
        counts = np.concatenate([self.a.counts, self.b.counts]) if counted else None
        places = np.concatenate([np.arange(len(self.a)), np.arange(len(self.b))])
        order = np.argsort(places if counts is None else -counts, kind="stable")
        return WordVectors(
            [words[row] for row in order.tolist()],
            np.concatenate([self.a.matrix, self.b.matrix])[order],
            counts=None if counts is None else counts[order],
            name=f"{self.a.name} and {self.b.name}",
        )

    def save(
        self, out: str | Path, *, suffixes: Sequence[str] | None = None, force: bool = False
    ) -> Path:
        """Store A in the space of B as a run, or both with ``suffixes``.

        Parameters
        ----------
        out : str or Path
            Directory to make.
        suffixes : sequence of str, optional
            Store both spaces, with words marked as by :meth:`both`. Needed by ``vecmap``, which
            also changes the vectors of B.
        force : bool
            Overwrite a run at ``out``.

        Returns
        -------
        Path
            ``out``: ``vocabulary.tsv``, ``vectors.npy``, and ``config.json``, which names both
            sources, the settings and the precision. N-grams, pieces and context vectors are left
            out.

        Raises
        ------
        ArtifactError
            If ``out`` exists or cannot be written.
        SettingError
            If the suffixes are missing or unusable, or ``out`` is one of the sources.
        """
        out = Path(out)
        sources = [self.about[side]["path"] for side in "ab"]
        check_output(out, sources, self.about["mapping"], suffixes)
        marks = list(suffixes) if suffixes else None
        stored = self.both(marks) if marks else self.a
        maker = {"command": METHOD, **self.about, "suffixes": marks}
        with new_run(out, maker, force=force) as run:
            stored.write(run.path)
            text = None if marks else stored.text
            run.describe(METHOD, {**self.to_json(), "suffixes": marks}, text)
        return out


def align_vectors(
    a: WordVectors | str | Path,
    b: WordVectors | str | Path,
    config: AlignConfig | None = None,
    *,
    dictionary: str | Path | None = None,
    test: str | Path | None = None,
) -> Aligned:
    """Map the vectors of A linearly into the space of B, by pairs of words.

    ``procrustes`` is the orthogonal map (Schönemann 1966) that fits unit vectors of the pairs best;
    it changes no cosine within A, and nothing in B. ``vecmap`` does the supervised steps of
    Artetxe, Labaka & Agirre 2018: vectors are scaled to unit length, centered and scaled again,
    whitened, mapped orthogonally, re-weighted by singular values and de-whitened, on both sides.

    Precision is the share of held-out words of A with a right partner among the 1 or 5 nearest
    words of B, by cosine and by CSLS with 10 neighbors (Conneau et al. 2018), with the 95 %
    bootstrap interval over words.

    Parameters
    ----------
    a, b : WordVectors, str or Path
        Two spaces: runs or files of vectors.
    config : AlignConfig, optional
        Method, and what is held out.
    dictionary : str or Path, optional
        Pairs to map by, a word of A and one of B a line, separated by a tab or a space (MUSE). By
        default every word that both have is paired with itself.
    test : str or Path, optional
        A dictionary of pairs to test by. Words of A in it are not used for the map.

    Returns
    -------
    Aligned
        Both spaces, the precision, and numbers of pairs.

    Raises
    ------
    ArtifactError
        Vectors are missing, damaged, or not finite.
    SettingError
        There are no pairs, too few of them, dimensions that the method cannot map, sparse vectors,
        or settings that exclude each other.
    SourceError
        A dictionary is missing, empty or malformed.

    Notes
    -----
    Deterministic for a number of BLAS threads. For ``vecmap`` both spaces need the same
    dimensions; ``procrustes`` also maps to more.

    Examples
    --------
    >>> b = WordVectors(["x", "y"], np.array([[1, 0], [0, 1]], np.float32), name="b")
    >>> a = WordVectors(["x", "y"], np.array([[0, 2], [-2, 0]], np.float32), name="a")
    >>> align_vectors(a, b, AlignConfig(held_out=0)).a.matrix.round(6).tolist()
    [[2.0, 0.0], [0.0, 2.0]]
    """
    config = config_of(config, AlignConfig)
    if dictionary is not None and config.max_vocabulary is not None:
        raise SettingError(
            "`max_vocabulary` cannot be combined with `dictionary`, whose pairs are all used"
        )
    if test is not None and config.held_out is not None:
        raise SettingError("`held_out` cannot be combined with `test`, which is held out instead")
    first, second = (opened(v, verified=True) for v in (a, b))
    _check_spaces(first, second, config.method)
    among = config.restrict or len(second)
    read: dict[str, DictionaryCounts] = {}
    if dictionary is None:
        pairs = shared_pairs(first, second, config.max_vocabulary)
    else:
        pairs, read["dictionary"] = read_dictionary(Path(dictionary), first, second)
    if test is None:
        share = _HELD_OUT if config.held_out is None else config.held_out
        used, tested = hold_out(pairs, share, among, config.seed)
    else:
        asked, read["test"] = read_dictionary(Path(test), first, second)
        tested = asked.take(asked.b < among)
        if not len(tested):
            raise SettingError(
                f"{test}: no partner is among the {among:,} most frequent of B; pass a larger "
                f"`restrict`, such as {int(asked.b.min()) + 1}"
            )
        used = pairs.take(~np.isin(pairs.a, asked.a))
    _check_pairs(used, first, config.method)
    mapped = _map(first, second, used, config.method)
    found: list[Precision] = []
    if len(tested):
        found = precision(
            unit_matrix(mapped[0].matrix), unit_matrix(mapped[1].matrix), tested, among, config.seed
        )
    about = {
        "mapping": config.method,
        "a": describe_source(first),
        "b": describe_source(second),
        "settings": asdict(config),
        "pairs": {
            "used": len(used),
            "held_out": len(tested),
            "held_out_words": len(np.unique(tested.a)),
            "searched": min(among, len(second)),
        },
        **{name: asdict(counts) for name, counts in read.items()},
    }
    return Aligned(*mapped, found, about)


def check_output(
    out: Path, sources: Sequence[str | Path], method: str, suffixes: Sequence[str] | None
) -> None:
    """Raise unless an alignment by this method can be stored there with these suffixes."""
    if any(out.resolve() == Path(source).resolve() for source in sources):
        raise SettingError(f"`out={out}`: is one of the two spaces; choose another")
    if suffixes:
        check_suffixes(suffixes)
    elif method == "vecmap":
        raise SettingError(
            "`method=vecmap` changes the vectors of B, too, so that a run needs both spaces; pass "
            "`suffixes=a,b`"
        )


def check_suffixes(suffixes: Sequence[str]) -> None:
    """Raise unless there are two different marks that make no two words of both spaces equal."""
    usable = all(mark and "@" not in mark and not any(map(str.isspace, mark)) for mark in suffixes)
    if len(suffixes) != 2 or len(set(suffixes)) != 2 or not usable:
        raise SettingError(
            "`suffixes` must be two different marks without spaces and @, such as de,en, got "
            f"{','.join(suffixes)!r}"
        )


def _check_spaces(a: WordVectors, b: WordVectors, method: str) -> None:
    """Raise if the method cannot map between spaces of these dimensions."""
    for vectors in (a, b):
        if not is_dense(vectors.matrix):
            raise SettingError(f"{vectors.name}: has sparse vectors, which are not mapped")
        refuse_not_finite(vectors)
    dims = f"{a.name} has {a.dim} dimensions and {b.name} {b.dim}"
    if a.dim > b.dim:
        raise SettingError(f"{dims}; exchange them, or train both with the same `dim`")
    if method == "vecmap" and a.dim < b.dim:
        raise SettingError(
            f"{dims}, but `method=vecmap` needs as many; pass `method=procrustes`, or train both "
            "with the same `dim`"
        )


def _check_pairs(used: Pairs, a: WordVectors, method: str) -> None:
    """Raise if there are too few pairs to map by; note it if they leave directions open."""
    if not len(used):
        raise SettingError("no pair is left to map by: all are in `test`; pass others")
    if len(used) >= a.dim:
        return
    few = f"{len(used):,} pairs to map by do not determine a map of {a.dim} dimensions"
    if method == "vecmap":
        raise SettingError(f"{few}; pass more, or `method=procrustes`")
    note(f"{few}: directions that no pair has are mapped arbitrarily")


def _map(
    a: WordVectors, b: WordVectors, used: Pairs, method: str
) -> tuple[WordVectors, WordVectors]:
    """Return A in the space of B, and B."""
    rows_a, rows_b = unit_matrix(a.matrix), unit_matrix(b.matrix)
    if method == "vecmap":
        for vectors, rows in ((a, rows_a), (b, rows_b)):
            _require_directions(vectors, rows[nonzero_rows(rows)])
        rows_a, rows_b = centered(rows_a), centered(rows_b)
    x, y = rows_a[used.a].astype(np.float64), rows_b[used.b].astype(np.float64)
    name = f"{a.name} in {b.name}"
    if method == "procrustes":
        return with_matrix(a, apply(np.asarray(a.matrix), procrustes(x, y)), name), b
    by_a, by_b = vecmap(x, y)
    return with_matrix(a, apply(rows_a, by_a), name), with_matrix(b, apply(rows_b, by_b), b.name)


def _require_directions(vectors: WordVectors, units: np.ndarray) -> None:
    """Raise if unit vectors, float32 (n, D), are equal but for rounding."""
    if (np.ptp(units, axis=0) < 1e-6).all():
        raise SettingError(
            f"{vectors.name}: all vectors have one direction, and `method=vecmap` subtracts their "
            "mean; pass `method=procrustes`, or train these vectors again"
        )
