"""Inner loops over the character n-grams of many words."""

from firth.corpora.common.jit import compiled

_FIRST_HASH = 2166136261
_PRIME = 16777619
_MASK = 0xFFFFFFFF


@compiled
def hash_ngrams(buffer, starts, ends, shortest, longest, n_buckets, offsets, buckets):
    """Write the bucket of each n-gram of each word: 32-bit FNV-1a, modulo ``n_buckets``."""
    # buffer: uint8 (n_bytes,); starts, ends: int64 (V,); offsets: int64 (V + 1,); buckets: int64
    # (offsets[V],)
    for w in range(len(starts)):
        at = offsets[w]
        for i in range(starts[w], ends[w]):
            if buffer[i] & 0xC0 == 0x80:  # within a character
                continue
            j = i
            hashed = _FIRST_HASH
            for size in range(1, longest + 1):
                if j >= ends[w]:
                    break
                hashed = fnv_step(hashed, buffer[j])
                j += 1
                while j < ends[w] and buffer[j] & 0xC0 == 0x80:
                    hashed = fnv_step(hashed, buffer[j])
                    j += 1
                if size >= shortest and not (size == 1 and (i == starts[w] or j == ends[w])):
                    buckets[at] = hashed % n_buckets
                    at += 1


@compiled
def fnv_step(hashed, byte):
    """Take one FNV-1a step with the byte sign-extended, as fastText does for non-ASCII bytes."""
    signed = byte | 0xFFFFFF00 if byte >= 128 else byte
    return ((hashed ^ signed) * _PRIME) & _MASK


@compiled
def mean_rows(words, grams, starts, places, sums, out):
    """Write the mean of each word's own row and the rows of its n-grams."""
    # words: float32 (V, D); grams: float32 (B, D); starts: int64 (V + 1,); places: int64 (n,);
    # sums: float64 (D,); out: float32 (V, D)
    for w in range(len(words)):
        for d in range(len(sums)):
            sums[d] = words[w, d]
        for at in range(starts[w], starts[w + 1]):
            row = places[at]
            for d in range(len(sums)):
                sums[d] += grams[row, d]
        share = 1.0 / (1 + starts[w + 1] - starts[w])
        for d in range(len(sums)):
            out[w, d] = sums[d] * share
