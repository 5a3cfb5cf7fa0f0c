"""Kernels that count adjacent words, score them, and join phrases."""

import math

from firth.corpora.common.jit import compiled


@compiled
def gather_next(token_ids, sentences, breaks, first, stop, ends, following):
    """Append to the slice of each word from ``first`` to ``stop`` the words that follow it."""
    # token_ids: int32 (n_tokens,); sentences: int64 (n_sentences + 1,), token offsets
    # breaks: bool (n_types,), words that are in no phrase
    # ends: int64 (stop - first,), ends of the slices; following: int32, room for each occurrence
    for s in range(sentences.shape[0] - 1):
        for i in range(sentences[s], sentences[s + 1] - 1):
            word, after = token_ids[i], token_ids[i + 1]
            if first <= word < stop and not breaks[word] and not breaks[after]:
                following[ends[word - first]] = after
                ends[word - first] += 1


@compiled
def count_next(starts, ends, following, first, min_count, times, pairs, counts):
    """Write pairs of words with ``min_count`` occurrences; return how many, and of all pairs."""
    # starts, ends: int64 (n,), slices of the words from ``first``; following: int32, words
    # times: int64 (n_types,), scratch of zeros; pairs: int32 (2, capacity); counts: int64
    n_pairs = 0
    n_kept = 0
    for w in range(starts.shape[0]):
        for i in range(starts[w], ends[w]):
            times[following[i]] += 1
        for i in range(starts[w], ends[w]):
            after = following[i]
            n_pairs += times[after] > 0
            if times[after] >= min_count:
                pairs[0, n_kept] = first + w
                pairs[1, n_kept] = after
                counts[n_kept] = times[after]
                n_kept += 1
            times[after] = 0
    return n_kept, n_pairs


@compiled
def score_pairs(pairs, pair_counts, counts, min_count, n_entries, n_tokens, npmi, scores):
    """Score pairs by normalized PMI, or by equation 6 of Mikolov et al., times ``n_entries``.

    The order of operations is gensim's, so that scores are equal to the last bit.
    """
    # pairs: int32 (2, n); pair_counts: int64 (n,); counts: int64 (n_types,)
    # n_entries: distinct words and pairs; npmi: bool, the formula; scores: float64 (n,), output
    for p in range(scores.shape[0]):
        first, second = float(counts[pairs[0, p]]), float(counts[pairs[1, p]])
        if npmi:
            joint = pair_counts[p] / n_tokens
            pmi = math.log(joint / ((first / n_tokens) * (second / n_tokens)))
            scores[p] = pmi / -math.log(joint)
        else:
            scores[p] = (pair_counts[p] - min_count) / (first * second) * n_entries


@compiled
def _child(rows, words, node, word):
    """Return the position of the edge from a node by a word, or -1."""
    low, high = rows[node], rows[node + 1]
    while low < high:
        middle = (low + high) // 2
        if words[middle] < word:
            low = middle + 1
        else:
            high = middle
    return low if low < rows[node + 1] and words[low] == word else -1


@compiled
def join(token_ids, sentences, rows, words, targets, is_phrase, new_sentences, n_joined):
    """Replace phrases by their nodes, from left to right, the longest first; return n_tokens.

    A trie has the phrases: node w for w < n_types is the word w, others are reached by edges.
    """
    # token_ids: int32, changed in place; sentences: int64 (n_sentences + 1,), token offsets
    # rows: int64 (n_nodes + 1,), edges of each node; words, targets: int32 (n_edges,), ascending
    # words in a row; is_phrase: bool (n_edges,), whether a phrase ends at node n_types + e
    # new_sentences: int64 (n_sentences + 1,), output; n_joined: int64 (n_edges,), added to
    n_types = rows.shape[0] - 1 - words.shape[0]
    n_tokens = 0
    for s in range(sentences.shape[0] - 1):
        new_sentences[s] = n_tokens
        start, stop = sentences[s], sentences[s + 1]
        while start < stop:
            found = node = token_ids[start]
            start += 1
            for i in range(start, stop):
                edge = _child(rows, words, node, token_ids[i])
                if edge < 0:
                    break
                node = targets[edge]
                if is_phrase[node - n_types]:
                    found = node
                    start = i + 1
            if found >= n_types:
                n_joined[found - n_types] += 1
            token_ids[n_tokens] = found
            n_tokens += 1
    new_sentences[-1] = n_tokens
    return n_tokens
