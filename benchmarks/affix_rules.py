"""Inflection by rules of affixes, after the baseline of the SIGMORPHON shared tasks 2017 and 2018.

A lemma and its form are aligned; what differs before the first and after the last letter that they
share are a prefix and a suffix. With longer and longer ends of the stem, the change of the suffix
is a rule for the tags. The rule with the longest end of the lemma wins, among several the most
frequent one; then the most frequent change of the prefix.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable

Pair = tuple[str, str, str]  # lemma, form, tags


class AffixRules:
    """Rules learned from pairs."""

    def __init__(self, pairs: Iterable[Pair]) -> None:
        self._suffixes: dict[str, dict[str, Counter[str]]] = defaultdict(
            lambda: defaultdict(Counter)
        )
        self._prefixes: dict[str, Counter[tuple[str, str]]] = defaultdict(Counter)
        for lemma, form, tags in pairs:
            shared = _shared(lemma, form)
            if not shared:
                self._suffixes[tags][lemma][form] += 1
                continue
            (first, first_of_form), (last, last_of_form) = shared[0], shared[-1]
            self._prefixes[tags][lemma[:first], form[:first_of_form]] += 1
            for place, place_of_form in [*shared, (last + 1, last_of_form + 1)]:
                self._suffixes[tags][lemma[place:]][form[place_of_form:]] += 1

    def form(self, lemma: str, tags: str) -> str:
        """Return the form of a lemma; the lemma itself for unknown tags."""
        suffixes, form = self._suffixes.get(tags, {}), lemma
        for place in range(len(lemma) + 1):
            if lemma[place:] in suffixes:
                [(suffix, _)] = suffixes[lemma[place:]].most_common(1)
                form = lemma[:place] + suffix
                break
        for (prefix, changed), _ in self._prefixes[tags].most_common(1):
            if form.startswith(prefix):
                form = changed + form[len(prefix) :]
        return form


def _shared(lemma: str, form: str) -> list[tuple[int, int]]:
    """Return the places of letters that are the same in the alignment with the fewest edits."""
    costs = [[float(i + j) for j in range(len(form) + 1)] for i in range(len(lemma) + 1)]
    for i, letter in enumerate(lemma, 1):
        for j, other in enumerate(form, 1):
            changed = costs[i - 1][j - 1] + (1.1 if letter != other else 0)
            costs[i][j] = min(changed, costs[i - 1][j] + 1, costs[i][j - 1] + 1)
    shared, i, j = [], len(lemma), len(form)
    while i and j:
        same = lemma[i - 1] == form[j - 1]
        if costs[i][j] == costs[i - 1][j - 1] + (0 if same else 1.1):
            i, j = i - 1, j - 1
            if same:
                shared.append((i, j))
        elif costs[i][j] == costs[i - 1][j] + 1:
            i -= 1
        else:
            j -= 1
    return shared[::-1]
