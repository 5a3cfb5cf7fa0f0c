"""What a fit says of coefficients and groups, with intervals and p."""

from collections.abc import Callable, Sequence
from itertools import groupby

import numpy as np

from firth.corpora.store.concordance import Line
from firth.embed.regress.covariates import Group
from firth.embed.regress.least_squares import Fit, jackknife_errors
from firth.embed.regress.result import Coefficient, CosineRatio, GroupMeaning, WordCosine
from firth.embed.vectors.search import unit_length, unit_matrix
from firth.embed.vectors.word_vectors import WordVectors

FEWEST = 5  # clusters, below which nothing is said of chance
_SHORTEST = 0.25  # of a squared length, so that small groups keep a direction


class Meanings:
    """Reads coefficients, and the vectors of groups, off a fit."""

    def __init__(
        self, fit: Fit, vectors: WordVectors, groups: Sequence[Group], permutations: int
    ) -> None:
        self._fit, self._vectors, self._groups = fit, vectors, groups
        self._permutations = permutations

    def coefficients(self, names: Sequence[str], n_clusters: Sequence[int]) -> list[Coefficient]:
        """Describe all coefficients but the intercept; those of few clusters by length only."""
        squared, debiased, errors = self._fit.squared()
        found = []
        for n, name in list(enumerate(names))[1:]:
            clusters, length, value = n_clusters[n], float(squared[n]), float(debiased[n])
            if clusters < FEWEST:
                reason = f"{clusters} of {FEWEST} clusters that are needed"
                found.append(Coefficient(name, length, clusters=clusters, reason=reason))
                continue
            weights = np.eye(len(names))[n]
            p = self._fit.contrast(weights, weights, self._permutations).p
            error = float(errors[n])
            reach = self._quantile(clusters) * error
            ends = value - reach, value + reach
            found.append(Coefficient(name, length, clusters, value, error, *ends, p))
        return found

    def groups(
        self,
        candidates: np.ndarray,
        asked: np.ndarray,
        k: int,
        lines: Callable[[Group, np.ndarray], list[Line]],
    ) -> tuple[list[GroupMeaning], list[CosineRatio]]:
        """Describe the vector of each group, and compare it with the first of the field."""
        # candidates, asked: int64 (n,)
        units = self._units(candidates) if len(candidates) else np.zeros((0, self._fit.dim))
        meanings, ratios = [], []
        for _, of_field in groupby(self._groups, key=lambda group: group.field):
            first: tuple[Group, np.ndarray] | None = None
            for group in of_field:
                vector = unit_length(group.row[None] @ self._fit.coefficients)[0]
                near = candidates[np.argsort(-(units @ vector), kind="stable")[:k]]
                meanings.append(
                    GroupMeaning(
                        group.field, group.name, group.occurrences, self._cosines(group, near),
                        self._cosines(group, asked), lines(group, vector),
                    )
                )  # fmt: skip
                first = first or (group, near)
                fewest = min(group.clusters, first[0].clusters)
                if group is not first[0] and fewest >= FEWEST and len(candidates):
                    rows = np.unique(np.concatenate([asked, near, first[1]]))
                    ratios += self._compared(group, first[0], rows)
        return meanings, ratios

    def _compared(self, group: Group, reference: Group, rows: np.ndarray) -> list[CosineRatio]:
        """Return the ratios of cosines of some words with two groups, large ones first."""
        fit, units = self._fit, self._units(rows)
        fewest = min(group.clusters, reference.clusters)

        def ratios(numerators: np.ndarray, denominators: np.ndarray) -> np.ndarray:
            above, below = (unit_length(each) @ units.T for each in (numerators, denominators))
            positive = (above > 0) & (below > 0)
            return np.divide(above, below, out=np.full(above.shape, np.nan), where=positive)

        [values] = ratios(*(end.row[None] @ fit.coefficients for end in (group, reference)))
        draws = ratios(*(end.row @ fit.draws for end in (group, reference)))
        reach = self._quantile(fewest) * jackknife_errors(np.log(draws))
        contrast = fit.contrast(group.row - reference.row, reference.row, self._permutations)
        chance = ratios(contrast.rows + contrast.permuted, contrast.rows)
        # a ratio with a cosine that is not above 0 is as far from 1 as any
        reached = (~(np.abs(chance - 1) < np.abs(values - 1))).sum(axis=0)
        p = (reached + 1) / (self._permutations + 1)
        ends = values * np.exp([-reach, reach])
        return [
            CosineRatio(
                self._word(rows[n]), group.field, group.name, reference.name,
                *map(float, (values[n], *ends[:, n], p[n])),
            )
            for n in np.argsort(-values, kind="stable")
            if np.isfinite(reach[n])
        ]  # fmt: skip

    def _cosines(self, group: Group, rows: np.ndarray) -> list[WordCosine]:
        """Return the cosines of words with a group, and their intervals if it is large enough."""
        if not len(rows):
            return []
        units, vector = self._units(rows), group.row @ self._fit.coefficients
        values = units @ unit_length(vector[None])[0]
        draws = unit_length(group.row @ self._fit.draws) @ units.T
        reach = self._quantile(group.clusters) * jackknife_errors(draws)
        [variance] = self._fit.variances(group.row[None]) / (vector @ vector)
        shorter = np.sqrt(max(1 - variance, _SHORTEST))  # without noise, which lowers cosines
        low, high = np.minimum(values - reach, values * shorter), values + reach
        ends = np.clip(np.array([low, high]) / shorter, -1.0, 1.0).T.tolist()
        known = ends if group.clusters >= FEWEST else [(None, None)] * len(rows)
        return [
            WordCosine(self._word(row), value, *low_and_high)
            for row, value, low_and_high in zip(rows, values.tolist(), known, strict=True)
        ]

    def _quantile(self, clusters: int) -> float:
        """Return the standard errors that a 95 % interval reaches, by the clusters behind it."""
        from scipy.stats import t

        return float(t.ppf(0.975, min(clusters, len(self._fit.draws)) - 1))

    def _units(self, rows: np.ndarray) -> np.ndarray:
        """Return the vectors of words, of length 1, float64 (n, D)."""
        return unit_matrix(self._vectors.matrix, rows).astype(np.float64)

    def _word(self, row: int) -> str:
        """Return the word of a row."""
        return str(self._vectors.vocabulary[row])
