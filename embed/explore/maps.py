"""Maps of many words: their first two principal components, or UMAP."""

import contextlib
import hashlib
import warnings
from collections.abc import Callable
from importlib.metadata import version
from importlib.util import find_spec

import numpy as np

from firth.corpora.artifacts.arrays import map_array, save_array
from firth.corpora.artifacts.atomic import write_cached
from firth.corpora.common.cache import cache_folder
from firth.corpora.common.errors import ArtifactError, SettingError

METHODS = ("pca", "umap")
_BLOCK = 1 << 13  # rows at once
_INSIDE = 0.995  # share of the words that the map shows within [-1, 1]
_NEIGHBORS = 15  # of each word, by which UMAP places it: the default of the package


def has_umap() -> bool:
    """Return whether the package of the extra is installed."""
    return find_spec("umap") is not None


def require_umap() -> None:
    """Raise if the package of the extra is not installed."""
    if not has_umap():
        raise SettingError("a map by UMAP needs the package umap-learn; pip install 'firth[umap]'")


def plane(units: np.ndarray) -> np.ndarray:
    """Return the two principal components of unit vectors as coordinates, float32 (n, 2).

    As :func:`firth.embed.query.word_map.map_words` computes them, but from the covariance of the D
    columns, which takes seconds for 200,000 words; and scaled.
    """
    # units: float32 (n, D)
    squares = np.zeros((units.shape[1],) * 2)
    for start in range(0, len(units), _BLOCK):
        part = units[start : start + _BLOCK]
        squares += part.T @ part
    mean = units.mean(axis=0, dtype=np.float64)
    _, axes = np.linalg.eigh(squares - len(units) * np.outer(mean, mean))
    axes = axes[:, :-3:-1]  # the largest two of ascending ones
    places = np.zeros((len(units), 2))
    places[:, : axes.shape[1]] = units @ axes.astype(np.float32) - mean @ axes
    farthest = abs(places).argmax(axis=0)
    places *= np.where(places[farthest, [0, 1]] < 0, -1.0, 1.0)
    return _scaled(places)


def umap_places(units: np.ndarray, tell: Callable[[float, float], None]) -> np.ndarray:
    """Return the places of unit vectors by UMAP (McInnes, Healy and Melville 2018).

    They depend on the vectors alone, and are kept in the cache. ``tell`` receives the rounds
    that are done, and of how many.
    """
    # units: float32 (n, D); returns float32 (n, 2)
    require_umap()
    if len(units) <= _NEIGHBORS:
        raise SettingError(f"UMAP needs more than {_NEIGHBORS} words, got {len(units)}; use PCA")
    made_from = hashlib.blake2b(f"{version('umap-learn')} {units.shape} ".encode())
    made_from.update(np.ascontiguousarray(units).data)
    file = cache_folder("maps") / f"{made_from.hexdigest()[:32]}.npy"
    with contextlib.suppress(ArtifactError):
        places = np.array(map_array(file, again="", missing=""))
        if places.shape == (len(units), 2) and places.dtype == np.float32:
            return places
    places = _scaled(_fit_umap(units, tell))
    with contextlib.suppress(OSError):  # the cache only saves time
        write_cached(file, lambda new: save_array(new, places))
    return places


def _fit_umap(units: np.ndarray, tell: Callable[[float, float], None]) -> np.ndarray:
    """Run UMAP with the package's defaults, by cosine."""
    import umap

    rounds = {"file": _Rounds(tell), "disable": False, "bar_format": "{n_fmt} {total_fmt}"}
    mapper = umap.UMAP(
        n_neighbors=_NEIGHBORS, metric="cosine", random_state=1, n_jobs=1, tqdm_kwds=rounds
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of its own old calls, and of separate groups of words
        places = np.asarray(mapper.fit_transform(units), np.float64)
    # words without any neighbor have no place
    return np.nan_to_num(places - np.nanmean(places, axis=0))


class _Rounds:
    """The file to which the package's progress bar is written: "3 200"."""

    def __init__(self, tell: Callable[[float, float], None]) -> None:
        self._tell = tell

    def write(self, text: str) -> None:
        numbers = text.split()
        if len(numbers) == 2:
            self._tell(float(numbers[0]), float(numbers[1]))

    def flush(self) -> None:
        pass


def _scaled(places: np.ndarray) -> np.ndarray:
    """Scale both axes alike, so that nearly all coordinates lie within [-1, 1]."""
    extent = np.quantile(abs(places).max(axis=1), _INSIDE)
    return np.asarray((places / (extent or 1.0)).astype(np.float32))
