"""The benchmark of distances: its made-up text."""

from pathlib import Path

BENCH = Path(__file__).parents[1]


def test_the_last_word_follows_from_the_first_alone(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCH))
    import bench_distance as bench

    made = bench.sentences(500, 7, seed=1)
    assert {len(sentence) for sentence in made} == {9}
    ends = {(first, last) for first, *_, last in made}
    assert len(ends) == len({first for first, _ in ends}) == len({last for _, last in ends}) == 16
    assert len({word for sentence in made for word in sentence[1:-1]}) == bench.FILLERS
    assert made != bench.sentences(500, 7, seed=2)
