"""How scores of words vary over drawn texts, and how often each is among the best."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from firth.corpora.common.threads import map_in_order, thread_count
from firth.embed.resampling.draws import CountDraws, errors_of
from firth.embed.resampling.trained_draws import TrainedDraws
from firth.embed.vectors.neighbors import multiplied as multiplied_cosines

# of the cosines of a query's words among themselves, float32 (m, m, J), and with its candidates,
# float32 (m, C, J): the score of each candidate in each draw, float32 (C, J)
Score = Callable[[np.ndarray, np.ndarray], np.ndarray]
_BYTES = 1 << 30  # of cosines at once
_SIMULATED = 400  # other texts, in which words are ranked


@dataclass(frozen=True, eq=False)
class Scored:
    """Queries of one or more words, and the candidates of each with their scores."""

    words: np.ndarray  # int64 (q, m), rows
    candidates: np.ndarray  # int64 (q, C), rows
    scores: np.ndarray  # float64 (q, C), as the run has them


def cosines(among: np.ndarray, found: np.ndarray) -> np.ndarray:
    """Score candidates by the cosine with the only word of a query."""
    return np.asarray(found[0])


def added(among: np.ndarray, found: np.ndarray) -> np.ndarray:
    """Score the answers to an analogy by 3CosAdd, the cosine with b - a + c."""
    squares = 3 + 2 * (among[1, 2] - among[0, 1] - among[0, 2])
    return np.asarray((found[1] - found[0] + found[2]) / np.sqrt(squares))


def multiplied(among: np.ndarray, found: np.ndarray) -> np.ndarray:
    """Score the answers to an analogy by 3CosMul."""
    return multiplied_cosines(found.reshape(len(found), -1)).reshape(found.shape[1:])


def errors_and_shares(
    draws: CountDraws | TrainedDraws,
    scored: Scored,
    k: int,
    seed: int,
    score: Score = cosines,
    n_bytes: int = _BYTES,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the deviation of each score, and how often it is in the top k of simulated texts."""
    # returns float64 (q, C) and (q, C)
    from threadpoolctl import threadpool_limits

    n_words, n_candidates = scored.words.shape[1], scored.candidates.shape[1]
    k = min(k, n_candidates)
    errors, shares = np.empty((2, *scored.scores.shape))
    shape = _SIMULATED, draws.n_draws
    normal = np.random.default_rng(seed).standard_normal(shape, np.float32)

    def describe(item: tuple[int, np.ndarray]) -> None:
        n, drawn = item
        away = draws.deviations(score(drawn[:, :n_words], drawn[:, n_words:]))  # (C, J)
        errors[n] = errors_of(draws.fewest, away)
        simulated = scored.scores[n].astype(np.float32) + normal @ away.T
        least = np.partition(simulated, -k, axis=1)[:, -k, None]
        shares[n] = (simulated >= least).mean(axis=0)

    threads = thread_count(None)
    step = max(1, n_bytes // (4 * draws.n_draws * n_words * (n_words + n_candidates)))
    for first in range(0, len(errors), step):
        numbers = range(first, min(first + step, len(errors)))
        words = scored.words[first : first + step]
        near = np.concatenate([words, scored.candidates[first : first + step]], axis=1)
        pairs = np.stack(np.broadcast_arrays(words[:, :, None], near[:, None]), axis=-1)
        drawn = draws.cosines(pairs.reshape(-1, 2)).reshape(len(words), n_words, near.shape[1], -1)
        with threadpool_limits(1, user_api="blas"):
            list(map_in_order(describe, zip(numbers, drawn, strict=True), threads))
        del drawn  # before the next
    return errors, shares
