"""Kernels of the index of occurrences and of what stands around them."""

from firth.corpora.common.jit import compiled


@compiled
def place_tokens(token_ids, first, following, positions):
    """Write the position of each token, from ``first``, behind earlier ones of its type."""
    # token_ids: int32 (n_tokens,); following: int64 (n_types,), advanced
    # positions: int32 or int64 (n_tokens of the corpus,)
    for i in range(token_ids.shape[0]):
        t = token_ids[i]
        positions[following[t]] = first + i
        following[t] += 1


@compiled
def count_around(token_ids, bounds, starts, stops, groups, window, column_of_type, counts):
    """Count the types within ``window`` tokens of each occurrence, in its part of the text.

    A token near several occurrences counts once; tokens of occurrences do not count. Occurrences
    of one group follow each other, and share no part with others.
    """
    # token_ids: int32 (n_tokens,); bounds: int64 (n_parts + 1,), token offsets
    # starts, stops: int64 (n,), ascending; groups: int64 (n,)
    # column_of_type: int64 (n_types,), -1 if not counted; counts: int64 (n_groups, n_columns)
    part, done = 0, 0
    for k in range(starts.shape[0]):
        while part < bounds.shape[0] - 2 and bounds[part + 1] <= starts[k]:
            part += 1
        last = min(bounds[part + 1], stops[k] + window, token_ids.shape[0])
        following = k  # the occurrence that ends behind token i
        for i in range(max(0, bounds[part], starts[k] - window, done), last):
            while following < starts.shape[0] and stops[following] <= i:
                following += 1
            t = token_ids[i]  # checked, since the text may be damaged after the index was made
            column = column_of_type[t] if 0 <= t < column_of_type.shape[0] else -1
            inside = following < starts.shape[0] and starts[following] <= i
            if column >= 0 and not inside:
                counts[groups[k], column] += 1
        done = max(done, last)


@compiled
def count_by_group(token_ids, bounds, groups, column_of_type, counts):
    """Count the types in the parts of the text of each group."""
    # token_ids: int32 (n_tokens,); bounds: int64 (n_parts + 1,), token offsets
    # groups: int64 (n_parts,), -1 if not counted
    # column_of_type: int64 (n_types,), -1 if not counted; counts: int64 (n_groups, n_columns)
    for d in range(groups.shape[0]):
        if groups[d] >= 0:
            for i in range(max(0, bounds[d]), min(bounds[d + 1], token_ids.shape[0])):
                t = token_ids[i]
                column = column_of_type[t] if 0 <= t < column_of_type.shape[0] else -1
                if column >= 0:
                    counts[groups[d], column] += 1
